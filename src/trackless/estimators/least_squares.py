"""What every least-squares estimator shares: moments in, normal equations, a solver, potentials out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.basis import Basis
from trackless.estimators.saving import Saving
from trackless.moments import Moments, NormalEquations
from trackless.potentials import Potential
from trackless.snapshots import Snapshots
from trackless.solvers import Solution, check_reached, condition_numbers, cross_validated, lcurve, ridge


class LeastSquares(Saving, ABC):
    """Fits that are a quadratic loss in the coefficients: L = theta A theta / 2 - b theta.

    A subclass says how data become moments and moments become equations. Its constructor stores at least
    ``external``, ``interaction``, ``sigma``, ``regularization`` and ``coupling``.
    """

    external: Basis | None
    interaction: Basis | None
    sigma: float | None
    regularization: str | float
    coupling: str

    @abstractmethod
    def _check(self) -> None:
        """Refuse wrong settings before the pass over the data."""

    @abstractmethod
    def _accumulate(self, snapshots: Snapshots, external: Basis | None, interaction: Basis | None) -> Moments:
        """Reduce snapshots on two families."""

    @abstractmethod
    def _equations(self, moments: Moments, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        """A and b of the blocks and windows marked in ``part``, of all by default."""

    @abstractmethod
    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> float:
        """sigma_: as given, or as the fit tells."""

    def fit(self, X: Snapshots | Moments, y: Any = None) -> Self:
        """Learn the potentials from snapshots, or from moments accumulated earlier (their bases are used)."""
        self._check()
        if self.regularization not in ("lcurve", "cv") and not isinstance(self.regularization, (int, float, np.number)):
            raise InputError(f"regularization: expected 'lcurve', 'cv' or a number, got {self.regularization!r}")
        moments = self._moments(X)
        equations = self._equations(moments)
        check_reached(equations, moments.names)
        solution = self._solve(moments, equations)
        self.moments_ = moments
        self.external_basis_, self.interaction_basis_ = moments.external, moments.interaction
        self.solution_ = solution
        self.coef_ = solution.coef
        self.lambda_ = solution.ridge
        self.loss_ = equations.loss(solution.coef)
        self.sigma_ = self._noise(moments, equations, solution.coef)
        self.condition_numbers_ = condition_numbers(equations)
        self._set_potentials()
        return self

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the loss of the fitted potentials on other data (higher is better)."""
        if not hasattr(self, "coef_"):
            raise InputError("this estimator is not fitted yet; call fit first")
        if not isinstance(X, (Snapshots, Moments)):
            raise InputError(
                f"score: expected Snapshots or Moments, got {type(X).__name__}; wrap arrays in tl.Snapshots"
            )
        if X.dim != self.moments_.dim:
            raise InputError(f"score: fitted in {self.moments_.dim} dimensions, the data have {X.dim}")
        if isinstance(X, Snapshots):
            X = self._accumulate(X, self.external_basis_, self.interaction_basis_)
        return -self._equations(X).loss(self.coef_)

    def _set_potentials(self) -> None:
        external, interaction = self.external_basis_, self.interaction_basis_
        k = external.size if external is not None else 0
        self.external_: Potential | None = external.combine(self.coef_[:k]) if external is not None else None
        self.interaction_: Potential | None = interaction.combine(self.coef_[k:]) if interaction is not None else None

    def _moments(self, data: Snapshots | Moments) -> Moments:
        if not isinstance(data, Moments):
            return self._accumulate(data, self.external, self.interaction)
        if data.coupling != self.coupling:
            raise InputError(f"coupling: the moments were accumulated for {data.coupling!r}, not {self.coupling!r}")
        for name in ("external", "interaction"):
            asked, there = getattr(self, name), getattr(data, name)
            if asked is not None and asked != there:
                raise InputError(
                    f"{name}: the moments were accumulated on {there!r}; leave {name}=None, or accumulate again"
                )
        return data

    def _solve(self, moments: Moments, equations: NormalEquations) -> Solution:
        if self.regularization == "lcurve":
            return lcurve(equations)
        if self.regularization == "cv":
            return cross_validated(lambda part: self._equations(moments, part), moments.blocks, moments.windows)
        return ridge(equations, float(self.regularization))


def checked_sigma(sigma: Any) -> float:
    """A noise intensity as a number of at least 0."""
    if sigma is None:
        raise InputError("sigma: the noise intensity is needed; sigma^2 = 2 D, with D the diffusion constant")
    try:
        value = float(sigma)
    except (TypeError, ValueError):
        raise InputError(f"sigma: expected a number, got {sigma!r}") from None
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"sigma: expected a finite number of at least 0, got {sigma!r}")
    return value
