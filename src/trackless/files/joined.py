"""What was found in several files as one data set, in memory, or left in the files where that is too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.files.columns import Layout
from trackless.files.parquet import ParquetPart
from trackless.files.sources import WholeFile
from trackless.joining import concatenate
from trackless.snapshots import Snapshots
from trackless.species import Species
from trackless.stored import RowFrames, StoredArray, StoredRun


@dataclass(frozen=True)
class Reading:
    """Snapshots, and how they were found in a file.

    Attributes
    ----------
    snapshots : Snapshots
    format : str
        Name of the format.
    layout : Layout or None
        Which columns of a table were taken for what.
    notes : tuple of str
        What was decided on the way, as sentences.
    always_types : bool
        Whether the format names a type of particle even where all are alike, so that a single one says nothing.
    """

    snapshots: Snapshots
    format: str
    layout: Layout | None = None
    notes: tuple[str, ...] = ()
    always_types: bool = False


def joined(readings: list[Reading], given: Sequence[Any]) -> Reading:
    """The runs of several files, one after the other; species that a file lacks have no particles there."""
    names = [str(one) if isinstance(one, (str, Path)) else f"table {k}" for k, one in enumerate(given)]
    first, notes = readings[0], [note for reading in readings for note in reading.notes]
    for reading, name in zip(readings[1:], names[1:], strict=True):
        for what in ("dim", "box"):
            mine, theirs = getattr(reading.snapshots, what), getattr(first.snapshots, what)
            if mine != theirs:
                said = {"dim": "dimensions", "box": "box"}[what]
                raise InputError(f"{name}: {said} {mine}, but {theirs} in {names[0]}; read them apart")
        if (reading.snapshots.species is None) != (first.snapshots.species is None):
            raise InputError(f"{name}: one of this file and {names[0]} names species and one does not; read them apart")
    union = sorted({kind for reading in readings for kind in reading.snapshots.species or ()})
    parts = [_with_species(reading.snapshots, union) if union else reading.snapshots for reading in readings]
    formats = " and ".join(dict.fromkeys(reading.format for reading in readings))
    return Reading(
        concatenate(parts), formats, first.layout, tuple(dict.fromkeys(notes)), all(r.always_types for r in readings)
    )


def _with_species(snapshots: Snapshots, names: list[str]) -> Snapshots:
    """The same data with further kinds, of which there are no particles."""
    if snapshots.species == tuple(names):
        return snapshots
    places = [names.index(kind) for kind in snapshots.species or ()]
    counts = []
    for m in range(snapshots.runs):
        some = snapshots.species_counts_of(m)
        counts.append(np.zeros((len(some), len(names)), dtype=np.int64))
        counts[-1][:, places] = some
    species = Species(tuple(names), tuple(counts), False)
    return Snapshots(snapshots.positions, snapshots.times, snapshots.box, snapshots.labeled, species)


def one_kind_is_none(reading: Reading) -> Reading:
    snapshots = reading.snapshots
    if not reading.always_types or snapshots.species is None or len(snapshots.species) > 1:
        return reading
    plain = Snapshots(snapshots.positions, snapshots.times, snapshots.box, snapshots.labeled)
    return replace(reading, snapshots=plain)


def left_in_file(reading: Reading, given: Any, options: Mapping[str, Any]) -> Reading:
    """The same without its positions, which are read from their file again when they are needed.

    Parameters
    ----------
    reading : Reading
    given : path, ParquetPart or a table
        Where it came from; tables stay in memory.
    options : dict
        What it was read with.
    """
    snapshots = reading.snapshots
    if snapshots.in_files or not isinstance(given, (str, Path, ParquetPart)):
        return reading
    where = given if isinstance(given, ParquetPart) else str(Path(given).absolute())
    hashable = tuple((name, tuple(v.items()) if isinstance(v, Mapping) else _plain(v)) for name, v in options.items())
    if snapshots.regular:
        array = snapshots.positions
        positions: Any = StoredArray.of(WholeFile(where, hashable, array.shape, array.dtype))
    else:
        counts = [snapshots.counts_of(m) for m in range(snapshots.runs)]
        ends = np.cumsum([0, *(int(c.sum()) for c in counts)])
        source = WholeFile(where, hashable, (int(ends[-1]), snapshots.dim), snapshots.frame(0, 0).dtype)
        starts = [np.cumsum([end, *c], dtype=np.int64) for end, c in zip(ends[:-1], counts, strict=True)]
        positions = [StoredRun(RowFrames(source, own)) for own in starts]
    left = Snapshots(positions, snapshots.times, snapshots.box, snapshots.labeled, snapshots._species)
    return replace(reading, snapshots=left)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, np.ndarray)) else value
