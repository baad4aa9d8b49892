"""Watching a folder: complete files count once, bad ones are said once, and a state file knows them."""

import os

import numpy as np
import pytest

import trackless as tl
from trackless.files.formats import is_readable
from trackless.watching import Watch, Watched

MODEL = tl.models.reference()


@pytest.fixture(scope="module")
def runs():
    data = tl.simulate(MODEL, runs=90, duration=0.2, step=5e-3, observe_every=1e-2)
    return [data[k : k + 30] for k in (0, 30, 60)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def first(snapshots):
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(snapshots)


def watching(folder, watched=None):
    return Watch(folder, tl.read, is_readable, first, watched or Watched(""))


def put(data, path, age=60):
    tl.write(data, path)
    aged(path, age)


def aged(path, age=60):
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


def test_files_are_added_as_they_come(folder, runs):
    watch = watching(folder)
    assert watch.look() == ((), (), 0)
    put(runs[0], folder / "a.npz")
    (folder / "notes.md").write_text("not mine")
    (folder / ".hidden.npz").write_text("nor this")
    assert watch.look().added == ("a.npz",)
    put(runs[1], folder / "b.npz")
    put(runs[2], folder / "c.npz")
    assert watch.look().added == ("b.npz", "c.npz")
    assert watch.look() == ((), (), 0)
    whole = first(tl.concatenate(runs))
    np.testing.assert_allclose(watch.fit.coef_, whole.coef_, rtol=1e-9)


def test_a_file_that_is_being_written_waits(folder, runs):
    watch = watching(folder)
    put(runs[0], folder / "a.npz", age=0)
    assert watch.look() == ((), (), 1)
    with (folder / "a.npz").open("ab") as file:
        file.write(b"\0" * 10)
    assert watch.look() == ((), (), 1)
    assert watch.look().waiting == 0  # it has not changed since


def test_bad_files_are_said_once_and_read_again_when_they_change(folder, runs):
    watch = watching(folder)
    put(runs[0], folder / "a.npz")
    (folder / "b.npz").write_bytes(b"PK nonsense")
    aged(folder / "b.npz")
    tl.write(tl.Snapshots(np.ones((2, 9, 3, 3)), dt=0.1), folder / "c.npz")
    aged(folder / "c.npz")
    found = watch.look()
    assert found.added == ("a.npz",)
    assert len(found.told) == 2
    assert str(folder / "b.npz") in found.told[0]
    assert str(folder / "c.npz") in found.told[1]
    assert watch.look() == ((), (), 0)
    (folder / "b.npz").unlink()
    put(runs[1], folder / "b.npz", age=30)
    assert watch.look().added == ("b.npz",)
    put(runs[2].every(2), folder / "d.npz")
    tl.write(runs[2], folder / "a.npz", overwrite=True)
    aged(folder / "a.npz", 10)
    found = watch.look()
    assert found.added == ("d.npz",)
    assert "has changed since it was added" in found.told[0]
    assert watch.look().told == ()


def test_too_little_for_a_fit_waits_for_more(folder, runs):
    calls = []

    def fussy(snapshots):
        calls.append(snapshots.runs)
        if snapshots.runs < 50:
            raise tl.InputError("too few runs")
        return first(snapshots)

    watch = Watch(folder, tl.read, is_readable, fussy, Watched(""))
    put(runs[0], folder / "a.npz")
    assert watch.look().told == ("no fit of a.npz yet: too few runs",)
    assert watch.look().told == ()
    put(runs[1], folder / "b.npz")
    assert watch.look().added == ("a.npz", "b.npz")
    assert calls == [30, 60]


def test_a_state_goes_on_with_the_same_bits(folder, runs, tmp_path):
    there = watching(folder)
    put(runs[0], folder / "a.npz")
    there.look()
    tl.save(there.watched, tmp_path / "state", compress=False)
    put(runs[1], folder / "b.npz")
    here = watching(folder, tl.load(tmp_path / "state"))
    assert here.look().added == there.look().added == ("b.npz",)
    np.testing.assert_array_equal(here.fit.coef_, there.fit.coef_)
    np.testing.assert_array_equal(here.fit.moments_.quadratic, there.fit.moments_.quadratic)
    content = bytearray((tmp_path / "state").read_bytes())
    content[len(content) // 2] ^= 4
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(tl.InputError, match="state: "):
        tl.load(tmp_path / "state")
