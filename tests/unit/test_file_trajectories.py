"""LAMMPS dumps, XYZ and GSD files as other programs write them: coordinates, boxes, dimensions, times, and errors."""

import gsd.hoomd
import numpy as np
import pytest

import trackless as tl
from trackless.files import read_with_notes


def dump(
    atoms, step=0, columns="id type x y z", flags="pp pp pp", bounds=((-1, 3), (0, 5), (0, 6)), head="", count=None
):
    """One frame of a LAMMPS dump."""
    sides = "\n".join(f"{low} {high}" for low, high in bounds)
    rows = "\n".join(" ".join(map(str, atom)) for atom in atoms)
    count = len(atoms) if count is None else count
    return (
        f"{head}ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{count}\nITEM: BOX BOUNDS {flags}\n{sides}\n"
        f"ITEM: ATOMS {columns}\n{rows}\n"
    )


def text_file(folder, text, name="run.lammpstrj"):
    (folder / name).write_text(text)
    return folder / name


ATOMS = ((2, 1, 2.5, 1, 2), (1, 1, -0.5, 4, 5))
FRAMES = dump(ATOMS, 100) + dump(ATOMS[::-1], 200)


# LAMMPS


def test_lammps_positions_begin_at_the_lower_end_of_the_box(tmp_path):
    data = tl.read(text_file(tmp_path, FRAMES), dt=0.005)
    assert data.box == (4.0, 5.0, 6.0)
    assert data.labeled
    assert data.species is None  # all of one type
    np.testing.assert_array_equal(data.times, [0.5, 1.0])
    np.testing.assert_array_equal(data.positions[0, 0], [[0.5, 4, 5], [3.5, 1, 2]])
    np.testing.assert_array_equal(data.positions[0, 1], data.positions[0, 0])
    assert "begins at (-1, " in read_with_notes(tmp_path / "run.lammpstrj", dt=0.005).notes[0]


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        ("x y z", "2.5 1 2", [3.5, 1, 2]),
        ("xs ys zs", "0.875 0.2 0.5", [3.5, 1, 3]),
        ("xu yu zu", "6.5 -4 8", [3.5, 1, 2]),
        ("xsu ysu zsu", "1.875 -0.8 0.5", [3.5, 1, 3]),
        ("x y z xu yu zu", "2.5 1 2 6.5 -4 8", [3.5, 1, 2]),
        ("vx x y z ix", "9 2.5 1 2 1", [3.5, 1, 2]),
        ("x y z", "3.1 -0.1 2", [0.1, 4.9, 2]),  # atoms are wrapped only now and then
    ],
)
def test_lammps_coordinates(columns, row, expected, tmp_path):
    atoms = (row.split(), row.split())
    data = tl.read(text_file(tmp_path, dump(atoms, columns=columns, bounds=((-1, 3), (0, 5), (0, 6)))), dt=1.0)
    wanted = expected if data.dim == 3 else expected[: data.dim]
    np.testing.assert_allclose(data.positions[0, 0, 0], wanted, rtol=1e-12)


def test_lammps_in_free_space_stays_where_it_is(tmp_path):
    frames = [dump(ATOMS, k, flags="ss ss fs", bounds=((-1, 3 + k), (0, 5), (0, 6))) for k in range(2)]
    data = tl.read(text_file(tmp_path, "".join(frames)), dt=1.0)
    assert data.box is None
    np.testing.assert_array_equal(data.positions[0, 0], [[-0.5, 4, 5], [2.5, 1, 2]])
    scaled = [(1, 0.5, 0.2, 0.5), (1, 0.25, 0.4, 0.1)]
    data = tl.read(text_file(tmp_path, dump(scaled, columns="type xs ys zs", flags="ff ff ff")), dt=1.0)
    np.testing.assert_allclose(data.positions[0, 0], [[1, 1, 3], [0, 2, 0.6]], rtol=1e-12)


@pytest.mark.parametrize("flags", ["pp pp pp", "pp pp ff"])
def test_lammps_in_the_plane(flags, tmp_path):
    atoms = ((1, 1, 0.5, 0.5, 0), (2, 2, 1.5, 1, 0))
    data = tl.read(text_file(tmp_path, dump(atoms, flags=flags, bounds=((0, 4), (0, 5), (-0.5, 0.5)))), dt=1.0)
    assert data.box == (4.0, 5.0)
    assert data.species == ("1", "2")
    np.testing.assert_array_equal(data.positions, [[[[0.5, 0.5], [1.5, 1.0]]]])


