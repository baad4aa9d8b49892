"""How many particles are lost to neighbours that are too close, and what fit says of it."""

import numpy as np
import pytest
from scipy.spatial import KDTree

import trackless as tl
from trackless.cli.words import as_typed
from trackless.losses import losses

NEAREST = 0.2


def thinned(frame, box=None):
    """Without one of two that are closer than that."""
    pairs = KDTree(frame, boxsize=box).query_pairs(NEAREST, output_type="ndarray")
    return np.delete(frame, np.unique(pairs[:, 1]), axis=0)


def crowd(number, seed, frames=40):
    random = np.random.default_rng(seed)
    return [[thinned(random.uniform(0, 10, (number, 2)), 10.0) for _ in range(frames)] for _ in range(5)]


@pytest.mark.parametrize("number", [20, 80, 300])
def test_losses_are_counted_where_all_others_are_seen(number):
    for seed in range(3):
        seen = crowd(number, seed)
        lost = 1 - np.mean([len(frame) for run in seen for frame in run]) / number
        found = losses(tl.Snapshots(seen, dt=0.1, box=10.0), tl.Observation(exclude_below=NEAREST))
        assert found.counted
        assert 0.5 * lost < found.share < 1.25 * lost  # in a crowd losses vary less than chance


def test_in_a_window_they_are_those_that_chance_would_bring_together():
    seen = crowd(100, 0)
    lost = 1 - np.mean([len(frame) for run in seen for frame in run]) / 100
    window = ((2.0, 8.0), (2.0, 8.0))
    view = [[frame[((frame > 2) & (frame < 8)).all(axis=1)] for frame in run] for run in seen]
    found = losses(tl.Snapshots(view, dt=0.1), tl.Observation(window, NEAREST))
    assert not found.counted
    assert found.share == pytest.approx(lost, rel=0.25)


def test_nobody_is_lost_where_the_number_stays():
    data = tl.Snapshots(np.random.default_rng(0).uniform(0, 1, (2, 9, 5, 2)), dt=0.1)
    assert losses(data, tl.Observation(exclude_below=NEAREST)).sentence == ""
    assert losses(data, tl.Observation(detection=0.5)) is None


def test_fit_warns_where_they_are_many():
    data = tl.simulate(tl.models.reference(), runs=10, step=1e-3, observe_every=0.05, seed=1)
    seen = tl.Snapshots([[thinned(frame) for frame in run] for run in data.positions], times=data.times)
    settings = {"sigma": 1.0, "coupling": "sum", "external": "radial", "interaction": "radial"}
    said = str(tl.fit(seen, **settings, exclude_below=NEAREST).findings_)
    assert "TOO MANY PARTICLES ARE LOST: about 2" in said
    assert "(for a smaller --exclude-below)" in as_typed(said)
    assert "LOST" not in str(tl.fit(data, **settings, exclude_below=NEAREST).findings_)
