"""One run as it was observed and as the fitted model continues its first snapshot, frame by frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.reporting.curves import plain
from trackless.reporting.prediction import Clock, as_simulated, cannot_be_simulated, path
from trackless.snapshots import Snapshots
from trackless.space import wrap

Array = NDArray[np.float64]
MOST_FRAMES = 200
MOST_PARTICLES = 500
FINE = 9999  # positions are whole numbers up to this, over the range that is shown
MARGIN = 0.04  # of the range, to each side


def animated(fitted: Any, snapshots: Snapshots, explored: Exploration, simulated: bool = True) -> dict[str, Any]:
    """Frames of one run, observed and simulated, as plain data, and what is to be said of them.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
    explored : Exploration
        What they explored.
    simulated : bool
        False leaves out the simulation.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3)
    >>> fitted = tl.SelfTest(external=tl.RadialSplines(4), sigma=1.0).fit(data)
    >>> shown = animated(fitted, data, Exploration(data), simulated=False)
    >>> len(shown["times"]), shown["sentences"][0]
    (21, 'Run 1 of 20, all 21 snapshots.')
    """
    lengths = [len(snapshots.times_of(m)) for m in range(snapshots.runs)]
    run = int(np.argmax(lengths))
    stride = -(-lengths[run] // MOST_FRAMES)
    shown = snapshots._cut([(run, slice(0, None, stride))])
    times = shown.times_of(0)
    thin = -(-int(shown.counts_of(0).max()) // MOST_PARTICLES)
    sentences = [_extent(snapshots, run, lengths[run], stride, thin)]
    paths, why = _simulated(fitted, shown, explored, stride) if simulated else (None, "")
    if paths is not None and len(paths) < len(times):
        sentences.append(f"The simulation ends at t = {times[len(paths) - 1]:.4g}: it takes too long for a report.")
    if paths is not None:
        sentences.append("Simulated is the fitted model, from the same first snapshot on.")
    frames = [np.asarray(shown.frame(0, k), float) for k in range(len(times))]
    counts = shown.species_counts_of(0)
    lower, upper = _bounds(shown, frames)
    return {
        "dim": min(shown.dim, 2), "lower": plain(lower), "upper": plain(upper), "boxed": shown.box is not None,
        "species": list(shown.species or ()), "times": plain(times),
        "observed": _encoded(frames, counts, shown, lower, upper, thin),
        "simulated": _encoded(list(paths), counts, shown, lower, upper, thin) if paths is not None else None,
        "sentences": sentences + ([why] if why else []),
    }  # fmt: skip


def _extent(snapshots: Snapshots, run: int, length: int, stride: int, thin: int) -> str:
    """What is shown, in words."""
    whole = f"all {length:,} snapshots" if stride == 1 else f"every {_ordinal(stride)} of {length:,} snapshots"
    said = f"Run {run + 1} of {snapshots.runs:,}, {whole}"
    if thin > 1:
        said += f", every {_ordinal(thin)} particle"
    if snapshots.dim > 2:
        said += f", the first two of {snapshots.dim} coordinates"
    return said + (". Time goes down, the line is now." if snapshots.dim == 1 else ".")


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def _simulated(fitted: Any, shown: Snapshots, explored: Exploration, stride: int) -> tuple[Array | None, str]:
    """The fitted model from the first snapshot on, at the same times, (times or fewer, particles, dim); or why not."""
    why = cannot_be_simulated(fitted, shown, 0)
    if why:
        return None, why
    try:
        return path(as_simulated(fitted, explored), shown, shown.times_of(0), Clock(), stride)[0], ""
    except InputError as error:
        return None, f"The fitted model cannot be simulated: {error}."


def _bounds(shown: Snapshots, frames: list[Array]) -> tuple[Array, Array]:
    """What is shown of space: the box, or where the observed particles were, with a margin."""
    if shown.box is not None:
        return np.zeros(shown.dim)[:2], np.array(shown.box)[:2]
    points = np.concatenate(frames)[:, :2]
    lower, upper = points.min(axis=0), points.max(axis=0)
    wide = np.where(upper > lower, upper - lower, 1.0)
    return lower - MARGIN * wide, upper + MARGIN * wide


def _encoded(
    frames: list[Array], counts: NDArray[np.int64], shown: Snapshots, lower: Array, upper: Array, thin: int
) -> dict[str, Any]:
    """Positions as whole numbers, coordinate by coordinate of particle after particle; and how many of each kind."""
    kept, positions = [], []
    for frame, numbers in zip(frames, counts, strict=False):
        kinds = [own[::thin] for own in np.split(wrap(frame, shown.box)[:, :2], np.cumsum(numbers)[:-1])]
        kept.append([len(own) for own in kinds])
        positions.append(np.rint(FINE * (np.concatenate(kinds) - lower) / (upper - lower)).astype(int).ravel().tolist())
    return {"counts": kept, "positions": positions}
