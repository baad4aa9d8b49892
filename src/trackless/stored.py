"""Positions that stay in files: arrays and runs that are read when they are needed, a slab at a time.

They hold no data and no open files, only where data are and which part of them is meant. So they are small, slices of
them are free, and they go to other processes as what they are. What is read is kept on a shelf of bounded size
(:mod:`trackless._shelf`); slabs follow the chunks of a file, so that no chunk is unpacked for every run in it again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from trackless import _memory
from trackless._errors import InputError
from trackless._shelf import shelf

SLAB = 32_000_000  # bytes read at once
SLABS = 8  # that may be in memory, at least
FEWEST_SLABS = 3  # where chunks are large: one in use, the next, and a neighbour of either


class Source(Protocol):
    """An array in a file: regular positions (runs, times, particles, dim), or points (rows, dim) of ragged ones.

    Two sources are equal, and have the same hash, if they are the same array of the same file.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def chunks(self) -> tuple[int, ...]:
        """How many entries along each axis must be read together."""
        ...

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def read(self, part: tuple[slice, ...]) -> NDArray[Any]:
        """Entries of the first axes, in memory."""
        ...

    def __hash__(self) -> int: ...


def region(source: Source, *bounds: range) -> NDArray[Any]:
    """Part of a source: entries of its first axes, one range for each; the result may be shared, do not write to it."""
    slabs = _slabs(source, bounds)
    if len(slabs) == 1:
        return _part(source, slabs[0], bounds)
    shape = (*map(len, bounds), *source.shape[len(bounds) :])
    result = np.empty(shape, dtype=source.dtype)
    for slab in slabs:
        inside = [range(max(own.start, wanted.start), min(own.stop, wanted.stop))
                  for own, wanted in zip(slab, bounds, strict=True)]  # fmt: skip
        place = tuple(slice(b.start - w.start, b.stop - w.start) for b, w in zip(inside, bounds, strict=True))
        result[place] = _part(source, slab, inside)
    return result


def fetch(source: Source, *bounds: range) -> None:
    """Read a part in the background: it will be asked for soon."""
    for slab in _slabs(source, bounds):
        shelf.fetch((source, slab), _bytes(source, slab), lambda slab=slab: source.read(_slices(slab)))


def _part(source: Source, slab: tuple[range, ...], bounds: Sequence[range]) -> NDArray[Any]:
    held = shelf.get((source, slab), _bytes(source, slab), lambda: source.read(_slices(slab)))
    return held[tuple(slice(b.start - s.start, b.stop - s.start) for b, s in zip(bounds, slab, strict=True))]


def _slices(slab: tuple[range, ...]) -> tuple[slice, ...]:
    return tuple(slice(own.start, own.stop) for own in slab)


def _bytes(source: Source, slab: tuple[range, ...]) -> int:
    return prod(map(len, slab)) * _entry(source, len(slab))


def _entry(source: Source, axes: int) -> int:
    return prod(source.shape[axes:]) * source.dtype.itemsize


def _slabs(source: Source, bounds: Sequence[range]) -> list[tuple[range, ...]]:
    """The slabs that a part of a source lies in, in the order of the file."""
    edges = []
    for wanted, size, length in zip(bounds, _slab_shape(source, len(bounds)), source.shape, strict=False):
        first, last = wanted.start // size, (wanted.stop - 1) // size
        edges.append([range(k * size, min((k + 1) * size, length)) for k in range(first, last + 1)])
    return list(product(*edges))


