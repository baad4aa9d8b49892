"""Files of snapshots: round trips, damage, and what is never done (overwriting, pickles, half-written files)."""

import io
import pickle

import numpy as np
import pytest

import trackless as tl
from trackless.files import save
from trackless.files.atomic import replacing

TIMES = np.array([0.0, 0.1, 0.3])


def regular(dim=2, dtype=float, **options):
    positions = np.random.default_rng(0).standard_normal((2, 3, 4, dim)).astype(dtype)
    return tl.Snapshots(positions, TIMES, **options)


def ragged(counts=((3, 1, 2), (2, 4)), **options):
    generator = np.random.default_rng(1)
    runs = [[generator.standard_normal((n, 2)) for n in run] for run in counts]
    return tl.Snapshots(runs, [0.1 + 0.3 * np.arange(len(run)) for run in counts], **options)


def assert_equal(found, expected):
    assert (found.runs, found.box, found.labeled, found.regular) == (
        expected.runs, expected.box, expected.labeled, expected.regular,
    )  # fmt: skip
    for m in range(expected.runs):
        np.testing.assert_array_equal(found.times_of(m), expected.times_of(m))
        for i in range(len(expected.times_of(m))):
            np.testing.assert_array_equal(found.frame(m, i), expected.frame(m, i))
            assert found.frame(m, i).dtype == expected.frame(m, i).dtype


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Snapshots


@pytest.mark.parametrize("data", [
    regular(), regular(5), regular(1), regular(box=(3.0, 4.0)), regular(labeled=True), regular(dtype=np.float32),
    ragged(), ragged(box=3.0), ragged(((2, 2), (3, 3, 3)), labeled=True),
], ids=["plain", "5-D", "1-D", "box", "labeled", "float32", "ragged", "ragged box", "ragged labeled"])  # fmt: skip
def test_npz_round_trip(data, tmp_path):
    tl.write(data, tmp_path / "data.npz")
    assert_equal(tl.read(tmp_path / "data.npz"), data)
    assert names(tmp_path) == ["data.npz"]


@pytest.mark.parametrize("data", [
    regular(), regular(1), regular(3), regular(labeled=True), ragged(), ragged(((2, 2), (3, 3, 3)), labeled=True),
], ids=["plain", "1-D", "3-D", "labeled", "ragged", "ragged labeled"])  # fmt: skip
def test_csv_round_trip(data, tmp_path):
    tl.write(data, tmp_path / "data.csv")
    assert_equal(tl.read(tmp_path / "data.csv"), data)


