"""Recovery and rates on known truths: slow, fixed seeds, truth used for scoring only."""

import numpy as np
import pytest

import trackless as tl
from trackless.benchmarks.accuracy import rate_in_dt, rate_in_runs, reference_accuracy
from trackless.solvers import FALLBACK

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def accuracy():
    return reference_accuracy(seeds=2, runs=2000)


@pytest.mark.parametrize(
    ("protocol", "external", "interaction"),
    [
        ("dt=1e-3, trapezoid", 0.016, 0.013),
        ("dt=1e-2, trapezoid", 0.016, 0.013),
        ("dt=0.1, trapezoid, without t=0", 0.035, 0.025),
    ],
)
def test_reference_model_is_recovered(accuracy, protocol, external, interaction):
    errors = accuracy[protocol].errors.mean(axis=0)
    assert errors[0] <= external
    assert errors[1] <= interaction


def test_left_rule_at_coarse_intervals_gives_the_errors_of_the_paper(accuracy):
    # Table of the method comparison: 6.84 +- 0.58 and 6.93 +- 0.72 %; two seeds scatter by about as much.
    errors = accuracy["dt=0.1, left rule, with t=0"].errors.mean(axis=0)
    assert errors[0] == pytest.approx(0.0684, abs=0.015)
    assert errors[1] == pytest.approx(0.0693, abs=0.015)


def test_condition_numbers_of_the_reference_model(accuracy):
    # The paper's table (left rule): 53, 20.2 and 6.8; over ten sets of 2000 runs we find 60 to 62, 21 and 7.1.
    everything, external, interaction = accuracy["dt=1e-2, left rule"].conditions.mean(axis=0)
    assert 53 <= everything <= 63
    assert 20 <= external <= 21.6
    assert 6.8 <= interaction <= 7.25


def test_error_falls_with_the_square_root_of_the_runs():
    rate = rate_in_runs((20, 100, 500), trials=10, accurate=True, seed=5)
    assert -0.62 <= rate.slopes[0] <= -0.38
    assert -0.62 <= rate.slopes[1] <= -0.38


@pytest.mark.parametrize(("quadrature", "order"), [("left", 1.0), ("trapezoid", 2.0)])
def test_bias_falls_with_the_order_of_the_rule(quadrature, order):
    rate = rate_in_dt(quadrature)
    assert rate.slopes == pytest.approx(order, abs=0.25)


def test_accurate_mode_cures_the_singular_model():
    """Simulated with Euler steps of 1e-4 the singular model shows the scheme's error, not the estimator's."""
    model = tl.models.singularity()
    errors = {}
    for accurate in (False, True):
        data = tl.simulate(model, runs=200, observe_every=1e-3, accurate=accurate, seed=3).between(0.02, 1.0)
        fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
        errors[accurate] = tl.gradient_errors(fitted, model, data).interaction
    assert errors[True] < 0.03
    assert errors[False] > 3 * errors[True]


def test_splines_find_the_interaction_without_knowing_it():
    model = tl.models.reference()
    data = tl.simulate(model, runs=2000, accurate=True, step=1e-3, seed=11)
    fitted = tl.SelfTest(tl.RadialSplines(8), tl.RadialSplines(24), sigma=1.0, regularization="cv").fit(data)
    errors = tl.gradient_errors(fitted, model, data)
    assert errors.external < 0.06
    assert errors.interaction < 0.07


def test_one_particle_at_the_centre_does_not_ruin_a_fit():
    """The Laplacian of |x| is 1/r: unrounded, a single visit to the centre dominated 200 000 snapshots."""
    model = tl.models.reference()
    data = tl.simulate(model, runs=100, step=1e-3, seed=2)
    positions = data.positions.copy()
    positions[3, 50, 4] = [1e-7, 0.0]
    coef = [
        tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(tl.Snapshots(p, data.times)).coef_
        for p in (data.positions, positions)
    ]
    assert np.abs(coef[0] - coef[1]).max() < 0.1


def test_lcurve_leaves_well_posed_models_alone():
    """The paper's errors on the ill-conditioned models are those of an almost unregularised solution."""
    for make in (tl.models.conditioning, tl.models.smooth_control):
        model = make()
        data = tl.simulate(model, runs=200, step=1e-3, seed=4)
        fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
        assert fitted.lambda_ == FALLBACK
