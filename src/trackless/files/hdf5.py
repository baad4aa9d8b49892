"""HDF5: the arrays of :mod:`trackless.files.arrays` as datasets at the root; ``format`` is an attribute.

Files of your own are read if they have a dataset ``positions`` (runs, times, particles, dim), or
(times, particles, dim) for one run, and ``times`` (or ``dt`` is given).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.files.arrays import NAMES, arrays_of, snapshots_of, written_in_parts
from trackless.files.extras import needed
from trackless.files.source import check_unpacked, listed, looks_like
from trackless.files.sources import Hdf5Array, left_in_file
from trackless.snapshots import Snapshots
from trackless.stored import StoredArray

EXTRA = "hdf5"


def write_hdf5(snapshots: Snapshots, path: Path) -> None:
    """Regular positions as one dataset, so that parts of it can be read by other programs."""
    h5py = needed("h5py", EXTRA, path)
    arrays = arrays_of(snapshots)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = int(arrays.pop("format"))
        for name, array in arrays.items():
            text = array.dtype.kind == "U"  # as bytes: HDF5 has no fixed-length text of NumPy's kind
            if isinstance(array, StoredArray):
                written_in_parts(snapshots, file.create_dataset(name, array.shape, array.dtype))
            else:
                file[name] = np.array([item.encode() for item in array.tolist()]) if text else array


def read_hdf5(path: Path, dt: float | None = None, box: Any = None, lazy: bool | None = None) -> Snapshots:
    """Whole datasets; positions that would fill the memory are left where they are."""
    h5py = needed("h5py", EXTRA, path)
    # a damaged file can make the library complain in many ways; none of them is the user's concern
    try:
        with h5py.File(path, "r") as file:
            found = sorted(file)
            datasets = {name: file[name] for name in NAMES if name in file}
            if not all(isinstance(dataset, h5py.Dataset) for dataset in datasets.values()):
                raise InputError(f"{path}: expected datasets positions and times, found groups; write datasets instead")
            if any(dataset.dtype.kind not in "iufbSO" for dataset in datasets.values()):
                raise InputError(f"{path}: expected datasets of numbers; write plain arrays")
            arrays: dict[str, Any] = {}
            for name in left_in_file({name: dataset.nbytes for name, dataset in datasets.items()}, lazy):
                check_unpacked(path, datasets[name].nbytes, whole=False)
                arrays[name] = Hdf5Array.of(path, name, datasets[name], datasets[name].chunks)
            check_unpacked(path, sum(dataset.nbytes for name, dataset in datasets.items() if name not in arrays))
            arrays |= {name: _array(dataset) for name, dataset in datasets.items() if name not in arrays}
            if "format" in file.attrs:
                arrays["format"] = np.asarray(file.attrs["format"])
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError):
        kind = looks_like(path)
        said = kind if kind and "HDF5" not in kind else "it is damaged or cut short; copy or write it again"
        raise InputError(f"{path}: not a readable HDF5 file: {said}") from None
    if "positions" not in arrays and "points" not in arrays:
        raise InputError(f"{path}: expected datasets positions and times, found {listed(found)}")
    return snapshots_of(arrays, path, dt, box)


def _array(dataset: Any) -> Any:
    """The whole dataset; text of variable length, as other programs write it, as text."""
    return np.array(dataset.asstr()[...], dtype=str) if dataset.dtype.kind == "O" else dataset[...]
