"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trackless._errors import InputError

STORE_MARKS = ("zarr.json", ".zarray", ".zgroup")  # one of them is in every folder that is a zarr store


def is_store(path: Path) -> bool:
    """Whether a folder is a zarr store, one thing like a file."""
    return any((path / mark).is_file() for mark in STORE_MARKS)


def check_target(path: str | Path, overwrite: bool = False) -> Path:
    """The path, if a file (or, ending in .zarr, a zarr store) may be written there."""
    target = Path(path)
    if target.is_dir() and not (target.suffix.lower() == ".zarr" and is_store(target)):
        raise InputError(f"{target} is a directory; give a file name")
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists; choose another name, or allow overwriting (overwrite=True, --force)")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the directory {target.parent} does not exist; create it first")
    try:  # permissions do not tell all: file systems may be read-only or full
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise _unwritable(target, error) from None
    return target


def _unwritable(target: Path, error: OSError) -> InputError:
    """The error in terms of the file that was asked for, not of a temporary one."""
    return InputError(f"{target}: cannot write here ({error.strerror or error}); choose another place, or make room")


@contextmanager
def replacing(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well, and vanishes otherwise.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> (folder / "note.txt").read_text()
    'whole'
    """
    target = check_target(path, overwrite)
    try:
        handle, name = tempfile.mkstemp(prefix=".trackless-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise _unwritable(target, error) from None
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes files private
        if overwrite:
            temporary.replace(target)
        else:  # link fails if somebody made the file meanwhile
            try:
                os.link(temporary, target)
            except FileExistsError:
                check_target(target)
            except OSError:  # not every file system has links
                temporary.replace(check_target(target))
    except OSError as error:
        if error.filename not in (None, name):  # of another file: not about writing this one
            raise
        raise _unwritable(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_store(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """The same for a zarr store: a temporary folder that takes the name of ``path``; only stores are ever replaced."""
    target = check_target(path, overwrite)
    if target.is_file():
        raise InputError(f"{target}: a file is in the way of a zarr store; remove it, or choose another name")
    temporary = Path(tempfile.mkdtemp(prefix=".trackless-", suffix=target.suffix, dir=target.parent))
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o777 & ~mask)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=".trackless-", suffix=".old", dir=target.parent))
            check_target(target, overwrite).rename(old / target.name)  # not removed before the new one is in its place
            temporary.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            temporary.rename(target)
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(str(temporary)):
            raise
        raise _unwritable(target, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
