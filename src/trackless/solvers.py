"""Normal equations -> coefficients: fixed ridge, Hansen's L-curve (the paper's choice), cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.moments import NormalEquations

Array = NDArray[np.float64]
FALLBACK = 1e-6  # the paper's lambda where the L-curve has no corner
FLAT = 0.01  # curvature below which there is none
CANDIDATES = 200
# The paper does not say which lambdas it tries. Beyond 1e-4 of the largest eigenvalue a ridge competes with
# directions that the data determine well, and its results can be reproduced only below (see docs/concepts.md).
SMALLEST, LARGEST = 1e-12, 1e-4
REACHED = 1e-13  # a function is unreached if its share of the normal matrix is below this


@dataclass(frozen=True)
class Solution:
    """Coefficients and how they were regularised.

    Attributes
    ----------
    coef : (K,)
    ridge : float
        The lambda of (A + lambda I) theta = b.
    candidates, criterion : (C,) or None
        The values tried, and what was optimised over them: curvature of the L-curve, or held-out loss.
    corner : bool
        Whether the L-curve had a corner (True where no L-curve was asked for).
    """

    coef: Array
    ridge: float
    candidates: Array | None = None
    criterion: Array | None = None
    corner: bool = True


def check_strength(strength: float) -> None:
    """Refuse what is no strength of a ridge."""
    if not (np.isfinite(strength) and strength >= 0):
        raise InputError(f"regularization: expected a number of at least 0, got {strength!r}")


def ridge(equations: NormalEquations, strength: float) -> Solution:
    """Solve (A + strength I) theta = b.

    Examples
    --------
    >>> import numpy as np
    >>> from trackless.moments import NormalEquations
    >>> ridge(NormalEquations(np.diag([1.0, 4.0]), np.array([1.0, 2.0]), 1), 0.0).coef
    array([1. , 0.5])
    """
    check_strength(strength)
    matrix = equations.matrix + strength * np.eye(len(equations.vector))
    if strength == 0 and np.linalg.matrix_rank(matrix, hermitian=True) < len(matrix):
        _, vectors = np.linalg.eigh(matrix)
        raise InputError(
            "the normal matrix is singular: this combination of functions has no force on the data: "
            f"{np.round(vectors[:, 0], 3).tolist()}; use fewer functions or a regularization above 0"
        )
    return Solution(np.asarray(np.linalg.solve(matrix, equations.vector), float), float(strength))


def lcurve(equations: NormalEquations) -> Solution:
    """Ridge at the corner of (log |A theta - b|, log |theta|), as in the paper (section 3.1).

    With A = U S U^T the residual and the solution are known for every lambda; the corner is where the curve
    bends most. A curve without a corner (curvature below 0.01) falls back to lambda = 1e-6.
    """
    if not equations.vector.any():  # nothing moves: there is no curve to look at
        return Solution(np.zeros(len(equations.vector)), FALLBACK, corner=False)
    values, vectors = np.linalg.eigh(equations.matrix)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ equations.vector
    candidates = np.geomspace(SMALLEST, LARGEST, CANDIDATES) * values[-1]
    filtered = projected / (values + candidates[:, None])
    size = 0.5 * np.log((filtered**2).sum(axis=1))
    misfit = 0.5 * np.log(((candidates[:, None] * filtered) ** 2).sum(axis=1))
    curvature = _curvature(misfit, size)
    best = int(np.argmax(curvature))
    # A bend still growing at the end of the range belongs to a corner outside it.
    corner = bool(curvature[best] >= FLAT and best < CANDIDATES - 3)
    strength = float(candidates[best]) if corner else FALLBACK
    coef = vectors @ (projected / (values + strength))
    return Solution(coef, strength, candidates, curvature, corner)


def _curvature(x: Array, y: Array) -> Array:
    """Signed curvature of a curve sampled at equal steps of its parameter."""
    x1, y1 = np.gradient(x), np.gradient(y)
    x2, y2 = np.gradient(x1), np.gradient(y1)
    speed = np.maximum((x1**2 + y1**2) ** 1.5, 1e-300)
    curvature = (x1 * y2 - y1 * x2) / speed
    curvature[[0, 1, -2, -1]] = 0.0  # one-sided differences are not to be trusted
    return curvature


def cross_validated(
    equations_of: Callable[[NDArray[np.bool_]], NormalEquations], blocks: int, windows: int, folds: int = 5
) -> Solution:
    """Ridge with the smallest held-out loss over ``folds`` groups of blocks, or of time windows if blocks are few.

    Parameters
    ----------
    equations_of : callable
        The normal equations of the blocks and windows marked in a mask (blocks, windows).
    """
    shape, units = (blocks, windows), blocks * windows
    if units < 2:
        raise InputError(
            "cross-validation needs at least two runs or time windows; give a fixed regularization instead"
        )
    folds = min(folds, units)
    everything = equations_of(np.ones(shape, dtype=bool))
    candidates = np.logspace(-10, 1, 80) * np.linalg.eigvalsh(everything.matrix)[-1]
    if blocks >= folds:
        fold_of = np.broadcast_to((np.arange(blocks) % folds)[:, None], shape)
    else:  # stretches of time, because neighbouring windows share a snapshot
        fold_of = (np.arange(units) * folds // units).reshape(shape)
    held_out = np.zeros(len(candidates))
    for k in range(folds):
        train, test = equations_of(fold_of != k), equations_of(fold_of == k)
        values, vectors = np.linalg.eigh(train.matrix)
        coef = (vectors.T @ train.vector / (np.maximum(values, 0) + candidates[:, None])) @ vectors.T
        held_out += 0.5 * np.einsum("ca,ab,cb->c", coef, test.matrix, coef) - coef @ test.vector
    best = int(np.argmin(held_out))
    solution = ridge(everything, float(candidates[best]))
    return Solution(solution.coef, solution.ridge, candidates, held_out / folds)


def check_reached(equations: NormalEquations, names: tuple[str, ...]) -> None:
    """Raise an error that names the functions no data reached."""
    diagonal = np.abs(np.diag(equations.matrix))
    if not diagonal.max() > 0:
        raise InputError("no function has a force anywhere in the data; check the range of the bases")
    parts = (slice(0, equations.external), slice(equations.external, None))
    missing = [
        name
        for part in parts
        for name, share in zip(names[part], diagonal[part], strict=True)
        if share <= REACHED * max(diagonal[part].max(), REACHED * diagonal.max())
    ]
    if missing:
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
        raise InputError(
            f"the normal matrix is singular: no data reached {shown}; "
            "use a smaller range or fewer functions, or leave the range open so that it follows the data"
        )


def condition_numbers(equations: NormalEquations) -> dict[str, float]:
    """Condition numbers of A and of its V and Phi blocks."""
    k = equations.external
    blocks = {"all": equations.matrix, "external": equations.matrix[:k, :k], "interaction": equations.matrix[k:, k:]}
    return {name: float(np.linalg.cond(block)) for name, block in blocks.items() if block.size}