def test_lammps_times_and_elements(tmp_path):
    head = "ITEM: UNITS\nlj\nITEM: TIME\n0.25\n"
    later = dump((("C", 1, 1, 1), ("O", 2, 2, 2)), 1, "element x y z", head="ITEM: TIME\n0.5\n")
    text = dump((("O", 1, 1, 1), ("C", 2, 2, 2)), 0, "element x y z", head=head) + later
    data = tl.read(text_file(tmp_path, text))
    assert data.times.tolist() == [0.25, 0.5]
    assert data.species == ("C", "O")
    assert not data.labeled
    with pytest.raises(tl.InputError, match="holds times, so dt= is not needed"):
        tl.read(tmp_path / "run.lammpstrj", dt=0.1)


def test_several_dumps_are_several_runs_of_the_same_species(tmp_path):
    one = text_file(tmp_path, dump(((1, 1, 0, 1, 1), (2, 1, 1, 1, 2))), "one.dump")
    two = text_file(tmp_path, dump(((1, 2, 0, 1, 1), (2, 1, 1, 1, 2))), "two.dump")
    data = tl.read([one, two], dt=1.0)
    assert data.species == ("1", "2")
    assert [data.species_counts_of(m).tolist() for m in range(2)] == [[[2, 0]], [[1, 1]]]
    assert tl.read([one, one], dt=1.0).species is None


def changed(old, new):
    assert old in FRAMES
    return FRAMES.replace(old, new, 1)


LAMMPS_ERRORS = {
    "no dt": (FRAMES, None, r"the file counts steps; give the time of one step \(dt=, --dt\)"),
    "triclinic": (changed("BOUNDS pp", "BOUNDS xy xz yz pp"), 1.0, "line 5: the box is triclinic; .*change_box"),
    "flags": (changed("BOUNDS pp pp pp", "BOUNDS"), 1.0, "line 5: expected three boundary flags such as 'pp pp pp'"),
    "mixed": (FRAMES.replace("pp pp pp", "pp pp ff"), 1.0, "periodic in some directions only, x: yes y: yes z: no"),
    "other flags": (changed("pp pp pp", "ff ff ff"), 1.0, r"frame 1 \(line 21\): other directions are periodic"),
    "changing box": (changed("-1 3", "-1 4"), 1.0, r"frame 1 \(line 21\): the box changes from .* take the part"),
    "no side": (FRAMES.replace("-1 3", "3 3"), 1.0, "expected a box with positive sides, got"),
    "end of box": (changed("-1 3", "-1"), 1.0, "line 6: expected the two ends of a side of the box, found '-1'"),
    "infinite box": (changed("-1 3", "-1 inf"), 1.0, "line 8: an end of the box is not finite"),
    "no atoms": (dump((), 0), 1.0, "there are 0 atoms in this frame; remove the frame"),
    "too few": (changed("1 1 -0.5 4 5\n", ""), 1.0, "line 11: expected 5 fields .* found 'ITEM: TIMESTEP'"),
    "too many": (changed("ATOMS\n2", "ATOMS\n1"), 1.0, "line 11: expected a line that begins with 'ITEM:', found '1 1"),
    "cut in atoms": (FRAMES[:-14], 1.0, "line 21: the file ends after 1 of 2 atoms; it is cut short"),
    "cut in head": (FRAMES[:140], 1.0, "cut short|damaged"),
    "cut in a number": (
        FRAMES[:-1],
        1.0,
        "line 22: the file ends within a line: it is cut short, or lacks its last line",
    ),
    "cut in a line": (FRAMES[:-8], 1.0, "line 22: expected 5 fields"),
    "outside": (changed("2.5 1 2", "9.5 1 2"), 1.0, r"line 10: the position .* is outside the box .*; repair"),
    "twice": (changed("1 1 -0.5", "2 1 -0.5"), 1.0, r"line 11: particle 2 is in this frame already \(line 10\)"),
    "backwards": (
        changed("TIMESTEP\n100", "TIMESTEP\n300"),
        1.0,
        r"frame 1 \(line 21\): the time 200 follows 300; a file",
    ),
    "repeated": (FRAMES + FRAMES, 1.0, "frame 2 .*: the time 100 follows 200; a file holds one run"),
    "word": (changed("2.5 1 2", "2.5 one 2"), 1.0, "line 10: expected a number, found 'one'; repair"),
    "nan": (changed("2.5 1 2", "2.5 nan 2"), 1.0, "line 10: a position is empty, NaN or infinite"),
    "id": (changed("2 1 2.5", "2.5 1 2.5"), 1.0, "line 10: expected a whole number, found '2.5'"),
    "columns": (FRAMES.replace("x y z", "a b c"), 1.0, "line 9: expected positions x y z, xs ys zs"),
    "json": (
        '{"frames": [1, 2]}\n',
        1.0,
        "line 1: expected a line that begins with 'ITEM:', found .* is this a LAMMPS",
    ),
    "step": (changed("TIMESTEP\n100", "TIMESTEP\nten"), 1.0, "expected a timestep, found 'ten'"),
    "a time in some": ("ITEM: TIME\n1\n" + FRAMES, 1.0, "some frames have a time and some have none"),
    "section twice": (
        FRAMES + "ITEM: TIMESTEP\n300\n" + FRAMES,
        1.0,
        "line 25: 'ITEM: TIMESTEP' comes twice in a frame",
    ),
    "huge step": (changed("TIMESTEP\n100", "TIMESTEP\n1" + 400 * "0"), 1.0, "expected a timestep, found '1000"),
    "other section": (changed("ITEM: BOX", "ITEM: SOCKS"), 1.0, "expected 'ITEM: BOX BOUNDS', found"),
}


