"""Particles that are listed twice in a frame: by their name, which is an error, or by their place, which is said."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless.files.sequence import order_of
from trackless.wording import plural

_MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose bits are spread evenly


def check_once(
    table: Any, particles: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64] | None
) -> None:  # fmt: skip
    """Refuse a name that comes twice in a frame.

    Parameters
    ----------
    table : Table
        For messages.
    particles : array (rows,)
        Names in the order of runs, times and kinds.
    starts : array (frames,)
        First rows of frames.
    order : array (rows,) or None
        Where each row is in the file, if they were sorted.
    """
    frame = _frames(starts, len(particles))
    by_name = order_of([particles, frame])  # kinds may lie between two rows, so each frame is sorted again
    sorted_, frames = (particles, frame) if by_name is None else (particles[by_name], frame[by_name])
    twice = np.flatnonzero((sorted_[1:] == sorted_[:-1]) & (frames[1:] == frames[:-1]))
    if not len(twice):
        return
    pair = twice[0] + np.arange(2)
    pair = pair if by_name is None else by_name[pair]
    pair = np.sort(pair if order is None else order[pair])
    value = table.columns["particle"][pair[0]]
    name = table.texts["particle"][int(value)] if "particle" in table.texts else str(value).removesuffix(".0")
    further = "; if it is of another run, number the runs in a column (columns={'run': ...})"
    raise table.error(
        pair[1],
        f"particle {name} is in this frame already ({table.where(int(pair[0]))}); remove one, or leave {table.named} "
        f"out{further if table.named == 'the column' else ''}",
    )


def same_places(
    table: Any, points: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64] | None
) -> list[str]:  # fmt: skip
    """A word on particles that are exactly where another one of their frame is, as if it had been detected twice."""
    frame = _frames(starts, len(points))
    keys = np.zeros(len(points), dtype=np.uint64)
    for column in (frame, *points.T):
        keys ^= (column + 0.0).astype(np.float64).view(np.uint64)  # -0 is 0
        keys *= _MIX
        keys ^= keys >> np.uint64(29)
    in_order = np.sort(keys)
    again = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(again):
        return []
    rows = np.flatnonzero(np.isin(keys, again))
    _, first, which = np.unique(
        np.column_stack([frame[rows], points[rows]]), axis=0, return_index=True, return_inverse=True
    )
    doubles = np.flatnonzero(first[which.ravel()] != np.arange(len(rows)))
    if not len(doubles):
        return []
    there, other = rows[doubles[0]], rows[first[which.ravel()[doubles[0]]]]
    pair = np.sort([there, other] if order is None else order[[there, other]]).tolist()
    many = f", and so are {len(doubles) - 1:,} others" if len(doubles) > 1 else ""
    return [
        f"{table.source}, {table.where(pair[1])}: the particle is at the same place as another one of its frame "
        f"({table.where(pair[0])}){many}, {len(doubles):,} of {plural(len(points), 'position')}: if particles were "
        "detected twice, remove one of each pair; if places are rounded, write more digits"
    ]


def _frames(starts: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """The number of the frame of every row."""
    frame = np.zeros(rows, dtype=np.int64)
    frame[starts[1:]] = 1
    return np.cumsum(frame)
