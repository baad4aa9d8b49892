"""NPZ and NPY: arrays as they are, no pickles."""

from __future__ import annotations

import struct
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX

from trackless._errors import InputError
from trackless.files.arrays import NAMES, arrays_of, even_times, snapshots_of
from trackless.files.source import PICKLE, check_unpacked, listed, looks_like
from trackless.files.sources import NpyArray, stays_in_file
from trackless.snapshots import Snapshots
from trackless.stored import StoredArray

# what comes out of damaged files, in the order of where it comes from: values and headers, the archive, its members
_DAMAGE = (
    ValueError, TypeError, SyntaxError, OverflowError, MemoryError, tokenize.TokenError, OSError, EOFError, KeyError,
    RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip


def write_npz(snapshots: Snapshots, path: Path) -> None:
    """The arrays that :mod:`trackless.files.arrays` describes."""
    with path.open("wb") as file:  # given a name, savez would add its own ending to ".NPZ"
        np.savez(file, allow_pickle=False, **arrays_of(snapshots))


def read_npz(path: Path, dt: float | None = None, box: Any = None, lazy: bool | None = None) -> Snapshots:
    """Read what :func:`write_npz` wrote, or any archive with ``positions`` and ``times`` (or ``dt``); always whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, sum(member.file_size for member in archive.infolist()))
        with path.open("rb") as file:  # given a name, load leaves a damaged archive open
            archive = _load(file)
            names = list(archive)
            arrays = {name: archive[name] for name in NAMES if name in names}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):  # members that are none come as bytes
            raise ValueError("a member is no array")
    except InputError:
        raise
    except _DAMAGE as error:
        raise _unreadable(path, "NPZ archive of plain arrays", ".npz", error) from None
    if "positions" not in arrays and "points" not in arrays:
        raise InputError(f"{path}: expected arrays positions and times, found {listed(sorted(names))}")
    return snapshots_of(arrays, path, dt, box)


def read_npy(path: Path, dt: float | None = None, box: Any = None, lazy: bool | None = None) -> Snapshots:
    """An array (runs, times, particles, dim), or (times, particles, dim) for one run; memory-mapped, or left there."""
    try:
        with path.open("rb") as file:  # what else it might be would be opened, and left open where it is damaged
            if file.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
                raise OSError("it does not begin like one")
        positions = _load(path, mmap_mode="r")
    except _DAMAGE as error:
        raise _unreadable(path, "NPY array of plain numbers", ".npy", error) from None
    try:
        if positions.ndim in (3, 4) and stays_in_file(positions.nbytes, lazy):
            positions = StoredArray.of(NpyArray.of(path, "", positions))
        if positions.ndim == 3:
            positions = positions[None]
        snapshots = Snapshots(positions, even_times(path, dt, positions), box)
        if not snapshots.in_files:  # then whoever looks at all of them says so
            snapshots.check_finite()
        return snapshots
    except InputError as error:
        known = str(error).startswith(str(path))
        raise error if known else InputError(f"{path}: {error}") from None


def _load(file: Any, **options: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # a strange header is either read or an error
        return np.load(file, allow_pickle=False, **options)


def _unreadable(path: Path, what: str, ending: str, error: Exception) -> InputError:
    kind = looks_like(path)
    if "Object arrays" in str(error) or "Python objects" in str(error):  # as NumPy says when it is mapped, and when not
        return InputError(f"{path}: not a readable {what}: an array of objects is {PICKLE}")
    said = "it is damaged or cut short; copy or write it again" if not kind or f"name it {ending}" in kind else kind
    return InputError(f"{path}: not a readable {what}: {said}")
