"""A fit written for the other coupling: coefficients of Phi and everything that is measured in them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trackless.basis import members_of
from trackless.coupling import coupling_factor, in_words
from trackless.evidence import Posterior
from trackless.priors import Missed, in_units
from trackless.residuals import Adjustment
from trackless.solvers import condition_numbers

if TYPE_CHECKING:
    from trackless.estimators.least_squares import LeastSquares

Array = NDArray[np.float64]
Fit = TypeVar("Fit", bound="LeastSquares")


def converted(fit: Fit, coupling: str) -> Fit:
    """A copy of a fit in which Phi is ``factor`` times smaller, and its functions that many times stronger."""
    moments = fit.moments_
    factor = coupling_factor(fit.coupling, coupling, moments.number, moments.interaction is not None)
    scales = np.ones(moments.size)
    scales[moments.external_size :] = factor
    new = copy.copy(fit)
    new.coupling, new.moments_ = coupling, moments.converted(coupling)
    new.coef_ = fit.coef_ / scales
    new.covariance_ = None if fit.covariance_ is None else fit.covariance_ / np.outer(scales, scales)
    new.solution_ = replace(fit.solution_, coef=new.coef_)
    new.ridge_weights_ = fit.ridge_weights_ * scales**2
    new.posterior_ = None if fit.posterior_ is None else _posterior(fit.posterior_, fit, scales, factor)
    for name, value in _of_self_test(fit, scales).items():
        setattr(new, name, value)
    if hasattr(fit, "findings_"):
        vars(new)["findings_"] = _findings(fit, coupling, moments.number)
    new.condition_numbers_ = condition_numbers(new._equations(new.moments_))
    new._set_potentials()
    return new


def _posterior(found: Posterior, fit: LeastSquares, scales: Array, factor: float) -> Posterior:
    pairs = np.outer(scales, scales)
    members = members_of((fit.external_basis_, fit.interaction_basis_))
    hyperparameters = [
        in_units(member.basis, h, factor if member.role else 1.0)
        for member, h in zip(members, found.hyperparameters, strict=True)
    ]
    missed = tuple(
        _smaller(one, factor) if member.role and one is not None else one
        for member, one in zip(members, found.missed, strict=False)  # empty where no bands were asked for
    )
    return replace(
        found,
        coef=found.coef / scales,
        covariance=found.covariance / pairs,
        prior=found.prior / pairs,
        # a density of b, whose entries are larger
        log_evidence=found.log_evidence - float(np.log(scales[found.heard]).sum()),
        hyperparameters=hyperparameters,
        noise=found.noise * pairs,
        deviations=None if found.deviations is None else found.deviations / scales,
        missed=missed,
    )


def _smaller(missed: Missed, factor: float) -> Missed:
    return replace(missed, profile=missed.profile / factor, slope=missed.slope / factor)


def _of_self_test(fit: LeastSquares, scales: Array) -> dict[str, Any]:
    """What only some estimators have, where it is measured in coefficients or equations."""
    pairs, changed = np.outer(scales, scales), {}
    adjustment, debiasing, noise, sigma_covariance = (
        getattr(fit, name, None) for name in ("adjustment_", "debiasing_", "noise_", "sigma_covariance_")
    )
    if adjustment is not None:
        changed["adjustment_"] = Adjustment(adjustment.shift * scales, adjustment.covariance * pairs)
    if debiasing is not None:
        changed["debiasing_"] = replace(
            debiasing, correction=debiasing.correction * scales, covariance=debiasing.covariance * pairs
        )
    if noise is not None:
        changed["noise_"] = replace(noise, covariance=noise.covariance * scales)
    if sigma_covariance is not None:
        changed["sigma_covariance_"] = sigma_covariance / scales
    return changed


def _findings(fit: LeastSquares, coupling: str, number: int | None) -> Any:
    """What tl.fit said, with the sentence on the coupling put right."""
    found = getattr(fit, "findings_", None)
    if found is None or number is None:
        return found
    before, now = (in_words(name, number, number) for name in (fit.coupling, coupling))
    return replace(found, sentences=tuple(now if said == before else said for said in found.sentences))
