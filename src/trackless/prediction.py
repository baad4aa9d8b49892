"""Does the fitted model predict what comes next? It is simulated from snapshots it has not seen, and compared.

From the same beginnings the fitted model is simulated many times, each time with other noise and with other potentials
within their error bars. Where the model is right, what was observed is one more draw of the same kind: its rank among
the simulated ones is a p-value, whatever is measured. What is measured needs no labels (:mod:`trackless.observables`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.basis import members_of
from trackless.mixtures import Kinds, joined, listed
from trackless.observables import Bins
from trackless.potentials import Potential, RadialPotential
from trackless.simulation import simulate
from trackless.snapshots import Snapshots
from trackless.uncertainty import cutoff_of

Array = NDArray[np.float64]
REPLICATES = 199
LEVEL = 0.01  # a p-value below this is a failure
STARTS = 120  # beginnings, about: parts of runs where runs are few
MOST_PARTICLES = 20_000  # in all beginnings together
AHEAD = np.array([0.0, 0.25, 0.5, 1.0])  # parts of the time ahead that are looked at; 0 is the next snapshot
FEWEST_INTERVALS = 8  # ahead
STEPS = 50  # largest step of a simulation: this part of its duration
TRIES = 20  # potentials within error bars that cannot be simulated are drawn again so often, in all
SHRINK = 0.1  # of covariances towards their diagonal: there are as many observables as simulations


class Curve(NamedTuple):
    """A density as observed, and the 95 % range of what the model predicts."""

    label: str
    xlabel: str
    edges: Array
    """(B + 1,)"""
    observed: Array
    """(B,), like ``predicted`` (the mean), ``lower`` and ``upper``"""
    predicted: Array
    lower: Array
    upper: Array


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
    """

    p_value: float
    topics: dict[str, float]
    worst: str
    curves: dict[str, Curve]
    starts: int
    replicates: int
    times: tuple[float, ...]

    @property
    def passed(self) -> bool:
        """Whether what was observed is nothing unusual for the model, at a level of 1 % (or the smallest there is)."""
        return self.p_value > max(LEVEL, 1.5 / (self.replicates + 1))

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        each = ", ".join(f"{name} p = {p:.2g}" for name, p in self.topics.items())
        far = f"up to {self.times[-1]:.3g} ahead from {self.starts} snapshots"
        if self.passed:
            return f"the fit predicts what comes next, {far}: p = {self.p_value:.2g} ({each})"
        off = f"p = {self.p_value:.2g} ({each}); most of all {self.worst}"
        return f"THE FIT DOES NOT PREDICT what comes next, {far}: {off}"


class _Group(NamedTuple):
    """Beginnings with the same numbers of particles and the same times."""

    start: Array
    """(S, N, dim)"""
    later: Array
    """(S, lags, N, dim)"""
    times: Array
    """(lags,), after the beginning"""
    counts: tuple[int, ...]
    """of each kind"""


def predict(fitted: Any, snapshots: Snapshots, replicates: int = REPLICATES, seed: int = 0) -> Prediction:
    """Simulate a fit from snapshots that it has not seen, and compare with what was observed later.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
        Every run (part of a run, where there are few) is predicted from its first snapshot.
    replicates : int
        How often; p-values are whole multiples of 1 / (replicates + 1).
    seed : int

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> seen, other = tl.simulate(model, runs=120, step=1e-3).split(parts=2)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto").fit(seen)
    >>> predict(fitted, other, replicates=19).p_value > 0.05
    True
    """
    if not snapshots.constant_count:
        raise InputError("predict: the number of particles changes, which the model does not predict")
    if replicates < 19:
        raise InputError(f"replicates: expected at least 19, for p-values of 5 %, got {replicates}")
    groups = _groups(snapshots)
    drawn = _Draws(fitted, np.random.default_rng(seed))
    names = tuple(snapshots.species or ())
    first = _simulated(drawn, groups, names, snapshots.box, seed)
    bins = [_bins(fitted, snapshots, group, later) for group, later in zip(groups, first, strict=True)]
    observed, seen = _measured(bins, groups, [group.later for group in groups])
    simulated = [
        _measured(bins, groups, _simulated(drawn, groups, names, snapshots.box, seed + 1 + k))
        for k in _progress.track(range(replicates), "predicting", replicates)
    ]
    labels = [one for t in groups[0].times for one in bins[0].names(f" after {t:.3g}")]
    values = np.array([observed, *(value for value, _ in simulated)])
    p_value, topics = _ranks(values, np.array([one.topic for one in labels]))
    return Prediction(
        p_value, topics, _worst(values, [one.text for one in labels]),
        _curves(bins[0], groups[0].times, seen, [fine for _, fine in simulated]),
        sum(len(group.start) for group in groups), replicates, tuple(groups[0].times.tolist()),
    )  # fmt: skip


