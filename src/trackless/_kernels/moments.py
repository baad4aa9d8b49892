"""From snapshots to weighted sums: the accumulation kernel.

A task is a list of snapshots of one block and time window, ordered so that snapshots with equal quadrature
weights (a class) follow each other: their quadratic terms are summed unweighted and weighted once per class.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from trackless._kernels import FAST
from trackless._kernels.bumps import bump_one_body
from trackless._kernels.cells import grid_of, seen_part, sorted_into_cells
from trackless._kernels.pairs import Rows, pair_sums, whole
from trackless._kernels.polynomials import polynomial_one_body
from trackless._kernels.products import add_products
from trackless._kernels.radial import SHARES, radial_one_body
from trackless._kernels.tensor import tensor_one_body
from trackless.tables import BumpTable, PolynomialTable, RadialTable, TensorTable

PARTICLES = 128  # particles of several small snapshots worked on together
PAIRS = 576  # pairs worked on together, at least one row of the pair matrix
MOST_TOGETHER = 2048  # larger snapshots are worked on in rows, whatever the reach
FEWEST_IN_CELLS = 64  # smaller ones are not worth sorting
WORTH_SORTING = 0.6  # part of all pairs that is looked at, up to which cells save time


def one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add external functions, numbered from ``base`` on, at some particles of a batch of snapshots."""
    raise NotImplementedError("called from compiled code only")


@overload(one_body, jit_options={"fastmath": FAST})
def _one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    kinds = {
        RadialTable: radial_one_body, TensorTable: tensor_one_body, PolynomialTable: polynomial_one_body,
        BumpTable: bump_one_body,
    }  # fmt: skip
    return kinds.get(getattr(table, "instance_class", None))


@njit(fastmath=FAST)
def sizes_of(families):
    """Numbers of functions of V, of Phi, and of the largest family."""
    external, interaction, most = 0, 0, 0
    for a in range(len(families.external)):
        if a == 0 or not families.same_external:
            external += families.external[a].size
        most = max(most, families.external[a].size)
    for c in range(len(families.interaction)):
        if c == 0 or not families.same_interaction:
            interaction += families.interaction[c].size
        most = max(most, families.interaction[c].size)
    return external, interaction, most


@njit(fastmath=FAST)
def add_functions(
    families, rows, x, starts, snapshots, lengths, scales, columns, force, energy, diffusion, pair, room
):  # fmt: skip
    """Add all functions of a batch of whole snapshots, or of rows of a large one.

    Kind a of snapshot s is in columns ``starts[a, s]`` to ``starts[a, s + 1]`` of ``x``, rows are columns 0 and on.
    """
    base, own = np.int64(0), np.int64(0)  # typed: numba compiles callees once more for literal numbers
    for a in range(len(families.external)):
        table = families.external[a]
        if table.size > 0 and (rows.kind < 0 or rows.kind == a):
            one_body(table, base, x, starts[a], snapshots, columns, force, energy, diffusion, room)
        if not families.same_external:
            base += table.size
    if families.same_external:
        base += families.external[0].size
    for c in range(len(families.interaction)):
        table = families.interaction[c]
        first, second = families.pairs[c, 0], families.pairs[c, 1]
        if table.size > 0 and (rows.kind < 0 or rows.kind == first or rows.kind == second):
            other = first if rows.kind == second else second
            pair_sums(
                table, rows, x, starts, first, other, snapshots, lengths, families.reach, scales, base + own, own,
                columns, force, energy, diffusion, pair, room,
            )  # fmt: skip
        if not families.same_interaction:
            own += table.size


@njit
def next_rows(rows, kinds, most, x, starts):
    """The rows that follow ``rows``: at most so many particles of one kind, as the first columns of ``x``.

    Kind a of the snapshot, which is sorted, begins at ``kinds[a]``, counted from ``kinds[0]``.
    """
    kind, begin = rows.kind, rows.end
    while kind < kinds.shape[0] - 2 and begin >= kinds[kind + 1] - kinds[0]:
        kind += 1
    end = min(begin + most, kinds[kind + 1] - kinds[0])
    for k in range(x.shape[0]):
        for i in range(begin, end):
            x[k, i - begin] = rows.positions[k, i]
    starts[kind, 0], starts[kind, 1] = 0, end - begin
    return Rows(kind, begin, end, rows.positions, rows.cell_of, rows.start, rows.cells)


