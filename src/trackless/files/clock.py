"""What dt means beside a file's own times: one rule for all formats.

A file that counts frames or steps needs dt. Where it has times of its own, a dt that is given has to be what they say;
anything else would silently override one of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import TimeStepRefused

AGREED = 0.01  # of dt: clocks are read, and dt is rounded


def interval(times: Any, frames: Any = None) -> float | None:
    """The usual time from one frame to the next, or their mean where frames are numbered; None where there is none.

    Examples
    --------
    >>> interval([0.0, 0.1, 0.2, 0.6]), interval([0.0, 0.25, 1.0], frames=[0, 1, 4])
    (0.1, 0.25)
    """
    passed = np.diff(np.asarray(times, dtype=np.float64).ravel())
    if frames is None:
        return float(np.median(passed)) if len(passed) else None
    rise = np.diff(np.asarray(frames, dtype=np.float64).ravel())
    known = (rise > 0) & np.isfinite(passed) & (passed >= 0)  # rows of another run or particle may follow
    return float(passed[known].sum() / rise[known].sum()) or None if known.any() else None


def agrees(dt: float, own: float | None) -> bool:
    """Whether a dt that was given is the file's own."""
    return own is not None and abs(own - dt) <= AGREED * dt


def check_time_step(source: object, dt: float, times: Any, frames: Any = None) -> None:
    """Refuse a dt that is not what a file with times says."""
    own = interval(times, frames)
    if not agrees(dt, own):
        usual = f" (they are {own:g} apart, dt is {dt:g})" if own is not None else ""
        raise TimeStepRefused(f"{source}: the file holds times, so dt= is not needed; leave it out{usual}")


def check_column(source: object, dt: float, times: NDArray[Any], frames: NDArray[Any], dated: bool) -> None:
    """Refuse a dt for frames that are not so far apart in another column.

    Times that only repeat the frames, as programs write them that know of no time, do not count; dates always do.
    """
    own, ahead = interval(times, frames), (times - frames)[np.isfinite(times)]
    repeated = not dated and not np.any(ahead != ahead[:1])
    if own is not None and not agrees(dt, own) and not repeated:
        raise TimeStepRefused(
            f"{source}: dt is {dt:g}, but the file has a time column, too, and there frames are {own:g} apart; leave "
            "dt= out to take these times, or say which column counts: columns={'frame': ...} (--columns frame=...)"
        )
