"""How many particles are lost because another one is too close, and what that does to a fit.

Two particles that a detector takes for one leave a gap in the distances, which test functions that vanish there undo.
But the particle that is lost still pushes all others, and counts in nothing any more until it comes back: its other
pairs, and what it adds to V, are lost with it. No function of what is seen alone is continuous there, because the one
that is left looks like any other. So the equations hold in the limit of few losses (or nearly, where as many are lost
everywhere); with many, in a cloud that is denser in its middle, a density that seems lower there reads as a weaker V.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trackless.exploration import explore
from trackless.observation import Observation
from trackless.snapshots import Snapshots

NOTABLE, MANY = 0.01, 0.05  # parts of the particles: from the second on bands of V and Phi no longer hold


class Losses(NamedTuple):
    """Particles that are not seen because another one is closer than ``nearest``."""

    nearest: float
    share: float
    """of all particles, on average"""
    counted: bool
    """whether their number, which changes, says so; otherwise it is the number of pairs a little farther apart"""

    @property
    def sentence(self) -> str:
        """What that means; nothing where it hardly matters."""
        if self.share < NOTABLE:
            return ""
        how = "as their number in each frame says" if self.counted else "if nothing but that keeps them apart"
        about = f"about {self.share:.0%} or more" if self.counted else f"up to about {self.share:.0%}"
        lost = f"{about} of the particles are not seen because another one is closer than {self.nearest:.4g} ({how})"
        if self.share < MANY:
            return (
                f"{lost}; what that does to their other pairs and to V is not undone, and is small while they are few"
            )
        return (
            f"TOO MANY PARTICLES ARE LOST: {lost}. Those push the others unseen, which exclude_below= cannot undo: "
            "V and Phi may be off by more than their bands say, most of all where some places are more crowded. Tell "
            "closer particles apart (for a smaller exclude_below=), or use data that are less crowded"
        )


def losses(snapshots: Snapshots, seen: Observation) -> Losses | None:
    """Estimate how many particles are lost to a neighbour; None without ``exclude_below``.

    Where all particles would be seen otherwise, their number says so: it varies like that of the pairs which are lost,
    by chance (less in a crowd, so this is low there), and its largest value is at most how many there are. Elsewhere
    pairs below that distance are taken to be as frequent, for their volume, as up to twice of it: too many, if they
    repel each other.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> seen = [np.random.default_rng(k).uniform(0, 1, (90 + k, 2)) for k in range(10)]
    >>> round(losses(tl.Snapshots([seen], dt=0.1, box=1.0), Observation(exclude_below=0.02)).share, 2)
    0.08
    """
    if not seen.exclude_below:
        return None
    nearest, distances = seen.exclude_below, explore(snapshots).distances
    everywhere = seen.window is None and seen.detection == 1
    if everywhere and snapshots.constant_count:
        return Losses(nearest, 0.0, True)
    counts = [snapshots.counts_of(m).astype(float) for m in range(1 if snapshots.regular else snapshots.runs)]
    every = np.concatenate(counts)
    if everywhere:
        number = max(float(every.mean()), 1e-300)
        there = sum(own.max() * len(own) for own in counts) / len(every)
        varies = sum(((own - own.mean()) ** 2).sum() for own in counts) / len(every)
        return Losses(nearest, float(max(1 - number / there, varies / (number + varies))) if there > 0 else 0.0, True)
    pairs = float((every * (every - 1)).mean()) / 2
    beside = pairs * float(((distances >= nearest) & (distances < 2 * nearest)).mean()) if len(distances) else 0.0
    missing = beside / (2**snapshots.dim - 1) / seen.detection / max(float(every.mean()), 1e-300)
    return Losses(nearest, missing / (1 + missing), False)
