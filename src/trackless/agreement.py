"""Is a fit that of the data it is said to be of? Its coefficients and its sigma, against what these data make of them.

An estimator with the same settings that is fitted to the same data again says nothing of the fit itself, which may have
been made with other times, or changed since. Here everything that the fit chose is kept (families, prior or ridge), and
its equations are solved once more with these data: of the same data the same coefficients come out, of a part of them
others, within their errors.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f, norm

from trackless.belonging import time_factor
from trackless.estimators.least_squares import LeastSquares
from trackless.intensity import is_unknown
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
LEVEL = 0.01  # a p-value below this is a failure
EXACT = 1e-6  # relative difference of sigmas that were given, and are the same
NOT_OF_THESE = "THE FIT IS NOT THAT OF THESE DATA, which it was made from in part at least: "
WHY = "; was it made with other times (dt=), units or settings, or changed since?"


class Agreement(NamedTuple):
    """What a fit has in common with what its own data make of it.

    Attributes
    ----------
    p_value : float
        Of the difference of coefficients; 1 where it was not asked.
    ratio : float
        Of the forces of the fit to those of these data.
    sigmas : tuple of three arrays, or None
        sigma of the fit, of these data, and the error of the difference; None where that is not known.
    slower : float
        How many times as far apart in time frames are that the fit knows again.
    """

    p_value: float
    ratio: float
    sigmas: tuple[Array, Array, Array] | None
    slower: float = 1.0

    @property
    def sigma_agrees(self) -> bool:
        """Whether both sigmas may be one."""
        if self.sigmas is None:
            return True
        own, again, error = self.sigmas
        far = float(norm.isf(LEVEL / 2 / len(own)))
        return bool((np.abs(own - again) <= far * error + EXACT * np.abs(again)).all())

    @property
    def passed(self) -> bool:
        """Whether the fit may be that of these data."""
        return self.p_value >= LEVEL and self.sigma_agrees and self.slower == 1.0

    @property
    def sentence(self) -> str:
        """What speaks against it, in words, but for times (:func:`trackless.belonging.mismatches`); or empty."""
        reasons = []
        if self.p_value < LEVEL:
            reasons.append(
                f"its coefficients are others than these data give (forces {self.ratio:.3g} times as large, "
                f"p = {self.p_value:.1g})"
            )
        if not self.sigma_agrees and self.sigmas is not None:
            own, again, error = (" and ".join(f"{x:.4g}" for x in each) for each in self.sigmas)
            reasons.append(f"its sigma is {own}, where they give {again} (the difference is uncertain by {error})")
        return f"{NOT_OF_THESE}{' and '.join(reasons)}{WHY}" if reasons else ""


def agreement(fitted: Any, again: Any, snapshots: Snapshots) -> Agreement:
    """Compare a fit with what its own data, or some of them, make of it.

    Parameters
    ----------
    fitted : fitted estimator
    again : fitted estimator
        With the same settings, fitted to these data or a part of them: it tells sigma.
    snapshots : Snapshots
        Those of the fit, or some of them.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=30, duration=0.3, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> agreement(fitted, fitted, data).passed
    True
    >>> fitted.coef_ = 2 * fitted.coef_
    >>> found = agreement(fitted, fitted, data)
    >>> found.passed, round(found.ratio, 3)
    (False, 2.0)
    """
    return Agreement(*_of_coefficients(fitted, snapshots), _sigmas(fitted, again), time_factor(fitted, snapshots))


def _of_coefficients(fitted: Any, snapshots: Snapshots) -> tuple[float, float]:
    """p-value of the difference of coefficients, measured by the forces that it makes, and the ratio of forces."""
    nothing = 1.0, 1.0
    if not isinstance(fitted, LeastSquares) or fitted.covariance_ is None:
        return nothing
    # masks leave no measure of forces; what removes bias cannot be done on a part of the data
    if fitted.moments_.observation.masked or getattr(fitted, "debiasing_", None) is not None:
        return nothing
    resolution = getattr(fitted, "resolution_", None)
    if resolution is not None and resolution.left_out:
        snapshots = snapshots.between(resolution.start, np.inf)
    moments = fitted.moments_to_score(snapshots)
    units = fitted._units(moments)
    matrix, vector = units.mean()
    found = fitted.posterior_
    solve = found.solved if found is not None else partial(_solved, fitted.ridge_matrix())
    coef = solve(matrix, vector)
    off = fitted.coef_ - coef
    # taken as if both were independent, though they share data: never too strict
    share = float(fitted._units(fitted.moments_).weights.sum() / units.weights.sum())
    covariance = (1.0 + max(share, 1.0)) * fitted.covariance_
    errors = fitted._errors(moments)
    if errors is not None:  # of a part of the snapshots time integrals are worse
        wrong = solve(matrix, errors(coef).mean(axis=0))
        covariance = covariance + np.outer(wrong, wrong)
    spread = matrix @ covariance
    mean, squares = float(np.trace(spread)), float(np.einsum("ij,ji->", spread, spread))
    if not (mean > 0 and squares > 0):
        return nothing
    degrees = mean**2 / squares  # of a chi-square with the same mean and variance (Satterthwaite)
    p_value = float(f.sf(max(off @ matrix @ off, 0.0) / mean, degrees, max(fitted.freedom_, 1.0)))
    size = float(coef @ matrix @ coef)
    return p_value, float(coef @ matrix @ fitted.coef_) / size if size > 0 else np.inf


def _solved(added: Array, matrix: Array, vector: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix + added, vector), float)


def _sigmas(fitted: Any, again: Any) -> tuple[Array, Array, Array] | None:
    """sigma of both, and the error of their difference: none where it was given."""
    own, other = np.atleast_1d(fitted.sigma_).astype(float), np.atleast_1d(again.sigma_).astype(float)
    noises = [getattr(one, "noise_", None) for one in (fitted, again)]
    if own.shape != other.shape or any(noise is not None and not noise.known for noise in noises):
        return None
    if any(noise is None for noise in noises) and is_unknown(getattr(fitted, "sigma", None)):
        return None  # found in a way that says nothing of its error
    errors = [np.zeros(len(own)) if noise is None else np.atleast_1d(noise.error).astype(float) for noise in noises]
    return own, other, np.hypot(*errors)
