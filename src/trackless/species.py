"""Known kinds of particles: within every snapshot particles are kept sorted by kind, so that counts say who is what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.stored import StoredArray, StoredRun

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Species:
    """Names of the kinds, sorted, and how many of each there are in the frames of each run.

    Attributes
    ----------
    names : tuple of str
    counts : tuple of array (frames, kinds)
        One per run, or a single one that all runs share.
    shared : bool
        Whether all runs have the same counts.
    """

    names: tuple[str, ...]
    counts: tuple[Counts, ...]
    shared: bool

    def counts_of(self, run: int) -> Counts:
        """How many particles of each kind there are in every frame of a run, (frames, kinds)."""
        return self.counts[0 if self.shared else run]

    def of(self, run: int, frame: int) -> NDArray[np.str_]:
        """The kind of every particle of a snapshot, in the order of its positions."""
        return np.repeat(np.array(self.names), self.counts_of(run)[frame])

    def selected(self, parts: list[tuple[int, slice]]) -> Species:
        """Some frames of some runs."""
        return Species(self.names, tuple(self.counts_of(run)[part] for run, part in parts), False)

    def frames(self, part: slice) -> Species:
        """The same frames of every run."""
        return Species(self.names, tuple(counts[part] for counts in self.counts), self.shared)

    def runs(self, chosen: slice) -> Species:
        """Some runs."""
        return self if self.shared else Species(self.names, self.counts[chosen], False)


def joined(parts: list[Species | None], runs: list[int]) -> Species | None:
    """The kinds of several data sets with the same names, one after the other; ``runs`` of each."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    counts = [part.counts_of(m) for part, n in zip(known, runs, strict=True) for m in range(n)]
    return Species(known[0].names, tuple(counts), False)


def sorted_array(positions: Any, species: Any, labeled: bool) -> tuple[Any, Species]:
    """A regular data set (runs, times, particles, dim) with the particles of every snapshot sorted by kind.

    ``species`` has a name or number per particle: (particles,), or (runs, times, particles).
    """
    kinds = _names(species)
    runs, times, particles = positions.shape[:3]
    if kinds.shape not in ((particles,), (runs, times, particles)):
        raise InputError(
            f"species: expected one kind per particle, shape ({particles},) or ({runs}, {times}, {particles}), "
            f"got {kinds.shape}"
        )
    names, numbers = np.unique(kinds, return_inverse=True)
    numbers = numbers.reshape(kinds.shape)
    if numbers.ndim == 3 and (numbers == numbers[:1, :1]).all():
        numbers = numbers[0, 0]
    order = np.argsort(numbers, axis=-1, kind="stable")
    if numbers.ndim == 1:
        if (np.diff(order) < 0).any():
            in_file = isinstance(positions, StoredArray)
            positions = positions.with_order(order) if in_file else positions[:, :, order]
        counts = np.bincount(numbers, minlength=len(names)).astype(np.int64)
        return positions, Species(tuple(names.tolist()), (np.broadcast_to(counts, (times, len(names))),), True)
    if labeled and (order != order[:, :1]).any():
        raise InputError("labeled=True: a particle changes its species, so labels cannot be right")
    if (np.diff(order, axis=-1) < 0).any():
        positions = np.take_along_axis(np.asarray(positions), order[..., None], axis=2)
    counts = np.stack([(numbers == k).sum(axis=2) for k in range(len(names))], axis=-1)
    return positions, Species(tuple(names.tolist()), tuple(counts.astype(np.int64)), False)


def sorted_runs(runs: list[tuple[Any, ...]], species: Any, labeled: bool) -> tuple[list[tuple[Any, ...]], Species]:
    """The same for ragged data: ``species`` has an array per frame, or one per run whose particles stay the same."""
    if len(species) != len(runs):
        raise InputError(f"species: expected one entry per run ({len(runs)}), got {len(species)}")
    kinds = [_kinds_of_run(given, run, m) for m, (given, run) in enumerate(zip(species, runs, strict=True))]
    names = np.unique(np.concatenate([k for run in kinds for k in run]))
    sorted_, counts = [], []
    for m, (run, of_run) in enumerate(zip(runs, kinds, strict=True)):
        orders = [np.argsort(k, kind="stable") for k in of_run]
        if labeled and any((order != orders[0]).any() for order in orders):
            raise InputError(f"labeled=True: a particle of run {m} changes its species, so labels cannot be right")
        in_order = isinstance(run, StoredRun) and all((np.diff(order) > 0).all() for order in orders)
        sorted_.append(run if in_order else tuple(frame[order] for frame, order in zip(run, orders, strict=True)))
        counts.append(np.array([(k[:, None] == names).sum(axis=0) for k in of_run], dtype=np.int64))
    return sorted_, Species(tuple(names.tolist()), tuple(counts), False)


def _kinds_of_run(given: Any, run: tuple[Any, ...], m: int) -> list[NDArray[np.str_]]:
    each = [given] * len(run) if len(given) and np.ndim(given[0]) == 0 else list(given)
    if len(each) != len(run):
        raise InputError(f"species of run {m}: expected an array per frame ({len(run)}), got {len(each)}")
    kinds = [_names(one) for one in each]
    for i, (one, frame) in enumerate(zip(kinds, run, strict=True)):
        if one.shape != (len(frame),):
            raise InputError(f"species of run {m}, frame {i}: expected {len(frame)} kinds, got shape {one.shape}")
    return kinds


def _names(species: Any) -> NDArray[np.str_]:
    """Kinds as text; numbers that are whole are written without a point."""
    values: NDArray[Any] = np.asarray(species)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind not in "iuSU" and not (
        values.dtype.kind == "O" and all(isinstance(v, str) for v in values.flat)
    ):
        raise InputError(f"species: expected names or whole numbers, got an array of type {values.dtype}")
    if values.dtype.kind == "S":
        return np.array([name.decode() for name in values.flat]).reshape(values.shape)
    return values.astype(str)
