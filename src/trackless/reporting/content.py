"""Everything that a report says, as plain data: numbers, sentences and text, nothing of how they look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.belonging import SHARED, check_belongs, known_again, mismatches
from trackless.exploration import Exploration
from trackless.goodness import ResidualTest
from trackless.identifiability import Identifiability
from trackless.mixtures import listed
from trackless.prediction import WITHIN, Curve, Prediction, observed_curves, predict
from trackless.reach import outside
from trackless.reporting.animation import animated
from trackless.reporting.curves import plain, potentials_of
from trackless.reporting.settings import code_of, facts_about, settings_of, software
from trackless.reporting.verdict import Verdict, Warned, residual_test, verdict
from trackless.snapshots import Snapshots
from trackless.wording import plural

REPLICATES = 39  # simulations of all beginnings: one more is between the smallest and the largest in 95 % of cases
WORK = 4e8  # forces that they compute at most: some seconds, and the same numbers on every machine
FAR = 4.0  # half ranges from the middle of a range, at which what is farther off is drawn
FEW = 4  # curves that are shown for two times; where there are more, for the last one
NUMBERS = {"all": "V and Φ together", "external": "V alone", "interaction": "Φ alone"}


def collect(
    fitted: Any,
    snapshots: Snapshots,
    title: str | None = None,
    validation: Any = None,
    source: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    simulate: bool = True,
    seed: int = 0,
) -> dict[str, Any]:
    """What a report on a fit says.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
    title : str, optional
    validation : result of a validation, optional
    source : sequence of str
        Names of the files that the data are from.
    reading : dict, optional
        What else they were read with (dt, columns, ...).
    simulate : bool
        Whether the fitted model is simulated.
    seed : int
        Of the simulations.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=60, duration=0.3, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> said = collect(fitted, data, simulate=False)
    >>> said["facts"][0], said["warnings"]
    (('Runs', '60', '31 snapshots each'), [])
    """
    check_belongs(fitted, snapshots, "report")
    snapshots, seen = known_again(fitted, snapshots)
    explored = Exploration(snapshots)
    known = fitted.identifiability() if hasattr(fitted, "identifiability") else None
    test = residual_test(fitted, snapshots, seen)
    beyond = outside(fitted, explored) if seen is not True else []
    judged = verdict(fitted, test, known, validation, [one for one in beyond if one is not None])
    potentials = potentials_of(fitted, explored)
    for one, own in zip(potentials, beyond, strict=False):
        one["outside"] = own.sentence if own is not None else ""
    unlike = mismatches(fitted, snapshots)
    differing = [Warned("The data are not like those of the fit.", "; ".join(unlike))] if unlike else []
    predictive = getattr(validation, "predictive", None)
    told = list(validation.sentences) if validation is not None else []
    if predictive is not None:
        comparisons, numbers = _drawn(predictive.curves.values(), predictive.within), _single(predictive)
    else:
        comparisons, numbers, said = _compared(fitted, snapshots, seen, simulate, seed)
        told += said
    warnings = [warned._asdict() for warned in (*judged.warnings, *differing)]
    return {
        "summary": _summary(warnings, judged, test, predictive),
        "title": title or _title(source, seen),
        "seen": seen,
        "source": list(source),
        "software": software(),
        "warnings": warnings,
        "passed": judged.passed,
        "untested": judged.untested,
        "facts": facts_about(fitted, snapshots, test),
        "coupling": getattr(fitted, "coupling", "mean"),
        "learnt": [bool(listed(fitted.external_)), bool(listed(fitted.interaction_))],
        "potentials": potentials,
        "comparisons": comparisons,
        "single": numbers,
        "comparison_sentences": told,
        "p_values": _p_values(predictive),
        "smallest_p": "" if predictive is None else f"{1 / (predictive.replicates + 1):.2g}",
        "animation": animated(fitted, snapshots, simulate, seed),
        "decisions": _decisions(fitted, known),
        "noise": _noise(fitted),
        "identifiability": list(known.sentences) if known is not None else [],
        "numbers": _numbers(known) if known is not None else [],
        "settings": settings_of(fitted),
        "code": code_of(fitted, list(source), reading or {}, seen),
    }


def _title(source: Sequence[str], seen: bool | str | None) -> str:
    own = seen in (True, None)
    if not source:
        return "Forces learnt from snapshots" if own else "Learnt forces and other snapshots"
    more = f" and {len(source) - 1} more" if len(source) > 1 else ""
    return f"{'Forces learnt from' if own else 'Learnt forces and'} {source[0]}{more}"


def _compared(
    fitted: Any, snapshots: Snapshots, seen: bool | str | None, simulate: bool, seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    """Densities and numbers observed beside what the fit predicts, and what is to be said of them.

    p-values are for a validation.
    """
    said = []
    if simulate:
        try:
            found = predict(fitted, snapshots, REPLICATES, seed, WORK)
        except InputError as error:
            said.append(f"nothing was predicted: {error}")
        else:
            uncertain = getattr(fitted, "covariance_", None) is not None
            drawn = _drawn(found.curves.values(), found.within)
            return drawn, _single(found), _method(found, uncertain, seen)
    return _drawn(observed_curves(fitted, snapshots).values()), {}, said


def _method(found: Prediction, uncertain: bool, seen: bool | str | None) -> list[str]:
    """How predictions were made, in words."""
    other = "other noise, and other potentials within their error bars" if uncertain else "other noise"
    said = [
        f"the fitted model was simulated {found.replicates} times from {plural(found.starts, 'observed snapshot')}, "
        f"each time with {other}, and is compared with what was seen up to {found.times[-1]:.3g} later; what a right "
        f"model does is within the range in {100 * found.within:.0f} % of cases"
    ]
    if seen is not False:
        whose = f"{'these are' if seen else 'if these are'} the data that the fit was made from"
        whose = "these data share snapshots with those of the fit" if seen == SHARED else whose
        said.append(
            f"{whose}, agreement is no proof; trackless report --validate, or validation=tl.validate(fit, data) in "
            "Python, tests it on data that it has not seen"
        )
    return said


def _drawn(curves: Iterable[Curve], within: float = WITHIN) -> list[dict[str, Any]]:
    """Curves as plain data, with how often a right model is in their range; of many only those of the last time."""
    found = list(curves)
    if len(found) > FEW:
        last = found[-1].label.rpartition(", after ")[2]
        found = [curve for curve in found if curve.label.rpartition(", after ")[2] == last]
    return [
        {"label": curve.label[:1].upper() + curve.label[1:], "xlabel": curve.xlabel, "ylabel": curve.ylabel}
        | {"edges": plain(curve.edges), "observed": plain(curve.observed), "within": f"{100 * within:.0f} %"}
        | {name: plain(getattr(curve, name)) or None for name in ("predicted", "lower", "upper")}
        for curve in found
    ]


def _single(found: Prediction) -> dict[str, Any]:
    """Numbers that no density shows, first what is farthest off where the fit fails; empty where there are none."""
    rows = [
        {"text": one.text, "observed": one.observed, "predicted": one.predicted}
        | {"lower": one.lower, "upper": one.upper, "off": float(np.clip(one.off, -FAR, FAR))}
        for one in found.without_density
    ]
    return {"rows": rows, "within": f"{100 * found.within:.0f} %", "failed": not found.passed} if rows else {}


def _summary(
    warnings: Sequence[Mapping[str, str]], judged: Verdict, test: ResidualTest | None, predictive: Any
) -> dict[str, Any]:
    """What the page comes to, for programs: "warned", "passed" or "not tested"; why; and all p-values."""
    found = {} if test is None else {"residual test": float(test.p_value)}
    if predictive is not None:
        found |= {"prediction": float(predictive.p_value)}
        found |= {str(name): float(value) for name, value in predictive.topics.items()}
    verdict = "warned" if warnings else "passed" if judged.passed else "not tested"
    said = [f"{warned['headline']} {warned['detail']}" for warned in warnings]
    return {"verdict": verdict, "warnings": said, "p_values": found}


def _p_values(predictive: Any) -> list[tuple[str, str]]:
    if predictive is None:
        return []
    return [("everything", f"{predictive.p_value:.2g}")] + [
        (str(name), f"{value:.2g}") for name, value in predictive.topics.items()
    ]


def _noise(fitted: Any) -> str:
    noise = getattr(fitted, "noise_", None)
    if noise is not None:
        return noise.sentence
    level = " and ".join(f"{level:.4g}" for level in np.atleast_1d(fitted.sigma_))
    if getattr(fitted, "sigma", None) is not None:
        return f"sigma = {level} was given; the forces follow from it: half of it would make them four times smaller"
    return f"sigma = {level}, the root mean square of what the forces do not explain"


def _decisions(fitted: Any, known: Identifiability | None) -> list[str]:
    """What was assumed, found and left out on the way, but for what is said elsewhere."""
    findings = getattr(fitted, "findings_", None)
    if findings is not None:
        elsewhere = {*(known.sentences if known is not None else ()), _noise(fitted)}
        elsewhere |= {findings.residual_test.sentence} if findings.residual_test is not None else set()
        return [sentence for sentence in findings.sentences if sentence not in elsewhere]
    found = [getattr(fitted, name, None) for name in ("center_", "resolution_", "debiasing_")]
    said = [one.sentence for one in found if one is not None and hasattr(one, "sentence")]  # networks: a bare centre
    if hasattr(fitted, "matching_report_"):
        said.append(fitted.matching_report_)
    if hasattr(fitted, "stopped_"):
        unit = "step" if fitted.route_ == "moments" else "epoch"
        kept = ", ".join(str(best + 1) for best in fitted.stopped_)
        said.append(
            f"trained on {fitted.route_}, {len(fitted.stopped_)} network{'s' * (len(fitted.stopped_) > 1)} for each "
            f"potential, kept from {unit} {kept}, where the loss on held-out data was smallest"
        )
    return said


def _numbers(known: Identifiability) -> list[tuple[str, str, str]]:
    """Name, value and meaning of what the equations say about themselves."""
    rows = [
        (
            f"Condition number, {NUMBERS[name]}",
            f"{value:.3g}",
            "how unequally well parameters are determined; 1 is best",
        )
        for name, value in known.condition_numbers.items()
    ]
    for letter, value in zip(("V", "Φ"), known.effective, strict=True):
        if value > 0:
            rows.append((f"Parameters of {letter}", f"{value:.1f}", "determined by the data"))
    if np.isfinite(known.coercivity) and known.trade_off is not None:
        meaning = "1 if V and Φ do not mix, 0 if the data cannot tell them apart"
        rows.append(("Coercivity", f"{known.coercivity:.3g}", meaning))
    return rows
