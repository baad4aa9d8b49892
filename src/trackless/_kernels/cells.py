"""Particles of a large snapshot sorted into cells, so that neighbours within a reach are found in linear time."""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_CELLS = 4  # per particle: beyond, cells are larger than the reach


@njit
def grid_of(x, lengths, reach):
    """Lower corner, inverse sides and numbers of cells (dim,) of a grid whose cells are not smaller than ``reach``.

    ``x`` is (dim, n); along periodic directions (``lengths`` > 0) the grid covers the box, else the particles.
    """
    dim, n = x.shape
    lower, inverse, cells = np.zeros(dim), np.zeros(dim), np.ones(dim, np.int64)
    span = np.empty(dim)
    for k in range(dim):
        if lengths[k] > 0.0:
            span[k] = lengths[k]
        else:
            low, high = np.inf, -np.inf
            for i in range(n):
                low, high = min(low, x[k, i]), max(high, x[k, i])
            lower[k], span[k] = low, high - low
        if np.isfinite(reach) and span[k] > 0.0 and np.isfinite(span[k]):
            cells[k] = max(1, int(min(span[k] / reach, 1e6)))
    total = 1.0
    for k in range(dim):
        total *= cells[k]
    while total > MOST_CELLS * n + 1:
        widest = np.argmax(cells)
        total /= cells[widest]
        cells[widest] = max(1, cells[widest] // 2)
        total *= cells[widest]
    for k in range(dim):
        if cells[k] > 1:
            inverse[k] = cells[k] / span[k]
    return lower, inverse, cells


@njit
def seen_part(cells):
    """The part of all particles that lie in the cells around one, about."""
    part = 1.0
    for k in range(cells.shape[0]):
        part *= min(1.0, 3.0 / cells[k])
    return part


@njit
def sorted_into_cells(x, kinds, lengths, lower, inverse, cells):
    """Particles ``x`` (dim, n), of kind a from ``kinds[a]`` to ``kinds[a + 1]``, sorted by kind and then by cell.

    Returns
    -------
    positions (dim, n), order (n,), cell_of (n,), start (kinds * cells + 1,)
        Sorted positions, where they were in ``x``, their cells, and where cell c of kind a begins: start[a cells + c].
    """
    dim, n = x.shape
    total = 1
    for k in range(dim):
        total *= cells[k]
    count = kinds.shape[0] - 1
    key = np.empty(n, np.int64)
    start = np.zeros(count * total + 1, np.int64)
    for a in range(count):
        for i in range(kinds[a], kinds[a + 1]):
            flat = 0
            for k in range(dim):
                place = x[k, i] - lower[k]
                if lengths[k] > 0.0:
                    place -= lengths[k] * np.floor(place / lengths[k])
                flat = flat * cells[k] + min(max(int(place * inverse[k]), 0), cells[k] - 1)
            key[i] = a * total + flat
            start[key[i] + 1] += 1
    for c in range(count * total):
        start[c + 1] += start[c]
    filled = start.copy()
    positions, order, cell_of = np.empty((dim, n)), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        place = filled[key[i]]
        filled[key[i]] += 1
        order[place] = i
        cell_of[place] = key[i] % total
        for k in range(dim):
            positions[k, place] = x[k, i]
    return positions, order, cell_of, start


@njit
def cells_around(cell, cells, lengths, near):
    """The cells around one (itself included) into ``near``, each once; returns how many."""
    dim = cells.shape[0]
    count = 0
    for step in range(3**dim):
        rest, left, flat, stride, there = step, cell, 0, 1, True
        for back in range(dim):
            k = dim - 1 - back
            place = left % cells[k] + rest % 3 - 1
            left //= cells[k]
            offset = rest % 3 - 1
            rest //= 3
            if lengths[k] > 0.0:
                # with one or two cells in a direction, steps to both sides lead to the same one
                there = there and not (cells[k] == 1 and offset != 0) and not (cells[k] == 2 and offset == -1)
                place %= cells[k]
            else:
                there = there and 0 <= place < cells[k]
            flat += place * stride
            stride *= cells[k]
        if there:
            near[count] = flat
            count += 1
    return count
