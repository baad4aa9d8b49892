"""sigma from the data, and whether the model is right at all."""

import numpy as np
import pytest

import trackless as tl
from trackless.fluctuations import Route, first_guess
from trackless.shapes import Power

MODEL = tl.models.smooth_control()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=150, step=1e-3, accurate=True, seed=1)


def fitted(snapshots, **options):
    bases = (MODEL.external_basis, MODEL.interaction_basis)
    settings = {"sigma": None, "quadrature": "auto", "regularization": 1e-9} | options
    return tl.SelfTest(*bases, **settings).fit(snapshots)


def test_sigma_is_found_by_both_routes(data):
    fit = fitted(data)
    noise = fit.noise_
    assert noise.known
    assert noise.balance[0].known
    assert noise.variation[0].known
    for route in (*noise.balance, *noise.variation):
        assert abs(route.value - 1) < 3.5 * route.error
    assert noise.error < 0.01
    assert fit.sigma_ == noise.sigma
    assert noise.p_value > 0.001
    assert "mean balance" in noise.sentence
    assert "quadratic variation" in noise.sentence


def test_units_are_the_users(data):
    scaled = tl.Snapshots(data.positions * 1e-6, data.times * 60.0)
    ours, theirs = first_guess(data, "mean"), first_guess(scaled, "mean")
    assert theirs == pytest.approx(ours * 1e-6 / np.sqrt(60.0))
    bases = (tl.RadialSplines(8), tl.RadialSplines(10))
    fits = [tl.SelfTest(*bases, quadrature="auto", regularization="evidence").fit(d) for d in (data, scaled)]
    assert fits[1].noise_.sigma == pytest.approx(fits[0].noise_.sigma * 1e-6 / np.sqrt(60.0), rel=1e-3)
    assert fits[1].noise_.error == pytest.approx(fits[0].noise_.error * 1e-6 / np.sqrt(60.0), rel=0.05)
    tests = [fit.residual_test(d) for fit, d in zip(fits, (data, scaled), strict=True)]
    assert tests[1].p_value == pytest.approx(tests[0].p_value, rel=0.1)


def test_an_estimated_sigma_widens_what_depends_on_it(data):
    known, unknown = (fitted(data, sigma=sigma) for sigma in (1.0, None))
    wider = np.diag(unknown.covariance_) / np.diag(known.covariance_)
    assert wider.max() > 1.0005
    assert (wider > 0.95).all()
    assert unknown.adjustment_ is not None
    variances = np.diag(unknown.covariance_) * (2 * unknown.noise_.sigma * unknown.noise_.error) ** 2
    assert (unknown.sigma_covariance_**2 < variances).all()
    assert known.sigma_covariance_ is None
    assert known.adjustment_ is None


def test_in_equilibrium_only_fluctuations_tell():
    trap = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,), sigma=0.7)
    start = np.sqrt(0.7**2 / 4) * np.random.default_rng(0).normal(size=(300, 10, 2))
    data = tl.simulate(trap, initial=start, step=1e-3, accurate=True, seed=3)
    fit = tl.SelfTest(tl.RadialSplines(6), None, quadrature="auto", regularization="evidence").fit(data)
    assert not fit.noise_.balance[0].known
    assert abs(fit.noise_.sigma / 0.7 - 1) < 0.015
    assert "mean balance: cannot know it" in fit.noise_.sentence


def test_two_snapshots_per_run_are_enough_for_a_number():
    data = tl.simulate(MODEL, runs=300, duration=0.02, step=1e-3, observe_every=0.02, accurate=True)
    assert 0.8 < fitted(data).sigma_ < 1.2


def test_one_long_run():
    data = tl.simulate(MODEL, runs=1, duration=30.0, step=1e-3, accurate=True, seed=5)
    noise = fitted(data).noise_
    assert abs(noise.sigma - 1) < 4 * noise.error < 0.15


