"""Potentials as the simulation kernel reads them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from trackless._errors import InputError
from trackless._kernels.simulation import SHIFT, SlopeTable, TensorPotential
from trackless.potentials import Potential, PotentialSum, RadialPotential, RadialSum, Stretched
from trackless.tables import TensorTable, one_noise
from trackless.tensor_splines import TensorSpline

Array = NDArray[np.float64]
STIFFNESS = 0.1  # accurate steps h keep h times the second derivative below this; at 0.3 a bias of 1 % shows
TURNING = 0.005  # and, where a step may lead past a tip, h times the force's change of direction per distance
SMEARED = 0.001  # and the error of Heun's mean force over a step, as a part of the largest force that the step may meet
UNFELT = 1e-5  # unless it moves a particle less than this part of what noise does in the largest step
ENDED = 1e-10  # and a potential has ended where it moves a particle by less than this part of what noise does
SHARP = 0.1  # a Gaussian of fewer cells smears nothing
RANGE = 2.0**14  # tables cover distances from reach / RANGE to reach * RANGE
FINE = 16384  # points of the grid on which stiffness is looked at
ROUGHLY, LESS_STIFF, COARSER = 20.0, 3.0, 8  # how much more is allowed, and how much coarser a look is taken, "roughly"
LEVELS = 16  # accurate steps are the largest one halved at most this often


def slope_table(
    potential: Potential | None,
    dim: int,
    reach: float,
    spread: float,
    step: float,
    scale: float,
    accurate: bool | str = True,
) -> SlopeTable | TensorPotential:
    """A potential for the simulation kernel; ``reach`` is a typical largest distance.

    Parameters
    ----------
    spread : float
        Standard deviation of the distance's change per square root of time.
    step : float
        The largest step; the table says where a smaller one is needed.
    scale : float
        Factor of the force (coupling).
    accurate : bool or "roughly"
        How carefully steps follow the forces; if not at all, nobody asks where they are safe, which takes time to find
        out. "roughly": larger steps, distributions are right to about one percent.
    """
    if isinstance(potential, TensorSpline):
        cells = np.array(potential.coef.shape) - 3
        fold = np.arange(potential.coef.size)
        per_unit = cells / (potential.upper - potential.lower)
        table = TensorTable(potential.lower, per_unit, cells, fold, np.zeros(dim), potential.coef.size, one_noise(dim))
        allowed = STIFFNESS * (LESS_STIFF if accurate == "roughly" else 1.0)
        safe = min(step, allowed / max(scale * _stiffest(potential.coef, per_unit), 1e-300))
        safe = max(safe, step / 2**LEVELS)
        return TensorPotential(table, np.ascontiguousarray(potential.coef.reshape(-1)), safe, np.inf)
    groups = _groups(potential, dim)
    origin = np.zeros(dim) + (potential.origin if isinstance(potential, RadialPotential) else 0.0)
    first_cell = _leading_bits((reach / RANGE) ** 2)
    edges = _cell_edges(np.arange(first_cell, _leading_bits((reach * RANGE) ** 2) + 2))
    squares = np.array([[1.0 / s**2 for s in stretch] for stretch, _ in groups])
    coef = np.stack([_forces(member, edges) for _, member in groups])
    middle = np.sqrt(0.5 * (edges[1:] + edges[:-1]))
    safe = [
        _safe_steps(member, reach / min(stretch), spread / min(stretch), step, scale / min(stretch) ** 2, accurate)(
            middle
        )
        if accurate
        else np.full(len(middle), step)
        for stretch, member in groups
    ]
    unfelt = ENDED * spread / np.sqrt(step) / scale
    reach = max(_end(member, edges, unfelt * min(stretch), max(stretch)) for stretch, member in groups)
    return SlopeTable(origin, squares, first_cell, coef, np.stack(safe), reach)


def _stiffest(coef: Array, per_unit: Array) -> float:
    """No second derivative of a tensor spline, in any direction, is larger.

    In units of cells they are means of differences of coefficients with weights that add up to 1: second differences
    along an axis, first ones along both for mixed derivatives.
    """
    bound = np.zeros((coef.ndim, coef.ndim))
    for k in range(coef.ndim):
        for m in range(coef.ndim):
            bound[k, m] = np.abs(np.diff(np.diff(coef, axis=k), axis=m)).max(initial=0.0) * per_unit[k] * per_unit[m]
    return float(np.linalg.norm(bound, 2))


def _leading_bits(s: float) -> int:
    return int(np.float64(s).view(np.int64)) >> SHIFT


def _cell_edges(cells: NDArray[np.int64]) -> Array:
    """The smallest s of each cell."""
    return (cells << SHIFT).view(np.float64)


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


def _forces(profile: RadialPotential, edges: Array) -> Array:
    """Parabolas in s through g'(q)/q at both ends and the middle of each cell; constant in the first and last.

    Nearer than the first cell a tip or a singularity therefore acts like a spring.
    """
    left, right = edges[:-1], edges[1:]
    middle = 0.5 * (left + right)
    with np.errstate(all="ignore"):  # far outside a profile may overflow; a particle that gets there is an error
        at_left, at_middle, at_right = (profile.slope(np.sqrt(s)) / np.sqrt(s) for s in (left, middle, right))
    half = 0.5 * (right - left)
    bend = (at_left + at_right - 2 * at_middle) / (2 * half**2)
    tilt = (at_right - at_left) / (2 * half)
    coef = np.stack([at_middle - middle * (tilt - middle * bend), tilt - 2 * middle * bend, bend], axis=1)
    coef[[0, -1]] = [[at_right[0], 0.0, 0.0], [at_left[-1], 0.0, 0.0]]
    return coef


def _end(profile: RadialPotential, edges: Array, unfelt: float, stretch: float) -> float:
    """The distance beyond which the slope of a stretched profile is not felt; infinite if the table ends before it."""
    with np.errstate(all="ignore"):
        felt = np.nonzero(~(np.abs(profile.slope(np.sqrt(edges))) <= unfelt))[0]
    if len(felt) == 0:
        return 0.0
    return stretch * float(np.sqrt(edges[felt[-1] + 1])) if felt[-1] + 1 < len(edges) else np.inf


def _safe_steps(
    profile: RadialPotential, reach: float, spread: float, step: float, scale: float, accurate: bool | str
) -> Callable[[Array], Array]:
    """Largest step h <= step that the slope g' and its derivative allow (see STIFFNESS, TURNING and SMEARED).

    They are looked at wherever the distance may get to within the step. Noise smears a force over the step: its mean is
    (g' + 4 P_{h/2} g' + P_h g')/6, with P the mean over a Gaussian; Heun's scheme has (g' + P_h g')/2.
    """
    roughly = accurate == "roughly"
    points = FINE // COARSER if roughly else FINE
    slack, less_stiff = (ROUGHLY, LESS_STIFF) if roughly else (1.0, 1.0)
    width = reach / points
    grid = (np.arange(points) + 0.5) * width
    slope, curvature = profile.slope(grid), profile.curvature(grid)
    stiffness, tip = scale * np.abs(curvature), scale * np.abs(slope - grid * curvature)
    allowed = np.full(points, step / 2**LEVELS)
    for level in range(LEVELS - 1, -1, -1):
        h = step / 2**level
        covered = spread * np.sqrt(h)
        reached = 2 * int(4 * covered / width) + 1
        around = maximum_filter1d(stiffness, reached, mode="nearest")
        half, whole = (_smeared(slope, covered * part / width) for part in (np.sqrt(0.5), 1.0))
        smeared = np.abs(2 * half - slope - whole) / 3
        strongest = maximum_filter1d(np.abs(slope), reached, mode="nearest")
        turning = np.where(grid < 4 * covered, tip / np.maximum(grid, 2 * covered), 0.0)
        true = (smeared <= slack * SMEARED * strongest) | (scale * smeared <= UNFELT * spread / np.sqrt(step))
        fine = (h * around <= less_stiff * STIFFNESS) & (h * turning <= slack * TURNING) & true
        allowed[fine] = h
    return lambda q: allowed[np.minimum(q / width, points - 1).astype(np.int64)]


def _smeared(values: Array, cells: float) -> Array:
    """Mean over a Gaussian of so many cells; values go on with their slope beyond both ends."""
    if cells < SHARP:
        return values
    beyond = min(int(4 * cells) + 1, len(values) - 1)
    return gaussian_filter1d(np.pad(values, beyond, mode="reflect", reflect_type="odd"), cells)[beyond:-beyond]
