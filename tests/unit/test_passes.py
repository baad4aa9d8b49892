"""Passes over data: the same sums whoever works on the parts, and however they were cut."""

import pickle

import numpy as np
import pytest

import trackless as tl
from trackless import passes, pieces
from trackless.digests import digest
from trackless.passes import helped_by, joined, mapped

MODEL = tl.models.reference()
EXTERNAL = tl.RadialSplines(5, lower=0.0, upper=3.0)
INTERACTION = tl.RadialSplines(7, lower=0.0, upper=5.0)
ARRAYS = ("quadratic", "pair", "diffusion", "energy", "weight", "work", "tally")


class Far:
    """A cluster that gets nothing but copies, and gives nothing else back."""

    def __init__(self):
        self.sent = self.groups = 0

    def mapped(self, function, items):
        for item in items:
            content = pickle.dumps((function, item))
            self.sent = max(self.sent, len(content))
            again, copy = pickle.loads(content)
            yield pickle.loads(pickle.dumps(again(copy)))

    def joined(self, function, groups, join):
        for group in groups:
            self.groups += 1
            yield join(list(self.mapped(function, group)))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pieces, "TASK_POINTS", 40)
    monkeypatch.setattr(pieces, "BATCH_POINTS", 150)
    monkeypatch.setattr(passes, "TOGETHER", 3)


def regular(labeled=False, dim=2):
    positions = np.random.default_rng(1).normal(size=(9, 12, 5, dim))
    return tl.Snapshots(positions, np.arange(12) * 0.1, labeled=labeled)


def ragged():
    generator = np.random.default_rng(2)
    runs = [[generator.normal(size=(generator.integers(3, 7), 2)) for _ in range(length)] for length in (9, 90, 4)]
    return tl.Snapshots(runs, [np.cumsum(generator.uniform(0.1, 0.2, len(run))) for run in runs])


def of_species():
    data = regular()
    return tl.Snapshots(data.positions, data.times, species=np.array(["a", "b", "a", "b", "b"]))


