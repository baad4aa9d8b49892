"""Does the fitted model predict what comes next? It is simulated from snapshots it has not seen, and compared.

From the same beginnings the fitted model is simulated many times, each time with other noise and with other potentials
within their error bars. Where the model is right, what was observed is one more draw of the same kind: its rank among
the simulated ones is a p-value, whatever is measured. What is measured needs no labels (:mod:`trackless.observables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.futures import STARTS, Beginnings, Draws, affordable, beginnings, why_not
from trackless.magnitudes import check_whole
from trackless.mixtures import in_words, listed
from trackless.observables import Bins, Number
from trackless.potentials import RadialPotential
from trackless.snapshots import Snapshots
from trackless.uncertainty import cutoff_of
from trackless.wording import plural

Array = NDArray[np.float64]
FEWEST = 19  # replicates, with which p-values can be 5 %
REPLICATES = 199
LEVEL = 0.01  # a p-value that is not above this is a failure
ROUNDING = 1e-9  # of a level times a number of rows
WITHIN = 0.95  # of new draws of a right model are within the range that is drawn
TELLING = 8  # numbers at most that show why a fit fails
SHRINK = 0.1  # of covariances towards their diagonal: there are as many observables as simulations


class Curve(NamedTuple):
    """A density as observed, and the range in which a right model would have it in 95 of 100 cases."""

    label: str
    xlabel: str
    ylabel: str
    edges: Array
    """(B + 1,)"""
    observed: Array
    """(B,), like ``predicted`` (the mean), ``lower`` and ``upper``; those are empty where nothing was simulated"""
    predicted: Array
    lower: Array
    upper: Array


class Compared(NamedTuple):
    """One number as observed, and the range in which a right model would have it."""

    topic: str
    text: str
    observed: float
    predicted: float
    lower: float
    upper: float

    @property
    def off(self) -> float:
        """How far off it is: -1 to 1 within the range, whose ends these are."""
        middle, half = 0.5 * (self.upper + self.lower), 0.5 * (self.upper - self.lower)
        if half > 0:
            return (self.observed - middle) / half
        return float(np.copysign(np.inf, self.observed - middle)) if self.observed != middle else 0.0


@dataclass(frozen=True)
class Prediction:
    """Observed and simulated futures of the same beginnings.

    Attributes
    ----------
    p_value : float
        How often a right model is at least as far off as this one, in the topic where it is farthest off.
    topics : dict
        The same for each topic alone: "pairs" (distances), "places" (density), "motion" (diffusion, drift).
    worst : str
        What stands out most, in words.
    curves : dict
        Name -> Curve: densities to draw.
    starts, replicates : int
        How many beginnings, and how often each was simulated.
    times : tuple of float
        After which predictions were looked at.
    numbers : tuple of Compared
        Everything that was compared.
    """

    p_value: float
    topics: dict[str, float]
    worst: str
    curves: dict[str, Curve]
    starts: int
    replicates: int
    times: tuple[float, ...]
    numbers: tuple[Compared, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether what was observed is nothing unusual for the model, at a level of 1 % (or the smallest there is)."""
        return not self._fails(self.p_value)

    @property
    def level(self) -> float:
        """How often a right model fails: 0.01, or the smallest p-value that so few simulations can give."""
        return max(LEVEL, 1.0 / (self.replicates + 1))

    def _fails(self, p_value: float) -> bool:
        """Ranks are whole numbers: a p-value that is exactly the level fails, however it is rounded."""
        rows = self.replicates + 1
        return round(p_value * rows) <= int(self.level * rows * (1 + ROUNDING))

    @property
    def telling(self) -> list[Compared]:
        """What is farthest off in the topics that fail, worst first; empty where the fit predicts what was seen."""
        if self.passed:
            return []
        failing = {name for name, p in self.topics.items() if self._fails(p)}
        found = [one for one in self.numbers if one.topic in failing or not failing]
        return sorted(found, key=lambda one: -abs(one.off))[:TELLING]

    @property
    def without_density(self) -> list[Compared]:
        """What curves do not show: what is farthest off where the fit fails, and motion after the last time."""
        last = f" after {self.times[-1]:.3g}"
        motion = [one for one in self.numbers if one.topic == "motion" and one.text.endswith(last)]
        return [*self.telling, *(one for one in motion if one not in self.telling)]

    @property
    def within(self) -> float:
        """How often a right model is within the ranges of the curves: 0.95, or as often as so few simulations allow."""
        return min(WITHIN, (self.replicates - 1) / (self.replicates + 1))

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        each = ", ".join(f"{name} p = {p:.2g}" for name, p in self.topics.items())
        each += f"; tested at a level of {self.level:.2g}"
        far = f"up to {self.times[-1]:.3g} ahead from {plural(self.starts, 'snapshot')}"
        if self.passed:
            return f"the fit predicts what comes next, {far}: p = {self.p_value:.2g} ({each})"
        off = f"p = {self.p_value:.2g} ({each}); most of all {self.worst}"
        return f"THE FIT DOES NOT PREDICT what comes next, {far}: {off}"


