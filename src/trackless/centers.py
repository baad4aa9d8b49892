"""The centre of a radial V, found from the data: where the loss of the best V and Phi is smallest.

The loss is minus the logarithm of a likelihood (times sigma^2 / n), so this is the maximum of the profile likelihood.
Each place that is tried costs one pass over a part of the data, on few functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.basis import Basis, about
from trackless.exploration import Exploration, explore
from trackless.intensity import Sigma, is_per_direction
from trackless.pieces import usual_length
from trackless.radial_splines import RadialSplines
from trackless.residuals import Units, heard_in, pilot
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
LOOKED_AT = 8_000  # snapshots
FUNCTIONS = (8, 16)  # splines for V and Phi at most: a centre needs no details
FIRST = 0.4  # first steps, in units of the spread of the particles
CLOSE = 0.03  # the last ones; a Newton step follows
NEARBY = 0.1  # steps for derivatives
BEYOND = 0.5  # of the extent of the data: so far outside of them the centre may be
BLOCKS = 64


@dataclass(frozen=True)
class FoundCenter:
    """A centre that was found.

    Attributes
    ----------
    center, error : tuple of float
        Coordinates, and their standard errors (from the scatter of the runs or time windows that were looked at).
    known : bool
        False where there is no best place near the data, or its error is as large as the spread of the particles: then
        the centre is their mean position.
    """

    center: tuple[float, ...]
    error: tuple[float, ...]
    known: bool = True

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        place = ", ".join(f"{x:.4g}" for x in self.center)
        if not self.known:
            return f"no centre of V can be told from these data, so that V is taken about the mean position, ({place})"
        errors = ", ".join(f"{e:.2g}" for e in self.error)
        return f"V is taken about ({place}), found from the data with a standard error of ({errors})"


def find_center(
    snapshots: Snapshots,
    external: Basis,
    interaction: Basis | None,
    sigma: Sigma,
    coupling: str = "mean",
    quadrature: str = "auto",
) -> FoundCenter:
    """The place about which a radial V explains the data best.

    Parameters
    ----------
    snapshots : Snapshots
    external : Basis
        A radial family, whatever its centre is.
    interaction : Basis or None
    sigma : float, or one per direction
    coupling, quadrature : str

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> trap = tl.Model("trap", tl.RadialFunctions([lambda r: r**2]), None, (1.0,), sigma=1.0)
    >>> data = tl.simulate(trap, runs=100, step=1e-2, observe_every=2e-2, initial=1.0)
    >>> moved = tl.Snapshots(data.positions + np.array([3.0, 4.0]), data.times)
    >>> found = find_center(moved, tl.RadialFunctions([lambda r: r**2]), None, 1.0)
    >>> bool((np.abs(np.subtract(found.center, [3.0, 4.0])) < 4 * np.array(found.error)).all())
    True
    """
    if not hasattr(external, "center"):
        raise InputError(f"center: expected a radial family for V, such as tl.RadialSplines(8), got {external!r}")
    if snapshots.dim == 1:
        raise InputError(
            "center='fit': in one dimension V about a place beyond the data may be any function, so that no place is "
            "best; give coordinates, or 'mean'"
        )
    profile = _Profile(snapshots, external, interaction, sigma, coupling, quadrature)
    start = profile.explored.mean
    simplex = start + profile.spread * FIRST * np.vstack([np.zeros(len(start)), np.eye(len(start))])
    options = {"initial_simplex": simplex, "xatol": CLOSE * profile.spread, "fatol": np.inf, "maxfev": 60 * len(start)}
    best, covariance = profile.polished(minimize(profile, start, method="Nelder-Mead", options=options).x)
    error = np.sqrt(np.diag(covariance))
    if not (error < profile.spread).all():
        return FoundCenter(tuple(start.tolist()), tuple(error.tolist()), known=False)
    return FoundCenter(tuple(best.tolist()), tuple(error.tolist()))


class _Profile:
    """The loss at the best coefficients as a function of the centre, on a part of the data."""

    def __init__(
        self, snapshots: Snapshots, external: Basis, interaction: Basis | None, sigma: Sigma, coupling: str,
        quadrature: str,
    ) -> None:  # fmt: skip
        self.data = snapshots[: max(1, LOOKED_AT // usual_length(snapshots))]
        self.explored = explore(self.data)
        self.spread = float(np.sqrt(self.explored.positions.var(axis=0).mean())) or 1.0
        extent = BEYOND * (self.explored.upper - self.explored.lower)
        self.lower, self.upper = self.explored.lower - extent, self.explored.upper + extent
        self.external, self.interaction = external, _simple_interaction(interaction, self.explored)
        self.sigma, self.coupling, self.quadrature = sigma, coupling, quadrature

    def units(self, center: Array) -> tuple[Units, list[slice]]:
        """Normal equations of blocks and windows, with V about a place; and where V and Phi are in them."""
        external = _simple_external(self.external, center, self.explored)
        per_direction = is_per_direction(self.sigma)
        moments = accumulate(
            self.data, external, self.interaction, self.coupling, blocks=BLOCKS, per_direction=per_direction
        )
        ends = [0, moments.external_size, moments.size][: 2 if self.interaction is None else 3]
        return Units.of(moments, self.sigma, self.quadrature), [slice(a, b) for a, b in pairwise(ends)]

    def losses(self, center: Array) -> Array:
        """The loss of each block and window (units,), times its weight, at the best coefficients of all."""
        units, parts = self.units(center)
        matrix, vector = units.mean()
        coef = pilot(matrix, vector, heard_in(matrix, parts))
        return 0.5 * np.einsum("k,ukl,l->u", coef, units.matrices, coef) - units.vectors @ coef

    def __call__(self, center: Array) -> float:
        if not ((center >= self.lower) & (center <= self.upper)).all():
            return np.inf
        return float(self.losses(center).sum())

    def polished(self, center: Array) -> tuple[Array, Array]:
        """The place after a Newton step, and its covariance H^-1 S H^-1, S from the scatter of the units' slopes.

        The covariance is infinite where this is no minimum.
        """
        step, dim = NEARBY * self.spread, len(center)
        ahead, behind = ([self.losses(center + sign * step * e) for e in np.eye(dim)] for sign in (1.0, -1.0))
        middle = self(center)
        curvature = np.zeros((dim, dim))
        for k in range(dim):
            curvature[k, k] = (ahead[k].sum() - 2 * middle + behind[k].sum()) / step**2
            for m in range(k):
                both = step * (np.eye(dim)[k] + np.eye(dim)[m])
                mixed = self(center + both) + self(center - both) - 2 * middle
                mixed = mixed / step**2 - curvature[k, k] - curvature[m, m]
                curvature[k, m] = curvature[m, k] = 0.5 * mixed
        if not (np.isfinite(curvature).all() and np.linalg.eigvalsh(curvature)[0] > 0):
            return center, np.full((dim, dim), np.inf)
        slopes = (np.array(ahead) - np.array(behind)).T / (2 * step)
        inverse = np.linalg.inv(curvature)
        moved = (-inverse @ slopes.sum(axis=0)).clip(-step, step)  # the parabola is known no farther than that
        slopes = slopes - slopes.mean(axis=0)
        return center + moved, np.asarray(inverse @ slopes.T @ slopes @ inverse, float)


def _simple_external(basis: Any, center: Array, explored: Exploration) -> Basis:
    """The family about a place.

    Splines are few, even and flat at the centre: the loss must be smooth in the place, and the Laplacian of a tip jumps
    whenever it comes near a particle.
    """
    place = tuple(center.tolist())
    if isinstance(basis, RadialSplines):
        upper = float(explored.radii(center).max())
        return RadialSplines(min(basis.count, FUNCTIONS[0]), lower=0.0, upper=upper, flat_center=True, center=place)
    return about(basis, place).adapted(explored, "external")


def _simple_interaction(basis: Any, explored: Exploration) -> Basis | None:
    if isinstance(basis, RadialSplines) and not basis.closed:
        return RadialSplines(min(basis.count, FUNCTIONS[1]), cutoff=basis.cutoff).adapted(explored, "interaction")
    return basis.adapted(explored, "interaction") if basis is not None else None
