"""Which times snapshots resolve: the error estimate against known integrals, and what is left out."""

import numpy as np
import pytest

import trackless as tl
from trackless.quadrature import weights
from trackless.resolution import Resolution, _kept_per_step, _quadrature_errors, resolved


@pytest.mark.parametrize("rate", [0.5, 2.0, 10.0, 20.0])
def test_the_trapezoids_error_of_a_decay(rate):
    times = np.linspace(0, 4, 21)
    values = np.exp(-rate * times)[None, :, None]
    exact = (1 - np.exp(-4 * rate)) / rate
    error = np.trapezoid(values[0, :, 0], times) - exact
    assert _quadrature_errors(values, np.diff(times))[0, 0] == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize("rate", [0.5, 2.0, 10.0, 20.0])
def test_the_cubic_rules_error_of_a_decay(rate):
    times = np.linspace(0, 4, 21)
    values = np.exp(-rate * times)[None, :, None]
    error = weights(times, "cubic") @ values[0, :, 0] - (1 - np.exp(-4 * rate)) / rate
    assert _quadrature_errors(values, np.diff(times), "cubic")[0, 0] == pytest.approx(error, rel=0.1)


def test_a_speed_that_is_not_known_is_taken_for_a_high_one():
    """Second differences 1 and 0.5, known to 0.02 or to 0.3: the less is known, the less is said to be left."""
    generator = np.random.default_rng(0)
    left = []
    for noise in (0.02, 0.3):
        second = np.array([1.0, 0.5, 0.25])[None, :, None] + noise * generator.normal(size=(40, 3, 1)) * np.sqrt(40)
        left.append(_kept_per_step(second)[0])
    assert left[1] < left[0] < 0.5


def test_straight_lines_have_no_error():
    times = np.linspace(0, 1, 8)
    assert np.abs(_quadrature_errors((3 - 2 * times)[None, :, None], np.diff(times))).max() < 1e-14


def test_a_fast_start_is_left_out_and_said():
    data = tl.simulate(tl.models.smooth_control(), runs=1500, step=1e-3, observe_every=0.1, accurate=True, seed=1)
    found = resolved(data, sigma=1.0)
    assert found.left_out >= 1
    assert found.start == pytest.approx(0.1 * found.left_out)
    assert found.bias < found.bias_with_all
    assert "of each run, before t = 0." in found.sentence
    fitted = tl.SelfTest(tl.RadialSplines(8), tl.RadialSplines(16), sigma=1.0, resolve="auto").fit(data)
    assert fitted.resolution_ == found
    assert fitted.moments_.span[0, 0, 0] == pytest.approx(found.start)


def test_one_snapshot_is_left_out_in_the_singular():
    one = Resolution(0.1, 1, 0.01, 0.01, 0.5)
    assert one.sentence.startswith("the first snapshot of each run, before t = 0.1, is left out: ")
    assert "the first 2 snapshots of each run, before t = 0.1, are" in Resolution(0.1, 2, 0.01, 0.01, 0.5).sentence


def test_what_is_resolved_is_kept():
    data = tl.simulate(tl.models.reference(), runs=100, step=1e-3, observe_every=0.01, duration=0.5, seed=1)
    found = resolved(data, sigma=1.0)
    assert found.left_out == 0
    assert found.bias < 0.05
    assert found.sentence == "all snapshots are used"


@pytest.mark.parametrize(
    ("runs", "interval", "why"),
    [(1, 0.05, "1 run, and at least 2 are needed"), (20, 0.1, "5 snapshots in a run, and at least 6 are needed")],
)
def test_too_little_to_judge(runs, interval, why):
    data = tl.simulate(tl.models.reference(), runs=runs, step=1e-2, observe_every=interval, duration=0.4, seed=1)
    found = resolved(data, sigma=1.0)
    assert not found.known
    assert found.left_out == 0
    assert found.sentence.endswith(f"could not be judged: {why}")


def test_particles_alone_can_be_judged():
    data = tl.simulate(tl.models.reference(), runs=50, particles=1, step=1e-3, observe_every=0.05, seed=1)
    assert resolved(data, sigma=1.0).known


@pytest.mark.parametrize(("bias", "noise", "coarse"), [(0.3, 0.05, True), (0.05, 0.01, False), (0.3, 0.2, False)])
def test_snapshots_too_far_apart_are_named(bias, noise, coarse):
    """A systematic error that is large, and larger than chance."""
    found = Resolution(0.0, 0, bias, noise, bias)
    assert found.coarse == coarse
    assert ("too far apart" in found.sentence) == coarse


def test_only_auto_is_offered():
    data = tl.simulate(tl.models.reference(), runs=4, duration=0.1, step=1e-2, observe_every=1e-2)
    with pytest.raises(tl.InputError, match="resolve: expected 'auto' or None, got 'yes'"):
        tl.SelfTest(tl.RadialSplines(5), sigma=1.0, resolve="yes").fit(data)
