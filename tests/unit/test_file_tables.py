"""Tables of particles: which column is what, how rows become snapshots, and lines that are wrong."""

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from file_data import assert_equal, regular

import trackless as tl
from trackless.files import delimited, read_with_notes, source
from trackless.files.columns import layout, plain

MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data"


def text_file(folder, text, name="data.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# Which column is what


@pytest.mark.parametrize(
    ("header", "dt", "expected"),
    [
        ("frame,x,y", 1.0, {"frame": "frame", "x": "x", "y": "y"}),
        (",y,x,mass,size,ecc,signal,raw_mass,ep,frame,particle", 1.0,
         {"frame": "frame", "particle": "particle", "x": "x", "y": "y"}),
        ("LABEL,ID,TRACK_ID,POSITION_X,POSITION_Y,POSITION_Z,POSITION_T,FRAME", None,
         {"time": "POSITION_T", "particle": "TRACK_ID", "x": "POSITION_X", "y": "POSITION_Y", "z": "POSITION_Z"}),
        ("LABEL,ID,TRACK_ID,POSITION_X,POSITION_Y,POSITION_T,FRAME", 0.1,
         {"frame": "FRAME", "particle": "TRACK_ID", "x": "POSITION_X", "y": "POSITION_Y"}),
        ("Movie,Time [s],X (um),Y (um),Type", None,
         {"run": "Movie", "time": "Time [s]", "species": "Type", "x": "X (um)", "y": "Y (um)"}),
        ("experiment,time_s,x_um,y_um", None, {"run": "experiment", "time": "time_s", "x": "x_um", "y": "y_um"}),
        ("t,x", None, {"time": "t", "x": "x"}),
        ("t,x", 0.5, {"frame": "t", "x": "x"}),
        ("t,time,x", None, {"time": "time", "x": "x"}),
        ("Slice,X,Y", 1.0, {"frame": "Slice", "x": "X", "y": "Y"}),
        ("x,y,x_um,y_um,step", 1.0, {"frame": "step", "x": "x", "y": "y"}),
        ("frame,y,x,frame", 1.0, {"frame": "frame", "x": "x", "y": "y"}),
        ("ImageNumber,ObjectNumber,AreaShape_Center_X,AreaShape_Center_Y,Location_Center_X,Location_Center_Y,"
         "TrackObjects_Label_50", 1.0,
         {"frame": "ImageNumber", "particle": "TrackObjects_Label_50", "x": "Location_Center_X",
          "y": "Location_Center_Y"}),
        ("ID,t,x,y,z,parent,root,state,generation,dummy", 1.0,
         {"frame": "t", "particle": "ID", "x": "x", "y": "y", "z": "z"}),
        ("track_id,t,z,y,x,id,parent_track_id,parent_id", 1.0,
         {"frame": "t", "particle": "track_id", "x": "x", "y": "y", "z": "z"}),
        ("Position X,Position Y,Position Z,Unit,Category,Collection,Time,TrackID,ID", None,
         {"time": "Time", "particle": "TrackID", "x": "Position X", "y": "Position Y", "z": "Position Z"}),
        ("Nr,TID,PID,x [pixel],y [pixel],t [sec]", None,
         {"time": "t [sec]", "particle": "TID", "x": "x [pixel]", "y": "y [pixel]"}),
        ("Track n°,Slice n°,X,Y,Distance,Velocity", 1.0,
         {"frame": "Slice n°", "particle": "Track n°", "x": "X", "y": "Y"}),
        (" ,Area,Mean,XM,YM,Frame", 1.0, {"frame": "Frame", "x": "XM", "y": "YM"}),
        ("id,frame,x [nm],y [nm],sigma [nm]", 1.0, {"frame": "frame", "particle": "id", "x": "x [nm]", "y": "y [nm]"}),
        ("frame,trackId,Object_Center_0,Object_Center_1", 1.0,
         {"frame": "frame", "particle": "trackId", "x": "Object_Center_0", "y": "Object_Center_1"}),
        ("Xpos,Ypos,T", None, {"time": "T", "x": "Xpos", "y": "Ypos"}),
        ("posX,posY,frameID", 1.0, {"frame": "frameID", "x": "posX", "y": "posY"}),
        ("X_pos,Y_pos,Time_s", None, {"time": "Time_s", "x": "X_pos", "y": "Y_pos"}),
        ("Centroid_X,Centroid_Y,Frame #", 1.0, {"frame": "Frame #", "x": "Centroid_X", "y": "Centroid_Y"}),
        ("pos_x [px],pos_y [px],Slice", 1.0, {"frame": "Slice", "x": "pos_x [px]", "y": "pos_y [px]"}),
        ("x / µm,y / µm,t / s", None, {"time": "t / s", "x": "x / µm", "y": "y / µm"}),
        ("Date,frame,x", 1.0, {"frame": "frame", "x": "x"}),
        ("Date,x", None, {"time": "Date", "x": "x"}),
    ],
)  # fmt: skip
def test_guessed_columns(header, dt, expected):
    found = layout(header.split(","), "data.csv", dt)
    assert found.names == expected
    assert set(found.ignored) == set(map(str.strip, header.split(","))) - set(expected.values()) - {""}


@pytest.mark.parametrize(
    ("header", "dt", "columns", "message"),
    [
        ("time,a,b", None, None, r"expected columns x, y\[, z\], found time, a, b; say which they are: columns="),
        ("x,y", None, None, "expected a column time or frame, found x, y; say which it is"),
        ("frame,x,y", None, None, r"counts frames; give the time between them \(dt=, --dt\)"),
        ("time,x,y", 0.1, None, "has a time column, so dt= is not needed; leave it out"),
        ("time,x_um,x_px,y", None, None, "columns x_um and x_px could both be x; say which: columns="),
        ("time,x,y", None, {"x": "X_POS"}, "there is no column 'X_POS'; found time, x, y"),
        ("time,x,y", None, {"w": "x"}, "'w' is not one of run, frame, time, particle, species, x, y, z"),
        ("time,x,y", None, {"x": "x", "y": "x"}, "one column was given for two things"),
        ("time,frame,x", None, {"time": "time", "frame": "frame"}, "give either time or frame, not both"),
        ("time,x,x", None, None, "columns x and x could both be x"),
        ("time,x,x", None, None, "could both be x; rename one$"),
        ("time,centroid-0,centroid-1", None, None, r"expected columns x, y\[, z\], found time, centroid-0, centroid-1"),
        ("Date,frame,x", None, None, "counts frames; give the time between them"),
    ],
)
def test_columns_that_cannot_be_guessed(header, dt, columns, message):
    with pytest.raises(tl.InputError, match=message):
        layout(header.split(","), "data.csv", dt, columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": "0.1"}, r"dt: expected a positive time between frames, got '0\.1'"),
        ({"dt": [1.0]}, r"dt: expected a positive time between frames, got \[1\.0\]"),
        ({"columns": "x=a"}, "columns: expected a dict such as .*, got 'x=a'"),
        ({"columns": ["x", "y"]}, "columns: expected a dict such as"),
        ({"columns": {"colour": "x"}}, "'colour' is not one of run, .*; say which column each of them is"),
        ({"box": "10"}, "box: expected one positive length or 2 of them, got '10'"),
        ({"box": [1, "wide"]}, "box: expected one positive length or 2 of them"),
        ({"box": [[1], [2, 3]]}, "box: expected one positive length or 2 of them"),
    ],
)
def test_arguments_of_other_types(tmp_path, options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.read(text_file(tmp_path, "t,x,y\n0,1,2\n1,2,3\n"), **options)


def test_columns_may_be_said(tmp_path):
    file = text_file(tmp_path, "clock,a,b,x,time\n0,1,2,9,9\n1,3,4,9,9\n")
    data = tl.read(file, columns={"time": "clock", "x": "A", "y": "b"})
    np.testing.assert_array_equal(data.positions, [[[[1.0, 2.0]], [[3.0, 4.0]]]])
    assert data.times.tolist() == [0.0, 1.0]
    as_frames = tl.read(file, dt=0.5, columns={"frame": "clock", "x": "a", "y": "b"})
    assert as_frames.times.tolist() == [0.0, 0.5]


def test_units_are_no_part_of_a_name():
    assert [plain(name) for name in ("x [µm]", "X_um", "Pos. X (px)", '"x"', "time-point", "mass")] == [
        "x", "x", "pos_x", "x", "time_point", "mass",
    ]  # fmt: skip


# Rows become snapshots


def test_columns_in_any_order_with_others_between(tmp_path):
    text = '\ufeff"Y",mass,frame,X,particle\n1.0,9,1,0.5,7\n2.0,9,0,0.25,7\n3.0,9,0,0.125,3\n4.0,9,1,0.0,3\n'
    data = tl.read(text_file(tmp_path, text), dt=0.5)
    assert data.labeled
    np.testing.assert_array_equal(data.times, [0.0, 0.5])
    np.testing.assert_array_equal(data.positions, [[[[0.125, 3.0], [0.25, 2.0]], [[0.0, 4.0], [0.5, 1.0]]]])


def test_runs_may_meet_in_time(tmp_path):
    data = tl.read(text_file(tmp_path, "run,time,x\n1,2.0,0.5\n1,3.0,0.25\n0,1.0,1.0\n0,2.0,2.0\n"))
    assert [data.times_of(m).tolist() for m in range(data.runs)] == [[1.0, 2.0], [2.0, 3.0]]
    assert [data.points_of(m, 0, 1).ravel().tolist() for m in range(2)] == [[1.0, 2.0], [0.5, 0.25]]


@pytest.mark.parametrize(
    "ids", [("1", "2", "1", "3"), ("1", "2", "1", ""), ("1", "nan", "1", "nan"), ("a", "", "a", "")]
)
def test_particles_that_come_and_go_are_no_labels(ids, tmp_path):
    rows = zip((0, 0, 1, 1), ids, (0.0, 1.0, 0.1, 5.0), strict=True)
    data = tl.read(text_file(tmp_path, "t,particle,x\n" + "".join(f"{t},{k},{x}\n" for t, k, x in rows)))
    assert not data.labeled
    assert sorted(data.positions.ravel().tolist()) == [0.0, 0.1, 1.0, 5.0]


def test_names_for_runs_and_particles(tmp_path):
    text = (
        "movie,t,track,x\nday 2,0,blue,1\nday 2,1,red,2\nday 2,1,blue,3\nday 2,0,red,4\nday 1,0,red,5\nday 1,1,red,6\n"
    )
    data = tl.read(text_file(tmp_path, text))
    assert data.labeled
    assert [data.points_of(m, 0, 1).ravel().tolist() for m in range(2)] == [[5.0, 6.0], [1.0, 4.0, 3.0, 2.0]]


def test_names_of_particles_may_be_long_numbers(tmp_path):
    one, two = 2**60, 2**60 + 1  # equal as floating-point numbers
    data = tl.read(text_file(tmp_path, f"t,id,x\n0,{one},1\n0,{two},2\n1,{two},3\n1,{one},4\n"))
    assert data.labeled
    np.testing.assert_array_equal(data.positions, [[[[1.0], [2.0]], [[4.0], [3.0]]]])


def test_species_sort_particles(tmp_path):
    data = tl.read(text_file(tmp_path, "t,particle,type,x\n0,1,B,1\n0,2,A,2\n1,2,A,3\n1,1,B,4\n"))
    assert data.species == ("A", "B")
    assert data.labeled
    np.testing.assert_array_equal(data.positions, [[[[2.0], [1.0]], [[3.0], [4.0]]]])
    changing = tl.read(text_file(tmp_path, "t,particle,type,x\n0,1,B,1\n0,2,A,2\n1,2,B,3\n1,1,A,4\n"))
    assert not changing.labeled
    assert changing.species == ("A", "B")


def test_planar_data_of_three_dimensional_programs(tmp_path):
    file = text_file(tmp_path, "t,x,y,z\n0,1,2,0\n1,3,4,0\n")
    assert tl.read(file).dim == 2
    assert read_with_notes(file).notes == ("all z are 0, so that the data were read as two-dimensional",)
    assert tl.read(file, columns={"z": "z"}).dim == 3


@pytest.mark.parametrize("block", [12, source.BLOCK])
@pytest.mark.parametrize("nothing", ["", "nan", "NA"])
def test_an_empty_third_coordinate_is_none(tmp_path, monkeypatch, nothing, block):
    monkeypatch.setattr(source, "BLOCK", block)
    file = text_file(tmp_path, f"t,x,y,z\n0,1,2,{nothing}\n1,3,4,{nothing}\n1,3,5,{nothing}\n")
    found = read_with_notes(file)
    assert found.snapshots.dim == 2
    assert found.notes == ("all z are empty, so that the data were read as two-dimensional",)
    assert tl.read(pd.read_csv(file)).dim == 2
    with pytest.raises(tl.InputError, match="line 2: "):
        tl.read(file, columns={"z": "z"})
    text_file(tmp_path, file.read_text() + "2,3,4,5\n")
    with pytest.raises(tl.InputError, match="line 2: a position is empty, NaN or infinite"):
        tl.read(file)


def test_a_box_beside_a_table(tmp_path):
    file = text_file(tmp_path, "t,x,y\n0,1,2\n\n1,3,4.5\n")
    assert tl.read(file, box=(4.0, 5.0)).box == (4.0, 5.0)
    with pytest.raises(tl.InputError, match=r"data.csv, line 4: the position \[3.0, 4.5\] is outside the box from 0"):
        tl.read(file, box=4.0)


# Ways to write a table


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("a.csv", ","),
        ("a.csv", ";"),
        ("a.csv", "\t"),
        ("a.tsv", "\t"),
        ("a.txt", "\t"),
        ("a.txt", "; "),
        ("a.txt", "   "),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(name, separator, line_end, tmp_path):
    rows = (("frame", "x", "y"), ("0", "1.5", "2"), ("1", "3", "4"))
    (tmp_path / name).write_bytes(line_end.join(separator.join(row) for row in rows).encode())
    data = tl.read(tmp_path / name, dt=1.0)
    np.testing.assert_array_equal(data.positions, [[[[1.5, 2.0]], [[3.0, 4.0]]]])


def test_header_as_a_comment(tmp_path):
    np.savetxt(tmp_path / "a.txt", [[0, 1.5, 2], [1, 3, 4]], header="frame x y")
    np.testing.assert_array_equal(tl.read(tmp_path / "a.txt", dt=1.0).positions, [[[[1.5, 2.0]], [[3.0, 4.0]]]])
    text_file(tmp_path, "# made on Monday\nframe,x\n0,1\n1,2\n")
    assert tl.read(tmp_path / "data.csv", dt=1.0).dim == 1


def test_the_header_that_trackmate_writes(tmp_path):
    header = "LABEL,ID,TRACK_ID,POSITION_X,POSITION_Y,POSITION_Z,POSITION_T,FRAME"
    further = (
        "Label,Spot ID,Track ID,X,Y,Z,T,Frame\nLabel,Spot ID,Track ID,X,Y,Z,T,Frame\n,,,(micron),(micron),,(sec),\n"
    )
    rows = 'ID9,9,0,1.5,2.5,0,0,0\n"ID8",8,,3.5,4.5,0,0,0\nID7,7,0,1,2,0,0.5,1\n'
    data = tl.read(text_file(tmp_path, f"{header}\n{further}{rows}"))
    assert (data.dim, data.labeled) == (2, False)
    assert data.times_of(0).tolist() == [0.0, 0.5]
    assert data.counts_of(0).tolist() == [2, 1]


def test_blocks_of_lines_make_one_table(tmp_path, monkeypatch):
    generator = np.random.default_rng(4)
    data = tl.Snapshots(generator.random((3, 50, 4, 2)), np.arange(50) * 0.1, species=["a", "b", "b", "a"])
    tl.write(data, tmp_path / "data.csv")
    whole = (tmp_path / "data.csv").read_text()
    monkeypatch.setattr(source, "BLOCK", 1000)
    assert_equal(tl.read(tmp_path / "data.csv"), data)
    broken = whole.replace("\n", "\n\n", 20).splitlines(keepends=True)
    broken[300] = "0,1.0,a,0.5,much\n"
    (tmp_path / "data.csv").write_text("".join(broken))
    with pytest.raises(tl.InputError, match=r"line 301: expected a number for y \(column 'y'\), found 'much'"):
        tl.read(tmp_path / "data.csv")
    broken[300] = "0,1.0,a,0.5,nan\n"
    (tmp_path / "data.csv").write_text("".join(broken))
    with pytest.raises(tl.InputError, match="line 301: a position is empty, NaN or infinite"):
        tl.read(tmp_path / "data.csv")


def test_memory_holds_little_more_than_the_columns(tmp_path):
    import tracemalloc

    rows = 200_000
    points = np.random.default_rng(0).random((rows, 2)).round(6)
    with (tmp_path / "big.csv").open("w") as file:
        file.write("frame,x,y\n")
        file.writelines(f"{k // 100},{x!r},{y!r}\n" for k, (x, y) in enumerate(points.tolist()))
    tracemalloc.start()
    data = tl.read(tmp_path / "big.csv", dt=1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(data.positions.reshape(-1, 2), points)
    lines = 8 * source.BLOCK  # a block of text as lines and their numbers
    assert peak < 3 * rows * 3 * 8 + lines


# Other kinds of tables


def trackpy_frame():
    columns = {"y": [2.0, 4.0, 6.0, 8.0], "x": [1.0, 3.0, 5.0, 7.0], "mass": 9.0, "ep": 0.1}
    return pd.DataFrame(columns | {"frame": [0, 0, 1, 1], "particle": [1, 0, 0, 1]})


def test_trackpy_tables_work_as_they_are(tmp_path):
    frame = trackpy_frame()
    expected = [[[[3.0, 4.0], [1.0, 2.0]], [[5.0, 6.0], [7.0, 8.0]]]]
    frame.to_csv(tmp_path / "tracks.csv")
    frame.to_csv(tmp_path / "tracks.tsv.gz", sep="\t")
    frame.to_parquet(tmp_path / "tracks.parquet")
    indexed = frame.set_index("frame", drop=False)
    indexed.to_csv(tmp_path / "indexed.csv")
    only_index = frame.set_index("frame")
    paths = [tmp_path / name for name in ("tracks.csv", "tracks.tsv.gz", "tracks.parquet", "indexed.csv")]
    for given in (frame, indexed, only_index, *paths):
        data = tl.read(given, dt=0.5)
        assert data.labeled
        np.testing.assert_array_equal(data.positions, expected)
        np.testing.assert_array_equal(data.times, [0.0, 0.5])
    assert tl.read([frame, tmp_path / "tracks.csv"], dt=0.5).runs == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": [1.0, np.nan, 2.0, 3.0]}, r"the table, row 1 \(counted from 0\): a position is empty, NaN"),
        ({"x": list("abcd")}, "expected numbers in column 'x', found type"),
        (
            {"frame": [0, 0, 1.5, 1]},
            r"row 2 \(counted from 0\): expected a whole frame number, got 1.5; if these are times",
        ),
        ({"frame": [0, 0, None, 1]}, r"row 2 \(counted from 0\): the frame is empty"),
        ({"particle": [1, 1, 0, 1]}, r"row 1 \(counted from 0\): particle 1 is in this frame already \(row 0"),
        ({"species": ["a", None, "a", "a"]}, r"row 1 \(counted from 0\): the species is empty"),
        ({"species": [1.0, 2.5, 1.0, 1.0]}, "expected a species by name or whole number, got 2.5"),
        ({"run": [1.0, 1.0, np.nan, 1.0]}, r"row 2 \(counted from 0\): the run is empty"),
    ],
)
def test_wrong_data_frames(changes, message, tmp_path):
    frame = trackpy_frame().assign(**changes)
    with pytest.raises(tl.InputError, match=message):
        tl.read(frame, dt=0.5)
    frame.to_parquet(tmp_path / "tracks.parquet")
    with pytest.raises(tl.InputError, match=message.replace("the table", "tracks.parquet")):
        tl.read(tmp_path / "tracks.parquet", dt=0.5)