@pytest.mark.parametrize("ending", ["NPZ", "CSV", "Npz"])
def test_endings_may_be_capital(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    tl.write(regular(), file)
    assert names(tmp_path) == [file.name]
    assert_equal(tl.read(file), regular())


def test_npy_is_memory_mapped_and_needs_a_time_step(tmp_path):
    np.save(tmp_path / "data.npy", regular().positions)
    data = tl.read(tmp_path / "data.npy", dt=0.5)
    assert isinstance(data.positions, np.memmap)
    np.testing.assert_array_equal(data.positions, regular().positions)
    np.testing.assert_array_equal(data.times, [0.0, 0.5, 1.0])
    np.save(tmp_path / "one.npy", regular().positions[0])
    assert tl.read(tmp_path / "one.npy", dt=0.5).positions.shape == (1, 3, 4, 2)
    with pytest.raises(tl.InputError, match=r"holds no times; give the time between frames \(dt="):
        tl.read(tmp_path / "data.npy")


def test_npz_of_somebody_else(tmp_path):
    np.savez(tmp_path / "plain.npz", positions=regular().positions)
    assert tl.read(tmp_path / "plain.npz", dt=0.1).times.tolist() == [0.0, 0.1, 0.2]
    np.savez_compressed(tmp_path / "timed.npz", positions=regular().positions, times=TIMES)
    assert_equal(tl.read(tmp_path / "timed.npz"), regular())
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(tl.InputError, match="expected arrays positions and times, found x"):
        tl.read(tmp_path / "other.npz")


def test_npz_of_the_future(tmp_path):
    np.savez(tmp_path / "future.npz", format=np.array(2), positions=regular().positions, times=TIMES)
    with pytest.raises(tl.InputError, match="written in format 2, this version reads 1; update trackless"):
        tl.read(tmp_path / "future.npz")


def test_several_files_are_further_runs(tmp_path):
    for k, part in enumerate(regular().split(parts=2)):
        tl.write(part, tmp_path / f"{k}.npz")
    assert_equal(tl.read([tmp_path / "0.npz", str(tmp_path / "1.npz")]), regular())


def test_csv_columns_in_any_order_with_others_between(tmp_path):
    file = tmp_path / "tracks.csv"
    file.write_text(
        '﻿"Y",mass,frame,X,particle\n1.0,9,1,0.5,7\n2.0,9,0,0.25,7\n3.0,9,0,0.125,3\n4.0,9,1,0.0,3\n', encoding="utf-8"
    )
    data = tl.read(file, dt=0.5)
    assert data.labeled
    np.testing.assert_array_equal(data.times, [0.0, 0.5])
    np.testing.assert_array_equal(data.positions, [[[[0.125, 3.0], [0.25, 2.0]], [[0.0, 4.0], [0.5, 1.0]]]])


def test_csv_runs_may_meet_in_time(tmp_path):
    (tmp_path / "two.csv").write_text("run,time,x\n1,2.0,0.5\n1,3.0,0.25\n0,1.0,1.0\n0,2.0,2.0\n")
    data = tl.read(tmp_path / "two.csv")
    assert [data.times_of(m).tolist() for m in range(data.runs)] == [[1.0, 2.0], [2.0, 3.0]]
    assert [data.points_of(m, 0, 1).ravel().tolist() for m in range(2)] == [[1.0, 2.0], [0.5, 0.25]]


def test_csv_particles_that_come_and_go_are_no_labels(tmp_path):
    (tmp_path / "tracks.csv").write_text("t,particle,x\n0,1,0.0\n0,2,1.0\n1,1,0.1\n1,3,5.0\n")
    data = tl.read(tmp_path / "tracks.csv")
    assert not data.labeled
    assert data.positions.shape == (1, 2, 2, 1)


@pytest.mark.parametrize(
    ("text", "dt", "message"),
    [
        ("", None, "expected a first line with column names"),
        ("0.0,1.0,2.0\n", None, "expected a first line with column names such as run,time,x,y; found '0.0,1.0,2.0'"),
        ("time,x,y\n", None, "there are no lines after the header"),
        ("time,a,b\n0,1,2\n", None, r"expected columns x, y\[, z\], found time, a, b; rename"),
        ("x,y\n0,1\n", None, "expected a column time or frame, found x, y"),
        ("frame,x,y\n0,1,2\n", None, r"counts frames; give the time between them \(dt="),
        ("time,x,y\n0,1,2\n", 0.1, "has a time column, so dt= is not needed"),
        ("time,x,y\n0,1,2\n0,nan,2\n", None, "line 3: a position is empty, NaN or infinite; remove or repair"),
        ("time,x,y\n0,1,2\n0,,2\n", None, "a line is not made of numbers"),
        ("time,x,y\n0,1,2\n0,1\n", None, "a line is not made of numbers"),
        ("time,x,y\n0,1,2\n0,1,two\n", None, r"a line is not made of numbers \(line 3: .*'two'.* \(column 3\)\)"),
    ],
)
def test_damaged_csv(text, dt, message, tmp_path):
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(tl.InputError, match=message):
        tl.read(tmp_path / "data.csv", dt=dt)


def test_csv_has_no_place_for_everything(tmp_path):
    with pytest.raises(tl.InputError, match=r"no place for a periodic box; write .npz"):
        tl.write(regular(box=3.0), tmp_path / "data.csv")
    with pytest.raises(tl.InputError, match=r"the data have 5 dimensions; write .npz"):
        tl.write(regular(5), tmp_path / "data.csv")
    assert names(tmp_path) == []


@pytest.mark.parametrize("ending", ["npz", "npy"])
@pytest.mark.parametrize("damage", ["empty", "text", "cut", "pickle", "other kind"])
def test_damaged_arrays(ending, damage, tmp_path):
    file = tmp_path / f"data.{ending}"
    buffer = io.BytesIO()
    (np.savez if ending == "npz" else np.save)(buffer, np.zeros((2, 3, 4, 2)))
    whole = buffer.getvalue()
    other = io.BytesIO()
    (np.save if ending == "npz" else np.savez)(other, np.zeros((2, 3, 4, 2)))
    file.write_bytes(
        {
            "empty": b"",
            "text": b"not an array at all",
            "cut": whole[: len(whole) // 2],
            "pickle": pickle.dumps(np.zeros(3)),
            "other kind": other.getvalue(),
        }[damage]
    )
    with pytest.raises(tl.InputError, match="not a readable NP"):
        tl.read(file, dt=0.1)


def test_pickled_arrays_are_not_loaded(tmp_path):
    objects = np.array([1.0, None], dtype=object)
    np.save(tmp_path / "pickled.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "pickled.npz", positions=objects, times=TIMES)
    for file in ("pickled.npy", "pickled.npz"):
        with pytest.raises(tl.InputError, match="not a readable"):
            tl.read(tmp_path / file, dt=0.1)


@pytest.mark.parametrize("name", ["data.txt", "data", "data.npy"])
def test_unknown_endings(name, tmp_path):
    with pytest.raises(tl.InputError, match=r"cannot write .*; known: .npz, .csv"):
        tl.write(regular(), tmp_path / name)
    if name != "data.npy":
        with pytest.raises(tl.InputError, match=r"cannot read .*; known: .npz, .npy, .csv"):
            tl.read(tmp_path / name)


def test_missing_files(tmp_path):
    with pytest.raises(tl.InputError, match="there is no such file"):
        tl.read(tmp_path / "nothing.csv")
    with pytest.raises(tl.InputError, match="there is no such file"):
        tl.load(tmp_path / "nothing")
    with pytest.raises(tl.InputError, match=r"the directory .* does not exist; create it first"):
        tl.write(regular(), tmp_path / "nowhere" / "data.npz")


# Writing


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_nothing_is_overwritten_unless_asked(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    file.write_text("precious")
    with pytest.raises(tl.InputError, match=r"exists; choose another name, or allow overwriting \(overwrite=True"):
        tl.write(regular(), file)
    assert file.read_text() == "precious"
    tl.write(regular(), file, overwrite=True)
    assert_equal(tl.read(file), regular())
    assert names(tmp_path) == [file.name]


def test_an_error_leaves_no_file_behind(tmp_path):
    def write():
        with replacing(tmp_path / "note.txt") as temporary:
            temporary.write_text("half")
            raise RuntimeError("the power fails")

    with pytest.raises(RuntimeError):
        write()
    assert names(tmp_path) == []
    (tmp_path / "note.txt").write_text("old")
    with pytest.raises(tl.InputError, match="cannot save a"):
        save(object(), tmp_path / "note.txt", overwrite=True)
    assert (tmp_path / "note.txt").read_text() == "old"
    assert names(tmp_path) == ["note.txt"]


def test_a_file_made_meanwhile_is_kept(tmp_path):
    def write():
        with replacing(tmp_path / "note.txt") as temporary:
            temporary.write_text("mine")
            (tmp_path / "note.txt").write_text("theirs")

    with pytest.raises((tl.InputError, FileExistsError)):
        write()
    assert (tmp_path / "note.txt").read_text() == "theirs"
    assert names(tmp_path) == ["note.txt"]


def test_written_files_have_ordinary_permissions(tmp_path):
    (tmp_path / "plain.txt").write_text("")
    tl.write(regular(), tmp_path / "data.npz")
    assert (tmp_path / "data.npz").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode
