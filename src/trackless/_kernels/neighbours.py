"""Lists of pairs that are near enough to feel each other, kept while particles move (Verlet, 1967).

A list holds all pairs within a reach and a skin around it. As long as no particle has moved by half the skin since the
list was made, no pair outside it can have come within the reach.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.cells import cells_around, grid_of, sorted_into_cells

MANY = 100  # particles from which on lists are worth their making
MOST = 2**25  # pairs: beyond, all pairs are looked at in pieces, in memory that does not grow
DENSE = 0.6  # nor are lists worth it if they hold more than this part of all pairs
LIFE = 12  # steps that a list should last, about
WIDEST = 0.5  # largest skin, as a part of the reach


@njit
def skin_around(reach, sigma, step, n):
    """Skin of a list that lasts for some steps: the largest of n Gaussian steps is about sqrt(2 log n) of them."""
    largest = 0.0
    for k in range(sigma.shape[0]):
        largest = max(largest, sigma[k])
    return min(WIDEST * reach, 2.0 * largest * np.sqrt(2.0 * np.log(n) * LIFE * step) + 1e-3 * reach)


@njit(fastmath=FAST)
def moved_beyond(x, reference, limit):
    """Whether a particle of ``x`` (dim, n) is farther than ``limit`` from where it was in ``reference``."""
    for i in range(x.shape[1]):
        distance = 0.0
        for k in range(x.shape[0]):
            distance += (x[k, i] - reference[k, i]) ** 2
        if distance > limit * limit:
            return True
    return False


@njit(fastmath=FAST)
def list_within(x, starts, pairs, lengths, reach, of_i, of_j):
    """Pairs of particles of ``x`` (dim, n) within ``reach``, of all ``pairs`` (P, 2) of kinds, one after the other.

    ``starts`` (kinds + 1,) are the first particles of each kind; ``of_i`` and ``of_j`` are written, in larger arrays if
    they must be.

    Returns
    -------
    of_i, of_j, listed (P + 1,)
        Particles of each pair, and where the pairs of each two kinds begin; ``listed`` is empty if there are too many.
    """
    lower, inverse, cells = grid_of(x, lengths, reach)
    positions, order, cell_of, start = sorted_into_cells(x, starts, lengths, lower, inverse, cells)
    dim = x.shape[0]
    total = 1
    for k in range(dim):
        total *= cells[k]
    near = np.empty(3**dim, np.int64)
    listed = np.zeros(pairs.shape[0] + 1, np.int64)
    count = 0
    for c in range(pairs.shape[0]):
        a, b = pairs[c, 0], pairs[c, 1]
        here, around = -1, 0
        for i in range(starts[a], starts[a + 1]):
            if cell_of[i] != here:
                here = cell_of[i]
                around = cells_around(here, cells, lengths, near)
            for s in range(around):
                cell = b * total + near[s]
                for j in range(max(start[cell], i + 1) if a == b else start[cell], start[cell + 1]):
                    distance = 0.0
                    for k in range(dim):
                        step = positions[k, i] - positions[k, j]
                        if lengths[k] > 0.0:
                            step -= lengths[k] * np.rint(step / lengths[k])
                        distance += step * step
                    if distance <= reach * reach:
                        if count == of_i.shape[0]:
                            of_i, of_j = _longer(of_i), _longer(of_j)
                        of_i[count] = order[i]
                        of_j[count] = order[j]
                        count += 1
            if count > MOST:
                return of_i, of_j, listed[:0]
        listed[c + 1] = count
    return of_i, of_j, listed


@njit
def _longer(of_i):
    longer = np.empty(2 * of_i.shape[0], np.int64)
    longer[: of_i.shape[0]] = of_i
    return longer


@njit
def worth_listing(x, starts, pairs, lengths, reach):
    """Whether neighbours within ``reach`` are few enough, and there are particles enough, for lists to save time."""
    n = x.shape[1]
    if n < MANY or x.shape[0] > 3 or not np.isfinite(reach) or reach <= 0.0:
        return False
    room = np.empty(n, np.int64)
    everything = 0.5 * n * (n - 1)
    _, _, listed = list_within(x, starts, pairs, lengths, reach, room, room.copy())
    return listed.shape[0] > 0 and listed[-1] < DENSE * everything
