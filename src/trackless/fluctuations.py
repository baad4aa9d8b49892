"""sigma from fluctuations: the quadratic variation of smooth test energies, in a stationary state too.

On every interval the square of R = change of H - dt (mean of s D - P at both ends) is sigma^2 dt Gamma on average
(:mod:`trackless.balance`). What remains of the drift is of second order in dt, extrapolated from strides 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.balance import Balance, balance
from trackless.intensity import Sigma
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
UNKNOWN = 0.3  # a relative standard error of sigma^2 beyond which a route cannot know it
ROUNDS = 30
CONVERGED = 1e-6
FARTHEST, PLACES = 3.0, 40  # factors of sigma^2 at which it is asked whether that could be true as well
MISSED = 1.0  # the extrapolation in dt may be as wrong as it is large
THIRD_ORDER = 0.25  # of what extrapolation leaves of a decay: (k dt)^3 / 9 for one rate k, more for a spectrum of them
LEAST_LEFT = 1e-3  # of an energy after an interval: all is forgotten
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
        if np.abs(step).max() < CONVERGED * np.abs(s).max():
            break
    else:
        if fixed is None:  # no sigma agrees with its own drift
            return unknown

    def looked_at(s: Array, amplified: Array) -> tuple[Array, Array, Array]:
        """What fluctuates under the drift of s: values (parts,), errors (parts,) and influence (strata, parts)."""
        factors = first + each @ s
        ratios = np.einsum("a,psab,b->ps", factors, sums, factors)
        values = ratios @ mix
        by_stratum = np.einsum("a,pusab,b->ups", factors, squares, factors)
        by_stratum = (by_stratum - ratios * clocks.transpose(1, 0, 2)) * inverse_time
        influence = (by_stratum @ mix) @ amplified.T
        unsure = amplified @ (ratios[:, 0] - values if used[:, 1].all() else values - sums[:, 0, 0, 0])
        beyond = amplified @ (values * THIRD_ORDER * _forgotten(sums[:, :, 0, 0], values) ** 3)
        variance = (influence**2).sum(axis=0) * len(influence) / max(len(influence) - 1, 1)
        return values, np.sqrt(variance + (MISSED * unsure) ** 2 + beyond**2), influence

    plain = amplified = np.eye(parts)
    if fixed is None:
        slopes = np.einsum("s,aq,psab,b->pq", mix, each, sums, first + each @ s)
        amplified = np.linalg.inv(plain - slopes)
    values, errors, influence = looked_at(s, amplified)
    if fixed is None:
        # far from the root its tangent says little: whatever explains itself within its errors may be true
        for outwards in (np.geomspace(1, FARTHEST, PLACES), np.geomspace(1, 1 / FARTHEST, PLACES)):
            possible = np.ones(parts, bool)
            for scale in outwards[1:]:
                seen, unsure, _ = looked_at(scale * s, plain)
                possible &= np.abs(seen - 2 * scale * s) <= unsure
                if not possible.any():
                    break
                errors = np.where(possible, np.maximum(errors, np.abs(2 * (scale - 1) * s)), errors)
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


def _inverse(matrix: Array) -> Array:
    """Of a matrix that may be singular, each function in its own units."""
    own = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.pinv(matrix / np.outer(own, own), hermitian=True), float) / np.outer(own, own)


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
