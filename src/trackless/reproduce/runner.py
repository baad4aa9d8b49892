"""Running experiments: unfinished parts first, with an estimate of the time left, then their section of the page."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from trackless import _progress
from trackless._errors import InputError
from trackless.reproduce import EXPERIMENTS
from trackless.reproduce.page import check_page, protocol_on, write_page, write_section
from trackless.reproduce.protocol import FULL, QUICK, Context, Part
from trackless.reproduce.provenance import Cost, commit, forget_peak, peak_memory, record
from trackless.reproduce.store import Store

DURATIONS = "durations.csv"
DRAWING = 5.0  # seconds, about, that tables and figures of a section take


def title_of(name: str) -> str:
    """What an experiment is."""
    return _module(name).TITLE


def chosen(names: Sequence[str]) -> list[str]:
    """Experiments by name, each once; "all" is all of them."""
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            raise InputError(f"reproduce: there is no {name!r}; expected all, {', '.join(EXPERIMENTS)}")
    return [*EXPERIMENTS] if "all" in names else [*dict.fromkeys(names)]


def open_context(folder: Path, quick: bool, resume: bool) -> Context:
    """The place where parts are kept; parts of an earlier run are used only if asked for.

    A quick look and the full run do not share a page: one would overwrite what the other took hours to compute.
    """
    check_page(folder)
    there, wanted = protocol_on(folder), "quick" if quick else "full"
    if there not in (None, wanted):
        raise InputError(f"{folder} holds the page of a {there} run; give a {wanted} one another --output")
    parts = folder / "parts" / ("quick" if quick else "full")
    if not resume and parts.is_dir() and any(parts.iterdir()):
        raise InputError(
            f"{parts} holds finished parts of an earlier run; use --resume to go on with them, or another --output"
        )
    return Context(QUICK if quick else FULL, Store(parts))


def reproduce(names: Sequence[str], context: Context, folder: Path, done: Callable[[str], Any] = print) -> Path:
    """Compute what is not there yet, and write sections and page.

    Parameters
    ----------
    names : list of str
        Experiments.
    done : callable
        Told what was finished.
    """
    work = _unfinished(names, context)
    running = {"part": ""}
    costs = [DRAWING if part is None else part.seconds for _, part in work]
    for name, part in _progress.track(_named(work, running), lambda: running["part"], sum(costs), costs):
        if part is None:
            _finish(name, context, folder, done)
            continue
        forget_peak()
        start = time.perf_counter()
        with _progress.shown_by(None):  # one bar is enough
            part.work()
        _note(context, part.name, time.perf_counter() - start)
    return write_page(folder)


def _named(work: Sequence[tuple[str, Part | None]], running: dict[str, str]) -> Iterator[tuple[str, Part | None]]:
    """The same, with the name of what begins told before it does."""
    for name, part in work:
        running["part"] = f"{name}: tables and figures" if part is None else part.name
        yield name, part


def _unfinished(names: Sequence[str], context: Context) -> list[tuple[str, Part | None]]:
    """Parts that are not there, each once; None where an experiment has all it needs."""
    seen: set[str] = set()
    work: list[tuple[str, Part | None]] = []
    for name in names:
        for part in _module(name).parts(context):
            if not part.done and part.name not in seen:
                seen.add(part.name)
                work.append((name, part))
        work.append((name, None))
    return work


def _finish(name: str, context: Context, folder: Path, done: Callable[[str], Any]) -> None:
    module = _module(name)
    start = time.perf_counter()
    with _progress.shown_by(None):
        section = module.section(context)
    drawing = time.perf_counter() - start
    costs = _spent(context)
    spent = {part: costs[part] for part in _parts_of(name, context) if part in costs}
    seconds = sum(cost.seconds for cost in spent.values()) + drawing
    earlier = {part for other in EXPERIMENTS[: EXPERIMENTS.index(name)] for part in _parts_of(other, context)}
    own = sum(cost.seconds for part, cost in spent.items() if part not in earlier) + drawing
    memory = max([cost.memory for cost in spent.values()] or [peak_memory()])
    commits = dict.fromkeys([*(cost.commit for cost in spent.values()), commit()])
    write_section(folder, name, section, record(seconds, own, memory, list(commits), context.quick))
    write_page(folder)
    done(f"{name}: {section.title} ({seconds / 60:.1f} minutes)")


def _parts_of(name: str, context: Context) -> list[str]:
    return [part.name for part in _module(name).parts(context)]


def _note(context: Context, name: str, seconds: float) -> None:
    """What a part has cost: seconds, the largest memory meanwhile in GB, and the commit that computed it."""
    with (context.store.folder / DURATIONS).open("a", newline="") as file:
        csv.writer(file).writerow([name, f"{seconds:.3f}", f"{peak_memory():.3f}", commit()])


def _spent(context: Context) -> dict[str, Cost]:
    """What is known of that by name; a line that was cut short when a run was killed is left out."""
    path = context.store.folder / DURATIONS
    if not path.exists():
        return {}
    with path.open(newline="", errors="replace") as file:
        rows = [row for row in csv.reader(file) if len(row) == 1 + len(Cost._fields)]
    return {row[0]: cost for row in rows if (cost := Cost.read(*row[1:])) is not None}


def _module(name: str) -> Any:
    return import_module(f"trackless.reproduce.{name}")
