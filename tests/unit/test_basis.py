"""Families of radial functions: what they span, how they adapt, and what they combine to."""

import numpy as np
import pytest
from differences import assert_derivatives, points_at
from scipy.interpolate import BSpline
from twins import functions_of

import trackless as tl
from trackless.exploration import explore
from trackless.potentials import Centered, PotentialSum, Stretched
from trackless.shapes import Gaussian, InversePower, Power

SPLINES = {
    "open": tl.RadialSplines(8, lower=0.0, upper=2.0),
    "lower end": tl.RadialSplines(8, lower=0.4, upper=2.0),
    "cutoff": tl.RadialSplines(8, lower=0.0, cutoff=2.0),
    "flat centre": tl.RadialSplines(8, lower=0.0, upper=2.0, flat_center=True),
    "flat centre and cutoff": tl.RadialSplines(8, lower=0.0, cutoff=2.0, flat_center=True),
    "knots": tl.RadialSplines(knots=(0.3, 0.5, 0.6, 1.0, 1.8, 2.0)),
}
R = np.linspace(0.05, 1.95, 400)


@pytest.fixture(scope="module")
def explored():
    positions = np.random.default_rng(0).normal(0.2, 0.5, (20, 5, 6, 2))
    return explore(tl.Snapshots(positions, np.arange(5.0)))


def coefficients(basis, seed=1):
    return np.random.default_rng(seed).standard_normal(basis.size)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", SPLINES)
def test_derivatives_of_spline_potentials(name, dim):
    basis = SPLINES[name]
    knots = np.unique(basis.spline_parts()[0])
    x = points_at(np.linspace(0.05, 2.4, 300), dim, avoid=knots)
    assert_derivatives(basis.combine(coefficients(basis)), x)


@pytest.mark.parametrize("name", SPLINES)
def test_splines_are_b_splines(name):
    basis = SPLINES[name]
    knots, kept = basis.spline_parts()
    inside = R[(knots[0] + 0.02 < R) & (knots[-1] > R)]  # a tip at 0 is rounded within 2/256
    expected = BSpline(knots, kept @ coefficients(basis), 3)
    potential = basis.combine(coefficients(basis))
    np.testing.assert_allclose(potential.profile(inside), expected(inside), atol=1e-12)
    np.testing.assert_allclose(potential.slope(inside), expected(inside, nu=1), atol=1e-11)
    np.testing.assert_allclose(potential.curvature(inside), expected(inside, nu=2), atol=1e-9)


@pytest.mark.parametrize("name", SPLINES)
def test_no_combination_of_splines_is_constant(name):
    basis = SPLINES[name]
    slopes = np.stack([f.slope(np.linspace(0.0, 2.0, 500)) for f in functions_of(basis)], axis=1)
    values = np.linalg.svd(slopes / np.linalg.norm(slopes, axis=0), compute_uv=False)
    assert values[-1] > 1e-3 * values[0]


@pytest.mark.parametrize("name", SPLINES)
def test_four_splines_per_distance(name):
    values = np.stack([f.profile(R[R > 0.31]) for f in functions_of(SPLINES[name])], axis=1)
    used = np.abs(values[:-1]) > 0
    assert used.sum(axis=1).max() == 4


@pytest.mark.parametrize("name", ["cutoff", "flat centre and cutoff"])
def test_cutoff_splines_vanish_with_their_slope(name):
    beyond = np.array([2.0, 2.1, 7.0])
    for function in functions_of(SPLINES[name]):
        np.testing.assert_allclose(function.profile(beyond), 0.0, atol=1e-12)
        np.testing.assert_allclose(function.slope(beyond), 0.0, atol=1e-12)
    # and nothing more is lost: some function has a curvature there
    assert max(abs(f.curvature(2.0 - 1e-9)) for f in functions_of(SPLINES[name])) > 0.1


