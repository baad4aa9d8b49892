"""What is exported: potentials of a fit in a simulator's units, continued, with words on what was extrapolated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.basis import members_of
from trackless.exporting.continuation import Continued, continued_pair, continued_trap
from trackless.exporting.scales import Scaled, Scales, numbers, scales_of
from trackless.fitting import NOISELESS
from trackless.identifiability import NOWHERE
from trackless.magnitudes import check_magnitude
from trackless.mixtures import Kinds, LearntPotential, learnt_potentials, name_of
from trackless.position_errors import OFF
from trackless.potentials import Array, Potential, RadialPotential
from trackless.presence import STRONG, factors_of, leans_towards, presence_of
from trackless.unsaid import FLICKER

CORES = ("safe", "linear")
LEVEL = 0.95  # of the bands
UNTESTED = (
    "not tested: the data have not been asked whether this model holds; trackless validate (tl.validate) tests it"
)
STEPS = "the fit is of single steps (dynamics='discrete'): simulate with the time between its snapshots as time step"


@dataclass(frozen=True, eq=False)
class Curve:
    """A radial potential of a fit, in the units of a simulator.

    Attributes
    ----------
    learnt : LearntPotential
        As the fit has it.
    potential : Continued
    explored : (float, float)
        Distances that the data reached.
    sentences : tuple of str
        What was extrapolated, and how well the edges are known.
    """

    learnt: LearntPotential
    potential: Continued
    explored: tuple[float, float]
    factor: float
    length: float
    sentences: tuple[str, ...]

    @property
    def name(self) -> str:
        """V or Phi, and of whom."""
        return self.learnt.name

    @property
    def role(self) -> int:
        """0 for V, 1 for Phi."""
        return self.learnt.role

    @property
    def kinds(self) -> Kinds:
        """The species, or the pair of them; () for all particles."""
        return self.learnt.kinds

    @property
    def centre(self) -> tuple[float, ...]:
        """Where distances of V are measured from, in three dimensions."""
        return (*np.atleast_1d(np.asarray(self.potential.origin, float)).tolist(), 0.0, 0.0, 0.0)[:3]

    @property
    def end(self) -> float:
        """Where tables end."""
        return self.potential.end

    def energy(self, r: ArrayLike) -> Array:
        """Energies at distances ``r``."""
        return self.potential.profile(r)

    def force(self, r: ArrayLike) -> Array:
        """Forces at distances ``r``: positive ones push away."""
        return -self.potential.slope(r)

    def band(self, r: ArrayLike) -> tuple[Array, Array] | None:
        """Lower and upper end of the 95 % band of the force, infinite where no data were; None without error bars."""
        return _band_of_force(self.learnt.potential, np.asarray(r, float) / self.length, self.factor / self.length)

    def extrapolated(self, r: ArrayLike) -> NDArray[np.bool_]:
        """Where the data did not reach."""
        distances = np.asarray(r, float)
        return (distances < self.explored[0]) | (distances > self.explored[1])


def _band_of_force(potential: Potential, r: Array, factor: float) -> tuple[Array, Array] | None:
    if potential.uncertainty is None:
        return None
    lower, upper = potential.band(r, LEVEL)
    return -factor * upper, -factor * lower


@dataclass(frozen=True, eq=False)
class Learnt:
    """The potentials of a fit, ready to be written.

    Attributes
    ----------
    curves : tuple of Curve
        The radial ones, V first.
    others : tuple of LearntPotential
        Those that are not radial, as the fit has them.
    scales : Scales
    species : tuple of str
        Names of all kinds of particles, sorted; () where all are alike.
    dim : int or None
        Dimension of the data, where the fit knows it.
    notes : tuple of str
        What else must be said.
    warnings : tuple of str
        What must be read first.
    """

    curves: tuple[Curve, ...]
    others: tuple[LearntPotential, ...]
    scales: Scales
    species: tuple[str, ...]
    dim: int | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def of_role(self, role: int) -> tuple[Curve, ...]:
        """Curves of V (0) or Phi (1)."""
        return tuple(curve for curve in self.curves if curve.role == role)

    def curve(self, role: int, kinds: Kinds) -> Curve | None:
        """The curve that some kinds feel; one for all particles is that of any kind."""
        found = {curve.kinds: curve for curve in self.of_role(role)}
        return found.get(tuple(sorted(kinds)), found.get(()))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Kinds of particles that may meet, as numbers from 0."""
        count = max(1, len(self.species))
        return tuple((i, j) for i in range(count) for j in range(i, count))

    def kinds_of(self, numbers: Iterable[int]) -> Kinds:
        """Names of numbered kinds, () where all particles are alike."""
        return tuple(self.species[k] for k in numbers) if self.species else ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What speaks against the potentials, what was converted and what was extrapolated."""
        extrapolated = (said for curve in self.curves for said in curve.sentences)
        return (*self.warnings, *self.scales.sentences, *extrapolated, *self.notes)

    def header(self) -> list[str]:
        """Lines for the top of a file: where it comes from, what was done, and what the data explored."""
        from trackless import __version__

        ranges = [f"{c.name}: data from r = {c.explored[0]:.6g} to {c.explored[1]:.6g}" for c in self.curves]
        made = f"Potentials learnt from unlabeled snapshots, written by trackless {__version__}"
        return [f"{made}, {datetime.now(UTC).date().isoformat()}.", *self.sentences, *ranges]


def learnt_of(
    fitted: Any, kT: float | None, length: float, core: str, reach: tuple[float, float] | None
) -> Learnt:  # fmt: skip
    """All potentials of a fitted estimator in a simulator's units.

    Parameters
    ----------
    fitted : estimator
    kT : float, optional
        Temperature of the simulator, in its energies; by default sigma^2 / 2.
    length : float
        Lengths of the simulator per length of the data.
    core : "safe" or "linear"
    reach : (float, float), optional
        Explored distances, in units of the data, where the fit does not know them.
    """
    if core not in CORES:
        raise InputError(f"core: expected {' or '.join(map(repr, CORES))}, got {core!r}")
    scales = scales_of(fitted, kT, length)
    found = learnt_potentials(fitted)
    if not found:
        raise InputError("export: the fit has neither V nor Phi")
    radial = [one for one in found if isinstance(one.potential, RadialPotential)]
    others = [one for one in found if not isinstance(one.potential, RadialPotential)]
    cutoffs, given = _cutoffs(fitted), _checked(reach)
    curves = tuple(_curve(one, scales, core, given, cutoffs.get(one.kinds)) for one in radial)
    moments = getattr(fitted, "moments_", None)
    dim = moments.dim if moments is not None else None
    if given is not None and not any(one.explored is None for one in radial):
        ranges = ", ".join(f"{c.name} {c.explored[0] / length:.4g} to {c.explored[1] / length:.4g}" for c in curves)
        raise InputError(f"reach: the fit knows the distances that its data explored ({ranges}); leave it out")
    tested = getattr(getattr(fitted, "findings_", None), "residual_test", None) is not None
    notes = () if tested else (UNTESTED,)
    notes += (STEPS,) if getattr(fitted, "dynamics", "continuous") == "discrete" else ()
    return Learnt(curves, tuple(others), scales, _species(fitted, found), dim, notes, tuple(_warnings(fitted)))


def _warnings(fitted: Any) -> Iterable[str]:
    """What speaks against using a fit at all, against its units, or against one of its potentials."""
    noise = getattr(fitted, "noise_", None)
    if noise is not None and not noise.known:
        yield (
            f"WARNING: sigma is not known, {numbers(fitted.sigma_)} is a placeholder: potentials are in units of kT "
            "(energies over kT are right, times and friction are not)"
        )
    if not np.any(fitted.sigma_):
        yield f"WARNING: sigma is 0, so that there is no kT to compare energies with: {NOISELESS}"
    findings = getattr(fitted, "findings_", None)
    for sentence in getattr(findings, "sentences", ()):
        if sentence.startswith((OFF, FLICKER)):
            yield f"WARNING: {sentence}"
    test = getattr(findings, "residual_test", None)
    if test is not None and not test.passed:
        yield f"WARNING: the fit failed its residual test, what is exported may be wrong: {test.sentence}"
    for role, kinds, factor in factors_of(fitted):
        if factor < STRONG and not leans_towards(factor):
            odds = presence_of(role, kinds, factor)
            yield f"WARNING: what is exported of {name_of(role, kinds)} may be chance: {odds}"
    known = fitted.identifiability() if hasattr(fitted, "identifiability") else None
    for sentence in known.sentences if known is not None else ():
        if sentence.endswith(NOWHERE):
            yield f"WARNING: {sentence}"


def _cutoffs(fitted: Any) -> dict[Kinds, float | None]:
    """Where the families of Phi end, if they do."""
    members = members_of((None, getattr(fitted, "interaction_basis_", None)))
    return {member.kinds: getattr(member.basis, "cutoff", None) for member in members}


def _species(fitted: Any, found: list[LearntPotential]) -> tuple[str, ...]:
    families = (getattr(fitted, f"{role}_basis_", None) for role in ("external", "interaction"))
    named = {kind for family in families if family is not None for kind in family.species or ()}
    return tuple(sorted(named | {kind for one in found for kind in one.kinds}))


def _checked(reach: Any) -> tuple[float, float] | None:
    if reach is None:
        return None
    try:
        low, high = (float(end) for end in reach)
    except (TypeError, ValueError):
        raise InputError(f"reach: expected two distances, such as (0.1, 3.0), got {reach!r}") from None
    if not 0 <= low < high < np.inf:
        raise InputError(f"reach: expected two increasing distances of at least 0, got {reach!r}")
    check_magnitude("reach", low, high)
    return low, high


def _curve(
    one: LearntPotential, scales: Scales, core: str, reach: tuple[float, float] | None, cutoff: float | None
) -> Curve:
    explored = reach if one.explored is None else one.explored
    if explored is None:
        raise InputError(
            f"{one.name}: the fit does not know which distances its data explored (it was made from moments, or is a "
            "network trained on snapshots); say it, reach=(low, high), --reach LOW:HIGH"
        )
    assert isinstance(one.potential, RadialPotential)
    factor, length = scales.of(one.role), scales.length
    low, high = (length * float(end) for end in explored)
    scaled = Scaled(one.potential, factor, length)
    if one.role == 0:
        potential = continued_trap(scaled, low, high)
    else:
        potential = continued_pair(scaled, low, high, None if cutoff is None else length * cutoff, core)
    curve = Curve(one, potential, (low, high), factor, length, ())
    return Curve(one, potential, (low, high), factor, length, tuple(_said(curve)))


def _said(curve: Curve) -> Iterable[str]:
    """What was made up where the data end, and how well the edges are known."""
    potential, (low, high), name = curve.potential, curve.explored, curve.name
    who = "particle was" if curve.role == 0 else "pairs were"
    if low > 0:
        if curve.role == 0:
            how = "it is continued harmonically to its centre"
        elif potential.contact is None:
            how = "the force is held at its value there"
            if float(curve.force(low)) < 0:
                how += ", which attracts: particles may fall onto each other (core='safe' repels)"
        else:
            how = (
                f"it is continued by a repulsive core, no data: force / r grows linearly in r^2 to "
                f"{potential.contact:.4g} at contact"
            )
        yield f"{name} below r = {low:.4g}, where hardly any {who} seen, is extrapolated: {how}; {_edge(curve, low)}"
    if potential.width > 0:
        how = f"its force is taken to zero between there and r = {potential.high + potential.width:.4g}"
    elif curve.role == 0:
        how = f"its force is held as it is there, to r = {curve.end:.4g}, where tables end"
    else:
        how = ""
    if how:
        yield f"{name} above r = {high:.4g}, where hardly any {who} seen, is extrapolated: {how}; {_edge(curve, high)}"
    if not how:
        yield f"{name} ends at r = {curve.end:.4g}, where its force is zero"


def _edge(curve: Curve, r: float) -> str:
    """Force and band at an end of the explored range."""
    force = float(curve.force(r))
    # an end of the range, rounded in the conversion of units, may lie outside by the last digit
    inside = np.clip(r / curve.length, *(np.asarray(curve.explored) / curve.length))
    band = _band_of_force(curve.learnt.potential, np.asarray(inside), curve.factor / curve.length)
    if band is None:
        return f"the force at the edge is {force:.4g}, without error bars"
    lower, upper = (float(end) for end in band)
    if not np.isfinite(lower):
        return f"the force at the edge is {force:.4g}, and nothing is known of its error"
    known = f"the force at the edge is {force:.4g}, 95 % band {lower:.4g} to {upper:.4g}"
    return known + (", so that not even its sign is known" if lower < 0 < upper else "")
