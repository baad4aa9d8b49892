"""Files that are cut short, damaged, of another kind, or made to fill the memory: one line each, never a crash."""

import gzip
import json
import pickle
import zlib

import gsd.hoomd
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_data import any_kind

import trackless as tl
from trackless.files import source

TABLES = ("csv", "tsv", "txt", "csv.gz")
TRAJECTORIES = ("lammpstrj", "dump", "xyz", "extxyz", "lammpstrj.gz", "xyz.gz")
BINARY = ("npz", "npy", "h5", "hdf5", "parquet", "gsd")
NEEDS_DT = ("npy", "gsd")


def whole_file(ending, folder):
    """The bytes of a good file."""
    file = folder / f"good.{ending.removesuffix('.gz')}"
    table = any_kind(1, True, 3, False, True, True)
    if ending == "gsd":
        with gsd.hoomd.open(str(file), "w") as opened:
            for k in range(3):
                frame = gsd.hoomd.Frame()
                frame.configuration.step, frame.configuration.box = k, [9, 9, 9, 0, 0, 0]
                frame.particles.N, frame.particles.position = 4, np.random.default_rng(k).random((4, 3))
                opened.append(frame)
    elif ending == "npy":
        np.save(file, table.positions)
    elif ending == "txt":
        tl.write(table, folder / "good.tsv")
        file = folder / "good.tsv"
    else:
        tl.write(table, file, overwrite=True)
    content = file.read_bytes()
    return gzip.compress(content) if ending.endswith(".gz") else content


def damaged(content, generator):
    """A copy that is cut, has a few other bits or bytes, or lacks a piece."""
    changed, size = bytearray(content), len(content)
    kind = generator.integers(4)
    if kind == 0:
        return bytes(changed[: generator.integers(size)])
    if kind == 1:
        first = generator.integers(size)
        del changed[first : first + generator.integers(1, 60)]
    for _ in range(generator.integers(1, 12) if kind > 1 else 0):
        place = generator.integers(size)
        changed[place] = changed[place] ^ (1 << generator.integers(8)) if kind == 2 else generator.integers(256)
    return bytes(changed)


@pytest.mark.parametrize("ending", [*TABLES, *TRAJECTORIES, *BINARY])
def test_damage_is_an_input_error_or_harmless(ending, tmp_path):
    content, generator = whole_file(ending, tmp_path), np.random.default_rng(7)
    file = tmp_path / f"bad.{ending}"
    errors = []
    for _ in range(60):
        file.write_bytes(damaged(content, generator))
        try:
            tl.read(file, dt=0.1 if ending in NEEDS_DT else None)
        except tl.InputError as error:
            errors.append(str(error))
    assert len(errors) > 20
    assert all(said.startswith(str(file)) and "\n" not in said for said in errors)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
GARBAGE = np.random.default_rng(0).integers(0, 256, 20_000, dtype=np.uint8).tobytes()


@pytest.mark.parametrize("ending", [*TABLES, *TRAJECTORIES, *BINARY])
@pytest.mark.parametrize("kind", ["empty", "picture", "garbage", "zeros", "words", "json", "hdf5", "array", "one line"])
def test_files_of_another_kind(ending, kind, tmp_path):
    file = tmp_path / f"data.{ending}"
    content = {
        "empty": b"", "picture": PNG, "garbage": GARBAGE, "zeros": bytes(5000), "words": b"All work and no play\n" * 9,
        "json": json.dumps({"frames": [{"x": 1.0}] * 20}).encode(), "hdf5": None, "array": None,
        "one line": b"1,2 " * 2000,
    }[kind]  # fmt: skip
    if kind == "hdf5":
        if ending in ("h5", "hdf5"):
            return
        with h5py.File(tmp_path / "other.h5", "w") as opened:
            opened["positions"] = np.zeros((1, 2, 3, 2))
        content = (tmp_path / "other.h5").read_bytes()
    if kind == "array":
        if ending == "npy":
            return
        np.save(tmp_path / "other.npy", np.zeros((1, 2, 3, 2)))
        content = (tmp_path / "other.npy").read_bytes()
    file.write_bytes(content)
    with pytest.raises(tl.InputError) as caught:
        tl.read(file, dt=0.1)
    said = str(caught.value)
    assert said.startswith(str(file))
    assert "\n" not in said
    known = {
        "picture": "PNG picture",
        "empty": "empty",
        "hdf5": "HDF5 file; name it .h5",
        "array": "NumPy array; name it",
    }
    if kind in known and not ending.endswith(".gz"):
        assert known[kind] in said
    if kind in ("words", "json") and ending in ("npz", "npy", "h5", "hdf5", "parquet", "gsd"):
        assert "it is text; name it .csv" in said


def test_compressed_text_under_another_name(tmp_path):
    (tmp_path / "data.csv").write_bytes(gzip.compress(b"t,x\n0,1\n"))
    with pytest.raises(tl.InputError, match=r"expected text, but it is compressed with gzip; name it .gz"):
        tl.read(tmp_path / "data.csv")
    (tmp_path / "data.csv").write_bytes("t,x\n0,1\n".encode("utf-16"))
    with pytest.raises(tl.InputError, match=r"it is text in UTF-16; save it as UTF-8"):
        tl.read(tmp_path / "data.csv")


