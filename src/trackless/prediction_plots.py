"""Pictures of a prediction: what was observed over what a fit predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trackless.plots import COLORS, TRUTH

FARTHEST_OFF = 4.0  # half ranges, at which what is farther off is drawn


def predicted(axis: Axes, curve: Any, within: float = 0.95) -> Axes:
    """A density as observed over the range that a fit predicts (a :class:`trackless.prediction.Curve`).

    ``within`` says how often a right model is in that range.
    """
    middle = 0.5 * (curve.edges[1:] + curve.edges[:-1])
    label = f"predicted, {100 * within:.0f} %"
    axis.fill_between(middle, curve.lower, curve.upper, color=COLORS[0], alpha=0.25, lw=0, label=label)
    axis.plot(middle, curve.predicted, color=COLORS[0], lw=1.5, label="predicted, mean")
    axis.plot(middle, curve.observed, color=TRUTH, ls="", marker=".", ms=5, label="observed")
    axis.set(xlabel=curve.xlabel, ylabel=curve.ylabel, xlim=(0.0, curve.edges[-1]), ylim=(0.0, None))
    return axis


def off_by_range(axis: Axes, numbers: Sequence[Any], within: float = 0.95) -> Axes:
    """Numbers as observed (:class:`trackless.prediction.Compared`), in units of the ranges that a fit predicts."""
    places = np.arange(len(numbers))[::-1]
    off = np.clip([one.off for one in numbers], -FARTHEST_OFF, FARTHEST_OFF)
    label = f"predicted, {100 * within:.0f} %"
    axis.barh(places, 2.0, left=-1.0, height=0.6, color=COLORS[0], alpha=0.25, lw=0, label=label)
    axis.plot(off, places, color=TRUTH, ls="", marker=".", ms=7, label="observed", clip_on=False)
    axis.set(yticks=places, yticklabels=[one.text for one in numbers], xlim=(-FARTHEST_OFF, FARTHEST_OFF))
    axis.set(xlabel="observed, in units of the range from its middle (at most 4 are drawn)")
    axis.tick_params(axis="y", length=0, labelsize=9)
    axis.spines[["top", "right", "left"]].set_visible(False)
    return axis


def validation_figure(validation: Any) -> Figure:
    """What was observed over what the fit predicts: a panel for each density and time, and one of what has no density.

    The last one shows motion, after numbers that are farthest off where the fit fails.

    Parameters
    ----------
    validation : Validation
        With a prediction.
    """
    curves = list(validation.predictive.curves.values())
    numbers = validation.predictive.without_density
    columns = min(len(curves), 4)
    rows, flat = -(-len(curves) // columns), 0.3 * len(numbers) + 0.9 * bool(numbers)
    figure = Figure(figsize=(4.0 * columns, 3.4 * rows + 0.4 + flat), layout="constrained")
    heights = [3.4] * rows + [flat] * bool(numbers)
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    axes = [figure.add_subplot(grid[k // columns, k % columns]) for k in range(len(curves))]
    if numbers:
        off_by_range(figure.add_subplot(grid[rows, :]), numbers, validation.predictive.within)
    for axis, curve in zip(axes, curves, strict=True):
        predicted(axis, curve, validation.predictive.within).set_title(curve.label, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9)
    p_value = validation.predictive.p_value
    figure.suptitle(f"What comes next, from snapshots the fit has not seen: p = {p_value:.2g}", fontsize=12)
    return figure
