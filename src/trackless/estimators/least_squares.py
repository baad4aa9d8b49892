"""What every least-squares estimator shares: moments in, normal equations, a solver, potentials out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import Wanted
from trackless.basis import Basis, Member, members_of
from trackless.by_species import as_basis
from trackless.estimators.conversion import converted
from trackless.estimators.saving import Saving
from trackless.evidence import Posterior, posterior
from trackless.exploration import Exploration, explore
from trackless.identifiability import Identifiability, identifiability
from trackless.intensity import Sigma
from trackless.mixtures import Kinds, joined
from trackless.moments import Moments, NormalEquations
from trackless.potentials import Potential, RadialPotential
from trackless.residuals import Units
from trackless.snapshots import Snapshots
from trackless.solvers import Solution, check_reached, check_strength, condition_numbers, cross_validated, lcurve, ridge
from trackless.survey import surveyed
from trackless.uncertainty import Uncertainty, bootstrap, sandwich, with_uncertainty

Array = NDArray[np.float64]
Range = tuple[Any, Any]
REGULARIZATIONS = ("lcurve", "cv", "evidence")
RARE = 1e-4  # the explored range leaves out this part of the particles (pairs) at each end


class LeastSquares(Saving, ABC):
    """Fits that are a quadratic loss in the coefficients: L = theta A theta / 2 - b theta.

    A subclass says how data become moments and moments become equations. Its constructor stores at least
    ``external``, ``interaction``, ``sigma``, ``regularization`` and ``coupling``.
    """

    external: Wanted
    interaction: Wanted
    sigma: Any
    regularization: str | float
    coupling: str

    @abstractmethod
    def _check(self) -> None:
        """Refuse wrong settings before the pass over the data."""

    @abstractmethod
    def _accumulate(self, snapshots: Snapshots, external: Wanted, interaction: Wanted) -> Moments:
        """Reduce snapshots on two families."""

    @abstractmethod
    def _equations(self, moments: Moments, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        """A and b of the blocks and windows marked in ``part``, of all by default."""

    @abstractmethod
    def _units(self, moments: Moments) -> Units:
        """Normal equations of every block and window on its own."""

    @abstractmethod
    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> Sigma:
        """sigma_: as given, or as the fit tells."""

    def fit(self, X: Snapshots | Moments, y: Any = None) -> Self:
        """Learn the potentials from snapshots, or from moments accumulated earlier (their bases are used)."""
        self._check_settings()
        data, prepared = self._prepared(X) if isinstance(X, Snapshots) else (X, self._unprepared(X))
        vars(self).update(prepared)
        self.fingerprint_ = X.fingerprint() if isinstance(X, Snapshots) else None
        self.frames_ = surveyed(X).known if isinstance(X, Snapshots) else None
        vars(self).pop("box_", None)  # moments do not know it
        if isinstance(X, Snapshots):
            self.box_ = X.box
        moments, self.explored_ = self._moments(data)
        self._learn(moments)
        if isinstance(data, Snapshots):
            self._refine(data)
        return self

    def _learn(self, moments: Moments) -> None:
        """Solve for the coefficients, and everything that follows from them."""
        equations = self._equations(moments)
        solution, covariance, found, self.freedom_ = self._learnt(moments, equations)
        self.moments_ = moments
        self.external_basis_, self.interaction_basis_ = moments.external, moments.interaction
        self.solution_, self.posterior_ = solution, found
        self.coef_, self.covariance_ = solution.coef, covariance
        self.lambda_, self.ridge_weights_ = solution.ridge, np.ones(len(solution.coef))
        self.loss_ = equations.loss(solution.coef)
        self.sigma_ = self._noise(moments, equations, solution.coef)
        self.condition_numbers_ = condition_numbers(equations)
        self._set_potentials()

    def _refine(self, snapshots: Snapshots) -> None:
        """Go over the data again with what was learnt, where settings ask for it."""

    def _check_settings(self) -> None:
        self._check()
        strength = isinstance(self.regularization, (int, float, np.number))
        if self.regularization not in REGULARIZATIONS and not strength:
            offered = ", ".join(map(repr, REGULARIZATIONS))
            raise InputError(f"regularization: expected {offered} or a number, got {self.regularization!r}")
        if strength:
            check_strength(float(self.regularization))

    def _learnt(
        self, moments: Moments, equations: NormalEquations, bands: bool = True
    ) -> tuple[Solution, Array | None, Posterior | None, float]:
        """Coefficients, their covariance, what the evidence chose, and how many independent parts all this rests on.

        Without ``bands`` covariance and parts are not final.
        """
        units = self._units(moments)
        if self.regularization == "evidence":
            found = posterior(units, (moments.external, moments.interaction), self._errors(moments), bands)
            return Solution(found.coef, 0.0), found.covariance, found, found.freedom
        check_reached(equations, moments.names)
        solution = self._solve(moments, equations)
        if len(units.weights) < 2:
            return solution, None, None, 1.0
        covariance, freedom = sandwich(units, solution.coef, solution.ridge)
        return solution, covariance, None, freedom

    def _prepared(self, snapshots: Snapshots) -> tuple[Snapshots, dict[str, Any]]:
        """The part of the data that is used, and attributes that say so."""
        return snapshots, {}

    def _unprepared(self, given: Any) -> dict[str, Any]:
        """The same attributes where moments were given, which leave no choice."""
        return {}

    def _errors(self, moments: Moments) -> Callable[[Array], Array] | None:
        """Estimates (units, K) of systematic errors of the equations, given the coefficients."""
        return None

    def bootstrap(self, draws: int = 200, seed: int = 0) -> Array:
        """Coefficients (draws, K) refitted to blocks drawn with replacement, everything that was chosen kept fixed.

        A check of ``covariance_`` that assumes nothing but independent blocks.
        """
        self._check_fitted()
        found = self.posterior_
        if found is not None:
            return bootstrap(self._units(self.moments_), found.solved, draws, seed)
        return bootstrap(self._units(self.moments_), partial(_solved, self.ridge_matrix()), draws, seed)

    def ridge_matrix(self) -> Array:
        """What was added to A, (K, K): lambda times the identity, or what a change of coupling made of that."""
        return self.lambda_ * np.diag(self.ridge_weights_)

    def converted(self, coupling: str) -> Self:
        """The same fit written for the other coupling: Phi_sum = Phi_mean / N, where N is the same in all snapshots.

        Parameters
        ----------
        coupling : "mean" or "sum"

        Examples
        --------
        >>> import trackless as tl
        >>> model = tl.models.reference()
        >>> data = tl.simulate(model, runs=50, step=1e-3)
        >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
        >>> pair = fitted.converted("sum").interaction_
        >>> bool(abs(10 * pair.slope(0.6) - fitted.interaction_.slope(0.6)) < 1e-9)
        True
        """
        self._check_fitted()
        return converted(self, coupling)

    def identifiability(self) -> Identifiability:
        """What the data could and could not tell: condition numbers, effective parameters, trade-offs, ranges."""
        self._check_fitted()
        return identifiability(self)

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the loss of the fitted potentials on other data (higher is better)."""
        self._check_fitted()
        if not isinstance(X, (Snapshots, Moments)):
            raise InputError(
                f"score: expected Snapshots or Moments, got {type(X).__name__}; wrap arrays in tl.Snapshots"
            )
        if X.dim != self.moments_.dim:
            raise InputError(f"score: fitted in {self.moments_.dim} dimensions, the data have {X.dim}")
        moments = self.moments_to_score(X) if isinstance(X, Snapshots) else X
        for name, basis in (("external", self.external_basis_), ("interaction", self.interaction_basis_)):
            there = getattr(moments, name)
            if basis is not None and there is not None and basis.species != there.species:
                raise InputError(f"score: fitted for the species {basis.species}, the moments are of {there.species}")
        return -self._equations(moments).loss(self.coef_)

    def moments_to_score(self, snapshots: Snapshots) -> Moments:
        return self._accumulate(snapshots, self.external_basis_, self.interaction_basis_)

    def moments_for(self, snapshots: Snapshots, blocks: int) -> Moments:
        """What ``fit`` would reduce snapshots to, in at most so many blocks."""
        self._check_settings()
        data, _ = self._prepared(snapshots)
        return self._accumulate(data, self.external, self.interaction).coarsened(blocks)

    def held_out_losses(self, train: Moments, test: Moments) -> Array:
        """The loss of what is learnt from some moments on every block and window of others: (blocks, windows).

        Per particle and time. Nothing of this estimator is changed.
        """
        coef = self._learnt(train, self._equations(train), bands=False)[0].coef
        units = self._units(test)
        losses = 0.5 * np.einsum("k,ukl,l->u", coef, units.matrices, coef) - units.vectors @ coef
        return (losses / units.weights.mean()).reshape(test.blocks, test.windows)

    def _set_potentials(self) -> None:
        found: tuple[dict[Kinds, Potential], dict[Kinds, Potential]] = ({}, {})
        for number, member in enumerate(members_of((self.external_basis_, self.interaction_basis_))):
            found[member.role][member.kinds] = self._potential(member, number)
        self.external_: Any = joined(found[0])
        self.interaction_: Any = joined(found[1])

    def _potential(self, member: Member, number: int) -> Potential:
        part = member.part
        potential = member.basis.combine(self.coef_[part])
        assert isinstance(potential, Potential)  # a member is no mixture
        explored = ranges_by_kinds((self.external_basis_, self.interaction_basis_), self.explored_)[number]
        if self.covariance_ is None or explored is None:
            return potential
        found = self.posterior_
        uncertainty = Uncertainty(member.basis, self.covariance_[part, part], explored, self.freedom_)
        if found is not None and found.deviations is not None:
            uncertainty = replace(uncertainty, deviations=found.deviations[:, part], missed=found.missed[number])
        if not isinstance(potential, RadialPotential):
            said = np.maximum(np.diag(self._equations(self.moments_).matrix)[part], 0.0)
            uncertainty = replace(uncertainty, reached=said / said.max(initial=1e-300))
        return with_uncertainty(potential, uncertainty)

    def _moments(self, data: Snapshots | Moments) -> tuple[Moments, Range]:
        if not isinstance(data, Moments):
            moments = self._accumulate(data, self.external, self.interaction)
            explored = explore(data)
            external = explored_range(explored, moments.external, 0)
            return moments, (external, explored_range(explored, moments.interaction, 1))
        if data.coupling != self.coupling:
            raise InputError(f"coupling: the moments were accumulated for {data.coupling!r}, not {self.coupling!r}")
        for name in ("external", "interaction"):
            asked, there = as_basis(getattr(self, name)), getattr(data, name)
            if asked is not None and asked != there:
                raise InputError(
                    f"{name}: the moments were accumulated on {there!r}; leave {name}=None, or accumulate again"
                )
        return data, (explored_range(None, data.external, 0), explored_range(None, data.interaction, 1))

    def _solve(self, moments: Moments, equations: NormalEquations) -> Solution:
        if self.regularization == "lcurve":
            return lcurve(equations)
        if self.regularization == "cv":
            return cross_validated(lambda part: self._equations(moments, part), moments.blocks, moments.windows)
        return ridge(equations, float(self.regularization))


