"""Weighted sums with test functions that vanish, with their slopes, where particles cannot be seen.

Particles cross the edge of a field of view, and pairs closer than a detector can tell apart are lost: energies of what
is seen then change without a force. Equations stay exact if test functions are multiplied by a mask that is zero there,

    H_k = sum_i chi_i psi_k(x_i),     H_l = (1/2) sum_{i != j} chi_i chi_j omega(r_ij) phi_l(x_i - x_j),

while forces are those of all that is seen: exact at an edge, and for close pairs where it is only the pair that is not
seen; a particle that is lost altogether takes its other pairs along. The normal matrix sum_i grad_i H_k . F_l is then
not symmetric.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from trackless._kernels import FAST
from trackless._kernels.cells import cells_around, grid_of, sorted_into_cells
from trackless._kernels.energies import dot
from trackless._kernels.moments import PARTICLES, add_weighted, sizes_of, transposed
from trackless._kernels.radial import NOTHING
from trackless._kernels.tensor import tensor_functions
from trackless.tables import RadialTable, TensorTable


@njit
def smooth_step(t):
    """A step from 0 at t = 0 to 1 at t = 1 with two continuous derivatives: its value and both of them."""
    if t <= 0.0:
        return 0.0, 0.0, 0.0
    if t >= 1.0:
        return 1.0, 0.0, 0.0
    left = 1.0 - t
    return t * t * t * (10.0 - t * (15.0 - 6.0 * t)), 30.0 * t * t * left * left, 60.0 * t * left * (left - t)


@njit
def mask_at(mask, x, chi, slope):
    """chi of every particle of ``x`` (dim, n) into ``chi[0]``, Laplacian into ``chi[1]``, gradient into ``slope``."""
    dim, n = x.shape
    one = np.empty((dim, 3))
    for i in range(n):
        for k in range(dim):
            below, above = x[k, i] - mask.lower[k], mask.upper[k] - x[k, i]
            value, first, second = smooth_step(min(below, above) / mask.ramp[k])
            one[k, 0] = value
            one[k, 1] = first / mask.ramp[k] * (1.0 if below < above else -1.0)
            one[k, 2] = second / mask.ramp[k] ** 2
        chi[0, i] = 1.0
        chi[1, i] = 0.0
        for k in range(dim):
            chi[0, i] *= one[k, 0]
            first, second = one[k, 1], one[k, 2]
            for m in range(dim):
                if m != k:
                    first *= one[m, 0]
                    second *= one[m, 0]
            slope[k, i] = first
            chi[1, i] += second


def functions_at(table, x, basis, index, value, gradient, laplacian):
    """The functions of a family that are not zero at ``x`` (dim,), and their numbers (-1: none); returns how many."""
    raise NotImplementedError("called from compiled code only")


@overload(functions_at, jit_options={"fastmath": FAST})
def _functions_at(table, x, basis, index, value, gradient, laplacian):
    def radial(table, x, basis, index, value, gradient, laplacian):
        return radial_functions(table, x, index, value, gradient, laplacian)

    def tensor(table, x, basis, index, value, gradient, laplacian):
        return tensor_functions(table, x, basis, index, value, gradient, laplacian)

    return {RadialTable: radial, TensorTable: tensor}.get(getattr(table, "instance_class", None))


@njit(fastmath=FAST)
def radial_functions(table, x, index, value, gradient, laplacian):
    """The same for radial families, of x relative to their centre."""
    dim = x.shape[0]
    count = 0
    for g in range(table.squares.shape[0]):
        square, stretched, trace = 0.0, 0.0, 0.0
        for k in range(dim):
            s, away = table.squares[g, k], x[k] - table.origin[k]
            square += s * away * away
            stretched += (s * away) ** 2
            trace += s
        q = max(np.sqrt(square), NOTHING)
        position = (q - table.bottom) * table.bins_per_unit + 1.0
        cell = table.cell_of[g, min(max(int(position), 0), table.cell_of.shape[1] - 1)]
        u = q - table.left[cell]
        functions = table.group_start[g + 1] - table.group_start[g] if table.dense else table.coef.shape[0]
        first = table.group_start[g] if table.dense else table.first[cell]
        for j in range(functions):
            c1, c2, c3 = table.coef[j, cell, 1], table.coef[j, cell, 2], table.coef[j, cell, 3]
            slope = (c1 + u * (2.0 * c2 + 3.0 * u * c3)) / q
            index[count] = first + j
            value[count] = table.coef[j, cell, 0] + u * (c1 + u * (c2 + u * c3))
            laplacian[count, 0] = (2.0 * c2 + 6.0 * u * c3 - slope) * stretched / (q * q) + slope * trace
            for k in range(dim):
                gradient[count, k] = slope * table.squares[g, k] * (x[k] - table.origin[k])
            count += 1
    return count


@njit(nogil=True, cache=True, fastmath=FAST)
def vanishing_task(
    points, starts, scales, lengths, snapshot_of, class_of, class_weights, families, mask, energy, coincident
):
    """Weighted sums of the snapshots of one task, as :func:`trackless._kernels.moments.accumulate_task` makes them.

    Parameters
    ----------
    points, starts, scales, lengths, snapshot_of, class_of, class_weights, families
        As there.
    mask : Mask
    energy : (S, K), written
        N h of the masked functions.
    coincident : (S,) bool, written

    Returns
    -------
    quadratic (rules, K, K), pair (rules, K_Phi, K_Phi), diffusion (rules, 1, K)
        The first index of matrices is that of the masked test function, the second that of the force.
    """
    dim, rules = points.shape[1], class_weights.shape[1]
    kinds = starts.shape[1] - 1
    n_external, n_interaction, most = sizes_of(families)
    size = n_external + n_interaction
    room = room_at_a_point(dim, max(most, 4**dim))
    sums = np.zeros((1, size, size)), np.zeros((1, n_interaction, n_interaction)), np.zeros((1, 1, size))
    totals = np.zeros((rules, size, size)), np.zeros((rules, n_interaction, n_interaction)), np.zeros((rules, 1, size))
    force, test = np.zeros((size, dim * PARTICLES)), np.zeros((size, dim * PARTICLES))
    for e in range(snapshot_of.shape[0]):
        s = snapshot_of[e]
        everyone = transposed(points, starts[s, 0], starts[s, kinds] - starts[s, 0])
        lower, inverse, cells = grid_of(everyone, lengths, families.reach)
        ranges = starts[s] - starts[s, 0]
        x, _, cell_of, start = sorted_into_cells(everyone, ranges, lengths, lower, inverse, cells)
        chi, slope = np.empty((2, x.shape[1])), np.empty(x.shape)
        mask_at(mask, x, chi, slope)
        column = 0
        for a in range(kinds):
            for i in range(ranges[a], ranges[a + 1]):
                if chi[0, i] == 0.0:
                    continue
                add_particle(
                    families, a, i, x, cell_of, start, cells, lengths, mask, chi, slope, scales[s], column, force, test,
                    energy[s], sums[2][0, 0], sums[1][0], coincident[s : s + 1], room,
                )  # fmt: skip
                column += 1
                if column == PARTICLES:
                    add_mixed_products(test, force, sums[0][0])
                    column = 0
        if column > 0:
            add_mixed_products(test, force, sums[0][0])
        if e + 1 == snapshot_of.shape[0] or class_of[e + 1] != class_of[e]:
            for q in range(rules):
                w = class_weights[class_of[e], q]
                if w != 0.0:
                    add_weighted(w, sums[0][0], totals[0], q)
                    add_weighted(w, sums[1][0], totals[1], q)
                    add_weighted(w, sums[2][0], totals[2], q)
            sums[0][:] = 0.0
            sums[1][:] = 0.0
            sums[2][:] = 0.0
    return totals


@njit
def room_at_a_point(dim, most):
    """Scratch arrays for at most so many functions at a point."""
    return (
        np.empty((dim, 3, 4)), np.empty(most, np.int64), np.empty(most), np.empty((most, dim)), np.empty((most, 1)),
    )  # fmt: skip


@njit(fastmath=FAST)
def add_particle(
    families, a, i, x, cell_of, start, cells, lengths, mask, chi, slope, scale, column, force, test, energy, diffusion,
    pair, coincident, room,
):  # fmt: skip
    """Forces on particle ``i`` of kind ``a``, and what it adds to the test functions' sums."""
    dim = x.shape[0]
    basis, index, value, gradient, laplacian = room
    point = np.empty(dim)
    base, later = 0, 0
    for kind in range(len(families.external)):
        table = families.external[kind]
        if kind == a and table.size > 0:
            for k in range(dim):
                point[k] = x[k, i]
            for f in range(functions_at(table, point, basis, index, value, gradient, laplacian)):
                if index[f] < 0:
                    continue
                own = base + index[f]
                mixed = 0.0
                for k in range(dim):
                    force[own, k * PARTICLES + column] += gradient[f, k]
                    test[own, k * PARTICLES + column] += chi[0, i] * gradient[f, k] + value[f] * slope[k, i]
                    mixed += slope[k, i] * gradient[f, k]
                energy[own] += chi[0, i] * value[f]
                diffusion[own] += chi[0, i] * laplacian[f, 0] + 2.0 * mixed + value[f] * chi[1, i]
        if kind == 0 or not families.same_external:
            later += table.size
        if not families.same_external:
            base += table.size
    base = later
    total = 1
    for k in range(dim):
        total *= cells[k]
    near = np.empty(3**dim, np.int64)
    around = cells_around(cell_of[i], cells, lengths, near)
    own = 0
    for c in range(len(families.interaction)):
        table = families.interaction[c]
        first, second = families.pairs[c, 0], families.pairs[c, 1]
        if table.size > 0 and a in (first, second):
            other = second if a == first else first
            for place in range(around):
                cell = other * total + near[place]
                for j in range(start[cell], start[cell + 1]):
                    if j != i:
                        add_pair(
                            table, base + own, own, i, j, x, lengths, families.reach, mask, chi, slope, scale, column,
                            force, test, energy, diffusion, pair, coincident, room, point,
                        )  # fmt: skip
        if not families.same_interaction:
            own += table.size


