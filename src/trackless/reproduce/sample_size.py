"""Table 6 and Figure 2 of the paper: errors against the number of runs, under three protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trackless.estimators.least_squares import LeastSquares
from trackless.exploration import Exploration
from trackless.moments import Moments
from trackless.plots import COLORS, whole_ticks
from trackless.reproduce.best import best_moment_parts, best_moments, on_moments
from trackless.reproduce.comparison import contradicts
from trackless.reproduce.panels import (
    AS_THEY_SEEM,
    PANELS,
    Panel,
    coarse,
    exact_errors,
    exact_parts,
    late_parts,
    trials_of,
    zero_gap_parts,
)
from trackless.reproduce.pool import GROUP, estimator, pool_parts
from trackless.reproduce.protocol import Context, Part, metric_of, model_of
from trackless.reproduce.published import AGREES, Published, published
from trackless.reproduce.sections import Claim, Section, Table, pm
from trackless.scoring import gradient_errors

TITLE = "Errors against the number of runs (Table 6, Figure 2)"
Array = NDArray[np.float64]
Errors = dict[tuple[int, float], Array]
"""errors in % (trials, 2) by number of runs and interval"""
TRIALS = 10  # sets of each size
MARKS = (("o", "-"), ("s", "-"), ("^", "--"), ("D", ":"))  # of intervals, from the longest
LETTERS = ("$V$", r"$\Phi$")
REFINED = PANELS[2]._replace(quadrature="trapezoid")  # does it help single steps?
STEEP = -0.3  # slopes of log error against log M below this fall with M, as the paper marks them


def parts(context: Context) -> list[Part]:
    moments = [
        *pool_parts(context, "reference"), *best_moment_parts(context), *zero_gap_parts(context), *late_parts(context),
    ]  # fmt: skip
    kept = context.store.has(_BEST_KEY, *map(table_key, _tables(context)))
    return [*(part._replace(done=part.done or kept) for part in moments), *exact_parts(context)]


def _tables(context: Context) -> list[Panel]:
    """All that the section asks for."""
    return [*PANELS, REFINED, *(() if context.quick else AS_THEY_SEEM)]


def exact_of(context: Context) -> Errors:
    """All of them, by number of runs and interval; where steps are short, plain and exact equations are the same."""
    return {
        (int(size), dt): errors for dt in coarse(context) for size, errors in exact_errors(context, dt).items()
    }  # fmt: skip


def table_of(context: Context, panel: Panel) -> Errors:
    """Errors in % (trials, 2) by number of runs and interval."""

    def computed() -> Errors:
        errors: Errors = {}
        for dt in panel.intervals(context):
            settings, metric = estimator("self_test", panel.quadrature), panel.metric(context, dt)
            errors |= _errors_by_size(context, dt, trials_of(context, panel, dt), settings, metric)
        return errors

    return _kept(context, table_key(panel), computed)


def table_key(panel: Panel) -> str:
    """Under which its errors are kept."""
    return f"errors-{panel.key}-{panel.quadrature}" + ("-as-it-seems" if panel.as_it_seems else "")


_BEST_KEY = "errors-best"


def _kept(context: Context, key: str, compute: Callable[[], Errors]) -> Errors:
    """Errors are small and stay with the results: pictures and words can change without the moments."""
    found = context.store.arrays(key, lambda: {f"{size} {dt:g}": values for (size, dt), values in compute().items()})
    return {(int(name.split()[0]), float(name.split()[1])): values for name, values in found.items()}


def best_of(context: Context) -> Errors:
    """The same at its best: accurate simulation, cubic rule, times that are resolved, no ridge."""

    def computed() -> Errors:
        errors: Errors = {}
        metric = metric_of(context, "reference")
        for dt in context.protocol.intervals:
            trials = [best_moments(context, dt, trial) for trial in range(context.protocol.best_trials)]
            errors |= _errors_by_size(context, dt, trials, on_moments(), metric, disjoint=True)
        return errors

    return _kept(context, _BEST_KEY, computed)


def _errors_by_size(
    context: Context,
    dt: float,
    trials: list[Moments],
    settings: LeastSquares,
    metric: Exploration,
    disjoint: bool = False,
) -> Errors:
    """Errors of sets of every size; ``disjoint``: rather fewer sets than any that share runs."""
    errors: Errors = {}
    for size in context.protocol.sizes:
        groups, each = len(trials) * trials[0].blocks, size // GROUP
        sets = _sets(groups, each, min(TRIALS, max(groups // each, 2)) if disjoint else TRIALS)
        fits = (settings.fit(_together(trials, chosen)) for chosen in sets)
        errors[size, dt] = 100 * np.array([gradient_errors(fitted, model_of("reference"), metric) for fitted in fits])
    return errors


def slopes_of(errors: Errors, dt: float) -> Array:
    """Slopes (2,) of log error against log M."""
    sizes = sorted({size for size, interval in errors if interval == dt})
    if len(sizes) < 2:
        return np.full(2, np.nan)
    means = np.array([errors[size, dt].mean(axis=0) for size in sizes])
    return np.polyfit(np.log(sizes), np.log(means), 1)[0]


def section(context: Context) -> Section:
    found = {panel.key: table_of(context, panel) for panel in PANELS}
    agree = {panel.key: _agreement(panel, found[panel.key]) for panel in PANELS}
    best = best_of(context)
    third = {"left": best, "trapezoid": best, "zero_gap": exact_of(context)}
    tables = tuple(_table(context, panel, found[panel.key], third[panel.key]) for panel in PANELS)
    text = (
        f"Reference model, true functions, L-curve; {TRIALS} sets of each size, drawn from the pool: disjoint where "
        "the pool is large enough, otherwise at random, so that sets of 5000 runs share some. *Best* in (a) and (b): "
        "runs simulated accurately, the cubic rule, only times that the snapshots resolve, no ridge; bias was not "
        f"removed by simulation here{_fewer_sets(best)}. In (c) every snapshot is one Euler step; *best* is our "
        f'estimator for such data (`dynamics="discrete"`), which has no bias ({context.protocol.best_trials} sets). '
        "Best is bold where it is better than the paper's.",
        "Within twice the combined standard deviation of the published mean: "
        + "; ".join(f"{panel.title}: {agree[panel.key][0]} of {agree[panel.key][1]} cells" for panel in PANELS)
        + ".",
        *_why_start_differs(context, found),
        *_why_single_steps_differ(context, found),
    )
    total = sum(total for _, total in agree.values())
    alike = sum(_agreement(panel, found[panel.key], alike=True)[0] for panel in PANELS)
    counts = {"agree": (sum(n for n, _ in agree.values()), total), "alike": (alike, total)}
    figures = {"sample_size": _figure(context, found)}
    return Section(TITLE, text, tables, figures, tuple(_claims(context, found)), counts)


def _fewer_sets(errors: Errors) -> str:
    """Where there are fewer sets than of ours under the protocol, in words."""
    counts = {size: len(values) for (size, _), values in errors.items() if len(values) < TRIALS}
    said = ", ".join(f"{count} sets of {size} runs" for size, count in sorted(counts.items()))
    return f"; there are only {said}" if said else ""


def _why_single_steps_differ(context: Context, found: dict[str, Errors]) -> list[str]:
    """Where the interval is the simulation's step, (b) and (c) are the same data, but for the quadrature."""
    dt, size = min(context.protocol.intervals), min(context.protocol.sizes)
    if dt > context.protocol.step:
        return []

    def both(panel: Panel, errors: Errors) -> tuple[str, str]:
        paper = " / ".join(f"{p.mean:g}" for p in _published(panel, size, dt) if p is not None)
        return paper, _means(errors[size, dt])

    again = table_of(context, AS_THEY_SEEM[2])
    cells = _agreement(PANELS[2], again)
    (one, ours), (other, also), (_, shorter) = (
        both(panel, errors)
        for panel, errors in zip((*PANELS[1:], PANELS[2]), (found["trapezoid"], found["zero_gap"], again), strict=True)
    )
    durations = ", ".join(f"{AS_THEY_SEEM[2].duration(dt):g}" for dt in context.protocol.intervals)
    coarsest, largest = max(context.protocol.intervals), max(context.protocol.sizes)
    theirs = " / ".join(f"{p.mean:g}" for p in _published(PANELS[2], largest, coarsest) if p is not None)
    here, there = (_means(errors[largest, coarsest]) for errors in (found["zero_gap"], again))
    return [
        f"At dt = {dt:g} panels (b) and (c) are the same data under two rules that differ by far less than the noise. "
        f"Ours agree with each other (at {size} runs {ours} and {also}), the paper's do not ({one} and {other}). Its "
        f"panel (c) looks as if T were not 1 but {durations} from the shortest interval to the longest, and errors "
        f"were weighted with the density of those runs: then ours would be {shorter}; at dt = {coarsest:g} with "
        f"{largest} runs {there} instead of {here}, where the paper has {theirs}; and {cells[0]} of {cells[1]} cells "
        "of (c) would agree."
    ]


