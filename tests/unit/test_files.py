"""Files of snapshots: round trips, damage, and what is never done (overwriting, pickles, half-written files)."""

import io
import pickle
import sys

import h5py
import numpy as np
import pytest
from file_data import TIMES, assert_equal, ragged, regular

import trackless as tl
from trackless.files import read_with_notes, save
from trackless.files.atomic import check_target, replacing


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
    np.savez(tmp_path / "future.npz", format=np.array(3), positions=regular().positions, times=TIMES)
    with pytest.raises(tl.InputError, match="written in format 3, this version reads 2; update trackless"):
        tl.read(tmp_path / "future.npz")


def test_npz_of_before_species(tmp_path):
    np.savez(tmp_path / "old.npz", format=np.array(1), positions=regular().positions, times=TIMES, box=[], labeled=True)
    assert_equal(tl.read(tmp_path / "old.npz"), regular(labeled=True))


def test_arrays_that_are_not_finite_or_do_not_fit(tmp_path):
    positions = regular().positions.copy()
    positions[1, 2, 3, 0] = np.nan
    np.savez(tmp_path / "nan.npz", positions=positions, times=TIMES)
    with pytest.raises(tl.InputError, match=r"nan.npz: .*run 1, frame 2, particle 3 is not finite; remove or repair"):
        tl.read(tmp_path / "nan.npz")
    np.savez(tmp_path / "flat.npz", positions=positions[0, 0], times=TIMES)
    with pytest.raises(tl.InputError, match=r"flat.npz: positions: expected shape \(runs, times, particles, dim\)"):
        tl.read(tmp_path / "flat.npz")
    sums = {"points": np.zeros((4, 2)), "times": np.arange(2.0), "counts": np.array([2, 3]), "lengths": np.array([2])}
    np.savez(tmp_path / "sums.npz", **sums)
    with pytest.raises(tl.InputError, match=r"sums.npz: counts and lengths do not add up to its points"):
        tl.read(tmp_path / "sums.npz")


