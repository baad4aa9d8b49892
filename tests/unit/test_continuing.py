"""partial_fit: data that come in parts give what they give together."""

import numpy as np
import pytest

import trackless as tl
from trackless.belonging import SHARED, known_again

MODEL = tl.models.reference()
FAMILIES = (MODEL.external_basis, MODEL.interaction_basis)


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=150, duration=0.3, step=5e-3, observe_every=1e-2, seed=2)


@pytest.fixture(scope="module")
def parts(data):
    return data[:80], data[80:90], data[90:]


@pytest.mark.parametrize("regularization", [0.01, "lcurve", "cv", "evidence"])
def test_parts_are_the_whole(data, parts, regularization):
    splines = tl.RadialSplines(6, lower=0.0, upper=2.5), tl.RadialSplines(8, lower=0.0, upper=4.0)
    families = splines if regularization == "evidence" else FAMILIES
    settings = {"sigma": 1.0, "regularization": regularization}
    whole = tl.SelfTest(*families, **settings).fit(data)
    fitted = tl.SelfTest(*families, **settings)
    for part in parts:
        assert fitted.partial_fit(part) is fitted
    np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fitted.covariance_, whole.covariance_, rtol=1e-5, atol=1e-9)
    assert fitted.moments_.runs.sum() == 150
    assert fitted.updates_ == 2
    assert fitted.fingerprint_ is None
    assert known_again(fitted, data)[1] == known_again(fitted, parts[1])[1] == SHARED


def test_moments_can_be_added_too(data, parts):
    fitted = tl.SelfTest(*FAMILIES, sigma=1.0).fit(parts[0])
    rest = tl.accumulate(data[80:], *FAMILIES, windows=fitted.moments_.windows)
    fitted.partial_fit(rest)
    np.testing.assert_allclose(fitted.coef_, tl.SelfTest(*FAMILIES, sigma=1.0).fit(data).coef_, rtol=1e-9)
    with pytest.raises(tl.InputError, match="expected Snapshots or Moments, got list"):
        fitted.partial_fit([1])


def test_sigma_stays_that_of_the_first_data(parts):
    fitted = tl.SelfTest(*FAMILIES, regularization=0.01).fit(parts[0])
    sigma, noise = fitted.sigma_, fitted.noise_
    before = np.sqrt(np.diag(fitted.covariance_))
    fitted.partial_fit(parts[2])
    assert (fitted.sigma_, fitted.noise_) == (sigma, noise)
    assert fitted.sigma_covariance_ is not None
    given = tl.SelfTest(*FAMILIES, sigma=sigma, regularization=0.01).fit(parts[0]).partial_fit(parts[2])
    np.testing.assert_allclose(fitted.coef_, given.coef_, rtol=1e-9)
    assert (np.sqrt(np.diag(fitted.covariance_)) < before).all()
    assert (np.diag(fitted.covariance_) >= 0.999 * np.diag(given.covariance_)).all()  # sigma's error is part of it


def test_fit_forgets_what_was_added(parts):
    fitted = tl.SelfTest(*FAMILIES, sigma=1.0).fit(parts[0]).partial_fit(parts[1])
    again = fitted.fit(parts[0])
    assert again.updates_ == 0
    np.testing.assert_array_equal(again.coef_, tl.SelfTest(*FAMILIES, sigma=1.0).fit(parts[0]).coef_)


def test_data_that_go_farther_are_said(parts):
    splines = tl.RadialSplines(6), tl.RadialSplines(8)
    fitted = tl.SelfTest(*splines, sigma=1.0, regularization=0.1).fit(parts[0])
    high = fitted.explored_[1][1]
    fitted.partial_fit(parts[0])
    assert fitted.beyond_ == ()
    far = tl.Snapshots(3.0 * parts[1].positions, parts[1].times)
    fitted.partial_fit(far)
    assert len(fitted.beyond_) == 2
    assert "of the new pairs are beyond" in fitted.beyond_[1]
    assert fitted.explored_[1][1] > 2 * high


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"dynamics": "discrete"}, "dynamics='discrete' goes over all data"), ({"debias": True}, "debias=True goes over")],
)
def test_what_needs_all_data_again_is_refused(parts, settings, message):
    fitted = tl.SelfTest(*FAMILIES, sigma=1.0, regularization=0.01).fit(parts[0])
    fitted.set_params(**settings)
    with pytest.raises(tl.InputError, match=message):
        fitted.partial_fit(parts[1])


def test_data_of_another_kind_are_refused_and_change_nothing(parts):
    fitted = tl.SelfTest(*FAMILIES, sigma=1.0).fit(parts[0])
    coef, runs = fitted.coef_.copy(), fitted.moments_.runs.sum()
    for wrong in (
        tl.Snapshots(np.zeros((2, 9, 4, 3)), dt=0.1), tl.Snapshots(np.ones((2, 9, 4, 2)), dt=0.1, box=4.0),
    ):  # fmt: skip
        with pytest.raises(tl.InputError, match="partial_fit: the fit is of"):
            fitted.partial_fit(wrong)
    few = tl.SelfTest(*FAMILIES, sigma=1.0).fit(parts[1])  # in several time windows
    with pytest.raises(tl.InputError, match="time windows, as those of the first data"):
        few.partial_fit(parts[2].between(0.0, 0.02))
    np.testing.assert_array_equal(fitted.coef_, coef)
    assert fitted.moments_.runs.sum() == runs
    assert fitted.updates_ == 0


def test_a_fit_of_the_door_goes_on_after_it_was_saved(parts, tmp_path):
    families = tl.RadialSplines(6), tl.RadialSplines(8)
    fitted = tl.fit(parts[0], 1.0, *families, center=None)
    fitted.save(tmp_path / "fit.trackless")
    other = tl.load(tmp_path / "fit.trackless").partial_fit(parts[2])
    fitted.partial_fit(parts[2])
    np.testing.assert_allclose(
        other.moments_.normal_equations(1.0).matrix, fitted.moments_.normal_equations(1.0).matrix, rtol=1e-12
    )
    other.save(tmp_path / "again.trackless")
    assert tl.load(tmp_path / "again.trackless").updates_ == 1
