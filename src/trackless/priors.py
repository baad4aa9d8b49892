"""Gaussian-process priors on potentials, as covariances of the coefficients of a family.

A potential f is smooth on a length that the data have to tell, and how much it varies may differ from place to place:
steep near a core, flat elsewhere. On radial splines f is white noise of a varying amplitude s, smoothed by a bump,

    f(r) = int s(c) (1 + |r - c|/l) exp(-|r - c|/l) dW(c) / sqrt(5 l / 2),

which for constant s is the Matern process of smoothness 7/2 with standard deviation s. Values of f at the nodes of the
splines become coefficients (:mod:`trackless.nodes`), so that the prior does not depend on the knots. The logarithm of s
is a broken line through a few knots, held together by a random walk.

A prior knows its covariance C(h), the gradient of a function of C with respect to its hyperparameters h, and how
plausible these are; :mod:`trackless.evidence` chooses them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trackless.basis import Basis
from trackless.nodes import nodes_of
from trackless.radial_splines import RadialSplines
from trackless.tensor_splines import TensorSplines

Array = NDArray[np.float64]
AMPLITUDES = 10  # knots of the logarithm of s
WALK = 1.0  # standard deviation of its change from one knot to the next
V_LENGTH = (1 / 3, 1.0)  # l before anything is known, in ranges, and the standard deviation of its logarithm;
PHI_LENGTH = (1 / 8, 0.7)  # interactions change on shorter distances than traps
CENTERS = 160  # bumps per range
BEYOND = 0.5  # they go on so far beyond both ends, in ranges
PART = 0.2  # potentials vary by about this part of typical force times range
BETWEEN = 6  # places between two knots at which a potential is compared with a spline
FREE = 30.0  # amplitude of a harmonic trap, in units of the potential: as good as free
Gradient = Callable[[Array], Array]
BUMP = 2.5  # the integral of (1 + |u|)^2 exp(-2 |u|)


@dataclass(frozen=True, eq=False)
class Missed:
    """Standard deviations of what a potential does between knots that are too far apart for it.

    Attributes
    ----------
    places : (intervals,)
        Middles between knots.
    profile, slope : (intervals,)
    """

    places: Array
    profile: Array
    slope: Array

    def variance(self, r: Array, of: str) -> Array:
        """Of the profile or slope, at distances ``r``; 0 for what is not kept."""
        kept = {"profile": self.profile, "slope": self.slope}.get(of)
        return np.zeros_like(r) if kept is None else np.interp(r, self.places, kept**2)


class Prior(ABC):
    """A Gaussian prior on the coefficients of one family.

    Attributes
    ----------
    unit : float
        The size of the potential, roughly; hyperparameters are measured in it.
    """

    unit: float

    @abstractmethod
    def starts(self) -> list[Array]:
        """Hyperparameters to start from, each (H,)."""

    @abstractmethod
    def at(self, h: Array) -> tuple[Array, Gradient]:
        """C (K, K), and the function from a symmetric slope (K, K) to sum_kl slope_kl dC_kl/dh, (H,)."""

    def covariance(self, h: Array) -> Array:
        """C, (K, K)."""
        return self.at(h)[0]

    @abstractmethod
    def of_size(self, energy: float, distance: float) -> Array:
        """Covariance (K, K) of potentials that vary by such an energy over such a distance, on the usual lengths.

        Nothing of it comes from the data, so that it can be held against no potential at all.
        """

    def missed(self, h: Array) -> Missed | None:
        """What potentials of this kind have that the family cannot show; None where that is not looked at."""
        return None

    @abstractmethod
    def penalty(self, h: Array) -> tuple[float, Array]:
        """Minus the logarithm of the hyperparameters' own prior, up to a constant, and its gradient (H,).

        All sizes s/l of the slope are equally plausible beforehand, which in its logarithm is a slope of 1. Without it,
        a potential that is too weak to be seen would be exactly 0 and have a band of no width. (All sizes of s itself
        would reward long lengths: the limit of straight lines and parabolas, with bands that are too narrow.)
        """


class RadialPrior(Prior):
    """For radial splines: hyperparameters are log s at some knots and log l."""

    def __init__(self, basis: RadialSplines, force: float, trap: bool) -> None:
        nodes = nodes_of(basis)
        self.basis = basis
        self.coefficients, self.r = nodes.coefficients, nodes.points[:, 0]
        low, high = float(self.r[0]), float(self.r[-1])
        self.range = high - low
        self.unit = unit = PART * force * self.range
        part, self.lengths = V_LENGTH if trap else PHI_LENGTH
        self.length = np.log(part * self.range)
        count = round(CENTERS * (1 + 2 * BEYOND))
        self.centers = np.linspace(low - BEYOND * self.range, high + BEYOND * self.range, count)
        self.spacing = self.centers[1] - self.centers[0]
        knots = np.quantile(np.unique(basis.spline_parts()[0]), np.linspace(0, 1, AMPLITUDES))
        self.hats = np.stack([np.interp(self.centers, knots, hat) for hat in np.eye(AMPLITUDES)], axis=1)
        harmonic = self.coefficients @ (self.r / high) ** 2
        self.free = (FREE * unit) ** 2 * np.outer(harmonic, harmonic) if trap else 0.0

    def starts(self) -> list[Array]:
        return [np.append(np.full(AMPLITUDES, np.log(self.unit)), np.log(self.range / part)) for part in (3, 12)]

    def of_size(self, energy: float, distance: float) -> Array:
        return self.covariance(np.append(np.full(AMPLITUDES, np.log(energy)), self.length)) - self.free

    def _variances(self, h: Array) -> Array:
        """Of each bump, (J,)."""
        return np.exp(2 * (self.hats @ h[:-1]) - h[-1]) * self.spacing / BUMP

    def at(self, h: Array) -> tuple[Array, Gradient]:
        u = np.abs(self.r[:, None] - self.centers) / np.exp(h[-1])
        fall = np.exp(-u)
        bumps = self.coefficients @ ((1 + u) * fall)  # (K, J)
        variance = self._variances(h)

        def gradient(slope: Array) -> Array:
            pulled = slope @ bumps
            each = variance * np.einsum("kj,kj->j", bumps, pulled)
            wider = self.coefficients @ (u**2 * fall)  # the derivative of the bumps by log l
            length = 2 * variance @ np.einsum("kj,kj->j", wider, pulled) - each.sum()
            return np.append(2 * self.hats.T @ each, length)

        return (bumps * variance) @ bumps.T + self.free, gradient

    def missed(self, h: Array) -> Missed:
        length = np.exp(h[-1])
        edges = np.unique(self.basis.spline_parts()[0])
        inside = (np.arange(BETWEEN) + 0.5) / BETWEEN
        r = (edges[:-1, None] + inside * np.diff(edges)[:, None]).ravel()
        away = (r[:, None] - self.centers) / length
        u = np.abs(away)
        variance = self._variances(h)
        at_nodes = np.abs(self.r[:, None] - self.centers) / length
        shown = self.coefficients @ ((1 + at_nodes) * np.exp(-at_nodes))
        ones = [self.basis.combine(one) for one in np.eye(self.basis.size)]
        found = []
        for of, true in (("profile", (1 + u) * np.exp(-u)), ("slope", -away * np.exp(-u) / length)):
            rest = true - np.stack([getattr(one, of)(r) for one in ones], axis=1) @ shown
            if of == "profile":  # a constant means nothing
                rest = rest - rest.mean(axis=0)
            found.append(np.sqrt((rest**2 @ variance).reshape(-1, BETWEEN).mean(axis=1)))
        return Missed(0.5 * (edges[1:] + edges[:-1]), *found)

    def penalty(self, h: Array) -> tuple[float, Array]:
        steps = np.diff(h[:-1]) / WALK**2
        away = (h[-1] - self.length) / self.lengths**2
        gradient = np.append(np.append(0.0, steps) - np.append(steps, 0.0) - 1 / AMPLITUDES, away + 1)
        held = 0.5 * float(WALK**2 * (steps**2).sum() + self.lengths**2 * away**2)
        return held - float(h[:-1].mean() - h[-1]), gradient


class TensorPrior(Prior):
    """For tensor splines: a squared exponential with a length per direction; hyperparameters log s, log l_1, ..."""

    def __init__(self, basis: TensorSplines, force: float, trap: bool) -> None:
        nodes = nodes_of(basis)
        self.coefficients, points = nodes.coefficients, nodes.points
        self.dim = points.shape[1]
        self.range = np.ptp(points, axis=0)
        if basis.even:
            self.range = 2 * np.abs(points).max(axis=0)
        self.unit = unit = PART * force * float(self.range.mean())
        part, self.lengths = V_LENGTH if trap else PHI_LENGTH
        self.length = np.log(part * self.range)
        mirrored = (1, -1) if basis.even else (1,)
        self.squares = [[(points[:, k, None] - sign * points[:, k]) ** 2 for k in range(self.dim)] for sign in mirrored]
        middle = points.mean(axis=0)
        shapes = [(points[:, k] - middle[k]) / self.range[k] for k in range(self.dim)]
        shapes += [shapes[k] * shapes[m] for k in range(self.dim) for m in range(k, self.dim)]
        traps = self.coefficients @ np.stack(shapes, axis=1)
        self.free = (FREE * unit) ** 2 * traps @ traps.T if trap else 0.0

    def starts(self) -> list[Array]:
        return [np.append(np.log(self.unit), np.log(self.range / part)) for part in (3, 8)]

    def of_size(self, energy: float, distance: float) -> Array:
        return self.covariance(np.append(np.log(energy), self.length)) - self.free

    def _kernels(self, h: Array) -> list[Array]:
        weights = np.exp(-2 * h[1:])
        return [
            np.exp(2 * h[0] - 0.5 * sum(w * s for w, s in zip(weights, squares, strict=True))) / len(self.squares)
            for squares in self.squares
        ]

    def at(self, h: Array) -> tuple[Array, Gradient]:
        kernels = self._kernels(h)

        def gradient(slope: Array) -> Array:
            pulled = self.coefficients.T @ slope @ self.coefficients
            gradient = np.zeros(1 + self.dim)
            for kernel, squares in zip(kernels, self.squares, strict=True):
                weighted = pulled * kernel
                gradient[0] += 2 * weighted.sum()
                gradient[1:] += [(weighted * s).sum() * np.exp(-2 * g) for s, g in zip(squares, h[1:], strict=True)]
            return gradient

        return self.coefficients @ sum(kernels) @ self.coefficients.T + self.free, gradient

    def penalty(self, h: Array) -> tuple[float, Array]:
        away = (h[1:] - self.length) / self.lengths**2
        held = 0.5 * float(self.lengths**2 * (away**2).sum())
        return held - float(h[0] - h[1:].mean()), np.append(-1.0, away + 1 / self.dim)


class ScalePrior(Prior):
    """For given functions: independent coefficients, whose forces are all of one size s; hyperparameter log s."""

    def __init__(self, forces: Array, force: float) -> None:
        self.unit = force
        self.shape = np.diag(1.0 / forces**2)

    def starts(self) -> list[Array]:
        return [np.array([np.log(self.unit)])]

    def of_size(self, energy: float, distance: float) -> Array:
        return (energy / distance) ** 2 * self.shape

    def at(self, h: Array) -> tuple[Array, Gradient]:
        covariance = np.exp(2 * h[0]) * self.shape
        return covariance, lambda slope: np.array([2 * (slope * covariance).sum()])

    def penalty(self, h: Array) -> tuple[float, Array]:
        return -float(h[0]), -np.ones(1)


def in_units(basis: Basis, h: Array, unit: float) -> Array:
    """Hyperparameters (H,) of a family's prior if potentials are measured in another unit: amplitudes are smaller."""
    amplitudes = {RadialSplines: slice(0, AMPLITUDES), TensorSplines: slice(0, 1)}
    shifted = np.array(h, float)  # those of given functions are forces, which stay what they are
    shifted[amplitudes.get(type(basis), slice(0, 0))] -= np.log(unit)
    return shifted


def prior_for(basis: Basis, coef: Array, matrix: Array, trap: bool) -> Prior:
    """The prior of a family.

    Parameters
    ----------
    coef : (K,)
        A first solution, for the size of things.
    matrix : (K, K)
        The family's block of the normal matrix: mean products of forces.
    trap : bool
        Whether a harmonic part costs nothing (external potentials).
    """
    force = float(np.sqrt(max(coef @ matrix @ coef, 0.0))) or 1.0
    if isinstance(basis, RadialSplines):
        return RadialPrior(basis, force, trap)
    if isinstance(basis, TensorSplines):
        return TensorPrior(basis, force, trap)
    return ScalePrior(np.sqrt(np.diag(matrix)), force)
