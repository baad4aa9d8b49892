"""Gaps in time: where runs are cut, what is kept, and that nothing is integrated across."""

import numpy as np
import pytest

import trackless as tl

GAPPY = np.array([0, 1, 2, 3, 20, 21, 22, 50, *range(70, 80)], float)


def snapshots(times, runs=2, **more):
    positions = np.random.default_rng(0).random((runs, len(times), 4, 2))
    return tl.Snapshots(positions, times, **more)


def test_runs_are_cut_at_gaps_and_single_snapshots_left_out():
    data = snapshots(GAPPY)
    found = data.gaps()
    assert (found.longest, found.count, found.single) == (3.0, 6, 2)
    assert found.sentence == "split at 6 gaps, intervals longer than 3; 2 snapshots between gaps left out"
    cut = data.without_gaps()
    assert [t.tolist() for t in cut.times[:3]] == [[0, 1, 2, 3], [20, 21, 22], list(range(70, 80))]
    assert cut.runs == 6
    np.testing.assert_array_equal(cut.frame(4, 2), data.frame(1, 6))


@pytest.mark.parametrize(
    "times",
    [
        np.arange(30.0),
        np.logspace(0, 3, 40),
        np.arange(30.0) ** 2,
        np.r_[np.arange(0, 1, 0.01), np.arange(1, 5, 0.2)],  # a fine start, a coarse rest
        np.cumsum(np.tile([0.01, 1.0], 20)),  # pairs of snapshots
        np.delete(np.arange(30.0), [4, 11, 12]),  # frames that are missing, one or two at a time
        np.cumsum(np.random.default_rng(0).exponential(size=200)),
        [1.0],
    ],
)
def test_regular_and_deliberately_irregular_times_are_not_cut(times):
    data = snapshots(times)
    assert data.gaps().count == 0
    assert data.gaps().sentence == ""
    assert data.without_gaps() is data


def test_bursts_are_runs():
    times = (np.arange(10)[:, None] * 5.0 + np.arange(8) * 0.01).ravel()
    assert snapshots(times, runs=1).without_gaps().runs == 10


def test_ragged_data_keep_species_and_labels():
    generator = np.random.default_rng(1)
    runs = [[generator.random((n, 2)) for _ in times] for n, times in ((3, GAPPY), (5, GAPPY[:4]))]
    kinds = [list("aab"), list("abbbb")]
    cut = tl.Snapshots(runs, [GAPPY, GAPPY[:4]], labeled=True, species=kinds).without_gaps()
    assert (cut.runs, cut.labeled, cut.species) == (4, True, ("a", "b"))
    assert cut.species_counts_of(2).tolist() == [[2, 1]] * 10
    assert cut.species_counts_of(3).tolist() == [[1, 4]] * 4
    regular = snapshots(GAPPY, labeled=True, species=list("abab")).without_gaps()
    assert regular.species_counts_of(5).tolist() == [[2, 2]] * 10


def test_the_limit_may_be_given():
    data = snapshots(np.array([0, 1, 3, 4, 5, 30, 31.0]))
    assert data.gaps(1.5).count == 4
    assert data.gaps(100.0).count == 0
    assert data.gaps(None).count == 0
    for wrong in (0, -1.0, "often", True):
        with pytest.raises(tl.InputError, match="max_gap: expected a positive time, 'auto' or None"):
            data.gaps(wrong)
    with pytest.raises(tl.InputError, match="all 14 snapshots are on their own"):
        data.without_gaps(0.5)


def test_moments_are_those_of_the_pieces():
    """Nothing is integrated across a gap, and windows of the usual run are kept although one piece is short."""
    model = tl.models.reference()
    data = tl.simulate(model, runs=1, duration=4.0, step=1e-2, observe_every=1e-2, seed=1)
    kept = np.r_[0:200, 300:303, 320:401]
    gappy = tl.Snapshots(data.positions[:, kept], data.times[kept]).without_gaps(0.1)
    assert gappy.runs == 3
    bases = model.external_basis, model.interaction_basis
    moments = tl.accumulate(gappy, *bases)
    assert moments.windows == 22
    parts = [tl.accumulate(tl.Snapshots(data.positions[:, p], data.times[p]), *bases, windows=1)
             for p in (slice(0, 200), slice(300, 303), slice(320, 401))]  # fmt: skip
    together = sum(parts)
    for rule in ("left", "trapezoid"):
        joint, apart = (m.normal_equations(1.0, rule) for m in (moments, together))
        np.testing.assert_allclose(joint.matrix, apart.matrix, rtol=1e-10)
        np.testing.assert_allclose(joint.vector, apart.vector, rtol=1e-8, atol=1e-10)
    fitted = tl.SelfTest(*bases, sigma=1.0).fit(gappy)
    assert fitted.freedom_ < moments.blocks * moments.windows - 4  # empty windows are not counted


def test_the_door_splits_says_so_and_tests_the_same_pieces():
    data = tl.simulate(tl.models.reference(), runs=20, step=1e-3, observe_every=2e-2, seed=2)
    kept = np.r_[0:20, 30:51]
    gappy = tl.Snapshots(data.positions[:, kept], data.times[kept])
    fitted = tl.fit(gappy, sigma=1.0, external="radial", interaction="radial")
    assert "split at 20 gaps, intervals longer than 0.06" in fitted.findings_.sentences
    assert fitted.moments_.runs.sum() == 40
    assert fitted.max_gap_ == pytest.approx(0.06)
    assert fitted.residual_test(gappy).p_value == pytest.approx(fitted.findings_.residual_test.p_value)
    whole = tl.fit(gappy, sigma=1.0, external="radial", interaction="radial", max_gap=None)
    assert whole.max_gap_ is None
    assert "split at" not in str(whole.findings_)


def test_files_are_split_only_if_asked(tmp_path):
    tl.write(snapshots(GAPPY), tmp_path / "data.npz")
    assert tl.read(tmp_path / "data.npz").runs == 2
    assert tl.read(tmp_path / "data.npz", max_gap="auto").runs == 6
    found = tl.inspect(tmp_path / "data.npz")
    assert found.splits == 6
    assert "as runs of their own: split at 6 gaps" in " ".join(found.findings)
    assert tl.inspect(tmp_path / "data.npz", max_gap=None).splits == 0
