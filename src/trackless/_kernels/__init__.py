"""Numba kernels: pair loops for moments, simulation and exploration.

Kernels release the GIL and are run by :mod:`trackless._threads`, each task with sums of its own, so results do
not depend on the number of threads. Shared arrays are indexed, never sliced, in the hot loops: a slice counts
a reference, and threads that count references on one array wait for each other. Distances of many pairs are
worked on together, one function at a time, so that loops vectorise. The plain NumPy twins are in
tests/unit/twins.py.
"""

import errno
import os
import stat
import tempfile
from pathlib import Path

import numba
from numba.core import config as numba_settings


def _probe() -> None:
    """A function in this folder."""


def _keep_compiled_kernels() -> None:
    """Find numba a folder for compiled kernels where neither this one nor the home folder may be written."""
    try:
        numba.njit(cache=True)(_probe)
        return
    except RuntimeError:
        pass  # it refuses to compile anything then
    folder = Path(tempfile.gettempdir()) / f"trackless-kernels-{os.getuid() if hasattr(os, 'getuid') else 0}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == os.getuid())
        if not ours or found.st_mode & 0o022:  # whoever can write there could make us run anything
            folder = Path(tempfile.mkdtemp(prefix="trackless-kernels-"))
    except OSError as error:
        raise OSError(
            error.errno or errno.EACCES,
            "compiled kernels cannot be kept here, nor in the folder of the package, nor in the home folder; set "
            "NUMBA_CACHE_DIR to a folder that may be written to",
            str(folder.parent),
        ) from None
    setattr(numba_settings, "CACHE_DIR", str(folder))  # noqa: B010 (it is made when numba starts)


_keep_compiled_kernels()

# Reassociation and fused multiply-add let loops vectorise; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}