def test_an_unknown_sigma_is_said():
    route = Route(1.0, 0.5)
    assert not route.known
    nothing = np.zeros((1, 1)), np.zeros((1, 2))
    noise = tl.noise.NoiseLevel(np.sqrt(2), np.nan, (route,), (route,), np.nan, False, *nothing)
    assert "units of sigma^2/2" in noise.sentence
    assert noise.adjustment(np.ones((1, 2))) is None


def test_moments_cannot_tell_sigma(data):
    moments = tl.accumulate(data, MODEL.external_basis, MODEL.interaction_basis)
    with pytest.raises(tl.InputError, match="sigma=None goes over the data again"):
        tl.SelfTest().fit(moments)


def test_nothing_moves():
    with pytest.raises(tl.InputError, match="nothing moves"):
        tl.SelfTest(tl.RadialSplines(5)).fit(
            tl.Snapshots(np.ones((3, 5, 4, 2)) * np.arange(4)[:, None], np.arange(5.0))
        )


def test_what_was_found_is_saved(data, tmp_path):
    fit = fitted(data)
    fit.save(tmp_path / "fit.trackless")
    back = tl.load(tmp_path / "fit.trackless")
    assert back.noise_.sentence == fit.noise_.sentence
    assert np.array_equal(back.adjustment_.covariance, fit.adjustment_.covariance)


def test_a_right_model_passes(data):
    test = fitted(data, sigma=1.0).residual_test(data)
    assert test.passed
    assert "passes" in test.sentence
    assert test.degrees > 30
    other = tl.simulate(MODEL, runs=100, step=1e-3, accurate=True, seed=9)
    assert fitted(data, sigma=1.0).residual_test(other, other=True).passed
    with pytest.raises(tl.InputError, match="say other=True"):
        fitted(data, sigma=1.0).residual_test(other)


def test_without_noise_there_is_no_test(data):
    fit = fitted(data, sigma=0.0)
    with pytest.raises(tl.InputError, match="without noise"):
        fit.residual_test(data)
    assert tl.fit(data[:20], sigma=0.0, external="radial", interaction="radial").findings_.residual_test is None


def test_an_error_of_sigma_does_not_shrink_the_forces():
    """A sigma known to a few per cent is an uncertain scale of all forces, which a prior must not be asked about."""
    model = tl.models.reference()
    coarse = tl.simulate(model, runs=100, step=1e-3, duration=2.0, observe_every=0.05, seed=802)
    bases = (tl.RadialSplines(12, follow_data=True), tl.RadialSplines(40, follow_data=True))
    settings = {"quadrature": "auto", "regularization": "evidence"}
    found = tl.SelfTest(*bases, **settings).fit(coarse)
    assert found.noise_.error > 0.02
    given = tl.SelfTest(*bases, sigma=found.sigma_, **settings).fit(coarse)
    r = np.linspace(0.4, 1.6, 40)
    ours, theirs = found.interaction_.slope(r), given.interaction_.slope(r)
    assert abs(ours @ theirs / (theirs @ theirs) - 1) < 0.03
    assert (
        found.interaction_.uncertainty.deviation(r, "slope").mean()
        > given.interaction_.uncertainty.deviation(r, "slope").mean()
    )


def test_candidates_are_compared_with_a_known_sigma(data):
    with pytest.raises(tl.InputError, match="known sigma"):
        tl.compare(data, {"a": tl.SelfTest(tl.RadialSplines(5)), "b": tl.SelfTest(tl.RadialSplines(6))})


@pytest.mark.parametrize("sigma", [0.9, 1.1])
def test_a_wrong_sigma_fails(data, sigma):
    test = fitted(data, sigma=sigma).residual_test(data)
    assert not test.passed
    assert "sigma is larger" in test.sentence if sigma < 1 else "sigma is smaller" in test.sentence


def test_a_missing_interaction_fails(data):
    fit = tl.SelfTest(tl.RadialSplines(8), None, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)
    assert not fit.residual_test(data).passed


