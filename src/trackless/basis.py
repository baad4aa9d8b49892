"""Families of functions: family + coefficients -> potential.

A family may leave its range open; :meth:`Basis.adapted` closes it on what the data explored. Moments can be
added only on equal families, so give ranges (or an adapted family) where data sets are to be merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.mixtures import Kinds, Potentials, name_of
from trackless.potentials import (
    Centered,
    Potential,
    PotentialSum,
    RadialFunction,
    RadialPotential,
    RadialSum,
    Stretched,
    as_radial,
)
from trackless.shapes import Gaussian
from trackless.tables import Families, RadialTable, TensorTable, by_direction, empty_table, radial_table, tabulated

Role = Literal["external", "interaction"]
Center = tuple[float, ...] | Literal["mean", "fit"] | None
Array = NDArray[np.float64]
FAR = 16.0  # tables end at this many typical distances, or at the farthest particle
TIP = 32.0  # slopes at r = 0 are rounded below this part of the typical distance


class Basis(ABC):
    """A family of functions on R^d, spanning one potential, or one for each kind or pair of kinds of particles."""

    species: tuple[str, ...] | None = None
    """Names of the kinds that are told apart (None: all particles are alike)."""

    @property
    def members(self) -> tuple[tuple[Kinds, Basis], ...]:
        """The families of single potentials that this one is made of, with the kinds they are for."""
        return (((), self),)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of functions."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """A short name per function, for tables and messages."""

    @abstractmethod
    def adapted(self, explored: Exploration, role: Role) -> Basis:
        """This family with every open range closed; itself if nothing was open."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether nothing is left to adapt."""

    @abstractmethod
    def table(self, dim: int) -> RadialTable | TensorTable:
        """The closed family as kernels read it."""

    @abstractmethod
    def combine(self, coef: ArrayLike) -> Potential | Potentials:
        """The potential with these coefficients."""


class Member(NamedTuple):
    """The family of one potential among all those of a fit."""

    role: int
    """0 for V, 1 for Phi"""
    kinds: Kinds
    """whose potential it is: one kind, two of them, or () for all particles"""
    basis: Basis
    part: slice
    """where its coefficients are among all"""

    @property
    def name(self) -> str:
        """V or Phi, and of whom."""
        return name_of(self.role, self.kinds)


def members_of(families: tuple[Basis | None, Basis | None]) -> list[Member]:
    """The families of all single potentials, V first, in the order of the coefficients."""
    found, start = [], 0
    for role, family in enumerate(families):
        for kinds, basis in family.members if family is not None else ():
            found.append(Member(role, kinds, basis, slice(start, start + basis.size)))
            start += basis.size
    return found


def families_of(external: Basis | None, interaction: Basis | None, dim: int, per_direction: bool = False) -> Families:
    """Two closed families, or none, as kernels read them; ``per_direction`` keeps diffusion terms apart."""
    species = next((basis.species for basis in (external, interaction) if basis and basis.species), ("",))
    # every pair, also those without an interaction: kernels are compiled for numbers of tables
    pairs = list(combinations_with_replacement(species, 2))
    places = np.array([[species.index(kind) for kind in pair] for pair in pairs], np.int64)
    singles, doubles = (
        tuple(by_direction(table) for table in tables) if per_direction else tables
        for tables in (
            _tables(external, [(kind,) for kind in species], dim, "external"),
            _tables(interaction, pairs, dim, "interaction"),
        )
    )
    same = [basis is not None and basis.species is None and len(species) > 1 for basis in (external, interaction)]
    return Families(singles, doubles, places, getattr(interaction, "cutoff", None) or np.inf, *same)


def _tables(basis: Basis | None, kinds: list[Kinds], dim: int, role: Role) -> tuple[Any, ...]:
    """A table for each kind or pair: the same for all, or their own."""
    if basis is None:
        return (empty_table(dim),) * len(kinds)
    if basis.species is None:
        return (basis.table(dim),) * len(kinds)
    own = {of: family.table(dim) for of, family in basis.members}
    if len({type(table) for table in own.values()}) > 1:
        given = ", ".join(type(family).__name__ for _, family in basis.members)
        raise InputError(
            f"{role}: expected families of one sort for all species, got {given}; take radial ones for all, or tensor "
            "splines for all"
        )
    one = next(iter(own.values()))
    nothing = empty_table(dim) if isinstance(one, RadialTable) else one._replace(size=0)
    return tuple(own.get(of, nothing) for of in kinds)


