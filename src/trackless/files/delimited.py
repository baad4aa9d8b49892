"""CSV, TSV and other text tables: one particle per line under a line of column names.

Lines are parsed in blocks of a few megabytes, so that memory holds the columns that are used and little else.
Rows may come in any order where it is clear what belongs together (:mod:`trackless.files.sequence`), columns in any;
columns that are not needed are not looked at.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.files.columns import NAMED, Layout, layout
from trackless.files.dates import EXAMPLE, microseconds
from trackless.files.rows import MOST_SPECIES, Table
from trackless.files.source import Lines, is_number, quoted

SEPARATORS = {".csv": ",;\t", ".tsv": "\t,;", ".txt": "\t;,"}  # the first that is in the header; else white space
NAMES_OF_NOTHING = ("", "nan", "none", "null", "na")
MOST_TITLES = 10  # lines with a title above the header
MOST_HEADERS = 3  # lines of units and long names below the header
_TITLE = re.compile(r"[\w.:]+|[=\-_*~+]+")
_SAID = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line of tables for Excel: what separates fields
EXACT = 2.0**53  # larger whole numbers are not exact as floating-point numbers


def read_table(path: Path, dt: float | None, columns: Mapping[str, str] | None) -> tuple[Table, Layout]:
    """The columns of a text table that are positions, times, runs, particles and species."""
    as_text, as_dates = {"species"}, set()
    while True:
        try:
            return _read(path, dt, columns, as_text, as_dates)
        except _NotNumbers as found:  # known only when the first name comes: start again
            (as_text if found.role in NAMED else as_dates).add(found.role)


class _NotNumbers(Exception):
    def __init__(self, role: str) -> None:
        self.role = role


@dataclass
class _Buffer:
    """A column that grows as blocks come, without a second copy in the end."""

    values: NDArray[Any]
    used: int = 0
    numbers: dict[str, int] = field(default_factory=dict)  # of names

    def append(self, part: NDArray[Any]) -> None:
        if self.used + len(part) > len(self.values):
            self.values.resize(self.used + len(part) + len(self.values) // 2, refcheck=False)
        self.values[self.used : self.used + len(part)] = part
        self.used += len(part)

    def closed(self) -> NDArray[Any]:
        self.values.resize(self.used, refcheck=False)
        return self.values


def _read(
    path: Path, dt: float | None, columns: Mapping[str, str] | None, as_text: set[str], as_dates: set[str]
) -> tuple[Table, Layout]:
    lines = Lines(path)
    splitter, names, pending = _header(lines)
    found = _layout(lines, splitter, names, dt, columns)
    places = {role: names.index(name) for role, name in found.needed.items()}
    numeric = [role for role in places if role not in as_text | as_dates]
    pending = pending or _after_further_headers(lines, splitter, [places[role] for role in places if role not in NAMED])
    comments = all(places.get(role) != 0 for role in NAMED)  # a name may begin with the sign of a comment
    buffers = {role: _Buffer(np.empty(0, np.int64 if role in as_text else np.float64)) for role in places}
    lacking = {"z"} & set(numeric) - set(columns or {})  # nothing has been in this column so far
    rows, row_starts, line_starts = 0, [0], [lines.number - len(pending) + 1]
    while block := pending or lines.block():
        first = lines.number - len(block) + 1
        pending = []
        numbers, block = _rows_of(block, first, splitter, comments)
        if not block:
            continue
        _note_lines(numbers, rows, row_starts, line_starts)
        _check_widths(path, block, numbers, splitter, names)
        values = _numbers(path, block, numbers, splitter, {role: places[role] for role in numeric}, names, lacking)
        for k, role in enumerate(numeric):
            if role in lacking and not np.isnan(values[:, k]).all():
                lacking.remove(role)
            if role in NAMED and (np.abs(values[:, k]) >= EXACT).any():
                raise _NotNumbers(role)
            buffers[role].append(values[:, k])
        for role in as_dates:
            buffers[role].append(_moments(path, role, block, numbers, splitter, places[role]))
        for role in as_text & set(places):
            buffers[role].append(_codes(path, role, block, numbers, splitter, places[role], buffers[role].numbers))
        rows += len(block)
    if not rows:
        raise InputError(f"{path}: there are no lines after the header")

    def where(row: int) -> str:
        k = bisect_right(row_starts, row) - 1
        return f"line {line_starts[k] + row - row_starts[k]}"

    texts = {role: list(buffers[role].numbers) for role in as_text & set(places)}
    closed = {role: buffer.closed() for role, buffer in buffers.items()}
    for role in as_dates:
        closed[role] = (closed[role] - closed[role].min()) / 1e6
    table = Table(str(path), closed, where, texts, dated=as_dates)
    return _without_unnamed(table), found


def _layout(
    lines: Lines, splitter: _Splitter, names: list[str], dt: float | None, columns: Mapping[str, str] | None
) -> Layout:
    """What the columns are, with a word on the header if it does not look like one."""
    number = lines.number
    try:
        return layout(names, lines.path, dt, columns)
    except InputError as error:
        following = splitter.fields(next(filter(str.strip, lines), ""))
        if type(error) is not InputError or len(following) == len(names):
            raise
        raise InputError(
            f"{error}; line {number} was taken for the header: if it is something else, put # before it"
        ) from None


@dataclass(frozen=True)
class _Splitter:
    """How a line is cut into fields; ``separator`` None is any white space."""

    separator: str | None

    def with_point(self, number: str) -> str:
        """A number with a decimal point: spreadsheets separate by ; where the decimal mark is a comma."""
        return number.replace(",", ".") if self.separator == ";" and "." not in number else number

    def with_points(self, lines: list[str]) -> list[str]:
        """Lines with decimal points, as far as that is clear at a glance."""
        if self.separator != ";" or not any("," in line for line in lines):
            return lines
        return [line.replace(",", ".") for line in lines]

    def fields(self, line: str) -> list[str]:
        if '"' not in line:
            return line.split(self.separator)
        one = line if self.separator else " ".join(line.split())
        try:
            return next(csv.reader([one], delimiter=self.separator or " ", skipinitialspace=True), [])
        except csv.Error:
            return []


def _header(lines: Lines) -> tuple[_Splitter, list[str], list[str]]:
    """How lines are split, the names of the columns, and lines of the block at hand that follow the header."""
    ending = lines.path.suffixes[-2 if lines.path.suffix.lower() == ".gz" else -1].lower()
    header, said, titles = "", None, 0
    for line in lines:
        if not line.strip():
            continue
        if line.lstrip()[0] in "#%":  # some programs write the header as a comment
            header = line.lstrip().lstrip("#%")
            continue
        if (said := said or _SAID.fullmatch(line.strip())) and said.string == line.strip():
            continue
        if titles < MOST_TITLES and _is_title(line):
            titles += 1
            continue
        break
    else:
        line = ""
    usual = next((s for s in SEPARATORS[ending] if s in (line or header)), None)
    separator = said[1] if said is not None else usual
    splitter = _Splitter(separator)
    fields = [name.strip().strip('"') for name in splitter.fields(line)]
    pending: list[str] = []
    if fields and all(map(is_number, fields)) and header:
        splitter_of_header = _Splitter(separator if separator is not None and separator in header else None)
        pending, fields = [line], [name.strip().strip('"') for name in splitter_of_header.fields(header)]
    if not any(fields) or all(map(is_number, fields)):
        raise InputError(
            f"{lines.path}: expected a first line with column names such as run,time,x,y; found {quoted(line)}; "
            "write one"
        )
    return splitter, fields, pending


def _is_title(line: str) -> bool:
    """Whether a line above the header holds one word, or a rule: no table of positions has a single column."""
    return _TITLE.fullmatch(line.strip()) is not None and not is_number(line.strip())


def _after_further_headers(lines: Lines, splitter: _Splitter, places: list[int]) -> list[str]:
    """The first line that is one of particles: below the names many programs write units, TrackMate also long names.

    A line of words where all numbers should be is no particle.
    """
    further = 0
    for line in lines:
        if not line.strip():
            continue
        fields = [field.strip().strip('"') for field in splitter.fields(line)]
        here = [fields[place] for place in places if place < len(fields)]
        if further == MOST_HEADERS or not any(here) or any(is_number(f) or f[:1].isdigit() for f in here):
            return [line]
        further += 1
    return []


def _rows_of(block: list[str], first: int, splitter: _Splitter, comments: bool) -> tuple[Any, list[str]]:
    """Lines with something in them and their numbers, without those that spreadsheets leave, and comments."""
    nothing = f" \t\r{splitter.separator or ''}"
    sign = "#" if comments else "\0"
    if all(line.strip(nothing) and line[0] != sign for line in block):
        return range(first, first + len(block)), block
    kept = [(n, line) for n, line in enumerate(block, first) if line.strip(nothing) and line.lstrip()[0] != sign]
    return [number for number, _ in kept], [line for _, line in kept]


def _note_lines(numbers: Any, rows: int, row_starts: list[int], line_starts: list[int]) -> None:
    """Remember where line numbers jump, which is at blank lines."""
    for k, number in enumerate(numbers) if isinstance(numbers, list) else ((0, numbers[0]),):
        if number - (rows + k) != line_starts[-1] - row_starts[-1]:
            row_starts.append(rows + k)
            line_starts.append(number)


def _check_widths(path: Path, block: list[str], numbers: Any, splitter: _Splitter, names: list[str]) -> None:
    """Refuse lines with other fields than the header, but for empty ones behind the last column."""
    separator, expected = splitter.separator, len(names)
    least = max(k for k, name in enumerate(names, 1) if name)
    if separator and {line.count(separator) for line in block} == {expected - 1} and not any('"' in ln for ln in block):
        return  # the usual case, fast
    for number, line in zip(numbers, block, strict=True):
        if line.count('"') % 2:  # it would swallow the next line
            raise InputError(f"{path}, line {number}: a quotation mark is not closed: {quoted(line)}; repair the line")
        fields = splitter.fields(line)
        if len(fields) != expected and (len(fields) < least or any(map(str.strip, fields[least:]))):
            raise InputError(
                f"{path}, line {number}: expected {expected} fields as in the header, found {len(fields)}: "
                f"{quoted(line)}; repair the line (is the file cut short?)"
            )


def _numbers(
    path: Path, block: list[str], numbers: Any, splitter: _Splitter, places: Mapping[str, int], names: list[str],
    lacking: set[str],
) -> NDArray[np.float64]:  # fmt: skip
    options: Any = {"delimiter": splitter.separator, "comments": None, "quotechar": '"', "ndmin": 2}
    try:
        return np.loadtxt(splitter.with_points(block), usecols=list(places.values()), **options)
    except ValueError:  # slowly, to find the line
        pass
    rows = np.empty((len(block), len(places)))
    for row, (number, line) in enumerate(zip(numbers, block, strict=True)):
        fields = splitter.fields(line)
        for k, (role, place) in enumerate(places.items()):
            text = fields[place].strip()
            if is_number(written := splitter.with_point(text)):
                rows[row, k] = float(written)
            elif text.lower() in NAMES_OF_NOTHING and (
                role == "particle" or (role in lacking and (row == 0 or np.isnan(rows[row - 1, k])))
            ):
                rows[row, k] = np.nan
            elif role in NAMED or (role in ("time", "clock") and microseconds(text) is not None):
                raise _NotNumbers(role)
            elif role == "clock":
                rows[row, k] = np.nan
            else:
                raise InputError(
                    f"{path}, line {number}: expected a number for {role} (column {names[place]!r}), "
                    f"found {quoted(text)}; {_remedy(text, role)}"
                )
    return rows


def _remedy(text: str, role: str) -> str:
    if not text:
        return "the field is empty: remove or repair the line"
    if role == "time" and sum(map(text.count, "/-.:")) >= 2:
        return f"write times as numbers, or dates as {EXAMPLE}"
    if is_number(text.replace(",", ".")):
        return "write numbers with a decimal point"
    if is_number(text.replace(",", "").replace(".", "")):
        return "write numbers with a decimal point, and nothing between thousands"
    return "repair the line, or say which column it is: columns={...} (--columns)"


def _moments(
    path: Path, role: str, block: list[str], numbers: Any, splitter: _Splitter, place: int
) -> NDArray[np.float64]:
    """A column of dates in microseconds."""
    known: dict[str, float] = {}  # of which rows of a frame have the same
    moments = np.empty(len(block))
    for row, line in enumerate(block):
        text = splitter.fields(line)[place]
        if text not in known:
            moment = microseconds(text)
            if moment is None and role == "time":
                raise InputError(
                    f"{path}, line {numbers[row]}: expected a date such as {EXAMPLE} for time, as in other lines, "
                    f"found {quoted(text)}; repair the line"
                )
            known[text] = np.nan if moment is None else moment
        moments[row] = known[text]
    return moments


def _codes(
    path: Path, role: str, block: list[str], numbers: Any, splitter: _Splitter, place: int, known: dict[str, int]
) -> NDArray[np.int64]:
    """Names of a column as numbers, in the order in which they came."""
    codes = np.empty(len(block), dtype=np.int64)
    for row, line in enumerate(block):
        name = splitter.fields(line)[place].strip()
        codes[row] = known.setdefault(name, len(known))
        if "\ufffd" in name:
            raise InputError(
                f"{path}, line {numbers[row]}: the {role} {quoted(name)} is not UTF-8; save the file as such"
            )
    if role == "species" and len(known) > MOST_SPECIES:
        raise InputError(
            f"{path}: more than {MOST_SPECIES:,} different species; is it the right column? columns={{'species': ...}}"
        )
    return codes


def _without_unnamed(table: Table) -> Table:
    """Particles without a name keep none: NaN, as in a column of numbers."""
    names = table.texts.get("particle")
    if names is not None and (empty := [k for k, name in enumerate(names) if name.lower() in NAMES_OF_NOTHING]):
        codes = table.columns["particle"].astype(np.float64)
        codes[np.isin(codes, empty)] = np.nan
        table.columns["particle"] = codes
    return table
