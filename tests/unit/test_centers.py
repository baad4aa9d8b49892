"""The centre of a radial V, found from data in which particles are still on their way to it."""

import numpy as np
import pytest

import trackless as tl
from trackless.centers import find_center

CENTER = np.array([1.0, -0.5])


def trapped(seed=0, interacting=True, runs=100, center=CENTER):
    """A harmonic trap about ``center``; particles start around the origin."""
    other = tl.models.reference()
    phi = (other.interaction_basis, tuple(other.true_coef[2:])) if interacting else (None, ())
    model = tl.Model("trap", tl.RadialFunctions([lambda r: r**2]), phi[0], (1.0, *phi[1]), sigma=1.0)
    start = 0.5 * np.random.default_rng(seed).normal(size=(runs, 6, len(center))) - center
    data = tl.simulate(model, step=2e-3, observe_every=2e-2, initial=start, dim=len(center), seed=seed)
    return tl.Snapshots(data.positions + center, data.times)


@pytest.fixture(scope="module")
def data():
    return trapped()


def assert_found(found, center=CENTER):
    away = np.abs(np.subtract(found.center, center))
    assert found.known
    assert (away < 3.5 * np.array(found.error)).all()
    assert max(found.error) < 0.08


@pytest.mark.parametrize(
    "family", [tl.RadialSplines(12), tl.GaussianRBF(6), tl.RadialFunctions([lambda r: r**2, lambda r: r**4])]
)
def test_the_centre_is_found_whatever_the_family(data, family):
    assert np.linalg.norm(data.positions.mean(axis=(0, 1, 2)) - CENTER) > 0.3  # the mean is not the centre
    assert_found(find_center(data, family, tl.RadialSplines(16), 1.0))


def test_errors_are_of_the_right_size():
    scores = []
    for seed in range(6):
        found = find_center(trapped(seed, interacting=False, runs=40), tl.RadialSplines(8), None, 1.0)
        scores += (np.subtract(found.center, CENTER) / found.error).tolist()
    assert 0.4 < np.sqrt(np.mean(np.square(scores))) < 1.8


def test_other_dimensions():
    center = np.array([1.0, -0.5, 0.3])
    data = trapped(1, interacting=False, runs=60, center=center)
    assert_found(find_center(data, tl.RadialSplines(8), None, 1.0), center)
    with pytest.raises(tl.InputError, match="in one dimension V about a place beyond the data may be any function"):
        find_center(trapped(1, False, 5, np.array([2.0])), tl.RadialSplines(8), None, 1.0)


def test_the_estimator_uses_and_keeps_it(data, tmp_path):
    bases = tl.RadialSplines(8, center="fit"), tl.RadialSplines(16)
    fitted = tl.SelfTest(*bases, sigma=1.0, regularization="cv").fit(data)
    assert_found(fitted.center_)
    np.testing.assert_array_equal(fitted.external_.origin, fitted.center_.center)
    np.testing.assert_allclose(fitted.external_.gradient(CENTER + np.array([0.5, 0.0])), [1.0, 0.0], atol=0.3)
    assert fitted.external.center == "fit"  # the setting stays what it was
    fitted.save(tmp_path / "fit.trackless")
    assert tl.load(tmp_path / "fit.trackless").center_ == fitted.center_
    assert fitted.score(data) == pytest.approx(-fitted.loss_)
    about_mean = tl.SelfTest(tl.RadialSplines(8, center="mean"), bases[1], sigma=1.0, regularization="cv").fit(data)
    assert fitted.loss_ < about_mean.loss_
    assert about_mean.center_ is None


def test_the_door_says_where_it_is(data):
    fitted = tl.fit(data, sigma=1.0, external="radial", interaction="radial", center="fit")
    assert_found(fitted.center_)
    assert fitted.center_.sentence in fitted.findings_.sentences
    assert "found from the data with a standard error of (" in fitted.center_.sentence
    np.testing.assert_array_equal(fitted.external_.origin, fitted.center_.center)


def test_particles_without_a_trap_have_no_centre():
    steps = np.random.default_rng(0).normal(size=(40, 30, 5, 2)) * 0.1
    found = find_center(tl.Snapshots(np.cumsum(steps, axis=1), dt=0.01), tl.RadialSplines(8), None, 1.0)
    spread = np.cumsum(steps, axis=1).std()
    assert not found.known or max(found.error) > 0.1 * spread


def test_where_it_cannot_be_found_is_said(data):
    family = tl.RadialSplines(8, center="fit")
    assert not family.closed
    with pytest.raises(tl.InputError, match=r"center='fit': tl.fit and tl.SelfTest find the centre"):
        tl.accumulate(data, family)
    with pytest.raises(tl.InputError, match="an interaction depends on differences"):
        tl.accumulate(data, None, family)
    with pytest.raises(tl.InputError, match="expected a radial family"):
        find_center(data, tl.TensorSplines(6), None, 1.0)
