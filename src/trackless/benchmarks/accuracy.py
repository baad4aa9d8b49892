"""Accuracy on known truths: gradient errors over seeds, rates in M and in dt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _progress, models
from trackless.accumulation import accumulate
from trackless.basis import RadialFunctions
from trackless.estimators.self_test import SelfTest
from trackless.exploration import explore
from trackless.models import Model
from trackless.scoring import gradient_errors
from trackless.shapes import Gaussian, Power
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]


class Protocol(NamedTuple):
    """How the snapshots of one simulation are used."""

    name: str
    dt: float
    quadrature: str
    first: bool
    """whether the first snapshot is kept"""


PROTOCOLS = (
    Protocol("dt=1e-3, trapezoid", 1e-3, "trapezoid", True),
    Protocol("dt=1e-2, trapezoid", 1e-2, "trapezoid", True),
    Protocol("dt=1e-2, left rule", 1e-2, "left", True),
    Protocol("dt=0.1, trapezoid, without t=0", 1e-1, "trapezoid", False),
    Protocol("dt=0.1, left rule, with t=0", 1e-1, "left", True),
)


class Accuracy(NamedTuple):
    """Gradient errors over seeds (seeds, 2: V and Phi), and condition numbers of A and its blocks (seeds, 3)."""

    errors: Array
    conditions: Array


def reference_accuracy(
    seeds: int = 5, runs: int = 2000, protocols: Sequence[Protocol] = PROTOCOLS
) -> dict[str, Accuracy]:
    """Errors of the oracle fit of the reference model under each protocol, on the same paths."""
    model = models.reference()
    finest = min(p.dt for p in protocols)
    errors = {p.name: np.zeros((seeds, 2)) for p in protocols}
    conditions = {p.name: np.zeros((seeds, 3)) for p in protocols}
    for seed in _progress.track(range(seeds), "accuracy", seeds):
        paths = simulate(model, runs=runs, step=1e-4, observe_every=finest, seed=1000 + seed)
        explored = explore(paths)
        for p in protocols:
            seen = paths.every(round(p.dt / finest))
            if not p.first:
                seen = seen.between(p.dt, 1.0)
            fit = SelfTest(model.external_basis, model.interaction_basis, model.sigma, p.quadrature).fit(seen)
            errors[p.name][seed] = gradient_errors(fit, model, explored)
            conditions[p.name][seed] = [fit.condition_numbers_[k] for k in ("all", "external", "interaction")]
    return {p.name: Accuracy(errors[p.name], conditions[p.name]) for p in protocols}


class Rate(NamedTuple):
    """Mean errors (sizes, 2: V and Phi) and the slopes of log error against log size."""

    sizes: Array
    errors: Array
    slopes: Array


def rate_in_runs(sizes: Sequence[int], trials: int, accurate: bool, seed: int = 0) -> Rate:
    """Errors of the oracle fit of the reference model against the number of runs (trapezoid, dt = 1e-2)."""
    model = models.reference()
    total = 4 * max(sizes)
    paths = simulate(model, runs=total, step=1e-3 if accurate else 1e-4, accurate=accurate, seed=seed)
    explored = explore(paths)
    errors = np.zeros((len(sizes), 2))
    for i, size in enumerate(sizes):
        groups = [paths[a : a + size] for a in range(0, total - size + 1, size)][:trials]
        fits = [SelfTest(model.external_basis, model.interaction_basis, model.sigma).fit(g) for g in groups]
        errors[i] = np.mean([gradient_errors(f, model, explored) for f in fits], axis=0)
    return Rate(np.asarray(sizes, float), errors, _slopes(sizes, errors))


def smooth_model() -> Model:
    """A harmonic trap and a soft repulsion: no tip, no steep part, moderate drift."""
    trap = RadialFunctions([Power(2)], names=["|x|^2"])
    return Model("smooth", trap, RadialFunctions([Gaussian(0.0, 0.8)], names=["bump"]), (1.0, 2.0))


def rate_in_dt(quadrature: str, runs: int = 20_000, seed: int = 0) -> Rate:
    """Bias of the coefficients against dt: the change from the finest grid, on the same paths.

    The relaxation takes longer than the longest interval, so the start is resolved, and on common paths most of
    the noise cancels.
    """
    model = smooth_model()
    finest, strides = 1 / 64, (4, 8, 16)
    paths = simulate(
        model, runs=runs, step=finest / 2, observe_every=finest, duration=1.0, initial=0.25, accurate=True, seed=seed
    )
    reference = _coef(model, paths, "cubic")
    biases = np.array([np.abs(_coef(model, paths.every(s), quadrature) - reference) for s in strides])
    sizes = np.array(strides) * finest
    return Rate(sizes, biases, _slopes(sizes, biases))


def _coef(model: Model, paths: Snapshots, quadrature: str) -> Array:
    moments = accumulate(paths, model.external_basis, model.interaction_basis)
    return SelfTest(sigma=model.sigma, quadrature=quadrature, regularization=0.0).fit(moments).coef_


def _slopes(sizes: Sequence[float] | Array, errors: Array) -> Array:
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]
