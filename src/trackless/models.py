"""Known-truth systems: the six of the paper (section 5) and a mixture, each with its oracle basis.

Every model is its oracle bases and true coefficients; the potentials are the sums of these, so that truth,
simulation and basis cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless.basis import Basis, RadialFunctions
from trackless.by_species import BySpecies
from trackless.intensity import Sigma
from trackless.potentials import Stretched
from trackless.shapes import (
    Clamped,
    Exponential,
    Gaussian,
    InversePower,
    Power,
    Reciprocal,
    ShiftedForce,
    SmoothedIndicator,
)


@dataclass(frozen=True)
class Model:
    """A system whose potentials are known.

    Attributes
    ----------
    name : str
    external_basis, interaction_basis : RadialFunctions, BySpecies or None
        Oracle bases: they contain the truth exactly.
    coefficients : tuple of float
        True coefficients, external first.
    sigma : float or tuple of float
        Noise intensity, of all directions or one per direction.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> float(model.interaction.profile(0.75).round(6))
    -2.977782
    >>> model.coefficients
    (-0.5, 2.0, -3.0, 2.0)
    """

    name: str
    external_basis: Basis | None
    interaction_basis: Basis | None
    coefficients: tuple[float, ...]
    sigma: Sigma = 1.0
    dim: int | None = None
    """The one dimension this model exists in; None for any."""

    @property
    def external(self) -> Any:
        """The true V: a potential, a mapping of those of each species, or None."""
        if self.external_basis is None:
            return None
        return self.external_basis.combine(self.true_coef[: self.external_basis.size])

    @property
    def interaction(self) -> Any:
        """The true Phi: a potential, a mapping of those of each pair of species, or None."""
        if self.interaction_basis is None:
            return None
        return self.interaction_basis.combine(self.true_coef[len(self.coefficients) - self.interaction_basis.size :])

    @property
    def true_coef(self) -> NDArray[np.float64]:
        """True coefficients as an array, in the order of ``SelfTest.coef_``."""
        return np.asarray(self.coefficients, float)


def _harmonic_with_tip() -> RadialFunctions:
    return RadialFunctions([Power(1), Power(2)], names=["|x|", "|x|^2"])


def _double_well() -> RadialFunctions:
    return RadialFunctions([Power(4), Power(2)], names=["|x|^4", "|x|^2"])


def reference() -> Model:
    """V = -|x|/2 + 2 |x|^2 and two Gaussian shells: satisfies every assumption of the theory."""
    shells = RadialFunctions([Gaussian(0.75, 0.125), Gaussian(1.5, 0.25)], names=["shell 0.75", "shell 1.5"])
    return Model("reference", _harmonic_with_tip(), shells, (-0.5, 2.0, -3.0, 2.0))


def smoothness(smoothing: float = 0.05) -> Model:
    """Steps in Phi, smoothed over ``smoothing``: large derivatives."""
    steps = RadialFunctions(
        [SmoothedIndicator(0.5, 1.0, smoothing), SmoothedIndicator(1.0, 2.0, smoothing)],
        names=["step [0.5, 1]", "step [1, 2]"],
    )
    return Model("smoothness", _harmonic_with_tip(), steps, (-0.5, 2.0, -3.0, 2.0))


def conditioning(gamma: float = 0.5) -> Model:
    """Double well and a slowly decaying interaction gamma/(r+1): nearly singular normal matrix."""
    return Model(
        "conditioning", _double_well(), RadialFunctions([Reciprocal()], names=["1/(r+1)"]), (0.25, -0.5, gamma)
    )


def singularity(r_safe: float = 0.35, cutoff: float = 2.5) -> Model:
    """Lennard-Jones (depth 1/2, length 1/2) in a harmonic trap; slope frozen below ``r_safe``, cut at 2.5."""
    powers = [ShiftedForce(Clamped(InversePower(0.5, p), r_safe), cutoff) for p in (12, 6)]
    return Model(
        "singularity",
        RadialFunctions([Power(2)], names=["|x|^2"]),
        RadialFunctions(powers, names=["(s/r)^12", "(s/r)^6"]),
        (1.0, 2.0, -2.0),
    )


def smooth_control() -> Model:
    """Double well and a Morse interaction (depth 1/2, rate 2, minimum at 0.8)."""
    morse = RadialFunctions([Exponential(2.0, 0.8), Exponential(4.0, 0.8)], names=["exp(-a s)", "exp(-2a s)"])
    return Model("smooth_control", _double_well(), morse, (0.25, -0.5, -1.0, 0.5))


def anisotropic() -> Model:
    """V = x_1^2 + 4 x_2^2 and Phi = 2 exp(-(z_1^2/0.5^2 + z_2^2/1.5^2)/2) in two dimensions."""
    valleys = RadialFunctions(
        [Stretched(Power(2), (1.0, np.inf)), Stretched(Power(2), (np.inf, 1.0))], names=["x_1^2", "x_2^2"]
    )
    ellipse = RadialFunctions([Stretched(Gaussian(0.0, 1.0), (0.5, 1.5))], names=["ellipse"])
    return Model("anisotropic", valleys, ellipse, (1.0, 4.0, 2.0), dim=2)


def mixture() -> Model:
    """Two species, a and b, in traps of their own: a repel each other, b attract each other, a and b form shells."""
    traps = {kind: RadialFunctions([Power(2)], names=["|x|^2"]) for kind in "ab"}
    shells = {
        ("a", "a"): RadialFunctions([Gaussian(0.0, 0.6)], names=["soft core"]),
        ("a", "b"): RadialFunctions([Gaussian(0.7, 0.25)], names=["shell"]),
        ("b", "b"): RadialFunctions([Gaussian(0.0, 1.0)], names=["attraction"]),
    }
    return Model("mixture", BySpecies(traps), BySpecies(shells), (0.5, 1.0, 6.0, -4.0, -5.0))


ALL = {
    make.__name__: make
    for make in (reference, smoothness, conditioning, singularity, smooth_control, anisotropic, mixture)
}
"""Name -> function that makes the model."""
