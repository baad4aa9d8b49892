"""Test energies of single snapshots: their values, diffusion terms, and how forces and noise change them."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.cells import grid_of, sorted_into_cells
from trackless._kernels.moments import (
    FEWEST_IN_CELLS,
    PARTICLES,
    add_functions,
    in_rows,
    next_rows,
    scratch_room,
    sizes_of,
    transposed,
)
from trackless._kernels.pairs import Rows, whole


@njit(fastmath=FAST)
def evaluated(families, x, starts, scale, lengths, columns, force, energy, diffusion, room):
    """Forces (K, dim columns), energies N h (1, K) and diffusion terms N delta (parts, K) of one snapshot.

    ``x`` is (dim, n), kind a has columns ``starts[a, 0]`` to ``starts[a, 1]``, and ``scale`` (1,) is the coupling
    factor.
    """
    energy[:] = 0.0
    diffusion[:] = 0.0
    added(families, whole(x.shape[0]), x, starts, scale, lengths, columns, force, energy, diffusion, room)


@njit(fastmath=FAST)
def added(families, rows, x, starts, scale, lengths, columns, force, energy, diffusion, room):
    """Forces of one snapshot, or of rows of it; energies and diffusion terms are added to what is there."""
    force[:] = 0.0
    add_functions(
        families, rows, x, starts, 1, lengths, scale, columns, force, energy, diffusion, np.zeros((0, 0)), room
    )


@njit
def ranges_of(starts, s):
    """First and last column (kinds, 2) of each kind of one snapshot."""
    kinds = starts.shape[1] - 1
    found = np.empty((kinds, 2), np.int64)
    for a in range(kinds):
        found[a, 0], found[a, 1] = starts[s, a] - starts[s, 0], starts[s, a + 1] - starts[s, 0]
    return found


@njit
def most_particles(starts):
    """Of one snapshot."""
    most = 1
    for s in range(starts.shape[0]):
        most = max(most, starts[s, starts.shape[1] - 1] - starts[s, 0])
    return most


@njit(fastmath=FAST)
def dot(a, b):
    """Inner product of two rows."""
    total = 0.0
    for p in range(a.shape[0]):
        total += a[p] * b[p]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def energy_series(points, starts, scales, lengths, families, coef, tests, ahead, weights, gram, cross):
    """Test energies of every snapshot.

    Parameters
    ----------
    points : (P, dim)
        Positions of all snapshots, each sorted by kind.
    starts : (S, kinds + 1)
        Kind a of snapshot s is ``points[starts[s, a]:starts[s, a + 1]]``.
    scales : (S,)
        Coupling factors.
    families : Families
        Of the forces, K functions.
    coef : (C, K)
        Several sets of coefficients.
    tests : Families
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
    kinds = starts.shape[1] - 1
    noise = tests.external[0].noise
    parts = noise.shape[0]
    n_external, n_interaction, most = sizes_of(families)
    t_external, t_interaction, t_most = sizes_of(tests)
    size, total = n_external + n_interaction, t_external + t_interaction
    columns = most_particles(starts)
    if ahead == 0.0 and columns >= FEWEST_IN_CELLS:
        columns = np.int64(PARTICLES)  # at least; more where small snapshots need it
        for s in range(starts.shape[0]):
            n = starts[s, kinds] - starts[s, 0]
            if not in_rows(n, np.ones(dim, np.int64)):
                columns = max(columns, n)
    room = scratch_room(dim, parts, max(most, t_most), 0, columns)
    count = scales.shape[0]
    scale = np.empty(1)
    x = np.empty((dim, columns))
    force, push = np.zeros((size, dim * columns)), np.zeros((total, dim * columns))
    drift = np.zeros((coef.shape[0], dim * columns))
    own_energy, own_diffusion = np.zeros((1, size)), np.zeros((parts, size))
    energy, diffusion = np.zeros((count, total)), np.zeros((count, parts, total))
    power = np.zeros((count, coef.shape[0], total))
    for s in range(count):
        n = starts[s, kinds] - starts[s, 0]
        scale[0] = scales[s]
        ranges = ranges_of(starts, s)
        rows = whole(dim)
        large = False
        if ahead == 0.0 and n >= FEWEST_IN_CELLS:
            everyone = transposed(points, starts[s, 0], n)
            lower, inverse, cells = grid_of(everyone, lengths, max(families.reach, tests.reach))
            large = in_rows(n, cells)
            if large:
                positions, _, cell_of, start = sorted_into_cells(
                    everyone, starts[s] - starts[s, 0], lengths, lower, inverse, cells
                )
                rows = Rows(0, 0, 0, positions, cell_of, start, cells)
        if not large:
            for k in range(dim):
                for i in range(n):
                    x[k, i] = points[starts[s, 0] + i, k]
        left = True
        while left:
            if large:
                rows = next_rows(rows, starts[s], columns - 1, x, ranges)
            added(families, rows, x, ranges, scale, lengths, columns, force, own_energy, own_diffusion, room)
            drift_of(coef, force, drift)
            if ahead != 0.0:
                for k in range(dim):
                    for i in range(n):
                        x[k, i] -= ahead * drift[0, k * columns + i]
            added(tests, rows, x, ranges, scale, lengths, columns, push, energy[s : s + 1], diffusion[s], room)
            add_tests(s, noise, columns, drift, force, push, weights, power, gram, cross)
            left = large and rows.end < n
    for s in range(count):
        for part in range(parts):
            for e in range(total):
                for f in range(e):
                    gram[s, part, f, e] = gram[s, part, e, f]
    return energy, diffusion, power


@njit(fastmath=FAST)
def drift_of(coef, force, drift):
    """The forces that each set of coefficients makes."""
    drift[:] = 0.0
    for c in range(coef.shape[0]):
        for f in range(coef.shape[1]):
            for p in range(drift.shape[1]):
                drift[c, p] += coef[c, f] * force[f, p]


@njit(fastmath=FAST)
def add_tests(s, noise, columns, drift, force, push, weights, power, gram, cross):
    """Add what particles contribute to the power, Gram matrix (lower triangle) and cross terms of snapshot ``s``."""
    dim, parts = noise.shape[1], noise.shape[0]
    for e in range(push.shape[0]):
        for c in range(drift.shape[0]):
            total = 0.0
            for p in range(dim * columns):
                total += drift[c, p] * push[e, p]
            power[s, c, e] += total
        for k in range(dim):
            here = slice(k * columns, (k + 1) * columns)
            for f in range(e + 1):
                total = dot(push[e, here], push[f, here])
                for part in range(parts):
                    gram[s, part, e, f] += noise[part, k] * total
            for f in range(force.shape[0]):
                total = weights[s] * dot(push[e, here], force[f, here])
                for part in range(parts):
                    cross[part, e, f] += noise[part, k] * total
