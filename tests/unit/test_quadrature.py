"""Quadrature: weights sum to the duration and converge at their order."""

import numpy as np
import pytest

import trackless as tl
from trackless.quadrature import RULES, STRIDES, every_rule, weights

ORDERS = {"left": 1, "trapezoid": 2, "cubic": 4}


def grid(intervals, regular):
    t = np.linspace(0.0, 2.0, intervals + 1)
    return t if regular else t + 0.1 * np.sin(np.pi * t)  # smooth stretching, so that halving is halving


def error(rule, intervals, regular, chosen=weights):
    t = grid(intervals, regular)
    return abs(chosen(t, rule) @ np.exp(-t) - (np.exp(-t[0]) - np.exp(-t[-1])))


@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_order_of_each_rule(rule, regular):
    errors = np.array([error(rule, intervals, regular) for intervals in (160, 320, 640)])
    measured = np.log2(errors[:-1] / errors[1:])
    np.testing.assert_allclose(measured, ORDERS[rule], atol=0.15)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 17])
@pytest.mark.parametrize("rule", RULES)
def test_weights_sum_to_the_duration(rule, count):
    t = np.cumsum(np.random.default_rng(count).uniform(0.1, 1.0, count))
    assert weights(t, rule).sum() == pytest.approx(t[-1] - t[0], rel=1e-13)


@pytest.mark.parametrize("count", [4, 5, 9])
def test_cubic_rule_is_exact_for_cubics(count):
    t = np.cumsum(np.random.default_rng(count).uniform(0.5, 1.0, count))
    for power in range(4):
        exact = (t[-1] ** (power + 1) - t[0] ** (power + 1)) / (power + 1)
        assert weights(t, "cubic") @ t**power == pytest.approx(exact, rel=1e-12)


def test_intervals_of_very_different_length_get_the_trapezoid():
    t = np.array([0.0, 1.0, 2.0, 3.0, 3.1, 3.2, 3.3, 3.4])
    found = weights(t, "cubic")
    assert found @ t == pytest.approx(0.5 * 3.4**2)
    assert np.abs(found).max() < 1.5  # the cubic through uneven times would have weights of both signs, and large
    np.testing.assert_allclose(found[4], 0.1 * (1 / 2 + 13 / 24))  # a trapezoid on the left, a cubic on the right


def test_auto_is_the_cubic_rule():
    t = np.arange(7.0)
    np.testing.assert_array_equal(weights(t, "auto"), weights(t, "cubic"))


def test_cubic_rule_with_fewer_than_four_times():
    np.testing.assert_allclose(weights([0.0, 2.0], "cubic"), [1.0, 1.0])  # the trapezoid
    np.testing.assert_allclose(weights([0.0, 1.0, 2.0], "cubic"), np.array([1, 4, 1]) / 3)  # Simpson


def test_cubic_rule_on_a_regular_grid_corrects_the_ends_only():
    found = weights(np.arange(12.0), "cubic")
    np.testing.assert_allclose(found[4:-4], 1.0)
    np.testing.assert_allclose(found, found[::-1])


@pytest.mark.parametrize("rule", ["trapezoid", "cubic"])
def test_rules_are_symmetric_in_time(rule):
    t = np.cumsum(np.random.default_rng(0).uniform(0.1, 1.0, 9))
    np.testing.assert_allclose(weights(t, rule), weights(-t[::-1], rule)[::-1], rtol=1e-11)


def test_left_rule_leaves_the_last_value_out():
    np.testing.assert_allclose(weights([0.0, 0.5, 2.0], "left"), [0.5, 1.5, 0.0])


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8])
def test_table_of_every_stride_and_rule(count):
    t = np.cumsum(np.random.default_rng(count).uniform(0.1, 1.0, count))
    table = every_rule(t)
    assert table.shape == (len(STRIDES), len(RULES), count)
    coarse = sorted({*range(0, count, 2), count - 1})
    for r, rule in enumerate(RULES):
        np.testing.assert_array_equal(table[0, r], weights(t, rule))
        np.testing.assert_array_equal(table[1, r, coarse], weights(t[coarse], rule))
        left_out = [i for i in range(count) if i not in coarse]
        np.testing.assert_array_equal(table[1, r, left_out], 0.0)
    np.testing.assert_allclose(table.sum(axis=-1), t[-1] - t[0])


def test_errors():
    with pytest.raises(tl.InputError, match="at least two times, got 1"):
        weights([0.0])
    with pytest.raises(tl.InputError, match="expected one of left, trapezoid, cubic, auto, got 'simpson'"):
        weights([0.0, 1.0], "simpson")
