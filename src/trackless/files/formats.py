"""read and write: the one table of formats, chosen by the ending of a file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from trackless import _progress
from trackless._errors import InputError, TimeStepRefused
from trackless.files import delimited, gsd, hdf5, lammps, npz, parquet, writing, xyz, zarr
from trackless.files.atomic import is_store, replacing, replacing_store
from trackless.files.clock import agrees, interval
from trackless.files.columns import AXES, Layout
from trackless.files.folders import files_in
from trackless.files.joined import Reading, joined, left_in_file, one_kind_is_none
from trackless.files.rows import ROUNDING, Table, check_inside, grouped
from trackless.files.source import PICKLE
from trackless.files.sources import stays_in_file
from trackless.snapshots import Snapshots
from trackless.survey import parts, surveyed


@dataclass(frozen=True)
class Format:
    """What can be done with files of one ending.

    Attributes
    ----------
    name : str
    read : callable (path, dt, box, lazy) -> Snapshots, or None
        Of arrays, which may be left in their file. Of a trajectory: (path, dt, box) -> Snapshots, and notes.
    read_table : callable (path, dt, columns) -> (Table, Layout), or None
        Tables have this instead of ``read``.
    write : callable (snapshots, path), or None
    trajectory : bool
        Whether it is a file of frames in the order of time, one run.
    gzipped : bool
        Whether the same file compressed, with .gz after its ending, is read too.
    store : bool
        Whether it is a folder.
    """

    name: str
    read: Callable[..., Any] | None = None
    read_table: Callable[..., tuple[Table, Layout]] | None = None
    write: Callable[[Snapshots, Path], None] | None = None
    trajectory: bool = False
    gzipped: bool = False
    store: bool = False


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
    ".zarr": Format("zarr", zarr.read_zarr, write=zarr.write_zarr, store=True),
    ".lammpstrj": _LAMMPS,
    ".dump": _LAMMPS,
    ".xyz": _XYZ,
    ".extxyz": _XYZ,
    ".gsd": Format("GSD", gsd.read_gsd, trajectory=True),
}
PICKLES = (".pkl", ".pickle", ".p")


def read(
    path: Any,
    dt: float | None = None,
    columns: Mapping[str, str] | None = None,
    box: float | Sequence[float] | None = None,
    max_gap: float | str | None = None,
    lazy: bool | None = None,
) -> Snapshots:
    """Read snapshots from a file or a pandas table, or from several as further runs.

    Parameters
    ----------
    path : path, pandas.DataFrame, or list of them
        Tables (``.csv``, ``.tsv``, ``.txt``, ``.parquet``, DataFrame) have a particle per row and columns frame or
        time, x[, y[, z]], and optionally run, particle and species; other columns are ignored. Trajectories
        (``.lammpstrj``, ``.dump``, ``.xyz``, ``.extxyz``, ``.gsd``) hold one run. Arrays (``.npz``, ``.h5``, ``.hdf5``,
        ``.zarr``, and ``.npy``, which is memory-mapped) hold positions (runs, times, particles, dim). Text may be
        gzipped (``.csv.gz``). A folder stands for the files in it, in the natural order of names (run2 before run10).
    dt : float, optional
        Time between frames (of one step), where the file counts frames or steps. A file that has times needs none, and
        one that does not agree with them is an error. Times that are dates (ISO 8601) or clock readings become seconds
        since the first of their run.
    columns : dict, optional
        Which columns of a table are what, where their names do not say so: ``{"x": "POSITION_X", "frame": "slice"}``.
    box : float or sequence of float, optional
        Sides of a periodic box that begins at 0, where the file has none.
    max_gap : float, "auto" or None
        Split runs where an interval is longer (see ``Snapshots.without_gaps``); by default what is in the file stays as
        it is, and :func:`trackless.fit` splits.
    lazy : bool, optional
        Leave positions in their files, and read them a part at a time when they are needed; by default where they would
        take more than a sixteenth of the memory, or of the share that ``tl.set_memory`` leaves for them.

    Examples
    --------
    >>> import tempfile, pathlib, trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=2, duration=0.02, step=1e-3)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> tl.write(data, file)
    >>> bool((tl.read(file).positions == data.positions).all())
    True
    """
    return read_with_notes(path, dt, columns, box, lazy).snapshots.without_gaps(max_gap)


def read_with_notes(
    path: Any,
    dt: float | None = None,
    columns: Mapping[str, str] | None = None,
    box: Any = None,
    lazy: bool | None = None,
) -> Reading:
    """The same, and what was decided on the way."""
    if dt is not None and not (isinstance(dt, Real) and isfinite(dt) and dt > 0):
        raise InputError(f"dt: expected a positive time between frames, got {dt!r}")
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(f"columns: expected a dict such as {{'x': 'POSITION_X'}}, got {columns!r}")
    given: list[Any] = [path]
    if isinstance(path, Iterable) and not isinstance(path, str) and not parquet.is_data_frame(path):
        given = list(path)
    if not given:
        raise InputError("read: expected a path, a table or a list of them, got an empty list")
    options = {"dt": dt, "columns": columns, "box": box}
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found, and said where it is
        given = [one for some in given for one in _expanded(some, dt, columns)]
        readings = _all_read(given, options, lazy)
    return one_kind_is_none(readings[0] if len(given) == 1 else joined(readings, given))


def _expanded(given: Any, dt: float | None, columns: Mapping[str, str] | None) -> list[Any]:
    """The files that a folder stands for."""
    if not isinstance(given, (str, Path)) or not Path(given).is_dir() or is_store(Path(given)):
        return [given]
    found = files_in(Path(given), _known_ending)
    return parquet.parts_of(Path(given), found, dt, columns) if found[0].suffix.lower() == ".parquet" else found


def _all_read(given: Sequence[Any], options: Mapping[str, Any], lazy: bool | None) -> list[Reading]:
    """One after the other; once they are too much for the memory, only what they are is kept, not their positions."""
    readings: list[Reading] = []
    held, left = 0, bool(lazy)
    for one in _progress.track(given, "reading", len(given)) if len(given) > 1 else given:
        readings.append(_read_one(one, **options, lazy=lazy))
        held += 0 if readings[-1].snapshots.in_files else readings[-1].snapshots.nbytes
        if left:
            readings[-1] = left_in_file(readings[-1], one, options)
        elif len(given) > 1 and stays_in_file(held, lazy):
            left, readings = True, [left_in_file(r, g, options) for r, g in zip(readings, given, strict=False)]
    return readings


def read_part(given: Any, dt: float | None, columns: Any, box: Any) -> Snapshots:
    """One of the files that were left, read again."""
    return _read_one(given, dt, dict(columns) if columns else None, box, lazy=False).snapshots


def write(snapshots: Snapshots, path: str | Path, overwrite: bool = False) -> None:
    """Write snapshots exactly, so that reading gives the same numbers, times, box, labels and species back.

    Parameters
    ----------
    snapshots : Snapshots
    path : path
        ``.npz``, ``.h5`` and ``.zarr`` hold everything; ``.csv``, ``.tsv`` and ``.parquet`` have no place for a box;
        ``.extxyz`` (``.xyz``) and ``.lammpstrj`` (``.dump``) hold one run.
    overwrite : bool
        Whether a file of that name may be replaced.
    """
    found = FORMATS[check_writable(Path(path)).suffix.lower()]
    assert found.write is not None
    with (replacing_store if found.store else replacing)(path, overwrite) as temporary:
        try:
            found.write(snapshots, temporary)
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
    if ending in PICKLES:
        raise InputError(f"{path}: it is {PICKLE}")
    if found is None or (gzipped and not found.gzipped):
        shown = f"{ending}{'.gz' * gzipped}" or "a file without ending"
        known = ", ".join(ending + "[.gz]" * one.gzipped for ending, one in FORMATS.items())
        raise InputError(f"{path}: cannot read {shown}; known: {known}")
    return found


def _known_ending(path: Path) -> str | None:
    """The ending of a file that can be read, None of others."""
    try:
        found = _format_of(path)
    except InputError:
        return None
    return next(ending for ending, one in FORMATS.items() if one is found)


def _read_one(
    given: Any, dt: float | None, columns: Mapping[str, str] | None, box: Any, lazy: bool | None = None
) -> Reading:
    try:
        return _read_with(given, dt, columns, box, lazy)
    except TimeStepRefused as refused:  # a table that has times: are they so far apart?
        found = None if refused.compared else _read_with(given, None, columns, box, lazy)
        if dt is not None and found is not None and agrees(dt, interval(found.snapshots.times_of(0))):
            return found
        raise


def _read_with(
    given: Any, dt: float | None, columns: Mapping[str, str] | None, box: Any, lazy: bool | None
) -> Reading:  # fmt: skip
    if parquet.is_data_frame(given):
        return _from_table("pandas", *parquet.table_of(given, dt, columns), dt, columns, box)
    if isinstance(given, parquet.ParquetPart):
        return _from_table("Parquet", *parquet.read_parquet(given, dt, columns), dt, columns, box)
    if not isinstance(given, (str, Path)):
        raise InputError(f"read: expected a path, a table or a list of them, got {type(given).__name__}")
    path = Path(given)
    found = FORMATS[".zarr"] if is_store(path) else _format_of(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_file() and found.store:
        raise InputError(
            f"{path}: expected a zarr store, which is a folder; if it is packed in a file, unpack it first"
        )
    if found.read_table is not None:
        return _from_table(found.name, *found.read_table(path, dt, columns), dt, columns, box)
    if columns:
        raise InputError(f"{path}: columns= is for tables, and a {found.name} file is none; leave it out")
    assert found.read is not None
    snapshots, notes = found.read(path, dt, box) if found.trajectory else (found.read(path, dt, box, lazy), ())
    if box is not None and not found.trajectory:
        _check_inside(snapshots, path)
    elif snapshots.box is not None and not found.trajectory and not snapshots.in_files:
        notes = _outside(snapshots)
    return Reading(snapshots, found.name, None, (*notes, *_cut_short(snapshots, path)), found.trajectory)


def _from_table(
    name: str, table: Table, layout: Layout, dt: float | None, columns: Mapping[str, str] | None, box: Any
) -> Reading:
    notes: tuple[str, ...] = ()
    last = [axis for axis in AXES if axis in table.columns][-1]
    if last == "z" and "y" in table.columns and "z" not in (columns or {}):
        z = table.columns["z"]
        empty = bool(np.isnan(z).all())
        if empty or not z.any():
            del table.columns["z"]  # programs for three dimensions write planar data like this
            notes = (f"all z are {'empty' if empty else '0'}, so that the data were read as two-dimensional",)
    snapshots = grouped(table, dt, box)
    return Reading(snapshots, name, layout, (*notes, *table.notes, *_cut_short(snapshots, table.source)))


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


def _outside(snapshots: Snapshots) -> tuple[str, ...]:
    """A word on positions outside the box of a file of arrays, which count as their images inside."""
    lower, upper, *_ = surveyed(snapshots)
    sides = np.asarray(snapshots.box)
    part = float(np.max(np.maximum(-lower, upper - sides) / sides))
    if part <= ROUNDING:
        return ()
    return (
        f"some positions are outside the periodic box (by up to {part:.2g} of a side), as in files of unwrapped "
        "positions; they count as their images inside: is the box right?",
    )


def _check_inside(snapshots: Snapshots, path: Path) -> None:
    lower, upper, *_ = surveyed(snapshots)
    with suppress(InputError):
        check_inside(np.stack([lower, upper]), snapshots.box, str)
        return
    for runs, first, last in parts(snapshots):
        for m, i in product(runs, range(first, last + 1)):
            place = f"{path}, run {m}, frame {i}"
            check_inside(snapshots.frame(m, i), snapshots.box, lambda row, place=place: f"{place}, particle {row}")
