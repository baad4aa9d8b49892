"""Which column of a table is what: a guess from the usual names, or as the user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trackless._errors import InputError, TimeStepNeeded, TimeStepRefused
from trackless.files.source import listed

AXES = ("x", "y", "z")
NAMED = ("run", "particle", "species")  # columns that may hold names instead of numbers

# In the order of preference, as `plain` leaves them; "t" and its kin are times, or frames where a time between frames
# is given. Beside the obvious: trackpy, TrackMate, ImageJ, MTrackJ, Imaris, CellProfiler, ilastik, btrack.
_EITHER = ("t", "position_t", "pos_t")
_DAY = "date"  # as good as no time where frames are counted, since it may be that of the whole experiment
_OF_AXIS = (
    "{0}", "position_{0}", "pos_{0}", "{0}_position", "{0}_pos", "pos{0}", "{0}pos", "{0}_coordinate", "{0}_coord",
    "coordinate_{0}", "coord_{0}", "{0}_center", "{0}_centre", "{0}_centroid", "center_{0}", "centre_{0}",
    "centroid_{0}", "centroid{0}", "location_center_{0}", "location_{0}", "{0}_location", "loc_{0}", "{0}_loc",
    "area_shape_center_{0}", "center_of_mass_{0}", "com_{0}", "{0}_com", "{0}m", "c{0}", "center_of_the_object_{1}",
    "object_center_{1}",
)  # fmt: skip
SYNONYMS: dict[str, tuple[str, ...]] = {
    "run": ("run", "movie", "experiment", "replicate", "replica", "video", "trial", "run_id", "movie_id", "video_id",
            "realization", "realisation", "fov"),
    "frame": ("frame", "frame_number", "frame_no", "frame_id", "frame_index", "frame_idx", "frameno", "frames",
              "timestep", "time_step", "time_index", "time_frame", "timeframe", "step", "slice", "image",
              "image_number", "image_index", "imagenumber", *_EITHER),
    "time": ("time", "times", "timestamp", "time_stamp", "datetime", "date_time", "elapsed_time", "time_elapsed",
             "time_point", "timepoint", _DAY, *_EITHER),
    "particle": ("particle", "track", "track_id", "trackid", "trajectory", "trajectory_id", "traj", "traj_id",
                 "particle_id", "particleid", "particle_number", "track_number", "trajectory_number",
                 "track_objects_label", "tid", "animal", "animal_id", "individual", "agent", "agent_id", "atom_id",
                 "object_id", "cell_id", "id"),
    "species": ("species", "kind", "type", "particle_type", "cell_type", "element"),
    **{axis: tuple(name.format(axis, k) for name in _OF_AXIS) for k, axis in enumerate(AXES)},
}  # fmt: skip
_UNIT = re.compile(
    r"_(um|μm|µm|mum|nm|mm|cm|m|px|pix|pixel|pixels|micron|microns|s|sec|secs|second|seconds|ms|min|h|frames)$"
)
_NUMBER = re.compile(r"_?(#|n°|nº)$")
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
    clock : str or None
        One of these that holds times which frames and ``dt`` have to agree with.
    """

    names: dict[str, str]
    ignored: tuple[str, ...]
    clock: str | None = None

    @property
    def needed(self) -> dict[str, str]:
        """The columns that have to be looked at: those of ``names``, and ``clock``."""
        return self.names | ({"clock": self.clock} if self.clock is not None else {})

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
    clock = _choose_clock(chosen, names, source, dt, columns or {})
    ordered = {role: chosen[role] for role in ("run", "frame", "time", "particle", "species", *AXES) if role in chosen}
    return Layout(ordered, tuple(name for name in names if name and name not in ordered.values()), clock)


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
    simple = _BRACKETS.sub("", name.strip().strip("\"'"))
    simple = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", simple).lower()  # ImageNumber, posX
    simple = _NUMBER.sub("", re.sub(r"[\s.:,/\-]+", "_", simple).strip("_"))
    return re.sub(r"^(track_objects_label)_\d+$", r"\1", _UNIT.sub("", simple))


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
                which = f"say which: columns={{{role!r}: {found[0]!r}}} (--columns {role}={found[0]}), or "
                raise InputError(
                    f"{source}: the columns {' and '.join(found)} could both be {role}; "
                    f"{which if len(set(found)) > 1 else ''}rename one"
                )
            if found:
                return found[0]
    return None


def _choose_clock(
    chosen: dict[str, str], names: list[str], source: object, dt: float | None, columns: Mapping[str, str]
) -> str | None:
    """Keep either time or frame: times are used as they are, frames are turned into times by ``dt``.

    A column of times that was dropped for frames, though nobody said so, is given back.
    """
    frame, time = chosen.get("frame"), chosen.get("time")
    if frame is not None and time not in (None, frame) and "frame" not in columns and plain(frame) in _EITHER:
        frame = None  # there is a better column of times
    if frame is not None and time is not None and "time" not in columns and plain(time) == _DAY:
        time = None
    if frame is None and time is None:
        raise InputError(
            f"{source}: expected a column time or frame, found {listed(names)}; "
            "say which it is: columns={'frame': ...} (--columns frame=...)"
        )
    use_time = time is not None and (dt is None or frame is None)
    if "time" in columns or "frame" in columns:
        use_time = "time" in columns
    if use_time and dt is not None:
        raise TimeStepRefused(
            f"{source}: the file has a time column, so dt= is not needed; leave it out, or, if {time} counts frames, "
            f"say so: columns={{'frame': {time!r}}} (--columns frame={time}, and --dt)",
            compared=False,
        )
    if not use_time and dt is None:
        raise TimeStepNeeded(f"{source}: the file counts frames; give the time between them (dt=, --dt)")
    chosen.pop("frame" if use_time else "time", None)
    return time if not use_time and time != frame and "frame" not in columns else None
