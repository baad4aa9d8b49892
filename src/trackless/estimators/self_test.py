"""The self-test least-squares estimator (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import Wanted, accumulate, check_snapshots
from trackless.basis import about
from trackless.by_species import BySpecies, as_basis
from trackless.centers import FoundCenter, find_center
from trackless.debiasing import Debiasing, evenly_observed
from trackless.estimators.continuing import add_data
from trackless.estimators.least_squares import LeastSquares
from trackless.estimators.refinement import find_sigma, fit_steps, remove_bias, tested
from trackless.goodness import ResidualTest
from trackless.intensity import Sigma, check_setting, checked_sigma, is_per_direction, is_unknown, single_sigma
from trackless.moments import Moments, NormalEquations, rule_index
from trackless.noise import NoiseLevel
from trackless.noise_of_waves import guessed_sigma
from trackless.observation import EVERYTHING, Observation
from trackless.residuals import Adjustment, Units
from trackless.resolution import Resolution, check_resolve, resolved_part
from trackless.snapshots import Snapshots
from trackless.transitions import Transitions, common_gap

Array = NDArray[np.float64]
DYNAMICS = ("continuous", "discrete")


class SelfTest(LeastSquares):
    """Potentials from unlabeled snapshots by least squares on the self-test loss.

    Parameters
    ----------
    external, interaction : Basis, dict of them, or None
        Families for V and Phi; None leaves that potential out. For data with several species dicts may say which family
        each kind has, {"a": ...}, and each pair of kinds, {("a", "b"): ...}; one family is the same for all particles.
    sigma : float, tuple of float, "diagonal" or None
        Noise intensity of dX = -force dt + sigma dW, or one per direction. None finds it from the data (``noise_`` says
        how), "diagonal" finds one per direction.
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
    dynamics : "continuous" or "discrete"
        "discrete": snapshots are single steps X' = X - force dt + sigma sqrt(dt) Z, of which nothing is approximated.
    debias : bool
        Simulate the fitted model, observed like the data, and take off what the equations get wrong there: for
        continuous time seen at coarse intervals.
    observation : Observation, optional
        How particles were seen: through a window, some missed, positions a little off.

    Attributes
    ----------
    external_, interaction_ : Potential, mapping of them or None
        The learnt V and Phi (up to a constant, which no data can tell); where families were given by species those of
        each, ``external_["a"]`` and ``interaction_["a", "b"]``.
    coef_ : (K,)
        Coefficients, external first, in the bases ``external_basis_`` and ``interaction_basis_``.
    covariance_ : (K, K) or None
        Of the coefficients: the posterior's, or the sandwich A^-1 S A^-1; None for a single run in a single window.
    freedom_ : float
        How many independent parts of the data the covariance rests on.
    explored_ : (range, range)
        Distances (or corners) that V and Phi were seen at; by species a range for each.
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
    sigma_ : float, or a tuple with one per direction
    noise_ : NoiseLevel or None
        Where sigma comes from, if it was not given.
    sigma_covariance_ : (K,), (dim, K) or None
        Covariance of an estimated sigma^2 with the coefficients.
    debiasing_ : Debiasing or None
        What simulation took off.
    adjustment_ : Adjustment or None
        What was done to the right-hand side b: bias taken off, noise of sigma and of simulations added.
    resolution_ : Resolution or None
    center_ : FoundCenter or None
        Where V was found to be centred, if that was asked (``center="fit"``).
    max_gap_ : float or None
        Longest interval that :func:`trackless.fit` integrated over, where it split runs.
    fingerprint_ : str or None
        Of the snapshots (``Snapshots.fingerprint``), to know them again.
    frames_ : KnownFrames or None
        Of some of the snapshots, to know parts of them again.
    updates_ : int
        How often data were added (``partial_fit``).
    beyond_ : tuple of str
        Where added data went farther than the families, in words.
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
    noise_: NoiseLevel | None
    sigma_covariance_: Array | None
    adjustment_: Adjustment | None
    debiasing_: Debiasing | None
    max_gap_: float | None
    center_: FoundCenter | None
    updates_: int
    beyond_: tuple[str, ...]
    findings_: Any

    def __init__(
        self,
        external: Wanted = None,
        interaction: Wanted = None,
        sigma: float | Sequence[float] | str | None = None,
        quadrature: str = "trapezoid",
        regularization: str | float = "lcurve",
        coupling: str = "mean",
        resolve: str | None = None,
        dynamics: str = "continuous",
        debias: bool = False,
        observation: Observation | None = None,
    ) -> None:
        self.external = external
        self.interaction = interaction
        self.sigma = sigma
        self.quadrature = quadrature
        self.regularization = regularization
        self.coupling = coupling
        self.resolve = resolve
        self.dynamics = dynamics
        self.debias = debias
        self.observation = observation

    def _check(self) -> None:
        check_setting(self.sigma)
        check_resolve(self.resolve)
        rule_index(self.quadrature)
        if self.dynamics not in DYNAMICS:
            raise InputError(f"dynamics: expected {' or '.join(map(repr, DYNAMICS))}, got {self.dynamics!r}")
        if not isinstance(self.debias, (bool, np.bool_)):
            raise InputError(f"debias: expected True or False, got {self.debias!r}")
        if self.debias and self.dynamics == "discrete":
            raise InputError("debias: equations of dynamics='discrete' have no bias to remove; choose one of the two")
        if is_per_direction(self.sigma) and self.dynamics == "discrete":
            raise InputError("sigma: dynamics='discrete' takes one sigma for all directions (a number, or None)")
        if any(isinstance(as_basis(basis), BySpecies) for basis in (self.external, self.interaction)):
            for asked, name in ((self.dynamics == "discrete", "dynamics='discrete'"), (self.debias, "debias=True")):
                if asked:
                    raise InputError(
                        f"{name}: not for potentials of each species; give one family for all particles "
                        "(external=tl.RadialSplines(20), ...), or leave this out"
                    )
        if self.resolve is not None and self.dynamics == "discrete":
            raise InputError("resolve: dynamics='discrete' has no time integrals that could be wrong; use resolve=None")
        self._check_observation()

    def _check_observation(self) -> None:
        seen = self._seen
        if seen.complete:
            return
        if self.dynamics == "discrete" or self.debias:
            raise InputError(
                "observation: single steps and the removal of bias are for particles that are all seen, where they "
                "are; use dynamics='continuous' and debias=False, or leave out the observation"
            )
        if seen.masked and self.regularization in ("lcurve", "cv"):
            raise InputError(
                f"regularization: {self.regularization!r} looks at a loss, which test functions that vanish at an edge "
                "do not have; use 'evidence' or a number"
            )

    @property
    def _seen(self) -> Observation:
        if self.observation is not None and not isinstance(self.observation, Observation):
            raise InputError(f"observation: expected tl.Observation(...), got {self.observation!r}")
        return EVERYTHING if self.observation is None else self.observation

    def _prepared(self, snapshots: Snapshots) -> tuple[Snapshots, dict[str, Any]]:
        check_snapshots(snapshots, self.coupling, self.interaction is not None)
        if self.dynamics == "discrete":
            common_gap(snapshots)
        if self.debias:
            evenly_observed(snapshots)  # before the work
        check_setting(self.sigma, snapshots.dim)
        sigma = guessed_sigma(snapshots, self.sigma, self.coupling, self._seen)
        cutoff = getattr(self.interaction, "cutoff", None)
        used, found = resolved_part(snapshots, self.resolve, sigma, self.coupling, self.quadrature, cutoff)
        return used, self._unchanged(sigma) | {"resolution_": found, "center_": self._found_center(used, sigma)}

    def _found_center(self, snapshots: Snapshots, sigma: Sigma) -> FoundCenter | None:
        external, interaction = as_basis(self.external), as_basis(self.interaction)
        if external is None or getattr(external, "center", None) != "fit":
            return None
        return find_center(snapshots, external, interaction, sigma, self.coupling, self.quadrature)

    def _unprepared(self, given: Any) -> dict[str, Any]:
        if isinstance(given, Moments):
            for asked, name in ((is_unknown(self.sigma), f"sigma={self.sigma!r}"), (self.debias, "debias=True"),
                                (self.dynamics == "discrete", "dynamics='discrete'")):  # fmt: skip
                if asked:
                    raise InputError(
                        f"{name} goes over the data again, which moments no longer hold; fit snapshots"
                        + (", or give sigma" if name.startswith("sigma") else "")
                    )
        return self._unchanged(checked_sigma(self.sigma)) | {"resolution_": None}

    @staticmethod
    def _unchanged(sigma: Sigma) -> dict[str, Any]:
        return {
            "sigma_": sigma, "sigma_covariance_": None, "noise_": None, "adjustment_": None, "debiasing_": None,
            "max_gap_": None, "center_": None, "updates_": 0, "beyond_": (),
        }  # fmt: skip

    def _sigma(self) -> Sigma:
        return checked_sigma(getattr(self, "sigma_", None) if is_unknown(self.sigma) else self.sigma)

    def _accumulate(self, snapshots: Snapshots, external: Wanted, interaction: Wanted) -> Moments:
        found = getattr(self, "center_", None)
        if found is not None and getattr(external, "center", None) == "fit":
            external = about(external, found.center)
        settings = {"per_direction": is_per_direction(self.sigma), "observation": self._seen}
        return accumulate(snapshots, external, interaction, self.coupling, **settings)

    def partial_fit(self, X: Snapshots | Moments, y: Any = None) -> Self:
        """Add new data to those of the fit and learn again; the first call is ``fit``.

        Moments add, so that the result is that of all data together, with two exceptions: families, a centre and what
        was left out at the start of the runs are those chosen on the first data (``beyond_`` says so if new data go
        farther), and so is sigma, with its error, where it was not given.

        Examples
        --------
        >>> import trackless as tl
        >>> model = tl.models.reference()
        >>> first, second = tl.simulate(model, runs=120, step=1e-3).split(0.5)
        >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).partial_fit(first)
        >>> fitted.partial_fit(second).moments_.runs.sum(), fitted.updates_
        (np.int64(120), 1)
        """
        if not hasattr(self, "moments_"):
            return self.fit(X)
        self._check_settings()
        add_data(self, X)
        return self

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the loss of the fitted potentials on other data (higher is better)."""
        self._check_loss("score")
        return super().score(X, y)

    def _check_loss(self, what: str) -> None:
        if self._seen.masked:
            raise InputError(
                f"{what}: with a window or exclude_below test functions are not those of the forces, and there is no "
                "loss to compare"
            )

    def moments_to_score(self, snapshots: Snapshots) -> Moments:
        moments = super().moments_to_score(snapshots)
        if self.moments_.dynamics == "continuous":
            return moments
        steps = Transitions(snapshots, moments, single_sigma(self._sigma(), "dynamics='discrete'"))
        steps.measure_roughness(self.coef_)
        return steps.linearised(self.coef_)

    def moments_for(self, snapshots: Snapshots, blocks: int) -> Moments:
        """What ``fit`` would reduce snapshots to, in at most so many blocks."""
        self._check_loss("compare")
        if self.dynamics == "discrete" or self.debias or is_unknown(self.sigma):
            raise InputError(
                "compare: losses on held-out runs are those of continuous time with a known sigma; use "
                "dynamics='continuous', debias=False and sigma=... (tl.fit(data).sigma_ finds one)"
            )
        return super().moments_for(snapshots, blocks)

    def _equations(self, moments: Moments, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        equations = moments.normal_equations(self._sigma(), self.quadrature, part=part)
        adjustment = getattr(self, "adjustment_", None)
        return equations if adjustment is None else equations._replace(vector=equations.vector - adjustment.shift)

    def _units(self, moments: Moments) -> Units:
        units = Units.of(moments, self._sigma(), self.quadrature)
        adjustment = getattr(self, "adjustment_", None)
        return units if adjustment is None else units.adjusted(adjustment)

    def _errors(self, moments: Moments) -> Callable[[Array], Array] | None:
        if getattr(self, "debiasing_", None) is not None:
            return None  # they have been removed
        return lambda coef: moments.quadrature_errors(coef, self._sigma(), self.quadrature)

    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> Sigma:
        return self._sigma()

    def _refine(self, snapshots: Snapshots) -> None:
        if self.dynamics == "discrete":
            fit_steps(self, snapshots)
            return
        if is_unknown(self.sigma):
            find_sigma(self, snapshots)
        if self.debias:
            remove_bias(self, snapshots)

    def can_be_tested(self, snapshots: Snapshots) -> bool:
        """Whether there is a residual test of this fit: not without noise, with an observation, of steps in a box."""
        self._check_fitted()
        return not self.untested_because(snapshots)

    def untested_because(self, snapshots: Snapshots) -> str:
        """Why there is no residual test of this fit, in words; empty where there is one."""
        if not np.all(np.greater(self.sigma_, 0)):
            return "without noise there is no chance to test against"
        if not self.moments_.observation.complete:
            return "it is made for particles that are all seen, where they are"
        return "not made for single steps in a box" * (self.dynamics == "discrete" and snapshots.box is not None)

    def residual_test(self, snapshots: Snapshots, other: bool = False) -> ResidualTest:
        """Whether data look as if the fitted model had made them.

        Parameters
        ----------
        snapshots : Snapshots
        other : bool
            False: the data of the fit, all of them; True: others, which the fit has not seen.

        Examples
        --------
        >>> import trackless as tl
        >>> model = tl.models.reference()
        >>> data = tl.simulate(model, runs=200, step=1e-3)
        >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto").fit(data)
        >>> fitted.residual_test(data).passed
        True
        """
        self._check_fitted()
        if not isinstance(snapshots, Snapshots):
            raise InputError(f"residual_test: expected Snapshots, got {type(snapshots).__name__}")
        snapshots = snapshots.without_gaps(self.max_gap_)
        if self.resolution_ is not None and self.resolution_.left_out:
            snapshots = snapshots.between(self.resolution_.start, np.inf)
        return tested(self, snapshots, other)
