"""Folders of files: which files are data, and in which order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from trackless._errors import InputError
from trackless.files.atomic import is_store

Ending = Callable[[Path], str | None]
MOST_OTHERS = 100_000  # files and folders that are looked at in vain


def natural(path: Path) -> list[tuple[int, int, str]]:
    """A key that sorts names as people do.

    Examples
    --------
    >>> sorted(["run10.csv", "run2.csv", "run.csv"], key=natural)
    ['run2.csv', 'run10.csv', 'run.csv']
    """
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"([0-9]+)", str(path)) if part]


def files_in(folder: Path, ending_of: Ending) -> list[Path]:
    """The files (and zarr stores) of a folder, in the natural order of their names.

    All must be of one kind. Those of a Parquet data set may be in folders below.

    Parameters
    ----------
    folder : Path
    ending_of : callable
        The ending of a file that can be read, None of any other.
    """
    found = list(_listed(folder, ending_of, folder, count(1)))
    kinds = Counter(ending_of(path) for path in found)
    if not found:
        raise InputError(f"{folder}: there is no file of positions in this folder; give one that has some")
    if len(kinds) > 1:
        many = ", ".join(f"{number} {ending}" for ending, number in sorted(kinds.items(), key=str))
        raise InputError(f"{folder}: files of several kinds ({many}); give a folder with one kind, or the files")
    nested = [path for path in found if path.parent != folder]
    if nested and ".parquet" not in kinds:
        raise InputError(f"{folder}: there are files in folders below, such as {nested[0]}; give one of these folders")
    return found


def _listed(folder: Path, ending_of: Ending, top: Path, others: Iterator[int]) -> Iterator[Path]:
    """Files that can be read, also below; what begins with . or _ is no data, nor is what other programs keep there."""
    for path in sorted(folder.iterdir(), key=natural):
        if path.name.startswith((".", "_")):
            continue
        if ending_of(path) is not None and (not path.is_dir() or is_store(path)):
            yield path
        elif next(others) > MOST_OTHERS:  # somebody's home, or a whole disk
            raise InputError(
                f"{top}: below it there are more than {MOST_OTHERS:,} files and folders that are no positions; "
                "give the folder that the data are in"
            )
        elif path.is_dir() and not is_store(path):
            yield from _listed(path, ending_of, top, others)
