"""What the data explored: bounds, ranges and densities of |x| and of pair distances.

Bounds come from all snapshots, everything else from a fixed, evenly spread sample of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from trackless._errors import InputError
from trackless.magnitudes import check_magnitude
from trackless.mixtures import Kinds
from trackless.snapshots import Snapshots
from trackless.space import displacement, wrap
from trackless.survey import frames_at, surveyed

Array = NDArray[np.float64]
SAMPLE_PAIRS = 1_000_000
SAMPLE_PARTICLES = 500  # at most this many particles of a sampled frame
SAMPLE_TOGETHER = 1_000_000  # particles of sampled frames that are read together
SAMPLE_FRAMES = 4000  # at most so many of them, where near pairs are rare
GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, are spread evenly


class Exploration:
    """Where the particles were; samples are drawn when they are first asked for.

    Attributes
    ----------
    lower, upper : (dim,)
        Bounding box of all positions.
    """

    def __init__(self, snapshots: Snapshots) -> None:
        self.lower, self.upper, *_ = surveyed(snapshots)
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            snapshots.check_finite()
            raise InputError("positions: there is no particle in any snapshot")
        with np.errstate(over="ignore"):  # which is refused
            extent = np.subtract(self.upper, self.lower, dtype=float)
        check_magnitude("positions", float(extent.max()))
        self._snapshots = snapshots
        self._kinds: Kinds = ()
        self._of_kinds: dict[Kinds, Exploration] = {}

    @property
    def species(self) -> tuple[str, ...] | None:
        """Names of the kinds of particles, or None."""
        return self._snapshots.species

    def of_kinds(self, kinds: Kinds) -> Exploration:
        """The same for the particles of one kind, ("a",), or for pairs of two, ("a", "b"); () for all.

        Bounds stay those of all particles.
        """
        if not kinds:
            return self
        unknown = [kind for kind in kinds if kind not in (self.species or ())]
        if unknown:
            there = f"there are {', '.join(self.species)}" if self.species else "the data name no species"
            raise InputError(f"species: there is no {unknown[0]!r}; {there}; use potentials of those that are there")
        if kinds not in self._of_kinds:
            own = copy(self)
            own._kinds, own._of_kinds = kinds, {}
            vars(own).pop("distances", None)
            self._of_kinds[kinds] = own
        return self._of_kinds[kinds]

    @property
    def _sample(self) -> tuple[Array, Array]:
        return self._snapshots.remembered(f"sample of {self._kinds}", self._drawn)

    def _drawn(self) -> tuple[Array, Array]:
        positions, displacements = [], []
        for stacks in _sampled_stacks(self._snapshots, self._kinds):
            first, last = stacks[0], stacks[-1]
            i, j = np.triu_indices(first.shape[1], 1)
            if len(stacks) > 1:
                i, j = (index.ravel() for index in np.indices((first.shape[1], last.shape[1])))
            positions += [stack.reshape(-1, stack.shape[2]) for stack in stacks]
            pairs = displacement(first[:, i], last[:, j], self._snapshots.box)
            displacements.append(pairs.reshape(-1, first.shape[2]))
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
        box, kinds = self._snapshots.box, self._kinds
        for run, index, points in _sampled_frames(self._snapshots):
            pairs = KDTree(wrap(points, box), boxsize=box).query_pairs(cutoff, output_type="ndarray")
            if kinds:
                pair_of = np.sort(self._snapshots.species_of(run, index)[pairs], axis=1)
                pairs = pairs[(pair_of == sorted(kinds)).all(axis=1)]
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


def _sampled_frames(snapshots: Snapshots) -> Iterator[tuple[int, int, Array]]:
    """Runs, indices and positions of snapshots that are spread evenly, as many as there may be use for."""
    lengths = _lengths(snapshots)
    ends = np.cumsum(lengths)
    places = (np.arange(min(int(ends[-1]), SAMPLE_FRAMES)) * GOLDEN % 1.0 * ends[-1]).astype(np.int64)
    runs = np.searchsorted(ends, places, side="right")
    frames = places - (ends - lengths)[runs]
    each = max(1, SAMPLE_TOGETHER // max(1, int(np.max(snapshots.counts_of(0)))))
    for k in range(0, len(places), each):
        some = slice(k, k + each)
        for run, index, points in zip(
            runs[some], frames[some], frames_at(snapshots, runs[some], frames[some]), strict=True
        ):
            yield int(run), int(index), np.asarray(points, dtype=np.float64)


def _lengths(snapshots: Snapshots) -> NDArray[np.int64]:
    """Number of snapshots of each run."""
    if snapshots.regular:
        return np.full(snapshots.runs, len(snapshots.times))
    return np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])


def _sampled_stacks(snapshots: Snapshots, kinds: Kinds) -> Iterator[list[Array]]:
    """Stacks (frames, particles, dim) of an evenly spread, deterministic sample of about SAMPLE_PAIRS pairs.

    One stack of all particles or of one kind, or two of different kinds.
    """
    typical = max(2, min(int(np.max(snapshots.counts_of(0))), SAMPLE_PARTICLES))
    wanted = max(1, SAMPLE_PAIRS // (typical * (typical - 1) // 2))
    lengths = _lengths(snapshots)
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    if wanted >= total:
        chosen = np.arange(total)
    else:  # a golden-ratio sequence visits runs and times evenly whatever the lengths
        chosen = np.unique((np.arange(wanted) * GOLDEN % 1.0 * total).astype(np.int64))
    runs = np.searchsorted(ends, chosen, side="right")
    frames = chosen - (ends - lengths)[runs]
    if snapshots.regular:
        for parts, alike in _alike(snapshots, runs, frames, kinds):
            thins = [max(1, -(-(part.stop - part.start) // SAMPLE_PARTICLES)) for part in parts]
            for first in range(0, len(alike), 4096):
                chosen = alike[first : first + 4096]
                stack = np.asarray(frames_at(snapshots, runs[chosen], frames[chosen]), dtype=np.float64)
                yield [stack[:, part][:, ::thin] for part, thin in zip(parts, thins, strict=True)]
    else:
        for m, index in zip(runs.tolist(), frames.tolist(), strict=True):
            points = np.asarray(snapshots.frame(m, index), dtype=np.float64)
            own = [points[part] for part in _parts(snapshots, snapshots.species_counts_of(m)[index], kinds)]
            yield [part[None, :: max(1, -(-len(part) // SAMPLE_PARTICLES))] for part in own]


def _alike(
    snapshots: Snapshots, runs: NDArray[np.int64], frames: NDArray[np.int64], kinds: Kinds
) -> Iterator[tuple[list[slice], NDArray[np.int64]]]:
    """Snapshots with the same numbers of each kind, and where the particles of some kinds are in them."""
    if not kinds:
        yield [slice(0, snapshots.positions.shape[2])], np.arange(len(runs))
        return
    counts = np.array([snapshots.species_counts_of(m)[i] for m, i in zip(runs.tolist(), frames.tolist(), strict=True)])
    every, which = np.unique(counts, axis=0, return_inverse=True)
    for number, row in enumerate(every):
        yield _parts(snapshots, row, kinds), np.flatnonzero(which.ravel() == number)


def _parts(snapshots: Snapshots, counts: NDArray[np.int64], kinds: Kinds) -> list[slice]:
    """Where the particles of some kinds, each once, are in a snapshot with such numbers of every kind; () is all."""
    if not kinds:
        return [slice(0, int(counts.sum()))]
    ends = np.concatenate([[0], np.cumsum(counts)]).tolist()
    places = [(snapshots.species or ()).index(kind) for kind in dict.fromkeys(kinds)]
    return [slice(ends[place], ends[place + 1]) for place in places]


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


def density_to_draw(sample: ArrayLike, grid: ArrayLike, dim: int) -> Array:
    """The density of distances as it is drawn: on a line, what the kernel loses below 0 is reflected.

    In more dimensions a density of distances vanishes at 0, and there is nothing to lose. The paper's metric weighs
    with :func:`radial_density` as it is.

    Examples
    --------
    >>> distances, there = np.abs(np.random.default_rng(0).normal(size=100000)), np.zeros(1)
    >>> expected = 2 / np.sqrt(2 * np.pi)
    >>> bool(abs(density_to_draw(distances, there, 1)[0] / expected - 1) < 0.02)
    True
    >>> bool(radial_density(distances, there)[0] / expected < 0.6)
    True
    """
    points = np.asarray(grid, float)
    density = radial_density(sample, points)
    return density + radial_density(sample, -points) if dim == 1 else density


def coincidence(explored: Exploration) -> str:
    """A word on particles in the same place, of which a force is not defined; empty where there are none."""
    if not len(explored.distances) or explored.distances.min() > 0:
        return ""
    return "two particles are in the same place: has one been detected twice?"
