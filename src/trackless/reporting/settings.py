"""What was fitted, and how to do it again: facts about data and fit in words, and as code."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np

from trackless import __version__
from trackless.basis import GaussianRBF
from trackless.belonging import SHARED
from trackless.by_species import BySpecies, as_basis
from trackless.goodness import ResidualTest
from trackless.radial_splines import RadialSplines
from trackless.snapshots import Snapshots
from trackless.tensor_splines import TensorSplines
from trackless.wording import plural

WIDEST = 76  # of a line of code
PACKAGES = ("numpy", "scipy", "numba")  # whose versions may change the last digits


def facts_about(fitted: Any, snapshots: Snapshots, test: ResidualTest | None) -> list[tuple[str, str, str]]:
    """What a reader wants to know at a glance: name, value, and a few more words."""
    found = [*_data(snapshots), _noise(fitted)]
    if test is not None:
        chance = test.chance if test.p_value > 1e-15 else "p < 10⁻¹⁵"
        found.append(("Residual test", chance, "passed" if test.passed else "failed"))
    posterior = getattr(fitted, "posterior_", None)
    if posterior is not None:
        found.append(("Parameters", f"{posterior.effective:.0f}", "determined by the data"))
    return found


def _noise(fitted: Any) -> tuple[str, str, str]:
    noise = getattr(fitted, "noise_", None)
    levels = np.atleast_1d(fitted.sigma_)
    if noise is None:
        origin = "given" if getattr(fitted, "sigma", None) is not None else "from the residuals"
        return ("Noise σ", ", ".join(f"{level:.4g}" for level in levels), origin)
    if not noise.known:
        return ("Noise σ", "unknown", "potentials are in units of σ²/2")
    errors = np.atleast_1d(noise.error)
    values = (f"{level:.4g} ± {error:.2g}" for level, error in zip(levels, errors, strict=True))
    return ("Noise σ", ", ".join(values), "found from the data")


def _data(snapshots: Snapshots) -> list[tuple[str, str, str]]:
    lengths = [len(snapshots.times_of(m)) for m in range(snapshots.runs)]
    fewest, most = min(lengths), max(lengths)
    many = plural(most, "snapshot") if fewest == most else f"{fewest:,} to {most:,} snapshots"
    first = min(float(snapshots.times_of(m)[0]) for m in range(snapshots.runs))
    last = max(float(snapshots.times_of(m)[-1]) for m in range(snapshots.runs))
    intervals = snapshots.intervals()
    every = snapshots.common_interval() if len(intervals) else None
    if every is not None:
        pace = f"one every {every:.4g}"
    else:
        pace = f"intervals from {intervals.min():.4g} to {intervals.max():.4g}" if len(intervals) else "a single time"
    runs = f"{many} each" if snapshots.runs > 1 else many
    box = snapshots.box
    space = "free space" if box is None else f"periodic box, {' × '.join(f'{side:.4g}' for side in box)}"
    return [
        ("Runs", f"{snapshots.runs:,}", runs),
        ("Particles", *_particles(snapshots)),
        ("Time", f"{first:.4g} to {last:.4g}", pace),
        ("Space", f"{snapshots.dim}-D", space),
    ]


def _particles(snapshots: Snapshots) -> tuple[str, str]:
    counts = [snapshots.counts_of(m) for m in range(snapshots.runs if not snapshots.regular else 1)]
    fewest, most = min(int(own.min()) for own in counts), max(int(own.max()) for own in counts)
    label = "labeled" if snapshots.labeled else "unlabeled"
    number = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    if not snapshots.species:
        return number, f"in a snapshot, {label}"
    mean = np.mean([snapshots.species_counts_of(m).mean(axis=0) for m in range(snapshots.runs)], axis=0)
    each = ", ".join(f"{count:.3g} {name}" for name, count in zip(snapshots.species, mean, strict=True))
    return number, f"{each}, {label}"


def settings_of(fitted: Any) -> list[tuple[str, str]]:
    """Every setting of the estimator with its value, as text."""
    found = [("estimator", type(fitted).__name__)]
    found += [(name, _readable(name, value)) for name, value in fitted.get_params(deep=False).items()]
    for name in ("external", "interaction"):
        basis = getattr(fitted, f"{name}_basis_", None)
        if basis is not None and basis != as_basis(getattr(fitted, name, None)):
            found.append((f"{name}, as closed on the data", _readable(name, basis)))
    return found


def _readable(name: str, value: Any) -> str:
    if name in ("external", "interaction") and not isinstance(value, (bool, type(None))):
        basis = as_basis(value)
        if isinstance(basis, BySpecies):
            return "; ".join(f"{' and '.join(kinds)}: {family!r}" for kinds, family in basis.members)
    return repr(value)


def software() -> str:
    """Versions, in words; no date, so that the same fit gives the same page."""
    others = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"trackless {__version__}, Python {platform.python_version()}, {others}"


def code_of(fitted: Any, source: list[str], reading: Mapping[str, Any], seen: bool | str | None = None) -> str:
    """A few lines of Python that make the fit again, from files that were read with some options.

    Unless it was made from other data (False), or only from some of what is in them (SHARED).
    """
    files = repr(source[0]) if len(source) == 1 else repr(source)
    how = "".join(f", {name}={value!r}" for name, value in reading.items() if value is not None and name != "every")
    thinned = f".every({reading['every']})" if "every" in reading else ""
    lines = [f"data = tl.read({files}{how}){thinned}" if source else "data = ...  # the snapshots of this report"]
    if seen in (False, SHARED):
        lines = ["data = ...  # the snapshots of the fit, which are not those of this report"]
    door = hasattr(fitted, "findings_")
    given = _door(fitted) if door else _changed(fitted)
    for role in ("external", "interaction"):
        if given.get(role, "").startswith("..."):  # functions of one's own have no name in code
            lines.append(f"{role} = {given[role]}")
            given[role] = role
    options = [f"{key}={value}" for key, value in given.items()]
    call = (
        _called("tl.fit", ["data", *options])
        if door
        else _called(f"tl.{type(fitted).__name__}", options) + ".fit(data)"
    )
    return "\n".join(["import trackless as tl", "", *lines, f"fit = {call}"])


def _called(name: str, arguments: list[str]) -> str:
    """A call, on one line if it is short."""
    whole = f"{name}({', '.join(arguments)})"
    return whole if len(whole) < WIDEST else "\n    ".join([f"{name}(", *(f"{one}," for one in arguments)]) + "\n)"


def _changed(fitted: Any) -> dict[str, str]:
    """Settings of an estimator that are not its defaults."""
    usual, settings = type(fitted)().get_params(deep=False), fitted.get_params(deep=False)
    return {
        name: _as_code(as_basis(value)) if name in ("external", "interaction") else repr(value)
        for name, value in settings.items()
        if repr(value) != repr(usual[name])
    }


def _as_code(basis: Any) -> str:
    """A family as it is typed; functions of one's own and families of each species only as a reminder."""
    if not isinstance(basis, (RadialSplines, GaussianRBF, TensorSplines)):
        return repr(basis) if isinstance(basis, (bool, type(None))) else f"...  # {_readable('external', basis)}"
    own = [
        f"{field.name}={getattr(basis, field.name)!r}"
        for field in fields(basis)
        if field.repr and getattr(basis, field.name) != field.default
    ]
    return f"tl.{type(basis).__name__}({', '.join(own)})"


