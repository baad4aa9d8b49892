"""Tensor-product splines: derivatives, evenness, what is left out."""

import numpy as np
import pytest
from differences import assert_derivatives
from scipy.interpolate import BSpline

import trackless as tl
from trackless.exploration import explore
from trackless.tensor_splines import TensorSpline, spline_values


def cloud(dim, seed=0):
    positions = np.random.default_rng(seed).normal(0.3, 0.5, (30, 4, 6, dim))
    return explore(tl.Snapshots(positions, np.arange(4.0)))


def family(dim, role, count=6):
    return tl.TensorSplines(count).adapted(cloud(dim), role)


def potential(dim, count=6):
    coef = np.random.default_rng(2).standard_normal((count,) * dim)
    return TensorSpline(np.linspace(-1.2, -1.0, dim), np.linspace(1.0, 1.3, dim), coef)


def off_the_knots(spline, x):
    cells = np.array(spline.coef.shape) - 3
    t = (x - spline.lower) / (spline.upper - spline.lower) * cells
    return x[(np.abs(t - np.rint(t)) > 0.02).all(axis=1)]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_derivatives_inside_and_outside_the_grid(dim):
    spline = potential(dim)
    x = off_the_knots(spline, np.random.default_rng(0).uniform(-1.6, 1.6, (200, dim)))
    assert len(x) > 100
    assert_derivatives(spline, x)


def test_values_are_products_of_b_splines():
    spline, count = potential(2), 6
    x = np.random.default_rng(1).uniform(-0.95, 0.95, (100, 2))
    columns = []
    for k in range(2):
        h = (spline.upper[k] - spline.lower[k]) / (count - 3)
        knots = spline.lower[k] + h * np.arange(-3, count + 1)
        columns.append(BSpline.design_matrix(x[:, k], knots, 3).toarray())
    expected = np.einsum("pa,pb,ab->p", columns[0], columns[1], spline.coef)
    np.testing.assert_allclose(spline(x), expected, atol=1e-12)


def test_outside_the_grid_it_goes_on_linearly():
    spline = potential(2)
    path = np.stack([np.linspace(2.0, 4.0, 5), np.full(5, 0.2)], axis=1)
    np.testing.assert_allclose(np.diff(spline(path), 2), 0.0, atol=1e-12)
    assert np.abs(np.diff(spline(path))).min() > 1e-3


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("role", ["external", "interaction"])
def test_no_combination_is_constant(dim, role):
    # an even cloud, so that every function is reached and one has to go
    positions = np.random.default_rng(5).uniform(-1.0, 1.0, (30, 4, 6, dim))
    sample = explore(tl.Snapshots(positions, np.arange(4.0)))
    basis = tl.TensorSplines(4, lower=(-1.0,) * dim, upper=(1.0,) * dim).adapted(sample, role)
    full = 4**dim // 2 if role == "interaction" else 4**dim
    assert basis.size == full - 1
    x = (sample.displacements if role == "interaction" else sample.positions)[::2]
    gradients = np.stack([basis.combine(unit).gradient(x).ravel() for unit in np.eye(basis.size)], axis=1)
    values = np.linalg.svd(gradients / np.linalg.norm(gradients, axis=0), compute_uv=False)
    assert values[-1] > 1e-4 * values[0]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("count", [5, 6])
def test_interactions_are_even(dim, count):
    basis = family(dim, "interaction", count)
    assert basis.even
    x = np.random.default_rng(3).uniform(-2.5, 2.5, (50, dim))
    phi = basis.combine(np.random.default_rng(4).standard_normal(basis.size))
    np.testing.assert_allclose(phi(x), phi(-x), atol=1e-12)
    np.testing.assert_allclose(phi.gradient(x), -phi.gradient(-x), atol=1e-12)


def test_external_potentials_are_not_made_even():
    basis = family(2, "external")
    v = basis.combine(np.random.default_rng(4).standard_normal(basis.size))
    assert abs(v([0.3, 0.1]) - v([-0.3, -0.1])) > 1e-3


