"""trackless inspect, and the options it shares with fit."""

import json
import re

import numpy as np
import pytest
from terminal import trackless


@pytest.fixture
def tracks(tmp_path):
    generator = np.random.default_rng(0)
    rows = [f"{k},{x!r},{y!r},1" for k in range(20) for x, y in generator.random((6, 2)).tolist()]
    (tmp_path / "tracks.csv").write_text("image_no,east,north,mass\n" + "\n".join(rows) + "\n")
    return tmp_path / "tracks.csv"


COLUMNS = ("--columns", "frame=image_no,x=east,y=north")


def test_inspect_says_what_is_in_a_file(tracks):
    result = trackless("inspect", tracks, *COLUMNS, "--dt", 0.5, cwd=tracks.parent)
    assert result.returncode == 0, result.stderr
    for words in (
        "frame from column 'image_no', x from column 'east', y from column 'north'; ignored: mass",
        "1 run of 20 snapshots, from time 0 to 9.5, one every 0.5",
        "6 particles in a snapshot, unlabeled, in 2 dimensions, free space",
        "tracking is hopeless at this interval",
    ):
        assert words in result.stdout


def test_inspect_as_json(tracks):
    result = trackless("inspect", tracks, tracks, *COLUMNS, "--box", "1,2", "--json", cwd=tracks.parent)
    content = json.loads(result.stdout)
    assert (content["runs"], content["box"], content["interval"]) == (2, [1.0, 2.0], 1.0)
    assert "times are in frames here" in content["findings"][0]


def test_fit_takes_the_same_options(tracks):
    options = (*COLUMNS, "--dt", 0.5, "--box", 1, "--sigma", 1, "--method", "self-test", "--external", "none")
    result = trackless("fit", tracks, *options, "--json", cwd=tracks.parent)
    assert "Traceback" not in result.stderr
    assert result.returncode == 1  # splines of unknown range do not go with a box, which has arrived
    assert "in a periodic box functions must vanish beyond half the shortest side (0.5)" in result.stderr
    result = trackless("fit", tracks, "--dt", 0.5, "--sigma", 1, cwd=tracks.parent)
    assert "expected columns x, y[, z], found image_no, east, north, mass; say which they are" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("inspect", "missing.csv"), 1, ("missing.csv", "no such file")),
        (("inspect", "tracks.csv"), 1, ("tracks.csv", "--columns x=...")),
        (("inspect", "tracks.csv", "--columns", "x"), 2, ("--columns x=NAME",)),
        (("inspect", "tracks.csv", "--columns", "x=up,y=north,frame=image_no"), 1, ("no column 'up'", "east")),
        (("inspect", "tracks.csv", "--box", "wide"), 2, ("--box LENGTH", "wide")),
        (("inspect", "tracks.csv", *COLUMNS, "--box", "0.5"), 1, ("line ", "outside the box")),
        (("inspect", "tracks.csv", *COLUMNS, "--dt", 0), 2, ("--dt", "above 0")),
        (("inspect",), 2, ("data",)),
    ],
)
def test_wrong_input_gives_one_clear_error(tracks, arguments, code, words):
    result = trackless(*arguments, cwd=tracks.parent)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dt", "abc"), r"--dt: must be a valid number, unable to parse string as a number, got 'abc'"),
        (("--every", 0), r"--every: must be greater than or equal to 1, got '0'"),
        (("--columsn", "x=a"), r"no such option: --columsn \(Possible options: --columns\)"),
        (("--dt",), r"option '--dt' requires an argument"),
        (("--dt", -1), r"--dt: expected a number above 0, got -1"),
        (
            ("--columns", "colour=x"),
            r"--columns: 'colour' is not one of run, frame, time, particle, species, x, y, z; .*",
        ),
        (("--columns", "time=image_no,frame=mass"), r"--columns: give either time or frame, not both"),
        (("--columns", "x=east,y=east"), r"--columns: one column was given for two things: .*"),
        (("--columns", "x=east,x=north"), r"--columns: something is said twice; name every column once, got .*"),
    ],
)
def test_wrong_usage_is_one_line_like_other_errors(tracks, arguments, said):
    result = trackless("inspect", tracks, *arguments, cwd=tracks.parent)
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.fullmatch(rf"error: {said}; see trackless inspect --help\n", result.stderr)


def test_usage_that_belongs_to_no_command(tmp_path):
    result = trackless("dance", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: no such command 'dance'; see trackless --help\n"
    bare = trackless(cwd=tmp_path)
    assert bare.returncode == 2
    assert "Usage: trackless" in bare.stdout
    assert bare.stderr == ""
