"""The simulation kernel: several small runs in lockstep, so that loops over their pairs vectorise; large ones alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from trackless._kernels import FAST
from trackless._kernels.neighbours import list_within, moved_beyond, skin_around, worth_listing
from trackless._kernels.pairs import pair_offsets
from trackless._kernels.random import fill_normals, shuffle
from trackless._kernels.tensor import tensor_functions, tensor_room
from trackless.tables import TensorTable

Array = NDArray[np.float64]
PAIRS = 2048  # pairs worked on together, at least one row of the pair matrix
OCTAVE = 9  # 2^9 cells between s and 2 s
SHIFT = 52 - OCTAVE  # drops the bits of s that are finer than a cell


class SlopeTable(NamedTuple):
    """One potential that is a sum of radial (stretched) terms, as g'(q)/q on cells of s = q^2.

    Cells divide every octave of s evenly, so the cell is read off the leading bits of s as a floating-point
    number: no square root, no division, and a range of 2^28 in distance with the same relative resolution.
    """

    origin: Array
    """(dim,)"""
    squares: Array
    """(groups, dim): 1 / stretch^2"""
    first_cell: int
    """leading bits of the smallest s"""
    coef: Array
    """(groups, cells, 3): g'(q)/q = c0 + s (c1 + s c2)"""
    safe_step: Array
    """(groups, cells): largest step that is accurate there"""
    reach: float
    """distance beyond which nothing is felt, or infinite"""


class TensorPotential(NamedTuple):
    """A tensor spline with its coefficients."""

    table: TensorTable
    coef: Array
    """(functions,)"""
    safe_step: float
    reach: float


def gradients(potential, offsets, n, out, begin, scratch, bits, cells, adaptive) -> tuple[int, float]:
    """Gradients at ``offsets`` (dim, n) into ``out``, from column ``begin`` on.

    Returns how many left the table and the smallest safe step.
    """
    raise NotImplementedError("called from compiled code only")


@njit(fastmath=FAST)
def radial_gradients(potential, offsets, n, out, begin, scratch, bits, cells, adaptive):
    coef, safe_step = potential.coef, potential.safe_step
    dim = offsets.shape[0]
    last = coef.shape[1] - 1
    outside = 0  # counted, because a largest float would keep the loop from vectorising
    step = np.inf
    for g in range(coef.shape[0]):
        for p in range(n):
            scratch[p] = 0.0
        for k in range(dim):
            s = potential.squares[g, k]
            for p in range(n):
                scratch[p] += s * offsets[k, p] * offsets[k, p]
        for p in range(n):
            cell = min(max((bits[p] >> SHIFT) - potential.first_cell, 0), last)
            cells[p] = cell
            outside += cell == last
        for p in range(n):
            cell = cells[p]
            scratch[p] = coef[g, cell, 0] + scratch[p] * (coef[g, cell, 1] + scratch[p] * coef[g, cell, 2])
        if adaptive:
            for p in range(n):
                step = min(step, safe_step[g, cells[p]])
        for k in range(dim):
            s = potential.squares[g, k]
            if g == 0:
                for p in range(n):
                    out[k, begin + p] = s * scratch[p] * offsets[k, p]
            else:
                for p in range(n):
                    out[k, begin + p] += s * scratch[p] * offsets[k, p]
    return outside, step


@njit(fastmath=FAST)
def tensor_gradients(potential, offsets, n, out, begin):
    dim = offsets.shape[0]
    basis, index, value, gradient, laplacian = tensor_room(dim, 1)
    point = np.empty(dim)
    for p in range(n):
        for k in range(dim):
            point[k] = offsets[k, p]
            out[k, begin + p] = 0.0
        count = tensor_functions(potential.table, point, basis, index, value, gradient, laplacian)
        for a in range(count):
            if index[a] >= 0:
                for k in range(dim):
                    out[k, begin + p] += potential.coef[index[a]] * gradient[a, k]
    return 0, potential.safe_step


@overload(gradients, jit_options={"fastmath": FAST})
def _gradients(potential, offsets, n, out, begin, scratch, bits, cells, adaptive):
    def radial(potential, offsets, n, out, begin, scratch, bits, cells, adaptive):
        return radial_gradients(potential, offsets, n, out, begin, scratch, bits, cells, adaptive)

    def tensor(potential, offsets, n, out, begin, scratch, bits, cells, adaptive):
        return tensor_gradients(potential, offsets, n, out, begin)

    return {SlopeTable: radial, TensorPotential: tensor}.get(getattr(potential, "instance_class", None))


