"""Table 4 of the paper: four models at the edges of the theory, at three intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trackless.reproduce.comparison import (
    ROLES,
    SYMBOLS,
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
from trackless.reproduce.pool import matched_right, pool_errors
from trackless.reproduce.protocol import BOUNDARY, Context, Part
from trackless.reproduce.published import published
from trackless.reproduce.readings import LATE, STEEP, reading_parts, reasons_of, why_steep_is_hard
from trackless.reproduce.sections import Claim, Section, Table

TITLE = "Boundary tests (Table 4)"
MATCHED = ("labeled", "sinkhorn")
Array = NDArray[np.float64]
Trials = dict[tuple[str, str, float, str], Array]
"""errors in % (trials,) by model, method, interval and role"""


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
        coverage(context, *BOUNDARY),
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
    of: Trials = {(c.model, c.method, c.interval, c.role): c.ours for c in cells}

    def against(first: str, second: str) -> list[str]:
        """Cells that speak against the first method being better than the second."""
        return [
            f"{name}, dt = {dt:g}, {SYMBOLS[role]}: {a.mean():.2f} and {b.mean():.2f}"
            for name in BOUNDARY
            for dt in intervals
            for role in ROLES
            for a, b in [(of[name, first, dt, role], of[name, second, dt, role])]
            if contradicts(a, b)
        ]

    total, coarsest = 2 * len(BOUNDARY) * len(intervals), intervals[-1]
    worse = against("self_test", "sinkhorn")
    # of the conditioning model the paper says so for Phi only
    asked = [(name, role) for name in BOUNDARY for role in ROLES if (name, role) != ("conditioning", "external")]
    rivals = ("self_test", "sinkhorn")
    beaten = [
        f"{SYMBOLS[role]} of {name}: {own.mean():.2f}, {other} {of[name, other, coarsest, role].mean():.2f}"
        for name, role in asked
        for own, other in [(of[name, "network", coarsest, role], _best(of, rivals, name, coarsest, role))]
        if contradicts(own, of[name, other, coarsest, role])
    ]
    door = {(c.model, c.role): c.ours for c in contests if c.kind == "door" and c.interval == coarsest}
    ahead = sum(errors.mean() <= of[name, "network", coarsest, role].mean() for (name, role), errors in door.items())
    theirs = published("boundary", "interaction", model=STEEP, method="network", interval=coarsest)
    ours = of[STEEP, "network", coarsest, "interaction"].mean()
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
            not beaten,
            f"not worse than the self-test and matching with the true functions in {len(asked) - len(beaten)} of "
            f"{len(asked)} cells that it says so of"
            + (f"; not: {'; '.join(beaten)}" if beaten else "")
            + f"; `tl.fit`, which knows no functions either, is better than our networks in {ahead} of {len(door)}",
        ),
        Claim(
            f"Networks learn Phi of the {STEEP} model at dt = {coarsest:g}",
            theirs is not None and ours <= 2 * theirs.mean,
            f"{ours:.1f} against {theirs.mean if theirs else np.nan:g} %",
        ),
        *_against_labels(context, of),
    ]


def _best(of: Trials, methods: Sequence[str], name: str, dt: float, role: str) -> str:
    """The method with the smallest mean."""
    return min(methods, key=lambda method: of[name, method, dt, role].mean())


def _against_labels(context: Context, of: Trials) -> list[Claim]:
    """What the paper says of the self-test beside the MLEs."""
    if context.quick:
        return []
    finest, *_, coarsest = context.protocol.intervals_of(STEEP)
    late = pool_errors(context, STEEP, LATE)
    said, worse = [], []
    for name in (STEEP, "smooth_control"):
        own, labels = ([of[name, method, finest, role] for role in ROLES] for method in ("self_test", "labeled"))
        worse += [contradicts(a, b) for a, b in zip(own, labels, strict=True)]
        said.append(f"{name} {_pair(own)} against {_pair(labels)}")
    seen = " against ".join(_pair(late[method, finest].T) for method in ("self_test", "labeled"))
    paper: Trials = {key: np.array([_published_mean(key)]) for key in of}
    slower, theirs = (_degrade_slower(errors, finest, coarsest) for errors in (of, paper))
    total = 2 * len(BOUNDARY)
    return [
        Claim(
            f"At dt = {finest:g} the self-test is better than the MLE with labels on {STEEP} and smooth_control",
            not any(worse),
            f"{'; '.join(said)}; {STEEP} seen from t = {LATE:g} on: {seen}",
        ),
        Claim(
            "As the interval grows, errors of the self-test grow less than those of both MLEs",
            slower == total,
            f"from dt = {finest:g} to {coarsest:g} in {slower} of {total} cells, in the paper's own table in {theirs}",
        ),
    ]


def _degrade_slower(of: Trials, finest: float, coarsest: float) -> int:
    """In how many cells nothing speaks against the error of the self-test growing less than those of both MLEs."""
    grown = {key[:2] + key[3:]: of[(*key[:2], coarsest, key[3])] - of[(*key[:2], finest, key[3])] for key in of}
    return sum(
        not any(contradicts(grown[name, "self_test", role], grown[name, other, role]) for other in MATCHED)
        for name in BOUNDARY
        for role in ROLES
    )


def _published_mean(key: tuple[str, str, float, str]) -> float:
    name, method, dt, role = key
    found = published("boundary", role, model=name, method=method, interval=dt)
    return np.nan if found is None else found.mean


def _pair(errors: Sequence[Array] | Array) -> str:
    return " / ".join(f"{e.mean():.2f}" for e in errors)


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
