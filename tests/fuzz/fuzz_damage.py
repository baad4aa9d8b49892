"""Ways in which files go wrong: cut, overwritten, edited by hand, put together from others, or named wrongly."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]

STRANGE = (
    b"",
    b" ",
    b"nan",
    b"NaN",
    b"inf",
    b"-inf",
    b"1e400",
    b"-1e308",
    b"1e-320",
    b"99999999999999999999",
    b"-1",
    b"0",
    b"1_000",
    b"0x10",
    b"1,5",
    b"1e5",
    b"--1",
    b"+",
    b"None",
    b"null",
    b"true",
    b"'",
    b'"',
    b"\xef\xbc\x91",
    b"\xff",
    b"\0",
    b"=1+1",
    b"1/0",
    b"{}",
    b"[[[[",
    b"1j",
    b"#",
    b"%s",
    b"\t",
    b"\r",
    b"\n",
    b"9" * 400,
    b"-0",
    b"3.",
    b".",
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e[-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{2,}")


def truncated(content: bytes, generator: np.random.Generator) -> bytes:
    return content[: generator.integers(len(content) + 1)]


def flipped(content: bytes, generator: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for place in generator.integers(len(content), size=generator.integers(1, 12)) if content else ():
        changed[place] ^= 1 << generator.integers(8)
    return bytes(changed)


def overwritten(content: bytes, generator: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for place in generator.integers(len(content), size=generator.integers(1, 12)) if content else ():
        changed[place] = generator.integers(256)
    return bytes(changed)


def zeroed(content: bytes, generator: np.random.Generator) -> bytes:
    """As on a disk that was full, or a file system that lost a block."""
    first = generator.integers(len(content) + 1)
    last = min(len(content), first + int(generator.integers(1, 600)))
    return content[:first] + bytes(last - first) + content[last:]


def inserted(content: bytes, generator: np.random.Generator) -> bytes:
    place = generator.integers(len(content) + 1)
    return content[:place] + generator.bytes(int(generator.integers(1, 60))) + content[place:]


def deleted(content: bytes, generator: np.random.Generator) -> bytes:
    first = int(generator.integers(len(content) + 1))
    return content[:first] + content[first + int(generator.integers(1, 60)) :]


def duplicated(content: bytes, generator: np.random.Generator) -> bytes:
    """A piece of the file twice, or the whole of it."""
    if generator.random() < 0.3:
        return content + content
    first, last = np.sort(generator.integers(len(content) + 1, size=2))
    return content[:last] + content[first:]


def lines_swapped(content: bytes, generator: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    a, b = generator.integers(len(lines), size=2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def lines_changed(content: bytes, generator: np.random.Generator) -> bytes:
    """A line left out, twice, doubled in length, or empty."""
    lines = content.split(b"\n")
    a = generator.integers(len(lines))
    lines[a : a + 1] = ([], [lines[a]] * 2, [lines[a] * 2], [b""])[generator.integers(4)]
    return b"\n".join(lines)


def strange_number(content: bytes, generator: np.random.Generator) -> bytes:
    """Numbers replaced by what spreadsheets, other programs and other languages write."""
    return _replaced(content, _NUMBER, generator)


def strange_word(content: bytes, generator: np.random.Generator) -> bytes:
    return _replaced(content, _WORD, generator)


def line_ends(content: bytes, generator: np.random.Generator) -> bytes:
    end = (b"\r\n", b"\r", b"\n\n", b" \n", b"\x0b", b"\xc2\x85", b";\n")[generator.integers(7)]
    return content.replace(b"\n", end)


def other_encoding(content: bytes, generator: np.random.Generator) -> bytes:
    text = content.decode("latin-1")
    return text.encode(("utf-16", "utf-8-sig", "utf-32", "utf-16-be")[generator.integers(4)])


def other_separators(content: bytes, generator: np.random.Generator) -> bytes:
    old = (b",", b"\t", b" ")[generator.integers(3)]
    return content.replace(old, (b";", b",", b"\t", b" ", b"|", b",,")[generator.integers(6)])


def random_bytes(content: bytes, generator: np.random.Generator) -> bytes:
    size = int(generator.integers(0, 3000))
    return content[: generator.integers(0, 64)] + generator.bytes(size)


def whole(content: bytes, generator: np.random.Generator) -> bytes:
    """Nothing: for files whose name, or whose neighbour, is what is wrong."""
    return content


def several(content: bytes, generator: np.random.Generator) -> bytes:
    for _ in range(generator.integers(2, 5)):
        content = _SIMPLE[generator.integers(len(_SIMPLE))](content, generator)
    return content


def repacked(content: bytes, generator: np.random.Generator) -> bytes:
    """A zip archive whose members are damaged, left out or swapped, with checksums that are right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, KeyError):
        return several(content, generator)
    names = list(members)
    chosen, other = (names[k] for k in generator.integers(len(names), size=2))
    kind = generator.integers(6)
    if kind == 0:
        del members[chosen]
    elif kind == 1:
        members[chosen], members[other] = members[other], members[chosen]
    elif kind == 2:
        members[chosen] = odd_array(generator)
    elif chosen.endswith(".json") or kind == 3:
        members[chosen] = (strange_number, strange_word, truncated, json_changed)[generator.integers(4)](
            members[chosen], generator
        )
    else:
        members[chosen] = _SIMPLE[generator.integers(len(_SIMPLE))](members[chosen], generator)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return target.getvalue()


