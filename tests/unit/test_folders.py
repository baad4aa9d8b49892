"""Folders of files, Parquet data sets, zarr stores, and many files that together are too much for the memory."""

import json
import pickle

import numpy as np
import pytest

import trackless as tl
from trackless import _memory
from trackless._shelf import shelf

POSITIONS = np.random.default_rng(1).normal(size=(12, 9, 4, 2))
TIMES = np.arange(9) * 0.1
BASES = tl.RadialSplines(5, lower=0.0, upper=5.0), tl.RadialSplines(6, lower=0.0, upper=9.0)


@pytest.fixture
def small(monkeypatch):
    """A memory of three files or so."""
    monkeypatch.setattr(_memory, "for_data", lambda: 8_000)
    shelf.clear()


def regular(runs=slice(None)):
    return tl.Snapshots(POSITIONS[runs], TIMES)


def ragged(seed, species=None):
    generator = np.random.default_rng(seed)
    frames = [generator.normal(size=(n, 2)) for n in generator.integers(2, 7, 8)]
    kinds = (
        [[np.array(list(species))[generator.integers(0, len(species), len(f))] for f in frames]] if species else None
    )
    return tl.Snapshots([frames], [TIMES[:8]], species=kinds)


def written(folder, ending, parts):
    folder.mkdir()
    for k, part in enumerate(parts):
        tl.write(part, folder / f"run{k}{ending}")
    return folder


def same(one, two, atol=0.0):
    assert (one.runs, one.frames, one.species, one.regular) == (two.runs, two.frames, two.species, two.regular)
    for m in range(one.runs):
        np.testing.assert_allclose(one.times_of(m), two.times_of(m), atol=1e-12)
        np.testing.assert_array_equal(one.species_counts_of(m), two.species_counts_of(m))
        for i in range(len(one.times_of(m))):
            np.testing.assert_allclose(one.frame(m, i), two.frame(m, i), atol=atol)


