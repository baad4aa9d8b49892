"""Work that is interrupted goes on where it was; a checkpoint that is damaged or another's is never used."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import trackless as tl
from trackless import _progress, pieces
from trackless.files import checkpoints

EXTERNAL = tl.RadialSplines(5, lower=0.0, upper=3.0)
INTERACTION = tl.RadialSplines(7, lower=0.0, upper=5.0)
ARRAYS = ("quadratic", "pair", "diffusion", "energy", "weight", "runs", "span")
SCRIPT = """
import sys, time
import numpy as np
import trackless as tl
from trackless import _progress, pieces
from trackless.files import checkpoints

pieces.BATCH_POINTS, pieces.TASK_POINTS, checkpoints.EVERY, checkpoints.SHARE = 200, 50, 0.0, np.inf
data = tl.Snapshots(np.load(sys.argv[1]), dt=0.1)

def slow(items, description, total):
    for k, item in enumerate(items):
        yield item
        if k == 4:
            print("here", flush=True)
            time.sleep(600)

with _progress.shown_by(slow):
    tl.accumulate(data, tl.RadialSplines(5, lower=0.0, upper=3.0), tl.RadialSplines(7, lower=0.0, upper=5.0), blocks=3,
                  windows=1, checkpoint=sys.argv[2])
