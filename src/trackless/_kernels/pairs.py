"""Which pairs of particles are worked on together, and with which family's functions.

Either all pairs of a few small snapshots, each once, with forces on both; or, for some particles (rows) of a large
snapshot, their neighbours within a reach, with forces on the rows only: every pair is then seen twice, once from each
side, and memory does not grow with the snapshot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

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
    kinds = {RadialTable: radial_pair_chunk, TensorTable: tensor_pair_chunk, BumpTable: bump_pair_chunk}
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


class Rows(NamedTuple):
    """Some particles (rows) of a large snapshot that was sorted into cells; or, with kind -1, whole small snapshots."""

    kind: int
    begin: int
    end: int
    positions: NDArray[np.float64]
    """(dim, n), ``cell_of`` and ``start`` as :func:`trackless._kernels.cells.sorted_into_cells` makes them"""
    cell_of: NDArray[np.int64]
    start: NDArray[np.int64]
    cells: NDArray[np.int64]


@njit
def whole(dim):
    """No rows: snapshots are taken whole."""
    none = np.empty(0, np.int64)
    return Rows(-1, 0, 0, np.empty((dim, 0)), none, none, none)


@njit
def list_all(starts, a, b, snapshots, s, i, of_i, of_j, segments):
    """Pairs of a particle of kind ``a`` and one of kind ``b``, from row ``i`` of snapshot ``s`` on, as many as fit.

    Returns their count, the pieces of ``segments``, and the snapshot and row to go on with.
    """
    count, pieces = 0, 0
    while s < snapshots:
        here = starts[a, s] + i
        first = here + 1 if a == b else starts[b, s]
        row = starts[b, s + 1] - first
        if here >= starts[a, s + 1] or row <= 0:
            s += 1
            i = 0
            continue
        if count + row > of_i.shape[0]:
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
    return count, pieces, s, i


@njit(fastmath=FAST)
def list_near(rows, other, lengths, reach, columns, i, c, j, offsets, of_i, of_j, segments):
    """Neighbours of kind ``other`` within ``reach`` of the rows, from place (i, c, j) on, as many as fit.

    Returns their count and the place to go on with: particle, cell around it, particle there. What neighbours feel is
    sent to the last column.
    """
    positions, start = rows.positions, rows.start
    dim = positions.shape[0]
    total = 1
    for k in range(dim):
        total *= rows.cells[k]
    near = np.empty(3**dim, np.int64)
    here, around, count = -1, 0, 0
    while i < rows.end:
        if rows.cell_of[i] != here:
            here = rows.cell_of[i]
            around = cells_around(here, rows.cells, lengths, near)
        while c < around:
            cell = other * total + near[c]
            for other_one in range(max(j, start[cell]), start[cell + 1]):
                if other_one == i:
                    continue
                if count == of_i.shape[0]:
                    segments[0, 0], segments[0, 1], segments[1, 1] = 0, 0, count
                    return count, i, c, other_one
                distance = 0.0
                for k in range(dim):
                    step = positions[k, i] - positions[k, other_one]
                    if lengths[k] > 0.0:
                        step -= lengths[k] * np.rint(step / lengths[k])
                    offsets[k, count] = step
                    distance += step * step
                if distance <= reach * reach:
                    of_i[count] = i - rows.begin
                    of_j[count] = columns - 1
                    count += 1
            j = 0
            c += 1
        c = 0
        i += 1
    segments[0, 0], segments[0, 1], segments[1, 1] = 0, 0, count
    return count, i, c, j


@njit(fastmath=FAST)
def pair_sums(
    table, rows, x, starts, a, b, snapshots, lengths, reach, scales, base, own, columns, force, energy, diffusion,
    pair, room,
):  # fmt: skip
    """Add the functions of all pairs of a particle of kind ``a`` and one of kind ``b``, chunk by chunk.

    Snapshot s has the particles of kind a in columns ``starts[a, s]`` to ``starts[a, s + 1]``; of rows, neighbours of
    kind ``b`` are looked for.
    """
    offsets, _, _, _, of_i, of_j, segments, _, _ = room
    in_rows = rows.kind >= 0
    s, c, j = np.int64(0), np.int64(0), np.int64(0)  # typed: see add_functions
    i = rows.begin if in_rows else np.int64(0)
    while True:
        if in_rows:
            count, i, c, j = list_near(
                rows, b, lengths, reach, columns, i, c, j, offsets, of_i, of_j, segments
            )  # fmt: skip
            pieces = np.int64(1)
        else:
            count, pieces, s, i = list_all(starts, a, b, snapshots, s, i, of_i, of_j, segments)
            pair_offsets(x, count, of_i, of_j, lengths, offsets)
        if count == 0:
            break
        share = 0.5 if in_rows else 1.0
        pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room)
    if in_rows:
        for f in range(base, base + table.size):
            for k in range(x.shape[0]):
                force[f, k * columns + columns - 1] = 0.0