class _Draws:
    """Models within the error bars of a fit, or the fit itself where it has none."""

    def __init__(self, fitted: Any, generator: np.random.Generator) -> None:
        self.fitted, self.generator, self.tries = fitted, generator, TRIES
        covariance = getattr(fitted, "covariance_", None)
        self.root = None
        if covariance is None:
            return
        posterior, noise = getattr(fitted, "posterior_", None), getattr(fitted, "noise_", None)
        self.deviations = posterior.deviations if posterior is not None else None
        with_sigma = getattr(fitted, "sigma_covariance_", None)
        if noise is not None and noise.known and with_sigma is not None:  # sigma^2 and potentials belong together
            mixed, own = np.atleast_2d(with_sigma), np.atleast_2d(noise.variances)
            covariance = np.block([[covariance, mixed.T], [mixed, own]])
            self.deviations = None
        sizes, vectors = np.linalg.eigh(covariance)
        self.root = vectors * np.sqrt(np.maximum(sizes, 0.0))

    def model(self) -> Any:
        """Potentials and sigma of one draw."""
        fit = self.fitted
        if self.root is None:
            return SimpleNamespace(external=fit.external_, interaction=fit.interaction_, sigma=fit.sigma_)
        if self.deviations is not None:
            change = self.deviations[self.generator.integers(len(self.deviations))]
        else:
            change = self.root @ self.generator.standard_normal(self.root.shape[1])
        coef, extra = fit.coef_ + change[: len(fit.coef_)], change[len(fit.coef_) :]
        sigma = fit.sigma_
        if len(extra):
            sigma = np.sqrt(np.maximum(np.square(sigma) + extra, 0.01 * np.square(sigma)))
            sigma = float(sigma[0]) if np.ndim(fit.sigma_) == 0 else tuple(sigma.tolist())
        found: tuple[dict[Kinds, Potential], dict[Kinds, Potential]] = ({}, {})
        for member in members_of((fit.external_basis_, fit.interaction_basis_)):
            found[member.role][member.kinds] = member.basis.combine(coef[member.part])  # type: ignore[assignment]
        return SimpleNamespace(external=joined(found[0]), interaction=joined(found[1]), sigma=sigma)


