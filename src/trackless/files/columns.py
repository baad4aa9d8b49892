"""Which column of a table is what: a guess from the usual names, or as the user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trackless._errors import InputError, TimeStepNeeded
from trackless.files.source import listed

AXES = ("x", "y", "z")
NAMED = ("run", "particle", "species")  # columns that may hold names instead of numbers

# In the order of preference; "t" and its kin are times, or frames where a time between frames is given.
_EITHER = ("t", "position_t", "pos_t")
SYNONYMS: dict[str, tuple[str, ...]] = {
    "run": ("run", "movie", "experiment", "replicate", "replica", "video", "trial", "run_id", "movie_id", "realization",
            "realisation"),
    "frame": ("frame", "frame_number", "frame_no", "frame_id", "frame_index", "frameno", "frames", "timestep",
              "time_step", "step", "slice", "image", "image_number", *_EITHER),
    "time": ("time", "times", "timestamp", "elapsed_time", "time_point", "timepoint", *_EITHER),
    "particle": ("particle", "track", "track_id", "trackid", "trajectory", "trajectory_id", "particle_id",
                 "particleid", "particle_number", "object_id", "cell_id", "id"),
    "species": ("species", "kind", "type", "particle_type", "cell_type", "element"),
    **{
        axis: (axis, f"position_{axis}", f"pos_{axis}", f"{axis}_position", f"{axis}_pos", f"pos{axis}",
               f"{axis}_coordinate", f"{axis}_coord", f"{axis}_center", f"{axis}_centre", f"{axis}_centroid",
               f"center_{axis}", f"centre_{axis}", f"centroid_{axis}", f"{axis}m")
        for axis in AXES
    },
}  # fmt: skip
_UNIT = re.compile(
    r"_(um|μm|µm|mum|nm|mm|cm|m|px|pix|pixel|pixels|micron|microns|s|sec|secs|second|seconds|ms|min|h|frames)$"
)
_BRACKETS = re.compile(r"\s*(\[[^\]]*\]|\([^)]*\))\s*$")


@dataclass(frozen=True)
class Layout:
    """What the columns of a table were taken for.

    Attributes
    ----------
    names : dict of str to str
        The column of each role (x, y, z, frame, time, run, particle, species), as it is called in the file.
    ignored : tuple of str
        Columns that were not used.
    """

    names: dict[str, str]
    ignored: tuple[str, ...]

    def __str__(self) -> str:
        said = ", ".join(role if role == name else f"{role} from {name!r}" for role, name in self.names.items())
        return said + (f"; ignored: {', '.join(self.ignored)}" if self.ignored else "")


def layout(
    header: Sequence[str], source: object, dt: float | None = None, columns: Mapping[str, str] | None = None
) -> Layout:
    """Find the columns of a table by their names.

    Examples
    --------
    >>> print(layout(["", "Frame", "x [um]", "y [um]", "mass"], "tracks.csv", dt=0.1))
    frame from 'Frame', x from 'x [um]', y from 'y [um]'; ignored: mass
    """
    names = [name.strip() for name in header]
    chosen = _given(names, source, columns or {})
    for role in SYNONYMS:
        if role not in chosen:
            taken = {name for other, name in chosen.items() if {role, other} != {"frame", "time"}}
            found = _guess(role, [name for name in names if name and name not in taken], source)
            chosen |= {role: found} if found is not None else {}
    if "x" not in chosen:
        raise InputError(
            f"{source}: expected columns x, y[, z], found {listed(names)}; "
            "say which they are: columns={'x': ..., 'y': ...} (--columns x=...,y=...)"
        )
    _choose_clock(chosen, names, source, dt, columns or {})
    ordered = {role: chosen[role] for role in ("run", "frame", "time", "particle", "species", *AXES) if role in chosen}
    return Layout(ordered, tuple(name for name in names if name and name not in ordered.values()))


def check_roles(columns: Mapping[str, str]) -> None:
    """Refuse what cannot be right in any table: ``columns`` with roles that there are not, or two for one column."""
    for role in columns:
        if role not in SYNONYMS:
            raise InputError(
                f"columns: {role!r} is not one of {', '.join(SYNONYMS)}; "
                "say which column each of them is: columns={'x': ...}"
            )
    if "time" in columns and "frame" in columns:
        raise InputError("columns: give either time or frame, not both")
    if len({str(name) for name in columns.values()}) < len(columns):
        raise InputError(f"columns: one column was given for two things: {dict(columns)}")


def plain(name: str) -> str:
    """A column's name without case, units and punctuation: ``X Position [um]`` is ``x_position``."""
    simple = _BRACKETS.sub("", name.strip().strip("\"'").lower())
    simple = re.sub(r"[\s.:\-]+", "_", simple).strip("_")
    return _UNIT.sub("", simple)


def _given(names: list[str], source: object, columns: Mapping[str, str]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    check_roles(columns)
    for role, name in columns.items():
        same = [n for n in names if n == name] or [n for n in names if n.lower() == str(name).lower()]
        if not same:
            raise InputError(f"{source}: there is no column {name!r}; found {listed(names)}; name one of these")
        chosen[role] = same[0]
    if len(set(chosen.values())) < len(chosen):
        raise InputError(f"columns: one column was given for two things: {dict(columns)}")
    return chosen


def _guess(role: str, names: list[str], source: object) -> str | None:
    """The column with the most usual name for a role; names as they are come before names without their unit."""
    for synonym in SYNONYMS[role]:
        for simplified in (lambda name: name.strip("\"'").lower(), plain):
            found = [name for name in names if simplified(name) == synonym]
            # some programs write the frame twice: as the index of a table and as a column
            if len(set(found)) > 1 or (len(found) > 1 and role != "frame"):
                raise InputError(
                    f"{source}: the columns {' and '.join(found)} could both be {role}; say which: "
                    f"columns={{{role!r}: {found[0]!r}}} (--columns {role}={found[0]}), or rename one"
                )
            if found:
                return found[0]
    return None


def _choose_clock(
    chosen: dict[str, str], names: list[str], source: object, dt: float | None, columns: Mapping[str, str]
) -> None:
    """Keep either time or frame: times are used as they are, frames are turned into times by ``dt``."""
    frame, time = chosen.get("frame"), chosen.get("time")
    if frame is not None and time not in (None, frame) and "frame" not in columns and plain(frame) in _EITHER:
        frame = None  # there is a better column of times
    if frame is None and time is None:
        raise InputError(
            f"{source}: expected a column time or frame, found {listed(names)}; "
            "say which it is: columns={'frame': ...} (--columns frame=...)"
        )
    use_time = time is not None and (dt is None or frame is None)
    if "time" in columns or "frame" in columns:
        use_time = "time" in columns
    if use_time and dt is not None:
        raise InputError(
            f"{source}: the file has a time column, so dt= is not needed; leave it out, or, if {time} counts frames, "
            f"say so: columns={{'frame': {time!r}}} (--columns frame={time}, and --dt)"
        )
    if not use_time and dt is None:
        raise TimeStepNeeded(f"{source}: the file counts frames; give the time between them (dt=, --dt)")
    chosen.pop("frame" if use_time else "time", None)
