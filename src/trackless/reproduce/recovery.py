"""Figure 6 of the paper: Phi' of the four boundary models, learnt at dt = 0.01."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from trackless.estimators.self_test import SelfTest
from trackless.plots import slope
from trackless.reproduce.best import DRAWN, drawn_fits, drawn_keys
from trackless.reproduce.protocol import BOUNDARY, Context, Part, metric_of, model_of
from trackless.reproduce.sections import Section

TITLE = "Recovered interactions of the boundary models (Figure 6)"


def parts(context: Context) -> list[Part]:
    return [
        Part(f"{name}: curves", context.store.has(*drawn_keys(name)), partial(fits_of, context, name))
        for name in BOUNDARY
    ]


def fits_of(context: Context, name: str) -> dict[str, SelfTest]:
    """The first trial at its best, with and without the true functions."""
    oracle, door = drawn_fits(context, name)
    return {"true functions": oracle, "tl.fit": door}


def section(context: Context) -> Section:
    result = Figure(figsize=(10, 7), layout="constrained")
    axes = result.subplots(2, 2).ravel()
    for axis, name in zip(axes, BOUNDARY, strict=True):
        curves = {label: fit.interaction_ for label, fit in fits_of(context, name).items()}
        distances = metric_of(context, name).distances
        slope(axis, curves, distances, "interaction", model_of(name).interaction)  # type: ignore[arg-type]
        axis.set_title(name.replace("_", " "))
    named = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    result.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named), frameon=False, fontsize=9)
    text = (
        f"One trial of each model at dt = {DRAWN:g}, on runs simulated accurately: the estimate with the true "
        "functions, and that of `tl.fit`, which knows none, with their 95 % bands. The shaded hill is the density of "
        "pair distances. Estimates under the paper's protocol are in the next figure.",
    )
    return Section(TITLE, text, (), {"recovery": result})
