"""What one would write first: plain NumPy, one snapshot at a time, or vectorised over runs.

These are the yardsticks of ``trackless benchmark``; they compute the same sums as the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from trackless.basis import RadialFunctions
from trackless.potentials import RadialPotential
from trackless.radial_splines import RadialSplines

Array = NDArray[np.float64]
Family = Callable[[Array], tuple[Array, Array, Array]]
"""distances (n,) -> values, slopes, curvatures, each (n, K)"""


def given_functions(basis: RadialFunctions) -> Family:
    """A family of given radial functions, evaluated with NumPy."""
    functions = [f for f in basis.functions if isinstance(f, RadialPotential)]

    def evaluate(r: Array) -> tuple[Array, Array, Array]:
        return (
            np.stack([f.profile(r) for f in functions], axis=1),
            np.stack([f.slope(r) for f in functions], axis=1),
            np.stack([f.curvature(r) for f in functions], axis=1),
        )

    return evaluate


def splines(basis: RadialSplines) -> Family:
    """A B-spline family, evaluated with SciPy."""
    knots, joined = basis.spline_parts()
    spline = BSpline(knots, joined, 3)
    low, top = knots[0], knots[-1]

    def evaluate(r: Array) -> tuple[Array, Array, Array]:
        inside = np.clip(r, low, top)
        return spline(inside), spline(inside, nu=1), spline(inside, nu=2)

    return evaluate


def snapshot_terms(x: Array, external: Family, interaction: Family) -> tuple[Array, Array, Array]:
    """G, delta and h of one snapshot (N, dim) under the mean coupling."""
    n, dim = x.shape
    r = np.linalg.norm(x, axis=1)
    value, slope, curvature = external(r)
    i, j = np.triu_indices(n, 1)
    apart = x[i] - x[j]
    distance = np.linalg.norm(apart, axis=1)
    pair_value, pair_slope, pair_curvature = interaction(distance)
    size = value.shape[1] + pair_value.shape[1]
    force = np.zeros((n, dim, size))
    force[:, :, : value.shape[1]] = (x / r[:, None])[:, :, None] * slope[:, None, :]
    push = (apart / distance[:, None])[:, :, None] * pair_slope[:, None, :] / n
    np.add.at(force[:, :, value.shape[1] :], i, push)
    np.add.at(force[:, :, value.shape[1] :], j, -push)
    flat = force.reshape(n * dim, size)
    laplacian = curvature + (dim - 1) * slope / r[:, None]
    pair_laplacian = pair_curvature + (dim - 1) * pair_slope / distance[:, None]
    delta = np.concatenate([laplacian.mean(axis=0), 2 * pair_laplacian.sum(axis=0) / n**2])
    energy = np.concatenate([value.mean(axis=0), pair_value.sum(axis=0) / n**2])
    return flat.T @ flat / n, delta, energy


def accumulate(positions: Array, weights: Array, external: Family, interaction: Family) -> tuple[Array, Array]:
    """Normal matrix and diffusion vector of (runs, times, N, dim), one snapshot after the other."""
    matrix, diffusion = 0.0, 0.0
    for run in positions:
        energies = []
        for weight, snapshot in zip(weights, run, strict=True):
            quadratic, delta, energy = snapshot_terms(snapshot, external, interaction)
            matrix = matrix + weight * quadratic
            diffusion = diffusion + weight * delta
            energies.append(energy)
    total = len(positions) * weights.sum()
    return np.asarray(matrix) / total, np.asarray(diffusion) / total


def euler_maruyama(
    x: Array, steps: int, step: float, external: RadialPotential, interaction: RadialPotential, sigma: float, seed: int
) -> Array:
    """Advance all runs (runs, N, dim) together, vectorised over runs."""
    generator = np.random.default_rng(seed)
    n = x.shape[1]
    same = np.eye(n, dtype=bool)
    for _ in range(steps):
        r = np.linalg.norm(x, axis=-1, keepdims=True)
        force = external.slope(r) * x / r
        apart = x[:, :, None] - x[:, None]
        distance = np.linalg.norm(apart, axis=-1)
        distance[:, same] = 1.0
        force += (interaction.slope(distance)[..., None] * apart / distance[..., None]).sum(axis=2) / n
        x = x - step * force + sigma * np.sqrt(step) * generator.standard_normal(x.shape)
    return x


def match_exactly(positions: Array) -> int:
    """Assign the particles of consecutive snapshots (times, N, dim), pair by pair; how many kept their index."""
    kept = 0
    for x, y in pairwise(positions):
        cost = ((x[:, None] - y[None]) ** 2).sum(axis=2)
        rows, columns = linear_sum_assignment(cost)
        kept += int((rows == columns).sum())
    return kept


def match_entropically(positions: Array, epsilon: float, tolerance: float, sweeps: int) -> int:
    """The same by Sinkhorn's iteration in the logarithmic domain, and the best permutation of each plan."""
    kept = 0
    for x, y in pairwise(positions):
        kernel = -((x[:, None] - y[None]) ** 2).sum(axis=2) / epsilon
        of_row, of_column = np.zeros(len(x)), np.zeros(len(y))
        for _ in range(sweeps):
            of_row = -logsumexp(kernel + of_column, axis=1)
            totals = logsumexp(kernel + of_row[:, None], axis=0)
            if np.abs(np.exp(totals + of_column) - 1).max() <= tolerance:
                break
            of_column = -totals
        rows, columns = linear_sum_assignment(-np.exp(kernel + of_row[:, None] + of_column))
        kept += int((rows == columns).sum())
    return kept