def predict(
    fitted: Any, snapshots: Snapshots, replicates: int = REPLICATES, seed: int = 0, work: float | None = None
) -> Prediction:
    """Simulate a fit from snapshots that it has not seen, and compare with what was observed later.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
        Every run (part of a run, where there are few) is predicted from its first snapshot.
    replicates : int
        How often; p-values are whole multiples of 1 / (replicates + 1).
    seed : int
    work : float, optional
        Forces between particles that may be computed, about. Where it would be more, there are fewer beginnings, and
        predictions are not as far ahead; which ones depends on data and fit alone, not on the machine.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> seen, other = tl.simulate(model, runs=120, step=1e-3).split(parts=2)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto").fit(seen)
    >>> predict(fitted, other, replicates=19).p_value > 0.05
    True
    """
    check_whole("replicates", replicates, FEWEST)
    check_whole("seed", seed, 0)
    why = why_not(fitted, snapshots)
    if why:
        raise InputError(why)
    size = affordable(fitted, snapshots, None if work is None else work / (replicates + 1))
    groups = beginnings(snapshots, size)
    drawn = Draws(fitted, groups, np.random.default_rng(seed))
    names, box = tuple(snapshots.species or ()), snapshots.box
    first = drawn.later(groups, names, box, seed)  # not used again: bins must not know what is counted in them
    bins = [_bins(fitted, snapshots, group, later) for group, later in zip(groups, first, strict=True)]
    observed, seen = _measured(bins, groups, [group.later for group in groups])
    simulated = [
        _measured(bins, groups, drawn.later(groups, names, box, seed + 1 + k))
        for k in _progress.track(range(replicates), "predicting", replicates)
    ]
    times = groups[0].times
    labels = [one for t in times for one in bins[0].names(f" after {t:.3g}", snapshots.dim)]
    values = np.array([observed, *(value for value, _ in simulated)])
    p_value, topics = _ranks(values, np.array([one.topic for one in labels]))
    return Prediction(
        p_value, topics, _worst(values, [one.text for one in labels]),
        _curves(bins[0], times, seen, [fine for _, fine in simulated]),
        sum(len(group.start) for group in groups), replicates, tuple(times.tolist()), _numbers(values, labels),
    )  # fmt: skip


def observed_curves(fitted: Any, snapshots: Snapshots) -> dict[str, Curve]:
    """Densities of some observed snapshots alone, those with the usual numbers of particles."""
    lengths = [len(snapshots.times_of(m)) for m in range(snapshots.runs)]
    ends = np.cumsum(lengths)
    found: dict[tuple[int, ...], list[Array]] = {}
    for place in np.unique(np.linspace(0, ends[-1] - 1, STARTS).round().astype(int)).tolist():
        run = int(np.searchsorted(ends, place, side="right"))
        index = place - int(ends[run] - lengths[run])
        frame = np.asarray(snapshots.frame(run, index), float)
        found.setdefault(tuple(snapshots.species_counts_of(run)[index].tolist()), []).append(frame)
    counts, frames = max(found.items(), key=lambda item: len(item[1]) * sum(item[0]))
    if sum(counts) < 1:
        return {}
    start = np.stack(frames)
    bins = _bins(fitted, snapshots, Beginnings(start, start[:, None], np.zeros(1), counts, 0.0), start[:, None])
    nothing = np.empty(0)
    return {
        f"{one.topic} {k}": Curve(one.title, one.xlabel, one.ylabel, one.edges, density, nothing, nothing, nothing)
        for k, (one, density) in enumerate(zip(bins.densities(), bins.measured(start, start)[1], strict=True))
    }


