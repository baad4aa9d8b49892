"""Figure 5 of the paper: potentials that are not radial."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trackless.estimators.neural import NeuralSelfTest
from trackless.exploration import explore
from trackless.fitting import fit
from trackless.plots import contour_row
from trackless.reproduce.protocol import Context, Part, model_of, seed_of
from trackless.reproduce.published import published
from trackless.reproduce.sections import Claim, Section, Table, pm
from trackless.scoring import gradient_errors
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

TITLE = "Potentials that are not radial (Figure 5)"
STEP = 1e-3  # of the simulation and between snapshots, as in the paper
TRIALS, NETWORKS = 3, 5
METHODS = {"network": "network", "splines": "`tl.fit`"}


def parts(context: Context) -> list[Part]:
    return [
        Part(
            f"anisotropic, trial {trial + 1}",
            context.store.has(*_keys(trial).values()),
            partial(fits_of, context, trial),
            200,
        )
        for trial in range(_trials(context))
    ]


def fits_of(context: Context, trial: int) -> dict[str, Any]:
    """A network and splines, told only that potentials are not radial."""
    keys = _keys(trial)

    def computed() -> dict[str, Any]:
        data = _data(context, "non_radial", trial)
        network = NeuralSelfTest(sigma=1.0, radial=False, seed=trial, networks=_networks(context)).fit(data)
        return {keys["network"]: network, keys["splines"]: fit(data, sigma=1.0, external="free", interaction="free")}

    found = context.store.results(list(keys.values()), computed)
    return {method: found[key] for method, key in keys.items()}


def section(context: Context) -> Section:
    model = model_of("anisotropic")
    metric = explore(_data(context, "metric", 0))
    trials = [fits_of(context, trial) for trial in range(_trials(context))]
    errors = {
        method: 100 * np.array([gradient_errors(found[method], model, metric) for found in trials])
        for method in METHODS
    }
    paper = [published("non_radial", role, model="anisotropic") for role in ("external", "interaction")]
    rows = [("paper's network", *(f"{p.mean:g}" for p in paper if p is not None))]
    rows += [(name, *(pm(errors[method][:, k], 1) for k in range(2))) for method, name in METHODS.items()]
    table = Table(
        "non_radial", f"Errors in %, dt = {_interval(context):g}, {len(trials)} trials", ("method", "V", "Phi"), rows
    )
    result = Figure(figsize=(12, 6.2), layout="constrained")
    axes = result.subplots(2, 3)
    for axis_row, role, letter, sample in (
        (axes[0], "external", "$V$", metric.positions),
        (axes[1], "interaction", r"$\Phi$", metric.displacements),
    ):
        curves = {f"{letter}, true": getattr(model, role)}
        curves |= {f"{letter}, {name.strip('`')}": getattr(trials[0][m], f"{role}_") for m, name in METHODS.items()}
        contour_row(axis_row, curves, sample)
    best = np.min([values.mean(axis=0) for values in errors.values()], axis=0)
    claim = Claim(
        "Potentials that are not radial can be learnt from unlabeled snapshots",
        bool(best[0] < 10 and best[1] < 30),
        f"networks {' / '.join(f'{e:.1f}' for e in errors['network'].mean(axis=0))}, splines without any tuning "
        f"{' / '.join(f'{e:.1f}' for e in errors['splines'].mean(axis=0))} %, the paper's network "
        + " / ".join(f"{p.mean:g}" for p in paper if p is not None),
    )
    text = (
        f"V = x^2 + 4 y^2, an anisotropic Gaussian Phi; simulated in steps of {STEP:g}, seen every "
        f"{_interval(context):g}. Our networks stop on held-out runs, and the estimate is the mean of "
        f"{_networks(context)} (the paper trains one); `tl.fit` is "
        " told sigma and that potentials are not radial, nothing else.",
    )
    return Section(TITLE, text, (table,), {"non_radial": result}, (claim,))


def _trials(context: Context) -> int:
    return min(TRIALS, context.protocol.network_trials)


def _keys(trial: int) -> dict[str, str]:
    return {method: f"anisotropic-{trial:02d}-{method}" for method in METHODS}


def _interval(context: Context) -> float:
    return 1e-2 if context.quick else STEP


def _networks(context: Context) -> int:
    return 1 if context.quick else NETWORKS


def _data(context: Context, purpose: str, trial: int) -> Snapshots:
    seed, interval = seed_of(purpose, "anisotropic", trial), _interval(context)
    return simulate(model_of("anisotropic"), runs=context.protocol.runs, step=STEP, observe_every=interval, seed=seed)
