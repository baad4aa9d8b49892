"""Snapshots -> rows of particles for tables, and frames of one run for trajectories; text tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.files.columns import AXES
from trackless.snapshots import Snapshots


def check_fits_table(snapshots: Snapshots, path: Path) -> None:
    """Refuse what a table of particles has no place for."""
    if snapshots.box is not None:
        raise InputError(f"{path}: a table has no place for a periodic box; write .npz or .h5 instead")
    if snapshots.dim > len(AXES):
        raise InputError(
            f"{path}: a table has columns x, y, z only, the data have {snapshots.dim} dimensions; "
            "write .npz or .h5 instead"
        )


def rows_of(snapshots: Snapshots) -> Iterator[dict[str, Any]]:
    """Columns run, time, [particle,] [species,] x[, y[, z]] of one run after the other."""
    for m in _progress.track(range(snapshots.runs), "writing", snapshots.runs):
        counts = snapshots.counts_of(m)
        if not counts.all():
            raise InputError(f"run {m} has a frame without particles, which has no place in a table; write .npz or .h5")
        points = snapshots.points_of(m, 0, len(counts) - 1)
        columns: dict[str, Any] = {"run": np.full(len(points), m), "time": np.repeat(snapshots.times_of(m), counts)}
        if snapshots.labeled:
            columns["particle"] = np.concatenate([np.arange(n) for n in counts])
        if snapshots.species is not None:
            kinds = snapshots.species_counts_of(m)
            columns["species"] = np.repeat(np.tile(snapshots.species, len(counts)), kinds.ravel())
        yield columns | {axis: points[:, k] for k, axis in enumerate(AXES[: snapshots.dim])}


def frames_of(snapshots: Snapshots, path: Path) -> Iterator[tuple[float, NDArray[np.float64], list[str] | None]]:
    """Time, positions and kinds of the snapshots of the one run that a trajectory file holds."""
    if snapshots.runs > 1:
        raise InputError(
            f"{path}: the format holds one run, the data have {snapshots.runs}; write one file per run: "
            "tl.write(data[m : m + 1], ...)"
        )
    if snapshots.dim > len(AXES):
        raise InputError(
            f"{path}: the format has three dimensions at most, the data have {snapshots.dim}; write .npz or .h5 instead"
        )
    if any(not name or name.split() != [name] for name in snapshots.species or ()):
        raise InputError(f"{path}: the names of species may not hold blanks here, got {snapshots.species}; rename them")
    times = snapshots.times_of(0).tolist()
    for i in _progress.track(range(len(times)), "writing", len(times)):
        points = np.asarray(snapshots.frame(0, i), dtype=np.float64)
        if not len(points):
            raise InputError(f"{path}: frame {i} has no particles, which the format cannot say; write .npz or .h5")
        if snapshots.box is not None and ((points < 0) | (points > np.asarray(snapshots.box))).any():
            raise InputError(
                f"{path}: frame {i} has positions outside the box from 0 to {list(snapshots.box)}, which would be "
                "wrapped on reading; wrap them first, or write .npz or .h5"
            )
        yield times[i], points, snapshots.species_of(0, i).tolist() if snapshots.species is not None else None


def write_delimited(snapshots: Snapshots, path: Path, separator: str) -> None:
    """Full precision: reading gives the same numbers back."""
    check_fits_table(snapshots, path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        for m, columns in enumerate(rows_of(snapshots)):
            if m == 0:
                writer.writerow(columns)
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_csv(snapshots: Snapshots, path: Path) -> None:
    """Separated by commas."""
    write_delimited(snapshots, path, ",")


def write_tsv(snapshots: Snapshots, path: Path) -> None:
    """Separated by tabs."""
    write_delimited(snapshots, path, "\t")