@pytest.mark.parametrize("case", LAMMPS_ERRORS)
def test_wrong_dumps(case, tmp_path):
    text, dt, message = LAMMPS_ERRORS[case]
    with pytest.raises(tl.InputError, match=message) as caught:
        tl.read(text_file(tmp_path, text), dt=dt)
    assert str(caught.value).startswith(str(tmp_path / "run.lammpstrj"))
    assert "\n" not in str(caught.value)


# XYZ


def test_plain_xyz_counts_frames(tmp_path):
    text = "2\nmade by hand\nAr 0 0 1\nAr 1 2 3.5\n2\n\nAr 0 0.5 1\nAr 1 2 3\n\n"
    data = tl.read(text_file(tmp_path, text, "a.xyz"), dt=0.5)
    assert (data.box, data.labeled, data.species) == (None, False, None)
    assert data.times.tolist() == [0.0, 0.5]
    np.testing.assert_array_equal(data.positions[0, :, 1], [[1, 2, 3.5], [1, 2, 3]])
    with pytest.raises(tl.InputError, match=r"counts steps; give the time of one step \(dt="):
        tl.read(tmp_path / "a.xyz")


def test_extended_xyz_of_others(tmp_path):
    lattice = 'Lattice="4.0 0.0 0.0 0.0 5.0 0.0 0.0 0.0 6.0"'
    properties = "Properties=species:S:1:pos:R:3:forces:R:3"
    text = f"2\n{lattice} {properties} energy=-1.5 name='my run' Time=0.25\nA 1 2 -1 0 0 0\nB 1 9 3 0 0 0\n"
    data = tl.read(text_file(tmp_path, text, "a.extxyz"))
    assert data.box == (4.0, 5.0, 6.0)
    assert data.species == ("A", "B")
    np.testing.assert_array_equal(data.positions, [[[[1, 2, 5], [1, 4, 3]]]])  # wrapped
    plane = f'1\n{lattice} Properties=pos:R:3:id:I:1 step=4 pbc="T T F"\n1 2 0 7\n'
    data = tl.read(text_file(tmp_path, plane, "b.extxyz"), dt=0.5)
    assert (data.box, data.labeled, data.times.tolist()) == ((4.0, 5.0), True, [2.0])
    free = f'1\n{lattice} Properties=pos:R:2 time=0 pbc="F F F"\n1 2\n'
    data = tl.read(text_file(tmp_path, free, "c.extxyz"), box=3.0)
    assert (data.dim, data.box) == (2, (3.0, 3.0))


