"""Tables in which time goes backwards: another experiment begins, or the rows are only sorted in another way."""

import numpy as np
import pandas as pd
import pytest

import trackless as tl

GENERATOR = np.random.default_rng(0)


def table(particles=3, frames=4, first=0):
    """Rows sorted by frame, then by particle."""
    frame, particle = (a.ravel() for a in np.meshgrid(np.arange(frames), first + np.arange(particles), indexing="ij"))
    return pd.DataFrame({"frame": frame, "particle": particle, "x": GENERATOR.random(len(frame)), "y": 0.5})


ONE, TWO = table(), table(first=10)
BOTH = pd.concat([ONE, TWO], ignore_index=True)


def every_kind(rows, folder):
    """The table as it is, and as files."""
    rows.to_csv(folder / "data.csv", index=False)
    rows.to_csv(folder / "data.tsv", sep="\t", index=False)
    rows.to_parquet(folder / "data.parquet")
    return [rows, *(folder / f"data.{ending}" for ending in ("csv", "tsv", "parquet"))]


@pytest.mark.parametrize("drop", [["particle"], []])
def test_two_experiments_are_not_merged(drop, tmp_path):
    for given in every_kind(BOTH.drop(columns=drop), tmp_path):
        place = "line 14" if str(given).endswith("sv") else r"row 12 \(counted from 0\)"
        with pytest.raises(tl.InputError, match=rf"{place}: the frame goes back from 3 to 0; if another run begins"):
            tl.read(given, dt=0.1)


def test_a_number_of_each_row_is_no_name():
    rows = BOTH.assign(particle=np.arange(len(BOTH)))
    with pytest.raises(tl.InputError, match="the frame goes back from 3 to 0"):
        tl.read(rows, dt=0.1)


def test_the_same_names_again_are_another_run():
    with pytest.raises(tl.InputError, match=r"particle 0 is in this frame already .*; if it is of another run, number"):
        tl.read(pd.concat([ONE, ONE], ignore_index=True), dt=0.1)


def test_times_that_go_back():
    rows = BOTH.drop(columns="particle").rename(columns={"frame": "time"})
    with pytest.raises(tl.InputError, match=r"the time goes back from 3 to 0; .*; if not, sort the rows by time"):
        tl.read(rows)


def test_the_remedies_work(tmp_path):
    plain = BOTH.drop(columns="particle")
    runs = plain.assign(run=np.repeat([0, 1], 12))
    for given in every_kind(runs, tmp_path):
        assert tl.read(given, dt=0.1).runs == 2
    assert tl.read(plain.sort_values("frame"), dt=0.1).positions.shape == (1, 4, 6, 2)
    assert tl.read([plain[:12], plain[12:]], dt=0.1).runs == 2


@pytest.mark.parametrize("drop", [["particle"], []])
def test_rows_of_runs_and_species_may_follow_one_another(drop):
    rows = BOTH.drop(columns=drop)
    assert tl.read(rows.assign(species=np.repeat(["a", "b"], 12)), dt=0.1).species == ("a", "b")
    mixed = rows.assign(run=np.repeat([0, 1], 12)).sort_values(["frame", "run"])
    assert tl.read(mixed, dt=0.1).runs == 2


@pytest.mark.parametrize("by", ["particle", "x"])
def test_particles_with_names_may_come_in_any_order(by, tmp_path):
    expected = tl.read(ONE, dt=0.1)
    for given in every_kind(ONE.sort_values(by), tmp_path):
        data = tl.read(given, dt=0.1)
        assert data.labeled
        np.testing.assert_array_equal(data.positions, expected.positions)


def test_tracks_that_end_and_begin_may_be_sorted_by_particle():
    rows = pd.DataFrame({"frame": [0, 1, 2, 2, 3, 0, 1, 1, 2], "particle": [0, 0, 0, 1, 1, 2, 2, 3, 3], "x": 1.0})
    assert tl.read(rows, dt=0.1).counts_of(0).tolist() == [2, 3, 3, 1]
