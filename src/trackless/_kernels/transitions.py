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
from trackless._kernels.energies import evaluated, workspace
from trackless._kernels.products import add_products

TOGETHER = 8  # transitions whose products are taken together


@njit(nogil=True, cache=True, fastmath=FAST)
def transition_task(
    before, after, starts, gap, scales, lengths, external, interaction, test_external, test_interaction,
    smooth_external, smooth_interaction, coef, sigma, rough,
):  # fmt: skip
    """Normal equations of some transitions, linearised at ``coef``.

    Parameters
    ----------
    before, after : (P, dim)
        Positions at the start and the end of all transitions; number s has ``starts[s]:starts[s + 1]`` of them.
    gap : float
        Interval.
    scales : (S,)
        Coupling factor of each.
    external, interaction : tables
        Of the forces, K functions.
    test_external, test_interaction, smooth_external, smooth_interaction : tables
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
    size = external.size + interaction.size
    tests = test_external.size + test_interaction.size
    padded, padded_tests = 4 * ((size + 3) // 4), 4 * ((tests + 3) // 4)
    most = max(external.size, interaction.size, test_external.size, test_interaction.size)
    columns, room = workspace(starts, dim, most, 1)
    one, scale = np.zeros(2, np.int64), np.empty(1)
    x = np.empty((dim, columns))
    y = np.empty((dim, columns))
    force = np.zeros((padded, dim * columns))
    push = np.zeros((padded_tests, dim * columns))
    energy, diffusion = np.zeros((1, size)), np.zeros((1, size))
    test_energy, test_diffusion = np.zeros((1, tests)), np.zeros((1, tests))
    root = np.zeros((padded_tests, padded_tests))
    residual = np.zeros(tests)
    rows = np.zeros((padded, TOGETHER * tests))
    white = np.zeros(TOGETHER * tests)
    matrix = np.zeros((padded, padded))
    vector = np.zeros(size)
    rough_sum = np.zeros((tests, tests))
    filled = 0
    for s in range(scales.shape[0]):
        n = starts[s + 1] - starts[s]
        scale[0] = scales[s]
        one[1] = n
        # what is seen after the step
        for k in range(dim):
            for i in range(n):
                x[k, i] = after[starts[s] + i, k]
        evaluated(
            test_external, test_interaction, x, one, scale, lengths, columns, push, test_energy, test_diffusion,
            room,
        )  # fmt: skip
        for e in range(tests):
            residual[e] = test_energy[0, e]
        # forces before it, and where it leads without noise
        for k in range(dim):
            for i in range(n):
                x[k, i] = before[starts[s] + i, k]
        evaluated(external, interaction, x, one, scale, lengths, columns, force, energy, diffusion, room)
        for k in range(dim):
            for i in range(n):
                total = 0.0
                for f in range(size):
                    total += coef[f] * force[f, k * columns + i]
                y[k, i] = x[k, i] - gap * total
        # covariance of the test energies, and its root
        evaluated(
            smooth_external, smooth_interaction, y, one, scale, lengths, columns, push, test_energy,
            test_diffusion, room,
        )  # fmt: skip
        root[:] = 0.0
        add_products(push, dim * columns, root)
        for e in range(tests):
            residual[e] -= test_energy[0, e]
        for e in range(tests):
            for f in range(e + 1):
                linear = sigma * sigma * gap * root[e, f]
                rough_sum[e, f] += (residual[e] * residual[f] - linear) / gap**2
                root[e, f] = linear + gap * gap * rough[e, f]
        cholesky(root, tests)
        begin = filled * tests
        for e in range(tests):
            total = residual[e]
            for f in range(e):
                total -= root[e, f] * white[begin + f]
            white[begin + e] = total / root[e, e]
        for a in range(size):
            for e in range(tests):
                total = 0.0
                for c in range(dim * columns):
                    total += push[e, c] * force[a, c]
                total *= gap
                for f in range(e):
                    total -= root[e, f] * rows[a, begin + f]
                rows[a, begin + e] = total / root[e, e]
        filled += 1
        if filled == TOGETHER or s == scales.shape[0] - 1:
            add_products(rows, filled * tests, matrix)
            for a in range(size):
                total = 0.0
                for c in range(filled * tests):
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
