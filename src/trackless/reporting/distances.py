"""Densities of distances, between particles and from a centre, in some snapshots: what is compared with predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import gamma
from scipy.stats import t

from trackless.exploration import Exploration
from trackless.mixtures import Kinds, in_words, listed
from trackless.reporting.curves import plain
from trackless.snapshots import Snapshots
from trackless.space import Box, half_box, wrap
from trackless.uncertainty import cutoff_of

Array = NDArray[np.float64]
BINS = 40
FARTHEST = 0.995  # quantile of the explored distances at which bins end
WIDE = 2.0  # cutoffs, or where they end if there is one
LEVEL = 0.95  # of the range of what is predicted


class Measure(NamedTuple):
    """One density: of pair distances of some kinds, or of distances from a centre."""

    label: str
    xlabel: str
    ylabel: str
    edges: Array
    kinds: Kinds
    species: tuple[str, ...]
    center: Array | None
    """None: distances between particles"""
    box: Box

    def of(self, frames: Sequence[Array], counts: NDArray[np.int64]) -> Array:
        """The mean density (BINS,) of some snapshots with numbers (frames, kinds) of particles of each kind."""
        return np.mean(
            [self._of_one(np.asarray(f, float), self._chosen(n)) for f, n in zip(frames, counts, strict=True)], axis=0
        )

    def _chosen(self, counts: NDArray[np.int64]) -> list[slice]:
        """Where the particles of the kinds are in a snapshot; positions are sorted by kind."""
        ends = np.concatenate([[0], np.cumsum(counts)]).tolist()
        places = [self.species.index(kind) for kind in self.kinds]
        return [slice(ends[k], ends[k + 1]) for k in places] or [slice(0, ends[-1])]

    def _of_one(self, points: Array, chosen: list[slice]) -> Array:
        first, last = points[chosen[0]], points[chosen[-1]]
        if self.center is not None:
            counted = np.histogram(np.linalg.norm(first - self.center, axis=-1), self.edges)[0]
            return counted / max(len(first), 1) / np.diff(self.edges)
        same = chosen[0] == chosen[-1]
        trees = [KDTree(wrap(own, self.box), boxsize=self.box) for own in ((first,) if same else (first, last))]
        # pairs within each edge, ordered ones; particles are no neighbours of themselves
        within = np.asarray(trees[0].count_neighbors(trees[-1], self.edges), float) - (len(first) if same else 0)
        pairs = max(len(first) * (len(last) - same), 1)
        return np.diff(within) / pairs / self._width(points.shape[1])

    def _width(self, dim: int) -> Array:
        """What each bin is compared with: its width, or in a box the part of the box that it is, for g(r)."""
        if self.box is None:
            return np.diff(self.edges)
        ball = np.pi ** (dim / 2) / gamma(dim / 2 + 1)
        return ball * np.diff(self.edges**dim) / np.prod(self.box)

    def compared(self, observed: Array, simulated: Array) -> dict[str, Any]:
        """Observed (pieces, BINS) and simulated (paths, BINS) densities, as plain data.

        The range is where an observed mean over as many pieces should be, if the fitted model is right.
        """
        content: dict[str, Any] = {
            "label": self.label, "xlabel": self.xlabel, "ylabel": self.ylabel, "edges": plain(self.edges),
            "observed": plain(observed.mean(axis=0)), "predicted": None, "lower": None, "upper": None,
        }  # fmt: skip
        if len(simulated) < 2:
            return content
        mean = simulated.mean(axis=0)
        error = simulated.std(axis=0, ddof=1) * np.sqrt(1 / len(observed) + 1 / len(simulated))
        half = error * t.ppf(0.5 + 0.5 * LEVEL, len(simulated) - 1)
        ends = np.maximum(mean - half, 0.0), mean + half
        return content | {"predicted": plain(mean), "lower": plain(ends[0]), "upper": plain(ends[1])}


def measures(fitted: Any, snapshots: Snapshots, explored: Exploration) -> list[Measure]:
    """Pair distances of every pair of kinds that the fit tells apart, and distances from the centre of every V."""
    found = []
    names, box = snapshots.species or (), snapshots.box
    for kinds, potential in listed(fitted.interaction_) or [((), None)]:
        sample = explored.of_kinds(kinds).distances
        if len(sample):
            far = min(float(np.quantile(sample, FARTHEST)), half_box(box), WIDE * (cutoff_of(potential) or np.inf))
            of = f" of {in_words(kinds)}" if kinds else ""
            label = f"Pair distances{of}" if box is None else f"Pair correlation{of}"
            words = "distance between particles r", "density" if box is None else "g(r)"
            found.append(Measure(label, *words, np.linspace(0.0, far, BINS + 1), kinds, names, None, box))
    for kinds, potential in listed(fitted.external_) if box is None else []:
        own = explored.of_kinds(kinds)
        origin = getattr(potential, "origin", None)  # of radial ones
        center = np.zeros(snapshots.dim) + (own.mean if origin is None else origin)
        far = float(np.quantile(own.radii(center), FARTHEST))
        middle = "mean position" if origin is None else "centre"
        label = f"Distances from the {middle}" + (f", {in_words(kinds)}" if kinds else "")
        edges = np.linspace(0.0, far, BINS + 1)
        found.append(Measure(label, f"distance from the {middle} |x|", "density", edges, kinds, names, center, box))
    return [measure for measure in found if measure.edges[-1] > 0]
