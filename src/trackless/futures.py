"""Simulated futures: a fitted model from observed snapshots on, at the times that were observed.

Beginnings are cut from the data, models are drawn from within the error bars of a fit, and how much is simulated
follows from a given amount of work (:mod:`trackless.effort`), never from a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import gcd
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.basis import members_of
from trackless.effort import effort_of
from trackless.mixtures import Kinds, joined
from trackless.networks import RadialNetwork
from trackless.pieces import usual_length
from trackless.potentials import Centered, PiecewiseCubic, Potential
from trackless.simulation import simulate
from trackless.snapshots import Snapshots
from trackless.tables import tabulated

Array = NDArray[np.float64]
STARTS = 120  # beginnings, about: parts of runs where runs are few
FEW_STARTS = 30  # before there are fewer, futures are shorter
MOST_PARTICLES = 20_000  # in all beginnings together
AHEAD = np.array([0.0, 0.25, 0.5, 1.0])  # parts of the time ahead that are looked at; 0 is the next snapshot
FEWEST_INTERVALS = 8  # ahead
STEPS = 50  # largest step of a simulation: this part of its duration
NO_SIGMA = "sigma is not known, and with it how fast particles move"
TRIES = 20  # potentials within error bars that cannot be simulated are drawn again so often, in all
FAR, CELLS = 2.0, 4096  # tables of networks end at so many times the farthest distance, and have so many cells


class Beginnings(NamedTuple):
    """Snapshots with the same numbers of particles, and what followed them at the same times."""

    start: Array
    """(S, N, dim)"""
    later: Array
    """(S, lags, N, dim)"""
    times: Array
    """(lags,), after the beginning"""
    counts: tuple[int, ...]
    """of each kind"""
    interval: float
    """between two snapshots"""


class Size(NamedTuple):
    """How many beginnings are simulated, and for how many intervals at most."""

    starts: int
    intervals: int | None


def why_not(fitted: Any, snapshots: Snapshots, run: int | None = None) -> str:
    """Why a fit does not tell how runs (or one of them) go on, in words; empty if it does."""
    seen = getattr(getattr(fitted, "moments_", None), "observation", None)
    if seen is not None and not seen.complete:
        return "not all particles were seen where they are, and simulations know of no instrument"
    noise = getattr(fitted, "noise_", None)
    if noise is not None and not noise.known:
        return NO_SIGMA
    runs = range(snapshots.runs) if run is None else (run,)
    if all(len(snapshots.times_of(m)) < 2 for m in runs):
        return "there is only one snapshot of a run"
    if not snapshots.regular and any(len(np.unique(snapshots.species_counts_of(m), axis=0)) > 1 for m in runs):
        return "the number of particles changes within a run, which the model does not predict"
    return ""


def affordable(fitted: Any, snapshots: Snapshots, work: float | None) -> Size:
    """How much can be simulated with so many forces: as usual, with fewer beginnings, or over less time.

    Parameters
    ----------
    work : float, optional
        Forces that may be computed; None: as many as it takes.
    """
    room = max(1, min(STARTS, MOST_PARTICLES // max(1, int(snapshots.counts_of(0).mean()))))
    if work is None:
        return Size(room, None)
    length = usual_length(snapshots)
    ahead = max((end - begin for begin, end in _parts(length, room // min(room, snapshots.runs), None)), default=1)
    intervals = snapshots.intervals()
    interval = float(np.median(intervals)) if len(intervals) else 1.0
    single = getattr(fitted, "dynamics", "continuous") == "discrete"
    effort = effort_of(fitted, snapshots, interval if single else interval * ahead / STEPS)

    def possible(intervals: int) -> int:
        return int(work / effort.of(interval * intervals, intervals if single else max(STEPS, intervals)))

    fewest = min(ahead, FEWEST_INTERVALS)
    while possible(ahead) < min(room, FEW_STARTS) and ahead > fewest:
        ahead = max(fewest, ahead // 2)
    if possible(ahead) < 1:
        raise InputError("it takes too long: there are too many particles, or forces are too stiff")
    return Size(min(room, possible(ahead)), ahead)


def beginnings(snapshots: Snapshots, size: Size) -> list[Beginnings]:
    """Beginnings and what followed, those alike together."""
    found: dict[Any, list[tuple[Array, Array]]] = {}
    runs = np.linspace(0, snapshots.runs - 1, min(size.starts, snapshots.runs)).round().astype(int)
    for m in np.unique(runs).tolist():
        times = snapshots.times_of(m)
        for begin, end in _parts(len(times), size.starts // len(runs), size.intervals):
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
        Beginnings(
            np.stack([start for start, _ in found[key]]), np.stack([later for _, later in found[key]]),
            key[2] * np.array(key[1]), key[0], key[2] * key[1][0],
        )
        for key in most
    ]  # fmt: skip


def _parts(length: int, wanted: int, longest: int | None) -> Iterator[tuple[int, int]]:
    """First and last snapshots of so many parts of a run, all as long; each begins where the one before ends.

    Where they may not be as long as that, there is something between them that is not looked at.
    """
    pieces = max(1, min(wanted, (length - 1) // FEWEST_INTERVALS))
    each = (length - 1) // pieces
    ahead = each if longest is None else min(each, longest)
    return ((k * each, k * each + ahead) for k in range(pieces) if each > 0)


class Draws:
    """Models within the error bars of a fit, or the fit itself where it has none."""

    def __init__(self, fitted: Any, groups: Sequence[Beginnings], generator: np.random.Generator) -> None:
        self.fitted, self.generator, self.tries = fitted, generator, TRIES
        covariance = getattr(fitted, "covariance_", None)
        self.root = None
        if covariance is None:
            self.itself = as_simulated(fitted, groups)
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
            return self.itself
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

    def later(self, groups: Sequence[Beginnings], names: tuple[str, ...], box: Any, seed: int) -> list[Array]:
        """What one model makes of all beginnings, (S, lags, N, dim) for each group."""
        while True:
            model = self.model()
            try:
                return [simulated(model, self.fitted, group, names, box, seed) for group in groups]
            except InputError:
                self.tries -= 1
                if self.tries < 0 or self.root is None:
                    raise


def as_simulated(fitted: Any, groups: Sequence[Beginnings]) -> Any:
    """The fit itself, with networks replaced by tables of them, which are set up once and not for every simulation."""
    points = np.concatenate([part.reshape(-1, part.shape[-1]) for own in groups for part in (own.start, own.later)])
    far = FAR * np.array([np.linalg.norm(points, axis=-1).max(), np.linalg.norm(np.ptp(points, axis=0))])
    external, interaction = (
        _without_networks(own, float(end))
        for own, end in zip((fitted.external_, fitted.interaction_), far, strict=True)
    )
    return SimpleNamespace(external=external, interaction=interaction, sigma=fitted.sigma_)


def _without_networks(potential: Any, far: float) -> Any:
    inner = potential.inner if isinstance(potential, Centered) else potential
    if not any(isinstance(term, RadialNetwork) for term in getattr(inner, "terms", ())):
        return potential
    pieces = tabulated([inner], 0.0, far, far / CELLS)
    table = PiecewiseCubic(pieces.edges, pieces.coef[:, 0])
    return Centered(table, potential.center) if isinstance(potential, Centered) else table


def simulated(model: Any, fitted: Any, group: Beginnings, names: tuple[str, ...], box: Any, seed: int) -> Array:
    """A model from the group's beginnings on, (S, lags, N, dim): all times at once where they have a common unit."""
    discrete = getattr(fitted, "dynamics", "continuous") == "discrete"
    common: dict[str, Any] = {
        "particles": dict(zip(names, group.counts, strict=True)) if names else group.counts[0],
        "dim": group.start.shape[2], "box": box, "coupling": getattr(fitted, "coupling", "mean"), "labeled": True,
        "accurate": False if discrete else "roughly",
    }  # fmt: skip
    step = group.times[-1] / STEPS
    unit = _common_unit(group.times)
    if discrete:
        unit = group.interval if unit is None else unit
        step = group.interval
    if unit is not None:
        step = unit / np.ceil(unit / step - 1e-9)
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
