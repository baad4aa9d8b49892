"""Radial potentials where the data end: a core below, an end above, joined with value and slope.

Below the explored range, with rho = r^2 and F = -g'(r) the force, F / r is continued linearly in rho:

    F / r = a + (c - a) (1 - rho / rho_0),       g = g(r_0) + a (rho_0 - rho) / 2 + (c - a) (rho_0 - rho)^2 / (4 rho_0)

from a = F(r_0) / r_0 at the edge to c at contact: a polynomial in r^2, smooth in any dimension, on which tables that
are linear in r^2 are exact. For V c = a: harmonic around the centre. For Phi ("safe")

    c = max(4 max|F| / max(r_0, r_1 / 20), 2 |a|)

with the largest force of the explored range, which ends at r_1. No force in the core is larger than 1.8 max|F|, so that
a time step which suits the data suits the core. Whatever the edge does, the core repels: a force that attracts at the
edge turns around within a fifth of r_0, and two particles on top of each other are higher than at the edge, by at least
r_0 |F(r_0)| / 4, and by three times that where the edge repels. An r_0 that is small only because nothing kept
particles apart (r_1 / 20 is larger) has a weak core, which few pairs will ever see.

Above the range, with u = (r - r_1) / width, the slope is g'(r_1) (1 - 3 u^2 + 2 u^3), or held as it is at the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from trackless.potentials import Array, RadialPotential

STIFF = 4.0  # F / r at contact, in units of the largest force over the edge
NEAR = 1 / 20  # of the range: edges closer than this have a weak core
GONE = 1e-9  # of the largest slope: a potential that stays below has ended
FINE = 4000  # distances at which the largest force and the end are looked for
TAPER = 0.2  # of the explored range, over which a force is taken to zero


@dataclass(frozen=True)
class Continued(RadialPotential):
    """``inner`` between ``low`` and ``high``, continued below and above.

    Attributes
    ----------
    inner : RadialPotential
    low, high : float
        Ends of what is taken from ``inner``.
    end : float
        Where a table may end.
    contact : float or None
        F / r at r = 0; None goes on with the slope at the edge ("linear").
    width : float
        Over which the slope is taken to zero above ``high``; 0 holds it.
    shift : float
        Taken off all values.

    Examples
    --------
    >>> from trackless.shapes import Exponential
    >>> phi = Continued(Exponential(1.0), low=0.5, high=3.0, end=3.5, contact=10.0, width=0.5)
    >>> phi.slope([0.0, 0.5, 3.0, 3.5]).round(3).tolist()
    [-0.0, -0.607, -0.05, -0.0]
    """

    inner: RadialPotential
    low: float
    high: float
    end: float
    contact: float | None
    width: float = 0.0
    shift: float = 0.0

    @property
    def origin(self) -> Array | float:
        return self.inner.origin

    def _parts(self, r: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Distances, what is seen of them, how much of rho_0 is missing below, and u above."""
        distances = np.asarray(r, float)
        inside = np.clip(distances, self.low, self.high)
        missing = np.maximum(self.low**2 - distances**2, 0.0)
        over = np.maximum(distances - self.high, 0.0)
        return distances, inside, missing, np.minimum(over / self.width, 1.0) if self.width > 0 else over

    def _force_over_r(self) -> tuple[float, float]:
        """a, and (c - a) / rho_0."""
        edge = -float(self.inner.slope(self.low)) / self.low
        contact = edge if self.contact is None else self.contact
        return edge, (contact - edge) / self.low**2

    def profile(self, r: ArrayLike) -> Array:
        distances, inside, missing, above = self._parts(r)
        value = self.inner.profile(inside) - self.shift
        last = self.inner.slope(self.high)
        value = value + last * (self.width * (above - above**3 + above**4 / 2) if self.width > 0 else above)
        if self.low == 0:
            return value
        if self.contact is None:
            return value + np.minimum(distances - self.low, 0.0) * self.inner.slope(self.low)
        edge, rise = self._force_over_r()
        return value + 0.5 * edge * missing + 0.25 * rise * missing**2

    def slope(self, r: ArrayLike) -> Array:
        distances, inside, missing, above = self._parts(r)
        slope = self.inner.slope(inside)
        if self.width > 0:
            slope = slope * (1 - 3 * above**2 + 2 * above**3)
        if self.low == 0 or self.contact is None:
            return slope
        edge, rise = self._force_over_r()
        return np.where(missing > 0, -distances * (edge + rise * missing), slope)

    def curvature(self, r: ArrayLike) -> Array:
        distances, inside, missing, above = self._parts(r)
        last = self.inner.slope(self.high)
        outside = last * 6 * (above**2 - above) / self.width if self.width > 0 else 0.0
        curvature = np.where(distances > self.high, outside, self.inner.curvature(inside))
        if self.low == 0:
            return curvature
        if self.contact is None:
            return np.where(missing > 0, 0.0, curvature)
        edge, rise = self._force_over_r()
        return np.where(missing > 0, -(edge + rise * missing) + 2 * rise * distances**2, curvature)


def continued_pair(
    potential: RadialPotential, low: float, high: float, cutoff: float | None = None, core: str = "safe"
) -> Continued:
    """Phi with a core, ending at the cutoff, where it has died away, or over a fifth of the range; 0 at its end."""
    grid = np.linspace(low, high, FINE)
    slopes = np.abs(potential.slope(grid))
    largest = float(slopes.max())
    contact = None
    if core == "safe" and low > 0:
        edge = 2 * abs(float(potential.slope(low))) / low
        contact = max(STIFF * largest / max(low, NEAR * high), edge)
    alive = np.flatnonzero(slopes > GONE * largest)
    if cutoff is not None:
        found = Continued(potential, low, cutoff, cutoff, contact)
    elif largest == 0 or alive[-1] < FINE - 1:
        end = float(grid[alive[-1] + 1]) if largest > 0 else high
        found = Continued(potential, low, end, end, contact)
    else:
        width = TAPER * (high - low)
        found = Continued(potential, low, high, high + width, contact, width)
    return replace(found, shift=float(found.profile(found.end)))


def continued_trap(potential: RadialPotential, low: float, high: float) -> Continued:
    """V harmonic around its centre, held with the force at the edge to twice the range; 0 where it is lowest.

    A force that pushes outwards at the edge is taken to zero instead, because nothing would bring particles back.
    """
    inwards = float(potential.slope(high)) > 0
    contact = -float(potential.slope(low)) / low if low > 0 else None
    width = 0.0 if inwards else TAPER * (high - low)
    found = Continued(potential, low, high, 2 * high - low, contact, width)
    return replace(found, shift=float(found.profile(np.linspace(0.0, found.end, FINE)).min()))
