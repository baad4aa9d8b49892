"""Text files as numbered lines, read block by block, also from gzip; what a file of another kind looks like.

A gzip file of a few kilobytes can hold a terabyte of zeros. What it may unpack to is bounded by its own size:
see :func:`most_unpacked`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError

BLOCK = 1 << 22  # bytes read at once
LONGEST_LINE = 1 << 22  # bytes; no line of positions is anywhere near
MOST_UNPACKED = 8 << 30  # bytes a compressed file may unpack to
MOST_EXPANSION = 200  # times its own size; text of positions shrinks by 3 to 20
ALWAYS_UNPACKED = 64 << 20  # bytes that are harmless whatever the ratio
QUOTED = 40  # characters of a file shown in a message
LISTED = 20  # names
LONGEST_REASON = 120  # characters

_SIGNATURES = (
    (b"\x89PNG", "a PNG picture", None),
    (b"\xff\xd8\xff", "a JPEG picture", None),
    (b"GIF8", "a GIF picture", None),
    (b"II*\x00", "a TIFF picture", None),
    (b"MM\x00*", "a TIFF picture", None),
    (b"%PDF", "a PDF document", None),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", ".h5"),
    (b"\x93NUMPY", "a NumPy array", ".npy"),
    (b"PAR1", "a Parquet file", ".parquet"),
    (b"PK\x03\x04", "a zip archive (NPZ files and spreadsheets are such)", ".npz"),
    (b"\x1f\x8b", "compressed with gzip", ".gz"),
    (b"\xff\xfe", "text in UTF-16", None),
    (b"\xfe\xff", "text in UTF-16", None),
)
PICKLE = "a pickle, which is never opened, as that runs whatever is in it; save plain numbers (.npz, .csv) instead"


def looks_like(path: Path, text: bool = False) -> str:
    """What the first bytes of a file say it is, as an addition to a message; empty where they say nothing.

    Nothing is said of text where ``text`` was expected.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    for signature, kind, ending in _SIGNATURES:
        if head.startswith(signature):
            remedy = f"name it {ending} to read it as such" if ending else "give a file of positions"
            return f"it is {kind}; {'save it as UTF-8' if 'UTF-16' in kind else remedy}"
    if is_pickle(head):
        return f"it is {PICKLE}"
    if not head:
        return "it is empty; give a file with positions"
    if not text and all(byte >= 32 or byte in b"\t\n\r" for byte in head):
        return "it is text; name it .csv, or as its format is, to read it as such"
    return ""


def is_pickle(head: bytes) -> bool:
    """Whether a file that begins like this is a pickle of any version that programs have written since 2003."""
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


def quoted(text: str) -> str:
    """A piece of a file as it appears in messages: on one line, not too long."""
    text = text.strip()
    return repr(text if len(text) <= QUOTED else text[: QUOTED - 3] + "...")


def listed(names: Iterable[str]) -> str:
    """Names of columns or arrays as they appear in messages: printable, none of them and not all together too long.

    Examples
    --------
    >>> listed(["x", "y\\x1b[1m"])
    'x, y\\\\x1b[1m'
    >>> listed([])
    'none'
    """
    every = [name if name.isprintable() and len(name) <= QUOTED else quoted(name)[1:-1] for name in names]
    return ", ".join(every[:LISTED] + ["..."] * (len(every) > LISTED)) or "none"


def reason(error: Exception) -> str:
    """What another program's exception says, on one line and not too long: some quote half a file."""
    return _shortened(str(error)) or type(error).__name__


def _shortened(text: str) -> str:
    """A text on one line, printable and not too long."""
    text = " ".join(text.split())
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."


