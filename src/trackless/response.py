"""Bias removed by simulation where potentials have few parameters: their equations need not be the only ones.

At coarse intervals the equations of a few functions have lost information that those of other test functions still
have. Residuals s of all of them (b_e - sum_k A_ek theta_k for a test function e) have a mean c(theta) that a simulation
of the fitted model tells. How it responds to the parameters is told by the same simulation, since paths seen at short
intervals give the slope of their own log-likelihood, n (b - A theta) / sigma^2:

    d/dtheta E_theta[s] = Cov(s, n (b - A theta) / sigma^2)                                  (the score method)

so that residuals of the data, linear in theta with the slope J, weighted with the inverse covariance of s, are normal
equations J^T W J again. Everything that weighs comes from the simulation: the noise of the data does not choose the
weights of its own equations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.basis import Basis, RadialFunctions
from trackless.debiasing import FINE, Fitted, Simulated
from trackless.exploration import Exploration, explore
from trackless.intensity import typical_sigma
from trackless.moments import Moments
from trackless.potentials import RadialPotential
from trackless.quadrature import RULES, STRIDES
from trackless.radial_splines import RadialSplines
from trackless.residuals import Units

Array = NDArray[np.float64]
TESTS = (6, 12)  # further test functions of V and Phi
FEW = 8  # functions of a family that is given more test functions
ENOUGH = 100  # simulated runs per test function, so that weights and slopes are well known
GROUPS = 4000  # groups of simulated runs whose scatter is looked at
FLOOR = 1e-8  # directions of s with less than this part of the largest variance are the same equation twice


class Response(NamedTuple):
    """What a simulation tells of E test functions and K parameters."""

    level: Array
    """c (E,): mean of s, less what it is at short intervals"""
    error: Array
    """(E, E): covariance of c"""
    slope: Array
    """J (E, K): how the mean of s at these parameters would grow with the parameters of the simulated model"""
    precision: Array
    """W (E, E): inverse covariance of s, of one run"""


class ManyTests:
    """The data's residuals for more test functions than there are parameters, and what simulations say of them."""

    def __init__(self, simulated: Simulated) -> None:
        moments, data = simulated.moments, simulated.data
        explored = explore(data)
        self.simulated, self.moments = simulated, moments
        self.external = _with_tests(moments.external, explored, 0)
        self.interaction = _with_tests(moments.interaction, explored, 1)
        sizes = [family.size if family is not None else 0 for family in (self.external, self.interaction)]
        k = moments.external_size
        self.own = np.concatenate([np.arange(k), sizes[0] + np.arange(moments.size - k)])
        self.observed = simulated.reduced(data, self.external, self.interaction, moments.blocks)

    @staticmethod
    def possible(simulated: Simulated) -> bool:
        """Whether both families are few radial functions, in free space, and enough runs will be simulated."""
        families = [f for f in (simulated.moments.external, simulated.moments.interaction) if f is not None]
        few = all(isinstance(f, RadialFunctions) and f.size <= FEW for f in families)
        radial = all(isinstance(f.combine(np.ones(f.size)), RadialPotential) for f in families)
        tests = sum(f.size for f in families) + sum(TESTS)
        one_window = simulated.moments.windows == 1
        return few and radial and one_window and simulated.data.box is None and simulated.runs >= ENOUGH * tests

    def response(self, fitted: Fitted, coef: Array) -> Response:
        """Simulate the fitted model (with the coefficients ``coef``) and look at it twice."""
        simulated, paths = self.simulated, self.simulated.paths(fitted)
        groups = min(simulated.runs, GROUPS)
        by_run = simulated.runs / groups
        looks = []
        for seen, rule in ((paths.every(FINE), simulated.quadrature), (paths, "cubic")):
            units = Units.of(simulated.reduced(seen, self.external, self.interaction, groups), fitted.sigma_, rule)
            looks.append((units.vectors - units.matrices[:, :, self.own] @ coef) / units.weights[:, None])
        coarse, fine = looks
        centred = coarse - coarse.mean(axis=0)
        per_run = units.weights.mean() / by_run
        scores = per_run * (fine - fine.mean(axis=0))[:, self.own] / typical_sigma(fitted.sigma_) ** 2
        # at short intervals the mean is zero, but for chance and for what the steps of the simulation get wrong
        missed = coarse - fine
        level = missed.mean(axis=0)
        error = (missed - level).T @ (missed - level) / groups**2
        covariance = by_run * centred.T @ centred / groups
        return Response(level, error, by_run * centred.T @ scores / groups, _inverse(covariance))

    def equations(self, coef: Array, found: Response, sigma: float) -> Moments:
        """Normal equations of the data, linear about ``coef``, in the place of their own."""
        moments = self.observed
        units = Units.of(moments, sigma, self.simulated.quadrature)
        pull = self.pull(found, sigma)
        own = pull @ found.slope
        weights = units.weights
        residuals = units.vectors - units.matrices[:, :, self.own] @ coef - weights[:, None] * found.level
        vectors = residuals @ pull.T + weights[:, None] * (own @ coef)
        rules = (moments.blocks, 1, len(STRIDES), len(RULES))
        size = len(coef)
        per_unit = weights[:, None, None, None]
        return replace(
            self.moments,
            quadratic=np.broadcast_to(per_unit[..., None, None] * own, (*rules, size, size)),
            diffusion=np.broadcast_to(0.0, (*rules, self.moments.parts, size)),
            energy=-vectors[:, None],
            weight=np.broadcast_to(per_unit, rules),
        )

    def pull(self, found: Response, sigma: float) -> Array:
        """(K, E): combinations of test functions, in the units of A."""
        per_run = self.observed.weight[:, 0, 0, 0].sum() / self.observed.runs.sum()
        return sigma**2 / per_run * found.slope.T @ found.precision


def _with_tests(family: Basis | None, explored: Exploration, role: int) -> RadialFunctions | None:
    """A family and further test functions of its role, its own first."""
    if family is None:
        return None
    assert isinstance(family, RadialFunctions)
    name = ("external", "interaction")[role]
    splines = RadialSplines(TESTS[role], flat_center=True, center=family.center).adapted(explored, name)
    about_zero = replace(splines, center=None)
    tests = [about_zero.combine(unit) for unit in np.eye(splines.size)]
    return RadialFunctions(
        [*family.functions, *tests],  # type: ignore[list-item]
        [*family.names, *(f"test {k}" for k in range(len(tests)))],
        family.center,
        family.reach,
    )


def _inverse(covariance: Array) -> Array:
    """Inverse of a covariance, without directions that hardly vary."""
    own = np.sqrt(np.diag(covariance))
    sizes, vectors = np.linalg.eigh(covariance / np.outer(own, own))
    kept = sizes > FLOOR * sizes.max()
    scaled = vectors[:, kept] / own[:, None]
    return (scaled / sizes[kept]) @ scaled.T
