"""From snapshots to weighted sums: the accumulation kernel.

A task is a list of snapshots of one block and time window, ordered so that snapshots with equal quadrature
weights (a class) follow each other: their quadratic terms are summed unweighted and weighted once per class.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from trackless._kernels import FAST
from trackless._kernels.bumps import bump_one_body, bump_pair_sums
from trackless._kernels.polynomials import polynomial_one_body
from trackless._kernels.products import add_products
from trackless._kernels.radial import SHARES, radial_one_body, radial_pair_sums
from trackless._kernels.tensor import tensor_one_body, tensor_pair_sums
from trackless.tables import BumpTable, PolynomialTable, RadialTable, TensorTable

PARTICLES = 128  # particles of several small snapshots worked on together
PAIRS = 576  # pairs worked on together, at least one row of the pair matrix


def one_body(table, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add the external functions of a batch of snapshots to forces, energies and diffusion terms."""
    raise NotImplementedError("called from compiled code only")


def pair_sums(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, room):
    """Add the interaction functions, numbered from ``base`` on, of all pairs within each snapshot."""
    raise NotImplementedError("called from compiled code only")


def _kind(table):
    """The Python class of a table while a caller is being compiled."""
    return getattr(table, "instance_class", None)


@overload(one_body, jit_options={"fastmath": FAST})
def _one_body(table, x, starts, snapshots, columns, force, energy, diffusion, room):
    def radial(table, x, starts, snapshots, columns, force, energy, diffusion, room):
        offsets, cells, work, slopes, _, _, _, _, _ = room
        radial_one_body(table, x, starts, snapshots, columns, force, energy, diffusion, offsets, cells, work, slopes)

    def tensor(table, x, starts, snapshots, columns, force, energy, diffusion, room):
        tensor_one_body(table, x, starts, snapshots, columns, force, energy, diffusion)

    def polynomial(table, x, starts, snapshots, columns, force, energy, diffusion, room):
        polynomial_one_body(table, x, starts, snapshots, columns, force, energy, diffusion)

    def bumps(table, x, starts, snapshots, columns, force, energy, diffusion, room):
        bump_one_body(table, x, starts, snapshots, columns, force, energy, diffusion)

    kinds = {RadialTable: radial, TensorTable: tensor, PolynomialTable: polynomial, BumpTable: bumps}
    return kinds.get(_kind(table))


@overload(pair_sums, jit_options={"fastmath": FAST})
def _pair_sums(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, room):
    def radial(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, room):
        offsets, cells, work, slopes, of_i, of_j, segments, coincident, rows = room
        radial_pair_sums(
            table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, offsets,
            cells, work, slopes, of_i, of_j, segments, coincident, rows,
        )  # fmt: skip

    def tensor(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, room):
        tensor_pair_sums(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair)

    def bumps(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion, pair, room):
        bump_pair_sums(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion)

    return {RadialTable: radial, TensorTable: tensor, BumpTable: bumps}.get(_kind(table))


