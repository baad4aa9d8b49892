"""Gaussian bumps on a grid: test functions that are not radial, and stay what they are when seen through noise.

exp(-|x - c|^2 / (2 w^2)) convolved with a Gaussian of variance v in d dimensions is the same bump with w^2 + v in the
place of w^2, times (w^2 / (w^2 + v))^(d/2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.tables import BumpTable, one_noise

Array = NDArray[np.float64]
PER_DIRECTION = {1: 8, 2: 5, 3: 3}
OVERLAP = 0.9  # width of a bump, in spacings


def bumps_for(explored: Exploration, role: int, deviation: float) -> tuple[BumpTable, BumpTable]:
    """Bumps where the particles (role 0) or the differences of their positions (1) are, before and after noise.

    Functions of differences are even: bumps come in pairs.
    """
    sample = explored.positions if role == 0 else explored.displacements
    dim = sample.shape[1]
    if dim not in PER_DIRECTION:
        raise InputError(f"dynamics='discrete': potentials that are not radial need 1 to 3 dimensions, got {dim}")
    middle = sample.mean(axis=0) if role == 0 else np.zeros(dim)
    half = 2.0 * np.sqrt(((sample - middle) ** 2).mean(axis=0))
    steps = [np.linspace(m - h, m + h, PER_DIRECTION[dim]) for m, h in zip(middle, half, strict=True)]
    centres = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, dim)
    if role == 1:
        centres = centres[[tuple(c) >= tuple(-c) for c in np.round(centres / half, 9)]]  # one of each pair
    width = OVERLAP * 2 * half / (PER_DIRECTION[dim] - 1)
    wider = np.sqrt(width**2 + deviation**2)
    centres, nowhere = np.ascontiguousarray(centres), np.zeros(dim)
    amplitude = float(np.prod(width / wider))
    return (
        BumpTable(centres, 1 / width**2, 1.0, nowhere, len(centres), one_noise(dim)),
        BumpTable(centres, 1 / wider**2, amplitude, nowhere, len(centres), one_noise(dim)),
    )
