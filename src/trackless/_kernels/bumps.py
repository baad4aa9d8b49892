"""Gaussian bumps and their sums over particles and pairs."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST


@njit(fastmath=FAST)
def bump(table, e, sign, point, gradient):
    """Value of bump ``e`` at a point, gradient into an array, and the Laplacian."""
    square = 0.0
    for k in range(len(point)):
        offset = point[k] - sign * table.centres[e, k]
        gradient[k] = -table.precision[k] * offset
        square += table.precision[k] * offset * offset
    value = table.amplitude * np.exp(-0.5 * square)
    laplacian = 0.0
    for k in range(len(point)):
        laplacian += value * (gradient[k] * gradient[k] - table.precision[k])
        gradient[k] *= value
    return value, laplacian


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
                value, laplacian = bump(table, e, 1.0, point, gradient)
                energy[s, e] += value
                diffusion[e] += laplacian
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
                        value, laplacian = bump(table, e, sign, point, gradient)
                        # each pair counts twice, as for every family
                        energy[s, base + e] += scale * value
                        diffusion[base + e] += 2.0 * scale * laplacian
                        for k in range(dim):
                            force[base + e, k * columns + i] += scale * gradient[k]
                            force[base + e, k * columns + j] -= scale * gradient[k]
