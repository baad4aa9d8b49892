"""Discrete-time data without approximation, and bias removed by simulation."""

import numpy as np
import pytest

import trackless as tl
from trackless.debiasing import Simulated
from trackless.response import ManyTests
from trackless.shapes import Power

MODEL = tl.models.reference()
ORACLE = (MODEL.external_basis, MODEL.interaction_basis)


@pytest.fixture(scope="module")
def steps():
    return tl.simulate(MODEL, runs=300, step=0.05, observe_every=0.05, seed=1)


def test_single_steps_are_understood(steps):
    plain, exact = (
        tl.SelfTest(*ORACLE, sigma=1.0, regularization=0.0, dynamics=dynamics).fit(steps)
        for dynamics in ("continuous", "discrete")
    )
    errors = np.sqrt(np.diag(exact.covariance_))
    z = (exact.coef_ - MODEL.true_coef) / errors
    assert np.abs(z).max() < 3.5
    wrong = np.abs(plain.coef_ - MODEL.true_coef) / np.sqrt(np.diag(plain.covariance_))
    assert wrong.max() > 10
    assert exact.moments_.dynamics == "discrete"
    assert exact.score(steps) == pytest.approx(-exact.loss_, rel=0.1)


def test_sigma_of_steps(steps):
    known, found = (
        tl.SelfTest(*ORACLE, sigma=sigma, regularization=0.0, dynamics="discrete").fit(steps) for sigma in (1.0, None)
    )
    noise = found.noise_
    assert noise.sigma == found.sigma_
    assert abs(noise.sigma - 1) < 3.5 * noise.error < 0.04
    assert noise.error == pytest.approx(1 / np.sqrt(2 * 300 * 20 * 2), rel=0.15)  # that of so many normal numbers
    assert "mean balance" not in noise.sentence
    wider = np.diag(found.covariance_) / np.diag(known.covariance_)
    assert (wider > 0.99).all()
    assert wider.max() > 1.01
    assert np.abs((found.coef_ - MODEL.true_coef) / np.sqrt(np.diag(found.covariance_))).max() < 3.5


def test_errors_of_sigma_reach_the_coefficients_of_steps(steps):
    """sigma_covariance_ is var(sigma^2) times the derivative of the coefficients: that of fits with other sigmas."""
    found = tl.SelfTest(*ORACLE, regularization=0.0, dynamics="discrete").fit(steps)
    variance = found.noise_.variances[0, 0]
    low, high = (
        tl.SelfTest(*ORACLE, sigma=found.sigma_ * part, regularization=0.0, dynamics="discrete").fit(steps).coef_
        for part in (0.98, 1.02)
    )
    slope = (high - low) / (found.sigma_**2 * (1.02**2 - 0.98**2))
    np.testing.assert_allclose(found.sigma_covariance_ / variance, slope, rtol=0.1, atol=0.05 * np.abs(slope).max())


def test_steps_are_tested(steps):
    fit = tl.SelfTest(*ORACLE, sigma=1.0, regularization=0.0, dynamics="discrete").fit(steps)
    assert fit.residual_test(steps).passed
    other = tl.simulate(MODEL, runs=100, step=0.05, observe_every=0.05, seed=2)
    assert fit.residual_test(other, other=True).passed
    smooth = tl.simulate(MODEL, runs=300, step=1e-3, observe_every=0.05, seed=1)
    wrong = tl.SelfTest(*ORACLE, sigma=1.0, regularization=0.0, dynamics="discrete").fit(smooth)
    assert not wrong.residual_test(smooth).passed  # continuous motion is no sequence of such steps
    louder = tl.SelfTest(*ORACLE, sigma=1.1, regularization=0.0, dynamics="discrete").fit(steps)
    assert "sigma is smaller" in louder.residual_test(steps).sentence
    without = tl.SelfTest(ORACLE[0], None, sigma=1.0, regularization=0.0, dynamics="discrete").fit(steps)
    assert not without.residual_test(steps).passed


