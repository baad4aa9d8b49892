"""Density waves rho_k(t) = sum_i chi(x_i) exp(i k x_i) of parts of a data set."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
MOST_PARTICLES = 100_000  # in the snapshots that are looked at
FEWEST_BLOCKS = 12  # of runs; below, stretches of time serve as blocks
ALIKE = 0.05  # times between snapshots that differ by less count as the same


def stretches(snapshots: Snapshots, longest: int, particles: int = MOST_PARTICLES) -> list[tuple[int, int, int]]:
    """Runs, and first and last snapshots, that are looked at: whole runs, or parts of them if there are few."""
    typical = max(1.0, float(np.mean([snapshots.counts_of(m).mean() for m in range(min(snapshots.runs, 20))])))
    most = int(particles / typical)  # snapshots
    found = []
    runs = np.unique(np.linspace(0, snapshots.runs - 1, min(snapshots.runs, max(1, most // (longest + 1)))).astype(int))
    for run in runs.tolist():
        length = min(len(snapshots.times_of(run)), max(longest + 1, most // len(runs)))
        parts = 1
        if len(runs) < FEWEST_BLOCKS:
            parts = int(np.clip(length // (2 * longest), 1, -(-2 * FEWEST_BLOCKS // len(runs))))
        cuts = np.linspace(0, length, parts + 1).astype(int)
        # a stretch goes on into the next one as far as correlations look back: no pair of snapshots is lost
        found += [(run, int(a), min(int(b) + longest, length) - 1) for a, b in pairwise(cuts)]
    return found


def waves_of(
    snapshots: Snapshots, run: int, first: int, last: int, waves: Array, sides: Array
) -> tuple[NDArray[np.complex128], Array]:
    """rho (frames, waves) and W (frames,) of some snapshots of a run."""
    counts = snapshots.counts_of(run)[first : last + 1]
    points = np.asarray(snapshots.points_of(run, first, last), float)
    chi = np.ones(len(points))
    if np.isfinite(sides).all():
        inside = np.clip((points - sides[:, 0]) / np.diff(sides)[:, 0], 0.0, 1.0)
        chi = (np.sin(np.pi * inside) ** 2).prod(axis=1)
    ends = np.cumsum(counts)
    frames = [slice(end - n, end) for end, n in zip(ends.tolist(), counts.tolist(), strict=True)]
    rho = np.array([chi[own] @ np.exp(1j * (points[own] @ waves.T)) for own in frames], dtype=np.complex128)
    return rho, np.array([(chi[own] ** 2).sum() for own in frames])