@njit(fastmath=FAST)
def add_pair(
    table, base, own, i, j, x, lengths, reach, mask, chi, slope, scale, column, force, test, energy, diffusion, pair,
    coincident, room, away,
):  # fmt: skip
    """What neighbour ``j`` does to particle ``i``."""
    dim = x.shape[0]
    square = 0.0
    for k in range(dim):
        away[k] = x[k, i] - x[k, j]
        if lengths[k] > 0.0:
            away[k] -= lengths[k] * np.rint(away[k] / lengths[k])
        square += away[k] * away[k]
    if square > reach * reach:
        return
    if square == 0.0:
        coincident[0] = True
    r = max(np.sqrt(square), NOTHING)
    omega, bend, curve = smooth_step((r - mask.nearest) / mask.nearest_ramp)
    bend, curve = bend / mask.nearest_ramp / r, curve / mask.nearest_ramp**2  # grad omega = bend away
    # a = chi_i chi_j omega as a function of x_i: value, Laplacian and, below, its gradient
    level = chi[0, i] * chi[0, j] * omega
    along = 0.0
    for k in range(dim):
        along += slope[k, i] * away[k]
    bent = omega * chi[1, i] + 2.0 * bend * along + chi[0, i] * (curve + (dim - 1) * bend)
    bent *= chi[0, j]
    basis, index, value, gradient, laplacian = room
    count = functions_at(table, away, basis, index, value, gradient, laplacian)
    for f in range(count):
        if index[f] < 0:
            continue
        mixed = 0.0
        for k in range(dim):
            tilt = chi[0, j] * (omega * slope[k, i] + chi[0, i] * bend * away[k])
            mixed += tilt * gradient[f, k]
            pushed = level * gradient[f, k] + tilt * value[f]
            for g in range(count):
                if index[g] >= 0:
                    pair[own + index[f], own + index[g]] += scale * scale * pushed * gradient[g, k]
            test[base + index[f], k * PARTICLES + column] += scale * pushed
            force[base + index[f], k * PARTICLES + column] += scale * gradient[f, k]
        energy[base + index[f]] += 0.5 * scale * level * value[f]
        diffusion[base + index[f]] += scale * (level * laplacian[f, 0] + 2.0 * mixed + bent * value[f])


@njit(fastmath=FAST)
def add_mixed_products(test, force, sums):
    """sums[a, b] += sum over columns of test[a] force[b]; both are then empty again."""
    for a in range(sums.shape[0]):
        for b in range(sums.shape[1]):
            sums[a, b] += dot(test[a], force[b])
    test[:] = 0.0
    force[:] = 0.0