def inertial(runs=80, friction=5.0, seed=0):
    """Langevin motion with mass in a trap: velocities relax in 1 / friction."""
    generator = np.random.default_rng(seed)
    x = 0.5 * generator.normal(size=(runs, 10, 2))
    v = np.sqrt(0.5 * friction) * generator.normal(size=x.shape)
    frames = [x.copy()]
    for step in range(1, 601):
        v += 1e-3 * friction * (-4 * x - v) + friction * np.sqrt(1e-3) * generator.normal(size=x.shape)
        x += 1e-3 * v
        if step % 10 == 0:
            frames.append(x.copy())
    return tl.Snapshots(np.stack(frames, axis=1), np.arange(61) * 0.01)


def test_inertia_fails():
    data = inertial()
    fit = tl.SelfTest(tl.RadialSplines(6), None, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)
    test = fit.residual_test(data)
    assert not test.passed
    assert "inertia" in test.sentence


def test_a_moving_source_fails():
    steady = tl.simulate(MODEL, runs=100, step=1e-3, accurate=True, seed=2)
    moved = steady.positions + np.linspace(0, 0.5, len(steady.times))[:, None, None] * [1.0, 0.0]
    data = tl.Snapshots(moved, steady.times)
    fit = tl.SelfTest(tl.RadialSplines(8), tl.RadialSplines(10), sigma=1.0, quadrature="auto").fit(data)
    test = fit.residual_test(data)
    assert not test.passed
    assert "energies do not change" in test.sentence


def test_few_runs_of_a_trap_that_moves_fail():
    """150 runs cannot judge 64 directions at once, but they can judge what all windows have in common."""
    generator = np.random.default_rng(0)
    x = 0.5 * generator.normal(size=(150, 10, 2))
    frames = [x]
    for step in range(1, 501):
        x = x - 2e-3 * 4 * (x - [0.5 * 2e-3 * step, 0.0]) + np.sqrt(2e-3) * generator.normal(size=x.shape)
        if step % 10 == 0:
            frames.append(x)
    data = tl.Snapshots(np.stack(frames, axis=1), np.arange(51) * 0.02)
    fit = tl.SelfTest(tl.RadialSplines(8), None, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)
    test = fit.residual_test(data)
    assert test.p_value < 1e-6
    assert test.statistic > 3 * test.expected
    assert "most of all x1" in test.sentence


def test_a_growing_population_fails():
    generator = np.random.default_rng(0)
    paths = tl.simulate(MODEL, runs=30, step=1e-3, particles=20, accurate=True, seed=2).positions
    runs = [[frame[: 10 + generator.binomial(10, t / 100)] for t, frame in enumerate(run)] for run in paths]
    data = tl.Snapshots(runs, [np.arange(101) * 0.01] * 30)
    fit = tl.SelfTest(tl.RadialSplines(6), None, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)
    test = fit.residual_test(data)
    assert not test.passed
    assert "number of particles grows" in test.sentence


def test_sigma_is_not_claimed_where_snapshots_forget_each_other():
    """At ten relaxation times apart nothing tells sigma: it was 14.11 +- 0.11 once, for 1."""
    model = tl.models.reference()
    for seed in (1, 2):
        data = tl.simulate(model, runs=200, duration=5.0, step=5e-3, observe_every=0.5, seed=seed)
        found = tl.fit(data).noise_
        assert not found.known or abs(found.sigma - 1.0) < 3 * found.error


def test_routes_hopelessly_apart_leave_an_error_that_can_be_computed_with():
    """Particles that attract, fitted without an interaction: the p-value of the two routes' agreement underflows."""
    data = tl.simulate(tl.models.reference(), runs=80, observe_every=0.02, seed=401, step=1e-3)
    found = tl.SelfTest(tl.RadialSplines(20), None, sigma=None, regularization="evidence").fit(data)
    assert found.noise_.known
    assert found.noise_.p_value < 1e-100
    assert 0.05 * found.sigma_ < found.noise_.error <= found.sigma_
    assert np.isfinite(found.covariance_).all()
