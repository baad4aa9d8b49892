"""Known snapshots: are some of these frames frames of those data, whatever became of runs, times and order since?

A fingerprint of a whole data set tells nothing of its parts. Here every frame has a few moments of its particles, which
do not depend on their order and hardly on rounding, and of all frames those few are kept whose moments, rounded, have
the smallest hashes: which ones depends on the frames alone, so that a part of the data keeps the same ones. They are
found as the data are surveyed, and nothing is read for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
KEPT = 400  # frames of a data set: of a part with a hundredth of them about four are known again
START = 20  # one over the part of a run, from its start, that does not count: runs may be prepared alike, on a lattice
LEVELS = 256  # into which what a moment varies by chance is divided; rounding positions to 4 digits moves it by 0.02
SAME = 0.3  # levels between moments of one frame, before and after positions were rounded
FEW = 4  # numbers in a frame, below which only equal ones are the same frame
EXACT = 2.0**30  # levels for those
FEWEST_PAIRS = 3  # of shared frames, that tell whether times are the same
MOST = 0.9  # part of the pairs of shared frames that must say the same of times
SAME_TIMES = 0.01  # relative difference of times that counts as none: they may be rounded
REPEATED = 0.1  # part of the frames that come again, from which on frames tell nothing (positions are whole pixels)
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # the odd constants of splitmix64


@dataclass(frozen=True, eq=False)
class KnownFrames:
    """What a few frames of a data set are known by.

    Attributes
    ----------
    values : (frames, moments)
        Moments of the particles' positions, in units of levels.
    particles : (frames,)
        How many particles there are.
    times : (frames,)
        When each was seen; NaN where that is not known (in files of earlier versions).
    """

    values: Array
    particles: NDArray[np.int64]
    times: Array

    def shared_with(self, other: KnownFrames) -> int:
        """How many frames are frames of ``other`` as well."""
        return len(self._shared(other)[0])

    def slower_than(self, other: KnownFrames) -> float:
        """How many times as far apart in time the frames are that ``other`` has as well; 1 where that is not clear.

        Runs may have been moved in time, each by its own: what most pairs of frames say counts.
        """
        own, theirs = self._shared(other)
        here, there = self.times[own], other.times[theirs]
        apart_here, apart_there = (np.subtract.outer(t, t)[np.triu_indices(len(t), 1)] for t in (here, there))
        moved = (np.abs(apart_there) > 0) & (np.abs(apart_here) > 0)  # false for what is not known
        moved &= np.isfinite(apart_there) & np.isfinite(apart_here)
        ratios = apart_here[moved] / apart_there[moved]
        if len(ratios) < FEWEST_PAIRS:
            return 1.0
        usual = float(np.median(ratios))
        agreed = (np.abs(ratios - usual) <= SAME_TIMES * abs(usual)).mean() >= MOST
        return usual if agreed and abs(usual - 1.0) > SAME_TIMES else 1.0

    def _shared(self, other: KnownFrames) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places of the frames that both have."""
        if self.values.shape[1:] != other.values.shape[1:]:
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        _, own, theirs = np.intersect1d(self._keys(), other._keys(), return_indices=True)
        same = np.abs(self.values[own] - other.values[theirs]).max(axis=1, initial=0.0) <= SAME
        return own[same], theirs[same]

    def __add__(self, other: KnownFrames) -> KnownFrames:
        """Those of two data sets together."""
        values, particles = np.concatenate([self.values, other.values]), np.append(self.particles, other.particles)
        _, first = np.unique(_keys(_lowest(values), particles), return_index=True)
        return KnownFrames(values, particles, np.append(self.times, other.times))._select(first[:KEPT])

    def _select(self, chosen: NDArray[Any]) -> KnownFrames:
        return KnownFrames(self.values[chosen], self.particles[chosen], self.times[chosen])

    def _keys(self) -> NDArray[np.uint64]:
        return _keys(_lowest(self.values), self.particles)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Frames of a part of the data, those with the smallest hashes, with what tells whether they come again.

    Attributes
    ----------
    known : KnownFrames
    runs : (frames,)
        Their run; -1 for those that come again, in another run or exactly.
    """

    known: KnownFrames
    runs: NDArray[np.int64]


def candidates(
    points: Array, counts: NDArray[np.int64], runs: NDArray[np.int64], late: NDArray[np.bool_], times: Array
) -> Candidates:
    """Of consecutive frames.

    Parameters
    ----------
    points : (sum of counts, dim)
    counts, runs : (frames,)
        Particles of each frame, and its run.
    late : (frames,)
        Whether it is late enough in its run to count (:func:`late_enough`).
    times : (frames,)
    """
    kept = late & (counts > 0)
    with np.errstate(all="ignore"):  # frames that have no size, or no numbers in them, are left out
        lowest = moments_of(_frames(points, counts, kept), counts[kept], highest=2)
        good = np.isfinite(lowest).all(axis=1)
        keys = _keys(lowest[good], counts[kept][good])
        chosen = np.flatnonzero(kept)[good][keys <= np.unique(keys)[:KEPT].max(initial=0)]
        kept = np.isin(np.arange(len(counts)), chosen)
        values = moments_of(_frames(points, counts, kept), counts[kept])
    return _fewest(KnownFrames(values, counts[kept], times[kept]), runs[kept])


def _frames(points: Array, counts: NDArray[np.int64], kept: NDArray[np.bool_]) -> Array:
    """Points of some of the frames."""
    return np.asarray(points if kept.all() else points[np.repeat(kept, counts)], np.float64)


def late_enough(frames: int, first: int, last: int) -> NDArray[np.bool_]:
    """Whether frames ``first`` to ``last`` (included) of a run with so many count."""
    return np.arange(first, last + 1) >= max(1, -(-frames // START))


def known_frames(parts: Iterable[Candidates], dim: int) -> KnownFrames:
    """What data are known by, of their parts; nothing where frames come again too often to tell them apart."""
    found = joined(parts, dim)
    once = found.runs >= 0
    if (~once).sum() > REPEATED * len(once):
        once[:] = False
    return found.known._select(once)


def joined(parts: Iterable[Candidates], dim: int) -> Candidates:
    """Parts as one."""
    nothing = KnownFrames(np.zeros((0, _moments_in(dim))), np.zeros(0, np.int64), np.zeros(0))
    total = _fewest(nothing, np.zeros(0, np.int64))
    for part in parts:
        values, particles, times = (
            np.concatenate([getattr(one.known, name) for one in (total, part)])
            for name in ("values", "particles", "times")
        )
        total = _fewest(KnownFrames(values, particles, times), np.concatenate([total.runs, part.runs]))
    return total


def moments_of(points: Array, counts: NDArray[np.int64], highest: int = 4) -> Array:
    """Moments (frames, moments) up to the second or fourth, in levels; of frames with ``counts`` particles, none empty.

    All of them vary by chance like a mean does: by the width of the frame over the root of the number of particles.
    """
    dim = points.shape[1]
    if not len(counts):
        return np.zeros((0, _moments_in(dim, highest)))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

    def means(columns: Iterable[Array]) -> Array:
        return np.stack([np.add.reduceat(column, starts) / counts for column in columns], axis=1)

    centre = means(np.ascontiguousarray(column) for column in points.T)
    off = [column - np.repeat(middle, counts) for column, middle in zip(points.T, centre.T, strict=True)]
    pairs = [(i, j) for i in range(dim) for j in range(i, dim)]
    second = means(off[i] * off[j] for i, j in pairs)
    width = np.sqrt(second[:, [i == j for i, j in pairs]].sum(axis=1))
    width = np.where(counts > 1, width, np.abs(centre).max(axis=1))[:, None]
    few = (counts * dim < FEW)[:, None]
    # a power of two, so that rounding positions does not change what moments are counted in
    level = np.exp2(np.floor(np.log2(width))) / np.sqrt(counts)[:, None] / np.where(few, EXACT, LEVELS)
    found = [centre, second / width]
    if highest > 2:
        found += [means(x**power for x in off) / width ** (power - 1) for power in (3, 4)]
    return np.concatenate(found, axis=1) / level


def _moments_in(dim: int, highest: int = 4) -> int:
    return (highest - 1) * dim + dim * (dim + 1) // 2


def _lowest(values: Array) -> Array:
    """Means and second moments of all moments."""
    dim = next(d for d in range(values.shape[1] + 1) if _moments_in(d) >= values.shape[1])
    return values[:, : values.shape[1] - 2 * dim]


def _keys(values: Array, particles: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hashes (frames,) of means and second moments, rounded; higher ones, which rounding moves more, are not in it."""
    whole = np.floor(np.clip(values, -(2.0**62), 2.0**62)).astype(np.int64)
    found = particles.astype(np.uint64)
    for column in (*whole.T, particles):
        found = (found ^ column.astype(np.uint64)) * np.uint64(MIX[0])
        found = (found ^ (found >> np.uint64(30))) * np.uint64(MIX[1])
        found = (found ^ (found >> np.uint64(27))) * np.uint64(MIX[2])
        found ^= found >> np.uint64(31)
    return found


def _fewest(frames: KnownFrames, runs: NDArray[np.int64]) -> Candidates:
    """Those with the smallest hashes, each once; marked if they come again."""
    values, keys = frames.values, frames._keys()
    order = np.argsort(keys, kind="stable")
    if len(order):
        same = np.concatenate([[False], keys[order][1:] == keys[order][:-1]])
        group = np.cumsum(~same) - 1
        first = order[~same]
        again = (runs[order] < 0) | (runs[order] != runs[first][group])
        again |= same & (np.abs(values[order] - values[first][group]).max(axis=1) == 0)
        marked = np.bincount(group, again) > 0
        order, runs = first[:KEPT], np.where(marked, -1, runs[first])[:KEPT]
    return Candidates(frames._select(order), runs)
