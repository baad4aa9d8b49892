"""Runs in different units are named, those of one experiment are not."""

import numpy as np
import pytest

import trackless as tl
from trackless.likeness import check_repeated, unlike


@pytest.mark.parametrize(("length", "time", "word"), [(1000, 1, "extents"), (1, 1000, "intervals"), (1, 1, "")])
def test_units_that_differ_between_runs(length, time, word):
    data = tl.simulate(tl.models.reference(), runs=4, particles=4, duration=0.4, step=1e-2, observe_every=2e-2)
    scale = np.array([1, 1, length, length])[:, None, None, None]
    times = [data.times, data.times, time * data.times, time * data.times]
    mixed = tl.Snapshots(list(data.positions * scale), times=times)
    assert (f"their {word} differ" in unlike(mixed)) == bool(word)
    if time > 1:
        assert "SAME UNITS" in str(tl.fit(mixed, sigma=1.0, interaction=None).findings_)


def test_runs_that_start_at_very_different_places_are_alike():
    random = np.random.default_rng(0)
    runs = [random.normal(0, spread, (20, 3, 2)) for spread in (0.1, 1.0, 4.0)]
    assert not unlike(tl.Snapshots(runs, dt=0.1))
    assert not unlike(tl.Snapshots(np.zeros((2, 3, 1, 2)), dt=0.1))


def test_a_run_that_is_there_twice_is_refused():
    data = tl.simulate(tl.models.reference(), runs=5, particles=4, duration=0.2, step=1e-2, observe_every=1e-2)
    twice = tl.Snapshots(data.positions[[0, 1, 2, 0, 3, 1, 4]], data.times)
    with pytest.raises(tl.InputError, match=r"run 3 is run 0 again, .* \(and 1 more run is there twice\); "):
        tl.fit(twice, sigma=1.0)


def test_runs_that_only_begin_alike_or_have_the_same_mean_are_no_copies():
    data = tl.simulate(tl.models.reference(), runs=2, particles=4, duration=0.2, step=1e-2, observe_every=1e-2)
    alike = data.positions.copy()
    alike[1, :10] = alike[0, :10]
    check_repeated(tl.Snapshots(alike, data.times))
    whole = np.array([[[[0.0], [3.0]], [[1.0], [2.0]]], [[[1.0], [2.0]], [[0.0], [3.0]]]])  # pixels
    check_repeated(tl.Snapshots(whole, dt=1.0))
