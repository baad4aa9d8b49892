"""How much memory may be used, and what for.

A limit is for the whole process: the program itself, what is read from files, moments, and work in flight. What may be
read and kept is a fixed share of it, so that the same limit cuts the same data in the same way everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from trackless._errors import InputError

PROGRAM = 350_000_000  # bytes: the interpreter, its libraries, compiled kernels, and solving
LEAST = 500_000_000  # bytes below which nothing sensible can be done
DATA, WORK = 0.4, 0.25  # shares of what remains; the rest is for what is in flight between them
UNLIMITED_DATA = 1 / 8  # of the memory of the machine, where no limit was given
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

P = ParamSpec("P")
R = TypeVar("R")

_limit: int | None = None


def set_memory(limit: int | str | None) -> None:
    """Keep below ``limit`` bytes, a number or a text such as "2GB"; None: as much as is sensible on this machine.

    The limit is for the anonymous memory of the process, without data that were in memory before.

    Examples
    --------
    >>> set_memory("2GB")
    >>> get_memory()
    2000000000
    >>> set_memory(None)
    """
    global _limit
    _limit = None if limit is None else size_in_bytes(limit)


def get_memory() -> int | None:
    """The limit in bytes, or None."""
    return _limit


@contextmanager
def limited(limit: int | str | None) -> Iterator[None]:
    """The same for a block; None leaves the limit as it is."""
    before = _limit
    if limit is not None:
        set_memory(limit)
    try:
        yield
    finally:
        set_memory(before)


def kept(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function work within the limit that its argument ``memory``, given by name, sets for it."""

    @wraps(function)
    def within(*args: P.args, **settings: P.kwargs) -> R:
        with limited(settings.get("memory")):  # type: ignore[arg-type]
            return function(*args, **settings)

    return within


def size_in_bytes(limit: int | str) -> int:
    """Bytes that a number or a text stands for, if a limit may be that low.

    Examples
    --------
    >>> size_in_bytes("1.5 GB"), size_in_bytes("512MiB"), size_in_bytes(10**9)
    (1500000000, 536870912, 1000000000)
    """
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?)?b?\s*", str(limit).lower())
    if isinstance(limit, bool) or found is None:
        raise InputError(f"memory: expected a size such as 2GB or 500MB, got {limit!r}")
    size = int(float(found[1]) * _UNITS[found[2] or ""])
    if size < LEAST:
        raise InputError(f"memory: {in_words(size)} is too little, the program alone takes most of it; "
                         f"give at least {in_words(LEAST)}")  # fmt: skip
    return size


def for_data() -> int:
    """Bytes of positions from files that may be in memory at a time."""
    return int(DATA * (_limit - PROGRAM)) if _limit is not None else int(UNLIMITED_DATA * _physical())


def for_work(usual: int) -> int:
    """Bytes that one large thing that is worked with may take, such as moments: ``usual``, or less under a limit."""
    return usual if _limit is None else min(usual, int(WORK * (_limit - PROGRAM)))


def in_words(size: float) -> str:
    """A number of bytes as people write it.

    Examples
    --------
    >>> in_words(1_500_000_000), in_words(1200)
    ('1.5 GB', '1.2 kB')
    """
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size:.0f} bytes"


def _physical() -> int:
    """Memory of the machine, or of the container that this process runs in."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # where the system does not say
        found = 4 * 2**30
    try:
        return min(found, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (ValueError, OSError):  # "max", or no such thing
        return found
