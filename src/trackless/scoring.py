"""How good is a fit? Errors against a known truth, in the paper's metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.exploration import Exploration, explore, radial_density
from trackless.mixtures import Potentials, kinds_of, one_of
from trackless.potentials import Potential, RadialPotential
from trackless.snapshots import Snapshots

GRID = 2000  # points of the radial integrals, as in the paper


class GradientErrors(NamedTuple):
    """Relative L2(rho) errors of the gradients, as fractions (nan where the truth has no such potential).

    Of mixtures: dicts with one for each kind, "a", and one for each pair of kinds, ("a", "b").
    """

    external: Any
    interaction: Any


def gradient_errors(fitted: Any, model: Any, snapshots: Snapshots | Exploration) -> GradientErrors:
    """Relative errors of the learnt gradients, weighted with what the data explored (paper, section 5.1).

    Radial potentials: |g'_fitted - g'_true| / |g'_true| in L2 of the kernel density of distances (bandwidth
    0.15 standard deviations), on 2000 points. Others: the vector gradient, averaged over sampled positions
    and displacements.

    Parameters
    ----------
    fitted : fitted estimator
    model : Model
        The truth; used for scoring only.
    snapshots : Snapshots or Exploration
        Where to compare: data, or ``explore(data)`` to score many fits on one measure.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=200, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> errors = tl.gradient_errors(fitted, model, data)
    >>> errors.external < 0.2 and errors.interaction < 0.2
    True
    """
    explored = snapshots if isinstance(snapshots, Exploration) else explore(snapshots)
    return GradientErrors(
        _by_kinds(fitted.external_, model.external, explored, "external"),
        _by_kinds(fitted.interaction_, model.interaction, explored, "interaction"),
    )


def _by_kinds(fitted: Any, truth: Any, explored: Exploration, role: str) -> float | dict[Any, float]:
    """The error of one potential, or of those of each kind or pair; one for all particles is that of any kind."""
    if not isinstance(truth, Mapping) and not isinstance(fitted, Mapping):
        return _relative(fitted, truth, explored, role)
    return {
        key: _relative(
            one_of(fitted, kinds_of(key)), one_of(truth, kinds_of(key)), explored.of_kinds(kinds_of(key)), role
        )
        for key in Potentials(truth if isinstance(truth, Mapping) else fitted)
    }


def _relative(fitted: Potential | None, truth: Potential | None, explored: Exploration, role: str) -> float:
    if truth is None:
        return float("nan")
    if isinstance(truth, RadialPotential) and (fitted is None or isinstance(fitted, RadialPotential)):
        if fitted is not None and not np.allclose(fitted.origin, truth.origin):
            return _vector_error(fitted, truth, explored, role)
        return _radial_error(fitted, truth, explored.reached(role, truth.origin))
    return _vector_error(fitted, truth, explored, role)


def _radial_error(fitted: RadialPotential | None, truth: RadialPotential, distances: NDArray[np.float64]) -> float:
    grid = np.linspace(distances.min(), distances.max(), GRID)  # the density's smear beyond says nothing of the data
    density = radial_density(distances, grid)
    exact = truth.slope(grid)
    off = exact - (fitted.slope(grid) if fitted is not None else 0.0)
    return _ratio(np.trapezoid(off**2 * density, grid), np.trapezoid(exact**2 * density, grid))


def _vector_error(fitted: Potential | None, truth: Potential, explored: Exploration, role: str) -> float:
    points = explored.displacements if role == "interaction" else explored.positions
    exact = truth.gradient(points)
    off = exact - (fitted.gradient(points) if fitted is not None else 0.0)
    return _ratio((off**2).sum(), (exact**2).sum())


def _ratio(part: ArrayLike, whole: ArrayLike) -> float:
    if not float(whole) > 0:  # type: ignore[arg-type]
        raise InputError("gradient errors: the true force is zero wherever the data were; there is no relative error")
    return float(np.sqrt(float(part) / float(whole)))  # type: ignore[arg-type]
