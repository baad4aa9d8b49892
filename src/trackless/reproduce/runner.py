"""Running experiments: unfinished parts first, with an estimate of the time left, then their section of the page."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from trackless import _progress
from trackless._errors import InputError
from trackless.reproduce import EXPERIMENTS
from trackless.reproduce.page import peak_memory, protocol_on, record, write_page, write_section
from trackless.reproduce.protocol import FULL, QUICK, Context, Part
from trackless.reproduce.store import Store

DURATIONS = "durations.csv"


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
    for name, part in _progress.track(work, lambda: running["part"], len(work)):
        if part is None:
            _finish(name, context, folder, done)
            continue
        running["part"] = part.name
        start = time.perf_counter()
        with _progress.shown_by(None):  # one bar is enough
            part.work()
        _note(context, part.name, time.perf_counter() - start)
    return write_page(folder)


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
    spent = {part: cost for part in _parts_of(name, context) if (cost := _spent(context).get(part)) is not None}
    seconds = sum(cost[0] for cost in spent.values()) + drawing
    earlier = {part for other in EXPERIMENTS[: EXPERIMENTS.index(name)] for part in _parts_of(other, context)}
    own = sum(cost[0] for part, cost in spent.items() if part not in earlier) + drawing
    memory = max([cost[1] for cost in spent.values()] + [peak_memory()])
    write_section(folder, name, section, record(seconds, own, memory, context.quick))
    write_page(folder)
    done(f"{name}: {section.title} ({seconds / 60:.1f} minutes)")


def _parts_of(name: str, context: Context) -> list[str]:
    return [part.name for part in _module(name).parts(context)]


def _note(context: Context, name: str, seconds: float) -> None:
    """What a part has cost: seconds, and the largest memory of the process up to then in GB."""
    with (context.store.folder / DURATIONS).open("a", newline="") as file:
        csv.writer(file).writerow([name, f"{seconds:.3f}", f"{peak_memory():.3f}"])


def _spent(context: Context) -> dict[str, tuple[float, float]]:
    path = context.store.folder / DURATIONS
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row[0]: (float(row[1]), float(row[2])) for row in csv.reader(file)}


def _module(name: str) -> Any:
    return import_module(f"trackless.reproduce.{name}")