@pytest.mark.parametrize("name", ["open", "cutoff", "flat centre", "flat centre and cutoff"])
def test_no_spline_has_a_slope_at_zero(name):
    for function in functions_of(SPLINES[name]):
        assert function.slope(0.0) == 0.0


def test_a_tip_is_rounded_close_to_zero_only():
    near = 2 / 2048 * 1.01
    tip = functions_of(SPLINES["open"])[0]  # (1 - 3 r)^3 near 0: the knots are 1/3 apart
    assert tip.slope(near) == pytest.approx(-9 * (1 - 3 * near) ** 2)
    assert abs(tip.slope(near / 10)) < 1
    assert SPLINES["open"].combine(np.eye(SPLINES["open"].size)[0]).slope(0.0) == pytest.approx(-9)


@pytest.mark.parametrize("name", ["flat centre", "flat centre and cutoff"])
def test_a_flat_centre_needs_no_rounding(name):
    knots, kept = SPLINES[name].spline_parts()
    splines = BSpline(knots, kept, 3)
    np.testing.assert_allclose(splines(0.0, nu=1), 0.0, atol=1e-12)
    r = np.linspace(0.0, 0.02, 21)
    found = np.stack([f.profile(r) for f in functions_of(SPLINES[name])], axis=1)
    np.testing.assert_allclose(found, splines(r), atol=1e-12)


@pytest.mark.parametrize("name", SPLINES)
def test_combining_is_linear_in_the_coefficients(name):
    basis = SPLINES[name]
    coef = coefficients(basis)
    total = sum(c * f.profile(R) for c, f in zip(coef, functions_of(basis), strict=True))
    np.testing.assert_allclose(basis.combine(coef).profile(R), total, atol=1e-12)
    assert basis.size == len(basis.names) == len(coef)


def test_knots_say_the_number_of_functions():
    knots = (0.0, 0.5, 1.0, 1.5, 2.0)
    assert tl.RadialSplines(knots=knots).size == 6
    assert tl.RadialSplines(knots=knots, cutoff=2.0).size == 5
    assert tl.RadialSplines(knots=knots, cutoff=2.0, flat_center=True).size == 4
    equidistant = tl.RadialSplines(6, lower=0.0, upper=2.0)
    np.testing.assert_allclose(
        tl.RadialSplines(knots=knots).combine(np.arange(6.0)).profile(R),
        equidistant.combine(np.arange(6.0)).profile(R),
        atol=1e-4,  # tips are rounded on grids that differ
    )


def test_spline_range_follows_the_data(explored):
    adapted = tl.RadialSplines(8).adapted(explored, "interaction")
    assert adapted.closed
    assert adapted.lower == 0.0
    assert adapted.upper == pytest.approx(np.quantile(explored.distances, 0.999))
    assert adapted.adapted(explored, "interaction") is adapted
    about_mean = tl.RadialSplines(8, center="mean").adapted(explored, "external")
    np.testing.assert_allclose(about_mean.center, explored.mean)
    assert about_mean.upper == pytest.approx(np.quantile(explored.radii(explored.mean), 0.999))


def test_given_ends_are_kept(explored):
    adapted = tl.RadialSplines(8, lower=0.1, cutoff=1.3).adapted(explored, "interaction")
    assert (adapted.lower, adapted.cutoff) == (0.1, 1.3)
    open_below = tl.RadialSplines(8, upper=1.3).adapted(explored, "external")
    assert (open_below.lower, open_below.upper) == (0.0, 1.3)


def test_range_starts_at_the_closest_pairs_if_these_keep_apart():
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(1, 1, 16, 2)
    apart = explore(tl.Snapshots(np.repeat(grid, 2, axis=1), [0.0, 1.0]))
    assert tl.RadialSplines(8).adapted(apart, "interaction").lower == pytest.approx(1.0)
    assert tl.RadialSplines(8, flat_center=True).adapted(apart, "interaction").lower == 0.0


