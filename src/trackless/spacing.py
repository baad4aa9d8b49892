"""How far particles move between snapshots, against how far apart they are: could they be tracked at all?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from trackless.snapshots import Snapshots
from trackless.space import displacement, wrap

SAMPLE_PARTICLES = 100_000  # in the snapshots that are looked at


class Spacing(NamedTuple):
    """Typical lengths; None where there is nothing to measure them on.

    Attributes
    ----------
    step : float or None
        Median distance that particles move between consecutive snapshots.
    from_labels : bool
        Whether labels told it. Otherwise it is the distance to the nearest particle of the next snapshot, which is the
        step while that is small, and at most the distance between neighbours when it is not.
    neighbour : float or None
        Mean distance to the nearest other particle of the same snapshot.
    closest : float or None
        The smallest one.
    """

    step: float | None
    from_labels: bool
    neighbour: float | None
    closest: float | None = None

    @property
    def ratio(self) -> float | None:
        """The step in units of half the distance between neighbours: above 1 particles cannot be told apart."""
        if self.step is None or not self.neighbour:
            return None
        return 2 * self.step / self.neighbour


def spacing(snapshots: Snapshots) -> Spacing:
    """Measure steps and neighbours on an evenly spread sample of consecutive snapshots.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=4, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> bool(0.05 < spacing(data).step < 0.2)
    True
    """
    steps, neighbours = [], []
    for here, there in _pairs(snapshots):
        if len(here) > 1:
            neighbours.append(_nearest(here, here, snapshots.box, 2))
        if there is not None and len(here) and len(there):
            if snapshots.labeled:
                steps.append(np.linalg.norm(displacement(there, here, snapshots.box), axis=1))
            else:
                steps.append(_nearest(there, here, snapshots.box, 1))
    step = float(np.median(np.concatenate(steps))) if steps else None
    nearest = np.concatenate(neighbours) if neighbours else None
    neighbour, closest = (float(nearest.mean()), float(nearest.min())) if nearest is not None else (None, None)
    return Spacing(step, snapshots.labeled, neighbour, closest)


def _pairs(snapshots: Snapshots) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """Consecutive snapshots; single ones where a run has no other."""
    lengths = np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])
    pairs = np.maximum(lengths - 1, 1)
    ends = np.cumsum(pairs)
    typical = max(1.0, float(np.mean(snapshots.counts_of(0))))
    wanted = int(min(ends[-1], max(1, SAMPLE_PARTICLES // typical)))
    for chosen in np.unique(np.linspace(0, ends[-1] - 1, wanted).round().astype(np.int64)).tolist():
        run = int(np.searchsorted(ends, chosen, side="right"))
        index = chosen - int(ends[run] - pairs[run])
        there = snapshots.frame(run, index + 1) if lengths[run] > 1 else None
        yield snapshots.frame(run, index), there


def _nearest(targets: NDArray[Any], points: NDArray[Any], box: Any, rank: int) -> NDArray[np.float64]:
    """Distance from each point to its nearest target (its second nearest where it is a target itself)."""
    if box is not None:
        targets, points = wrap(targets, box), wrap(points, box)
    distances = np.asarray(KDTree(targets, boxsize=box).query(points, k=rank)[0])
    return distances if rank == 1 else distances[:, rank - 1]
