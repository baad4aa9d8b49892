"""What the data explored: bounds, ranges and densities of |x| and of pair distances.

Bounds come from all snapshots, everything else from a fixed, evenly spread sample of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.snapshots import Snapshots
from trackless.space import displacement

Array = NDArray[np.float64]
SAMPLE_PAIRS = 1_000_000
SAMPLE_PARTICLES = 500  # at most this many particles of a sampled frame
CHUNK = 1 << 22  # numbers looked at together


@dataclass(frozen=True)
class Exploration:
    """Where the particles were.

    Attributes
    ----------
    lower, upper : (dim,)
        Bounding box of all positions.
    mean : (dim,)
        Mean position of the sample.
    positions : (P, dim)
        Sampled positions.
    displacements : (Q, dim)
        Sampled displacements x_i - x_j of pairs (nearest image), one of each pair.
    """

    lower: Array
    upper: Array
    mean: Array
    positions: Array
    displacements: Array

    def radii(self, center: ArrayLike = 0.0) -> Array:
        """Sampled distances from a centre, (P,)."""
        return np.linalg.norm(self.positions - np.asarray(center, float), axis=-1)

    def distances(self) -> Array:
        """Sampled pair distances, (Q,)."""
        return np.linalg.norm(self.displacements, axis=-1)

    def farthest(self, role: str, center: ArrayLike = 0.0) -> float:
        """No particle (no pair) of the data is farther away than this."""
        if role == "interaction":
            return float(np.linalg.norm(self.upper - self.lower))
        center = np.asarray(center, float)
        return float(np.linalg.norm(np.maximum(np.abs(self.upper - center), np.abs(self.lower - center))))


def explore(snapshots: Snapshots) -> Exploration:
    """Bounds of all positions and a sample of positions and pair displacements.

    Raises an error that names the first position that is not finite.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=4, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> bool(explore(data).distances().max() < explore(data).farthest("interaction"))
    True
    """
    lower, upper = _bounds(snapshots)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        snapshots.check_finite()
    frames = _sampled_frames(snapshots)
    positions, displacements = [], []
    for run, index in frames:
        points = np.asarray(snapshots.frame(run, index), dtype=np.float64)
        if len(points) > SAMPLE_PARTICLES:
            points = points[:: -(-len(points) // SAMPLE_PARTICLES)]
        positions.append(points)
        i, j = np.triu_indices(len(points), 1)
        displacements.append(displacement(points[i], points[j], snapshots.box))
    sampled = np.concatenate(positions)
    if not len(sampled):
        raise InputError("positions: the sampled snapshots hold no particle")
    return Exploration(lower, upper, sampled.mean(axis=0), sampled, np.concatenate(displacements))


def _bounds(snapshots: Snapshots) -> tuple[Array, Array]:
    lower, upper = np.full(snapshots.dim, np.inf), np.full(snapshots.dim, -np.inf)
    if snapshots.regular:
        array = snapshots.positions
        step = max(1, CHUNK // max(1, array[0].size))
        parts = (array[m : m + step].reshape(-1, snapshots.dim) for m in range(0, len(array), step))
    else:
        lengths = [len(snapshots.times_of(m)) for m in range(snapshots.runs)]
        parts = (snapshots.points_of(m, 0, lengths[m] - 1) for m in range(snapshots.runs))
    for points in parts:
        if len(points):
            # minimum and maximum hand NaN on, so this is the check for finite positions as well
            lower = np.minimum(lower, points.min(axis=0))
            upper = np.maximum(upper, points.max(axis=0))
    return lower, upper


def _sampled_frames(snapshots: Snapshots) -> list[tuple[int, int]]:
    """(run, frame) of an evenly spread, deterministic sample with about SAMPLE_PAIRS pairs."""
    typical = min(int(np.max(snapshots.counts_of(0))), SAMPLE_PARTICLES)
    wanted = max(1, SAMPLE_PAIRS // max(1, typical * (typical - 1) // 2))
    lengths = np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])
    ends = np.cumsum(lengths)
    # A golden-ratio sequence visits runs and times evenly whatever the lengths.
    total = int(ends[-1])
    if wanted >= total:
        chosen = np.arange(total)
    else:
        chosen = np.unique((np.arange(wanted) * 0.6180339887498949 % 1.0 * total).astype(np.int64))
    runs = np.searchsorted(ends, chosen, side="right")
    return [(int(m), int(c - (ends[m] - lengths[m]))) for m, c in zip(runs, chosen, strict=True)]


def radial_density(sample: ArrayLike, grid: ArrayLike, bandwidth: float = 0.15) -> Array:
    """Gaussian kernel density of distances on a grid (paper, section 5.1).

    The bandwidth is a fraction of the sample's standard deviation. The sample is binned first, so its size
    does not matter.
    """
    values, points = np.asarray(sample, float), np.asarray(grid, float)
    width = bandwidth * values.std()
    if width == 0:
        raise InputError("density: all distances are equal, so there is no spread to estimate")
    counts, edges = np.histogram(values, bins=4000)
    centers = 0.5 * (edges[1:] + edges[:-1])
    used = counts > 0
    scaled = (points[:, None] - centers[None, used]) / width
    kernel = np.exp(-0.5 * scaled**2) / (width * np.sqrt(2 * np.pi))
    return kernel @ (counts[used] / counts.sum())