def test_missing_names_in_data_frames():
    for ids in (pd.array([1, None, 1, None], dtype="Int64"), ["a", None, "a", None], [1.0, np.nan, 1.0, np.nan]):
        assert not tl.read(trackpy_frame().assign(particle=ids), dt=0.5).labeled
    whole = trackpy_frame().astype({"particle": "Int64", "frame": "Int64"})
    assert tl.read(whole, dt=0.5).labeled


def test_kinds_in_parquet(tmp_path):
    frame = trackpy_frame().assign(species=pd.Categorical(["u", "v", "v", "u"]))
    frame.to_parquet(tmp_path / "tracks.parquet")
    assert tl.read(tmp_path / "tracks.parquet", dt=0.5).species == ("u", "v")


def test_species_of_data_frames():
    for kinds in (["a", "b", "b", "a"], [1, 2, 2, 1], [1.0, 2.0, 2.0, 1.0], pd.Categorical(["u", "v", "v", "u"])):
        data = tl.read(trackpy_frame().assign(species=kinds), dt=0.5)
        assert data.species == tuple(str(int(k)) if isinstance(k, float) else str(k) for k in sorted(set(kinds)))
    with pytest.raises(tl.InputError, match="1,500 different species; is this the right column"):
        tl.read(pd.DataFrame({"t": np.arange(1500), "x": 0.0, "type": np.arange(1500)}))


