"""The runs behind Table 6 and Figure 3: three protocols, and how the paper seems to have carried them out."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.accumulation import accumulate
from trackless.estimators.self_test import SelfTest
from trackless.exploration import Exploration, explore
from trackless.moments import Moments
from trackless.reproduce.pool import GROUP, pool_moments
from trackless.reproduce.protocol import Context, Part, chunks, closed_on_metric, metric_of, model_of, seed_of
from trackless.scoring import gradient_errors
from trackless.simulation import simulate

Array = NDArray[np.float64]
LEAST_DURATION, STEPS = 0.1, 100  # see Panel.duration
COARSE = 5e-3  # intervals beyond which expansions in them are visibly off, and so is the first snapshot
METRIC_RUNS = 1000


class Panel(NamedTuple):
    """A part of the table."""

    key: str
    title: str
    quadrature: str
    zero_gap: bool
    """whether the interval is the simulation's step"""
    as_it_seems: bool = False
    """as the paper's numbers look, not as its text says: without the first snapshot; single steps with other
    durations, scored where they themselves were"""

    def duration(self, dt: float) -> float:
        """T of the runs."""
        return max(LEAST_DURATION, STEPS * dt) if self.as_it_seems and self.zero_gap else 1.0

    def intervals(self, context: Context) -> list[float]:
        """What is looked at: all, but the left rule not where it is the trapezoid, as in the paper."""
        if self.as_it_seems and not self.zero_gap:
            return coarse(context)
        return [dt for dt in context.protocol.intervals if self.key != "left" or dt > context.protocol.step]

    def metric(self, context: Context, dt: float) -> Exploration:
        """Where errors are looked at."""
        if not (self.as_it_seems and self.zero_gap):
            return metric_of(context, "reference")
        runs, seed = min(context.protocol.runs, METRIC_RUNS), seed_of("metric", "reference", 0)
        duration = self.duration(dt)
        own = simulate(model_of("reference"), runs=runs, step=dt, observe_every=dt, duration=duration, seed=seed)
        return explore(own)


PANELS = (
    Panel("left", "(a) left rule", "left", False),
    Panel("trapezoid", "(b) trapezoid", "trapezoid", False),
    Panel("zero_gap", "(c) every snapshot is one step", "left", True),
)
AS_THEY_SEEM = tuple(panel._replace(as_it_seems=True) for panel in PANELS)


def coarse(context: Context) -> list[float]:
    """Intervals at which expansions are visibly off."""
    return [dt for dt in context.protocol.intervals if dt > COARSE]


def trials_of(context: Context, panel: Panel, dt: float) -> list[Moments]:
    """Moments of every trial, in groups of ten runs."""
    return [_trial(context, panel, dt, trial) for trial in range(context.protocol.trials)]


def zero_gap_parts(context: Context) -> list[Part]:
    """Moments of single steps."""
    parts = [
        Part(
            f"single steps of {dt:g} to T = {panel.duration(dt):g}, trial {trial + 1}",
            context.store.has(_step_key(panel, dt, trial)),
            partial(_single_steps, context, panel, dt, trial),
        )
        for panel in (PANELS[2], AS_THEY_SEEM[2])
        for dt in panel.intervals(context)
        if not _is_pool(context, panel, dt)
        for trial in range(context.protocol.trials)
    ]
    return list({part.name: part for part in parts}.values())  # some durations are the same


def late_parts(context: Context) -> list[Part]:
    """Moments without the first snapshot; nothing in a quick look."""
    return [
        Part(
            f"reference, trial {trial + 1}: without the first snapshot",
            context.store.has(*(_late_key(dt, trial) for dt in coarse(context))),
            partial(_without_first, context, trial),
        )
        for trial in range(context.protocol.trials)
        if not context.quick
    ]


def exact_parts(context: Context) -> list[Part]:
    """Our estimator of single steps, which has no bias."""
    return [
        Part(
            f"single steps of {dt:g}, exactly",
            context.store.has(f"exact-{dt:g}"),
            partial(exact_errors, context, dt),
            90,
        )
        for dt in coarse(context)
    ]


def exact_errors(context: Context, dt: float) -> dict[str, Array]:
    """Errors in % (trials, 2) of dynamics="discrete", by the number of runs."""
    return context.store.arrays(f"exact-{dt:g}", partial(_exact, context, dt))


def _trial(context: Context, panel: Panel, dt: float, trial: int) -> Moments:
    if _is_pool(context, panel, dt):
        return pool_moments(context, "reference", trial)["self_test", dt]
    if panel.zero_gap:
        return _single_steps(context, panel, dt, trial)[_step_key(panel, dt, trial)]
    return _without_first(context, trial)[_late_key(dt, trial)]


def _is_pool(context: Context, panel: Panel, dt: float) -> bool:
    """Whether the runs are those that all tables share."""
    if panel.zero_gap:
        return dt <= context.protocol.step and panel.duration(dt) == 1.0
    return not panel.as_it_seems


def _step_key(panel: Panel, dt: float, trial: int) -> str:
    return f"steps-{dt:g}-{panel.duration(dt):g}-{trial:02d}"


def _late_key(dt: float, trial: int) -> str:
    return f"without-first-{dt:g}-{trial:02d}"


def _single_steps(context: Context, panel: Panel, dt: float, trial: int) -> dict[str, Moments]:
    key = _step_key(panel, dt, trial)

    def computed() -> dict[str, Moments]:
        bases, seed = closed_on_metric(context, "reference"), seed_of("zero_gap", "reference", trial)
        runs, duration = context.protocol.runs, panel.duration(dt)
        pieces = chunks(model_of("reference"), runs, dt, seed + round(1e6 * dt), step=dt, duration=duration)
        first, *rest = (accumulate(p, *bases, windows=1, blocks=max(1, p.runs // GROUP)) for p in pieces)
        return {key: sum(rest, first)}

    return context.store.results([key], computed)


def _without_first(context: Context, trial: int) -> dict[str, Moments]:
    intervals = coarse(context)
    keys = {dt: _late_key(dt, trial) for dt in intervals}

    def computed() -> dict[str, Moments]:
        bases, finest = closed_on_metric(context, "reference"), min(intervals)
        runs, seed = context.protocol.runs, seed_of("pool", "reference", trial)
        sums: dict[str, Moments] = {}
        for piece in chunks(model_of("reference"), runs, finest, seed, step=context.protocol.step):
            for dt, key in keys.items():
                seen = piece.every(round(dt / finest)).between(dt / 2, np.inf)
                moments = accumulate(seen, *bases, windows=1, blocks=max(1, piece.runs // GROUP))
                sums[key] = sums[key] + moments if key in sums else moments
        return sums

    return context.store.results(list(keys.values()), computed)


def _exact(context: Context, dt: float) -> dict[str, Array]:
    model, metric = model_of("reference"), metric_of(context, "reference")
    settings = SelfTest(
        model.external_basis, model.interaction_basis, sigma=1.0, regularization=0.0, dynamics="discrete"
    )
    errors = {}
    for size in (s for s in context.protocol.sizes if s >= 100):
        rows = []
        for trial in range(context.protocol.best_trials):
            seed = seed_of("zero_gap", "reference", trial) + round(1e6 * dt) + size
            data = simulate(model, runs=size, step=dt, observe_every=dt, seed=seed)
            rows.append(gradient_errors(settings.fit(data), model, metric))
        errors[str(size)] = 100 * np.array(rows)
    return errors
