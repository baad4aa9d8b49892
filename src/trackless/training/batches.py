"""Mini-batches of snapshots: what the snapshot route reads from the data, in units that make all data alike.

The loss is a sum over snapshots (with their quadrature weights) and, because energy differences telescope, over the
ends of segments: runs, or time windows of them where runs are few. Both sums are estimated by mini-batches. Drawing
ends for themselves is what makes small batches work: the energy differences of single snapshot pairs add up to the
same, but their noise is larger by the root of the number of snapshots in a segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.networks import Perceptron
from trackless.quadrature import weights
from trackless.snapshots import Snapshots
from trackless.survey import frames_at

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Singles = NDArray[np.float32]
SEGMENTS = 10  # at least so many, if the number of frames allows it


class Frames(NamedTuple):
    """Some snapshots, padded to the same number of particles.

    positions (B, particles, dim), present (B, particles) 1 or 0, weights (B, 2): of what V and Phi contribute.
    """

    positions: Singles
    present: Singles
    weights: Singles


@dataclass(frozen=True)
class Scales:
    """What positions and energies are measured in while training: then sigma is 1 and time is length^2/sigma^2.

    Attributes
    ----------
    origin : (dim,)
    length : float
    energies : (float, float)
        Of V and of Phi.
    """

    origin: Array
    length: float
    energies: tuple[float, float]

    def inside(self, positions: Array) -> Singles:
        """Positions as the networks see them, in single precision."""
        return ((positions - self.origin) / self.length).astype(np.float32)

    def outwards(self, network: Perceptron, role: int, radial: bool) -> Perceptron:
        """A network of V (role 0) or Phi (1) in the data's own units."""
        origin = self.origin if role == 0 and not radial else 0.0
        return network.scaled(self.length * network.shift + origin, self.length * network.scale, self.energies[role])

    def inwards(self, network: Perceptron, role: int, radial: bool) -> Perceptron:
        """The inverse of :meth:`outwards`."""
        origin = self.origin if role == 0 and not radial else 0.0
        shift = (network.shift - origin) / self.length
        return network.scaled(shift, network.scale / self.length, 1 / self.energies[role])


class Segment(NamedTuple):
    """Frames ``first`` to ``last`` (included) of a run."""

    run: int
    first: int
    last: int


def segments_of(snapshots: Snapshots) -> list[Segment]:
    """Runs, or time windows of them (adjacent ones share a frame) where runs are few."""
    windows = -(-SEGMENTS // snapshots.runs)
    result = []
    for run in range(snapshots.runs):
        last = len(snapshots.times_of(run)) - 1
        cuts = np.unique(np.linspace(0, last, min(windows, last) + 1).round().astype(int)) if last > 0 else []
        result += [Segment(run, int(a), int(b)) for a, b in pairwise(cuts)]
    if len(result) < 2:
        raise InputError("networks need at least two runs or time windows: some to train on, some to stop by")
    return result


class Batches:
    """Mini-batches of some segments.

    Parameters
    ----------
    snapshots : Snapshots
    segments : list of Segment
    rule : str
        Quadrature in time.
    scales : Scales
    sigma : float
    """

    def __init__(self, snapshots: Snapshots, segments: list[Segment], rule: str, scales: Scales, sigma: float) -> None:
        self.snapshots, self.scales = snapshots, scales
        per_time = sigma**2 / scales.length**2
        runs, frames, steps, ends, end_scales = [], [], [], [], []
        total = 0.0
        for run, first, last in segments:
            index = np.arange(first, last + 1)
            step = weights(snapshots.times_of(run)[index], rule) * per_time
            counts = snapshots.counts_of(run)[index].astype(float)
            runs.append(np.full(len(index), run))
            frames.append(index)
            steps.append(step)
            ends.append([(run, first), (run, last)])
            end_scales.append(_end_scales(counts, snapshots.usual_counts(run)))
            total += float(counts @ step)
        self.runs: Indices = np.concatenate(runs)
        self.frames: Indices = np.concatenate(frames)
        # summed over all snapshots and all ends this is the loss per particle and time
        self.steps: Array = np.concatenate(steps) / total
        self.ends: Indices = np.array(ends)
        self.end_scales: Array = np.array(end_scales) / total
        self.particles = max(int(snapshots.counts_of(m).max()) for m in {s.run for s in segments})

    def shuffled(self, size: int, ends: int, generator: np.random.Generator) -> Iterator[tuple[Frames, Frames]]:
        """One epoch: all snapshots once in random order, each batch with the ends of ``ends`` random segments."""
        order = generator.permutation(np.flatnonzero(self.steps))
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            drawn = generator.integers(len(self.ends), size=ends)
            yield self._inner(chosen, size, len(order) / len(chosen)), self._outer(drawn, ends, len(self.ends) / ends)

    def in_order(self, size: int) -> Iterator[tuple[Frames | None, Frames | None]]:
        """All snapshots and all ends once: what they contribute adds up to the loss."""
        for start in range(0, len(self.runs), size):
            yield self._inner(np.arange(start, min(start + size, len(self.runs))), size, 1.0), None
        for start in range(0, len(self.ends), size):
            yield None, self._outer(np.arange(start, min(start + size, len(self.ends))), size, 1.0)

    def _inner(self, chosen: Indices, size: int, factor: float) -> Frames:
        weight = np.zeros((size, 2), np.float32)
        weight[: len(chosen)] = factor * self.steps[chosen, None]
        return Frames(*self._gathered(self.runs[chosen], self.frames[chosen], size), weight)

    def _outer(self, drawn: Indices, size: int, factor: float) -> Frames:
        weight = np.zeros((2 * size, 2), np.float32)
        weight[: 2 * len(drawn)] = factor * self.end_scales[drawn].reshape(-1, 2)
        pairs = self.ends[drawn].reshape(-1, 2)
        return Frames(*self._gathered(pairs[:, 0], pairs[:, 1], 2 * size), weight)

    def _gathered(self, runs: Indices, frames: Indices, size: int) -> tuple[Singles, Singles]:
        """Positions of some frames, padded with ones that are not present."""
        positions = np.zeros((size, self.particles, self.snapshots.dim), np.float32)
        present = np.zeros((size, self.particles), np.float32)
        if self.snapshots.regular:
            positions[: len(runs)] = self.scales.inside(frames_at(self.snapshots, runs, frames))
            present[: len(runs)] = 1
            return positions, present
        for k, (run, frame) in enumerate(zip(runs.tolist(), frames.tolist(), strict=True)):
            points = self.scales.inside(self.snapshots.frame(run, frame))
            positions[k, : len(points)] = points
            present[k, : len(points)] = 1
        return positions, present


def _end_scales(counts: Array, usual: tuple[float, float]) -> Array:
    """Weights (first and last, V and Phi) of the energies at the ends of a segment."""
    n = counts[[0, -1]]
    return np.array([[-1.0], [1.0]]) * usual / np.maximum(np.stack([n, n * (n - 1)], axis=1), 1)
