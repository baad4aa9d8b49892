"""The results of ``trackless benchmark`` as one table, on the terminal and as a page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from trackless import __version__
from trackless._errors import InputError
from trackless._threads import get_threads
from trackless.benchmarks.scaling import Growth
from trackless.benchmarks.speed import Comparison
from trackless.files.atomic import check_target, replacing

TITLE = "# Speed, measured by `trackless benchmark`"
INTRODUCTION = """\
Snapshots have 10 particles where nothing else is said. Everything was timed in one run on one machine: the shortest
of a few timings, so ratios mean something and seconds little. *Plain NumPy*: the same sums, one snapshot after the
other, timed on a part and scaled (networks: Hessians in JAX). *Share of the peak*: operations that the formulas ask
for, counted, per second, over what compiled chains of multiply-adds in the first cache reach on the same threads.
Exponents are those between the two largest sizes."""
COLUMNS = ("operation", "ours", "plain NumPy", "ratio", "grows like")


class Row(NamedTuple):
    """One operation, in words."""

    operation: str
    ours: str
    plain: str
    ratio: str
    grows: str


def rows(speed: Sequence[Comparison], growth: Sequence[Growth]) -> list[Row]:
    """Speed, then how it scales.

    Examples
    --------
    >>> rows([], [Growth("accumulate", "runs M", 1, {100: 0.5, 200: 1.0})])
    [Row(operation='accumulate', ours='0.5 s, 1 s', plain='', ratio='', grows='M^1.00 (100, 200; expected M^1)')]
    """
    found = [Row(one.what, one.ours, one.baseline, _ratio(one.ratio), "") for one in speed]
    for one in growth:
        letter = one.size.split()[-1]
        sizes = ", ".join(f"{size:,}" for size in sorted(one.seconds))
        grows = f"{letter}^{one.exponent:.2f} ({sizes}; expected {letter}^{one.expected:g})"
        each = ", ".join(f"{one.seconds[size]:.3g} s" for size in sorted(one.seconds))
        found.append(Row(one.operation, each, "", "", grows))
    return found


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.0%}" if ratio < 1 else f"{ratio:.0f} x"


def check_page(path: Path, force: bool) -> None:
    """Refuse, before any work, to write over anything but an older page, or where nothing can be written.

    Folders above it that are not there are made with the page.
    """
    there = next(folder for folder in path.absolute().parents if folder.exists())
    check_target(path if path.parent.is_dir() else there / path.name, overwrite=True)
    if force or not path.is_file():
        return
    with path.open(errors="replace") as file:
        if file.readline().rstrip() != TITLE:
            raise InputError(f"{path} exists and is none of this program's pages; choose another name, or use --force")


def write_page(path: Path, table: Sequence[Row]) -> None:
    """The table as Markdown, with what one must know to read it."""
    lines = [
        TITLE,
        "",
        INTRODUCTION,
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
        *(f"| {' | '.join(row)} |" for row in table),
        "",
        f"*{date.today()}, trackless {__version__}, {get_threads()} threads, {platform.machine()}.*",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, overwrite=True) as temporary:
        temporary.write_text("\n".join(lines) + "\n")
