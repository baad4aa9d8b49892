"""Solvers on small constructed problems with known answers."""

import numpy as np
import pytest

import trackless as tl
from trackless.moments import NormalEquations
from trackless.shapes import Gaussian, Power
from trackless.solvers import FALLBACK, check_reached, condition_numbers, cross_validated, lcurve, ridge


def rotation(size, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def problem(values, projected):
    """A = U diag(values) U^T and b = U projected."""
    u = rotation(len(values))
    return NormalEquations(u @ np.diag(values) @ u.T, u @ np.asarray(projected, float), 1)


@pytest.mark.parametrize("strength", [0.0, 1e-3, 2.0])
def test_ridge_solves_its_equations(strength):
    equations = problem([3.0, 1.0, 0.2], [1.0, -2.0, 0.5])
    solution = ridge(equations, strength)
    left = (equations.matrix + strength * np.eye(3)) @ solution.coef
    np.testing.assert_allclose(left, equations.vector, atol=1e-12)
    assert solution.ridge == strength


def test_ridge_minimises_the_loss():
    equations = problem([3.0, 1.0, 0.2], [1.0, -2.0, 0.5])
    best = ridge(equations, 0.0).coef
    assert equations.loss(best) == pytest.approx(-0.5 * best @ equations.vector)
    for step in 0.1 * np.eye(3):
        assert equations.loss(best + step) > equations.loss(best) < equations.loss(best - step)


def test_singular_equations_name_the_combination():
    equations = NormalEquations(np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2), 1)
    with pytest.raises(tl.InputError, match=r"singular.*0\.707.*regularization above 0"):
        ridge(equations, 0.0)
    np.testing.assert_allclose(ridge(equations, 1e-9).coef, [0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf])
def test_impossible_ridges(strength):
    with pytest.raises(tl.InputError, match="regularization: expected a number of at least 0"):
        ridge(problem([1.0, 1.0], [1.0, 1.0]), strength)


@pytest.mark.parametrize("noise", [1e-9, 1e-8, 1e-7, 1e-6])
def test_lcurve_finds_the_corner_between_signal_and_noise(noise):
    # Three directions hold a signal of 1, three can hardly be seen and hold noise only. With a ridge lambda the
    # signal's residual is lambda and the noise in the solution is noise / lambda: both bend at lambda = noise.
    values = np.array([1.0, 0.5, 0.2, 1e-14, 1e-15, 1e-16])
    signal = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    equations = problem(values, values * signal + noise * np.array([0.0, 0.0, 0.0, 1.0, -1.0, 1.0]))
    solution = lcurve(equations)
    assert solution.corner
    assert noise / 3 < solution.ridge < 3 * noise
    assert solution.ridge == solution.candidates[np.argmax(solution.criterion)]
    assert np.linalg.norm(solution.coef) < 3 * np.linalg.norm(signal)
    assert np.linalg.norm(ridge(equations, noise / 1000).coef) > 100 * np.linalg.norm(signal)


def test_lcurve_solution_is_the_ridge_of_its_lambda():
    equations = problem([1.0, 1e-3, 1e-9], [1.0, 2e-3, 1e-6])
    solution = lcurve(equations)
    np.testing.assert_allclose(solution.coef, ridge(equations, solution.ridge).coef, rtol=1e-6)


