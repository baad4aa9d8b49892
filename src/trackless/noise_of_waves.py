"""sigma where particles come and go, or are not where they seem: from density waves; and a first guess everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.fluctuations import Route, first_guess
from trackless.intensity import Sigma, checked_sigma, is_per_direction, is_unknown
from trackless.noise import NoiseLevel
from trackless.observation import Observation
from trackless.snapshots import Snapshots
from trackless.waves import motion

FEW_INTERVALS, MANY = 12, 500  # of all runs, and particles in a snapshot


def seen_by_waves(snapshots: Snapshots, seen: Observation) -> bool:
    """Whether sigma is told by density waves: where particles come and go, are off, or are seldom seen.

    Energies of many particles that are seen a few times tell little: they are as few numbers as there are intervals.
    """
    seldom = snapshots.frames - snapshots.runs < FEW_INTERVALS and int(snapshots.counts_of(0).min()) >= MANY
    return seldom or not snapshots.constant_count or not seen.complete


def noise_of_waves(snapshots: Snapshots, seen: Observation, per_direction: bool = False, size: int = 0) -> NoiseLevel:
    """sigma from density waves (:mod:`trackless.waves`), which tell diffusion from what an instrument does.

    ``size`` is the number of functions of the fit: errors of b know nothing of those of sigma.
    """
    if per_direction:
        raise InputError(
            "sigma='diagonal': not where particles come and go, are seen with errors, or a few times only; give sigma"
        )
    found = motion(snapshots, seen)
    route = Route(2 * found.diffusion, 2 * found.diffusion_error)
    sigma = float(np.sqrt(route.value)) if route.known else float(np.sqrt(2.0))
    error = route.error / (2 * sigma) if route.known else np.nan
    alone = np.array([[route.error**2]]), np.zeros((1, size))
    return NoiseLevel(sigma, error, (), (route,), np.nan, route.known, *alone, motion=found)


def guessed_sigma(snapshots: Snapshots, sigma: Any, coupling: str, seen: Observation) -> Sigma:
    """sigma as given; or, where it is to be found, one that is good enough to begin with."""
    if not is_unknown(sigma):
        return checked_sigma(sigma)
    if seen_by_waves(snapshots, seen):
        return noise_of_waves(snapshots, seen, is_per_direction(sigma)).sigma
    return first_guess(snapshots, coupling, is_per_direction(sigma))
