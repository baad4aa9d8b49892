"""What tl.fit takes where nothing was given: families, centres and cutoffs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np

from trackless._errors import InputError
from trackless.basis import Basis, Center, closed_center
from trackless.by_species import BySpecies, as_basis
from trackless.exploration import Exploration, explore
from trackless.mixtures import Kinds, name_of
from trackless.observation import Observation
from trackless.radial_splines import RadialSplines
from trackless.snapshots import Snapshots
from trackless.space import Box, half_box
from trackless.survey import means_of_runs, surveyed
from trackless.tensor_splines import TensorSplines

Wanted = Basis | Mapping[Any, Basis] | Literal["auto", "radial", "free"] | None
RADIAL = (20, 70)  # splines for V and Phi
TENSOR = (8, 14)  # per direction
ALL_PAIRS, FEWEST_EACH = 120, 16  # splines for the Phi of all pairs of species together, and at least of each
BEYOND = 1e6  # times the extent of the data, where nobody means it
CENTRAL = 3.0  # standard errors that the mean position may be away from the origin to count as the origin
WINDOW_PART = 1 / 8  # of a window's shorter side: as far as interactions are looked for


@dataclass(frozen=True)
class Choices:
    """What was given for V and Phi, and what is taken where it was not."""

    external: Wanted
    interaction: Wanted
    centers: dict[Kinds, Center]
    """of the V of each kind; () is that of all particles"""
    cutoff: float | None
    nearest: float | None
    """the smallest distance at which particles can be told apart"""
    pairs: list[Kinds]
    """of kinds that meet"""

    def of(self, external: str, interaction: str) -> tuple[Basis | None, Basis | None]:
        """The families for two shapes, "radial" or "free", where nothing was given."""
        v, phi = as_basis(self.external), as_basis(self.interaction)
        if isinstance(v, str):
            v = _for_each({kinds: self._one(0, external, center) for kinds, center in self.centers.items()})
        if isinstance(phi, str):
            phi = _for_each({pair: self._one(1, interaction, None) for pair in self.pairs})
        return v, phi

    def _one(self, role: int, shape: str, center: Center) -> Basis:
        if shape == "free":
            return TensorSplines(TENSOR[role], complete=True)  # the prior knows of what the data hardly reach
        if role == 0:
            return RadialSplines(RADIAL[0], center=center, follow_data=True)
        count = max(FEWEST_EACH, min(RADIAL[1], ALL_PAIRS // len(self.pairs)))
        return RadialSplines(count, self.nearest, cutoff=self.cutoff, follow_data=True)


def _for_each(families: dict[Kinds, Basis]) -> Basis:
    """One family for all particles, or one for each kind or pair."""
    return families[()] if () in families else BySpecies(families)


def cutoff_of(snapshots: Snapshots, seen: Observation, given: float | None, sentences: list[str]) -> float | None:
    """Where interactions end: as given; in a box or a window there must be an end."""
    if given is not None:
        sentences.append(f"Phi ends at r = {checked_cutoff(given, snapshots.box):.4g}, as was given (cutoff=)")
        lower, upper, *_ = surveyed(snapshots)
        across = float(np.linalg.norm(upper - lower))
        if given > BEYOND * across:  # powers of it would overflow
            raise InputError(
                f"cutoff: {given:g} is far beyond all distances of the data, which are at most {across:.3g}; give a "
                "smaller one, or leave it out"
            )
        return given
    if snapshots.box is None and seen.window is None:
        return None
    if snapshots.box is not None:
        cutoff, why = half_box(snapshots.box), "half the box"
    else:
        cutoff, why = WINDOW_PART * float(np.diff(seen.bounds(snapshots.dim)).min()), "an eighth of the window"
    sentences.append(f"Phi is taken to end at r = {cutoff:.4g}, {why} (cutoff=)")
    return cutoff


def check_meant(external: Wanted, interaction: Wanted, center: Any, cutoff: float | None) -> None:
    """Refuse a centre or a cutoff that nothing would come of: of a potential that is not learnt, or has its own."""
    wished = center is not None and not (isinstance(center, str) and center == "auto")
    if wished and external not in ("auto", "radial"):
        why = "no V is learnt" if external is None else "a V that is free has no centre"
        remedy = "learn a V about it (external='radial')"
        if isinstance(external, Basis):
            why, remedy = "V is of a given family, which has its own", "give it there: tl.RadialSplines(center=...)"
        raise InputError(f"center: {why}, so that center={center!r} would mean nothing; leave it out, or {remedy}")
    if cutoff is not None and interaction is None:
        raise InputError(
            f"cutoff: no Phi is learnt, so that cutoff={cutoff:g} would mean nothing; leave it out, or learn a Phi "
            "(interaction='radial')"
        )


def checked_cutoff(cutoff: float, box: Box) -> float:
    """The cutoff, if an interaction may end there."""
    farthest = half_box(box)
    if not (np.ndim(cutoff) == 0 and 0 < cutoff <= farthest and np.isfinite(cutoff)):
        most = "" if box is None else f" and at most {farthest:g}, half the shortest side of the periodic box"
        raise InputError(f"cutoff: expected a distance above 0{most}, got {cutoff!r}")
    return cutoff


def pairs_that_meet(snapshots: Snapshots, sentences: list[str]) -> list[Kinds]:
    """Pairs of kinds that meet in a snapshot; those that never do are said."""
    names = snapshots.species
    if names is None or len(names) == 1:
        return [()]
    most = np.max([snapshots.species_counts_of(m).max(axis=0) for m in range(snapshots.runs)], axis=0)
    number = dict(zip(names, most.tolist(), strict=True))
    every = list(combinations_with_replacement(names, 2))
    alone = [pair for pair in every if pair[0] == pair[1] and number[pair[0]] < 2]
    sentences += [f"there is never more than one {kind}, so that no pair of them is seen" for kind, _ in alone]
    return [pair for pair in every if pair not in alone]


def where(snapshots: Snapshots, centers: dict[Kinds, Center]) -> list[str]:
    """Where each radial V is taken to be, in words."""
    said = []
    for kinds, place in centers.items():
        if place is None:
            said.append(f"{name_of(0, kinds)} is taken about the origin, where the particles are on average")
            continue
        mean = closed_center(place, explore(snapshots).of_kinds(kinds), "external")
        assert mean is not None
        numbers = ", ".join(f"{x:.4g}" for x in mean)
        said.append(f"{name_of(0, kinds)} is taken about the mean position, ({numbers})")
    return said


def centers_of(snapshots: Snapshots, center: Any) -> dict[Kinds, Center]:
    """The centre of a radial V, of each kind where there are several."""
    kinds = [(name,) for name in snapshots.species or ()]
    explored = explore(snapshots)
    return {
        own: _place(snapshots, explored.of_kinds(own), own) if center == "auto" else center
        for own in (kinds if len(kinds) > 1 else [()])
    }


def _place(snapshots: Snapshots, explored: Exploration, kinds: Kinds) -> Center:
    """The origin, unless the particles are elsewhere on average."""
    looked_at = np.unique(np.linspace(0, snapshots.runs - 1, 1000).astype(int))
    means = means_of_runs(snapshots, kinds)[looked_at]
    means = means[~np.isnan(means).any(axis=1)]
    mean = means.mean(axis=0)
    spread = explored.positions.std(axis=0)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.1 * spread
    return None if (np.abs(mean) <= CENTRAL * np.maximum(error, 1e-3 * spread)).all() else "mean"
