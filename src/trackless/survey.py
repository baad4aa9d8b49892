"""Going over all positions of a data set, in parts that fit into memory and in the order in which they lie in files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless._shelf import read_ahead
from trackless.passes import mapped
from trackless.recognition import Candidates, KnownFrames, candidates, known_frames, late_enough
from trackless.snapshots import Snapshots
from trackless.stored import StoredArray

Array = NDArray[np.float64]
PART = 1 << 20  # particles


def parts(snapshots: Snapshots, size: int = PART) -> Iterator[tuple[range, int, int]]:
    """Runs, first and last frame of parts of about so many particles; the next one is read ahead where it is in a file.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> data = tl.Snapshots(np.zeros((3, 5, 4, 2)), dt=0.1)
    >>> list(parts(data, size=40))
    [(range(0, 2), 0, 4), (range(2, 3), 0, 4)]
    """
    return read_ahead(_parts(snapshots, size), lambda part: snapshots.fetch(*part))


def _parts(snapshots: Snapshots, size: int) -> Iterator[tuple[range, int, int]]:
    for runs, edges in snapshots.groups():
        count = max(1, int(snapshots.counts_of(runs.start).max()))
        length = max(1, size // count)
        for begin, end in pairwise([0, *edges, len(snapshots.times_of(runs.start))]):
            for first in range(begin, end, length):
                last = min(first + length, end) - 1
                each = max(1, size // ((last - first + 1) * count))
                yield from ((runs[k : k + each], first, last) for k in range(0, len(runs), each))


def frames_at(snapshots: Snapshots, runs: NDArray[np.int64], frames: NDArray[np.int64]) -> Any:
    """Single snapshots: an array (number, particles, dim) of regular data, or a list of arrays (particles, dim)."""
    if snapshots.regular:
        array = snapshots.positions
        return array.picked(runs, frames) if isinstance(array, StoredArray) else array[runs, frames]
    found: list[Any] = [None] * len(runs)
    for k in np.lexsort((frames, runs)).tolist():
        found[k] = snapshots.frame(int(runs[k]), int(frames[k]))
    return found


def check_finite(snapshots: Snapshots, size: int = PART) -> None:
    """Raise an error that names run, frame and particle if a position is NaN or infinite."""
    for runs, first, last in parts(snapshots, size):
        points = snapshots.points_of_runs(runs, first, last)
        good = np.isfinite(points).all(axis=1)
        if not good.all():
            row = int(np.argmin(good))
            ends = np.cumsum(np.concatenate([snapshots.counts_of(m)[first : last + 1] for m in runs]))
            place = int(np.searchsorted(ends, row, side="right"))
            run, frame = divmod(place, last - first + 1)
            particle = row - int(ends[place - 1] if place else 0)
            raise InputError(
                f"positions: {points[row].tolist()} at run {runs[run]}, frame {first + frame}, "
                f"particle {particle} is not finite; remove or repair it"
            )


class Survey(NamedTuple):
    """What one look at all positions tells."""

    lower: Array
    """(dim,): smallest coordinates; NaN where one is NaN"""
    upper: Array
    """(dim,): largest"""
    sums: Array
    """(runs, kinds, dim): positions of each kind, added up over all frames of each run"""
    known: KnownFrames
    """what some of the frames are known by, should they come again"""


class _Part(NamedTuple):
    """The same of some frames of some runs."""

    lower: Array
    upper: Array
    sums: Array
    frames: Candidates | None


def surveyed(snapshots: Snapshots) -> Survey:
    """Bounds and sums of all positions; data are looked at once, however often this is asked."""
    return snapshots.remembered("survey", lambda: _surveyed(snapshots))


def _surveyed(snapshots: Snapshots) -> Survey:
    lower, upper = np.full(snapshots.dim, np.inf), np.full(snapshots.dim, -np.inf)
    sums = np.zeros((snapshots.runs, len(snapshots.species or ("all",)), snapshots.dim))
    frames: list[Candidates] = []
    every, look = list(_parts(snapshots, PART)), partial(_survey_of, snapshots)
    if snapshots.in_files:
        found = mapped(look, every, "exploring", lambda some: read_ahead(some, lambda part: snapshots.fetch(*part)))
    else:  # nobody else has them, and to send them takes longer
        found = _progress.track(map(look, every), "exploring", len(every))
    for (runs, _, _), part in zip(every, found, strict=True):
        # minimum and maximum hand NaN on, so this is the check for finite positions as well
        lower, upper = np.minimum(lower, part.lower), np.maximum(upper, part.upper)
        sums[runs.start : runs.stop] += part.sums
        frames += [part.frames] if part.frames is not None else []
    return Survey(lower, upper, sums, known_frames(frames, snapshots.dim))


def _survey_of(snapshots: Snapshots, part: tuple[range, int, int]) -> _Part:
    """Of some frames of some runs."""
    points, kinds = snapshots.points_of_runs(*part), len(snapshots.species or ("all",))
    if not len(points):
        nothing = np.full(snapshots.dim, np.inf)
        return _Part(nothing, -nothing, np.zeros((len(part[0]), kinds, snapshots.dim)), None)
    sums = _summed(snapshots, *part, points, kinds)
    return _Part(points.min(axis=0), points.max(axis=0), sums, _frames_in(snapshots, *part, points))


def _frames_in(snapshots: Snapshots, runs: range, first: int, last: int, points: NDArray[Any]) -> Candidates:
    """What frames are known by."""
    counts = [snapshots.counts_of(m)[first : last + 1] for m in runs]
    late = [late_enough(len(snapshots.times_of(m)), first, last) for m in runs]
    times = [snapshots.times_of(m)[first : last + 1] for m in runs]
    numbers = np.repeat(np.asarray(runs), last - first + 1)
    return candidates(points, np.concatenate(counts), numbers, np.concatenate(late), np.concatenate(times))


def _summed(snapshots: Snapshots, runs: range, first: int, last: int, points: NDArray[Any], kinds: int) -> Array:
    """Sums of positions (runs, kinds, dim)."""
    if kinds == 1:  # then there are several runs only if all have as many particles
        return points.reshape(len(runs), 1, -1, snapshots.dim).sum(axis=2, dtype=np.float64)
    counts = np.array([snapshots.species_counts_of(m)[first : last + 1] for m in runs])
    places = np.arange(len(runs))[:, None, None] * kinds + np.arange(kinds)
    each = np.repeat(np.broadcast_to(places, counts.shape).ravel(), counts.ravel())
    columns = [np.bincount(each, points[:, k], len(runs) * kinds) for k in range(snapshots.dim)]
    return np.stack(columns, axis=1).astype(np.float64).reshape(len(runs), kinds, -1)


def means_of_runs(snapshots: Snapshots, kinds: tuple[str, ...] = ()) -> Array:
    """Mean positions (runs, dim) in all frames of each run, of some kinds or (with ()) of all; NaN where none are."""
    own = [not kinds or name in kinds for name in snapshots.species or ("",)]
    alike = snapshots.regular and snapshots.species is None
    counts = [snapshots.species_counts_of(m)[:, own].sum() for m in range(1 if alike else snapshots.runs)]
    sums, number = surveyed(snapshots).sums[:, own].sum(axis=1), np.array(counts, float)[:, None]
    return np.divide(sums, number, out=np.full_like(sums, np.nan), where=np.broadcast_to(number > 0, sums.shape))
