"""From pairs of successive snapshots to normal equations of the discrete-time model: the kernel.

With X' = X - dt F(X) theta + sigma sqrt(dt) Z, the test energies H_e (those of a small dictionary) obey

    E[H_e(X') | X] = H~_e(Y),      Y = X - dt F(X) theta

exactly, where H~ is H seen through the noise of the step (MATH: "discrete-time data need no approximation"). The best
combination of these equations weighs each transition by itself: J^T V^-1 g, with g = H(X') - H~(Y), J its derivative by
theta and V its covariance given X. What multiplies g depends on X alone, so that no choice of V makes a bias.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.energies import evaluated, most_particles, ranges_of
from trackless._kernels.moments import scratch_room, sizes_of
from trackless._kernels.products import add_products

TOGETHER = 8  # transitions whose products are taken together


@njit(nogil=True, cache=True, fastmath=FAST)
def transition_task(
    before, after, starts, gap, scales, lengths, families, tests, smooth, coef, sigma, rough,
):  # fmt: skip
    """Normal equations of some transitions, linearised at ``coef``.

    Parameters
    ----------
    before, after : (P, dim)
        Positions at the start and the end of all transitions, each sorted by kind.
    starts : (S, kinds + 1)
        Kind a of transition s is ``before[starts[s, a]:starts[s, a + 1]]``, and likewise ``after``.
    gap : float
        Interval.
    scales : (S,)
        Coupling factor of each.
    families : Families
        Of the forces, K functions.
    tests, smooth : Families
        Of the test energies, E functions, before and after they are convolved with the noise of a step.
    coef : (K,)
    rough : (E, E)
        Covariance of what is not linear in the noise, in the test energies of one transition, per squared interval.

    Returns
    -------
    matrix (K, K), vector (K,), rough (E, E)
        sum J^T V^-1 J (lower triangle), sum J^T V^-1 g, and the sum of what ``rough`` is the mean of
        (lower triangle).
    """
    dim = before.shape[1]
    n_external, n_interaction, most = sizes_of(families)
    t_external, t_interaction, t_most = sizes_of(tests)
    size, count = n_external + n_interaction, t_external + t_interaction
    padded, padded_tests = 4 * ((size + 3) // 4), 4 * ((count + 3) // 4)
    columns = most_particles(starts)
    room = scratch_room(dim, 1, max(most, t_most), 0, columns)
    scale = np.empty(1)
    x = np.empty((dim, columns))
    y = np.empty((dim, columns))
    force = np.zeros((padded, dim * columns))
    push = np.zeros((padded_tests, dim * columns))
    energy, diffusion = np.zeros((1, size)), np.zeros((1, size))
    test_energy, test_diffusion = np.zeros((1, count)), np.zeros((1, count))
    root = np.zeros((padded_tests, padded_tests))
    residual = np.zeros(count)
    rows = np.zeros((padded, TOGETHER * count))
    white = np.zeros(TOGETHER * count)
    matrix = np.zeros((padded, padded))
    vector = np.zeros(size)
    rough_sum = np.zeros((count, count))
    filled = 0
    for s in range(scales.shape[0]):
        ranges = ranges_of(starts, s)
        first, n = starts[s, 0], ranges[-1, 1]
        scale[0] = scales[s]
        # what is seen after the step
        for k in range(dim):
            for i in range(n):
                x[k, i] = after[first + i, k]
        evaluated(tests, x, ranges, scale, lengths, columns, push, test_energy, test_diffusion, room)
        for e in range(count):
            residual[e] = test_energy[0, e]
        # forces before it, and where it leads without noise
        for k in range(dim):
            for i in range(n):
                x[k, i] = before[first + i, k]
        evaluated(families, x, ranges, scale, lengths, columns, force, energy, diffusion, room)
        for k in range(dim):
            for i in range(n):
                total = 0.0
                for f in range(size):
                    total += coef[f] * force[f, k * columns + i]
                y[k, i] = x[k, i] - gap * total
        # covariance of the test energies, and its root
        evaluated(smooth, y, ranges, scale, lengths, columns, push, test_energy, test_diffusion, room)
        root[:] = 0.0
        add_products(push, dim * columns, root)
        for e in range(count):
            residual[e] -= test_energy[0, e]
        for e in range(count):
            for f in range(e + 1):
                linear = sigma * sigma * gap * root[e, f]
                rough_sum[e, f] += (residual[e] * residual[f] - linear) / gap**2
                root[e, f] = linear + gap * gap * rough[e, f]
        cholesky(root, count)
        begin = filled * count
        for e in range(count):
            total = residual[e]
            for f in range(e):
                total -= root[e, f] * white[begin + f]
            white[begin + e] = total / root[e, e]
        for a in range(size):
            for e in range(count):
                total = 0.0
                for c in range(dim * columns):
                    total += push[e, c] * force[a, c]
                total *= gap
                for f in range(e):
                    total -= root[e, f] * rows[a, begin + f]
                rows[a, begin + e] = total / root[e, e]
        filled += 1
        if filled == TOGETHER or s == scales.shape[0] - 1:
            add_products(rows, filled * count, matrix)
            for a in range(size):
                total = 0.0
                for c in range(filled * count):
                    total += rows[a, c] * white[c]
                vector[a] += total
            filled = 0
    return matrix[:size, :size], vector, rough_sum


@njit
def cholesky(matrix, size):
    """Replace the lower triangle of a positive matrix by that of its root."""
    for a in range(size):
        for b in range(a + 1):
            total = matrix[a, b]
            for c in range(b):
                total -= matrix[a, c] * matrix[b, c]
            if a == b:
                matrix[a, a] = np.sqrt(max(total, 1e-300))
            else:
                matrix[a, b] = total / matrix[b, b]
