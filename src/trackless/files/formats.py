"""read and write: the one table of formats, chosen by the ending of a file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.files import delimited, gsd, hdf5, lammps, npz, parquet, writing, xyz
from trackless.files.atomic import replacing
from trackless.files.columns import AXES, Layout
from trackless.files.rows import Table, check_inside, grouped
from trackless.snapshots import Snapshots, concatenate
from trackless.species import Species


@dataclass(frozen=True)
class Format:
    """What can be done with files of one ending.

    Attributes
    ----------
    name : str
    read : callable (path, dt, box) -> Snapshots, or None
        Of a trajectory: -> Snapshots, and notes.
    read_table : callable (path, dt, columns) -> (Table, Layout), or None
        Tables have this instead of ``read``.
    write : callable (snapshots, path), or None
    trajectory : bool
        Whether it is a file of frames in the order of time, one run.
    gzipped : bool
        Whether the same file compressed, with .gz after its ending, is read too.
    """

    name: str
    read: Callable[..., Any] | None = None
    read_table: Callable[..., tuple[Table, Layout]] | None = None
    write: Callable[[Snapshots, Path], None] | None = None
    trajectory: bool = False
    gzipped: bool = False


_LAMMPS = Format("LAMMPS dump", lammps.read_lammps, write=lammps.write_lammps, trajectory=True, gzipped=True)
_XYZ = Format("XYZ", xyz.read_xyz, write=xyz.write_xyz, trajectory=True, gzipped=True)
_HDF5 = Format("HDF5", hdf5.read_hdf5, write=hdf5.write_hdf5)
FORMATS: dict[str, Format] = {
    ".npz": Format("NPZ", npz.read_npz, write=npz.write_npz),
    ".npy": Format("NPY", npz.read_npy),
    ".csv": Format("CSV", read_table=delimited.read_table, write=writing.write_csv, gzipped=True),
    ".tsv": Format("TSV", read_table=delimited.read_table, write=writing.write_tsv, gzipped=True),
    ".txt": Format("text table", read_table=delimited.read_table, gzipped=True),
    ".parquet": Format("Parquet", read_table=parquet.read_parquet, write=parquet.write_parquet),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".lammpstrj": _LAMMPS,
    ".dump": _LAMMPS,
    ".xyz": _XYZ,
    ".extxyz": _XYZ,
    ".gsd": Format("GSD", gsd.read_gsd, trajectory=True),
}


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


def read(
    path: Any,
    dt: float | None = None,
    columns: Mapping[str, str] | None = None,
    box: float | Sequence[float] | None = None,
    max_gap: float | str | None = None,
) -> Snapshots:
    """Read snapshots from a file or a pandas table, or from several as further runs.

    Parameters
    ----------
    path : path, pandas.DataFrame, or list of them
        Tables (``.csv``, ``.tsv``, ``.txt``, ``.parquet``, DataFrame) have a particle per row and columns frame or
        time, x[, y[, z]], and optionally run, particle and species; other columns are ignored. Trajectories
        (``.lammpstrj``, ``.dump``, ``.xyz``, ``.extxyz``, ``.gsd``) hold one run. Arrays (``.npz``, ``.h5``, ``.hdf5``,
        and ``.npy``, which is memory-mapped) hold positions (runs, times, particles, dim). Text may be gzipped
        (``.csv.gz``).
    dt : float, optional
        Time between frames (of one step), where the file counts frames or steps.
    columns : dict, optional
        Which columns of a table are what, where their names do not say so: ``{"x": "POSITION_X", "frame": "slice"}``.
    box : float or sequence of float, optional
        Sides of a periodic box that begins at 0, where the file has none.
    max_gap : float, "auto" or None
        Split runs where an interval is longer (see ``Snapshots.without_gaps``); by default what is in the file stays as
        it is, and :func:`trackless.fit` splits.

    Examples
    --------
    >>> import tempfile, pathlib, trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=2, duration=0.02, step=1e-3)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> tl.write(data, file)
    >>> bool((tl.read(file).positions == data.positions).all())
    True
    """
    return read_with_notes(path, dt, columns, box).snapshots.without_gaps(max_gap)


def read_with_notes(
    path: Any, dt: float | None = None, columns: Mapping[str, str] | None = None, box: Any = None
) -> Reading:
    """The same, and what was decided on the way."""
    if dt is not None and not (isfinite(dt) and dt > 0):
        raise InputError(f"dt: expected a positive time between frames, got {dt!r}")
    given: list[Any] = [path]
    if isinstance(path, Iterable) and not isinstance(path, str) and not parquet.is_data_frame(path):
        given = list(path)
    if not given:
        raise InputError("read: expected a path, a table or a list of them, got an empty list")
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found, and said where it is
        readings = [_read_one(one, dt, columns, box) for one in given]
    return _one_kind_is_none(readings[0] if len(given) == 1 else _joined(readings, given))


def write(snapshots: Snapshots, path: str | Path, overwrite: bool = False) -> None:
    """Write snapshots exactly, so that reading gives the same numbers, times, box, labels and species back.

    Parameters
    ----------
    snapshots : Snapshots
    path : path
        ``.npz`` and ``.h5`` hold everything; ``.csv``, ``.tsv`` and ``.parquet`` have no place for a box;
        ``.extxyz`` (``.xyz``) and ``.lammpstrj`` (``.dump``) hold one run.
    overwrite : bool
        Whether a file of that name may be replaced.
    """
    writer = FORMATS[check_writable(Path(path)).suffix.lower()].write
    assert writer is not None
    with replacing(path, overwrite) as temporary:
        try:
            writer(snapshots, temporary)
        except InputError as error:  # which speaks of the temporary file
            raise InputError(str(error).replace(str(temporary), str(path))) from None


def check_writable(path: Path, runs: int = 1) -> Path:
    """The path, if its ending is one we write and the format holds so many runs."""
    known = [ending for ending, one in FORMATS.items() if one.write is not None]
    if path.suffix.lower() not in known:
        raise InputError(f"{path}: cannot write {path.suffix or 'a file without ending'}; known: {', '.join(known)}")
    if runs > 1 and FORMATS[path.suffix.lower()].trajectory:
        raise InputError(f"{path}: a file of this format holds one run, not {runs}; write .npz or .h5, or a single run")
    return path


def is_readable(path: Path) -> bool:
    """Whether it is a file whose ending is one we read."""
    try:
        return path.is_file() and _format_of(path) is not None
    except InputError:
        return False


def _format_of(path: Path) -> Format:
    gzipped = path.suffix.lower() == ".gz"
    ending = Path(path.stem).suffix.lower() if gzipped else path.suffix.lower()
    found = FORMATS.get(ending)
    if ending == ".trackless":
        raise InputError(f"{path}: expected snapshots, but files of this ending are fits, which tl.load reads")
    if found is None or (gzipped and not found.gzipped):
        shown = f"{ending}{'.gz' * gzipped}" or "a file without ending"
        known = ", ".join(ending + "[.gz]" * one.gzipped for ending, one in FORMATS.items())
        raise InputError(f"{path}: cannot read {shown}; known: {known}")
    return found


def _read_one(given: Any, dt: float | None, columns: Mapping[str, str] | None, box: Any) -> Reading:
    if parquet.is_data_frame(given):
        return _from_table("pandas", *parquet.table_of(given, dt, columns), dt, columns, box)
    if not isinstance(given, (str, Path)):
        raise InputError(f"read: expected a path, a table or a list of them, got {type(given).__name__}")
    path = Path(given)
    found = _format_of(path)
    if path.is_dir():
        raise InputError(f"{path}: it is a folder; give the files in it")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if found.read_table is not None:
        return _from_table(found.name, *found.read_table(path, dt, columns), dt, columns, box)
    if columns:
        raise InputError(f"{path}: columns= is for tables, and a {found.name} file is none; leave it out")
    assert found.read is not None
    snapshots, notes = found.read(path, dt, box) if found.trajectory else (found.read(path, dt, box), ())
    if box is not None and not found.trajectory:
        _check_inside(snapshots, path)
    return Reading(snapshots, found.name, None, (*notes, *_cut_short(snapshots, path)), found.trajectory)


def _from_table(
    name: str, table: Table, layout: Layout, dt: float | None, columns: Mapping[str, str] | None, box: Any
) -> Reading:
    notes: tuple[str, ...] = ()
    last = [axis for axis in AXES if axis in table.columns][-1]
    if last == "z" and "y" in table.columns and "z" not in (columns or {}) and not table.columns["z"].any():
        del table.columns["z"]  # programs for three dimensions write planar data like this
        notes = ("all z are 0, so that the data were read as two-dimensional",)
    snapshots = grouped(table, dt, box)
    return Reading(snapshots, name, layout, (*notes, *_cut_short(snapshots, table.source)))


def _cut_short(snapshots: Snapshots, source: Any) -> tuple[str, ...]:
    """A word on a last frame that alone has fewer particles, as files have that were copied while being written."""
    if snapshots.regular:
        return ()
    counts = np.concatenate([snapshots.counts_of(m) for m in range(snapshots.runs)])
    usual, last = int(counts[0]), int(counts[-1])
    if len(counts) < 3 or (counts[:-1] != usual).any() or last >= usual:
        return ()
    return (
        f"only the last frame of {source} has fewer particles ({last} instead of {usual}): if the file was cut short, "
        "leave that frame out, because forces are summed and not averaged where the number of particles changes",
    )


def _check_inside(snapshots: Snapshots, path: Path) -> None:
    for m in range(snapshots.runs):
        for i in range(len(snapshots.times_of(m))):
            place = f"{path}, run {m}, frame {i}"
            check_inside(snapshots.frame(m, i), snapshots.box, lambda row, place=place: f"{place}, particle {row}")


def _joined(readings: list[Reading], given: list[Any]) -> Reading:
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


def _one_kind_is_none(reading: Reading) -> Reading:
    snapshots = reading.snapshots
    if not reading.always_types or snapshots.species is None or len(snapshots.species) > 1:
        return reading
    plain = Snapshots(snapshots.positions, snapshots.times, snapshots.box, snapshots.labeled)
    return replace(reading, snapshots=plain)
