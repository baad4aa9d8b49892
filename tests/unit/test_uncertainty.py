"""Bands: shapes, ranges, levels, files; the bootstrap as a check."""

import numpy as np
import pytest

import trackless as tl
from trackless.potentials import RadialPotential
from trackless.priors import Missed
from trackless.residuals import Units
from trackless.shapes import Gaussian
from trackless.uncertainty import Uncertainty, sandwich, with_uncertainty

MODEL = tl.models.reference()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=80, particles=6, step=1e-3, seed=3)


@pytest.fixture(scope="module")
def oracle(data):
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, regularization=0.0).fit(data)


def test_the_sandwich_of_weighted_means():
    """K = 1: theta = sum b / sum A, its variance the scatter of b - A theta over (mean A)^2 n, for n - 1 free units."""
    generator = np.random.default_rng(0)
    a = generator.uniform(1, 2, size=(400, 1, 1))
    b = 3 * a[:, :, 0] + generator.normal(size=(400, 1))
    theta = b.sum() / a.sum()
    found = sandwich(Units(a, b, np.ones(400)), np.array([theta]), 0.0)[0][0, 0]
    residuals = b[:, 0] - a[:, 0, 0] * theta
    assert found == pytest.approx((residuals**2).sum() / a.mean() ** 2 / 400 / 399)


def test_bands_narrow_with_the_number_of_particles_even_in_a_few_windows():
    """Ten snapshots of one run are hardly any parts to see scatter in: more coefficients must not widen the bands."""
    model, distances, widths = tl.models.reference(), np.linspace(0.5, 1.5, 9), []
    for particles in (20, 320):
        data = tl.simulate(model, particles=particles, runs=1, duration=0.09, step=1e-3, observe_every=0.01)
        fitted = tl.fit(data, sigma=1.0, external="radial", interaction="radial")
        assert fitted.freedom_ > 6  # eight windows
        lower, upper = fitted.external_.band(distances)
        widths.append(np.median(upper - lower))
    assert widths[1] < 0.5 * widths[0]


def test_a_ridge_shrinks_the_covariance(data):
    bases = MODEL.external_basis, MODEL.interaction_basis
    errors = [np.trace(tl.SelfTest(*bases, 1.0, regularization=s).fit(data).covariance_) for s in (0.0, 0.1, 1.0)]
    assert errors[0] > errors[1] > errors[2] > 0


def test_a_band_of_slopes_is_what_the_covariance_says(oracle):
    r = np.array([0.4, 0.8, 1.2])
    lower, upper = oracle.external_.band(r)
    slopes = np.stack([np.ones(3), 2 * r], axis=1)  # of |x| and |x|^2
    error = np.sqrt(np.einsum("ra,ab,rb->r", slopes, oracle.covariance_[:2, :2], slopes))
    np.testing.assert_allclose(0.5 * (lower + upper), oracle.external_.slope(r), rtol=1e-9)
    np.testing.assert_allclose(upper - lower, 2 * 1.96 * error, rtol=0.03)  # Student's t is a little wider


