"""Values at the nodes of a spline family -> its coefficients: how functions that are no splines meet the moments.

Networks are trained on moments this way, and Gaussian processes on function values become priors on coefficients that
do not depend on the knots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from trackless.basis import Basis
from trackless.radial_splines import RadialSplines
from trackless.tensor_splines import TensorSplines, spline_values

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Nodes:
    """Where a function is evaluated, and how its values become coefficients.

    Attributes
    ----------
    points : (Q, inputs)
        Distances (Q, 1) or positions (Q, dim).
    coefficients : (K, Q)
        Values at the points -> coefficients of the nearest spline, whatever the constant.
    """

    points: Array
    coefficients: Array


def nodes_of(basis: Basis) -> Nodes:
    """Nodes of a closed spline family."""
    if isinstance(basis, RadialSplines):
        knots, joined = basis.spline_parts()
        peaks = np.array([knots[k + 1 : k + 4].mean() for k in range(len(knots) - 4)])
        points = np.unique(np.concatenate([peaks, 0.5 * (peaks[1:] + peaks[:-1])]))[:, None]
        values = BSpline(knots, joined, 3)(points[:, 0])
    elif isinstance(basis, TensorSplines):
        ends = zip(basis.lower or (), basis.upper or (), strict=True)
        axes = [np.linspace(low, high, 2 * basis.count - 5) for low, high in ends]  # two to a cell
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        if basis.even:
            points = points[: -(-len(points) // 2)]  # the rest are mirror images
        values = spline_values(basis, points)
    else:
        raise TypeError(f"no nodes for {basis!r}")
    with_constant = np.concatenate([values, np.ones((len(values), 1))], axis=1)
    return Nodes(points, np.linalg.pinv(with_constant)[:-1].astype(np.float64))
