"""Parquet files and pandas tables: one particle per row, columns as in CSV.

A Parquet data set is a folder of files. If it names runs, in a column or in names of folders (``run=3``), they are told
apart by these names, in whichever files they are; if not, every file is a run.
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
from trackless.files.extras import needed
from trackless.files.rows import Table
from trackless.files.source import check_unpacked, looks_like
from trackless.files.writing import check_fits_table, rows_of
from trackless.snapshots import Snapshots
from trackless.wording import plural

EXTRA = "parquet"


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
        return _table(str(path), found, lambda name: _column(content.column(name))), found


def parts_of(
    folder: Path, files: list[Path], dt: float | None, columns: Mapping[str, str] | None
) -> list[ParquetPart]:  # fmt: skip
    """The files of a data set, those together that share runs."""
    parts = [ParquetPart(str(folder.absolute()), (str(file.absolute()),)) for file in files]
    groups: list[tuple[list[int], set[Any]]] = []
    for k, part in enumerate(parts):
        with _readable(part):
            found, content = _content(part, dt, columns, "run")
            if "run" not in found.names:
                return parts
            names = set(_column(content.column(found.names["run"])).tolist())
        same = [group for group in groups if group[1] & names]
        groups = [group for group in groups if group not in same]
        groups.append((sorted([k, *(n for group in same for n in group[0])]), names.union(*(g[1] for g in same))))
    return [
        ParquetPart(str(folder.absolute()), tuple(parts[k].files[0] for k in members))
        for members in sorted(members for members, _ in groups)
    ]


def _content(
    part: ParquetPart, dt: float | None, columns: Mapping[str, str] | None, only: str | None = None
) -> tuple[Layout, Any]:
    """What the columns are, and those that are needed, or that of one role if there is one."""
    data_set = needed("pyarrow.dataset", EXTRA, part).dataset(
        list(part.files), format="parquet", partitioning="hive", partition_base_dir=part.root
    )
    found = layout([str(name) for name in data_set.schema.names], part, dt, columns)
    wanted = (
        list(found.names.values()) if only is None else [name for role, name in found.names.items() if role == only]
    )
    size = 8 * data_set.count_rows() * len(wanted)
    for file in part.files[:1]:
        check_unpacked(Path(file), size // len(part.files))
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

    for role, name in found.names.items():
        column = values(name)
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
    return Table(source, columns, where, texts)


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
