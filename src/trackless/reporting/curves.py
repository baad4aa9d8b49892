"""Learnt potentials as numbers on a grid: profiles and slopes with bands, or maps where they are not radial."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless.exploration import Exploration, density_to_draw
from trackless.mixtures import Kinds, in_words, listed
from trackless.potentials import Potential, RadialPotential
from trackless.uncertainty import cutoff_of

Array = NDArray[np.float64]
POINTS = 500  # distances of a curve
MEAN_POINTS = 200  # over which a profile's mean is taken, as its bands do
CELLS = 64  # of a map, in each direction
DIGITS = 6  # significant ones, of everything that is written
CORE = (0.01, 0.99)  # quantiles of distances: what lies between sets the scale, because few data are outside
ELLIPSE = 0.99  # part of the sample that an ellipse of explored places holds
LETTERS = {"external": "V", "interaction": "Φ"}
AXES = {"external": ["x₁", "x₂"], "interaction": ["z₁", "z₂"]}  # places; displacements of pairs
ROLES = {"external": "External potential", "interaction": "Interaction"}


def potentials_of(fitted: Any, explored: Exploration) -> list[dict[str, Any]]:
    """Every V and every Phi of a fit, as plain data.

    Parameters
    ----------
    fitted : fitted estimator
    explored : Exploration
        What the data explored.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=20, duration=0.1, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> [(one["letter"], one["form"]) for one in potentials_of(fitted, Exploration(data))]
    [('V', 'radial'), ('Φ', 'radial')]
    """
    found = []
    for role in LETTERS:
        for kinds, potential, reached in _learnt(fitted, role):
            own = explored.of_kinds(kinds)
            about = _about(role, kinds, len(found))
            found.append(about | {"outside": ""} | _numbers(potential, own, role, reached))
    return found


def plain(values: ArrayLike) -> Any:
    """Nested lists of numbers with few digits; None where a number is not finite."""
    array = np.asarray(values, float)
    if array.ndim == 0:
        return float(f"{float(array):.{DIGITS}g}") if np.isfinite(array) else None
    return [plain(value) for value in array]


def _learnt(fitted: Any, role: str) -> list[tuple[Kinds, Any, Any]]:
    """Kinds, potential and explored range of each; networks trained on snapshots do not know the range."""
    own = listed(getattr(fitted, f"{role}_"))
    ranges = getattr(fitted, "explored_", (None, None))[role == "interaction"]
    if len(own) != 1 or own[0][0]:
        ranges = ranges if ranges is not None else [None] * len(own)
        return [(kinds, potential, reached) for (kinds, potential), reached in zip(own, ranges, strict=True)]
    return [(*own[0], ranges)]


def _about(role: str, kinds: Kinds, number: int) -> dict[str, Any]:
    of = f" of {in_words(kinds)}" if kinds else ""
    return {
        "id": f"potential-{number}", "role": role, "letter": LETTERS[role], "of": of, "title": ROLES[role] + of,
        "distance": "|x|" if role == "external" else "r",
    }  # fmt: skip


def _numbers(potential: Potential, explored: Exploration, role: str, reached: Any) -> dict[str, Any]:
    dim = len(explored.lower)
    if isinstance(potential, RadialPotential):
        return _radial(potential, explored.reached(role, potential.origin, cutoff_of(potential)), reached, dim)
    if dim != 2:
        sentence = f"It is not radial, and in {dim} dimensions there is no picture of it; its values are in the fit."
        return {"form": "none", "sentence": sentence}
    sample = explored.positions if role == "external" else explored.displacements
    return {"axes": AXES[role]} | _map(potential, sample, reached)


def _radial(potential: RadialPotential, distances: Array, reached: Any, dim: int) -> dict[str, Any]:
    low, high = reached if reached is not None else np.quantile(distances, [0.001, 0.999])
    r = np.linspace(low, high, POINTS)
    mean = float(np.mean(potential.profile(np.linspace(low, high, MEAN_POINTS))))
    columns = {"r": r, "profile": potential.profile(r) - mean, "slope": potential.slope(r)}
    if potential.uncertainty is not None:
        for of, shift in (("profile", mean), ("slope", 0.0)):
            lower, upper = potential.band(r, of=of)
            columns |= {f"{of}_lower": lower - shift, f"{of}_upper": upper - shift}
    density, peak = _density(distances, r, dim)
    core = np.clip(np.quantile(distances, CORE), low, high) if len(distances) else np.array([low, high])
    center = np.atleast_1d(potential.origin)
    return {
        "form": "radial", "banded": potential.uncertainty is not None, "core": plain(core), "ends": plain([low, high]),
        "center": plain(center) if np.any(center) else None, "peak": plain(peak),
        "columns": plain_columns(columns | {"density": density}),
    }  # fmt: skip


def _density(distances: Array, r: Array, dim: int) -> tuple[Array, float]:
    """How often distances ``r`` were seen, and the most often that any was, which may be at others than these."""
    if len(distances) == 0 or np.std(distances) == 0:
        return np.zeros_like(r), 0.0
    density = density_to_draw(distances, r, dim)
    everywhere = np.linspace(distances.min(), distances.max(), POINTS)
    return density, float(max(density.max(), density_to_draw(distances, everywhere, dim).max()))


def plain_columns(columns: dict[str, Array]) -> dict[str, Any]:
    """Every column as a list of numbers with few digits."""
    return {name: plain(values) for name, values in columns.items()}


def _map(potential: Potential, sample: Array, reached: Any) -> dict[str, Any]:
    """Values and gradients on a grid over 98 % of the sample in each direction, and where most of it was.

    The grid ends where the fit has seen nothing, and is all that it has seen if the sample lies elsewhere.
    As for a profile, the mean over the explored range, here a rectangle, is taken off the values.
    """
    low, high = np.quantile(sample, CORE, axis=0)
    if reached is not None:
        low, high = np.maximum(low, reached[0]), np.minimum(high, reached[1])
        low, high = (low, high) if (low < high).all() else (np.asarray(reached[0]), np.asarray(reached[1]))
    x, y = (np.linspace(low[k], high[k], CELLS) for k in (0, 1))
    points = np.stack(np.meshgrid(x, y), axis=-1)
    value, gradient = potential(points), potential.gradient(points)
    corners = reached if reached is not None else (low, high)
    everywhere = np.meshgrid(*(np.linspace(corners[0][k], corners[1][k], CELLS) for k in (0, 1)))
    mean = potential(np.stack(everywhere, axis=-1)).mean()
    columns = {"value": value - mean, "gradient_1": gradient[..., 0], "gradient_2": gradient[..., 1]}
    if potential.uncertainty is not None:
        columns["value_half"] = _half_width(potential, points, "value")
        both = _half_width(potential, points, "gradient")
        columns |= {"gradient_1_half": both[..., 0], "gradient_2_half": both[..., 1]}
    middle, spread = sample.mean(axis=0), np.linalg.inv(np.cov(sample.T))
    far = np.einsum("...i,ij,...j->...", points - middle, spread, points - middle)
    edge = np.quantile(np.einsum("ni,ij,nj->n", sample - middle, spread, sample - middle), ELLIPSE)
    return {
        "form": "map", "banded": potential.uncertainty is not None, "x": plain(x), "y": plain(y),
        "explored": (far <= edge).astype(int).tolist(), "columns": plain_columns(columns),
    }  # fmt: skip


def _half_width(potential: Potential, points: Array, of: str) -> Array:
    lower, upper = potential.band(points, of=of)
    return 0.5 * (upper - lower)
