"""How the interaction force depends on the number of particles N: averaged over them ("mean") or summed ("sum").

Phi_sum = Phi_mean / N: the same force in two ways to write it, as long as N is one number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trackless._errors import InputError
from trackless.snapshots import Snapshots

COUPLINGS = ("mean", "sum")


class Coupling(NamedTuple):
    """A coupling, and what it means in words."""

    name: str
    sentence: str


def chosen_coupling(snapshots: Snapshots, coupling: str = "auto") -> Coupling:
    """The coupling as told; "auto": "sum" where the number of particles is not the same everywhere, "mean" otherwise.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> chosen_coupling(tl.Snapshots(np.zeros((2, 3, 5, 2)), dt=1.0)).sentence
    'mean coupling: forces between particles are averaged, so that Phi is N = 5 times the potential of a pair'
    """
    if coupling not in (*COUPLINGS, "auto"):
        raise InputError(f"coupling: expected 'mean', 'sum' or 'auto', got {coupling!r}")
    counts = np.concatenate([snapshots.counts_of(m) for m in range(1 if snapshots.regular else snapshots.runs)])
    low, high = int(counts.min()), int(counts.max())
    if coupling == "auto":
        coupling = "mean" if low == high else "sum"
    return Coupling(coupling, in_words(coupling, low, high))


def in_words(coupling: str, fewest: int, most: int) -> str:
    """What a coupling means for Phi, with so many particles in a snapshot."""
    if coupling == "sum":
        why = f" (their number changes, {fewest} to {most})" if fewest < most else ""
        return f"sum coupling: forces between particles add up{why}, so that Phi is that of a pair"
    number = f"N = {most}" if fewest == most else "N"
    return (
        f"mean coupling: forces between particles are averaged, so that Phi is {number} times the potential of a pair"
    )


def coupling_factor(given: str, wanted: str, number: int | None, interaction: bool = True) -> float:
    """How many times stronger the functions of Phi are in ``wanted`` coupling, and how many times smaller Phi is.

    Examples
    --------
    >>> coupling_factor("mean", "sum", 10), coupling_factor("sum", "mean", 10)
    (10.0, 0.1)
    """
    if wanted not in COUPLINGS:
        raise InputError(f"coupling: expected 'mean' or 'sum', got {wanted!r}")
    if wanted == given or not interaction:
        return 1.0
    if number is None:
        remedy = (
            "fit again with coupling='sum'"
            if wanted == "sum"
            else "no potential is right for all of them: keep coupling='sum', in which Phi is that of a pair"
        )
        raise InputError(
            f"coupling: {given!r} and {wanted!r} differ by the number of particles, which is not the same in all "
            f"snapshots here, or not known; {remedy}"
        )
    return float(number) if wanted == "sum" else 1.0 / number
