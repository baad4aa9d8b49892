"""Runs that can hardly be in the same units: files of different origin, put together by mistake."""

from __future__ import annotations

import numpy as np

from trackless.exploration import explore
from trackless.snapshots import Snapshots

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
