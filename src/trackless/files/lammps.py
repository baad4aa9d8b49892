"""LAMMPS dumps as text: ITEM sections, one run per file.

Positions are counted from the lower end of a periodic box; in free space (no direction periodic) they stay as they
are. Types (or elements, if the dump has them) are species where there are several.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trackless.files.frames import Array, Frame, assembled
from trackless.files.source import Lines, is_number, quoted, whole_number
from trackless.files.writing import frames_of
from trackless.snapshots import Snapshots

# The simulation wraps atoms only now and then, so that in a dump some are a little outside.
SLACK = 0.1  # of a side
DAMAGED = "the file is damaged, or no LAMMPS dump"
# How positions may be written: endings of the columns x.., y.., z..; scaled by the box; wrapped into it.
STYLES = (("", False, True), ("s", True, True), ("u", False, False), ("su", True, False))


def read_lammps(path: Path, dt: float | None = None, box: Any = None) -> tuple[Snapshots, tuple[str, ...]]:
    """Every frame of the dump; ``dt`` is the time of one timestep, where the dump has no ITEM: TIME."""
    return assembled(path, _frames(Lines(path)), dt, box)


def _frames(lines: Lines) -> Iterator[Frame]:
    while (section := _section(lines)) is not None:
        values = {"UNITS": "", "TIME": "", "TIMESTEP": "", "NUMBER OF ATOMS": ""}
        while section in values:
            if values[section]:
                raise lines.error(f"'ITEM: {section}' comes twice in a frame; {DAMAGED}")
            values[section] = _next(lines, f"the value of ITEM: {section}").strip()
            section = _section(lines) or ""
        if not section.startswith("BOX BOUNDS"):
            raise lines.error(f"expected 'ITEM: BOX BOUNDS', found {quoted(f'ITEM: {section}')}; {DAMAGED}")
        for name in ("TIMESTEP", "NUMBER OF ATOMS"):
            if not values[name]:
                raise lines.error(f"expected 'ITEM: {name}' before the box; {DAMAGED}")
        count = _whole(lines, values["NUMBER OF ATOMS"], "a number of atoms")
        if count <= 0:
            raise lines.error(f"there are {count} atoms in this frame; remove the frame, or repair the file")
        step = _whole(lines, values["TIMESTEP"], "a timestep")
        time = _number(lines, values["TIME"], "a time") if values["TIME"] else None
        yield _frame(lines, step, time, count, section.split()[2:])
    lines.check_whole()


def _frame(lines: Lines, step: int, time: float | None, count: int, flags: list[str]) -> Frame:
    lower, sides, periodic = _box(lines, flags)
    section = _section(lines) or ""
    if not section.startswith("ATOMS"):
        raise lines.error(f"expected 'ITEM: ATOMS', found {quoted(f'ITEM: {section}')}; {DAMAGED}")
    names = section.split()[1:]
    first = lines.number + 1
    atoms = lines.take(count)
    if len(atoms) < count:
        raise lines.error(f"the file ends after {len(atoms)} of {count} atoms; it is cut short: copy it again")
    lines.check_fields(atoms, len(names), first, " ".join(names))
    points, wrapped = _positions(lines, atoms, names, first, lower, sides, periodic)
    ids = lines.integers(atoms, names.index("id"), first) if "id" in names else None
    kinds = next((names.index(name) for name in ("element", "type") if name in names), None)
    species = np.array([atom.split()[kinds] for atom in atoms]) if kinds is not None else None
    outside = SLACK if wrapped else np.inf
    return Frame(points, time, step, tuple(sides.tolist()), periodic, species, ids, first, outside, lower)


def _section(lines: Lines) -> str | None:
    """The name of the section that begins on the next line, or None at the end of the file."""
    for line in lines:
        if not line.strip():
            continue
        if not line.startswith("ITEM:"):
            raise lines.error(f"expected a line that begins with 'ITEM:', found {quoted(line)}; is this a LAMMPS dump?")
        return line[5:].strip()
    return None


def _next(lines: Lines, what: str) -> str:
    line = next(lines, None)
    if line is None:
        raise lines.error(f"the file ends where {what} was expected; it is cut short: copy it again")
    return line


def _number(lines: Lines, text: str, what: str) -> float:
    if not is_number(text):
        raise lines.error(f"expected {what}, found {quoted(text)}; repair the line")
    return float(text)


def _whole(lines: Lines, text: str, what: str) -> int:
    value = whole_number(text)
    if value is None:
        raise lines.error(f"expected {what}, found {quoted(text)}; repair the line")
    return value


def _box(lines: Lines, flags: list[str]) -> tuple[Array, Array, tuple[bool, ...]]:
    """Lower ends, sides and periodicity of the box."""
    if flags[:1] in (["xy"], ["abc"]):
        raise lines.error(
            "the box is triclinic; only boxes with right angles can be read: run 'change_box all ortho' in LAMMPS"
        )
    if len(flags) != 3 or any(len(flag) != 2 for flag in flags):
        raise lines.error(
            f"expected three boundary flags such as 'pp pp pp' (periodic) or 'ff ff ff' (free), found "
            f"{quoted(' '.join(flags))}; add them to the line"
        )
    bounds = np.empty((3, 2))
    for axis in range(3):
        line = _next(lines, "a side of the box")
        ends = line.split()
        if len(ends) != 2:
            raise lines.error(f"expected the two ends of a side of the box, found {quoted(line)}; repair the line")
        bounds[axis] = [_number(lines, end, "an end of the box") for end in ends]
    if not np.isfinite(bounds).all():
        raise lines.error("an end of the box is not finite; repair the lines above")
    return bounds[:, 0], bounds[:, 1] - bounds[:, 0], tuple(flag == "pp" for flag in flags)


def _positions(
    lines: Lines, atoms: list[str], names: list[str], first: int, lower: Array, sides: Array, periodic: tuple[bool, ...]
) -> tuple[Array, bool]:
    """Positions from the lower end of periodic directions, and whether they are wrapped."""
    for ending, scaled, wrapped in STYLES:
        columns = [f"{axis}{ending}" for axis in "xyz"]
        if all(name in names for name in columns[:2]):
            there = [name for name in columns if name in names]
            values = lines.numbers(atoms, [names.index(name) for name in there], first)
            points = np.zeros((len(atoms), 3))
            points[:, : len(there)] = values
            origin = np.where(periodic, 0.0 if scaled else lower, 0.0)  # taken off
            if scaled:
                points[:, : len(there)] *= sides[: len(there)]
                origin = np.where(periodic, 0.0, -lower)
            if len(there) == 2:  # a dump of a plane without its third coordinate
                origin[2] = 0.0
            return points - origin, wrapped
    raise lines.error(
        f"expected positions x y z, xs ys zs, xu yu zu or xsu ysu zsu among the columns {' '.join(names)}; "
        "write them with 'dump custom ... id type x y z'",
        first - 1,
    )


def write_lammps(snapshots: Snapshots, path: Path) -> None:
    """One run: [id,] type, [element,] x, y, z with all digits, and ITEM: TIME so that times survive."""
    dim, box, names = snapshots.dim, snapshots.box, snapshots.species or ()
    by_number = all(name.isascii() and name.isdigit() and 0 < int(name) < 1 << 31 for name in names)
    numbers = {name: int(name) if by_number else k + 1 for k, name in enumerate(names)}
    columns = f"{'id ' * snapshots.labeled}type {'' if by_number else 'element '}x y z"
    flat = " 0" * (3 - dim)
    with path.open("w", encoding="utf-8") as file:
        for i, (time, points, kinds) in enumerate(frames_of(snapshots, path)):
            bounds = np.stack([points.min(axis=0), points.max(axis=0)], axis=1)
            if box is not None:
                bounds = np.stack([np.zeros(dim), box], axis=1)
            ends = [*bounds.tolist(), *[[-0.5, 0.5]] * (3 - dim)]
            file.write(f"ITEM: TIME\n{time!r}\nITEM: TIMESTEP\n{i}\nITEM: NUMBER OF ATOMS\n{len(points)}\n")
            file.write(f"ITEM: BOX BOUNDS {' '.join(['ff' if box is None else 'pp'] * 3)}\n")
            file.writelines(f"{low!r} {high!r}\n" for low, high in ends)
            file.write(f"ITEM: ATOMS {columns}\n")
            for k, point in enumerate(points.tolist()):
                name = f"{k + 1} " if snapshots.labeled else ""
                kind = f"{numbers[kinds[k]]} {'' if by_number else kinds[k] + ' '}" if kinds is not None else "1 "
                file.write(f"{name}{kind}{' '.join(map(repr, point))}{flat}\n")