def test_steps_in_a_box_cannot_tell_sigma():
    free = tl.models.Model("free", None, None, ())
    start = np.random.default_rng(0).uniform(0, 3, (3, 8, 2))
    data = tl.simulate(free, duration=0.02, step=1e-3, observe_every=1e-3, runs=3, initial=start, box=3.0)
    estimator = tl.SelfTest(None, tl.RadialSplines(6, cutoff=1.2), regularization=1e-3, dynamics="discrete")
    with pytest.raises(tl.InputError, match="give sigma"):
        estimator.fit(data)


def test_splines_with_a_prior(steps):
    bases = (tl.RadialSplines(10), tl.RadialSplines(20))
    fit = tl.SelfTest(*bases, sigma=1.0, regularization="evidence", dynamics="discrete").fit(steps)
    errors = tl.gradient_errors(fit, MODEL, steps)
    assert errors.external < 0.12
    assert errors.interaction < 0.2
    r = np.linspace(0.3, 2.0, 30)
    lower, upper = fit.interaction_.band(r, simultaneous=True)
    inside = (lower <= MODEL.interaction.slope(r)) & (MODEL.interaction.slope(r) <= upper)
    assert inside.mean() > 0.9


def test_potentials_that_are_not_radial():
    model = tl.models.anisotropic()
    data = tl.simulate(model, runs=100, step=0.05, observe_every=0.05, seed=1)
    bases = (model.external_basis, model.interaction_basis)
    plain, exact = (
        tl.SelfTest(*bases, sigma=model.sigma, regularization=0.0, dynamics=dynamics).fit(data)
        for dynamics in ("continuous", "discrete")
    )
    z = (exact.coef_ - model.true_coef) / np.sqrt(np.diag(exact.covariance_))
    assert np.abs(z).max() < 3.5
    assert np.abs(plain.coef_ / model.true_coef - 1).max() > np.abs(exact.coef_ / model.true_coef - 1).max()


def test_tensor_splines(steps):
    bases = (tl.TensorSplines(5), tl.RadialSplines(10))
    fit = tl.SelfTest(*bases, sigma=1.0, regularization="evidence", dynamics="discrete").fit(steps[:150])
    x = 0.5 * np.random.default_rng(0).normal(size=(400, 2))
    exact = MODEL.external.gradient(x)
    assert np.sqrt(((fit.external_.gradient(x) - exact) ** 2).mean() / (exact**2).mean()) < 0.35


