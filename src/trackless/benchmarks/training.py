"""Snapshots trained per second, against the loss as one would write it first: reverse mode over reverse mode."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from trackless import models
from trackless.estimators.neural import NeuralSelfTest
from trackless.exploration import explore
from trackless.simulation import simulate

BATCH = 64


def throughput(radial: bool, quick: bool = False, seed: int = 0) -> tuple[float, float]:
    """Snapshots per second: ours, and those of the plain loss with the same optimiser and batches.

    The reference model, or the anisotropic one for networks that are not radial; 10 particles in two dimensions.
    """
    from trackless.training.batches import Batches, segments_of
    from trackless.training.loss import Pair
    from trackless.training.snapshots import ENDS, TIP, Training, inputs_of, loss_for, scales_of

    model = models.reference() if radial else models.anisotropic()
    data = simulate(model, runs=40, step=1e-3, observe_every=1e-2, seed=seed)
    recipe = NeuralSelfTest(sigma=1.0, radial=radial, route="snapshots")._recipe("snapshots", 1.0, None)
    explored = explore(data)
    scales = scales_of(data, explored, recipe)
    batches = Batches(data, segments_of(data), "trapezoid", scales, 1.0)
    networks = recipe.new_networks(inputs_of(explored, recipe, scales), (1.0, 1.0), 0)
    pair = Pair(*((network,) for network in networks if network is not None))
    speeds = []
    # Snapshot pairs need the energies of both their ends; ours are drawn for themselves.
    ours: Any = loss_for(recipe, scales, TIP, stochastic=False)
    plain: Any = _PlainLoss(radial, TIP)
    for loss, ends, count in ((ours, BATCH // ENDS, 4), (plain, BATCH, 1)):
        training = Training(pair, loss, (1e-4, 5e-4), 1000, 10, seed)
        drawn = list(batches.shuffled(BATCH, ends, np.random.default_rng(seed)))[: (2 if quick else 6) * count]
        training.epoch(drawn[:1])  # compiles
        start = time.perf_counter()
        training.epoch(drawn)
        speeds.append(BATCH * len(drawn) / (time.perf_counter() - start))
    return speeds[0], speeds[1]


class _PlainLoss:
    """The same loss point by point, over all ordered pairs, with Hessians."""

    def __init__(self, radial: bool, tip: float) -> None:
        import jax.numpy as jnp

        def external(network: Any, x: Any) -> Any:
            return network(jnp.sqrt((x**2).sum() + tip**2)[None] if radial else x)

        def interaction(network: Any, x: Any) -> Any:
            return external(network, x) if radial else 0.5 * (network(x) + network(-x))

        self.external, self.interaction = external, interaction

    def inner(self, pair: Any, frames: Any, key: Any) -> Any:
        """What each snapshot contributes: dissipation and diffusion, (B,)."""
        import jax
        import jax.numpy as jnp

        (v,), (phi,) = pair

        def derivatives(potential: Any) -> Any:
            laplacian = lambda x: jnp.trace(jax.jacrev(jax.grad(potential))(x))  # noqa: E731
            return lambda points: (jax.vmap(jax.grad(potential))(points), jax.vmap(laplacian)(points))

        def snapshot(x: Any) -> Any:
            apart = _ordered(x)
            force, spread = derivatives(lambda y: self.external(v, y))(x)
            pull, pair_spread = derivatives(lambda y: self.interaction(phi, y))(apart.reshape(-1, x.shape[1]))
            force = force + pull.reshape(apart.shape).sum(axis=1) / len(x)
            return (force**2).sum() - spread.sum() - pair_spread.sum() / len(x)

        return 0.5 * frames.weights[:, 0] * jax.vmap(snapshot)(frames.positions)

    def outer(self, pair: Any, frames: Any) -> Any:
        """Energies with their signs, (B,)."""
        import jax

        (v,), (phi,) = pair

        def snapshot(x: Any) -> Any:
            apart = _ordered(x).reshape(-1, x.shape[1])
            pairs = jax.vmap(lambda y: self.interaction(phi, y))(apart).sum()
            return jax.vmap(lambda y: self.external(v, y))(x).sum() + 0.5 * pairs / len(x)

        return frames.weights[:, 0] * jax.vmap(snapshot)(frames.positions)


def _ordered(x: Any) -> Any:
    """Displacements x_i - x_j, j != i: (N, N - 1, dim)."""
    count = len(x)
    others = np.array([[j for j in range(count) if j != i] for i in range(count)])
    return x[:, None] - x[others]