XYZ_HEAD = 'Lattice="4 0 0 0 5 0 0 0 6" Properties=species:S:1:pos:R:3 Time={}'
XYZ = "".join(f"2\n{XYZ_HEAD.format(t)}\nA 1 2 3\nB 1 2 {t}.5\n" for t in (1, 2))
XYZ_ERRORS = {
    "count": (XYZ.replace("2\n", "two\n", 1), "line 1: expected a number of atoms, found 'two'; is this an XYZ file"),
    "no atoms": ("0\n\n" + XYZ, "line 1: there are 0 atoms in this frame; remove"),
    "cut in atoms": (XYZ[:-10], "line 7: the file ends after 1 of 2 atoms; it is cut short"),
    "cut before the comment": ("2", "line 1: the file ends before the comment of a frame; it is cut short"),
    "too few": (XYZ.replace("B 1 2 1.5\n", ""), "line 4: expected 4 fields .* found '2'"),
    "too many": (XYZ.replace("2\n", "1\n", 1), "line 4: expected a number of atoms, found 'B 1 2 1.5'"),
    "backwards": (XYZ.replace("Time=2", "Time=0"), r"frame 1 \(line 7\): the time 0 follows 1"),
    "time": (XYZ.replace("Time=2", "Time=noon"), "line 6: expected a number after time=, found 'noon'"),
    "nan time": (XYZ.replace("Time=2", "Time=nan"), r"frame 1 \(line 7\): the time nan is not finite"),
    "triclinic": (XYZ.replace("4 0 0 0", "4 0 1 0"), "line 2: the box is not rectangular"),
    "changing box": (XYZ.replace("4 0 0", "4.5 0 0", 1), r"frame 1 \(line 7\): the box changes"),
    "lattice": (XYZ.replace("4 0 0 0", "4 0"), "line 2: expected nine numbers in Lattice"),
    "pbc": (XYZ.replace("Time", 'pbc="T T" Time'), "line 2: expected three of T and F in pbc, found 'T T'"),
    "mixed": (XYZ.replace("Time", 'pbc="T T F" Time'), "periodic in some directions only, x: yes y: yes z: no"),
    "properties": (XYZ.replace("pos:R:3", "pos:R"), "line 2: expected Properties=name:kind:columns"),
    "no positions": (XYZ.replace("pos:R:3", "vel:R:3"), "line 2: expected pos:R:3 among the Properties"),
    "dimensions": (
        XYZ + "1\nLattice=\"4 0 0 0 5 0 0 0 6\" Properties=species:S:1:pos:R:2 Time=3\nA 1 2\n",
        r"frame 2 \(line 11\): 2 dimensions, but 3 before",
    ),
    "cut in a number": (XYZ[:-2], "line 8: the file ends within a line: it is cut short"),
    "cut in a line": (XYZ[:-8], "line 8: expected 4 fields .* found 'B'"),
    "word": (XYZ.replace("1.5", "1.5.5"), "line 4: expected a number, found '1.5.5'"),
    "infinite": (XYZ.replace("1.5", "inf"), "line 4: a position is empty, NaN or infinite"),
    "a box twice": (XYZ, "has a periodic box of its own"),
}  # fmt: skip


@pytest.mark.parametrize("case", XYZ_ERRORS)
def test_wrong_xyz(case, tmp_path):
    text, message = XYZ_ERRORS[case]
    with pytest.raises(tl.InputError, match=message) as caught:
        tl.read(text_file(tmp_path, text, "a.xyz"), box=3.0 if case == "a box twice" else None)
    assert str(caught.value).startswith(str(tmp_path / "a.xyz"))


# GSD


def gsd_file(path, positions, box=(4, 5, 6, 0, 0, 0), types=("A", "B"), kinds=None, dimensions=3, steps=None):
    with gsd.hoomd.open(str(path), "w") as file:
        for k, points in enumerate(positions):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = 100 * k if steps is None else steps[k]
            frame.configuration.box = box
            frame.configuration.dimensions = dimensions
            frame.particles.N = len(points)
            frame.particles.position = points
            frame.particles.types = list(types)
            frame.particles.typeid = kinds if kinds is not None else [0] * len(points)
            file.append(frame)
    return path


def test_gsd(tmp_path):
    positions = (np.random.default_rng(0).random((3, 4, 3)) - 0.5) * [4, 5, 6]
    data = tl.read(gsd_file(tmp_path / "a.gsd", positions, kinds=[1, 0, 1, 1]), dt=0.01)
    assert (data.box, data.labeled, data.species) == ((4.0, 5.0, 6.0), True, ("A", "B"))
    np.testing.assert_array_equal(data.times, [0.0, 1.0, 2.0])
    expected = positions.astype(np.float32) + np.array([2, 2.5, 3])
    np.testing.assert_allclose(data.positions[0], expected[:, [1, 0, 2, 3]], atol=1e-6)
    assert tl.read(gsd_file(tmp_path / "one.gsd", positions), dt=0.01).species is None


def test_gsd_in_the_plane_with_changing_numbers(tmp_path):
    positions = [np.array([[1.0, 1, 0], [0, 0, 0]]), np.array([[1.0, 0.5, 0]])]
    data = tl.read(gsd_file(tmp_path / "a.gsd", positions, box=(4, 4, 1, 0, 0, 0), dimensions=2), dt=0.01)
    assert (data.dim, data.box, data.labeled) == (2, (4.0, 4.0), False)
    assert data.counts_of(0).tolist() == [2, 1]


