"""A network while it is trained: an equinox module, made from a seed and turned into a plain one afterwards."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray

from trackless.networks import Perceptron

Array = NDArray[np.float64]
ACTIVATIONS = {"softplus": jax.nn.softplus, "tanh": jax.numpy.tanh}


class Scaled(eqx.Module):
    """A multilayer perceptron on inputs (x - shift) / scale, its output in some unit of energy."""

    layers: eqx.nn.MLP
    shift: tuple[float, ...] = eqx.field(static=True)
    scale: tuple[float, ...] = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        """Value at one point (inputs,)."""
        return self.unit * self.layers((x - jax.numpy.asarray(self.shift)) / jax.numpy.asarray(self.scale))


def new_network(
    hidden: tuple[int, ...], activation: str, points: Array, reach: float, unit: float, key: Any
) -> Scaled:  # fmt: skip
    """A random network whose inputs fill [-reach, reach] where ``points`` (Q, inputs) lie.

    A larger reach makes it learn details sooner. Inputs and outputs of order 1 make training the same in all units.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    layers = eqx.nn.MLP(points.shape[1], "scalar", hidden[0], len(hidden), ACTIVATIONS[activation], key=key)
    half = 0.5 * (high - low)
    shift, scale = 0.5 * (high + low), np.where(half > 0, half, 1.0) / reach
    return Scaled(layers, tuple(shift.tolist()), tuple(scale.tolist()), activation, float(unit))


def plain(network: Scaled) -> Perceptron:
    """The trained network as arrays."""
    layers = network.layers.layers
    units = (*[1.0] * (len(layers) - 1), network.unit)
    weights = [np.asarray(layer.weight, dtype=float).reshape(-1, layer.weight.shape[-1]) for layer in layers]
    biases = [np.asarray(layer.bias, dtype=float).reshape(-1) for layer in layers]
    return Perceptron(
        weights=tuple(unit * weight for unit, weight in zip(units, weights, strict=True)),
        biases=tuple(unit * bias for unit, bias in zip(units, biases, strict=True)),
        activation=network.activation,
        shift=np.asarray(network.shift, dtype=float),
        scale=np.asarray(network.scale, dtype=float),
    )