# Wrong lines


@pytest.mark.parametrize(
    ("text", "dt", "message"),
    [
        ("", None, "it is empty; give a file with positions"),
        ("\n\n", None, "expected a first line with column names"),
        ("0.0,1.0,2.0\n", None, "expected a first line with column names such as run,time,x,y; found '0.0,1.0,2.0'"),
        ("time,x,y\n", None, "there are no lines after the header"),
        (
            "time,x,y\n0,1,2\n0,nan,2\n",
            None,
            "data.csv, line 3: a position is empty, NaN or infinite; remove or repair",
        ),
        ("time,x,y\n0,1,2\n0,1e999,2\n", None, "line 3: a position is empty, NaN or infinite"),
        ("time,x,y\n0,1,2\nnan,1,2\n", None, "line 3: the time is empty, NaN or infinite; remove or repair it"),
        ("time,x,y\n0,1,2\n0,,2\n", None, r"line 3: expected a number for x .*the field is empty: remove or repair"),
        ("time,x,y\n0,1,2\n0,1\n", None, "line 3: expected 3 fields as in the header, found 2: '0,1'; .*cut short"),
        ("time,x,y\n0,1,2\n0,1,2,3\n", None, "line 3: expected 3 fields as in the header, found 4"),
        ("time,x,y\n0,1,2\n0,1,two\n", None, r"line 3: expected a number for y \(column 'y'\), found 'two'"),
        (
            "t,x,y,z\n0,1,2,3\n0,1,2,\n",
            None,
            r"line 3: expected a number for z \(column 'z'\), found ''; the field is empty",
        ),
        ("time,x,y\n0,1_0,2\n", None, r"line 2: expected a number for x \(column 'x'\), found '1_0'"),
        ("time\tx\ty\n0\t1,5\t2,5\n", None, "line 2: .* found '1,5'; write numbers with a decimal point"),
        (
            "frame,x,y\n0.5,1,2\n",
            0.1,
            "line 2: expected a whole frame number, got 0.5; if these are times, leave dt= out",
        ),
        (
            "t,particle,x\n0,7,1\n1,7,2\n0,7,3\n",
            None,
            r"line 4: particle 7 is in this frame already \(line 2\); remove",
        ),
        ("t,track,x\n0,a,1\n1,b,2\n0,a,3\n", None, r"line 4: particle a is in this frame already \(line 2\)"),
        ("t,id,type,x\n0,1,a,1\n0,1,b,2\n", None, r"line 3: particle 1 is in this frame already \(line 2\)"),
        ("t,type,x\n0,a,1\n0,,2\n", None, "line 3: the species is empty; remove or repair it"),
        ("run,t,x\n0,0,1\nnan,0,2\n", None, "line 3: the run is empty, NaN or infinite"),
        ('t,x\n0,"1\n1,"2\n', None, "line 2: a quotation mark is not closed"),
    ],
)
def test_wrong_lines(text, dt, message, tmp_path):
    with pytest.raises(tl.InputError, match=message) as caught:
        tl.read(text_file(tmp_path, text), dt=dt)
    assert "data.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "a.csv").write_bytes("t,x [µm],type\n0,1,a\n".encode("latin-1"))  # in a unit it does not matter
    assert tl.read(tmp_path / "a.csv").dim == 1
    (tmp_path / "a.csv").write_bytes("t,x,type\n0,1,µ\n".encode("latin-1"))
    with pytest.raises(tl.InputError, match=r"line 2: the species .* is not UTF-8; save the file as such"):
        tl.read(tmp_path / "a.csv")


