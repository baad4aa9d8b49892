"""How much work a simulation of a fit is, told before it is made: a count, the same on every machine.

Nothing here looks at a clock, so that what is simulated within a given amount of work is the same every time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from trackless._kernels.neighbours import MANY
from trackless._kernels.simulation import SHIFT, SlopeTable, TensorPotential
from trackless.mixtures import listed
from trackless.slopes import slope_table
from trackless.snapshots import Snapshots
from trackless.space import displacement, wrap

Array = NDArray[np.float64]
FRAMES = 8  # snapshots looked at
LOOKED_AT = 400  # particles of each whose pairs are looked at
TENSOR = 20.0  # a force of a tensor spline takes as long as so many from a table
LIST = 2.0  # pairs in a list of neighbours per pair within reach


class Effort(NamedTuple):
    """What one run costs."""

    forces: float
    """computed in a step, on single particles and between two"""
    steps: float
    """taken in a unit of time, at least"""

    def of(self, duration: float, steps: int) -> float:
        """Forces over so much time, in at least so many steps."""
        return self.forces * max(self.steps * duration, steps)


def effort_of(fitted: Any, snapshots: Snapshots, step: float) -> Effort:
    """What it takes to simulate a run like those of some snapshots with steps of at most ``step``.

    Steps are as small as the stiffest pair of a snapshot asks for (``simulate(accurate="roughly")``); that is looked up
    in some of the observed ones.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=5, duration=0.1, step=1e-3)
    >>> known = SimpleNamespace(external_=model.external, interaction_=model.interaction, sigma_=1.0, coupling="mean")
    >>> effort_of(known, data, step=0.01).forces  # twice in a step, for 10 particles and 45 pairs
    110.0
    """
    frames = [wrap(frame, snapshots.box) for frame in _sampled(snapshots)]
    particles = max(len(frame) for frame in frames)
    if getattr(fitted, "dynamics", "continuous") == "discrete":  # one force in a step, however stiff it is
        return Effort(particles * (particles + 1) / 2, 1 / step)
    far = max(float(np.linalg.norm(frame, axis=-1).max(initial=0.0)) for frame in frames) + 1e-9
    spread = float(np.max(fitted.sigma_))
    scale = 1.0 / particles if getattr(fitted, "coupling", "mean") == "mean" else 1.0
    shared: dict[str, Any] = {"dim": snapshots.dim, "step": step, "accurate": "roughly"}
    singles = [
        slope_table(one, reach=far, spread=spread, scale=1.0, **shared) for _, one in listed(fitted.external_)
    ]  # fmt: skip
    doubles = [
        slope_table(one, reach=2 * far, spread=spread * np.sqrt(2), scale=scale, **shared)
        for _, one in listed(fitted.interaction_)
    ]
    paces = []
    for frame in frames:
        pairs = _pairs(frame[: min(len(frame), LOOKED_AT)], snapshots)
        safe = [_safe(table, frame) for table in singles] + [_safe(table, pairs) for table in doubles]
        paces.append(1 / min([step, *safe]))
    reach = max((table.reach for table in doubles), default=0.0)
    met = _pairs_within(frames[0], reach, snapshots)
    single, double = (
        max((TENSOR if isinstance(table, TensorPotential) else 1.0 for table in tables), default=1.0)
        for tables in (singles, doubles)
    )
    return Effort(2.0 * (single * particles + double * met), float(np.mean(paces)))


def _sampled(snapshots: Snapshots) -> list[Array]:
    """A few snapshots, spread over runs and times."""
    runs = np.linspace(0, snapshots.runs - 1, FRAMES).round().astype(int).tolist()
    places = [round(k / (FRAMES - 1) * (len(snapshots.times_of(m)) - 1)) for k, m in enumerate(runs)]
    found = [np.asarray(snapshots.frame(m, place), float) for m, place in zip(runs, places, strict=True)]
    return [frame for frame in found if len(frame)] or [np.zeros((1, snapshots.dim))]


def _pairs(points: Array, snapshots: Snapshots) -> Array:
    """Displacements (pairs, dim)."""
    i, j = np.triu_indices(len(points), 1)
    return displacement(points[i], points[j], snapshots.box)


def _pairs_within(points: Array, reach: float, snapshots: Snapshots) -> float:
    """Pairs that a force is computed for: all of them, or those in lists of neighbours."""
    everyone = 0.5 * len(points) * (len(points) - 1)
    if reach == 0 or len(points) < MANY or not np.isfinite(reach):
        return everyone if reach > 0 else 0.0
    tree = KDTree(points, boxsize=snapshots.box)
    return min(everyone, LIST * 0.5 * (float(tree.count_neighbors(tree, reach)) - len(points)))


def _safe(table: SlopeTable | TensorPotential, offsets: Array) -> float:
    """The smallest step that any of some offsets (n, dim) asks for."""
    if isinstance(table, TensorPotential) or not len(offsets):
        return float(np.min(table.safe_step))
    smallest = np.inf
    for squares, safe in zip(table.squares, table.safe_step, strict=True):
        s = ((offsets - table.origin) ** 2) @ squares
        cells = np.clip((s.view(np.int64) >> SHIFT) - table.first_cell, 0, len(safe) - 1)
        smallest = min(smallest, float(safe[cells].min()))
    return smallest