def _why_start_differs(context: Context, found: dict[str, Errors]) -> list[str]:
    """Particles start close to each other: at long intervals the first snapshot is a bias of its own."""
    if context.quick:
        return []
    coarsest, largest = max(context.protocol.intervals), max(context.protocol.sizes)
    said, agree, before, total = [], 0, 0, 0
    for panel, late in zip(PANELS[:2], AS_THEY_SEEM[:2], strict=True):
        errors = table_of(context, late)
        cells = _agreement(panel, errors)
        agree, total = agree + cells[0], total + cells[1]
        before += _agreement(panel, {key: found[panel.key][key] for key in errors})[0]
        theirs = " / ".join(f"{p.mean:g}" for p in _published(panel, largest, coarsest) if p is not None)
        here, there = (_means(e[largest, coarsest]) for e in (found[panel.key], errors))
        said.append(f"{panel.title[4:]} {there} instead of {here} (the paper has {theirs})")
    intervals = " and ".join(f"{dt:g}" for dt in coarse(context))
    return [
        f"Cells of (a) and (b) that differ are all at dt = {coarsest:g}, and the reason is the snapshot at t = 0, from "
        "which particles that began close together fly apart faster than such intervals show. Without it ours at "
        f"dt = {coarsest:g} with {largest} runs would be: {'; '.join(said)}; and of the cells of (a) and (b) at "
        f"dt = {intervals} {agree} of {total} would agree, in place of {before}."
    ]