def test_too_many_species_are_a_wrong_column(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "MOST_SPECIES", 2)
    file = text_file(tmp_path, "t,x,type\n" + "".join(f"{k},0,{k}\n" for k in range(3)))
    with pytest.raises(tl.InputError, match="more than 2 different species; is it the right column"):
        tl.read(file)


def test_columns_are_for_tables(tmp_path):
    tl.write(regular(), tmp_path / "data.npz")
    with pytest.raises(tl.InputError, match="columns= is for tables, and a NPZ file is none; leave it out"):
        tl.read(tmp_path / "data.npz", columns={"x": "y"})


# Measured data


@pytest.mark.skipif(not MEASURED.is_dir(), reason="the measured data are not here")
def test_measured_tables():
    detections = tl.read(MEASURED / "bulk_water_detections_um_24fps.csv", dt=1 / 24)
    counts = detections.counts_of(0)
    assert (detections.runs, detections.frames, detections.dim, detections.labeled) == (1, 300, 2, False)
    assert (counts.min(), counts.max()) == (254, 306)
    tracks = tl.read(MEASURED / "bulk_water_tracks_bright_um_24fps.csv", dt=1 / 24)
    assert tracks.frames == 300
    colloids = tl.read(MEASURED / "trackpy_brightfield_um.csv", dt=0.14)
    assert colloids.frames == 50
    text = (MEASURED / "trackpy_brightfield_um.csv").read_bytes()
    assert len(gzip.compress(text)) * source.MOST_EXPANSION > len(text)


