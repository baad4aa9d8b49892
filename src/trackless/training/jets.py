"""Value, gradient and Laplacian of a network at many points, ready to be differentiated by its weights.

Exact: the three are carried through the layers together (see :mod:`trackless.networks`), dim + 2 columns instead of a
Hessian. Stochastic: the gradient backwards, its derivative along one random direction v forwards; v . H v is an
unbiased estimate of the Laplacian whose cost does not grow with the dimension (Hutchinson's trace estimate).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from trackless.training.network import Scaled

CHUNK = 1 << 15  # points whose layers are in memory together


class Jet(NamedTuple):
    """Values (n,), gradients (n, inputs) and Laplacians (n,)."""

    value: Any
    gradient: Any
    laplacian: Any


@jax.custom_jvp
def _softplus(u: Any) -> tuple[Any, Any, Any]:
    small = jnp.exp(-jnp.abs(u))  # one exponential for all three
    sigmoid = jnp.where(u > 0, 1.0, small) / (1 + small)
    return jnp.maximum(u, 0) + jnp.log1p(small), sigmoid, sigmoid * (1 - sigmoid)


@_softplus.defjvp
def _softplus_along(at: Any, along: Any) -> Any:
    value, sigmoid, curvature = _softplus(*at)
    (du,) = along
    return (value, sigmoid, curvature), (sigmoid * du, curvature * du, curvature * (1 - 2 * sigmoid) * du)


def _tanh(u: Any) -> tuple[Any, Any, Any]:
    value = jnp.tanh(u)
    slope = 1 - value**2
    return value, slope, -2 * value * slope


DERIVATIVES: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {"softplus": _softplus, "tanh": _tanh}


def _layers(network: Scaled) -> tuple[list[tuple[Any, Any]], Any, Any]:
    """Weights and biases (a column) of the hidden layers; weights and bias of the last one, in the network's unit."""
    layers: list[Any] = [(layer.weight, layer.bias) for layer in network.layers.layers]
    *hidden, (row, constant) = layers
    return [(w, b[:, None]) for w, b in hidden], network.unit * row.reshape(-1), network.unit * constant.reshape(())


def _inputs(network: Scaled, points: Any) -> Any:
    """Scaled inputs (inputs, n): points are columns here, which is what makes the products fast."""
    return ((points - jnp.asarray(network.shift)) / jnp.asarray(network.scale)).T


def values(network: Scaled, points: Any) -> Any:
    """Values (n,) at points (n, inputs)."""
    hidden, row, constant = _layers(network)
    y = _inputs(network, points)
    for weight, bias in hidden:
        y = DERIVATIVES[network.activation](weight @ y + bias)[0]
    return row @ y + constant


def exact_jet(network: Scaled, points: Any) -> Jet:
    """Everything in one pass through the layers."""
    derivatives = DERIVATIVES[network.activation]
    ((weight, bias), *hidden), row, constant = _layers(network)
    directions = weight / jnp.asarray(network.scale)  # of the first layer, the same at all points: (width, inputs)
    y, slope, curvature = derivatives(weight @ _inputs(network, points) + bias)
    gradient = [slope * along[:, None] for along in directions.T]
    laplacian = curvature * (directions**2).sum(axis=1, keepdims=True)
    for weight, bias in hidden:
        y, slope, curvature = derivatives(weight @ y + bias)
        gradient = [weight @ g for g in gradient]
        laplacian = slope * (weight @ laplacian) + curvature * sum(g**2 for g in gradient)
        gradient = [slope * g for g in gradient]
    return Jet(row @ y + constant, jnp.stack([row @ g for g in gradient], axis=1), row @ laplacian)


def stochastic_jet(network: Scaled, points: Any, key: Any) -> Jet:
    """The Laplacian along one random direction of signs per point; value and gradient are exact."""

    def gradient_of(x: Any) -> tuple[Any, Any]:
        value, pull = jax.vjp(lambda at: values(network, at), x)
        return pull(jnp.ones_like(value))[0], value

    direction = jax.random.rademacher(key, points.shape, points.dtype)
    gradient, along, value = jax.jvp(gradient_of, (points,), (direction,), has_aux=True)
    return Jet(value, gradient, (along * direction).sum(axis=1))


def even_jet(jet_of: Callable[[Any], Jet], points: Any) -> Jet:
    """The jet of (n(x) + n(-x)) / 2."""
    both = jet_of(jnp.concatenate([points, -points]))
    half = len(points)
    return Jet(
        0.5 * (both.value[:half] + both.value[half:]),
        0.5 * (both.gradient[:half] - both.gradient[half:]),
        0.5 * (both.laplacian[:half] + both.laplacian[half:]),
    )


def rounded(points: Any, tip: float) -> Any:
    """s = sqrt(|x|^2 + tip^2), (n,): a function of it has no tip at the origin."""
    return jnp.sqrt((points**2).sum(axis=1) + tip**2)


def radial_jet(jet_of: Callable[[Any], Jet], points: Any, tip: float) -> Jet:
    """The jet of g(s) from that of g: gradient g' x/s, Laplacian g'' r^2/s^2 + g' (dim - r^2/s^2)/s."""
    s = rounded(points, tip)
    value, slope, curvature = jet_of(s[:, None])
    per_length, share = slope[:, 0] / s, (points**2).sum(axis=1) / s**2
    return Jet(value, per_length[:, None] * points, curvature * share + (points.shape[1] - share) * per_length)


def in_chunks(function: Callable[[Any, Any], Any], points: Any, key: Any) -> Any:
    """``function(points, key)`` with the layers of at most CHUNK points in memory, backwards as well.

    Each chunk has a key of its own.
    """
    count = len(points)
    if count <= CHUNK:
        return function(points, key)
    chunks = -(-count // CHUNK)
    padded = jnp.pad(points, ((0, chunks * CHUNK - count), (0, 0)), constant_values=1.0)
    pieces = (padded.reshape(chunks, CHUNK, -1), jax.random.split(key, chunks))
    parts = jax.lax.map(jax.checkpoint(lambda piece: function(*piece)), pieces)
    return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[:count], parts)
