"""Potentials as the simulation kernel reads them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from trackless._errors import InputError
from trackless._kernels.simulation import SlopeTable, TensorPotential
from trackless.potentials import Potential, PotentialSum, RadialPotential, RadialSum, Stretched
from trackless.tables import TensorTable, tabulated
from trackless.tensor_splines import TensorSpline

Array = NDArray[np.float64]
STIFFNESS = 0.1  # accurate steps h keep h times the second derivative below this; at 0.3 a bias of 1 % shows
LEVELS = 16  # accurate steps are the largest one halved at most this often


def slope_table(
    potential: Potential | None, dim: int, reach: float, spread: float, step: float, scale: float
) -> SlopeTable | TensorPotential:
    """A potential on [0, reach] for the simulation kernel.

    Parameters
    ----------
    spread : float
        Standard deviation of the distance's change per square root of time.
    step : float
        The largest step; the table says where a smaller one is needed.
    scale : float
        Factor of the force (coupling).
    """
    if isinstance(potential, TensorSpline):
        cells = np.array(potential.coef.shape) - 3
        fold = np.arange(potential.coef.size)
        per_unit = cells / (potential.upper - potential.lower)
        table = TensorTable(potential.lower, per_unit, cells, fold, np.zeros(dim), potential.coef.size)
        stiffest = 4 * np.abs(potential.coef).max() * (per_unit**2).sum()
        safe = min(step, STIFFNESS / max(scale * stiffest, 1e-300))
        return TensorPotential(table, np.ascontiguousarray(potential.coef.reshape(-1)), max(safe, step / 2**LEVELS))
    groups = _groups(potential, dim)
    origin = np.zeros(dim) + (potential.origin if isinstance(potential, RadialPotential) else 0.0)
    shortest = min(min(stretch) for stretch, _ in groups)
    top = reach / min(shortest, 1.0)
    pieces = [tabulated([member], _bottom(member), top, tolerance=1e-6, most=32768) for _, member in groups]
    cells = max(len(p.coef) for p in pieces)
    bottom = max(_bottom(member) for _, member in groups)
    coef, safe = [], []
    for stretch, member in groups:
        edges = np.linspace(bottom, top, cells + 1)
        coef.append(_slopes(member, edges))
        safe.append(_safe_steps(member, edges, spread / min(stretch), step, scale / min(stretch) ** 2))
    squares = np.array([[1.0 / s**2 for s in stretch] for stretch, _ in groups])
    return SlopeTable(origin, squares, bottom, cells / (top - bottom), np.stack(coef), np.stack(safe))


def _groups(potential: Potential | None, dim: int) -> list[tuple[tuple[float, ...], RadialPotential]]:
    """The potential as a sum of profiles, each with its own stretch."""
    round_ = (1.0,) * dim
    if potential is None:
        return [(round_, RadialSum((), ()))]
    if isinstance(potential, RadialPotential):
        return [(round_, potential)]
    if isinstance(potential, Stretched):
        return [(potential.stretch, potential.inner)]
    if isinstance(potential, PotentialSum):
        if any(isinstance(term, RadialPotential) and np.any(term.origin) for term in potential.terms):
            raise InputError("simulate: the terms of a PotentialSum must be centred at the origin")
        return [
            (stretch, RadialSum((inner,), (weight,)))
            for term, weight in zip(potential.terms, potential.weights, strict=True)
            for stretch, inner in _groups(term, dim)
        ]
    raise InputError(
        f"simulate: cannot simulate a {type(potential).__name__}; expected a radial potential, a Stretched one, "
        "a sum of them, or a tensor spline"
    )


def _bottom(profile: RadialPotential) -> float:
    """0, or where a singular profile is still finite: nearer particles feel that slope."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(profile.slope(np.zeros(1))).all() and np.isfinite(profile.profile(np.zeros(1))).all()
    return 0.0 if finite else 1e-3


def _slopes(profile: RadialPotential, edges: Array) -> Array:
    """Quadratics through the slope at both ends and the middle of each cell, with constant ends."""
    h = edges[1] - edges[0]
    left, middle, right = (profile.slope(edges[:-1] + f * h) for f in (0.0, 0.5, 1.0))
    inside = np.stack([left, 4 * middle - 3 * left - right, 2 * (left + right - 2 * middle)], axis=1)
    below, above = [left[0], 0.0, 0.0], [right[-1], 0.0, 0.0]
    return np.concatenate([[below], inside, [above]])


def _safe_steps(profile: RadialPotential, edges: Array, spread: float, step: float, scale: float) -> Array:
    """Largest step h <= step with h scale |g''| <= STIFFNESS anywhere the distance may get to within it."""
    middle = 0.5 * (edges[1:] + edges[:-1])
    stiffness = scale * np.abs(profile.curvature(middle))
    width = middle[1] - middle[0]
    allowed = np.full(len(middle), step / 2**LEVELS)
    for level in range(LEVELS - 1, -1, -1):
        h = step / 2**level
        around = maximum_filter1d(stiffness, 2 * int(4 * spread * np.sqrt(h) / width) + 1, mode="nearest")
        allowed[h * around <= STIFFNESS] = h
    return np.concatenate([[allowed[0]], allowed, [allowed[-1]]])
