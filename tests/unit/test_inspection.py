"""A first look at data: numbers, and the sentences that follow from them."""

import re

import numpy as np
import pandas as pd
import pytest

import trackless as tl
from trackless.spacing import spacing

TIMES = np.arange(40) * 0.5


def walk(step, labeled=True, particles=20, box=None, seed=0):
    """Particles about 1 apart that move by ``step`` in each direction."""
    generator = np.random.default_rng(seed)
    start = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0)), axis=-1).reshape(-1, 2)[:particles]
    positions = start + np.cumsum(generator.normal(0, step, (1, len(TIMES), len(start), 2)), axis=1)
    if box is not None:
        positions = np.mod(positions, box)
    data = tl.Snapshots(positions, TIMES, box, labeled=True)
    return data if labeled else data.shuffled(1)


def said(found):
    return " ".join(found.findings)


def test_numbers_of_a_data_set():
    found = tl.inspect(walk(0.02))
    assert (found.runs, found.snapshots, found.dim, found.snapshots_per_run) == (1, 40, 2, (40, 40))
    assert (found.times, found.interval, found.even, found.gaps) == ((0.0, 19.5), 0.5, True, 0)
    assert found.particles == (20, 20.0, 20)
    assert found.labeled
    assert found.constant_count
    assert found.distances is not None
    low, median, high = found.distances
    assert low < median < high
    assert "labeled: estimates that follow them can be compared" in said(found)
    assert "1 run: 9 time windows of it serve as blocks" in said(found)
    assert str(found).startswith("Snapshots (Snapshots)\n1 run of 40 snapshots, from time 0 to 19.5, one every 0.5\n")


@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize("box", [None, (5.0, 4.0)])
def test_steps_are_measured_with_and_without_labels(labeled, box):
    measured = spacing(walk(0.02, labeled, box=box))
    assert measured.step == pytest.approx(0.02 * np.sqrt(2 * np.log(2)), rel=0.15)  # median of a Rayleigh distribution
    assert measured.from_labels == labeled
    assert 0.7 < measured.neighbour < 1.1
    assert measured.ratio < 0.1
    assert "tracking would work" in said(tl.inspect(walk(0.02, labeled, box=box)))


@pytest.mark.parametrize("labeled", [True, False])
def test_tracking_is_hopeless_when_steps_are_long(labeled):
    found = tl.inspect(walk(1.0, labeled)[:].between(0, 5))
    assert 2 * found.step > found.neighbour
    assert "tracking is hopeless at this interval" in said(found)
    assert ("at least" in said(found)) is not labeled
    assert "often take one for another" in said(tl.inspect(walk(0.25).between(0, 2)))


def test_what_a_fit_cannot_tell():
    assert "there is no interaction to learn" in said(tl.inspect(walk(0.02, particles=1)))
    assert tl.inspect(walk(0.02, particles=1)).distances is None
    single = tl.inspect(walk(0.02).between(0, 0))
    assert single.findings[-1].startswith("there is only one snapshot: no change is seen, so nothing can be learnt")
    assert single.interval is None
    two = tl.inspect(tl.Snapshots([[np.eye(2)] * 2, [np.eye(2)]], [[0, 1], [0]]))
    assert "a run has only one snapshot" in said(two)
    boxed = tl.inspect(walk(0.02, box=(5.0, 4.0)))
    assert "to 2, half the box" in said(boxed)
    doubled = tl.Snapshots(np.zeros((2, 3, 2, 2)), np.arange(3))
    assert "has one been detected twice?" in said(tl.inspect(doubled))
    assert "2 runs: 2 time windows of each serve as blocks for error bars, too few" in said(tl.inspect(doubled))


def test_little_data_promise_little():
    few = walk(0.02)
    assert "an interaction could be seen only at distances from" in said(tl.inspect(few))
    assert "only a strong interaction would be seen" in said(tl.inspect(walk(0.05)))
    assert "too little to expect an interaction to be seen" in said(tl.inspect(few.between(0, 2)))
    many = tl.simulate(tl.models.reference(), runs=200, step=1e-2, observe_every=1e-2)
    assert "stand out of the noise" in said(tl.inspect(many))
    assert "by chance about" not in said(tl.inspect(many))


def test_a_hole_in_the_distances_is_noticed():
    generator = np.random.default_rng(0)
    frames = []
    for _ in range(40):
        kept = []
        for point in generator.random((400, 2)) * 10:  # no two closer than half a unit
            if all(np.hypot(*(point - other)) > 0.5 for other in kept[-150:]):
                kept = [*kept, point][:60]
        frames.append(np.array(kept))
    data = tl.Snapshots([frames], dt=1.0)
    assert "no two particles are closer than 0.5" in said(tl.inspect(data))
    assert "were not told apart when they were detected" in said(tl.inspect(data))
    assert re.search(r"use exclude_below=0\.5\d? ", said(tl.inspect(data)))


def test_numbers_that_change_need_sums():
    generator = np.random.default_rng(0)
    within = tl.Snapshots([[generator.random((n, 2)) for n in (3, 4, 3)]], [np.arange(3)])
    assert "coupling='sum'" in said(tl.inspect(within))
    between = tl.Snapshots([[generator.random((n, 2))] * 3 for n in (3, 4)], [np.arange(3)] * 2)
    assert "coupling='sum'" not in said(tl.inspect(between))
    assert tl.inspect(between).particles == (3, 3.5, 4)


def test_gaps_in_time():
    data = tl.Snapshots(np.random.default_rng(0).random((1, 6, 3, 2)), [0, 1, 2, 5, 6, 7])
    found = tl.inspect(data)
    assert (found.gaps, found.even, found.interval) == (1, False, 1.0)
    assert "1 interval is longer than 1.5 times the usual one (1): snapshots are missing there" in said(found)
    assert "one every 1 (median)" in str(found)


def test_columns_and_frames_of_a_table(tmp_path):
    rows = {"Frame": [0, 0, 1, 1], "X [um]": [0.0, 1, 2, 3], "y": [5.0, 1, 2, 4], "mass": 1.0, "particle": [1, 2, 1, 3]}
    pd.DataFrame(rows).to_csv(tmp_path / "tracks.csv")
    found = tl.inspect(tmp_path / "tracks.csv")
    assert found.columns == {"frame": "Frame", "particle": "particle", "x": "X [um]", "y": "y"}
    assert found.ignored == ("mass",)
    assert "times are in frames here; give the time between them" in said(found)
    assert "their names are not used as labels" in said(found)
    assert "x from column 'X [um]'" in str(found)
    timed = tl.inspect([tmp_path / "tracks.csv"] * 2, dt=0.5)
    assert (timed.runs, timed.times, timed.source) == (2, (0.0, 0.5), "2 files")
    assert "in frames" not in said(timed)
    assert tl.inspect(pd.DataFrame(rows), dt=0.5).source == "the table"


def test_species_and_plain_data():
    data = tl.Snapshots(np.random.default_rng(0).random((2, 5, 4, 3)), np.arange(5), box=1.0, species=list("abbb"))
    found = tl.inspect(data)
    assert found.species == {"a": 1.0, "b": 3.0}
    assert "species: a (mean 1), b (mean 3)" in str(found)
    assert "periodic box 1 x 1 x 1" in str(found)
    content = found.as_dict()
    assert content["box"] == (1.0, 1.0, 1.0)
    assert content["findings"] == found.findings


def test_positions_beyond_all_numbers_are_one_error():
    with pytest.raises(tl.InputError, match="positions: inf is too large to compute with"):
        tl.inspect(tl.Snapshots([[[[1e308]], [[-1e308]]]], dt=1.0))
