"""Several data sets as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trackless._errors import InputError
from trackless.snapshots import Snapshots
from trackless.species import joined as joined_species
from trackless.stored import StoredArray
from trackless.stored import joined as joined_arrays


def concatenate(parts: Sequence[Snapshots]) -> Snapshots:
    """All runs of several data sets as one (copies if they are regular and alike, ragged otherwise).

    What was left in files stays there.
    """
    if not parts:
        raise InputError("concatenate: no data sets given")
    if any(part.box != parts[0].box or part.dim != parts[0].dim for part in parts):
        raise InputError("concatenate: the data sets differ in box or dimension")
    if any(part.species != parts[0].species for part in parts):
        raise InputError("concatenate: the data sets differ in their species")
    labeled = all(part.labeled for part in parts)
    first, species = parts[0], joined_species([part._species for part in parts], [part.runs for part in parts])
    if all(p.regular and np.array_equal(p.times, first.times) for p in parts):
        arrays = [part.positions for part in parts]
        stored = [array for array in arrays if isinstance(array, StoredArray)]
        one = joined_arrays(stored) if len(stored) == len(arrays) else None
        if not stored and len({array.shape[2] for array in arrays}) == 1:
            one = np.concatenate(arrays)
        if one is not None:
            return Snapshots(one, first.times, first.box, labeled, species)
    runs = [part.run_of(m) for part in parts for m in range(part.runs)]
    times = [part.times_of(m) for part in parts for m in range(part.runs)]
    return Snapshots(runs, times, first.box, labeled, species)
