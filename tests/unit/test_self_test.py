"""The self-test estimator: scikit-learn's conventions, moments in place of data, recovery without noise."""

import numpy as np
import pytest
from sklearn.base import clone

import trackless as tl
from trackless import accumulation
from trackless.potentials import RadialPotential
from trackless.shapes import Gaussian, Power
from trackless.solvers import lcurve, ridge

MODEL = tl.models.reference()
BASES = (MODEL.external_basis, MODEL.interaction_basis)
LEARNT = {
    "external_", "interaction_", "external_basis_", "interaction_basis_", "coef_", "lambda_", "loss_",
    "condition_numbers_", "solution_", "moments_", "sigma_",
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, particles=6, runs=30, duration=0.3, step=2e-3, observe_every=2e-2, seed=1)


@pytest.fixture(scope="module")
def fitted(data):
    return tl.SelfTest(*BASES, sigma=1.0).fit(data)


def test_constructor_only_stores_its_arguments():
    nonsense = tl.SelfTest(
        external=3, interaction="x", sigma=-1, quadrature="?", regularization=None, coupling=0, resolve=7,
        dynamics=1, debias=2, observation=5,
    )  # fmt: skip
    assert nonsense.get_params() == {
        "external": 3, "interaction": "x", "sigma": -1, "quadrature": "?", "regularization": None, "coupling": 0,
        "resolve": 7, "dynamics": 1, "debias": 2, "observation": 5,
    }  # fmt: skip


