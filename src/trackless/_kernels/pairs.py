"""Which pairs of particles are worked on together, and with which family's functions.

Either all pairs of a few small snapshots, each once, with forces on both; or, for some particles (rows) of a large
snapshot, their neighbours within a reach, with forces on the rows only: every pair is then seen twice, once from each
side, and memory does not grow with the snapshot.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from trackless._kernels import FAST
from trackless._kernels.bumps import bump_pair_chunk
from trackless._kernels.cells import cells_around
from trackless._kernels.radial import radial_pair_chunk
from trackless._kernels.tensor import tensor_pair_chunk
from trackless.tables import BumpTable, RadialTable, TensorTable


def pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
    """Add a family's functions at ``count`` listed pairs to forces, energies, diffusion terms and the pair part.

    Parameters
    ----------
    base, own : int
        Number of the family's first function among all, and among those of interactions.
    pieces : int
        Pairs belong to so many snapshots, see ``segments``.
    scales : (snapshots,)
        Coupling factors.
    share : float
        1 where every pair is listed once, 1/2 where it is listed from both sides.
    room : tuple
        Offsets (dim, pairs), scratch, the particles of each pair (columns of ``force``), and ``segments``
        (pieces + 1, 2): snapshot and first pair of each piece.
    """
    raise NotImplementedError("called from compiled code only")


@overload(pair_chunk, jit_options={"fastmath": FAST})
def _pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
    def radial(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
        offsets, cells, work, slopes, of_i, of_j, segments, coincident, rows = room
        radial_pair_chunk(
            table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, offsets, cells,
            work, slopes, of_i, of_j, segments, coincident, rows,
        )  # fmt: skip

    def tensor(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
        offsets, _, _, _, of_i, of_j, segments, _, _ = room
        tensor_pair_chunk(
            table, base, own, columns, pieces, scales, share, force, energy, diffusion, pair, offsets, of_i, of_j,
            segments,
        )  # fmt: skip

    def bumps(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
        offsets, _, _, _, of_i, of_j, segments, _, _ = room
        bump_pair_chunk(
            table, base, columns, pieces, scales, share, force, energy, diffusion, offsets, of_i, of_j, segments
        )

    kinds = {RadialTable: radial, TensorTable: tensor, BumpTable: bumps}
    return kinds.get(getattr(table, "instance_class", None))


@njit(fastmath=FAST)
def pair_offsets(x, n, of_i, of_j, lengths, offsets):
    """Displacements x_i - x_j to the nearest image, into ``offsets`` (dim, n)."""
    for k in range(x.shape[0]):
        for p in range(n):
            offsets[k, p] = x[k, of_i[p]] - x[k, of_j[p]]
        if lengths[k] > 0.0:
            for p in range(n):
                offsets[k, p] -= lengths[k] * np.rint(offsets[k, p] / lengths[k])


@njit(fastmath=FAST)
def all_pairs(
    table, x, starts, a, b, snapshots, lengths, scales, base, own, columns, force, energy, diffusion, pair, room
):  # fmt: skip
    """Add the functions of all pairs of a particle of kind ``a`` and one of kind ``b`` within each snapshot.

    Snapshot s has the particles of kind a from ``starts[a, s]`` to ``starts[a, s + 1]``. Pairs are taken in chunks of
    whole rows of the pair matrices.
    """
    offsets, _, _, _, of_i, of_j, segments, _, _ = room
    most = offsets.shape[1]
    s = 0
    i = 0
    while s < snapshots:
        count = 0
        pieces = 0
        while s < snapshots:
            here = starts[a, s] + i
            first = here + 1 if a == b else starts[b, s]
            row = starts[b, s + 1] - first
            if here >= starts[a, s + 1] or row <= 0:
                s += 1
                i = 0
                continue
            if count + row > most:
                break
            if pieces == 0 or segments[pieces - 1, 0] != s:
                segments[pieces, 0] = s
                segments[pieces, 1] = count
                pieces += 1
            for j in range(row):
                of_i[count + j] = here
                of_j[count + j] = first + j
            count += row
            i += 1
        segments[pieces, 1] = count
        if count > 0:
            pair_offsets(x, count, of_i, of_j, lengths, offsets)
            pair_chunk(table, base, own, columns, count, pieces, scales, 1.0, force, energy, diffusion, pair, room)


@njit(fastmath=FAST)
def near_pairs(
    table, x, begin, end, other, cell_of, start, cells, lengths, reach, scales, base, own, columns, force, energy,
    diffusion, pair, room,
):  # fmt: skip
    """Add the functions of particles ``begin`` to ``end`` and their neighbours of kind ``other`` within ``reach``.

    ``x`` (dim, n), ``cell_of`` and ``start`` are those of :func:`trackless._kernels.cells.sorted_into_cells`. Forces
    are those on the particles of the rows; what their neighbours feel goes into the last column and is thrown away.
    """
    offsets, _, _, _, of_i, of_j, segments, _, _ = room
    dim = x.shape[0]
    most = offsets.shape[1]
    total = 1
    for k in range(dim):
        total *= cells[k]
    near = np.empty(3**dim, np.int64)
    around = 0
    square = reach * reach
    segments[0, 0] = 0
    segments[0, 1] = 0
    count = 0
    for i in range(begin, end):
        if i == begin or cell_of[i] != cell_of[i - 1]:
            around = cells_around(cell_of[i], cells, lengths, near)
        for c in range(around):
            cell = other * total + near[c]
            for j in range(start[cell], start[cell + 1]):
                if j == i:
                    continue
                distance = 0.0
                for k in range(dim):
                    step = x[k, i] - x[k, j]
                    if lengths[k] > 0.0:
                        step -= lengths[k] * np.rint(step / lengths[k])
                    offsets[k, count] = step
                    distance += step * step
                if distance <= square:
                    of_i[count] = i - begin
                    of_j[count] = columns - 1
                    count += 1
                    if count == most:
                        segments[1, 1] = count
                        pair_chunk(
                            table, base, own, columns, count, 1, scales, 0.5, force, energy, diffusion, pair, room
                        )
                        count = 0
    if count > 0:
        segments[1, 1] = count
        pair_chunk(table, base, own, columns, count, 1, scales, 0.5, force, energy, diffusion, pair, room)
    for f in range(base, base + table.size):
        for k in range(dim):
            force[f, k * columns + columns - 1] = 0.0
