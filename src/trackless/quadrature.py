"""Weights that turn values at given times into a time integral; times may be irregular.

left is the paper's Riemann sum (bias of order dt), trapezoid has order dt^2, and cubic integrates the cubic
through the four nearest times on every interval: order dt^4, and on a regular grid the trapezoid with end
corrections (Gregory's idea). Expectations are smooth in time, so the higher order pays even on noisy paths. A cubic
through times that are unevenly spaced would have large, noisy weights: such intervals get the trapezoid. The cubic rule
is therefore never far from the best of the three, and it is what "auto" means.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError

Array = NDArray[np.float64]
RULES = ("left", "trapezoid", "cubic")
ORDERS = {"left": 1, "trapezoid": 2, "cubic": 4}
EVEN = 2.0  # intervals that differ by more than this factor are not bridged by one cubic
STRIDES = (1, 2)
"""Moments keep every rule for all snapshots and for every second one: the difference estimates its error."""


def weights(times: ArrayLike, rule: str = "trapezoid") -> Array:
    """Weights w with sum_l w_l f(t_l) close to the integral of f from the first to the last time.

    Parameters
    ----------
    times : (L + 1,) strictly increasing
    rule : "left", "trapezoid", "cubic" or "auto"

    Returns
    -------
    (L + 1,)
        They sum to the duration.

    Examples
    --------
    >>> weights([0.0, 1.0, 2.0, 3.0])
    array([0.5, 1. , 1. , 0.5])
    >>> weights([0.0, 1.0, 2.0, 3.0], "left")
    array([1., 1., 1., 0.])
    """
    t = np.asarray(times, dtype=float)
    if len(t) < 2:
        raise InputError(f"quadrature: expected at least two times, got {len(t)}")
    steps = np.diff(t)
    return {"left": _left, "trapezoid": _trapezoid, "cubic": _cubic}[rule_named(rule)](t, steps)


def rule_named(name: str) -> str:
    """The rule that a name stands for."""
    rule = "cubic" if name == "auto" else name
    if rule not in RULES:
        raise InputError(f"quadrature: expected one of {', '.join((*RULES, 'auto'))}, got {name!r}")
    return rule


def every_rule(times: ArrayLike) -> Array:
    """Weights under every stride and rule; shape (strides, rules, L + 1).

    The coarser grid is every second time and, so that both cover the same span, the last one.
    """
    t = np.asarray(times, dtype=float)
    table = np.zeros((len(STRIDES), len(RULES), len(t)))
    for s, stride in enumerate(STRIDES):
        kept = np.unique(np.append(np.arange(0, len(t), stride), len(t) - 1))
        for r, rule in enumerate(RULES):
            table[s, r, kept] = weights(t[kept], rule)
    return table


def _left(t: Array, steps: Array) -> Array:
    return np.append(steps, 0.0)


def _trapezoid(t: Array, steps: Array) -> Array:
    return 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0))


def _cubic(t: Array, steps: Array) -> Array:
    points = min(4, len(t))
    starts = np.clip(np.arange(len(t) - 1) - 1, 0, len(t) - points)
    bridged = np.lib.stride_tricks.sliding_window_view(steps, points - 1)[starts]
    even = bridged.max(axis=1) <= EVEN * bridged.min(axis=1)
    total = _trapezoid(t, np.where(even, 0.0, steps))
    # Gauss-Legendre with two nodes integrates cubics exactly.
    weight = np.where(even, 0.5 * steps, 0.0)
    for node in (-1 / np.sqrt(3), 1 / np.sqrt(3)):
        x = 0.5 * (t[1:] + t[:-1]) + 0.5 * steps * node
        for a in range(points):
            lagrange = np.ones(len(starts))
            for b in range(points):
                if b != a:
                    lagrange *= (x - t[starts + b]) / (t[starts + a] - t[starts + b])
            np.add.at(total, starts + a, weight * lagrange)
    return total
