"""What an experiment has to show: tables, figures and claims, as plain values; and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike


class Claim(NamedTuple):
    """What the paper concludes, and whether it is so here."""

    text: str
    holds: bool
    evidence: str
    """the figures that say so"""


@dataclass(frozen=True)
class Table:
    """A table; the same rows go into a CSV file.

    Attributes
    ----------
    name : str
        Of the file.
    title : str
    columns : tuple of str
    rows : list of tuple
        Text, numbers, or None where there is nothing.
    note : str
        Below the table.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    note: str = ""

    def markdown(self) -> str:
        """As Markdown.

        Examples
        --------
        >>> print(Table("t", "Errors", ("dt", "V"), [(0.1, 1.25), (0.01, None)]).markdown())
        **Errors**
        <BLANKLINE>
        | dt | V |
        | --- | --- |
        | 0.1 | 1.25 |
        | 0.01 |  |
        """
        lines = [f"**{self.title}**", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row([text_of(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, "", self.note] if self.note else lines)

    def csv(self) -> str:
        """As comma-separated values, without marks."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[text_of(cell).replace("**", "") for cell in row] for row in self.rows])
        return out.getvalue()


@dataclass(frozen=True, eq=False)
class Section:
    """One experiment on the page.

    Attributes
    ----------
    text : tuple of str
        Paragraphs before the tables.
    figures : dict
        Name of the file -> figure.
    counts : dict
        Kind -> (number, total): cells that agree with the paper ("agree", and by a harder measure "alike"), or that are
        better ("won").
    lost : tuple of str
        What is not better, in words.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def text_of(cell: Any) -> str:
    """A cell as text; numbers with four digits."""
    if cell is None:
        return ""
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.4g}" if np.isfinite(cell) else ""
    return str(cell)


def pm(values: ArrayLike, digits: int = 2) -> str:
    """Mean +- standard deviation.

    Examples
    --------
    >>> pm([1.0, 1.5, 2.0])
    '1.50 +- 0.50'
    """
    each = np.asarray(values, float)
    if len(each) < 2:
        return f"{each.mean():.{digits}f}"
    return f"{each.mean():.{digits}f} +- {each.std(ddof=1):.{digits}f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
