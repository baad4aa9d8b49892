"""Cutting a data set into tasks of bounded size: runs of a block, in pieces of a time window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.excerpts import Source
from trackless.quadrature import RULES, STRIDES, every_rule
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
BATCH_POINTS = 2_000_000  # particles in the tasks handed out together
TASK_POINTS = 50_000  # particles one task reads into memory, unless a single run of a block has more


@dataclass(frozen=True)
class Piece:
    """Frames first..last of a run, inside one time window, ordered by their quadrature weights."""

    first: int
    last: int
    order: NDArray[np.int64]
    """(frames,): frames counted from ``first``, those with equal weights together"""
    class_of: NDArray[np.int64]
    """(frames,): class of each entry of ``order``"""
    weights: Array
    """(classes, strides * rules)"""
    opens: bool
    """whether the window starts with this piece"""
    closes: bool
    """whether the window ends with it"""


@dataclass
class Task:
    """Runs of one block in one piece of a window, worked on by one kernel call."""

    slot: tuple[int, int]
    piece: Piece
    particles: int
    runs: list[int] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Number of particles, about."""
        return len(self.runs) * (self.piece.last - self.piece.first + 1) * self.particles

    def normals(self, shape: tuple[int, ...], draw: int) -> Array:
        """Normally distributed numbers, the same whenever the task is worked on."""
        return np.random.default_rng([draw, self.runs[0], self.piece.first]).normal(size=shape)


def tasks(snapshots: Snapshots, cuts: NDArray[np.int64], windows: int) -> Iterator[Task]:
    """Cut the data into tasks: consecutive runs of a block, in one piece of a window, with the same times.

    Block b holds the runs from ``cuts[b]`` to ``cuts[b + 1]``.
    """
    shared = _pieces(snapshots, 0, windows) if snapshots.regular else None
    for block, (begin, end) in enumerate(pairwise(cuts.tolist())):
        for m in range(begin, end):
            if shared and m > begin:
                break
            pieces = shared or _pieces(snapshots, m, windows)
            particles = int(snapshots.counts_of(m).max())
            for w, window in enumerate(pieces):
                if shared and len(window) == 1:  # many runs in a task
                    yield from _together(Task((block, w), window[0], particles), range(begin, end))
                    continue
                runs = range(begin, end) if shared else [m]
                yield from (Task((block, w), piece, particles, [run]) for run in runs for piece in window)


def block_cuts(runs: int, blocks: int) -> NDArray[np.int64]:
    """First run of each of so many blocks, and the end of the last: (blocks + 1,)."""
    return np.linspace(0, runs, blocks + 1).round().astype(np.int64)


def count_ranges(snapshots: Snapshots, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fewest and most particles in a snapshot of each block: (blocks, 2)."""
    different = range(1 if snapshots.regular else snapshots.runs)
    ends = np.array([(counts.min(), counts.max()) for counts in map(snapshots.counts_of, different)])
    if snapshots.regular:
        return np.repeat(ends, len(cuts) - 1, axis=0)
    lower, upper = (extreme.reduceat(ends[:, k], cuts[:-1]) for k, extreme in enumerate((np.minimum, np.maximum)))
    return np.stack([lower, upper], axis=1)


def spans(snapshots: Snapshots, run: int, windows: int) -> Array:
    """First and last time of each window of a run: (windows, 2)."""
    times = snapshots.times_of(run)
    cuts = _window_cuts(times, windows)
    return np.stack([times[cuts[:-1]], times[cuts[1:]]], axis=1)


def usual_length(snapshots: Snapshots) -> int:
    """Number of snapshots such that half of all are in runs at least as long: a few short runs do not count."""
    lengths = np.sort([len(snapshots.times_of(m)) for m in range(1 if snapshots.regular else snapshots.runs)])
    return int(lengths[np.searchsorted(np.cumsum(lengths), 0.5 * lengths.sum())])


def _together(task: Task, runs: range) -> Iterator[Task]:
    """Tasks like ``task`` with as many runs as one may read."""
    each = max(1, TASK_POINTS // ((task.piece.last - task.piece.first + 1) * max(task.particles, 1)))
    yield from (replace(task, runs=list(runs[k : k + each])) for k in range(0, len(runs), each))


def _pieces(snapshots: Snapshots, run: int, windows: int) -> list[list[Piece]]:
    """The time windows of a run, each cut into pieces of bounded size."""
    times = snapshots.times_of(run)
    length = max(2, TASK_POINTS // max(1, int(snapshots.counts_of(run).max())))
    cuts = _window_cuts(times, windows)
    return [_cut(times, int(a), int(b), length) for a, b in pairwise(cuts)]


def _window_cuts(times: Array, windows: int) -> NDArray[np.int64]:
    """Frames at which windows begin and end; neighbours share one. Some windows of a very short run are empty."""
    return np.linspace(0, len(times) - 1, windows + 1).round().astype(np.int64)


def _cut(times: Array, begin: int, end: int, length: int) -> list[Piece]:
    if begin == end:
        return []
    table = every_rule(times[begin : end + 1]).reshape(len(STRIDES) * len(RULES), -1).T
    unit = (times[end] - times[begin]) / (end - begin)
    _, kept, class_of = np.unique(np.round(table / unit, 9), axis=0, return_index=True, return_inverse=True)
    pieces = []
    for first in range(begin, end + 1, length):
        last = min(first + length - 1, end)
        classes = class_of.ravel()[first - begin : last - begin + 1]
        order = np.argsort(classes, kind="stable")
        pieces.append(Piece(first, last, order, classes[order], table[kept], first == begin, last == end))
    return pieces


class Loaded(NamedTuple):
    """The snapshots of a task, run by run, as kernels read them."""

    points: Array
    """(P, dim): all positions, one snapshot after the other, each sorted by kind"""
    starts: NDArray[np.int64]
    """(S, kinds + 1): kind a of snapshot s is points[starts[s, a]:starts[s, a + 1]]"""
    counts: NDArray[np.int64]
    """(runs, frames): numbers of particles"""
    scales: Array
    """(S,): coupling factors"""


def loaded(task: Task, snapshots: Source, coupling: str, kinds: int = 1, further: int = 0) -> Loaded:
    """Read the positions of a task, with so many further frames of each run; one kind: whatever they are."""
    piece, runs = task.piece, task.runs
    last = piece.last + further
    of_kind = np.array([snapshots.kinds_in(m, kinds)[piece.first : last + 1] for m in runs])
    points = [snapshots.points_of(m, piece.first, last) for m in runs]
    counts = of_kind.sum(axis=2)
    ends = np.cumsum(of_kind).reshape(-1, of_kind.shape[2])
    starts = np.concatenate([ends[:, -1:] - counts.reshape(-1, 1), ends], axis=1)
    scales = 1.0 / np.maximum(counts.ravel(), 1) if coupling == "mean" else np.ones(counts.size)
    return Loaded(np.ascontiguousarray(np.concatenate(points), dtype=np.float64), starts, counts, scales)


def batches(tasks: Iterator[Task]) -> Iterator[list[Task]]:
    """Groups of tasks whose positions are in memory together."""
    batch: list[Task] = []
    points = 0
    for task in tasks:
        points += task.points
        if batch and points > BATCH_POINTS:
            yield batch
            batch, points = [], task.points
        batch.append(task)
    if batch:
        yield batch