@njit
def scratch_room(dim, parts, most, padded_pair, columns):
    """Scratch arrays for the functions of particles and pairs."""
    room = max(PAIRS, columns)
    return (
        np.empty((dim, room)), np.empty(room, np.int64), np.empty((SHARES + parts, room)),
        np.empty((max(most, 4), room)),
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty((PARTICLES + 1, 2), np.int64),
        np.zeros(PARTICLES, np.bool_), np.zeros((padded_pair, room)),
    )  # fmt: skip


@njit
def transposed(points, begin, n):
    """Positions (dim, n) of the particles from ``begin`` on."""
    x = np.empty((points.shape[1], n))
    for i in range(n):
        for k in range(points.shape[1]):
            x[k, i] = points[begin + i, k]
    return x


@njit
def in_rows(n, cells):
    """Whether a snapshot is better worked on in rows, with particles sorted into a grid of ``cells``."""
    return n > MOST_TOGETHER or seen_part(cells) <= WORTH_SORTING


@njit(nogil=True, cache=True, fastmath=FAST)
def accumulate_task(
    points, starts, scales, lengths, snapshot_of, class_of, class_weights, families, energy, coincident,
    moved, matched,
):  # fmt: skip
    """Weighted sums of the snapshots of one task, under each quadrature rule.

    Parameters
    ----------
    points : (P, dim) float64
        Positions of all snapshots, one after the other, each sorted by kind.
    starts : (S, kinds + 1)
        Kind a of snapshot s is ``points[starts[s, a]:starts[s, a + 1]]``.
    scales : (S,)
        Coupling factor of each snapshot: 1/N for the mean, 1 for the sum.
    snapshot_of, class_of : (entries,)
        The snapshots of this task and the class of each.
    class_weights : (classes, rules)
        Quadrature weights of a class under each rule.
    families : Families
    energy : (S, K), written
        N h of each snapshot.
    coincident : (S,) bool, written
        Whether two particles of the snapshot coincide.
    moved, matched : (P or more, dim), (P or more,); or (0, dim), (0,)
        Displacement of each particle to the next snapshot; where ``matched`` is 0 there is none, and the particle
        does not count in ``quadratic``. Empty arrays: every particle counts, and there is no work.

    Returns
    -------
    quadratic (rules, K, K), pair (rules, K_Phi, K_Phi), diffusion (rules, parts, K), work (K or 0,)
        sum w N G, its pair part, sum w N delta, and the sum of F^T displacement.
    """
    dim = points.shape[1]
    kinds = starts.shape[1] - 1
    parts = families.external[0].noise.shape[0]
    rules = class_weights.shape[1]
    entries = snapshot_of.shape[0]
    n_external, n_interaction, most = sizes_of(families)
    size = n_external + n_interaction
    padded = 4 * ((size + 3) // 4)
    padded_pair = 4 * ((n_interaction + 3) // 4)
    columns = np.int64(PARTICLES)
    for e in range(entries):
        n = starts[snapshot_of[e], kinds] - starts[snapshot_of[e], 0]
        if n <= MOST_TOGETHER:
            columns = max(columns, n)
    x = np.empty((dim, columns))
    batch_start = np.zeros((kinds, PARTICLES + 1), np.int64)
    batch_scale = np.empty(PARTICLES)
    batch_energy = np.empty((PARTICLES, size))
    scratch = scratch_room(dim, parts, most, padded_pair, columns)
    together = scratch[7]
    force = np.zeros((padded, dim * columns))
    sum_quadratic = np.zeros((padded, padded))
    sum_pair = np.zeros((padded_pair, padded_pair))
    sum_diffusion = np.zeros((parts, size))
    quadratic = np.zeros((rules, padded, padded))
    pair = np.zeros((rules, padded_pair, padded_pair))
    diffusion = np.zeros((rules, parts, size))
    follows = matched.shape[0] > 0
    work = np.zeros(size if follows else 0)
    steps = np.zeros((dim + 1, columns if follows else 1))
    begin = 0
    while begin < entries:
        s = snapshot_of[begin]
        n = starts[s, kinds] - starts[s, 0]
        batch_scale[0] = scales[s]
        together[:] = False
        rows = whole(dim)
        order = np.empty(0, np.int64)
        large = False
        end, particles = begin, 0
        if n >= FEWEST_IN_CELLS:
            everyone = transposed(points, starts[s, 0], n)
            lower, inverse, cells = grid_of(everyone, lengths, families.reach)
            large = in_rows(n, cells)
            if large:
                positions, order, cell_of, start = sorted_into_cells(
                    everyone, starts[s] - starts[s, 0], lengths, lower, inverse, cells
                )
                rows = Rows(0, 0, 0, positions, cell_of, start, cells)
                end = begin + 1
        if not large:
            # A batch: as many snapshots of one class and one coupling factor as fit.
            while end < entries and end - begin < PARTICLES:
                s = snapshot_of[end]
                n = starts[s, kinds] - starts[s, 0]
                if end > begin and (
                    n >= FEWEST_IN_CELLS
                    or particles + n > columns
                    or class_of[end] != class_of[begin]
                    or scales[s] != batch_scale[0]
                ):
                    break
                batch_scale[end - begin] = scales[s]
                particles += n
                end += 1
            column = 0
            for a in range(kinds):
                batch_start[a, 0] = column
                for b in range(end - begin):
                    s = snapshot_of[begin + b]
                    for i in range(starts[s, a], starts[s, a + 1]):
                        for k in range(dim):
                            x[k, column] = points[i, k]
                        if follows:
                            copy_step(moved, matched, i, steps, column)
                        column += 1
                    batch_start[a, b + 1] = column
        batch_energy[: end - begin] = 0.0
        s = snapshot_of[begin]
        left = True
        while left:
            if large:
                rows = next_rows(rows, starts[s], columns - 1, x, batch_start)
                particles = rows.end - rows.begin
                if follows:
                    for i in range(particles):
                        copy_step(moved, matched, starts[s, 0] + order[rows.begin + i], steps, i)
            add_functions(
                families, rows, x, batch_start, end - begin, lengths, batch_scale, columns, force, batch_energy,
                sum_diffusion, sum_pair, scratch,
            )  # fmt: skip
            if follows:
                add_work(force, particles, columns, steps, work)
            add_products(force, dim * columns, sum_quadratic)
            force[:] = 0.0
            left = large and rows.end < starts[s, kinds] - starts[s, 0]
        for b in range(end - begin):
            s = snapshot_of[begin + b]
            coincident[s] = together[b]
            for f in range(size):
                energy[s, f] = batch_energy[b, f]
        begin = end
        if begin == entries or class_of[begin] != class_of[begin - 1]:
            for q in range(rules):
                w = class_weights[class_of[begin - 1], q]
                if w != 0.0:
                    add_weighted(w, sum_quadratic, quadratic, q)
                    add_weighted(w, sum_pair, pair, q)
                    for part in range(parts):
                        for f in range(size):
                            diffusion[q, part, f] += w * sum_diffusion[part, f]
            sum_quadratic[:] = 0.0
            sum_pair[:] = 0.0
            sum_diffusion[:] = 0.0
    return mirrored(quadratic, size), mirrored(pair, n_interaction), diffusion, work


@njit
def copy_step(moved, matched, i, steps, column):
    """Displacement of particle ``i``, and whether it was followed, into a column of ``steps`` (dim + 1, n)."""
    dim = moved.shape[1]
    steps[dim, column] = matched[i]
    for k in range(dim):
        steps[k, column] = moved[i, k]


@njit(fastmath=FAST)
def add_weighted(weight, source, target, q):
    for a in range(source.shape[0]):
        for b in range(source.shape[1]):
            target[q, a, b] += weight * source[a, b]


@njit
def mirrored(lower, size):
    """Symmetric matrices (n, size, size) from lower triangles (n, size or more, size or more)."""
    full = np.empty((lower.shape[0], size, size))
    for q in range(lower.shape[0]):
        for a in range(size):
            for b in range(a + 1):
                full[q, a, b] = full[q, b, a] = lower[q, a, b]
    return full


@njit(fastmath=FAST)
def add_work(force, particles, columns, steps, work):
    """work += F^T displacement; forces on particles that were not followed are set to 0."""
    dim = steps.shape[0] - 1
    for f in range(work.shape[0]):
        total = 0.0
        for k in range(dim):
            for i in range(particles):
                total += force[f, k * columns + i] * steps[k, i]
                force[f, k * columns + i] *= steps[dim, i]
        work[f] += total
