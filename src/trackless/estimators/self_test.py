"""The self-test least-squares estimator (the paper's Algorithm 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.basis import Basis
from trackless.moments import Moments, rule_index
from trackless.potentials import Potential
from trackless.snapshots import Snapshots
from trackless.solvers import Solution, check_reached, condition_numbers, cross_validated, lcurve, ridge


class SelfTest(BaseEstimator):
    """Potentials from unlabeled snapshots by least squares on the self-test loss.

    Parameters
    ----------
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out.
    sigma : float
        Noise intensity of dX = -force dt + sigma dW.
    quadrature : "left", "trapezoid" or "cubic"
        Rule for the time integrals.
    regularization : "lcurve", "cv" or float
        Ridge at the corner of the L-curve (the paper's), by cross-validation of the held-out loss, or fixed.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.

    Attributes
    ----------
    external_, interaction_ : Potential or None
        The learnt V and Phi (up to a constant, which no data can tell).
    coef_ : (K,)
        Coefficients, external first, in the bases ``external_basis_`` and ``interaction_basis_``.
    lambda_ : float
        The ridge that was used.
    loss_ : float
        The loss at ``coef_`` (negative when something was learnt).
    condition_numbers_ : dict
        Of A ("all") and of its "external" and "interaction" blocks.
    solution_ : Solution
        The regularisation path.
    moments_ : Moments
        What the data were reduced to; ``fit`` takes them in place of snapshots.
    sigma_ : float

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=200, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> bool(abs(fitted.coef_ - model.true_coef).max() < 0.5)
    True
    """

    def __init__(
        self,
        external: Basis | None = None,
        interaction: Basis | None = None,
        sigma: float | None = None,
        quadrature: str = "trapezoid",
        regularization: str | float = "lcurve",
        coupling: str = "mean",
    ) -> None:
        self.external = external
        self.interaction = interaction
        self.sigma = sigma
        self.quadrature = quadrature
        self.regularization = regularization
        self.coupling = coupling

    def fit(self, X: Snapshots | Moments, y: Any = None) -> SelfTest:
        """Learn the potentials from snapshots, or from moments accumulated earlier (their bases are used)."""
        sigma = checked_sigma(self.sigma)
        rule_index(self.quadrature)  # before the pass over the data
        if self.regularization not in ("lcurve", "cv") and not isinstance(self.regularization, (int, float, np.number)):
            raise InputError(f"regularization: expected 'lcurve', 'cv' or a number, got {self.regularization!r}")
        moments = self._moments(X)
        equations = moments.normal_equations(sigma, self.quadrature)
        check_reached(equations, moments.names)
        solution = self._solve(moments, sigma)
        self.moments_ = moments
        self.external_basis_, self.interaction_basis_ = moments.external, moments.interaction
        self.sigma_ = sigma
        self.solution_ = solution
        self.coef_ = solution.coef
        self.lambda_ = solution.ridge
        self.loss_ = equations.loss(solution.coef)
        self.condition_numbers_ = condition_numbers(equations)
        self._set_potentials()
        return self

    def _set_potentials(self) -> None:
        external, interaction = self.external_basis_, self.interaction_basis_
        k = external.size if external is not None else 0
        self.external_: Potential | None = external.combine(self.coef_[:k]) if external is not None else None
        self.interaction_: Potential | None = interaction.combine(self.coef_[k:]) if interaction is not None else None

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the fitted estimator as plain data; :func:`trackless.load` reads it back."""
        from trackless.files.results import save  # files know estimators, not the other way round

        save(self, path, overwrite)

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the self-test loss of the fitted potentials on other data (higher is better)."""
        if not hasattr(self, "coef_"):
            raise InputError("this estimator is not fitted yet; call fit first")
        if X.dim != self.moments_.dim:
            raise InputError(f"score: fitted in {self.moments_.dim} dimensions, the data have {X.dim}")
        if isinstance(X, Snapshots):
            X = accumulate(X, self.external_basis_, self.interaction_basis_, self.coupling)
        return -X.normal_equations(self.sigma_, self.quadrature).loss(self.coef_)

    def _moments(self, data: Snapshots | Moments) -> Moments:
        if not isinstance(data, Moments):
            return accumulate(data, self.external, self.interaction, self.coupling)
        if data.coupling != self.coupling:
            raise InputError(f"coupling: the moments were accumulated for {data.coupling!r}, not {self.coupling!r}")
        for name in ("external", "interaction"):
            asked, there = getattr(self, name), getattr(data, name)
            if asked is not None and asked != there:
                raise InputError(
                    f"{name}: the moments were accumulated on {there!r}; leave {name}=None, or accumulate again"
                )
        return data

    def _solve(self, moments: Moments, sigma: float) -> Solution:
        equations = moments.normal_equations(sigma, self.quadrature)
        if self.regularization == "lcurve":
            return lcurve(equations)
        if self.regularization == "cv":
            return cross_validated(moments, sigma, self.quadrature)
        return ridge(equations, float(self.regularization))


def checked_sigma(sigma: Any) -> float:
    """A noise intensity as a positive number."""
    if sigma is None:
        raise InputError("sigma: the noise intensity is needed; sigma^2 = 2 D, with D the diffusion constant")
    try:
        value = float(sigma)
    except (TypeError, ValueError):
        raise InputError(f"sigma: expected a number, got {sigma!r}") from None
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"sigma: expected a finite number of at least 0, got {sigma!r}")
    return value
