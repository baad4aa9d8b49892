"""Noise that is not the same in all directions."""

from dataclasses import replace

import numpy as np
import pytest

import trackless as tl
from trackless.fluctuations import first_guess
from trackless.intensity import checked_sigma, typical_sigma

SIGMA = (1.0, 0.5)
MODEL = replace(tl.models.smooth_control(), sigma=SIGMA)


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=200, step=1e-3, accurate=True, seed=11)


def fitted(snapshots, **options):
    bases = (MODEL.external_basis, MODEL.interaction_basis)
    settings = {"quadrature": "auto", "regularization": 1e-9} | options
    return tl.SelfTest(*bases, **settings).fit(snapshots)


def z(fit):
    return (fit.coef_ - MODEL.true_coef) / np.sqrt(np.diag(fit.covariance_))


def test_simulated_noise_has_a_size_for_each_direction():
    free = replace(MODEL, external_basis=None, interaction_basis=None, coefficients=(), sigma=(2.0, 0.1))
    paths = tl.simulate(free, runs=50, duration=0.1, step=0.01, labeled=True, initial=0.0)
    spread = np.diff(paths.positions, axis=1).std(axis=(0, 1, 2)) / np.sqrt(0.01)
    np.testing.assert_allclose(spread, (2.0, 0.1), rtol=0.05)
    same = (tl.simulate(replace(free, sigma=s), runs=3, duration=0.1, step=0.01) for s in (0.7, (0.7, 0.7)))
    np.testing.assert_array_equal(*(paths.positions for paths in same))


def test_known_intensities_are_used(data):
    fit = fitted(data, sigma=SIGMA)
    assert fit.sigma_ == SIGMA
    assert fit.moments_.parts == 2
    assert np.abs(z(fit)).max() < 4
    assert fit.residual_test(data).passed
    wrong = fitted(data, sigma=typical_sigma(SIGMA))
    assert np.abs(z(wrong)).max() > 5
    assert not wrong.residual_test(data).passed


def test_equal_intensities_are_one(data):
    one, two = (fitted(data, sigma=sigma) for sigma in (0.8, (0.8, 0.8)))
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-8)
    np.testing.assert_allclose(two.covariance_, one.covariance_, rtol=1e-6)


def test_intensities_are_found(data):
    fit = fitted(data, sigma="diagonal")
    noise = fit.noise_
    assert noise.known
    for k, exact in enumerate(SIGMA):
        assert abs(noise.sigma[k] - exact) < 4 * noise.error[k] < 0.05
        for route in (noise.balance[k], noise.variation[k]):
            assert abs(route.value - exact**2) < 4 * route.error
    assert np.abs(z(fit)).max() < 4
    assert fit.residual_test(data).passed
    assert "along x2" in noise.sentence
    assert fit.sigma_covariance_.shape == (2, 4)
    assert np.linalg.eigvalsh(noise.variances).min() > 0
    assert fit.adjustment_.covariance.shape == (4, 4)


def test_one_intensity_for_all_is_seen_to_be_wrong(data):
    fit = fitted(data, sigma=None)
    assert not fit.residual_test(data).passed


def test_what_was_found_is_saved_and_simulated(data, tmp_path):
    fit = fitted(data, sigma="diagonal")
    fit.save(tmp_path / "fit.trackless")
    back = tl.load(tmp_path / "fit.trackless")
    assert back.sigma_ == fit.sigma_
    assert back.noise_.sentence == fit.noise_.sentence
    np.testing.assert_allclose(back.moments_.diffusion.sum(axis=0), fit.moments_.diffusion.sum(axis=0), rtol=1e-12)
    paths = tl.simulate(back, runs=20, duration=0.05, step=1e-3, observe_every=1e-3, initial=data)
    seen = np.asarray(first_guess(paths, "mean", per_direction=True))
    np.testing.assert_allclose(seen, SIGMA, rtol=0.2)


def test_the_front_door_takes_them(data):
    fit = tl.fit(data, sigma="diagonal", external="radial", interaction="radial")
    np.testing.assert_allclose(fit.sigma_, SIGMA, rtol=0.05)
    assert fit.findings_.residual_test.passed
    assert any("along x1" in sentence for sentence in fit.findings_.sentences)


def test_bias_is_removed_with_them(data):
    fit = fitted(data.every(5), sigma=SIGMA, debias=True)
    assert fit.debiasing_ is not None
    assert np.abs(z(fit)).max() < 4


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        ((1.0, 0.5, 0.2), "2 directions, got 3"),
        ("both", "diagonal"),
        ((1.0, -1.0), "at least 0"),
        (((1.0,), (2.0,)), "one per direction"),
        ((), "one per direction"),
        (("a", "b"), "expected a number"),
    ],
)
def test_what_is_no_intensity(data, sigma, message):
    with pytest.raises(tl.InputError, match=message):
        fitted(data, sigma=sigma)
    with pytest.raises(tl.InputError, match=message):
        tl.fit(data, sigma=sigma)


def test_where_only_one_number_will_do(data):
    for options in ({"sigma": SIGMA}, {"sigma": "diagonal"}):
        with pytest.raises(tl.InputError, match="one sigma for all directions"):
            fitted(data, dynamics="discrete", **options)
    for estimator in (tl.NeuralSelfTest(sigma=SIGMA), tl.SinkhornMLE(MODEL.external_basis, sigma=SIGMA)):
        with pytest.raises(tl.InputError, match="one number for all directions"):
            estimator.fit(data)
    moments = tl.accumulate(data, MODEL.external_basis, MODEL.interaction_basis)
    with pytest.raises(tl.InputError, match="per_direction=True"):
        moments.normal_equations(SIGMA)
    box = tl.Snapshots(np.random.default_rng(0).uniform(0, 3, (2, 8, 8, 2)), np.arange(8.0), box=3.0)
    with pytest.raises(tl.InputError, match="periodic box"):
        first_guess(box, "mean", per_direction=True)
    with pytest.raises(tl.InputError, match="fit snapshots"):
        tl.SelfTest(sigma="diagonal").fit(moments)


def test_moments_of_directions_can_be_fitted_and_added(data):
    settings = (MODEL.external_basis, MODEL.interaction_basis)
    halves = [tl.accumulate(part, *settings, per_direction=True) for part in data.split(0.5)]
    fit = tl.SelfTest(sigma=SIGMA, quadrature="auto", regularization=1e-9).fit(halves[0] + halves[1])
    np.testing.assert_allclose(fit.coef_, fitted(data, sigma=SIGMA).coef_, rtol=1e-8)
    whole = tl.accumulate(data[:100], *settings)
    with pytest.raises(tl.InputError, match="per_direction"):
        halves[0] + whole


def test_checked_sigma():
    assert checked_sigma(np.float32(2)) == 2.0
    assert checked_sigma(np.array([1, 2])) == (1.0, 2.0)
    with pytest.raises(tl.InputError, match="needed"):
        checked_sigma(None)
