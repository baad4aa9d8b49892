"""Potentials: value, gradient and Laplacian of one definition, used by simulator, bases, truth and plots.

A radial potential is a profile g(r) with its slope g' and curvature g''; the named ones are in
:mod:`trackless.shapes`. In d dimensions

    grad f(x) = g'(r) x / r,        Laplacian f(x) = g''(r) + (d - 1) g'(r) / r,        r = |x - center|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError

Array = NDArray[np.float64]
RADIAL_ONLY = ("profile", "slope", "curvature")  # methods that people look for on any potential


class Potential(ABC):
    """A scalar field on R^d with its first two derivatives; points have shape (..., dim).

    Attributes
    ----------
    uncertainty : Uncertainty or None
        Error bars, if the potential was learnt with them.
    """

    uncertainty: Any = None
    _banded: ClassVar[dict[str, str]] = {"gradient": "gradient", "value": "__call__"}

    @abstractmethod
    def __call__(self, x: ArrayLike) -> Array:
        """Values at the points ``x``; shape (...)."""

    @abstractmethod
    def gradient(self, x: ArrayLike) -> Array:
        """Gradients at the points ``x``; shape (..., dim)."""

    @abstractmethod
    def laplacian(self, x: ArrayLike) -> Array:
        """Laplacians at the points ``x``; shape (...)."""

    def band(
        self, x: ArrayLike, level: float = 0.95, of: str | None = None, simultaneous: bool = False
    ) -> tuple[Array, Array]:  # fmt: skip
        """Lower and upper end of an error band at ``x``: distances for radial potentials, points (..., dim) for others.

        Parameters
        ----------
        x : array
        level : float
            How often a band should cover the truth: at each place, or with ``simultaneous`` at all places at once.
        of : "slope" (default) or "profile"; for potentials that are not radial "gradient" (default) or "value"
            A constant in a potential cannot be known, so that the bands of a profile or value are those of its
            difference to the mean over the explored range.
        simultaneous : bool

        Returns
        -------
        lower, upper : arrays
            Infinite where the data did not reach.
        """
        offered = self._banded
        of = next(iter(offered)) if of is None else of
        if of not in offered:
            raise InputError(f"of: expected {' or '.join(map(repr, offered))}, got {of!r}")
        if self.uncertainty is None:
            raise InputError(
                "this potential has no error bars: those of tl.fit and of fitted tl.SelfTest have, from two runs on"
            )
        method = offered[of]
        middle = getattr(self, method)(x)
        half = self.uncertainty.critical(level, method, simultaneous) * self.uncertainty.deviation(x, method)
        return middle - half, middle + half

    if not TYPE_CHECKING:  # a type checker would take every name for one that is there

        def __getattr__(self, name: str) -> Any:
            if name in RADIAL_ONLY:
                raise AttributeError(
                    f"{name}: this potential is not radial, so that it is no function of a distance; use .gradient(x), "
                    "with points (..., dim)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class RadialPotential(Potential):
    """A potential that depends on the distance from a centre only.

    Examples
    --------
    >>> from trackless.shapes import Gaussian
    >>> bump = -3 * Gaussian(center=0.75, width=0.125)
    >>> float(bump.profile(0.75)), float(bump.slope(0.75))
    (-3.0, 0.0)
    >>> bump.gradient([[0.75, 0.0]]).shape
    (1, 2)
    """

    _banded: ClassVar[dict[str, str]] = {"slope": "slope", "profile": "profile"}

    @property
    def origin(self) -> Array | float:
        """The point distances are measured from (0 stands for the origin of any dimension)."""
        return 0.0

    @abstractmethod
    def profile(self, r: ArrayLike) -> Array:
        """g(r)."""

    @abstractmethod
    def slope(self, r: ArrayLike) -> Array:
        """g'(r)."""

    @abstractmethod
    def curvature(self, r: ArrayLike) -> Array:
        """g''(r)."""

    def __call__(self, x: ArrayLike) -> Array:
        return self.profile(np.linalg.norm(np.asarray(x, float) - self.origin, axis=-1))

    def gradient(self, x: ArrayLike) -> Array:
        offset = np.asarray(x, float) - self.origin
        r = np.linalg.norm(offset, axis=-1)
        # At the centre the direction is undefined; 0 is the mean over directions (and exact if g'(0) = 0).
        return offset * (self.slope(r) / np.where(r > 0, r, np.inf))[..., None]

    def laplacian(self, x: ArrayLike) -> Array:
        offset = np.asarray(x, float) - self.origin
        r = np.linalg.norm(offset, axis=-1)
        if offset.shape[-1] == 1:  # 0 times an infinite slope / r would be NaN at a tip
            return self.curvature(r)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope_over_r = self.slope(r) / r
        # g'(r)/r -> g''(0) at the centre when g'(0) = 0; otherwise the Laplacian diverges there.
        slope_over_r = np.where(np.isnan(slope_over_r), self.curvature(r), slope_over_r)
        return self.curvature(r) + (offset.shape[-1] - 1) * slope_over_r

    def __mul__(self, factor: float) -> RadialSum:
        return RadialSum((self,), (float(factor),))

    __rmul__ = __mul__

    def __add__(self, other: RadialPotential) -> RadialSum | PotentialSum:
        return _sum_of((self, other), (1.0, 1.0))

    def __sub__(self, other: RadialPotential) -> RadialSum | PotentialSum:
        return _sum_of((self, other), (1.0, -1.0))


