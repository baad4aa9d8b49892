"""trackless watch, and the options of fit for clusters and interrupted work."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from terminal import interruptible, trackless

import trackless as tl

OPTIONS = ("--external", "splines:5", "--interaction", "splines:8", "--sigma", "1", "--center", "origin")


@pytest.fixture(scope="module")
def runs():
    data = tl.simulate(tl.models.reference(), runs=60, duration=0.3, step=5e-3, observe_every=1e-2)
    return data[:40], data[40:]


@pytest.fixture
def folder(tmp_path, runs):
    (tmp_path / "in").mkdir()
    tl.write(runs[0], tmp_path / "in" / "a.npz")
    (tmp_path / "in" / "bad.csv").write_text("nothing\n")
    for file in (tmp_path / "in").iterdir():
        os.utime(file, (1e9, 1e9))
    return tmp_path / "in"


def test_files_are_added_and_said(folder, tmp_path, runs):
    watch = ("watch", "in", "-o", "fit.trackless", "--once", *OPTIONS)
    begun = trackless(*watch, cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    assert "added a.npz: 40 runs in all" in " ".join(begun.stdout.split())
    assert begun.stdout.count("bad.csv") == 1
    assert "stay as they were found" in " ".join(begun.stdout.split())
    tl.write(runs[1], folder / "b.npz")
    os.utime(folder / "b.npz", (1e9, 1e9))
    added = trackless(*watch, "--json", cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    (line,) = added.stdout.splitlines()
    assert {name: json.loads(line)[name] for name in ("added", "told", "runs")} == {
        "added": ["b.npz"], "told": [], "runs": 60,
    }  # fmt: skip
    assert tl.load(tmp_path / "fit.trackless").moments_.runs.sum() == 60
    assert trackless(*watch, "--json", cwd=tmp_path).stdout == ""
    other = trackless(*watch, "--cutoff", "2", cwd=tmp_path)
    assert other.returncode == 1
    assert "fit.trackless.state: what was added before was read or fitted with other options" in other.stderr
    (tmp_path / "fit.trackless.state").write_bytes(b"PK")
    damaged = trackless(*watch, cwd=tmp_path)
    assert damaged.returncode == 1
    assert "fit.trackless.state" in damaged.stderr
    assert "delete it to begin anew" in damaged.stderr


def test_an_interrupt_is_an_end(folder, tmp_path):
    command = interruptible("watch", "in", "-o", "fit.trackless", "--every", 0.2, *OPTIONS)
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not (tmp_path / "fit.trackless").exists():
                assert process.poll() is None
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert "Stopped after 1 file" in out
    assert errors == ""
    assert tl.load(tmp_path / "fit.trackless.state").fit is not None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("watch", "nowhere", "-o", "fit.trackless"), 1, "nowhere: there is no such folder"),
        (("watch", "in", "-o", "fit.trackless", "--every", "-1"), 2, "--every: expected a number above 0"),
        (("watch", "in", "-o", "in/a.npz", "--once"), 1, "in/a.npz exists"),
        (("fit", "in/a.npz", "--dask", "nowhere:1"), 1, "nowhere:1: no dask scheduler answers there"),
        (("fit", "in/a.npz", "--checkpoint", "in", *OPTIONS), 1, "in: this folder holds something else"),
    ],
)
def test_what_cannot_work_is_said_in_a_line(folder, tmp_path, arguments, code, message):
    ended = trackless(*arguments, cwd=tmp_path)
    assert (ended.returncode, ended.stdout.count("Traceback")) == (code, 0), ended.stderr
    assert message in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_checkpoint_is_gone_when_all_is_done(folder, tmp_path):
    plain = trackless("fit", "in/a.npz", "-o", "plain.trackless", *OPTIONS, cwd=tmp_path)
    kept = trackless("fit", "in/a.npz", "-o", "kept.trackless", "--checkpoint", "sums", *OPTIONS, cwd=tmp_path)
    assert (plain.returncode, kept.returncode) == (0, 0), plain.stderr + kept.stderr
    assert not (tmp_path / "sums").exists()
    one, two = (tl.load(tmp_path / f"{name}.trackless") for name in ("plain", "kept"))
    np.testing.assert_array_equal(one.coef_, two.coef_)