@njit
def list_pairs(starts, runs, a, b, row, of_i, of_j):
    """Pairs of a particle of kind ``a`` and one of kind ``b`` within each of the runs, as many as fit.

    ``starts`` (kinds + 1,) are the first particles of each kind in a run; columns are ordered by kind, then by run.
    Begins with particle ``row`` of kind a in all runs; returns the count and the row to go on with.
    """
    count = 0
    n, m = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
    first, second = runs * starts[a], runs * starts[b]
    for i in range(row, runs * n):
        run = i // n
        begin = i + 1 if a == b else run * m
        end = (run + 1) * m
        if count + end - begin > of_i.shape[0]:
            return count, i
        for j in range(begin, end):
            of_i[count] = first + i
            of_j[count] = second + j
            count += 1
    return count, runs * n


@njit
def list_all_pairs(starts, runs, pairs, of_i, of_j):
    """All pairs of all pairs of kinds, one after the other: (P + 1,) first of each, or nothing if they do not fit."""
    listed = np.zeros(pairs.shape[0] + 1, np.int64)
    for c in range(pairs.shape[0]):
        a, b = pairs[c, 0], pairs[c, 1]
        begin = listed[c]
        count, row = list_pairs(starts, runs, a, b, 0, of_i[begin:], of_j[begin:])
        if row < runs * (starts[a + 1] - starts[a]):
            return listed[:0]
        listed[c + 1] = begin + count
    return listed


@njit(fastmath=FAST)
def all_forces(
    x, starts, runs, external, interaction, pairs, lengths, scale, force, offsets, pushes, scratch, bits, cells,
    of_i, of_j, listed, adaptive,
):  # fmt: skip
    """-drift of every particle into ``force`` (dim, runs n).

    Pairs are those between ``listed`` (P + 1,) of ``of_i`` and ``of_j``; if that is empty, all, listed piece by piece.
    Returns how many distances left a table and the smallest safe step.
    """
    dim = x.shape[0]
    outside, step = 0, np.inf
    for a in range(len(external)):
        table = external[a]
        begin, count = runs * starts[a], runs * (starts[a + 1] - starts[a])
        for k in range(dim):
            for p in range(count):
                offsets[k, p] = x[k, begin + p] - external_origin(table, k)
        beyond, safe = gradients(table, offsets, count, force, begin, scratch, bits, cells, adaptive)
        outside += beyond
        step = min(step, safe)
    room = offsets.shape[1]
    for c in range(pairs.shape[0]):
        begin, row = 0 if listed.shape[0] == 0 else listed[c], 0
        while True:
            if listed.shape[0] > 0:
                count = min(room, listed[c + 1] - begin)
            else:
                count, row = list_pairs(starts, runs, pairs[c, 0], pairs[c, 1], row, of_i, of_j)
            if count == 0:
                break
            first, second = of_i[begin:], of_j[begin:]
            pair_offsets(x, count, first, second, lengths, offsets)
            beyond, safe = gradients(interaction[c], offsets, count, pushes, 0, scratch, bits, cells, adaptive)
            outside += beyond
            step = min(step, safe)
            for k in range(dim):
                for p in range(count):
                    push = scale * pushes[k, p]
                    force[k, first[p]] += push
                    force[k, second[p]] -= push
            if listed.shape[0] > 0:
                begin += count
    return outside, step


def external_origin(potential, k):
    """Coordinate k of the centre of an external potential."""
    raise NotImplementedError("called from compiled code only")


@overload(external_origin)
def _external_origin(potential, k):
    def radial(potential, k):
        return potential.origin[k]

    def tensor(potential, k):
        return 0.0

    return {SlopeTable: radial, TensorPotential: tensor}.get(getattr(potential, "instance_class", None))