@dataclass(frozen=True)
class RadialSum(RadialPotential):
    """sum_k weights[k] terms[k]; all terms share the origin of the first."""

    terms: tuple[RadialPotential, ...]
    weights: tuple[float, ...]

    @property
    def origin(self) -> Array | float:
        return self.terms[0].origin

    def _sum(self, method: str, r: ArrayLike) -> Array:
        r = np.asarray(r, float)
        parts = (w * getattr(term, method)(r) for w, term in zip(self.weights, self.terms, strict=True))
        return sum(parts, np.zeros_like(r))

    def profile(self, r: ArrayLike) -> Array:
        return self._sum("profile", r)

    def slope(self, r: ArrayLike) -> Array:
        return self._sum("slope", r)

    def curvature(self, r: ArrayLike) -> Array:
        return self._sum("curvature", r)


@dataclass(frozen=True)
class Centered(RadialPotential):
    """``inner`` about another point."""

    inner: RadialPotential
    center: tuple[float, ...]

    @property
    def origin(self) -> Array:
        return np.asarray(self.center, float)

    def profile(self, r: ArrayLike) -> Array:
        return self.inner.profile(r)

    def slope(self, r: ArrayLike) -> Array:
        return self.inner.slope(r)

    def curvature(self, r: ArrayLike) -> Array:
        return self.inner.curvature(r)


@dataclass(frozen=True)
class RadialFunction(RadialPotential):
    """A profile given as a callable on arrays of distances; missing derivatives by finite differences.

    Examples
    --------
    >>> import numpy as np
    >>> wave = RadialFunction(np.cos)
    >>> bool(abs(wave.slope(1.0) + np.sin(1.0)) < 1e-9)
    True
    """

    function: Callable[[Array], ArrayLike]
    slope_function: Callable[[Array], ArrayLike] | None = None
    curvature_function: Callable[[Array], ArrayLike] | None = None
    step: float = field(default=1e-3, compare=False)
    """Step of the differences; bases set it to a thousandth of the data's typical distance."""

    def profile(self, r: ArrayLike) -> Array:
        return np.asarray(self.function(np.asarray(r, float)), float)

    def slope(self, r: ArrayLike) -> Array:
        if self.slope_function is not None:
            return np.asarray(self.slope_function(np.asarray(r, float)), float)
        return _derivative(self.profile, r, self.step)

    def curvature(self, r: ArrayLike) -> Array:
        if self.curvature_function is not None:
            return np.asarray(self.curvature_function(np.asarray(r, float)), float)
        return _derivative(self.slope, r, self.step)


def _derivative(function: Callable[[Array], Array], r: ArrayLike, step: float) -> Array:
    """Fourth-order differences; the stencil moves right near 0, so that no negative distance is asked for."""
    r = np.asarray(r, float)
    center = np.maximum(r, 2 * step)
    samples = [function(center + k * step) for k in (-2, -1, 0, 1, 2)]
    # Derivative at center + u of the quartic through the five samples, u = (r - center) / step in [-2, 0].
    u = (r - center) / step
    nodes = np.array([-2, -1, 0, 1, 2])
    total = np.zeros_like(r)
    for k, node in enumerate(nodes):
        others = np.delete(nodes, k)
        weights = np.polyder(np.poly(others)) / np.prod(node - others)
        total += np.polyval(weights, u) * samples[k]
    return total / step


