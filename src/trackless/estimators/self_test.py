"""The self-test least-squares estimator (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless.accumulation import accumulate, check_snapshots
from trackless.basis import Basis
from trackless.estimators.least_squares import LeastSquares, checked_sigma
from trackless.moments import Moments, NormalEquations, rule_index
from trackless.residuals import Units
from trackless.resolution import Resolution, check_resolve, resolved_part
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]


class SelfTest(LeastSquares):
    """Potentials from unlabeled snapshots by least squares on the self-test loss.

    Parameters
    ----------
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out.
    sigma : float
        Noise intensity of dX = -force dt + sigma dW.
    quadrature : "left", "trapezoid", "cubic" or "auto"
        Rule for the time integrals; "auto" is the cubic one where intervals are of similar length.
    regularization : "lcurve", "cv", "evidence" or float
        Ridge at the corner of the L-curve (the paper's), by cross-validation of the held-out loss, or fixed; or a
        Gaussian-process prior whose smoothness maximises the evidence, with bands that include what it smooths away.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.
    resolve : "auto" or None
        "auto" leaves out the start of the runs where the motion is too fast for the interval between snapshots;
        ``resolution_`` says what and why.

    Attributes
    ----------
    external_, interaction_ : Potential or None
        The learnt V and Phi (up to a constant, which no data can tell).
    coef_ : (K,)
        Coefficients, external first, in the bases ``external_basis_`` and ``interaction_basis_``.
    covariance_ : (K, K) or None
        Of the coefficients: the posterior's, or the sandwich A^-1 S A^-1; None for a single run in a single window.
    freedom_ : float
        Independent parts of the data less what was fitted.
    explored_ : (range, range)
        Distances (or corners) that V and Phi were seen at.
    posterior_ : Posterior or None
        What the evidence chose.
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
    resolution_ : Resolution or None
    findings_ : Findings
        What :func:`trackless.fit` decided (only of its fits).

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=200, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> bool(abs(fitted.coef_ - model.true_coef).max() < 0.5)
    True
    """

    resolution_: Resolution | None
    findings_: Any

    def __init__(
        self,
        external: Basis | None = None,
        interaction: Basis | None = None,
        sigma: float | None = None,
        quadrature: str = "trapezoid",
        regularization: str | float = "lcurve",
        coupling: str = "mean",
        resolve: str | None = None,
    ) -> None:
        self.external = external
        self.interaction = interaction
        self.sigma = sigma
        self.quadrature = quadrature
        self.regularization = regularization
        self.coupling = coupling
        self.resolve = resolve

    def _check(self) -> None:
        checked_sigma(self.sigma)
        check_resolve(self.resolve)
        rule_index(self.quadrature)

    def _accumulate(self, snapshots: Snapshots, external: Basis | None, interaction: Basis | None) -> Moments:
        return accumulate(snapshots, external, interaction, self.coupling)

    def _equations(self, moments: Moments, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        return moments.normal_equations(checked_sigma(self.sigma), self.quadrature, part=part)

    def _units(self, moments: Moments) -> Units:
        return Units.of(moments, checked_sigma(self.sigma), self.quadrature)

    def _prepared(self, snapshots: Snapshots) -> tuple[Snapshots, dict[str, Any]]:
        check_snapshots(snapshots, self.coupling, self.interaction is not None)
        sigma = checked_sigma(self.sigma)
        used, found = resolved_part(snapshots, self.resolve, sigma, self.coupling, self.quadrature)
        return used, {"resolution_": found}

    def _errors(self, moments: Moments) -> Callable[[Array], Array]:
        return lambda coef: moments.quadrature_errors(coef, checked_sigma(self.sigma), self.quadrature)

    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> float:
        return checked_sigma(self.sigma)
