"""What the data explored: bounds, ranges and densities of |x| and of pair distances.

Bounds come from all snapshots, everything else from a fixed, evenly spread sample of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from trackless._errors import InputError
from trackless.snapshots import Snapshots
from trackless.space import displacement, wrap

Array = NDArray[np.float64]
SAMPLE_PAIRS = 1_000_000
SAMPLE_PARTICLES = 500  # at most this many particles of a sampled frame
SAMPLE_FRAMES = 4000  # at most so many of them, where near pairs are rare
GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, are spread evenly
CHUNK = 1 << 22  # numbers looked at together


class Exploration:
    """Where the particles were; samples are drawn when they are first asked for.

    Attributes
    ----------
    lower, upper : (dim,)
        Bounding box of all positions.
    """

    def __init__(self, snapshots: Snapshots) -> None:
        self.lower, self.upper = _bounds(snapshots)
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            snapshots.check_finite()
            raise InputError("positions: there is no particle in any snapshot")
        self._snapshots = snapshots

    @cached_property
    def _sample(self) -> tuple[Array, Array]:
        positions, displacements = [], []
        for stack in _sampled_stacks(self._snapshots):
            i, j = np.triu_indices(stack.shape[1], 1)
            positions.append(stack.reshape(-1, stack.shape[2]))
            pairs = displacement(stack[:, i], stack[:, j], self._snapshots.box)
            displacements.append(pairs.reshape(-1, stack.shape[2]))
        return np.concatenate(positions), np.concatenate(displacements)

    @property
    def positions(self) -> Array:
        """Sampled positions, (P, dim)."""
        return self._sample[0]

    @property
    def displacements(self) -> Array:
        """Sampled displacements x_i - x_j (nearest image), one of each pair, (Q, dim)."""
        return self._sample[1]

    @property
    def mean(self) -> Array:
        """Mean sampled position, (dim,)."""
        return self.positions.mean(axis=0)

    def radii(self, center: ArrayLike = 0.0) -> Array:
        """Sampled distances from a centre, (P,)."""
        return np.linalg.norm(self.positions - np.asarray(center, float), axis=-1)

    @cached_property
    def distances(self) -> Array:
        """Sampled pair distances, (Q,)."""
        return np.linalg.norm(self.displacements, axis=-1)

    def near(self, cutoff: float) -> Array:
        """Sampled pair distances below a cutoff, (Q,): of all particles, where ``distances`` are of a part of many."""
        found, count = [], 0
        for points in _sampled_frames(self._snapshots):
            box = self._snapshots.box
            tree = KDTree(wrap(points, box), boxsize=box)
            pairs = tree.query_pairs(cutoff, output_type="ndarray")
            found.append(np.linalg.norm(displacement(points[pairs[:, 0]], points[pairs[:, 1]], box), axis=-1))
            count += len(pairs)
            if count > SAMPLE_PAIRS:
                break
        return np.concatenate(found)

    def reached(self, role: str, center: ArrayLike | None = None, cutoff: float | None = None) -> Array:
        """Sampled distances that a radial function of this role, with such a cutoff, was evaluated at."""
        if role == "external":
            return self.radii(0.0 if center is None else center)
        return self.distances if cutoff is None else self.near(cutoff)

    def farthest(self, role: str, center: ArrayLike | None = None) -> float:
        """No particle (no pair) of the data is farther away than this."""
        if role == "interaction":
            return float(np.linalg.norm(self.upper - self.lower))
        center = np.zeros_like(self.lower) if center is None else np.asarray(center, float)
        return float(np.linalg.norm(np.maximum(np.abs(self.upper - center), np.abs(self.lower - center))))


def explore(snapshots: Snapshots) -> Exploration:
    """Look at all positions once; an error names the first that is not finite.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=4, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> explored = explore(data)
    >>> bool(explored.distances.max() < explored.farthest("interaction"))
    True
    """
    return Exploration(snapshots)


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


def _sampled_frames(snapshots: Snapshots) -> Iterator[Array]:
    """Whole snapshots, at times and in runs that are spread evenly, as many as there may be use for."""
    lengths = np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])
    ends = np.cumsum(lengths)
    for k in range(min(int(ends[-1]), SAMPLE_FRAMES)):
        place = int(k * GOLDEN % 1.0 * ends[-1])
        run = int(np.searchsorted(ends, place, side="right"))
        yield np.asarray(snapshots.frame(run, place - int(ends[run] - lengths[run])), dtype=np.float64)


def _sampled_stacks(snapshots: Snapshots) -> Iterator[Array]:
    """Stacks (frames, particles, dim) of an evenly spread, deterministic sample of about SAMPLE_PAIRS pairs."""
    typical = max(2, min(int(np.max(snapshots.counts_of(0))), SAMPLE_PARTICLES))
    wanted = max(1, SAMPLE_PAIRS // (typical * (typical - 1) // 2))
    lengths = np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    if wanted >= total:
        chosen = np.arange(total)
    else:  # a golden-ratio sequence visits runs and times evenly whatever the lengths
        chosen = np.unique((np.arange(wanted) * GOLDEN % 1.0 * total).astype(np.int64))
    runs = np.searchsorted(ends, chosen, side="right")
    frames = chosen - (ends - lengths)[runs]
    if snapshots.regular:
        array = snapshots.positions
        thin = -(-array.shape[2] // SAMPLE_PARTICLES)
        for first in range(0, len(runs), 4096):
            part = slice(first, first + 4096)
            yield np.asarray(array[runs[part], frames[part]][:, ::thin], dtype=np.float64)
    else:
        for m, index in zip(runs.tolist(), frames.tolist(), strict=True):
            points = np.asarray(snapshots.frame(m, index), dtype=np.float64)
            yield points[None, :: max(1, -(-len(points) // SAMPLE_PARTICLES))]


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
