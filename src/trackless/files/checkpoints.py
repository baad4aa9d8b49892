"""Sums of passes that may be interrupted, kept in a folder: whole or not at all, and checked when they are read.

``about.json`` says what data and settings the folder belongs to. Every pass that takes long has a file of its own, an
archive of plain arrays with checksums; its name says which pass it is, of which data, with which functions and numbers.
"""

from __future__ import annotations

import json
import time
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless import __version__
from trackless._errors import InputError
from trackless.digests import digest
from trackless.files.atomic import replacing
from trackless.files.source import reason

Array = NDArray[np.float64]
FORMAT, VERSION = "trackless checkpoint", 1
EVERY = 10.0  # seconds between two files of a pass
SHARE = 0.05  # of the time may be spent on writing
ENDING = ".part"
CHUNK = 1 << 22  # bytes read at once
REMEDY = "delete it to begin anew, or choose another checkpoint"
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError, NotImplementedError, RecursionError,
    MemoryError, TypeError, AttributeError, OverflowError, SyntaxError, tokenize.TokenError,
)  # fmt: skip


class Checkpoint:
    """A folder with the sums of one job.

    Parameters
    ----------
    path : path
        The folder. It is made if it is not there; one that holds anything else is refused.
    about : mapping
        What the job depends on, by name.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._begun: dict[str, float] = {}  # when a pass began, or was written last
        self._wait: dict[str, float] = {}  # how long until it is written again
        self._check_folder({name: digest(value) for name, value in about.items()} | {"trackless": __version__})

    def _check_folder(self, about: dict[str, str]) -> None:
        file = self.path / "about.json"
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: a checkpoint is a folder, and this is a file; choose another name")
        if not file.exists():
            if self.path.is_dir() and any(not one.name.startswith(".trackless-") for one in self.path.iterdir()):
                raise InputError(f"{self.path}: this folder holds something else; choose a new one for the checkpoint")
            try:
                self.path.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{self.path}: cannot make this folder ({error.strerror}); choose another place for the checkpoint"
                ) from None
            with replacing(file, overwrite=True) as temporary:
                temporary.write_text(json.dumps({"format": FORMAT, "version": VERSION, "about": about}, indent=1))
            return
        try:
            there = json.loads(file.read_text())
            if (there["format"], there["version"]) != (FORMAT, VERSION):
                raise ValueError(f"version {there['version']!r} of {there['format']!r}")
            differing = [name for name in {**there["about"], **about} if there["about"].get(name) != about.get(name)]
        except _UNREADABLE as error:
            raise InputError(
                f"{file}: the checkpoint is damaged ({reason(error)}) and was not used; {REMEDY}"
            ) from None
        if differing:
            said = " and ".join(differing)
            raise InputError(f"{self.path}: the checkpoint is of other work (not the same {said}); {REMEDY}")

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{ENDING}"

    def begun(self, name: str, totals: Mapping[str, Array]) -> int:
        """Put what was kept of a pass into ``totals``; how many batches that is."""
        self._begun[name], self._wait[name] = time.monotonic(), EVERY
        file = self._file(name)
        if not file.exists():
            return 0
        try:
            with zipfile.ZipFile(file) as archive:
                content = json.loads(archive.read("content.json"))
                if content["pass"] != name or not isinstance(content["done"], int):
                    raise ValueError("it is another pass's")
                for array, total in totals.items():
                    with archive.open(f"{array}.npy") as stream:
                        _read_into(stream, total)
        except _UNREADABLE as error:
            raise InputError(
                f"{file}: the checkpoint is damaged ({reason(error)}) and was not used; {REMEDY}"
            ) from None
        return content["done"]

    def keep(self, name: str, totals: Mapping[str, Array], done: int, complete: bool) -> None:
        """Write the sums of so many batches, if the last time is long enough ago; short passes leave no file."""
        start = time.monotonic()
        if start - self._begun[name] < self._wait[name] and not (complete and self._file(name).exists()):
            return
        content = {"format": FORMAT, "version": VERSION, "pass": name, "done": done}
        with replacing(self._file(name), overwrite=True) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("content.json", json.dumps(content))
            for array, total in totals.items():  # not compressed, which would take longer than the work
                with archive.open(f"{array}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, np.ascontiguousarray(total), allow_pickle=False)
        self._begun[name] = time.monotonic()
        self._wait[name] = max(EVERY, (self._begun[name] - start) / SHARE)

    def remove(self) -> None:
        """The job is done: nothing of this folder is needed any more."""
        for file in [*self.path.glob(f"*{ENDING}"), *self.path.glob(".trackless-*"), self.path / "about.json"]:
            file.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()


def _read_into(stream: Any, array: Array) -> None:
    """Fill an array from an NPY file of the same shape, without a second one; the archive compares checksums."""
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array in another format than ours")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if shape != array.shape or dtype != array.dtype or (by_columns and array.ndim > 1):
        raise ValueError(f"an array of {dtype} {shape} instead of {array.dtype} {array.shape}")
    target, place = array.reshape(-1).data.cast("B") if array.size else memoryview(b""), 0
    while place < array.nbytes:
        block = stream.read(min(CHUNK, array.nbytes - place))
        if not block:
            raise EOFError("an array ends too early")
        target[place : place + len(block)] = block
        place += len(block)
    if stream.read(1):  # reading to the end is what makes the archive compare checksums
        raise ValueError("an array is too long")