@pytest.mark.parametrize("ending", [".csv", ".npz", ".h5", ".parquet", ".zarr", ".extxyz", ".csv.gz"])
def test_a_folder_is_its_files_in_natural_order(ending, tmp_path):
    parts = [regular(slice(k, k + 1)) for k in range(12)]
    folder = written(tmp_path / "data", ending.removesuffix(".gz"), parts)
    if ending.endswith(".gz"):
        import gzip

        for path in list(folder.iterdir()):
            (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    (folder / "README").write_text("not data")
    (folder / "_metadata").write_text("not data")
    same(tl.read(folder), regular())  # run2 before run10


@pytest.mark.parametrize("ending", [".csv", ".h5", ".parquet", ".npz"])
@pytest.mark.parametrize("kind", ["regular", "ragged", "species"])
def test_many_files_are_left_where_they_are(kind, ending, tmp_path, small):
    make = {"regular": lambda k: regular(slice(k, k + 1)), "ragged": ragged, "species": lambda k: ragged(k, "ab")}[kind]
    parts = [make(k) for k in range(12)]
    folder = written(tmp_path / "data", ending, parts)
    data, here = tl.read(folder), tl.concatenate(parts)
    assert data.in_files
    same(data, here)
    assert data.fingerprint() == here.fingerprint()
    one, two = (tl.accumulate(d, *BASES, coupling="sum", blocks=3) for d in (data, here))
    np.testing.assert_allclose(one.quadratic, two.quadratic, rtol=1e-10, atol=1e-10)
    same(pickle.loads(pickle.dumps(data))[2:5].every(2), here[2:5].every(2))


def test_files_are_read_once_for_each_pass(tmp_path, small, monkeypatch):
    folder = written(tmp_path / "data", ".csv", [regular(slice(k, k + 1)) for k in range(12)])
    data, read = tl.read(folder), []
    from trackless.files import formats

    original = formats.read_part
    monkeypatch.setattr(formats, "read_part", lambda given, **kw: read.append(given) or original(given, **kw))
    tl.accumulate(data, *BASES)
    assert sorted(read) == sorted(str(path) for path in folder.iterdir())


def test_a_file_that_has_other_data_now_is_refused(tmp_path, small):
    folder = written(tmp_path / "data", ".csv", [regular(slice(k, k + 1)) for k in range(12)])
    data = tl.read(folder)
    tl.write(regular(slice(0, 1)).every(2), folder / "run7.csv", overwrite=True)
    with pytest.raises(tl.InputError, match=r"run7\.csv: it has changed since it was opened"):
        tl.accumulate(data, *BASES)


def test_folders_that_cannot_be_one_data_set(tmp_path):
    with pytest.raises(tl.InputError, match="there is no file of positions in this folder"):
        tl.read(tmp_path)
    tl.write(regular(), tmp_path / "a.npz")
    tl.write(regular(), tmp_path / "b.csv")
    with pytest.raises(tl.InputError, match=r"files of several kinds \(1 .csv, 1 .npz\); give a folder with one kind"):
        tl.read(tmp_path)
    below = tmp_path / "other"
    (below / "inner").mkdir(parents=True)
    tl.write(regular(), below / "inner" / "a.npz")
    with pytest.raises(tl.InputError, match="there are files in folders below"):
        tl.read(below)


@pytest.mark.parametrize("layout", ["named folders", "runs across files", "files without names"])
def test_parquet_data_sets(layout, tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [(m, t, *POSITIONS[m, i, k]) for m in range(12) for i, t in enumerate(TIMES) for k in range(4)]
    table = pandas.DataFrame(rows, columns=["run", "time", "x", "y"])
    folder = tmp_path / "data.parquet"
    if layout == "named folders":
        table.to_parquet(folder, partition_cols=["run"])
    else:
        folder.mkdir()
    if layout == "runs across files":
        for k, first in enumerate(range(0, len(table), 50)):
            table[first : first + 50].to_parquet(folder / f"part-{k}.parquet")
    if layout == "files without names":
        for m, part in table.groupby("run"):
            part.drop(columns="run").to_parquet(folder / f"part-{m}.parquet")
    same(tl.read(folder), regular())


@pytest.mark.parametrize("data", [regular(), ragged(3), ragged(3, "ab")], ids=["regular", "ragged", "species"])
@pytest.mark.parametrize("lazy", [None, True])
def test_zarr_round_trips(data, lazy, tmp_path):
    boxed = tl.Snapshots(data.positions, data.times, box=20.0, labeled=data.constant_count, species=data._species)
    tl.write(boxed, tmp_path / "data.zarr")
    again = tl.read(tmp_path / "data.zarr", lazy=lazy)
    assert again.in_files == bool(lazy)
    same(again, boxed)
    assert (again.box, again.labeled) == (boxed.box, boxed.labeled)
    tl.write(again, tmp_path / "copy.h5")
    same(tl.read(tmp_path / "copy.h5"), boxed)
    tl.write(again[:1], tmp_path / "data2.zarr")
    same(tl.read(tmp_path / "data2.zarr"), boxed[:1])


def test_a_zarr_store_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "data.zarr"
    tl.write(regular(), target)
    with pytest.raises(tl.InputError, match="exists; choose another name"):
        tl.write(regular(), target)
    monkeypatch.setattr("trackless.files.zarr._chunks", lambda array: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tl.write(regular(slice(0, 2)), target, overwrite=True)
    same(tl.read(target), regular())
    monkeypatch.undo()
    tl.write(regular(slice(0, 2)), target, overwrite=True)
    same(tl.read(target), regular(slice(0, 2)))
    assert [path.name for path in tmp_path.iterdir()] == ["data.zarr"]
    folder = tmp_path / "precious.zarr"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(tl.InputError, match="is a directory; give a file name"):
        tl.write(regular(), folder, overwrite=True)


def test_nothing_from_a_zarr_store_is_executed(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "data.zarr", shape=(2, 3, 4, 2), dtype="f8", zarr_format=2)[...] = 1.0
    about = tmp_path / "data.zarr" / ".zarray"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"filters": [{"id": "pickle", "protocol": 5}]}))
    with pytest.raises(tl.InputError, match=r"data\.zarr"):
        tl.read(tmp_path / "data.zarr", dt=0.1)
    about.write_text(json.dumps(json.loads(about.read_text()) | {"filters": None}))
    monkeypatch.setattr("trackless.files.zarr.SAFE", ("bytes",))
    with pytest.raises(tl.InputError, match=r"packed with '\w+', which is not read, as it may not be safe"):
        tl.read(tmp_path / "data.zarr", dt=0.1)


@pytest.mark.parametrize("name", ["zarr.json", "positions/zarr.json", "positions/c/0/0/0/0"])
@pytest.mark.parametrize("content", [b"", b"{,}", b"\0" * 40])
def test_damaged_stores_are_said_to_be(name, content, tmp_path):
    tl.write(regular(), tmp_path / "data.zarr")
    (tmp_path / "data.zarr" / name).write_bytes(content)
    with pytest.raises(tl.InputError, match=r"data\.zarr"):
        tl.read(tmp_path / "data.zarr").check_finite()
