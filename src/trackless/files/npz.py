"""NPZ and NPY: arrays as they are, no pickles."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.snapshots import Snapshots

VERSION = 1


def write(snapshots: Snapshots, path: Path) -> None:
    """Regular data as one array; ragged data as stacked points with counts and lengths."""
    box = np.asarray(snapshots.box if snapshots.box is not None else [], float)
    arrays: dict[str, Any] = {"format": np.array(VERSION), "box": box, "labeled": np.array(snapshots.labeled)}
    if snapshots.regular:
        arrays |= {"positions": snapshots.positions, "times": snapshots.times}
    else:
        runs = range(snapshots.runs)
        counts = [snapshots.counts_of(m) for m in runs]
        arrays |= {
            "points": np.concatenate([snapshots.points_of(m, 0, len(counts[m]) - 1) for m in runs]),
            "times": np.concatenate([snapshots.times_of(m) for m in runs]),
            "counts": np.concatenate(counts),
            "lengths": np.array([len(c) for c in counts]),
        }
    with path.open("wb") as file:  # given a name, savez would add its own ending to ".NPZ"
        np.savez(file, **arrays)


def read(path: Path, dt: float | None = None) -> Snapshots:
    """Read what :func:`write` wrote, or any archive with ``positions`` and ``times`` (or ``dt``)."""
    try:
        with path.open("rb") as file:  # given a name, load leaves a damaged archive open
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds a single array, as .npy files do")
            arrays = dict(archive)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
        raise InputError(f"{path}: not a readable NPZ archive of plain arrays") from None
    version = int(arrays.get("format", VERSION))
    if version != VERSION:
        raise InputError(f"{path}: written in format {version}, this version reads {VERSION}; update trackless")
    box = arrays["box"].tolist() if "box" in arrays and arrays["box"].size else None
    labeled = bool(arrays.get("labeled", False))
    if "positions" in arrays:
        times = arrays.get("times")
        if times is not None and dt is not None:
            raise InputError(f"{path}: the file holds times, so dt= is not needed; leave it out")
        if times is None:
            times = _times(path, dt, arrays["positions"])
        return Snapshots(arrays["positions"], times, box, labeled)
    missing = {"points", "times", "counts", "lengths"} - set(arrays)
    if missing:
        raise InputError(f"{path}: expected arrays positions and times, found {', '.join(sorted(arrays)) or 'none'}")
    frames = np.split(arrays["points"], np.cumsum(arrays["counts"])[:-1])
    ends = np.cumsum(arrays["lengths"])
    starts = ends - arrays["lengths"]
    runs = [frames[a:b] for a, b in zip(starts, ends, strict=True)]
    return Snapshots(runs, np.split(arrays["times"], ends[:-1]), box, labeled)


def read_array(path: Path, dt: float | None = None) -> Snapshots:
    """A memory-mapped array (runs, times, particles, dim), or (times, particles, dim) for one run."""
    try:
        positions = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(positions, np.ndarray):
            positions.close()
            raise ValueError("it is an archive of several arrays, as .npz files are")
    except (ValueError, OSError, EOFError):
        raise InputError(f"{path}: not a readable NPY array of plain numbers") from None
    if positions.ndim == 3:
        positions = positions[None]
    return Snapshots(positions, _times(path, dt, positions))


def _times(path: Path, dt: float | None, positions: np.ndarray) -> np.ndarray:
    if dt is None:
        raise InputError(f"{path}: the file holds no times; give the time between frames (dt=, --dt)")
    if positions.ndim != 4:
        raise InputError(f"{path}: expected positions (runs, times, particles, dim), got shape {positions.shape}")
    return np.arange(positions.shape[1]) * dt
