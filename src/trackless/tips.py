"""Functions with a slope at r = 0, and particles that lie there: they have no Laplacian."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.pieces import Task
from trackless.tables import Families, RadialTable, TensorTable

Array = NDArray[np.float64]


def at_centre(points: Array, starts: NDArray[np.int64], families: Families) -> NDArray[np.bool_]:
    """Whether a particle of each snapshot lies where distances are measured from."""
    found = np.zeros(len(starts), dtype=bool)
    for kind, table in enumerate(families.external):
        at = np.flatnonzero((points == table.origin).all(axis=1)) if isinstance(table, RadialTable) else ()
        if len(at) and _has_tip(table):
            place = np.searchsorted(starts[:, 0], at, side="right") - 1
            of_kind = (starts[place, kind] <= at) & (at < starts[place, kind + 1])
            found[place[of_kind]] = True
    return found


def check_tips(task: Task, found: NDArray[np.bool_], tables: tuple, what: str) -> None:
    """Refuse snapshots that were found to have a particle there, if a function has a tip."""
    if found.any() and any(_has_tip(table) for table in tables):
        run, frame = divmod(int(np.argmax(found)), task.piece.last - task.piece.first + 1)
        raise InputError(
            f"{what} in run {task.runs[run]}, frame {task.piece.first + frame}, where a function with "
            "a slope at r = 0 has no Laplacian; remove the particle, or use functions that are flat at 0 "
            "(tl.RadialSplines(..., flat_center=True))"
        )


def _has_tip(table: RadialTable | TensorTable) -> bool:
    return isinstance(table, RadialTable) and bool(_slopes_at_zero(table).any())


def _slopes_at_zero(table: RadialTable) -> NDArray[np.bool_]:
    position = (0.0 - table.bottom) * table.bins_per_unit + 1.0
    cell = table.cell_of[:, max(int(position), 0)]
    u = 0.0 - table.left[cell]
    c1, c2, c3 = (table.coef[:, cell, k] for k in (1, 2, 3))
    return np.abs(c1 + u * (2 * c2 + 3 * u * c3)) > 0
