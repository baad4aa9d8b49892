"""Parquet files and pandas tables: one particle per row, columns as in CSV.

A Parquet data set is a folder of files, which are further runs; unless they name the same run, and one goes on where
another ends, or lies in the same folder ``run=3``: then they are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.files.columns import Layout, layout
from trackless.files.dates import seconds_of
from trackless.files.extras import needed
from trackless.files.rows import Table
from trackless.files.source import check_unpacked, looks_like
from trackless.files.writing import check_fits_table, rows_of
from trackless.snapshots import Snapshots
from trackless.wording import plural

EXTRA = "parquet"
Spans = dict[Any, tuple[float, float] | None]


def is_data_frame(value: object) -> bool:
    """Whether this is a pandas table (known by its looks, so that pandas need not be there)."""
    return hasattr(value, "columns") and hasattr(value, "iloc") and hasattr(value, "index")


def table_of(frame: Any, dt: float | None, columns: Mapping[str, str] | None) -> tuple[Table, Layout]:
    """The columns of a pandas table; an index with a name counts as a column that is not there otherwise."""
    source = "the table"
    names = [str(name) for name in frame.columns]
    index = {str(name): k for k, name in enumerate(frame.index.names) if name is not None and str(name) not in names}

    def values(name: str) -> Any:
        if name in index:
            return frame.index.get_level_values(index[name])
        return frame.iloc[:, names.index(name)]

    found = layout([*names, *index], source, dt, columns)
    return _table(source, found, lambda name: np.asarray(values(name))), found


@dataclass(frozen=True)
class ParquetPart:
    """Files of a data set that hold the same runs, and are read as one table.

    Attributes
    ----------
    root : str
        The folder of the data set.
    files : tuple of str
    """

    root: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return self.files[0] if len(self.files) == 1 else f"{self.files[0]} and {plural(len(self.files) - 1, 'other')}"


def read_parquet(path: Path | ParquetPart, dt: float | None, columns: Mapping[str, str] | None) -> tuple[Table, Layout]:
    """Only the columns that are needed are read."""
    part = path if isinstance(path, ParquetPart) else ParquetPart(str(path.parent), (str(path),))
    with _readable(part):
        found, content = _content(part, dt, columns)
        table = _table(str(path), found, lambda name: _column(content.column(name)))
    table.any_order = len(part.files) > 1  # programs that write many files at once number them as it happens
    return table, found


def parts_of(
    folder: Path, files: list[Path], dt: float | None, columns: Mapping[str, str] | None
) -> list[ParquetPart]:  # fmt: skip
    """The files of a data set, those together that hold the same runs."""
    root = str(folder.absolute())
    groups: list[tuple[list[str], Spans]] = []
    for file in files:
        part = ParquetPart(root, (str(file.absolute()),))
        spans = _spans(part, dt, columns)
        same = [group for group in groups if _go_on(group[1], spans)]
        groups = [group for group in groups if group not in same]
        members = [name for group in same for name in group[0]]
        groups.append(
            ([*members, *part.files], dict(item for group in (*same, ([], spans)) for item in group[1].items()))
        )
    order = {str(file.absolute()): k for k, file in enumerate(files)}
    sets = sorted((sorted(members, key=order.__getitem__) for members, _ in groups), key=lambda names: order[names[0]])
    return [ParquetPart(root, tuple(names)) for names in sets]


def _spans(part: ParquetPart, dt: float | None, columns: Mapping[str, str] | None) -> Spans:
    """Runs with a name, and the first and last of their times; of those whose names are those of folders, none."""
    with _readable(part):
        found, content = _content(part, dt, columns, ("run", "frame", "time"))
        if "run" not in found.names:
            return {}
        runs = _column(content.column(found.names["run"]))
        named = f"{found.names['run']}=" in str(Path(part.files[0]).relative_to(part.root))
        names, which = np.unique(runs, return_inverse=True)
        times = _column(content.column(next(found.names[r] for r in ("time", "frame") if r in found.names)))
        if times.dtype.kind == "O" and (seconds := seconds_of(times)) is not None:
            times = seconds
        ends = [np.full(len(names), end) for end in (np.inf, -np.inf)]
        for extreme, end in zip((np.minimum, np.maximum), ends, strict=True):
            extreme.at(end, which, times.astype(np.float64))
        pairs = zip(*(end.tolist() for end in ends), strict=True)
        return {name: None if named else span for name, span in zip(names.tolist(), pairs, strict=True)}


def _go_on(before: Spans, spans: Spans) -> bool:
    """Whether files hold parts of the same run: one names it like the other, and one's times begin where others end.

    Files that number their runs each from 0 hold different ones, at the same times.
    """
    shared = [(before[name], spans[name]) for name in before.keys() & spans.keys()]
    return any(one is None or two is None or one[1] <= two[0] or two[1] <= one[0] for one, two in shared)


def _content(
    part: ParquetPart, dt: float | None, columns: Mapping[str, str] | None, only: tuple[str, ...] = ()
) -> tuple[Layout, Any]:
    """What the columns are, and those that are needed, or those of some roles."""
    data_set = needed("pyarrow.dataset", EXTRA, part).dataset(
        list(part.files), format="parquet", partitioning="hive", partition_base_dir=part.root
    )
    found = layout([str(name) for name in data_set.schema.names], part, dt, columns)
    wanted = [name for role, name in found.needed.items() if not only or role in only]
    size = 8 * data_set.count_rows() * len(wanted)
    check_unpacked(Path(part.files[0]), size // len(part.files))
    return found, data_set.to_table(columns=wanted)


@contextmanager
def _readable(part: ParquetPart) -> Iterator[None]:
    """A damaged file can make the library complain in many ways; none of them is the user's concern."""
    arrow = needed("pyarrow", EXTRA, part)
    try:
        yield
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError, TypeError):
        kind = looks_like(Path(part.files[0]))
        said = kind if kind and "Parquet" not in kind else "it is damaged or cut short; copy or write it again"
        raise InputError(f"{part}: not a readable Parquet file: {said}") from None