@pytest.mark.parametrize("ending", ["npz", "h5", "npy"])
def test_a_box_beside_arrays(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    inside = tl.Snapshots(np.random.default_rng(2).random((2, 3, 4, 2)), np.arange(3) * 0.5)
    if ending == "npy":
        np.save(file, inside.positions)
    else:
        tl.write(inside, file)
    dt = 0.5 if ending == "npy" else None
    assert tl.read(file, dt=dt, box=(1.0, 2.0)).box == (1.0, 2.0)
    with pytest.raises(tl.InputError, match=rf"data.{ending}, run 0, frame 0, particle \d: .* outside the box from 0"):
        tl.read(file, dt=dt, box=0.5)
    if ending != "npy":
        tl.write(tl.Snapshots(inside.positions, inside.times, box=1.0), file, overwrite=True)
        with pytest.raises(tl.InputError, match="has a periodic box of its own; leave box= out"):
            tl.read(file, box=1.0)


def test_hdf5_of_somebody_else(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("positions", data=regular().positions[0], compression="gzip", chunks=(1, 2, 2))
        file["species"] = np.array(["b", "a", "a", "b"], dtype=h5py.string_dtype())
    data = tl.read(tmp_path / "run.h5", dt=0.5)
    assert data.species == ("a", "b")
    np.testing.assert_array_equal(data.positions, regular().positions[:1][:, :, [1, 2, 0, 3]])
    with pytest.raises(tl.InputError, match=r"holds no times; give the time between frames \(dt=, --dt\)"):
        tl.read(tmp_path / "run.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["results/x"] = np.zeros(3)
        file["times"] = np.zeros(3)
    with pytest.raises(tl.InputError, match="expected datasets positions and times, found results, times"):
        tl.read(tmp_path / "other.h5")
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        file["positions/x"] = np.zeros(3)
    with pytest.raises(tl.InputError, match="found groups; write datasets instead"):
        tl.read(tmp_path / "groups.h5")


def test_several_files_must_fit_together(tmp_path):
    tl.write(regular(), tmp_path / "a.npz")
    tl.write(regular(3), tmp_path / "b.npz")
    tl.write(regular(species=["a", "a", "b", "b"]), tmp_path / "c.npz")
    with pytest.raises(tl.InputError, match=r"b.npz: dimensions 3, but 2 in .*a.npz; read them apart"):
        tl.read([tmp_path / "a.npz", tmp_path / "b.npz"])
    with pytest.raises(tl.InputError, match=r"c.npz: .* names species and one does not; read them apart"):
        tl.read([tmp_path / "a.npz", tmp_path / "c.npz"])
    with pytest.raises(tl.InputError, match="an empty list"):
        tl.read([])
    with pytest.raises(tl.InputError, match="expected a path, a table or a list of them, got int"):
        tl.read(3)


def test_species_that_a_file_lacks(tmp_path):
    tl.write(regular(species=["a", "c", "c", "c"]), tmp_path / "a.npz")
    tl.write(regular(species=["b", "b", "c", "c"]), tmp_path / "b.npz")
    data = tl.read([tmp_path / "a.npz", tmp_path / "b.npz"])
    assert data.species == ("a", "b", "c")
    assert [data.species_counts_of(m)[0].tolist() for m in (0, 3)] == [[1, 0, 3], [0, 2, 2]]


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [("h5py", "a.h5", "hdf5"), ("pyarrow", "a.parquet", "parquet"), ("gsd.fl", "a.gsd", "gsd")],
)
def test_a_missing_package_is_named(module, name, extra, tmp_path, monkeypatch):
    for loaded in [key for key in sys.modules if key == module or key.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(b"something")
    with pytest.raises(tl.InputError, match=rf"needs the package .*; pip install 'trackless\[{extra}\]'"):
        tl.read(tmp_path / name, dt=1.0)


def test_several_files_are_further_runs(tmp_path):
    for k, part in enumerate(regular().split(parts=2)):
        tl.write(part, tmp_path / f"{k}.npz")
    assert_equal(tl.read([tmp_path / "0.npz", str(tmp_path / "1.npz")]), regular())
    assert_equal(tl.read(tmp_path / f"{k}.npz" for k in range(2)), regular())


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


@pytest.mark.parametrize("name", ["data.tif", "data", "data.npy", "data.npz.gz"])
def test_unknown_endings(name, tmp_path):
    with pytest.raises(tl.InputError, match=r"cannot write .*; known: .npz, .csv, .tsv, .parquet, .h5"):
        tl.write(regular(), tmp_path / name)
    if name != "data.npy":
        with pytest.raises(tl.InputError, match=r"cannot read .*; known: .npz, .npy, .csv\[.gz\], .tsv"):
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


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(tl.InputError, match=r"data\.csv: there is no file of positions in this folder"):
        tl.read(tmp_path / "data.csv")


def test_an_error_while_writing_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    def write():
        with replacing(tmp_path / "note.txt") as temporary:
            raise OSError(28, "No space left on device", str(temporary))

    with pytest.raises(tl.InputError, match=r"note\.txt: cannot write here \(No space left on device\)"):
        write()

    def refuse(**_):  # permissions do not stop root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(tl.InputError, match=r"note\.txt: cannot write here \(Permission denied\)"):
        check_target(tmp_path / "note.txt")
    assert names(tmp_path) == []


def test_a_file_system_without_links_will_do(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    tl.write(regular(), tmp_path / "data.npz")
    assert names(tmp_path) == ["data.npz"]


def test_written_files_have_ordinary_permissions(tmp_path):
    (tmp_path / "plain.txt").write_text("")
    tl.write(regular(), tmp_path / "data.npz")
    assert (tmp_path / "data.npz").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


@pytest.mark.parametrize(("counts", "said"), [((4, 4, 4, 3), True), ((4, 3, 4, 3), False), ((4, 4, 4, 5), False)])
def test_a_file_that_may_have_been_cut_short_is_said_to(tmp_path, counts, said):
    rows = [f"{i},{k},{i + k}" for i, count in enumerate(counts) for k in range(count)]
    (tmp_path / "data.csv").write_text("time,x,y\n" + "\n".join(rows))
    notes = read_with_notes(tmp_path / "data.csv").notes
    assert any("has fewer particles (3 instead of 4): if the file was cut short" in note for note in notes) == said