def placed(potential: RadialPotential, center: Center) -> RadialPotential:
    """The potential about a closed centre."""
    return Centered(potential, center) if isinstance(center, tuple) else potential


def is_open(center: Center) -> bool:
    """Whether a centre is still to be found."""
    return isinstance(center, str)


def about(basis: Any, center: Center) -> Any:
    """A radial family about another centre."""
    if isinstance(basis, RadialFunctions):
        return RadialFunctions(basis.functions, basis.names, center, basis.reach)
    return replace(basis, center=center)


def closed_center(center: Center, explored: Exploration, role: Role) -> tuple[float, ...] | None:
    """The centre as coordinates (None is the origin)."""
    if role == "interaction" and center is not None:
        raise InputError("center: an interaction depends on differences of positions, it has no centre")
    if center == "mean":
        return tuple(explored.mean.tolist())
    if center == "fit":
        raise InputError(
            "center='fit': tl.fit and tl.SelfTest find the centre, which takes sigma; give coordinates or 'mean' here"
        )
    origin_of(center, len(explored.lower))  # the right number of coordinates
    return center


def origin_of(center: Center, dim: int) -> Array:
    """The centre as an array (dim,)."""
    if center is None:
        return np.zeros(dim)
    if not isinstance(center, (tuple, list, np.ndarray)) or len(center) != dim:
        raise InputError(f"center: expected {dim} coordinates, got {center!r}")
    return np.asarray(center, float)


def checked_coef(coef: ArrayLike, size: int) -> Array:
    """Coefficients as an array (size,)."""
    values = np.asarray(coef, float)
    if values.shape != (size,):
        raise InputError(f"coef: expected {size} numbers, one per function, got shape {values.shape}")
    return values


class RadialFunctions(Basis):
    """Given functions of the distance (or of a stretched distance, for :class:`Stretched` ones).

    Parameters
    ----------
    functions : list
        Radial potentials, callables r -> values, or (profile, slope, curvature) triples of callables. Missing
        derivatives are found numerically.
    names : list of str, optional
    center : tuple of float, "mean", "fit" or None
        Where distances are measured from (external potentials); None is the origin, "mean" the mean position, "fit" the
        place that explains the data best (found by ``tl.SelfTest`` and ``tl.fit``).
    reach : (bottom, top[, tip]), optional
        Ends of the table that kernels read, and the radius below which a slope at r = 0 is rounded; from the data if
        left out. Beyond its ends a function goes on linearly.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> family = tl.RadialFunctions([lambda r: r**2, np.cos], names=["spring", "wave"])
    >>> float(family.combine([2.0, 0.0]).slope(1.0).round(9))
    4.0
    """

    def __init__(
        self,
        functions: Sequence[RadialPotential | Stretched | Callable | Sequence[Callable]],
        names: Sequence[str] | None = None,
        center: Center = None,
        reach: tuple[float, ...] | None = None,
    ) -> None:
        if callable(functions):
            raise InputError("RadialFunctions: expected a list of functions, such as [np.cos]")
        self.functions = tuple(f if isinstance(f, Stretched) else as_radial(f) for f in functions)
        if not self.functions:
            raise InputError("RadialFunctions: expected at least one function")
        self._names = tuple(names) if names is not None else tuple(f"f{k}" for k in range(len(self.functions)))
        if len(self._names) != len(self.functions):
            raise InputError(f"names: expected {len(self.functions)}, got {len(self._names)}")
        for f in self.functions:
            if np.any(getattr(f, "origin", 0.0)):
                raise InputError(f"RadialFunctions: {f} has a centre of its own; give center= to the family instead")
            if center is not None and isinstance(f, Stretched):
                raise InputError(f"center: expected None for stretched functions, which are about 0, got {center!r}")
        self.center: Center = center
        self.reach = reach

    def __eq__(self, other: object) -> bool:
        # The reach is how far the table goes, not what the functions are.
        return isinstance(other, RadialFunctions) and (
            (self.functions, self._names, self.center) == (other.functions, other._names, other.center)
        )

    def __hash__(self) -> int:
        return hash((self.functions, self._names, self.center))

    def __repr__(self) -> str:
        return f"RadialFunctions({', '.join(self._names)})"

    @property
    def size(self) -> int:
        return len(self.functions)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def closed(self) -> bool:
        return self.reach is not None and not is_open(self.center)

    def adapted(self, explored: Exploration, role: Role) -> RadialFunctions:
        if self.closed:
            return self
        center = closed_center(self.center, explored, role)
        stretches = [f.stretch for f in self.functions if isinstance(f, Stretched)]
        shortest = min((min(s) for s in stretches), default=1.0)
        distances = explored.reached(role, center)
        typical = float(np.median(distances)) if len(distances) else 0.0
        typical = typical or explored.farthest(role, center) or 1.0
        # Powers of two, so that data sets of about the same extent share their tables exactly. An outlier must not
        # make tables coarse: beyond many times the typical distance functions go on linearly.
        farthest = min(max(1.01 * explored.farthest(role, center), typical), FAR * typical) / min(shortest, 1.0)
        top, tip = 2.0 ** np.ceil(np.log2(farthest)), 2.0 ** np.floor(np.log2(typical / TIP))
        bottom = 0.0 if self._finite_at_zero() else float(distances.min())
        functions = [replace(f, step=1e-3 * typical) if isinstance(f, RadialFunction) else f for f in self.functions]
        return RadialFunctions(functions, self._names, center, (bottom, float(top), float(tip)))

    def _finite_at_zero(self) -> bool:
        with np.errstate(all="ignore"):
            ends = [p(np.zeros(1)) for f in self.functions for p in (_radial(f).profile, _radial(f).slope)]
        return bool(np.isfinite(ends).all())

    def table(self, dim: int) -> RadialTable:
        if self.reach is None:
            raise InputError("RadialFunctions: adapt the family to data first: basis.adapted(explore(snapshots), role)")
        groups: list[tuple[tuple[float, ...], list[RadialPotential]]] = []
        for f in self.functions:
            stretch = f.stretch if isinstance(f, Stretched) else (1.0,) * dim
            if len(stretch) != dim:
                raise InputError(f"{f}: made for {len(stretch)} dimensions, the data have {dim}")
            if not groups or groups[-1][0] != stretch:
                groups.append((stretch, []))
            groups[-1][1].append(_radial(f))
        pieces = [tabulated(members, *self.reach) for _, members in groups]
        squares = np.array([[1.0 / s**2 for s in stretch] for stretch, _ in groups])
        return radial_table(pieces, squares, origin_of(self.center, dim))

    def combine(self, coef: ArrayLike) -> Potential:
        values = tuple(checked_coef(coef, self.size).tolist())
        if all(isinstance(f, RadialPotential) for f in self.functions):
            return placed(RadialSum(self.functions, values), self.center)  # type: ignore[arg-type]
        return PotentialSum(self.functions, values)


