"""The labeled maximum-likelihood estimator: what one would do if every particle had a name."""

from __future__ import annotations

from trackless.basis import Basis
from trackless.estimators.motion import MotionLeastSquares
from trackless.matching import Matching


class LabeledMLE(MotionLeastSquares):
    """Potentials from labeled snapshots by least squares of displacements on forces.

    The paper's ideal benchmark: it uses trajectories, which unlabeled data do not have, and is the best there is as
    dt -> 0. At a finite dt it has a bias of order dt that more data do not remove.

    Parameters
    ----------
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out.
    sigma : float, optional
        Noise intensity; it does not change the potentials. Estimated from the residuals if left out.
    regularization : "lcurve", "cv" or float
        As in :class:`trackless.SelfTest`.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.

    Attributes
    ----------
    external_, interaction_, coef_, lambda_, loss_, condition_numbers_, solution_, moments_
        As in :class:`trackless.SelfTest`.
    sigma_ : float
        As given, or the root mean square of the residuals, with the bias of order dt that the forces have too.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=100, step=1e-3, observe_every=1e-3, labeled=True)
    >>> fitted = tl.LabeledMLE(model.external_basis, model.interaction_basis).fit(data)
    >>> bool(abs(fitted.coef_ - model.true_coef).max() < 0.5), round(fitted.sigma_, 2)
    (True, 1.0)
    """

    def __init__(
        self,
        external: Basis | None = None,
        interaction: Basis | None = None,
        sigma: float | None = None,
        regularization: str | float = "lcurve",
        coupling: str = "mean",
    ) -> None:
        self.external = external
        self.interaction = interaction
        self.sigma = sigma
        self.regularization = regularization
        self.coupling = coupling

    def _matching(self) -> Matching:
        return Matching("labels")
