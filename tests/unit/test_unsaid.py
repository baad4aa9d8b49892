"""What data show of an instrument that nobody told of is said by fits, looks at files, reports and exports."""

import re

import numpy as np
import pytest

import trackless as tl
from trackless.exporting.learnt import _warnings
from trackless.observation import EVERYTHING
from trackless.position_errors import OFF
from trackless.reporting.verdict import verdict
from trackless.unsaid import FLICKER, unsaid

ERROR, SEEN = 0.1, 0.95


@pytest.fixture(scope="module")
def right():
    return tl.simulate(tl.models.reference(), runs=40, duration=0.4, step=1e-3, seed=4)


@pytest.fixture(scope="module")
def off(right):
    noise = np.random.default_rng(0).normal(size=right.positions.shape)
    return tl.Snapshots(right.positions + ERROR * noise, right.times)


@pytest.fixture(scope="module")
def flickering(right):
    generator = np.random.default_rng(1)
    seen = [[x[generator.random(len(x)) < SEEN] for x in run] for run in right.positions]
    return tl.Snapshots(seen, [right.times] * right.runs)


def fitted(data, **said):
    return tl.fit(data, external="radial", interaction=None, coupling="sum", **said)


def starting(sentences, start):
    return [said for said in sentences if said.startswith(start)]


def test_right_data_are_not_doubted(right):
    assert not unsaid(right, EVERYTHING)
    assert not starting(tl.inspect(right).findings, (OFF, FLICKER))
    assert not starting(fitted(right).findings_.sentences, (OFF, FLICKER))


@pytest.mark.parametrize(
    ("kind", "start", "remedy", "truth"),
    [("off", OFF, "position_error", ERROR), ("flickering", FLICKER, "detection", SEEN)],
)
def test_what_was_not_said_is_noticed_and_its_remedy_silences_it(kind, start, remedy, truth, request):
    data = request.getfixturevalue(kind)
    fit = fitted(data)
    (said,) = starting(fit.findings_.sentences, start)
    value = float(re.search(rf"use {remedy}=([\d.]+\d) \(--{remedy.replace('_', '-')} \1\)", said)[1])
    assert value == pytest.approx(truth, rel=0.05)
    assert starting(tl.inspect(data).findings, start) == [said]
    assert said in [warned.detail for warned in verdict(fit, fit.findings_.residual_test, None, None).warnings]
    assert f"WARNING: {said}" in list(_warnings(fit))
    known = fitted(data, **{remedy: value})
    assert not starting(known.findings_.sentences, (OFF, FLICKER))
    assert abs(known.sigma_ - 1) < 3 * known.noise_.error


def test_numbers_that_change_between_runs_only_are_no_flicker():
    of_each = tl.simulate(tl.models.reference(), runs=40, duration=0.4, step=1e-3, labeled=True)
    runs = [run[:, : 9 + m % 2] for m, run in enumerate(of_each.positions)]
    assert not unsaid(tl.Snapshots(runs, [of_each.times] * of_each.runs), EVERYTHING)


def test_particles_that_cross_an_edge_are_no_flicker():
    """A window on free particles: numbers change slowly, and by as much as chance gives."""
    generator = np.random.default_rng(2)
    steps = np.cumsum(0.05 * generator.normal(size=(4, 200, 400, 2)), axis=1)
    places = generator.uniform(0, 20, (4, 1, 400, 2)) + steps
    seen = [[x[((x > 5) & (x < 15)).all(axis=1)] for x in run] for run in places]
    data = tl.Snapshots(seen, dt=0.01)
    (said,) = unsaid(data, EVERYTHING)
    assert said.index("window='auto'") < said.index("detection=")
    assert not unsaid(data, tl.Observation(window="auto"))
