"""The snapshot route: networks trained on mini-batches of snapshots (the paper's Algorithm 2), in any dimension.

The paper's recipe: Adam with a learning rate for each network, cosine annealing, gradients clipped for each network,
shuffled mini-batches. Ours: weights are averaged over about an epoch, and the averages are judged on held-out segments
and kept, so that neither the noise of the last batch nor a truth decides when to stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.exploration import Exploration, explore
from trackless.networks import Perceptron
from trackless.snapshots import Snapshots
from trackless.training.batches import Batches, Frames, Scales, Segment, segments_of
from trackless.training.loss import Loss, Pair
from trackless.training.network import plain, trainable
from trackless.training.recipe import Ensemble, Recipe, describe

Array = NDArray[np.float64]
ANNEALED = 0.01  # part of the learning rate that is left at the last epoch
LARGEST_GRADIENT = 1.0  # norm that the gradient of each network is cut to
MOST_POINTS = 1 << 17  # pairs in a mini-batch
SCORED = 256  # snapshots looked at together where nothing is trained
ENDS = 4  # one pair of segment ends is drawn for so many snapshots
TIP = 0.01  # distances, in units of the cloud's size, below which radial networks are rounded


class Descent(NamedTuple):
    """Settings of the snapshot route alone: learning rates of V and Phi, snapshots in a mini-batch, the Laplacian."""

    learning_rates: tuple[float, float]
    batch: int
    stochastic: bool


class Training:
    """Adam on mini-batches, one optimiser for each network (they are clipped on their own)."""

    def __init__(self, pair: Pair, loss: Loss, rates: tuple[float, float], steps: int, memory: int, seed: int) -> None:
        self.loss, self.memory = loss, memory
        self.pair = self.averaged = pair
        self.optimizers = [
            optax.chain(
                optax.clip_by_global_norm(LARGEST_GRADIENT),
                optax.adam(optax.cosine_decay_schedule(rate, steps, ANNEALED)),
            )
            for rate in rates
        ]
        self.states = [o.init(_arrays(n)) for o, n in zip(self.optimizers, pair, strict=True)]
        self.key = jax.random.PRNGKey(seed)
        self._step = eqx.filter_jit(self._stepped)
        self._parts = _compiled(loss)

    def _stepped(self, batch: tuple[Frames, Frames], pair: Pair, averaged: Pair, states: list[Any], key: Any) -> Any:
        def total(pair: Pair) -> Any:
            return self.loss.inner(pair, batch[0], key).sum() + self.loss.outer(pair, batch[1]).sum()

        value, gradients = eqx.filter_value_and_grad(total)(pair)
        moved, kept = [], []
        for optimizer, network, gradient, state in zip(self.optimizers, pair, gradients, states, strict=True):
            change, state = optimizer.update(gradient, state, _arrays(network))
            moved.append(eqx.apply_updates(network, change))
            kept.append(state)
        after = Pair(*moved)

        def mean(old: Any, new: Any) -> Any:
            return old + (new - old) / self.memory if eqx.is_inexact_array(new) else new

        return value, after, jax.tree.map(mean, averaged, after), kept

    def epoch(self, batches: Iterable[tuple[Frames, Frames]]) -> float:
        """Step through some batches; the mean of their losses, in double precision."""
        losses = []
        for batch in batches:
            self.key, key = jax.random.split(self.key)
            value, self.pair, self.averaged, self.states = self._step(batch, self.pair, self.averaged, self.states, key)
            losses.append(value)
        return float(np.mean(np.array(losses, dtype=np.float64)))

    def loss_on(self, batches: Batches, size: int) -> float:
        """The loss of the averaged weights on all of some data."""
        return loss_on(batches, size, self.averaged, *self._parts)


def train_on_snapshots(snapshots: Snapshots, recipe: Recipe, descent: Descent) -> Ensemble:
    """Train the networks of an ensemble one after the other.

    Parameters
    ----------
    snapshots : Snapshots
        In free space; read in mini-batches, so they may be larger than memory.
    recipe : Recipe
        Its ``steps`` and ``patience`` are epochs.
    descent : Descent
    """
    explored = explore(snapshots)
    scales = scales_of(snapshots, explored, recipe)
    points = inputs_of(explored, recipe, scales)
    members = [_member(snapshots, recipe, descent, scales, points, member) for member in range(recipe.networks)]
    external, interaction = (
        tuple(scales.outwards(plain(n), role, recipe.radial[role]) for pair, _, _ in members for n in pair[role])
        for role in (0, 1)
    )
    curves = [np.array(curve) for _, curve, _ in members]
    return Ensemble(external, interaction, curves, [best for _, _, best in members], tip=TIP * scales.length)


def loss_of(
    external: tuple[Perceptron, ...],
    interaction: tuple[Perceptron, ...],
    tip: float,
    snapshots: Snapshots,
    recipe: Recipe,
) -> float:
    """The loss of an ensemble's mean on all of some data, with exact Laplacians."""
    recipe = recipe._replace(wanted=(bool(external), bool(interaction)))
    scales = scales_of(snapshots, explore(snapshots), recipe)
    pair = Pair(*(
        tuple(trainable(scales.inwards(network, role, recipe.radial[role])) for network in networks)
        for role, networks in enumerate((external, interaction))
    ))  # fmt: skip
    segments = [Segment(m, 0, len(snapshots.times_of(m)) - 1) for m in range(snapshots.runs)]
    batches = Batches(snapshots, segments, recipe.quadrature, scales, recipe.sigma)
    loss = loss_for(recipe, scales, tip / scales.length, stochastic=False)
    total = loss_on(batches, _batch_size(batches, SCORED), pair, *_compiled(loss))
    return _loss_unit(recipe, scales) * total