def _door(fitted: Any) -> dict[str, str]:
    """What to say to ``tl.fit``, where that is not its default."""
    names = ("sigma", "coupling", "quadrature", "dynamics", "debias")
    usual = (None, "mean", "auto", "continuous", False)
    settings = {name: getattr(fitted, name) for name in names}
    found = {name: repr(settings[name]) for name, value in zip(names, usual, strict=True) if settings[name] != value}
    if fitted.resolve is None and fitted.dynamics == "continuous":
        found["resolve"] = "None"
    families = [as_basis(getattr(fitted, role)) for role in ("external", "interaction")]
    found |= {"external": _shape(families[0]), "interaction": _shape(families[1])}
    place = getattr(families[0], "center", None)
    if fitted.center_ is not None or place is not None:
        found["center"] = repr(place) if fitted.center_ is None else "'fit'"
    for name, value in (("cutoff", getattr(families[1], "cutoff", None)), ("max_gap", fitted.max_gap_)):
        found |= {name: repr(value)} if value is not None else {}
    for name, value in (("window", None), ("exclude_below", None), ("detection", 1.0), ("position_error", 0.0)):
        seen = getattr(fitted.observation, name, value)
        found |= {name: repr(seen)} if seen != value else {}
    return found


def _shape(basis: Any) -> str:
    """How ``tl.fit`` is told about a potential."""
    members = [family for _, family in basis.members] if basis is not None else []
    if not members:
        return "None"
    if all(isinstance(family, RadialSplines) and family.follow_data for family in members):
        return "'radial'"
    return "'free'" if all(isinstance(family, TensorSplines) for family in members) else _as_code(basis)
