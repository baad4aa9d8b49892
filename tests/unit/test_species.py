"""Kinds of particles: sorted within snapshots, carried along by everything that makes new data sets."""

import numpy as np
import pytest

import trackless as tl
from trackless.joining import concatenate

TIMES = np.arange(4) * 0.1


def marked(kinds):
    """Positions that say which particle they belong to: run + time / 10 + particle / 1000."""
    runs, times, particles = kinds.shape
    run, time, particle = np.ogrid[:runs, :times, :particles]
    return np.broadcast_to((run + time / 10 + particle / 1000)[..., None], (*kinds.shape, 2)).copy()


@pytest.fixture
def kinds():
    generator = np.random.default_rng(3)
    return generator.choice(["b", "a", "c"], size=(3, 4, 6))


@pytest.fixture(params=["regular", "ragged"])
def data(request, kinds):
    positions = marked(kinds)
    if request.param == "regular":
        return tl.Snapshots(positions, TIMES, species=kinds)
    lists = [[positions[m, i] for i in range(4)] for m in range(3)]
    return tl.Snapshots(lists, [TIMES] * 3, species=[list(run) for run in kinds])


def pairs_of(data):
    """Everything as a set of (position, kind)."""
    return {
        (float(x[0]), str(kind))
        for m in range(data.runs)
        for i in range(len(data.times_of(m)))
        for x, kind in zip(data.frame(m, i), data.species_of(m, i), strict=True)
    }


def expected(kinds):
    return {(float(x), str(k)) for x, k in zip(marked(kinds)[..., 0].ravel(), kinds.ravel(), strict=True)}


def test_particles_are_sorted_and_keep_their_kind(data, kinds):
    assert data.species == ("a", "b", "c")
    assert pairs_of(data) == expected(kinds)
    for m in range(3):
        for i in range(4):
            assert (np.sort(data.species_of(m, i)) == data.species_of(m, i)).all()
            assert (data.species_counts_of(m)[i] == [(kinds[m, i] == k).sum() for k in "abc"]).all()


def test_parts_keep_their_kinds(data, kinds):
    assert pairs_of(data.every(2)) == expected(kinds) & {
        (x, k) for x, k in expected(kinds) if round(x * 10) % 10 in (0, 2)
    }
    assert len(pairs_of(data[1:])) == 2 * 4 * 6
    assert pairs_of(data[1:]) <= expected(kinds)
    assert pairs_of(data.between(0.1, 0.2)) <= expected(kinds)
    assert pairs_of(concatenate(data.split(parts=3))) == expected(kinds)
    assert pairs_of(data.shuffled(1)) == expected(kinds)
    assert any((data.shuffled(1).frame(0, i) != data.frame(0, i)).any() for i in range(4))


def test_one_kind_per_particle_is_shared_by_all_snapshots():
    positions = marked(np.zeros((2, 4, 3)))
    data = tl.Snapshots(positions, TIMES, species=[2, 1, 2], labeled=True)
    assert data.species == ("1", "2")
    assert (data.positions[:, :, 0] == positions[:, :, 1]).all()
    assert data.species_of(1, 3).tolist() == ["1", "2", "2"]
    assert "species 1, 2" in repr(data)
    sorted_already = tl.Snapshots(positions, TIMES, species=["a", "a", "b"])
    assert np.shares_memory(sorted_already.positions, positions)
    assert sorted_already[:1].species_counts_of(0).tolist() == [[2, 1]] * 4


def test_data_of_one_kind():
    data = tl.Snapshots(marked(np.zeros((2, 4, 3))), TIMES)
    assert data.species is None
    assert data.species_counts_of(0).tolist() == [[3]] * 4
    with pytest.raises(tl.InputError, match="one kind of particles only"):
        data.species_of(0, 0)


@pytest.mark.parametrize(
    ("species", "message"),
    [
        (["a", "b"], r"expected one kind per particle, shape \(3,\) or \(2, 4, 3\), got \(2,\)"),
        ([0.5, 1.5, 2.0], "expected names or whole numbers"),
        ([None, "a", "b"], "expected names or whole numbers"),
    ],
)
def test_wrong_species_are_refused(species, message):
    with pytest.raises(tl.InputError, match=message):
        tl.Snapshots(marked(np.zeros((2, 4, 3))), TIMES, species=species)


def test_labels_and_changing_kinds_contradict_each_other(kinds):
    with pytest.raises(tl.InputError, match="changes its species"):
        tl.Snapshots(marked(kinds), TIMES, labeled=True, species=kinds)


def test_ragged_species_must_fit():
    frames = [np.zeros((2, 2)), np.zeros((3, 2))]
    data = tl.Snapshots([frames], [TIMES[:2]], species=[[["a", "b"], ["b", "b", "a"]]])
    assert data.species_counts_of(0).tolist() == [[1, 1], [1, 2]]
    with pytest.raises(tl.InputError, match="run 0, frame 1: expected 3 kinds"):
        tl.Snapshots([frames], [TIMES[:2]], species=[[["a", "b"], ["b", "b"]]])
    with pytest.raises(tl.InputError, match="one entry per run"):
        tl.Snapshots([frames], [TIMES[:2]], species=[])
    with pytest.raises(tl.InputError, match="differ in their species"):
        concatenate([data, tl.Snapshots([frames], [TIMES[:2]])])


def test_families_for_one_kind_take_all_particles(data):
    family = tl.RadialSplines(6, lower=0.0, upper=5.0)
    plain = tl.Snapshots([[data.frame(m, i) for i in range(4)] for m in range(3)], [TIMES] * 3)
    found, expected = (tl.accumulate(d, family, None, blocks=3, windows=1) for d in (data, plain))
    np.testing.assert_allclose(found.quadratic, expected.quadratic, rtol=1e-12)
    np.testing.assert_allclose(found.energy, expected.energy, atol=1e-12)