def loss_on(batches: Batches, size: int, pair: Pair, inner: Any, outer: Any) -> float:
    """The loss on all of some data, summed in double precision, in training's units."""
    key = jax.random.PRNGKey(0)  # the same directions every time, so that losses can be compared
    total = 0.0
    for frames, ends in batches.in_order(size):
        part = outer(pair, ends) if frames is None else inner(pair, frames, key)
        total += np.asarray(part, dtype=np.float64).sum()
    return float(total)


def _compiled(loss: Loss) -> tuple[Any, Any]:
    return eqx.filter_jit(loss.inner), eqx.filter_jit(loss.outer)


def loss_for(recipe: Recipe, scales: Scales, tip: float, stochastic: bool) -> Loss:
    """The loss in training's units."""
    ratio = None if recipe.coupling == "mean" else scales.energies[1] / scales.energies[0]
    return Loss(recipe.radial, ratio, tip, stochastic)


def _loss_unit(recipe: Recipe, scales: Scales) -> float:
    """Squared forces are measured in this while training."""
    return recipe.sigma**4 / scales.length**2


def _batch_size(batches: Batches, wanted: int) -> int:
    pairs = max(batches.particles * (batches.particles - 1), 1)
    return max(1, min(wanted, MOST_POINTS // pairs, len(batches.runs)))


def _member(
    snapshots: Snapshots, recipe: Recipe, descent: Descent, scales: Scales, points: list[Array | None], member: int
) -> tuple[Pair, list[tuple[float, float]], int]:
    """One trained pair of networks, its learning curve and the epoch it is from."""
    generator = np.random.default_rng([recipe.seed, member])
    segments = segments_of(snapshots)
    left_out = recipe.left_out(member, len(segments))
    train, test = (
        Batches(snapshots, [s for s, out in zip(segments, left_out, strict=True) if out == held], recipe.quadrature,
                scales, recipe.sigma)
        for held in (False, True)
    )  # fmt: skip
    size = _batch_size(train, descent.batch)
    ends = max(1, size // ENDS)
    per_epoch = -(-int(np.count_nonzero(train.steps)) // size)
    start = [() if network is None else (network,) for network in recipe.new_networks(points, (1.0, 1.0), member)]
    training = Training(
        Pair(*start),
        loss_for(recipe, scales, TIP, descent.stochastic),
        descent.learning_rates,
        steps=recipe.steps * per_epoch,
        memory=per_epoch,
        seed=int(generator.integers(2**31)),
    )
    curve: list[tuple[float, float]] = []
    best, smallest, weights = 0, np.inf, training.averaged
    unit, total = _loss_unit(recipe, scales), recipe.steps * per_epoch
    ticks = iter(_progress.track(range(total), lambda: describe(member, recipe, curve), total))
    for epoch in range(recipe.steps):
        batches = (batch for batch, _ in zip(train.shuffled(size, ends, generator), ticks, strict=False))
        curve.append((unit * training.epoch(batches), unit * training.loss_on(test, size)))
        if not np.isfinite(curve[-1]).all():
            raise InputError(
                f"training diverged in epoch {epoch + 1}: the loss is no longer finite; use smaller learning_rates, or "
                "look for particles that coincide"
            )
        if curve[-1][1] < smallest:
            best, smallest, weights = epoch, curve[-1][1], training.averaged
        elif epoch - best >= recipe.patience:
            break
    return weights, curve, best


def scales_of(snapshots: Snapshots, explored: Exploration, recipe: Recipe) -> Scales:
    """Units in which all data look alike: the size of the cloud, and sigma^2."""
    middle = np.asarray(recipe.center, float) if recipe.center is not None else np.zeros(snapshots.dim)
    centered = recipe.wanted[0] and recipe.radial[0]
    origin = middle if centered else 0.5 * (explored.lower + explored.upper)
    length = float(np.sqrt(explored.positions.var(axis=0).mean()))
    if length == 0:
        raise InputError("positions: all particles of the sampled snapshots are at the same place")
    particles = float(np.mean([snapshots.counts_of(m).mean() for m in range(snapshots.runs)]))
    share = 1.0 if recipe.coupling == "mean" else 1 / max(particles, 1.0)
    return Scales(origin, length, (recipe.sigma**2, share * recipe.sigma**2))


def inputs_of(explored: Exploration, recipe: Recipe, scales: Scales) -> list[Array | None]:
    """Corners of what the networks of V and Phi are to resolve, as they see it; None for one that is left out."""
    result: list[Array | None] = []
    for role, sample in enumerate((explored.positions - scales.origin, explored.displacements)):
        if not recipe.wanted[role]:
            result.append(None)
        elif recipe.radial[role]:
            result.append(np.array([[0.0], [np.quantile(np.linalg.norm(sample, axis=1), 0.999) / scales.length]]))
        else:
            low, high = np.quantile(sample, [0.001, 0.999], axis=0) / scales.length
            high = np.maximum(np.abs(low), np.abs(high)) if role == 1 else high
            result.append(np.stack([-high if role == 1 else low, high]))
    return result


def _arrays(network: Any) -> Any:
    return eqx.filter(network, eqx.is_inexact_array)
