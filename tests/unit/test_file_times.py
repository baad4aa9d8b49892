"""Times of files: what dt means beside them, and dates."""

import datetime

import numpy as np
import pandas as pd
import pytest
from file_data import regular

import trackless as tl
from trackless.files import read_with_notes, source
from trackless.files.dates import microseconds

LATER = pd.date_range("2024-05-01 23:59:59.5", periods=3, freq="500ms")


def text_file(folder, text, name="data.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def rows(times, header="time,x,y", separator=","):
    lines = [header, *(f"{t};{k};{j}" for k, t in enumerate(times) for j in range(2))]
    return "\n".join(line.replace(";", separator) for line in lines) + "\n"


# dt beside times


BOTH = "frame,time,x\n0,{0},1\n1,{1},2\n3,{3},4\n"


def both(interval):
    return BOTH.format(*(interval * k for k in range(4)))


@pytest.mark.parametrize("columns", [None, {"x": "x"}])
def test_dt_may_say_again_what_the_times_say(tmp_path, columns):
    for interval in (0.5, 0.4985, 1.0):  # as it is, as a clock reads it, and where "times" only repeat the frames
        data = tl.read(text_file(tmp_path, both(interval)), dt=0.5, columns=columns)
        assert data.times.tolist() == [0.0, 0.5, 1.5]


def test_dt_may_not_override_times(tmp_path):
    file = text_file(tmp_path, both(0.25))
    with pytest.raises(
        tl.InputError, match=r"dt is 0\.5, but the file has a time column.*frames are 0\.25 apart; leave"
    ):
        tl.read(file, dt=0.5)
    assert tl.read(file, dt=0.5, columns={"frame": "frame"}).times.tolist() == [0.0, 0.5, 1.5]
    assert tl.read(file).times.tolist() == [0.0, 0.25, 0.75]
    with pytest.raises(tl.InputError, match=r"dt is 0\.5, but the file has a time column"):
        tl.read(pd.read_csv(file), dt=0.5)


@pytest.mark.parametrize("ending", ["npz", "h5", "zarr", "csv", "parquet", "lammpstrj", "extxyz"])
def test_one_rule_in_all_formats(tmp_path, ending):
    data = tl.Snapshots(regular().positions[:1], np.arange(3) * 0.1)
    tl.write(data, tmp_path / f"data.{ending}")
    assert tl.read(tmp_path / f"data.{ending}", dt=0.1).times == pytest.approx([0, 0.1, 0.2], abs=1e-12)
    with pytest.raises(tl.InputError, match=r"data\.\w+: .*dt= is not needed; leave it out"):
        tl.read(tmp_path / f"data.{ending}", dt=0.3)


def test_steps_of_a_dump_count(tmp_path):
    """A dump of every 100th step: dt is that of a step."""
    tl.write(tl.Snapshots(regular().positions[:1], np.arange(3) * 0.1), tmp_path / "data.lammpstrj")
    text = (tmp_path / "data.lammpstrj").read_text().replace("TIMESTEP\n1\n", "TIMESTEP\n100\n")
    text_file(tmp_path, text.replace("TIMESTEP\n2\n", "TIMESTEP\n200\n"), "data.lammpstrj")
    assert tl.read(tmp_path / "data.lammpstrj", dt=1e-3).frames == 3
    with pytest.raises(tl.InputError, match=r"they are 0\.001 apart, dt is 0\.1"):
        tl.read(tmp_path / "data.lammpstrj", dt=0.1)


def test_inspect_knows_whose_dt_is_missing(tmp_path):
    timed, counted = text_file(tmp_path, rows([0, 3])), text_file(tmp_path, rows([0, 1], "frame,x,y"), "b.csv")
    with pytest.raises(tl.InputError, match=r"b\.csv: the file counts frames; give the time between them"):
        tl.inspect([timed, counted])
    with pytest.raises(tl.InputError, match="inspect: dt=, columns= and box= are for files"):
        tl.inspect(tl.read(timed), dt=0.5)


def test_times_that_count_from_one_still_only_count(tmp_path):
    assert tl.read(text_file(tmp_path, "frame,t,x\n0,1,1\n1,2,1\n"), dt=0.1).times.tolist() == [0.0, 0.1]


def test_a_clock_may_be_coarse_but_not_of_another_pace(tmp_path):
    rounded = text_file(tmp_path, "frame,time,x\n" + "".join(f"{k},{k // 2},1\n" for k in range(9)))
    assert tl.read(rounded, dt=0.5).frames == 9
    dropped = text_file(tmp_path, "frame,time,x\n0,0,1\n1,0.1,1\n2,0.3,1\n3,0.4,1\n")
    with pytest.raises(
        tl.InputError, match=r"dt is 0\.1, but the file has a time column, .* frames are 0\.133333 apart"
    ):
        tl.read(dropped, dt=0.1)


def test_dates_do_not_count_frames(tmp_path):
    dated = text_file(tmp_path, "frame,timestamp,x\n0,2024-05-01 12:00:00,1\n1,2024-05-01 12:00:01,1\n")
    for given in (dated, pd.read_csv(dated)):
        assert tl.read(given, dt=1.0).frames == 2
        with pytest.raises(tl.InputError, match="dt is 2, but the file has a time column"):
            tl.read(given, dt=2.0)


def test_late_times_are_told_apart(tmp_path):
    file = text_file(tmp_path, rows([1714557600.25, 1714557600.5]))
    assert "from time 1714557600.25 to 1714557600.5, one every 0.25" in str(tl.inspect(file))


# Dates


@pytest.mark.parametrize(
    "times",
    [
        ["2024-05-01 23:59:59.5", "2024-05-02 00:00:00", "2024-05-02 00:00:00.5"],
        ["2024-05-01T23:59:59,5", "2024-05-02T00:00:00", "2024-05-02T00:00:00.500000"],
        ["2024/05/01 23:59:59.5", "2024/05/02 00:00", "2024/05/02 00:00:00.5"],
        ["2024-05-01 23:59:59.5+00:00", "2024-05-02 00:00:00Z", "2024-05-02 02:00:00.5+02:00"],
        ["0:59:59.5", "1:00:00", "1:00:00.5"],
        ["9:59:59.5", "10:00:00", "10:00:00.5"],
    ],
)
@pytest.mark.parametrize("block", [30, source.BLOCK])
def test_dates_are_seconds_since_the_first(tmp_path, monkeypatch, times, block):
    monkeypatch.setattr(source, "BLOCK", block)
    file = text_file(tmp_path, rows(times, "time;x;y", ";"))
    found = read_with_notes(file)
    assert found.snapshots.times.tolist() == [0.0, 0.5, 1.0]
    assert found.notes == ("times are dates: seconds since the first",)
    assert "times are dates: seconds since the first" in str(tl.inspect(file))
    tl.read(file, dt=0.5)
    with pytest.raises(tl.InputError, match="dt= is not needed"):
        tl.read(file, dt=0.1)


def test_every_run_has_a_first(tmp_path):
    text = "run,Date,x\n" + "".join(f"{d},2024-05-0{d} 12:00:0{k},{k}\n" for d in (1, 2) for k in (1, 2))
    found = read_with_notes(text_file(tmp_path, text))
    assert found.snapshots.regular
    assert found.snapshots.times.tolist() == [0.0, 1.0]
    assert found.notes == ("times are dates: seconds since the first of each run",)


@pytest.mark.parametrize(
    "column",
    [
        LATER, LATER.tz_localize("Europe/Paris"), LATER - LATER[0], LATER.astype(str), LATER.to_pydatetime(),
        [datetime.time(12, 0, 0), datetime.time(12, 0, 0, 500_000), datetime.time(12, 0, 1)],
    ],
)  # fmt: skip
def test_dates_of_pandas(tmp_path, column):
    frame = pd.DataFrame({"timestamp": column, "x": [1.0, 2.0, 3.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    for given in (frame, tmp_path / "a.parquet", tmp_path):
        found = read_with_notes(given)
        assert found.snapshots.times.tolist() == [0.0, 0.5, 1.0]
        assert found.notes == ("times are dates: seconds since the first",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows(["2024-05-01 12:00:00", "soon"]), r"line 4: expected a date such as 2024-05-01 12:00:00\.5 for time, as"),
        (rows(["2024-05-01 12:00:00", "3"]), r"line 4: expected a date such as .*, found '3'"),
        (rows(["2024-05-01 12:00:00", ""]), r"line 4: expected a date such as .*, found ''"),
        (rows(["2024-13-01 12:00:00"]), r"line 2: expected a number for time .* or dates as 2024"),
        (
            rows(["01/05/2024 12:00", "01/05/2024 12:01"]),
            r"line 2: expected a number for time .* or dates as 2024-05-01 12:00:00",
        ),
        (rows(["2024-05-02", "2024-05-01"]), r"line 4: the time goes back"),
    ],
)
def test_dates_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(tl.InputError, match=message):
        tl.read(text_file(tmp_path, text))


def test_a_missing_date_of_pandas():
    frame = pd.DataFrame({"time": [LATER[0], pd.NaT, LATER[1]], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(tl.InputError, match=r"row 1 \(counted from 0\): the time is empty"):
        tl.read(frame)


@pytest.mark.parametrize("text", ["", "now", "12:00", "1:2:3", "٢٠٢٤-05-01", "2024", "2024-05-01; rm", "x" * 10_000])
def test_what_is_no_date(text):
    assert microseconds(text) is None
