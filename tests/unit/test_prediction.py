"""predict: exact ranks, beginnings, futures of known systems, and what stands out."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import trackless as tl
from trackless.effort import effort_of
from trackless.futures import Draws, Size, affordable, beginnings
from trackless.observables import Bins
from trackless.prediction import Prediction, _far_off, _part_as_far, _range, _ranks, observed_curves, predict
from trackless.shapes import Gaussian, Power

TRAP = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,))
EVERYTHING = Size(120, None)
SHORT = {"particles": 6, "duration": 0.4, "step": 1e-2, "observe_every": 2e-2}


def known(model, **changes):
    """A fit that knows everything, or is wrong in a known way."""
    right = {"external_": model.external, "interaction_": model.interaction, "sigma_": model.sigma, "coupling": "mean"}
    return SimpleNamespace(**right | changes)


def test_ranks_of_exchangeable_rows_are_uniform():
    generator = np.random.default_rng(0)
    topics = np.array(["a"] * 3 + ["b"] * 5)
    mixing = generator.normal(size=(8, 8))
    p = np.array([_ranks(generator.normal(size=(40, 8)) @ mixing, topics)[0] for _ in range(600)])
    assert abs((p <= 0.05).mean() - 0.05) < 0.03
    assert abs(p.mean() - 0.5) < 0.05


def test_a_row_that_is_far_off_has_the_smallest_p_value():
    values = np.random.default_rng(1).normal(size=(50, 6))
    values[0, 4] += 9
    p_value, topics = _ranks(values, np.array(["a"] * 3 + ["b"] * 3))
    assert p_value == pytest.approx(1 / 50)
    assert topics["b"] == pytest.approx(1 / 50)


@pytest.mark.parametrize(("replicates", "failing"), [(19, 1), (99, 1), (149, 1), (199, 2), (299, 3), (999, 10)])
def test_a_p_value_at_the_level_fails_however_it_is_rounded(replicates, failing):
    rows = replicates + 1
    for rank in range(1, failing + 3):
        for p_value in (rank / rows, 1.0 - (rows - rank) / rows):
            found = Prediction(p_value, {}, "", {}, 10, replicates, (1.0,))
            assert found.passed == (rank > failing)
            assert found.passed == (rank / rows > found.level)
    values = np.arange(rows, 0.0, -1.0)
    assert _part_as_far(values).tolist() == [rank / rows for rank in range(1, rows + 1)]


def test_observables_that_never_change_say_nothing():
    values = np.zeros((20, 2))
    assert (_far_off(values) == 0).all()
    assert _ranks(values, np.array(["a", "a"]))[0] == 1.0


@pytest.mark.parametrize(("replicates", "within"), [(19, 0.9), (39, 0.95), (100, 0.95), (199, 0.95)])
def test_ranges_hold_as_many_new_draws_as_they_say(replicates, within):
    draws = np.random.default_rng(2).normal(size=(replicates + 1, 20_000))
    lower, upper = _range(draws[1:])
    assert ((lower <= draws[0]) & (draws[0] <= upper)).mean() == pytest.approx(within, abs=0.006)
    nothing = Prediction(1.0, {}, "", {}, 1, replicates, (1.0,))
    assert nothing.within == pytest.approx(within)


@pytest.mark.parametrize("runs", [1, 3, 60])
def test_beginnings_and_what_follows(runs):
    data = tl.simulate(TRAP, runs=runs, **SHORT | {"duration": 2.0})
    (group,) = beginnings(data, EVERYTHING)
    assert group.later.shape == (len(group.start), 4, 6, 2)
    assert len(group.times) == 4
    if runs == 1:
        assert len(group.start) > 10  # parts of the run
    first = np.argwhere((data.positions == group.start[-1]).all(axis=(2, 3)))[0]
    lag = round(group.times[-1] / 0.02)
    np.testing.assert_array_equal(data.positions[first[0], first[1] + lag], group.later[-1, -1])


def test_a_right_model_predicts_and_a_wrong_one_does_not():
    data = tl.simulate(TRAP, runs=60, seed=1, **SHORT)
    assert predict(known(TRAP), data, 59).p_value > 0.02
    assert predict(known(TRAP, sigma_=1.3), data, 59).topics["motion"] == pytest.approx(1 / 60)
    loose = predict(known(TRAP, external_=0.3 * Power(2)), data, 59)
    assert not loose.passed
    assert "DOES NOT PREDICT" in loose.sentence
    assert "seen" in loose.worst
    repelled = predict(known(TRAP, interaction_=6 * Gaussian(0.0, 0.4)), data, 59)
    assert repelled.topics["pairs"] == pytest.approx(1 / 60)


def test_curves_hold_densities():
    data = tl.simulate(TRAP, runs=40, seed=2, **SHORT)
    found = predict(known(TRAP), data, 19)
    assert {curve.label.split(",")[0] for curve in found.curves.values()} == {
        "pair distances", "distances from the centre"
    }  # fmt: skip
    for curve in found.curves.values():
        assert (curve.lower <= curve.upper).all()
        for density in (curve.observed, curve.predicted):
            assert 0.95 < (density * np.diff(curve.edges)).sum() < 1.001


def test_irregular_times_and_runs_of_other_sizes():
    full = tl.simulate(TRAP, runs=24, seed=3, **SHORT)
    times = np.asarray(full.times)[[0, 1, 4, 5, 9, 17]]
    uneven = tl.Snapshots(full.positions[:, [0, 1, 4, 5, 9, 17]], times + np.array([0, 0, 0, 0, 0, 1e-3]))
    assert len(beginnings(uneven, EVERYTHING)[0].times) == 4
    assert predict(known(TRAP), uneven, 19).p_value > 0.04
    ragged = tl.concatenate([full, tl.simulate(TRAP, runs=10, seed=4, **SHORT | {"particles": 9})])
    assert len(beginnings(ragged, EVERYTHING)) == 2
    assert predict(known(TRAP), ragged, 19).p_value > 0.04


def test_boxes_and_species():
    model = tl.models.mixture()
    data = tl.simulate(model, runs=30, seed=5, **SHORT | {"particles": {"a": 4, "b": 3}})
    found = predict(known(model), data, 39)
    assert found.p_value > 0.02
    assert len(found.curves) == 2 * (3 + 2)  # of every pair of kinds, and of the places of each kind
    assert "distances of b from the centre, after 0.2" in [curve.label for curve in found.curves.values()]
    crowd = tl.Model("crowd", None, tl.RadialFunctions([Gaussian(0.0, 0.5)]), (4.0,))
    boxed = tl.simulate(crowd, runs=30, box=4.0, initial="lattice", coupling="sum", seed=6, **SHORT)
    assert predict(known(crowd, coupling="sum"), boxed, 39).p_value > 0.02
    assert not predict(known(crowd, coupling="sum", interaction_=None), boxed, 39).passed


def test_single_steps_are_predicted_as_such():
    coarse = {"particles": 6, "duration": 2.0, "step": 0.2, "observe_every": 0.2}
    data = tl.simulate(TRAP, runs=60, seed=7, **coarse)
    assert predict(known(TRAP, dynamics="discrete"), data, 59).p_value > 0.02
    assert not predict(known(TRAP), data, 59).passed


def test_error_bars_of_the_fit_are_part_of_what_is_predicted():
    seen, other = tl.simulate(TRAP, runs=70, seed=8, **SHORT).split(fraction=0.15)
    fitted = tl.SelfTest(TRAP.external_basis, sigma=1.0, quadrature="auto", regularization=0.0).fit(seen)
    drawn = Draws(fitted, [], np.random.default_rng(0))
    slopes = np.array([drawn.model().external.slope(1.0) for _ in range(400)])
    assert abs(slopes.mean() / fitted.external_.slope(1.0) - 1) < 0.1
    assert abs(slopes.std() / (2 * np.sqrt(fitted.covariance_[0, 0])) - 1) < 0.15
    fitted.covariance_ = None
    narrow = predict(fitted, other, 39).curves["places 1 3"]
    fitted.covariance_ = np.array([[1.0]])
    wide = predict(fitted, other, 39).curves["places 1 3"]
    assert (wide.upper - wide.lower).sum() > 1.2 * (narrow.upper - narrow.lower).sum()


def test_many_particles_are_looked_up_in_a_tree():
    generator = np.random.default_rng(0)
    points = generator.uniform(0.0, 5.0, (2, 250, 2))
    everyone, some = slice(0, 250), slice(0, 100)
    for box in (None, (5.0, 5.0)):
        z = points[:, :, None] - points[:, None]
        z -= 0 if box is None else 5.0 * np.rint(z / 5.0)
        distances = np.linalg.norm(z, axis=-1)
        upper = np.triu_indices(250, 1)
        for parts, wanted in (
            (("", everyone, everyone), distances[:, *upper]),
            (("a", some, slice(100, 250)), distances[:, :100, 100:]),
        ):
            bins = Bins.of(points, [parts], [("", everyone, np.zeros(2), "centre")], box, 1.5)
            values, _ = bins.measured(points, points)
            expected = np.histogram(wanted, bins.pairs[0].edges)[0] / wanted.size
            np.testing.assert_allclose(values[: len(expected)], expected)
            assert values[-1] == 0


def test_what_cannot_be_predicted():
    data = tl.simulate(TRAP, runs=5, **SHORT)
    with pytest.raises(tl.InputError, match="at least 19"):
        predict(known(TRAP), data, 5)
    flicker = tl.Snapshots([[np.zeros((n, 2)) for n in (3, 4, 3)]], [np.arange(3.0)])
    with pytest.raises(tl.InputError, match="number of particles changes"):
        predict(known(TRAP), flicker)
    with pytest.raises(tl.InputError, match="only one snapshot"):
        predict(known(TRAP), tl.Snapshots(data.positions[:, :1], data.times[:1]))
    unsure = known(TRAP, noise_=SimpleNamespace(known=False))
    with pytest.raises(tl.InputError, match="sigma is not known"):
        predict(unsure, data)


# How much is simulated


def test_predictions_are_the_same_every_time():
    data = tl.simulate(TRAP, runs=12, **SHORT)
    one, other = (predict(known(TRAP), data, 19, seed=4, work=1e6) for _ in range(2))
    assert (one.p_value, one.topics, one.worst) == (other.p_value, other.topics, other.worst)
    for name, curve in one.curves.items():
        np.testing.assert_array_equal(curve.predicted, other.curves[name].predicted)


def test_less_work_means_fewer_beginnings_then_less_time_then_none():
    data = tl.simulate(TRAP, runs=200, **SHORT | {"duration": 2.0})
    assert affordable(known(TRAP), data, None) == (120, None)
    sizes = [affordable(known(TRAP), data, work) for work in (1e8, 1e5, 3e4, 1e4, 1e3)]
    assert sizes[0] == (120, 100)
    assert all(a.starts >= b.starts and a.intervals >= b.intervals for a, b in pairwise(sizes))
    assert 30 <= sizes[1].starts < 120
    assert sizes[1].intervals == 100
    assert sizes[2].intervals < 100
    assert sizes[-1] == (1, 8)
    with pytest.raises(tl.InputError, match="takes too long"):
        affordable(known(TRAP), data, 100)
    few = predict(known(TRAP), data, 19, work=20 * 1e4)
    assert few.starts == sizes[3].starts
    assert few.times[-1] == pytest.approx(0.02 * sizes[3].intervals)


def test_stiff_forces_and_many_particles_are_more_work():
    data = tl.simulate(TRAP, runs=5, **SHORT)
    soft, stiff = (effort_of(known(TRAP, external_=k * Power(2)), data, 0.01) for k in (1, 1000))
    assert stiff.steps > 20 * soft.steps
    assert soft.steps == pytest.approx(100)
    box = np.random.default_rng(0).uniform(0, 30, (1, 2, 900, 2))
    crowd = tl.Snapshots(box, [0.0, 0.1], box=30.0)
    near = known(TRAP, external_=None, interaction_=Gaussian(0.0, 0.2), coupling="sum")
    assert 1800 < effort_of(near, crowd, 0.01).forces < 0.1 * 900**2  # neighbours, not everyone
    far = known(TRAP, external_=None, interaction_=Power(2), coupling="sum")
    assert effort_of(far, crowd, 0.01).forces == pytest.approx(900**2, rel=0.01)


# What is drawn


def test_pair_correlations_of_an_ideal_gas_are_one():
    generator = np.random.default_rng(0)
    gas = tl.Snapshots(generator.random((4, 20, 60, 2)) * 3.0, np.arange(20) * 0.1, box=3.0)
    still = known(TRAP, external_=None, coupling="sum")
    curve = predict(still, gas, 19).curves["pairs 0 3"]
    assert (curve.label.split(",")[0], curve.ylabel) == ("pair correlation", "g(r)")
    assert curve.edges[-1] == pytest.approx(1.5)
    np.testing.assert_allclose(curve.observed[10:].mean(), 1.0, atol=0.02)
    np.testing.assert_allclose(curve.predicted[10:].mean(), 1.0, atol=0.02)


def test_what_was_observed_can_be_drawn_alone():
    generator = np.random.default_rng(0)
    runs = [[generator.normal(size=(6 + (k % 3 > 0), 2)) for k in range(20)] for _ in range(3)]
    flicker = tl.Snapshots(runs, [np.arange(20) * 0.1] * 3)
    pairs, places = observed_curves(known(TRAP), flicker).values()
    assert len(pairs.predicted) == len(places.lower) == 0
    assert pairs.observed @ np.diff(pairs.edges) == pytest.approx(0.995, abs=0.01)
    radii = np.concatenate([np.linalg.norm(frame, axis=1) for run in runs for frame in run if len(frame) == 7])
    counts = np.histogram(radii, places.edges)[0] / len(radii) / np.diff(places.edges)
    np.testing.assert_allclose(places.observed, counts)