def test_spline_names_say_where_they_are():
    assert tl.RadialSplines(3).names == ("spline 0", "spline 1", "spline 2")
    names = tl.RadialSplines(4, lower=0.0, upper=2.0).names
    assert names == ("spline around r=0", "spline around r=0.333", "spline around r=1", "spline around r=1.67")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 1}, "at least 2 functions, got 1"),
        ({"upper": 1.0, "cutoff": 2.0}, "cutoff 2 is the upper end, drop upper=1"),
        ({"knots": (0.0, 1.0, 2.0), "cutoff": 3.0}, "cutoff 3 is the upper end"),
    ],
)
def test_impossible_splines(arguments, message):
    with pytest.raises(tl.InputError, match=message):
        tl.RadialSplines(**arguments)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (tl.RadialSplines(8), "range is open"),
        (tl.RadialSplines(8, lower=0.2, upper=1.0, flat_center=True), "flat_center needs lower=0, got 0.2"),
        (tl.RadialSplines(knots=(0.0, 1.0, 0.5, 2.0)), "knots: expected increasing"),
        (tl.RadialSplines(8, lower=0.0, upper=1.0, center=(1.0,)), "center: expected 2 coordinates"),
        (tl.GaussianRBF(3), "adapt the family"),
        (tl.RadialFunctions([Power(2)]), "adapt the family"),
        (tl.RadialFunctions([Stretched(Power(2), (1.0, 1.0, 2.0))], reach=(0.0, 1.0)), "made for 3 dimensions"),
    ],
)
def test_families_that_cannot_be_tabulated(basis, message):
    with pytest.raises(tl.InputError, match=message):
        basis.table(2)


def test_gaussian_recipe_of_the_appendix(explored):
    adapted = tl.GaussianRBF(20).adapted(explored, "interaction")
    r_max = np.quantile(explored.distances, 0.99)
    np.testing.assert_allclose([f.center for f in adapted.functions], np.linspace(0.01, r_max, 20))
    np.testing.assert_allclose([f.width for f in adapted.functions], 1.5 * r_max / 20)


def test_gaussian_recipe_of_the_text(explored):
    adapted = tl.GaussianRBF(20, r_max=3.0, first=0.0, width=0.5).adapted(explored, "external")
    assert adapted.functions == tuple(Gaussian(c, 0.5) for c in np.linspace(0.0, 3.0, 20))


def test_gaussians_with_a_range_can_be_combined():
    basis = tl.GaussianRBF(3, r_max=2.0)
    total = basis.combine([1.0, -2.0, 0.5])
    expected = sum(
        c * np.exp(-0.5 * ((R - m) / 1.0) ** 2) for c, m in zip((1, -2, 0.5), (0.01, 1.005, 2.0), strict=True)
    )
    np.testing.assert_allclose(total.profile(R), expected)
    with pytest.raises(tl.InputError, match="r_max is open"):
        tl.GaussianRBF(3).combine([1.0, 2.0, 3.0])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_derivatives_of_given_functions(dim):
    basis = tl.RadialFunctions([Power(2), np.cos, (np.sin, np.cos)], center=(0.3,) * dim)
    assert_derivatives(basis.combine([1.0, -0.5, 2.0]), 0.3 + points_at(R[::8], dim), 1e-4)


def test_given_functions_combine_about_their_centre():
    potential = tl.RadialFunctions([Power(2)], center=(1.0, 0.0)).combine([2.0])
    assert isinstance(potential, Centered)
    assert potential([1.0, 3.0]) == pytest.approx(18.0)


def test_given_functions_of_both_kinds_combine_to_a_sum():
    potential = tl.RadialFunctions([Power(2), Stretched(Power(2), (1.0, 0.5))]).combine([1.0, 2.0])
    assert isinstance(potential, PotentialSum)
    assert potential([1.0, 1.0]) == pytest.approx(2.0 + 2 * 5.0)


