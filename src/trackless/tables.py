"""Families of functions as tables that kernels read: piecewise cubics, no transcendental functions.

Every radial family is the same thing to a kernel: cells in r, and in each cell a few functions that are cubic
polynomials there. A B-spline dictionary has 4 functions per cell, a family of K smooth functions has all K.
Value, slope and curvature come from the same polynomial, so the weak form holds exactly for the tabulated
function: tabulating changes the basis a little, never the consistency of the equations (MATH: "one dictionary
serves every radial basis"). Beyond its ends a table continues linearly, which keeps it a C1 potential.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trackless.potentials import RadialPotential

Array = NDArray[np.float64]


class RadialTable(NamedTuple):
    """Functions of q = |(x - origin) / stretch|, grouped by stretch (one group unless anisotropic)."""

    origin: Array
    """(dim,)"""
    squares: Array
    """(groups, dim): 1 / stretch^2"""
    group_start: NDArray[np.int64]
    """(groups + 1,): group g holds the functions group_start[g] .. group_start[g + 1]"""
    bottom: float
    """where the first cell starts"""
    bins_per_unit: float
    cell_of: NDArray[np.int64]
    """(groups, bins): uniform bins -> cell; bin 0 lies below the table, the last one above"""
    left: Array
    """(cells,): expansion point of each cell"""
    first: NDArray[np.int64]
    """(cells,): the first function that is not zero in the cell; unused where ``dense``"""
    coef: Array
    """(width, cells, 4): coefficients of 1, u, u^2, u^3 with u = q - left, of the functions from ``first`` on"""
    dense: bool
    """True: every function of a group is kept in every cell; False: one group, ``width`` functions per cell"""
    size: int
    """number of functions"""
    noise: Array
    """(parts, dim): which directions each part of the diffusion term is of, see :func:`by_direction`"""


class TensorTable(NamedTuple):
    """Products of uniform cubic B-splines, one per direction; a cell touches 4^dim of them."""

    lower: Array
    """(dim,)"""
    cells_per_unit: Array
    """(dim,)"""
    cells: NDArray[np.int64]
    """(dim,): number of cells; there are cells + 3 splines in a direction"""
    fold: NDArray[np.int64]
    """(product of cells + 3): flat spline index -> function, -1 where the function is left out"""
    origin: Array
    """(dim,), always 0; the bounds say where the grid lies"""
    size: int
    """number of functions"""
    noise: Array
    """(parts, dim)"""


class PolynomialTable(NamedTuple):
    """x_k, then x_k x_l for k <= l, of positions relative to an origin: test functions for one particle."""

    origin: Array
    """(dim,)"""
    scale: float
    """a typical distance from it"""
    size: int
    """dim + dim (dim + 1) / 2"""
    noise: Array
    """(parts, dim)"""


class BumpTable(NamedTuple):
    """Gaussian bumps: amplitude exp(-sum_k precision_k (x - centre)_k^2 / 2)."""

    centres: Array
    """(size, dim)"""
    precision: Array
    """(dim,)"""
    amplitude: float
    origin: Array
    """(dim,), always 0"""
    size: int
    noise: Array
    """(parts, dim)"""


Table = TypeVar("Table", bound=RadialTable | TensorTable | PolynomialTable | BumpTable)


class Families(NamedTuple):
    """All functions of a fit, as kernels take them: first V of every kind of particles, then Phi of every pair of them.

    Tables of one potential must be of the same class.
    """

    external: tuple
    """a table per kind"""
    interaction: tuple
    """a table per row of ``pairs``"""
    pairs: NDArray[np.int64]
    """(P, 2): which kinds interact"""
    reach: float
    """distance beyond which all interactions vanish; infinite if they do not"""
    same_external: bool = False
    """whether all kinds have one and the same V: its functions then count once"""
    same_interaction: bool = False
    """whether all pairs have one and the same Phi"""

    @property
    def parts(self) -> int:
        """Of the noise: 1, or one per direction."""
        return len(self.external[0].noise)

    @property
    def external_size(self) -> int:
        """Number of functions of V."""
        return sum(table.size for table in self.external[: 1 if self.same_external else None])

    @property
    def interaction_size(self) -> int:
        """Number of functions of Phi."""
        return sum(table.size for table in self.interaction[: 1 if self.same_interaction else None])

    def terms(self, counts: NDArray[np.int64]) -> Array:
        """How many particles, or ordered pairs, each family is summed over: (..., families) from (..., kinds)."""
        first, second = self.pairs.T
        singles, pairs = counts, counts[..., first] * (counts[..., second] - (first == second))
        if self.same_external:
            singles = singles.sum(axis=-1, keepdims=True)
        if self.same_interaction:  # of unlike kinds every pair is listed once
            pairs = (pairs * np.where(first == second, 1, 2)).sum(axis=-1, keepdims=True)
        return np.concatenate([singles, pairs], axis=-1).astype(float)

    def of_functions(self, values: Array) -> Array:
        """Values (..., families) repeated for each function, (..., K)."""
        external, interaction = (
            [table.size for table in tables[: 1 if same else None]]
            for tables, same in ((self.external, self.same_external), (self.interaction, self.same_interaction))
        )
        return np.repeat(values, external + interaction, axis=-1)


class Mask(NamedTuple):
    """Where test functions vanish, with slope and curvature (see :mod:`trackless._kernels.vanishing`).

    A direction without an edge has infinite bounds; without a nearest distance that can be seen it is -1.
    """

    lower: Array
    """(dim,)"""
    upper: Array
    """(dim,)"""
    ramp: Array
    """(dim,): from the bounds so far inwards test functions rise to their full size"""
    nearest: float
    """pairs closer than this do not count"""
    nearest_ramp: float
    """from there on so far"""


def one_kind(external: Table, interaction: Table, reach: float = np.inf) -> Families:
    """The families of particles that are all alike."""
    return Families((external,), (interaction,), np.zeros((1, 2), np.int64), reach)


class Pieces(NamedTuple):
    """One group of piecewise cubics on [bottom, top], before it is compressed into a table."""

    edges: Array
    """(cells + 1,), increasing; multiples of ``spacing`` above the first"""
    spacing: float
    coef: Array
    """(cells, functions, 4)"""


def by_direction(table: Table) -> Table:
    """The same functions with the Laplacian in parts: a diffusion term for every direction, in place of one for all."""
    return table._replace(noise=np.eye(table.noise.shape[1]))


def one_noise(dim: int) -> Array:
    """The usual ``noise`` of a table: the Laplacian as a whole."""
    return np.ones((1, dim))


def empty_table(dim: int) -> RadialTable:
    """A table of no functions: stands for a potential that is left out."""
    pieces = Pieces(np.array([0.0, 1.0]), 1.0, np.zeros((1, 0, 4)))
    return radial_table([pieces], np.ones((1, dim)), np.zeros(dim))


def tabulated(
    functions: Sequence[RadialPotential],
    bottom: float,
    top: float,
    tip: float | None = None,
    *,
    tolerance: float = 1e-5,
    most: int = 4096,
) -> Pieces:
    """Cubic Hermite pieces of radial profiles on a uniform grid, fine enough for their slopes.

    The grid is doubled until the slope between nodes agrees to ``tolerance`` of its largest value (the default
    is far below what data can tell, and gives tables that stay in cache), or there are ``most`` cells (a kink, as
    in a clamped core, then costs one cell). A slope at r = 0 is rounded below ``tip``, see :func:`rounded`.
    """
    tip = top / 256 if tip is None else tip
    cells = min(max(128, round(top / tip)), most)
    while True:
        nodes = np.linspace(bottom, top, cells + 1)
        coef = _hermite(functions, nodes)
        if cells >= most:
            break
        middle = nodes[:-1] + 0.37 * (nodes[1] - nodes[0])
        u = middle - nodes[:-1]
        slope = coef[:, :, 1] + u[:, None] * (2 * coef[:, :, 2] + 3 * u[:, None] * coef[:, :, 3])
        exact = np.stack([f.slope(middle) for f in functions], axis=1)
        if np.all(np.abs(slope - exact) <= tolerance * np.abs(exact).max(axis=0)):
            break
        cells *= 2
    pieces = Pieces(nodes, nodes[1] - nodes[0], coef)
    return rounded(pieces, max(tip, pieces.spacing)) if bottom == 0 else pieces


def rounded(pieces: Pieces, radius: float) -> Pieces:
    """Replace functions with a slope at r = 0 by a parabola below ``radius`` (a multiple of the spacing).

    The Laplacian of a tip is g'(0) (d - 1) / r: in two dimensions its variance is infinite, so that one particle
    close to the centre can ruin a fit, and in one dimension a delta function is missing altogether. The rounded
    function is again a potential, value and slope are continuous, and no snapshot sees a divergence.
    """
    tips = np.abs(pieces.coef[0, :, 1]) > 1e-12 * np.abs(pieces.coef[:, :, 1]).max(axis=0)
    pieces = pieces._replace(coef=pieces.coef.copy())
    pieces.coef[0, ~tips, 1] = 0.0  # a slope too small to matter would still be infinite when divided by r = 0
    if not tips.any():
        return pieces
    pieces = _with_edge(pieces, radius)
    below = np.searchsorted(pieces.edges, radius * (1 - 1e-9))  # cells that end at the radius or before
    value, slope = pieces.coef[below, tips, 0], pieces.coef[below, tips, 1]
    left = pieces.edges[:below, None]
    coef = pieces.coef.copy()
    coef[:below, tips, 0] = value + 0.5 * slope * (left**2 / radius - radius)
    coef[:below, tips, 1] = slope * left / radius
    coef[:below, tips, 2] = 0.5 * slope / radius
    coef[:below, tips, 3] = 0.0
    return pieces._replace(coef=coef)


def _with_edge(pieces: Pieces, radius: float) -> Pieces:
    """The same functions with one more edge, unless it is there already."""
    cell = int(np.searchsorted(pieces.edges, radius * (1 + 1e-9))) - 1
    u = radius - pieces.edges[cell]
    if u < 1e-6 * radius:
        return pieces
    c0, c1, c2, c3 = np.moveaxis(pieces.coef[cell], -1, 0)
    shifted = np.stack(
        [c0 + u * (c1 + u * (c2 + u * c3)), c1 + u * (2 * c2 + 3 * u * c3), c2 + 3 * u * c3, c3], axis=-1
    )
    return pieces._replace(
        edges=np.insert(pieces.edges, cell + 1, radius), coef=np.insert(pieces.coef, cell + 1, shifted, axis=0)
    )


def _hermite(functions: Sequence[RadialPotential], nodes: Array) -> Array:
    value = np.stack([f.profile(nodes) for f in functions], axis=1)
    return hermite(nodes, value, np.stack([f.slope(nodes) for f in functions], axis=1))


def hermite(nodes: Array, value: Array, slope: Array) -> Array:
    """Cubics (cells, functions, 4) through values and slopes (cells + 1, functions) at evenly spaced nodes."""
    h = nodes[1] - nodes[0]
    rise = np.diff(value, axis=0) / h
    quadratic = (3 * rise - 2 * slope[:-1] - slope[1:]) / h
    cubic = (slope[:-1] + slope[1:] - 2 * rise) / h**2
    return np.stack([value[:-1], slope[:-1], quadratic, cubic], axis=-1)


def radial_table(groups: Sequence[Pieces], squares: Array, origin: Array) -> RadialTable:
    """Compress groups of pieces (each with its own stretch, same range) into one table."""
    bottom, top = float(groups[0].edges[0]), float(groups[0].edges[-1])
    sizes = [pieces.coef.shape[1] for pieces in groups]
    width = max(max(_widest(pieces.coef) for pieces in groups), 1)
    # Local kernels know neither stretches nor more than the 4 functions of a cubic B-spline cell.
    local = len(groups) == 1 and 2 * width <= sizes[0] and width <= 4 and bool(np.all(squares == 1))
    dense = not local
    if dense:
        width = max(*sizes, 1)
    bins = round((top - bottom) / min(pieces.spacing for pieces in groups))
    middles = bottom + (np.arange(bins) + 0.5) * (top - bottom) / bins
    cell_of, left, first, coef = [], [], [], []
    cells = 0
    for pieces in groups:
        extended = _with_linear_ends(pieces)
        starts, narrow = _compressed(extended, width)
        inside = np.searchsorted(pieces.edges, middles, side="right") - 1
        cell_of.append(np.concatenate([[0], inside + 1, [len(extended) - 1]]) + cells)
        left.append(np.concatenate([[bottom], pieces.edges[:-1], [top]]))
        first.append(starts)
        coef.append(narrow)
        cells += len(extended)
    return RadialTable(
        origin=np.ascontiguousarray(origin, float),
        squares=np.ascontiguousarray(squares, float),
        group_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        bottom=bottom,
        bins_per_unit=bins / (top - bottom),
        cell_of=np.asarray(cell_of, dtype=np.int64),
        left=np.concatenate(left),
        first=np.concatenate(first).astype(np.int64),
        coef=np.ascontiguousarray(np.concatenate(coef).transpose(1, 0, 2)),
        dense=dense,
        size=sum(sizes),
        noise=one_noise(squares.shape[1]),
    )


def _with_linear_ends(pieces: Pieces) -> Array:
    """Coefficients with a cell below and a cell above that go on linearly."""
    u = pieces.edges[-1] - pieces.edges[-2]
    c0, c1, c2, c3 = np.moveaxis(pieces.coef[-1], -1, 0)
    zero = np.zeros_like(c0)
    above = np.stack([c0 + u * (c1 + u * (c2 + u * c3)), c1 + u * (2 * c2 + 3 * u * c3), zero, zero], axis=-1)
    below = pieces.coef[0].copy()
    below[:, 2:] = 0
    return np.concatenate([below[None], pieces.coef, above[None]])


def _widest(coef: Array) -> int:
    """The largest span of functions that are not zero in one cell."""
    used = np.any(coef != 0, axis=-1)
    spans = [np.ptp(np.flatnonzero(row)) + 1 for row in used if row.any()]
    return int(max(spans, default=1)) if coef.shape[1] else 0


def _compressed(coef: Array, width: int) -> tuple[NDArray[np.int64], Array]:
    """First function and the ``width`` functions from there on, per cell."""
    used = np.any(coef != 0, axis=-1)
    functions = coef.shape[1]
    starts = np.where(used.any(axis=1), used.argmax(axis=1) if functions else 0, 0)
    starts = np.minimum(starts, max(functions - width, 0))
    narrow = np.zeros((len(coef), width, 4))
    for cell, start in enumerate(starts):
        part = coef[cell, start : start + width]
        narrow[cell, : len(part)] = part
    return starts, narrow
