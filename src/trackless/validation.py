"""validate: does a fit hold on data that it has not seen? Three questions, asked without a truth.

Is it better than leaving a potential out (held-out loss)? Do energies change and fluctuate as it says (residual test)?
Does it predict what comes next (:mod:`trackless.prediction`)?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from trackless._errors import InputError
from trackless.belonging import check_belongs
from trackless.comparison import Comparison, compare
from trackless.estimators.self_test import SelfTest
from trackless.goodness import ResidualTest
from trackless.pieces import usual_length
from trackless.prediction import REPLICATES, Prediction, predict
from trackless.snapshots import Snapshots

HELD_OUT = 0.3  # part of the data, where the fit has seen all of them
FEWEST_RUNS = 5  # with fewer the end of every run is held out, not some of the runs
LOOKED_AT = 8_000  # snapshots on which potentials are left out
AS_IT_IS = {
    True: "these are the data that the fit was made from, NOT HELD OUT: p-values are too good",
    False: "the fit was tested as it is, on data that it has not seen",
    None: "the fit was tested as it is; whether it was made from these data is not known (it is one of moments, or an "
    "old file); if it was, p-values are too good",
}
WITHOUT = {"interaction": "no interaction", "external": "no external potential"}


@dataclass(frozen=True)
class Validation:
    """What a fit is worth on data that it has not seen.

    Attributes
    ----------
    comparison : Comparison or None
        Held-out loss of the fit, and of fits without one of its potentials.
    residual_test : ResidualTest or None
        On the held-out part.
    predictive : Prediction or None
        Simulated futures of held-out snapshots.
    sentences : tuple of str
        All of it in words, also what could not be asked, and why.
    """

    comparison: Comparison | None
    residual_test: ResidualTest | None
    predictive: Prediction | None
    sentences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing that could be asked speaks against the fit."""
        tests = [test.passed for test in (self.residual_test, self.predictive) if test is not None]
        return all(tests) and not self.better_without

    @property
    def better_without(self) -> list[str]:
        """Potentials that the fit would clearly be better without."""
        found = self.comparison
        return [] if found is None else [n for n in found.names if n != "the fit" and found.clearly(n, "the fit")]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def validate(
    fitted: Any,
    snapshots: Snapshots,
    held_out: float | Literal["auto"] = "auto",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Validation:
    """Ask of data that a fit has not seen whether it holds.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
        The data of the fit, or others.
    held_out : "auto" or float
        The part of the runs (of the time, where there are fewer than five runs) that is held out: an estimator with
        the same settings is fitted to the rest, and tested. 0 tests the fit itself, for data that it has not seen.
        "auto" is 0.3 if the fit was made from these very snapshots, else 0.
    replicates : int
        How often every held-out beginning is simulated; p-values are whole multiples of 1 / (replicates + 1).
    seed : int
        Of the simulations.

    Returns
    -------
    Validation

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=150, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto").fit(data)
    >>> checked = tl.validate(fitted, data, replicates=49)
    >>> checked.passed, checked.comparison.best
    (True, 'the fit')
    """
    check_belongs(fitted, snapshots, "validate")
    snapshots, seen = known_again(fitted, snapshots)
    part = (HELD_OUT if seen else 0.0) if held_out == "auto" else float(held_out)
    if not 0 <= part < 1:
        raise InputError(f"held_out: expected a part between 0 and 1, or 'auto', got {held_out!r}")
    if part > 0:
        rest, test, said = _held_out(snapshots, part)
        tested, seen = _unfitted(fitted).fit(rest), False
    else:
        tested, test, said = fitted, snapshots, AS_IT_IS[seen]
    sentences = [said]
    comparison = _compared(fitted, snapshots, sentences)
    residual = _residuals(tested, test, seen, sentences)
    predictive = _predicted(tested, test, replicates, seed, sentences)
    return Validation(comparison, residual, predictive, tuple(sentences))


def known_again(fitted: Any, snapshots: Snapshots) -> tuple[Snapshots, bool | None]:
    """Snapshots, cut at gaps as those of a fit, and whether they are those of the fit; None where nobody knows."""
    fingerprint = getattr(fitted, "fingerprint_", None)
    cut = snapshots.without_gaps(getattr(fitted, "max_gap_", None))
    if fingerprint is None:
        return cut, None
    if fingerprint in (snapshots.fingerprint(), cut.fingerprint()):
        return cut, True
    apart = snapshots.without_gaps("auto")  # the command line cuts before it fits
    return (apart, True) if fingerprint == apart.fingerprint() else (cut, False)


def _unfitted(fitted: Any) -> Any:
    """An estimator with the same settings."""
    return clone(fitted)


def _held_out(snapshots: Snapshots, part: float) -> tuple[Snapshots, Snapshots, str]:
    """What is fitted, what is held out, and a sentence."""
    if snapshots.runs >= FEWEST_RUNS:
        rest, test = snapshots.split(fraction=1 - part)
        return (
            rest,
            test,
            f"an estimator with the same settings, fitted to {rest.runs} runs, tested on {test.runs} others",
        )
    times = [snapshots.times_of(m) for m in range(snapshots.runs)]
    cut = float(np.median([t[0] + (1 - part) * (t[-1] - t[0]) for t in times]))
    rest, test = snapshots.between(-np.inf, cut), snapshots.between(cut, np.inf)
    return rest, test, f"an estimator with the same settings, fitted up to t = {cut:.4g}, tested on what came later"


def _compared(fitted: Any, snapshots: Snapshots, sentences: list[str]) -> Comparison | None:
    """Held-out losses of the fit and of fits without one of its potentials."""
    if not isinstance(fitted, SelfTest) or fitted.dynamics == "discrete" or not fitted.moments_.observation.complete:
        sentences.append("held-out loss: not asked of this kind of fit")
        return None
    if fitted.external_ is None or fitted.interaction_ is None:
        sentences.append("held-out loss: there is only one potential, which cannot be left out")
        return None
    part = snapshots[: max(1, LOOKED_AT // usual_length(snapshots))]
    if fitted.resolution_ is not None and fitted.resolution_.left_out:
        part = part.between(fitted.resolution_.start, np.inf)
    settings: dict[str, Any] = {"sigma": fitted.sigma_, "debias": False, "resolve": None}
    candidates = {"the fit": _unfitted(fitted).set_params(**settings)}
    for role, name in WITHOUT.items():
        candidates[name] = _unfitted(fitted).set_params(**settings, **{role: None})
    try:
        found = compare(part, candidates)
    except InputError as error:
        sentences.append(f"held-out loss: {error}")
        return None
    place = {name: k for k, name in enumerate(found.names)}
    for name in WITHOUT.values():
        gap = found.scores[place["the fit"]] - found.scores[place[name]]
        error = max(found.errors[place[name]], found.errors[place["the fit"]])
        sentences.append(_said(name, gap, error, found))
    return found


def _said(name: str, gap: float, error: float, found: Comparison) -> str:
    behind = f"{gap:.3g} +- {error:.2g}"
    if found.clearly("the fit", name):
        return f"held-out loss: {name} is clearly worse (by {behind})"
    if found.clearly(name, "the fit"):
        return f"HELD-OUT LOSS: {name} IS BETTER than the fit (by {-gap:.3g} +- {error:.2g}); leave that potential out"
    return f"held-out loss: {name} is as good (the fit is ahead by {behind})"


def _residuals(tested: Any, test: Snapshots, seen: bool | None, sentences: list[str]) -> ResidualTest | None:
    if not isinstance(tested, SelfTest) or not tested.can_be_tested(test):
        sentences.append("residual test: not asked of this kind of fit")
        return None
    try:
        found = tested.residual_test(test, other=not seen)
    except InputError as error:
        sentences.append(f"residual test: {error}")
        return None
    sentences.append(f"on data it has not seen {found.sentence}" if found.passed and seen is False else found.sentence)
    return found


def _predicted(tested: Any, test: Snapshots, replicates: int, seed: int, sentences: list[str]) -> Prediction | None:
    try:
        found = predict(tested, test, replicates, seed)
    except InputError as error:
        sentences.append(f"prediction: not possible ({error})")
        return None
    sentences.append(found.sentence)
    return found
