"""Snapshots: regular and ragged data, their parts, and what is refused."""

import numpy as np
import pytest

import trackless as tl
from trackless.survey import check_finite

POSITIONS = np.random.default_rng(0).standard_normal((4, 6, 3, 2))
TIMES = np.array([0.0, 0.1, 0.2, 0.4, 0.5, 0.7])


def regular(**options):
    return tl.Snapshots(POSITIONS, TIMES, **options)


def ragged(counts=((3, 4, 2), (5, 5), (1, 0, 2, 2)), **options):
    generator = np.random.default_rng(1)
    runs = [[generator.standard_normal((n, 2)) for n in run] for run in counts]
    return tl.Snapshots(runs, [np.arange(len(run)) * 0.5 for run in counts], **options)


def test_regular_data():
    data = regular(box=(3.0, 4.0), labeled=True)
    assert (data.runs, len(data), data.dim, data.frames) == (4, 4, 2, 24)
    assert data.regular
    assert data.constant_count
    assert data.labeled
    assert data.box == (3.0, 4.0)
    np.testing.assert_array_equal(data.positions, POSITIONS)
    np.testing.assert_array_equal(data.times, TIMES)
    np.testing.assert_array_equal(data.times_of(2), TIMES)
    np.testing.assert_array_equal(data.counts_of(1), [3] * 6)
    np.testing.assert_array_equal(data.frame(2, 3), POSITIONS[2, 3])
    np.testing.assert_array_equal(data.points_of(1, 2, 3), POSITIONS[1, 2:4].reshape(6, 2))
    assert repr(data) == "Snapshots(4 runs, 6 times, 3 particles, dim 2, labeled, box 3 x 4)"


def test_ragged_data():
    data = ragged()
    assert (data.runs, data.dim, data.frames) == (3, 2, 9)
    assert not data.regular
    assert not data.constant_count
    assert ragged(((3, 3), (5, 5))).constant_count
    np.testing.assert_array_equal(data.counts_of(2), [1, 0, 2, 2])
    np.testing.assert_array_equal(data.times_of(1), [0.0, 0.5])
    assert data.points_of(0, 1, 2).shape == (6, 2)
    np.testing.assert_array_equal(data.points_of(0, 1, 2)[4:], data.frame(0, 2))
    assert [len(run) for run in data.positions] == [3, 2, 4]
    assert repr(data) == "Snapshots(3 runs, 9 snapshots, ragged, dim 2, unlabeled)"


def test_ragged_runs_may_share_their_times():
    data = tl.Snapshots([np.zeros((2, 3, 2)), np.ones((2, 4, 2))], [0.0, 1.0])
    np.testing.assert_array_equal(data.times_of(1), [0.0, 1.0])


