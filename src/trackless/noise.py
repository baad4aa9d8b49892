"""sigma from the data: two routes that know nothing of each other.

**Mean balance.** With s = sigma^2/2 unknown, a fit is affine in s, theta(s) = theta_0 + s theta_1. On every time window
and for every smooth test function, change - s D + P(theta_0) + s P(theta_1) is zero on average: equations for s alone,
weighted with their covariance. In a stationary state D = P(theta_1) everywhere and nothing is learnt.

**Quadratic variation.** Energies fluctuate: the squares of what remains of their changes after the drift sum up to
sigma^2 times the integral of Gamma, in a stationary state too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from trackless._errors import InputError
from trackless.balance import Balance, Learnt, balance, discrepancies
from trackless.moments import Moments, rule_index
from trackless.quadrature import ORDERS, STRIDES, rule_named
from trackless.residuals import Adjustment
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
UNKNOWN = 0.3  # a relative standard error of sigma^2 beyond which a route cannot know it
FOLDS = 5
ROUNDS = 30
MISSED = 1.0  # the extrapolation in dt may be as wrong as it is large
CORRELATED = 0.9  # routes are at most so much so
DISAGREE = 0.01  # p-value
LOOKED_AT = 10_000  # snapshots for a first guess


@dataclass(frozen=True)
class Route:
    """One estimate of sigma^2.

    Attributes
    ----------
    value, error : float
        sigma^2 and its standard error.
    known : bool
        False where the data do not tell it this way.
    """

    value: float
    error: float

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.value) and self.value > 0 and self.error < UNKNOWN * self.value)


@dataclass(frozen=True, eq=False)
class NoiseLevel:
    """sigma as the data tell it.

    Attributes
    ----------
    sigma, error : float
        The combination of both routes and its standard error.
    balance, variation : Route
        sigma^2 from the mean balance on time windows, and from the quadratic variation of energies.
    p_value : float
        Of their agreement (NaN where one of them cannot know).
    known : bool
        False where neither can: then sigma^2/2 is 1 and potentials are in units of it.
    covariance : (K,)
        Of sigma^2 with the right-hand side b of the fit's equations.
    """

    sigma: float
    error: float
    balance: Route
    variation: Route
    p_value: float
    known: bool
    covariance: Array

    def adjustment(self, moments: Moments, quadrature: str) -> Adjustment | None:
        """Noise that sigma brings into b = (s D - energy) / n, with its correlation with what is there already."""
        if not self.known:
            return None
        slope = _slope(moments, quadrature)
        variance = (2 * self.sigma * self.error) ** 2
        mixed = np.outer(self.covariance, slope)
        total = variance * np.outer(slope, slope) + mixed + mixed.T
        return Adjustment(np.zeros(len(slope)), np.asarray(total, float))

    def covariance_with_b(self, moments: Moments, quadrature: str) -> Array:
        """Of sigma^2 with b (K,), both as they were found: b follows sigma."""
        if not self.known:
            return np.zeros(moments.size)
        return self.covariance + (2 * self.sigma * self.error) ** 2 * _slope(moments, quadrature)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        said = {
            name: f"{route.value:.4g} +- {route.error:.2g}" if route.known else "cannot know it"
            for name, route in (("mean balance", self.balance), ("quadratic variation", self.variation))
        }
        routes = ", ".join(f"{name}: {text}" for name, text in said.items())
        if not self.known:
            return (
                f"sigma cannot be known from these data ({routes}); potentials are in units of sigma^2/2, sigma is set "
                "to sqrt(2): give sigma, or record faster"
            )
        found = f"sigma = {self.sigma:.4g} +- {self.error:.2g} from the data (sigma^2 by {routes})"
        if self.p_value < DISAGREE:
            found += (
                f"; the two disagree (p = {self.p_value:.1g}): inertia, errors of localisation, or a model that is "
                "wrong otherwise"
            )
        return found


def noise_level(found: Balance, learnt: Learnt, guess: float, quadrature: str) -> NoiseLevel:
    """Both routes and their combination.

    Parameters
    ----------
    found : Balance
        For the two sets of coefficients theta_0 and theta_1.
    learnt : Learnt
        The fit that they are of.
    guess : float
        sigma, for weights.
    """
    balance, by_balance = _mean_balance(found, learnt, guess, quadrature)
    variation, by_variation = quadratic_variation(found)
    routes, influences = [], []
    for route, influence in ((balance, by_balance), (variation, by_variation)):
        if route.known:
            routes.append(route)
            influences.append(influence if len(influence) == found.blocks else np.zeros(found.blocks))
    if not routes:
        return NoiseLevel(np.sqrt(2.0), np.nan, balance, variation, np.nan, False, np.zeros(len(learnt.matrix)))
    values = np.array([route.value for route in routes])
    covariance = np.diag([route.error**2 for route in routes])
    p_value = np.nan
    if len(routes) == 2:
        variances = covariance.diagonal()
        limits = -CORRELATED * np.sqrt(variances.prod()), CORRELATED * variances.min()  # so that no weight is negative
        shared = float(np.clip(influences[0] @ influences[1], *limits))
        covariance[0, 1] = covariance[1, 0] = shared
        distance = (values[0] - values[1]) / np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * shared)
        p_value = float(2 * norm.sf(abs(distance)))
    inverse = np.linalg.inv(covariance)
    weights = inverse.sum(axis=0) / inverse.sum()
    value = float(weights @ values)
    error = float(1 / np.sqrt(inverse.sum()))
    if p_value < DISAGREE:  # then neither is as good as it thinks
        error *= abs(float(norm.isf(0.5 * p_value))) / 2
    joint = sum(w * influence for w, influence in zip(weights, influences, strict=True))
    sigma = np.sqrt(value)
    with_b = learnt.residuals.T @ joint / learnt.total
    return NoiseLevel(sigma, error / (2 * sigma), balance, variation, p_value, True, with_b)


def _mean_balance(found: Balance, learnt: Learnt, guess: float, quadrature: str) -> tuple[Route, Array]:
    """sigma^2 and the influence of each block on it."""
    s = 0.5 * guess**2
    white = discrepancies(found, learnt, guess, np.array([1.0, s, 1.0, s])).independent()
    slope = discrepancies(found, learnt, guess, np.array([0.0, 1.0, 0.0, 1.0])).raw @ white
    level = discrepancies(found, learnt, guess, np.array([1.0, 0.0, 1.0, 0.0])).raw @ white
    folds = np.arange(found.blocks) % FOLDS if found.blocks >= 2 * FOLDS else np.zeros(found.blocks, int)
    pulls = np.zeros_like(slope)
    for fold in np.unique(folds):
        own = folds == fold
        others = ~own if (~own).any() else own
        # the weights of a block come from the other blocks: noise in the slope is not taken for signal
        pulls[own] = slope[others].sum(axis=0) * found.blocks / others.sum()
    bottom = (slope * pulls).sum()
    if not bottom > 0:
        return Route(np.nan, np.inf), np.zeros(found.blocks)
    value = -(level * pulls).sum() / bottom
    parts = np.array([1.0, value, 1.0, value])
    fine, coarse = (discrepancies(found, learnt, guess, parts, stride) for stride in STRIDES)
    influence = -((fine.by_block @ white) * pulls).sum(axis=1) / bottom
    pull = white @ pulls.mean(axis=0) / bottom
    few = found.blocks < 4 * FOLDS
    variance = pull @ fine.covariance @ pull if few else (influence**2).sum() + pull @ fine.smoothed @ pull
    systematic = (coarse.values - fine.values) @ pull / (2.0 ** ORDERS[rule_named(quadrature)] - 1)
    return Route(2 * float(value), 2 * float(np.sqrt(variance + systematic**2))), 2 * influence


def quadratic_variation(found: Balance, fixed: float | None = None) -> tuple[Route, Array]:
    """sigma^2 and the influence of each stratum on it.

    Drift is that of theta_0 + s theta_1 with s = sigma^2/2 as found; or, with sigma ``fixed``, that of one set of
    coefficients.
    """
    chosen = np.flatnonzero(found.tests.steady)
    if len(chosen) == 0:
        return Route(np.nan, np.inf), np.zeros(found.blocks)
    weight = _inverse(found.clock[:, 0].sum(axis=0)[np.ix_(chosen, chosen)])
    squares = np.einsum("uspqef,fe->uspq", found.squares[..., chosen[:, None], chosen], weight)
    clock = np.einsum("usef,fe->us", found.clock[..., chosen[:, None], chosen], weight)
    time = clock.sum(axis=0)
    used = time > 0  # two snapshots have no stride 2
    if not used[0]:
        return Route(np.nan, np.inf), np.zeros(found.blocks)
    mix = np.array([4.0, -1.0]) / 3 if used[1] else np.array([1.0, 0.0])
    sums = squares.sum(axis=0) / np.where(used, time, np.inf)[:, None, None]

    def parts(s: float) -> tuple[Array, Array]:
        """Factors of the parts of R, and their derivatives by s."""
        return (
            (np.array([1.0, s, 1.0]), np.zeros(3))
            if fixed is not None
            else (np.array([1.0, s, 1.0, s]), np.array([0.0, 1.0, 0.0, 1.0]))
        )

    s = 0.5 * float(sums[0, 0, 0]) if fixed is None else 0.5 * fixed**2
    value = 2 * s
    for _ in range(ROUNDS):
        factors, change = parts(s)
        value = float(mix @ (factors @ sums @ factors))
        slope = float(mix @ (2 * change @ sums @ factors))
        step = (2 * s - value) / (2 - slope)
        if fixed is not None or abs(step) < 1e-10 * abs(s):
            break
        s -= step
    factors, change = parts(s)
    ratios = factors @ sums @ factors
    amplified = 1 / (1 - 0.5 * float(mix @ (2 * change @ sums @ factors)))
    by_stratum = np.einsum("p,uspq,q->us", factors, squares, factors) - ratios * clock
    influence = amplified * (by_stratum / np.where(used, time, np.inf)) @ mix
    unsure = ratios[0] - value if used[1] else value - sums[0, 0, 0]
    variance = (influence**2).sum() * len(influence) / max(len(influence) - 1, 1)
    return Route(value, float(np.sqrt(variance + (MISSED * amplified * unsure) ** 2))), influence


def _slope(moments: Moments, quadrature: str) -> Array:
    """How b (K,) depends on sigma^2."""
    q = rule_index(quadrature)
    return 0.5 * moments.diffusion[:, :, *q].sum(axis=(0, 1)) / moments.weight[:, :, *q].sum()


def _inverse(matrix: Array) -> Array:
    """Of a matrix that may be singular, each function in its own units."""
    own = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.pinv(matrix / np.outer(own, own), hermitian=True), float) / np.outer(own, own)


def affine(moments: Moments, gain: Array, quadrature: str) -> Array:
    """theta_0 and theta_1 (2, K) of a fit with this gain: theta(s) = theta_0 + s theta_1."""
    q = rule_index(quadrature)
    total = moments.weight[:, :, *q].sum()
    diffusion = moments.diffusion[:, :, *q].sum(axis=(0, 1)) / total
    energy = moments.energy.sum(axis=(0, 1)) / total
    return np.stack([-gain @ energy, gain @ diffusion])


def first_guess(snapshots: Snapshots, coupling: str) -> float:
    """sigma from the quadratic variation alone, with no forces known: some per cent low."""
    part = snapshots[: max(1, LOOKED_AT // len(snapshots.times_of(0)))]
    found = balance(part, None, None, np.zeros((0, 0)), coupling)
    chosen = np.flatnonzero(found.tests.steady)
    weight = _inverse(found.clock[:, 0].sum(axis=0)[np.ix_(chosen, chosen)])
    squares = np.einsum("usef,fe->s", found.squares[:, :, 0, 0][..., chosen[:, None], chosen], weight)
    clock = np.einsum("usef,fe->s", found.clock[..., chosen[:, None], chosen], weight)
    ratio = squares[clock > 0] / clock[clock > 0]
    if len(ratio) == 0 or not ratio[0] > 0:
        raise InputError("sigma: nothing moves in these data, or particle numbers never stay the same; give sigma")
    return float(np.sqrt(max(2 * ratio[0] - ratio[-1], ratio[0]))) if len(ratio) > 1 else float(np.sqrt(ratio[0]))
