"""Does everything drift? The mean position of all particles, which a radial V can only pull to its centre.

Forces between particles cancel in the sum over all of them, so that the mean position m of N particles obeys

    dm = -(1/N) sum_i grad V(x_i) dt + (sigma / sqrt(N)) dW,

and what is left of its motion after V's part is noise without a mean. A drift is not: it is in the equations of no
radial V, and a residual test whose noise is taken from the scatter of runs may miss it, because all runs share it. What
a V explains, such as a cloud that falls into a trap, is none.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from trackless.mixtures import listed
from trackless.pieces import usual_length
from trackless.potentials import RadialPotential
from trackless.snapshots import Snapshots
from trackless.survey import PART
from trackless.wording import rounded

Array = NDArray[np.float64]
LEVEL = 0.003  # three standard errors
BLOCKS = 32  # parts of runs whose scatter is the error, where there are not as many runs
FEWEST = 8  # and below that nothing is said
LOOKED_AT, PARTICLES = 8_000, 20_000_000  # snapshots, and particles in them, that are looked at at most
GRID = 200  # distances at which the error of a slope is looked at


class Drift(NamedTuple):
    """How the mean position moves beyond what V explains."""

    velocity: Array
    """(dim,)"""
    error: Array
    """(dim,): standard errors"""
    p_value: float
    """of no drift in any direction"""
    explained: bool
    """whether there is a V that could have explained it"""

    @property
    def sentence(self) -> str:
        """That there is a drift, and what to do; nothing where chance explains it."""
        if self.p_value >= LEVEL:
            return ""
        numbers, errors = (", ".join(rounded(float(x), 2) for x in row) for row in (self.velocity, self.error))
        cannot = (
            "which no V that is radial about its centre explains" if self.explained else "and no V was to explain it"
        )
        free = (
            "Use external='free', which learns a drift (or, if a trap pulls them to a place away from their mean "
            "position, a radial V with center='fit')"
            if len(self.velocity) > 1
            else "Take the drift off the positions (or give center=, if a trap pulls them to a place)"
        )
        return (
            f"ALL PARTICLES DRIFT: their mean position moves by ({numbers}) +- ({errors}) in a unit of time, {cannot}; "
            f"what else was found is wrong by as much. {free}"
        )


def drift(snapshots: Snapshots, external: Any, discrete: bool = False) -> Drift | None:
    """Look for a drift that a fitted V cannot know of.

    None where this cannot be asked: V is not radial, the space is periodic, or particles come and go.

    Parameters
    ----------
    snapshots : Snapshots
    external : Potential, Potentials or None
        V as it was learnt.
    discrete : bool
        Whether snapshots are single steps of the motion.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> still = tl.simulate(tl.Model("free", None, None, (), sigma=1.0), runs=20, step=1e-2, observe_every=1e-1)
    >>> drift(still, None).sentence
    ''
    >>> moving = still.positions + 2 * still.times[:, None, None] * np.array([1.0, 0.0])
    >>> drift(tl.Snapshots(moving, times=still.times), None).sentence[:19]
    'ALL PARTICLES DRIFT'
    """
    fields = dict(listed(external))
    if snapshots.box is not None or not snapshots.constant_count:
        return None
    if not all(isinstance(field, RadialPotential) for field in fields.values()):
        return None
    usual = max(1, int(np.max(snapshots.counts_of(0))))
    most = min(LOOKED_AT, max(BLOCKS, PARTICLES // usual))
    number = max(1, min(snapshots.runs, most // usual_length(snapshots)))
    chosen = np.unique(np.linspace(0, snapshots.runs - 1, number).round().astype(int)).tolist()
    moved, durations, coarser = [np.zeros((0, snapshots.dim))], [np.zeros((0, 1))], np.zeros(snapshots.dim)
    pulls = {kinds: _Pull(field, snapshots.dim) for kinds, field in fields.items()}
    for run in chosen:
        times, count = snapshots.times_of(run)[:most], float(snapshots.counts_of(run)[0])
        if len(times) < 2 or count == 0:
            continue
        gaps = np.diff(times)[:, None]
        weights = np.append(gaps, 0.0) if discrete else 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps))
        means, forces = _means(snapshots, run, pulls, weights)
        steps = np.diff(means, axis=0) + gaps * (forces[:-1] if discrete else 0.5 * (forces[:-1] + forces[1:]))
        pieces = min(len(gaps), -(-BLOCKS // len(chosen)))
        starts = np.linspace(0, len(gaps), pieces + 1)[:-1].round().astype(int)
        moved.append(count * np.add.reduceat(steps, starts, axis=0))
        durations.append(count * np.add.reduceat(gaps, starts, axis=0))
        coarser += 0.0 if discrete else count * _coarser(times, forces)
    moves, time = np.concatenate(moved), np.concatenate(durations)
    if len(moves) < FEWEST:
        return None
    velocity = moves.sum(axis=0) / time.sum()
    variance = ((moves - time * velocity) ** 2).sum(axis=0) * len(moves) / (len(moves) - 1) + coarser**2
    error = np.sqrt(variance + sum(pull.variance for pull in pulls.values())) / time.sum()
    scores = np.abs(np.divide(velocity, error, out=np.zeros_like(velocity), where=error > 0))
    p_value = min(1.0, len(scores) * float(2 * t.sf(scores.max(), len(moves) - 1)))
    return Drift(velocity, error, p_value, bool(fields))


class _Pull:
    """How the sum of all forces of a radial V, over particles and time, depends on its slopes."""

    def __init__(self, field: RadialPotential, dim: int) -> None:
        self.field, known = field, getattr(field, "uncertainty", None)
        self.known = known
        self.edges = np.linspace(known.explored[0], known.explored[1], GRID + 1) if known is not None else np.zeros(2)
        self.directions = np.zeros((len(self.edges) - 1, dim))

    def of(self, points: Array, weight: float) -> Array:
        """Sum of the gradients at ``points`` (particles, dim), which is remembered with a weight."""
        if self.known is not None:
            away = points - self.field.origin
            r = np.linalg.norm(away, axis=1)
            place = np.clip(np.searchsorted(self.edges, r) - 1, 0, GRID - 1)
            for k, part in enumerate((away / np.maximum(r, 1e-300)[:, None]).T):
                self.directions[:, k] += weight * np.bincount(place, part, GRID)
        return self.field.gradient(points).sum(axis=0)

    @property
    def variance(self) -> Array:
        """(dim,): of the sum, because the slopes are known with errors only."""
        if self.known is None:
            return np.zeros(self.directions.shape[1])
        middles = 0.5 * (self.edges[1:] + self.edges[:-1])
        rows = self.directions.T @ np.stack([function.slope(middles) for function in self.known.functions], axis=1)
        return np.maximum(np.einsum("da,ab,db->d", rows, self.known.covariance, rows), 0.0)


def _means(
    snapshots: Snapshots, run: int, pulls: dict[tuple[str, ...], _Pull], weights: Array
) -> tuple[Array, Array]:  # fmt: skip
    """Mean position, and mean gradient of V, in every frame of a run: (frames, dim) each."""
    count, frames = int(snapshots.counts_of(run)[0]), len(weights)
    means, forces = np.zeros((2, frames, snapshots.dim))
    length = max(1, PART // count)
    for first in range(0, frames, length):
        last = min(first + length, frames) - 1
        points = np.asarray(snapshots.points_of(run, first, last), float).reshape(-1, count, snapshots.dim)
        means[first : last + 1] = points.mean(axis=1)
        for (kinds, pull), k in product(pulls.items(), range(len(points))):
            some = np.isin(snapshots.species_of(run, first + k), kinds) if kinds else slice(None)
            forces[first + k] += pull.of(points[k][some], weights[first + k]) / count
    return means, forces


def _coarser(times: Array, forces: Array) -> Array:
    """(dim,): about the error of the trapezoidal rule, from what it makes of every second frame."""
    last = 2 * ((len(times) - 1) // 2) + 1
    fine = np.trapezoid(forces[:last], times[:last], axis=0)
    return np.asarray(np.trapezoid(forces[:last:2], times[:last:2], axis=0) - fine, float) / 3
