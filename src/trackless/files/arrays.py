"""Snapshots as named arrays, the layout that NPZ and HDF5 files share.

==================  =========================================================================================
positions, times    regular data: (runs, times, particles, dim) and (times,)
points, times,      ragged data: the particles of all snapshots one after the other, (points, dim); the times of
counts, lengths     all snapshots; how many particles each has; how many snapshots each run has
box                 sides of the periodic box, empty in free space
labeled             whether particles are in the same order in all frames of a run
species             the kind of each particle: (particles,), (runs, times, particles), or of ragged data (points,);
                    numbers into species_names, or names or numbers of your own
species_names       names of the kinds
format              version of this layout
==================  =========================================================================================

Your own files need positions (or (times, particles, dim) for a single run) and times (or dt); the rest may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError, TimeStepNeeded
from trackless.files.clock import check_time_step
from trackless.files.source import listed
from trackless.files.sources import FileArray
from trackless.snapshots import Snapshots
from trackless.stored import RowFrames, StoredArray, StoredRun
from trackless.survey import parts

VERSION = 2  # 2: species
NAMES = (
    "format", "positions", "points", "times", "counts", "lengths", "box", "labeled", "species", "species_names",
)  # fmt: skip


def arrays_of(snapshots: Snapshots) -> dict[str, NDArray[Any]]:
    """Regular data as one array; ragged data as stacked points with counts and lengths."""
    box = np.asarray(snapshots.box if snapshots.box is not None else [], float)
    arrays: dict[str, Any] = {"format": np.array(VERSION), "box": box, "labeled": np.array(snapshots.labeled)}
    runs = range(snapshots.runs)
    if snapshots.regular:
        arrays |= {"positions": snapshots.positions, "times": snapshots.times}
    else:
        counts = [snapshots.counts_of(m) for m in runs]
        arrays |= {
            "points": np.concatenate([snapshots.points_of(m, 0, len(counts[m]) - 1) for m in runs]),
            "times": np.concatenate([snapshots.times_of(m) for m in runs]),
            "counts": np.concatenate(counts),
            "lengths": np.array([len(c) for c in counts]),
        }
    if snapshots.species is not None:
        kinds = np.concatenate([snapshots.species_counts_of(m) for m in runs])
        numbers = np.tile(np.arange(kinds.shape[1], dtype=np.int32), len(kinds))
        each = np.repeat(numbers, kinds.ravel())
        if snapshots.regular:
            each = each.reshape(snapshots.positions.shape[:3])
            each = each[0, 0] if (each == each[0, 0]).all() else each
        arrays |= {"species": each, "species_names": np.array(snapshots.species)}
    return arrays


def snapshots_of(arrays: Mapping[str, Any], path: Path, dt: float | None, box: Any) -> Snapshots:
    """The data set that arrays of a file describe; ``dt`` where it has no times, ``box`` where it has no box."""
    try:
        snapshots = _snapshots(arrays, path, dt, box)
        if not snapshots.in_files:  # then whoever looks at all of them says so
            snapshots.check_finite()
        return snapshots
    except InputError as error:
        known = str(error).startswith(str(path))
        raise error if known else InputError(f"{path}: {error}") from None
    except (ValueError, TypeError, IndexError, OverflowError, UnicodeDecodeError, MemoryError):
        raise InputError(f"{path}: its arrays do not fit together; it is damaged: copy or write it again") from None


def _snapshots(arrays: Mapping[str, Any], path: Path, dt: float | None, box: Any) -> Snapshots:
    version = int(arrays.get("format", VERSION))
    if version > VERSION:
        raise InputError(f"{path}: written in format {version}, this version reads {VERSION}; update trackless")
    if "box" in arrays and np.size(arrays["box"]):
        if box is not None:
            raise InputError(f"{path}: the file has a periodic box of its own; leave box= out")
        box = np.asarray(arrays["box"]).tolist()
    labeled = bool(arrays.get("labeled", False))
    if "positions" in arrays:
        positions = arrays["positions"]
        if isinstance(positions, FileArray):
            positions = StoredArray.of(positions)
        positions = positions[None] if positions.ndim == 3 else positions
        times = arrays.get("times")
        if times is not None and dt is not None:
            check_time_step(path, dt, times)
        times = even_times(path, dt, positions) if times is None else times
        return Snapshots(positions, times, box, labeled, _kinds(arrays))
    if {"points", "times", "counts", "lengths"} - set(arrays):
        raise InputError(f"{path}: expected arrays positions and times, found {listed(sorted(arrays))}")
    if dt is not None:
        check_time_step(path, dt, arrays["times"])
    points = arrays["points"]
    counts, lengths = (np.asarray(arrays[name]) for name in ("counts", "lengths"))
    if (
        (counts < 0).any() or (lengths < 0).any() or counts.sum() != points.shape[0]
        or lengths.sum() != len(counts) or len(arrays["times"]) != len(counts)
    ):  # fmt: skip
        raise InputError(f"{path}: counts and lengths do not add up to its points; it is damaged: write it again")
    ends = np.cumsum(lengths)
    kinds = _kinds(arrays)
    frames: list[Any] = _left(points, counts, ends) if isinstance(points, FileArray) else _cut(points, counts, ends)
    per_run = np.split(np.asarray(arrays["times"]), ends[:-1])
    return Snapshots(frames, per_run, box, labeled, None if kinds is None else _cut(kinds, counts, ends))


def even_times(path: Path, dt: float | None, positions: Any) -> NDArray[np.float64]:
    """Times of an array that has none of its own."""
    if dt is None:
        raise TimeStepNeeded(f"{path}: the file holds no times; give the time between frames (dt=, --dt)")
    if positions.ndim != 4:
        raise InputError(f"{path}: expected positions (runs, times, particles, dim), got shape {positions.shape}")
    return np.arange(positions.shape[1]) * dt


def _kinds(arrays: Mapping[str, Any]) -> NDArray[Any] | None:
    if "species" not in arrays:
        return None
    kinds = np.asarray(arrays["species"])
    if "species_names" not in arrays:
        return kinds
    names = np.asarray(arrays["species_names"])
    if names.ndim != 1:
        raise ValueError("names in no list")
    if names.dtype.kind == "S":
        names = np.array([name.decode("utf-8") for name in names.tolist()])
    if kinds.size and not 0 <= kinds.min() <= kinds.max() < len(names):
        raise ValueError("a kind without a name")
    return names[kinds]


def _cut(rows: NDArray[Any], counts: NDArray[Any], ends: NDArray[Any]) -> list[Any]:
    """Rows of all particles as a list of runs, each a list of frames."""
    frames = np.split(rows, np.cumsum(counts)[:-1])
    starts = np.append(0, ends[:-1])
    return [frames[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def _left(points: FileArray, counts: NDArray[Any], ends: NDArray[Any]) -> list[StoredRun]:
    """The same for rows that stay in their file."""
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    firsts = np.append(0, ends[:-1])
    return [
        StoredRun(RowFrames(points, starts[a : b + 1])) for a, b in zip(firsts.tolist(), ends.tolist(), strict=True)
    ]


def written_in_parts(snapshots: Snapshots, target: Any) -> None:
    """Positions of regular data that are in files, written to an array (runs, times, particles, dim) piece by piece."""
    for runs, first, last in parts(snapshots):
        target[runs.start : runs.stop, first : last + 1] = snapshots.positions.of_runs(runs, first, last)
