"""What can be said of snapshots without knowing who is who: distances of pairs, places, and how far all has moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from trackless.space import Box, displacement, half_box, wrap

Array = NDArray[np.float64]
PAIR_BINS, PLACE_BINS = 10, 8  # of equal probability: few numbers, each well known
FINE_BINS = 48  # of equal width, to draw
MANY = 200  # particles from which on neighbours are looked up in a tree
CHUNK = 4_000_000  # distances that are held at once


class Number(NamedTuple):
    """One observable: what it is about, and in words what it is."""

    topic: str
    """"pairs", "places" or "motion" """
    text: str


@dataclass(frozen=True)
class Bins:
    """Where distances are counted, and how particles are told apart.

    Attributes
    ----------
    parts : tuple of (str, slice, slice)
        Name and particles of each pair of kinds; one entry where all are alike.
    pairs, fine_pairs : tuple of (B + 1,)
        Edges of bins of pair distances, for each of them.
    places, fine_places : (B + 1,)
        Edges of bins of distances from the centre; empty where places say nothing (a box, no external potential).
    center : (dim,)
    box : tuple or None
    """

    parts: tuple[tuple[str, slice, slice], ...]
    pairs: tuple[Array, ...]
    fine_pairs: tuple[Array, ...]
    places: Array
    fine_places: Array
    center: Array
    box: Box

    @classmethod
    def of(
        cls, sample: Array, parts: tuple[tuple[str, slice, slice], ...], center: Array, box: Box, reach: float | None
    ) -> Bins:
        """Bins for snapshots like those of ``sample`` (S, N, dim); pairs are looked at up to ``reach``."""
        end = min(half_box(box), np.inf if reach is None else reach)
        pairs, fine = [], []
        for _, first, second in parts:
            distances = np.concatenate([d for d, _ in _distances(sample, first, second, box, end)])
            pairs.append(_quantiles(distances, PAIR_BINS, end))
            top = end if np.isfinite(end) else float(np.quantile(distances, 0.995)) if len(distances) else 1.0
            fine.append(np.linspace(0.0, top, FINE_BINS + 1))
        places = fine_places = np.empty(0)
        if box is None:
            radii = np.linalg.norm(sample - center, axis=-1).ravel()
            places = _quantiles(radii, PLACE_BINS, np.inf)
            fine_places = np.linspace(0.0, float(np.quantile(radii, 0.995)), FINE_BINS + 1)
        return cls(parts, tuple(pairs), tuple(fine), places, fine_places, center, box)

    def measured(self, start: Array, end: Array) -> tuple[Array, list[Array]]:
        """Observables (K,) of snapshots ``end`` (S, N, dim) that began at ``start``, and fine densities to draw."""
        values: list[Array] = []
        fine: list[Array] = []
        for (_, first, second), edges, fine_edges in zip(self.parts, self.pairs, self.fine_pairs, strict=True):
            coarse, finer, total = np.zeros(len(edges) - 1), np.zeros(len(fine_edges) - 1), 0
            for distances, count in _distances(end, first, second, self.box, max(edges[-1], fine_edges[-1])):
                coarse += np.histogram(distances, edges)[0]
                finer += np.histogram(distances, fine_edges)[0]
                total += count
            values.append(coarse / max(total, 1))
            fine.append(finer / (max(total, 1) * np.diff(fine_edges)))
        if self.box is None:
            radii = np.linalg.norm(end - self.center, axis=-1).ravel()
            values.append(np.histogram(radii, self.places)[0] / len(radii))
            fine.append(np.histogram(radii, self.fine_places)[0] / (len(radii) * np.diff(self.fine_places)))
            moved = end.mean(axis=1) - start.mean(axis=1)
            offset = end - self.center
            values += [offset.mean(axis=(0, 1)), (offset**2).mean(axis=(0, 1)), (moved**2).mean(axis=0)]
        values.append(np.array([_nearest(end, start, self.box)]))
        return np.concatenate(values), fine

    def names(self, time: str) -> list[Number]:
        """What the observables are, in their order."""
        found = []
        for (name, _, _), edges in zip(self.parts, self.pairs, strict=True):
            of = f" of {name}" if name else ""
            found += [Number("pairs", f"pairs{of} at distances {span}{time}") for span in _spans(edges)]
        if self.box is None:
            axes = [f"x_{k + 1}" for k in range(len(self.center))]
            found += [Number("places", f"particles at {span} from the centre{time}") for span in _spans(self.places)]
            found += [Number("places", f"the mean of {axis}{time}") for axis in axes]
            found += [Number("places", f"the spread in {axis}{time}") for axis in axes]
            found += [Number("motion", f"how far the centre of mass moves in {axis}{time}") for axis in axes]
        return [*found, Number("motion", f"how far particles are from where any was before{time}")]

    def curves(self) -> list[tuple[str, str, Array]]:
        """Topic, words and edges of every fine density, in their order."""
        found = []
        for (name, _, _), edges in zip(self.parts, self.fine_pairs, strict=True):
            found.append(("pairs", f"distances between {name or 'particles'}", edges))
        return found if self.box is not None else [*found, ("places", "distances from the centre", self.fine_places)]


def _quantiles(distances: Array, bins: int, end: float) -> Array:
    """Edges of bins of equal probability, from 0 to ``end``; beyond the data there may be more."""
    if not len(distances):
        return np.array([0.0, end if np.isfinite(end) else 1.0])
    inner = np.quantile(distances, np.linspace(0.0, 1.0, bins + 1)[1:-1])
    last = end if np.isfinite(end) else 1e3 * float(distances.max() + 1.0)  # so that what is far away counts, too
    return np.concatenate([[0.0], np.unique(inner), [last]])


def _spans(edges: Array) -> list[str]:
    below, above = f"below {edges[1]:.3g}", f"above {edges[-2]:.3g}"
    between = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges[1:-1])]
    return [below, *between, above] if len(edges) > 2 else [f"up to {edges[-1]:.3g}"]


def _distances(points: Array, first: slice, second: slice, box: Box, reach: float) -> Iterator[tuple[Array, int]]:
    """Distances of pairs that are within ``reach``, and how many pairs there are in all, a few snapshots at a time."""
    a, b = points[:, first], points[:, second]
    same = first == second
    total = a.shape[1] * (a.shape[1] - 1) // 2 if same else a.shape[1] * b.shape[1]
    if max(a.shape[1], b.shape[1]) > MANY and np.isfinite(reach):
        for one, other in zip(wrap(a, box), wrap(b, box), strict=True):
            yield _near(one, other, same, box, reach), total
        return
    thin = max(1, max(a.shape[1], b.shape[1]) // MANY)
    a, b = a[:, ::thin], b[:, ::thin]
    i, j = np.triu_indices(a.shape[1], 1) if same else (k.ravel() for k in np.indices((a.shape[1], b.shape[1])))
    size = max(1, CHUNK // max(1, len(i)))
    for begin in range(0, len(a), size):
        z = displacement(a[begin : begin + size, i], b[begin : begin + size, j], box)
        distances = np.linalg.norm(z, axis=-1).ravel()
        yield distances[distances <= reach], len(distances)


def _near(one: Array, other: Array, same: bool, box: Box, reach: float) -> Array:
    tree = KDTree(one, boxsize=box)
    if same:
        pairs = tree.query_pairs(reach, output_type="ndarray")
        return np.linalg.norm(displacement(one[pairs[:, 0]], one[pairs[:, 1]], box), axis=-1)
    return np.asarray(tree.sparse_distance_matrix(KDTree(other, boxsize=box), reach, output_type="ndarray")["v"], float)


def _nearest(end: Array, start: Array, box: Box) -> float:
    """Mean distance of each particle to the nearest one of the snapshot that it began with."""
    found = [KDTree(wrap(b, box), boxsize=box).query(wrap(a, box))[0] for a, b in zip(end, start, strict=True)]
    return float(np.mean(found))
