"""Rows of particles -> Snapshots: the one place where tables and trajectories are grouped into frames and runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.files.clock import check_column
from trackless.files.columns import AXES
from trackless.files.dates import from_each_start
from trackless.files.sequence import check_sequence, order_of
from trackless.files.twice import check_once, same_places
from trackless.snapshots import Snapshots
from trackless.space import checked_box
from trackless.species import Species

ROUNDING = 1e-6  # of a side: positions may be outside the box by this much, as printed digits are few
MOST_SPECIES = 1000


@dataclass
class Table:
    """Named columns, one particle per row.

    Attributes
    ----------
    source : str
        What to call the table in messages.
    columns : dict of str to array (rows,)
        x[, y[, z]], frame or time, and if present run, particle (NaN: no name), species and clock (times that frames
        and dt have to agree with).
    where : callable
        The place of a row in the file, such as "line 12".
    texts : dict of str to list of str
        Of columns that hold names: the names; the column then holds their numbers.
    any_order : bool
        Whether the order of rows means nothing, so that time may go backwards from one to the next.
    dated : set of str
        Columns that held dates, and now hold seconds.
    named : str
        What holds names of particles in such a file.
    notes : list of str
        What was decided or seen on the way, as sentences.
    """

    source: str
    columns: dict[str, NDArray[Any]]
    where: Callable[[int], str]
    texts: dict[str, list[str]] = field(default_factory=dict)
    any_order: bool = False
    dated: set[str] = field(default_factory=set)
    named: str = "the column"
    notes: list[str] = field(default_factory=list)

    def error(self, row: int | np.intp, message: str) -> InputError:
        """An error about one row."""
        return InputError(f"{self.source}, {self.where(int(row))}: {message}")


def grouped(table: Table, dt: float | None = None, box: Any = None) -> Snapshots:
    """Group rows by run and time; frames are turned into times with ``dt``.

    Rows may come in any order where it is clear what belongs together (see :mod:`trackless.files.sequence`).

    Data are labeled if every frame of a run holds the same particles, each once.
    """
    columns = table.columns
    axes = [axis for axis in AXES if axis in columns]
    if not len(columns[axes[0]]):
        raise InputError(f"{table.source}: there are no particles in it")
    points = _points(table, axes)
    times = _times(table, dt)
    sides = checked_box(box, len(axes))
    if sides is not None:
        check_inside(points, sides, lambda row: f"{table.source}, {table.where(row)}")
    runs = _ranks(table, "run") if "run" in columns else None
    if "time" in table.dated:
        times = from_each_start(times, runs)
        table.notes.append("times are dates: seconds since the first" + " of each run" * (runs is not None))
    names, kinds = _kinds(table) if "species" in columns else ((), None)
    particles = columns.get("particle")
    keys = [key for key in (particles, kinds, times, runs) if key is not None]
    order = order_of(keys)
    given = times, [key for key in (runs, kinds) if key is not None]
    if order is not None:
        points, times = points[order], times[order]
        runs, kinds, particles = (c[order] if c is not None else None for c in (runs, kinds, particles))
    new_run = np.diff(runs) != 0 if runs is not None else np.zeros(len(times) - 1, bool)
    starts = np.append(0, np.flatnonzero((np.diff(times) != 0) | new_run) + 1)
    first_frames = np.searchsorted(starts, np.append(0, np.flatnonzero(new_run) + 1))
    labeled = False
    if particles is not None:
        check_once(table, particles, starts, order)
        labeled = _same_in_every_frame(particles, kinds, starts, first_frames)
    if order is not None and not table.any_order:
        check_sequence(table, *given)
    table.notes += same_places(table, points, starts, order)
    counts = np.diff(starts, append=len(times))
    per_run = np.split(times[starts], first_frames[1:])
    regular = (counts == counts[0]).all() and all(np.array_equal(t, per_run[0]) for t in per_run)
    species = _species(names, kinds, starts, first_frames, bool(regular)) if kinds is not None else None
    if regular:
        shape = (len(per_run), len(per_run[0]), int(counts[0]), len(axes))
        return Snapshots(points.reshape(shape), per_run[0], sides, labeled, species)
    frames = np.split(points, starts[1:])
    ends = np.append(first_frames[1:], len(frames))
    lists = [frames[a:b] for a, b in zip(first_frames.tolist(), ends.tolist(), strict=True)]
    return Snapshots(lists, per_run, sides, labeled, species)


def _points(table: Table, axes: list[str]) -> NDArray[Any]:
    first = table.columns[axes[0]]
    points = np.empty((len(first), len(axes)), dtype=np.result_type(*(table.columns[axis] for axis in axes)))
    for k, axis in enumerate(axes):
        points[:, k] = table.columns.pop(axis)  # the table gives its columns up, so that memory holds one copy
    bad = ~np.isfinite(points).all(axis=1)
    if bad.any():
        raise table.error(np.argmax(bad), "a position is empty, NaN or infinite; remove or repair it")
    return points


def _times(table: Table, dt: float | None) -> NDArray[np.float64]:
    role = "time" if "time" in table.columns else "frame"
    values = np.asarray(table.columns[role], dtype=np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        raise table.error(np.argmax(bad), f"the {role} is empty, NaN or infinite; remove or repair it")
    if role == "time":
        return values
    parts = values != np.rint(values)
    if parts.any():
        row = int(np.argmax(parts))
        raise table.error(row, f"expected a whole frame number, got {values[row]:g}; if these are times, leave dt= out")
    assert dt is not None, "the layout of columns has made sure of it"
    if (clock := table.columns.pop("clock", None)) is not None:
        check_column(table.source, dt, np.asarray(clock, np.float64), values, "clock" in table.dated)
    times = values * dt
    if not np.isfinite(times).all():
        raise table.error(np.argmax(~np.isfinite(times)), f"frame {values.max():g} times dt = {dt:g} is no time")
    return times


def check_inside(points: NDArray[Any], sides: Any, where: Callable[[int], str]) -> None:
    """Refuse positions beyond a box given beside the data, which begins at 0; ``where`` names file and row."""
    lengths = np.asarray(sides)
    wrong = np.any((points < -ROUNDING * lengths) | (points > (1 + ROUNDING) * lengths), axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{where(row)}: the position {points[row].tolist()} is outside the box from 0 to {list(sides)}; "
            "shift or wrap the positions first, or correct box="
        )


def _ranks(table: Table, role: str) -> NDArray[Any]:
    """A column of names as numbers in the order of the names; a column of numbers as it is."""
    values = table.columns[role]
    names = table.texts.get(role)
    if names is not None:
        rank = np.empty(len(names), dtype=np.int64)
        rank[sorted(range(len(names)), key=lambda k: names[k])] = np.arange(len(names))
        return rank[values]
    bad = ~np.isfinite(values)
    if bad.any():
        raise table.error(np.argmax(bad), f"the {role} is empty, NaN or infinite; remove or repair it")
    return values


def _kinds(table: Table) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Sorted names of the kinds, and the number of the kind of every row."""
    values = table.columns["species"]
    if "species" not in table.texts:
        bad = ~np.isfinite(values) | (values != np.rint(values))
        if bad.any():
            row = int(np.argmax(bad))
            raise table.error(row, f"expected a species by name or whole number, got {values[row]:g}")
        numbers, codes = np.unique(np.asarray(values, dtype=np.int64), return_inverse=True)
        table.columns["species"], table.texts["species"] = codes, [str(n) for n in numbers.tolist()]
    names = table.texts["species"]
    if len(names) > MOST_SPECIES:
        raise InputError(
            f"{table.source}: {len(names):,} different species; is this the right column? columns={{'species': ...}}"
        )
    if "" in names:
        row = int(np.argmax(table.columns["species"] == names.index("")))
        raise table.error(row, "the species is empty; remove or repair it")
    return tuple(sorted(names)), _ranks(table, "species")


