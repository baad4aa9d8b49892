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

from trackless._errors import InputError
from trackless.balance import Balance, balance
from trackless.discrepancies import Learnt, discrepancies
from trackless.intensity import Sigma
from trackless.moments import Moments, rule_index
from trackless.residuals import Adjustment
from trackless.snapshots import Snapshots
from trackless.waves import Motion

Array = NDArray[np.float64]
UNKNOWN = 0.3  # a relative standard error of sigma^2 beyond which a route cannot know it
FOLDS = 5
ROUNDS = 30
MISSED = 1.0  # the extrapolation in dt may be as wrong as it is large
THIRD_ORDER = 0.25  # of what extrapolation leaves of a decay: (k dt)^3 / 9 for one rate k, more for a spectrum of them
LEAST_LEFT = 1e-3  # of an energy after an interval: all is forgotten
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

    @property
    def text(self) -> str:
        """The value and its error, in words."""
        return f"{self.value:.4g} +- {self.error:.2g}" if self.known else "cannot know it"


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
        nothing = np.zeros((found.parts, found.parts)), np.zeros((found.parts, len(learnt.matrix)))
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
    error = float(1 / np.sqrt(inverse.sum()))
    if p_value < DISAGREE:  # then neither is as good as it thinks
        error *= abs(float(norm.isf(0.5 * p_value))) / 2
    joint = np.asarray(sum(w * influence for w, influence in zip(weights, influences, strict=True)), float)
    return _Combined(float(weights @ values), error, p_value, joint)


def _mean_balance(found: Balance, learnt: Learnt, guess: Sigma, quadrature: str) -> tuple[tuple[Route, ...], Array]:
    """sigma^2 of each part of the noise, and the influence (blocks, parts) of each block on it."""
    parts = found.parts
    one, none = np.ones(1), np.zeros(1)
    half = 0.5 * np.broadcast_to(np.square(guess), (parts,))
    white = discrepancies(found, learnt, guess, np.concatenate([one, half, one, half]), about_mean=True).independent()
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
    # what relaxes within an interval makes every rule as wrong as strides 1 and 2 differ: no order is relied on
    systematic = pull @ fine.coarser
    errors = np.sqrt(np.diag(covariance) + systematic**2)
    return tuple(Route(2 * float(v), 2 * float(e)) for v, e in zip(values, errors, strict=True)), 2 * influence


def quadratic_variation(found: Balance, fixed: Sigma | None = None) -> tuple[tuple[Route, ...], Array]:
    """sigma^2 of each part of the noise, and the influence (strata, parts) of each stratum on it.

    Drift is that of theta_0 + s theta_1 with s = sigma^2/2 as found; or, with sigma ``fixed``, that of one set of
    coefficients. One direction is told by the functions of that coordinate alone.
    """
    parts = found.parts
    squares, clocks = _fluctuations(found)
    unknown = (Route(np.nan, np.inf),) * parts, np.zeros((found.blocks, parts))
    time = clocks.sum(axis=1)  # (parts, strides)
    used = time > 0  # two snapshots have no stride 2
    if not used[:, 0].all():
        return unknown
    mix = np.array([4.0, -1.0]) / 3 if used[:, 1].all() else np.array([1.0, 0.0])
    inverse_time = np.where(used, 1 / np.where(used, time, 1.0), 0.0)
    sums = np.einsum("pusab,ps->psab", squares, inverse_time)
    sets = 1 if fixed is not None else 1 + parts
    # factors of the terms of R are first + each @ s: change, diffusion of each part, forces of each set
    first = np.concatenate([[1.0], np.zeros(parts), [1.0], np.zeros(sets - 1)])
    each = np.zeros((len(first), parts))
    each[1 : 1 + parts] = np.eye(parts)
    if fixed is None:
        each[2 + parts :] = np.eye(parts)
    s = 0.5 * sums[:, 0, 0, 0] if fixed is None else 0.5 * np.broadcast_to(np.square(fixed), (parts,))
    for _ in range(ROUNDS if fixed is None else 0):
        factors = first + each @ s
        values = np.einsum("s,a,psab,b->p", mix, factors, sums, factors)
        slopes = 2 * np.einsum("s,aq,psab,b->pq", mix, each, sums, factors)
        step = np.linalg.solve(2 * np.eye(parts) - slopes, 2 * s - values)
        s = s - step
        if np.abs(step).max() < 1e-10 * np.abs(s).max():
            break
    factors = first + each @ s
    ratios = np.einsum("a,psab,b->ps", factors, sums, factors)
    values = ratios @ mix
    amplified = np.eye(parts)
    if fixed is None:
        amplified = np.linalg.inv(amplified - np.einsum("s,aq,psab,b->pq", mix, each, sums, factors))
    by_stratum = np.einsum("a,pusab,b->ups", factors, squares, factors)
    by_stratum = (by_stratum - ratios * clocks.transpose(1, 0, 2)) * inverse_time
    influence = (by_stratum @ mix) @ amplified.T
    unsure = amplified @ (ratios[:, 0] - values if used[:, 1].all() else values - sums[:, 0, 0, 0])
    beyond = amplified @ (values * THIRD_ORDER * _forgotten(sums[:, :, 0, 0], values) ** 3)
    variance = (influence**2).sum(axis=0) * len(influence) / max(len(influence) - 1, 1)
    errors = np.sqrt(variance + (MISSED * unsure) ** 2 + beyond**2)
    return tuple(Route(float(v), float(e)) for v, e in zip(values, errors, strict=True)), influence


