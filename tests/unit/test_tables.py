"""Tables: tabulated functions are the given ones to tolerance, and rounded tips are potentials."""

import numpy as np
import pytest

import trackless as tl
from trackless.potentials import PiecewiseCubic
from trackless.shapes import Clamped, Exponential, Gaussian, InversePower, Power, SmoothedIndicator
from trackless.tables import empty_table, radial_table, rounded, tabulated


def cubic(pieces, k=0):
    return PiecewiseCubic(pieces.edges, pieces.coef[:, k])


@pytest.mark.parametrize(
    "function",
    [Power(2), Power(4), Gaussian(0.75, 0.125), SmoothedIndicator(0.5, 1.0, 0.05), Exponential(4.0, 0.8)],
    ids=repr,
)
def test_slopes_are_tabulated_to_tolerance(function):
    tabled = cubic(tabulated([function], 0.0, 3.0))
    r = np.linspace(3 / 128, 3.0, 5003)
    assert np.abs(tabled.slope(r) - function.slope(r)).max() < 2e-5 * np.abs(function.slope(r)).max()
    assert np.abs(tabled.profile(r) - function.profile(r)).max() < 1e-5 * np.abs(function.slope(r)).max()


def test_grid_is_as_fine_as_the_steepest_function_needs():
    assert len(tabulated([Power(2)], 0.0, 3.0).coef) == 256
    assert len(tabulated([Power(2)], 0.0, 3.0, tip=3.0 / 512).coef) == 512
    assert len(tabulated([Power(2), Gaussian(0.75, 0.05)], 0.0, 3.0).coef) > 500
    assert len(tabulated([SmoothedIndicator(0.5, 1.0, 1e-4)], 0.0, 3.0, most=1024).coef) == 1024


def test_a_kink_costs_one_cell():
    core = Clamped(InversePower(0.5, 12), 0.35)
    pieces = tabulated([core], 0.3, 3.0)
    r = np.linspace(0.3, 3.0, 20_011)
    off = np.abs(cubic(pieces).slope(r) - core.slope(r)) > 2e-5 * np.abs(core.slope(0.35))
    assert off.sum() < 20
    assert np.abs(r[off] - 0.35).max(initial=0.0) < 2 * pieces.spacing


@pytest.mark.parametrize("function", [Power(1), Exponential(2.0), Gaussian(0.5, 0.4)], ids=repr)
def test_tips_are_rounded_to_a_potential(function):
    pieces = tabulated([function], 0.0, 2.0)
    tabled, radius = cubic(pieces), 2.0 / min(len(pieces.coef), 256)
    assert tabled.slope(0.0) == 0.0
    for side in (radius * (1 - 1e-9), radius * (1 + 1e-9)):
        assert tabled.slope(side) == pytest.approx(function.slope(radius), rel=1e-5)
        assert tabled.profile(side) == pytest.approx(function.profile(radius), rel=1e-5)
    r = np.linspace(0.0, radius, 11)
    np.testing.assert_allclose(tabled.slope(r), function.slope(radius) * r / radius, rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(
        tabled.profile(radius) - tabled.profile(0.0), 0.5 * radius * function.slope(radius), rtol=1e-4
    )


def test_only_tips_are_rounded():
    pieces = tabulated([Power(2), Power(1)], 0.0, 2.0)
    r = np.linspace(0.0, 0.05, 101)
    np.testing.assert_allclose(cubic(pieces, 0).profile(r), r**2, atol=1e-14)
    assert cubic(pieces, 1).profile(0.0) > 0


def test_rounding_puts_in_an_edge_where_there_is_none():
    splines = tl.RadialSplines(5, lower=0.0, upper=2.0)
    pieces = splines.pieces()
    assert len(pieces.edges) == 5  # four knots, and one where the tip begins
    finer = rounded(pieces._replace(coef=pieces.coef.copy()), pieces.edges[1])
    np.testing.assert_allclose(finer.coef, pieces.coef, atol=1e-12)


def test_functions_flat_at_zero_but_for_rounding_have_no_slope_there():
    far = Gaussian(3.0, 0.25)  # its slope at 0 is 1e-30
    assert tabulated([far], 0.0, 4.0).coef[0, 0, 1] == 0.0


def test_cells_are_found_by_one_look_up():
    splines = tl.RadialSplines(9, lower=0.2, upper=2.0)
    table, pieces = splines.table(2), splines.pieces()
    for r in np.random.default_rng(0).uniform(-0.5, 3.0, 300):
        position = int(np.floor((r - table.bottom) * table.bins_per_unit + 1))
        cell = table.cell_of[0, np.clip(position, 0, table.cell_of.shape[1] - 1)]
        u = r - table.left[cell]
        powers = np.array([1.0, u, u**2, u**3])
        values = np.zeros(9)
        values[table.first[cell] : table.first[cell] + 4] = table.coef[:, cell] @ powers
        np.testing.assert_allclose(values, [cubic(pieces, k).profile(r) for k in range(9)], atol=1e-12)


def test_local_tables_only_where_local_kernels_can_read_them():
    assert not tl.RadialSplines(9, lower=0.0, upper=2.0).table(2).dense
    assert tl.RadialSplines(7, lower=0.0, upper=2.0).table(2).dense  # half of the functions in every cell
    steps = [SmoothedIndicator(c, c + 0.6, 0.004) for c in np.arange(0.1, 3.0, 0.15)]
    assert tl.RadialFunctions(steps, reach=(0.0, 4.0)).table(2).dense  # more than four in a cell
    pieces = tl.RadialSplines(9, lower=0.0, upper=2.0).pieces()
    assert radial_table([pieces], np.array([[1.0, 4.0]]), np.zeros(2)).dense  # stretched


def test_empty_table():
    table = empty_table(3)
    assert table.size == 0
    assert table.origin.shape == (3,)
