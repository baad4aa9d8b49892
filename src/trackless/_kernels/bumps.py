"""Gaussian bumps and their sums over particles and pairs."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST


@njit(fastmath=FAST)
def bump(table, e, sign, point, gradient, diffusion, f, factor):
    """Value of bump ``e`` at a point, gradient into an array; adds factor times the Laplacian to column ``f``."""
    square = 0.0
    for k in range(len(point)):
        offset = point[k] - sign * table.centres[e, k]
        gradient[k] = -table.precision[k] * offset
        square += table.precision[k] * offset * offset
    value = table.amplitude * np.exp(-0.5 * square)
    for k in range(len(point)):
        second = value * (gradient[k] * gradient[k] - table.precision[k])
        for part in range(table.noise.shape[0]):
            diffusion[part, f] += factor * table.noise[part, k] * second
        gradient[k] *= value
    return value


def bump_one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add bumps, numbered from ``base`` on, at some particles of a batch of snapshots."""
    dim = x.shape[0]
    point, gradient = np.empty(dim), np.empty(dim)
    for s in range(snapshots):
        for i in range(starts[s], starts[s + 1]):
            for k in range(dim):
                point[k] = x[k, i]
            for e in range(table.size):
                energy[s, base + e] += bump(table, e, 1.0, point, gradient, diffusion, base + e, 1.0)
                for k in range(dim):
                    force[base + e, k * columns + i] += gradient[k]


def bump_pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
    """Add even pairs of bumps at listed pairs, see :func:`trackless._kernels.pairs.pair_chunk`; no pair part."""
    offsets, _, _, _, of_i, of_j, segments, _, _ = room
    dim = offsets.shape[0]
    point, gradient = np.empty(dim), np.empty(dim)
    for c in range(pieces):
        s = segments[c, 0]
        scale = scales[s]
        for p in range(segments[c, 1], segments[c + 1, 1]):
            for k in range(dim):
                point[k] = offsets[k, p]
            for e in range(table.size):
                for sign in (1.0, -1.0):
                    # each pair counts twice, as for every family
                    value = bump(table, e, sign, point, gradient, diffusion, base + e, 2.0 * share * scale)
                    energy[s, base + e] += share * scale * value
                    for k in range(dim):
                        force[base + e, k * columns + of_i[p]] += scale * gradient[k]
                        force[base + e, k * columns + of_j[p]] -= scale * gradient[k]