@dataclass(frozen=True, eq=False)
class PiecewiseCubic(RadialPotential):
    """A profile that is a cubic polynomial between edges and goes on linearly outside.

    Attributes
    ----------
    edges : (cells + 1,)
    coef : (cells, 4)
        Coefficients of 1, u, u^2, u^3 with u = r - edges[cell].
    """

    edges: Array
    coef: Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PiecewiseCubic) and (
            np.array_equal(self.edges, other.edges) and np.array_equal(self.coef, other.coef)
        )

    def __hash__(self) -> int:
        return hash((self.edges.tobytes(), self.coef.tobytes()))

    def _local(self, r: ArrayLike) -> tuple[Array, Array, Array]:
        distances = np.asarray(r, float)
        inside = np.clip(distances, self.edges[0], self.edges[-1])
        cell = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, len(self.coef) - 1)
        return np.moveaxis(self.coef[cell], -1, 0), inside - self.edges[cell], distances - inside

    def profile(self, r: ArrayLike) -> Array:
        c, u, beyond = self._local(r)
        return c[0] + u * (c[1] + u * (c[2] + u * c[3])) + beyond * (c[1] + u * (2 * c[2] + 3 * u * c[3]))

    def slope(self, r: ArrayLike) -> Array:
        c, u, _ = self._local(r)
        return c[1] + u * (2 * c[2] + 3 * u * c[3])

    def curvature(self, r: ArrayLike) -> Array:
        c, u, beyond = self._local(r)
        return np.where(beyond == 0, 2 * c[2] + 6 * u * c[3], 0.0)


@dataclass(frozen=True)
class Stretched(Potential):
    """f(x) = inner(|x / stretch|): a radial profile on ellipsoids; an infinite stretch ignores that direction.

    Examples
    --------
    >>> from trackless.shapes import Power
    >>> valley = Stretched(Power(2), stretch=(1.0, 0.5))    # x_1^2 + 4 x_2^2
    >>> float(valley([2.0, 0.0])), valley.gradient([1.0, 1.0]).tolist()
    (4.0, [2.0, 8.0])
    """

    inner: RadialPotential
    stretch: tuple[float, ...]

    def _scaled(self, x: ArrayLike) -> tuple[Array, Array, Array]:
        points = np.asarray(x, float)
        squares = 1.0 / np.asarray(self.stretch, float) ** 2
        return points, squares, np.sqrt((points**2 * squares).sum(axis=-1))

    def __call__(self, x: ArrayLike) -> Array:
        return self.inner.profile(self._scaled(x)[2])

    def gradient(self, x: ArrayLike) -> Array:
        points, squares, q = self._scaled(x)
        return points * squares * (self.inner.slope(q) / np.where(q > 0, q, np.inf))[..., None]

    def laplacian(self, x: ArrayLike) -> Array:
        points, squares, q = self._scaled(x)
        safe = np.where(q > 0, q, 1.0)
        along = np.where(q > 0, (points**2 * squares**2).sum(axis=-1) / safe**2, squares.mean())
        curvature = self.inner.curvature(q)
        slope_over_q = np.where(q > 0, self.inner.slope(q) / safe, curvature)
        return curvature * along + slope_over_q * (squares.sum() - along)


@dataclass(frozen=True)
class PotentialSum(Potential):
    """sum_k weights[k] terms[k] of potentials of any kind."""

    terms: tuple[Potential, ...]
    weights: tuple[float, ...]

    def __call__(self, x: ArrayLike) -> Array:
        return np.sum([w * term(x) for w, term in zip(self.weights, self.terms, strict=True)], axis=0)

    def gradient(self, x: ArrayLike) -> Array:
        return np.sum([w * term.gradient(x) for w, term in zip(self.weights, self.terms, strict=True)], axis=0)

    def laplacian(self, x: ArrayLike) -> Array:
        return np.sum([w * term.laplacian(x) for w, term in zip(self.weights, self.terms, strict=True)], axis=0)


def _sum_of(terms: tuple[RadialPotential, ...], weights: tuple[float, ...]) -> RadialSum | PotentialSum:
    """A radial sum where all terms share their centre, a general one otherwise."""
    shared = all(np.array_equal(term.origin, terms[0].origin) for term in terms)
    return RadialSum(terms, weights) if shared else PotentialSum(terms, weights)


def as_radial(function: RadialPotential | Callable | Sequence[Callable]) -> RadialPotential:
    """A radial potential from one, from a callable profile, or from (profile[, slope[, curvature]])."""
    if isinstance(function, RadialPotential):
        return function
    if callable(function):
        return RadialFunction(function)
    slope, curvature = (*function[1:], None, None)[:2]
    return RadialFunction(function[0], slope, curvature)
