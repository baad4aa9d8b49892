"""Free space and periodic boxes: displacement and wrapping.

A box is a tuple of side lengths, one per dimension; ``None`` is free space. Kernels take the lengths as an
array in which 0 means "not periodic", so that one formula serves both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError

Box = tuple[float, ...] | None


def checked_box(box: float | Sequence[float] | None, dim: int) -> Box:
    """Side lengths as a tuple of ``dim`` positive numbers, or None for free space.

    Examples
    --------
    >>> checked_box(10.0, dim=2)
    (10.0, 10.0)
    """
    if box is None:
        return None
    try:
        given = np.asarray([] if isinstance(box, str) else box, dtype=float)
    except (TypeError, ValueError):
        given = np.empty(0)
    sides = np.broadcast_to(given, (dim,)) if given.ndim == 0 else given
    if sides.shape != (dim,) or not np.all(np.isfinite(sides)) or np.any(sides <= 0):
        raise InputError(f"box: expected one positive length or {dim} of them, got {box!r}")
    return tuple(float(side) for side in sides)


def side_lengths(box: Box, dim: int) -> NDArray[np.float64]:
    """The box as kernels take it, shape (dim,): 0 stands for a direction that is not periodic."""
    return np.zeros(dim) if box is None else np.asarray(box, dtype=float)


def half_box(box: Box) -> float:
    """The largest distance for which the minimum image is unique (infinite in free space)."""
    return np.inf if box is None else 0.5 * min(box)


def displacement(x: ArrayLike, y: ArrayLike, box: Box = None) -> NDArray[np.float64]:
    """``x - y``, to the nearest periodic image; shapes (..., dim).

    Examples
    --------
    >>> displacement([0.5, 0.0], [9.5, 0.0], box=(10.0, 10.0))
    array([1., 0.])
    """
    difference = np.asarray(x, dtype=float) - np.asarray(y, dtype=float)
    if box is None:
        return difference
    sides = np.asarray(box)
    return difference - sides * np.rint(difference / sides)


def wrap(x: ArrayLike, box: Box) -> NDArray[np.float64]:
    """Positions (..., dim) moved into [0, side) along each periodic direction."""
    positions = np.asarray(x, dtype=float)
    if box is None:
        return positions
    inside = np.mod(positions, np.asarray(box))
    return np.where(inside < np.asarray(box), inside, 0.0)  # a tiny negative number rounds up to the side