def json_changed(content: bytes, generator: np.random.Generator) -> bytes:
    """A JSON text in which a value somewhere is another, of another kind, or missing."""
    try:
        tree = json.loads(content)
    except ValueError:
        return strange_word(content, generator)
    places: list[tuple[dict | list, object]] = []

    def walk(node: object) -> None:
        if isinstance(node, dict | list):
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                walk(node[key])  # type: ignore[index]

    walk(tree)
    if not places:
        return b"[]"
    for _ in range(generator.integers(1, 4)):
        owner, key = places[generator.integers(len(places))]
        other, place = places[generator.integers(len(places))]
        try:
            value = (None, -1, 1e308, "", "x", [], {}, True, 10**30, other[place])[generator.integers(10)]  # type: ignore[index]
            if generator.random() < 0.2:
                del owner[key]  # type: ignore[arg-type]
            else:
                owner[key] = value  # type: ignore[index]
            return json.dumps(tree).encode()
        except (IndexError, KeyError, ValueError, RecursionError):
            return b"{}"
    return content


def odd_array(generator: np.random.Generator) -> bytes:
    """An NPY file of a shape, type or value that is not expected where it is."""
    shapes = (
        (),
        (0,),
        (3,),
        (2, 3),
        (1, 2, 3, 0),
        (0, 0, 0, 0),
        (2, 3, 4, 2),
        (2, 3, 4, 7),
        (1, 1, 1, 1, 1),
        (3, 4, 2),
    )
    shape = shapes[generator.integers(len(shapes))]
    kinds = ("f8", "f4", "f2", "i8", "u1", "?", "c16", "S3", "U2", "M8[s]", "m8[s]", ">f8", "V4")
    kind = kinds[generator.integers(len(kinds))]
    array = (10.0 ** generator.integers(-3, 4) * generator.standard_normal(shape)).round(3)
    target = io.BytesIO()
    with np.errstate(invalid="ignore"):
        made = np.zeros(shape, kind) if kind[0] in "VM" else np.asarray(array).astype(kind)
    if made.dtype.kind == "f" and made.size and generator.random() < 0.3:
        made.reshape(-1)[generator.integers(made.size)] = (np.nan, np.inf, -np.inf)[generator.integers(3)]
    order = np.asfortranarray(made) if generator.random() < 0.2 and made.ndim else made
    np.save(target, order, allow_pickle=False)
    return target.getvalue()


def _replaced(content: bytes, pattern: re.Pattern[bytes], generator: np.random.Generator) -> bytes:
    found = list(pattern.finditer(content))
    for match in sorted(
        {int(k) for k in generator.integers(len(found), size=generator.integers(1, 4))} if found else ()
    ):
        place = found[len(found) - 1 - match]  # from the end, so that places stay right
        content = content[: place.start()] + STRANGE[generator.integers(len(STRANGE))] + content[place.end() :]
    return content


_SIMPLE: tuple[Damage, ...] = (
    truncated,
    flipped,
    overwritten,
    zeroed,
    inserted,
    deleted,
    duplicated,
    lines_swapped,
    lines_changed,
    strange_number,
)
OF_BYTES: tuple[Damage, ...] = (*_SIMPLE, strange_word, random_bytes, several, whole)
OF_TEXT: tuple[Damage, ...] = (
    *OF_BYTES,
    strange_number,
    strange_number,
    strange_word,
    line_ends,
    other_encoding,
    other_separators,
)
OF_ARCHIVES: tuple[Damage, ...] = (*OF_BYTES, repacked, repacked, repacked, repacked)
