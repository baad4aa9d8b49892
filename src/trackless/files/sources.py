"""Arrays that stay in NPY, HDF5 and zarr files, and whole files of other formats: where they are, how to read a part.

A source holds a path and what was found there when it was opened, no data and no open file: every reading opens the
file again, so that sources may be used by all threads and sent to other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless import _memory
from trackless._errors import InputError
from trackless.files.atomic import STORE_MARKS
from trackless.files.extras import needed
from trackless.files.source import reason

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of the last change of a file; of a zarr array, of what describes it."""
    described = next((path / name for name in STORE_MARKS if (path / name).is_file()), path)
    found = described.stat()
    return found.st_size, found.st_mtime_ns


def stays_in_file(size: int, lazy: bool | None) -> bool:
    """Whether so many bytes of positions are left where they are: as asked, or where they would fill the memory."""
    return size > _memory.for_data() // 2 if lazy is None else lazy


def left_in_file(sizes: Mapping[str, int], lazy: bool | None) -> list[str]:
    """Which of the arrays of a file, of so many bytes, stay there: positions, or points of ragged data."""
    return [name for name in ("positions", "points") if name in sizes and stays_in_file(sizes[name], lazy)]


def float_type(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The type that numbers of a file have in memory: float32 and float64 as they are, float64 for all others."""
    if kind.kind not in "iuf":
        raise InputError(f"positions: expected numbers, got an array of type {kind}")
    native = kind.newbyteorder("=")
    return native if native in FLOATS else FLOATS[1]


@dataclass(frozen=True)
class FileArray(ABC):
    """An array in a file.

    Attributes
    ----------
    path : str
        Absolute, for other processes may run elsewhere.
    array : str
        Its name in the file; empty where there is only one.
    shape : tuple of int
        (runs, times, particles, dim), or (rows, dim) of ragged data.
    dtype : dtype
        float32 or float64: that of what is read.
    chunks : tuple of int
        How many entries along each axis must be read together.
    leading : bool
        Whether the file has no axis of runs, because there is only one.
    stamp : tuple of int
        Size and time of the file when it was opened.
    """

    path: str
    array: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    leading: bool = False
    stamp: tuple[int, int] = field(default=(0, 0))

    @classmethod
    def of(cls, path: Path, array: str, found: Any, chunks: tuple[int, ...] | None = None) -> FileArray:
        """From an open array: its shape, type and chunks; runs are added to (times, particles, dim)."""
        shape = tuple(int(n) for n in found.shape)
        if len(shape) not in (2, 3, 4):
            raise InputError(f"{path}: expected positions (runs, times, particles, dim), got shape {shape}")
        chunks = tuple(int(n) for n in chunks) if chunks is not None else (1,) * len(shape)
        alone = len(shape) == 3
        if alone:
            shape, chunks = (1, *shape), (1, *chunks)
        where = path / array if array and path.is_dir() else path
        return cls(str(path.absolute()), array, shape, float_type(found.dtype), chunks, alone, stamp_of(where))

    @property
    def name(self) -> str:
        """For messages."""
        return self.path

    def read(self, part: tuple[slice, ...]) -> NDArray[Any]:
        """Entries of the first axes, in memory."""
        path = Path(self.path)
        try:
            if stamp_of(path / self.array if self.array and path.is_dir() else path) != self.stamp:
                raise InputError(f"{self.path}: it has changed since it was opened; read it again")
            found = self._entries(part[1:] if self.leading else part)
        except FileNotFoundError:
            raise InputError(f"{self.path}: it was there when it was opened, and is gone; read it again") from None
        except InputError:
            raise
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path}: a part of it cannot be read ({reason(error)}); copy or write it again"
            ) from None
        return np.ascontiguousarray(found[None] if self.leading else found, dtype=self.dtype)

    @abstractmethod
    def _entries(self, part: tuple[slice, ...]) -> NDArray[Any]:
        """The same as the file has them."""


@dataclass(frozen=True)
class NpyArray(FileArray):
    """In an NPY file: mapped for as long as it takes to copy a part, so that no more of it counts as memory in use."""

    def _entries(self, part: tuple[slice, ...]) -> NDArray[Any]:
        return np.array(np.load(self.path, mmap_mode="r", allow_pickle=False)[part])


@dataclass(frozen=True)
class Hdf5Array(FileArray):
    """A dataset of an HDF5 file."""

    def _entries(self, part: tuple[slice, ...]) -> NDArray[Any]:
        with needed("h5py", "hdf5", self.path).File(self.path, "r") as file:
            return file[self.array][part]


@dataclass(frozen=True)
class ZarrArray(FileArray):
    """An array of a zarr store."""

    def _entries(self, part: tuple[slice, ...]) -> NDArray[Any]:
        zarr = needed("zarr", "zarr", self.path)
        return np.asarray(zarr.open_array(Path(self.path) / self.array, mode="r")[part])


@dataclass(frozen=True)
class WholeFile:
    """Positions of a file that can only be read whole, or of several that belong together.

    Attributes
    ----------
    given : str or ParquetPart
        What :func:`trackless.read` was given.
    options : tuple
        What it was told, as pairs.
    shape : tuple of int
        (runs, times, particles, dim), or of ragged data the stacked points (rows, dim).
    dtype : dtype
    """

    given: Any
    options: tuple[tuple[str, Any], ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        """For messages."""
        return str(self.given)

    @property
    def chunks(self) -> tuple[int, ...]:
        """All of it."""
        return self.shape

    def read(self, part: tuple[slice, ...]) -> NDArray[Any]:
        """Positions as they were when the file was first read."""
        from trackless.files.formats import read_part  # which makes these

        found = read_part(self.given, **dict(self.options))
        positions = found.positions
        if len(self.shape) == 2:
            positions = (
                positions.reshape(-1, found.dim)
                if found.regular
                else np.concatenate([f for run in positions for f in run])
            )
        if positions.shape != self.shape:
            raise InputError(f"{self.name}: it has changed since it was opened; read it again")
        return positions[part]
