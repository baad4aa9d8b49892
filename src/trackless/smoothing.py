"""Test functions seen through noise: radial families convolved with a Gaussian, as tables.

A radial function stays radial: h~(r) is the mean of h over the distance |r e + s Z|, whose density is

    p(q | r) = q/s^2 (q/r)^n exp(-(q^2 + r^2) / (2 s^2)) I_n(q r / s^2),      n = dim/2 - 1,

and its slope is that of h times p with the next Bessel function, because gradients are convolved like functions.
They are integrated by Gauss-Legendre rules on cells no wider than the noise or the functions' own scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from trackless.basis import Basis
from trackless.potentials import as_radial
from trackless.tables import Pieces, RadialTable, hermite, radial_table

Array = NDArray[np.float64]
FINE = 12  # cells per length over which a smoothed function changes
RULE = 8  # points of the Gauss-Legendre rule
WIDE = 8.0  # deviations that the noise may reach
MOST = 4096  # cells


def smoothed_table(family: Basis, top: float, scale: float, deviation: float, dim: int) -> RadialTable:
    """The functions of a radial family convolved with a Gaussian of standard deviation ``deviation``.

    Parameters
    ----------
    top : float
        Where the table ends; it goes on linearly.
    scale : float
        Length over which the functions themselves change.
    """
    functions = [as_radial(family.combine(unit)) for unit in np.eye(family.size)]  # type: ignore[arg-type]
    nodes = np.linspace(0.0, top, min(int(np.ceil(FINE * top / np.hypot(scale, deviation))), MOST) + 1)
    reach = top + WIDE * deviation
    edges = np.linspace(0.0, reach, int(np.ceil(reach / min(deviation, scale))) + 1)
    places, weights = np.polynomial.legendre.leggauss(RULE)
    half = 0.5 * edges[1]
    distance = (edges[:-1, None] + half * (1 + places)).ravel()
    weight = np.tile(half * weights, len(edges) - 1)
    of_value, of_slope = _densities(nodes, distance, deviation, dim)
    value = (weight * of_value) @ np.stack([f.profile(distance) for f in functions], axis=1)
    slope = (weight * of_slope) @ np.stack([f.slope(distance) for f in functions], axis=1)
    slope[0] = 0.0  # smooth at r = 0
    pieces = Pieces(nodes, nodes[1], hermite(nodes, value, slope))
    return radial_table([pieces], np.ones((1, dim)), np.zeros(dim) + functions[0].origin)


def _densities(r: Array, q: Array, deviation: float, dim: int) -> tuple[Array, Array]:
    """Of the distance q (Q,) after noise, given r (R,) before; and the same times the cosine of the turn: (R, Q)."""
    order = 0.5 * dim - 1
    start = np.maximum(r, 1e-6 * deviation)[:, None]
    product = q * start / deviation**2
    common = q / deviation**2 * (q / start) ** order * np.exp(-0.5 * ((q - start) / deviation) ** 2)
    return common * ive(order, product), common * ive(order + 1, product)