# Files made to fill the memory


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ALWAYS_UNPACKED", 100_000)
    monkeypatch.setattr(source, "BLOCK", 10_000)
    file = tmp_path / "data.csv.gz"
    file.write_bytes(gzip.compress(b"t,x\n" + b"0,1\n" * 1_000_000))
    with pytest.raises(
        tl.InputError, match=r"it unpacks to more than [\d,]+ bytes from [\d,]+; .* unpack it with gunzip"
    ):
        tl.read(file)
    monkeypatch.setattr(source, "MOST_EXPANSION", 100_000)
    assert tl.read(file).counts_of(0).tolist() == [1_000_000]
    monkeypatch.setattr(source, "MOST_UNPACKED", 1_000_000)
    with pytest.raises(tl.InputError, match="it unpacks to more than 1,000,000 bytes"):
        tl.read(file)


def test_limits_of_unpacking(tmp_path):
    file = tmp_path / "data.gz"
    file.write_bytes(bytes(1000))
    assert source.most_unpacked(file) == 64 << 20
    assert (source.MOST_UNPACKED, source.MOST_EXPANSION) == (8 << 30, 200)


def test_claims_of_binary_files_are_not_believed(tmp_path):
    with h5py.File(tmp_path / "huge.h5", "w") as file:  # nothing of it is stored
        file.create_dataset("positions", shape=(10**6, 10**5, 10, 3), chunks=(10, 10, 10, 3), dtype=float)
    with pytest.raises(tl.InputError, match=r"huge.h5: its [\d,]+ bytes claim to hold 24,000,000,000,000,"):
        tl.read(tmp_path / "huge.h5", dt=1.0)
    np.savez_compressed(tmp_path / "huge.npz", positions=np.zeros((1, 100, 40_000, 3)))
    with pytest.raises(tl.InputError, match=r"huge.npz: its [\d,]+ bytes claim to hold 96,000,"):
        tl.read(tmp_path / "huge.npz", dt=1.0)
    zeros = np.zeros(10_000_000)
    pq.write_table(pa.table({"t": zeros, "x": zeros}), tmp_path / "huge.parquet")
    with pytest.raises(tl.InputError, match=r"huge.parquet: its [\d,]+ bytes claim to hold"):
        tl.read(tmp_path / "huge.parquet")


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK", 1000)
    monkeypatch.setattr(source, "LONGEST_LINE", 5000)
    (tmp_path / "data.csv").write_bytes(b"t,x\n" + b"1" * 20_000)
    with pytest.raises(tl.InputError, match="a line is longer than 5,000 bytes; this is not a file of positions"):
        tl.read(tmp_path / "data.csv")


def test_a_gzip_file_cut_short_is_not_half_read(tmp_path):
    whole = gzip.compress(b"t,x\n" + b"".join(f"{k},{k}\n".encode() for k in range(1000)))
    file = tmp_path / "data.csv.gz"
    for content in (
        whole[:-1],
        whole[:-8],
        whole[: len(whole) // 2],
        whole[:-6] + zlib.crc32(b"").to_bytes(2, "big") + whole[-4:],
    ):
        file.write_bytes(content)
        with pytest.raises(tl.InputError, match=r"damaged or cut short after .* bytes of text; copy it again"):
            tl.read(file)


# Pickles, which run what is in them


@pytest.mark.parametrize(
    "ending", ["pkl", "pickle", "pkl.gz", "npy", "npz", "csv", "csv.gz", "xyz", "h5", "parquet", "gsd"]
)
def test_pickles_are_never_opened(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    file.write_bytes(pickle.dumps({"positions": [1.0]}))
    with pytest.raises(tl.InputError, match=r"is a pickle, which is never opened, .*; save plain numbers") as caught:
        tl.read(file, dt=1.0)
    assert str(caught.value).startswith(str(file))


def test_arrays_of_objects_are_pickles(tmp_path):
    objects = np.array([{"x": 1.0}], dtype=object)
    np.save(tmp_path / "data.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "data.npz", positions=objects)
    for ending in ("npy", "npz"):
        with pytest.raises(tl.InputError, match="an array of objects is a pickle, which is never opened"):
            tl.read(tmp_path / f"data.{ending}", dt=1.0)


def test_a_file_that_is_called_gz_and_is_none(tmp_path):
    (tmp_path / "data.csv.gz").write_text("t,x\n0,1\n1,2\n")
    with pytest.raises(tl.InputError, match=r"data.csv.gz: expected a gzip file, but .* name it data.csv$"):
        tl.read(tmp_path / "data.csv.gz")
    (tmp_path / "data.csv.gz").write_bytes(PNG)
    with pytest.raises(tl.InputError, match="expected a gzip file, but it is a PNG picture"):
        tl.read(tmp_path / "data.csv.gz")
