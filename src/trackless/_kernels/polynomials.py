"""Polynomials of degree 1 and 2 in the coordinates: the smoothest test functions there are."""

from __future__ import annotations


def polynomial_one_body(table, base, x, starts, snapshots, columns, force, energy, diffusion, room):
    """Add x_k, then x_k x_l for k <= l, relative to the origin in units of the scale, numbered from ``base`` on."""
    dim = x.shape[0]
    inverse = 1.0 / table.scale
    for s in range(snapshots):
        for i in range(starts[s], starts[s + 1]):
            f = base + dim
            for k in range(dim):
                a = (x[k, i] - table.origin[k]) * inverse
                energy[s, base + k] += a
                force[base + k, k * columns + i] += inverse
                for m in range(k, dim):
                    b = (x[m, i] - table.origin[m]) * inverse
                    energy[s, f] += a * b
                    force[f, k * columns + i] += b * inverse
                    force[f, m * columns + i] += a * inverse
                    if m == k:
                        for part in range(table.noise.shape[0]):
                            diffusion[part, f] += 2.0 * table.noise[part, k] * inverse * inverse
                    f += 1
