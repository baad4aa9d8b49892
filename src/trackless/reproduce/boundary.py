"""Table 4 of the paper: four models at the edges of the theory, at three intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trackless.reproduce.comparison import (
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
from trackless.reproduce.method_comparison import mean_of
from trackless.reproduce.pool import matched_right, pool_errors
from trackless.reproduce.protocol import BOUNDARY, Context, Part
from trackless.reproduce.published import published
from trackless.reproduce.readings import LATE, STEEP, reading_parts, reasons_of, why_steep_is_hard
from trackless.reproduce.sections import Claim, Section, Table

TITLE = "Boundary tests (Table 4)"
NOTHING = 90.0  # an error in % with which nothing has been learnt


def parts(context: Context) -> list[Part]:
    return [*comparison_parts(context, *BOUNDARY), *reading_parts(context, *BOUNDARY)]


def section(context: Context) -> Section:
    cells = [cell for name in BOUNDARY for cell in cells_of(context, "boundary", name)]
    contests = [contest for name in BOUNDARY for contest in contests_of(context, "boundary", name)]
    reasons = reasons_of(context, "boundary", *BOUNDARY)
    tables = (
        protocol_table("boundary", "Under the paper's protocol: left rule, all snapshots", cells, reasons),
        contest_table("boundary_best", "At its best", contests, why_steep_is_hard(context)),
        _matching_table(context),
    )
    text = (
        f"Models as in the paper, 10 particles, T = 1, sigma = 1; {context.sizes}.", *shares(cells, contests),
    )  # fmt: skip
    lost = tuple(c.said for c in contests if not c.won)
    return Section(TITLE, text, tables, {}, tuple(_claims(context, cells, contests)), counts_of(cells, contests), lost)


def _matching_table(context: Context) -> Table:
    """How often Sinkhorn finds the right partner: why its column is that of the labels, or far from it."""
    intervals = context.protocol.intervals_of("smoothness")
    right = {name: matched_right(context, name) for name in BOUNDARY}
    rows = [(name, *(f"{100 * right[name][dt]:.2f}" for dt in intervals)) for name in BOUNDARY]
    note = (
        "Where it is 100, following matched particles is the same as following labels. Where it is not, errors of the "
        "matching may by chance make up for those of the interval."
    )
    columns = ("model", *(f"dt = {dt:g}" for dt in intervals))
    return Table("boundary_matching", "Particles that Sinkhorn matches with themselves, in %", columns, rows, note)


def _claims(context: Context, cells: list[Cell], contests: list[Contest]) -> list[Claim]:
    intervals = context.protocol.intervals_of("smoothness")
    of = {
        (name, method, dt): [mean_of([c for c in cells if c.model == name], method, role, dt) for role in ROLES]
        for name in BOUNDARY
        for method in ("labeled", "self_test", "sinkhorn", "network")
        for dt in intervals
    }

    def losing(first: str, second: str) -> list[str]:
        """Cells in which the first method is not better than the second."""
        return [
            f"{name}, dt = {dt:g}, {symbol}: {a:.2f} and {b:.2f}"
            for name in BOUNDARY
            for dt in intervals
            for symbol, a, b in zip(("V", "Phi"), of[name, first, dt], of[name, second, dt], strict=True)
            if a >= b
        ]

    total = 2 * len(BOUNDARY) * len(intervals)
    worse = losing("self_test", "sinkhorn")
    coarsest = intervals[-1]
    rivals = ("self_test", "sinkhorn")
    others = {(name, k): min(of[name, m, coarsest][k] for m in rivals) for name in BOUNDARY for k in range(2)}
    asked = [key for key in others if key != ("conditioning", 0)]  # of conditioning the paper says so for Phi only
    theirs = {key: of[key[0], "network", coarsest][key[1]] for key in asked}
    blind = [key for key in asked if min(theirs[key], others[key]) > NOTHING]
    asked = [key for key in asked if key not in blind]
    beaten = [key for key in asked if theirs[key] < others[key]]
    best = {(c.model, c.role): c for c in contests if c.kind == "door" and c.interval == coarsest}
    networks = {(name, role): of[name, "network", coarsest][k] for name in BOUNDARY for k, role in enumerate(ROLES)}
    behind = [key for key, contest in best.items() if contest.ours.mean() > networks[key]]
    return [
        Claim(
            "The self-test is better than matching particles on all four models at all intervals",
            not worse,
            f"in {total - len(worse)} of {total} cells"
            + (f"; not: {'; '.join(worse)}" if worse else "")
            + f"; of the numbers in the paper's own table in {_in_the_paper(context)}"
            + _seen_late(context),
        ),
        Claim(
            f"At dt = {coarsest:g} networks are the best of the paper's methods that need no labels",
            len(beaten) == len(asked),
            f"better than the self-test and matching with the true functions in {len(beaten)} of {len(asked)} cells "
            "that it says so of"
            + "".join(
                f" (not counted: {('V', 'Phi')[k]} of {name}, of which none learns anything)" for name, k in blind
            )
            + "; `tl.fit`, which knows no functions either, is better than our networks in "
            f"{len(best) - len(behind)} of {len(best)}",
        ),
        *_against_labels(context, of),
    ]


def _against_labels(context: Context, of: dict[tuple[str, str, float], list[float]]) -> list[Claim]:
    """What the paper says of the self-test beside the MLEs."""
    if context.quick:
        return []
    finest, *_, coarsest = context.protocol.intervals_of(STEEP)
    late = pool_errors(context, STEEP, LATE)
    said, better = [], []
    for name in (STEEP, "smooth_control"):
        own, labels = (of[name, method, finest] for method in ("self_test", "labeled"))
        better += [a < b for a, b in zip(own, labels, strict=True)]
        said.append(f"{name} {_pair(own)} against {_pair(labels)}")
    seen = " against ".join(_pair(late[method, finest].mean(axis=0)) for method in ("self_test", "labeled"))
    paper = {key: [_published_mean(key, role) for role in ROLES] for key in of if key[2] in (finest, coarsest)}
    slower, theirs = (_degrade_slower(errors, finest, coarsest) for errors in (of, paper))
    total = 2 * len(BOUNDARY)
    return [
        Claim(
            f"At dt = {finest:g} the self-test is better than the MLE with labels on {STEEP} and smooth_control",
            all(better),
            f"{'; '.join(said)}; {STEEP} seen from t = {LATE:g} on: {seen}",
        ),
        Claim(
            "As the interval grows, errors of the self-test grow less than those of both MLEs",
            slower >= theirs,
            f"from dt = {finest:g} to {coarsest:g} in {slower} of {total} cells, in the paper's own table in {theirs}",
        ),
    ]


def _degrade_slower(of: dict[tuple[str, str, float], list[float]], finest: float, coarsest: float) -> int:
    """In how many cells the error of the self-test grows less than those of both MLEs."""
    grown = {
        (name, method): np.subtract(of[name, method, coarsest], of[name, method, finest])
        for name in BOUNDARY
        for method in ("self_test", "labeled", "sinkhorn")
    }
    return sum(
        int((grown[name, "self_test"] < np.minimum(grown[name, "labeled"], grown[name, "sinkhorn"])).sum())
        for name in BOUNDARY
    )


def _published_mean(key: tuple[str, str, float], role: str) -> float:
    name, method, dt = key
    found = published("boundary", role, model=name, method=method, interval=dt)
    return np.nan if found is None else found.mean


def _pair(errors: Sequence[float] | NDArray[np.float64]) -> str:
    return " / ".join(f"{e:.2f}" for e in errors)


def _in_the_paper(context: Context) -> str:
    """In how many cells of the published table the self-test is better than matching."""
    pairs = [
        [published("boundary", role, model=name, method=m, interval=dt) for m in ("self_test", "sinkhorn")]
        for name in BOUNDARY
        for dt in context.protocol.intervals_of(name)
        for role in ROLES
    ]
    return f"{sum(a.mean < b.mean for a, b in pairs if a and b)} of {len(pairs)}"


def _seen_late(context: Context) -> str:
    """The same for the singular model without the first instants, which explains what differs there (``readings``)."""
    if context.quick:
        return ""
    errors, intervals = pool_errors(context, STEEP, LATE), context.protocol.intervals_of(STEEP)
    better = [errors["self_test", dt].mean(axis=0) < errors["sinkhorn", dt].mean(axis=0) for dt in intervals]
    cells = np.concatenate(better)
    return f"; on the {STEEP} model seen from t = {LATE:g} on in {cells.sum()} of {len(cells)}"