def test_grid_covers_the_data():
    sample = cloud(2)
    basis = family(2, "external")
    assert basis.closed
    np.testing.assert_allclose(basis.lower, np.quantile(sample.positions, 0.001, axis=0))
    np.testing.assert_allclose(basis.upper, np.quantile(sample.positions, 0.999, axis=0))
    even = family(2, "interaction")
    np.testing.assert_allclose(even.lower, -np.asarray(even.upper))
    assert basis.adapted(sample, "external") is basis


def test_given_bounds_are_kept():
    basis = tl.TensorSplines(5, lower=(-2.0, -1.0), upper=(2.0, 1.0)).adapted(cloud(2), "external")
    assert (basis.lower, basis.upper) == ((-2.0, -1.0), (2.0, 1.0))


def test_functions_no_data_reached_are_left_out():
    wide = tl.TensorSplines(12, lower=(-9.0, -9.0), upper=(9.0, 9.0)).adapted(cloud(2), "external")
    assert 8 <= wide.size < 40
    assert wide.size == family_size(wide)
    assert len(wide.names) == wide.size
    assert all(name.startswith("spline at (") for name in wide.names)


@pytest.mark.parametrize("role", ["external", "interaction"])
def test_splines_that_are_hardly_reached_go_along_with_their_neighbours(role):
    """Constants stay among the functions, so that leaving out the one in the middle holds the potential to nothing."""
    wide = tl.TensorSplines(12, lower=(-9.0, -9.0), upper=(9.0, 9.0)).adapted(cloud(2), role)
    ones = wide.combine(np.ones(wide.size))
    middle = TensorSpline(ones.lower, ones.upper, 1 - ones.coef)
    points = np.random.default_rng(0).uniform(-8.9, 8.9, (500, 2))
    away = np.abs(points).max(axis=1) > 5  # where no data are, and the function in the middle has ended
    np.testing.assert_allclose(ones(points[away]), 1.0, atol=1e-12)
    np.testing.assert_allclose(ones(points) + middle(points), 1.0, atol=1e-12)


def test_functions_are_named_by_what_the_data_reach():
    wide = tl.TensorSplines(12, lower=(-9.0, -9.0), upper=(9.0, 9.0)).adapted(cloud(2), "external")
    assert np.abs(wide.peaks()).max() <= np.abs(cloud(2).positions).max() + 2 * 18 / 9


def family_size(basis):
    return len(set(basis.fold) - {-1})


@pytest.mark.parametrize(
    ("basis", "dim", "message"),
    [
        (tl.TensorSplines(3), 2, "at least 4 splines per direction, got 3"),
        (tl.TensorSplines(6), 1, "2 or 3 dimensions, the data have 1"),
        (tl.TensorSplines(6), 5, "2 or 3 dimensions, the data have 5"),
    ],
)
def test_impossible_families(basis, dim, message):
    with pytest.raises(tl.InputError, match=message):
        basis.adapted(cloud(dim), "external")


def test_open_families_and_other_dimensions_cannot_be_tabulated():
    with pytest.raises(tl.InputError, match="adapt the family"):
        tl.TensorSplines(6).table(2)
    with pytest.raises(tl.InputError, match="adapted to 2 dimensions, the data have 3"):
        family(2, "external").table(3)


def test_a_complete_family_keeps_what_the_data_hardly_reach():
    """All functions but the constant; values anywhere on the grid then come from all of them."""
    data = tl.simulate(tl.models.anisotropic(), runs=20, duration=0.1, step=1e-3, observe_every=1e-2)
    some, every = (tl.TensorSplines(9, complete=c).adapted(explore(data), "external") for c in (False, True))
    assert some.size < every.size == 9 * 9 - 1
    pairs = tl.TensorSplines(9, complete=True).adapted(explore(data), "interaction")
    assert pairs.size == (9 * 9 - 1) // 2
    corner = np.array([every.lower])
    coef = np.random.default_rng(0).normal(size=every.size)
    np.testing.assert_allclose(spline_values(every, corner) @ coef, every.combine(coef)(corner), rtol=1e-10)