def test_clone_copies_parameters_and_nothing_learnt(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not LEARNT & set(vars(copy))
    assert clone(copy.set_params(sigma=0.5)).sigma == 0.5


def test_learnt_attributes(fitted):
    assert set(vars(fitted)) >= LEARNT
    assert isinstance(fitted.external_, RadialPotential)
    assert fitted.coef_.shape == (4,)
    assert fitted.sigma_ == 1.0
    equations = fitted.moments_.normal_equations(1.0)
    assert fitted.loss_ == equations.loss(fitted.coef_) < 0
    assert fitted.lambda_ == fitted.solution_.ridge
    assert set(fitted.condition_numbers_) == {"all", "external", "interaction"}
    residual = equations.matrix @ fitted.coef_ + fitted.lambda_ * fitted.coef_ - equations.vector
    np.testing.assert_allclose(residual, 0.0, atol=1e-10)


def test_potentials_are_those_of_the_coefficients(fitted):
    r = np.linspace(0.1, 2.0, 50)
    np.testing.assert_allclose(fitted.external_.profile(r), fitted.coef_[0] * r + fitted.coef_[1] * r**2)
    phi = fitted.coef_[2] * np.exp(-32 * (r - 0.75) ** 2) + fitted.coef_[3] * np.exp(-8 * (r - 1.5) ** 2)
    np.testing.assert_allclose(fitted.interaction_.profile(r), phi)


def test_fit_returns_the_estimator_and_forgets_earlier_fits(data):
    estimator = tl.SelfTest(*BASES, sigma=1.0)
    assert estimator.fit(data[:10]) is estimator
    first = estimator.coef_
    again = estimator.set_params(interaction=None).fit(data)
    fresh = tl.SelfTest(BASES[0], None, sigma=1.0).fit(data)
    np.testing.assert_array_equal(again.coef_, fresh.coef_)
    assert again.coef_.shape != first.shape
    assert again.interaction_ is None
    assert again.interaction_basis_ is None
    assert set(vars(again)) == set(vars(fresh))


@pytest.mark.parametrize("rule", ["left", "trapezoid", "cubic"])
def test_moments_serve_in_place_of_snapshots(data, rule):
    estimator = tl.SelfTest(*BASES, sigma=1.0, quadrature=rule)
    from_data = clone(estimator).fit(data)
    moments = tl.accumulate(data, *BASES)
    np.testing.assert_array_equal(clone(estimator).fit(moments).coef_, from_data.coef_)
    without_bases = tl.SelfTest(sigma=1.0, quadrature=rule).fit(moments)  # those of the moments are used
    np.testing.assert_array_equal(without_bases.coef_, from_data.coef_)


def test_quadratures_differ(data):
    moments = tl.accumulate(data, *BASES)
    fits = [tl.SelfTest(sigma=1.0, quadrature=rule).fit(moments).coef_ for rule in ("left", "trapezoid", "cubic")]
    assert np.abs(fits[0] - fits[1]).max() > 1e-3
    assert np.abs(fits[1] - fits[2]).max() > 1e-4


def test_sigma_can_change_without_another_pass(data, fitted, monkeypatch):
    expected = tl.SelfTest(*BASES, sigma=0.6).fit(data).coef_

    def forbidden(*_):
        raise AssertionError("the data were read again")

    monkeypatch.setattr(accumulation, "accumulate_task", forbidden)
    other = tl.SelfTest(*BASES, sigma=0.6).fit(fitted.moments_)
    np.testing.assert_array_equal(other.coef_, expected)
    assert np.abs(other.coef_ - fitted.coef_).max() > 0.1


def test_merged_moments_give_the_joint_fit(data, fitted):
    closed = (fitted.external_basis_, fitted.interaction_basis_)
    merged = sum((tl.accumulate(part, *closed) for part in data.split(parts=3)[1:]), tl.accumulate(data[:10], *closed))
    np.testing.assert_allclose(tl.SelfTest(*BASES, sigma=1.0).fit(merged).coef_, fitted.coef_, rtol=1e-8)


def test_permuting_particles_changes_nothing(data, fitted):
    mixed = tl.SelfTest(*BASES, sigma=1.0).fit(data.shuffled(seed=9))
    np.testing.assert_allclose(mixed.coef_, fitted.coef_, rtol=1e-8)


def test_regularization_choices(data, fitted):
    moments = fitted.moments_
    equations = moments.normal_equations(1.0)
    fixed = tl.SelfTest(sigma=1.0, regularization=1e-3).fit(moments)
    np.testing.assert_array_equal(fixed.coef_, ridge(equations, 1e-3).coef)
    np.testing.assert_array_equal(fitted.coef_, lcurve(equations).coef)
    assert tl.SelfTest(sigma=1.0, regularization=0).fit(moments).lambda_ == 0.0
    validated = tl.SelfTest(sigma=1.0, regularization="cv").fit(moments)
    assert validated.lambda_ in validated.solution_.candidates


def test_score_is_minus_the_loss_on_other_data(data, fitted):
    assert fitted.score(fitted.moments_) == -fitted.loss_
    other = tl.simulate(MODEL, particles=6, runs=20, duration=0.3, step=2e-3, observe_every=2e-2, seed=2)
    moments = tl.accumulate(other, fitted.external_basis_, fitted.interaction_basis_)
    assert fitted.score(other) == pytest.approx(-moments.normal_equations(1.0).loss(fitted.coef_), rel=1e-12)
    worse = tl.SelfTest(*BASES, sigma=1.0, regularization=10.0).fit(data)
    assert fitted.score(other) > worse.score(other)


@pytest.mark.parametrize("coupling", ["mean", "sum"])
def test_coupling_scales_the_interaction(data, coupling):
    fit = tl.SelfTest(*BASES, sigma=1.0, regularization=0.0, coupling=coupling).fit(data)
    mean = tl.SelfTest(*BASES, sigma=1.0, regularization=0.0).fit(data)
    factor = 1.0 if coupling == "mean" else 1 / 6
    np.testing.assert_allclose(fit.coef_[:2], mean.coef_[:2], rtol=1e-7)
    np.testing.assert_allclose(fit.coef_[2:], factor * mean.coef_[2:], rtol=1e-7)


SMOOTH = tl.Model(
    "smooth", tl.RadialFunctions([Power(4), Power(2)]), tl.RadialFunctions([Gaussian(0.0, 0.5)]), (0.5, 1.0, 2.0)
)


@pytest.mark.parametrize(
    ("truth", "dim"),
    [
        (SMOOTH, 1),  # in one dimension particles pass through each other, so a tip would not be smooth in time
        (SMOOTH, 2),
        (SMOOTH, 5),
        (tl.models.smooth_control(), 2),
        (tl.models.smooth_control(), 3),
        (tl.models.conditioning(), 2),
        (tl.models.anisotropic(), 2),
    ],
    ids=lambda value: getattr(value, "name", f"dim {value}"),
)
@pytest.mark.parametrize("coupling", ["mean", "sum"])
def test_without_noise_the_energy_balance_gives_the_coefficients(truth, dim, coupling):
    bases = (truth.external_basis, truth.interaction_basis)
    silent = tl.Model(truth.name, *bases, truth.coefficients, sigma=0.0)
    data = tl.simulate(
        silent, particles=5, runs=20, duration=0.3, step=5e-4, observe_every=1e-3, dim=dim, accurate=True,
        coupling=coupling, seed=4,
    )  # fmt: skip
    fit = tl.SelfTest(*bases, sigma=0.0, quadrature="cubic", regularization=0.0, coupling=coupling).fit(data)
    np.testing.assert_allclose(fit.coef_, truth.true_coef, rtol=1e-3)


def test_external_potential_about_its_centre():
    center = (0.8, -0.5)
    trap = tl.RadialFunctions([Power(2)], center=center)
    silent = tl.Model("trap", trap, None, (1.5,), sigma=0.0)
    data = tl.simulate(silent, particles=4, runs=5, duration=0.3, step=1e-3, observe_every=1e-2, accurate=True)
    fit = tl.SelfTest(trap, None, sigma=0.0, quadrature="cubic", regularization=0.0).fit(data)
    assert fit.coef_[0] == pytest.approx(1.5, rel=1e-3)
    np.testing.assert_array_equal(fit.external_.origin, center)
    about_mean = tl.SelfTest(tl.RadialSplines(6, center="mean"), None, sigma=1.0).fit(data)
    np.testing.assert_allclose(about_mean.external_.origin, data.positions.mean(axis=(0, 1, 2)), atol=1e-6)


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert isinstance(loaded, tl.SelfTest)
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    x = np.random.default_rng(0).standard_normal((20, 2))
    np.testing.assert_array_equal(loaded.external_.gradient(x), fitted.external_.gradient(x))
    assert set(vars(loaded)) == set(vars(fitted))
    np.testing.assert_array_equal(loaded.fit(loaded.moments_).coef_, fitted.coef_)


def test_moments_of_other_choices_are_refused(fitted):
    with pytest.raises(tl.InputError, match="coupling: the moments were accumulated for 'mean', not 'sum'"):
        tl.SelfTest(sigma=1.0, coupling="sum").fit(fitted.moments_)
    with pytest.raises(tl.InputError, match=r"interaction: the moments were accumulated on .*; leave interaction=None"):
        tl.SelfTest(interaction=tl.RadialSplines(8), sigma=1.0).fit(fitted.moments_)


def test_score_before_fit():
    with pytest.raises(tl.InputError, match="not fitted yet; call fit first"):
        tl.SelfTest(*BASES, sigma=1.0).score(None)
