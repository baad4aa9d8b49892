"""Cubic B-splines of the distance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline
from scipy.ndimage import gaussian_filter1d

from trackless._errors import InputError
from trackless.basis import Array, Basis, Center, Role, checked_coef, closed_center, is_open, origin_of, placed
from trackless.exploration import Exploration
from trackless.magnitudes import check_magnitude
from trackless.potentials import PiecewiseCubic, RadialPotential
from trackless.tables import Pieces, RadialTable, radial_table, rounded

CROWDED = 10.0  # knots for bends per part of the sample, where equal numbers would be 1
SMEARED = 1 / 400  # of the range: the width over which the density of the sample is taken
FEW = 100  # of the nearest distances: in 5 dimensions they spread over a factor of 2.5
ROUNDED = 2048  # a slope at r = 0 is rounded below this part of the range


@dataclass(frozen=True)
class RadialSplines(Basis):
    """Cubic B-splines of the distance: a pair touches four of them.

    Constants, which no data can see, are projected out: the last spline is left out, so the profile is 0 at
    the upper end. With ``cutoff`` value and slope vanish there.

    Parameters
    ----------
    count : int
        Number of functions.
    lower, upper : float, optional
        Range; from the data's distances if left out. Outside it the profile goes on linearly.
    cutoff : float, optional
        Upper end at which value and slope are 0 (interactions).
    flat_center : bool
        Enforce g'(0) = 0 (needs lower = 0). Otherwise a slope at 0 is rounded within 1/2048 of the range in the
        moments, because the Laplacian of a tip diverges.
    knots : tuple of float, optional
        Interior and end knots instead of equidistant ones; they say the count.
    center : tuple of float, "mean", "fit" or None
        As for :class:`RadialFunctions`.
    follow_data : bool
        Where range and knots are left open: up to the farthest distance, and half of the knots where the data are
        dense (otherwise the range leaves out the farthest thousandth, and knots are equidistant).

    Examples
    --------
    >>> import trackless as tl
    >>> splines = tl.RadialSplines(10, lower=0.0, cutoff=2.5)
    >>> phi = splines.combine([1.0] * 10)
    >>> bool(abs(phi.profile(2.5)) < 1e-12 and abs(phi.slope(2.5)) < 1e-12)
    True
    """

    count: int = 20
    lower: float | None = None
    upper: float | None = None
    cutoff: float | None = None
    flat_center: bool = False
    knots: tuple[float, ...] | None = field(default=None, repr=False)  # too many to read
    center: Center = None
    follow_data: bool = False
    _cells: int = field(default=4096, repr=False)

    def __post_init__(self) -> None:
        # Frozen and small: a wrong range is easier to understand here than in a kernel.
        if self.knots is not None:
            object.__setattr__(self, "count", len(self.knots) + 2 - self._dropped)
            object.__setattr__(self, "lower", float(self.knots[0]))
            object.__setattr__(self, "upper", float(self.knots[-1]))
        if self.cutoff is not None and self.upper is not None and self.upper != self.cutoff:
            raise InputError(
                f"RadialSplines: cutoff {self.cutoff:g} is the upper end, drop upper={self.upper:g} "
                "or let the knots end there"
            )
        check_magnitude("RadialSplines", *(end for end in (self.lower, self.upper, self.cutoff) if end is not None))
        if self.count < 2:
            raise InputError(f"RadialSplines: expected at least 2 functions, got {self.count}")

    @property
    def size(self) -> int:
        return self.count

    @property
    def _dropped(self) -> int:
        return (2 if self.cutoff is not None else 1) + self.flat_center

    @property
    def names(self) -> tuple[str, ...]:
        if not self.closed:
            return tuple(f"spline {k}" for k in range(self.count))
        return tuple(f"spline around r={peak:.3g}" for peak in self._greville())

    @property
    def closed(self) -> bool:
        return self.lower is not None and self._top is not None and not is_open(self.center)

    @property
    def _top(self) -> float | None:
        return self.cutoff if self.cutoff is not None else self.upper

    def adapted(self, explored: Exploration, role: Role) -> RadialSplines:
        if self.closed:
            return self
        center = closed_center(self.center, explored, role)
        sample = explored.reached(role, center, self.cutoff)
        if not len(sample):
            within = f" closer than the cutoff {self.cutoff:g}" if self.cutoff is not None else ""
            raise InputError(f"RadialSplines: there are no pairs of particles{within} to take the range from")
        farthest = float(sample.max()) if self.follow_data else float(np.quantile(sample, 0.999))
        top = self._top if self._top is not None else farthest
        low = self.lower
        if low is None:
            low = float(sample.min()) if self.follow_data else float(np.quantile(sample, 0.0005))
            reaches_zero = not _hole(sample) if self.follow_data else low < 0.1 * top
            low = 0.0 if reaches_zero or self.flat_center else low
        if top <= low:
            raise InputError(f"RadialSplines: the range [{low:g}, {top:g}] is empty; give lower and upper")
        knots = _following(sample, low, top, self._intervals, self._cells, None) if self.follow_data else None
        if self.cutoff is not None:
            return replace(self, lower=low, center=center, knots=knots)
        return replace(self, lower=low, upper=top, center=center, knots=knots)

    def refined(self, explored: Exploration, role: Role, estimate: RadialPotential) -> RadialSplines:
        """As many functions on the same range, with half of the knots where a first estimate bends most.

        A core needs finer knots than the data's density alone would give it.

        Examples
        --------
        >>> import trackless as tl
        >>> from trackless.exploration import explore
        >>> explored = explore(tl.simulate(tl.models.reference(), runs=20, step=1e-2))
        >>> splines = tl.RadialSplines(20, follow_data=True).adapted(explored, "interaction")
        >>> finer = splines.refined(explored, "interaction", tl.models.singularity().interaction)
        >>> sum(r < 0.5 for r in finer.knots) > sum(r < 0.5 for r in splines.knots)
        True
        """
        low, top = self.lower, self._top
        if low is None or top is None or isinstance(self.center, str):
            raise InputError("RadialSplines: only a family with a range can be refined; adapt it to data first")
        sample = explored.reached(role, self.center, self.cutoff)
        return replace(self, knots=_following(sample, low, top, self._intervals, self._cells, estimate))

    @property
    def _intervals(self) -> int:
        return self.count + self._dropped - 3

    def _edges(self) -> tuple[Array, float]:
        """Knots on a fine lattice (so that a kernel finds the cell by one look-up), and the lattice spacing."""
        low, top = self.lower, self._top
        if low is None or top is None:
            raise InputError("RadialSplines: the range is open; give lower and upper, or adapt the family to data")
        if self.flat_center and low != 0:
            raise InputError(f"RadialSplines: flat_center needs lower=0, got {low:g}")
        if self.knots is None:  # fine enough to round the tip inside the first cell
            finer = max(1, round(ROUNDED / self._intervals))
            return np.linspace(low, top, self._intervals + 1), (top - low) / (self._intervals * finer)
        spacing = (top - low) / self._cells
        steps = np.round((np.asarray(self.knots) - low) / spacing)
        if np.any(np.diff(steps) < 1):
            raise InputError(f"knots: expected increasing and at least {spacing:g} apart, got {self.knots}")
        return low + spacing * steps, spacing

    def spline_parts(self) -> tuple[Array, Array]:
        """Full knot vector, and the matrix (B-splines, functions) of what is kept and joined."""
        edges, _ = self._edges()
        full = np.concatenate([[edges[0]] * 3, edges, [edges[-1]] * 3])
        joined = np.eye(len(full) - 4)
        if self.flat_center:  # the first two have opposite slopes at 0, the others none
            joined[:, 1] += joined[:, 0]
            joined = joined[:, 1:]
        return full, joined[:, : self.count]

    def _greville(self) -> Array:
        full, joined = self.spline_parts()
        centers = np.array([full[k + 1 : k + 4].mean() for k in range(len(joined))])
        return (joined * centers[:, None]).sum(axis=0) / joined.sum(axis=0)

    def pieces(self) -> Pieces:
        """The functions as piecewise cubics, as the moments see them: a slope at r = 0 is rounded."""
        exact = self._exact_pieces()
        steps = max(1, round(exact.edges[-1] / ROUNDED / exact.spacing))
        return rounded(exact, steps * exact.spacing) if exact.edges[0] == 0 else exact

    def _exact_pieces(self) -> Pieces:
        edges, spacing = self._edges()
        full, joined = self.spline_parts()
        spline = BSpline(full, joined, 3)
        taylor = [spline(edges[:-1], nu=order) / factorial(order) for order in range(4)]
        return Pieces(edges, spacing, _cleaned(np.stack(taylor, axis=-1), np.diff(edges)))

    def table(self, dim: int) -> RadialTable:
        return radial_table([self.pieces()], np.ones((1, dim)), origin_of(self.center, dim))

    def combine(self, coef: ArrayLike) -> RadialPotential:
        pieces = self._exact_pieces()
        total = np.einsum("ckp,k->cp", pieces.coef, checked_coef(coef, self.size))
        return placed(PiecewiseCubic(pieces.edges, total), self.center)


def _hole(sample: Array) -> bool:
    """Whether something keeps all distances above some minimum; otherwise their number below r grows as r^dim."""
    few = min(FEW, len(sample) - 1)
    return bool(np.partition(sample, few)[few] < 2 * sample.min())


def _following(
    sample: Array, low: float, top: float, intervals: int, cells: int, estimate: RadialPotential | None
) -> tuple[float, ...]:
    """Knots on a lattice of cells, spread evenly over the range, over the sample, and over the bends of an estimate.

    The first two get equal parts of the intervals; an estimate gets as many as both. Between knots h apart the slope of
    a spline has an error of about h |f''|, or of higher derivatives that an estimate does not know; its mean square
    over a sample of density p is smallest for knots of density (p f''^2)^(1/3). Where only few data are, knots would
    let through noise of no typical size, so there they are not crowded.
    """
    grid = np.linspace(low, top, cells + 1)
    counts, _ = np.histogram(sample, grid)
    density = counts / max(counts.sum(), 1) * cells
    parts = [np.ones(cells), density]
    if estimate is not None:
        smooth = gaussian_filter1d(density, SMEARED * cells, mode="nearest")
        bends = (smooth * estimate.curvature(0.5 * (grid[1:] + grid[:-1])) ** 2) ** (1 / 3)
        if bends.sum() > 0:
            parts.append(np.minimum(2 * bends / bends.mean(), CROWDED * smooth))
    level = np.concatenate([[0.0], np.cumsum(sum(parts))])
    chosen = np.unique(np.searchsorted(level, np.linspace(0, level[-1], intervals + 1)).clip(0, cells))
    chosen[0], chosen[-1] = 0, cells
    return tuple(grid[chosen].tolist())


def _cleaned(coef: Array, widths: Array) -> Array:
    """Exact zeros where a spline has no support, so that kernels can skip it."""
    size = np.abs(coef * widths[:, None, None] ** np.arange(4)).max(axis=-1)  # in any units
    support = size > 1e-13 * size.max(axis=0)
    return np.where(support[..., None], coef, 0.0)
