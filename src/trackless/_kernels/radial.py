"""Radial families: distances to table cells, functions, forces and the pair part."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.products import add_products

NOTHING = 1e-150  # stands for a distance of 0, in any units
VALUES, BENDS, SHARES = 2, 3, 4  # rows of the scratch array ``work``; there is one share per part of the noise


@njit(fastmath=FAST)
def radial_distances(table, group, offsets, n, cells, work):
    """Cells and distances of ``n`` displacements ``offsets`` (dim, n) in one group of a radial table.

    Rows of ``work``: 0 u = q - left, 1 1/q, then from ``SHARES`` on |s^2 x|^2 / q^2 along the directions of each part
    of the noise (1 where nothing is stretched and the part has all of them).
    """
    cell_of, left, noise = table.cell_of, table.left, table.noise
    last_bin = cell_of.shape[1] - 1
    for p in range(n):
        work[0, p] = 0.0
    for k in range(offsets.shape[0]):
        s = table.squares[group, k]
        for p in range(n):
            work[0, p] += s * offsets[k, p] * offsets[k, p]
    for p in range(n):
        # q = 0 has no direction; a tiny distance keeps the limit of g'(q)/q for flat functions.
        q = max(np.sqrt(work[0, p]), NOTHING)
        work[0, p] = q
        work[1, p] = 1.0 / q
    for part in range(noise.shape[0]):
        share = work[SHARES + part]
        for p in range(n):
            share[p] = 0.0
        for k in range(offsets.shape[0]):
            s = table.squares[group, k]
            factor = noise[part, k] * s * s
            for p in range(n):
                share[p] += factor * offsets[k, p] * offsets[k, p]
        for p in range(n):
            share[p] *= work[1, p] * work[1, p]
    for p in range(n):
        position = (work[0, p] - table.bottom) * table.bins_per_unit + 1.0
        cell = cell_of[group, min(max(int(position), 0), last_bin)]
        cells[p] = cell
        work[0, p] -= left[cell]


@njit(fastmath=FAST)
def dense_function(table, group, j, n, cells, work, slopes, row, diffusion, f, factor):
    """One function at ``n`` points: values, g'(q)/q into a row of ``slopes``; adds factor times the Laplacians."""
    coef = table.coef
    values, bends = work[VALUES], work[BENDS]
    total = 0.0
    for p in range(n):
        cell = cells[p]
        u = work[0, p]
        c1 = coef[j, cell, 1]
        c2 = coef[j, cell, 2]
        c3 = coef[j, cell, 3]
        slope = (c1 + u * (2.0 * c2 + 3.0 * u * c3)) * work[1, p]
        slopes[row, p] = slope
        values[p] = coef[j, cell, 0] + u * (c1 + u * (c2 + u * c3))
        bends[p] = 2.0 * c2 + 6.0 * u * c3 - slope
        total += slope
    for part in range(table.noise.shape[0]):
        share = work[SHARES + part]
        trace = 0.0
        for k in range(table.squares.shape[1]):
            trace += table.noise[part, k] * table.squares[group, k]
        laplacians = total * trace
        for p in range(n):
            laplacians += bends[p] * share[p]
        diffusion[part, f] += factor * laplacians


@njit(fastmath=FAST)
def local_functions(
    table, begin, end, cells, work, offset, energy, snapshot, diffusion, value_scale, laplacian_scale, slopes
):
    """The same for a dictionary with few functions per cell: adds energies and diffusion terms directly."""
    coef, first, noise = table.coef, table.first, table.noise
    for p in range(begin, end):
        cell = cells[p]
        u = work[0, p]
        f = offset + first[cell]
        for j in range(coef.shape[0]):
            c1 = coef[j, cell, 1]
            c2 = coef[j, cell, 2]
            c3 = coef[j, cell, 3]
            slope = (c1 + u * (2.0 * c2 + 3.0 * u * c3)) * work[1, p]
            slopes[j, p] = slope
            energy[snapshot, f + j] += value_scale * (coef[j, cell, 0] + u * (c1 + u * (c2 + u * c3)))
        for part in range(noise.shape[0]):
            share = work[SHARES + part, p]
            trace = 0.0
            for k in range(noise.shape[1]):
                trace += noise[part, k]
            for j in range(coef.shape[0]):
                second = 2.0 * coef[j, cell, 2] + 6.0 * u * coef[j, cell, 3]
                diffusion[part, f + j] += laplacian_scale * (second * share + slopes[j, p] * (trace - share))


