"""Ours at its best: the same number of runs, simulated accurately, and estimators that need no truth.

With the oracle functions: no ridge, the cubic rule, times that are resolved, and bias removed by simulation where the
snapshots are coarse (but for models whose forces need so small steps that this takes ten minutes a set). Without:
``tl.fit`` as it is, told only that potentials are radial (the paper's networks are told
so too) and sigma (which the paper knows).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.estimators.self_test import SelfTest
from trackless.fitting import fit
from trackless.models import Model
from trackless.moments import Moments
from trackless.reproduce.pool import GROUP
from trackless.reproduce.protocol import Context, Part, closed_on_metric, metric_of, model_of, seed_of
from trackless.scoring import gradient_errors
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
COARSE = 0.05  # intervals from which on bias is removed by simulation
TOO_STIFF = ("smoothness", "singularity")  # models for which that takes ten minutes a set
DRAWN = 1e-2  # interval whose first trial is drawn
SECONDS = {"reference": 60, "smoothness": 75, "conditioning": 42, "singularity": 82, "smooth_control": 35}
"""of a fit with and one without the true functions, about"""
STEP = 1e-3  # of accurate simulations, which take smaller ones where forces ask for it


class Best(NamedTuple):
    """Errors in % (trials, 2: V and Phi) and how much of the explored measure the 95 % bands cover."""

    oracle: Array
    door: Array
    """of tl.fit"""
    covered: Array


def best_parts(context: Context, *names: str) -> list[Part]:
    """Fits of one trial at one interval."""
    return [
        Part(
            f"{name}, dt = {dt:g}, trial {trial + 1}: ours at its best",
            context.store.has(_key(name, dt, trial)),
            partial(_trial, context, name, dt, trial),
            SECONDS[name],
        )
        for name in names
        for dt in context.protocol.intervals_of(name)
        for trial in range(context.protocol.best_trials)
    ]


def steps_parts(context: Context, *names: str) -> list[Part]:
    """The same estimators on one set of the paper's runs at each interval; nothing in a quick look."""
    return [
        Part(
            f"{name}, dt = {dt:g}: ours at its best on steps of {context.protocol.step:g}",
            context.store.has(_steps_key(name, dt)),
            partial(steps_errors, context, name, dt),
            SECONDS[name],
        )
        for name in names
        for dt in context.protocol.intervals_of(name)
        if not context.quick
    ]


def steps_errors(context: Context, name: str, dt: float) -> dict[str, Array]:
    """Errors in % (2: V and Phi) of both estimators on the first set of the pool, simulated as in the paper."""

    def computed() -> dict[str, Array]:
        model, metric, protocol = model_of(name), metric_of(context, name), context.protocol
        seed = seed_of("pool", name, 0)
        data = simulate(model, runs=protocol.runs, step=protocol.step, observe_every=dt, seed=seed)
        errors = {"oracle": 100 * np.array(gradient_errors(fit_oracle(model, data, dt), model, metric))}
        door = np.full(2, np.nan)
        if dt > protocol.step:
            door = 100 * np.array(gradient_errors(fit_door(data), model, metric))
        return errors | {"door": door}

    return context.store.arrays(_steps_key(name, dt), computed)


def best_moment_parts(context: Context) -> list[Part]:
    """Of the reference model, with its moments, which are larger than its errors and may be gone."""
    moments = (
        (_moments_key(dt, trial), partial(best_moments, context, dt, trial))
        for dt in context.protocol.intervals_of("reference")
        for trial in range(context.protocol.best_trials)
    )
    return [
        Part(part.name, context.store.has(key), work)
        for part, (key, work) in zip(best_parts(context, "reference"), moments, strict=True)
    ]


def best_errors(context: Context, name: str, dt: float) -> Best:
    """Of all trials."""
    found = [_trial(context, name, dt, trial) for trial in range(context.protocol.best_trials)]
    return Best(*(np.array([trial[key] for trial in found]) for key in Best._fields))


def best_moments(context: Context, dt: float, trial: int) -> Moments:
    """Moments of one trial of the reference model on the oracle functions, in groups of runs, where it is resolved."""
    key = _moments_key(dt, trial)
    if not context.store.has(key):
        _fitted(context, "reference", dt, trial)
    return context.store.results([key], dict)[key]


