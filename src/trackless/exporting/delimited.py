"""CSV: what every program reads, with error bands and a mark on what was extrapolated; also for what is not radial."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.exporting.learnt import LEVEL, Learnt
from trackless.exporting.names import comments
from trackless.mixtures import LearntPotential
from trackless.potentials import Array

AXES = "xyz"


def radial_text(learnt: Learnt, points: int) -> str:
    """Columns potential, r, energy, force, lower and upper end of its 95 % band, and whether it was extrapolated."""
    rows: list[tuple] = []
    for curve in learnt.curves:
        r = np.linspace(0.0, curve.end, points)
        columns = [r, curve.energy(r), curve.force(r)]
        band = curve.band(r)
        ends = [end.tolist() for end in band] if band is not None else [[""] * points] * 2
        marks = curve.extrapolated(r).astype(int).tolist()
        rows += zip([curve.name] * points, *(column.tolist() for column in columns), *ends, marks, strict=True)
    names = ("potential", "r", "energy", "force", "force_lower", "force_upper", "extrapolated")
    return _text(learnt.header(), names, rows)


def grid_text(learnt: Learnt, points: int) -> str:
    """Columns potential, x, y[, z], energy, force in every direction with its band, and what was extrapolated."""
    dims = {_dim(one) for one in learnt.others}
    rows: list[tuple] = []
    for one in learnt.others:
        x = _grid(one, points) * learnt.scales.length
        energy, force, lower, upper = _on_grid(one, x, learnt)
        columns = [
            *x.T,
            energy,
            *force.T,
            *lower.T,
            *upper.T,
            extrapolated_on(one, x, learnt.scales.length).astype(int),
        ]
        rows += zip([one.name] * len(x), *(column.tolist() for column in columns), strict=True)
    axes = AXES[: max(dims)]
    ends = [f"force_{axis}_{end}" for end in ("lower", "upper") for axis in axes]
    names = ("potential", *axes, "energy", *(f"force_{axis}" for axis in axes), *ends, "extrapolated")
    ranges = [f"{one.name}: on the box that the data explored, energies from the lowest of it" for one in learnt.others]
    return _text([*learnt.header(), *ranges], names, rows)


def told_of_grids(learnt: Learnt, points: int) -> list[str]:
    """How much of each grid lies where no data were, in words."""
    said = []
    for one in learnt.others:
        _dim(one)
        outside = extrapolated_on(one, _grid(one, points) * learnt.scales.length, learnt.scales.length)
        if outside.any():
            said.append(
                f"{one.name}: {outside.mean():.0%} of the grid is extrapolated (extrapolated = 1, bands are infinite): "
                "hardly any data were there"
            )
    return said


def extrapolated_on(one: LearntPotential, x: Array, length: float) -> NDArray[np.bool_]:
    """Where on a grid (Q, dim) of a simulator's lengths hardly any data were, as bands know it."""
    known = one.potential.uncertainty
    if known is None:
        return np.zeros(len(x), dtype=bool)
    return ~np.isfinite(known.deviation(_within(one, x / length), "gradient")).all(axis=-1)


def _within(one: LearntPotential, places: Array) -> Array:
    """Places, with those at the edge of the explored box not outside by rounding."""
    return places if one.explored is None else np.clip(places, *(np.asarray(end, float) for end in one.explored))


def _dim(one: LearntPotential) -> int:
    if one.explored is None:
        raise InputError(
            f"{one.name}: it is not radial, and the fit does not know which positions its data explored; fit snapshots "
            "(with networks: route='moments') to export it"
        )
    dim = len(one.explored[0])
    if dim > len(AXES):
        raise InputError(f"{one.name}: it is not radial in {dim} dimensions, too many for a grid; call it in Python")
    return dim


def _grid(one: LearntPotential, points: int) -> Array:
    """Ten times ``points`` places, about, all over the explored box: (Q, dim), in units of the data."""
    lower, upper = (np.asarray(end, float) for end in one.explored)
    per = max(5, round((10 * points) ** (1 / len(lower))))
    axes = [np.linspace(a, b, per) for a, b in zip(lower, upper, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(lower))


def _on_grid(one: LearntPotential, x: Array, learnt: Learnt) -> tuple[Array, Array, Array, Array]:
    """Energies (Q,), forces (Q, dim) and the ends of their bands."""
    factor, length = learnt.scales.of(one.role), learnt.scales.length
    places = _within(one, x / length)
    energy = factor * one.potential(places)
    force = -factor / length * one.potential.gradient(places)
    if one.potential.uncertainty is None:
        lower = upper = np.full_like(force, np.nan)
    else:
        high, low = one.potential.band(places, LEVEL)
        lower, upper = -factor / length * low, -factor / length * high
    return energy - energy.min(), force, lower, upper


def _text(header: Iterable[str], names: Iterable[str], rows: Iterable[tuple]) -> str:
    buffer = io.StringIO()
    buffer.write("\n".join(comments(header)) + "\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return buffer.getvalue()
