"""Table 2 of the paper: four methods at four intervals, reference model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from trackless.plots import COLORS, SYMBOL
from trackless.reproduce.comparison import (
    NAMES,
    ROLES,
    Cell,
    Contest,
    cells_of,
    comparison_parts,
    contest_table,
    contests_of,
    contradicts,
    counts_of,
    coverage,
    protocol_table,
    shares,
)
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.readings import reading_parts, reasons_of
from trackless.reproduce.sections import Claim, Section

TITLE = "Method comparison (Table 2)"
LINEAR = ("labeled", "self_test", "sinkhorn")
STEP = 1.5e-4  # intervals up to it are that of the simulation
MARKERS = {"labeled": "o", "self_test": "s", "sinkhorn": "^", "network": "D"}


def parts(context: Context) -> list[Part]:
    return [*comparison_parts(context, "reference"), *reading_parts(context, "reference")]


def section(context: Context) -> Section:
    cells = cells_of(context, "method_comparison", "reference")
    contests = contests_of(context, "method_comparison", "reference")
    reasons = reasons_of(context, "method_comparison", "reference")
    tables = (
        protocol_table("method_comparison", "Under the paper's protocol: left rule, all snapshots", cells, reasons),
        contest_table("method_comparison_best", "At its best", contests),
    )
    text = (
        f"Reference model, d = 2, N = 10, T = 1, sigma = 1, simulated in steps of 1e-4; {context.sizes}.",
        *shares(cells, contests),
        coverage(context, "reference"),
    )
    return Section(
        TITLE,
        text,
        tables,
        {"method_comparison": figure(cells, contests)},
        tuple(_claims(cells, contests)),
        counts_of(cells, contests),
        tuple(c.said for c in contests if not c.won),
    )


def _claims(cells: list[Cell], contests: list[Contest]) -> list[Claim]:
    intervals = sorted({c.interval for c in cells})
    coarse = [dt for dt in intervals if dt > STEP]
    of = {(c.method, c.interval, c.role): c.ours for c in cells}
    finest, coarsest = intervals[0], intervals[-1]
    middle = min(coarse, key=lambda dt: abs(np.log(dt / 1e-2)))

    def holds(first: str, second: str, at: Sequence[float], factor: float = 1.0, roles: Sequence[str] = ROLES) -> bool:
        """Whether no cell contradicts that the first method is so many times better."""
        return not any(contradicts(of[first, dt, role], of[second, dt, role], factor) for dt in at for role in roles)

    def said(method: str, dt: float) -> str:
        return " / ".join(f"{of[method, dt, role].mean():.2f}" for role in ROLES)

    def each(first: str, second: str, at: Sequence[float]) -> str:
        return ", ".join(f"dt = {dt:g}: {said(first, dt)} against {said(second, dt)}" for dt in at)

    claims = [
        Claim(
            "Following matched particles (Sinkhorn) is worse than the self-test at every interval above the step",
            holds("self_test", "sinkhorn", coarse),
            each("self_test", "sinkhorn", coarse),
        ),
        Claim(
            "Following matched particles is worse than following labels at every interval",
            holds("labeled", "sinkhorn", intervals),
            each("labeled", "sinkhorn", intervals),
        ),
        Claim(
            f"At dt = {middle:g} the self-test is more than ten times better than the MLE with labels, for Phi also at "
            f"dt = {coarsest:g}",
            holds("self_test", "labeled", [middle], 10) and holds("self_test", "labeled", [coarsest], 10, ROLES[1:]),
            each("self_test", "labeled", [middle, coarsest]),
        ),
    ]
    if finest <= STEP:
        claims += [
            Claim(
                "Where the interval is the simulation's step, the MLE with labels is best",
                holds("labeled", "self_test", [finest]) and holds("labeled", "sinkhorn", [finest]),
                f"{said('labeled', finest)} against {said('self_test', finest)} of the self-test",
            ),
            Claim(
                f"From dt = {coarse[0]:g} on the self-test is better than the MLE with labels",
                holds("self_test", "labeled", coarse[:2]),
                each("self_test", "labeled", coarse[:2]),
            ),
        ]
    oracle = {c.role: c.ours for c in contests if c.kind == "oracle" and np.isclose(c.interval, coarsest)}
    ours = f"networks {said('network', coarsest)}"
    return [
        *claims,
        Claim(
            f"At dt = {coarsest:g} networks beat every least-squares fit",
            all(holds("network", method, [coarsest]) for method in LINEAR),
            f"{ours}; " + ", ".join(f"{NAMES[m]} {said(m, coarsest)}" for m in LINEAR),
        ),
        Claim(
            f"At dt = {coarsest:g} the true functions have become inadequate, so that networks do better",
            not any(contradicts(of["network", coarsest, role], oracle[role]) for role in ROLES),
            f"{ours}; the same true functions without the bias of the interval "
            + " / ".join(f"{oracle[role].mean():.2f}" for role in ROLES),
        ),
    ]


def figure(cells: list[Cell], contests: list[Contest]) -> Figure:
    """Errors against the interval: ours as lines, the paper's as open symbols."""
    result = Figure(figsize=(10, 4.4), layout="constrained")
    axes = result.subplots(1, 2)
    for axis, role in zip(axes, ROLES, strict=True):
        for color, (method, marker) in zip(COLORS, MARKERS.items(), strict=False):
            chosen = [c for c in cells if c.method == method and c.role == role]
            intervals = [c.interval for c in chosen]
            axis.plot(intervals, [c.ours.mean() for c in chosen], marker=marker, color=color, label=NAMES[method])
            known = [(c.interval, c.paper.mean) for c in chosen if c.paper is not None]
            axis.plot(*zip(*known, strict=True), ls="", marker=marker, mfc="none", mec=color, ms=11, alpha=0.6)
        best = [c for c in contests if c.kind == "oracle" and c.role == role]
        axis.plot(
            [c.interval for c in best], [c.ours.mean() for c in best], color="black", ls="--", marker=".",
            label="self-test at its best",
        )  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel=r"interval between snapshots $\Delta t$")
        axis.set_ylabel(rf"error of $\nabla {SYMBOL[role]}$ (%)")
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False, fontsize=9, title="open symbols: the paper's", title_fontsize=9)
    return result