def write_parquet(snapshots: Snapshots, path: Path) -> None:
    """Exact, one group of rows per run."""
    check_fits_table(snapshots, path)
    arrow, parquet = needed("pyarrow", EXTRA, path), needed("pyarrow.parquet", EXTRA, path)
    writer = None
    try:
        for columns in rows_of(snapshots):
            batch = arrow.table(columns)
            writer = writer or parquet.ParquetWriter(path, batch.schema)
            writer.write_table(batch)
    finally:
        if writer is not None:
            writer.close()


def _column(column: Any) -> NDArray[Any]:
    if column.null_count and str(column.type).startswith(("int", "uint")):
        column = column.cast("float64")  # empty becomes NaN
    return np.asarray(column.to_numpy())


def _table(source: str, found: Layout, values: Callable[[str], NDArray[Any]]) -> Table:
    columns: dict[str, NDArray[Any]] = {}
    texts: dict[str, list[str]] = {}

    def where(row: int) -> str:
        return f"row {row} (counted from 0)"

    dated: set[str] = set()
    for role, name in found.needed.items():
        column = values(name)
        if role in ("time", "clock") and column.dtype.kind not in "iuf":
            seconds = seconds_of(column)
            if seconds is not None:
                column = seconds
                dated.add(role)
        if role == "clock" and column.dtype.kind not in "iuf":
            continue  # nothing to agree with
        if column.dtype.kind in "iuf" and not (role == "particle" and column.dtype.kind in "iu"):
            columns[role] = column if column.dtype in (np.float32, np.float64) else column.astype(np.float64)
        elif column.dtype.kind in "iu":
            columns[role] = column  # names of particles may be longer than floating-point numbers are exact
        elif role in ("run", "particle", "species"):
            columns[role], texts[role] = _coded(column, role)
        else:
            try:
                columns[role] = column.astype(np.float64)
            except (TypeError, ValueError):
                raise InputError(
                    f"{source}: expected numbers in column {name!r}, found type {column.dtype}; convert it, or say "
                    "which column it is: columns={...} (--columns)"
                ) from None
        if columns[role].ndim != 1:
            raise InputError(f"{source}: column {name!r} does not hold one number per row")
    return Table(source, columns, where, texts, dated=dated)


def _coded(column: NDArray[Any], role: str) -> tuple[NDArray[Any], list[str]]:
    """Names as numbers; particles without a name are NaN."""
    known: dict[str, int] = {}
    missing = np.array([_is_missing(value) for value in column.tolist()])
    texts = ["" if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)]
    codes = np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.float64)
    if role == "particle":
        codes[missing] = np.nan
        return codes, list(known)
    return codes.astype(np.int64), list(known)


def _is_missing(value: object) -> bool:
    """None, NaN or pandas' own sign for nothing, which is equal neither to itself nor not to itself."""
    try:
        return value is None or not bool(value == value)
    except TypeError:
        return True
