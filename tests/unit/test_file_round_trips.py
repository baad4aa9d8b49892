"""Written and read again, every data set is the same bit by bit, in every format that has a place for it."""

import gzip

import numpy as np
import pytest
from file_data import all_kinds, any_kind, assert_equal, ragged, regular

import trackless as tl

ARRAYS = ("npz", "h5", "hdf5")
TABLES = ("csv", "tsv", "parquet")
TRAJECTORIES = ("lammpstrj", "dump", "xyz", "extxyz")


@pytest.mark.parametrize("ending", [*ARRAYS, *TABLES, *TRAJECTORIES])
def test_round_trip(ending, tmp_path):
    runs = (1,) if ending in TRAJECTORIES else (1, 3)
    boxed = (False,) if ending in TABLES else (False, True)
    count = 0
    for count, data in enumerate(all_kinds(runs, boxed), 1):
        file = tmp_path / f"{count}.{ending}"
        tl.write(data, file)
        assert_equal(tl.read(file), data)
    assert count >= 48


@pytest.mark.parametrize("ending", ["csv", "tsv", "lammpstrj", "dump", "xyz", "extxyz"])
def test_compressed_text_is_the_same(ending, tmp_path):
    data = any_kind(1, False, 3, False, True, False)
    tl.write(data, tmp_path / f"data.{ending}")
    (tmp_path / f"data.{ending}.gz").write_bytes(gzip.compress((tmp_path / f"data.{ending}").read_bytes()))
    assert_equal(tl.read(tmp_path / f"data.{ending}.gz"), data)


@pytest.mark.parametrize("ending", [*ARRAYS, "parquet"])
def test_single_precision_is_kept(ending, tmp_path):
    data = regular(dtype=np.float32)
    tl.write(data, tmp_path / f"data.{ending}")
    assert_equal(tl.read(tmp_path / f"data.{ending}"), data)


@pytest.mark.parametrize("ending", [*ARRAYS, *TABLES, *TRAJECTORIES])
def test_names_of_species(ending, tmp_path):
    trajectory = ending in TRAJECTORIES
    names = ["µ+", "10", "9", 'say"x"'] if trajectory else ["big one", 'a, "b"; c', "10", "µ+"]
    data = regular(species=names, labeled=True)[:1]
    tl.write(data, tmp_path / f"data.{ending}")
    assert_equal(tl.read(tmp_path / f"data.{ending}"), data)
    numbers = regular(species=[2, 2, 11, 1])[:1]
    tl.write(numbers, tmp_path / f"numbers.{ending}")
    assert_equal(tl.read(tmp_path / f"numbers.{ending}"), numbers)


def test_files_of_one_run_each(tmp_path):
    data = any_kind(3, True, 2, True, True, True)
    for m in range(3):
        tl.write(data[m : m + 1], tmp_path / f"{m}.extxyz")
    assert_equal(tl.read([tmp_path / f"{m}.extxyz" for m in range(3)]), data)


@pytest.mark.parametrize("ending", TABLES)
def test_tables_have_no_place_for_everything(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    with pytest.raises(
        tl.InputError, match=rf"data.{ending}: a table has no place for a periodic box; write .npz or .h5"
    ):
        tl.write(regular(box=3.0), file)
    with pytest.raises(tl.InputError, match=r"the data have 5 dimensions; write .npz"):
        tl.write(regular(5), file)
    with pytest.raises(tl.InputError, match=r"a frame without particles, which has no place in a table; write .npz"):
        tl.write(ragged(((3, 0), (2, 1))), file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", TRAJECTORIES)
def test_trajectories_have_no_place_for_everything(ending, tmp_path):
    file = tmp_path / f"data.{ending}"
    for data, message in (
        (regular(), rf"data.{ending}: the format holds one run, the data have 2; write one file per run"),
        (regular(5)[:1], "three dimensions at most, the data have 5; write .npz"),
        (regular(box=3.0)[:1], "frame 0 has positions outside the box .* wrap them first, or write .npz"),
        (regular(species=["a b", "c", "c", "c"])[:1], "the names of species may not hold blanks"),
        (ragged(((3, 0),)), "frame 1 has no particles, which the format cannot say; write .npz"),
    ):
        with pytest.raises(tl.InputError, match=message):
            tl.write(data, file)
    assert list(tmp_path.iterdir()) == []