@njit(nogil=True, cache=True, fastmath=FAST)
def simulate_batch(
    initial, noise, mixing, starts, external, interaction, pairs, lengths, sigma, scale, step, substeps, labeled,
    accurate, out,
):  # fmt: skip
    """Paths of a few runs, observed ``out.shape[1]`` times every ``substeps`` steps.

    Parameters
    ----------
    initial : (runs, n, dim)
    noise, mixing : (runs, 4) uint64
        Generators for the Brownian paths and for the permutations: hiding labels does not change the paths.
    starts : (kinds + 1,)
        Kind a of a run is its particles ``starts[a]`` to ``starts[a + 1]``; permutations stay within kinds.
    external : tuple of tables, one per kind
    interaction : tuple of tables, one per row of ``pairs`` (of which there may be none)
    pairs : (P, 2)
        Which kinds interact.
    sigma : (dim,)
        Noise intensity in each direction.
    scale : float
        Coupling factor, 1/n or 1.
    accurate : bool
        False: Euler-Maruyama (paper, section 5.1). True: Heun's scheme, of weak order 2 for additive noise, with
        steps cut to what is safe at the current distances (one run at a time).
    out : (runs, observations, n, dim), written

    Returns
    -------
    bool
        False if a distance left a table: what was written is then to be thrown away.
    """
    runs, n, dim = initial.shape
    total = runs * n
    kinds = starts.shape[0] - 1
    room = max(PAIRS, total)
    x = np.empty((dim, total))
    trial = np.empty((dim, total))
    kick = np.empty((dim, total))
    normals = np.empty(n * dim)
    force = np.empty((dim, total))
    force_after = np.empty((dim, total))
    offsets = np.empty((dim, room))
    pushes = np.empty((dim, room))
    scratch = np.empty(room)
    bits = scratch.view(np.int64)  # the same memory: the numbers as their bits
    cells = np.empty(room, np.int64)
    of_i = np.empty(room, np.int64)
    of_j = np.empty(room, np.int64)
    listed = list_all_pairs(starts, runs, pairs, of_i, of_j)
    reach = 0.0
    for c in range(len(interaction)):
        reach = max(reach, interaction[c].reach)
    skin = skin_around(reach, sigma, step, total)
    order = np.empty(n, np.int64)
    column = np.empty((runs, n), np.int64)  # ordered by kind, then by run: a kind is one stretch of columns
    for a in range(kinds):
        for b in range(runs):
            for i in range(starts[a], starts[a + 1]):
                column[b, i] = runs * starts[a] + b * (starts[a + 1] - starts[a]) + i - starts[a]
    for b in range(runs):
        for i in range(n):
            for k in range(dim):
                x[k, column[b, i]] = initial[b, i, k]
    near = runs == 1 and worth_listing(x, starts, pairs, lengths, reach + skin)
    reference = np.full((dim, total if near else 0), 1e100)  # where particles were when the list was made
    for t in range(out.shape[1]):
        left = step * substeps if t > 0 else 0.0
        count = 0
        while (accurate and left > 1e-9 * step) or (not accurate and t > 0 and count < substeps):
            if near and moved_beyond(x, reference, 0.5 * skin):
                of_i, of_j, listed = list_within(x, starts, pairs, lengths, reach + skin, of_i, of_j)
                reference[:] = x
            outside, safe = all_forces(
                x, starts, runs, external, interaction, pairs, lengths, scale, force, offsets, pushes, scratch,
                bits, cells, of_i, of_j, listed, accurate,
            )  # fmt: skip
            if outside > 0:
                return False
            h = step
            if accurate:
                h = left / np.ceil(left / min(step, safe) - 1e-9)
            size = np.sqrt(h)
            for b in range(runs):
                fill_normals(noise, b, normals, n * dim)
                for a in range(kinds):
                    begin = runs * starts[a] + b * (starts[a + 1] - starts[a]) - starts[a]
                    for i in range(starts[a], starts[a + 1]):
                        for k in range(dim):
                            kick[k, begin + i] = sigma[k] * size * normals[i * dim + k]
            if accurate:
                for k in range(dim):
                    for p in range(total):
                        trial[k, p] = x[k, p] - h * force[k, p] + kick[k, p]
                if near and moved_beyond(trial, reference, 0.5 * skin):
                    of_i, of_j, listed = list_within(trial, starts, pairs, lengths, reach + skin, of_i, of_j)
                    reference[:] = trial
                all_forces(
                    trial, starts, runs, external, interaction, pairs, lengths, scale, force_after, offsets, pushes,
                    scratch, bits, cells, of_i, of_j, listed, False,
                )  # fmt: skip
                for k in range(dim):
                    for p in range(total):
                        x[k, p] += kick[k, p] - 0.5 * h * (force[k, p] + force_after[k, p])
            else:
                for k in range(dim):
                    for p in range(total):
                        x[k, p] += kick[k, p] - h * force[k, p]
            left -= h
            count += 1
        for b in range(runs):
            for i in range(n):
                order[i] = i
            if not labeled:
                for a in range(kinds):
                    shuffle(mixing, b, order[starts[a] : starts[a + 1]])
            for i in range(n):
                for k in range(dim):
                    value = x[k, column[b, order[i]]]
                    if lengths[k] > 0.0:
                        value -= lengths[k] * np.floor(value / lengths[k])
                        if value >= lengths[k]:  # a tiny negative number rounds up to the side
                            value = 0.0
                    out[b, t, i, k] = value
    return True
