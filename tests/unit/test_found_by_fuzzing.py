"""What the fuzzers in tests/fuzz found, once each."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import trackless as tl
from trackless.benchmarks.page import check_page
from trackless.files import folders

TIMES = np.arange(4) * 0.1


@pytest.fixture
def data():
    return tl.Snapshots(np.random.default_rng(0).normal(size=(2, 4, 3, 2)), TIMES)


def refused(path, **options):
    """What is said of a file, on one printable line."""
    with pytest.raises(tl.InputError) as caught:
        tl.read(path, **options)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.isprintable()
    return said


# Readers


def test_other_things_in_a_zarr_store_are_left_alone(data, tmp_path):
    store = tmp_path / "data.zarr"
    tl.write(data, store)
    (store / "notes.txt").write_text("mine")
    (store / "pictures").mkdir()
    (store / "pictures" / "one.png").write_bytes(b"\x89PNG")
    assert (tl.read(store).positions == data.positions).all()  # a warning would be an error here


def test_several_damaged_arrays_of_a_zarr_store_say_nothing_in_the_background(data, tmp_path):
    store = tmp_path / "data.zarr"
    tl.write(data, store)
    for name in ("positions", "times"):
        (store / name / "zarr.json").write_text("{")
    program = f"import gc, trackless as tl\ntry: tl.read({str(store)!r})\nexcept tl.InputError: gc.collect()"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr == ""


@pytest.mark.parametrize("name", ["points", "positions", "times", "counts", "box"])
def test_a_member_of_an_archive_that_is_no_array(name, tmp_path):
    ragged = tl.Snapshots([[np.eye(2), np.ones((3, 2))]], [[0.0, 1.0]])
    tl.write(ragged, tmp_path / "data.npz")
    with zipfile.ZipFile(tmp_path / "data.npz") as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        for one, content in (members | {f"{name}.npy": b"\x92NUMPY"}).items():
            archive.writestr(one, content)
    assert "not a readable NPZ archive of plain arrays" in refused(tmp_path / "data.npz")


@pytest.mark.parametrize("kind", ["c16", "M8[s]", "V4"])
@pytest.mark.parametrize("lazy", [None, True])
def test_arrays_of_no_numbers_are_named(kind, lazy, tmp_path):
    np.save(tmp_path / "data.npy", np.zeros((1, 3, 2, 2), kind))
    assert "expected numbers" in refused(tmp_path / "data.npy", dt=0.1, lazy=lazy)


def test_a_mapped_array_is_checked_when_it_is_read(tmp_path):
    positions = np.zeros((1, 3, 2, 2))
    positions[0, 2, 1, 0] = np.nan
    np.save(tmp_path / "data.npy", positions)
    assert "run 0, frame 2, particle 1 is not finite" in refused(tmp_path / "data.npy", dt=0.1)


def test_names_of_species_in_a_table(tmp_path):
    names = np.array([[b"a"], [b"b"]])
    np.savez(tmp_path / "data.npz", positions=np.zeros((1, 4, 2, 2)), times=TIMES, species=[0, 1], species_names=names)
    assert "do not fit together" in refused(tmp_path / "data.npz")


def test_what_is_quoted_from_a_file_is_short_and_printable(tmp_path):
    (tmp_path / "data.csv").write_bytes(b"x\x85" + b", ".join(b"\x1b[31m%d" % k for k in range(5000)) + b"\n1,2\n")
    assert len(refused(tmp_path / "data.csv")) < 1500
    columns = b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS ff ff ff\n0 1\n0 1\n0 1\n"
    (tmp_path / "data.dump").write_bytes(columns + b"ITEM: ATOMS id x\x1b[5m y z\n1 2\n")
    refused(tmp_path / "data.dump", dt=0.1)


def test_a_folder_as_large_as_a_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_OTHERS", 5)
    for k in range(7):
        (tmp_path / f"letter{k}.doc").write_text("")
    assert "more than 5 files and folders that are no positions" in refused(tmp_path)


@pytest.mark.parametrize(
    "change", [{"energy": np.zeros(3)}, {"runs": np.zeros(2, "M8[s]")}, {"weight": np.zeros((9, 1, 2, 3))}]
)
def test_moments_that_do_not_belong_together(data, change, tmp_path):
    path = tmp_path / "sums.trackless"
    tl.save(tl.accumulate(data, tl.RadialSplines(4), None), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["content.json"])
    ((name, array),) = change.items()
    np.save(tmp_path / "other.npy", array)
    members[f"{content['result'][name]['array']}.npy"] = (tmp_path / "other.npy").read_bytes()
    content["result"][name].pop("symmetric", None)
    members["content.json"] = json.dumps(content).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    dates = array.dtype.kind == "M"  # are refused before anybody asks what they are for
    with pytest.raises(tl.InputError, match="an array of datetime" if dates else f"damaged .*{name} is an array of"):
        tl.load(path)


def test_reasons_of_other_programs_are_short(data, tmp_path):
    """zipfile quotes all that it found where it expected a name."""
    path = tmp_path / "sums.trackless"
    tl.save(tl.accumulate(data, tl.RadialSplines(4), None), path)
    content = bytearray(path.read_bytes())
    place = content.find(b"array0.npy")
    content[place - 4] = 255  # the length of that name
    content[place - 3] = 1
    path.write_bytes(content)
    with pytest.raises(tl.InputError) as caught:
        tl.load(path)
    assert len(str(caught.value)) < len(str(path)) + 200


# Commands and what they call


def test_seeds_below_zero():
    with pytest.raises(tl.InputError, match="seed: expected a whole number of at least 0, got -1"):
        tl.simulate(tl.models.reference(), runs=1, duration=0.01, step=1e-3, seed=-1)


def test_a_page_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    check_page(tmp_path / "new" / "folder" / "page.md", force=False)
    with pytest.raises(tl.InputError, match="is a directory"):
        check_page(tmp_path, force=True)
    with pytest.raises(tl.InputError, match="does not exist"):
        check_page(tmp_path / "file" / "page.md", force=False)


def test_the_last_time_of_late_times_counts(data):
    late = tl.Snapshots(data.positions, TIMES + 1e9)
    assert len(late.between(late.times[0], late.times[-1]).times) == 4


def test_late_times_change_nothing():
    data = tl.simulate(tl.models.reference(), runs=8, particles=4, duration=0.2, step=1e-3, seed=2)
    late = tl.Snapshots(data.positions, data.times + 2.0**20)
    a, b = (tl.fit(one, sigma=1.0).interaction_.slope(np.array([0.5, 1.0])) for one in (data, late))
    np.testing.assert_allclose(b, a, rtol=1e-4)


def test_particles_that_never_move():
    start = tl.simulate(tl.models.reference(), runs=8, particles=4, duration=0.2, step=1e-3, seed=2).positions[:, :1]
    still = tl.Snapshots(np.broadcast_to(start, (8, 21, 4, 2)).copy(), dt=0.01)
    assert tl.fit(still, sigma=1.0).sigma_ == 1.0
    with pytest.raises(tl.InputError, match="nothing moves in these data"):
        tl.fit(still)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 1e300}, "sigma: 1e.300 is too large to compute with; use units that bring it nearer to 1"),
        ({"sigma": 1e-300}, "sigma: 1e-300 is too small"), ({"position_error": 1e300}, "position_error: .* too large"),
        ({"exclude_below": 1e-300}, "exclude_below: .* too small"),
        ({"cutoff": 1e300}, "cutoff: 1e.300 is far beyond all distances of the data, which are at most"),
        ({"length": 1e200}, "positions: .* is too large"), ({"time": 1e-300}, "times: .* is too small"),
    ],
)  # fmt: skip
def test_numbers_that_nothing_can_be_computed_with(data, options, message):
    def changed(length=1.0, time=1.0, **rest):
        return tl.fit(tl.Snapshots(data.positions * length, data.times * time), **{"sigma": 1.0} | rest)

    with pytest.raises(tl.InputError, match=message):
        changed(**options)


def test_a_family_that_ends_nowhere():
    with pytest.raises(tl.InputError, match=r"RadialSplines: 1e\+300 is too large"):
        tl.RadialSplines(6, cutoff=1e300)


def test_names_that_a_terminal_cannot_show(data, tmp_path):
    tl.write(data, tmp_path / "data.npz")
    typed = [sys.executable, "-m", "trackless.cli", "inspect"]
    for name, shown in ((b"a\nb\xff.npz", rb"a\nb\udcff.npz"), (b"\x1b[31m.npz", rb"\x1b[31m.npz")):
        done = subprocess.run([*typed, name], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 1
        assert done.stderr == b"error: " + shown + b": there is no such file\n"
    (tmp_path / "data.npz").rename(tmp_path / "é\udcff.npz")
    done = subprocess.run([*typed, "é\udcff.npz"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_checkpoint_is_no_output(data, tmp_path):
    tl.write(data, tmp_path / "data.npz")
    typed = [sys.executable, "-m", "trackless.cli", "fit", "data.npz", "-o", "fit", "--checkpoint", "fit"]
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "choose another folder" in done.stderr
    assert not (tmp_path / "fit").exists()


@pytest.mark.parametrize(
    ("name", "array"), [("energy", np.zeros((2, 1, 4), complex)), ("span", np.zeros((2, 1, 2), "M8[s]"))]
)
def test_arrays_that_no_result_has(data, name, array, tmp_path):
    path = tmp_path / "sums.trackless"
    tl.save(tl.accumulate(data, tl.RadialSplines(4), None), path)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    np.save(tmp_path / "other.npy", array)
    target = json.loads(members["content.json"])["result"][name]["array"]
    members[f"{target}.npy"] = (tmp_path / "other.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    with pytest.raises(tl.InputError, match=r"not a result saved by trackless \(an array of"):
        tl.load(path)


@pytest.mark.parametrize("result", [True, None, [], "SelfTest"])
def test_files_that_hold_no_result(data, result, tmp_path):
    path = tmp_path / "sums.trackless"
    tl.save(tl.accumulate(data, tl.RadialSplines(4), None), path)
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("content.json"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.json", json.dumps(content | {"result": result}))
    with pytest.raises(tl.InputError, match="it holds no result"):
        tl.load(path)


def test_a_damaged_archive_called_npy_is_not_left_open(data, tmp_path):
    tl.write(data, tmp_path / "data.npz")
    (tmp_path / "data.npy").write_bytes((tmp_path / "data.npz").read_bytes()[:-30])
    refused(tmp_path / "data.npy", dt=0.1)


def test_a_simulator_with_other_lengths_than_any():
    data = tl.simulate(tl.models.reference(), runs=8, particles=4, duration=0.1, step=1e-3)
    fitted = tl.SelfTest(tl.RadialSplines(4), tl.RadialSplines(5), sigma=1.0).fit(data)
    for options, name in (({"length": 1e300}, "length"), ({"kT": 1e-300}, "kT"), ({"reach": (0.1, 1e300)}, "reach")):
        with pytest.raises(tl.InputError, match=rf"{name}: .* to compute with"):
            tl.export(fitted, "nowhere.table", **options)
