"""Gradient errors: the paper's metric on cases with known answers."""

from types import SimpleNamespace

import numpy as np
import pytest

import trackless as tl
from trackless.exploration import explore, radial_density
from trackless.mixtures import Potentials
from trackless.potentials import Centered, PotentialSum
from trackless.shapes import Gaussian, Power

MODEL = tl.models.reference()
DATA = tl.Snapshots(0.6 * np.random.default_rng(0).standard_normal((20, 4, 6, 2)), np.arange(4.0))


def fit(external, interaction):
    return SimpleNamespace(external_=external, interaction_=interaction)


def test_the_truth_has_no_error():
    assert tl.gradient_errors(fit(MODEL.external, MODEL.interaction), MODEL, DATA) == (0.0, 0.0)


@pytest.mark.parametrize("model", [MODEL, tl.models.anisotropic()], ids=["radial", "not radial"])
def test_a_factor_is_its_own_error(model):
    scaled = (PotentialSum((potential,), (1.3,)) for potential in (model.external, model.interaction))
    assert tl.gradient_errors(fit(*scaled), model, DATA) == pytest.approx((0.3, 0.3))


def test_radial_factor():
    scaled = fit(1.2 * MODEL.external, 0.5 * MODEL.interaction)
    errors = tl.gradient_errors(scaled, MODEL, DATA)
    assert errors.external == pytest.approx(0.2)
    assert errors.interaction == pytest.approx(0.5)


def test_constants_do_not_matter():
    shifted = fit(MODEL.external + 7 * Power(0), MODEL.interaction)
    assert tl.gradient_errors(shifted, MODEL, DATA).external == pytest.approx(0.0, abs=1e-15)


def test_leaving_a_potential_out_is_an_error_of_one():
    assert tl.gradient_errors(fit(None, None), MODEL, DATA) == pytest.approx((1.0, 1.0))
    assert tl.gradient_errors(fit(None, None), tl.models.anisotropic(), DATA) == pytest.approx((1.0, 1.0))


def test_what_the_truth_lacks_has_no_relative_error():
    trap = tl.Model("trap", MODEL.external_basis, None, (-0.5, 2.0))
    errors = tl.gradient_errors(fit(MODEL.external, MODEL.interaction), trap, DATA)
    assert errors.external == 0.0
    assert np.isnan(errors.interaction)


def test_radial_error_is_weighted_with_the_explored_density():
    learnt = MODEL.interaction + 0.5 * Gaussian(1.0, 0.3)
    distances = explore(DATA).distances
    r = np.linspace(0.0, distances.max(), 2000)[1:]
    density = radial_density(distances, r)
    off = np.sqrt((0.25 * Gaussian(1.0, 0.3).slope(r) ** 2 * density).sum())
    expected = off / np.sqrt((MODEL.interaction.slope(r) ** 2 * density).sum())
    assert tl.gradient_errors(fit(MODEL.external, learnt), MODEL, DATA).interaction == pytest.approx(expected, rel=1e-3)


def test_vector_error_is_an_average_over_sampled_points():
    model = tl.models.anisotropic()
    learnt = Power(2)  # x_1^2 + x_2^2 in place of x_1^2 + 4 x_2^2
    x = explore(DATA).positions
    expected = np.sqrt((36 * x[:, 1] ** 2).sum() / (4 * x[:, 0] ** 2 + 64 * x[:, 1] ** 2).sum())
    assert tl.gradient_errors(fit(learnt, model.interaction), model, DATA).external == pytest.approx(expected)


def test_another_centre_is_an_error_of_the_vector():
    moved = fit(Centered(MODEL.external, (0.2, 0.0)), MODEL.interaction)
    assert 0.05 < tl.gradient_errors(moved, MODEL, DATA).external < 2.0


def test_many_fits_can_be_scored_on_one_exploration():
    learnt = fit(1.1 * MODEL.external, MODEL.interaction)
    assert tl.gradient_errors(learnt, MODEL, explore(DATA)) == tl.gradient_errors(learnt, MODEL, DATA)


def test_a_force_that_is_zero_everywhere_has_no_relative_error():
    nothing = tl.Model("nothing", tl.RadialFunctions([Power(2)]), None, (0.0,))
    with pytest.raises(tl.InputError, match="true force is zero wherever the data were"):
        tl.gradient_errors(fit(Power(2), None), nothing, DATA)


def test_errors_of_mixtures_are_of_each_kind_on_its_own_density():
    truth = tl.models.mixture()
    data = tl.simulate(truth, particles={"a": 3, "b": 4}, runs=30, duration=0.1, step=1e-3)
    traps = {"a": 1.1 * truth.external["a"], "b": truth.external["b"]}
    same = fit(Potentials(traps), truth.interaction["a", "b"])
    errors = tl.gradient_errors(same, truth, data)
    assert errors.external == pytest.approx({"a": 0.1, "b": 0.0})
    assert errors.interaction["a", "b"] == 0.0
    assert errors.interaction["b", "b"] > 0.1  # one Phi for all pairs is held against each
    r = explore(data).of_kinds(("a", "a")).distances
    grid = np.linspace(r.min(), r.max(), 2000)
    density = radial_density(r, grid)
    exact, off = truth.interaction["a", "a"].slope(grid), truth.interaction["a", "b"].slope(grid)
    expected = np.sqrt(((exact - off) ** 2 * density).sum() / (exact**2 * density).sum())
    assert errors.interaction["a", "a"] == pytest.approx(expected, rel=1e-3)
