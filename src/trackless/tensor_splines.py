"""Tensor-product cubic splines: non-radial V, and even non-radial Phi, in two and three dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from trackless._errors import InputError
from trackless.basis import Basis, Role, checked_coef
from trackless.exploration import Exploration
from trackless.potentials import Potential
from trackless.tables import TensorTable, one_noise

Array = NDArray[np.float64]
HARDLY = 1e-4  # of what the spline that is reached most has


@dataclass(frozen=True, eq=False)
class TensorSpline(Potential):
    """sum over a grid of coef[a, b, ...] B_a(x_1) B_b(x_2) ...; outside the grid it goes on linearly.

    Attributes
    ----------
    lower, upper : (dim,)
        Ends of the grid.
    coef : (n_1, ..., n_dim)
        A direction with n coefficients has n - 3 cells.
    """

    lower: Array
    upper: Array
    coef: Array

    def _sum(self, x: ArrayLike, orders: tuple[int, ...]) -> Array:
        points = np.asarray(x, float)
        index, product = _products(
            points.reshape(-1, points.shape[-1]), self.lower, self.upper, self.coef.shape, orders
        )
        return (self.coef.reshape(-1)[index] * product).sum(axis=1).reshape(points.shape[:-1])

    def __call__(self, x: ArrayLike) -> Array:
        return self._sum(x, (0,) * self.coef.ndim)

    def gradient(self, x: ArrayLike) -> Array:
        return np.stack([self._sum(x, tuple(np.eye(self.coef.ndim, dtype=int)[k])) for k in range(self.coef.ndim)], -1)

    def laplacian(self, x: ArrayLike) -> Array:
        second = 2 * np.eye(self.coef.ndim, dtype=int)
        return np.sum([self._sum(x, tuple(second[k])) for k in range(self.coef.ndim)], axis=0)


def _splines(x: Array, lower: float, upper: float, cells: int, order: int) -> tuple[NDArray[np.int64], Array]:
    """First spline and the derivatives of the four splines that are not zero at each x."""
    per_unit = cells / (upper - lower)
    t = (x - lower) * per_unit
    inside = np.clip(t, 0.0, cells)
    start = np.minimum(inside.astype(np.int64), cells - 1)
    u = inside - start
    v = 1 - u
    value = np.stack([v**3, 4 - 6 * u**2 + 3 * u**3, 4 - 6 * v**2 + 3 * v**3, u**3], axis=1) / 6
    slope = np.stack([-0.5 * v**2, -2 * u + 1.5 * u**2, 2 * v - 1.5 * v**2, 0.5 * u**2], axis=1)
    if order == 0:
        return start, value + (t - inside)[:, None] * slope
    if order == 1:
        return start, slope * per_unit
    second = np.stack([v, 3 * u - 2, 3 * v - 2, u], axis=1) * per_unit**2
    return start, np.where((t == inside)[:, None], second, 0.0)


@dataclass(frozen=True)
class TensorSplines(Basis):
    """Products of cubic B-splines on a grid, for potentials that are not radial (2 or 3 dimensions).

    For an interaction the functions are made even. Splines that the data hardly reach go along with the nearest one
    that they do reach, and one in the middle is left out, because constants cannot be seen.

    Parameters
    ----------
    count : int
        Splines per direction, at least 4.
    lower, upper : tuple of float, optional
        Ends of the grid; from the data if left out.
    complete : bool
        Splines that the data hardly reach have coefficients of their own, too (they need another source of
        information, such as a prior or a network).

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.anisotropic(), runs=20, duration=0.1, step=1e-3, observe_every=1e-2)
    >>> model = tl.SelfTest(tl.TensorSplines(5), tl.TensorSplines(6), sigma=1.0).fit(data)
    >>> model.external_.gradient([[0.1, 0.2]]).shape
    (1, 2)
    """

    count: int = 10
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None
    complete: bool = False
    even: bool | None = None
    fold: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        if self.fold is None:
            raise InputError("TensorSplines: how many functions there are is known once the family is adapted to data")
        return max(self.fold) + 1

    def peaks(self) -> Array:
        """Where each function (one of its mirror images) is largest, (K, dim)."""
        low, up = self._bounds()
        cells = _cells((self.count,) * len(low))
        inwards = np.argsort(((cells - cells.mean(axis=0)) ** 2).sum(axis=1), kind="stable")  # others go along outside
        first = inwards[np.unique(np.asarray(self.fold)[inwards], return_index=True)[1][-self.size :]]
        return low + (cells[first] - 1) * (up - low) / (self.count - 3)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple("spline at (" + ", ".join(f"{s:.3g}" for s in spot) + ")" for spot in self.peaks())

    @property
    def closed(self) -> bool:
        return self.fold is not None

    def adapted(self, explored: Exploration, role: Role) -> TensorSplines:
        if self.closed:
            return self
        sample = explored.displacements if role == "interaction" else explored.positions
        dim = sample.shape[1]
        if dim not in (2, 3):
            raise InputError(
                f"TensorSplines: made for 2 or 3 dimensions, the data have {dim}; use radial functions instead"
            )
        if self.count < 4:
            raise InputError(f"TensorSplines: expected at least 4 splines per direction, got {self.count}")
        if role == "interaction":
            sample = np.concatenate([sample, -sample])
        low = np.quantile(sample, 0.001, axis=0) if self.lower is None else np.asarray(self.lower, float)
        up = np.quantile(sample, 0.999, axis=0) if self.upper is None else np.asarray(self.upper, float)
        if role == "interaction":
            up = np.maximum(np.abs(low), np.abs(up))
            low = -up
        shape = (self.count,) * dim
        reached = _reached(sample, low, up, self.count)
        fold = _fold(reached, shape, role == "interaction", self.complete)
        return replace(
            self,
            lower=tuple(low.tolist()),
            upper=tuple(up.tolist()),
            even=role == "interaction",
            fold=tuple(fold.tolist()),
        )

    def table(self, dim: int) -> TensorTable:
        lower, upper = self._bounds()
        if len(lower) != dim:
            raise InputError(f"TensorSplines: adapted to {len(lower)} dimensions, the data have {dim}")
        cells = np.full(dim, self.count - 3)
        return TensorTable(
            lower, cells / (upper - lower), cells, np.asarray(self.fold), np.zeros(dim), self.size, one_noise(dim)
        )

    def combine(self, coef: ArrayLike) -> TensorSpline:
        lower, upper = self._bounds()
        fold = np.asarray(self.fold)
        full = np.where(fold >= 0, checked_coef(coef, self.size)[np.maximum(fold, 0)], 0.0)
        return TensorSpline(lower, upper, full.reshape((self.count,) * len(lower)))

    def _bounds(self) -> tuple[Array, Array]:
        if self.fold is None or self.lower is None or self.upper is None:
            raise InputError("TensorSplines: adapt the family to data first: basis.adapted(explore(snapshots), role)")
        return np.asarray(self.lower), np.asarray(self.upper)


def spline_values(basis: TensorSplines, points: Array) -> Array:
    """Values of all functions of a closed family at points (Q, dim); (Q, K)."""
    lower, upper = basis._bounds()
    dim = len(lower)
    index, product = _products(points, lower, upper, (basis.count,) * dim, (0,) * dim)
    values = np.zeros((len(points), basis.count**dim))
    np.put_along_axis(values, index, product, axis=1)
    fold = np.asarray(basis.fold)
    return values[:, fold >= 0] @ np.eye(basis.size)[fold[fold >= 0]]


def _products(
    points: Array, lower: Array, upper: Array, shape: tuple[int, ...], orders: tuple[int, ...]
) -> tuple[NDArray[np.int64], Array]:
    """Flat indices and derivatives of the 4^dim products that are not zero at each point, (points, 4^dim)."""
    index = np.zeros((len(points), 1), dtype=np.int64)
    product = np.ones((len(points), 1))
    for k, (count, order) in enumerate(zip(shape, orders, strict=True)):
        start, values = _splines(points[:, k], lower[k], upper[k], count - 3, order)
        local = start[:, None] + np.arange(4)
        index = (index[:, :, None] * count + local[:, None, :]).reshape(len(points), -1)
        product = (product[:, :, None] * values[:, None, :]).reshape(len(points), -1)
    return index, product


def _reached(sample: Array, lower: Array, upper: Array, count: int) -> Array:
    """Sum of each spline over (a part of) the sample, flat."""
    part = sample[:: -(-len(sample) // 50_000)]
    dim = part.shape[1]
    index, product = _products(part, lower, upper, (count,) * dim, (0,) * dim)
    return np.bincount(index.ravel(), weights=np.abs(product).ravel(), minlength=count**dim).astype(float)


def _cells(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Places on the grid of all splines, in flat order, (splines, dim)."""
    return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)


def _fold(reached: Array, shape: tuple[int, ...], even: bool, complete: bool) -> NDArray[np.int64]:
    """The function that each spline belongs to; -1 for the constant.

    Splines that are hardly reached belong to the nearest one that is. (Without them constants would no longer be among
    the functions, and leaving out one in the middle would hold the potential to what it is out there.)
    """
    total = reached + reached[::-1] if even else reached  # flat reversal is the mirror image
    label = np.arange(len(total))
    hardly = total <= HARDLY * total.max()
    if hardly.any() and not complete:
        cells = _cells(shape)
        label[hardly] = np.flatnonzero(~hardly)[KDTree(cells[~hardly]).query(cells[hardly])[1]]
    if even:
        half = np.arange(len(label)) < len(label) / 2
        label = np.where(half, label, label[::-1])  # neighbours at the same distance: mirror images choose the same
        label = np.minimum(label, len(label) - 1 - label)
    middle = label == label[np.argmax(total)]
    number = np.full(len(total), -1)
    number[~middle] = np.unique(label[~middle], return_inverse=True)[1]
    return number
