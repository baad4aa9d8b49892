"""What data show of an instrument that nobody told of: particles that flicker, positions that are off."""

from __future__ import annotations

from trackless.flicker import flicker
from trackless.observation import Observation
from trackless.position_errors import position_errors
from trackless.snapshots import Snapshots

FLICKER = "PARTICLES COME AND GO"
SELDOM_MISSED = 0.99  # probability of being seen that is told with one more digit


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
    found = None if seen.masked or seen.detection < 1 else flicker(snapshots)
    if found is None:
        return ""
    told = (
        f"{FLICKER}: their number changes in {found.changing:.0%} of all steps from frame to frame, but all are taken "
        "to be seen in every frame"
    )
    edge = "window='auto' (--window auto), if they cross the edge of what is seen"
    if not found.by_chance:
        return f"{told}; use {edge}, or detection= (--detection), if some are missed by chance"
    seen_with = f"{found.seen:.{2 if found.seen < SELDOM_MISSED else 3}g}"
    return (
        f"{told}; use detection={seen_with} (--detection {seen_with}), if they are missed by chance as often as the "
        f"scatter of their number says; or {edge}"
    )
