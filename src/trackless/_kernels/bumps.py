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


@njit(fastmath=FAST)
def bump_one_body(table, x, starts, snapshots, columns, force, energy, diffusion):
    """Add bumps at the particles ``x`` (dim, n) of a batch of snapshots."""
    dim = x.shape[0]
    point, gradient = np.empty(dim), np.empty(dim)
    for s in range(snapshots):
        for i in range(starts[s], starts[s + 1]):
            for k in range(dim):
                point[k] = x[k, i]
            for e in range(table.size):
                energy[s, e] += bump(table, e, 1.0, point, gradient, diffusion, e, 1.0)
                for k in range(dim):
                    force[e, k * columns + i] += gradient[k]


@njit(fastmath=FAST)
def bump_pair_sums(table, x, starts, snapshots, lengths, scales, base, columns, force, energy, diffusion):
    """Add even pairs of bumps, numbered from ``base`` on, at the differences of positions within each snapshot."""
    dim = x.shape[0]
    point, gradient = np.empty(dim), np.empty(dim)
    for s in range(snapshots):
        scale = scales[s]
        for i in range(starts[s], starts[s + 1]):
            for j in range(i + 1, starts[s + 1]):
                for k in range(dim):
                    point[k] = x[k, i] - x[k, j]
                    if lengths[k] > 0.0:
                        point[k] -= lengths[k] * np.rint(point[k] / lengths[k])
                for e in range(table.size):
                    for sign in (1.0, -1.0):
                        # each pair counts twice, as for every family
                        value = bump(table, e, sign, point, gradient, diffusion, base + e, 2.0 * scale)
                        energy[s, base + e] += scale * value
                        for k in range(dim):
                            force[base + e, k * columns + i] += scale * gradient[k]
                            force[base + e, k * columns + j] -= scale * gradient[k]
