"""The moment route: networks trained on accumulated moments by Gauss-Newton steps.

With c(w) the spline coefficients of both networks (:mod:`trackless.nodes`), A and b the normal equations
and S the covariance of b - A c over blocks, training minimises

    (b - A c)^T S^-1 (b - A c) / 2 + sum_i lambda_i |w_i - w_i(0)|^2 / 2.

It is quadratic in c, so a Gauss-Newton step needs only the Jacobian J of c and a K x K system: with G = J J^T / lambda
the step is J^T y / lambda, where (1 + A^T S^-1 A G) y is the gradient in c; the number of weights does not matter. The
strengths follow from the data (MacKay's evidence updates: lambda = parameters that the data determine / |w - w(0)|^2).

Networks that are linearised in their weights are Gaussian processes: c has the prior covariance G, and error bars
follow as for splines (:mod:`trackless.evidence`), with what the members of an ensemble differ by added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.basis import Basis
from trackless.evidence import Posterior, posterior
from trackless.moments import Moments
from trackless.nodes import Nodes, nodes_of
from trackless.residuals import Units
from trackless.training.network import plain
from trackless.training.recipe import Ensemble, Recipe, describe

Array = NDArray[np.float64]
STRENGTH = 10.0  # lambda to start from
IMITATION = 12  # steps towards the first solution in splines
LOOSE = 0.1  # lambda meanwhile: few data could not pull a network away from nothing against a strong one
UPDATES = 0.05  # lambdas are updated once a step lowers the objective by less than this part of the unknowns
GROW, SHRINK = 5.0, 4.0  # damping after a step that failed, and after one that did not


class _Coefficients:
    """Spline coefficients of some networks, and their Jacobians with respect to the weights."""

    def __init__(self, networks: list[Any], nodes: list[Nodes], even: list[bool]) -> None:
        self.static = []
        self.start: list[Array] = []
        self.values, self.gradients = [], []
        self.matrices = [n.coefficients for n in nodes]
        for network, node, mirrored in zip(networks, nodes, even, strict=True):
            arrays, static = eqx.partition(network, eqx.is_inexact_array)
            flat, restore = ravel_pytree(arrays)
            self.start.append(np.asarray(flat))
            self.static.append((restore, static))

            def value(w: Any, x: Any, restore: Any = restore, static: Any = static, mirrored: bool = mirrored) -> Any:
                whole = eqx.combine(restore(w), static)
                return 0.5 * (whole(x) + whole(-x)) if mirrored else whole(x)

            points = jnp.asarray(node.points)
            self.values.append(jax.jit(lambda w, f=value, x=points: jax.vmap(f, (None, 0))(w, x)))
            both = jax.vmap(jax.value_and_grad(value), (None, 0))
            self.gradients.append(jax.jit(lambda w, f=both, x=points: f(w, x)))
        sizes = [len(m) for m in self.matrices]
        ends = np.cumsum(sizes)
        self.slices = [slice(int(e - s), int(e)) for s, e in zip(sizes, ends, strict=True)]

    def at(self, weights: list[Array]) -> Array:
        """Coefficients (K,)."""
        return np.concatenate(
            [m @ np.asarray(f(w)) for m, f, w in zip(self.matrices, self.values, weights, strict=True)]
        )

    def linearized(self, weights: list[Array]) -> tuple[Array, list[Array]]:
        """Coefficients (K,) and, per network, their Jacobian (K of its dictionary, weights)."""
        pairs = [f(w) for f, w in zip(self.gradients, weights, strict=True)]
        coef = np.concatenate([m @ np.asarray(v) for m, (v, _) in zip(self.matrices, pairs, strict=True)])
        return coef, [m @ np.asarray(gradient) for m, (_, gradient) in zip(self.matrices, pairs, strict=True)]

    def networks(self, weights: list[Array]) -> list[Any]:
        """The networks with these weights."""
        return [
            eqx.combine(restore(jnp.asarray(w)), static)
            for (restore, static), w in zip(self.static, weights, strict=True)
        ]


def train_on_moments(moments: Moments, recipe: Recipe) -> Ensemble:
    """Train the networks of an ensemble on the moments of spline dictionaries, one after the other."""
    units = Units.of(moments, recipe.sigma, recipe.quadrature)
    if len(units.weights) < 2:
        raise InputError("networks need at least two runs or time windows: some to train on, some to stop by")
    bases = (moments.external, moments.interaction)
    nodes = [None if basis is None else nodes_of(basis) for basis in bases]
    points = [None if node is None else node.points for node in nodes]
    even = [role == 1 and not recipe.radial[1] for role, basis in enumerate(bases) if basis is not None]
    kept: list[list[Any]] = [[], []]
    curves, stopped, coefs, covariances = [], [], [], []
    for member in range(recipe.networks):
        start = recipe.new_networks(points, _energy_units(moments, recipe.sigma), member)
        roles = [role for role, network in enumerate(start) if network is not None]
        curve: list[tuple[float, float]] = []
        steps = _progress.track(range(recipe.steps), partial(describe, member, recipe, curve), recipe.steps)
        present = [n for n in start if n is not None], [n for n in nodes if n is not None]
        held_out = recipe.left_out(member, len(units.weights))
        networks, coef, covariance, best = train(*present, bases, even, units, held_out, steps, recipe.patience, curve)
        for role, network in zip(roles, networks, strict=True):
            kept[role].append(plain(network))
        curves.append(np.array(curve))
        stopped.append(best)
        coefs.append(coef)
        covariances.append(covariance)
    coef = np.mean(coefs, axis=0)
    covariance = np.mean(covariances, axis=0) + np.mean([np.outer(c - coef, c - coef) for c in coefs], axis=0)
    return Ensemble(tuple(kept[0]), tuple(kept[1]), curves, stopped, coef, covariance)


def _energy_units(moments: Moments, sigma: float) -> tuple[float, float]:
    """What V and Phi are measured in while training: sigma^2, for a summed Phi divided by the number of particles."""
    unit = sigma**2 if sigma > 0 else 1.0
    if moments.coupling == "mean":
        return unit, unit
    durations = (moments.span[:, :, 1] - moments.span[:, :, 0]).sum(axis=1)
    particles = moments.weight[:, :, 0, 0].sum() / (moments.runs * durations).sum()
    return unit, unit / max(particles, 1.0)


def train(
    networks: list[Any], nodes: list[Nodes], bases: tuple[Basis | None, Basis | None], even: list[bool], units: Units,
    held_out: NDArray[np.bool_], steps: Iterable[int], patience: int, curve: list[tuple[float, float]],
) -> tuple[list[Any], Array, Array, int]:  # fmt: skip
    """Train networks on moments until the held-out loss has not improved for ``patience`` steps.

    Parameters
    ----------
    networks : list of equinox networks
        External first; those left out are not in the list.
    nodes : list of Nodes
        Of the dictionary of each.
    bases : (Basis or None, Basis or None)
        The dictionaries.
    even : list of bool
        Whether a network is symmetrised.
    units : Units
    held_out : (units,) bool
        Units that training does not see; their loss decides when to stop.
    steps : iterable of int
    curve : list
        Train and held-out loss are added to it at every step.

    Returns
    -------
    Networks and coefficients (K,) with the smallest held-out loss, these coefficients' covariance (K, K), and the step
    they are from.
    """
    with jax.enable_x64(True):
        family = _Coefficients([jax.tree.map(_wide, n) for n in networks], nodes, even)
        rest = units.select(~held_out)
        matrix, vector = rest.mean()
        test = units.select(held_out).mean()
        first = posterior(rest, bases, bands=False)
        inverse = np.zeros_like(matrix)
        part = np.ix_(first.heard, first.heard)
        inverse[part] = np.linalg.inv(first.noise[part])
        best = (np.inf, 0, family.start)
        state = _State(family, matrix.T @ inverse @ matrix, matrix.T @ inverse @ vector)
        like = _imitation(family, state.hessian, first.coef)
        state.weights, state.strengths, state.coef = like.weights, like.strengths, like.coef
        for step in steps:
            missed = _loss(*test, state.coef)
            curve.append((_loss(matrix, vector, state.coef), missed))
            if missed < best[0]:
                best = (missed, step, list(state.weights))
            if step - best[1] >= patience or not state.advance():
                break
        chosen = best[2]
        covariance = _covariance(family, chosen, state.strengths, first, rest)
        return family.networks(chosen), family.at(chosen), covariance, best[1]


def _covariance(
    family: _Coefficients, weights: list[Array], strengths: Array, first: Posterior, units: Units
) -> Array:  # fmt: skip
    """Covariance (K, K) of the coefficients of networks: see the module's docstring."""
    coef, jacobians = family.linearized(weights)
    prior = np.zeros((len(coef), len(coef)))
    for part, jacobian, strength in zip(family.slices, jacobians, strengths, strict=True):
        prior[part, part] = jacobian @ jacobian.T / strength
    matrix, _ = units.mean()
    return replace(first, prior=prior).spread(matrix, units.scatter(coef, first.heard))


