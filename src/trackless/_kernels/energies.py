"""Test energies of single snapshots: their values, diffusion terms, and how forces and noise change them."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.moments import PAIRS, one_body, pair_sums


@njit(fastmath=FAST)
def workspace(starts, dim, most):
    """Scratch arrays for :func:`evaluated`: the largest number of particles, and room for ``most`` functions."""
    columns = 1
    for s in range(starts.shape[0] - 1):
        columns = max(columns, starts[s + 1] - starts[s])
    pairs = max(PAIRS, columns)
    room = (
        np.empty((dim, pairs)), np.empty(pairs, np.int64), np.empty((4, pairs)), np.empty((max(most, 4), pairs)),
        np.empty(pairs, np.int64), np.empty(pairs, np.int64), np.empty((3, 2), np.int64), np.zeros(1, np.bool_),
        np.zeros((0, pairs)),
    )  # fmt: skip
    return columns, room


@njit(fastmath=FAST)
def evaluated(external, interaction, x, one, scale, lengths, columns, force, energy, diffusion, room):
    """Forces (K, dim columns), energies N h (1, K) and diffusion terms N delta (K,) of one snapshot ``x`` (dim, n).

    ``one`` is (0, n) and ``scale`` (1,) the coupling factor.
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


@njit(nogil=True, cache=True, fastmath=FAST)
def energy_series(
    points, starts, scales, lengths, external, interaction, coef, test_external, test_interaction, weights, gram, cross,
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
    weights : (S,)
    gram : (S, E, E), written
        N G of the test functions.
    cross : (E, K), written
        Weighted sum over snapshots of sum_i grad_i H_e . F_k.

    Returns
    -------
    energy (S, E), diffusion (S, E), power (S, C, E)
        N h, N delta, and the sum over particles of grad h_e times the force that coef makes.
    """
    dim = points.shape[1]
    size = external.size + interaction.size
    tests = test_external.size + test_interaction.size
    most = max(external.size, interaction.size, test_external.size, test_interaction.size)
    columns, room = workspace(starts, dim, most)
    count = scales.shape[0]
    one, scale = np.zeros(2, np.int64), np.empty(1)
    x = np.empty((dim, columns))
    force, push = np.zeros((size, dim * columns)), np.zeros((tests, dim * columns))
    drift = np.zeros((coef.shape[0], dim * columns))
    own_energy, own_diffusion = np.zeros((1, size)), np.zeros(size)
    energy, diffusion = np.zeros((count, tests)), np.zeros((count, tests))
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
            for f in range(e + 1):
                total = 0.0
                for p in range(dim * columns):
                    total += push[e, p] * push[f, p]
                gram[s, e, f] = gram[s, f, e] = total
            for f in range(size):
                total = 0.0
                for p in range(dim * columns):
                    total += push[e, p] * force[f, p]
                cross[e, f] += weights[s] * total
    return energy, diffusion, power
