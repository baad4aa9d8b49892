"""Units and coupling: from dX = -grad V dt - c sum grad Phi dt + sigma dW to energies, forces, kT and a mobility.

A simulator moves particles by dX = mobility * force dt + sqrt(2 kT mobility) dW. With energies U = scale * Phi_sum both
are the same motion where scale * mobility = 1 and kT * mobility = sigma^2 / 2, so that scale = kT / (sigma^2 / 2): the
potentials are known in units of kT, and how large kT is only the user knows. Left open, kT = sigma^2 / 2 and the
mobility is 1. With lengths multiplied by L forces are divided by L, and the mobility is L^2 / scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trackless._errors import InputError
from trackless.coupling import coupling_factor
from trackless.intensity import Sigma, checked_sigma, typical_sigma
from trackless.magnitudes import check_magnitude
from trackless.potentials import Array, RadialPotential


@dataclass(frozen=True)
class Scales:
    """How a simulator's units follow from those of the data.

    Attributes
    ----------
    energy : float
        V times this is an energy.
    divided_by : float
        Phi over this is the potential of a pair: N where forces are averaged over the N particles, 1 where they add up.
    length : float
        Distances times this are lengths of the simulator.
    kT : float
    sigma : float or tuple of float
        Of the fit, in units of the data.
    coupling : "mean" or "sum"
        Of the fit.
    known : bool
        Whether sigma is more than a placeholder; if not, nothing is known of times and friction.
    """

    energy: float
    divided_by: float
    length: float
    kT: float
    sigma: Sigma
    coupling: str
    known: bool = True

    @property
    def mobility(self) -> float:
        """Velocity over force; times are those of the data."""
        return self.length**2 / self.energy

    @property
    def friction(self) -> float:
        """Force over velocity."""
        return 1.0 / self.mobility

    @property
    def noiseless(self) -> bool:
        """Whether the fit has no noise, and with it no temperature."""
        return not np.any(self.sigma)

    @property
    def movable(self) -> bool:
        """Whether kT and friction move particles as the fit does."""
        return self.known and not self.noiseless

    def of(self, role: int) -> float:
        """What V (role 0) or Phi (1) are multiplied with."""
        return self.energy / self.divided_by if role == 1 else self.energy

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was done, in words."""
        if self.coupling == "mean" and self.divided_by != 1:
            said = (
                f"forces were averaged over N = {self.divided_by:g} particles: Phi was divided by {self.divided_by:g}"
            )
        else:
            said = "forces add up"
        temperature = f"kT = {self.kT:.8g}"
        if self.energy == 1:
            temperature += " = sigma^2 / 2" if np.ndim(self.sigma) == 0 else ", the mean of sigma^2 / 2"
        moved = (
            f"{temperature} with friction {self.friction:.8g} moves particles as the fit does (sigma = "
            f"{numbers(self.sigma)}): dX = force / friction dt + sqrt(2 kT / friction) dW, in the times of the data"
        )
        if not self.known:
            moved = f"kT = {self.kT:.8g}; nothing is known of times and friction"
        elif self.noiseless:
            moved = "sigma = 0: particles follow the forces, dX = force dt, and there is no temperature"
        return (
            f"{said}, so that Phi is the potential of a pair",
            moved,
            f"lengths are those of the data times {self.length:.8g}, energies V and Phi times {self.energy:.8g}",
        )


def numbers(sigma: Sigma) -> str:
    """sigma in words."""
    return ", ".join(f"{value:.6g}" for value in np.atleast_1d(sigma))


def scales_of(fitted: Any, kT: float | None = None, length: float = 1.0) -> Scales:
    """Units and coupling of a fitted estimator, for a simulator in which the temperature is ``kT``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> fitted = SimpleNamespace(sigma_=1.0, coupling="sum", interaction_=None)
    >>> scales_of(fitted, kT=4.11).energy  # energies are kT / (sigma^2 / 2) times those of the fit
    8.22
    """
    for name, value in (("kT", kT), ("length", length)):
        real = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if value is not None and not (real and isfinite(value) and value > 0):
            raise InputError(f"{name}: expected a positive number, got {value!r}")
        check_magnitude(name, value or 0.0)
    sigma = checked_sigma(fitted.sigma_)
    own = 0.5 * typical_sigma(sigma) ** 2
    if kT is not None and np.ndim(sigma) > 0:
        raise InputError(f"kT: sigma differs between directions ({numbers(sigma)}), so that there is no temperature")
    if kT is not None and own == 0:
        raise InputError("kT: the fit has sigma = 0, so that nothing says how large its energies are in units of kT")
    energy, noise = 1.0 if kT is None else float(kT) / own, getattr(fitted, "noise_", None)
    return Scales(
        energy, _pairs(fitted), float(length), own if kT is None else float(kT), sigma, fitted.coupling,
        noise is None or bool(noise.known),
    )  # fmt: skip


def _pairs(fitted: Any) -> float:
    """Phi of the fit over that of a pair."""
    if fitted.interaction_ is None or fitted.coupling == "sum":
        return 1.0
    moments = getattr(fitted, "moments_", None)
    if moments is None:
        raise InputError(
            "coupling: forces were averaged over N particles, and this fit does not know N (networks trained on "
            "snapshots keep no moments); fit again with coupling='sum'"
        )
    return coupling_factor(fitted.coupling, "sum", moments.number)


@dataclass(frozen=True)
class Scaled(RadialPotential):
    """``energy * inner(r / length)``: a potential in other units."""

    inner: RadialPotential
    energy: float
    length: float

    @property
    def origin(self) -> Array | float:
        return self.length * np.asarray(self.inner.origin, float)

    def profile(self, r: ArrayLike) -> Array:
        return self.energy * self.inner.profile(np.asarray(r, float) / self.length)

    def slope(self, r: ArrayLike) -> Array:
        return self.energy / self.length * self.inner.slope(np.asarray(r, float) / self.length)

    def curvature(self, r: ArrayLike) -> Array:
        return self.energy / self.length**2 * self.inner.curvature(np.asarray(r, float) / self.length)
