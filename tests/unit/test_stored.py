"""Positions that stay in files: the same as in memory, whatever the format, the chunks and the part that is meant."""

import pickle
import threading

import numpy as np
import pytest

import trackless as tl
from trackless import _memory, stored
from trackless._shelf import Shelf, shelf
from trackless.exploration import explore
from trackless.stored import StoredArray
from trackless.survey import means_of_runs, parts

RUNS, TIMES, PARTICLES, DIM = 23, 31, 5, 2
POSITIONS = np.random.default_rng(0).normal(size=(RUNS, TIMES, PARTICLES, DIM))
DT = 0.01
CHUNKS = {
    "whole runs": (4, TIMES, PARTICLES, DIM),
    "parts of many runs": (7, 5, 1, DIM),
    "parts of a run": (1, 8, 5, 1),
    "one time": (RUNS, 1, PARTICLES, DIM),
}
BASES = tl.RadialSplines(6, upper=5.0), tl.RadialSplines(8, upper=9.0)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Slabs of a few runs, and a shelf on which not all of them fit."""
    monkeypatch.setattr(_memory, "for_data", lambda: 40_000)
    monkeypatch.setattr(stored, "SLAB", 4_000)
    shelf.clear()


def in_file(kind, folder, dtype=np.float64):
    """POSITIONS in a file."""
    values = POSITIONS.astype(dtype)
    if kind == "npy":
        np.save(folder / "data.npy", values)
        return folder / "data.npy"
    form, _, chunks = kind.partition(": ")
    if form == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(folder / "data.h5", "w") as file:
            file.create_dataset("positions", data=values, chunks=CHUNKS[chunks] if chunks else None)
        return folder / "data.h5"
    zarr = pytest.importorskip("zarr")
    format_ = 2 if form == "zarr 2" else 3
    group = zarr.open_group(folder / "data.zarr", mode="w", zarr_format=format_)
    group.create_array("positions", shape=values.shape, dtype=values.dtype, chunks=CHUNKS[chunks])[...] = values
    return folder / "data.zarr"


KINDS = ["npy", "hdf5", "zarr 2: whole runs", *(f"{form}: {chunks}" for form in ("hdf5", "zarr") for chunks in CHUNKS)]


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_data_in_memory(kind, tmp_path):
    data = tl.read(in_file(kind, tmp_path), dt=DT)
    assert data.in_files
    assert isinstance(data.positions, StoredArray)
    here = tl.Snapshots(POSITIONS, dt=DT)
    for of in (lambda d: d, lambda d: d[3:20:2], lambda d: d.every(3), lambda d: d.between(0.05, 0.2)[::-1]):
        for windows in (1, 3):
            one, two = (tl.accumulate(of(d), *BASES, windows=windows, blocks=5) for d in (data, here))
            for name in ("quadratic", "pair", "diffusion", "energy", "weight"):
                np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-10, atol=1e-10)
    assert data.fingerprint() == here.fingerprint()


@pytest.mark.parametrize("kind", ["npy", "zarr: parts of many runs", "zarr: one time"])
def test_what_is_found_of_them_is_the_same(kind, tmp_path):
    data, here = tl.read(in_file(kind, tmp_path), dt=DT), tl.Snapshots(POSITIONS, dt=DT)
    np.testing.assert_array_equal(explore(data).positions, explore(here).positions)
    np.testing.assert_array_equal(explore(data).near(0.5), explore(here).near(0.5))
    np.testing.assert_array_equal(explore(data).upper, explore(here).upper)
    np.testing.assert_allclose(means_of_runs(data), means_of_runs(here), rtol=1e-12)
    np.testing.assert_array_equal(data.positions, POSITIONS)
    np.testing.assert_array_equal(data.positions[4], POSITIONS[4])
    np.testing.assert_array_equal(data.positions[4:9, ::3][2, -1], POSITIONS[4:9, ::3][2, -1])
    np.testing.assert_array_equal(data.positions[..., 0], POSITIONS[..., 0])
    assert ((data.positions - POSITIONS) == 0).all()
    covered = np.zeros((RUNS, TIMES), int)
    for runs, first, last in parts(data, size=40):
        covered[runs.start : runs.stop, first : last + 1] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize("kind", ["npy", "hdf5", "zarr: whole runs"])
def test_they_go_to_other_processes_as_what_they_are(kind, tmp_path):
    data = tl.read(in_file(kind, tmp_path, np.float32), dt=DT)[2:20].every(2)
    explore(data)
    content = pickle.dumps(data)
    assert len(content) < 3_000
    again = pickle.loads(content)
    assert again.positions.dtype == np.float32
    np.testing.assert_array_equal(again.positions, POSITIONS.astype(np.float32)[2:20, ::2])


def test_no_chunk_is_read_twice(tmp_path, monkeypatch):
    """Chunks that hold parts of all runs are unpacked once for each pass, and read ahead."""
    path = in_file("zarr: one time", tmp_path)
    data = tl.read(path, dt=DT)
    read = []
    monkeypatch.setattr(
        "trackless.files.sources.ZarrArray._entries",
        lambda self, part: read.append((part, threading.current_thread().name)) or POSITIONS[part],
    )
    closed = tl.accumulate(tl.Snapshots(POSITIONS, dt=DT), *BASES)
    tl.accumulate(data, closed.external, closed.interaction, windows=1, blocks=23)
    frames = [part[1] for part, _ in read]
    assert len(frames) == len(set(map(str, frames))) > 1
    assert sum(part.stop - part.start for part in frames) == TIMES
    assert any(name.startswith("trackless-reader") for _, name in read)


def test_chunks_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    data = tl.read(in_file("zarr: one time", tmp_path), dt=DT)
    monkeypatch.setattr(_memory, "for_data", lambda: 5_000)
    with pytest.raises(tl.InputError, match=r"1.84 kB of it have to be read together, its chunks being .*--memory"):
        tl.accumulate(data, *BASES)


def test_a_file_that_changes_is_noticed(tmp_path):
    path = in_file("npy", tmp_path)
    data = tl.read(path, dt=DT)
    np.save(path, POSITIONS[:20])
    with pytest.raises(tl.InputError, match="it has changed since it was opened; read it again"):
        tl.accumulate(data, *BASES)
    path.unlink()
    with pytest.raises(tl.InputError, match="it was there when it was opened, and is gone"):
        tl.accumulate(data, *BASES)


def test_a_position_that_is_not_finite_is_named(tmp_path):
    values = POSITIONS.copy()
    values[17, 20, 3, 1] = np.nan
    np.save(tmp_path / "data.npy", values)
    with pytest.raises(tl.InputError, match="at run 17, frame 20, particle 3 is not finite"):
        tl.accumulate(tl.read(tmp_path / "data.npy", dt=DT), *BASES)


def test_gaps_species_and_joining_leave_them_in_their_files(tmp_path):
    data = tl.read(in_file("npy", tmp_path), dt=DT)
    times = np.where(np.arange(TIMES) < 10, 0, 10) + np.arange(TIMES)
    cut = tl.Snapshots(data.positions, times).without_gaps()
    assert cut.in_files
    assert cut.runs == 2 * RUNS
    np.testing.assert_array_equal(cut.frame(3, 2), POSITIONS[1, 12])
    here = tl.Snapshots(POSITIONS, times).without_gaps()
    one, two = (tl.accumulate(d, *BASES, blocks=4) for d in (cut, here))
    np.testing.assert_allclose(one.quadratic, two.quadratic, rtol=1e-10, atol=1e-10)
    mixed = tl.Snapshots(data.positions, data.times, species=["b", "a", "b", "a", "a"])
    assert mixed.in_files
    np.testing.assert_array_equal(mixed.frame(2, 3), POSITIONS[2, 3][[1, 3, 4, 0, 2]])
    joined = tl.concatenate([data[:4], data[10:]])
    assert joined.regular
    assert joined.in_files
    np.testing.assert_array_equal(joined.positions, np.concatenate([POSITIONS[:4], POSITIONS[10:]]))
    with_memory = tl.concatenate([data[:4], tl.Snapshots(POSITIONS[:2], dt=DT)])
    np.testing.assert_array_equal(with_memory.frame(5, 7), POSITIONS[1, 7])


def test_a_shelf_keeps_what_fits_and_reads_everything_once(monkeypatch):
    monkeypatch.setattr(_memory, "for_data", lambda: 100)
    kept, read = Shelf(), []
    for name in "abcabc":
        assert kept.get(name, 30, lambda name=name: read.append(name) or name) == name
    assert read == ["a", "b", "c"]
    kept.get("d", 30, lambda: "d")
    kept.get("c", 30, lambda: pytest.fail("c was used last"))
    kept.get("a", 30, lambda: read.append("a again"))
    assert read[-1] == "a again"
    with pytest.raises(OSError, match="gone"):
        kept.get("e", 30, lambda: (_ for _ in ()).throw(OSError("gone")))
    assert kept.get("e", 30, lambda: "there") == "there"
    kept.fetch("f", 30, lambda: read.append(threading.current_thread().name) or "f")
    assert kept.get("f", 30, lambda: "not this") == "f"
    assert read[-1].startswith("trackless-reader")
