"""Whether a fit can be believed: warnings in plain words, and what was tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trackless._errors import InputError
from trackless.belonging import SHARED
from trackless.fitting import NOISELESS
from trackless.goodness import ResidualTest
from trackless.identifiability import NOWHERE, OPPOSED, Identifiability
from trackless.intensity import is_unknown
from trackless.mixtures import Kinds, in_words, listed
from trackless.noise import DISAGREE
from trackless.position_errors import OFF
from trackless.presence import STRONG, factors_of, leans_towards, presence
from trackless.reach import Outside, said_of_outside
from trackless.snapshots import Snapshots
from trackless.unsaid import FLICKER
from trackless.validation import FAILED

FEW_PARTS = 8  # independent parts of the data, below which error bars are rough
ILL_CONDITIONED = 1e10
TRADED = 0.2  # a trade-off of V and Phi by more than this part of a force is worth a warning
WRONG_MATCHES = 0.05


class Warned(NamedTuple):
    """Something that a reader must know first."""

    headline: str
    detail: str


class Verdict(NamedTuple):
    """Warnings, what was tested with what result, and why nothing was where that was tried."""

    warnings: list[Warned]
    passed: list[str]
    untested: list[str]


def verdict(
    fitted: Any,
    test: ResidualTest | None,
    known: Identifiability | None,
    validation: Any,
    beyond: Sequence[Outside] = (),
) -> Verdict:
    """What speaks against a fit, and what for it.

    Parameters
    ----------
    fitted : fitted estimator
    test : ResidualTest, optional
    known : Identifiability, optional
        ``fitted.identifiability()``, where there is one.
    validation : result of a validation, optional
        With ``passed`` and ``sentences``.
    beyond : sequence of Outside
        How much of the data the potentials have not seen, where the data are not those of the fit.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=60, duration=0.3, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=0.5).fit(data)
    >>> verdict(fitted, residual_test(fitted, data, True), None, None).warnings[0].headline
    'The fitted model does not explain these data.'
    """
    warnings = [
        *_of_reach(beyond),  # first, because it may be why all else fails
        *_of_test(test, validation),
        *_of_instrument(fitted),
        *_of_noise(fitted),
        *_of_times(fitted),
        *_of_fit(fitted),
        *_of_bands(fitted),
    ]
    warnings += [*_of_evidence(fitted), *_of_trade_off(known)]
    told = [test.sentence] if test is not None and test.passed else []
    passed = told if test is not None and all(test.asked.values()) else []
    if validation is not None and validation.passed:
        asked = getattr(validation, "summary", "")
        asked = f" ({asked})" if asked else ""
        passed.append(f"a validation found nothing against it{asked}: {validation.sentences[0]} (more of it below)")
    untested = list(validation.sentences) if validation is not None and validation.passed is None else []
    if not passed and not untested:  # a test that could not have failed in all it asks is no word for a fit
        untested = told
    return Verdict(warnings, passed, untested)


def residual_test(fitted: Any, snapshots: Snapshots, seen: bool | str | None) -> ResidualTest | None:
    """Whether the data look as if the fitted model had made them; None where that cannot be asked.

    ``seen``: whether they are those of the fit (None: nobody knows, and they are taken for those if they may be;
    SHARED: some of them, which the test of the fit's own data says nothing of).
    """
    findings = getattr(fitted, "findings_", None)
    if findings is not None and seen in (True, None):
        return findings.residual_test
    if not hasattr(fitted, "can_be_tested") or not fitted.can_be_tested(snapshots):
        return None
    try:
        return fitted.residual_test(snapshots, other=seen in (False, SHARED))
    except (InputError, np.linalg.LinAlgError):  # other data than those of the fit, though nobody knew, or too few
        return None


def _of_reach(beyond: Sequence[Outside]) -> Iterator[Warned]:
    detail = said_of_outside(beyond)
    if detail:
        yield Warned("These data lie outside of what the fit knows.", detail)


def _of_test(test: ResidualTest | None, validation: Any) -> Iterator[Warned]:
    if test is not None and not test.passed:
        said = test.sentence.replace("THE MODEL DOES NOT FIT", "residual test")  # the headline says it
        yield Warned("The fitted model does not explain these data.", said)
    if validation is not None and validation.passed is False:
        failed = [one for one in validation.sentences if one.startswith(FAILED)] or list(validation.sentences)
        yield Warned("What the fitted model predicts is not what was seen.", "; ".join(failed))


def _of_instrument(fitted: Any) -> Iterator[Warned]:
    """What the data show of how particles were seen, but was not said."""
    headlines = {
        OFF: "Positions seem to be off, which the fit takes for motion.",
        FLICKER: "Particles come and go, which the fit does not know of.",
    }
    for sentence in getattr(getattr(fitted, "findings_", None), "sentences", ()):
        for start, headline in headlines.items():
            if sentence.startswith(start):
                yield Warned(headline, sentence)


def _of_noise(fitted: Any) -> Iterator[Warned]:
    noise = getattr(fitted, "noise_", None)
    if noise is not None and not noise.known:
        yield Warned("sigma is not known, so that the size of the forces is not known either.", noise.sentence)
    elif noise is not None and noise.p_value < DISAGREE:
        yield Warned("Two ways to find sigma disagree.", noise.sentence)
    if noise is None and not is_unknown(getattr(fitted, "sigma", None)) and not np.all(np.greater(fitted.sigma_, 0)):
        yield Warned("The fit was made without noise.", NOISELESS)


def _of_times(fitted: Any) -> Iterator[Warned]:
    resolution = getattr(fitted, "resolution_", None)
    if resolution is not None and resolution.coarse:
        yield Warned("The snapshots are too far apart in time for this motion.", resolution.sentence)
    debiasing = getattr(fitted, "debiasing_", None)
    if debiasing is not None and not debiasing.converged:
        yield Warned("The removal of bias had not settled.", debiasing.sentence)


def _of_fit(fitted: Any) -> Iterator[Warned]:
    """What is particular to some estimators."""
    center = getattr(fitted, "center_", None)
    if center is not None and not getattr(center, "known", True):
        yield Warned("The centre of V is not known.", center.sentence)
    conditions = getattr(fitted, "condition_numbers_", None)
    if conditions and getattr(fitted, "posterior_", None) is None and conditions["all"] > ILL_CONDITIONED:
        detail = f"the condition number is {conditions['all']:.1g}; use fewer functions, or do not trust details"
        yield Warned("The data hardly tell the functions of this family apart.", detail)
    right = getattr(fitted, "matched_fraction_", None)
    if right is not None and right < 1 - WRONG_MATCHES:
        yield Warned(
            f"{1 - right:.0%} of the particles were matched wrongly from frame to frame.", fitted.matching_report_
        )
    curves = getattr(fitted, "curves_", ())
    if any(best == len(curve) - 1 for curve, best in zip(curves, getattr(fitted, "stopped_", ()), strict=True)):
        yield Warned("The networks were still improving when training ended.", "more steps may do better (steps=)")
    if len(curves) and fitted.loss_ >= 0:
        detail = "the data are too few, or sigma is wrong"
        yield Warned("The networks are no better than no force at all.", detail)


def _of_bands(fitted: Any) -> Iterator[Warned]:
    learnt = [potential for role in ("external_", "interaction_") for _, potential in listed(getattr(fitted, role))]
    if any(potential.uncertainty is None for potential in learnt):
        detail = "the curves below are estimates of unknown error; fits of several runs or time windows have bands"
        yield Warned("There are no error bars.", detail)
    elif getattr(fitted, "freedom_", np.inf) < FEW_PARTS:
        detail = "they rest on few independent parts of the data; more runs, or longer ones, would help"
        yield Warned("The error bars are rough.", detail)


def _of_evidence(fitted: Any) -> Iterator[Warned]:
    known = list(factors_of(fitted))
    unseen = [(role, kinds) for role, kinds, factor in known if factor < STRONG and not leans_towards(factor)]
    likely = [(role, kinds, factor) for role, kinds, factor in known if leans_towards(factor)]
    if unseen:
        detail = "what is drawn below may be chance: odds for it are even, or against it"
        yield Warned(f"The data do not show {_or([_named(*one) for one in unseen])}.", detail)
    if likely:
        names = " and ".join(_named(role, kinds) for role, kinds, _ in likely)
        detail = "; ".join(presence(_named(role, kinds).partition(" ")[2], factor) for role, kinds, factor in likely)
        yield Warned(f"The data speak for {names}, but not clearly.", detail)


def _named(role: int, kinds: Kinds) -> str:
    name = ("an external potential", "an interaction")[role]
    return f"{name} {('for', 'of')[role]} {in_words(kinds)}" if kinds else name


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _of_trade_off(known: Identifiability | None) -> Iterator[Warned]:
    if known is None:
        return
    for sentence in known.sentences:
        if sentence.endswith(NOWHERE):
            yield Warned("One of the potentials is lost in its error.", sentence)
    traded = known.trade_off
    if traded is not None and max(traded.sizes) >= TRADED and traded.cancelled >= OPPOSED:
        sentence = next((said for said in known.sentences if said.startswith("V and Phi trade off")), "")
        yield Warned("V and Phi can stand in for each other.", sentence)
