"""The one door: potentials from snapshots with nothing to choose, and a word on everything that was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import check_snapshots, usual_windows
from trackless.basis import Basis, Center, about
from trackless.by_species import BySpecies, as_basis
from trackless.centers import FoundCenter, find_center
from trackless.choices import Choices, Wanted, centers_of, check_meant, cutoff_of, pairs_that_meet, where
from trackless.comparison import Comparison, compare
from trackless.coupling import chosen_coupling
from trackless.debiasing import evenly_observed
from trackless.drifting import drift
from trackless.estimators.self_test import SelfTest
from trackless.exploration import coincidence, explore
from trackless.goodness import ResidualTest
from trackless.intensity import Sigma, check_setting, is_unknown
from trackless.likeness import check_repeated, unlike
from trackless.losses import losses
from trackless.mixtures import one_of
from trackless.noise_of_waves import guessed_sigma
from trackless.observation import Observation
from trackless.pieces import usual_length
from trackless.presence import weighed
from trackless.prospects import prospect
from trackless.radial_splines import RadialSplines
from trackless.resolution import resolved_part
from trackless.scale import using
from trackless.snapshots import Snapshots
from trackless.spacing import spacing
from trackless.unsaid import unsaid

Array = NDArray[np.float64]
LOOKED_AT = 8_000  # snapshots that the question whether potentials are radial is answered on
FEWEST_PARTS = 2  # runs or time windows, whose scatter is the noise
FEWEST_RUNS = 8  # below, nothing is asked of held-out runs
ERRORS = 3.0  # standard errors, and part of the score, by which potentials that are not radial must be better:
PART = 0.02  # errors know nothing of the scatter between fits
NOISELESS = (
    "sigma = 0 was given: everything that moves is taken for force, and nothing can be tested; left out, sigma is found"
)


@dataclass(frozen=True)
class Findings:
    """What was decided on the way, and why.

    Attributes
    ----------
    comparison : Comparison or None
        Held-out scores of radial and other potentials, where that was asked.
    log_bayes_factors : tuple of (float or None)
        For V against no V, and for Phi against no Phi; by species a tuple of those of each kind, and of each pair.
    residual_test : ResidualTest or None
        Whether the data look as if the fitted model had made them (not asked of discrete dynamics).
    sentences : tuple of str
        All of it in words.
    """

    comparison: Comparison | None
    log_bayes_factors: tuple[Any, Any]
    residual_test: ResidualTest | None
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def fit(
    snapshots: Snapshots,
    sigma: float | Sequence[float] | str | None = None,
    external: Wanted = "auto",
    interaction: Wanted = "auto",
    coupling: str = "mean",
    cutoff: float | None = None,
    center: Center | Literal["auto"] = "auto",
    quadrature: str = "auto",
    resolve: str | None = "auto",
    dynamics: str = "continuous",
    debias: bool = False,
    window: Any = None,
    exclude_below: float | None = None,
    detection: float = 1.0,
    position_error: float = 0.0,
    max_gap: float | Literal["auto"] | None = "auto",
    client: Any = None,
    checkpoint: str | Path | None = None,
) -> SelfTest:
    """Learn V and Phi with error bars, without a basis, a strength of regularisation or a truth to choose.

    Parameters
    ----------
    snapshots : Snapshots
    sigma : float, tuple of float, "diagonal" or None
        Noise intensity of dX = -force dt + sigma dW (sigma^2 = 2 D), or one per direction; None finds it from the data,
        with an error, "diagonal" finds one per direction.
    external, interaction : "auto", "radial", "free", Basis, dict of Basis or None
        "auto" asks the data whether the potential depends on the distance only (in two dimensions; elsewhere it is
        taken to be radial, and the findings say so). "free" does not assume it. None leaves the potential out. Where
        the data have several species every kind has a V and every pair of kinds a Phi of its own, radial ones for
        "auto"; a Basis is the same for all, a dict says it for each.
    coupling : "mean", "sum" or "auto"
        Whether the interaction force is averaged over the N particles or summed; "auto" sums where N changes.
    cutoff : float, optional
        Distance beyond which there is no interaction.
    center : "auto", "mean", "fit", tuple of float or None
        Centre of a radial V; None is the origin, "auto" too unless the particles are elsewhere on average. "fit" finds
        the place that explains the data best, with an error: for particles that are still on their way to it.
    quadrature : "auto", "left", "trapezoid" or "cubic"
        Rule for the time integrals; "auto" is the cubic one where intervals are of similar length.
    resolve : "auto" or None
        Whether the start of the runs may be left out where the motion is too fast for the snapshots.
    dynamics : "continuous" or "discrete"
        "discrete": snapshots are single steps X' = X - force dt + sigma sqrt(dt) Z, of which nothing is approximated.
    debias : bool
        Remove the errors that coarse intervals make by simulating the fitted model (takes a minute).
    window, exclude_below, detection, position_error
        How particles were seen (:class:`trackless.Observation`): through a window whose edge they cross ("auto", or
        (low, high) for each direction), apart by at least a distance, each with a probability, with random errors.
    max_gap : "auto", float or None
        Runs are split where an interval is longer, instead of integrating over it; None never splits. "auto" is three
        times the usual interval, where intervals are nearly regular otherwise (see ``Snapshots.gaps``).
    client : dask.distributed.Client, optional
        Let the workers of a cluster go over the data.
    checkpoint : path, optional
        A folder for what would be lost if the work were interrupted; the same call goes on from there.

    Returns
    -------
    SelfTest
        Fitted; ``external_`` and ``interaction_`` (of several species ``external_["a"]``, ``interaction_["a", "b"]``)
        have bands, ``findings_`` says what was decided.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=60, step=1e-3)
    >>> fitted = tl.fit(data, sigma=1.0)
    >>> lower, upper = fitted.interaction_.band([0.6, 0.9])
    >>> bool((lower < upper).all())
    True
    >>> fitted.findings_.residual_test.passed
    True
    """
    settings = {name: value for name, value in locals().items() if name not in ("snapshots", "client", "checkpoint")}
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"fit: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    with using(client, checkpoint, {"data": snapshots, "settings": settings}):
        return _fitted(snapshots, **settings)


def _fitted(
    snapshots: Snapshots,
    sigma: float | Sequence[float] | str | None,
    external: Wanted,
    interaction: Wanted,
    coupling: str,
    cutoff: float | None,
    center: Center | Literal["auto"],
    quadrature: str,
    resolve: str | None,
    dynamics: str,
    debias: bool,
    window: Any,
    exclude_below: float | None,
    detection: float,
    position_error: float,
    max_gap: float | Literal["auto"] | None,
) -> SelfTest:
    check_setting(sigma, snapshots.dim)
    external, interaction = as_basis(external), as_basis(interaction)
    for name, wanted in (("external", external), ("interaction", interaction)):
        if not (wanted is None or isinstance(wanted, Basis) or wanted in ("auto", "radial", "free")):
            raise InputError(f"{name}: expected 'auto', 'radial', 'free', a basis or None, got {wanted!r}")
    coupling, meant = chosen_coupling(snapshots, coupling)
    check_snapshots(snapshots, coupling, interaction is not None)
    fingerprint = snapshots.fingerprint()
    check_repeated(snapshots)
    gaps = snapshots.gaps(max_gap)
    snapshots = snapshots.without_gaps(max_gap)
    if snapshots.runs * usual_windows(snapshots) < FEWEST_PARTS:
        raise InputError(
            "fit: one run of two snapshots has no scatter that errors could be told by; give more snapshots or runs. "
            "tl.SelfTest(..., regularization=0.01) learns without error bars (--method self-test --regularization 0.01)"
        )
    of_phi = (meant, coincidence(explore(snapshots))) if interaction is not None else ()
    said_first = (unlike(snapshots), gaps.sentence, *of_phi)
    sentences = [said for said in said_first if said]
    seen = Observation(window, exclude_below, detection, position_error)
    exclude_below = seen.exclude_below
    if not seen.complete:
        seen = seen.closed(explore(snapshots), snapshots.box)
        sentences += [seen.sentence] if seen.sentence else []
    sentences += unsaid(snapshots, seen)
    lost = losses(snapshots, seen)
    if debias:
        evenly_observed(snapshots, gaps.sentence)
    if isinstance(interaction, str):
        cutoff = cutoff_of(snapshots, seen, cutoff, sentences)
    if external == "auto" and seen.window is not None and interaction is None:
        external = "free"  # all that is left to learn, and what is seen need not be about its centre
    elif external == "auto" and (seen.window is not None or (snapshots.box is not None and interaction is not None)):
        external = None
        sentences.append(
            "in the window no V is learnt (external='free' learns one, and a drift with it)"
            if seen.window is not None
            else "in a periodic box V is taken to be flat (one about a centre would end in a kink at its walls)"
        )
    check_meant(external, interaction, center, cutoff)
    if exclude_below is not None and cutoff is not None and exclude_below >= cutoff:
        raise InputError(f"exclude_below: {exclude_below:g} is not below {cutoff:g}, where Phi ends; use a smaller one")
    guess = guessed_sigma(snapshots, sigma, coupling, seen)
    seen.blurred(guess, float(np.median(snapshots.intervals())))  # hopeless data are refused before any work
    shared: dict[str, Any] = {
        "sigma": guess, "quadrature": quadrature, "regularization": "evidence", "coupling": coupling,
        "observation": seen,
    }  # fmt: skip
    pairs = pairs_that_meet(snapshots, sentences if isinstance(interaction, str) else [])
    bases = Choices(external, interaction, centers_of(snapshots, center), cutoff, exclude_below, pairs)
    final = SelfTest(*bases.of("", ""), **shared | {"sigma": sigma, "dynamics": dynamics, "debias": debias})
    final._check_settings()  # before the work that comes first
    resolve = None if dynamics == "discrete" else resolve
    used, resolution = resolved_part(snapshots, resolve, guess, coupling, quadrature, cutoff)
    found = _found_center(used, bases, guess, coupling, quadrature)
    if found is not None:
        external = about(external, found.center) if isinstance(external, Basis) else external
        bases = replace(bases, external=external, centers={(): found.center})
        sentences.append(found.sentence)
    shapes, comparison = _shapes(used, bases, shared, sentences)
    if isinstance(external, str) and shapes[0] == "radial" and center == "auto":
        sentences[:0] = where(snapshots, bases.centers)
    families = _refined(used, bases, shapes, shared)
    fitted = final.set_params(external=families[0], interaction=families[1]).fit(used)
    test = fitted.residual_test(used) if fitted.can_be_tested(used) else None
    fitted.resolve, fitted.resolution_ = resolve, resolution  # as if it had been asked itself
    fitted.center_, fitted.fingerprint_ = found, fingerprint
    fitted.max_gap_ = gaps.longest if gaps.count else None
    noisy = bool(np.all(np.greater(fitted.sigma_, 0)))
    drifts = drift(used, fitted.external_, dynamics == "discrete") if noisy else None
    told = (resolution, fitted.noise_, fitted.debiasing_, test, drifts, lost)
    blurred = seen.blurred(fitted.sigma_, float(np.median(used.intervals())))
    sentences += [blurred] if blurred else []
    if not is_unknown(sigma) and not noisy:
        sentences.append(NOISELESS)
    sentences += [found.sentence for found in told if found is not None and found.sentence]
    if test is None and noisy:
        sentences.append(f"the residual test was left out: {fitted.untested_because(used)}")
    factors, found_there = weighed(fitted, resolution is None or (resolution.known and not resolution.coarse))
    sentences += found_there
    if fitted.interaction_ is not None and exclude_below is None and not (used.constant_count and window is None):
        expected = prospect(used, explore(used), spacing(used))  # particles that were detected, not simulated
        sentences += [expected.hole] if expected is not None and expected.hole else []
    sentences += fitted.identifiability().sentences
    fitted.findings_ = Findings(comparison, factors, test, tuple(sentences))
    return fitted


def _found_center(
    snapshots: Snapshots, bases: Choices, sigma: Sigma, coupling: str, quadrature: str
) -> FoundCenter | None:  # fmt: skip
    """The centre of a radial V, where it is to be found."""
    external, interaction = bases.of("free" if bases.external == "free" else "radial", "radial")
    if external is not None and len(bases.centers) > 1 and "fit" in bases.centers.values():
        raise InputError("center='fit': not for potentials of each species; give a centre, or 'mean'")
    if external is None or getattr(external, "center", None) != "fit":
        return None
    return find_center(snapshots, external, interaction, sigma, coupling, quadrature)


def _shapes(
    snapshots: Snapshots, bases: Choices, shared: dict[str, Any], sentences: list[str]
) -> tuple[tuple[str, str], Comparison | None]:
    """Whether V and Phi are radial: as told, or by the loss on held-out runs of a part of the data."""
    told = [w if isinstance(w, str) and w != "auto" else "radial" for w in (bases.external, bases.interaction)]
    open_ = [w == "auto" for w in (bases.external, bases.interaction)]
    if not any(open_):
        return (told[0], told[1]), None
    names = " and ".join(name for name, asked in zip(("V", "Phi"), open_, strict=True) if asked)
    part = _part(snapshots)
    if len(bases.centers) > 1:
        sentences.append(f"{names} taken to be radial for every species (a question not asked of several)")
        return (told[0], told[1]), None
    masked = shared["observation"].masked
    if snapshots.dim != 2 or snapshots.box is not None or part.runs < FEWEST_RUNS or masked:
        why = {1: "in one dimension there is nothing else"}.get(
            snapshots.dim, f"a question not asked {_unasked(snapshots, shared['observation'])}"
        )
        sentences.append(f"{names} taken to be radial ({why})")
        return (told[0], told[1]), None
    pairs = [
        (v, phi)
        for v in (("radial", "free") if open_[0] else (told[0],))
        for phi in (("radial", "free") if open_[1] else (told[1],))
    ]
    given = (bases.external, bases.interaction)
    label = {
        pair: ", ".join(
            f"{name} {shape}"
            for name, shape, wanted in zip(("V", "Phi"), pair, given, strict=True)
            if isinstance(wanted, str)
        )
        for pair in pairs
    }
    candidates = {label[p]: SelfTest(*bases.of(*p), **shared) for p in pairs}
    simplest, *_, freest = candidates
    # as radial as possible unless the data object; if they do, a wrong assumption costs more than a few parameters
    one_free = {name: candidate for name, candidate in candidates.items() if len(pairs) == 2 or name != freest}
    comparison = compare(part, one_free, folds=2)
    object_ = _clearly_ahead(comparison, simplest)
    if object_ and len(one_free) < len(candidates):
        comparison = compare(part, candidates, folds=2)
    chosen = next(p for p in pairs if label[p] == (comparison.best if object_ else simplest))
    rival = next((name for name in comparison.names if name != label[chosen]), None)
    if rival is not None:
        place = comparison.names.index(label[chosen])
        gap = comparison.behind[comparison.names.index(rival)] - comparison.behind[place]
        error = max(comparison.errors[comparison.names.index(rival)], comparison.errors[place])
        sentences.append(
            f"{label[chosen]}: held-out score higher by {gap:.3g} +- {error:.2g} than with {rival}"
            if gap > 0 else f"{label[chosen]}: {rival} is not clearly better ({-gap:.3g} +- {error:.2g})"
        )  # fmt: skip
    return chosen, comparison


def _unasked(snapshots: Snapshots, seen: Observation) -> str:
    if snapshots.dim != 2:
        return "beyond two dimensions"
    if snapshots.box is not None:
        return "in a periodic box"
    if seen.window is not None:
        return "in a window"
    return "where close pairs are left out" if seen.masked else "of so few runs"


def _clearly_ahead(comparison: Comparison, simplest: str) -> bool:
    """Whether the best candidate is ahead of the simplest by more than chance, and by enough to care."""
    behind = comparison.behind[comparison.names.index(simplest)]
    return comparison.clearly(comparison.best, simplest, ERRORS) and behind > PART * abs(comparison.scores[0])


def _refined(
    snapshots: Snapshots, bases: Choices, shapes: tuple[str, str], shared: dict[str, Any]
) -> tuple[Basis | None, Basis | None]:
    """The families, with knots where a fit to a part of the data finds that Phi bends."""
    explored, part = explore(snapshots), _part(snapshots)
    external, interaction = bases.of(*shapes)
    external = external.adapted(explored, "external") if external is not None else None
    following = [getattr(family, "follow_data", False) for _, family in interaction.members] if interaction else []
    if interaction is None or not any(following) or part.runs < FEWEST_RUNS:
        return external, interaction
    plain = interaction.adapted(explored, "interaction")
    first = SelfTest(external, plain, **shared).fit(part)
    finer = {
        kinds: family.refined(explored.of_kinds(kinds), "interaction", one_of(first.interaction_, kinds))
        if follows and isinstance(family, RadialSplines)
        else family
        for (kinds, family), follows in zip(plain.members, following, strict=True)
    }
    return external, finer[()] if () in finer else BySpecies(finer, plain.species)


def _part(snapshots: Snapshots) -> Snapshots:
    """Runs enough for first looks."""
    return snapshots[: max(1, LOOKED_AT // usual_length(snapshots))]
