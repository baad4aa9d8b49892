"""Every profile, wrapper and sum against finite differences, and its behaviour at special points."""

import copy

import numpy as np
import pytest
from differences import assert_derivatives, assert_radial_derivatives, points_at
from scipy.interpolate import CubicSpline

from trackless.potentials import Centered, PiecewiseCubic, PotentialSum, RadialFunction, RadialSum, Stretched, as_radial
from trackless.shapes import (
    Clamped,
    Exponential,
    Gaussian,
    InversePower,
    Power,
    Reciprocal,
    ShiftedForce,
    SmoothedIndicator,
)

RADII = np.linspace(0.31, 1.93, 160)
LENNARD_JONES = 2 * InversePower(0.5, 12) - 2 * InversePower(0.5, 6)


def cubic():
    spline = CubicSpline(np.linspace(0.5, 1.5, 6), np.sin(3 * np.linspace(0.5, 1.5, 6)))
    return PiecewiseCubic(spline.x, spline.c[::-1].T)


# (potential, radii where its second derivative jumps, tolerance)
PROFILES = {
    "|x|": (Power(1), (), 1e-6),
    "|x|^2": (Power(2), (), 1e-6),
    "|x|^3.5": (Power(3.5), (), 1e-6),
    "|x|^4": (Power(4), (), 1e-6),
    "inverse power": (InversePower(0.5, 6), (), 1e-5),
    "Gaussian at 0": (Gaussian(0.0, 0.7), (), 1e-6),
    "Gaussian shell": (Gaussian(0.75, 0.125), (), 1e-5),
    "smoothed indicator": (SmoothedIndicator(0.5, 1.0, 0.05), (), 1e-3),
    "reciprocal": (Reciprocal(), (), 1e-6),
    "reciprocal with offset": (Reciprocal(0.3), (), 1e-6),
    "exponential": (Exponential(2.0, 0.8), (), 1e-6),
    "clamped": (Clamped(LENNARD_JONES, 0.5), (0.5,), 1e-5),
    "shifted force": (ShiftedForce(Gaussian(0.75, 0.5), 1.5), (1.5,), 1e-6),
    "clamped and cut": (ShiftedForce(Clamped(LENNARD_JONES, 0.5), 1.5), (0.5, 1.5), 1e-5),
    "sum": (2 * Power(2) - 0.5 * Power(1) + Gaussian(1.0, 0.3) * 3, (), 1e-6),
    "piecewise cubic": (cubic(), np.linspace(0.5, 1.5, 6), 1e-6),
    "callable": (RadialFunction(np.cos), (), 1e-4),
    "callable with slope": (RadialFunction(np.cos, lambda r: -np.sin(r)), (), 1e-6),
    "three callables": (as_radial((np.cos, lambda r: -np.sin(r), lambda r: -np.cos(r))), (), 1e-6),
}  # fmt: skip


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", PROFILES)
def test_gradient_and_laplacian(name, dim):
    potential, kinks, tolerance = PROFILES[name]
    assert_derivatives(potential, points_at(RADII, dim, avoid=kinks), tolerance)


@pytest.mark.parametrize("name", PROFILES)
def test_slope_and_curvature(name):
    potential, kinks, tolerance = PROFILES[name]
    radii = np.linalg.norm(points_at(RADII, 1, avoid=kinks), axis=1)
    assert_radial_derivatives(potential, radii, tolerance)


@pytest.mark.parametrize("name", PROFILES)
def test_shapes_of_results(name):
    potential = PROFILES[name][0]
    x = points_at(RADII[:12], 2).reshape(3, 4, 2)
    assert potential(x).shape == potential.laplacian(x).shape == (3, 4)
    assert potential.gradient(x).shape == (3, 4, 2)
    assert potential.profile(0.7).shape == potential.slope(0.7).shape == potential.curvature(0.7).shape == ()
    assert potential.profile([0.7, 0.9]).shape == (2,)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_centered(dim):
    center = tuple(np.linspace(0.4, -0.2, dim))
    potential = Centered(Gaussian(0.75, 0.3), center)
    assert_derivatives(potential, center + points_at(RADII, dim))
    assert potential(np.asarray(center)) == Gaussian(0.75, 0.3).profile(0.0)


def test_sum_of_centered_terms_keeps_their_centre():
    potential = 2.0 * Centered(Power(2), (1.0, 0.0))
    assert potential([1.0, 2.0]) == pytest.approx(8.0)
    np.testing.assert_allclose(potential.gradient([1.0, 2.0]), [0.0, 8.0])


@pytest.mark.parametrize("stretch", [(1.0, 0.5), (0.5, 1.5), (1.0, np.inf), (0.4, 0.8, 2.0), (0.7,)])
@pytest.mark.parametrize("inner", [Power(2), Gaussian(0.0, 1.0), Gaussian(0.8, 0.5)], ids=repr)
def test_stretched(inner, stretch):
    x = np.random.default_rng(0).uniform(0.2, 1.5, (60, len(stretch)))
    potential = Stretched(inner, stretch)
    assert_derivatives(potential, x, 1e-5)
    q = np.sqrt(((x / np.asarray(stretch)) ** 2).sum(axis=1))
    np.testing.assert_allclose(potential(x), inner.profile(q))