def _solved(added: Array, matrix: Array, vector: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix + added, vector), float)


def ranges_by_kinds(
    families: tuple[Basis | None, Basis | None], explored: tuple[Any, Any]
) -> list[Range | None]:  # fmt: skip
    """The explored range of every potential, in the order of :func:`trackless.basis.members_of`."""
    found = []
    for basis, ranges in zip(families, explored, strict=True):
        if basis is not None:
            found += ranges if basis.species is not None else [ranges]
    return found


def explored_range(explored: Exploration | None, basis: Basis | None, role: int) -> Any:
    """Distances, or corners, that the data reached; without data the range of the family.

    Where kinds of particles are told apart, one range for each or for each pair.
    """
    if basis is None:
        return None
    if basis.species is not None:
        return tuple(
            explored_range(explored.of_kinds(kinds) if explored is not None else None, member, role)
            for kinds, member in basis.members
        )
    one = basis.combine(np.ones(basis.size))
    if explored is None:
        ends = (getattr(basis, "lower", None), getattr(basis, "upper", None) or getattr(basis, "cutoff", None))
        return None if ends[0] is None or ends[1] is None else ends
    if isinstance(one, RadialPotential):
        sample = explored.reached("interaction" if role else "external", one.origin, getattr(basis, "cutoff", None))
        low, high = np.quantile(sample, [RARE, 1 - RARE]).tolist()
        return low, high
    sample = explored.displacements if role == 1 else explored.positions
    low, high = np.quantile(sample, [RARE, 1 - RARE], axis=0)
    high = np.maximum(-low, high) if role == 1 else high
    return (-high if role == 1 else low), high
