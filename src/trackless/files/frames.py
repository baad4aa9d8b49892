"""Frames of a trajectory -> Snapshots: what all trajectory formats share.

A trajectory file holds one run. Its frames come in the order of time, all in the same box; simulations of one or two
dimensions have further, flat directions, which are dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError, TimeStepNeeded
from trackless.files.clock import check_time_step
from trackless.files.columns import AXES
from trackless.files.rows import ROUNDING, Table, grouped
from trackless.snapshots import Snapshots
from trackless.space import wrap
from trackless.wording import plural

Array = NDArray[np.float64]
NOT_FLAT = np.nan  # the value of ``flat`` that no position has


@dataclass
class Frame:
    """One snapshot as a trajectory file has it.

    Attributes
    ----------
    points : array (particles, 1 to 3)
    time, step : float or None
        Where there is no time, a step is turned into one by the user's dt.
    sides : tuple of float
        Of the box, one per direction; only those of periodic directions count.
    periodic : tuple of bool
        One per direction.
    species, ids : array (particles,) or None
    line : int or None
        Of the first particle, where the file is text.
    outside : float
        How far outside the box positions may be, as a fraction of a side, before they count as errors; inside this
        they are wrapped.
    origin : array (1 to 3,) or None
        Of a periodic box, where the file has it elsewhere than at 0: it was taken off the points.
    """

    points: Array
    time: float | None
    step: float | None
    sides: tuple[float, ...]
    periodic: tuple[bool, ...]
    species: NDArray[np.str_] | None = None
    ids: NDArray[Any] | None = None
    line: int | None = None
    outside: float = np.inf
    origin: Array | None = None


@dataclass(frozen=True)
class Place:
    """Where the rows of a file's frames are, for messages."""

    starts: list[int]
    lines: list[int | None]

    def __call__(self, row: int) -> str:
        frame = bisect_right(self.starts, row) - 1
        line, particle = self.lines[frame], row - self.starts[frame]
        return f"line {line + particle}" if line is not None else f"frame {frame}, particle {particle}"


def assembled(
    path: Path, frames: Iterable[Frame], dt: float | None, box: Any = None, flat: float | None = None
) -> tuple[Snapshots, tuple[str, ...]]:
    """One run of all frames, and what was done to them in words.

    Parameters
    ----------
    path : Path
        For messages.
    frames : iterable of Frame
    dt : float or None
        Time of one step, where the file counts steps.
    box : float or sequence, optional
        Where the file has none.
    flat : float, optional
        A last direction (then the last but one) in which all positions have this value is dropped, if it is not
        periodic; left out, any constant will do, periodic or not (of a single particle: 0, or the middle of the box).
    """
    all_frames = list(frames)
    if not all_frames:
        raise InputError(f"{path}: there is no frame in it; give a file with positions")
    _check_alike(path, all_frames)
    times = _times(path, all_frames, dt)
    points = np.concatenate([frame.points for frame in all_frames])
    place = Place(np.cumsum([0, *(len(f.points) for f in all_frames[:-1])]).tolist(), [f.line for f in all_frames])
    counts = [len(frame.points) for frame in all_frames]
    dim = _dimension(points, all_frames[0], flat)
    points, periodic, sides = points[:, :dim], all_frames[0].periodic[:dim], all_frames[0].sides[:dim]
    columns: dict[str, NDArray[Any]] = {"time": np.repeat(times, counts)}
    texts: dict[str, list[str]] = {}
    if all(frame.ids is not None for frame in all_frames):
        columns["particle"] = np.concatenate([frame.ids for frame in all_frames if frame.ids is not None])
    if all(frame.species is not None for frame in all_frames):
        kinds = np.concatenate([frame.species for frame in all_frames if frame.species is not None])
        names, columns["species"] = np.unique(kinds, return_inverse=True)
        texts["species"] = names.tolist()
    table = Table(str(path), columns, place, texts, named="the ids")
    notes: tuple[str, ...] = ()
    if any(periodic):
        if not all(periodic):
            raise InputError(
                f"{path}: the box is periodic in some directions only, {_flags(periodic)}; data are either in free "
                "space or in a box periodic in all directions: edit the file, or leave out the direction that is not"
            )
        if box is not None:
            raise InputError(f"{path}: the file has a periodic box of its own, {sides}; leave box= out")
        box, (points, wrapped) = sides, _inside(table, points, sides, all_frames[0].outside)
        notes = (*_shifted(all_frames[0].origin, dim), *wrapped)
    columns |= {axis: points[:, k] for k, axis in enumerate(AXES[:dim])}
    snapshots = grouped(table, box=box)
    return snapshots, (*notes, *table.notes)