# Tables as they come from instruments and spreadsheets


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\nframe;x;y\n0;1;2\n1;3;4\n",
        '"SEP=\t"\nframe\tx\ty\n0\t1\t2\n1\t3\t4\n',
        "# made on Monday, by me\n% and this\nframe,x,y\n0,1,2\n# blinked here\n1,3,4\n#2,5,6\n",
        "frame,x,y\n,um,um\n0,1,2\n1,3,4\n",
        "frame,x,y\n\nno unit,um,um\n\n0,1,2\n1,3,4\n",
        "frame,x,y\n0,1,2,\n1,3,4,\n",
        "frame,x,y,,\n0,1,2,,\n1,3,4\n",
        "frame,x,y\n0,1,2\n,,\n1,3,4\n , ,\n,,\n",
        "\ufeffframe,x,y\r\n0.0,1e0,2E+00\r\n\r\n1.0,+3,4.\r\n",
        '"frame" "x" "y"\n"0" "1" "2"\n"1" "3" "4"\n',
        "\nPosition\n==========\nframe,x,y,\n0,1,2,\n1,3,4,\n",
    ],
)
@pytest.mark.parametrize("block", [12, source.BLOCK])
def test_what_is_around_the_numbers_does_not_matter(tmp_path, monkeypatch, text, block):
    monkeypatch.setattr(source, "BLOCK", block)
    data = tl.read(text_file(tmp_path, text), dt=1.0)
    np.testing.assert_array_equal(data.positions, [[[[1.0, 2.0]], [[3.0, 4.0]]]])


