"""Is a fit better than its alternatives, on data that it has not seen? Without a potential, with one more, without any.

The measure is the loss on held-out data. A fit that is tested as it is, on other data, is scored with its own
coefficients, and its alternatives are fitted to what it was fitted to itself. On its own data estimators with the same
settings are fitted to parts of them and scored on the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from trackless._errors import InputError
from trackless.choices import Choices, centers_of, pairs_that_meet
from trackless.comparison import BLOCKS, Comparison, compare, ranked
from trackless.estimators.self_test import SelfTest
from trackless.fitting import PART
from trackless.moments import Moments
from trackless.pieces import usual_length
from trackless.residuals import Units
from trackless.snapshots import Snapshots
from trackless.space import half_box

Array = NDArray[np.float64]
FIT, NO_FORCE = "the fit", "no force"
WITHOUT = {"interaction": "no interaction", "external": "no external potential"}
LEFT_OUT = {name: f"leaving out the {name.removeprefix('no ')}" for name in WITHOUT.values()}
ADDED = {"interaction": "an interaction", "external": "an external potential"}
LOOKED_AT = 8_000  # snapshots on which potentials are left out, or added
FEWEST_PARTS = 6  # that are held out: the scatter of fewer, which are parts of the same runs, tells nothing
FEWEST_TIMES = 5  # of a run, of which every second says something of the errors of integrals


def alternatives(
    fitted: Any, snapshots: Snapshots, as_it_is: bool, sentences: list[str], holds: bool = True
) -> Comparison | None:
    """Held-out losses of a fit and of its alternatives; None where that is not asked of this kind of fit.

    Parameters
    ----------
    as_it_is : bool
        Whether the snapshots are others than those of the fit, which is then not fitted again.
    sentences : list of str
        Are told what was found.
    holds : bool
        Whether the fit passes all else that was asked of these snapshots. Where it does not, and they are others than
        its own, they may be of another kind: then what it would do without a potential is no reason to leave it out.
    """
    if not isinstance(fitted, SelfTest) or fitted.dynamics == "discrete" or not fitted.moments_.observation.complete:
        sentences.append("held-out loss: not asked of this kind of fit")
        return None
    part = snapshots[: max(1, LOOKED_AT // usual_length(snapshots))]
    if fitted.resolution_ is not None and fitted.resolution_.left_out:
        part = part.between(fitted.resolution_.start, np.inf)
    lacking = [role for role in WITHOUT if getattr(fitted, f"{role}_") is None]
    if lacking:
        sentences.append("held-out loss: there is only one potential, which cannot be left out")
    try:
        if as_it_is and not lacking:
            found = _of_this_fit(fitted, part)
        else:
            if as_it_is:
                sentences.append("held-out loss: of estimators with these settings, fitted to a part of these data")
            found = _of_its_settings(fitted, part, lacking)
    except InputError as error:
        sentences.append(f"held-out loss: {error}")
        return None
    sentences += _said_of_all(found, holds or not as_it_is)
    return found


def clearly(found: Comparison, better: str, worse: str) -> bool:
    """Whether one of them is clearly ahead, of enough parts of the data to tell."""
    return found.parts >= FEWEST_PARTS and found.clearly(better, worse)


def _again(fitted: SelfTest, **changes: Any) -> SelfTest:
    """An estimator with the settings of a fit, and its sigma, that goes over the data once."""
    fresh: Any = clone(fitted)
    return fresh.set_params(**{"sigma": fitted.sigma_, "debias": False, "resolve": None} | changes)


def _of_its_settings(fitted: SelfTest, part: Snapshots, lacking: list[str]) -> Comparison:
    """Of estimators fitted to parts of the data, on the others."""
    candidates = {FIT: _again(fitted)}
    for role in () if lacking else WITHOUT:
        candidates[WITHOUT[role]] = _again(fitted, **{role: None})
    for role in lacking:
        candidates[ADDED[role]] = _again(fitted, **{role: _missing(role, fitted, part), "regularization": "evidence"})
    found = compare(part, candidates, nothing=NO_FORCE)
    if not _long(part):
        return found
    return _with_integrals(found, compare(part.every(2), candidates, nothing=NO_FORCE))


def _of_this_fit(fitted: SelfTest, part: Snapshots) -> Comparison:
    """Of the fit itself, and of alternatives fitted to the same moments as it was."""
    coefs = {FIT: fitted.coef_, NO_FORCE: np.zeros(len(fitted.coef_))}
    own = fitted.moments_
    for role, name in WITHOUT.items():
        size = own.external_size if role == "external" else own.size - own.external_size
        nothing = None, np.zeros((size, 0))
        less = own.transformed(external=nothing) if role == "external" else own.transformed(interaction=nothing)
        kept = slice(size, None) if role == "external" else slice(0, own.external_size)
        coefs[name] = np.zeros(len(fitted.coef_))
        coefs[name][kept] = _again(fitted, external=None, interaction=None).fit(less).coef_
    found = ranked(_losses(fitted, part, coefs))
    return _with_integrals(found, ranked(_losses(fitted, part.every(2), coefs))) if _long(part) else found


def _long(part: Snapshots) -> bool:
    """Whether every second snapshot is enough to say something of the errors of integrals."""
    return usual_length(part) >= FEWEST_TIMES


def _losses(fitted: SelfTest, part: Snapshots, coefs: dict[str, Array]) -> dict[str, Array]:
    """Losses of coefficients on every block and time window of other data, (units,), by name."""
    moments: Moments = fitted.moments_to_score(part).coarsened(BLOCKS)
    units = Units.of(moments, fitted.sigma_, fitted.quadrature)
    return {
        name: (0.5 * np.einsum("k,ukl,l->u", coef, units.matrices, coef) - units.vectors @ coef) / units.weights.mean()
        for name, coef in coefs.items()
    }


def _missing(role: str, fitted: SelfTest, part: Snapshots) -> Any:
    """The family that a potential which a fit lacks would have, as :func:`trackless.fit` would take it."""
    if role == "external" and part.box is not None:
        raise InputError("an external potential was not tried (in a periodic box one about a centre ends in a kink)")
    if role == "interaction" and all(int(part.counts_of(m).max()) < 2 for m in range(part.runs)):
        raise InputError("an interaction was not tried (there is never more than one particle)")
    cutoff = None if part.box is None else half_box(part.box)
    choices = Choices("radial", "radial", centers_of(part, "auto"), cutoff, None, pairs_that_meet(part, []))
    return choices.of("radial", "radial")[role == "interaction"]


def _with_integrals(found: Comparison, coarser: Comparison) -> Comparison:
    """The same with errors that know how wrong integrals over time are: all blocks share what coarse intervals do.

    What scatters between blocks cannot show it, and a potential that is not there is fitted to it. As for sigma, no
    order of the rule is relied on: a gap is as uncertain as it changes where every second snapshot is left out.
    """
    scores = dict(zip(coarser.names, coarser.scores, strict=True))
    errors = [
        float(np.hypot(error, behind - (scores[found.best] - scores[name])))
        for name, behind, error in zip(found.names, found.behind, found.errors, strict=True)
    ]
    return replace(found, errors=tuple(errors))


def _said_of_all(found: Comparison, alike: bool) -> list[str]:
    """What the comparison says of every alternative, in words; ``alike``: of data that are of the kind of the fit's."""
    place = {name: k for k, name in enumerate(found.names)}
    said = []
    for name in found.names:
        if name != FIT:
            gap = found.scores[place[FIT]] - found.scores[place[name]]
            error = max(found.errors[place[name]], found.errors[place[FIT]])
            words = _said_of_none if name == NO_FORCE else _said if name in WITHOUT.values() else _said_of_added
            said.append(words(name, gap, error, found, alike))
    return [one for one in said if one]