def test_potential_sum_of_any_kind():
    potential = PotentialSum((Gaussian(0.5, 0.4), Stretched(Power(2), (1.0, 0.5))), (-2.0, 0.5))
    x = points_at(RADII, 2)
    assert_derivatives(potential, x)
    np.testing.assert_allclose(potential(x), -2 * Gaussian(0.5, 0.4)(x) + 0.5 * x[:, 0] ** 2 + 2 * x[:, 1] ** 2)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_limits_at_the_centre_of_flat_functions(dim):
    origin = np.zeros((1, dim))
    for potential, expected in [(Power(2), 2.0 * dim), (Gaussian(0.0, 0.5), -4.0 * dim), (Power(4), 0.0)]:
        np.testing.assert_array_equal(potential.gradient(origin), 0.0)
        np.testing.assert_allclose(potential.laplacian(origin), expected)


def test_a_tip_has_no_direction_and_no_laplacian():
    np.testing.assert_array_equal(Power(1).gradient([[0.0, 0.0]]), 0.0)
    assert np.isinf(Power(1).laplacian([[0.0, 0.0]])).all()
    np.testing.assert_array_equal(Power(1).laplacian([[0.0]]), 0.0)  # in one dimension: 0 on both sides


def test_limit_at_the_centre_of_a_stretched_function():
    valley = Stretched(Power(2), (1.0, 0.5))  # x_1^2 + 4 x_2^2
    np.testing.assert_allclose(valley.laplacian([[0.0, 0.0], [0.3, 0.2]]), 10.0)
    np.testing.assert_array_equal(valley.gradient([[0.0, 0.0]]), 0.0)


def test_clamped_continues_value_and_slope_together():
    inside = np.linspace(0.0, 0.35, 8)
    clamped, edge = Clamped(LENNARD_JONES, 0.35), 0.35
    slope = LENNARD_JONES.slope(edge)
    np.testing.assert_allclose(clamped.slope(inside), slope)
    np.testing.assert_allclose(clamped.profile(inside), LENNARD_JONES.profile(edge) + slope * (inside - edge))
    np.testing.assert_array_equal(clamped.curvature(inside[:-1]), 0.0)
    outside = np.linspace(0.36, 2.0, 8)
    for method in ("profile", "slope", "curvature"):
        np.testing.assert_array_equal(getattr(clamped, method)(outside), getattr(LENNARD_JONES, method)(outside))


def test_shifted_force_vanishes_with_its_slope_at_the_cutoff():
    cut = ShiftedForce(Gaussian(0.75, 0.5), 1.5)
    beyond = np.array([1.5, 1.7, 4.0])
    for values in (cut.profile(beyond), cut.slope(beyond), cut.curvature(beyond)):
        np.testing.assert_array_equal(values, 0.0)
    inside = np.array([0.2, 1.0, 1.4])
    shift = cut.slope(inside) - Gaussian(0.75, 0.5).slope(inside)
    np.testing.assert_allclose(shift, shift[0])


@pytest.mark.parametrize("potential", [Clamped(LENNARD_JONES, 0.4), ShiftedForce(Gaussian(0.75, 0.5), 1.5)], ids=repr)
def test_values_are_the_integral_of_the_slope(potential):
    r = np.linspace(0.05, 2.0, 200_001)
    risen = np.concatenate([[0.0], np.cumsum(0.5 * (potential.slope(r)[1:] + potential.slope(r)[:-1]) * np.diff(r))])
    profile = potential.profile(r)
    np.testing.assert_allclose(risen, profile - profile[0], atol=1e-6 * np.abs(profile).max())


def test_piecewise_cubic_goes_on_linearly():
    potential = cubic()
    for edge, beyond in [(0.5, np.array([0.0, 0.3])), (1.5, np.array([1.7, 3.0]))]:
        np.testing.assert_allclose(potential.slope(beyond), potential.slope(edge))
        expected = potential.profile(edge) + potential.slope(edge) * (beyond - edge)
        np.testing.assert_allclose(potential.profile(beyond), expected)
        np.testing.assert_array_equal(potential.curvature(beyond), 0.0)


@pytest.mark.parametrize("r", [0.0, 5e-4, 1e-3, 0.0021, 0.5])
def test_numerical_derivatives_ask_for_no_negative_distance(r):
    def profile(distances):
        assert (distances >= 0).all()
        return np.exp(-2 * distances)

    potential = RadialFunction(profile)
    assert potential.slope(r) == pytest.approx(-2 * np.exp(-2 * r), abs=1e-9)
    assert potential.curvature(r) == pytest.approx(4 * np.exp(-2 * r), abs=1e-5)


def test_arithmetic_of_radial_potentials():
    r = RADII
    total = 2 * Power(2) - Power(1) * 3 + Gaussian(1.0, 0.2)
    assert isinstance(total, RadialSum)
    np.testing.assert_allclose(total.profile(r), 2 * r**2 - 3 * r + np.exp(-12.5 * (r - 1) ** 2))


def test_as_radial_takes_potentials_callables_and_triples():
    power = Power(2)
    assert as_radial(power) is power
    assert as_radial(np.sin).profile(0.3) == np.sin(0.3)
    assert as_radial((np.sin, np.cos)).slope(0.3) == np.cos(0.3)


def test_what_only_radial_potentials_have_is_explained_on_others():
    valley = Stretched(Power(2), (1.0, 0.5))
    for name in ("slope", "profile", "curvature"):
        assert not hasattr(valley, name)
        with pytest.raises(AttributeError, match=rf"{name}: this potential is not radial.*use \.gradient\(x\)"):
            getattr(valley, name)
    with pytest.raises(AttributeError, match="'Stretched' object has no attribute 'slopes'"):
        _ = valley.slopes
    assert hasattr(Power(2), "slope")
    assert copy.deepcopy(valley) == valley
