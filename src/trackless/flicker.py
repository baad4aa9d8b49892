"""Whether particles are missed now and then, by chance, as their number in each frame tells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trackless.snapshots import Snapshots

SELDOM = 0.5  # probability of being seen below which it is not chance alone that takes particles away
LASTING = 2.0  # variance of numbers over that of changes from frame to frame, above which changes last
LOOKED_AT = 1000  # runs


class Flicker(NamedTuple):
    """How the number of particles changes within runs.

    Attributes
    ----------
    changing : float
        Share of the steps from frame to frame that change it.
    seen : float
        Probability that a particle is seen, if there are always as many and chance takes some away: their number then
        scatters by a share 1 - p of its mean.
    by_chance : bool
        Whether that may be so: numbers forget themselves from frame to frame, and few are missed.
    """

    changing: float
    seen: float
    by_chance: bool


def flicker(snapshots: Snapshots) -> Flicker | None:
    """How numbers change; None where they stay the same within every run.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> seen = [[np.zeros((n, 2)) for n in np.random.default_rng(m).binomial(50, 0.9, 100)] for m in range(5)]
    >>> found = flicker(tl.Snapshots(seen, dt=0.1))
    >>> found.by_chance, round(found.seen, 1)
    (True, 0.9)
    """
    if snapshots.constant_count:
        return None
    looked_at = np.unique(np.linspace(0, snapshots.runs - 1, LOOKED_AT).astype(int))
    counts = [np.asarray(snapshots.counts_of(m), float) for m in looked_at.tolist()]
    several = [own for own in counts if len(own) > 1]
    steps = np.concatenate([np.diff(own) for own in several])
    every = np.concatenate(several)
    mean, free = max(float(every.mean()), 1e-300), len(every) - len(several)
    at_once = 0.5 * float((steps**2).mean()) / mean
    in_all = sum(float(((own - own.mean()) ** 2).sum()) for own in several) / free / mean
    by_chance = 1 - at_once >= SELDOM and in_all <= LASTING * at_once
    return Flicker(float((steps != 0).mean()), 1 - at_once, by_chance)