def radial_one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add the external functions, numbered from ``base`` on, at some particles of a batch of snapshots.

    They are columns ``starts[s]`` to ``starts[s + 1]`` of ``x`` (dim, n) for snapshot s.
    """
    offsets, cells, work, slopes, _, _, _, _, _ = room
    dim = x.shape[0]
    begin = starts[0]
    n = starts[snapshots] - begin
    values = work[VALUES]
    for k in range(dim):
        for i in range(n):
            offsets[k, i] = x[k, begin + i] - table.origin[k]
    for g in range(table.squares.shape[0]):
        radial_distances(table, g, offsets, n, cells, work)
        if not table.dense:
            first = table.first
            for s in range(snapshots):
                local_functions(
                    table, starts[s] - begin, starts[s + 1] - begin, cells, work, base, energy, s, diffusion, 1.0, 1.0,
                    slopes,
                )  # fmt: skip
            for i in range(n):
                for j in range(table.coef.shape[0]):
                    f = base + first[cells[i]] + j
                    for k in range(dim):
                        force[f, k * columns + begin + i] += slopes[j, i] * offsets[k, i]
            continue
        for f in range(table.group_start[g], table.group_start[g + 1]):
            j = f - table.group_start[g]
            dense_function(table, g, j, n, cells, work, slopes, 0, diffusion, base + f, 1.0)
            for s in range(snapshots):
                total = 0.0
                for i in range(starts[s] - begin, starts[s + 1] - begin):
                    total += values[i]
                energy[s, base + f] += total
            for k in range(dim):
                square = table.squares[g, k]
                for i in range(n):
                    force[base + f, k * columns + begin + i] += slopes[0, i] * square * offsets[k, i]


def radial_pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
    """Add interaction functions at listed pairs, see :func:`trackless._kernels.pairs.pair_chunk`.

    An empty ``pair`` says that the pair part is not wanted.
    """
    offsets, cells, work, slopes, of_i, of_j, segments, coincident, rows = room
    for g in range(table.squares.shape[0]):
        radial_distances(table, g, offsets, count, cells, work)
        for c in range(pieces):
            farthest = 0.0
            for p in range(segments[c, 1], segments[c + 1, 1]):
                farthest = max(farthest, work[1, p])
            coincident[segments[c, 0]] |= farthest >= 1.0 / NOTHING
        if table.dense:
            dense_pair_forces(
                table, g, count, scales, share, base, columns, force, energy, diffusion, offsets, cells, work, slopes,
                of_i, of_j, segments, pieces,
            )  # fmt: skip
        else:
            local_pair_sums(
                table, scales, share, base, own, columns, force, energy, diffusion, pair, offsets, cells, work, slopes,
                of_i, of_j, segments, pieces,
            )  # fmt: skip
    if table.dense and pair.shape[0] > 0:
        dense_pair_part(table, offsets, own, count, scales[0], share, slopes, work, rows, pair)


@njit(fastmath=FAST)
def dense_pair_forces(
    table, g, count, scales, share, base, columns, force, energy, diffusion, offsets, cells, work, slopes, of_i, of_j,
    segments, pieces,
):  # fmt: skip
    """Energies, diffusion terms and forces of the functions of one group, for one chunk of pairs."""
    values = work[VALUES]
    scale = scales[0]  # one coupling factor per batch: see accumulate_task
    for f in range(table.group_start[g], table.group_start[g + 1]):
        j = f - table.group_start[g]
        # scale/2 sum_{i != j} phi and scale sum_{i != j} Lap phi: each pair counts twice
        dense_function(table, g, j, count, cells, work, slopes, f, diffusion, base + f, 2.0 * share * scale)
        for c in range(pieces):
            total = 0.0
            for p in range(segments[c, 1], segments[c + 1, 1]):
                total += values[p]
            energy[segments[c, 0], base + f] += share * scale * total
        for k in range(offsets.shape[0]):
            factor = scale * table.squares[g, k]
            for p in range(count):
                push = factor * slopes[f, p] * offsets[k, p]
                force[base + f, k * columns + of_i[p]] += push
                force[base + f, k * columns + of_j[p]] -= push


@njit(fastmath=FAST)
def local_pair_sums(
    table, scales, share, base, own, columns, force, energy, diffusion, pair, offsets, cells, work, slopes, of_i, of_j,
    segments, pieces,
):  # fmt: skip
    """The same and the pair part for a dictionary with few functions per cell."""
    dim = offsets.shape[0]
    first = table.first
    width = table.coef.shape[0]
    paired = pair.shape[0] > 0
    for c in range(pieces):
        begin, end = segments[c, 1], segments[c + 1, 1]
        scale = scales[segments[c, 0]]
        local_functions(
            table, begin, end, cells, work, base, energy, segments[c, 0], diffusion, share * scale,
            2.0 * share * scale, slopes,
        )  # fmt: skip
        for p in range(begin, end):
            start = first[cells[p]]
            i, j = of_i[p], of_j[p]
            factor = 2.0 * share * scale * scale / (work[1, p] * work[1, p])
            for a in range(width):
                f = base + start + a
                slope = scale * slopes[a, p]
                for k in range(dim):
                    push = slope * offsets[k, p]
                    force[f, k * columns + i] += push
                    force[f, k * columns + j] -= push
                if paired:
                    for b in range(a + 1):
                        pair[own + start + a, own + start + b] += factor * slopes[a, p] * slopes[b, p]


@njit(fastmath=FAST)
def dense_pair_part(table, offsets, own, count, scale, share, slopes, work, rows, pair):
    """pair[a, b] += scale^2 sum over ordered pairs of grad phi_a . grad phi_b, for b <= a.

    Gradients of one group are parallel, so one product of rows is enough; else there is one per direction.
    """
    twice = np.sqrt(2.0 * share) * scale  # ordered pairs
    groups = table.squares.shape[0]
    lengths = work[VALUES]
    for k in range(1 if groups == 1 else offsets.shape[0]):
        for g in range(groups):
            for p in range(count):
                if groups == 1:
                    square = 0.0
                    for m in range(offsets.shape[0]):
                        square += (table.squares[g, m] * offsets[m, p]) ** 2
                    lengths[p] = twice * np.sqrt(square)
                else:
                    lengths[p] = twice * table.squares[g, k] * offsets[k, p]
            for f in range(table.group_start[g], table.group_start[g + 1]):
                for p in range(count):
                    rows[own + f, p] = slopes[f, p] * lengths[p]
        add_products(rows, count, pair)
    if table.size < pair.shape[0]:  # other families have rows of their own
        for f in range(table.size):
            for p in range(count):
                rows[own + f, p] = 0.0
