"""Numbers at the edges: single precision, strange units, as few data as there can be, and as many."""

import math

import numpy as np
import pytest

import trackless as tl
from trackless.potentials import PiecewiseCubic
from trackless.quadrature import weights

MODEL = tl.models.reference()
R = np.linspace(0.1, 1.5, 8)
SUMS = ("quadratic", "pair", "diffusion", "energy", "weight")


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=30, particles=5, duration=0.3, step=1e-3, seed=1)


@pytest.fixture(scope="module")
def fitted(data):
    return tl.fit(data, sigma=1.0)


def assert_close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


# Precision


def test_single_precision_is_read_and_never_computed_with(data):
    """Moments of float32 are, bit by bit, those of the same numbers as float64."""
    single = data.positions.astype(np.float32)
    bases = tl.RadialSplines(6), tl.RadialSplines(8)
    a, b = (tl.accumulate(tl.Snapshots(positions, data.times), *bases) for positions in (single, single.astype(float)))
    for name in SUMS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_fit_of_single_precision(data, fitted):
    """Positions are rounded to 6e-8 of their size, and differences of energies are a hundred times smaller."""
    single = tl.fit(tl.Snapshots(data.positions.astype(np.float32), data.times), sigma=1.0)
    for name in ("external_", "interaction_"):
        assert_close(getattr(single, name).slope(R), getattr(fitted, name).slope(R), 1e-4)


# Units


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1e-18), (1e9, 1e18), (1e-9, 1.0)])
def test_units_of_a_fit(data, fitted, length, time):
    """Slopes are lengths per time, sigma is a length per root of time; all that was decided stays."""
    other = tl.Snapshots(data.positions * length, data.times * time)
    found = tl.fit(other, sigma=length / math.sqrt(time))
    for name in ("external_", "interaction_"):
        here, there = getattr(fitted, name), getattr(found, name)
        assert_close(there.slope(R * length) * time / length, here.slope(R), 1e-6)
        for a, b in zip(there.band(R * length), here.band(R), strict=True):
            seen = np.isfinite(b)  # a band is infinite where there were no data
            np.testing.assert_array_equal(np.isfinite(a), seen)
            assert seen.any()
            assert_close(a[seen] * time / length, b[seen], 1e-5)
    assert len(found.findings_.sentences) == len(fitted.findings_.sentences)
    assert found.findings_.residual_test.p_value == pytest.approx(fitted.findings_.residual_test.p_value, abs=1e-3)


@pytest.mark.parametrize("length", [1e-9, 1e9, 1e15])
@pytest.mark.parametrize("regularization", [0.0, "cv"])
def test_units_of_given_functions(data, length, regularization):
    """Nothing is taken for unreached because it is small in numbers."""
    here, there = (
        tl.SelfTest(tl.RadialSplines(5), tl.RadialSplines(6), sigma=1.0, regularization=regularization)
        .fit(tl.Snapshots(data.positions * c, data.times * c**2))
        for c in (1.0, length)
    )  # fmt: skip
    for name in ("external_", "interaction_"):
        assert_close(getattr(there, name).slope(R * length) * length, getattr(here, name).slope(R), 1e-5)


def test_units_of_sigma_that_is_found(data):
    here = tl.fit(data).noise_
    there = tl.fit(tl.Snapshots(data.positions * 1e9, data.times)).noise_
    assert there.sigma == pytest.approx(1e9 * here.sigma, rel=1e-6)
    assert there.error == pytest.approx(1e9 * here.error, rel=1e-4)


# As few as there can be


def finite(found, r=R):
    return all(np.isfinite(one.slope(r)).all() for one in (found.external_, found.interaction_) if one is not None)


def test_two_particles():
    data = tl.simulate(MODEL, runs=30, particles=2, duration=0.3, step=1e-3, seed=2)
    found = tl.fit(data)
    assert finite(found)
    assert found.sigma_ == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_one_run(sigma):
    data = tl.simulate(MODEL, runs=1, particles=10, duration=1.0, step=1e-3, seed=2)
    found = tl.fit(data, sigma=sigma)
    assert finite(found)
    assert found.moments_.windows > 1  # windows of time are the blocks


@pytest.mark.parametrize("size", [40, 100])
def test_more_functions_than_the_data_tell(size):
    """What the prior says fills what they do not; without one the ridge does, and without a ridge it is an error."""
    data = tl.simulate(MODEL, runs=3, particles=2, duration=0.1, step=1e-3, seed=3)
    wide = tl.RadialSplines(size, lower=0.0, upper=20.0), tl.RadialSplines(size, lower=0.0, upper=20.0)
    assert finite(tl.SelfTest(*wide, sigma=1.0, regularization="evidence").fit(data), np.linspace(0.1, 19, 9))
    narrow = tl.RadialSplines(size), tl.RadialSplines(size)
    with pytest.raises(tl.InputError, match="use a smaller range or fewer functions"):
        tl.SelfTest(*wide, sigma=1.0, regularization=0.0).fit(data)
    with pytest.raises(tl.InputError, match="use"):
        tl.SelfTest(*narrow, sigma=1.0, regularization=0.0).fit(data)


# Particles upon one another


def test_particles_that_coincide_or_nearly_so(data):
    """In a frame of two runs: a fit does not fail."""
    positions = data.positions.copy()
    positions[3, 4, 1] = positions[3, 4, 0] + [1e-12, 0.0]
    positions[5, 7, 2] = positions[5, 7, 4]
    close = tl.Snapshots(positions, data.times)
    found = tl.fit(close, sigma=1.0)
    assert finite(found)
    for basis in (tl.GaussianRBF(6), tl.TensorSplines(6), tl.RadialSplines(6, lower=0.0, upper=9.0)):
        moments = tl.accumulate(close, None, basis)
        assert all(np.isfinite(getattr(moments, name)).all() for name in SUMS)


# As many as one likes


def summed_exactly(positions, times):
    """Sums over all runs of w x^2 and of w, each contribution in double precision and their sum exact.

    For V = |x|^2 / 2 the force is x and the Laplacian is the dimension: w N G = w sum_i |x_i|^2.
    """
    by_run = np.einsum("mlnd,mlnd,l->ml", positions, positions, weights(times))
    return math.fsum(by_run.ravel())


@pytest.mark.parametrize("blocks", [1, 64])
def test_a_million_snapshots_are_summed_without_loss(blocks):
    generator = np.random.default_rng(0)
    positions = generator.normal(size=(250_000, 4, 2, 1)) * 10.0 ** generator.uniform(-3, 3, (250_000, 1, 1, 1))
    times = 0.1 * np.arange(4)
    half_square = tl.RadialFunctions([HALF_SQUARE], reach=(0.0, 1e5))
    moments = tl.accumulate(tl.Snapshots(positions, times), half_square, None, blocks=blocks)
    found = moments.normal_equations(1.0).matrix[0, 0] * moments.weight[:, :, 0, 1].sum()
    assert found == pytest.approx(summed_exactly(positions, times), rel=1e-12)
    assert moments.weight[:, :, 0, 1].sum() == pytest.approx(250_000 * 2 * 0.3, rel=1e-12)


HALF_SQUARE = PiecewiseCubic(np.array([0.0, 1e5]), np.array([[0.0, 0.0, 0.5, 0.0]]))
