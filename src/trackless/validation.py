"""validate: does a fit hold on data that it has not seen? Three questions, asked without a truth.

Is it better than no force, than leaving a potential out, or adding one that it lacks (:mod:`trackless.alternatives`)?
Do energies change and fluctuate as it says (residual test)?
Does it predict what comes next (:mod:`trackless.prediction`)?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from trackless._errors import InputError
from trackless.agreement import Agreement, agreement
from trackless.alternatives import ADDED, FIT, NO_FORCE, WITHOUT, alternatives, clearly
from trackless.belonging import SHARED, check_belongs, known_again, mismatches
from trackless.comparison import Comparison
from trackless.estimators.self_test import SelfTest
from trackless.exploration import Exploration
from trackless.futures import NO_SIGMA
from trackless.goodness import ResidualTest
from trackless.magnitudes import check_whole
from trackless.noise import DISAGREE
from trackless.pieces import usual_length
from trackless.prediction import FEWEST, REPLICATES, Prediction, predict
from trackless.reach import outside, said_of_outside
from trackless.snapshots import Snapshots

HELD_OUT = 0.3  # part of the data, where the fit has seen all of them
FEWEST_RUNS = 5  # with fewer the end of every run is held out, not some of the runs
WORK = 2e10  # forces that are computed at most for predictions: about a minute, and the same numbers on every machine
AS_IT_IS = {
    True: "these are the data that the fit was made from, NOT HELD OUT: p-values are too good",
    SHARED: "these data share snapshots with those of the fit, NOT HELD OUT: p-values are too good",
    False: "the fit was tested as it is, on data that are not the snapshots of the fit",
    None: "the fit was tested as it is; whether it was made from these data is not known (it is one of moments, or an "
    "old file); if it was, p-values are too good",
}
UNASKED = "nothing could be asked of this fit, so that nothing is known for or against it"
EVERYTHING = ("held-out loss", "the balance of energies", "fluctuations of energies", "prediction")
HELD_OUT_LOSS, *_, PREDICTION = EVERYTHING
MOTION = frozenset(EVERYTHING[2:])  # one of them must have been asked before a fit can be said to hold
TOO_LITTLE = "too little could be asked to say that the fit holds, and nothing speaks against it"
FAILED = ("THE ", "HELD-OUT")  # how sentences begin that speak against a fit


@dataclass(frozen=True)
class Validation:
    """What a fit is worth on data that it has not seen.

    Attributes
    ----------
    comparison : Comparison or None
        Held-out loss of the fit, of fits without one of its potentials, or with one that it lacks, and of no force.
    residual_test : ResidualTest or None
        On the held-out part.
    predictive : Prediction or None
        Simulated futures of held-out snapshots.
    sentences : tuple of str
        All of it in words, also what could not be asked, and why.
    own_test : ResidualTest or None
        What :func:`trackless.fit` found on the data that the fit was made from.
    sigma_known : bool
        Whether sigma is more than a placeholder, in the fit and in what was fitted again.
    agreement : Agreement or None
        Of the fit with what its own data make of it, where these are its own.
    sigma_doubted : str
        What the fit says where two ways to find its sigma disagree.
    """

    comparison: Comparison | None
    residual_test: ResidualTest | None
    predictive: Prediction | None
    sentences: tuple[str, ...]
    own_test: ResidualTest | None = None
    sigma_known: bool = True
    agreement: Agreement | None = None
    sigma_doubted: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether nothing speaks against the fit; None where nothing does, but too little could be asked.

        Whether potentials are needed, and whether energies balance, is right or wrong whatever sigma is. That particles
        move as the fit says must have been asked by their fluctuations, or by prediction.
        """
        tests = (self.own_test, self.agreement, self.residual_test, self.predictive)
        if not all(test.passed for test in tests if test is not None) or self.sigma_doubted:
            return False
        if self.better_without or self.better_with or self.worse_than_nothing:
            return False
        if self.comparison is not None and HELD_OUT_LOSS not in self.asked:
            return None  # wide bands predict everything
        return True if self.asked & MOTION else None

    @property
    def asked(self) -> frozenset[str]:
        """What was asked and could have failed."""
        found = {HELD_OUT_LOSS} if self.comparison is not None and self.told_from_nothing else set()
        if self.residual_test is not None:
            powers = self.residual_test.asked
            found |= {what for what, able in powers.items() if able and (self.sigma_known or what not in MOTION)}
        return frozenset(found | ({PREDICTION} if self.predictive is not None else set()))

    @property
    def summary(self) -> str:
        """What was asked, and what was not, in words; of what was asked nothing is said but that it was."""
        asked = [what for what in EVERYTHING if what in self.asked]
        missing = [what for what in EVERYTHING if what not in self.asked]
        if not asked:
            return UNASKED
        return f"asked: {', '.join(asked)}" + (f"; could not be asked: {', '.join(missing)}" if missing else "")

    @property
    def better_without(self) -> list[str]:
        """Potentials that the fit would clearly be better without."""
        found = self.comparison
        names = [] if found is None else [name for name in found.names if name in WITHOUT.values()]
        return [name for name in names if found is not None and clearly(found, name, FIT)]

    @property
    def told_from_nothing(self) -> bool:
        """Whether the data can tell the fit from no force at all."""
        found = self.comparison
        return found is not None and (clearly(found, FIT, NO_FORCE) or clearly(found, NO_FORCE, FIT))

    @property
    def worse_than_nothing(self) -> bool:
        """Whether no force at all would clearly be better than the fit."""
        return self.comparison is not None and clearly(self.comparison, NO_FORCE, FIT)

    @property
    def better_with(self) -> list[str]:
        """Potentials that the fit lacks, and would clearly be better with."""
        found = self.comparison
        names = [] if found is None else [name for name in found.names if name in ADDED.values()]
        return [name for name in names if found is not None and clearly(found, name, FIT)]

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
        "auto" is 0.3 if the fit was made from these snapshots, or some of them, else 0.
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
    if usual_length(snapshots) < 2:
        raise InputError("validate: runs have a single snapshot, in which nothing moves; at least two are needed")
    check_whole("replicates", replicates, FEWEST)
    check_whole("seed", seed, 0)
    snapshots, seen = known_again(fitted, snapshots)
    part = (HELD_OUT if seen else 0.0) if held_out == "auto" else held_out
    if isinstance(part, (str, bool)) or not isinstance(part, (int, float, np.number)) or not 0 <= part < 1:
        raise InputError(f"held_out: expected a part between 0 and 1, or 'auto', got {held_out!r}")
    if part > 0:
        rest, test, said = _held_out(snapshots, part)
        said += "; these data share snapshots with those of the fit" if seen == SHARED else ""
        tested, unseen = _unfitted(fitted).fit(rest), False
    else:
        tested, test, said, unseen = fitted, snapshots, AS_IT_IS[seen], seen
    unlike = mismatches(fitted, snapshots)
    failed = [one for one in unlike if one.startswith(FAILED)]
    sentences = [*failed, *_said_of_reach(fitted, snapshots, seen), said, *(one for one in unlike if one not in failed)]
    agreed = agreement(fitted, tested, snapshots) if seen else None  # the fit itself, not one with its settings
    sentences += [agreed.sentence] if agreed is not None and agreed.sentence else []
    own, seen = _own_test(fitted, sentences), unseen
    doubted = _sigma_doubted(fitted, sentences)
    motion: list[str] = []
    residual = _residuals(tested, test, seen, motion)
    predictive = _predicted(fitted, tested, test, replicates, seed, motion)
    asked = [one.passed for one in (residual, predictive) if one is not None]
    holds = bool(asked) and all(asked)
    comparison = alternatives(fitted, snapshots, tested is fitted and not seen, sentences, holds)
    sentences += motion
    known = _sigma_known(fitted) and _sigma_known(tested)
    found = Validation(comparison, residual, predictive, tuple(sentences), own, known, agreed, doubted)
    if found.passed is not None:
        return found
    first = f"{TOO_LITTLE} ({found.summary})" if found.asked else UNASKED
    return replace(found, sentences=(first, *sentences))