def _said_of_none(name: str, gap: float, error: float, found: Comparison, alike: bool) -> str:
    """Nothing where the fit is clearly better than no force at all, as it should be."""
    size = f"by {abs(gap):.3g} +- {error:.2g}"
    if clearly(found, name, FIT):
        noise = "follows the noise of the data that it was made from"
        return f"HELD-OUT LOSS: THE FIT DOES WORSE THAN NO FORCE AT ALL ({size}): it " + (
            noise if alike else f"does not describe these data, or {noise}"
        )
    if clearly(found, FIT, name):
        return ""
    how = "better" if gap > 0 else "worse"
    return f"held-out loss: these data cannot tell the fit from no force at all (it does {how}, {size})"


def _said_of_added(name: str, gap: float, error: float, found: Comparison, alike: bool) -> str:
    if clearly(found, name, FIT):
        better = f"by {-gap:.3g} +- {error:.2g}"
        return f"HELD-OUT LOSS: {name.upper()} WOULD PREDICT BETTER, which the fit was made without ({better}); add it"
    how = "worse" if gap > 0 else "better, but not clearly so"
    return f"held-out loss: adding {name} would make it {how} (by {abs(gap):.3g} +- {error:.2g})"


def _said(name: str, gap: float, error: float, found: Comparison, alike: bool) -> str:
    without, size = LEFT_OUT[name], f"by {abs(gap):.3g} +- {error:.2g}"
    if clearly(found, FIT, name) and gap < PART * abs(found.scores[found.names.index(FIT)]):
        return (
            f"held-out loss: {without} makes it so little worse ({size}) that the other potential may stand in for it"
        )
    if clearly(found, FIT, name):
        return f"held-out loss: {without} makes it clearly worse ({size})"
    if clearly(found, name, FIT):
        follows = "; leave that potential out" if alike else ": the fit does not describe these data"
        return f"HELD-OUT LOSS: {without.upper()} MAKES IT BETTER ({size}){follows}"
    return f"held-out loss: {without} makes it {'worse' if gap > 0 else 'better'}, but not clearly so ({size})"
