"""The pool of runs that the paper's least-squares tables share, reduced to moments while it is simulated.

20 000 runs of every model, in steps of 1e-4, are never held together: each piece is seen at all intervals (the same
paths, by striding), reduced for the three estimators, and forgotten. Moments are kept for groups of ten runs, so that
sets of any size can be put together later.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from trackless.accumulation import accumulate
from trackless.estimators.labeled import LabeledMLE
from trackless.estimators.least_squares import LeastSquares
from trackless.estimators.self_test import SelfTest
from trackless.estimators.sinkhorn import SinkhornMLE
from trackless.matching import Matching, Tally
from trackless.moments import Moments
from trackless.reproduce.protocol import Context, Part, chunks, closed_on_metric, metric_of, model_of, seed_of
from trackless.scoring import gradient_errors

METHODS = ("labeled", "self_test", "sinkhorn")
GROUP = 10  # runs whose moments are kept together


def pool_parts(context: Context, *names: str, start: float = 0.0) -> list[Part]:
    """What has to be computed before moments can be asked for; snapshots before ``start`` are not seen."""
    return [
        Part(
            f"{name}, trial {trial + 1}: moments" + (f" from t = {start:g} on" if start else ""),
            context.store.has(*_keys(context, name, trial, start).values()),
            partial(pool_moments, context, name, trial, start),
            75 if name == "reference" else 14,
        )
        for name in names
        for trial in range(context.protocol.trials)
    ]


def pool_moments(
    context: Context, name: str, trial: int, start: float = 0.0
) -> dict[tuple[str, float], Moments]:  # fmt: skip
    """Moments of one trial on the oracle functions, by method and interval."""
    keys = _keys(context, name, trial, start)
    found = context.store.results(list(keys.values()), partial(_simulated, context, name, trial, start))
    return {cell: found[key] for cell, key in keys.items()}


def estimator(method: str, quadrature: str = "left") -> LeastSquares:
    """As in the paper: L-curve; the left rule unless said otherwise; sigma known."""
    if method == "labeled":
        return LabeledMLE()
    return SinkhornMLE(sigma=1.0) if method == "sinkhorn" else SelfTest(sigma=1.0, quadrature=quadrature)


def score_parts(context: Context, *names: str, start: float = 0.0) -> list[Part]:
    """The same where only scores are asked for, which are small and stay with the results."""
    return [
        Part(
            part.name, part.done or context.store.has(_score_key(name, trial, start)),
            partial(pool_scores, context, name, trial, start),
            part.seconds,
        )
        for name in names
        for trial, part in enumerate(pool_parts(context, name, start=start))
    ]  # fmt: skip


def pool_scores(context: Context, name: str, trial: int, start: float = 0.0) -> dict[str, NDArray[np.float64]]:
    """Of one trial: gradient errors in % (2: V and Phi) and, for Sinkhorn, right and all matched particles (2,)."""

    def computed() -> dict[str, NDArray[np.float64]]:
        model, metric, scores = model_of(name), metric_of(context, name), {}
        for (method, dt), moments in pool_moments(context, name, trial, start).items():
            fitted = estimator(method).fit(moments)
            scores[f"{method} {dt:g}"] = 100 * np.array(gradient_errors(fitted, model, metric))
            if method == "sinkhorn":
                tally = Tally(*moments.tally.sum(axis=(0, 1)))
                scores[f"matched {dt:g}"] = np.array([tally.right, tally.particles])
        return scores

    return context.store.arrays(_score_key(name, trial, start), computed)


def pool_errors(context: Context, name: str, start: float = 0.0) -> dict[tuple[str, float], NDArray[np.float64]]:
    """Gradient errors in % of every trial, (trials, 2: V and Phi), by method and interval."""
    trials = [pool_scores(context, name, trial, start) for trial in range(context.protocol.trials)]
    intervals = context.protocol.intervals_of(name)
    return {(m, dt): np.array([scores[f"{m} {dt:g}"] for scores in trials]) for m in METHODS for dt in intervals}


def matched_right(context: Context, name: str) -> dict[float, float]:
    """Part of all particles that Sinkhorn matches to themselves, by interval."""
    trials = [pool_scores(context, name, trial) for trial in range(context.protocol.trials)]
    intervals = context.protocol.intervals_of(name)
    sums = {dt: np.sum([scores[f"matched {dt:g}"] for scores in trials], axis=0) for dt in intervals}
    return {dt: float(right / particles) for dt, (right, particles) in sums.items()}


def _score_key(name: str, trial: int, start: float) -> str:
    return f"scores-{name}-{trial:02d}{_later(start)}"


def _later(start: float) -> str:
    return f"-from-{start:g}" if start else ""


def _keys(context: Context, name: str, trial: int, start: float) -> dict[tuple[str, float], str]:
    cells = [(method, dt) for method in METHODS for dt in context.protocol.intervals_of(name)]
    later = _later(start)
    return {(method, dt): f"pool-{name}-{trial:02d}-{method}-{dt:g}{later}" for method, dt in cells}


def _simulated(context: Context, name: str, trial: int, start: float) -> dict[str, Moments]:
    protocol, model = context.protocol, model_of(name)
    bases = closed_on_metric(context, name)
    matchings = {"labeled": Matching("labels"), "self_test": None, "sinkhorn": Matching("sinkhorn", sigma=1.0)}
    sums: dict[str, Moments] = {}
    finest = min(protocol.intervals_of(name))
    for piece in chunks(model, protocol.runs, finest, seed_of("pool", name, trial), step=protocol.step):
        seen = piece.between(start, np.inf)
        for (method, dt), key in _keys(context, name, trial, start).items():
            moments = accumulate(
                seen.every(round(dt / finest)), *bases, windows=1, blocks=max(1, piece.runs // GROUP),
                matching=matchings[method],
            )  # fmt: skip
            sums[key] = sums[key] + moments if key in sums else moments
    return sums
