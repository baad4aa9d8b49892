"""From the options of ``trackless fit`` to an estimator, and what it assumes in words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from trackless.cli.common import UsageError, positive, without_files


class Method(StrEnum):
    """Estimators."""

    auto = "auto"
    self_test = "self-test"
    neural = "neural"
    labeled = "labeled"
    sinkhorn = "sinkhorn"
    assignment = "assignment"
    barycentric = "barycentric"

    @property
    def follows(self) -> bool:
        """Whether it follows particles from frame to frame."""
        return self not in (Method.auto, Method.self_test, Method.neural)

    @property
    def has_coefficients(self) -> bool:
        """Whether it fits the functions of a known model if there is one."""
        return self not in (Method.auto, Method.neural)


class Options(NamedTuple):
    """What was asked for; None where an option was left out."""

    method: Method
    sigma: float | tuple[float, ...] | str | None
    external: str | None
    interaction: str | None
    center: str | tuple[float, ...] | None
    truth: Any
    quadrature: str | None
    max_distance: float | None
    regularization: str | None
    coupling: str
    route: str | None
    seed: int | None
    dynamics: str | None
    debias: bool
    max_gap: Any
    seen: dict[str, Any]
    """how particles were seen, and where interactions end: arguments of tl.fit that were given"""


class Plan(NamedTuple):
    """An estimator that is not fitted yet, and what it assumes."""

    estimator: Any
    assumed: str

    def on(self, snapshots: Any, options: Options) -> tuple[Any, Any, tuple[str, ...]]:
        """The estimator and the data, with what only the data could decide; and that in words."""
        from trackless.coupling import chosen_coupling
        from trackless.fitting import NOISELESS

        if options.method is Method.auto:  # asks the data itself, and says so among its findings
            return self.estimator, snapshots, ()
        gaps, coupling = snapshots.gaps(options.max_gap), chosen_coupling(snapshots, options.coupling)
        told = [gaps.sentence] if gaps.count else []
        if options.coupling == "auto" and options.interaction != "none":
            told.append(coupling.sentence)
        if options.sigma == 0:
            told.append(NOISELESS)
        estimator = self.estimator.set_params(coupling=coupling.name)
        return estimator, snapshots.without_gaps(options.max_gap), tuple(told)


def plan(options: Options) -> Plan:
    """The estimator a method names; an option it cannot honour is an error."""
    method = options.method
    if options.external == "none" and options.interaction == "none":
        raise UsageError(
            "--external none and --interaction none: there is nothing to learn; leave out one of the two at most"
        )
    _check_meant(options)
    if options.center == "fit" and method not in (Method.auto, Method.self_test):
        raise UsageError(f"--center: fit belongs to auto and self-test, not to {method.value}")
    if options.truth is not None and options.coupling == "sum":
        raise UsageError("--model: its truth is meant with mean coupling; leave out --coupling, or --model")
    if method.follows:
        _only(options.quadrature, "--quadrature", f"belongs to the self-test, not to --method {method.value}")
    if not method.follows or method is Method.labeled:
        _only(options.max_distance, "--max-distance", f"--method {method.value} does no matching")
    if method is Method.neural and options.sigma is None:
        raise UsageError(
            "--sigma: networks need the noise intensity (sigma^2 = 2 D); trackless fit without --method finds it"
        )
    if method not in (Method.auto, Method.self_test):
        if isinstance(options.sigma, (str, tuple)):
            raise UsageError(f"--sigma: --method {method.value} takes one number for all directions")
        _only(options.dynamics, "--dynamics", f"belongs to auto and self-test, not to {method.value}")
        _only(options.debias or None, "--debias", f"belongs to auto and self-test, not to {method.value}")
    if method is not Method.auto:
        for name, value in options.seen.items():
            if name != "cutoff" or method is Method.neural:
                _only(value, f"--{name.replace('_', '-')}", f"belongs to --method auto, not to {method.value}")
    if method is not Method.neural:
        for name in ("route", "seed"):
            _only(getattr(options, name), f"--{name}", f"belongs to --method neural, not to {method.value}")
    if method is Method.auto:
        _only(options.regularization, "--regularization", "chosen by the data; --method self-test takes one")
        return _door(options)
    if method is Method.neural:
        _only(options.regularization, "--regularization", "networks are stopped by held-out data instead")
        return _networks(options)
    planned = _least_squares(options)
    planned.estimator._check_settings()  # before the file is read
    return planned


def _check_meant(options: Options) -> None:
    """Refuse a centre or a cutoff of a potential that is not learnt."""
    kind = (options.external or "").partition(":")[0]
    if options.center is not None and kind in ("none", "free", "tensor"):
        why = "no V is learnt" if kind == "none" else "V is not radial, it has no centre"
        raise UsageError(f"--center: {why} (--external {options.external}); leave out one of the two")
    if "cutoff" in options.seen and options.interaction == "none":
        raise UsageError("--cutoff: no Phi is learnt (--interaction none); leave out one of the two")
    cutoff, nearest = options.seen.get("cutoff"), options.seen.get("exclude_below")
    if cutoff is not None and nearest is not None and nearest >= cutoff:
        raise UsageError(f"--exclude-below: {nearest:g} is not below --cutoff {cutoff:g}; use a smaller one")


def noise_intensity(text: str | None) -> float | tuple[float, ...] | str | None:
    """sigma from text: a number, several with commas between them, or the word that asks the data for them."""
    if text is None or text == "diagonal":
        return text
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--sigma: expected a number, one per direction (1.0,0.5) or diagonal, got {text!r}") from None
    if not all(0 <= number < float("inf") for number in numbers):
        raise UsageError(f"--sigma: expected numbers of at least 0, got {text!r}")
    return numbers[0] if len(numbers) == 1 else numbers


def place_of(text: str | None) -> str | tuple[float, ...] | None:
    """The centre of V from text: a word, or coordinates with commas between them."""
    if text in (None, "mean", "origin", "fit"):
        return text
    try:
        place = tuple(float(part) for part in text.split(","))
    except ValueError:
        place = (float("nan"),)
    if not all(abs(x) < float("inf") for x in place):
        raise UsageError(f"--center: expected mean, origin, fit or coordinates such as 1.5,-2, got {text!r}")
    return place


def as_seen(
    cutoff: float | None, window: str | None, exclude_below: float | None, detection: float | None,
    position_error: float | None,
) -> dict[str, Any]:  # fmt: skip
    """What --window and its like say, as tl.fit takes it; nothing that was left out."""
    sides: Any = window
    if window is not None and window != "auto":
        try:
            sides = tuple(tuple(float(end) for end in side.split(":")) for side in window.split(","))
        except ValueError:
            sides = ()
        if not sides or any(len(side) != 2 or side[0] >= side[1] for side in sides):
            raise UsageError(f"--window: expected auto, or LOW:HIGH for each direction (0:100,0:80), got {window!r}")
    from trackless.observation import Observation

    positive(cutoff=cutoff)
    given = {
        "window": sides, "exclude_below": exclude_below, "detection": detection, "position_error": position_error,
    }  # fmt: skip
    seen = {name: value for name, value in given.items() if value is not None}
    with without_files():
        Observation(**seen)
    return seen if cutoff is None else {"cutoff": cutoff, **seen}


def _only(value: Any, option: str, reason: str) -> None:
    if value is not None:
        raise UsageError(f"{option}: {reason}")


class _Door(NamedTuple):
    """``tl.fit`` with some options, fitted like an estimator."""

    options: dict[str, Any]

    def fit(self, snapshots: Any) -> Any:
        """Fit."""
        import trackless as tl

        return tl.fit(snapshots, **self.options)


def _door(options: Options) -> Plan:
    import trackless as tl

    words = ("auto", "radial", "free")
    cutoff = options.seen.get("cutoff")
    wanted: dict[str, Any] = {}
    for role in ("external", "interaction"):
        text = getattr(options, role) or "auto"
        about = (options.center if role == "external" else None) or "origin"
        reach = cutoff if role == "interaction" else None
        wanted[role] = text if text in words else _family(f"--{role}", text, about, ", auto, radial, free", reach)
    place: Any = None if options.center == "origin" else options.center
    if options.center is None or wanted["external"] not in words:  # a family has it already
        place = "auto"
    estimator = _Door(
        wanted | {
            "sigma": options.sigma, "coupling": options.coupling, "center": place,
            "quadrature": options.quadrature or "auto", "max_gap": options.max_gap, **_time(options), **options.seen,
        }
    )  # fmt: skip
    seen = tl.Observation(**{name: value for name, value in options.seen.items() if name != "cutoff"})
    tl.SelfTest(
        sigma=options.sigma, regularization="evidence", quadrature=options.quadrature or "auto", observation=seen,
        **_time(options),
    )._check_settings()  # before the file is read  # fmt: skip
    given = "; ".join(_given(options))
    return Plan(estimator, f"{given}; the rest is asked of the data" if given else "nothing, the data are asked")


def _given(options: Options) -> list[str]:
    """What need not be asked of the data, in words."""
    import trackless as tl

    said = [] if options.coupling == "auto" else [f"{options.coupling} coupling"]
    if options.sigma is not None:
        several = options.sigma if isinstance(options.sigma, tuple) else (options.sigma,)
        numbers = ", ".join(f"{one:g}" for one in several if not isinstance(one, str))
        said.append(f"sigma = {numbers}" if numbers else "a sigma for each direction")
    for name, text in (("V", options.external), ("Phi", options.interaction)):
        if text not in (None, "auto"):
            said.append({"radial": f"{name} radial", "free": f"{name} not radial", "none": f"no {name}"}.get(
                text, f"{name} of the family {text}"
            ))  # fmt: skip
    if options.center is not None:
        said.append(_shape(True, options.center).removesuffix(", "))
    seen = options.seen
    if "cutoff" in seen:
        said.append(f"Phi ends at r = {seen['cutoff']:g}")
    instrument = tl.Observation(**{name: value for name, value in seen.items() if name != "cutoff"})
    if instrument.sentence:
        said.append(instrument.sentence)
    if options.quadrature not in (None, "auto"):
        said.append(f"{options.quadrature} rule")
    return said + [words for words in _time_in_words(options).split(", ") if words]


def _time(options: Options) -> dict[str, Any]:
    return {"dynamics": options.dynamics or "continuous", "debias": options.debias}


def _time_in_words(options: Options) -> str:
    steps = ", snapshots are single steps" if options.dynamics == "discrete" else ""
    return steps + (", bias removed by simulation" if options.debias else "")


def _least_squares(options: Options) -> Plan:
    import trackless as tl

    method, truth = options.method, options.truth
    if truth is not None and (options.external or options.interaction or options.center or options.seen):
        raise UsageError(
            "--model uses that system's own functions; leave out --external, --interaction, --center and --cutoff"
        )
    if truth is not None:
        families = (truth.external_basis, truth.interaction_basis)
    else:
        families = (
            _family("--external", options.external or "splines:8", options.center or "mean"),
            _family("--interaction", options.interaction or "splines:24", "origin", "", options.seen.get("cutoff")),
        )
    regularization = options.regularization or "cv"
    named = regularization in ("lcurve", "cv", "evidence")
    strength = regularization if named else _number("--regularization", regularization)
    shared = {"sigma": options.sigma, "regularization": strength, "coupling": options.coupling}
    rule = options.quadrature or "trapezoid"
    if method is Method.self_test:
        estimator = tl.SelfTest(*families, quadrature=rule, **shared, **_time(options))
        how = f"{rule} rule" + _time_in_words(options)
    elif method is Method.labeled:
        estimator, how = tl.LabeledMLE(*families, **shared), "particles followed by label"
    else:
        estimator = tl.SinkhornMLE(*families, matching=method.value, max_distance=options.max_distance, **shared)
        mean_target = method is Method.barycentric
        how = "particles sent to their mean target" if mean_target else f"particles matched by {method.value}"
    radial = families[0] is not None and not isinstance(families[0], tl.TensorSplines)
    about = "origin" if truth is not None else options.center or "mean"
    strength = "prior by evidence" if regularization == "evidence" else f"ridge by {regularization}"
    return Plan(estimator, f"{_shape(radial, about)}{_joined(options)}{how}, {strength}")


def _networks(options: Options) -> Plan:
    import trackless as tl
    from trackless.potentials import RadialPotential

    words: list[str] = []
    for role in ("external", "interaction"):
        exact = getattr(options.truth, role, None)
        if isinstance(exact, Mapping):
            raise UsageError("--model: networks do not tell species apart; leave out --method neural")
        usual = "free" if exact is not None and not isinstance(exact, RadialPotential) else "radial"
        word = getattr(options, role) or usual
        if word not in ("radial", "free", "none"):
            raise UsageError(f"--{role}: with --method neural expected radial, free (not radial) or none, got {word!r}")
        words.append(word)
    about: Any = options.center or ("origin" if options.truth is not None else "mean")
    noise: dict[str, Any] = {"sigma": options.sigma}
    estimator = tl.NeuralSelfTest(
        **noise, radial=(words[0] != "free", words[1] != "free"), route=options.route or "auto",
        external=words[0] != "none", interaction=words[1] != "none", center=None if about == "origin" else about,
        quadrature=options.quadrature or "trapezoid", coupling=options.coupling, seed=options.seed or 0,
    )  # fmt: skip
    shapes = {"free": "not radial", "none": "left out"}
    phi = shapes.get(words[1], "radial")
    v = f"V {shapes[words[0]]}, " if words[0] in shapes else _shape(True, about)
    return Plan(estimator, f"{v}Phi {phi}, {_joined(options)}{estimator.quadrature} rule, networks")


def _joined(options: Options) -> str:
    return "" if options.coupling == "auto" else f"{options.coupling} coupling, "


def _shape(radial: bool, about: str | tuple[float, ...]) -> str:
    if isinstance(about, tuple):
        about = f"place ({', '.join(f'{x:g}' for x in about)})"
    where = "a centre that is found" if about == "fit" else f"the {about}"
    return f"radial V about {where}, " if radial else ""


def _family(
    option: str, text: str, center: str | tuple[float, ...], more: str = "", cutoff: float | None = None
) -> Any:
    """A basis from text such as splines:20; radial ones about the origin or the mean position."""
    import trackless as tl

    kinds = {"splines": tl.RadialSplines, "rbf": tl.GaussianRBF, "tensor": tl.TensorSplines}
    kind, _, count = text.partition(":")
    if kind == "none":
        return None
    if kind not in kinds or (count and not count.isdigit()):
        raise UsageError(f"{option}: expected splines:COUNT, rbf:COUNT, tensor:COUNT{more} or none, got {text!r}")
    settings: dict[str, Any] = {} if center == "origin" or kind == "tensor" else {"center": center}
    if cutoff is not None:
        if kind != "splines":
            raise UsageError(
                f"--cutoff: only splines end there, not {text}; use {option} splines:COUNT, or leave it out"
            )
        settings["cutoff"] = cutoff
    return kinds[kind](int(count), **settings) if count else kinds[kind](**settings)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option}: expected lcurve, cv, evidence or a number, got {text!r}") from None
