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
    return Perceptron(
        weights=tuple(np.asarray(layer.weight, dtype=float).reshape(-1, layer.weight.shape[-1]) for layer in layers),
        biases=tuple(np.asarray(layer.bias, dtype=float).reshape(-1) for layer in layers),
        activation=network.activation,
        shift=np.asarray(network.shift, dtype=float),
        scale=np.asarray(network.scale, dtype=float),
    ).scaled(np.asarray(network.shift, dtype=float), np.asarray(network.scale, dtype=float), network.unit)


def trainable(network: Perceptron) -> Scaled:
    """The inverse of :func:`plain`."""
    *hidden, _ = network.weights
    shape = (network.weights[0].shape[1], "scalar", len(hidden[0]), len(hidden), ACTIVATIONS[network.activation])
    layers = eqx.nn.MLP(*shape, key=jax.random.PRNGKey(0))
    arrays = [
        jax.numpy.asarray(a, jax.numpy.float32)
        for pair in zip(network.weights, network.biases, strict=True)
        for a in pair
    ]
    layers = eqx.tree_at(lambda m: [a for layer in m.layers for a in (layer.weight, layer.bias)], layers, arrays)
    return Scaled(layers, tuple(network.shift.tolist()), tuple(network.scale.tolist()), network.activation, 1.0)
