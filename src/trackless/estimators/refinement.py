"""Going over the data again with what a first fit has learnt: sigma, single steps, bias, and tests of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.balance import BLOCKS, balance
from trackless.debiasing import INSIDE, ROUNDS, Debiasing, Simulated, debiased, relative_change
from trackless.discrepancies import Learnt
from trackless.goodness import ResidualTest, residual_test
from trackless.intensity import is_per_direction, single_sigma, typical_sigma
from trackless.moments import Moments
from trackless.noise import NoiseLevel, affine, noise_level, noise_of_steps, slope_in_variance
from trackless.noise_of_waves import noise_of_waves, seen_by_waves
from trackless.pieces import usual_length
from trackless.residuals import Adjustment
from trackless.response import ManyTests
from trackless.snapshots import Snapshots
from trackless.transitions import Transitions, balance_of_steps

if TYPE_CHECKING:
    from trackless.estimators.self_test import SelfTest

Array = NDArray[np.float64]
SIGMA_ROUNDS = 3
FEWEST_TIMES = 3  # of a run: integrals over every snapshot and over every second one can be compared
SETTLED = 0.03  # a relative change of sigma that does not change what the data say of it
SAME_SIGMA = 1e-3
NEWTON = 12  # steps at most
ROUGH = 2  # of which the first measure how rough test energies are
STILL = 0.05  # standard errors
STREAM = 20_261_116  # random numbers of simulations that remove bias: none that a user's seed would give


def find_sigma(fit: SelfTest, snapshots: Snapshots) -> None:
    """sigma from the data, with forces of a first fit; and the fit with that sigma."""
    seen = fit.moments_.observation
    if seen_by_waves(snapshots, seen):
        found = noise_of_waves(snapshots, seen, is_per_direction(fit.sigma), fit.moments_.size)
        use_noise(fit, found, slope_in_variance(fit.moments_, fit.quadrature))
        return
    for _ in range(SIGMA_ROUNDS):
        guess = fit.sigma_
        learnt, cuts = learnt_for_tests(fit)
        sets = affine(fit.moments_, learnt.gain, fit.quadrature)
        families = (fit.external_basis_, fit.interaction_basis_)
        settings = (fit.coupling, fit.quadrature, cuts, is_per_direction(fit.sigma))
        found = balance(snapshots, *families, sets, *settings)
        noise = noise_level(found, learnt, guess, fit.quadrature)
        use_noise(fit, noise, slope_in_variance(fit.moments_, fit.quadrature))
        if not noise.known or (np.abs(np.divide(noise.sigma, guess) - 1) < SETTLED).all():
            break


def use_noise(fit: SelfTest, noise: NoiseLevel, slope: Array) -> None:
    """The fit with a sigma that was found; ``slope`` (parts, K) is how b depends on sigma^2."""
    fit.noise_, fit.sigma_ = noise, noise.sigma
    fit.adjustment_ = noise.adjustment(slope)
    fit._learn(fit.moments_)
    joint = noise.covariance_with_b(slope) @ learnt_for_tests(fit)[0].gain.T
    fit.sigma_covariance_ = joint if is_per_direction(fit.sigma) else joint[0]


def fit_steps(fit: SelfTest, snapshots: Snapshots) -> None:
    """The equations of single steps; sigma, if it is not known, from what they leave over."""
    continuous = fit.moments_
    steps = _newton(fit, snapshots, continuous)
    if fit.sigma is not None:
        return
    found = noise_of_steps(balance_of_steps(snapshots, continuous, fit.coef_), steps.sigma)
    for _ in range(SIGMA_ROUNDS):
        if abs(typical_sigma(found.sigma) / steps.sigma - 1) < SAME_SIGMA:
            break
        fit.sigma_ = found.sigma
        steps = _newton(fit, snapshots, continuous)
        found = noise_of_steps(balance_of_steps(snapshots, continuous, fit.coef_), steps.sigma)
    use_noise(fit, found, steps.slope_in_variance(fit.coef_)[None])


def _newton(fit: SelfTest, snapshots: Snapshots, continuous: Moments) -> Transitions:
    """Gauss-Newton on the equations of single steps, from the coefficients there are."""
    steps = Transitions(snapshots, continuous, single_sigma(fit.sigma_, "dynamics='discrete'"))
    coef = fit.coef_
    for step in range(NEWTON):
        if step < ROUGH:
            steps.measure_roughness(coef)
        fit._learn(steps.linearised(coef))
        moved, coef = fit.coef_ - coef, fit.coef_
        if _in_errors(fit, moved) < STILL and step >= ROUGH:
            break
    return steps


def _in_errors(fit: SelfTest, moved: Array) -> float:
    """A change of the coefficients, in standard errors of the whole."""
    matrix = fit._units(fit.moments_).mean()[0]
    total = fit.moments_.weight[:, :, 0, 0].sum()
    return float(np.sqrt(max(moved @ matrix @ moved, 0.0) * total) / max(typical_sigma(fit.sigma_), 1e-300))


def remove_bias(fit: SelfTest, snapshots: Snapshots) -> None:
    """The fit with what simulations of it say of the equations' bias taken off."""
    simulated = Simulated(snapshots, fit.moments_, fit.quadrature, STREAM)
    if ManyTests.possible(simulated):
        _remove_bias_of_few(fit, simulated)
        return
    earlier = fit.adjustment_
    noise = fit._units(fit.moments_).scatter(fit.coef_, np.ones(len(fit.coef_), dtype=bool))
    known = earlier.covariance if earlier is not None else np.zeros_like(noise)

    def solved(correction: Array, covariance: Array) -> tuple[Array, SelfTest]:
        fit.adjustment_ = Adjustment(correction, known + covariance)
        fit._learn(fit.moments_)
        return fit.coef_, fit

    fit.debiasing_ = debiased(simulated, noise, solved)
    fit.adjustment_ = Adjustment(fit.debiasing_.correction, known + fit.debiasing_.covariance)
    fit._learn(fit.moments_)