def test_lines_are_counted_with_those_that_are_left_out(tmp_path):
    text = "# a comment\ntime,x\ns,um\n0,1\n# another\n,\n1,2\n3,4,5\n"
    with pytest.raises(tl.InputError, match=r"line 8: expected 2 fields as in the header, found 3: '3,4,5'"):
        tl.read(text_file(tmp_path, text))


def test_spreadsheets_with_decimal_commas_separate_by_semicolons(tmp_path):
    written = "time;x;y;kind\n0;1,5;-2,5e-1;a,b\n0;2;3.25;c\n0,5;1,5;4;a,b\n0,5;2,125;5;c\n"
    data = tl.read(text_file(tmp_path, written), columns={"species": "kind"})
    np.testing.assert_array_equal(data.positions[0], [[[1.5, -0.25], [2, 3.25]], [[1.5, 4], [2.125, 5]]])
    np.testing.assert_array_equal(data.times, [0, 0.5])
    assert data.species == ("a,b", "c")


def test_a_name_may_begin_like_a_comment(tmp_path):
    assert tl.read(text_file(tmp_path, "run,t,x\n#1,0,1\n#1,1,2\n#2,0,1\n#2,1,2\n")).runs == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('frame,x\n0,"1,5"\n', "found '1,5'; write numbers with a decimal point"),
        (
            "frame;x\n0;1.234,5\n",
            r"found '1\.234,5'; write numbers with a decimal point, and nothing between thousands",
        ),
        ("frame,x\n0,-\n", "line 2: expected a number for x .*found '-'; repair the line"),
        ("frame,x\nwords,only\n", "there are no lines after the header"),
        (
            "Exported by hand\nframe,x\n0,1\n",
            "found Exported, by, hand; .*; line 1 was taken for the header: if it is something else, put # before it",
        ),
        ("nothing\n" * 20, "expected columns x, y.*, found nothing; "),
        ("0,1,2\n1,2,3\n", "expected a first line with column names such as run,time,x,y; found '0,1,2'; write one"),
    ],
)
def test_numbers_that_could_mean_two_things(tmp_path, text, message):
    with pytest.raises(tl.InputError, match=message):
        tl.read(text_file(tmp_path, text), dt=1.0)


