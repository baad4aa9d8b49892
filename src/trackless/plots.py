"""Pictures: each function takes an axis, draws computed values on it and returns it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from trackless._errors import InputError
from trackless.exploration import density_to_draw, explore
from trackless.mixtures import Kinds, in_words, listed, one_of
from trackless.potentials import Potential, RadialPotential
from trackless.snapshots import Snapshots
from trackless.uncertainty import cutoff_of

TRUTH = "#1a1a1a"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f")  # told apart in colour blindness
STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
DENSITY = "#dedede"
BELOW: dict[str, Any] = {  # a legend under its axis
    "frameon": False,
    "fontsize": 8,
    "ncols": 2,
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.22),
    "columnspacing": 1.0,
    "handlelength": 1.6,
}
PANEL = (3.0, 3.0)  # inches: three of them are little wider than a page, so that print keeps letters readable
IN_A_ROW = 3
SLIVER = 0.01  # of the range: not worth a line
FONT_DATES = "fontTools.ttLib.tables._h_e_a_d"  # who warns of them
SYMBOL = {"external": "V", "interaction": r"\Phi"}


def slope(
    axis: Axes,
    curves: Mapping[str, RadialPotential],
    distances: NDArray[np.float64],
    role: str = "interaction",
    truth: RadialPotential | None = None,
    dim: int = 2,
) -> Axes:
    """Slopes g'(r) of radial potentials over the density of explored distances.

    Parameters
    ----------
    axis : matplotlib Axes
    curves : dict
        Label -> potential; five at most.
    distances : (Q,)
        Explored distances; they set the range (99.8 % of them) and the shaded density.
    role : "external" or "interaction"
    truth : RadialPotential, optional
        Drawn below the curves.
    dim : int
        Of space: on a line, particles may meet, and the density does not vanish at distance 0.
    """
    top = float(np.quantile(distances, 0.998))
    grid = np.linspace(0.0, top, 600)[1:]
    # The ends of the range, where few data are, must not set the scale of what the data know well.
    low_seen, high_seen = np.quantile(distances, [0.01, 0.99])
    seen = (grid >= low_seen) & (grid <= high_seen)
    if truth is not None:
        axis.plot(grid, truth.slope(grid), color=TRUTH, lw=5, alpha=0.25, label="truth", solid_capstyle="round")
    if len(curves) > len(STYLES):
        raise InputError(f"curves: at most {len(STYLES)} can be told apart in one picture, got {len(curves)}")
    banded = [label for label, potential in curves.items() if potential.uncertainty is not None]
    last = banded[-1] if banded else list(curves)[-1]
    several = len(banded) > 1
    for color, style, (label, potential) in zip(COLORS, STYLES, curves.items(), strict=False):
        values, known = potential.slope(grid), (grid >= distances.min()) & (grid <= distances.max())
        band = potential.band(grid) if potential.uncertainty is not None else None
        if band is not None:
            known &= np.isfinite(band[0])
            axis.fill_between(
                grid[known], band[0][known], band[1][known], color=color, alpha=0.2, lw=0, zorder=1,
                label=f"95 % band{'s' * several}" if label == last else None,
            )  # fmt: skip
        axis.plot(grid, np.where(known, values, np.nan), color=color, lw=2, ls=style, label=label)
        # what nobody has seen must not look like what was learnt
        if (~known).mean() > SLIVER:
            beyond = binary_dilation(~known)  # as far as the line
            axis.plot(
                grid, np.where(beyond, values, np.nan), color=color, lw=1, ls=":", alpha=0.6,
                label="no data there" if label == last else None,
            )  # fmt: skip
    reference = [truth] if truth is not None else list(curves.values())
    values = np.concatenate([p.slope(grid[seen]) for p in reference])
    # a curve that is not known must not look as if it were
    ends = [np.median(end) for p in reference if p.uncertainty is not None for end in p.band(grid[seen])]
    values = np.append(values, [end for end in ends if np.isfinite(end)])
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if truth is not None:  # curves that are a little off stay in the picture
        learnt = np.concatenate([p.slope(grid[seen]) for p in curves.values()])
        learnt = np.clip(learnt, low - 0.5 * (high - low), high + 0.5 * (high - low))
        low, high = min(low, float(learnt.min())), max(high, float(learnt.max()))
    margin = 0.12 * (high - low) or 1.0
    axis.set_ylim(low - 2 * margin, high + margin)
    axis.set_xlim(0.0, top)
    _shade(axis, grid, distances, dim)
    axis.axhline(0.0, color="0.6", lw=0.8, zorder=1)
    letter = SYMBOL[role]
    axis.set_xlabel("distance from the centre $|x|$" if role == "external" else "distance between particles $r$")
    axis.set_ylabel(f"${letter}'$")
    return axis


def _shade(axis: Axes, grid: NDArray[np.float64], distances: NDArray[np.float64], dim: int) -> None:
    """The explored density, as a hill at the bottom of the axis."""
    density = density_to_draw(distances, grid, dim)
    bottom, top = axis.get_ylim()
    height = 0.3 * (top - bottom) * density / density.max()
    axis.fill_between(grid, bottom, bottom + height, color=DENSITY, lw=0, zorder=0, label="explored")


def whole_ticks(axis: Axes, values: Sequence[int]) -> Axes:
    """Ticks of a logarithmic axis at the few numbers that occur, written out."""
    axis.set_xticks(values, [f"{value:g}" if value < 1000 else f"{value / 1000:g}k" for value in values])
    axis.set_xticks([], minor=True)
    return axis


def error_curves(
    axis: Axes, intervals: Sequence[float], errors: Mapping[str, Sequence[float]], role: str = "interaction"
) -> Axes:
    """Relative errors of several methods against the observation interval, both on logarithmic scales.

    Parameters
    ----------
    axis : matplotlib Axes
    intervals : (I,)
    errors : dict
        Method -> its errors (I,), as fractions.
    role : "external" or "interaction"
    """
    markers, styles = ("o", "s", "^", "D", "v"), ("-", "-", "-", "--", "-")
    for k, (label, values) in enumerate(errors.items()):
        color, marker, style = (options[k % len(options)] for options in (COLORS, markers, styles))
        axis.plot(intervals, 100 * np.asarray(values), color=color, marker=marker, ls=style, lw=2, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.set_xlabel(r"time between snapshots $\Delta t$")
    axis.set_ylabel(rf"error of $\nabla {SYMBOL[role]}$ in %")
    return axis


def particles(axis: Axes, snapshots: Snapshots, run: int = 0, frames: tuple[int, ...] = (0, -1)) -> Axes:
    """Positions (first two coordinates) of one run at a few times, without labels, as the program sees them."""
    times = snapshots.times_of(run)
    for shade, index in zip(np.linspace(0.75, 0.1, len(frames)), frames, strict=True):
        points = snapshots.frame(run, index % len(times))
        axis.scatter(points[:, 0], points[:, 1], s=25, color=str(shade), lw=0, label=f"t = {times[index]:.3g}")
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel("$x_1$")
    axis.set_ylabel("$x_2$")
    return axis


def contours(
    axis: Axes,
    potential: Potential,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    levels: NDArray[np.float64] | int = 14,
    beside: Sequence[Axes] | None = (),
    symbol: str = "",
) -> Axes:
    """Contours of a potential in two dimensions between ``lower`` and ``upper``, its minimum set to 0.

    The colours' key stands at the right of the axis, and of those in ``beside``; None for no key. ``symbol`` (V or
    Phi) is what it is a key to.
    """
    x, y = (np.linspace(lower[k], upper[k], 120) for k in (0, 1))
    points = np.stack(np.meshgrid(x, y), axis=-1)
    values = potential(points)
    extend = "neither" if isinstance(levels, int) else "max"
    image = axis.contourf(x, y, values - values.min(), levels=levels, cmap="viridis", extend=extend)
    label = f"${symbol}$, lowest at 0" if symbol else ""
    last = float(np.asarray(image.levels)[-1])
    ticks = [tick for tick in MaxNLocator(6).tick_values(0.0, last) if tick <= last]  # levels are no round numbers
    if beside:
        axis.figure.colorbar(image, ax=[*beside, axis], label=label, ticks=ticks)
    elif beside is not None:  # inside of the axis' own frame, so that it is as high as the picture
        key = axis.inset_axes((1.03, 0.0, 0.05, 1.0))
        axis.figure.colorbar(image, cax=key, label=label, ticks=ticks)
        key.tick_params(labelsize=8)
        key.yaxis.label.set_fontsize(8)
    axis.set_aspect("equal")
    axis.set_xlabel("$x_1$")
    axis.set_ylabel("$x_2$")
    return axis


def contour_row(
    axes: Sequence[Axes], potentials: Mapping[str, Potential | None], sample: NDArray[np.float64]
) -> Sequence[Axes]:  # fmt: skip
    """Contours of several potentials side by side, on the same levels and where the data were.

    Parameters
    ----------
    axes : sequence of matplotlib Axes
    potentials : dict
        Title -> potential in two dimensions; the first one sets the levels.
    sample : (Q, 2)
        Explored positions or displacements; contours cover 98 % of them in each direction, and what lies outside an
        ellipse around 99 % of them is veiled.
    """
    low, high = np.quantile(sample, [0.01, 0.99], axis=0)
    grid = np.stack(np.meshgrid(*(np.linspace(low[k], high[k], 60) for k in (0, 1))), axis=-1)
    given = {title: potential for title, potential in potentials.items() if potential is not None}
    values = next(iter(given.values()))(grid)
    levels = np.linspace(0.0, float(np.ptp(values)), 15)
    distance, edge = _from_data(grid, sample)
    used = list(axes)[: len(given)]
    for axis, (title, potential) in zip(used, given.items(), strict=True):
        contours(axis, potential, low, high, levels, used[:-1] if axis is used[-1] else None).set_title(title)
        _veil(axis, grid, distance, edge)
    return axes


def _from_data(grid: NDArray[np.float64], sample: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """How far places (..., 2) are from the middle of a sample (Q, 2), in its spread, and where 99 % of it end."""
    middle, spread = sample.mean(axis=0), np.linalg.inv(np.atleast_2d(np.cov(sample.T)))
    distance = np.einsum("...i,ij,...j->...", grid - middle, spread, grid - middle)
    return distance, float(np.quantile(np.einsum("ni,ij,nj->n", sample - middle, spread, sample - middle), 0.99))


def _veil(
    axis: Axes, grid: NDArray[np.float64], distance: NDArray[np.float64], edge: float, hatch: str | None = None
) -> None:
    """Pale where there were hardly any data; what is there must not look like what was learnt."""
    veil = [edge, max(float(distance.max()), edge) * 1.01]
    axis.contourf(grid[..., 0], grid[..., 1], distance, levels=veil, colors="white", alpha=0.7, hatches=[hatch])
    axis.contour(grid[..., 0], grid[..., 1], distance, levels=[edge], colors="white", linewidths=1)


def _map(axis: Axes, potential: Potential, sample: NDArray[np.float64], symbol: str) -> None:
    """Contours over 98 % of a sample (Q, 2) in each direction, on a scale that corners without data do not set."""
    low, high = np.quantile(sample, [0.01, 0.99], axis=0)
    grid = np.stack(np.meshgrid(*(np.linspace(low[k], high[k], 120) for k in (0, 1))), axis=-1)
    distance, edge = _from_data(grid, sample)
    values = potential(grid)
    top = float(values[distance <= edge].max() - values.min()) or 1.0
    contours(axis, potential, low, high, np.linspace(0.0, top, 15), symbol=symbol)
    if (distance > edge).any():
        _veil(axis, grid, distance, edge, "////")
        mark = Patch(facecolor="white", edgecolor="0.5", hatch="////", lw=0, label="hardly any data there")
        below = {"bbox_to_anchor": (0.5, 0.0), "borderaxespad": 4.0, "handlelength": 2.2}  # these axes are flat
        axis.legend(handles=[mark], **BELOW | below)


def fit_figure(fits: Mapping[str, Any], snapshots: Snapshots, truth: Any = None, title: str = "") -> Figure:
    """Snapshots as seen, V' and Phi' of each species (or contours where they are not radial), three in a row.

    Letters are for print as wide as a page; :func:`save_figure` writes files.

    Parameters
    ----------
    fits : dict
        Label -> fitted estimator; where a potential is not radial the first one is drawn.
    snapshots : Snapshots
    truth : Model, optional
    """
    explored = explore(snapshots)
    shown = _shown(fits)
    seen = snapshots.dim >= 2
    count = seen + len(shown)
    columns, rows = min(count, IN_A_ROW), -(-count // IN_A_ROW)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[count:]:
        figure.delaxes(unused)
    axes = axes[:count]
    middle = len(snapshots.times_of(0)) // 2
    if seen:
        particles(axes[0], snapshots, 0, (0, middle, -1)).legend(**BELOW | {"ncols": 3}, handletextpad=0.1)
        axes[0].set_title("seen: positions" + (" and labels" if snapshots.labeled else ", no labels"))
    for axis, (role, kinds) in zip(axes[seen:], shown, strict=True):
        learnt = {label: one_of(getattr(f, f"{role}_"), kinds) for label, f in fits.items()}
        learnt = {label: p for label, p in learnt.items() if p is not None}
        of = f" of {in_words(kinds)}" if kinds else ""
        axis.set_title(f"learnt: ${SYMBOL[role]}{_prime(learnt)}${of}")
        own = explored.of_kinds(kinds)
        if all(isinstance(p, RadialPotential) for p in learnt.values()):
            exact = one_of(getattr(truth, role, None), kinds)
            exact = exact if isinstance(exact, RadialPotential) else None
            first = next(iter(learnt.values()))
            reached = own.reached(role, first.origin, cutoff_of(first))
            slope(axis, learnt, reached, role, exact, snapshots.dim).legend(**BELOW)
        elif snapshots.dim != 2:
            axis.text(0.5, 0.5, "not radial, and not in two\ndimensions: no picture", ha="center", va="center")
            axis.set_axis_off()
        else:
            sample = own.positions if role == "external" else own.displacements
            _map(axis, next(iter(learnt.values())), sample, SYMBOL[role])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        axis.title.set_fontsize(9)
        for label in (axis.xaxis.label, axis.yaxis.label):
            label.set_fontsize(9)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as print wants it: 300 dots per inch, and in a PDF letters that can be searched and edited."""
    log = logging.getLogger(FONT_DATES)
    level = log.level
    log.setLevel(
        logging.ERROR
    )  # that a font which comes with the pictures' library has an odd date is nobody's concern
    try:
        with rc_context({"pdf.fonttype": 42}):  # TrueType; the default, Type 3, is refused by many publishers
            figure.savefig(path, dpi=300)
    finally:
        log.setLevel(level)


def _shown(fits: Mapping[str, Any]) -> list[tuple[str, Kinds]]:
    """Which potentials there are: V and Phi, of all particles or of each kind and pair of the fits."""
    found = [(role, kinds) for role in SYMBOL for fit in fits.values() for kinds, _ in listed(getattr(fit, f"{role}_"))]
    by_species = {role for role, kinds in found if kinds}
    return [one for one in dict.fromkeys(found) if one[1] or one[0] not in by_species]


def _prime(learnt: Mapping[str, Potential]) -> str:
    return "'" if all(isinstance(p, RadialPotential) for p in learnt.values()) else ""
