"""Rows of a table in the order of the file: does time go backwards there, as where two experiments follow each other?

Frames that begin again at 0 would be merged with the first ones, one experiment on top of the other. Rows may still
come in any order where it is clear which belong together: runs, species and particles may follow one another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError

REMEDY = (
    "if another run begins here, number the runs in a column (columns={'run': ...}) or give each as a file of its own; "
    "if not, sort the rows by {clock}, or say which column names the particles (columns={'particle': ...})"
)


def order_of(keys: list[NDArray[Any]]) -> NDArray[np.int64] | None:
    """The order of rows by run, time, kind and particle; None where they are in it already, as most files are."""
    undecided = np.ones(len(keys[0]) - 1, dtype=bool)
    for key in reversed(keys):
        below = undecided & (key[1:] < key[:-1])
        if below.any() or (key.dtype.kind == "f" and np.isnan(key).any()):
            return np.lexsort(keys)
        undecided &= key[1:] == key[:-1]
    return None


def check_sequence(table: Any, times: NDArray[Any], groups: list[NDArray[Any]]) -> None:
    """Refuse a table in which time goes backwards within a run, unless particles have names that explain it.

    Parameters
    ----------
    table : Table
        With its particles, and for messages.
    times : array (rows,)
    groups : list of arrays (rows,)
        Rows belong together where all of them are equal: runs and species.
    """
    if not (times[1:] < times[:-1]).any():
        return
    order = np.lexsort([np.arange(len(times)), *groups])
    falls = times[order][1:] < times[order][:-1]
    for group in groups:
        falls &= group[order][1:] == group[order][:-1]
    if not falls.any():
        return
    particles = table.columns.get("particle")
    if particles is None or not _told_apart(particles):
        place = int(np.argmax(falls))
        raise _error(table, order[place], order[place + 1])
    place = _second_cast(particles[order], falls)
    if place is not None:
        raise _error(table, order[place], order[place + 1])


def _told_apart(particles: NDArray[Any]) -> bool:
    """Whether some particle is seen twice, so that names say which rows belong together; a number of each row does not.

    Of tables in which some particles have no name, those that have one tell.
    """
    named = particles[~np.isnan(particles)] if particles.dtype.kind == "f" else particles
    return len(np.unique(named)) < len(named)


def _second_cast(particles: NDArray[Any], falls: NDArray[np.bool_]) -> int | None:
    """The row after which time goes back and all particles are others than before, or None.

    A table that is sorted by particle looks like this, too, but there the rows of each particle follow one another.
    """
    if particles.dtype.kind == "f" and np.isnan(particles).any():
        return None
    _, first, codes = np.unique(particles, return_index=True, return_inverse=True)
    if np.count_nonzero(np.diff(codes)) == len(first) - 1:
        return None
    last = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(last, codes, np.arange(len(codes)))
    crossing = np.zeros(len(codes) + 1, dtype=np.int64)  # particles that are seen before and after a row
    np.add.at(crossing, first, 1)
    np.add.at(crossing, last, -1)
    alone = falls & (np.cumsum(crossing)[: len(falls)] == 0)
    return int(np.argmax(alone)) if alone.any() else None


def _error(table: Any, before: Any, after: Any) -> InputError:
    clock = "time" if "time" in table.columns else "frame"
    values = table.columns[clock]
    remedy = REMEDY.replace("{clock}", clock)
    return table.error(after, f"the {clock} goes back from {values[before]:g} to {values[after]:g}; {remedy}")