def _means(errors: Array) -> str:
    return " / ".join(f"{e:.1f}" for e in errors.mean(axis=0))


def _table(context: Context, panel: Panel, errors: Errors, best: Errors) -> Table:
    intervals = sorted({dt for _, dt in errors})
    rows = []
    for size in context.protocol.sizes:
        row: list[str] = [str(size)]
        for dt in intervals:
            theirs = _published(panel, size, dt)
            row += [_paper(theirs), _both(errors[size, dt], theirs), _best(best.get((size, dt)), theirs)]
        rows.append(tuple(row))
    slopes: list[str] = ["slope"]
    for dt in intervals:
        theirs = [published(f"sample_size_{panel.key}", f"{role}_slope", interval=dt) for role in _ROLES]
        slopes += [" / ".join("" if p is None else f"{p.mean:g}" for p in theirs)]
        slopes += [" / ".join(f"{s:.2f}" for s in slopes_of(found, dt) if np.isfinite(s)) for found in (errors, best)]
    rows.append(tuple(slopes))
    columns = ("runs", *(f"dt = {dt:g}, {name}" for dt in intervals for name in ("paper", "ours", "best")))
    note = "V / Phi, in %; slope of log error against log runs. A star: more than two combined standard deviations off."
    return Table(f"sample_size_{panel.key}", panel.title, columns, rows, note)


