"""What data show of an instrument that nobody told of: particles that flicker, positions that are off."""

from __future__ import annotations

import numpy as np

from trackless.observation import Observation
from trackless.position_errors import position_errors
from trackless.snapshots import Snapshots

FLICKER = "PARTICLES COME AND GO"
SELDOM = 0.5  # probability of being seen below which it is not chance alone that takes particles away
LASTING = 2.0  # variance of numbers over that of changes from frame to frame, above which changes last
LOOKED_AT = 1000  # runs


def unsaid(snapshots: Snapshots, seen: Observation) -> list[str]:
    """Sentences on what would have to be said of the instrument, with how to say it.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> generator = np.random.default_rng(0)
    >>> runs = [[x[generator.random(50) < 0.9] for x in generator.uniform(0, 9, (40, 50, 2))] for _ in range(3)]
    >>> said = unsaid(tl.Snapshots(runs, dt=0.1), Observation())
    >>> "detection=0.9 (--detection 0.9)" in said[0]
    True
    >>> unsaid(tl.Snapshots(runs, dt=0.1), Observation(detection=0.9))
    []
    """
    off = position_errors(snapshots)
    return [said for said in (_flicker(snapshots, seen), off.sentence(seen) if off is not None else "") if said]


def _flicker(snapshots: Snapshots, seen: Observation) -> str:
    """That particles are missing now and then, where nothing was said that explains it."""
    if snapshots.constant_count or seen.masked or seen.detection < 1:
        return ""
    looked_at = np.unique(np.linspace(0, snapshots.runs - 1, LOOKED_AT).astype(int))
    counts = [np.asarray(snapshots.counts_of(m), float) for m in looked_at.tolist()]
    several = [own for own in counts if len(own) > 1]
    steps = np.concatenate([np.diff(own) for own in several])
    mean, frames = float(np.mean(np.concatenate(several))), sum(map(len, several))
    at_once = 0.5 * float((steps**2).mean()) / max(mean, 1e-300)
    in_all = sum(((own - own.mean()) ** 2).sum() for own in several) / max(frames - len(several), 1) / max(mean, 1e-300)
    told = (
        f"{FLICKER}: their number changes in {float((steps != 0).mean()):.0%} of all steps from frame to frame, but "
        "all are taken to be seen in every frame"
    )
    edge = "window='auto' (--window auto), if they cross the edge of what is seen"
    if 1 - at_once < SELDOM or in_all > LASTING * at_once:
        return f"{told}; use {edge}, or detection= (--detection), if some are missed by chance"
    seen_with = f"{1 - at_once:.2g}" if at_once > 0.005 else f"{1 - at_once:.3g}"
    return (
        f"{told}; use detection={seen_with} (--detection {seen_with}), if they are missed by chance as often as the "
        f"scatter of their number says; or {edge}"
    )
