"""A drift that a radial V cannot know of is named; what a V explains is none."""

import numpy as np
import pytest

import trackless as tl
from trackless.cli.words import as_typed
from trackless.drifting import drift
from trackless.shapes import Power

FREE = tl.Model("free", None, None, (), sigma=1.0)


def drifting(velocity, **settings):
    """Free particles in a stream."""
    dim = len(velocity)
    still = tl.simulate(FREE, step=1e-2, observe_every=0.05, initial=1.0, dim=dim, **settings)
    return tl.Snapshots(still.positions + still.times[:, None, None] * np.array(velocity), times=still.times)


@pytest.mark.parametrize(("dim", "runs"), [(1, 40), (2, 1), (3, 20)])
def test_a_drift_is_measured_with_an_error(dim, runs):
    velocity = np.array([1.0, -0.5, 0.0])[:dim]
    scores = []
    for seed in range(10):
        found = drift(drifting(velocity, runs=runs, particles=20, duration=3.0, seed=seed), None)
        assert ("external='free'" if dim > 1 else "Take the drift off") in found.sentence
        assert found.error == pytest.approx(1 / np.sqrt(runs * 20 * 3.0), rel=0.4)
        scores.append((found.velocity - velocity) / found.error)
    assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.5


@pytest.mark.parametrize("settings", [{}, {"external": "radial"}, {"external": None, "interaction": "radial"}])
def test_fit_names_it_where_v_is_radial_or_absent(settings):
    data = drifting((2.0, 0.0, 0.0), runs=40, particles=20)
    said = str(tl.fit(data, **{"sigma": 1.0, "interaction": None} | settings).findings_)
    assert "ALL PARTICLES DRIFT: their mean position moves by (2" in said
    assert "Use external='free'" in said
    assert "Use --external free" in as_typed(said)


def test_what_v_explains_is_no_drift():
    trap = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,), sigma=1.0)
    start = np.random.default_rng(0).normal((1.5, 0.0), 0.5, (40, 10, 2))
    data = tl.simulate(trap, initial=start, runs=40, step=1e-3, observe_every=0.02)
    assert drift(data, None).p_value < 1e-6
    fitted = tl.fit(data, sigma=1.0, center=None, external="radial", interaction=None)
    assert "DRIFT" not in str(fitted.findings_)
    assert drift(data, trap.external).p_value > 0.01


def test_where_it_cannot_be_asked():
    data = drifting((1.0, 0.0), runs=3, particles=4)
    assert drift(tl.Snapshots(data.positions, times=data.times, box=5.0), None) is None
    free = tl.TensorSplines(4).adapted(tl.exploration.explore(data), "external")
    assert drift(data, free.combine(np.ones(free.size))) is None
    changing = tl.Snapshots([[frame[: 3 + k % 2] for k, frame in enumerate(run)] for run in data.positions],
                            [data.times] * 3)  # fmt: skip
    assert drift(changing, None) is None
    assert drift(data.every(20), None) is None