def _best(errors: Array | None, paper: Sequence[Published | None]) -> str:
    """V / Phi at its best, bold where it is better than the paper's."""
    if errors is None:
        return ""
    better = [p is not None and errors[:, k].mean() <= p.mean for k, p in enumerate(paper)]
    each = [pm(errors[:, k], 1) for k in range(2)]
    return " / ".join(f"**{text}**" if bold else text for text, bold in zip(each, better, strict=True))


def _both(errors: Array, paper: Sequence[Published | None]) -> str:
    """V / Phi, with a star where it is not what the paper has."""
    differs = [p is not None and abs(p.off(errors[:, k])) > AGREES for k, p in enumerate(paper)]
    return " / ".join(pm(errors[:, k], 1) + "*" * differs[k] for k in range(2))


_ROLES = ("external", "interaction")


def _published(panel: Panel, size: int, dt: float) -> list[Published | None]:
    return [published(f"sample_size_{panel.key}", role, runs=size, interval=dt) for role in _ROLES]


def _paper(found: list[Published | None]) -> str:
    return " / ".join("" if p is None else f"{p.mean:g} +- {p.std:g}" for p in found)


def _agreement(panel: Panel, errors: Errors, alike: bool = False) -> tuple[int, int]:
    """How many cells are as in the paper, of how many: within the scatter of sets, or ``alike`` in their means."""
    agree = [
        p.alike(values[:, k]) if alike else abs(p.off(values[:, k])) <= AGREES
        for (size, dt), values in errors.items()
        for k, p in enumerate(_published(panel, size, dt))
        if p is not None
    ]
    return sum(agree), len(agree)


def _claims(context: Context, found: dict[str, Errors]) -> list[Claim]:
    coarsest, largest = max(context.protocol.intervals), max(context.protocol.sizes)
    left, trapezoid, gap = (found[panel.key][largest, coarsest].mean(axis=0) for panel in PANELS)
    slopes = {panel.key: slopes_of(found[panel.key], coarsest) for panel in PANELS}
    claims = [
        Claim(
            f"With the left rule the error of V at dt = {coarsest:g} ends at a floor of order dt",
            slopes["left"][0] > STEEP and left[0] > 2 * trapezoid[0],
            f"{left[0]:.1f} % at {largest} runs, slope {slopes['left'][0]:.2f}; "
            f"with the trapezoid {trapezoid[0]:.1f} %",
        ),
        _no_floor(context, found["trapezoid"]),
    ]
    exact = {dt: exact_errors(context, dt) for dt in coarse(context)}
    if exact:
        size = max(int(key) for key in exact[coarsest])
        ours = exact[coarsest][str(size)].mean(axis=0)
        rules = found["zero_gap"][largest, coarsest], table_of(context, REFINED)[largest, coarsest]
        refined = rules[1].mean(axis=0)
        claims += [
            Claim(
                "For discrete-time data a bias of order dt cannot be removed by refining the quadrature",
                bool((refined > 0.5 * gap).all()),
                f"dt = {coarsest:g}: floor {gap[0]:.1f} / {gap[1]:.1f} %, with the trapezoid {refined[0]:.1f} / "
                f"{refined[1]:.1f} %; it can be otherwise: exact conditional means, which the paper does not have, "
                f"leave {ours[0]:.1f} / {ours[1]:.1f} % at {size} runs",
            ),
            Claim(
                "For such data the left rule and the trapezoid yield identical results",
                not any(contradicts(one[:, k], other[:, k]) for one, other in (rules, rules[::-1]) for k in range(2)),
                f"dt = {coarsest:g}, {largest} runs: {_means(rules[0])} and {_means(rules[1])} %",
            ),
        ]
    return claims


