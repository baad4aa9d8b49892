"""sigma from the data: two routes that know nothing of each other.

**Mean balance.** With s = sigma^2/2 unknown, a fit is affine in s, theta(s) = theta_0 + s theta_1. On every time window
and for every smooth test function, change - s D + P(theta_0) + s P(theta_1) is zero on average: equations for s alone,
weighted with their covariance. In a stationary state D = P(theta_1) everywhere and nothing is learnt.

**Quadratic variation.** Energies fluctuate: the squares of what remains of their changes after the drift sum up to
sigma^2 times the integral of Gamma, in a stationary state too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from trackless.balance import Balance
from trackless.discrepancies import Learnt, discrepancies
from trackless.fluctuations import Route, quadratic_variation
from trackless.intensity import Sigma
from trackless.moments import Moments, rule_index
from trackless.residuals import Adjustment
from trackless.waves import Motion

Array = NDArray[np.float64]
FOLDS = 5
CORRELATED = 0.9  # routes are at most so much so
DISAGREE = 0.01  # p-value


@dataclass(frozen=True, eq=False)
class NoiseLevel:
    """sigma as the data tell it.

    Attributes
    ----------
    sigma, error : float, or one per direction
        The combination of both routes and its standard error.
    balance, variation : tuple of Route
        sigma^2 from the mean balance on time windows (empty for dynamics="discrete"), and from the quadratic variation
        of energies; of each direction.
    p_value : float
        Of their agreement (NaN where one of them cannot know).
    known : bool
        False where neither can: then sigma^2/2 is 1, and in a stationary state potentials are in units of it.
    variances : (parts, parts)
        Covariance of sigma^2.
    covariance : (parts, K)
        Of sigma^2 with the right-hand side b of the fit's equations.
    motion : Motion or None
        What density waves say, where sigma comes from them.
    """

    sigma: Sigma
    error: Sigma
    balance: tuple[Route, ...]
    variation: tuple[Route, ...]
    p_value: float
    known: bool
    variances: Array
    covariance: Array
    motion: Motion | None = None

    def adjustment(self, slope: Array) -> Adjustment | None:
        """Noise that sigma brings into b, with its correlation with what is there already.

        ``slope`` (parts, K) is how b depends on sigma^2.
        """
        if not self.known:
            return None
        mixed = self.covariance.T @ slope
        total = slope.T @ self.variances @ slope + mixed + mixed.T
        return Adjustment(np.zeros(slope.shape[1]), np.asarray(total, float))

    def covariance_with_b(self, slope: Array) -> Array:
        """Of sigma^2 with b (parts, K), both as they were found: b follows sigma."""
        return self.covariance + self.variances @ slope if self.known else np.zeros_like(slope)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        routes = ", ".join(
            f"{name}: {' and '.join(route.text for route in found)}"
            for name, found in (("mean balance", self.balance), ("quadratic variation", self.variation))
            if found
        )
        if not self.known:
            return (
                f"sigma cannot be known from these data ({routes}); sigma is set to sqrt(2), so that in a "
                "stationary state potentials are in units of sigma^2/2: give sigma, or record faster (an interval in "
                "which the past is forgotten, or errors of positions larger than the motion, hide it)"
            )
        if self.motion is not None:
            routes = "density waves"
        levels = zip(np.atleast_1d(self.sigma), np.atleast_1d(self.error), strict=True)
        said = [f"{sigma:.4g} +- {error:.2g}" for sigma, error in levels]
        if isinstance(self.sigma, tuple):
            said = [f"{text} along x{k + 1}" for k, text in enumerate(said)]
        found = f"sigma = {', '.join(said)} from the data (sigma^2 by {routes})"
        if self.motion is not None:
            found += f": {self.motion.sentence}"
        if self.p_value < DISAGREE:
            found += (
                f"; the two disagree (p = {self.p_value:.1g}): inertia, errors of localisation, "
                + (
                    ""
                    if isinstance(self.sigma, tuple)
                    else "noise that is not the same in all directions (sigma='diagonal'), "
                )
                + "or a model that is wrong otherwise"
            )
        return found


def noise_level(found: Balance, learnt: Learnt, guess: Sigma, quadrature: str) -> NoiseLevel:
    """Both routes and their combination, for each part of the noise.

    Parameters
    ----------
    found : Balance
        For the sets of coefficients that :func:`affine` gives.
    learnt : Learnt
        The fit that they are of.
    guess : float, or one per direction
        sigma, for weights.
    """
    per_direction = isinstance(guess, tuple)
    balance, by_balance = _mean_balance(found, learnt, guess, quadrature)
    variation, by_variation = quadratic_variation(found)
    combined = [
        _combined(pair, (by_balance[:, part], by_variation[:, part]), found.blocks)
        for part, pair in enumerate(zip(balance, variation, strict=True))
    ]
    if any(one is None for one in combined):
        root2 = np.sqrt(2.0)
        sigma, error = ((root2,) * found.parts, (np.nan,) * found.parts) if per_direction else (root2, np.nan)
        nothing = np.zeros((found.parts, found.parts)), np.zeros((found.parts, len(learnt.gain)))
        return NoiseLevel(sigma, error, balance, variation, np.nan, False, *nothing)
    each = [one for one in combined if one is not None]
    values, errors = np.array([one.value for one in each]), np.array([one.error for one in each])
    influence = np.stack([one.influence for one in each], axis=1)
    scatter = influence.T @ influence
    own = np.sqrt(np.maximum(np.diag(scatter), 1e-300))
    # directions are as correlated as their influences are, and as uncertain as the combination says
    variances = np.where(np.eye(len(each)) > 0, 1.0, scatter / np.outer(own, own)) * np.outer(errors, errors)
    doubts = [one.p_value for one in each if np.isfinite(one.p_value)]
    p_value = min(1.0, len(doubts) * min(doubts)) if doubts else np.nan
    sigmas = np.sqrt(values)
    with_b = influence.T @ learnt.residuals / learnt.total
    said = [tuple(a.tolist()) if per_direction else float(a[0]) for a in (sigmas, errors / (2 * sigmas))]
    return NoiseLevel(said[0], said[1], balance, variation, p_value, True, variances, with_b)


def noise_of_steps(found: Balance, sigma: float) -> NoiseLevel:
    """sigma of discrete-time data from the fluctuations of what steps leave over: no bias at any step.

    Parameters
    ----------
    found : Balance
        Of single steps.
    sigma : float
        What the fit was made with.
    """
    (route,), _ = quadratic_variation(found, fixed=sigma)
    level = float(np.sqrt(route.value))
    # squares of noise know nothing of the noise itself, which is what b has
    alone = np.array([[route.error**2]]), np.zeros((1, found.cross.shape[-1]))
    return NoiseLevel(level, route.error / (2 * level), (), (route,), np.nan, True, *alone)


class _Combined(NamedTuple):
    """sigma^2 of one part of the noise, from one route or both."""

    value: float
    error: float
    p_value: float
    influence: Array
    """(blocks,)"""


def _combined(pair: tuple[Route, ...], by_block: tuple[Array, ...], blocks: int) -> _Combined | None:
    """What both routes say together, weighted with their covariance; None where neither knows."""
    routes, influences = [], []
    for route, influence in zip(pair, by_block, strict=True):
        if route.known:
            routes.append(route)
            influences.append(influence if len(influence) == blocks else np.zeros(blocks))
    if not routes:
        return None
    values = np.array([route.value for route in routes])
    covariance = np.diag([route.error**2 for route in routes])
    p_value = distance = np.nan
    if len(routes) == 2:
        variances = covariance.diagonal()
        limits = -CORRELATED * np.sqrt(variances.prod()), CORRELATED * variances.min()  # so that no weight is negative
        shared = float(np.clip(influences[0] @ influences[1], *limits))
        covariance[0, 1] = covariance[1, 0] = shared
        distance = (values[0] - values[1]) / np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * shared)
        p_value = float(2 * norm.sf(abs(distance)))
    inverse = np.linalg.inv(covariance)
    weights = inverse.sum(axis=0) / inverse.sum()
    error = float(1 / np.sqrt(inverse.sum()))
    if p_value < DISAGREE:  # then neither is as good as it thinks
        error *= abs(float(distance)) / 2
    joint = np.asarray(sum(w * influence for w, influence in zip(weights, influences, strict=True)), float)
    return _Combined(float(weights @ values), error, p_value, joint)


def _mean_balance(found: Balance, learnt: Learnt, guess: Sigma, quadrature: str) -> tuple[tuple[Route, ...], Array]:
    """sigma^2 of each part of the noise, and the influence (blocks, parts) of each block on it."""
    parts = found.parts
    one, none = np.ones(1), np.zeros(1)
    half = 0.5 * np.broadcast_to(np.square(guess), (parts,))
    rough = discrepancies(found, learnt, guess, np.concatenate([one, half, one, half]), about_mean=True)
    white = rough._replace(covariance=rough.covariance + np.diag(rough.coarser**2)).independent()
    slope = np.stack([
        discrepancies(found, learnt, guess, np.concatenate([none, unit, none, unit])).raw @ white
        for unit in np.eye(parts)
    ])  # fmt: skip
    level = discrepancies(found, learnt, guess, np.concatenate([one, 0 * half, one, 0 * half])).raw @ white
    folds = np.arange(found.blocks) % FOLDS if found.blocks >= 2 * FOLDS else np.zeros(found.blocks, int)
    pulls = np.zeros_like(slope)
    for fold in np.unique(folds):
        own = folds == fold
        others = ~own if (~own).any() else own
        # the weights of a block come from the other blocks: noise in the slope is not taken for signal
        pulls[:, own] = slope[:, others].sum(axis=1, keepdims=True) * found.blocks / others.sum()
    bottom = np.einsum("pbi,qbi->pq", pulls, slope)
    if not (np.linalg.eigvalsh(bottom + bottom.T) > 0).all():
        return (Route(np.nan, np.inf),) * parts, np.zeros((found.blocks, parts))
    solved = np.linalg.inv(bottom)
    values = -solved @ np.einsum("pbi,bi->p", pulls, level)
    factors = np.concatenate([one, values, one, values])
    fine = discrepancies(found, learnt, guess, factors)
    influence = -np.einsum("bi,pbi->bp", fine.by_block @ white, pulls) @ solved.T
    pull = solved @ pulls.mean(axis=1) @ white.T
    few = found.blocks < 4 * FOLDS
    covariance = pull @ fine.covariance @ pull.T if few else influence.T @ influence + pull @ fine.smoothed @ pull.T
    # what relaxes within an interval makes every rule as wrong as strides 1 and 2 differ, no order is relied on; and
    # more so for some functions than for others: differences between them say nothing
    systematic = (pull @ fine.coarser) ** 2 + pull**2 @ fine.coarser**2
    errors = np.sqrt(np.diag(covariance) + systematic)
    return tuple(Route(2 * float(v), 2 * float(e)) for v, e in zip(values, errors, strict=True)), 2 * influence


def slope_in_variance(moments: Moments, quadrature: str) -> Array:
    """How b = (s D - energy) / n depends on sigma^2, (parts, K)."""
    q = rule_index(quadrature)
    return 0.5 * moments.diffusion[:, :, *q].sum(axis=(0, 1)) / moments.weight[:, :, *q].sum()


def affine(moments: Moments, gain: Array, quadrature: str) -> Array:
    """theta_0 and theta_1 (one per part of the noise) of a fit with this gain: theta(s) = theta_0 + s theta_1."""
    q = rule_index(quadrature)
    total = moments.weight[:, :, *q].sum()
    diffusion = moments.diffusion[:, :, *q].sum(axis=(0, 1)) / total
    energy = moments.energy.sum(axis=(0, 1)) / total
    return np.concatenate([-energy[None], diffusion]) @ gain.T