def test_one_potential_and_one_long_run():
    trap = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,))
    data = tl.simulate(trap, particles=5, runs=1, duration=150.0, step=0.1, observe_every=0.1, seed=2)
    family = tl.RadialFunctions([lambda r: r**2])
    fit = tl.SelfTest(family, None, sigma=1.0, regularization=0.0, dynamics="discrete").fit(data)
    assert abs(fit.coef_[0] - 1) < 3.5 * np.sqrt(fit.covariance_[0, 0])
    assert np.sqrt(fit.covariance_[0, 0]) < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"debias": True}, "have no bias to remove"), ({"resolve": "auto"}, "has no time integrals")],
)
def test_what_does_not_go_together(steps, options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.SelfTest(*ORACLE, sigma=1.0, dynamics="discrete", **options).fit(steps)


def test_uneven_steps_are_refused():
    data = tl.Snapshots(np.random.default_rng(0).normal(size=(4, 5, 3, 2)), [0.0, 0.1, 0.2, 0.4, 0.5])
    with pytest.raises(tl.InputError, match="same interval between all snapshots, got"):
        tl.SelfTest(*ORACLE, sigma=1.0, dynamics="discrete").fit(data)
    with pytest.raises(tl.InputError, match="even intervals"):
        tl.SelfTest(*ORACLE, sigma=1.0, debias=True).fit(data)


def test_moments_hold_no_steps(steps):
    moments = tl.accumulate(steps, *ORACLE)
    for options in ({"dynamics": "discrete"}, {"debias": True}):
        with pytest.raises(tl.InputError, match="goes over the data again"):
            tl.SelfTest(sigma=1.0, **options).fit(moments)


def test_bias_is_removed_by_simulation():
    model = tl.models.smooth_control()
    data = tl.simulate(model, runs=400, step=1e-3, observe_every=0.1, accurate=True, seed=3)
    bases = (model.external_basis, model.interaction_basis)
    plain, debiased = (
        tl.SelfTest(*bases, sigma=1.0, regularization=0.0, debias=debias).fit(data) for debias in (False, True)
    )
    found = debiased.debiasing_
    assert found.converged
    assert 0.01 < found.changed < 0.5
    assert "removed by" in found.sentence
    z = (debiased.coef_ - model.true_coef) / np.sqrt(np.diag(debiased.covariance_))
    assert np.abs(z).max() < 3.5
    before, after = (tl.gradient_errors(fit, model, data).interaction for fit in (plain, debiased))
    assert after < 0.5 * before
    assert (np.diag(debiased.covariance_) > 0.9 * np.diag(plain.covariance_)).all()
    again = tl.SelfTest(*bases, sigma=1.0, regularization=0.0, debias=True).fit(data)
    assert np.array_equal(again.coef_, debiased.coef_)


def test_few_functions_are_given_more_test_functions():
    data = tl.simulate(MODEL, runs=600, step=1e-3, observe_every=0.1, accurate=True, seed=3)
    settings = {"sigma": 1.0, "quadrature": "trapezoid", "regularization": 0.0}
    plain, debiased = (tl.SelfTest(*ORACLE, debias=debias, **settings).fit(data) for debias in (False, True))
    assert debiased.debiasing_.converged
    z = (debiased.coef_ - MODEL.true_coef) / np.sqrt(np.diag(debiased.covariance_))
    assert np.abs(z).max() < 3.5
    # their own equations alone would have larger errors, not smaller ones, once their bias is gone
    assert (np.diag(debiased.covariance_) < np.diag(plain.covariance_)).all()


def test_the_response_to_parameters_is_that_of_other_simulations():
    """Against differences: simulate a stiffer trap with the same random numbers, look with the old coefficient."""
    traps = [tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (c,)) for c in (1.0, 1.1)]
    data = tl.simulate(traps[0], particles=4, runs=2000, step=1e-2, observe_every=0.2, seed=1)
    fits = [tl.SelfTest(traps[0].external_basis, None, sigma=1.0, regularization=0.0).fit(data) for _ in traps]
    for fit, trap in zip(fits, traps, strict=True):
        fit.coef_ = np.array(trap.coefficients)
        fit._set_potentials()
    simulated = Simulated(data, fits[0].moments_, "trapezoid")
    assert ManyTests.possible(simulated)
    tested = ManyTests(simulated)
    here, there = (tested.response(fit, np.array([1.0])) for fit in fits)
    close = tl.accumulate(simulated.paths(fits[0]), tested.external, None, windows=1)
    forces = close.normal_equations(1.0, "cubic").matrix[:, tested.own]
    expected = forces + (there.level - here.level)[:, None] / 0.1
    scale = np.sqrt(np.diag(close.normal_equations(1.0, "cubic").matrix))[:, None]
    np.testing.assert_allclose(here.slope / scale, expected / scale, atol=0.12 * (expected / scale).max())


def test_an_unstable_fit_is_refused():
    generator = np.random.default_rng(0)
    start = 0.3 * generator.normal(size=(40, 1, 6, 2))
    times = np.arange(9) * 0.1
    growing = start * np.exp(0.5 * np.exp(times) - 0.5)[:, None, None]  # faster than any linear force
    data = tl.Snapshots(growing + 0.01 * generator.normal(size=growing.shape), times)
    family = tl.RadialFunctions([Power(2), Power(6)])
    with pytest.raises(tl.InputError, match="debias: the fitted model is unstable"):
        tl.SelfTest(family, None, sigma=0.5, debias=True, regularization=0.0).fit(data)
