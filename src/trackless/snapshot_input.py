"""What may be given as positions and times of a data set; anything else is refused with a word on why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.stored import StoredRun


class Clock(NamedTuple):
    """Times 0, step, 2 step, ... of as many frames as there are."""

    step: float


def floating(array: ArrayLike, name: str) -> NDArray[Any]:
    """A read-only view of an array of numbers; float32 and float64 as they are."""
    try:
        values = array if isinstance(array, np.ndarray) else np.asarray(array)
    except ValueError as error:
        raise InputError(f"{name}: not an array of numbers ({error})") from None
    if values.dtype not in (np.float32, np.float64):
        if values.dtype.kind not in "iuf":
            raise InputError(f"{name}: expected numbers, got an array of type {values.dtype}")
        values = values.astype(np.float64)
    values = values.view()
    values.flags.writeable = False
    return values


def clock(times: Any, dt: float | None) -> Any:
    """What was given of times and dt; exactly one of them is."""
    if (times is None) == (dt is None):
        raise InputError("times: give either the time of every frame, or dt=, the interval between all of them")
    if dt is not None and not (isinstance(dt, (int, float, np.number)) and np.isfinite(dt) and dt > 0):
        raise InputError(f"dt: expected a positive time between frames, got {dt!r}")
    return times if dt is None else Clock(float(dt))


def checked_times(times: Any, count: int, name: str) -> NDArray[np.float64]:
    """Times (count,) that increase."""
    try:
        given = np.arange(count) * times.step if isinstance(times, Clock) else times
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected {count} numbers, got {times!r}") from None
    if values.shape != (count,):
        raise InputError(f"{name}: expected {count} times, one per frame, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise InputError(f"{name}: a time is NaN or infinite")
    falls = np.flatnonzero(np.diff(values) <= 0)
    if len(falls):
        i = int(falls[0])
        raise InputError(
            f"{name}: times must increase, but frame {i + 1} ({values[i + 1]:g}) follows {values[i]:g}; sort the "
            "frames, or make what follows a run of its own"
        )
    values.flags.writeable = False
    return values


def _frames_of(run: Any, m: int) -> Iterator[NDArray[Any]]:
    for i, frame in enumerate(run):
        points = floating(frame, f"positions of run {m}, frame {i}")
        if points.ndim != 2:
            raise InputError(f"positions of run {m}, frame {i}: expected shape (particles, dim), got {points.shape}")
        yield points


def ragged(positions: Any, times: Any) -> tuple[list[Any], list[NDArray[np.float64]]]:
    """Runs, each a tuple of frames (particles, dim) or left in a file, and the times of each."""
    for name, value in (("positions", positions), ("times", times)):
        if not hasattr(value, "__iter__") or isinstance(value, str):
            raise InputError(f"{name}: expected an array or one array per run, got {value!r}")
    runs = [run if isinstance(run, StoredRun) else tuple(_frames_of(run, m)) for m, run in enumerate(positions)]
    if not runs or any(not len(run) for run in runs):
        raise InputError("positions: there is no run, or one without frames")
    dims = {d for run in runs for d in ([run.dim] if isinstance(run, StoredRun) else {f.shape[1] for f in run})}
    if len(dims) != 1:
        raise InputError(f"positions: frames disagree about the dimension: {sorted(dims)}")
    shared = np.ndim(times[0]) == 0 if len(times) else True
    per_run = [times] * len(runs) if shared else list(times)
    if len(per_run) != len(runs):
        raise InputError(f"times: expected one array per run ({len(runs)}), got {len(per_run)}")
    checked = [
        checked_times(t, len(run), f"times of run {m}") for m, (t, run) in enumerate(zip(per_run, runs, strict=True))
    ]
    return runs, checked
