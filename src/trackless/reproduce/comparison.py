"""What the method-comparison and the boundary tables have in common: cells with the paper's numbers and ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.reproduce.best import Best, best_errors, best_parts, steps_errors, steps_parts
from trackless.reproduce.pool import METHODS, pool_errors, score_parts
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.published import AGREES, Published, published
from trackless.reproduce.sections import Table, pm
from trackless.reproduce.trained import network_errors, network_parts

Array = NDArray[np.float64]
ROLES = ("external", "interaction")
SYMBOLS = {"external": "V", "interaction": "Phi"}
NAMES = {
    "labeled": "labeled MLE",
    "self_test": "self-test",
    "sinkhorn": "Sinkhorn MLE",
    "network": "network",
    "oracle": "oracle functions",
    "door": "`tl.fit`",
}


class Cell(NamedTuple):
    """One method at one interval: the paper's number and ours, errors in %."""

    model: str
    interval: float
    method: str
    role: str
    paper: Published | None
    ours: Array
    """(trials,)"""

    @property
    def off(self) -> float:
        """Difference of the means in combined standard deviations of the trials."""
        return self.paper.off(self.ours) if self.paper is not None else np.nan

    @property
    def agrees(self) -> bool:
        """Within twice the combined standard deviation."""
        return bool(abs(self.off) <= AGREES)


class Contest(NamedTuple):
    """The paper's best without labels against ours at its best."""

    model: str
    interval: float
    kind: str
    """"oracle" or "door": with or without the true functions"""
    role: str
    paper: Published
    whose: str
    ours: Array
    on_steps: float = np.nan
    """error of one set simulated as in the paper"""

    @property
    def won_on_steps(self) -> bool:
        """The same on that set, which scatters as those of ``ours`` do."""
        spread = self.paper.error(self.ours * np.sqrt(len(self.ours)))
        return bool(self.on_steps <= self.paper.mean + AGREES * spread)

    @property
    def won(self) -> bool:
        """Better, or within two standard errors."""
        return bool(self.ours.mean() <= self.paper.mean or self.paper.alike(self.ours))

    @property
    def said(self) -> str:
        """What was compared, in words."""
        what = f"{SYMBOLS[self.role]} of {self.model} by {NAMES[self.kind]} at dt = {self.interval:g}"
        return f"{what} ({self.ours.mean():.3g} against {self.paper.mean:.3g} %)"


def comparison_parts(context: Context, *names: str) -> list[Part]:
    """All that these tables need."""
    return [
        *score_parts(context, *names), *network_parts(context, *names), *best_parts(context, *names),
        *steps_parts(context, *names),
    ]  # fmt: skip


def cells_of(context: Context, table: str, name: str) -> list[Cell]:
    """All methods at all intervals, under the paper's protocol."""
    errors: dict[tuple[str, float], Array] = dict(pool_errors(context, name))
    errors |= {("network", dt): values for dt, values in network_errors(context, name).items()}
    return [
        Cell(name, dt, method, role, published(table, role, model=name, method=method, interval=dt), values[:, k])
        for dt in context.protocol.intervals_of(name)
        for method in (*METHODS, "network")
        if (values := errors.get((method, dt))) is not None
        for k, role in enumerate(ROLES)
    ]


def contests_of(context: Context, table: str, name: str) -> list[Contest]:
    """Oracle against oracle, tl.fit against the network."""
    found = []
    for dt in context.protocol.intervals_of(name):
        ours: Best = best_errors(context, name, dt)
        on_steps = {} if context.quick else steps_errors(context, name, dt)
        for kind, methods, errors in (
            ("oracle", ("self_test", "sinkhorn"), ours.oracle),
            ("door", ("network",), ours.door),
        ):
            for k, role in enumerate(ROLES):
                theirs = {m: published(table, role, model=name, method=m, interval=dt) for m in methods}
                known = {m: p for m, p in theirs.items() if p is not None}
                if known:
                    whose = min(known, key=lambda m, known=known: known[m].mean)
                    one = float(on_steps[kind][k]) if on_steps else np.nan
                    found.append(Contest(name, dt, kind, role, known[whose], whose, errors[:, k], one))
    return found


def contradicts(first: Array, second: Array, factor: float = 1.0) -> bool:
    """Whether trials speak against ``factor`` times the first being smaller: by two standard errors of the means.

    Examples
    --------
    >>> contradicts(np.array([1.0, 1.2]), np.array([1.0, 1.1])), contradicts(np.array([3.0, 3.2]), np.array([1.0, 1.1]))
    (False, True)
    """
    one, other = (each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in (factor * first, second))
    return bool(factor * first.mean() - second.mean() > AGREES * np.hypot(one, other))