def _no_floor(context: Context, errors: Errors) -> Claim:
    """What the paper says of the trapezoid, of whose numbers the snapshot at t = 0 seems to be no part."""
    dt, runs = max(context.protocol.intervals), max(context.protocol.sizes)

    def said(each: Errors) -> str:
        slopes = " and ".join(f"{s:.2f}" for s in slopes_of(each, dt))
        return f"slopes {slopes}, and {_means(each[runs, dt])} % at {runs} runs"

    late = "" if context.quick else f"; without the snapshot at t = 0 {said(table_of(context, AS_THEY_SEEM[1]))}"
    return Claim(
        f"With the trapezoid there is no floor: errors at dt = {dt:g} fall with the runs for V and Phi alike",
        bool((slopes_of(errors, dt) < STEEP).all()),
        said(errors) + late,
    )


def _figure(context: Context, found: dict[str, Errors]) -> Figure:
    result = Figure(figsize=(13, 4), layout="constrained")
    axes = result.subplots(1, 4, sharey=True)
    for first, panel in zip((0, 2), PANELS[:2], strict=True):
        for k in range(2):
            draw_rates(axes[first + k], found[panel.key], k, panel)
            axes[first + k].set_title(f"{panel.title[4:]}: {LETTERS[k]}")
    axes[0].set_ylabel("error of the gradient (%)")
    handles = axes[2].get_legend_handles_labels()  # it has all intervals
    result.legend(
        *handles, loc="outside lower center", ncols=len(handles[0]), frameon=False, fontsize=9,
        title="open symbols: the paper's", title_fontsize=9,
    )  # fmt: skip
    return result


def color_of(dt: float) -> str:
    """The same for an interval in all panels, also in those that lack some."""
    return COLORS[round(-np.log10(dt)) - 1]


def draw_rates(axis: Axes, errors: Errors, role: int, panel: Panel) -> None:
    """Errors against the number of runs, one line per interval, the paper's beside them, and the rate M^-1/2."""
    intervals = sorted({dt for _, dt in errors})
    sizes = sorted({size for size, _ in errors})
    for dt in intervals:
        color = color_of(dt)
        values = np.array([errors[size, dt][:, role] for size in sizes])
        marker, line = MARKS[round(-np.log10(dt)) - 1]  # lines that lie upon each other can be told apart
        axis.errorbar(
            sizes, values.mean(axis=1), yerr=values.std(axis=1, ddof=1), color=color, marker=marker, ms=4, capsize=2,
            ls=line, label=f"dt = {dt:g}",
        )  # fmt: skip
        theirs = [(size, p.mean) for size in sizes if (p := _published(panel, size, dt)[role]) is not None]
        if theirs:
            axis.plot(*zip(*theirs, strict=True), ls="", marker=marker, mfc="none", mec=color, ms=9, alpha=0.6)
    top = max(errors[sizes[0], dt][:, role].mean() for dt in intervals[:1])
    axis.plot(sizes, top * np.sqrt(sizes[0] / np.array(sizes)), color="0.5", ls="--", lw=1, label=r"$M^{-1/2}$")
    axis.set(xscale="log", yscale="log", xlabel="runs M")
    whole_ticks(axis, sizes).grid(alpha=0.3)


def _sets(groups: int, size: int, trials: int) -> list[NDArray[np.int64]]:
    """Which groups are in which set: disjoint sets where there are enough."""
    if size * trials <= groups:
        return [np.arange(k * size, (k + 1) * size) for k in range(trials)]
    generator = np.random.default_rng(size)
    return [generator.choice(groups, min(size, groups), replace=False) for _ in range(trials)]


def _together(trials: list[Moments], groups: NDArray[np.int64]) -> Moments:
    """One set, in two blocks: enough for a fit without error bars."""
    trial, place = np.divmod(groups, trials[0].blocks)
    chosen = [trials[k].select(blocks=place[trial == k]) for k in np.unique(trial)]
    return sum(chosen[1:], chosen[0]).coarsened(2)