@njit(nogil=True, cache=True, fastmath=FAST)
def accumulate_task(
    points, starts, scales, lengths, snapshot_of, class_of, class_weights, pair_rule, external, interaction, energy,
    coincident, moved, matched,
):  # fmt: skip
    """Weighted sums of the snapshots of one task, under each quadrature rule.

    Parameters
    ----------
    points : (P, dim) float64
        Positions of all snapshots, one after the other; snapshot s is ``points[starts[s]:starts[s + 1]]``.
    scales : (S,)
        Coupling factor of each snapshot: 1/N for the mean, 1 for the sum.
    snapshot_of, class_of : (entries,)
        The snapshots of this task and the class of each.
    class_weights : (classes, rules)
        Quadrature weights of a class under each rule.
    pair_rule : int
        The rule for the pair part.
    energy : (S, K), written
        N h of each snapshot.
    coincident : (S,) bool, written
        Whether two particles of the snapshot coincide.
    moved, matched : (P or more, dim), (P or more,); or (0, dim), (0,)
        Displacement of each particle to the next snapshot; where ``matched`` is 0 there is none, and the particle
        does not count in ``quadratic``. Empty arrays: every particle counts, and there is no work.

    Returns
    -------
    quadratic (rules, K, K), pair (K_Phi, K_Phi), diffusion (rules, parts, K), work (K or 0,)
        sum w N G, its pair part by rule ``pair_rule``, sum w N delta, and the sum of F^T displacement.
    """
    dim = points.shape[1]
    parts = external.noise.shape[0]
    rules = class_weights.shape[1]
    entries = snapshot_of.shape[0]
    n_external, n_interaction = external.size, interaction.size
    size = n_external + n_interaction
    padded = 4 * ((size + 3) // 4)
    largest = 1
    for e in range(entries):
        largest = max(largest, starts[snapshot_of[e] + 1] - starts[snapshot_of[e]])
    columns = max(PARTICLES, largest)
    room = max(PAIRS, columns)
    x = np.empty((dim, columns))
    batch_start = np.zeros(PARTICLES + 1, np.int64)
    batch_scale = np.empty(PARTICLES)
    batch_energy = np.empty((PARTICLES, size))
    together = np.empty(PARTICLES, np.bool_)
    padded_pair = 4 * ((n_interaction + 3) // 4)
    scratch = (
        np.empty((dim, room)), np.empty(room, np.int64), np.empty((SHARES + parts, room)),
        np.empty((max(n_interaction, 4), room)),
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty((PARTICLES + 1, 2), np.int64), together,
        np.zeros((padded_pair, room)),
    )  # fmt: skip
    force = np.zeros((padded, dim * columns))
    sum_quadratic = np.zeros((padded, padded))
    sum_pair = np.zeros((padded_pair, padded_pair))
    sum_diffusion = np.zeros((parts, size))
    quadratic = np.zeros((rules, padded, padded))
    pair = np.zeros((1, padded_pair, padded_pair))
    diffusion = np.zeros((rules, parts, size))
    follows = matched.shape[0] > 0
    work = np.zeros(size if follows else 0)
    steps = np.zeros((dim + 1, columns if follows else 1))
    begin = 0
    while begin < entries:
        # A batch: as many snapshots of one class and one coupling factor as fit.
        first = snapshot_of[begin]
        end = begin
        particles = 0
        while end < entries and end - begin < PARTICLES:
            s = snapshot_of[end]
            n = starts[s + 1] - starts[s]
            if particles + n > columns or class_of[end] != class_of[begin] or scales[s] != scales[first]:
                break
            batch_scale[end - begin] = scales[s]
            for k in range(dim):
                for i in range(n):
                    x[k, particles + i] = points[starts[s] + i, k]
            if follows:
                for i in range(n):
                    steps[dim, particles + i] = matched[starts[s] + i]
                    for k in range(dim):
                        steps[k, particles + i] = moved[starts[s] + i, k]
            particles += n
            end += 1
            batch_start[end - begin] = particles
        snapshots = end - begin
        batch_energy[:snapshots] = 0.0
        together[:] = False
        one_body(external, x, batch_start, snapshots, columns, force, batch_energy, sum_diffusion, scratch)
        if n_interaction > 0:
            pair_sums(
                interaction, x, batch_start, snapshots, lengths, batch_scale, n_external, columns, force, batch_energy,
                sum_diffusion, sum_pair, scratch,
            )  # fmt: skip
        for b in range(snapshots):
            s = snapshot_of[begin + b]
            coincident[s] = together[b]
            for a in range(size):
                energy[s, a] = batch_energy[b, a]
        if follows:
            add_work(force, particles, columns, steps, work)
        add_products(force, dim * columns, sum_quadratic)
        force[:] = 0.0
        begin = end
        if begin == entries or class_of[begin] != class_of[begin - 1]:
            for q in range(rules):
                w = class_weights[class_of[begin - 1], q]
                if w != 0.0:
                    add_weighted(w, sum_quadratic, quadratic, q)
                    for part in range(parts):
                        for a in range(size):
                            diffusion[q, part, a] += w * sum_diffusion[part, a]
            add_weighted(class_weights[class_of[begin - 1], pair_rule], sum_pair, pair, 0)
            sum_quadratic[:] = 0.0
            sum_pair[:] = 0.0
            sum_diffusion[:] = 0.0
    return mirrored(quadratic, size), mirrored(pair, n_interaction)[0], diffusion, work


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
