"""Everything that a report says, as plain data: numbers, sentences and text, nothing of how they look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.identifiability import Identifiability
from trackless.mixtures import listed
from trackless.reporting.animation import animated
from trackless.reporting.curves import plain, potentials_of
from trackless.reporting.prediction import predict
from trackless.reporting.settings import code_of, facts_about, settings_of, software
from trackless.reporting.verdict import residual_test, verdict
from trackless.snapshots import Snapshots

NUMBERS = {"all": "V and Φ together", "external": "V alone", "interaction": "Φ alone"}


def collect(
    fitted: Any,
    snapshots: Snapshots,
    title: str | None = None,
    validation: Any = None,
    source: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    simulate: bool = True,
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
    check_match(fitted, snapshots)
    snapshots = snapshots.without_gaps(getattr(fitted, "max_gap_", None))  # as the fit has cut them
    explored = Exploration(snapshots)
    known = fitted.identifiability() if hasattr(fitted, "identifiability") else None
    test = residual_test(fitted, snapshots)
    judged = verdict(fitted, test, known, validation)
    predictive = getattr(validation, "predictive", None)
    if predictive is not None:
        comparisons, said = _validated(predictive), list(validation.sentences)
    else:
        comparisons, said = predict(fitted, snapshots, explored, simulate)
        said = list(validation.sentences) + said if validation is not None else said
    return {
        "title": title or _title(source),
        "source": list(source),
        "software": software(),
        "warnings": [warned._asdict() for warned in judged.warnings],
        "passed": judged.passed,
        "facts": facts_about(fitted, snapshots, test),
        "coupling": getattr(fitted, "coupling", "mean"),
        "learnt": [bool(listed(fitted.external_)), bool(listed(fitted.interaction_))],
        "potentials": potentials_of(fitted, explored),
        "comparisons": comparisons,
        "comparison_sentences": said,
        "p_values": _p_values(predictive),
        "animation": animated(fitted, snapshots, explored, simulate),
        "decisions": _decisions(fitted, known),
        "noise": _noise(fitted),
        "identifiability": list(known.sentences) if known is not None else [],
        "numbers": _numbers(known) if known is not None else [],
        "settings": settings_of(fitted),
        "code": code_of(fitted, list(source), reading or {}),
    }


def check_match(fitted: Any, snapshots: Any) -> None:
    """Refuse a fit and data that cannot belong together, with one line that says what to do."""
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"report: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    if not all(hasattr(fitted, name) for name in ("external_", "interaction_", "sigma_")):
        raise InputError(f"report: expected a fitted estimator, got {type(fitted).__name__}; call fit first")
    dim = _dimension(fitted)
    if dim is not None and dim != snapshots.dim:
        raise InputError(
            f"report: the fit is of {dim}-dimensional data, these have {snapshots.dim} dimension"
            f"{'s' * (snapshots.dim > 1)}; give the data that were fitted"
        )
    named = {kind for own in (fitted.external_, fitted.interaction_) for kinds, _ in listed(own) for kind in kinds}
    missing = sorted(named - set(snapshots.species or ()))
    if missing:
        there = f"those of the data are {', '.join(snapshots.species)}" if snapshots.species else "the data have none"
        raise InputError(
            f"report: the fit is of the species {', '.join(sorted(named))}, {there}; give the data that were fitted, "
            "or say which column the species are in (--columns species=NAME)"
        )


def _dimension(fitted: Any) -> int | None:
    """Of the data of a fit, where it is known."""
    moments = getattr(fitted, "moments_", None)
    if moments is not None:
        return int(moments.dim)
    for network in (*getattr(fitted, "external_networks_", ()), *getattr(fitted, "interaction_networks_", ())):
        if len(network.shift) > 1:  # not radial
            return len(network.shift)
    return None


def _title(source: Sequence[str]) -> str:
    if not source:
        return "Forces learnt from snapshots"
    return f"Forces learnt from {source[0]}" + (f" and {len(source) - 1} more" if len(source) > 1 else "")


def _validated(predictive: Any) -> list[dict[str, Any]]:
    """Curves of a predictive check."""
    return [
        {"label": str(curve.label), "xlabel": str(curve.xlabel), "ylabel": "density"}
        | {name: plain(getattr(curve, name)) for name in ("edges", "observed", "predicted", "lower", "upper")}
        for curve in predictive.curves.values()
    ]


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
