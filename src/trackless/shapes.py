"""Named radial profiles. To add one, write a frozen dataclass with profile, slope and curvature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trackless.potentials import Array, RadialPotential


@dataclass(frozen=True)
class Power(RadialPotential):
    """r**exponent; 1 is |x|, 2 is |x|^2."""

    exponent: float

    def profile(self, r: ArrayLike) -> Array:
        return np.asarray(r, float) ** self.exponent

    def slope(self, r: ArrayLike) -> Array:
        if self.exponent == 1:  # 0**0 is 1 in NumPy, but say it
            return np.ones_like(np.asarray(r, float))
        return self.exponent * np.asarray(r, float) ** (self.exponent - 1)

    def curvature(self, r: ArrayLike) -> Array:
        factor = self.exponent * (self.exponent - 1)
        if factor == 0:  # |x|: 0 * 0**-1 would be NaN at the origin
            return np.zeros_like(np.asarray(r, float))
        return factor * np.asarray(r, float) ** (self.exponent - 2)


@dataclass(frozen=True)
class InversePower(RadialPotential):
    """(length / r)**exponent, singular at 0: wrap it in :class:`Clamped` to simulate it."""

    length: float
    exponent: float

    def profile(self, r: ArrayLike) -> Array:
        return (self.length / np.asarray(r, float)) ** self.exponent

    def slope(self, r: ArrayLike) -> Array:
        return -self.exponent * self.profile(r) / np.asarray(r, float)

    def curvature(self, r: ArrayLike) -> Array:
        return self.exponent * (self.exponent + 1) * self.profile(r) / np.asarray(r, float) ** 2


@dataclass(frozen=True)
class Gaussian(RadialPotential):
    """exp(-(r - center)^2 / (2 width^2)): a shell for center > 0."""

    center: float
    width: float

    def profile(self, r: ArrayLike) -> Array:
        return np.exp(-0.5 * ((np.asarray(r, float) - self.center) / self.width) ** 2)

    def slope(self, r: ArrayLike) -> Array:
        return -(np.asarray(r, float) - self.center) / self.width**2 * self.profile(r)

    def curvature(self, r: ArrayLike) -> Array:
        scaled = (np.asarray(r, float) - self.center) / self.width
        return (scaled**2 - 1) / self.width**2 * self.profile(r)


@dataclass(frozen=True)
class SmoothedIndicator(RadialPotential):
    """1 on [lower, upper], 0 outside, with tanh edges of width ``smoothing``."""

    lower: float
    upper: float
    smoothing: float

    def _edges(self, r: ArrayLike) -> tuple[Array, Array]:
        r = np.asarray(r, float)
        return np.tanh((r - self.lower) / self.smoothing), np.tanh((r - self.upper) / self.smoothing)

    def profile(self, r: ArrayLike) -> Array:
        rise, fall = self._edges(r)
        return 0.5 * (rise - fall)

    def slope(self, r: ArrayLike) -> Array:
        rise, fall = self._edges(r)
        return 0.5 * (fall**2 - rise**2) / self.smoothing

    def curvature(self, r: ArrayLike) -> Array:
        rise, fall = self._edges(r)
        return (fall * (1 - fall**2) - rise * (1 - rise**2)) / self.smoothing**2


@dataclass(frozen=True)
class Reciprocal(RadialPotential):
    """1 / (r + offset)."""

    offset: float = 1.0

    def profile(self, r: ArrayLike) -> Array:
        return 1.0 / (np.asarray(r, float) + self.offset)

    def slope(self, r: ArrayLike) -> Array:
        return -(self.profile(r) ** 2)

    def curvature(self, r: ArrayLike) -> Array:
        return 2 * self.profile(r) ** 3


@dataclass(frozen=True)
class Exponential(RadialPotential):
    """exp(-rate (r - center)); two of them make a Morse potential."""

    rate: float
    center: float = 0.0

    def profile(self, r: ArrayLike) -> Array:
        return np.exp(-self.rate * (np.asarray(r, float) - self.center))

    def slope(self, r: ArrayLike) -> Array:
        return -self.rate * self.profile(r)

    def curvature(self, r: ArrayLike) -> Array:
        return self.rate**2 * self.profile(r)


@dataclass(frozen=True)
class Clamped(RadialPotential):
    """``inner`` with its slope frozen below ``r_safe``: the value goes on linearly, the curvature is 0.

    This is a potential (value and slope belong together). A value clamped to a constant with a slope that is
    not zero would not be one, and the weak form would not hold for it.
    """

    inner: RadialPotential
    r_safe: float

    def profile(self, r: ArrayLike) -> Array:
        outside = np.maximum(r, self.r_safe)
        return self.inner.profile(outside) + (np.asarray(r, float) - outside) * self.inner.slope(outside)

    def slope(self, r: ArrayLike) -> Array:
        return self.inner.slope(np.maximum(r, self.r_safe))

    def curvature(self, r: ArrayLike) -> Array:
        return np.where(np.asarray(r) < self.r_safe, 0.0, self.inner.curvature(np.maximum(r, self.r_safe)))


@dataclass(frozen=True)
class ShiftedForce(RadialPotential):
    """``inner`` cut at ``cutoff`` so that value and slope both vanish there (the shifted-force cut).

    A slope that jumped to 0 would hide a delta function in the Laplacian that no snapshot can sample.
    """

    inner: RadialPotential
    cutoff: float

    def profile(self, r: ArrayLike) -> Array:
        r = np.minimum(np.asarray(r, float), self.cutoff)
        value, slope = self.inner.profile(self.cutoff), self.inner.slope(self.cutoff)
        return self.inner.profile(r) - value - (r - self.cutoff) * slope

    def slope(self, r: ArrayLike) -> Array:
        return self.inner.slope(np.minimum(r, self.cutoff)) - self.inner.slope(self.cutoff)

    def curvature(self, r: ArrayLike) -> Array:
        return np.where(np.asarray(r) < self.cutoff, self.inner.curvature(np.minimum(r, self.cutoff)), 0.0)
