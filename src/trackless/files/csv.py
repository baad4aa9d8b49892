"""CSV: one particle per line, columns run, time (or frame), particle, x, y[, z] in any order."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.snapshots import Snapshots

AXES = ("x", "y", "z")


def write(snapshots: Snapshots, path: Path) -> None:
    """Full precision: reading gives the same numbers back. A box has no place in a CSV file."""
    if snapshots.box is not None:
        raise InputError("CSV has no place for a periodic box; write .npz instead")
    if snapshots.dim > len(AXES):
        raise InputError(f"CSV has columns x, y, z only, the data have {snapshots.dim} dimensions; write .npz instead")
    names = ["run", "time", *(["particle"] if snapshots.labeled else []), *AXES[: snapshots.dim]]
    with path.open("w", encoding="ascii") as file:
        file.write(",".join(names) + "\n")
        for m in range(snapshots.runs):
            lines = []
            for i, time in enumerate(snapshots.times_of(m).tolist()):
                for k, point in enumerate(snapshots.frame(m, i).tolist()):
                    label = f"{k}," if snapshots.labeled else ""
                    lines.append(f"{m},{time!r},{label}{','.join(map(repr, point))}\n")
            file.writelines(lines)


def read(path: Path, dt: float | None = None) -> Snapshots:
    """Group lines by run and time; frames are turned into times with ``dt``."""
    columns = _columns(path)
    points = np.stack([columns[a] for a in AXES if a in columns], axis=1)
    bad = ~np.isfinite(points).all(axis=1)
    if bad.any():
        line = int(np.argmax(bad)) + 2
        raise InputError(f"{path}, line {line}: a position is empty, NaN or infinite; remove or repair the line")
    times = _times(path, columns, dt)
    runs = columns.get("run", np.zeros(len(points)))
    particles = columns.get("particle")
    keys = (times, runs) if particles is None else (particles, times, runs)
    order = np.lexsort(keys)
    runs, times, points = runs[order], times[order], points[order]
    new_frame = np.flatnonzero((np.diff(times, prepend=np.nan) != 0) | (np.diff(runs, prepend=np.nan) != 0))
    frames = np.split(points, new_frame[1:])
    run_of = runs[new_frame]
    run_ends = np.flatnonzero(np.diff(run_of, append=np.nan) != 0) + 1
    per_run = [frames[a:b] for a, b in zip(np.append(0, run_ends[:-1]), run_ends, strict=True)]
    times_per_run = np.split(times[new_frame], run_ends[:-1])
    labeled = particles is not None and _same_labels(particles[order], new_frame, run_of)
    if len({len(frame) for frame in frames}) == 1 and all(np.array_equal(t, times_per_run[0]) for t in times_per_run):
        return Snapshots(np.array(per_run), times_per_run[0], labeled=labeled)
    return Snapshots(per_run, times_per_run, labeled=labeled)


def _columns(path: Path) -> dict[str, NDArray[np.float64]]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline()
        names = [name.strip().strip('"').lower() for name in header.split(",")]
        if not header.strip() or all(_is_number(name) for name in names):
            raise InputError(
                f"{path}: expected a first line with column names such as run,time,x,y; found {header.strip()!r}"
            )
        wanted = [k for k, name in enumerate(names) if name in {"run", "time", "t", "frame", "particle", *AXES}]
        if not wanted:
            raise InputError(
                f"{path}: expected columns time or frame, x, y[, z], separated by commas; found {header.strip()!r}"
            )
        if "x" not in names:
            raise InputError(f"{path}: expected columns x, y[, z], found {', '.join(names)}; rename them in the file")
        try:
            with warnings.catch_warnings(action="ignore"):  # an empty file gets an error of its own below
                values = np.loadtxt(file, delimiter=",", usecols=wanted, ndmin=2, comments=None)
        except ValueError as error:
            where = re.search(r"(.*) at row (\d+), column (\d+)", str(error))
            said = f"line {int(where[2]) + 2}: {where[1]} (column {where[3]})" if where else str(error)
            raise InputError(f"{path}: a line is not made of numbers ({said})") from None
    if not len(values):
        raise InputError(f"{path}: there are no lines after the header")
    return {"time" if names[k] == "t" else names[k]: values[:, i] for i, k in enumerate(wanted)}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _times(path: Path, columns: dict[str, NDArray[np.float64]], dt: float | None) -> NDArray[np.float64]:
    if "time" in columns and dt is None:
        return columns["time"]
    if "frame" in columns:
        if dt is None:
            raise InputError(f"{path}: the file counts frames; give the time between them (dt=, --dt)")
        return columns["frame"] * dt
    if "time" in columns:
        raise InputError(f"{path}: the file has a time column, so dt= is not needed; leave it out")
    raise InputError(f"{path}: expected a column time or frame, found {', '.join(columns)}")


def _same_labels(particles: NDArray[np.float64], new_frame: NDArray[np.int64], run_of: NDArray[np.float64]) -> bool:
    """Whether every frame of a run holds the same particles, so that the column is a label."""
    groups = np.split(particles, new_frame[1:])
    return all(np.array_equal(groups[k], groups[k - 1]) for k in range(1, len(groups)) if run_of[k] == run_of[k - 1])
