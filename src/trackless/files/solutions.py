"""Whether what a saved fit says it found can be its solution: refused where it is read, not where it is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.coupling import COUPLINGS
from trackless.estimators.least_squares import LeastSquares
from trackless.intensity import Sigma, checked_sigma

ROUNDING = 1e-6  # of the largest entry of a covariance
SOLVED = 1e-8  # of the terms of equations: fits of all kinds leave 1e-12 at most, and other machines round otherwise


def check_solution(fitted: Any) -> None:
    """Refuse a fit of a file whose coefficients, errors or noise are no numbers or do not belong together."""
    _check_settings(fitted)
    missing = [name for name in ("sigma_", *_needed(fitted)) if name not in vars(fitted)]
    if missing:
        raise InputError(f"a {type(fitted).__name__} without {', '.join(missing)}; it was not saved as it is")
    _checked_sigma(fitted)
    if hasattr(fitted, "coef_"):
        _check_coefficients(fitted)
    if isinstance(fitted, LeastSquares):
        _check_follows(fitted)


def _needed(fitted: Any) -> tuple[str, ...]:
    if not isinstance(fitted, LeastSquares):
        return ()
    return ("coef_", "covariance_", "moments_", "external_basis_", "interaction_basis_", "explored_", "freedom_")


def _check_settings(fitted: Any) -> None:
    """Settings are refused as they are before a fit."""
    if fitted.coupling not in COUPLINGS:
        raise InputError(f"coupling is {fitted.coupling!r}, expected {' or '.join(map(repr, COUPLINGS))}")
    if isinstance(fitted, LeastSquares):
        fitted._check_settings()
    else:
        fitted._check()
    moments = getattr(fitted, "moments_", None)
    if moments is not None and moments.coupling != fitted.coupling:
        raise InputError(f"coupling is {fitted.coupling!r}, but its moments are of {moments.coupling!r}")


def _checked_sigma(fitted: Any) -> Sigma:
    moments = getattr(fitted, "moments_", None)
    try:
        return checked_sigma(fitted.sigma_, None if moments is None else moments.dim)
    except InputError as error:
        raise InputError(f"sigma_ is {fitted.sigma_!r}: {str(error).removeprefix('sigma: ')}") from None


def _check_coefficients(fitted: Any) -> None:
    size = sum(basis.size for basis in (fitted.external_basis_, fitted.interaction_basis_) if basis is not None)
    _check_array("coef_", fitted.coef_, (size,))
    covariance = getattr(fitted, "covariance_", None)
    if covariance is None:
        return
    _check_array("covariance_", covariance, (size, size))
    rounding = ROUNDING * np.abs(covariance).max(initial=0.0)
    if (
        np.abs(covariance - covariance.T).max(initial=0.0) > rounding
        or np.diag(covariance).min(initial=0.0) < -rounding
    ):
        raise InputError("covariance_ is not symmetric with variances of at least 0, as covariances are")


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else repr(array)
        raise InputError(f"{name} is {kind}, expected numbers of shape {shape}")
    if array.shape != shape:
        raise InputError(f"{name} has the shape {array.shape}, expected {shape} for the families of the fit")
    unknown = np.count_nonzero(~np.isfinite(array))
    if unknown:
        raise InputError(f"{name} has {unknown} of {array.size} entries that are not finite, expected numbers")


def _check_follows(fitted: LeastSquares) -> None:
    """Coefficients are the solution of the equations that are saved with them: (A + R) coef = b, or coef = G b.

    The residual is compared with the size of the terms, which rounding is small against however badly the equations
    are conditioned.
    """
    equations, coef = fitted._equations(fitted.moments_), fitted.coef_
    found = fitted.posterior_
    if found is None:
        matrix = equations.matrix + fitted.ridge_matrix()
        off = matrix @ coef - equations.vector
        terms = np.abs(matrix) @ np.abs(coef) + np.abs(equations.vector)
    else:
        gain = found.gain(equations.matrix)
        vector = equations.vector[found.heard]
        off = coef - gain @ vector
        terms = np.abs(coef) + np.abs(gain) @ np.abs(vector)
    share = float(np.abs(off).max(initial=0.0) / max(terms.max(initial=0.0), 1e-300))
    if not share <= SOLVED:
        raise InputError(
            f"coef_ is not the solution of the equations beside it (they differ by {share:.1g} of their size): it was "
            "changed after it was saved"
        )