def test_one_side_length_serves_all_directions():
    assert regular(box=5).box == (5.0, 5.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_kept_and_not_copied(dtype):
    array = POSITIONS.astype(dtype)
    data = tl.Snapshots(array, TIMES)
    assert data.positions.dtype == dtype
    assert np.shares_memory(data.positions, array)


def test_integers_become_floats():
    assert tl.Snapshots(np.zeros((1, 2, 3, 2), dtype=int), [0, 1]).positions.dtype == np.float64


def test_data_cannot_be_changed_by_accident():
    data = regular()
    for array in (data.positions, data.times):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    POSITIONS[0, 0, 0, 0] += 0.0  # the caller's own array stays writable


def test_memory_mapped_arrays_stay_on_disk(tmp_path):
    np.save(tmp_path / "positions.npy", POSITIONS)
    data = tl.Snapshots(np.load(tmp_path / "positions.npy", mmap_mode="r"), TIMES)
    assert isinstance(data.positions, np.memmap)
    assert isinstance(data[1:3].every(2).positions, np.memmap)


def test_every():
    np.testing.assert_array_equal(regular().every(2).times, TIMES[::2])
    np.testing.assert_array_equal(regular().every(4).positions, POSITIONS[:, ::4])
    thinned = ragged().every(2)
    assert [len(thinned.times_of(m)) for m in range(3)] == [2, 1, 2]
    for stride in ("2", 1.5, None):
        with pytest.raises(tl.InputError, match="expected a whole stride of at least 1, got"):
            regular().every(stride)
    with pytest.raises(tl.InputError, match="stride of at least 1, got 0"):
        regular().every(0)


def test_between_includes_both_ends_and_forgives_rounding():
    np.testing.assert_array_equal(regular().between(0.1, 0.4).times, TIMES[1:4])
    np.testing.assert_array_equal(regular().between(0.1 + 1e-12, 0.4 - 1e-12).times, TIMES[1:4])
    np.testing.assert_array_equal(regular().between(0.1 + 1e-6, 0.4).times, TIMES[2:4])
    part = ragged().between(0.9, 9.0)  # leaves out the run that has ended before
    assert [part.times_of(m).tolist() for m in range(part.runs)] == [[1.0], [1.0, 1.5]]


@pytest.mark.parametrize("data", [regular(), ragged()], ids=["regular", "ragged"])
def test_nothing_between(data):
    with pytest.raises(tl.InputError):
        data.between(5.0, 6.0)


def test_split_by_fraction_and_by_parts():
    assert [part.runs for part in regular().split(0.25)] == [1, 3]
    assert [part.runs for part in regular().split(parts=3)] == [1, 2, 1]
    joined = tl.concatenate(regular().split(parts=4))
    np.testing.assert_array_equal(joined.positions, POSITIONS)
    assert [part.frames for part in ragged().split(parts=3)] == [3, 2, 4]


@pytest.mark.parametrize(
    "arguments", [{}, {"fraction": 0.5, "parts": 2}, {"fraction": 0.0}, {"parts": 9}, {"parts": 0}]
)
def test_impossible_splits(arguments):
    with pytest.raises(tl.InputError, match="split"):
        regular().split(**arguments)


def test_runs_are_chosen_with_a_slice():
    np.testing.assert_array_equal(regular()[1:3].positions, POSITIONS[1:3])
    assert ragged()[1:].frames == 6
    with pytest.raises(tl.InputError, match="slice"):
        regular()[0]


def test_parts_keep_box_and_labels():
    data = regular(box=4.0, labeled=True)
    for part in (data.every(2), data.between(0.0, 0.3), data[:2], *data.split(0.5)):
        assert part.box == (4.0, 4.0)
        assert part.labeled


@pytest.mark.parametrize("data", [regular(labeled=True), ragged()], ids=["regular", "ragged"])
def test_shuffling_permutes_every_frame_and_drops_labels(data):
    mixed = data.shuffled(seed=3)
    assert not mixed.labeled
    moved = 0
    for m in range(data.runs):
        for i in range(len(data.times_of(m))):
            before, after = data.frame(m, i), mixed.frame(m, i)
            np.testing.assert_array_equal(sorted(before.tolist()), sorted(after.tolist()))
            moved += not np.array_equal(before, after)
    assert moved > data.frames / 3
    again = data.shuffled(seed=3)
    np.testing.assert_array_equal(again.frame(0, 1), mixed.frame(0, 1))


def test_concatenate_regular_and_ragged():
    both = tl.concatenate([regular(), tl.Snapshots(POSITIONS[:1] + 1, TIMES)])
    assert both.regular
    assert both.runs == 5
    mixed = tl.concatenate([regular(), ragged()])
    assert not mixed.regular
    assert (mixed.runs, mixed.frames) == (7, 33)
    np.testing.assert_array_equal(mixed.frame(3, 5), POSITIONS[3, 5])
    other_times = tl.concatenate([regular(), tl.Snapshots(POSITIONS, TIMES + 1)])
    assert not other_times.regular
    np.testing.assert_array_equal(other_times.times_of(4), TIMES + 1)


def test_concatenate_keeps_labels_only_if_all_have_them():
    assert tl.concatenate([regular(labeled=True), regular(labeled=True)]).labeled
    assert not tl.concatenate([regular(labeled=True), regular()]).labeled


def test_concatenate_refuses_what_does_not_belong_together():
    with pytest.raises(tl.InputError, match="no data sets"):
        tl.concatenate([])
    with pytest.raises(tl.InputError, match="differ in box or dimension"):
        tl.concatenate([regular(), regular(box=3.0)])


@pytest.mark.parametrize("chunk", [1, 20, 1 << 22])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_positions_that_are_not_finite_are_named(value, chunk):
    array = POSITIONS.copy()
    array[2, 4, 1, 0] = value
    with pytest.raises(tl.InputError, match="run 2, frame 4, particle 1 is not finite; remove or repair it"):
        check_finite(tl.Snapshots(array, TIMES), chunk)
    check_finite(regular(), chunk)


def test_positions_that_are_not_finite_are_named_in_ragged_data():
    frames = [np.zeros((2, 2)), np.zeros((0, 2)), np.zeros((3, 2))]
    frames[2][1, 1] = np.nan
    with pytest.raises(tl.InputError, match="run 0, frame 2, particle 1"):
        tl.Snapshots([frames], [0.0, 1.0, 2.0]).check_finite()


def test_an_interval_may_stand_for_times():
    array = np.zeros((2, 4, 3, 2))
    np.testing.assert_allclose(tl.Snapshots(array, dt=0.5).times, [0, 0.5, 1, 1.5])
    ragged = tl.Snapshots([[np.zeros((3, 2))] * 2, [np.zeros((4, 2))] * 3], dt=2)
    assert [t.tolist() for t in ragged.times] == [[0, 2], [0, 2, 4]]
    for wrong in ({}, {"times": np.arange(4), "dt": 0.5}):
        with pytest.raises(tl.InputError, match="give either the time of every frame, or dt="):
            tl.Snapshots(array, **wrong)
    for dt in (0, -1, np.nan, "fast"):
        with pytest.raises(tl.InputError, match="dt: expected a positive time between frames"):
            tl.Snapshots(array, dt=dt)


@pytest.mark.parametrize(("data", "words"), [
    (tl.Snapshots(np.zeros((1, 2, 1, 2)), dt=1, box=(3, 4)), "1 run, 2 times, 1 particle, dim 2, unlabeled, box 3 x 4"),
    (tl.Snapshots([[np.zeros((2, 1))]], [[0.0]]), "1 run, 1 snapshot, ragged, dim 1, unlabeled"),
])  # fmt: skip
def test_printed_snapshots_count_in_words_and_have_their_box(data, words):
    assert repr(data) == f"Snapshots({words})"
