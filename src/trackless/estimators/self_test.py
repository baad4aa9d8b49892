"""The self-test least-squares estimator (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import accumulate, check_snapshots
from trackless.balance import BLOCKS, Learnt, balance
from trackless.basis import Basis
from trackless.debiasing import Debiasing, Simulated, debiased
from trackless.estimators.least_squares import LeastSquares, checked_sigma
from trackless.goodness import ResidualTest, residual_test
from trackless.moments import Moments, NormalEquations, rule_index
from trackless.noise import NoiseLevel, affine, first_guess, noise_level
from trackless.residuals import Adjustment, Units
from trackless.resolution import Resolution, check_resolve, resolved_part
from trackless.snapshots import Snapshots
from trackless.transitions import Transitions, common_gap, noise_of_steps

Array = NDArray[np.float64]
DYNAMICS = ("continuous", "discrete")
SIGMA_ROUNDS = 3
SETTLED = 0.03  # a relative change of sigma that does not change what the data say of it
SAME_SIGMA = 1e-3
NEWTON = 12  # steps at most
ROUGH = 2  # of which the first measure how rough test energies are
STILL = 0.05  # standard errors
STREAM = 20_261_116  # random numbers of simulations that remove bias: none that a user's seed would give


class SelfTest(LeastSquares):
    """Potentials from unlabeled snapshots by least squares on the self-test loss.

    Parameters
    ----------
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out.
    sigma : float or None
        Noise intensity of dX = -force dt + sigma dW; None finds it from the data (``noise_`` says how).
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
    noise_ : NoiseLevel or None
        Where sigma comes from, if it was not given.
    sigma_covariance_ : (K,) or None
        Covariance of an estimated sigma^2 with the coefficients.
    debiasing_ : Debiasing or None
        What simulation took off.
    adjustment_ : Adjustment or None
        What was done to the right-hand side b: bias taken off, noise of sigma and of simulations added.
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
    noise_: NoiseLevel | None
    sigma_covariance_: Array | None
    adjustment_: Adjustment | None
    debiasing_: Debiasing | None
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
        dynamics: str = "continuous",
        debias: bool = False,
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

    def _check(self) -> None:
        if self.sigma is not None:
            checked_sigma(self.sigma)
        check_resolve(self.resolve)
        rule_index(self.quadrature)
        if self.dynamics not in DYNAMICS:
            raise InputError(f"dynamics: expected {' or '.join(map(repr, DYNAMICS))}, got {self.dynamics!r}")
        if not isinstance(self.debias, (bool, np.bool_)):
            raise InputError(f"debias: expected True or False, got {self.debias!r}")
        if self.debias and self.dynamics == "discrete":
            raise InputError("debias: equations of dynamics='discrete' have no bias to remove; choose one of the two")
        if self.resolve is not None and self.dynamics == "discrete":
            raise InputError("resolve: dynamics='discrete' has no time integrals that could be wrong; use resolve=None")

    def _prepared(self, snapshots: Snapshots) -> tuple[Snapshots, dict[str, Any]]:
        check_snapshots(snapshots, self.coupling, self.interaction is not None)
        if self.dynamics == "discrete":
            common_gap(snapshots)
        sigma = checked_sigma(self.sigma) if self.sigma is not None else first_guess(snapshots, self.coupling)
        used, found = resolved_part(snapshots, self.resolve, sigma, self.coupling, self.quadrature)
        return used, self._unchanged(sigma) | {"resolution_": found}

    def _unprepared(self, given: Any) -> dict[str, Any]:
        if isinstance(given, Moments):
            for asked, name in ((self.sigma is None, "sigma=None"), (self.debias, "debias=True"),
                                (self.dynamics == "discrete", "dynamics='discrete'")):  # fmt: skip
                if asked:
                    raise InputError(
                        f"{name} goes over the data again, which moments no longer hold; fit snapshots"
                        + (", or give sigma" if name == "sigma=None" else "")
                    )
        return self._unchanged(checked_sigma(self.sigma)) | {"resolution_": None}

    @staticmethod
    def _unchanged(sigma: float) -> dict[str, Any]:
        return {
            "sigma_": sigma, "sigma_covariance_": None, "noise_": None, "adjustment_": None, "debiasing_": None,
        }  # fmt: skip

    def _sigma(self) -> float:
        return checked_sigma(self.sigma if self.sigma is not None else getattr(self, "sigma_", None))

    def _accumulate(self, snapshots: Snapshots, external: Basis | None, interaction: Basis | None) -> Moments:
        return accumulate(snapshots, external, interaction, self.coupling)

    def _moments_to_score(self, snapshots: Snapshots) -> Moments:
        moments = super()._moments_to_score(snapshots)
        if self.moments_.dynamics == "continuous":
            return moments
        steps = Transitions(snapshots, moments, self._sigma())
        steps.measure_roughness(self.coef_)
        return steps.linearised(self.coef_)

    def moments_for(self, snapshots: Snapshots, blocks: int) -> Moments:
        """What ``fit`` would reduce snapshots to, in at most so many blocks."""
        if self.dynamics == "discrete" or self.debias or self.sigma is None:
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

    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> float:
        return self._sigma()

    def _refine(self, snapshots: Snapshots) -> None:
        if self.dynamics == "discrete":
            self._step(snapshots)
            return
        if self.sigma is None:
            self._find_sigma(snapshots)
        if self.debias:
            self._remove_bias(snapshots)

    def _find_sigma(self, snapshots: Snapshots) -> None:
        """sigma from the data, with forces of a first fit; and the fit with that sigma."""
        for _ in range(SIGMA_ROUNDS):
            guess = self.sigma_
            learnt, cuts = self._learnt_for_tests()
            sets = affine(self.moments_, learnt.gain, self.quadrature)
            families = (self.external_basis_, self.interaction_basis_)
            found = balance(snapshots, *families, sets, self.coupling, self.quadrature, cuts)
            noise = noise_level(found, learnt, guess, self.quadrature)
            self.noise_, self.sigma_ = noise, noise.sigma
            self.adjustment_ = noise.adjustment(self.moments_, self.quadrature)
            self._learn(self.moments_)
            gain = self._learnt_for_tests()[0].gain
            self.sigma_covariance_ = gain @ noise.covariance_with_b(self.moments_, self.quadrature)
            if not noise.known or abs(self.sigma_ / guess - 1) < SETTLED:
                break

    def _step(self, snapshots: Snapshots) -> None:
        """Gauss-Newton on the equations of single steps."""
        continuous = self.moments_
        for _ in range(SIGMA_ROUNDS if self.sigma is None else 1):
            steps = Transitions(snapshots, continuous, self.sigma_)
            coef = self.coef_
            for step in range(NEWTON):
                if step < ROUGH:
                    steps.measure_roughness(coef)
                self._learn(steps.linearised(coef))
                moved, coef = self.coef_ - coef, self.coef_
                if self._in_errors(moved) < STILL and step >= ROUGH:
                    break
            if self.sigma is not None:
                break
            before, self.sigma_ = self.sigma_, noise_of_steps(snapshots, self.external_)
            if abs(self.sigma_ / before - 1) < SAME_SIGMA:
                break

    def _in_errors(self, moved: Array) -> float:
        """A change of the coefficients, in standard errors of the whole."""
        matrix = self._units(self.moments_).mean()[0]
        total = self.moments_.weight[:, :, 0, 0].sum()
        return float(np.sqrt(max(moved @ matrix @ moved, 0.0) * total) / max(self.sigma_, 1e-300))

    def _remove_bias(self, snapshots: Snapshots) -> None:
        earlier = self.adjustment_
        plain = self._units(self.moments_)
        heard = np.ones(len(self.coef_), dtype=bool)
        noise = plain.scatter(self.coef_, heard)
        known = earlier.covariance if earlier is not None else np.zeros_like(noise)

        def solved(correction: Array, covariance: Array) -> tuple[Array, SelfTest]:
            self.adjustment_ = Adjustment(correction, known + covariance)
            self._learn(self.moments_)
            return self.coef_, self

        self.debiasing_ = debiased(
            Simulated(snapshots, self.moments_, self.quadrature, STREAM), noise, self.coef_, solved
        )
        self.adjustment_ = Adjustment(self.debiasing_.correction, known + self.debiasing_.covariance)
        self._learn(self.moments_)

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
        if self.dynamics == "discrete":
            raise InputError("residual_test: it asks about continuous time; there is none for dynamics='discrete' yet")
        if self.resolution_ is not None and self.resolution_.left_out:
            snapshots = snapshots.between(self.resolution_.start, np.inf)
        learnt, cuts = self._learnt_for_tests()
        if not other and snapshots.runs != cuts[-1]:
            raise InputError(
                f"residual_test: the fit is of {cuts[-1]} runs, these data have {snapshots.runs}; if they are not "
                "those of the fit, say other=True"
            )
        families = (self.external_basis_, self.interaction_basis_)
        settings = (self.coef_[None], self.coupling, self.quadrature, None if other else cuts)
        found = balance(snapshots, *families, *settings)
        if other:  # the fit took nothing from them, but has errors of its own
            nothing = np.zeros((found.blocks, len(self.coef_)))
            errors = self.covariance_ if self.covariance_ is not None else 0 * learnt.smoothed
            learnt = replace(learnt, gain=0 * learnt.gain, residuals=nothing, smoothed=errors)
        error = self.noise_.error if self.noise_ is not None and self.noise_.known else 0.0
        return residual_test(found, learnt, self.sigma_, error, snapshots, self.quadrature)

    def _learnt_for_tests(self) -> tuple[Learnt, NDArray[np.int64]]:
        """The fit as tests of it need it, and the blocks of runs that it is told for."""
        moments, units, found = self.moments_, self._units(self.moments_), self.posterior_
        matrix, _ = units.mean()
        size = len(self.coef_)
        gain, smoothed = np.zeros((size, size)), np.zeros((size, size))
        if found is not None:
            gain[:, found.heard] = found.gain(matrix)
            lost = np.eye(size) - gain @ matrix
            smoothed = lost @ found.prior @ lost.T
        else:
            gain = np.asarray(np.linalg.inv(matrix + self.lambda_ * np.eye(size)), float)
        residuals = (units.vectors - units.matrices @ self.coef_).reshape(moments.blocks, moments.windows, size)
        kept = np.linspace(0, moments.blocks, min(moments.blocks, BLOCKS) + 1).round().astype(np.int64)
        cuts = np.concatenate([[0], np.cumsum(moments.runs)])[kept]
        by_block = np.add.reduceat(residuals.sum(axis=1), kept[:-1])
        return Learnt(gain, by_block, matrix, float(units.weights.sum()), smoothed), cuts