def test_wider_levels_and_simultaneous_bands(oracle):
    r = np.linspace(0.3, 1.5, 7)
    widths = [np.diff(oracle.interaction_.band(r, level), axis=0)[0] for level in (0.5, 0.95, 0.999)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()
    everywhere = np.diff(oracle.interaction_.band(r, simultaneous=True), axis=0)[0]
    assert (everywhere > 1.1 * widths[1]).all()
    assert (everywhere < 2 * widths[1]).all()


def test_bands_of_profiles_know_no_constant(oracle):
    r = np.linspace(*oracle.explored_[1], 50)
    lower, upper = oracle.interaction_.band(r, of="profile")
    np.testing.assert_allclose(0.5 * (lower + upper), oracle.interaction_.profile(r), atol=1e-9)
    assert (upper > lower).all()


def test_bands_end_where_the_data_end(oracle):
    low, high = oracle.explored_[1]
    lower, upper = oracle.interaction_.band([0.5 * low, 0.5 * (low + high), 1.01 * high])
    assert np.isneginf(lower[[0, 2]]).all()
    assert np.isposinf(upper[[0, 2]]).all()
    assert np.isfinite([lower[1], upper[1]]).all()


def test_bands_of_potentials_that_are_not_radial():
    data = tl.simulate(tl.models.anisotropic(), runs=40, duration=0.2, step=1e-3, seed=1)
    fitted = tl.SelfTest(tl.TensorSplines(5), tl.TensorSplines(6), sigma=1.0, regularization="evidence").fit(data)
    points = np.array([[0.1, 0.2], [0.3, -0.1], [50.0, 0.0]])
    lower, upper = fitted.external_.band(points)
    assert lower.shape == (3, 2)
    assert (lower[:2] < upper[:2]).all()
    assert np.isinf(lower[2]).all()
    values = fitted.interaction_.band(points, of="value", simultaneous=True)
    assert values[0].shape == (3,)


def test_bands_survive_a_file(oracle, tmp_path):
    oracle.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    r = np.linspace(0.3, 1.5, 5)
    np.testing.assert_allclose(loaded.interaction_.band(r), oracle.interaction_.band(r))


def test_every_least_squares_estimator_has_bands():
    data = tl.simulate(MODEL, runs=20, particles=5, duration=0.2, step=1e-3, labeled=True, seed=1)
    for estimator in (tl.LabeledMLE, tl.SinkhornMLE):
        fitted = estimator(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(data)
        lower, upper = fitted.external_.band([0.5])
        assert lower < upper


def test_the_bootstrap_agrees_with_the_sandwich(oracle):
    drawn = oracle.bootstrap(draws=300, seed=1)
    assert drawn.shape == (300, 4)
    np.testing.assert_allclose(drawn.std(axis=0), np.sqrt(np.diag(oracle.covariance_)), rtol=0.3)
    np.testing.assert_allclose(drawn.mean(axis=0), oracle.coef_, atol=0.5 * drawn.std(axis=0).max())
    np.testing.assert_array_equal(oracle.bootstrap(draws=3, seed=1), drawn[:3])


def test_a_single_run_in_one_window_has_no_bands(data):
    one = tl.accumulate(data[:1], MODEL.external_basis, MODEL.interaction_basis, windows=1)
    fitted = tl.SelfTest(sigma=1.0).fit(one)
    assert fitted.covariance_ is None
    with pytest.raises(tl.InputError, match="no error bars"):
        fitted.external_.band([0.5])


def test_wrong_questions(oracle):
    with pytest.raises(tl.InputError, match="of: expected 'slope' or 'profile', got 'force'"):
        oracle.external_.band([0.5], of="force")
    with pytest.raises(tl.InputError, match="level: expected a number between 0 and 1"):
        oracle.external_.band([0.5], level=95)
    with pytest.raises(tl.InputError, match="this potential has no error bars"):
        Gaussian(0.0, 1.0).band([0.5])


def test_few_parts_make_wider_bands(oracle):
    basis, covariance = MODEL.external_basis, oracle.covariance_[:2, :2]
    closed = oracle.external_basis_
    bands = []
    for freedom in (2.0, 20.0, np.inf):
        potential = with_uncertainty(closed.combine([1.0, 1.0]), Uncertainty(closed, covariance, (0.1, 2.0), freedom))
        assert isinstance(potential, RadialPotential)
        bands.append(float(np.diff(potential.band(0.5), axis=0)[0]))
    assert bands[0] > 1.5 * bands[2]
    assert bands[1] > bands[2]
    assert basis.size == 2


def test_large_deviations_and_what_is_missed_make_wider_bands(oracle):
    """Half of the errors twice as large: pointwise bands know their covariance, simultaneous ones their tails."""
    closed, covariance = oracle.external_basis_, oracle.covariance_[:2, :2]
    root = np.linalg.cholesky(covariance)
    normal = np.random.default_rng(0).normal(size=(20_000, 2))
    mixed = normal * np.sqrt(np.where(np.arange(20_000) % 2, 0.1, 1.9))[:, None]
    plain = Uncertainty(closed, covariance, (0.1, 2.0))
    drawn, heavy = (Uncertainty(closed, covariance, (0.1, 2.0), deviations=n @ root.T) for n in (normal, mixed))
    assert drawn.critical(0.95, "slope", True) == pytest.approx(plain.critical(0.95, "slope", True), rel=0.03)
    assert heavy.critical(0.95, "slope", True) > 1.05 * plain.critical(0.95, "slope", True)
    assert heavy.critical(0.95, "slope", False) == plain.critical(0.95, "slope", False)
    missed = Missed(np.array([0.5, 1.5]), np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    wider = Uncertainty(closed, covariance, (0.1, 2.0), missed=missed)
    r = np.array([0.5, 1.0, 1.5])
    added = wider.deviation(r, "slope") ** 2 - plain.deviation(r, "slope") ** 2
    np.testing.assert_allclose(added, [0.0, 4.5, 9.0], atol=1e-9)
