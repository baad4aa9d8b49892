"""A first look at a file: what is in it, could it be tracked, and what could a fit learn from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError, TimeStepNeeded, TimeStepRefused
from trackless.accumulation import FEW_BLOCKS, usual_windows
from trackless.exploration import Exploration, coincidence, explore
from trackless.files import read_with_notes
from trackless.files.formats import Reading
from trackless.gaps import Gaps
from trackless.observation import EVERYTHING
from trackless.prospects import Prospect, prospect
from trackless.snapshots import EVEN, Snapshots
from trackless.space import half_box
from trackless.spacing import Spacing, spacing
from trackless.unsaid import unsaid
from trackless.wording import plural, rounded

GAP = 1.5  # times the usual interval
FEW = 8  # blocks, below which error bars are rough


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found; printed, it is a page of sentences.

    Attributes
    ----------
    source, format : str
    columns : dict of str to str
        Which column of a table was taken for what.
    ignored : tuple of str
        Its other columns.
    runs, snapshots, dim : int
    snapshots_per_run : (int, int)
        Fewest and most.
    times : (float, float)
        First and last.
    interval : float or None
        The usual (median) time between snapshots.
    even : bool
        Whether all intervals are the same.
    gaps : int
        Intervals longer than 1.5 times the usual one.
    splits : int
        Gaps at which a fit splits runs.
    particles : (int, float, int)
        Fewest, mean and most in a snapshot.
    constant_count : bool
        Whether the number of particles stays the same within every run.
    species : dict of str to float, or None
        Mean number of each kind in a snapshot.
    box : tuple of float or None
    labeled : bool
    lower, upper : tuple of float
        Bounds of all positions.
    distances : (float, float, float) or None
        Shortest, median and longest pair distance in a sample of snapshots.
    step, neighbour : float or None
        How far particles move between snapshots, and how far apart they are (see :class:`trackless.spacing.Spacing`).
    description, findings : tuple of str
        What is in the file, and what follows from it, as sentences.
    """

    source: str
    format: str
    columns: dict[str, str]
    ignored: tuple[str, ...]
    runs: int
    snapshots: int
    dim: int
    snapshots_per_run: tuple[int, int]
    times: tuple[float, float]
    interval: float | None
    even: bool
    gaps: int
    splits: int
    particles: tuple[int, float, int]
    constant_count: bool
    species: dict[str, float] | None
    box: tuple[float, ...] | None
    labeled: bool
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    distances: tuple[float, float, float] | None
    step: float | None
    neighbour: float | None
    description: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.description, *(f"- {sentence}" for sentence in self.findings)])

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and sentences."""
        return asdict(self)


def inspect(
    data: Any,
    dt: float | None = None,
    columns: Mapping[str, str] | None = None,
    box: float | Sequence[float] | None = None,
    max_gap: float | str | None = "auto",
    every: int = 1,
) -> Inspection:
    """Look at a file (several files, a pandas table, or Snapshots) before fitting anything.

    Parameters
    ----------
    data : path, pandas.DataFrame, list of them, or Snapshots
    dt, columns, box
        As for :func:`trackless.read`; without ``dt`` the times of a file that counts frames are in frames.
    max_gap
        As for :func:`trackless.fit`.
    every : int
        Look at every so many-th snapshot only.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=100, duration=0.1, step=1e-2, observe_every=1e-2)
    >>> found = tl.inspect(data)
    >>> found.runs, found.particles
    (100, (10, 10.0, 10))
    >>> print(found.description[1])
    100 runs of 11 snapshots, from time 0 to 0.1, one every 0.01
    """
    counted = ""  # what stands for time where there is none
    if isinstance(data, Snapshots):
        if not (dt is None and columns is None and box is None):
            raise InputError("inspect: dt=, columns= and box= are for files; Snapshots have times and box of their own")
        reading, source = Reading(data, "Snapshots"), "Snapshots"
    else:
        data = list(data) if isinstance(data, Iterator) else data  # it may be read twice
        source = _name(data)
        try:
            reading = read_with_notes(data, dt, columns, box)
        except TimeStepNeeded as needed:
            try:
                reading, counted = read_with_notes(data, 1.0, columns, box), needed.counted
            except TimeStepRefused:  # by another of several files
                raise needed from None
    reading = replace(reading, snapshots=reading.snapshots.every(every))
    gaps = reading.snapshots.gaps(max_gap)
    found, measured, expected = _numbers(reading, source, gaps)
    pieces = reading.snapshots.without_gaps(max_gap)
    findings = [
        *reading.notes, *_time_findings(found, gaps, counted), *unsaid(pieces, EVERYTHING), _tracking(found, measured),
        *_fit_findings(found, expected, explore(reading.snapshots), reading.notes),
        *_block_findings(found, pieces.runs, usual_windows(pieces)),
    ]  # fmt: skip
    return replace(
        found, description=tuple(_description(found, counted or "time")), findings=tuple(filter(None, findings))
    )


def _name(data: Any) -> str:
    if isinstance(data, (str, Path)):
        return str(data)
    if isinstance(data, (list, tuple)):
        return f"{len(data)} files" if len(data) != 1 else _name(data[0])
    return "the table"


def _numbers(reading: Reading, source: str, gaps: Gaps) -> tuple[Inspection, Spacing, Prospect | None]:
    data = reading.snapshots
    different = range(1 if data.regular else data.runs)
    explored, measured = explore(data), spacing(data)
    counts = np.concatenate([data.counts_of(m) for m in different])
    lengths = [len(data.times_of(m)) for m in different]
    ends = [(float(data.times_of(m)[0]), float(data.times_of(m)[-1])) for m in different]
    intervals = data.intervals()
    usual = float(np.median(intervals)) if len(intervals) else None
    pairs = explored.distances
    closest = np.inf if measured.closest is None else measured.closest  # pairs are a sample, which hardly holds it
    distances = (min(float(pairs.min()), closest), float(np.median(pairs)), float(pairs.max())) if len(pairs) else None
    species = None
    if data.species is not None:
        kinds = np.concatenate([data.species_counts_of(m) for m in range(data.runs)]).mean(axis=0)
        species = dict(zip(data.species, map(float, kinds), strict=True))
    found = Inspection(
        source=source,
        format=reading.format,
        columns=reading.layout.names if reading.layout is not None else {},
        ignored=reading.layout.ignored if reading.layout is not None else (),
        runs=data.runs,
        snapshots=data.frames,
        dim=data.dim,
        snapshots_per_run=(min(lengths), max(lengths)),
        times=(min(first for first, _ in ends), max(last for _, last in ends)),
        interval=usual,
        even=usual is not None and float(np.ptp(intervals)) <= EVEN * usual * len(intervals),
        splits=gaps.count,
        gaps=int((intervals > GAP * usual).sum()) if usual is not None else 0,
        particles=(int(counts.min()), float(counts.mean()), int(counts.max())),
        constant_count=data.constant_count,
        species=species,
        box=data.box,
        labeled=data.labeled,
        lower=tuple(map(float, explored.lower)),
        upper=tuple(map(float, explored.upper)),
        distances=distances,
        step=measured.step,
        neighbour=measured.neighbour,
    )
    return found, measured, prospect(data, explored, measured) if usual is not None else None


def _description(found: Inspection, clock: str) -> list[str]:
    fewest, most = found.snapshots_per_run
    each = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    pace = "" if found.interval is None else f", one every {found.interval:g}" + ("" if found.even else " (median)")
    low, mean, high = found.particles
    particles = f"{high:,}" if low == high else f"{low:,} to {high:,} (mean {mean:.4g})"
    ranges = ", ".join(
        f"{axis} {a:.4g} to {b:.4g}" for axis, a, b in zip(_axes(found.dim), found.lower, found.upper, strict=True)
    )
    said = [f"{found.source} ({found.format})"]
    if found.columns:
        taken = ", ".join(f"{role} from column {name!r}" for role, name in found.columns.items())
        said.append(taken + (f"; ignored: {', '.join(found.ignored)}" if found.ignored else ""))
    said += [
        f"{plural(found.runs, 'run')} of {each} snapshot{'s' * (most != 1)}, from {clock} {_ends(found)}{pace}",
        f"{particles} particle{'s' * (high > 1)} in a snapshot, {'labeled' if found.labeled else 'unlabeled'}, in "
        + (f"{found.dim} dimensions" if found.dim > 1 else "1 dimension")
        + (f", periodic box {' x '.join(f'{side:g}' for side in found.box)}" if found.box else ", free space"),
    ]
    if found.species is not None:
        said.append("species: " + ", ".join(f"{name} (mean {mean:.4g})" for name, mean in found.species.items()))
    said.append(f"positions: {ranges}")
    if found.distances is not None:
        low, median, high = found.distances
        said.append(f"pair distances: {low:.4g} to {high:.4g}, median {median:.4g}")
    return said


def _ends(found: Inspection) -> str:
    """First and last time, with as many digits as tell them apart from their neighbours."""
    first, last = found.times
    known = found.interval is None or max(abs(first), abs(last)) < 1e5 * found.interval
    return f"{first:g} to {last:g}" if known else f"{first:.15g} to {last:.15g}"


def _axes(dim: int) -> list[str]:
    return list("xyz")[:dim] if dim <= 3 else [f"x{k + 1}" for k in range(dim)]


def _time_findings(found: Inspection, gaps: Gaps, counted: str) -> list[str]:
    said = []
    if counted:
        length = "the time between them" if counted == "frame" else f"the time of one {counted}"
        said.append(f"the file counts {counted}s, so that times are in {counted}s here; give {length} (dt=, --dt)")
    if found.gaps and found.interval is not None:
        many = f"{plural(found.gaps, 'interval')} {'is' if found.gaps == 1 else 'are'}"
        bridged = "" if gaps.count else "; a fit integrates over them, max_gap= splits runs there"
        said.append(
            f"{many} longer than {GAP:g} times the usual one ({rounded(found.interval)}): snapshots are missing there"
            f"{bridged}"
        )
    if gaps.count:
        said.append(f"a fit takes what is before and after a gap as runs of their own: {gaps.sentence} (max_gap=)")
    return said


def _tracking(found: Inspection, measured: Spacing) -> str:
    if measured.ratio is None:
        return ""
    moved = (
        f"particles move {'' if measured.from_labels or measured.ratio < 0.5 else 'at least '}{found.step:.3g} (median)"
    )
    against = f"{moved} between snapshots and are {found.neighbour:.3g} away from their nearest neighbour"
    if measured.ratio >= 1:
        return f"{against}: tracking is hopeless at this interval"
    if measured.ratio >= 0.5:
        return f"{against}: tracking would often take one for another"
    return f"{against}: tracking would work, too"


def _fit_findings(
    found: Inspection, expected: Prospect | None, explored: Exploration, notes: Sequence[str]
) -> list[str]:  # fmt: skip
    """What a fit could identify."""
    if found.snapshots_per_run[0] < 2:
        some = "a run has" if found.runs > 1 else "there is"
        return [f"{some} only one snapshot: no change is seen, so nothing can be learnt; leave such runs out"]
    said = []
    most = found.particles[2]
    if most < 2:
        said.append(
            "one particle in a snapshot: there is no interaction to learn (interaction=None, --interaction none)"
        )
    elif found.distances is not None:
        farthest = min(found.distances[2], half_box(found.box))
        beyond = ", half the box" if found.box is not None and farthest < found.distances[2] else ""
        said.append(
            f"an interaction could be seen only at distances from {found.distances[0]:.3g} to {farthest:.3g}{beyond}"
        )
        said += [expected.sentence] if expected is not None else []
        said += [expected.hole] if expected is not None and expected.hole else []
    if not any("the same place" in one for one in notes):  # where they are, the file has said
        said.append(coincidence(explored))
    if most > 1 and not found.constant_count:
        said.append(
            "the number of particles changes within a run: forces must add up instead of being averaged "
            "(coupling='sum'; trackless fit does so by itself)"
        )
    return said


def _block_findings(found: Inspection, runs: int, windows: int) -> list[str]:
    """What error bars are made of, and what else could be compared."""
    if found.snapshots_per_run[0] < 2:
        return []
    said = []
    if runs * windows < 2:
        said.append(
            "one run of two snapshots: a fit finds no scatter that errors could be told by; it needs more snapshots or "
            "runs, or does without error bars (--method self-test --regularization 0.01)"
        )
    elif runs < FEW_BLOCKS:
        trust = "too few to trust them" if runs * windows < FEW else "right if the motion forgets within a window"
        each = "each" if runs > 1 else "it"
        said.append(
            f"{plural(runs, 'run')}: {plural(windows, 'time window')} of {each} "
            f"serve{'s' * (windows == 1)} as block{'s' * (windows > 1)} for error bars, {trust}"
        )
    if "particle" in found.columns and not found.labeled:
        said.append("not every snapshot holds the same particles, so that their names are not used as labels")
    if found.labeled:
        said.append("particles are labeled: estimates that follow them can be compared (--method labeled)")
    return said