def _remove_bias_of_few(fit: SelfTest, simulated: Simulated) -> None:
    """The same with more test functions than parameters, by Newton's method on their simulated means."""
    tested, first, matrix = ManyTests(simulated), fit.coef_, simulated.matrix
    sigma = typical_sigma(fit.sigma_)
    earlier = fit.adjustment_.covariance if fit.adjustment_ is not None else np.zeros_like(matrix)
    for round_ in _progress.track(range(ROUNDS), "removing bias", ROUNDS):
        coef = fit.coef_
        found = tested.response(fit, coef)
        moments = tested.equations(coef, found, sigma)
        pull = tested.pull(found, sigma)
        # an error of sigma moves the coefficients, not the equations
        carried = pull @ found.slope @ np.linalg.inv(matrix)
        noise = pull @ found.error @ pull.T
        fit.adjustment_ = Adjustment(np.zeros(len(coef)), carried @ earlier @ carried.T + noise)
        fit._learn(moments)
        converged = _in_errors(fit, fit.coef_ - coef) < INSIDE * np.sqrt(len(coef))
        changed = relative_change(matrix, first, fit.coef_)
        fit.debiasing_ = Debiasing(pull @ found.level, noise, round_ + 1, simulated.runs, changed, converged)
        if converged:
            break


def learnt_for_tests(fit: SelfTest) -> tuple[Learnt, NDArray[np.int64]]:
    """The fit as tests of it need it, and the blocks of runs that it is told for."""
    moments, units, found = fit.moments_, fit._units(fit.moments_), fit.posterior_
    matrix, _ = units.mean()
    size, total = len(fit.coef_), float(units.weights.sum())
    gain, smoothed = np.zeros((size, size)), np.zeros((size, size))
    # the noise of motion, as if it were the same in all directions, unless snapshots are known to add to it
    noise = float(np.mean(np.square(fit.sigma_))) * total * matrix
    if found is not None:
        gain[:, found.heard] = found.gain(matrix)
        lost = np.eye(size) - gain @ matrix
        smoothed = lost @ found.prior @ lost.T
        noise = total**2 * found.noise
    else:
        gain = np.asarray(np.linalg.inv(matrix + fit.ridge_matrix()), float)
    residuals = (units.vectors - units.matrices @ fit.coef_).reshape(moments.blocks, moments.windows, size)
    kept = np.linspace(0, moments.blocks, min(moments.blocks, BLOCKS) + 1).round().astype(np.int64)
    cuts = np.concatenate([[0], np.cumsum(moments.runs)])[kept]
    by_block = np.add.reduceat(residuals.sum(axis=1), kept[:-1])
    coarser = np.zeros(size)
    if fit.dynamics == "continuous" and fit.debiasing_ is None:  # otherwise time integrals have no errors left
        coarser = total * moments.stride_differences(fit.coef_, fit.sigma_, fit.quadrature).mean(axis=0)
    return Learnt(gain, by_block, total, noise, smoothed, coarser), cuts


def tested(fit: SelfTest, snapshots: Snapshots, other: bool) -> ResidualTest:
    """The residual test of a fit on its own data, or on others."""
    if not np.all(np.greater(fit.sigma_, 0)):
        raise InputError(f"residual_test: sigma = {fit.sigma_}: without noise there is no chance to test against")
    if not fit.moments_.observation.complete:
        raise InputError("residual_test: made for particles that are all seen, where they are; there is an observation")
    learnt, cuts = learnt_for_tests(fit)
    if not other and snapshots.runs != cuts[-1]:
        raise InputError(
            f"residual_test: the fit is of {cuts[-1]} runs, these data have {snapshots.runs}; if they are not "
            "those of the fit, say other=True"
        )
    if other and fit.dynamics == "continuous" and usual_length(snapshots) < FEWEST_TIMES:
        raise InputError(
            f"residual_test: other data need runs of {FEWEST_TIMES} snapshots at least, which show how wrong integrals "
            f"over time are; these have {usual_length(snapshots)}"
        )
    blocks = None if other else cuts
    if fit.dynamics == "discrete":
        found = balance_of_steps(snapshots, fit.moments_, fit.coef_, blocks)
    else:
        families, per_direction = (fit.external_basis_, fit.interaction_basis_), is_per_direction(fit.sigma)
        settings = (fit.coef_[None], fit.coupling, fit.quadrature, blocks, per_direction)
        found = balance(snapshots, *families, *settings)
    if other:  # the fit took nothing from them, but has errors of its own
        nothing = np.zeros((found.blocks, len(fit.coef_)))
        errors = fit.covariance_ if fit.covariance_ is not None else 0 * learnt.smoothed
        learnt = replace(learnt, gain=0 * learnt.gain, residuals=nothing, smoothed=errors, coarser=0 * learnt.coarser)
    noise = fit.noise_
    error = noise.error if noise is not None and noise.known else tuple(0.0 * np.atleast_1d(fit.sigma_))
    return residual_test(found, learnt, fit.sigma_, error, snapshots, fit.quadrature)
