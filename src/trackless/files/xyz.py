"""XYZ files, plain and extended: one run per file.

A frame is the number of atoms, a comment, and a line per atom. In extended files the comment says what the columns
are and holds the box and the time::

    Lattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3 Time=0.5 pbc="T T T"

Data of one or two dimensions are written with zeros in directions that are not periodic, and read back as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trackless.files.frames import Frame, assembled
from trackless.files.source import Lines, is_number, quoted, whole_number
from trackless.files.writing import frames_of
from trackless.snapshots import Snapshots

_ENTRY = re.compile(r"""([A-Za-z_][\w.\-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]|[^\s"']+)""")
_PLAIN = (("species", "S", 1), ("pos", "R", 3))
Properties = tuple[tuple[str, str, int], ...]


def read_xyz(path: Path, dt: float | None = None, box: Any = None) -> tuple[Snapshots, tuple[str, ...]]:
    """Every frame of the file; ``dt`` is the time between frames (of a step, where there is Step=) without Time=."""
    return assembled(path, _frames(Lines(path)), dt, box, flat=0.0)


def _frames(lines: Lines) -> Iterator[Frame]:
    index = 0
    for line in lines:
        if not line.strip():  # blank lines at the end are common; anywhere else a number of atoms is missed below
            continue
        count = whole_number(line)
        if count is None:
            raise lines.error(f"expected a number of atoms, found {quoted(line)}; is this an XYZ file?")
        if count <= 0:
            raise lines.error(f"there are {count} atoms in this frame; remove the frame, or repair the file")
        comment = next(lines, None)
        if comment is None:
            raise lines.error("the file ends before the comment of a frame; it is cut short: copy it again")
        yield _frame(lines, comment, count, index)
        index += 1
    lines.check_whole()


def _frame(lines: Lines, comment: str, count: int, index: int) -> Frame:
    entries = {match[1].lower(): match[2].rstrip(",;").strip("\"'{}[]") for match in _ENTRY.finditer(comment)}
    properties = _properties(lines, entries["properties"]) if "properties" in entries else _PLAIN
    sides, periodic = _box(lines, entries)
    time = _number(lines, entries, ("time",))
    step = _number(lines, entries, ("step", "timestep"))
    first = lines.number + 1
    atoms = lines.take(count)
    if len(atoms) < count:
        raise lines.error(f"the file ends after {len(atoms)} of {count} atoms; it is cut short: copy it again")
    width = sum(n for _, _, n in properties)
    if properties is _PLAIN:  # further columns may follow, such as velocities
        width = max(width, len(atoms[0].split()))
    lines.check_fields(atoms, width, first, "as said by Properties" if "properties" in entries else "symbol x y z")
    places = _places(properties)
    begin, dim = places["pos"]
    points = lines.numbers(atoms, list(range(begin, begin + dim)), first)
    kinds = places["species"][0] if "species" in places else None
    species = np.array([atom.split()[kinds] for atom in atoms]) if kinds is not None else None
    ids = lines.integers(atoms, places["id"][0], first) if "id" in places else None
    step = float(index) if step is None else step
    return Frame(points, time, step, sides[:dim], periodic[:dim], species, ids, first)


def _places(properties: Properties) -> dict[str, tuple[int, int]]:
    """First column and number of columns of what is needed, by the names that programs use."""
    places: dict[str, tuple[int, int]] = {}
    usual = {"pos": "pos", "position": "pos", "positions": "pos", "species": "species", "type": "species", "id": "id"}
    column = 0
    for name, kind, width in properties:
        known = usual.get(name.lower())
        if known is not None and known not in places and (known != "id" or kind == "I"):
            places[known] = (column, width)
        column += width
    return places


def _properties(lines: Lines, text: str) -> Properties:
    parts = text.split(":")
    triples = list(zip(parts[::3], parts[1::3], parts[2::3], strict=False))
    if len(parts) % 3 or not all(width.isdigit() and 0 < int(width) < 1000 for _, _, width in triples):
        raise lines.error(f"expected Properties=name:kind:columns:..., found {quoted(text)}; repair the line")
    properties = tuple((name, kind, int(width)) for name, kind, width in triples)
    if _places(properties).get("pos", (0, 0))[1] not in (1, 2, 3):
        raise lines.error(f"expected pos:R:3 among the Properties, found {quoted(text)}; write the positions too")
    return properties


def _number(lines: Lines, entries: dict[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        if name in entries:
            if not is_number(entries[name]):
                raise lines.error(f"expected a number after {name}=, found {quoted(entries[name])}; repair the line")
            return float(entries[name])
    return None


def _box(lines: Lines, entries: dict[str, str]) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Sides and periodicity; free space without a lattice."""
    if "lattice" not in entries:
        return (0.0,) * 3, (False,) * 3
    fields = entries["lattice"].replace(",", " ").split()
    if len(fields) != 9 or not all(map(is_number, fields)):
        raise lines.error(f"expected nine numbers in Lattice, found {quoted(entries['lattice'])}; repair the line")
    lattice = np.array(fields, dtype=np.float64).reshape(3, 3)
    flags = entries.get("pbc", "T T T").replace(",", " ").split()
    if len(flags) != 3 or any(flag[0] not in "TtFf01" for flag in flags):
        raise lines.error(f"expected three of T and F in pbc, found {quoted(entries['pbc'])}; repair the line")
    periodic = tuple(flag[0] in "Tt1" for flag in flags)
    if any(periodic) and (lattice != np.diag(np.diag(lattice))).any():
        raise lines.error("the box is not rectangular; only boxes with right angles along x, y, z can be read")
    return tuple(np.diag(lattice).tolist()), periodic


def write_xyz(snapshots: Snapshots, path: Path) -> None:
    """One run, extended: species, position, [id], with box and time; all digits."""
    dim, box = snapshots.dim, snapshots.box
    sides = [*(box or ()), *[1.0] * (3 - dim)]
    lattice = " ".join(repr(sides[k]) if k == j else "0.0" for k in range(3) for j in range(3)) if box else ""
    flags = " ".join("T" if box is not None and k < dim else "F" for k in range(3))
    header = f'Lattice="{lattice}" ' if box else ""
    header += f"Properties=species:S:1:pos:R:3{':id:I:1' if snapshots.labeled else ''}"
    flat = " 0.0" * (3 - dim)
    with path.open("w", encoding="utf-8") as file:
        for time, points, kinds in frames_of(snapshots, path):
            file.write(f'{len(points)}\n{header} Time={time!r} pbc="{flags}"\n')
            for k, point in enumerate(points.tolist()):
                kind = kinds[k] if kinds is not None else "X"
                file.write(f"{kind} {' '.join(map(repr, point))}{flat}{f' {k}' if snapshots.labeled else ''}\n")