def _same_in_every_frame(
    particles: NDArray[Any], kinds: NDArray[np.int64] | None, starts: NDArray[np.int64], first_frames: NDArray[np.int64]
) -> bool:
    """Whether every frame of a run holds the same particles, so that the column is a label."""
    if particles.dtype.kind == "f" and np.isnan(particles).any():
        return False
    counts = np.diff(starts, append=len(particles))
    for first, end in zip(first_frames.tolist(), np.append(first_frames[1:], len(starts)).tolist(), strict=True):
        if (counts[first:end] != counts[first]).any():
            return False
        rows = slice(starts[first], starts[first] + (end - first) * counts[first])
        for column in (particles, kinds):
            if column is not None:
                table = column[rows].reshape(end - first, counts[first])
                if (table != table[0]).any():
                    return False
    return True


def _species(
    names: tuple[str, ...],
    kinds: NDArray[np.int64],
    starts: NDArray[np.int64],
    first_frames: NDArray[np.int64],
    regular: bool,
) -> Species:
    counts = np.stack([np.add.reduceat(kinds == k, starts, dtype=np.int64) for k in range(len(names))], axis=1)
    per_run = np.split(counts, first_frames[1:])
    if regular and all(np.array_equal(of_run, per_run[0]) for of_run in per_run):
        return Species(names, (per_run[0],), True)
    return Species(names, tuple(per_run), False)
