"""Networks under the paper's protocol (left rule), but for how they are trained: ours never see the truth.

They stop on held-out runs, a fifth of all, where the paper's look at the truth; and they are trained by Gauss-Newton
steps on the moments of a dictionary, where the paper's descend on snapshots.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from trackless.estimators.neural import NeuralSelfTest
from trackless.reproduce.protocol import Context, Part, metric_of, model_of, seed_of
from trackless.scoring import gradient_errors
from trackless.simulation import simulate

Array = NDArray[np.float64]


def network(trial: int) -> NeuralSelfTest:
    """One network for each potential, as in the paper; its time integrals, too."""
    return NeuralSelfTest(sigma=1.0, networks=1, quadrature="left", seed=trial)


def network_parts(context: Context, *names: str) -> list[Part]:
    """Networks of one trial, at all intervals."""
    return [
        Part(
            f"{name}, trial {trial + 1}: networks",
            context.store.has(_key(name, trial)),
            partial(_trial, context, name, trial),
            18,
        )
        for name in names
        for trial in range(context.protocol.network_trials)
    ]


def network_errors(context: Context, name: str) -> dict[float, Array]:
    """Gradient errors in % of every trial, (trials, 2), by interval."""
    trials = [_trial(context, name, trial) for trial in range(context.protocol.network_trials)]
    return {dt: np.array([found[f"{dt:g}"] for found in trials]) for dt in _intervals(context, name)}


def _key(name: str, trial: int) -> str:
    return f"networks-{name}-{trial:02d}"


def _intervals(context: Context, name: str) -> list[float]:
    """The paper trains none at the finest interval."""
    return [dt for dt in context.protocol.intervals_of(name) if dt > context.protocol.step]


def _trial(context: Context, name: str, trial: int) -> dict[str, Array]:
    return context.store.arrays(_key(name, trial), partial(_trained, context, name, trial))


def _trained(context: Context, name: str, trial: int) -> dict[str, Array]:
    protocol, model, metric = context.protocol, model_of(name), metric_of(context, name)
    intervals = _intervals(context, name)
    seed = seed_of("pool", name, trial)
    paths = simulate(model, runs=protocol.runs, step=protocol.step, observe_every=min(intervals), seed=seed)
    errors = {}
    for dt in intervals:
        seen = paths.every(round(dt / min(intervals)))
        fitted = network(trial).fit(seen)
        errors[f"{dt:g}"] = 100 * np.array(gradient_errors(fitted, model, metric))
    return errors
