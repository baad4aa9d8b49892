"""Runs put together by mistake: hardly in the same units, or the same one twice."""

from __future__ import annotations

import numpy as np

from trackless._errors import InputError
from trackless.exploration import explore
from trackless.snapshots import Snapshots
from trackless.survey import surveyed

FAR = 50.0  # times as large: more than runs of one experiment differ, less than from seconds to milliseconds
LOOKED_AT, FRAMES = 200, 8  # runs, and frames of each


def unlike(snapshots: Snapshots) -> str:
    """That intervals, or the extents of the runs, differ by large factors, in words; empty where they do not.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=2, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> unlike(data)
    ''
    >>> unlike(tl.Snapshots(list(data.positions), times=[data.times, 1000 * data.times]))[:62]
    'RUNS ARE HARDLY IN THE SAME UNITS: their intervals differ 1,00'
    """
    explore(snapshots)  # names positions that nothing can be computed with
    chosen = np.unique(np.linspace(0, snapshots.runs - 1, LOOKED_AT).round().astype(int)).tolist()
    intervals, extents = [], []
    for run in chosen:
        times = snapshots.times_of(run)
        if len(times) > 1:
            intervals.append((float(np.median(np.diff(times))), run))
        looked_at = np.unique(np.linspace(0, len(times) - 1, FRAMES).round().astype(int)).tolist()
        points = np.concatenate([np.asarray(snapshots.frame(run, k), float) for k in looked_at])
        if len(points) > 1 and snapshots.box is None:  # in a box all are as large as it is
            extents.append((float(np.sqrt(points.var(axis=0).sum())), run))
    said = []
    for what, found in (("intervals", intervals), ("extents", extents)):
        positive = sorted(pair for pair in found if pair[0] > 0)
        if positive and positive[-1][0] > FAR * positive[0][0]:
            (low, first), (high, second) = positive[0], positive[-1]
            said.append(f"{what} differ {high / low:,.0f} times ({low:.3g} in run {first}, {high:.3g} in run {second})")
    if not said:
        return ""
    return (
        f"RUNS ARE HARDLY IN THE SAME UNITS: their {', their '.join(said)}; all are fitted as if "
        "times and positions meant the same in each: convert them, or fit them apart"
    )


def check_repeated(snapshots: Snapshots) -> None:
    """Refuse data in which a run is there twice: noise is what runs do not have in common, and copies have none.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=3, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> check_repeated(data)
    >>> check_repeated(tl.Snapshots(data.positions[[0, 1, 2, 1]], data.times))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    trackless._errors.InputError: run 3 is run 1 again, snapshot by snapshot; errors would seem smaller than they ...
    """
    sums = surveyed(snapshots).sums.reshape(snapshots.runs, -1)
    _, first, which = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    copies = [(k, int(first[group])) for k, group in enumerate(which.ravel()) if first[group] != k]
    copies = [(later, earlier) for later, earlier in copies if _same(snapshots, earlier, later)]
    if copies:
        (later, earlier), others = copies[0], len(copies) - 1
        more = f" (and {others} more {'runs are' if others > 1 else 'run is'} there twice)" if others else ""
        raise InputError(
            f"run {later} is run {earlier} again, snapshot by snapshot{more}; errors would seem smaller than they are: "
            "leave copies out (is a file there twice?)"
        )


def _same(snapshots: Snapshots, first: int, second: int) -> bool:
    """Whether two runs hold the same positions, in the same order, and more than one snapshot with a particle."""
    counts = snapshots.counts_of(first)
    return (
        np.array_equal(counts, snapshots.counts_of(second))
        and int(np.count_nonzero(counts)) > 1
        and all(np.array_equal(snapshots.frame(first, k), snapshots.frame(second, k)) for k in range(len(counts)))
    )