def test_what_a_gsd_frame_leaves_out_is_as_in_the_first(tmp_path):
    positions = np.ones((3, 2, 3))  # the same in every frame, so that the library writes them once
    data = tl.read(gsd_file(tmp_path / "a.gsd", positions, kinds=[0, 1]), dt=0.01)
    np.testing.assert_array_equal(data.positions, np.broadcast_to([3, 3.5, 4], (1, 3, 2, 3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"box": (4, 5, 6, 0.1, 0, 0)}, "frame 0: the box is triclinic"),
        ({"steps": [5, 5]}, "frame 1: the time 0.05 follows 0.05"),
        ({"box": (0.5, 0.5, 0.5, 0, 0, 0)}, r"frame 0, particle 0: the position .* is outside the box"),
    ],
)
def test_wrong_gsd(options, message, tmp_path):
    with pytest.raises(tl.InputError, match=message):
        tl.read(gsd_file(tmp_path / "a.gsd", [np.ones((2, 3)), 2 * np.ones((2, 3))], **options), dt=0.01)


def test_gsd_needs_a_time_step_and_particles(tmp_path):
    with pytest.raises(tl.InputError, match="the file counts steps; give the time of one step"):
        tl.read(gsd_file(tmp_path / "a.gsd", np.ones((2, 2, 3))))
    with pytest.raises(tl.InputError, match="there is no frame in it"):
        tl.read(gsd_file(tmp_path / "none.gsd", []), dt=1.0)
    with pytest.raises(tl.InputError, match="frame 1: there are no particles in it; remove the frame"):
        tl.read(gsd_file(tmp_path / "empty.gsd", [np.ones((2, 3)), np.ones((0, 3))]), dt=1.0)


# Positions outside the box


def test_positions_outside_the_box_are_said(tmp_path):
    outside = "B 1 2 1.5", "B 1 -3.75 1.5"
    xyz = text_file(tmp_path, XYZ.replace(*outside), "a.xyz")
    reading = read_with_notes(xyz)
    assert reading.notes == (
        "1 of 4 positions is outside the periodic box (by up to 0.75 of a side), as in files of unwrapped positions; "
        "they were wrapped into it: is the box right?",
    )
    assert reading.snapshots.positions[0, 0, 1, 1] == 1.25
    assert read_with_notes(text_file(tmp_path, XYZ, "b.xyz")).notes == ()
    unwrapped = dump(((1, 6.5, -4, 8), (2, 1, 1, 1)), columns="id xu yu zu")
    notes = read_with_notes(text_file(tmp_path, unwrapped), dt=1.0).notes
    assert any("1 of 2 positions is outside the periodic box" in note for note in notes)
    slightly = dump(((1, 3.1, 4, 5), (2, 1, 1, 1)), columns="id x y z")
    notes = read_with_notes(text_file(tmp_path, slightly), dt=1.0).notes
    assert any("(by up to 0.025 of a side)" in note for note in notes)


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_positions_outside_the_box_of_arrays_are_said(ending, tmp_path):
    for shift, said in ((0.0, 0), (2.0, 1)):
        file = tmp_path / f"{shift}.{ending}"
        tl.write(tl.Snapshots(np.random.default_rng(0).random((1, 3, 4, 2)) + shift, dt=1.0, box=1.0), file)
        notes = read_with_notes(file).notes
        assert len(notes) == said
        assert all("some positions are outside the periodic box" in note for note in notes)


def test_atoms_that_are_listed_twice(tmp_path):
    frame = "2\nProperties=species:S:1:pos:R:3:id:I:1 Time={}\nA 1 2 3 7\nA 1 {} 3 {}\n"
    found = read_with_notes(text_file(tmp_path, frame.format(0, 4, 8) + frame.format(1, 2, 8), "run.xyz"))
    assert "run.xyz, line 8: the particle is at the same place as another one of its frame (line 7)" in found.notes[0]
    with pytest.raises(tl.InputError, match=r"run\.xyz, line 4: particle 7 is in this frame already .* the ids out$"):
        tl.read(text_file(tmp_path, frame.format(0, 4, 7), "run.xyz"))


def test_comments_of_xyz_with_commas(tmp_path):
    frame = "1\n i = {0}, time = {0}.500, E = -1.25\nA 1 2 3\n"
    assert tl.read(text_file(tmp_path, frame.format(0) + frame.format(1), "run.xyz")).times.tolist() == [0.5, 1.5]