def protocol_table(name: str, title: str, cells: list[Cell], reasons: Mapping[tuple[str, str], str]) -> Table:
    """Paper and ours side by side; cells that differ are marked with the number of their reason."""
    asked = dict.fromkeys(_reason(c, reasons) for c in cells if np.isfinite(c.off) and not c.agrees)
    numbers = {key: k + 1 for k, key in enumerate(key for key in asked if key is not None)}
    rows = []
    for model, dt, method in dict.fromkeys((c.model, c.interval, c.method) for c in cells):
        pair = [c for c in cells if (c.model, c.interval, c.method) == (model, dt, method)]
        said: list[str | None] = [model, f"{dt:g}", NAMES[method]]
        for cell in pair:
            said += [_paper(cell.paper), pm(cell.ours), _verdict(cell, numbers)]
        rows.append(tuple(said))
    columns = ("model", "dt", "method", *(
        text for role in ROLES for s in [SYMBOLS[role]] for text in (f"{s} paper", f"{s} ours", f"{s} differs")
    ))  # fmt: skip
    note = (
        "Errors of the gradients in %, mean +- standard deviation over trials. *differs*: difference of the means in "
        "combined standard deviations of single trials, where it is more than two"
    )
    if numbers:
        note += "; a number in brackets is that of its reason:\n\n"
        note += "\n".join(f"{number}. {reasons[key]}" for key, number in numbers.items())
    else:
        note += "."
    return Table(name, title, columns, rows, note)


def contest_table(name: str, title: str, contests: list[Contest], reason: str = "") -> Table:
    """Paper's best and ours, the better in bold; ``reason``: why some are lost."""
    rows = []
    for c in contests:
        theirs, ours = f"{_paper(c.paper)} ({NAMES[c.whose]})", pm(c.ours)
        better = c.ours.mean() <= c.paper.mean
        rows.append((
            c.model, f"{c.interval:g}", SYMBOLS[c.role], theirs if better else f"**{theirs}**", NAMES[c.kind],
            f"**{ours}**" if better else ours,
            "" if better else ("within two standard errors" if c.won else "worse"), c.on_steps,
        ))  # fmt: skip
    note = (
        "Errors of the gradients in %; the better mean is bold. Nothing of ours looked at the truth; the paper's "
        "networks stop on it. The last column: the same estimators on one set of runs simulated in the paper's steps, "
        f"which have errors of their own. {reason}"
    ).rstrip()
    return Table(
        name, title,
        ("model", "dt", "of", "paper, best without labels", "ours", "ours at its best", "", "on the paper's steps"),
        rows, note,
    )  # fmt: skip


def counts_of(cells: list[Cell], contests: list[Contest]) -> dict[str, tuple[int, int]]:
    """How many cells agree with the paper (least squares only), by two measures, and how many contests are won."""
    counted = [c for c in cells if c.method != "network" and np.isfinite(c.off)]
    alike = sum(c.paper.alike(c.ours) for c in counted if c.paper is not None)
    return {
        "agree": (sum(c.agrees for c in counted), len(counted)),
        "alike": (alike, len(counted)),
        "won": (sum(c.won for c in contests), len(contests)),
        "steps": (sum(c.won_on_steps for c in contests), len(contests)),
    }


def coverage(context: Context, *names: str) -> str:
    """How much of the explored measure the 95 % bands of tl.fit cover."""
    found = [
        best_errors(context, name, dt).covered.mean(axis=0)
        for name in names
        for dt in context.protocol.intervals_of(name)
    ]
    each = 100 * np.array([pair for pair in found if np.isfinite(pair).all()])
    (v, phi), (least_v, least_phi) = each.mean(axis=0), each.min(axis=0)
    return (
        f"The 95 % bands of `tl.fit` cover V' in {v:.0f} % and Phi' in {phi:.0f} % of the explored measure (least of "
        f"all intervals{' and models' if len(names) > 1 else ''}: {least_v:.0f} and {least_phi:.0f} %)."
    )


def shares(cells: list[Cell], contests: list[Contest]) -> Iterator[str]:
    """The same in sentences."""
    counts = counts_of(cells, contests)
    agree, total = counts["agree"]
    yield (
        f"Under the paper's protocol {agree} of {total} least-squares cells ({agree / max(total, 1):.0%}) are within "
        "twice the combined standard deviation of single trials of the published mean, "
        f"{counts['alike'][0]} within two standard errors of it."
    )
    won, total = counts["won"]
    better = sum(bool(c.ours.mean() <= c.paper.mean) for c in contests)
    yield (
        f"At its best ours is better than the paper's best method without labels in {better} of {total} cells, and "
        f"better or within two standard errors in {won} ({won / max(total, 1):.0%})."
    )


def _paper(number: Published | None) -> str:
    if number is None:
        return ""
    return f"{number.mean:g}" + (f" +- {number.std:g}" if np.isfinite(number.std) else "")


def _verdict(cell: Cell, numbers: Mapping[tuple[str, str], int]) -> str:
    if not np.isfinite(cell.off) or cell.agrees:
        return ""
    reason = _reason(cell, numbers)
    return f"{cell.off:+.3g}" + (f" ({numbers[reason]})" if reason is not None else "")


def _reason(cell: Cell, known: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    """Where the reason for a cell is found: that of its model and method, or of its method everywhere."""
    return next((key for key in ((cell.model, cell.method), ("", cell.method)) if key in known), None)
