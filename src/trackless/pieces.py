"""Cutting a data set into tasks of bounded size: runs of a block, in pieces of a time window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _memory
from trackless._shelf import read_ahead
from trackless.excerpts import Source
from trackless.quadrature import RULES, STRIDES, every_rule
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
BATCH_POINTS = 2_000_000  # particles in the tasks handed out together, at most
BATCHES = 4  # such groups that may be in memory where data are in files: one at work, one being read, and their slabs
GROUP_POINTS = 500_000  # particles of runs that are gone through together, window after window
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
    runs: range = field(default_factory=lambda: range(0))
    """consecutive ones"""

    @property
    def points(self) -> int:
        """Number of particles, about."""
        return len(self.runs) * (self.piece.last - self.piece.first + 1) * self.particles

    def normals(self, shape: tuple[int, ...], draw: int) -> Array:
        """Normally distributed numbers, the same whenever the task is worked on."""
        return np.random.default_rng([draw, self.runs[0], self.piece.first]).normal(size=shape)


def tasks(snapshots: Snapshots, cuts: NDArray[np.int64], windows: int, alone: bool = False) -> Iterator[Task]:
    """Cut the data into tasks: consecutive runs of a block, in one piece of a window, with the same times.

    Block b holds the runs from ``cuts[b]`` to ``cuts[b + 1]``. With ``alone``, a piece that does not end its window has
    one run only.
    """
    pieces: list[list[Piece]] = []
    known: tuple[int, ...] | None = None
    for runs, edges in snapshots.groups():
        if edges != known or not snapshots.regular:
            pieces, known = _pieces(snapshots, runs.start, windows, edges), edges
        particles = int(snapshots.counts_of(runs.start).max())
        for group in _groups(runs, cuts, bool(edges), max(1, particles * len(snapshots.times_of(runs.start)))):
            for w, window in enumerate(pieces):
                for piece in window:
                    for block, own in group:
                        task = Task((block, w), piece, particles)
                        yield from _together(task, own, 1 if alone and not piece.closes else len(own))


def _groups(
    runs: range, cuts: NDArray[np.int64], in_slabs: bool, points: int
) -> Iterator[list[tuple[int, range]]]:  # fmt: skip
    """Blocks and runs of them that are gone through together, window after window: so many that they stay at hand.

    Where files are read in slabs of many runs and few frames, all blocks of these runs are gone through together.
    """
    first = int(np.searchsorted(cuts, runs.start, side="right")) - 1
    found = []
    for block in range(first, len(cuts) - 1):
        own = range(max(runs.start, int(cuts[block])), min(runs.stop, int(cuts[block + 1])))
        if own.start >= runs.stop:
            break
        each = len(own) if in_slabs else max(1, GROUP_POINTS // points)
        found += [(block, own[k : k + each]) for k in range(0, len(own), max(each, 1))]
    yield from [found] if in_slabs else ([one] for one in found)


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


def _together(task: Task, runs: range, most: int) -> Iterator[Task]:
    """Tasks like ``task`` with as many runs as one may read, and no more than ``most``."""
    each = max(1, TASK_POINTS // ((task.piece.last - task.piece.first + 1) * max(task.particles, 1)))
    each = min(each, most)
    yield from (replace(task, runs=runs[k : k + each]) for k in range(0, len(runs), each))


def _pieces(snapshots: Snapshots, run: int, windows: int, edges: Sequence[int] = ()) -> list[list[Piece]]:
    """The time windows of a run, each cut into pieces of bounded size, and at ``edges``."""
    times = snapshots.times_of(run)
    length = max(2, TASK_POINTS // max(1, int(snapshots.counts_of(run).max())))
    cuts = _window_cuts(times, windows)
    return [_cut(times, int(a), int(b), length, edges) for a, b in pairwise(cuts)]


def _window_cuts(times: Array, windows: int) -> NDArray[np.int64]:
    """Frames at which windows begin and end; neighbours share one. Some windows of a very short run are empty."""
    return np.linspace(0, len(times) - 1, windows + 1).round().astype(np.int64)


def _cut(times: Array, begin: int, end: int, length: int, edges: Sequence[int]) -> list[Piece]:
    if begin == end:
        return []
    table = every_rule(times[begin : end + 1]).reshape(len(STRIDES) * len(RULES), -1).T
    unit = (times[end] - times[begin]) / (end - begin)
    _, kept, class_of = np.unique(np.round(table / unit, 9), axis=0, return_index=True, return_inverse=True)
    pieces = []
    stretches = pairwise([begin, *(edge for edge in edges if begin < edge <= end), end + 1])
    for first, stop in ((k, b) for a, b in stretches for k in range(a, b, length)):
        last = min(first + length, stop) - 1
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


def alike(snapshots: Source, kinds: int) -> bool:
    """Whether all snapshots of all runs must have the same number of particles (of each kind)."""
    return snapshots.regular and (kinds == 1 or snapshots.species is None)


def unlike(snapshots: Source, runs: range, kinds: int) -> range:
    """Runs that may have other numbers of particles (of each kind) than the first; it alone where none can."""
    return runs[:1] if alike(snapshots, kinds) else runs


def loaded(task: Task, snapshots: Source, coupling: str, kinds: int = 1, further: int = 0) -> Loaded:
    """Read the positions of a task, with so many further frames of each run; one kind: whatever they are."""
    piece, runs = task.piece, task.runs
    last = piece.last + further
    each = [snapshots.kinds_in(m, kinds)[piece.first : last + 1] for m in unlike(snapshots, runs, kinds)]
    of_kind = np.broadcast_to(each, (len(runs), *each[0].shape))
    points = snapshots.points_of_runs(runs, piece.first, last)
    counts = of_kind.sum(axis=2)
    ends = np.cumsum(of_kind).reshape(-1, of_kind.shape[2])
    starts = np.concatenate([ends[:, -1:] - counts.reshape(-1, 1), ends], axis=1)
    scales = 1.0 / np.maximum(counts.ravel(), 1) if coupling == "mean" else np.ones(counts.size)
    return Loaded(np.array(points, dtype=np.float64, order="C"), starts, counts, scales)


class Batches:
    """All of the data as groups of tasks whose positions are in memory together, one group after the other.

    Where data are in files, those of the next group are read while one is worked on. Parameters as for :func:`tasks`.
    """

    def __init__(self, snapshots: Snapshots, cuts: NDArray[np.int64], windows: int, alone: bool = False) -> None:
        self.snapshots = snapshots
        most = min(BATCH_POINTS, _memory.for_data() // (BATCHES * 8 * snapshots.dim))
        self.groups = list(_batches(tasks(snapshots, cuts, windows, alone), most))

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, number: int) -> list[Task]:
        return self.groups[number]

    def after(self, done: int) -> Iterator[list[Task]]:
        """All groups but the first ``done``, each of which is read while the one before is worked on."""
        rest = self.groups[done:]
        return read_ahead(rest, self._fetch) if self.snapshots.in_files else iter(rest)

    def _fetch(self, batch: list[Task]) -> None:
        for task in batch:
            self.snapshots.fetch(task.runs, task.piece.first, task.piece.last)


def _batches(tasks: Iterator[Task], most: int) -> Iterator[list[Task]]:
    batch: list[Task] = []
    points = 0
    for task in tasks:
        points += task.points
        if batch and points > most:
            yield batch
            batch, points = [], task.points
        batch.append(task)
    if batch:
        yield batch