def _radial(function: RadialPotential | Stretched) -> RadialPotential:
    return function.inner if isinstance(function, Stretched) else function


@dataclass(frozen=True)
class GaussianRBF(Basis):
    """Gaussian radial basis functions: by default the paper's appendix recipe.

    ``count`` centres evenly from 0.01 to ``r_max`` (99th percentile of the data's distances if left out), width
    1.5 r_max / count. The recipe of the paper's text is ``GaussianRBF(20, r_max=3.0, first=0.0, width=0.5)``.

    Examples
    --------
    >>> import trackless as tl
    >>> tl.GaussianRBF(count=3, r_max=3.0).names
    ('rbf 0.01', 'rbf 1.505', 'rbf 3')
    """

    count: int = 20
    r_max: float | None = None
    width: float | None = None
    first: float = 0.01
    center: Center = None

    @property
    def size(self) -> int:
        return self.count

    @property
    def closed(self) -> bool:
        return False  # the table's reach is always the data's

    def _functions(self, r_max: float) -> RadialFunctions:
        centers = np.linspace(self.first, r_max, self.count)
        width = self.width if self.width is not None else 1.5 * r_max / self.count
        names = [f"rbf {c:.4g}" for c in centers]
        return RadialFunctions([Gaussian(float(c), width) for c in centers], names, self.center)

    @property
    def names(self) -> tuple[str, ...]:
        return self._functions(self._needed_r_max()).names

    def _needed_r_max(self) -> float:
        if self.r_max is None:
            raise InputError("GaussianRBF: r_max is open; give it, or adapt the family to data first")
        return self.r_max

    def adapted(self, explored: Exploration, role: Role) -> RadialFunctions:
        center = closed_center(self.center, explored, role)
        r_max = self.r_max if self.r_max is not None else float(np.quantile(explored.reached(role, center), 0.99))
        return replace(self, center=center)._functions(r_max).adapted(explored, role)

    def table(self, dim: int) -> RadialTable:
        raise InputError("GaussianRBF: adapt the family to data first: basis.adapted(explore(snapshots), role)")

    def combine(self, coef: ArrayLike) -> Potential:
        return self._functions(self._needed_r_max()).combine(coef)
