"""Bias removed by simulation: what the equations say of data whose forces are known, taken off.

Any systematic error of the equations (of the time integrals, of a start that is not resolved) is the same in a
simulation of the fitted model that is observed like the data. So

    A theta = b - c(theta),      c(theta) = mean of b - A theta over simulated runs of the model theta,

is solved for theta by iteration: with the same random numbers in every round the map is smooth, and the steps are
accelerated (Anderson's method). Simulated paths can be looked at as often as one likes: seen at short intervals their
equations have no bias worth mentioning, but the noise that all looks have in common and whatever the steps of the
simulation get wrong. So c is taken as the difference between the two. The iteration ends when a correction changes by
less than its own noise. The equations are corrected, not the coefficients: a prior then acts as on any other equations,
and what the data do not determine stays where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trackless import _memory, _progress
from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.basis import Basis
from trackless.intensity import Sigma
from trackless.moments import MAX_BLOCKS, Moments
from trackless.potentials import Potential, RadialPotential
from trackless.residuals import Units
from trackless.simulation import simulate
from trackless.snapshots import Snapshots
from trackless.survey import surveyed

Array = NDArray[np.float64]
ROUNDS = 12
FINE = 10  # looks per interval of the data
STEPS = 10  # of the simulation per look
COPIES = 4  # simulated runs per run of the data: their noise adds a quarter of the data's, or less
MOST_RUNS = 20_000
MOST_POSITIONS = 100_000_000  # simulated runs, times and particles
STIFF = 0.2  # step times second derivative beyond which steps are adapted to the forces
INSIDE = 0.1  # a change of the correction by less than this part of the equations' noise is none
MOSTLY = 0.68  # part of the equations in which a change may be expected to be inside its noise
ESCAPED = 0.01  # part of the simulated particles that may leave what the data explored
FAR = 1.5  # in units of the explored range
GRID = 1000  # distances at which stiffness is looked for
MEMORY = 4  # earlier rounds that the next step learns from
REMEDY = "leave debias out, or take more data or fewer functions (tl.SelfTest, --method self-test)"


class Fitted(Protocol):
    """What is simulated."""

    external_: Potential | None
    interaction_: Potential | None
    sigma_: Sigma
    explored_: tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Debiasing:
    """What simulation found of the equations' bias.

    Attributes
    ----------
    correction : (K,)
        c, taken off b.
    covariance : (K, K)
        Of the correction, from the simulated runs; part of the reported covariance.
    rounds, runs : int
        How many simulations there were, and of how many runs each.
    changed : float
        How much of the forces it changed (root mean square over the particles).
    converged : bool
    """

    correction: Array
    covariance: Array
    rounds: int
    runs: int
    changed: float
    converged: bool

    @property
    def sentence(self) -> str:
        """What was done, in words."""
        end = "" if self.converged else f"; it had not settled after {self.rounds} rounds: take it with care"
        return (
            f"bias was removed by {self.rounds} simulations of the fitted model ({self.runs} runs each), which changed "
            f"its forces by {self.changed:.1%}{end}"
        )


def evenly_observed(data: Snapshots, gaps: str = "") -> float:
    """The interval between all snapshots of data that can be simulated as they were seen; others are refused."""
    interval = data.common_interval() if data.regular else None
    if interval is None:
        raise InputError(
            "debias: expected runs with the same times, even intervals and the same number of particles, which is what "
            f"can be simulated{gaps and f', but they were {gaps}'}; leave debias out, or take a part of the data that "
            "has them (snapshots.between, snapshots.every)"
        )
    return interval


class Simulated:
    """Simulations of a model on the protocol of some data: same start, times and numbers, same random numbers."""

    def __init__(self, data: Snapshots, moments: Moments, quadrature: str, seed: int = 0) -> None:
        times, gap = data.times_of(0), evenly_observed(data)
        self.data, self.moments, self.quadrature, self.seed = data, moments, quadrature, seed
        self.matrix = moments.normal_equations(1.0, quadrature).matrix
        self.gap, self.duration = gap, float(times[-1] - times[0])
        _, frames, particles, _ = data.positions.shape
        most = _memory.for_work(8 * data.dim * MOST_POSITIONS) // (8 * data.dim)
        self.runs = max(8, min(COPIES * data.runs, MOST_RUNS, most // (frames * FINE * particles)))
        low, high, *_ = surveyed(data)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        self.bounds = (middle - FAR * half, middle + FAR * half) if data.box is None else None

    def paths(self, fitted: Fitted) -> Snapshots:
        """Simulated runs, seen ``FINE`` times as often as the data."""
        step = self.gap / (FINE * STEPS)
        try:
            paths = simulate(
                fitted, runs=self.runs, duration=self.duration, step=step, observe_every=self.gap / FINE,
                initial=self.data, accurate=_stiffest(fitted) * step > STIFF, coupling=self.moments.coupling,
                seed=self.seed,
            )  # fmt: skip
        except InputError:
            raise InputError(
                f"debias: the fitted model is unstable: its particles run away in simulation; {REMEDY}"
            ) from None
        if self.bounds is not None:
            outside = ((paths.positions < self.bounds[0]) | (paths.positions > self.bounds[1])).any(axis=-1).mean()
            if outside > ESCAPED:
                raise InputError(
                    f"debias: the fitted model is unstable: {outside:.0%} of its particles leave the region that the "
                    f"data explored; {REMEDY}"
                )
        return paths

    def reduced(self, seen: Snapshots, external: Basis | None, interaction: Basis | None, blocks: int) -> Moments:
        """Moments as the fit would have them."""
        of = self.moments
        return accumulate(seen, external, interaction, of.coupling, 1, blocks, per_direction=of.parts > 1)

    def bias(self, fitted: Fitted, coef: Array) -> tuple[Array, Array]:
        """Mean of b - A coef (K,) over simulated runs, less what it is at short intervals; and its covariance."""
        paths = self.paths(fitted)
        residuals = []
        for seen, rule in ((paths.every(FINE), self.quadrature), (paths, "cubic")):
            moments = self.reduced(seen, self.moments.external, self.moments.interaction, MAX_BLOCKS)
            units = Units.of(moments, fitted.sigma_, rule)
            residuals.append((units.vectors - units.matrices @ coef) / units.weights.mean())
        # all functions alike: noise of neighbours cancels in smooth sums, which a factor for each would undo
        difference = residuals[0] - residuals[1]
        mean = difference.mean(axis=0)
        scattered = difference - mean
        return mean, scattered.T @ scattered / len(scattered) ** 2


def _stiffest(fitted: Fitted) -> float:
    """Largest second derivative of a radial potential where the data were."""
    largest = 0.0
    for potential, explored in zip((fitted.external_, fitted.interaction_), fitted.explored_, strict=True):
        if isinstance(potential, RadialPotential) and explored is not None:
            r = np.linspace(explored[0], explored[1], GRID)
            largest = max(largest, float(np.abs(np.diff(potential.slope(r))).max() / (r[1] - r[0])))
    return largest


def debiased(simulated: Simulated, noise: Array, solve: Callable[[Array, Array], tuple[Array, Any]]) -> Debiasing:
    """The fixed point.

    Parameters
    ----------
    noise : (K, K)
        Covariance of the data's equations.
    solve : callable
        Correction (K,) and its covariance (K, K) -> coefficients (K,) and the fitted model to be simulated.
    """
    nothing = np.zeros(len(noise))
    coef, model = solve(nothing, np.outer(nothing, nothing))
    places, corrections = [], []
    correction, covariance, converged = nothing, np.zeros_like(noise), False
    for _ in _progress.track(range(ROUNDS), "removing bias", ROUNDS):
        found, covariance = simulated.bias(model, coef)
        places.append(coef)
        corrections.append(found)
        # steps of the simulation follow the forces, so that two rounds never have quite the same noise
        chance = 2 * np.diag(covariance) + INSIDE**2 * np.diag(noise)
        # the first correction must itself be simulated: it may be wrong where the fit was
        converged = len(places) > 1 and bool(((found - correction) ** 2 <= chance).mean() >= MOSTLY)
        correction = (
            found if converged else _accelerated(places, corrections, partial(_coefficients, solve, covariance))
        )
        coef, model = solve(correction, covariance)
        if converged:
            break
    changed = relative_change(simulated.matrix, places[0], coef)
    return Debiasing(correction, covariance, len(places), simulated.runs, changed, converged)


def relative_change(matrix: Array, before: Array, after: Array) -> float:
    """How much of the forces a change of coefficients is, given the normal matrix."""
    force, change = (float(c @ matrix @ c) for c in (before, after - before))
    return float(np.sqrt(max(change, 0.0) / max(force, 1e-300)))


def _coefficients(solve: Callable[[Array, Array], tuple[Array, Any]], covariance: Array, correction: Array) -> Array:
    return solve(correction, covariance)[0]


def _accelerated(places: list[Array], corrections: list[Array], solve: Callable[[Array], Array]) -> Array:
    """The next correction: of earlier rounds, the combination whose coefficients would change least (Anderson)."""
    last = corrections[-1]
    if len(corrections) < 2:
        return last
    recent = slice(-min(MEMORY, len(corrections)), None)
    # coefficients that each correction leads to, less those it was found at
    moves = np.array([solve(c) - p for c, p in zip(corrections[recent], places[recent], strict=True)])
    differences = np.diff(moves, axis=0)
    weights = np.linalg.lstsq(differences.T, moves[-1], rcond=1e-3)[0]
    return last - weights @ np.diff(np.array(corrections[recent]), axis=0)