"""


class Stopped(Exception):
    pass


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pieces, "TASK_POINTS", 50)
    monkeypatch.setattr(pieces, "BATCH_POINTS", 200)
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


@pytest.fixture
def data():
    return tl.Snapshots(np.random.default_rng(1).normal(size=(20, 12, 5, 2)), dt=0.1)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


def accumulated(data, **options):
    return tl.accumulate(data, EXTERNAL, INTERACTION, **{"blocks": 3, "windows": 1} | options)


def interrupted(data, after=3, **options):
    """The same, stopped after some batches."""

    def until(items, description, total):
        for k, item in enumerate(items):
            if k == after:
                raise Stopped
            yield item

    with _progress.shown_by(until), pytest.raises(Stopped):
        accumulated(data, **options)


def batches_of(work):
    """What work gives, and in how many batches."""
    seen = []

    def count(items, description, total):
        seen.append(total)
        return items

    with _progress.shown_by(count):
        return work(), seen


def assert_identical(found, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_it_goes_on_where_it_was(data, folder):
    whole, (every,) = batches_of(lambda: accumulated(data))
    interrupted(data, after=3, checkpoint=folder)
    interrupted(data, after=2, checkpoint=folder)
    found, (rest,) = batches_of(lambda: accumulated(data, checkpoint=folder))
    assert every > 6
    assert rest == every - 5
    assert_identical(found, whole)
    assert not folder.exists()


def test_nothing_is_written_by_work_that_is_quick(data, folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY", 10.0)
    interrupted(data, after=5, checkpoint=folder)
    assert [file.name for file in folder.iterdir()] == ["about.json"]
    assert_identical(accumulated(data, checkpoint=folder), accumulated(data))


def test_killed_work_goes_on_in_another_process(data, folder, tmp_path):
    np.save(tmp_path / "data.npy", data.positions)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "data.npy"), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    found, (rest,) = batches_of(lambda: accumulated(data, checkpoint=folder))
    whole, (every,) = batches_of(lambda: accumulated(data))
    assert rest == every - 5
    for name in ARRAYS:  # up to rounding: another process may have compiled the kernel for itself, in another order
        here = getattr(whole, name)
        np.testing.assert_allclose(getattr(found, name), here, rtol=0, atol=1e-12 * np.abs(here).max(), err_msg=name)


def part_of(folder):
    (file,) = folder.glob("*.part")
    return file


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_named_and_not_used(data, folder, place):
    interrupted(data, checkpoint=folder)
    file = part_of(folder)
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 1
    file.write_bytes(content)
    with pytest.raises(tl.InputError, match=rf"{file.name}: the checkpoint is damaged.*delete it to begin anew"):
        accumulated(data, checkpoint=folder)
    file.unlink()
    assert_identical(accumulated(data, checkpoint=folder), accumulated(data))


def test_a_flipped_bit_anywhere_is_found_or_harmless(data, folder):
    interrupted(data, checkpoint=folder)
    file, generator, whole = part_of(folder), np.random.default_rng(5), accumulated(data)
    good = file.read_bytes()
    found = 0
    for _ in range(60):
        content = bytearray(good)
        content[generator.integers(len(good))] ^= 1 << generator.integers(8)
        folder.mkdir(exist_ok=True)
        (folder / "about.json").exists() or interrupted(data, after=0, checkpoint=folder)
        file.write_bytes(content)
        try:
            moments = accumulated(data, checkpoint=folder)
        except tl.InputError as error:
            found += "damaged" in str(error)
        else:  # a date, or the like
            assert_identical(moments, whole)
    assert found > 40


@pytest.mark.parametrize("length", [0, 1, 30, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_found(data, folder, length):
    interrupted(data, checkpoint=folder)
    file = part_of(folder)
    content = file.read_bytes()
    file.write_bytes(content[: length if isinstance(length, int) else int(length * len(content))])
    with pytest.raises(tl.InputError, match=f"{file.name}: the checkpoint is damaged"):
        accumulated(data, checkpoint=folder)


@pytest.mark.parametrize(
    ("change", "which"),
    [
        (lambda data: {"data": data[:19]}, "data"),
        (lambda data: {"data": tl.Snapshots(data.positions + 0.1, data.times)}, "data"),
        (lambda data: {"coupling": "sum"}, "settings"),
        (lambda data: {"windows": 2}, "settings"),
        (lambda data: {"interaction": tl.RadialSplines(7, lower=0.0, upper=5.5)}, "functions"),
    ],
)
def test_a_checkpoint_of_other_work_is_refused(data, folder, change, which):
    interrupted(data, checkpoint=folder)
    other = {"data": data, "external": EXTERNAL, "interaction": INTERACTION, "blocks": 3, "windows": 1} | change(data)
    with pytest.raises(tl.InputError, match=rf"kept: the checkpoint is of other work \(not the same .*{which}"):
        tl.accumulate(other.pop("data"), checkpoint=folder, **other)
    assert_identical(accumulated(data, checkpoint=folder), accumulated(data))


def test_folders_with_other_things_are_left_alone(data, folder, tmp_path):
    folder.mkdir()
    (folder / "mine.txt").write_text("precious")
    with pytest.raises(tl.InputError, match="holds something else"):
        accumulated(data, checkpoint=folder)
    assert (folder / "mine.txt").read_text() == "precious"
    with pytest.raises(tl.InputError, match="this is a file"):
        accumulated(data, checkpoint=folder / "mine.txt")
    with pytest.raises(tl.InputError, match="cannot make this folder"):
        accumulated(data, checkpoint=tmp_path / "no" / "such")
    (tmp_path / "empty").mkdir()
    accumulated(data, checkpoint=tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "trackless checkpoint", "version": 9, "about": {}}'])
def test_what_it_is_about_may_be_damaged_too(data, folder, content):
    interrupted(data, checkpoint=folder)
    (folder / "about.json").write_text(content)
    with pytest.raises(tl.InputError, match=r"about.json: the checkpoint is damaged"):
        accumulated(data, checkpoint=folder)


def test_a_fit_goes_on_with_all_its_passes(folder):
    model = tl.models.reference()
    data = tl.simulate(model, runs=30, duration=0.5, step=0.01, observe_every=0.05)
    settings = {"external": tl.RadialSplines(6), "interaction": tl.RadialSplines(8), "center": None}
    whole, passes = batches_of(lambda: tl.fit(data, **settings))
    begun = []

    def until(items, description, total):
        begun.append(description)
        for k, item in enumerate(items):
            if begun.count("testing") == 1 and k == 1 and description == "testing":
                raise Stopped
            yield item

    with _progress.shown_by(until), pytest.raises(Stopped):
        tl.fit(data, **settings, checkpoint=folder)
    found, rest = batches_of(lambda: tl.fit(data, **settings, checkpoint=folder))
    assert sum(rest) < sum(passes)
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    assert found.sigma_ == whole.sigma_
    assert not folder.exists()
    begun.clear()
    with _progress.shown_by(until), pytest.raises(Stopped):
        tl.fit(data, **settings, checkpoint=folder)
    with pytest.raises(tl.InputError, match=r"other work \(not the same settings\)"):
        tl.fit(data, sigma=1.0, **settings, checkpoint=folder)


def test_about_says_which_program(data, folder):
    interrupted(data, checkpoint=folder)
    about = json.loads((folder / "about.json").read_text())["about"]
    assert about["trackless"] == tl.__version__
    assert set(about) == {"data", "functions", "settings", "trackless"}
