"""Times that are dates, clock readings or durations, as seconds.

Text is taken for a date only where there is one way to read it: ISO 8601 (2024-05-01 12:00:00.5, also with T, slashes
or a time zone), and clock readings H:MM:SS. 01/05/2024 may be a day in May or in January.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXAMPLE = "2024-05-01 12:00:00.5"
START = datetime(1970, 1, 1)
_YEAR_FIRST = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)")
_CLOCK = re.compile(r"(\d{1,4}):(\d\d):(\d\d(?:[.,]\d+)?)")


def microseconds(text: str) -> float | None:
    """A date or clock reading as microseconds since some start (exact for three centuries), or None.

    Examples
    --------
    >>> later, sooner = microseconds("2024-05-01T12:00:00.5Z"), microseconds("2024/05/01 11:59:00")
    >>> (later - sooner) / 1e6
    60.5
    >>> microseconds("0:01:30.25"), microseconds("01/05/2024 12:00")
    (90250000.0, None)
    """
    text = text.strip().strip('"')
    if not text.isascii():
        return None
    if (clock := _CLOCK.fullmatch(text)) is not None:
        hours, minutes, seconds = clock.groups()
        return 1e6 * (3600 * int(hours) + 60 * int(minutes)) + round(1e6 * float(seconds.replace(",", ".")))
    if _YEAR_FIRST.match(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text.replace("/", "-").replace(",", "."))
    except ValueError:
        return None
    away = moment.utcoffset() or timedelta(0)
    return float((moment.replace(tzinfo=None) - START - away) // timedelta(microseconds=1))


def seconds_of(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """A column of dates, durations or text that says them, as seconds from the first of all; None of anything else."""
    if column.dtype.kind in "Mm":
        moments = column.astype(f"{column.dtype.kind}8[ns]").astype(np.int64)
        missing = np.isnat(column)
        return _since_first(moments, missing, 1e9)
    known = {value: microseconds(value) for value in {str(value) for value in column.tolist()}}
    if any(moment is None for moment in known.values()):
        return None
    return _since_first(np.array([known[str(value)] for value in column.tolist()], float), None, 1e6)


def _since_first(moments: NDArray[Any], missing: NDArray[np.bool_] | None, unit: float) -> NDArray[np.float64]:
    there = moments if missing is None else moments[~missing]
    seconds = (moments - (there.min() if len(there) else 0)) / unit
    if missing is not None:
        seconds[missing] = np.nan
    return seconds


def from_each_start(times: NDArray[np.float64], runs: NDArray[Any] | None) -> NDArray[np.float64]:
    """Times from the first of each run."""
    if runs is None:
        return times - times.min()
    names, which = np.unique(runs, return_inverse=True)
    first = np.full(len(names), np.inf)
    np.minimum.at(first, which, times)
    return times - first[which]
