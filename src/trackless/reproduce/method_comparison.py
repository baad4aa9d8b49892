"""Table 2 of the paper: four methods at four intervals, reference model."""

from __future__ import annotations

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
    counts_of,
    protocol_table,
    shares,
)
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.readings import reading_parts, reasons_of
from trackless.reproduce.sections import Claim, Section

TITLE = "Method comparison (Table 2)"
LINEAR = ("labeled", "self_test", "sinkhorn")
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


def mean_of(cells: list[Cell], method: str, role: str, dt: float) -> float:
    """Our mean error in a cell."""
    return next(
        float(c.ours.mean()) for c in cells if (c.method, c.role) == (method, role) and np.isclose(c.interval, dt)
    )


def _error_of(cells: list[Cell], role: str, dt: float) -> float:
    """Standard error of the self-test's mean in a cell."""
    found = next(c.ours for c in cells if (c.method, c.role) == ("self_test", role) and np.isclose(c.interval, dt))
    return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0


def _claims(cells: list[Cell], contests: list[Contest]) -> list[Claim]:
    intervals = sorted({c.interval for c in cells})
    coarse = [dt for dt in intervals if dt > 1.5e-4]
    at = {(m, dt): [mean_of(cells, m, role, dt) for role in ROLES] for m in LINEAR for dt in intervals}
    said = {key: " / ".join(f"{v:.2f}" for v in values) for key, values in at.items()}
    middle = min(coarse, key=lambda dt: abs(np.log(dt / 1e-2)))
    claims = [
        Claim(
            "Following matched particles (Sinkhorn) is worse than the self-test at every interval above the step",
            all(s < k for dt in coarse for s, k in zip(at["self_test", dt], at["sinkhorn", dt], strict=True)),
            ", ".join(f"dt = {dt:g}: {said['self_test', dt]} against {said['sinkhorn', dt]}" for dt in coarse),
        ),
        Claim(
            f"At dt = {middle:g} the self-test is ten times better than the MLE with labels",
            all(
                10 * (s - 2 * _error_of(cells, role, middle)) < k
                for role, s, k in zip(ROLES, at["self_test", middle], at["labeled", middle], strict=True)
            ),
            f"{said['self_test', middle]} against {said['labeled', middle]}; within two standard errors",
        ),
    ]
    finest = intervals[0]
    if finest < 1.5e-4:
        claims.append(
            Claim(
                "Where the interval is the simulation's step, the MLE with labels is best",
                all(k < s for s, k in zip(at["self_test", finest], at["labeled", finest], strict=True)),
                f"{said['labeled', finest]} against {said['self_test', finest]} of the self-test",
            )
        )
    coarsest = intervals[-1]
    oracle = [c for c in contests if c.kind == "oracle" and np.isclose(c.interval, coarsest)]
    network = [mean_of(cells, "network", role, coarsest) for role in ROLES]
    ours = f"networks {network[0]:.2f} / {network[1]:.2f}"
    claims += [
        Claim(
            f"At dt = {coarsest:g} networks beat every least-squares fit under the paper's protocol",
            all(n < min(each) for n, *each in zip(network, *(at[m, coarsest] for m in LINEAR), strict=True)),
            f"{ours}; " + ", ".join(f"{NAMES[m]} {said[m, coarsest]}" for m in LINEAR),
        ),
        Claim(
            f"At dt = {coarsest:g} that is because the true functions have become inadequate",
            all(n < c.ours.mean() for n, c in zip(network, oracle, strict=True)),
            f"{ours}; the same true functions without the bias of the interval "
            + " / ".join(f"{c.ours.mean():.2f}" for c in oracle),
        ),
    ]
    return claims


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
