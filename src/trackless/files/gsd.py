"""GSD files of HOOMD-blue: one run per file, always in a periodic box.

Particles are in the order of their tags, so that data with a constant number of particles are labeled. Positions are
counted from the middle of the box there and from its lower end here. What a frame does not say is as in the first
frame. The chunks are read one by one instead of by the library's own frames, which believe any number of particles that
a damaged file claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.files.extras import needed
from trackless.files.frames import NOT_FLAT, Frame, assembled
from trackless.files.source import looks_like
from trackless.snapshots import Snapshots

EXTRA = "gsd"
SLACK = 1e-3  # of a side; positions are single-precision numbers
SMALLEST_FRAME = 32  # bytes: one entry of the file's index


def read_gsd(path: Path, dt: float | None = None, box: Any = None) -> tuple[Snapshots, tuple[str, ...]]:
    """Every frame of the file; ``dt`` is the time of one step."""
    library = needed("gsd.fl", EXTRA, path)
    # a damaged file can make the library complain in many ways; none of them is the user's concern
    try:
        with library.open(str(path), "r") as file:
            frames = list(_frames(file, path))
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError, OverflowError, MemoryError):
        said = looks_like(path) or "it is damaged, cut short or of another format; copy or write it again"
        raise InputError(f"{path}: not a readable GSD file: {said}") from None
    constant = len({len(frame.points) for frame in frames}) == 1
    for frame in frames:
        frame.ids = np.arange(len(frame.points)) if constant else None
    return assembled(path, frames, dt, box, flat=NOT_FLAT)


def _frames(file: Any, path: Path) -> Iterator[Frame]:
    if file.schema != "hoomd":
        raise InputError(f"{path}: a GSD file of schema {file.schema!r}, expected 'hoomd'; write positions with HOOMD")
    if file.nframes * SMALLEST_FRAME > path.stat().st_size:
        raise InputError(f"{path}: it claims more frames than it has room for; it is damaged: copy it again")
    for k in _progress.track(range(file.nframes), "reading", file.nframes):
        sides = _chunk(file, k, "configuration/box", np.array([1.0, 1, 1, 0, 0, 0])).astype(np.float64).ravel()
        if len(sides) != 6 or (sides[3:] != 0).any():
            raise InputError(f"{path}, frame {k}: the box is triclinic; only boxes with right angles can be read")
        count = int(_chunk(file, k, "particles/N", np.array([0]))[0])
        points = _chunk(file, k, "particles/position", np.zeros((0, 3))).astype(np.float64)
        if points.shape != (count, 3):
            raise InputError(
                f"{path}, frame {k}: expected positions of {count} particles, found shape {points.shape}; "
                "remove the frame, or write it again"
            )
        dim = 2 if int(_chunk(file, k, "configuration/dimensions", np.array([3]))[0]) == 2 else 3
        step = float(_chunk(file, k, "configuration/step", np.array([0]))[0])
        yield Frame(
            points[:, :dim] + 0.5 * sides[:dim], None, step, tuple(sides[:dim].tolist()), (True,) * dim,
            _types(file, k, count, path), None, None, SLACK, -0.5 * sides[:dim],
        )  # fmt: skip


def _chunk(file: Any, frame: int, name: str, default: NDArray[Any]) -> NDArray[Any]:
    """A chunk of a frame, of the first frame if it has none, or the default of the format."""
    for k in (frame, 0):
        if file.chunk_exists(frame=k, name=name):
            return np.asarray(file.read_chunk(frame=k, name=name))
    return default


def _types(file: Any, frame: int, count: int, path: Path) -> NDArray[np.str_]:
    """The name of each particle's type; in the file names are rows of bytes that end with a zero."""
    rows = np.atleast_2d(_chunk(file, frame, "particles/types", np.frombuffer(b"A\0", dtype=np.uint8)))
    names = [row.astype(np.uint8).tobytes().partition(b"\0")[0].decode("utf-8") for row in rows]
    numbers = _chunk(file, frame, "particles/typeid", np.zeros(count, dtype=np.uint32)).tolist()
    if len(numbers) != count or not all(0 <= number < len(names) for number in numbers):
        raise InputError(
            f"{path}, frame {frame}: the types do not fit its {count} particles; it is damaged: copy it again"
        )
    return np.array([names[number] for number in numbers], dtype=str)
