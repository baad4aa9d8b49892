"""Is the model right at all? What a fit leaves over, against what chance leaves over.

Three questions, each with a p-value: do smooth test energies change, on every time window, as the fitted forces and the
noise say (:mod:`trackless.balance`)? Do they fluctuate as much as sigma says? Does the number of particles stay the
same? Inertia, sources that move, potentials that are missing, and populations that grow fail one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f, norm, t

from trackless.balance import Balance
from trackless.discrepancies import Discrepancies, Learnt, discrepancies
from trackless.fluctuations import quadratic_variation
from trackless.intensity import Sigma
from trackless.quadrature import ORDERS, rule_named
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
LEVEL = 0.01  # a p-value below this is a failure
USUAL = 0.5  # one above this says no more than that nothing is unusual


@dataclass(frozen=True)
class ResidualTest:
    """Whether the data look as if the fitted model had made them.

    Attributes
    ----------
    p_value : float
        Of all that was asked; small where the model cannot be right.
    p_balance : float
        Of the mean balance of test energies, on time windows and on all of them together.
    p_variation : float
        Of the size of their fluctuations.
    p_number : float
        Of a number of particles that does not grow or shrink.
    statistic, expected, degrees : float, float, int
        Sum of squares of what is left over in units of its noise (chi-square, or Hotelling's T^2 where blocks are few),
        what it is on average for a right model, and in how many directions.
    variation, variation_error : float
        Fluctuations seen, as a part of those that sigma makes; 1 is right. An error of 1 or more says nothing.
    worst : str
        Which test function, and when, stands out most.
    changing : bool
        Whether the number of particles changes from frame to frame.
    spread : float
        Standard deviation of the statistic for a right model; infinite where data are too few to have one.
    """

    p_value: float
    p_balance: float
    p_variation: float
    p_number: float
    statistic: float
    expected: float
    degrees: int
    variation: float
    variation_error: float
    worst: str
    changing: bool = False
    spread: float = np.nan

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the model at a level of 1 %."""
        return self.p_value >= LEVEL

    @property
    def asked(self) -> dict[str, bool]:
        """What was looked at -> whether it could have failed: fluctuations of none at all would have to be noticed."""
        far = float(norm.isf(LEVEL / 6))  # standard errors at which one of three two-sided tests fails
        return {
            "the balance of energies": self.degrees > 0,
            "fluctuations of energies": bool(far * self.variation_error < 1),  # false for NaN, too
        }

    @property
    def chance(self) -> str:
        """The p-value as it is said: that of several questions together is often 1, which is no perfect agreement."""
        return f"p = {self.p_value:.2g}" if self.p_value <= USUAL else f"p > {USUAL}"

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.passed:
            fluctuations = (
                f"fluctuations {self.variation:.3g} +- {self.variation_error:.2g} of what sigma says"
                if self.asked["fluctuations of energies"]
                else "fluctuations are not known well enough to be asked"
            )
            count = sum(self.asked.values()) + self.changing
            which = "the only one that could be asked" if count == 1 else f"the {count} that could be asked, together"
            return (
                f"the model passes its residual tests ({self.chance} for {which}: squares of residuals "
                f"{self.statistic:.3g} where {self._expectation}, {fluctuations})"
            )
        reasons = []
        if self.p_balance < LEVEL / 3:
            reasons.append(
                f"energies do not change as its forces say (squares of residuals {self.statistic:.3g} where "
                f"{self._expectation}, most of all {self.worst})"
            )
        if self.p_variation < LEVEL / 3:
            less = self.variation < 1
            reasons.append(
                f"fluctuations are {self.variation:.3g} +- {self.variation_error:.2g} of what sigma says "
                f"({'inertia, or sigma is smaller' if less else 'errors of localisation, or sigma is larger'})"
            )
        if self.p_number < LEVEL / 3:
            reasons.append("the number of particles grows or shrinks, which is no part of it")
        if self.changing:
            reasons.append(
                "the number of particles changes: if they cross the edge of what is seen, say so (window='auto')"
            )
        return f"THE MODEL DOES NOT FIT (p = {self.p_value:.1g}): {'; '.join(reasons)}"

    @property
    def _expectation(self) -> str:
        spread = f" +- {self.spread:.2g}" if np.isfinite(self.spread) else ""
        return f"{self.expected:.3g}{spread} are expected{' of data this few' if np.isinf(self.spread) else ''}"


def residual_test(
    found: Balance, learnt: Learnt, sigma: Sigma, sigma_error: Sigma, snapshots: Snapshots, quadrature: str
) -> ResidualTest:
    """Ask all three questions of a fit.

    Parameters
    ----------
    found : Balance
        For the fitted coefficients.
    sigma, sigma_error : float, or one per direction
        As given (then the error is 0) or as found.
    """
    balanced, worst = _balance_test(found, learnt, sigma, sigma_error, quadrature, _movers(snapshots))
    p_variation, ratio, error = _variation_test(found, sigma, sigma_error)
    p_number = _number_test(snapshots)
    p_value = min(1.0, 3 * min(balanced.p_value, p_variation, p_number))
    return ResidualTest(
        p_value, balanced.p_value, p_variation, p_number, balanced.statistic, balanced.expected, balanced.degrees,
        ratio, error, worst, not snapshots.constant_count, balanced.spread,
    )  # fmt: skip


def _variation_test(found: Balance, sigma: Sigma, sigma_error: Sigma) -> tuple[float, float, float]:
    """p-value, and the fluctuations with their error in the direction where they are farthest from what sigma says."""
    seen: list[tuple[float, float, float]] = []
    free = max(len(found.squares) - 1, 1)  # its error is the scatter of so many strata, which may be few
    settings = zip(np.atleast_1d(sigma), np.atleast_1d(sigma_error), quadratic_variation(found, sigma)[0], strict=True)
    for own, own_error, route in settings:
        ratio, error = route.value / own**2, float(np.hypot(route.error / own**2, 2 * own_error / own))
        known = np.isfinite(ratio) and error > 0
        seen.append((float(2 * t.sf(abs(ratio - 1) / error, free)) if known else 1.0, float(ratio), error))
    p_value, ratio, error = min(seen)
    return min(1.0, len(seen) * p_value), ratio, error


def _movers(snapshots: Snapshots) -> int:
    """Coordinates that move independently of each other, in all runs together."""
    runs = range(1 if snapshots.regular else snapshots.runs)
    count = sum(float(np.mean(snapshots.counts_of(m))) for m in runs)
    return round(count * snapshots.dim * (snapshots.runs if snapshots.regular else 1))


def _balance_test(
    found: Balance, learnt: Learnt, sigma: Sigma, sigma_error: Sigma, quadrature: str, movers: int
) -> tuple[_Quadratic, str]:
    """The stronger of two tests, on all windows and on what they have in common; and what stands out most."""
    each = np.atleast_1d(sigma)
    factors = np.concatenate([[1.0], 0.5 * each**2, [1.0]])
    fine = discrepancies(found, learnt, sigma, factors)
    # time integrals are only as good as strides 1 and 2 agree, sigma only as good as it is known
    integrals = fine.coarser / (2.0 ** ORDERS[rule_named(quadrature)] - 1)
    extra = np.outer(integrals, integrals)
    for part, error in enumerate(each * sigma_error):
        slope = discrepancies(found, learnt, sigma, np.eye(len(factors))[1 + part]).values
        extra += error**2 * np.outer(slope, slope)
    whole = fine._replace(covariance=fine.covariance + extra)
    errors = np.sqrt(np.diag(whole.covariance))
    window, test = divmod(int(np.argmax(np.abs(fine.values) / errors)), len(found.tests.names))
    begin, end = found.spans[window]
    worst = f"{found.tests.names[test]} between t = {begin:.4g} and {end:.4g}"
    # what moves or grows does so on all windows: few directions, which few blocks can judge
    steadily = np.asarray(np.kron(_slow(found.windows), np.eye(len(found.tests.names))), float)
    together, each_kind = whole.combined(steadily), len(found.tests.names)
    quadratics = [
        _quadratic(whole, found.blocks, movers, each_kind),
        _quadratic(together, found.blocks, movers, len(together.values)),
    ]
    strongest = min(quadratics, key=lambda q: q.p_value)
    return strongest._replace(p_value=min(1.0, len(quadratics) * strongest.p_value)), worst


class _Quadratic(NamedTuple):
    """A sum of squares of residuals in units of their noise."""

    statistic: float
    expected: float
    degrees: int
    p_value: float
    spread: float


def _quadratic(residuals: Discrepancies, blocks: int, movers: int, connected: int) -> _Quadratic:
    """Chi-square, or Hotelling's T^2 where the covariance itself rests on little.

    That is few blocks, if it is their scatter. If it is mostly theory, the integral of Gamma along the very paths that
    are tested, it rests on all coordinates that move (``movers``): of few particles, it is small where they happen to
    have moved little. ``connected`` directions share it.
    """
    scores = residuals.values @ residuals.independent()
    statistic, degrees = float(scores @ scores), len(scores)
    if residuals.share < 0.5 and blocks - degrees > 2:
        samples, free = blocks - 1, blocks - degrees
    else:
        samples, free = movers, movers - min(connected, degrees) + 1
    if degrees == 0 or free <= 2:
        return _Quadratic(statistic, np.nan, 0, 1.0, np.nan)
    scale = degrees * samples / free
    spread = scale * float(f.std(degrees, free)) if free > 4 else np.inf
    p_value = float(f.sf(statistic / scale, degrees, free))
    return _Quadratic(statistic, scale * free / (free - 2), degrees, p_value, spread)


def _slow(windows: int) -> Array:
    """(windows, 1 or 2): all windows alike, and a trend."""
    powers = np.vander(np.linspace(-1.0, 1.0, windows), 2 if windows > 2 else 1, increasing=True)
    return np.asarray(powers, float)


def _number_test(snapshots: Snapshots) -> float:
    """p-value of a difference between the numbers of particles in the first and second half of the runs."""
    if snapshots.constant_count:
        return 1.0
    differences = []
    for m in range(snapshots.runs):
        counts = np.asarray(snapshots.counts_of(m), float)
        half = len(counts) // 2
        differences.append((counts[half:].mean() - counts[:half].mean()) / max(counts.mean(), 1.0))
    change = np.array(differences)
    if len(change) < 3:  # one run: as many births as a random walk of single particles would not have
        counts = np.asarray(snapshots.counts_of(0), float)
        steps = np.diff(counts)
        error = np.sqrt((steps**2).sum()) / max(counts.mean(), 1.0)
        return float(2 * norm.sf(abs(counts[-1] - counts[0]) / max(counts.mean(), 1.0) / error)) if error > 0 else 1.0
    error = change.std(ddof=1) / np.sqrt(len(change))
    return float(2 * norm.sf(abs(change.mean()) / error)) if error > 0 else (1.0 if change.mean() == 0 else 0.0)
