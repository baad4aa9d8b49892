"""New data for a fit that there is already: their moments are added, and everything is learnt again from the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.basis import Basis, Member, members_of
from trackless.belonging import check_belongs
from trackless.estimators.least_squares import explored_range
from trackless.estimators.refinement import use_noise
from trackless.exploration import Exploration, explore
from trackless.mixtures import name_of
from trackless.moments import Moments
from trackless.noise import slope_in_variance
from trackless.snapshots import Snapshots
from trackless.survey import surveyed

if TYPE_CHECKING:
    from trackless.estimators.self_test import SelfTest

Families = tuple[Basis | None, Basis | None]
BEYOND = 0.005  # part of new data outside the range of the functions that is worth a word; of the first data 0.001 are


def add_data(fit: SelfTest, given: Snapshots | Moments) -> None:
    """Learn again from what a fit has seen and from new data; families, sigma and what was left out stay."""
    if fit.debias or fit.dynamics == "discrete":
        which = "debias=True" if fit.debias else "dynamics='discrete'"
        raise InputError(f"partial_fit: {which} goes over all data again, and earlier ones are gone; fit all together")
    families: Families = (fit.external_basis_, fit.interaction_basis_)
    ranges, beyond, frames = fit.explored_, (), None
    if isinstance(given, Snapshots):
        snapshots, known = given, getattr(fit, "frames_", None)
        given, explored = _reduced(fit, snapshots, families)
        frames = known + surveyed(snapshots).known if known is not None else None
        ranges = _united(families, ranges, tuple(explored_range(explored, f, r) for r, f in enumerate(families)))
        beyond = _beyond(families, explored)
    elif not isinstance(given, Moments):
        raise InputError(f"partial_fit: expected Snapshots or Moments, got {type(given).__name__}")
    moments = fit.moments_ + given
    fit.explored_, fit.fingerprint_, fit.frames_ = ranges, None, frames
    fit.updates_ = getattr(fit, "updates_", 0) + 1
    fit.beyond_ = tuple(dict.fromkeys((*getattr(fit, "beyond_", ()), *beyond)))
    if fit.noise_ is None:
        fit._learn(moments)
    else:  # what is not known of sigma is part of the errors
        fit.moments_ = moments
        use_noise(fit, fit.noise_, slope_in_variance(moments, fit.quadrature))


def _reduced(fit: SelfTest, snapshots: Snapshots, families: Families) -> tuple[Moments, Exploration]:
    """Moments of new data that are like those of the fit, and where they were."""
    check_belongs(fit, snapshots, "partial_fit")
    used = snapshots.without_gaps(fit.max_gap_)
    if fit.resolution_ is not None and fit.resolution_.left_out:
        used = used.between(fit.resolution_.start, np.inf)
    first = fit.moments_
    shortest = min(len(used.times_of(m)) for m in range(1 if used.regular else used.runs))
    if shortest <= first.windows:
        raise InputError(
            f"partial_fit: every run is kept in {first.windows} time windows, as those of the first data, and needs at "
            f"least {first.windows + 1} snapshots; one of these has {shortest}: leave it out, or fit all data together"
        )
    moments = accumulate(
        used, *families, first.coupling, first.windows, per_direction=first.parts > 1, observation=first.observation
    )
    return moments, explore(used)


def _united(families: Families, one: Any, other: Any) -> Any:
    """Ranges that two data sets explored together."""
    both = []
    for family, a, b in zip(families, one, other, strict=True):
        if family is not None and family.species is not None:
            both.append(tuple(_wider(x, y) for x, y in zip(a, b, strict=True)))
        else:
            both.append(_wider(a, b))
    return tuple(both)


def _wider(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    low, high = np.minimum(a[0], b[0]), np.maximum(a[1], b[1])
    return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


def _beyond(families: Families, explored: Exploration) -> tuple[str, ...]:
    """A word on every potential whose functions were made for a smaller range than new data have."""
    said = []
    for member in members_of(families):
        share, end = _share_beyond(member, explored.of_kinds(member.kinds))
        if share > BEYOND:
            what = ("particles", "pairs")[member.role]
            said.append(
                f"{share:.2g} of the new {what} are beyond {end:.4g}, where the functions of "
                f"{name_of(member.role, member.kinds)} end that were chosen on the first data: farther out they are "
                "straight lines; fit all data together for more"
            )
    return tuple(said)


def _share_beyond(member: Member, explored: Exploration) -> tuple[float, float]:
    """The part of the particles, or pairs, that are farther out than a family's functions, and where these end."""
    top = getattr(member.basis, "upper", None)
    if top is None or getattr(member.basis, "cutoff", None) is not None:  # a cutoff is an end of its own
        return 0.0, np.inf
    if np.ndim(top) == 0:
        role = "interaction" if member.role else "external"
        return float((explored.reached(role, getattr(member.basis, "center", None)) > top).mean()), float(top)
    sample = explored.displacements if member.role else explored.positions
    low = -np.asarray(top) if member.role else np.asarray(getattr(member.basis, "lower", -np.inf))
    return float(((sample > top) | (sample < low)).any(axis=-1).mean()), float(np.max(top))
