"""zarr stores: the arrays of :mod:`trackless.files.arrays` in a group; small things are attributes of the group.

Stores of your own are read if they have an array ``positions`` (runs, times, particles, dim), or
(times, particles, dim) for one run, and ``times`` (or ``dt`` is given); or if they are such an array. Chunks of whole
runs are read fastest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.files.arrays import NAMES, arrays_of, snapshots_of, written_in_parts
from trackless.files.extras import needed
from trackless.files.source import check_unpacked, listed
from trackless.files.sources import ZarrArray, left_in_file
from trackless.snapshots import Snapshots
from trackless.stored import StoredArray

EXTRA = "zarr"
CHUNK = 8_000_000  # bytes
ATTRIBUTES = ("format", "box", "labeled", "species_names")
SAFE = (
    "bytes", "transpose", "sharding_indexed", "crc32c", "crc32", "adler32", "fletcher32", "blosc", "zstd", "gzip",
    "zlib", "lz4", "lzma", "bz2", "shuffle", "bitshuffle", "delta", "fixedscaleoffset", "quantize", "bitround",
    "astype", "packbits",
)  # fmt: skip
"""Ways of packing numbers; others, above all pickles, may run what is in a file."""


def write_zarr(snapshots: Snapshots, path: Path) -> None:
    """Chunks of some whole runs, or of a part of a long one."""
    zarr = needed("zarr", EXTRA, path)
    group = zarr.open_group(path, mode="w")
    for name, array in arrays_of(snapshots).items():
        if name in ATTRIBUTES:
            group.attrs[name] = array.tolist()
            continue
        target = group.create_array(name, shape=array.shape, dtype=array.dtype, chunks=_chunks(array))
        if isinstance(array, StoredArray):
            written_in_parts(snapshots, target)
        else:
            target[...] = array


def read_zarr(path: Path, dt: float | None = None, box: Any = None, lazy: bool | None = None) -> Snapshots:
    """Positions that would fill the memory are left where they are."""
    zarr = needed("zarr", EXTRA, path)
    # a damaged store can make the library complain in many ways; none of them is the user's concern
    try:
        found = zarr.open(path, mode="r")
        group = isinstance(found, zarr.Group)
        # asked for one by one: a list of all would warn of what else is in the folder, and complain in the background
        stored = {name: found[name] for name in NAMES if name in found} if group else {"positions": found}
        if not all(isinstance(array, zarr.Array) for array in stored.values()):
            raise InputError(f"{path}: expected arrays positions and times, found groups; write arrays instead")
        for name, array in stored.items():
            _check_safe(path, name, array)
        arrays: dict[str, Any] = {name: np.asarray(found.attrs[name]) for name in ATTRIBUTES if name in found.attrs}
        for name in left_in_file({name: array.nbytes for name, array in stored.items()}, lazy):
            check_unpacked(path, stored[name].nbytes, whole=False)
            arrays[name] = ZarrArray.of(path, name if group else "", stored[name], stored[name].chunks)
        check_unpacked(path, sum(array.nbytes for name, array in stored.items() if name not in arrays))
        arrays |= {name: np.asarray(array[...]) for name, array in stored.items() if name not in arrays}
    except InputError:
        raise
    except Exception:
        raise InputError(
            f"{path}: not a readable zarr store: it is damaged or cut short; copy or write it again"
        ) from None
    if "positions" not in arrays and "points" not in arrays:
        names = sorted(one.name for one in path.iterdir() if one.is_dir())
        raise InputError(f"{path}: expected arrays positions and times, found {listed(names)}")
    return snapshots_of(arrays, path, dt, box)


def _chunks(array: Any) -> tuple[int, ...]:
    """As much of the first axes as makes a chunk."""
    left, chunks = max(1, CHUNK // max(array.dtype.itemsize, 1)), []
    for axis, length in enumerate(array.shape):
        behind = int(np.prod(array.shape[axis + 1 :]))
        chunks.append(int(np.clip(left // max(behind, 1), 1, max(length, 1))))
    return tuple(chunks)


def _check_safe(path: Path, name: str, array: Any) -> None:
    """Refuse what is not plainly packed numbers."""
    if array.dtype.kind not in "iufb":
        raise InputError(f"{path}: expected an array of numbers in {name}, got type {array.dtype}; write plain arrays")
    for codec in _codecs(array.metadata.to_dict()):
        if codec.removeprefix("numcodecs.") not in SAFE:
            raise InputError(
                f"{path}: {name} is packed with {codec!r}, which is not read, as it may not be safe; write it with "
                "zstd, blosc or gzip"
            )


def _codecs(description: Any) -> list[str]:
    """Names of all codecs, also of those inside of shards."""
    listed = [description.get(key) or () for key in ("codecs", "filters", "compressor", "index_codecs")]
    found: list[str] = []
    for one in (codec for some in listed for codec in ([some] if isinstance(some, dict) else some)):
        found.append(str(one.get("name", one.get("id"))))
        found += _codecs(one.get("configuration") or {})
    return found
