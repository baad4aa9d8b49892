"""Single steps, coarse intervals and an unknown sigma over several data sets."""

import numpy as np
import pytest

import trackless as tl
from trackless.shapes import Exponential, ShiftedForce

pytestmark = pytest.mark.slow
MODEL = tl.models.reference()
ORACLE = (MODEL.external_basis, MODEL.interaction_basis)


def test_errors_of_single_steps_have_no_floor():
    """At dt = 0.1, where an expansion in dt has lost everything: with 16 times the runs a quarter of the errors."""
    z, errors = {}, {}
    for runs in (100, 1600):
        fits = []
        for seed in range(6):
            data = tl.simulate(MODEL, runs=runs, step=0.1, observe_every=0.1, seed=10 * runs + seed)
            fits.append(tl.SelfTest(*ORACLE, sigma=1.0, regularization=0.0, dynamics="discrete").fit(data))
        errors[runs] = np.mean([np.sqrt(np.diag(fit.covariance_)) for fit in fits], axis=0)
        z[runs] = [(fit.coef_ - MODEL.true_coef) / np.sqrt(np.diag(fit.covariance_)) for fit in fits]
    np.testing.assert_allclose(errors[1600], errors[100] / 4, rtol=0.3)
    assert (errors[1600] < [0.08, 0.06, 0.06, 0.12]).all()  # of -0.5, 2, -3 and 2
    for values in z.values():
        assert np.sqrt(np.mean(np.square(values))) < 1.5
        assert np.abs(np.mean(values, axis=0)).max() < 1.6


def test_intervals_of_sigma_cover_it():
    z = {"all": [], "balance": [], "variation": []}
    for seed in range(20):
        data = tl.simulate(MODEL, runs=100, step=1e-3, observe_every=0.01, accurate=True, seed=2000 + seed)
        noise = tl.SelfTest(*ORACLE, quadrature="auto", regularization=1e-9).fit(data).noise_
        z["all"].append((noise.sigma - 1) / noise.error)
        for name in ("balance", "variation"):
            (route,) = getattr(noise, name)
            z[name].append((route.value - 1) / route.error)
    for values in z.values():
        assert np.mean(np.abs(values) < 1.96) >= 0.85
        assert 0.7 < np.sqrt(np.mean(np.square(values))) < 1.3


@pytest.mark.parametrize("make", [tl.models.reference, tl.models.smooth_control])
def test_right_models_pass(make):
    model, passed = make(), []
    for seed in range(8):
        data = tl.simulate(model, runs=200, step=1e-3, observe_every=0.02, accurate=True, seed=300 + seed)
        bases = (tl.RadialSplines(10, follow_data=True), tl.RadialSplines(20, follow_data=True))
        fit = tl.SelfTest(*bases, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)
        passed.append(fit.residual_test(data).passed)
    assert np.mean(passed) > 0.8


def test_removing_bias_does_not_ruin_a_fit_of_many_functions():
    """V and Phi nearly cancel: a correction whose noise does not cancel as the data's does would tear them apart."""
    data = tl.simulate(MODEL, runs=400, step=1e-3, observe_every=0.05, seed=11)
    plain, debiased = (
        tl.gradient_errors(tl.fit(data, sigma=1.0, external="radial", interaction="radial", debias=debias), MODEL, data)
        for debias in (False, True)
    )
    assert plain.external < 0.06
    assert debiased.external < 0.06
    assert debiased.interaction < 1.2 * plain.interaction


def test_few_crowded_runs_that_relax_tell_sigma_and_pass():
    """Runs that start on a lattice: the first guess of sigma is half as large again, and must not confirm itself."""
    walls = [ShiftedForce(Exponential(rate, 1.0), 3.0) for rate in (4.0, 2.0)]
    fluid = tl.Model("Morse", None, tl.RadialFunctions(walls), (3.0, -6.0), sigma=np.sqrt(2.0))
    settings = {"step": 1e-3, "observe_every": 0.01, "box": 22 * np.sqrt(0.2), "coupling": "sum", "accurate": True}
    z = []
    for seed in range(4):
        data = tl.simulate(fluid, particles=100, runs=4, duration=0.99, initial="lattice", seed=seed, **settings)
        fitted = tl.fit(data, external=None, coupling="sum", cutoff=3.0)
        z.append((fitted.noise_.sigma - np.sqrt(2)) / fitted.noise_.error)
        assert fitted.noise_.error < 0.06
        assert fitted.findings_.residual_test.passed
    assert np.sqrt(np.mean(np.square(z))) < 2