BY_SPECIES = {"external": {"a": EXTERNAL}, "interaction": {("a", "b"): INTERACTION, ("b", "b"): INTERACTION}}
CASES = {
    "regular": (regular(), {}),
    "one block": (regular(), {"blocks": 1}),
    "windows": (regular(), {"windows": 3, "blocks": 2}),
    "ragged": (ragged(), {"coupling": "sum"}),
    "species": (of_species(), BY_SPECIES),
    "followed": (regular(labeled=True), {"matching": tl.Matching("labels")}),
    "long run": (tl.Snapshots(np.random.default_rng(3).normal(size=(1, 200, 5, 2)), dt=0.1), {"windows": 2}),
    "followed long run": (
        tl.Snapshots(np.random.default_rng(3).normal(size=(1, 200, 5, 2)), dt=0.1, labeled=True),
        {"matching": tl.Matching("labels"), "windows": 2},
    ),
    "errors of positions": (regular(), {"observation": tl.Observation(position_error=0.1)}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_cluster_gives_the_same_moments(case):
    data, options = CASES[case]
    options = {"external": EXTERNAL, "interaction": INTERACTION} | options
    here, far = tl.accumulate(data, **options), Far()
    with helped_by(far, None):
        there = tl.accumulate(data, **options)
    assert far.groups > 1
    for name in ARRAYS:
        a, b = getattr(here, name), getattr(there, name)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-14 * np.abs(a).max(initial=0), err_msg=name)


def test_blocks_that_one_batch_holds_are_the_same_bit_for_bit(monkeypatch):
    monkeypatch.setattr(pieces, "BATCH_POINTS", 600)  # ten blocks of a run each: a block is never cut
    data = regular()
    here = tl.accumulate(data, EXTERNAL, INTERACTION)
    with helped_by(Far(), None):
        there = tl.accumulate(data, EXTERNAL, INTERACTION)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


def test_only_the_positions_of_a_batch_are_sent():
    data = tl.Snapshots(np.random.default_rng(3).normal(size=(200, 40, 5, 2)), dt=0.1)
    far = Far()
    with helped_by(far, None):
        tl.accumulate(data, EXTERNAL, INTERACTION, windows=2, blocks=3)
    assert far.sent < 0.2 * data.positions.nbytes


def test_data_in_files_are_not_sent(monkeypatch):
    data = regular()
    monkeypatch.setattr(tl.Snapshots, "in_files", property(lambda self: True))
    monkeypatch.setattr(passes, "Excerpt", None)
    here = tl.accumulate(data, EXTERNAL, INTERACTION)
    with helped_by(Far(), None):
        there = tl.accumulate(data, EXTERNAL, INTERACTION)
    np.testing.assert_allclose(there.quadratic, here.quadratic, rtol=1e-13)


def test_an_error_far_away_names_the_place_here():
    positions = np.array(regular().positions)
    positions[7, 8, 2, 1] = np.nan
    data = tl.Snapshots(positions, dt=0.1)
    with helped_by(Far(), None), pytest.raises(tl.InputError, match="run 7, frame 8, particle 2"):
        tl.accumulate(data, EXTERNAL, INTERACTION)


@pytest.mark.parametrize("dynamics", ["continuous", "discrete"])
def test_every_pass_of_a_fit_can_be_elsewhere(dynamics):
    data = tl.simulate(MODEL, runs=40, duration=0.5, step=0.05, observe_every=0.05)
    settings = {"sigma": None, "regularization": 1e-3, "dynamics": dynamics}
    here = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, **settings).fit(data)
    far = Far()
    with helped_by(far, None):
        there = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, **settings).fit(data)
        test = there.residual_test(data)
    assert far.groups > 3
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    assert there.sigma_ == pytest.approx(here.sigma_, rel=1e-9)
    assert test.p_value == pytest.approx(here.residual_test(data).p_value, rel=1e-6)


def test_simulations_and_bootstraps_can_be_elsewhere():
    settings = {"runs": 600, "duration": 0.02, "step": 1e-2, "seed": 4}
    here = tl.simulate(MODEL, **settings)
    fitted = tl.SelfTest(EXTERNAL, INTERACTION, sigma=1.0, regularization=1.0).fit(regular())
    drawn = fitted.bootstrap(25, seed=3)
    assert drawn.shape == (25, 12)
    with helped_by(Far(), None):
        np.testing.assert_array_equal(tl.simulate(MODEL, **settings).positions, here.positions)
        found = fitted.bootstrap(25, seed=3)
    np.testing.assert_allclose(found, drawn, rtol=1e-12)


def test_sums_are_joined_without_changing_them():
    first, second = {("a", 0): np.ones(3)}, {("a", 0): np.ones(3), ("b", (1, 2)): 2.0}
    together = joined([first, second])
    np.testing.assert_array_equal(together["a", 0], 2 * np.ones(3))
    np.testing.assert_array_equal(first["a", 0], np.ones(3))
    assert together["b", (1, 2)] == 2.0


def test_one_part_stays_here():
    far = Far()
    with helped_by(far, None):
        assert list(mapped(abs, [-3], "testing")) == [3]
    assert far.sent == 0


def test_digests_tell_values_apart():
    values = [
        None, 0, 0.0, False, "0", (0,), [0], {"a": 0}, {"a": 1}, np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)),
        EXTERNAL, INTERACTION, tl.Observation(), tl.Observation(position_error=0.1), lambda r: r**2, lambda r: r**3,
        regular(), ragged(), tl.RadialFunctions([np.cos]), tl.RadialFunctions([np.sin]), MODEL, tl.models.singularity(),
    ]  # fmt: skip
    found = [digest(value) for value in values]
    assert len(set(found)) == len(values)
    assert found == [digest(value) for value in values]
