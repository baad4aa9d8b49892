"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trackless._errors import InputError


def check_target(path: str | Path, overwrite: bool = False) -> Path:
    """The path, if a file may be written there."""
    target = Path(path)
    if target.is_dir():
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