def _imitation(family: _Coefficients, hessian: Array, coef: Array) -> _State:
    """Networks that resemble given splines, each its own.

    Trained on the data from the start, the network that learns faster explains what belongs to the other, and the other
    may never move.
    """
    apart = np.zeros_like(hessian)
    for part in family.slices:
        apart[part, part] = hessian[part, part]
    state = _State(family, apart, apart @ coef)
    state.strengths[:] = LOOSE
    for _ in range(IMITATION):
        if not state.advance():
            break
    return state


def _wide(leaf: Any) -> Any:
    return leaf.astype(jnp.float64) if eqx.is_inexact_array(leaf) else leaf


def _loss(matrix: Array, vector: Array, coef: Array) -> float:
    return float(0.5 * coef @ matrix @ coef - vector @ coef)


class _State:
    """Weights, damping and strengths between steps."""

    def __init__(self, family: _Coefficients, hessian: Array, target: Array) -> None:
        self.family, self.weights = family, list(family.start)
        self.strengths = np.full(len(family.start), STRENGTH)
        self.hessian, self.target = hessian, target
        self.damping = 10 * STRENGTH
        self.coef = family.at(self.weights)

    def objective(self, coef: Array, weights: list[Array]) -> float:
        """Misfit and penalties, up to a constant."""
        moved = [((w - s) ** 2).sum() for w, s in zip(weights, self.family.start, strict=True)]
        return float(0.5 * coef @ self.hessian @ coef - self.target @ coef + 0.5 * self.strengths @ moved)

    def advance(self) -> bool:
        """One damped Gauss-Newton step; False if none lowers the objective."""
        family = self.family
        coef, jacobians = family.linearized(self.weights)
        now = self.objective(coef, self.weights)
        kernels = [j @ j.T for j in jacobians]
        moved = [w - s for w, s in zip(self.weights, family.start, strict=True)]
        along = [j @ d for j, d in zip(jacobians, moved, strict=True)]
        for _ in range(12):
            proposal = self._proposal(coef, kernels, jacobians, moved, along)
            proposed = family.at(proposal)
            after = self.objective(proposed, proposal)
            if after < now:
                break
            self.damping *= GROW
        else:
            return False
        self.weights, self.coef = proposal, proposed
        self.damping /= SHRINK
        if now - after < UPDATES * len(coef):
            self._update_strengths(kernels)
        return True

    def _proposal(
        self, coef: Array, kernels: list[Array], jacobians: list[Array], moved: list[Array], along: list[Array]
    ) -> list[Array]:
        """Minimum of the linearised objective with damping: see the module's docstring."""
        size = len(coef)
        kernel, pulled = np.zeros((size, size)), np.zeros(size)
        for part, k, a, strength in zip(self.family.slices, kernels, along, self.strengths, strict=True):
            kernel[part, part] = k / (strength + self.damping)
            pulled[part] = strength / (strength + self.damping) * a
        y = np.linalg.solve(np.eye(size) + self.hessian @ kernel, self.target + self.hessian @ (pulled - coef))
        return [
            w + (j.T @ y[part] - strength * d) / (strength + self.damping)
            for w, j, part, strength, d in zip(
                self.weights, jacobians, self.family.slices, self.strengths, moved, strict=True
            )
        ]

    def _update_strengths(self, kernels: list[Array]) -> None:
        """MacKay's update: lambda = determined parameters / |w - w(0)|^2, at most a factor 10 at a time.

        Less one parameter: all sizes lambda^(-1/2) of the weights are equally plausible beforehand. Otherwise a
        potential that is too weak to be seen would be exactly 0, with a band of no width.
        """
        size = len(self.coef)
        kernel = np.zeros((size, size))
        for part, k, strength in zip(self.family.slices, kernels, self.strengths, strict=True):
            kernel[part, part] = k / strength
        determined = np.diag(self.hessian @ kernel @ np.linalg.inv(np.eye(size) + self.hessian @ kernel))
        for i, part in enumerate(self.family.slices):
            moved = float(((self.weights[i] - self.family.start[i]) ** 2).sum())
            wanted = max(determined[part].sum() - 1.0, 0.0) / max(moved, 1e-12)
            self.strengths[i] = np.clip(wanted, 0.1 * self.strengths[i], 10 * self.strengths[i])
