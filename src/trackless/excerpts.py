"""A few frames of a data set, to be sent to where they are worked on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.snapshots import Snapshots

if TYPE_CHECKING:
    from trackless.pieces import Task

Source = Any  # Snapshots, or an Excerpt of them


class NotFinite(InputError):
    """A position is NaN or infinite; the whole data set can say where (``Snapshots.check_finite``)."""


class Excerpt:
    """What some tasks read of a data set, under the numbers that runs and frames have there.

    Only what tasks ask for is answered; times and numbers of particles are those of whole runs.
    """

    def __init__(self, snapshots: Snapshots, tasks: Iterable[Task]) -> None:
        self.dim, self.box, self.labeled = snapshots.dim, snapshots.box, snapshots.labeled
        self.regular, self.species = snapshots.regular, snapshots.species
        self._times: dict[int, NDArray[np.float64]] = {}
        self._counts: dict[int, NDArray[np.int64]] = {}
        self._pieces: dict[int, list[tuple[int, int, NDArray[Any]]]] = {}
        same = np.zeros((0, 0), dtype=np.int64)
        for task in tasks:
            for run in task.runs:
                if run not in self._counts:
                    counts = snapshots.species_counts_of(run)
                    same = same if np.array_equal(counts, same) else counts  # sent once where runs are alike
                    self._counts[run], self._times[run] = same, snapshots.times_of(run)
                first, last = task.piece.first, min(task.piece.last + 1, len(same) - 1)  # and its successor
                points = np.ascontiguousarray(snapshots.points_of(run, first, last))
                self._pieces.setdefault(run, []).append((first, last, points))

    def times_of(self, run: int) -> NDArray[np.float64]:
        """As of Snapshots."""
        return self._times[run]

    def counts_of(self, run: int) -> NDArray[np.int64]:
        """As of Snapshots."""
        return self._counts[run].sum(axis=1)

    def species_counts_of(self, run: int) -> NDArray[np.int64]:
        """As of Snapshots."""
        return self._counts[run]

    def kinds_in(self, run: int, kinds: int) -> NDArray[np.int64]:
        """As of Snapshots."""
        return self.counts_of(run)[:, None] if kinds == 1 else self._counts[run]

    def points_of(self, run: int, first: int, last: int) -> NDArray[Any]:
        """As of Snapshots, for frames that were taken along."""
        start, _, points = next(piece for piece in self._pieces[run] if piece[0] <= first and last <= piece[1])
        before, count = (int(self._counts[run][a:b].sum()) for a, b in ((start, first), (first, last + 1)))
        return points[before : before + count]

    def points_of_runs(self, runs: Sequence[int], first: int, last: int) -> NDArray[Any]:
        """The same of several runs, one after the other."""
        return np.concatenate([self.points_of(run, first, last) for run in runs])

    def frame(self, run: int, index: int) -> NDArray[Any]:
        """As of Snapshots."""
        return self.points_of(run, index, index)

    def check_finite(self) -> None:
        """An error if a position is not finite."""
        if not all(np.isfinite(points).all() for pieces in self._pieces.values() for _, _, points in pieces):
            raise NotFinite("positions: there are some that are not finite; remove or repair them")
