"""How much of some data lies where a fit has seen none, which happens where they are not the data of the fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.exploration import Exploration
from trackless.mixtures import learnt_potentials
from trackless.potentials import RadialPotential
from trackless.uncertainty import cutoff_of

Array = NDArray[np.float64]
NEARLY_ALL = 0.99
UNSEEN = 0.05  # of the data outside of what a fit explored; of its own data it is 0.002
PLACES = {True: ("distances from the centre", "distances of pairs"), False: ("places", "displacements of pairs")}


class Outside(NamedTuple):
    """What a potential is asked about without having seen it."""

    share: float
    """part of the distances (or places) of the data that lie outside of the range that the fit explored"""
    sentence: str


def outside(fitted: Any, explored: Exploration) -> list[Outside | None]:
    """For every V and Phi of a fit, how much of the data lies outside its range; None where that is not known.

    Parameters
    ----------
    fitted : fitted estimator
    explored : Exploration
        Of the data that it is asked about.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=20, duration=0.1, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> larger = tl.Snapshots(1000 * data.positions, data.times)
    >>> outside(fitted, Exploration(larger))[1].sentence
    'Phi: all of the distances of pairs in these data lie outside of the range that the fit explored'
    """
    found: list[Outside | None] = []
    for role, kinds, potential, reached in (learnt := learnt_potentials(fitted)):
        own, radial = explored.of_kinds(kinds), isinstance(potential, RadialPotential)
        sample = _sample(potential, own, role)
        if reached is None or not len(sample):
            found.append(None)
            continue
        share = 1.0 - float(_within(sample, *reached).mean())
        found.append(
            Outside(
                share,
                f"{learnt[len(found)].name}: {_part(share)} of the {PLACES[radial][role]} in "
                "these data lie outside of the range that the fit explored",
            )
        )
    return found


def said_of_outside(found: Iterable[Outside | None]) -> str:
    """What must be said first of data that lie outside of what a fit knows, in words; empty where too little does."""
    much = [one.sentence for one in found if one is not None and one.share >= UNSEEN]
    return "; ".join(much) + ": there it knows nothing (if these data are in other units, convert them)" if much else ""


def _sample(potential: Any, explored: Exploration, role: int) -> Array:
    """What the potential is evaluated at: (Q,) distances, or (Q, dim) places or displacements."""
    if not isinstance(potential, RadialPotential):
        return explored.displacements if role else explored.positions
    distances = explored.distances if role else explored.radii(potential.origin)
    cutoff = cutoff_of(potential)
    # pairs beyond a cutoff do not interact: of them the fit claims to know, and nothing is asked
    return distances if cutoff is None or not role else distances[distances <= cutoff]


def _within(sample: Array, low: Any, high: Any) -> NDArray[np.bool_]:
    inside = (sample >= low) & (sample <= high)
    return inside if sample.ndim == 1 else inside.all(axis=1)


def _part(share: float) -> str:
    if share == 1.0:
        return "all"
    return f"more than {NEARLY_ALL:.0%}".replace("%", " %") if share > NEARLY_ALL else f"{100 * share:.2g} %"
