"""Match first, regress then: the estimator that a tracker feeds."""

from __future__ import annotations

from trackless._errors import InputError
from trackless.basis import Basis
from trackless.estimators.motion import MotionLeastSquares
from trackless.matching import Matching


class SinkhornMLE(MotionLeastSquares):
    """Potentials from unlabeled snapshots whose particles are matched, frame to frame, before the regression.

    The paper's practical competitor. Matching is right only while particles move less than their spacing; what is
    wrong in it goes into the forces. Labels, where the data have them, are used to say how often it was right
    (``matched_fraction_``), never to match.

    Parameters
    ----------
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out.
    sigma : float, optional
        Noise intensity: sets the plan's regularisation to 2 sigma^2 dt. Estimated from the data if left out.
    matching : "sinkhorn", "assignment" or "barycentric"
        Entropic transport plan turned into a permutation; the permutation with the smallest sum of squared distances
        (what a tracker does); or regression on the mean target under the plan, without choosing.
    epsilon : float, optional
        The plan's regularisation itself, in units of squared distance.
    max_distance : float, optional
        Longer moves are not believed: such particles are dropped.
    regularization : "lcurve", "cv" or float
        As in :class:`trackless.SelfTest`.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.

    Attributes
    ----------
    external_, interaction_, coef_, lambda_, loss_, condition_numbers_, solution_, moments_
        As in :class:`trackless.SelfTest`.
    sigma_ : float
        As given, or the root mean square of the residuals: too small where matching prefers short moves, too large
        where a plan spreads targets. It is not the sigma that set the plan.
    matched_fraction_ : float or None
        Share of the matches that were right, where labels tell.
    dropped_fraction_ : float
        Share of the particles that found no partner.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=100, step=1e-3, observe_every=1e-3, labeled=True)
    >>> fitted = tl.SinkhornMLE(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> round(fitted.matched_fraction_, 2)
    0.98
    """

    def __init__(
        self,
        external: Basis | None = None,
        interaction: Basis | None = None,
        sigma: float | None = None,
        matching: str = "sinkhorn",
        epsilon: float | None = None,
        max_distance: float | None = None,
        regularization: str | float = "lcurve",
        coupling: str = "mean",
    ) -> None:
        self.external = external
        self.interaction = interaction
        self.sigma = sigma
        self.matching = matching
        self.epsilon = epsilon
        self.max_distance = max_distance
        self.regularization = regularization
        self.coupling = coupling

    def _matching(self) -> Matching:
        if self.matching not in ("sinkhorn", "assignment", "barycentric"):
            raise InputError(
                f"matching: expected 'sinkhorn', 'assignment' or 'barycentric', got {self.matching!r}; "
                "labels are used by tl.LabeledMLE"
            )
        return Matching(self.matching, self.sigma, self.epsilon, self.max_distance)
