"""Potentials of several kinds of particles: one per kind, or one per pair of kinds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trackless._errors import InputError
from trackless.potentials import Potential

Kinds = tuple[str, ...]
"""A kind, ("a",); a pair of them in the order of their names, ("a", "b"); or (), all particles."""


def kinds_of(key: Any) -> Kinds:
    """The kind or the pair of kinds that a key names: "a", or ("a", "b") in any order.

    Examples
    --------
    >>> kinds_of("a"), kinds_of(("b", "a")), kinds_of(1)
    (('a',), ('a', 'b'), ('1',))
    """
    names = tuple(map(str, key)) if isinstance(key, (tuple, list)) else (str(key),)
    if len(names) > 2:
        raise InputError(f"species: expected the name of a kind, or a pair of names, got {key!r}")
    return tuple(sorted(names))


def by_kinds(members: Any) -> tuple[tuple[Kinds, Any], ...]:
    """What a mapping, or pairs of keys and values, give for each kind or pair, sorted by their names.

    Kinds with None have nothing, as if they had been left out.
    """
    items: Iterable[tuple[Any, Any]] = members.items() if isinstance(members, Mapping) else members
    found: dict[Kinds, Any] = {}
    for key, value in items:
        kinds = kinds_of(key)
        if kinds in found:
            raise InputError(
                f"species: ({', '.join(map(repr, kinds))}) is given twice; ('a', 'b') and ('b', 'a') are the same pair"
            )
        found[kinds] = value
    if len({len(kinds) for kinds in found}) > 1:
        raise InputError("species: expected names of kinds (external), or pairs of names (interaction), got both")
    return tuple(sorted((kinds, value) for kinds, value in found.items() if value is not None))


def in_words(kinds: Kinds) -> str:
    """The kind, or both, for sentences and tables."""
    return " and ".join(kinds)


class Potentials(Mapping[Any, Potential]):
    """A potential for each kind of particles, or for each pair of kinds; immutable.

    ``potentials["a"]`` is that of a kind, ``potentials["a", "b"]`` (the same as ``["b", "a"]``) that of a pair.

    Examples
    --------
    >>> from trackless.shapes import Gaussian, Power
    >>> traps = Potentials({"a": Power(2), "b": 3 * Power(2)})
    >>> float(traps["b"].slope(1.0))
    6.0
    >>> Potentials({("a", "b"): Gaussian(0.0, 1.0)})["b", "a"]
    Gaussian(center=0.0, width=1.0)
    >>> traps
    Potentials(a: Power, b: RadialSum)
    """

    def __init__(self, members: Mapping[Any, Potential | None] | Iterable[tuple[Any, Potential | None]]) -> None:
        self._members: dict[Kinds, Potential] = dict(by_kinds(members))

    def __getitem__(self, key: Hashable) -> Potential:
        kinds = kinds_of(key)
        if kinds not in self._members:
            raise KeyError(f"there is no potential for {key!r}; there are those for {self._listed()}")
        return self._members[kinds]

    def __iter__(self) -> Iterator[Any]:
        return (kinds[0] if len(kinds) == 1 else kinds for kinds in self._members)

    def __len__(self) -> int:
        return len(self._members)

    def _listed(self) -> str:
        return ", ".join("-".join(kinds) for kinds in self._members) or "none"

    def __repr__(self) -> str:
        parts = (f"{'-'.join(kinds)}: {type(potential).__name__}" for kinds, potential in self._members.items())
        return f"Potentials({', '.join(parts)})"


def one_of(potential: Potential | Mapping[Any, Any] | None, kinds: Kinds) -> Any:
    """The potential that some kinds feel; one for all particles is that of any kind."""
    return dict(by_kinds(potential)).get(kinds) if isinstance(potential, Mapping) else potential


def listed(potential: Potential | Mapping[Any, Any] | None) -> list[tuple[Kinds, Any]]:
    """Every potential that there is, with its kinds; () is one for all particles."""
    if potential is None:
        return []
    if isinstance(potential, Mapping):
        return list(by_kinds(potential))
    return [((), potential)]


def joined(members: Mapping[Kinds, Potential]) -> Potential | Potentials | None:
    """One potential for all particles as it is, several of kinds or pairs as a mapping; None where there are none."""
    if () in members:
        return members[()]
    return Potentials(members) if members else None


def name_of(role: int, kinds: Kinds) -> str:
    """V (role 0) or Phi (1), and of whom.

    Examples
    --------
    >>> name_of(0, ()), name_of(1, ("a", "b"))
    ('V', 'Phi of a and b')
    """
    letter = ("V", "Phi")[role]
    return f"{letter} of {in_words(kinds)}" if kinds else letter


class LearntPotential(NamedTuple):
    """One of the potentials of a fitted estimator."""

    role: int
    """0 for V, 1 for Phi"""
    kinds: Kinds
    potential: Potential
    explored: Any
    """distances, or corners, that it was seen at"""

    @property
    def name(self) -> str:
        """V or Phi, and of whom."""
        return name_of(self.role, self.kinds)


def learnt_potentials(fitted: Any) -> list[LearntPotential]:
    """All potentials of a fitted estimator, V first."""
    found = []
    seen: tuple[Any, Any] = getattr(fitted, "explored_", (None, None))  # networks trained on snapshots do not keep it
    for role, (own, explored) in enumerate(zip((fitted.external_, fitted.interaction_), seen, strict=True)):
        ranges = explored if isinstance(own, Mapping) else [explored]
        for (kinds, potential), reached in zip(listed(own), ranges, strict=False):
            found.append(LearntPotential(role, kinds, potential, reached))
    return found
