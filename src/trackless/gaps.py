"""Gaps: intervals too long to integrate over, because nobody looked for a while."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.snapshots import Snapshots
from trackless.wording import plural

LONG = 3.0  # times the usual interval: a frame or two that are missing are still bridged
REGULAR = 0.5  # of the usual interval: the middle half of all intervals differs by less, or they differ on purpose
NARROW = 1.0 + 1e-9  # rounding of times must not make a gap


@dataclass(frozen=True, eq=False)
class Gaps:
    """Where runs are cut, and what is left.

    Attributes
    ----------
    longest : float
        Longer intervals are gaps; infinite where nothing is cut.
    count : int
        Gaps in all runs together.
    pieces : tuple of (int, slice)
        Run and frames of every piece of at least two snapshots, and of runs that have no gap.
    single : int
        Snapshots between two gaps (or a gap and an end of the run), which show no change and are left out.
    """

    longest: float
    count: int
    pieces: tuple[tuple[int, slice], ...]
    single: int

    @property
    def sentence(self) -> str:
        """What was done, in words; empty where nothing was."""
        if not self.count:
            return ""
        said = f"split at {plural(self.count, 'gap')}, intervals longer than {self.longest:.4g}"
        if self.single:
            said += f"; {plural(self.single, 'snapshot')} between gaps left out"
        return said


def find_gaps(snapshots: Snapshots, longest: float | str | None = "auto") -> Gaps:
    """Where a time integral should not go on.

    Parameters
    ----------
    snapshots : Snapshots
    longest : "auto", float or None
        The longest interval that is integrated over; None: any. "auto" is three times the usual (median) interval,
        where intervals are otherwise nearly regular. Times that are irregular on purpose (logarithmic ones, a fine
        start and a coarse rest) are not cut.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> data = tl.Snapshots(np.zeros((1, 7, 3, 2)), [0, 1, 2, 3, 20, 21, 22])
    >>> data.gaps().sentence
    'split at 1 gap, intervals longer than 3'
    >>> [len(times) for times in data.without_gaps().times]
    [4, 3]
    """
    limit = _limit(snapshots, longest)
    found = _found(snapshots, limit)
    if longest == "auto" and 2 * found.single > found.count:  # long intervals in a row are another pace, not gaps
        return _found(snapshots, np.inf)
    if not found.pieces:
        raise InputError(
            f"max_gap: with intervals up to {limit:g} only, all {snapshots.frames} snapshots are on their own; "
            "give a longer one, or max_gap=None"
        )
    return found


def _limit(snapshots: Snapshots, longest: Any) -> float:
    if longest is None:
        return np.inf
    if longest == "auto":
        intervals = snapshots.intervals()
        if not len(intervals):
            return np.inf
        low, usual, high = np.quantile(intervals, [0.25, 0.5, 0.75])
        return float(LONG * usual) if high - low <= REGULAR * usual else np.inf
    if isinstance(longest, (bool, str)) or not (np.isscalar(longest) and longest > 0):  # type: ignore[operator]
        raise InputError(f"max_gap: expected a positive time, 'auto' or None (never split), got {longest!r}")
    return float(longest)  # type: ignore[arg-type]


def _found(snapshots: Snapshots, limit: float) -> Gaps:
    count, single, pieces = 0, 0, []
    shared: NDArray[np.int64] | None = None
    for run in range(snapshots.runs):
        if shared is None or not snapshots.regular:
            times = snapshots.times_of(run)
            after = np.flatnonzero(np.diff(times) > limit * NARROW) + 1
            shared = np.concatenate([[0], after, [len(times)]])
        cuts = [slice(int(a), int(b)) for a, b in pairwise(shared)]
        kept = [cut for cut in cuts if cut.stop - cut.start > 1 or len(cuts) == 1]
        count += len(cuts) - 1
        single += len(cuts) - len(kept)
        pieces += [(run, cut) for cut in kept]
    return Gaps(limit, count, tuple(pieces), single)
