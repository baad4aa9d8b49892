"""What a fit could see at all, before anything is fitted: how long neighbours were watched, against their noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from trackless.exploration import Exploration
from trackless.snapshots import Snapshots
from trackless.spacing import Spacing
from trackless.wording import rounded

NEIGHBOURS = 2.0  # pairs closer than so many times the mean distance to the nearest neighbour
PLACES = 4  # distances at which their force is wanted separately
ERRORS = 2.0  # standard errors from which on a force stands out
STRONG, HOPELESS = 1.0, 10.0  # kT over the distance between neighbours
FEW = 10.0  # pairs that would be closer by chance, below which a hole means nothing


class Prospect(NamedTuple):
    """A rough count of pairs of neighbours.

    Attributes
    ----------
    pairs : float
        In a snapshot, on average.
    watched : float
        Their time in all: pairs times the duration of all runs.
    force : float
        The weakest force between neighbours that would stand out of the noise, in units of sigma^2/2 (kT, in a fluid)
        over their distance.
    missing : float
        How many pairs, in independent snapshots, would be closer than the closest if nothing kept them apart.
    closest : float
        The smallest distance.
    """

    pairs: float
    watched: float
    force: float
    missing: float
    closest: float

    @property
    def hole(self) -> str:
        """That close pairs are missing, with what to do about it; nothing where chance explains it."""
        if self.missing <= FEW:
            return ""
        digit = 10.0 ** (np.floor(np.log10(self.closest)) - 1)
        least = f"{np.ceil(self.closest / digit) * digit:.2g}"
        return (
            f"no two particles are closer than {self.closest:.3g}, although by chance about {self.missing:,.0f} pairs "
            "would be: either they repel each other, or closer ones were not told apart when they were detected, which "
            f"a fit takes for a force; if so, use exclude_below={least} (--exclude-below {least})"
        )

    @property
    def sentence(self) -> str:
        """What that means, in words."""
        said = (
            f"{rounded(self.pairs)} pairs of neighbours in a snapshot on average, watched for a time of "
            f"{rounded(self.watched)} in all"
        )
        stands = f"about {rounded(self.force, 2)} sigma^2/2 (kT) over their distance"
        if self.force > HOPELESS:
            return f"{said}: too little to expect an interaction to be seen (only forces above {stands} stand out)"
        if self.force > STRONG:
            return f"{said}: only a strong interaction would be seen (forces above {stands})"
        return f"{said}: forces between them of more than {stands} stand out of the noise"


def prospect(snapshots: Snapshots, explored: Exploration, measured: Spacing) -> Prospect | None:
    """Count pairs of neighbours; None where nothing moves, or there are none.

    Two particles that are watched for a time t tell the force between them with an error of sigma / sqrt(2 t), however
    many snapshots are taken in between.

    Examples
    --------
    >>> import trackless as tl
    >>> from trackless.exploration import explore
    >>> from trackless.spacing import spacing
    >>> data = tl.simulate(tl.models.reference(), runs=200, step=1e-2, observe_every=1e-2)
    >>> bool(prospect(data, explore(data), spacing(data)).force < 0.5)
    True
    """
    distances = explored.distances
    if not measured.step or not measured.neighbour or not len(distances):
        return None
    durations = [float(np.ptp(snapshots.times_of(m))) for m in range(snapshots.runs)]
    counts = np.concatenate([snapshots.counts_of(m) for m in range(1 if snapshots.regular else snapshots.runs)])
    all_pairs = float((counts * (counts - 1.0)).mean()) / 2
    pairs = all_pairs * float((distances < NEIGHBOURS * measured.neighbour).mean())
    watched = pairs * sum(durations)
    # the median of a step in all directions together
    variance = measured.step**2 / float(chi2.median(snapshots.dim)) / float(np.median(snapshots.intervals()))
    if watched == 0:
        return None
    error = np.sqrt(variance * PLACES / (2 * watched))
    closest = float(distances.min())  # of a sample of pairs: of many particles it hardly holds the closest ones
    if measured.closest is not None:
        closest = min(closest, measured.closest)
    beside = float((distances < 2 * closest).mean()) * all_pairs
    independent = sum(1 + duration * variance / closest**2 for duration in durations) if closest > 0 else 0.0
    missing = beside / (2**snapshots.dim - 1) * min(independent, snapshots.frames)
    force = float(ERRORS * error * measured.neighbour / (0.5 * variance))
    return Prospect(pairs, watched, force, missing, closest)