def _forgotten(plain: Array, values: Array) -> Array:
    """How much of its past an energy forgets within an interval, k dt for a decay like exp(-k t); one per part.

    Told twice, by squares of changes with no drift taken off, in units of Gamma dt: ``plain`` (parts, 2). They are
    (1 - q) / (k dt) of sigma^2 where q is left after an interval, and of two intervals (1 + q) / 2 of those of one.
    Where all is forgotten a change says nothing of sigma, and both are needed: the drift, and with it what is found for
    sigma (``values``), can be anything then.
    """
    ones, moving = np.ones(len(plain)), (plain > 0).all(axis=1)  # where nothing moves, nothing is forgotten
    left = np.divide(2 * plain[:, 1], plain[:, 0], out=2 * ones, where=moving) - 1
    by_strides = -np.log(np.clip(left, LEAST_LEFT, 1.0))
    missing = np.clip(1 - np.divide(plain[:, 0], values, out=ones, where=values != 0), 0.0, 1 - LEAST_LEFT)
    return np.maximum(by_strides, 2 * missing / (1 - missing))


def _fluctuations(found: Balance) -> tuple[Array, Array]:
    """Squares (parts, strata, strides, terms, terms) and clocks (parts, strata, strides) of all steady test functions.

    Each part of the noise is told by functions of its direction alone, weighted by their own Gamma; where there are
    none, both are zero.
    """
    squares, clocks = [], []
    for part in range(found.parts):
        chosen = np.flatnonzero(found.tests.steady & ((found.tests.along == part) | (found.parts == 1)))
        clock = found.clock[:, :, part][..., chosen[:, None], chosen]
        weight = _inverse(clock[:, 0].sum(axis=0)) if len(chosen) else np.zeros((0, 0))
        squares.append(np.einsum("usabef,fe->usab", found.squares[..., chosen[:, None], chosen], weight))
        clocks.append(np.einsum("usef,fe->us", clock, weight))
    return np.array(squares), np.array(clocks)


def slope_in_variance(moments: Moments, quadrature: str) -> Array:
    """How b = (s D - energy) / n depends on sigma^2, (parts, K)."""
    q = rule_index(quadrature)
    return 0.5 * moments.diffusion[:, :, *q].sum(axis=(0, 1)) / moments.weight[:, :, *q].sum()


def _inverse(matrix: Array) -> Array:
    """Of a matrix that may be singular, each function in its own units."""
    own = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.pinv(matrix / np.outer(own, own), hermitian=True), float) / np.outer(own, own)


def affine(moments: Moments, gain: Array, quadrature: str) -> Array:
    """theta_0 and theta_1 (one per part of the noise) of a fit with this gain: theta(s) = theta_0 + s theta_1."""
    q = rule_index(quadrature)
    total = moments.weight[:, :, *q].sum()
    diffusion = moments.diffusion[:, :, *q].sum(axis=(0, 1)) / total
    energy = moments.energy.sum(axis=(0, 1)) / total
    return np.concatenate([-energy[None], diffusion]) @ gain.T


def first_guess(snapshots: Snapshots, coupling: str, per_direction: bool = False) -> Sigma:
    """sigma from the quadratic variation alone, with no forces known: some per cent low."""
    if per_direction and snapshots.box is not None:
        raise InputError(
            "sigma='diagonal': in a periodic box there are no functions of one coordinate to tell directions apart; "
            "give sigma, one number or one per direction"
        )
    part = snapshots[: max(1, LOOKED_AT // len(snapshots.times_of(0)))]
    found = balance(part, None, None, np.zeros((0, 0)), coupling, per_direction=per_direction)
    guesses = []
    for squares, clocks in zip(*_fluctuations(found), strict=True):
        time = clocks.sum(axis=0)
        ratio = squares[:, :, 0, 0].sum(axis=0)[time > 0] / time[time > 0]
        if len(ratio) == 0 or not ratio[0] > 0:
            raise InputError("sigma: nothing moves in these data, or particle numbers never stay the same; give sigma")
        guesses.append(float(np.sqrt(max(2 * ratio[0] - ratio[-1], ratio[0]) if len(ratio) > 1 else ratio[0])))
    return tuple(guesses) if per_direction else guesses[0]
