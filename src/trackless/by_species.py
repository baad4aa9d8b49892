"""Families for several kinds of particles: one per kind, or one per pair of kinds, as one family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from trackless._errors import InputError
from trackless.basis import Basis, Center, Role, checked_coef
from trackless.exploration import Exploration
from trackless.mixtures import Kinds, Potentials, by_kinds, in_words
from trackless.tables import RadialTable, TensorTable


@dataclass(frozen=True)
class BySpecies(Basis):
    """A family for each kind of particles (external), or for each pair of kinds (interaction).

    Where a family is wanted a dict does as well. Kinds that are not named have no such potential.

    Parameters
    ----------
    families : dict of str to Basis, or of (str, str) to Basis
        ("a", "b") and ("b", "a") are the same pair.
    species : tuple of str, optional
        Names of all kinds there are; from the data if left out.

    Examples
    --------
    >>> import trackless as tl
    >>> pairs = tl.BySpecies({("a", "a"): tl.RadialSplines(5, 0.0, 2.0), ("b", "a"): tl.RadialSplines(4, 0.0, 2.0)})
    >>> pairs
    BySpecies(a-a: 5 functions, a-b: 4 functions)
    >>> pairs.combine([1.0] * 9)["a", "b"].slope([0.5, 1.0]).shape
    (2,)
    """

    families: Any
    species: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        # Frozen and small: a wrong key is easier to understand here than in a pass over the data.
        object.__setattr__(self, "families", by_kinds(self.families))
        if not self.families:
            raise InputError("BySpecies: expected a family for at least one kind or pair of kinds")
        for kinds, family in self.families:
            if not isinstance(family, Basis) or isinstance(family, BySpecies):
                raise InputError(f"{in_words(kinds)}: expected a basis such as tl.RadialSplines(20), got {family!r}")

    def __repr__(self) -> str:
        parts = (f"{'-'.join(kinds)}: {_size(family)}" for kinds, family in self.families)
        return f"BySpecies({', '.join(parts)})"

    @property
    def members(self) -> tuple[tuple[Kinds, Basis], ...]:
        return self.families

    @property
    def size(self) -> int:
        return sum(family.size for _, family in self.families)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{'-'.join(kinds)}: {name}" for kinds, family in self.families for name in family.names)

    @property
    def closed(self) -> bool:
        return self.species is not None and all(family.closed for _, family in self.families)

    @property
    def cutoff(self) -> float | None:
        """Distance beyond which all functions vanish, if there is one."""
        ends = [getattr(family, "cutoff", None) for _, family in self.families]
        return None if None in ends else max(end for end in ends if end is not None)

    @property
    def center(self) -> Center:
        """The first centre that a family has."""
        centers = (getattr(family, "center", None) for _, family in self.families)
        return next((center for center in centers if center is not None), None)

    def adapted(self, explored: Exploration, role: Role) -> BySpecies:
        species = explored.species
        self.check(species, role)
        closed = []
        for kinds, family in self.families:
            try:
                closed.append((kinds, family.adapted(explored.of_kinds(kinds), role)))
            except InputError as error:
                raise InputError(f"{role} of {in_words(kinds)}: {error}") from None
        return BySpecies(closed, species)

    def check(self, species: tuple[str, ...] | None, role: Role) -> None:
        """Refuse data with other kinds of particles, and keys that are no such kinds."""
        if species is None:
            raise InputError(
                f"{role}: there is a family for each species, but the data have none; say who is what, "
                "tl.Snapshots(..., species=...), or give one family for all particles"
            )
        if self.species not in (None, species):
            raise InputError(
                f"{role}: these families are for data with the species {', '.join(self.species or ())}, "
                f"these have {', '.join(species)}"
            )
        for kinds, _ in self.families:
            if len(kinds) != (2 if role == "interaction" else 1):
                wanted = "pairs of species, ('a', 'b')," if role == "interaction" else "names of species, 'a',"
                raise InputError(f"{role}: expected {wanted}, got {', '.join(map(repr, kinds))}")
            unknown = [name for name in kinds if name not in species]
            if unknown:
                raise InputError(f"{role}: there is no species {unknown[0]!r}; there are {', '.join(species)}")

    def table(self, dim: int) -> RadialTable | TensorTable:
        raise InputError("BySpecies: every kind has a table of its own; use trackless.basis.families_of")

    def combine(self, coef: ArrayLike) -> Potentials:
        values, found, start = checked_coef(coef, self.size), [], 0
        for kinds, family in self.families:
            found.append((kinds, family.combine(values[start : start + family.size])))
            start += family.size
        return Potentials(found)


def _size(family: Basis) -> str:
    try:
        return f"{family.size} functions"
    except InputError:  # a grid whose size the data will tell
        return type(family).__name__


def as_basis(given: Any) -> Any:
    """A dict of families as one family; everything else as it is."""
    return BySpecies(given) if isinstance(given, Mapping) else given
