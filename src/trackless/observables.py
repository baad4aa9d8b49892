"""What can be said of snapshots without knowing who is who: distances of pairs, places, and how far all has moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import gamma

from trackless.space import Box, displacement, half_box, wrap

Array = NDArray[np.float64]
PAIR_BINS, PLACE_BINS = 10, 8  # of equal probability: few numbers, each well known
FINE_BINS = 48  # of equal width, to draw
MANY = 200  # particles from which on neighbours are looked up in a tree
CHUNK = 4_000_000  # distances that are held at once
WIDE, FARTHEST = 2.0, 0.995  # densities are drawn up to so many times the reach of pairs, or this quantile


class Number(NamedTuple):
    """One observable: what it is about, and in words what it is."""

    topic: str
    """"pairs", "places" or "motion" """
    text: str


class Density(NamedTuple):
    """What is drawn: its topic, words for a title and for both axes, and its bins."""

    topic: str
    title: str
    xlabel: str
    ylabel: str
    edges: Array
    """(B + 1,)"""


class Pairs(NamedTuple):
    """Two kinds of particles (the same one twice, for pairs of one kind), and bins of the distances between them."""

    name: str
    """empty where all particles are alike"""
    first: slice
    second: slice
    edges: Array
    """(B + 1,), like ``fine``"""
    fine: Array


class Places(NamedTuple):
    """Particles of one kind (or all), and bins of their distances from a centre."""

    name: str
    particles: slice
    center: Array
    """(dim,)"""
    middle: str
    """what the centre is, in words"""
    edges: Array
    fine: Array


@dataclass(frozen=True)
class Bins:
    """Where distances are counted, and how particles are told apart.

    Attributes
    ----------
    pairs : tuple of Pairs
    places : tuple of Places
        Empty where places say nothing (in a box).
    box : tuple or None
    """

    pairs: tuple[Pairs, ...]
    places: tuple[Places, ...]
    box: Box

    @classmethod
    def of(
        cls,
        sample: Array,
        pairs: Iterable[tuple[str, slice, slice]],
        places: Iterable[tuple[str, slice, Array, str]],
        box: Box,
        reach: float | None,
    ) -> Bins:
        """Bins for snapshots like those of ``sample`` (S, N, dim); pairs are looked at up to ``reach``."""
        end = min(half_box(box), np.inf if reach is None else reach)
        far = min(half_box(box), WIDE * end)
        found = []
        for name, first, second in pairs:
            distances = np.concatenate([d for d, _ in _distances(sample, first, second, box, far)])
            top = far if box is not None or not len(distances) else float(np.quantile(distances, FARTHEST))
            fine = np.linspace(0.0, top if 0 < top < np.inf else 1.0, FINE_BINS + 1)
            found.append(Pairs(name, first, second, _quantiles(distances[distances <= end], PAIR_BINS, end), fine))
        at = []
        for name, particles, center, middle in places if box is None else ():
            radii = np.linalg.norm(sample[:, particles] - center, axis=-1).ravel()
            fine = np.linspace(0.0, float(np.quantile(radii, FARTHEST)) or 1.0, FINE_BINS + 1)
            at.append(Places(name, particles, center, middle, _quantiles(radii, PLACE_BINS, np.inf), fine))
        return cls(tuple(found), tuple(at), box)

    def measured(self, start: Array, end: Array) -> tuple[Array, list[Array]]:
        """Observables (K,) of snapshots ``end`` (S, N, dim) that began at ``start``, and fine densities to draw."""
        values: list[Array] = []
        fine: list[Array] = []
        for own in self.pairs:
            coarse, finer, total = np.zeros(len(own.edges) - 1), np.zeros(len(own.fine) - 1), 0
            for distances, count in _distances(end, own.first, own.second, self.box, max(own.edges[-1], own.fine[-1])):
                coarse += np.histogram(distances, own.edges)[0]
                finer += np.histogram(distances, own.fine)[0]
                total += count
            values.append(coarse / max(total, 1))
            fine.append(finer / (max(total, 1) * self._width(own.fine, end.shape[2])))
        for place in self.places:
            offset = end[:, place.particles] - place.center
            radii = np.linalg.norm(offset, axis=-1).ravel()
            values += [np.histogram(radii, place.edges)[0] / len(radii), offset.mean(axis=(0, 1))]
            values.append((offset**2).mean(axis=(0, 1)))
            fine.append(np.histogram(radii, place.fine)[0] / (len(radii) * np.diff(place.fine)))
        if self.box is None:
            moved = end.mean(axis=1) - start.mean(axis=1)
            values.append((moved**2).mean(axis=0))
        values.append(np.array([_nearest(end, start, self.box)]))
        return np.concatenate(values), fine

    def _width(self, edges: Array, dim: int) -> Array:
        """What counts of pairs are divided by: widths of bins, or in a box the part of it that they are, for g(r)."""
        if self.box is None:
            return np.diff(edges)
        ball = np.pi ** (dim / 2) / gamma(dim / 2 + 1)
        return ball * np.diff(edges**dim) / np.prod(self.box)

    def names(self, time: str, dim: int) -> list[Number]:
        """What the observables are, in their order."""
        found, axes = [], [f"x_{k + 1}" for k in range(dim)]
        for own in self.pairs:
            of = f" of {own.name}" if own.name else ""
            found += [Number("pairs", f"pairs{of} at distances {span}{time}") for span in _spans(own.edges)]
        for place in self.places:
            who, of = place.name or "particles", f" of {place.name}" if place.name else ""
            found += [
                Number("places", f"{who} at {span} from the {place.middle}{time}") for span in _spans(place.edges)
            ]
            found += [Number("places", f"the mean of {axis}{of}{time}") for axis in axes]
            found += [Number("places", f"the spread{of} in {axis}{time}") for axis in axes]
        if self.box is None:
            found += [Number("motion", f"how far the centre of mass moves in {axis}{time}") for axis in axes]
        return [*found, Number("motion", f"how far particles are from where any was before{time}")]

    def densities(self) -> list[Density]:
        """What every fine density is, in their order."""
        found = []
        for own in self.pairs:
            title, ylabel = ("pair distances", "density") if self.box is None else ("pair correlation", "g(r)")
            title += f" of {own.name}" if own.name else ""
            found.append(Density("pairs", title, "distance between particles r", ylabel, own.fine))
        for place in self.places:
            of = f" of {place.name}" if place.name else ""
            title, xlabel = f"distances{of} from the {place.middle}", f"distance from the {place.middle} |x|"
            found.append(Density("places", title, xlabel, "density", place.fine))
        return found


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
