"""Finished parts of a long computation, one file each: what is there is not computed again."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.files.atomic import replacing
from trackless.files.results import load, save


class Store:
    """A folder of parts. Files are written whole or not at all, so an interrupted run leaves only finished ones.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()))
    >>> store.arrays("squares", lambda: {"x": np.arange(3) ** 2})["x"]
    array([0, 1, 4])
    >>> store.arrays("squares", lambda: 1 / 0)["x"]  # it is there already
    array([0, 1, 4])
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def arrays(self, key: str, compute: Callable[[], Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """The named arrays of a part."""
        path = self.folder / f"{key}.npz"
        if not path.exists():
            values = {name: np.asarray(value) for name, value in compute().items()}
            with replacing(path) as temporary:
                np.savez_compressed(temporary, **values)  # type: ignore[arg-type]
            return values
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
            raise InputError(f"{path} is damaged; delete it, and it will be computed again") from None

    def results(self, keys: list[str], compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Fits or moments that are computed together, by key."""
        paths = {key: self.folder / f"{key}.trackless" for key in keys}
        if not all(path.exists() for path in paths.values()):
            values = compute()
            for key, path in paths.items():
                save(values[key], path, overwrite=True)
            return dict(values)
        return {key: load(path) for key, path in paths.items()}

    def has(self, *keys: str) -> bool:
        """Whether all of these parts are finished."""
        return all(any((self.folder / f"{key}{end}").exists() for end in (".npz", ".trackless")) for key in keys)
