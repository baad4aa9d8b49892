"""read and write: choose the format by the file's ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path

from trackless._errors import InputError
from trackless.files import csv, npz
from trackless.files.atomic import replacing
from trackless.snapshots import Snapshots, concatenate

READERS: dict[str, Callable[..., Snapshots]] = {".npz": npz.read, ".npy": npz.read_array, ".csv": csv.read}
WRITERS: dict[str, Callable[[Snapshots, Path], None]] = {".npz": npz.write, ".csv": csv.write}


def read(path: str | Path | Sequence[str | Path], dt: float | None = None) -> Snapshots:
    """Read snapshots from a file, or from several as further runs.

    Parameters
    ----------
    path : path or list of paths
        ``.npz`` (written by :func:`write`), ``.npy`` (runs, times, particles, dim; memory-mapped; needs ``dt``)
        or ``.csv`` with columns time (or frame), x, y[, z], and optionally run and particle.
    dt : float, optional
        Time between frames, where the file counts frames.

    Examples
    --------
    >>> import tempfile, pathlib, trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=2, duration=0.02, step=1e-3)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> tl.write(data, file)
    >>> bool((tl.read(file).positions == data.positions).all())
    True
    """
    if dt is not None and not (isfinite(dt) and dt > 0):
        raise InputError(f"dt: expected a positive time between frames, got {dt!r}")
    if not isinstance(path, (str, Path)):
        return concatenate([read(p, dt) for p in path])
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(f"{file}: cannot read {file.suffix or 'a file without ending'}; known: {', '.join(READERS)}")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    return reader(file, dt)


def write(snapshots: Snapshots, path: str | Path, overwrite: bool = False) -> None:
    """Write snapshots as ``.npz`` (exact and compact) or ``.csv`` (run, time, [particle,] x, y[, z])."""
    writer = WRITERS[check_writable(Path(path)).suffix.lower()]
    with replacing(path, overwrite) as temporary:
        writer(snapshots, temporary)


def check_writable(path: Path) -> Path:
    """The path, if its ending is one we write."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path}: cannot write {path.suffix or 'a file without ending'}; known: {', '.join(WRITERS)}")
    return path
