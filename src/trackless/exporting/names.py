"""Names that people gave to species, made harmless for the files they are written into."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap

LONGEST = 30  # characters of a name that are kept


def comment(text: str) -> str:
    """One line of printable ASCII, so that nothing breaks out of a comment.

    Examples
    --------
    >>> comment("run" + chr(10) + "shell rm")
    'run?shell rm'
    """
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text)


def comments(lines: Iterable[str], width: int = 100) -> list[str]:
    """Lines of comments behind a hash, no longer than programs read them."""
    return [f"# {part}" for line in lines for part in wrap(comment(line), width) or [""]]


def words(species: Iterable[str]) -> tuple[str, ...]:
    """A word of letters, digits and underscores for each name, all different.

    Examples
    --------
    >>> words(["red cells", "red_cells", "42", ""])
    ('red_cells', 'red_cells_2', '42', 'kind')
    """
    found: list[str] = []
    for name in species:
        word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:LONGEST] or "kind"
        number, unique = 1, word
        while unique in found:
            number += 1
            unique = f"{word}_{number}"
        found.append(unique)
    return tuple(found)
