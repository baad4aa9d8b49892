"""Tensor-product cubic B-splines: the functions at a point, forces and the pair part."""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST


@njit(fastmath=FAST)
def tensor_functions(table, x, basis, index, value, gradient, laplacian):
    """The 4^dim tensor splines that are not zero at ``x`` (dim,); returns how many.

    Outside its grid each one-dimensional spline goes on linearly. ``index`` is -1 for one left out.
    """
    dim = x.shape[0]
    noise = table.noise
    base = 0
    for k in range(dim):
        t = (x[k] - table.lower[k]) * table.cells_per_unit[k]
        inside = min(max(t, 0.0), float(table.cells[k]))
        cell = min(int(inside), table.cells[k] - 1)
        base = base * (table.cells[k] + 3) + cell
        u = inside - cell
        v = 1.0 - u
        basis[k, 0, 0] = v * v * v / 6.0
        basis[k, 0, 1] = (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0
        basis[k, 0, 2] = (4.0 - 6.0 * v * v + 3.0 * v * v * v) / 6.0
        basis[k, 0, 3] = u * u * u / 6.0
        basis[k, 1, 0] = -0.5 * v * v
        basis[k, 1, 1] = -2.0 * u + 1.5 * u * u
        basis[k, 1, 2] = 2.0 * v - 1.5 * v * v
        basis[k, 1, 3] = 0.5 * u * u
        basis[k, 2, 0] = v
        basis[k, 2, 1] = -2.0 + 3.0 * u
        basis[k, 2, 2] = -2.0 + 3.0 * v
        basis[k, 2, 3] = u
        scale = table.cells_per_unit[k]
        for j in range(4):
            if t != inside:
                basis[k, 0, j] += (t - inside) * basis[k, 1, j]
                basis[k, 2, j] = 0.0
            basis[k, 1, j] *= scale
            basis[k, 2, j] *= scale * scale
    count = 4**dim
    for n in range(count):
        flat = 0
        for k in range(dim):
            flat = flat * (table.cells[k] + 3) + (n >> (2 * k)) % 4
        index[n] = table.fold[base + flat]
        value[n] = 1.0
        for part in range(noise.shape[0]):
            laplacian[n, part] = 0.0
        for k in range(dim):
            value[n] *= basis[k, 0, (n >> (2 * k)) % 4]
            first = 1.0
            second = 1.0
            for m in range(dim):
                j = (n >> (2 * m)) % 4
                first *= basis[m, 1 if m == k else 0, j]
                second *= basis[m, 2 if m == k else 0, j]
            gradient[n, k] = first
            for part in range(noise.shape[0]):
                laplacian[n, part] += noise[part, k] * second
    return count


def tensor_one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add the external functions, numbered from ``base`` on, at some particles of a batch of snapshots."""
    dim = x.shape[0]
    point = np.empty(dim)
    basis, index, value, gradient, laplacian = tensor_room(dim, table.noise.shape[0])
    for s in range(snapshots):
        for i in range(starts[s], starts[s + 1]):
            for k in range(dim):
                point[k] = x[k, i]
            count = tensor_functions(table, point, basis, index, value, gradient, laplacian)
            for a in range(count):
                f = base + index[a]
                if index[a] >= 0:
                    energy[s, f] += value[a]
                    for part in range(laplacian.shape[1]):
                        diffusion[part, f] += laplacian[a, part]
                    for k in range(dim):
                        force[f, k * columns + i] += gradient[a, k]


def tensor_pair_chunk(table, base, own, columns, count, pieces, scales, share, force, energy, diffusion, pair, room):
    """Add interaction functions at listed pairs, see :func:`trackless._kernels.pairs.pair_chunk`."""
    offsets, _, _, _, of_i, of_j, segments, _, _ = room
    dim = offsets.shape[0]
    point = np.empty(dim)
    basis, index, value, gradient, laplacian = tensor_room(dim, table.noise.shape[0])
    for c in range(pieces):
        s = segments[c, 0]
        scale = scales[s]
        for p in range(segments[c, 1], segments[c + 1, 1]):
            for k in range(dim):
                point[k] = offsets[k, p]
            touched = tensor_functions(table, point, basis, index, value, gradient, laplacian)
            for a in range(touched):
                f = index[a]
                if f < 0:
                    continue
                # scale/2 sum_{i != j} phi and scale sum_{i != j} Lap phi: each pair counts twice
                energy[s, base + f] += share * scale * value[a]
                for part in range(laplacian.shape[1]):
                    diffusion[part, base + f] += 2.0 * share * scale * laplacian[a, part]
                for k in range(dim):
                    force[base + f, k * columns + of_i[p]] += scale * gradient[a, k]
                    force[base + f, k * columns + of_j[p]] -= scale * gradient[a, k]
                for b in range(touched if pair.shape[0] > 0 else 0):
                    if 0 <= index[b] <= f:
                        total = 0.0
                        for k in range(dim):
                            total += gradient[a, k] * gradient[b, k]
                        pair[own + f, own + index[b]] += 2.0 * share * scale * scale * total


@njit
def tensor_room(dim, parts):
    """Scratch arrays for :func:`tensor_functions`."""
    count = 4**dim
    return (
        np.empty((dim, 3, 4)), np.empty(count, np.int64), np.empty(count), np.empty((count, dim)),
        np.empty((count, parts)),
    )  # fmt: skip