def _said_of_reach(fitted: Any, snapshots: Snapshots, seen: bool | str | None) -> list[str]:
    """That other data lie outside of what the fit explored, which is said first: it may be why all else fails."""
    beyond = "" if seen is True else said_of_outside(outside(fitted, Exploration(snapshots)))
    return [f"THESE DATA LIE OUTSIDE OF WHAT THE FIT KNOWS: {beyond}"] if beyond else []


def _own_test(fitted: Any, sentences: list[str]) -> ResidualTest | None:
    """The residual test that a fit was given when it was made; said where it failed, because it still counts."""
    own = getattr(getattr(fitted, "findings_", None), "residual_test", None)
    if own is not None and not own.passed:
        why = own.sentence.replace("THE MODEL DOES NOT FIT ", "")
        sentences.append(f"THE FIT FAILED ITS RESIDUAL TEST on the data that it was made from {why}")
    return own


def _sigma_doubted(fitted: Any, sentences: list[str]) -> str:
    """What a fit says of a sigma that was found in two ways which disagree; said, because it still counts."""
    noise = getattr(fitted, "noise_", None)
    if noise is None or not noise.known or not noise.p_value < DISAGREE:
        return ""
    sentences.append(f"THE TWO WAYS TO FIND SIGMA DISAGREE on the data that the fit was made from: {noise.sentence}")
    return noise.sentence


def _sigma_known(fitted: Any) -> bool:
    """Whether sigma is more than a placeholder."""
    noise = getattr(fitted, "noise_", None)
    return noise is None or bool(noise.known)


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


def _residuals(tested: Any, test: Snapshots, seen: bool | str | None, sentences: list[str]) -> ResidualTest | None:
    if not isinstance(tested, SelfTest) or not tested.can_be_tested(test):
        sentences.append("residual test: not asked of this kind of fit")
        return None
    try:
        found = tested.residual_test(test, other=seen is not True)
    except InputError as error:
        sentences.append(f"residual test: {error}")
        return None
    sentences.append(f"on other data {found.sentence}" if found.passed and seen is False else found.sentence)
    return found


def _predicted(
    fitted: Any, tested: Any, test: Snapshots, replicates: int, seed: int, sentences: list[str]
) -> Prediction | None:
    if not _sigma_known(fitted):  # that of fewer data may seem to be known by chance: it is not that of the fit
        sentences.append(f"prediction: not possible ({NO_SIGMA})")
        return None
    try:
        found = predict(tested, test, replicates, seed, WORK)
    except InputError as error:
        sentences.append(f"prediction: not possible ({error})")
        return None
    sentences.append(found.sentence)
    return found