def test_reach_of_given_functions_covers_all_data(explored):
    adapted = tl.RadialFunctions([Power(2)]).adapted(explored, "interaction")
    assert adapted.reach[0] == 0.0
    assert adapted.reach[1] > explored.distances.max()
    stretched = tl.RadialFunctions([Stretched(Power(2), (1.0, 0.5))]).adapted(explored, "external")
    assert stretched.reach[1] > 2 * np.abs(explored.positions[:, 1]).max()
    singular = tl.RadialFunctions([InversePower(0.5, 12)]).adapted(explored, "interaction")
    assert singular.reach[0] == explored.distances.min() > 0


def test_equality_is_that_of_the_functions(explored):
    basis = tl.RadialFunctions([Power(2)], names=["spring"])
    assert basis == basis.adapted(explored, "external") == tl.RadialFunctions([Power(2)], names=["spring"])
    assert hash(basis) == hash(basis.adapted(explored, "external"))
    assert basis != tl.RadialFunctions([Power(3)], names=["spring"])
    assert basis != tl.RadialFunctions([Power(2)], names=["spring"], center=(1.0, 0.0))
    assert basis != tl.RadialSplines(8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"functions": []}, "at least one function"),
        ({"functions": [Power(1), Power(2)], "names": ["one"]}, "names: expected 2, got 1"),
        ({"functions": [Centered(Power(2), (1.0, 0.0))]}, "centre of its own; give center="),
        ({"functions": [Stretched(Power(2), (1.0, 0.5))], "center": (1.0, 0.0)}, "None for stretched functions"),
    ],
)
def test_impossible_given_functions(arguments, message):
    with pytest.raises(tl.InputError, match=message):
        tl.RadialFunctions(**arguments)


def test_an_interaction_has_no_centre(explored):
    for basis in (tl.RadialSplines(8, center="mean"), tl.GaussianRBF(8, center=(0.0, 0.0))):
        with pytest.raises(tl.InputError, match="center: an interaction depends on differences"):
            basis.adapted(explored, "interaction")


def test_a_core_begins_at_the_nearest_pair():
    """Where something keeps particles apart there is nothing to learn below; otherwise splines go down to 0."""
    singular = tl.simulate(tl.models.singularity(), runs=20, step=1e-3, accurate=True).between(0.1, 1.0)
    explored = explore(singular)
    splines = tl.RadialSplines(60, follow_data=True).adapted(explored, "interaction")
    assert splines.lower == explored.distances.min() > 0.3
    explored = explore(tl.simulate(tl.models.reference(), runs=20, step=1e-2))
    assert tl.RadialSplines(60, follow_data=True).adapted(explored, "interaction").lower == 0
    assert tl.RadialSplines(60, follow_data=True).adapted(explored, "external").lower == 0


def test_knots_follow_the_data_and_the_bends_of_an_estimate():
    explored = explore(tl.simulate(tl.models.reference(), runs=30, step=1e-2))
    plain = tl.RadialSplines(60, follow_data=True).adapted(explored, "interaction")
    dense, rare = np.quantile(explored.distances, [0.5, 0.999])
    spacing = np.diff(plain.knots)
    assert spacing[np.searchsorted(plain.knots, dense)] < 0.7 * spacing[-1]

    def refined_near(place):
        """How many times as many knots there are at a sharp bend."""
        bend = Gaussian(place, 0.02)
        finer = plain.refined(explored, "interaction", bend)
        assert (finer.count, finer.lower, finer.upper) == (plain.count, plain.lower, plain.upper)
        before, after = (np.sum(np.abs(np.asarray(basis.knots) - place) < 0.1) for basis in (plain, finer))
        return after / before

    assert refined_near(dense) > 2
    assert refined_near(rare) < 1.5  # too few data to follow it
    bend = Gaussian(1.5, 0.02)
    with pytest.raises(tl.InputError, match="adapt it to data first"):
        tl.RadialSplines(60).refined(explored, "interaction", bend)