# Particles that are listed twice


SAME_PLACE = r"line {}: the particle is at the same place as another one of its frame \(line {}\)"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("t,x,y\n0,1,2\n0,1,3\n0,1,2\n1,1,2\n", (4, 2)),
        ("particle,t,x,y\n1,1,5,-0.0\n1,0,5,0\n2,1,5,1\n3,1,5,0.0\n2,0,4,0\n", (5, 2)),
        ("run,t,type,x\n0,0,a,1\n1,0,a,1\n1,0,b,1\n0,0,b,3\n", (4, 3)),
    ],
)
def test_two_particles_in_one_place_are_said(tmp_path, text, lines):
    found = re.compile(SAME_PLACE.format(*lines))
    assert any(found.search(note) for note in read_with_notes(text_file(tmp_path, text)).notes)


def test_a_place_may_be_visited_again(tmp_path):
    assert read_with_notes(text_file(tmp_path, "run,t,x,y\n0,0,1,2\n0,0,2,2\n0,1,1,2\n1,0,1,2\n")).notes == ()


def test_what_is_in_one_place_is_counted_and_said_once(tmp_path):
    file = text_file(tmp_path, "t,x,y\n" + "".join(f"{t},{k},0\n" * 2 for t in range(3) for k in range(4)))
    notes = read_with_notes(file).notes
    assert len(notes) == 1
    assert "data.csv, line 3: " in notes[0]
    assert "and so are 11 others, 12 of 24 positions" in notes[0]
    assert str(tl.inspect(file)).count("same place") == 1