def is_number(text: str) -> bool:
    """Whether a field is a number to everybody; Python alone would also take 1_000 and digits of other scripts."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def whole_number(text: str) -> int | None:
    """A field as a whole number of at most 18 digits, or None."""
    text = text.strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def most_unpacked(path: Path) -> int:
    """How many bytes a compressed file may unpack to: 200 times its size, 64 MiB at least and 8 GiB at most."""
    return min(MOST_UNPACKED, max(ALWAYS_UNPACKED, MOST_EXPANSION * path.stat().st_size))


def check_unpacked(path: Path, size: int, whole: bool = True) -> None:
    """Refuse a file (or folder) whose contents claim to be far larger than itself.

    Contents that are not read whole may be as large as they like, in proportion.
    """
    own = sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size
    most = max(ALWAYS_UNPACKED, MOST_EXPANSION * own)
    if size > (max(min(MOST_UNPACKED, most), 2 * own) if whole else most):
        raise InputError(
            f"{path}: its {own:,} bytes claim to hold {size:,}, more than any real data shrink by; "
            "it is damaged or made to fill the memory; if it is neither, write it again without compression"
        )


class Lines:
    """The lines of a text file, one after the other or in groups, with their numbers.

    Attributes
    ----------
    path : Path
    number : int
        Of the line given last, counted from 1.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._waiting: list[str] = []  # lines of the block at hand, in order
        self._next = 0
        self._unended = False  # whether the last line has no end, known when it has come
        self._blocks = self._text_blocks()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._next == len(self._waiting):
            self._refill()
        line = self._waiting[self._next]
        self._next += 1
        self.number += 1
        return line

    def take(self, count: int) -> list[str]:
        """The next ``count`` lines, or as many as there are."""
        taken: list[str] = []
        while len(taken) < count:
            if self._next == len(self._waiting):
                try:
                    self._refill()
                except StopIteration:
                    break
            part = self._waiting[self._next : self._next + count - len(taken)]
            self._next += len(part)
            taken += part
        self.number += len(taken)
        return taken

    def block(self) -> list[str]:
        """The rest of the block at hand, or the next block; an empty list at the end."""
        if self._next == len(self._waiting):
            try:
                self._refill()
            except StopIteration:
                return []
        return self.take(len(self._waiting) - self._next)

    def error(self, message: str, number: int | None = None) -> InputError:
        """An error about a line, by default the one given last."""
        return InputError(f"{self.path}, line {number or self.number}: {message}")

    def check_whole(self) -> None:
        """Refuse a file whose last line has no end: a job that was killed leaves half a number there.

        Programs that write trajectories end every line; tables are often edited by hand, so they are not asked.
        """
        if self._unended:
            raise self.error("the file ends within a line: it is cut short, or lacks its last line end; add it")

    def check_fields(self, rows: list[str], expected: int, first: int, names: str) -> None:
        """Refuse rows that have not so many fields separated by white space; ``first`` is the line of the first."""
        for k, row in enumerate(rows):
            if len(row.split()) != expected:
                raise self.error(
                    f"expected {expected} fields ({_shortened(names)}), found {quoted(row)}; repair it", first + k
                )

    def numbers(self, rows: list[str], columns: list[int], first: int) -> NDArray[np.float64]:
        """Columns of numbers, (rows, columns), from rows of fields separated by white space."""
        try:
            return np.loadtxt(rows, usecols=columns, ndmin=2, comments=None)
        except ValueError:
            for k, row in enumerate(rows):
                for column in columns:
                    text = row.split()[column]
                    if not is_number(text):
                        raise self.error(f"expected a number, found {quoted(text)}; repair it", first + k) from None
            raise self.error("the lines that follow are not made of numbers; repair them", first) from None

    def integers(self, rows: list[str], column: int, first: int) -> NDArray[np.int64]:
        """A column of whole numbers, (rows,)."""
        values = np.empty(len(rows), dtype=np.int64)
        for k, row in enumerate(rows):
            text = row.split()[column]
            value = whole_number(text)
            if value is None:
                raise self.error(f"expected a whole number, found {quoted(text)}; repair it", first + k)
            values[k] = value
        return values

    def _refill(self) -> None:
        self._waiting = next(self._blocks)
        self._next = 0

    def _text_blocks(self) -> Iterator[list[str]]:
        """Lines of a text file in any convention of line ends, in lists of about BLOCK bytes."""
        path = self.path
        gzipped = path.suffix.lower() == ".gz"
        if not gzipped and (kind := looks_like(path, text=True)):
            raise InputError(f"{path}: expected text, but {kind}")
        expected = -(-path.stat().st_size // BLOCK) * (4 if gzipped else 1)
        rest, first = b"", True
        for block in _progress.track(_bytes_of(path, gzipped), "reading", total=expected):
            if first and b"\0" in block[:4096]:
                raise InputError(f"{path}: expected text, but it holds binary data; give it the ending of its format")
            if first and block.startswith(b"\xef\xbb\xbf"):
                block = block[3:]
            first = False
            whole, end, rest = _cut(rest + block)
            if len(rest) > LONGEST_LINE:
                raise InputError(
                    f"{path}: a line is longer than {LONGEST_LINE:,} bytes; this is not a file of positions"
                )
            if end:
                yield _split(whole)
        if first:
            raise InputError(f"{path}: it is empty; give a file with positions")
        if rest:
            self._unended = not rest.endswith(b"\r")
            yield _split(rest)


def _cut(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Everything up to the last line end, the line end, and what follows."""
    whole, end, rest = text.rpartition(b"\n")
    if not end:  # perhaps lines end as they did on old Macintoshes; a last \r may be half of a Windows line end
        whole, end, rest = text[:-1].rpartition(b"\r")
        rest += text[-1:]
    return whole, end, rest


def _split(text: bytes) -> list[str]:
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.decode("utf-8", errors="replace").split("\n")


def _check_gzip(path: Path) -> None:
    """Refuse a file that is called .gz and is none."""
    with path.open("rb") as file:
        head = file.read(2)
    if head and not b"\x1f\x8b".startswith(head):
        kind = looks_like(path)
        text = not kind or kind.startswith("it is text;")
        said = f"it does not begin like one; if it was unpacked already, name it {path.stem}" if text else kind
        raise InputError(f"{path}: expected a gzip file, but {said}")


def _bytes_of(path: Path, gzipped: bool) -> Iterator[bytes]:
    if gzipped:
        _check_gzip(path)
    limit, unpacked = most_unpacked(path) if gzipped else 0, 0
    with gzip.open(path, "rb") if gzipped else path.open("rb") as file:
        while True:
            try:
                block = file.read(BLOCK)
            except (gzip.BadGzipFile, zlib.error, EOFError):
                raise InputError(
                    f"{path}: the gzip file is damaged or cut short after {unpacked:,} bytes of text; copy it again"
                ) from None
            if not block:
                return
            unpacked += len(block)
            if gzipped and unpacked > limit:
                raise InputError(
                    f"{path}: it unpacks to more than {limit:,} bytes from {path.stat().st_size:,}; "
                    "if that is right, unpack it with gunzip and read the result"
                )
            yield block
