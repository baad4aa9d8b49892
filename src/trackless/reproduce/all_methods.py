"""Figure 7 of the paper: every method on the four boundary models, with 20 + 20 Gaussian RBFs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trackless.basis import GaussianRBF
from trackless.estimators.labeled import LabeledMLE
from trackless.estimators.self_test import SelfTest
from trackless.estimators.sinkhorn import SinkhornMLE
from trackless.plots import slope
from trackless.reproduce.protocol import BOUNDARY, Context, Part, metric_of, model_of, seed_of
from trackless.reproduce.recovery import fits_of
from trackless.reproduce.recovery import parts as curve_parts
from trackless.reproduce.sections import Claim, Section, Table
from trackless.scoring import gradient_errors
from trackless.simulation import simulate

TITLE = "All methods with Gaussian RBFs (Figure 7)"
INTERVAL = 1e-2
METHODS = {"labeled": "labels, RBF", "sinkhorn": "Sinkhorn, RBF", "self_test": "self-test, RBF"}


def parts(context: Context) -> list[Part]:
    own = [
        Part(f"{name}: RBFs", context.store.has(*_keys(name).values()), partial(rbf_fits, context, name))
        for name in BOUNDARY
    ]
    return [*curve_parts(context), *own]


def rbf_fits(context: Context, name: str) -> dict[str, Any]:
    """The three least-squares methods on one trial of the paper's protocol, by name."""
    keys = _keys(name)

    def computed() -> dict[str, Any]:
        data = simulate(
            model_of(name), runs=context.protocol.runs, step=context.protocol.step, observe_every=INTERVAL,
            labeled=True, seed=seed_of("pool", name, 0),
        )  # fmt: skip
        settings = {
            "labeled": LabeledMLE(GaussianRBF(20), GaussianRBF(20)),
            "sinkhorn": SinkhornMLE(GaussianRBF(20), GaussianRBF(20), sigma=1.0),
            "self_test": SelfTest(GaussianRBF(20), GaussianRBF(20), sigma=1.0, quadrature="left"),
        }
        return {keys[method]: estimator.fit(data) for method, estimator in settings.items()}

    found = context.store.results(list(keys.values()), computed)
    return {METHODS[method]: found[key] for method, key in keys.items()}


def section(context: Context) -> Section:
    result = Figure(figsize=(13, 12), layout="constrained")
    axes = result.subplots(len(BOUNDARY), 2)
    rows = []
    for pair, name in zip(axes, BOUNDARY, strict=True):
        model, metric = model_of(name), metric_of(context, name)
        fits = rbf_fits(context, name) | {"tl.fit": fits_of(context, name)["tl.fit"]}
        for axis, role in zip(pair, ("external", "interaction"), strict=True):
            curves = {label: _plain(fit, role) for label, fit in fits.items()}
            curves["tl.fit"] = getattr(fits["tl.fit"], f"{role}_")
            slope(axis, curves, metric.reached(role), role, getattr(model, role))
            axis.set_title(name.replace("_", " "))
        errors = [100 * np.array(gradient_errors(fit, model, metric)) for fit in fits.values()]
        rows.append((name, *(f"{v:.1f} / {p:.1f}" for v, p in errors)))
    axes[0, 0].legend(frameon=False, fontsize=8)
    table = Table("all_methods", "Errors in %, V / Phi, one trial", ("model", *METHODS.values(), "tl.fit"), rows)
    worse = [row for row in rows if float(row[3].split("/")[1]) > float(row[4].split("/")[1])]
    claim = Claim(
        "With Gaussian RBFs least squares oscillates and is worse than estimates that choose no basis",
        len(worse) == len(rows),
        "Phi, self-test with RBFs against `tl.fit`: "
        + "; ".join(f"{row[0]} {row[3].split('/')[1].strip()} and {row[4].split('/')[1].strip()} %" for row in rows),
    )
    text = (
        f"dt = {INTERVAL:g}, 20 centres for V and for Phi up to the 99th percentile of distances (the appendix's "
        "recipe), L-curve. `tl.fit` has the same number of runs, and a prior instead of a ridge.",
    )
    return Section(TITLE, text, (table,), {"all_methods": result}, (claim,))


def _plain(fit: Any, role: str) -> Any:
    """A learnt potential without its band: four would hide each other."""
    k = fit.external_basis_.size
    part = slice(0, k) if role == "external" else slice(k, None)
    return getattr(fit, f"{role}_basis_").combine(fit.coef_[part])


def _keys(name: str) -> dict[str, str]:
    return {method: f"rbf-{name}-{method}" for method in METHODS}
