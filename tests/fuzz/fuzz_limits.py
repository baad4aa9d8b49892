"""What no file and no command may do, whatever is in it: hang, fill the memory, warn, write to the terminal."""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

MOST_MEMORY = 300  # megabytes that the peak may grow by in one go
_TERMINAL = os.dup(2)  # where a process that must be ended says why


class Broken(Exception):
    """What a fuzzer looks for."""


class Hanging(BaseException):
    """It takes longer than it may; no handler of exceptions takes this for an error of a file."""


@contextmanager
def limited(seconds: float, memory: float = MOST_MEMORY) -> Iterator[None]:
    """Raise :class:`Broken` if the block hangs, fills the memory, warns or writes on the file descriptor of errors."""

    def ring(number: int, frame: object) -> None:
        raise Hanging("".join(traceback.format_stack(frame, limit=8)))  # type: ignore[arg-type]

    unraised: list[str] = []
    usual_hook, usual_bell = sys.unraisablehook, signal.signal(signal.SIGALRM, ring)
    peak = _peak()
    with _said_on_descriptor(2) as said, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=".*os.fork.*")
        sys.unraisablehook = lambda found: unraised.append(f"{found.exc_value!r} in {found.object!r}")
        faulthandler.dump_traceback_later(10 * seconds, exit=True, file=_TERMINAL)  # where no signal comes through
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        except Hanging as hanging:
            raise Broken(f"longer than {seconds:g} s:\n{hanging}") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, usual_bell)
            faulthandler.cancel_dump_traceback_later()
            if gc.get_count()[1] > 5:
                gc.collect()  # files that nobody closed
            sys.unraisablehook = usual_hook
    if _peak() - peak > memory:
        raise Broken(f"{_peak() - peak:.0f} MB of memory")
    if warned:
        raise Broken(f"it warns: {warned[0].category.__name__}: {warned[0].message} ({warned[0].filename})")
    if unraised:
        raise Broken(f"an exception that nobody saw: {unraised[0]}")
    if said:
        raise Broken(f"it writes to the terminal: {''.join(said)[:500]}")


def open_files() -> int:
    """How many file descriptors this process has."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def _peak() -> float:
    """Megabytes, ever."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


@contextmanager
def _said_on_descriptor(number: int) -> Iterator[list[str]]:
    """What libraries in C write, past Python."""
    said: list[str] = []
    usual = os.dup(number)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), number)
        try:
            yield said
        finally:
            os.dup2(usual, number)
            os.close(usual)
            kept.seek(0)
            text = kept.read().decode(errors="replace")
            if text:
                said.append(text)
