"""Priors and evidence against dense formulas and finite differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import trackless as tl
from trackless.accumulation import closed_bases
from trackless.basis import members_of
from trackless.evidence import _Problem, log_bayes_factor, posterior, priors_of
from trackless.nodes import nodes_of
from trackless.priors import BUMP, RadialPrior, ScalePrior, TensorPrior
from trackless.residuals import Units, significant

MODEL = tl.models.reference()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=60, particles=6, step=1e-3, seed=2)


@pytest.fixture(scope="module")
def moments(data):
    return tl.accumulate(data, tl.RadialSplines(8, follow_data=True), tl.RadialSplines(16, follow_data=True))


def every_prior(data):
    radial = closed_bases(data, tl.RadialSplines(8), tl.RadialSplines(12, follow_data=True))
    tensor = closed_bases(data, tl.TensorSplines(5), tl.TensorSplines(6))
    return {
        "radial": RadialPrior(radial[1], 2.0, trap=False),
        "radial trap": RadialPrior(radial[0], 2.0, trap=True),
        "tensor trap": TensorPrior(tensor[0], 2.0, trap=True),
        "tensor, even": TensorPrior(tensor[1], 2.0, trap=False),
        "scale": ScalePrior(np.array([1.0, 3.0, 0.5]), 2.0),
    }


@pytest.mark.parametrize("kind", ["radial", "radial trap", "tensor trap", "tensor, even", "scale"])
def test_gradients_of_priors(data, kind):
    prior = every_prior(data)[kind]
    generator = np.random.default_rng(1)
    h = prior.starts()[0] + 0.3 * generator.normal(size=len(prior.starts()[0]))
    size = len(prior.covariance(h))
    slope = generator.normal(size=(size, size))
    slope = slope + slope.T
    found, penalty = prior.at(h)[1](slope), prior.penalty(h)[1]
    for k in range(len(h)):
        step = np.zeros(len(h))
        step[k] = 1e-5
        change = (slope * (prior.covariance(h + step) - prior.covariance(h - step))).sum() / 2e-5
        assert found[k] == pytest.approx(change, rel=1e-5, abs=1e-6 * np.abs(found).max())
        assert penalty[k] == pytest.approx((prior.penalty(h + step)[0] - prior.penalty(h - step)[0]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("kind", ["radial", "radial trap", "tensor trap", "tensor, even", "scale"])
def test_priors_are_covariances(data, kind):
    prior = every_prior(data)[kind]
    for h in prior.starts():
        covariance = prior.covariance(h)
        np.testing.assert_allclose(covariance, covariance.T, atol=1e-9 * np.abs(covariance).max())
        assert np.linalg.eigvalsh(covariance).min() > -1e-8 * np.abs(covariance).max()


def test_a_radial_prior_of_constant_size_is_a_matern_process(data):
    """Smoothness 7/2: (1 + u + 2 u^2/5 + u^3/15) exp(-u), far from the ends."""
    basis = closed_bases(data, None, tl.RadialSplines(40))[1]
    prior, r = RadialPrior(basis, 1.0, trap=False), nodes_of(basis).points[:, 0]
    h = np.append(np.full(len(prior.starts()[0]) - 1, np.log(1.7)), np.log(0.1 * np.ptp(r)))
    u = np.abs(r[:, None] - r) / np.exp(h[-1])
    matern = 1.7**2 * (1 + u + 0.4 * u**2 + u**3 / 15) * np.exp(-u)
    slopes = np.stack([basis.combine(one).slope(r) for one in np.eye(basis.size)], axis=1)
    expected = slopes @ nodes_of(basis).coefficients
    size = 1.7**2 / np.exp(2 * h[-1])
    found = slopes @ prior.covariance(h) @ slopes.T
    np.testing.assert_allclose(found, expected @ matern @ expected.T, atol=0.05 * size)
    grid = np.linspace(-40, 40, 100_001)
    assert ((1 + np.abs(grid)) ** 2 * np.exp(-2 * np.abs(grid))).sum() * (grid[1] - grid[0]) == pytest.approx(BUMP)


def test_what_splines_cannot_show(data):
    """Potentials drawn from the prior, less the spline with their coefficients, scatter as the prior says."""
    basis = closed_bases(data, None, tl.RadialSplines(12))[1]
    prior, generator = RadialPrior(basis, 1.0, trap=False), np.random.default_rng(0)
    edges = np.unique(basis.spline_parts()[0])
    for length in (0.03, 0.1, 0.4):
        h = np.append(np.linspace(0, 1, len(prior.starts()[0]) - 1), np.log(length * prior.range))
        missed = prior.missed(h)
        amplitude = np.exp(prior.hats @ h[:-1]) * np.sqrt(prior.spacing / BUMP / np.exp(h[-1]))
        noise = amplitude * generator.normal(size=(400, len(prior.centers)))

        def bumps(r, h=h):
            u = np.abs(r[:, None] - prior.centers) / np.exp(h[-1])
            return (1 + u) * np.exp(-u)

        splines = [basis.combine(coef) for coef in noise @ (prior.coefficients @ bumps(prior.r)).T]
        for k in (1, 5, 8):
            r = np.linspace(edges[k], edges[k + 1], 30)
            slopes = (noise @ (bumps(r + 1e-6) - bumps(r - 1e-6)).T) / 2e-6
            rest = slopes - np.array([spline.slope(r) for spline in splines])
            assert missed.slope[k] == pytest.approx(np.sqrt((rest**2).mean()), rel=0.25)
        assert missed.variance(missed.places, "slope") == pytest.approx(missed.slope**2)
    assert (missed.slope < 0.1 * np.exp(1) / np.exp(h[-1])).all()  # long lengths leave next to nothing


def test_the_posterior_is_that_of_a_gaussian(moments):
    units, families = Units.of(moments, 1.0, "trapezoid"), (moments.external, moments.interaction)
    found = posterior(units, families)
    matrix, vector = (part[found.heard] for part in units.mean())
    noise = found.noise[np.ix_(found.heard, found.heard)]
    total = noise + matrix @ found.prior @ matrix.T
    gain = found.prior @ matrix.T @ np.linalg.inv(total)
    scale = np.abs(found.coef).max()
    np.testing.assert_allclose(found.coef, gain @ vector, atol=1e-5 * scale)
    np.testing.assert_allclose(found.solved(*units.mean()), found.coef, atol=1e-5 * scale)
    assert found.log_evidence == pytest.approx(multivariate_normal.logpdf(vector, cov=total), rel=1e-4)
    assert found.effective == pytest.approx(np.trace(gain @ matrix), rel=1e-3)
    assert 3 < found.effective < len(vector)


def problem_of(moments):
    units, families = Units.of(moments, 1.0, "trapezoid"), (moments.external, moments.interaction)
    found = posterior(units, families)
    matrix, vector = units.mean()
    priors = priors_of(members_of(families), found.coef, matrix)
    return _Problem(matrix, vector, found.noise, found.heard, priors), found


def test_the_covariance_of_one_prior_is_the_posteriors(moments):
    """If the noise is the one that was assumed, (1 - G A) C (1 - G A)^T + G S G^T = C - C A^T Q^-1 A C."""
    problem, found = problem_of(moments)
    best = np.concatenate(found.hyperparameters)
    exact = problem.posterior(best)
    _, mean, covariance = problem._solved(best, np.eye(len(problem.right)))
    np.testing.assert_allclose(covariance, exact.covariance, atol=1e-5 * np.abs(exact.covariance).max())
    np.testing.assert_allclose(mean, exact.coef, atol=1e-5 * np.abs(exact.coef).max())


def test_uncertain_hyperparameters_make_wider_bands(moments):
    problem, found = problem_of(moments)
    best = np.concatenate(found.hyperparameters)
    noise = np.zeros((len(found.coef),) * 2)
    part = np.ix_(found.heard, found.heard)
    noise[part] = found.noise[part]
    wider, deviations = problem.averaged(best, noise)
    narrow = problem.posterior(best).covariance
    drawn = np.mean(deviations**2, axis=0)  # of the same mixture
    np.testing.assert_allclose(drawn.sum(), np.trace(wider), rtol=0.15)
    np.testing.assert_allclose(wider, wider.T, atol=1e-10 * np.abs(wider).max())
    assert np.trace(wider) > 1.02 * np.trace(narrow)


def test_hyperparameters_are_at_a_maximum(moments):
    problem, found = problem_of(moments)
    best = np.concatenate(found.hyperparameters)
    generator = np.random.default_rng(0)
    for _ in range(10):
        assert problem(best)[0] < problem(best + 0.3 * generator.normal(size=len(best)))[0]
    value, gradient = problem(best + 0.1)
    step = np.zeros(len(best))
    step[-1] = 1e-5
    change = (problem(best + 0.1 + step)[0] - problem(best + 0.1 - step)[0]) / 2e-5
    assert gradient[-1] == pytest.approx(change, rel=1e-4)
    assert np.isfinite(value)


def test_bayes_factors_see_what_is_there(moments):
    units, families = Units.of(moments, 1.0, "trapezoid"), (moments.external, moments.interaction)
    found = posterior(units, families)
    assert log_bayes_factor(units, families, found, 0) > 10
    assert log_bayes_factor(units, families, found, 1) > 10


def test_without_an_interaction_none_is_seen():
    trap = tl.Model("trap", MODEL.external_basis, None, (-0.5, 2.0))
    data = tl.simulate(trap, runs=80, particles=5, step=1e-3, accurate=True, seed=4)
    fitted = tl.SelfTest(
        tl.RadialSplines(8, follow_data=True), tl.RadialSplines(16, follow_data=True), sigma=1.0,
        regularization="evidence",
    ).fit(data)  # fmt: skip
    families = (fitted.external_basis_, fitted.interaction_basis_)
    assert log_bayes_factor(fitted._units(fitted.moments_), families, fitted.posterior_, 1) < 3
    alone = tl.SelfTest(tl.RadialSplines(8, follow_data=True), None, sigma=1.0, regularization="evidence").fit(data)
    units = alone._units(alone.moments_)
    assert log_bayes_factor(units, (alone.external_basis_, None), alone.posterior_, 0) > 10
    r = np.linspace(*fitted.explored_[1], 30)
    lower, upper = fitted.interaction_.band(r)
    assert ((lower < 0) & (upper > 0)).mean() > 0.9


def test_there_is_no_word_against_what_could_not_be_seen():
    """A trap that varies by kT moves one particle for a tenth of a second by less than its noise does."""
    short = tl.simulate(MODEL, runs=2, particles=1, duration=0.1, step=1e-3, accurate=True, seed=2)
    fitted = tl.SelfTest(tl.RadialSplines(8), None, sigma=1.0, regularization="evidence").fit(short)
    units, families = fitted._units(fitted.moments_), (fitted.external_basis_, None)
    natural = (0.5, float(np.ptp(fitted.explored_[0])))
    assert log_bayes_factor(units, families, fitted.posterior_, 0) < -3  # against traps as large as the noise
    assert abs(log_bayes_factor(units, families, fitted.posterior_, 0, natural=natural)) < 0.4
    assert log_bayes_factor(units, families, fitted.posterior_, 0, natural=(1e3, 1.0)) < -3


@pytest.mark.parametrize("family", [tl.RadialSplines(8), tl.TensorSplines(5), tl.GaussianRBF(6)])
def test_potentials_of_a_size_vary_by_it(family):
    data = tl.simulate(MODEL, runs=40, step=1e-3, seed=2)
    fitted = tl.SelfTest(family, None, sigma=1.0, regularization="evidence").fit(data)
    basis, matrix = fitted.external_basis_, fitted._units(fitted.moments_).mean()[0]
    ((_, prior),) = priors_of(members_of((basis, None)), fitted.coef_, matrix)
    covariance = prior.of_size(0.5, 2.0)
    np.testing.assert_allclose(prior.of_size(1.0, 2.0), 4 * covariance, rtol=1e-9)
    np.testing.assert_allclose(prior.of_size(0.5, 2.0), covariance)
    sizes, directions = np.linalg.eigh(covariance)
    drawn = np.random.default_rng(0).normal(size=(200, basis.size)) @ (directions * np.sqrt(np.maximum(sizes, 0))).T
    x = data.positions[::10, -1].reshape(-1, 2)
    spread = np.sqrt(np.mean([basis.combine(coef)(x).var() for coef in drawn]))
    assert 0.1 < spread / 0.5 < 1.5


def test_particles_all_but_in_the_same_place_are_no_traceback():
    data = tl.simulate(MODEL, runs=30, step=1e-3, duration=0.2, seed=3)
    close = data.positions.copy()
    close[:, :, 1] = close[:, :, 0] + 1e-13
    with pytest.raises(tl.InputError, match=r"many orders larger than others; are particles all but in the same place"):
        tl.fit(tl.Snapshots(close, data.times), sigma=1.0)


def test_systematic_errors_count_where_they_are_more_than_chance():
    generator = np.random.default_rng(0)
    noise, heard = np.diag([1.0, 4.0, 1.0]), np.array([True, True, False])
    chance = generator.normal(size=(1000, 3))
    assert np.abs(significant(chance - chance.mean(axis=0), noise, heard)).max() == 0
    added = significant(chance - chance.mean(axis=0) + [3.0, -1.0, 5.0], noise, heard)
    np.testing.assert_allclose(added[:2, :2], [[9.0, -3.0], [-3.0, 1.0]], rtol=0.01)
    assert not added[2].any()


def test_evidence_needs_a_scatter(data):
    one = tl.accumulate(data[:1], tl.RadialSplines(6), None, windows=1)
    with pytest.raises(tl.InputError, match="at least two runs or time windows"):
        tl.SelfTest(sigma=1.0, regularization="evidence").fit(one)


def test_one_run_in_time_windows_is_enough(data):
    fitted = tl.SelfTest(tl.RadialSplines(6), tl.RadialSplines(8), sigma=1.0, regularization="evidence").fit(data[:1])
    assert np.isfinite(fitted.coef_).all()
    lower, upper = fitted.external_.band(np.linspace(*fitted.explored_[0], 5))
    assert (lower < upper).all()
