"""One run as it was observed and as the fitted model continues its first snapshot, frame by frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.effort import effort_of
from trackless.futures import STEPS, Beginnings, as_simulated, simulated, why_not
from trackless.reporting.curves import plain
from trackless.snapshots import Snapshots
from trackless.space import wrap

Array = NDArray[np.float64]
MOST_FRAMES = 200
MOST_PARTICLES = 500
FINE = 9999  # positions are whole numbers up to this, over the range that is shown
MARGIN = 0.04  # of the range, to each side
WORK = 2e8  # forces that are computed at most: a few seconds


def animated(fitted: Any, snapshots: Snapshots, simulate: bool = True, seed: int = 0) -> dict[str, Any]:
    """Frames of one run, observed and simulated, as plain data, and what is to be said of them.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
    simulate : bool
        False leaves out the simulation.
    seed : int

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3)
    >>> fitted = tl.SelfTest(external=tl.RadialSplines(4), sigma=1.0).fit(data)
    >>> shown = animated(fitted, data, simulate=False)
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
    frames = [np.asarray(shown.frame(0, k), float) for k in range(len(times))]
    interval = float(np.diff(snapshots.times_of(run)[:2]).sum())
    paths, why = _continued(fitted, shown, frames, interval, seed) if simulate else (None, "")
    if paths is not None and len(paths) < len(times):
        sentences.append(f"The simulation ends at t = {times[len(paths) - 1]:.4g}: the rest is too much for a page.")
    if paths is not None:
        sentences.append("Simulated is the fitted model, from the same first snapshot on.")
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
    whole = f"every {_ordinal(stride)} of {length:,} snapshots" if stride > 1 else f"all {length:,} snapshots"
    whole = "its only snapshot" if length == 1 else whole
    said = f"Run {run + 1} of {snapshots.runs:,}, {whole}"
    if thin > 1:
        said += f", every {_ordinal(thin)} particle"
    if snapshots.dim > 2:
        said += f", the first two of {snapshots.dim} coordinates"
    return said + (". Time goes down, the line is now." if snapshots.dim == 1 else ".")


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def _continued(
    fitted: Any, shown: Snapshots, frames: list[Array], interval: float, seed: int
) -> tuple[list[Array] | None, str]:
    """The fitted model from the first snapshot on, at the same times (or the first of them); or why not."""
    why = why_not(fitted, shown, 0)
    if why:
        return None, f"Nothing was simulated: {why}."
    after = shown.times_of(0)[1:] - shown.times_of(0)[0]
    counts = tuple(shown.species_counts_of(0)[0].tolist())
    try:
        # as often as every frame, or as forces are stiff
        effort = effort_of(fitted, shown, min(float(after[-1]) / STEPS, interval))
        room = WORK / effort.of(float(after[-1]), len(after))
        kept = max(1, int(min(1.0, room) * len(after)))
        group = Beginnings(frames[0][None], np.stack(frames[1 : kept + 1])[None], after[:kept], counts, interval)
        model = as_simulated(fitted, [group])
        paths = simulated(model, fitted, group, tuple(shown.species or ()), shown.box, seed)
    except InputError as error:
        return None, f"The fitted model cannot be simulated: {error}."
    return [frames[0], *paths[0]], ""


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