def _shifted(origin: Array | None, dim: int) -> tuple[str, ...]:
    if origin is None or not origin[:dim].any():
        return ()
    corner = ", ".join(f"{x:.4g}" for x in origin[:dim])
    return (f"the box of the file begins at ({corner}); positions were shifted so that it begins at 0",)


def _check_alike(path: Path, frames: list[Frame]) -> None:
    first = frames[0]
    for k, frame in enumerate(frames):
        where = f"{path}, frame {k}" + (f" (line {frame.line})" if frame.line is not None else "")
        if not len(frame.points):
            raise InputError(f"{where}: there are no particles in it; remove the frame")
        if frame.points.shape[1] != first.points.shape[1]:
            raise InputError(
                f"{where}: {frame.points.shape[1]} dimensions, but {first.points.shape[1]} before; "
                "frames of a file must have the same"
            )
        if frame.periodic != first.periodic:
            raise InputError(f"{where}: other directions are periodic than before; write one file for each box")
        changed = [a != b and p for a, b, p in zip(frame.sides, first.sides, first.periodic, strict=True)]
        if any(changed):
            raise InputError(
                f"{where}: the box changes from {first.sides} to {frame.sides}; only boxes of constant size can be "
                "read: take the part of the run where it is constant"
            )


def _times(path: Path, frames: list[Frame], dt: float | None) -> Array:
    given = [frame.time for frame in frames]
    if None not in given:
        times = np.array(given, dtype=np.float64)
        if dt is not None:
            check_time_step(path, dt, times, [frame.step for frame in frames])
    else:
        if any(time is not None for time in given):
            raise InputError(f"{path}: some frames have a time and some have none; give all of them one")
        if dt is None:
            raise TimeStepNeeded(f"{path}: the file counts steps; give the time of one step (dt=, --dt)", "timestep")
        times = np.array([frame.step for frame in frames], dtype=np.float64) * dt
    bad = ~np.isfinite(times)
    backwards = np.append(False, np.diff(times) <= 0)
    for wrong, said in ((bad, "is not finite; repair it"), (backwards, None)):
        if wrong.any():
            k = int(np.argmax(wrong))
            where = f"{path}, frame {k}" + (f" (line {frames[k].line})" if frames[k].line is not None else "")
            raise InputError(
                f"{where}: the time {times[k]:g} "
                + (said or f"follows {times[k - 1]:g}; a file holds one run in the order of time: split or repair it")
            )
    return times


def _dimension(points: Array, first: Frame, flat: float | None) -> int:
    """How many directions remain when flat ones are left out; the first always does."""
    dim = points.shape[1]
    while dim > 1:
        values = points[:, dim - 1]
        if flat is None:
            alone = len(values) == 1 and values[0] not in (0.0, 0.5 * first.sides[dim - 1])
            if alone or (values != values[0]).any():
                return dim
        elif (values != flat).any() or first.periodic[dim - 1]:
            return dim
        dim -= 1
    return dim


def _inside(
    table: Table, points: Array, sides: tuple[float, ...], outside: float
) -> tuple[Array, tuple[str, ...]]:  # fmt: skip
    """Positions wrapped into the box, and that in words; those that are too far outside are an error."""
    lengths = np.asarray(sides)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise InputError(f"{table.source}: expected a box with positive sides, got {sides}; repair the file")
    if (bad := ~np.isfinite(points).all(axis=1)).any():  # wrapping would hide it
        raise table.error(np.argmax(bad), "a position is empty, NaN or infinite; remove or repair it")
    beyond = np.maximum(-points, points - lengths) / lengths
    if (far := (beyond > outside).any(axis=1)).any():
        row = int(np.argmax(far))
        raise table.error(
            row,
            f"the position {points[row].tolist()} (from the lower end of the box) is outside the box {list(sides)}; "
            "repair the file, or write unwrapped positions as such",
        )
    return wrap(points, sides) if (beyond > 0).any() else points, outside_in_words(beyond)


def outside_in_words(beyond: Array) -> tuple[str, ...]:
    """How many positions are outside the box, by which part of a side; nothing where it is rounding."""
    far = beyond.max(axis=1)
    count = int((far > ROUNDING).sum())
    if not count:
        return ()
    return (
        f"{count:,} of {plural(len(far), 'position')} {'is' if count == 1 else 'are'} outside the periodic box "
        f"(by up to {far.max():.2g} of a side), as in files of unwrapped positions; they were wrapped "
        "into it: is the box right?",
    )


def _flags(periodic: tuple[bool, ...]) -> str:
    return " ".join(f"{axis}: {'yes' if p else 'no'}" for axis, p in zip(AXES, periodic, strict=False))
