"""Test energies of single snapshots: their values, diffusion terms, and how forces and noise change them."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.moments import PAIRS, one_body, pair_sums
from trackless._kernels.radial import SHARES


@njit(fastmath=FAST)
def workspace(starts, dim, most, parts):
    """Scratch arrays for :func:`evaluated`: the largest number of particles, and room for ``most`` functions
    and the parts of their diffusion terms."""
    columns = 1
    for s in range(starts.shape[0] - 1):
        columns = max(columns, starts[s + 1] - starts[s])
    pairs = max(PAIRS, columns)
    room = (
        np.empty((dim, pairs)), np.empty(pairs, np.int64), np.empty((SHARES + parts, pairs)),
        np.empty((max(most, 4), pairs)),
        np.empty(pairs, np.int64), np.empty(pairs, np.int64), np.empty((3, 2), np.int64), np.zeros(1, np.bool_),
        np.zeros((0, pairs)),
    )  # fmt: skip
    return columns, room


@njit(fastmath=FAST)
def evaluated(external, interaction, x, one, scale, lengths, columns, force, energy, diffusion, room):
    """Forces (K, dim columns), energies N h (1, K) and diffusion terms N delta (parts, K) of one snapshot.

    ``x`` is (dim, n), ``one`` is (0, n) and ``scale`` (1,) the coupling factor.
    """
    force[:] = 0.0
    energy[:] = 0.0
    diffusion[:] = 0.0
    if external.size > 0:
        one_body(external, x, one, 1, columns, force, energy, diffusion, room)
    if interaction.size > 0:
        pair_sums(
            interaction, x, one, 1, lengths, scale, external.size, columns, force, energy, diffusion,
            np.zeros((0, 0)), room,
        )  # fmt: skip


@njit(fastmath=FAST)
def dot(a, b):
    """Inner product of two rows."""
    total = 0.0
    for p in range(a.shape[0]):
        total += a[p] * b[p]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def energy_series(
    points, starts, scales, lengths, external, interaction, coef, test_external, test_interaction, ahead, weights, gram,
    cross,
):  # fmt: skip
    """Test energies of every snapshot.

    Parameters
    ----------
    points : (P, dim)
        Positions of all snapshots; snapshot s is ``points[starts[s]:starts[s + 1]]``.
    scales : (S,)
        Coupling factors.
    external, interaction : tables
        Of the forces, K functions.
    coef : (C, K)
        Several sets of coefficients.
    test_external, test_interaction : tables
        Of the E test functions.
    ahead : float
        Test functions are looked at this time after the snapshot, where the first forces alone would lead.
    weights : (S,)
    gram : (S, parts, E, E), written
        N G of the test functions, along the directions of each part of the noise.
    cross : (parts, E, K), written
        Weighted sum over snapshots of sum_i grad_i H_e . F_k, likewise.

    Returns
    -------
    energy (S, E), diffusion (S, parts, E), power (S, C, E)
        N h, N delta, and the sum over particles of grad h_e times the force that coef makes.
    """
    dim = points.shape[1]
    noise = external.noise
    parts = noise.shape[0]
    size = external.size + interaction.size
    tests = test_external.size + test_interaction.size
    most = max(external.size, interaction.size, test_external.size, test_interaction.size)
    columns, room = workspace(starts, dim, most, parts)
    count = scales.shape[0]
    one, scale = np.zeros(2, np.int64), np.empty(1)
    x = np.empty((dim, columns))
    force, push = np.zeros((size, dim * columns)), np.zeros((tests, dim * columns))
    drift = np.zeros((coef.shape[0], dim * columns))
    own_energy, own_diffusion = np.zeros((1, size)), np.zeros((parts, size))
    energy, diffusion = np.zeros((count, tests)), np.zeros((count, parts, tests))
    power = np.zeros((count, coef.shape[0], tests))
    for s in range(count):
        n = starts[s + 1] - starts[s]
        one[1], scale[0] = n, scales[s]
        for k in range(dim):
            for i in range(n):
                x[k, i] = points[starts[s] + i, k]
        evaluated(external, interaction, x, one, scale, lengths, columns, force, own_energy, own_diffusion, room)
        drift[:] = 0.0
        for c in range(coef.shape[0]):
            for f in range(size):
                for p in range(dim * columns):
                    drift[c, p] += coef[c, f] * force[f, p]
        if ahead != 0.0:
            for k in range(dim):
                for i in range(n):
                    x[k, i] -= ahead * drift[0, k * columns + i]
        evaluated(
            test_external, test_interaction, x, one, scale, lengths, columns, push, energy[s : s + 1], diffusion[s],
            room,
        )  # fmt: skip
        for e in range(tests):
            for c in range(coef.shape[0]):
                total = 0.0
                for p in range(dim * columns):
                    total += drift[c, p] * push[e, p]
                power[s, c, e] = total
            for k in range(dim):
                here = slice(k * columns, (k + 1) * columns)
                for f in range(e + 1):
                    total = dot(push[e, here], push[f, here])
                    for part in range(parts):
                        gram[s, part, e, f] += noise[part, k] * total
                for f in range(size):
                    total = weights[s] * dot(push[e, here], force[f, here])
                    for part in range(parts):
                        cross[part, e, f] += noise[part, k] * total
            for part in range(parts):
                for f in range(e):
                    gram[s, part, f, e] = gram[s, part, e, f]
    return energy, diffusion, power