def _groups(snapshots: Snapshots) -> list[_Group]:
    """Beginnings and what followed, those alike together."""
    found: dict[Any, list[tuple[Array, Array]]] = {}
    room = max(1, min(STARTS, MOST_PARTICLES // max(1, int(snapshots.counts_of(0).mean()))))
    runs = np.unique(np.linspace(0, snapshots.runs - 1, min(room, snapshots.runs)).round().astype(int)).tolist()
    for m in runs:
        times = snapshots.times_of(m)
        for begin, end in _parts(len(times), room // len(runs)):
            lags = np.unique(np.ceil((end - begin) * AHEAD).clip(1)).astype(int)
            after = times[begin + lags] - times[begin]
            counts = tuple(snapshots.species_counts_of(m)[begin].tolist())
            key = (counts, tuple(np.round(after / after[-1], 9)), float(f"{after[-1]:.9g}"))
            later = np.stack([snapshots.frame(m, begin + k) for k in lags]).astype(float)
            found.setdefault(key, []).append((np.asarray(snapshots.frame(m, begin), float), later))
    if not found:
        raise InputError("predict: expected runs of at least two snapshots")
    # shorter runs have fewer times, runs without a kind fewer pairs: only those are taken together that have the same
    alike: dict[Any, list[Any]] = {}
    for key in found:
        alike.setdefault((len(key[1]), tuple(min(count, 2) for count in key[0])), []).append(key)
    most = max(alike.values(), key=lambda keys: sum(len(found[key]) for key in keys))
    return [
        _Group(
            np.stack([start for start, _ in found[key]]), np.stack([later for _, later in found[key]]),
            key[2] * np.array(key[1]), key[0],
        )
        for key in most
    ]  # fmt: skip


def _parts(length: int, wanted: int) -> Iterator[tuple[int, int]]:
    """First and last snapshots of so many parts of a run, all as long; each begins where the one before ends."""
    pieces = max(1, min(wanted, (length - 1) // FEWEST_INTERVALS))
    each = (length - 1) // pieces
    return ((k * each, (k + 1) * each) for k in range(pieces) if each > 0)


def _simulated(drawn: _Draws, groups: list[_Group], names: tuple[str, ...], box: Any, seed: int) -> list[Array]:
    """What one model makes of all beginnings, (S, lags, N, dim) for each group."""
    while True:
        model = drawn.model()
        try:
            return [_later(model, drawn.fitted, group, names, box, seed) for group in groups]
        except InputError:
            drawn.tries -= 1
            if drawn.tries < 0 or drawn.root is None:
                raise


def _later(model: Any, fitted: Any, group: _Group, names: tuple[str, ...], box: Any, seed: int) -> Array:
    """Simulated from the group's beginnings, at its times: all at once where those have a common unit."""
    discrete = getattr(fitted, "dynamics", "continuous") == "discrete"
    common: dict[str, Any] = {
        "particles": dict(zip(names, group.counts, strict=True)) if names else group.counts[0],
        "dim": group.start.shape[2], "box": box, "coupling": fitted.coupling, "labeled": True,
        "accurate": False if discrete else "roughly",
    }  # fmt: skip
    step = group.times[-1] / STEPS
    unit = float(group.times[0]) if discrete else _common_unit(group.times)
    if unit is not None:
        step = unit if discrete else unit / np.ceil(unit / step - 1e-9)
        paths = simulate(
            model, initial=group.start, duration=group.times[-1], step=step, observe_every=unit, seed=seed, **common
        ).positions
        return paths[:, np.rint(group.times / unit).astype(int)]
    found, at = [], group.start
    for k, interval in enumerate(np.diff(group.times, prepend=0.0)):
        whole = interval / np.ceil(interval / step - 1e-9)
        at = simulate(
            model, initial=at, duration=interval, step=whole, observe_every=interval, seed=seed + 7919 * k, **common
        ).positions[:, -1]
        found.append(at)
    return np.stack(found, axis=1)


def _common_unit(times: Array) -> float | None:
    """The longest interval that all times are whole multiples of, or None: the first one, or a simple part of it."""
    for part in range(1, 9):
        counts = times / (times[0] / part)
        if np.abs(counts - np.rint(counts)).max() < 1e-6 * counts.max():
            whole = np.rint(counts).astype(int).tolist()
            return float(times[0] / part * reduce(gcd, whole))
    return None


def _bins(fitted: Any, snapshots: Snapshots, group: _Group, later: Array) -> Bins:
    """Bins of observables, from a simulation that is not used again."""
    names = snapshots.species or ("",)
    ends = np.concatenate([[0], np.cumsum(group.counts)]).tolist()
    kinds = [slice(a, b) for a, b in pairwise(ends)]
    parts = [
        (" and ".join(dict.fromkeys((names[a], names[b]))) if len(names) > 1 else "", kinds[a], kinds[b])
        for a in range(len(kinds))
        for b in range(a, len(kinds))
        if group.counts[a] > (a == b) and group.counts[b] > 0
    ]
    interactions = [potential for _, potential in listed(fitted.interaction_)]
    cutoffs = [cutoff_of(potential) for potential in interactions]
    reach = max((end for end in cutoffs if end is not None), default=None) if None not in cutoffs else None
    singles = [potential for _, potential in listed(fitted.external_)]
    center = np.zeros(snapshots.dim) + group.start.mean(axis=(0, 1))
    if singles and isinstance(singles[0], RadialPotential):
        center = np.zeros(snapshots.dim) + singles[0].origin
    flat = later.reshape(-1, *later.shape[2:])
    return Bins.of(flat, tuple(parts), center, snapshots.box, reach)


def _measured(bins: list[Bins], groups: list[_Group], later: list[Array]) -> tuple[Array, list[list[Array]]]:
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
    return 1.0 - np.searchsorted(ordered, far, side="left") / len(far)


def _worst(values: Array, texts: list[str]) -> str:
    """The observable that is most standard deviations off, in words."""
    mean, spread = values[1:].mean(axis=0), values[1:].std(axis=0)
    scores = np.abs(values[0] - mean) / np.where(spread > 0, spread, np.inf)
    k = int(np.argmax(scores))
    return f"{texts[k]}: {values[0, k]:.3g} seen, {mean[k]:.3g} +- {spread[k]:.2g} predicted"


def _curves(bins: Bins, times: Array, seen: list[list[Array]], simulated: list[list[list[Array]]]) -> dict[str, Curve]:
    """Densities at the middle and the end, observed and predicted."""
    found = {}
    for lag in sorted({len(times) // 2, len(times) - 1}):
        for k, (topic, words, edges) in enumerate(bins.curves()):
            draws = np.array([fine[lag][k] for fine in simulated])
            lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
            label = f"{words}, after {times[lag]:.3g}"
            name = f"{topic} {k} {lag}"
            found[name] = Curve(label, words, edges, seen[lag][k], draws.mean(axis=0), lower, upper)
    return found
