"""Figure 7 of the paper: every method on the four boundary models, from the same runs; 20 + 20 Gaussian RBFs."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trackless.basis import GaussianRBF
from trackless.estimators.labeled import LabeledMLE
from trackless.estimators.self_test import SelfTest
from trackless.estimators.sinkhorn import SinkhornMLE
from trackless.plots import slope
from trackless.reproduce.best import fit_door
from trackless.reproduce.pool import estimator
from trackless.reproduce.protocol import BOUNDARY, Context, Part, metric_of, model_of, seed_of
from trackless.reproduce.sections import Claim, Section, Table
from trackless.reproduce.trained import network
from trackless.scoring import gradient_errors
from trackless.simulation import simulate
from trackless.uncertainty import with_uncertainty

TITLE = "All methods (Figure 7)"
INTERVAL = 1e-2
METHODS = {
    "door": "tl.fit", "network": "network", "labeled": "labels, RBF", "sinkhorn": "Sinkhorn, RBF",
    "self_test": "self-test, RBF", "oracle": "self-test, true functions",
}  # fmt: skip
DRAWN = tuple(METHODS)[:5]  # colours are five, and what has the true functions lies upon the truth
COUNT = 20  # Gaussian functions of each potential


def parts(context: Context) -> list[Part]:
    return [
        Part(f"{name}: all methods", context.store.has(*_keys(name).values()), partial(fits_of, context, name), 50)
        for name in BOUNDARY
    ]


def fits_of(context: Context, name: str) -> dict[str, Any]:
    """Every method on one trial of the paper's protocol."""
    keys = _keys(name)

    def computed() -> dict[str, Any]:
        model = model_of(name)
        data = simulate(
            model, runs=context.protocol.runs, step=context.protocol.step, observe_every=INTERVAL, labeled=True,
            seed=seed_of("pool", name, 0),
        )  # fmt: skip
        oracle = {"external": model.external_basis, "interaction": model.interaction_basis}
        unfitted = {
            "labeled": LabeledMLE(GaussianRBF(COUNT), GaussianRBF(COUNT)),
            "sinkhorn": SinkhornMLE(GaussianRBF(COUNT), GaussianRBF(COUNT), sigma=1.0),
            "self_test": SelfTest(GaussianRBF(COUNT), GaussianRBF(COUNT), sigma=1.0, quadrature="left"),
            "oracle": estimator("self_test").set_params(**oracle),
            "network": network(0),
        }
        fits = {method: each.fit(data) for method, each in unfitted.items()} | {"door": fit_door(data)}
        return {keys[method]: fits[method] for method in METHODS}

    found = context.store.results(list(keys.values()), computed)
    return {method: found[key] for method, key in keys.items()}


def section(context: Context) -> Section:
    result = Figure(figsize=(13, 12.4), layout="constrained")
    axes = result.subplots(len(BOUNDARY), 2)
    rows, against = [], []
    for pair, name in zip(axes, BOUNDARY, strict=True):
        model, metric, fits = model_of(name), metric_of(context, name), fits_of(context, name)
        for axis, role in zip(pair, ("external", "interaction"), strict=True):
            curves = {METHODS[method]: _drawn(method, getattr(fits[method], f"{role}_")) for method in DRAWN}
            slope(axis, curves, metric.reached(role), role, getattr(model, role))
            axis.set_title(name.replace("_", " "))
        errors = {method: 100 * np.array(gradient_errors(fits[method], model, metric)) for method in METHODS}
        rows.append((name, *(f"{v:.1f} / {p:.1f}" for v, p in errors.values())))
        against.append((name, *(errors[method][1] for method in ("self_test", "network", "door"))))
    shown = {label: handle for handle, label in zip(*axes[0, 0].get_legend_handles_labels(), strict=True)}
    result.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False, fontsize=9)
    table = Table("all_methods", "Errors in %, V / Phi, one trial", ("model", *METHODS.values()), rows)
    claim = Claim(
        "With Gaussian RBFs least squares oscillates and is worse than estimates that choose no basis",
        all(rbf > other for _, rbf, *others in against for other in others),
        "Phi, self-test with RBFs against our network and `tl.fit`: "
        + "; ".join(f"{name} {rbf:.1f}, {trained:.1f} and {door:.1f} %" for name, rbf, trained, door in against),
    )
    text = (
        f"One set of runs of the paper's protocol for all of them, dt = {INTERVAL:g}; RBFs have {COUNT} centres for V "
        "and for Phi up to the 99th percentile of distances (the appendix's recipe), left rule, L-curve.",
    )
    return Section(TITLE, text, (table,), {"all_methods": result}, (claim,))


def _drawn(method: str, potential: Any) -> Any:
    """A potential with its band, or without: five bands would hide each other."""
    return potential if method == "door" else with_uncertainty(copy(potential), None)


def _keys(name: str) -> dict[str, str]:
    return {method: f"all-methods-{name}-{method}" for method in METHODS}