def _bins(fitted: Any, snapshots: Snapshots, group: Beginnings, later: Array) -> Bins:
    """Bins of observables for snapshots like ``later`` (S, lags, N, dim)."""
    names = snapshots.species or ("",)
    ends = np.concatenate([[0], np.cumsum(group.counts)]).tolist()
    kinds = [slice(a, b) for a, b in pairwise(ends)]
    pairs = [
        (in_words((names[a], names[b])) if len(names) > 1 else "", kinds[a], kinds[b])
        for a in range(len(kinds))
        for b in range(a, len(kinds))
        if group.counts[a] > (a == b) and group.counts[b] > 0
    ]
    places = []
    for of, potential in listed(fitted.external_) or [((), None)]:
        who = kinds[names.index(of[0])] if of else slice(0, ends[-1])
        if who.stop > who.start:
            radial = isinstance(potential, RadialPotential)
            center = np.zeros(snapshots.dim) + (potential.origin if radial else group.start[:, who].mean(axis=(0, 1)))
            places.append((in_words(of), who, center, "centre" if radial else "mean position"))
    cutoffs = [cutoff_of(potential) for _, potential in listed(fitted.interaction_)]
    reach = None if None in cutoffs else max((end for end in cutoffs if end is not None), default=None)
    return Bins.of(later.reshape(-1, *later.shape[2:]), pairs, places, snapshots.box, reach)


def _measured(bins: list[Bins], groups: list[Beginnings], later: list[Array]) -> tuple[Array, list[list[Array]]]:
    """Observables (K,) of all lags, means over groups; and densities to draw, of the first group."""
    values, weights, drawn = [], [], []
    for own, group, paths in zip(bins, groups, later, strict=True):
        each = [own.measured(group.start, paths[:, k]) for k in range(paths.shape[1])]
        values.append(np.concatenate([value for value, _ in each]))
        weights.append(len(group.start) * group.start.shape[1])
        drawn = drawn or [fine for _, fine in each]
    return np.average(values, axis=0, weights=weights), drawn


def _ranks(values: Array, topics: NDArray[Any]) -> tuple[float, dict[str, float]]:
    """p-values of the first row of ``values`` (R + 1, K) among all of them, for every topic and for the worst one.

    Rows are exchangeable if the model is right, and every row is treated alike: the ranks are exact.
    """
    far = {name: _far_off(values[:, topics == name]) for name in dict.fromkeys(topics.tolist())}
    scores = [(own - own.mean()) / max(own.std(), 1e-300) for own in far.values()]  # so that topics can be compared
    worst = _part_as_far(np.max(scores, axis=0))
    return float(worst[0]), {name: float(_part_as_far(own)[0]) for name, own in far.items()}


def _far_off(values: Array) -> Array:
    """How far each row (R + 1, K) is from the mean of all, (R + 1,), in terms of their covariance."""
    off = values - values.mean(axis=0)
    spread = off.std(axis=0)
    off = off[:, spread > 0] / spread[spread > 0]
    if off.shape[1] == 0:
        return np.zeros(len(values))
    covariance = off.T @ off / len(off)
    covariance = (1 - SHRINK) * covariance + SHRINK * np.eye(off.shape[1])
    return np.einsum("rk,rk->r", off, np.linalg.solve(covariance, off.T).T)


def _part_as_far(far: Array) -> Array:
    """For each entry (R + 1,) the part of all that is at least as large: a p-value."""
    ordered = np.sort(far)
    return (len(far) - np.searchsorted(ordered, far, side="left")) / len(far)


def _worst(values: Array, texts: list[str]) -> str:
    """The observable that is most standard deviations off, in words."""
    mean, spread = values[1:].mean(axis=0), values[1:].std(axis=0)
    scores = np.abs(values[0] - mean) / np.where(spread > 0, spread, np.inf)
    k = int(np.argmax(scores))
    return f"{texts[k]}: {values[0, k]:.3g} seen, {mean[k]:.3g} +- {spread[k]:.2g} predicted"


def _range(draws: Array) -> Array:
    """Ends (2, ...) by ranks: one more draw is outside with probability 1 - WITHIN, or 2 / (R + 1) if R are too few."""
    return np.quantile(draws, [0.5 - 0.5 * WITHIN, 0.5 + 0.5 * WITHIN], axis=0, method="weibull")


def _numbers(values: Array, labels: list[Number]) -> tuple[Compared, ...]:
    """Observables (R + 1, K), the first row as observed, one by one."""
    columns = np.array([values[0], values[1:].mean(axis=0), *_range(values[1:])]).T.tolist()
    return tuple(Compared(*label, *column) for label, column in zip(labels, columns, strict=True))


def _curves(bins: Bins, times: Array, seen: list[list[Array]], simulated: list[list[list[Array]]]) -> dict[str, Curve]:
    """Densities at the middle and the end, observed and predicted."""
    found = {}
    for lag in sorted({len(times) // 2, len(times) - 1}):
        for k, one in enumerate(bins.densities()):
            draws = np.array([fine[lag][k] for fine in simulated])
            lower, upper = _range(draws)
            found[f"{one.topic} {k} {lag}"] = Curve(
                f"{one.title}, after {times[lag]:.3g}", one.xlabel, one.ylabel, one.edges, seen[lag][k],
                draws.mean(axis=0), lower, upper,
            )  # fmt: skip
    return found
