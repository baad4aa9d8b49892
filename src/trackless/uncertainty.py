"""Error bars: covariances of coefficients, and bands of the potentials made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from trackless._errors import InputError
from trackless.basis import Basis
from trackless.passes import mapped
from trackless.potentials import Potential
from trackless.priors import Missed
from trackless.residuals import Units

Array = NDArray[np.float64]
TOGETHER = 10  # refits of a bootstrap
DRAWS = 4000  # of the largest deviation, for simultaneous bands
EMPTY = 0.01  # of the largest: where the data said less of all functions there are no bands
GRID = 200  # places at which it is looked for, per direction


def sandwich(units: Units, coef: Array, ridge: float) -> tuple[Array, float]:
    """Covariance (K, K) of the ridge solution, and how many independent units it rests on.

    (A + ridge)^-1 S (A + ridge)^-T, S from the scatter of the units, made up for what the fit takes of it.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=(1000, 1, 1))
    >>> units = Units(np.ones((1000, 1, 1)), 3 + noise[:, :, 0], np.ones(1000))
    >>> covariance, freedom = sandwich(units, np.array([3.0]), 0.0)
    >>> bool(abs(covariance[0, 0] / (noise.var() / 1000) - 1) < 0.01), round(freedom)
    (True, 999)
    """
    matrix = units.mean()[0]
    everything = np.ones(len(coef), dtype=bool)
    inverse = np.asarray(np.linalg.inv(matrix + ridge * np.eye(len(coef))), float)
    freedom = units.freedom(inverse, everything)
    scatter = units.scatter(coef, everything) * len(units.weights) / freedom
    return inverse @ scatter @ inverse.T, freedom


def bootstrap(units: Units, solve: Callable[[Array, Array], Array], draws: int = 200, seed: int = 0) -> Array:
    """Coefficients (draws, K) of data sets made by drawing units with replacement: a check of the covariance.

    Parameters
    ----------
    units : Units
    solve : callable
        A (K, K) and b (K,) -> coefficients (K,).
    """
    count = len(units.weights)
    if count < 2:
        raise InputError("bootstrap: expected at least two runs or time windows to draw from, got 1")
    generator = np.random.default_rng(seed)
    every = [np.bincount(generator.integers(count, size=count), minlength=count) for _ in range(draws)]
    some = [every[k : k + TOGETHER] for k in range(0, draws, TOGETHER)]
    return np.array([coef for part in mapped(partial(_refitted, units, solve), some, "bootstrap") for coef in part])


def _refitted(units: Units, solve: Callable[[Array, Array], Array], draws: list[NDArray[np.int64]]) -> list[Array]:
    """Coefficients for each of some draws, which are numbers of times that every unit is taken."""
    found = []
    for taken in draws:
        drawn = taken.astype(float)
        total = drawn @ units.weights
        matrix = np.tensordot(drawn, units.matrices, axes=1) / total
        found.append(solve(matrix, drawn @ units.vectors / total))
    return found


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is known of a potential's errors.

    Attributes
    ----------
    basis : Basis
        The family the potential was made from.
    covariance : (K, K)
        Of its coefficients.
    explored : (lower, upper)
        Distances (for radial families) or corners (dim,) that the data reached; outside, bands are infinite.
    freedom : float
        Independent parts of the data less what was fitted: few of them make wider bands (Student's t).
    deviations : (draws, K), optional
        Errors of the coefficients, where they are not normal.
    missed : Missed, optional
        What the basis cannot show.
    reached : (K,), optional
        How much the data say of each function of a family that is not radial, as a part of the largest: the corners of
        a box may be empty.
    """

    basis: Basis
    covariance: Array
    explored: tuple[Any, Any]
    freedom: float = np.inf
    deviations: Array | None = None
    missed: Missed | None = None
    reached: Array | None = None

    @cached_property
    def functions(self) -> list[Any]:
        """The family's functions, one by one."""
        return [self.basis.combine(unit) for unit in np.eye(self.basis.size)]

    def deviation(self, x: ArrayLike, of: str) -> Array:
        """Standard error of what the potential's method ``of`` gives at ``x``; infinite outside the explored range.

        A constant in a potential cannot be known: profiles and values are taken relative to their mean over the
        explored range.
        """
        rows = self._rows(np.asarray(x, float), of)
        variance = np.maximum(np.einsum("...a,ab,...b->...", rows, self.covariance, rows), 0.0)
        if self.missed is not None:
            variance = variance + self.missed.variance(np.asarray(x, float), of)
        error = np.sqrt(variance)
        return np.where(self._inside(np.asarray(x, float), error.ndim), error, np.inf)

    def critical(self, level: float, of: str, simultaneous: bool) -> float:
        """How many standard errors a band is wide to each side."""
        if not 0 < level < 1:
            raise InputError(f"level: expected a number between 0 and 1, such as 0.95, got {level!r}")
        wider = t.ppf(0.5 + 0.5 * level, self.freedom) if np.isfinite(self.freedom) else norm.ppf(0.5 + 0.5 * level)
        if not simultaneous:
            return float(wider)
        largest = self._largest(of)
        return float(np.quantile(largest, level) * wider / norm.ppf(0.5 + 0.5 * level))

    def _largest(self, of: str) -> Array:
        """Draws of the largest deviation over the explored range, in standard errors."""
        rows = self._rows(self._grid(), of).reshape(-1, self.basis.size)
        sizes, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(sizes, 0.0))
        error = np.sqrt(((rows @ root) ** 2).sum(axis=1))
        rows = rows[error > 0] / error[error > 0, None]
        draws = self.deviations
        if draws is None:
            draws = np.random.default_rng(0).normal(size=(DRAWS, len(sizes))) @ root.T
        return np.concatenate([np.abs(part @ rows.T).max(axis=1) for part in np.array_split(draws, 20)])

    def _grid(self) -> Array:
        """Places all over the explored range."""
        lower, upper = self.explored
        if np.ndim(lower) == 0:
            return np.linspace(lower, upper, GRID)
        per = max(4, round(GRID ** (1 / len(lower))))
        axes = [np.linspace(a, b, per) for a, b in zip(lower, upper, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(lower))

    def _rows(self, x: Array, of: str) -> Array:
        """How what is asked for depends on the coefficients: (..., K)."""
        rows = np.stack([getattr(function, of)(x) for function in self.functions], axis=-1)
        if of in ("profile", "__call__"):
            rows = rows - np.stack([getattr(f, of)(self._grid()).mean() for f in self.functions])
        return rows

    def _inside(self, x: Array, ndim: int) -> NDArray[np.bool_]:
        lower, upper = self.explored
        inside = (x >= lower) & (x <= upper)
        if np.ndim(lower) == 0:
            return inside
        whole = inside.all(axis=-1) & self._among_data(x)
        return whole[..., None] if ndim == inside.ndim else whole

    def _among_data(self, x: Array) -> NDArray[np.bool_]:
        """Whether the data reached the functions that are not zero at ``x`` (..., dim), within the explored box."""
        if self.reached is None:
            return np.ones(x.shape[:-1], dtype=bool)
        heights: Any = self.basis.combine(self.reached)
        return np.asarray(heights(x) >= EMPTY, bool)


def cutoff_of(potential: Potential) -> float | None:
    """Where the family that a potential was made from ends, if it has an end."""
    known = getattr(potential, "uncertainty", None)
    return getattr(known.basis, "cutoff", None) if known is not None else None


def with_uncertainty(potential: Potential, uncertainty: Uncertainty | None) -> Potential:
    """The potential with error bars; it is a new object that nobody else holds, so it may be told afterwards."""
    object.__setattr__(potential, "uncertainty", uncertainty)
    return potential
