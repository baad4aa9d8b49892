"""Evidence: how well a prior explains the data, maximised to choose it.

With A and b the normal equations, S the covariance of b - A theta (:mod:`trackless.residuals`) and a prior covariance
C(h) of the coefficients, b is normal with covariance Q = S + A C A^T, and the posterior of theta has

    mean C A^T Q^-1 b,      covariance C - C A^T Q^-1 A C.

Hyperparameters h minimise (log det Q + b^T Q^-1 b) / 2 plus their own penalty; the gradient is exact. S depends on
theta, so everything is done twice, the second time with the residuals of the first solution.

Bands need more care than estimates. S has to be invertible above and is shrunk, so the covariance that is reported is
that of the estimate G b, G = C A^T Q^-1, under the scatter of the residuals as it is:

    (1 - G A) C (1 - G A)^T + G S_measured G^T.

And data that are just enough for the potentials leave h uncertain: the covariance is the mean over draws of h, from the
normal distribution with the second derivatives at the minimum and weighted by importance, of that for each h and of its
mean's distance from the best mean. Such a mixture has more large deviations than a normal distribution, which bands
that hold everywhere at once must know: some are drawn and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from trackless._errors import InputError
from trackless.basis import Basis, Member, members_of
from trackless.mixtures import Kinds
from trackless.priors import Gradient, Missed, Prior, prior_for
from trackless.residuals import Units, heard_in, pilot, significant

Array = NDArray[np.float64]
ROUNDS = 2
ROUNDING = (1e-14, 1e-12, 1e-10, 1e-8)  # of the sum of all variances, the first that works
NUDGE = 0.03  # change of a hyperparameter for second derivatives
VAGUE = 0.25  # which are at least this: hyperparameters are never taken to be uncertain by more than two e-foldings
DRAWS = 48  # of hyperparameters
DEVIATIONS = 1000  # of the coefficients
WIDEST = 8.0  # hyperparameters stay within so many e-foldings of where they started


@dataclass(frozen=True)
class Posterior:
    """What prior and data say of the coefficients.

    Attributes
    ----------
    coef : (K,)
    covariance : (K, K)
    prior : (K, K)
        Covariance before the data.
    log_evidence : float
        Of the data, at the best hyperparameters.
    effective : float
        How many parameters the data determine.
    hyperparameters : list of (H,)
        For each family that is not left out.
    noise : (K, K)
        S: the covariance of b - A theta.
    heard : (K,) bool
        Equations that were used: of functions that the data reached.
    deviations : (draws, K) or None
        Errors of the coefficients drawn from what is left of the uncertainty.
    missed : tuple of (Missed or None)
        What the functions of each potential cannot show, in the order of :func:`trackless.basis.members_of`.
    freedom : float
        How many independent parts of the data the covariance rests on.
    """

    coef: Array
    covariance: Array
    prior: Array
    log_evidence: float
    effective: float
    hyperparameters: list[Array]
    noise: Array
    heard: NDArray[np.bool_]
    deviations: Array | None = None
    missed: tuple[Missed | None, ...] = ()
    freedom: float = np.inf

    def solved(self, matrix: Array, vector: Array) -> Array:
        """Coefficients (K,) of other equations of the same kind, with the same prior and noise."""
        return self.gain(matrix) @ vector[self.heard]

    def gain(self, matrix: Array) -> Array:
        """The matrix (K, heard) that makes coefficients of the vector of such equations."""
        reached = matrix[self.heard] @ self.prior
        total = reached @ matrix[self.heard].T + self.noise[np.ix_(self.heard, self.heard)]
        return np.asarray(np.linalg.solve(total, reached).T, float)

    def spread(self, matrix: Array, measured: Array) -> Array:
        """Covariance (K, K) of such coefficients, (1 - G A) C (1 - G A)^T + G S G^T, with S as measured (K, K)."""
        heard = self.heard
        return _spread(self.gain(matrix), matrix[heard], self.prior, measured[np.ix_(heard, heard)])


def posterior(
    units: Units,
    families: tuple[Basis | None, Basis | None],
    errors: Callable[[Array], Array] | None = None,
    bands: bool = True,
) -> Posterior:
    """Maximise the evidence and solve.

    Parameters
    ----------
    units : Units
        Normal equations of independent parts of the data.
    families : (Basis or None, Basis or None)
        Of V and Phi.
    errors : callable, optional
        Coefficients (K,) -> estimates (units, K) of systematic errors of b - A theta; what is significant of their mean
        is added to S.
    bands : bool
        Whether the covariance is wanted for bands; without, it is that of the best hyperparameters and the shrunk S.
    """
    if len(units.weights) < 2:
        raise InputError(
            "regularization='evidence' needs at least two runs or time windows, whose scatter is the noise; give a "
            "fixed one (regularization=0.01), or more snapshots"
        )
    matrix, vector = units.mean()
    members = members_of(families)
    heard = heard_in(matrix, [member.part for member in members])
    coef = pilot(matrix, vector, heard)
    priors = priors_of(members, coef, matrix)

    def maximised(coef: Array, start: Array | None) -> tuple[_Problem, Array, Array]:
        noise = units.covariance(coef, heard)
        systematic = significant(errors(coef), noise, heard) if errors is not None else np.zeros_like(noise)
        problem = _Problem(matrix, vector, noise + systematic, heard, priors)
        return problem, problem.maximised(start), systematic

    with threadpool_limits(1, "blas"):  # matrices are small: threads that wait for each other cost a factor of 10
        problem, h, systematic = maximised(coef, None)
        for _ in range(ROUNDS - 1):
            coef = problem.posterior(h).coef
            problem, h, systematic = maximised(coef, h)
        found = problem.posterior(h)
        if not bands:
            return found
        freedom = units.freedom(found.gain(matrix), heard)
        measured = units.scatter(coef, heard) * len(units.weights) / freedom + systematic
        covariance, deviations = problem.averaged(h, measured)
        missed = tuple(prior.missed(own) for prior, own in zip(problem.priors, problem.split(h), strict=True))
        return replace(found, covariance=covariance, deviations=deviations, missed=missed, freedom=freedom)


def priors_of(members: list[Member], coef: Array, matrix: Array) -> list[tuple[slice, Prior]]:
    """The prior of each potential, with hyperparameters of its own, and where its coefficients are."""
    parts = [member.part for member in members]
    return [
        (part, prior_for(member.basis, coef[part], matrix[part, part], trap=member.role == 0))
        for part, member in zip(parts, members, strict=True)
    ]


def log_bayes_factor(
    units: Units,
    families: tuple[Basis | None, Basis | None],
    found: Posterior,
    role: int,
    kinds: Kinds | None = None,
    natural: tuple[float, float] | None = None,
) -> float:
    """Evidence for a potential (V: role 0, Phi: 1) against none, as the logarithm of the Bayes factor.

    The same equations, with the same noise, explained by the other potentials alone. With ``kinds`` the potential in
    question is that of one kind, or of one pair, only.

    The prior of the posterior has the scale of a first solution, which is that of the noise where data are few:
    potentials so large are always ruled out. So the question is also asked of potentials of a ``natural`` size, an
    energy and a distance over which they vary by it, and the better answer counts: there is no word against a
    potential where data could not show one of that size.
    """
    matrix, vector = units.mean()
    members = members_of(families)
    asked = [m for m in members if m.role == role and kinds in (None, m.kinds)]
    others = [m for m in members if m not in asked]
    with threadpool_limits(1, "blas"):
        problem = _Problem(matrix, vector, found.noise, found.heard, priors_of(others, found.coef, matrix))
        prior = problem.covariance(problem.maximised(None)) if others else np.zeros_like(matrix)
        without = problem.log_evidence(prior)
        candidates = [found.log_evidence]
        if natural is not None:
            for part, own in priors_of(asked, found.coef, matrix):
                prior[part, part] = own.of_size(*natural)
            candidates.append(problem.log_evidence(prior))
    return max(candidates) - without


def log_bayes_factor_of_all(units: Units, found: Posterior) -> float:
    """Evidence for all potentials together against none at all."""
    _, vector = units.mean()
    root = np.linalg.cholesky(found.noise[np.ix_(found.heard, found.heard)])
    white = solve_triangular(root, vector[found.heard], lower=True)
    constant = np.log(np.diag(root)).sum() + 0.5 * len(white) * np.log(2 * np.pi)
    return found.log_evidence + float(0.5 * white @ white + constant)


def _spread(gain: Array, matrix: Array, prior: Array, noise: Array) -> Array:
    """Covariance (K, K) of coefficients that ``gain`` (K, E) makes of E equations with such noise (E, E)."""
    smoothed = np.eye(len(prior)) - gain @ matrix
    return smoothed @ prior @ smoothed.T + gain @ noise @ gain.T


def slices_of(families: tuple[Basis | None, Basis | None]) -> dict[int, slice]:
    """Where the coefficients of V (0) and Phi (1) are; a family that is left out is not there."""
    present = {role: family for role, family in enumerate(families) if family is not None}
    ends = np.cumsum([0, *(family.size for family in present.values())]).tolist()
    return {role: slice(a, b) for role, (a, b) in zip(present, pairwise(ends), strict=True)}


class _Problem:
    """The evidence as a function of the hyperparameters, for one S; families without a prior are zero."""

    def __init__(
        self, matrix: Array, vector: Array, noise: Array, heard: NDArray[np.bool_], priors: list[tuple[slice, Prior]]
    ) -> None:  # fmt: skip
        self.noise, self.heard = noise, heard
        self.slices, self.priors = [part for part, _ in priors], [prior for _, prior in priors]
        try:
            self.root: Array = np.asarray(np.linalg.cholesky(noise[np.ix_(heard, heard)]), float)
        except LinAlgError:
            raise InputError(
                "the noise of the equations is not to be had from the scatter of these data: some forces are many "
                "orders larger than others; are particles all but in the same place? Look at the data with tl.inspect "
                "(trackless inspect), or leave close pairs out with exclude_below= (--exclude-below)"
            ) from None
        # equations of unit noise
        self.equations: Array = solve_triangular(self.root, matrix[heard], lower=True)
        self.right: Array = solve_triangular(self.root, vector[heard], lower=True)
        self.constant = float(np.log(np.diag(self.root)).sum() + 0.5 * heard.sum() * np.log(2 * np.pi))

    def split(self, h: Array) -> list[Array]:
        sizes = [len(prior.starts()[0]) for prior in self.priors]
        return np.split(h, np.cumsum(sizes)[:-1])

    def _priors(self, h: Array) -> tuple[Array, list[Gradient]]:
        """C of all families, and the gradients of each."""
        size = self.equations.shape[1]
        total, gradients = np.zeros((size, size)), []
        for prior, part, own in zip(self.priors, self.slices, self.split(h), strict=True):
            total[part, part], gradient = prior.at(own)
            gradients.append(gradient)
        return total, gradients

    def __call__(self, h: Array) -> tuple[float, Array]:
        """Minus the log evidence with the hyperparameters' penalty, and its gradient."""
        covariance, gradients = self._priors(h)
        factor = self._factor(self.equations @ covariance)
        explained = cho_solve(factor, self.right)
        half = solve_triangular(factor[0], self.equations, lower=True)
        pulled = self.equations.T @ explained
        slope = 0.5 * (half.T @ half - np.outer(pulled, pulled))
        gradient = [
            of(slope[part, part]) + prior.penalty(own)[1]
            for of, prior, part, own in zip(gradients, self.priors, self.slices, self.split(h), strict=True)
        ]
        return self._value(h, factor, explained), np.concatenate(gradient)

    def _factor(self, reached: Array) -> tuple[Array, bool]:
        """Q in units of the noise, factorised; a prior far wider than the noise needs a hand to stay positive."""
        total = reached @ self.equations.T
        total = 0.5 * (total + total.T)
        for rounding in ROUNDING:
            try:
                return cho_factor(total + (1.0 + rounding * np.trace(total)) * np.eye(len(total)), lower=True)
            except LinAlgError:
                continue
        raise InputError("the normal equations are too ill-conditioned for this prior; use fewer functions")

    def maximised(self, start: Array | None) -> Array:
        """The best hyperparameters, from ``start`` or from each of the priors' own starts."""
        if start is not None:
            return self._descended(start)
        count = max(len(prior.starts()) for prior in self.priors)
        starts = [np.concatenate([p.starts()[min(k, len(p.starts()) - 1)] for p in self.priors]) for k in range(count)]
        found = [self._descended(s) for s in starts]
        return min(found, key=lambda h: self(h)[0])

    def _descended(self, start: Array) -> Array:
        bounds = [(value - WIDEST, value + WIDEST) for value in start]
        first = self(start)[0]  # counted from here, what remains to be gained does not depend on units

        def loss(h: Array) -> tuple[float, Array]:
            value, gradient = self(h)
            return value - first, gradient

        options = {"maxiter": 200, "ftol": 1e-8, "gtol": 1e-4}
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x

    def averaged(self, best: Array, measured: Array) -> tuple[Array, Array]:
        """Covariance (K, K) of the coefficients around the best ones, whatever the hyperparameters, and draws of them.

        ``measured`` (K, K) is the covariance of b - A theta.
        """
        half_white = solve_triangular(self.root, measured[np.ix_(self.heard, self.heard)], lower=True)
        noise = solve_triangular(self.root, half_white.T, lower=True)
        slope = self(best)[1]
        second = np.stack([self(best + nudge)[1] - slope for nudge in NUDGE * np.eye(len(best))]) / NUDGE
        sizes, directions = np.linalg.eigh(0.5 * (second + second.T))
        generator = np.random.default_rng(0)
        half = generator.normal(size=(DRAWS // 2, len(best)))
        normal = np.concatenate([half, -half])
        draws = best + normal @ (directions / np.sqrt(np.maximum(sizes, VAGUE))).T
        lowest, middle, _ = self._solved(best, noise)
        solved = [self._solved(h, noise) for h in draws]
        # importance: the true density over that which was drawn from, both relative to the best
        logs = np.array([lowest - value for value, _, _ in solved]) + 0.5 * (normal**2).sum(axis=1)
        weights = np.exp(np.minimum(logs - np.median(logs), 1.0))
        weights /= weights.sum()
        total = np.zeros((len(middle), len(middle)))
        deviations = []
        numbers = np.diff(np.round(DEVIATIONS * np.cumsum(weights)), prepend=0.0).astype(int)
        for weight, number, (_, mean, covariance) in zip(weights, numbers, solved, strict=True):
            total += weight * (covariance + np.outer(mean - middle, mean - middle))
            sizes, directions = np.linalg.eigh(covariance)
            root = directions * np.sqrt(np.maximum(sizes, 0.0))
            deviations.append(mean - middle + generator.normal(size=(number, len(middle))) @ root.T)
        return total, np.concatenate(deviations)

    def _solved(self, h: Array, noise: Array) -> tuple[float, Array, Array]:
        """The value, and mean (K,) and covariance (K, K) of the coefficients if the equations' noise is ``noise``."""
        prior, _ = self._priors(h)
        reached = self.equations @ prior
        factor = self._factor(reached)
        gain = cho_solve(factor, reached).T
        covariance = _spread(gain, self.equations, prior, noise)
        return self._value(h, factor, cho_solve(factor, self.right)), gain @ self.right, covariance

    def _value(self, h: Array, factor: tuple[Array, bool], explained: Array) -> float:
        """Minus the log evidence, with the hyperparameters' penalty."""
        penalty = sum(prior.penalty(own)[0] for prior, own in zip(self.priors, self.split(h), strict=True))
        return float(0.5 * self.right @ explained + np.log(np.diag(factor[0])).sum() + self.constant + penalty)

    def covariance(self, h: Array) -> Array:
        """C (K, K) of all families."""
        return self._priors(h)[0]

    def log_evidence(self, covariance: Array) -> float:
        """Of the data, if the coefficients have this covariance (K, K) before them."""
        factor = self._factor(self.equations @ covariance)
        half = 0.5 * float(self.right @ cho_solve(factor, self.right))
        return -half - float(np.log(np.diag(factor[0])).sum()) - self.constant

    def posterior(self, h: Array) -> Posterior:
        """What follows from these hyperparameters."""
        prior, _ = self._priors(h)
        reached = self.equations @ prior
        factor = self._factor(reached)
        mean = reached.T @ cho_solve(factor, self.right)
        explained = cho_solve(factor, reached)
        effective = float((self.equations * explained).sum())
        covariance = prior - reached.T @ explained
        penalties = sum(p.penalty(own)[0] for p, own in zip(self.priors, self.split(h), strict=True))
        evidence = penalties - self(h)[0]
        return Posterior(mean, covariance, prior, evidence, effective, self.split(h), self.noise, self.heard)
