"""Networks as potentials, evaluated with NumPy alone: a fitted network needs no JAX to be loaded and used.

Value, gradient and Laplacian are carried through the layers together. For a layer y = a(W x + b) with u = W x + b,

    grad y = a'(u) W grad x,      Lap y = a'(u) W Lap x + a''(u) |W grad x|^2,

so second derivatives cost no more than the dim + 2 columns that are carried along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.potentials import Potential, RadialPotential

Array = NDArray[np.float64]
CHUNK = 1 << 14  # points worked on together


def _softplus(u: Array) -> tuple[Array, Array, Array]:
    sigmoid = 0.5 * (1.0 + np.tanh(0.5 * u))
    return np.logaddexp(0.0, u), sigmoid, sigmoid * (1.0 - sigmoid)


def _tanh(u: Array) -> tuple[Array, Array, Array]:
    value = np.tanh(u)
    slope = 1.0 - value**2
    return value, slope, -2.0 * value * slope


ACTIVATIONS: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {"softplus": _softplus, "tanh": _tanh}
"""name -> value, first and second derivative"""


def check_activation(name: str) -> None:
    """Refuse an activation without a continuous second derivative."""
    if name not in ACTIVATIONS:
        raise InputError(
            f"activation: expected {' or '.join(map(repr, ACTIVATIONS))}, got {name!r}; the loss contains the "
            "Laplacian of the network, so the activation needs a continuous second derivative (relu and elu have none)"
        )


@dataclass(frozen=True, eq=False)
class Perceptron:
    """Layers y = a(W x + b), the last one without activation, on inputs (x - shift) / scale.

    Attributes
    ----------
    weights : tuple of (outputs, inputs)
    biases : tuple of (outputs,)
    activation : "softplus" or "tanh"
    shift, scale : (inputs,)
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: str
    shift: Array
    scale: Array

    def scaled(self, shift: Array, scale: Array, factor: float) -> Perceptron:
        """The same layers on other inputs, the output multiplied by a factor."""
        weights = (*self.weights[:-1], factor * self.weights[-1])
        biases = (*self.biases[:-1], factor * self.biases[-1])
        return replace(self, weights=weights, biases=biases, shift=shift, scale=scale)

    def derivatives(self, x: ArrayLike) -> tuple[Array, Array, Array]:
        """Values (n,), gradients (n, inputs) and Laplacians (n,) at points (n, inputs)."""
        points = np.asarray(x, float)
        parts = [self._derivatives(points[k : k + CHUNK]) for k in range(0, max(len(points), 1), CHUNK)]
        value, gradient, laplacian = (np.concatenate(part) for part in zip(*parts, strict=True))
        return value, gradient, laplacian

    def _derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        activation = ACTIVATIONS[self.activation]
        value = (x - self.shift) / self.scale
        gradient = np.broadcast_to(np.diag(1.0 / self.scale), (len(x), len(self.scale), len(self.scale)))
        laplacian = np.zeros_like(value)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = value @ weight.T + bias
            gradient = gradient @ weight.T  # (n, inputs, outputs)
            laplacian = laplacian @ weight.T
            if k < len(self.weights) - 1:
                value, slope, curvature = activation(value)
                laplacian = slope * laplacian + curvature * (gradient**2).sum(axis=1)
                gradient = slope[:, None, :] * gradient
        return value[:, 0], gradient[:, :, 0], laplacian[:, 0]


@dataclass(frozen=True, eq=False)
class RadialNetwork(RadialPotential):
    """A profile n(s) given by a network of the distance, rounded at the origin: s = sqrt(r^2 + tip^2)."""

    network: Perceptron
    tip: float = 0.0

    def _derivatives(self, r: Array) -> tuple[Array, Array, Array, Array]:
        """s, and the network's value and derivatives there, all of r's shape."""
        s = np.hypot(r, self.tip)
        value, slope, curvature = (part.reshape(r.shape) for part in self.network.derivatives(s.reshape(-1, 1)))
        return s, value, slope, curvature

    def profile(self, r: ArrayLike) -> Array:
        return self._derivatives(np.asarray(r, float))[1]

    def slope(self, r: ArrayLike) -> Array:
        distances = np.asarray(r, float)
        s, _, slope, _ = self._derivatives(distances)
        return slope * (distances / s if self.tip else 1.0)

    def curvature(self, r: ArrayLike) -> Array:
        distances = np.asarray(r, float)
        s, _, slope, curvature = self._derivatives(distances)
        return curvature * (distances / s) ** 2 + slope * self.tip**2 / s**3 if self.tip else curvature


@dataclass(frozen=True, eq=False)
class Network(Potential):
    """A potential given by a network of the position; ``even`` makes it (n(x) + n(-x)) / 2."""

    network: Perceptron
    even: bool = False

    def _at(self, x: ArrayLike, which: int) -> Array:
        points = np.asarray(x, float)
        flat = points.reshape(-1, points.shape[-1])
        result = self.network.derivatives(flat)[which]
        if self.even:
            mirrored = self.network.derivatives(-flat)[which]
            result = 0.5 * (result - mirrored if which == 1 else result + mirrored)
        return result.reshape(points.shape if which == 1 else points.shape[:-1])

    def __call__(self, x: ArrayLike) -> Array:
        return self._at(x, 0)

    def gradient(self, x: ArrayLike) -> Array:
        return self._at(x, 1)

    def laplacian(self, x: ArrayLike) -> Array:
        return self._at(x, 2)