def on_moments() -> SelfTest:
    """The estimator with the true functions, for such moments."""
    return SelfTest(sigma=1.0, quadrature="auto", regularization=0.0)


def accurate_trial(context: Context, name: str, dt: float, trial: int) -> Snapshots:
    """One trial's runs, simulated accurately."""
    runs, seed = context.protocol.runs, seed_of("best", name, trial)
    step = min(STEP, dt)
    return simulate(model_of(name), runs=runs, step=step, observe_every=dt, accurate=True, seed=seed)


def fit_oracle(model: Model, data: Snapshots, dt: float) -> SelfTest:
    """The estimate with the true functions; ``resolution_`` says which times it uses."""
    settings = SelfTest(
        model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto", regularization=0.0, resolve="auto"
    )
    if dt < COARSE or model.name in TOO_STIFF:
        return settings.fit(data)
    try:
        return settings.set_params(debias=True).fit(data)
    except InputError:  # a fit that cannot be simulated
        return settings.set_params(debias=False).fit(data)


def fit_door(data: Snapshots) -> SelfTest:
    """The estimate without them."""
    return fit(data, sigma=1.0, external="radial", interaction="radial")


def drawn_keys(name: str) -> tuple[str, str]:
    """Under which both fits are kept: with the true functions, and without."""
    return f"curves-{name}-oracle", f"curves-{name}-door"


def drawn_fits(context: Context, name: str) -> tuple[SelfTest, SelfTest]:
    """Both fits of the first trial at the interval that is drawn."""
    oracle, door = keys = drawn_keys(name)

    def computed() -> dict[str, SelfTest]:
        data = accurate_trial(context, name, DRAWN, 0)
        return {oracle: fit_oracle(model_of(name), data, DRAWN), door: fit_door(data)}

    found = context.store.results(list(keys), computed)
    return found[oracle], found[door]


def _steps_key(name: str, dt: float) -> str:
    return f"best-on-steps-{name}-{dt:g}"


def _key(name: str, dt: float, trial: int) -> str:
    return f"best-{name}-{dt:g}-{trial:02d}"


def _moments_key(dt: float, trial: int) -> str:
    return f"best-moments-{dt:g}-{trial:02d}"


def _trial(context: Context, name: str, dt: float, trial: int) -> dict[str, Array]:
    return context.store.arrays(_key(name, dt, trial), partial(_fitted, context, name, dt, trial))


def _fitted(context: Context, name: str, dt: float, trial: int) -> dict[str, Array]:
    model, metric = model_of(name), metric_of(context, name)
    data = accurate_trial(context, name, dt, trial)
    oracle = fit_oracle(model, data, dt)
    if name == "reference":
        _keep_moments(context, data.between(oracle.resolution_.start, np.inf), dt, trial)  # type: ignore[union-attr]
    errors = {"oracle": 100 * np.array(gradient_errors(oracle, model, metric))}
    nothing = np.full(2, np.nan)
    if dt <= context.protocol.step:  # as for the paper's networks
        return errors | {"door": nothing, "covered": nothing}
    door = fit_door(data)
    if (dt, trial) == (DRAWN, 0):
        context.store.results(list(drawn_keys(name)), lambda: dict(zip(drawn_keys(name), (oracle, door), strict=True)))
    covered = []
    for role, potential, truth in (
        ("external", door.external_, model.external),
        ("interaction", door.interaction_, model.interaction),
    ):
        r = metric.reached(role)[::50]
        lower, upper = potential.band(r)  # type: ignore[union-attr]
        slope = truth.slope(r)  # type: ignore[union-attr]
        covered.append(np.mean((lower <= slope) & (slope <= upper)))
    return errors | {"door": 100 * np.array(gradient_errors(door, model, metric)), "covered": np.array(covered)}


def _keep_moments(context: Context, resolved: Snapshots, dt: float, trial: int) -> None:
    key, bases = _moments_key(dt, trial), closed_on_metric(context, "reference")
    blocks = max(1, resolved.runs // GROUP)
    context.store.results([key], lambda: {key: accumulate(resolved, *bases, windows=1, blocks=blocks)})
