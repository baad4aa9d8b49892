"""Weights that turn values at given times into a time integral; times may be irregular.

left is the paper's Riemann sum (bias of order dt), trapezoid has order dt^2, and cubic integrates the cubic
through the four nearest times on every interval: order dt^4, and on a regular grid the trapezoid with end
corrections (Gregory's idea). Expectations are smooth in time, so the higher order pays even on noisy paths. It needs
intervals of similar length: where they jump by factors, its weights become large and noisy, and trapezoid is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError

RULES = ("left", "trapezoid", "cubic")
ORDERS = {"left": 1, "trapezoid": 2, "cubic": 4}
STRIDES = (1, 2)
"""Moments keep every rule for all snapshots and for every second one: the difference estimates its error."""


def weights(times: ArrayLike, rule: str = "trapezoid") -> NDArray[np.float64]:
    """Weights w with sum_l w_l f(t_l) close to the integral of f from the first to the last time.

    Parameters
    ----------
    times : (L + 1,) strictly increasing
    rule : "left", "trapezoid" or "cubic"

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
    if rule == "left":
        return np.append(steps, 0.0)
    if rule == "trapezoid":
        return 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0))
    if rule == "cubic":
        return _cubic(t)
    raise InputError(f"quadrature: expected one of {', '.join(RULES)}, got {rule!r}")


def every_rule(times: ArrayLike) -> NDArray[np.float64]:
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


def _cubic(t: NDArray[np.float64]) -> NDArray[np.float64]:
    points = min(4, len(t))
    total = np.zeros(len(t))
    starts = np.clip(np.arange(len(t) - 1) - 1, 0, len(t) - points)
    # Gauss-Legendre with two nodes integrates cubics exactly.
    middle, half = 0.5 * (t[1:] + t[:-1]), 0.5 * np.diff(t)
    for node in (-1 / np.sqrt(3), 1 / np.sqrt(3)):
        x = middle + half * node
        for a in range(points):
            lagrange = np.ones(len(starts))
            for b in range(points):
                if b != a:
                    lagrange *= (x - t[starts + b]) / (t[starts + a] - t[starts + b])
            np.add.at(total, starts + a, half * lagrange)
    return total
