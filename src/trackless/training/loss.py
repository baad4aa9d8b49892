"""The self-test loss of a pair of networks on mini-batches of snapshots.

In units where sigma is 1, a snapshot X with N particles and quadrature weight w contributes

    (w/2) (sum_i |grad V(X_i) + c sum_j grad Phi(X_i - X_j)|^2 - sum_i Lap V(X_i) - c sum_{i!=j} Lap Phi(X_i - X_j))

to the loss, and the ends of a segment their energies sum_i V(X_i) + (c/2) sum_{i!=j} Phi(X_i - X_j), the first with a
minus; c is 1/N or, for a summed interaction, the ratio of the two units of energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from trackless.training.batches import Frames
from trackless.training.jets import Jet, even_jet, exact_jet, in_chunks, radial_jet, rounded, stochastic_jet, values
from trackless.training.network import Scaled


class Pair(NamedTuple):
    """Networks whose means are V and Phi: one of each while training, none for a potential that is left out."""

    external: tuple[Scaled, ...]
    interaction: tuple[Scaled, ...]


@dataclass(frozen=True)
class Loss:
    """The self-test loss of a pair of networks on some frames.

    Attributes
    ----------
    radial : (bool, bool)
        Whether V and Phi are networks of the distance.
    coupling : float or None
        c above; None for 1/N.
    tip : float
        Radial networks are functions of sqrt(r^2 + tip^2): what a network of the distance does at r = 0 has no
        Laplacian.
    stochastic : bool
        Laplacians of networks that are not radial from one random direction.
    """

    radial: tuple[bool, bool]
    coupling: float | None
    tip: float
    stochastic: bool = False

    def inner(self, pair: Pair, frames: Frames, key: Any) -> Any:
        """What each snapshot contributes: dissipation and diffusion, (B,)."""
        positions, present, weights = frames
        count, particles, dim = positions.shape
        force, spread = jnp.zeros_like(positions), jnp.zeros(count)
        keys = jax.random.split(key)
        if pair.external:
            jet = in_chunks(self._jet(pair.external, 0), positions.reshape(-1, dim), keys[0])
            force += jet.gradient.reshape(positions.shape)
            spread += (jet.laplacian.reshape(present.shape) * present).sum(axis=1)
        if pair.interaction and particles > 1:
            i, j = np.triu_indices(particles, 1)
            jet = in_chunks(self._jet(pair.interaction, 1), _displacements(positions, i, j), keys[1])
            both, c = present[:, i] * present[:, j], self._coupling(present)
            gradient = jet.gradient.reshape(count, -1, dim) * (c * both)[..., None]
            force = force.at[:, i].add(gradient).at[:, j].add(-gradient)
            spread += 2 * (c * both * jet.laplacian.reshape(count, -1)).sum(axis=1)
        dissipation = ((force**2).sum(axis=2) * present).sum(axis=1)
        return 0.5 * weights[:, 0] * (dissipation - spread)

    def outer(self, pair: Pair, frames: Frames) -> Any:
        """Energies at the ends of segments with their signs, (B,)."""
        positions, present, weights = frames
        count, particles, dim = positions.shape
        energy, key = jnp.zeros(count), jax.random.PRNGKey(0)  # values need no random directions
        if pair.external:
            value = in_chunks(self._value(pair.external, 0), positions.reshape(-1, dim), key).reshape(present.shape)
            energy += weights[:, 0] * (value * present).sum(axis=1)
        if pair.interaction and particles > 1:
            i, j = np.triu_indices(particles, 1)
            displacements = _displacements(positions, i, j)
            value = in_chunks(self._value(pair.interaction, 1), displacements, key).reshape(count, -1)
            both = present[:, i] * present[:, j]
            energy += weights[:, 1] * (self._coupling(present) * both * value).sum(axis=1)
        return energy

    def _coupling(self, present: Any) -> Any:
        """c, (B, 1)."""
        if self.coupling is not None:
            return jnp.full((len(present), 1), self.coupling)
        return 1 / jnp.maximum(present.sum(axis=1, keepdims=True), 1)

    def _jet(self, networks: tuple[Scaled, ...], role: int) -> Callable[[Any, Any], Jet]:
        def one(network: Scaled, points: Any, key: Any) -> Jet:
            if self.radial[role]:
                return radial_jet(lambda s: exact_jet(network, s), points, self.tip)

            def jet(at: Any) -> Jet:
                return stochastic_jet(network, at, key) if self.stochastic else exact_jet(network, at)

            return even_jet(jet, points) if role == 1 else jet(points)

        return lambda points, key: _mean([one(network, points, key) for network in networks])

    def _value(self, networks: tuple[Scaled, ...], role: int) -> Callable[[Any, Any], Any]:
        def one(network: Scaled, points: Any) -> Any:
            if self.radial[role]:
                return values(network, rounded(points, self.tip)[:, None])
            return 0.5 * (values(network, points) + values(network, -points)) if role == 1 else values(network, points)

        return lambda points, _: _mean([one(network, points) for network in networks])


def _mean(parts: list[Any]) -> Any:
    return jax.tree.map(lambda *part: sum(part) / len(part), *parts)


def _displacements(positions: Any, i: Any, j: Any) -> Any:
    return (positions[:, i] - positions[:, j]).reshape(-1, positions.shape[2])