def _slab_shape(source: Source, axes: int) -> tuple[int, ...]:
    """How much of a source is read at once: whole chunks, of whole runs where they are short enough.

    Data are gone through run by run. If chunks hold parts of many runs, all chunks of these runs must be at hand; where
    that is too much, data are gone through slab by slab instead (:meth:`StoredArray.groups`).
    """
    share, entry, chunk = _memory.for_data(), _entry(source, axes), source.chunks
    target, most = min(SLAB, share // SLABS), share // FEWEST_SLABS
    rows = chunk[0] * prod(source.shape[1:axes]) * entry
    if rows <= (target if chunk[0] == 1 else most):
        return (chunk[0] * max(1, target // max(rows, 1)), *source.shape[1:axes])
    together = prod(min(c, n) for c, n in zip(chunk[:axes], source.shape, strict=False)) * entry
    if together > most:
        raise InputError(
            f"{source.name}: {_memory.in_words(together)} of it have to be read together, its chunks being "
            f"{tuple(chunk)} of {tuple(source.shape)}, and {_memory.in_words(most)} may be; allow more memory "
            "(memory=, --memory), or write it in smaller chunks (files)"
        )
    return (chunk[0], chunk[1] * max(1, (target if chunk[0] == 1 else most) // together))


class StoredArray(NDArrayOperatorsMixin):
    """Positions (runs, times, particles, dim) that stay in one file, or in several of which each holds some runs.

    Slices of runs and times are such arrays again; one run, or anything else that is asked for, is read and comes as
    an array of NumPy's, as do results of arithmetic.

    Parameters
    ----------
    segments : sequence of (Source, range)
        Sources (runs, times, particles, dim), alike but for the number of runs, and the runs that are meant.
    frames : range, optional
        The times that are meant.
    order : tuple of int, optional
        Particles in another order.
    """

    ndim = 4

    def __init__(
        self,
        segments: Sequence[tuple[Source, range]],
        frames: range | None = None,
        order: tuple[int, ...] | None = None,
    ) -> None:
        self.segments, self.order = tuple(segments), order
        source = self.segments[0][0]
        self.frames = range(source.shape[1]) if frames is None else frames
        self._ends = np.cumsum([len(runs) for _, runs in self.segments]).tolist()
        self.shape = (self._ends[-1], len(self.frames), source.shape[2], source.shape[3])
        self.dtype = source.dtype

    @classmethod
    def of(cls, source: Source) -> StoredArray:
        """All of one source."""
        return cls([(source, range(source.shape[0]))])

    @property
    def nbytes(self) -> int:
        """Of all positions, if they were in memory."""
        return prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        names = list(dict.fromkeys(source.name for source, _ in self.segments))
        return f"StoredArray({self.shape}, {self.dtype}, in {names[0]}{' and others' if len(names) > 1 else ''})"

    def __reduce__(self) -> Any:
        return StoredArray, (self.segments, self.frames, self.order)

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        runs, times = (*parts, slice(None))[:2]
        if len(parts) <= 2 and isinstance(runs, slice) and isinstance(times, slice):
            chosen = list(self._located(range(len(self))[runs]))
            return StoredArray(chosen or [(self.segments[0][0], range(0))], self.frames[times], self.order)
        if len(parts) <= 2 and isinstance(runs, (int, np.integer)) and isinstance(times, (int, np.integer, slice)):
            number = range(len(self))[runs]
            found = self._read(range(number, number + 1), self.frames[times] if isinstance(times, slice) else
                               range(self.frames[times], self.frames[times] + 1))  # fmt: skip
            return found[0] if isinstance(times, slice) else found[0, 0]
        return np.asarray(self)[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        result = np.empty(self.shape, dtype=dtype or self.dtype)
        for run in range(len(self)):
            result[run] = self[run]
        return result

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        in_memory = [np.asarray(one) if isinstance(one, StoredArray) else one for one in inputs]
        return getattr(ufunc, method)(*in_memory, **settings)

    def of_runs(self, runs: range, first: int, last: int) -> NDArray[Any]:
        """Frames ``first`` to ``last`` (included) of some runs, (runs, frames, particles, dim)."""
        return self._read(runs, self.frames[first : last + 1])

    def fetch(self, runs: range, first: int, last: int) -> None:
        """Read them in the background."""
        for source, inside in self._located(runs):
            fetch(source, _covering(inside), _covering(self.frames[first : last + 1]))

    def picked(self, runs: NDArray[np.int64], frames: NDArray[np.int64]) -> NDArray[Any]:
        """Single snapshots, (number, particles, dim), read in the order in which they lie in the file."""
        result = np.empty((len(runs), *self.shape[2:]), dtype=self.dtype)
        for group, edges in self.groups():
            own = np.flatnonzero((runs >= group.start) & (runs < group.stop))
            slabs = np.searchsorted(edges, frames[own], side="right")
            for k in own[np.lexsort((frames[own], runs[own], slabs))].tolist():
                result[k] = self[int(runs[k]), int(frames[k])]
        return result

    def groups(self) -> Iterator[tuple[range, tuple[int, ...]]]:
        """Runs, and frames at which they are best cut so that what lies in one slab is read together.

        No frames: runs are short enough to be read whole, or so long that a slab holds a part of one only.
        """
        begin, frames = 0, np.asarray(self.frames, dtype=np.int64)
        for source, inside in self.segments:
            size, length = _slab_shape(source, 2)
            edges = tuple((np.flatnonzero(np.diff(frames // length)) + 1).tolist()) if size > 1 else ()
            slabs = np.asarray(inside, dtype=np.int64) // size if edges else np.zeros(len(inside))
            cuts = [0, *(np.flatnonzero(np.diff(slabs)) + 1).tolist(), len(inside)]
            yield from ((range(begin + a, begin + b), edges) for a, b in pairwise(cuts))
            begin += len(inside)

    def run(self, index: int) -> StoredRun:
        """One run on its own."""
        return StoredRun(ArrayFrames(self[index : index + 1]))

    def with_order(self, order: NDArray[np.int64]) -> StoredArray:
        """The same with the particles of every snapshot in another order."""
        places = order if self.order is None else np.array(self.order)[order]
        return StoredArray(self.segments, self.frames, tuple(places.tolist()))

    def _located(self, numbers: range) -> Iterator[tuple[Source, range]]:
        """Sources, and the runs in them that have such numbers here."""
        while len(numbers):
            k = bisect_right(self._ends, numbers[0])
            source, runs = self.segments[k]
            first = numbers[0] - (self._ends[k] - len(runs))
            many = len(range(first, len(runs), numbers.step)) if numbers.step > 0 else 1
            own = range(first, len(runs), max(numbers.step, 1))[: min(many, len(numbers))]
            yield source, runs[own.start : own.stop : own.step]
            numbers = numbers[len(own) :]

    def _read(self, runs: range, frames: range) -> NDArray[Any]:
        parts = []
        for source, inside in self._located(runs):
            found = region(source, _covering(inside), _covering(frames))
            parts.append(found if inside.step == frames.step == 1 else found[:: inside.step, :: frames.step])
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return joined if self.order is None else joined[:, :, list(self.order)]


def _covering(steps: range) -> range:
    """All that lies between the ends of a range."""
    ends = (steps[0], steps[-1]) if len(steps) else (0, -1)
    return range(min(ends), max(ends) + 1)


class Frames(Protocol):
    """Where the frames of a run are."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Particles in each frame, (frames,)"""
        ...

    @property
    def dim(self) -> int: ...
    def points(self, first: int, last: int) -> NDArray[Any]:
        """Positions of frames ``first`` to ``last`` (included), stacked: (sum of counts, dim)."""
        ...

    def fetch(self, first: int, last: int) -> None:
        """Read them in the background."""
        ...


class StoredRun:
    """The frames of one run that stay in a file: a sequence of arrays (particles, dim) that are read when asked for."""

    def __init__(self, where: Frames, frames: range | None = None) -> None:
        self.where = where
        self.frames = range(len(where.counts)) if frames is None else frames

    @property
    def counts(self) -> NDArray[np.int64]:
        """Particles in each frame, (frames,)."""
        return self.where.counts[np.asarray(self.frames, dtype=np.int64)]

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return self.where.dim

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return StoredRun(self.where, self.frames[key])
        frame = self.frames[key]
        return self.where.points(frame, frame)

    def points(self, first: int, last: int) -> NDArray[Any]:
        """Positions of frames ``first`` to ``last`` (included), stacked: (sum of counts, dim)."""
        frames = self.frames[first : last + 1]
        if frames.step == 1 and len(frames):
            return self.where.points(frames[0], frames[-1])
        return np.concatenate([self.where.points(frame, frame) for frame in frames])

    def fetch(self, first: int, last: int) -> None:
        """Read them in the background."""
        frames = _covering(self.frames[first : last + 1])
        if len(frames):
            self.where.fetch(frames[0], frames[-1])


class ArrayFrames:
    """The frames of a run in an array (one run, times, particles, dim)."""

    def __init__(self, array: StoredArray) -> None:
        self.array = array
        self.dim = array.shape[3]

    @property
    def counts(self) -> NDArray[np.int64]:
        """All alike, (frames,)."""
        return np.full(self.array.shape[1], self.array.shape[2], dtype=np.int64)

    def points(self, first: int, last: int) -> NDArray[Any]:
        """Stacked, (sum of counts, dim)."""
        return self.array[0, first : last + 1].reshape(-1, self.dim)

    def fetch(self, first: int, last: int) -> None:
        """Read them in the background."""
        self.array.fetch(range(1), first, last)


class RowFrames:
    """The frames of a run in points (rows, dim) of ragged data: frame k begins at row ``starts[k]``."""

    def __init__(self, source: Source, starts: NDArray[np.int64]) -> None:
        self.source, self.starts = source, starts
        self.dim = source.shape[1]

    @property
    def counts(self) -> NDArray[np.int64]:
        """(frames,)"""
        return np.diff(self.starts)

    def points(self, first: int, last: int) -> NDArray[Any]:
        """Stacked, (sum of counts, dim)."""
        return region(self.source, range(int(self.starts[first]), int(self.starts[last + 1])))

    def fetch(self, first: int, last: int) -> None:
        """Read them in the background."""
        fetch(self.source, range(int(self.starts[first]), int(self.starts[last + 1])))


def joined(arrays: Sequence[StoredArray]) -> StoredArray | None:
    """The runs of several arrays as one; None where their frames or particles are not the same."""
    first = arrays[0]
    if any((a.shape[1:], a.dtype, a.frames, a.order) != (first.shape[1:], first.dtype, first.frames, first.order)
           for a in arrays):  # fmt: skip
        return None
    return StoredArray([segment for array in arrays for segment in array.segments], first.frames, first.order)