def test_lcurve_without_a_corner_falls_back():
    solution = lcurve(problem([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert not solution.corner
    assert solution.ridge == FALLBACK == 1e-6
    np.testing.assert_allclose(solution.coef, rotation(3) @ [1.0, 2.0, 3.0], rtol=1e-5)


def test_lcurve_scales_with_the_equations():
    values, projected = np.array([1.0, 0.3, 1e-10]), np.array([1.0, 0.5, 1e-7])
    small, large = (lcurve(problem(c * values, c * projected)) for c in (1.0, 100.0))
    assert small.corner
    assert large.ridge == pytest.approx(100 * small.ridge)
    np.testing.assert_allclose(large.coef, small.coef, rtol=1e-6)


def test_condition_numbers_of_the_blocks():
    equations = NormalEquations(np.diag([8.0, 2.0, 1.0, 0.1]), np.ones(4), 2)
    assert condition_numbers(equations) == pytest.approx({"all": 80.0, "external": 4.0, "interaction": 10.0})
    only = NormalEquations(np.diag([8.0, 2.0]), np.ones(2), 2)
    assert condition_numbers(only) == pytest.approx({"all": 4.0, "external": 4.0})


def test_functions_no_data_reached_are_named():
    names = ("V: a", "V: b", "Phi: c", "Phi: d")
    with pytest.raises(tl.InputError, match="no data reached V: b, Phi: c; use a smaller range"):
        check_reached(NormalEquations(np.diag([1.0, 0.0, 1e-20, 1.0]), np.ones(4), 2), names)
    with pytest.raises(tl.InputError, match="no function has a force anywhere"):
        check_reached(NormalEquations(np.zeros((2, 2)), np.zeros(2), 1), names[:2])
    check_reached(NormalEquations(np.diag([1.0, 1e-9, 1e-9, 1e-6]), np.ones(4), 2), names)


def test_a_potential_nobody_feels_is_named_even_if_the_other_is_strong():
    names = ("V: a", "Phi: b", "Phi: c")
    with pytest.raises(tl.InputError, match="Phi: b, Phi: c"):
        check_reached(NormalEquations(np.diag([1e6, 0.0, 0.0]), np.ones(3), 1), names)


def test_long_lists_of_unreached_functions_are_cut():
    names = tuple(f"V: {k}" for k in range(12))
    with pytest.raises(tl.InputError, match="V: 2, V: 3, V: 4, V: 5, V: 6 and 5 more"):
        check_reached(NormalEquations(np.diag([1.0] + [0.0] * 11), np.ones(12), 12), names)


@pytest.fixture(scope="module")
def trap():
    """Independent particles in V = |x|^2, and a family in which only the first function is needed."""
    model = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,))
    data = tl.simulate(model, particles=4, runs=60, duration=0.5, step=5e-3, observe_every=1e-2, initial=0.7)
    shells = [Gaussian(float(c), 0.1) for c in np.linspace(0.2, 1.4, 9)]
    return tl.accumulate(data, tl.RadialFunctions([Power(2), *shells]), None)


def cross_validate(moments, folds=5):
    def equations(part):
        return moments.normal_equations(1.0, part=part)

    return cross_validated(equations, moments.blocks, moments.windows, folds)


def test_cross_validation_beats_both_extremes(trap):
    solution = cross_validate(trap)
    best = int(np.argmin(solution.criterion))
    assert solution.ridge == solution.candidates[best]
    assert 0 < best < len(solution.candidates) - 1
    assert solution.criterion[best] < min(solution.criterion[0], solution.criterion[-1])
    np.testing.assert_allclose(solution.coef, ridge(trap.normal_equations(1.0), solution.ridge).coef, rtol=1e-10)


def test_cross_validation_is_the_held_out_loss(trap):
    solution = cross_validate(trap, folds=3)
    fold = np.arange(trap.blocks) % 3
    losses = []
    for k in range(3):
        train = trap.select(blocks=fold != k).normal_equations(1.0)
        test = trap.select(blocks=fold == k).normal_equations(1.0)
        losses.append([test.loss(ridge(train, s).coef) for s in solution.candidates])
    np.testing.assert_allclose(solution.criterion, np.mean(losses, axis=0), rtol=1e-4, atol=1e-8)


def test_cross_validation_over_windows_where_blocks_are_few(trap):
    """One block with two windows: each window is held out once."""
    one = trap.coarsened(1)
    solution = cross_validate(one, folds=2)
    windows = [one.select(windows=slice(w, w + 1)).normal_equations(1.0) for w in range(2)]
    best = int(np.argmin(solution.criterion))
    losses = [windows[1 - w].loss(ridge(windows[w], solution.candidates[best]).coef) for w in range(2)]
    assert solution.criterion[best] == pytest.approx(np.mean(losses))


def test_cross_validation_needs_two_parts(trap):
    with pytest.raises(tl.InputError, match="at least two runs or time windows; give a fixed regularization"):
        cross_validate(trap.coarsened(1).select(windows=slice(0, 1)))
