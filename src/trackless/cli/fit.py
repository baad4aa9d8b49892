"""trackless fit: learn V and Phi from a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from trackless._errors import InputError
from trackless.cli.common import (
    AsJson,
    Force,
    ModelName,
    Threads,
    check_picture,
    console,
    job,
    print_coefficients,
    print_json,
    save_figure,
    say,
)


class Method(StrEnum):
    """Estimators."""

    self_test = "self-test"
    labeled = "labeled"
    sinkhorn = "sinkhorn"
    assignment = "assignment"
    barycentric = "barycentric"


def fit(
    data: Annotated[list[Path], typer.Argument(help="Snapshots: .npz, .npy or .csv; several files are several runs.")],
    sigma: Annotated[
        float | None,
        typer.Option(
            help="Noise intensity; sigma^2 = 2 D. The self-test needs it; matching estimates it.", show_default=False
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="self-test needs no labels and no matching. For comparison: labeled follows the particles of a file "
            "that names them; sinkhorn, assignment and barycentric guess who is who from frame to frame first."
        ),
    ] = Method.self_test,
    dt: Annotated[float | None, typer.Option(help="Time between frames, where the file counts frames.")] = None,
    external: Annotated[
        str | None, typer.Option(help="Family for V: splines:8 (default), or rbf:COUNT, tensor:COUNT, none.")
    ] = None,
    interaction: Annotated[str | None, typer.Option(help="Family for Phi: splines:24 (default), or as for V.")] = None,
    center: Annotated[str, typer.Option(help="Centre of a radial V: mean (of the positions) or origin.")] = "mean",
    model: Annotated[
        ModelName | None, typer.Option(help="Use this system's own functions and compare with its truth.")
    ] = None,
    quadrature: Annotated[
        str | None, typer.Option(help="Time integration of the self-test: trapezoid (default), left or cubic.")
    ] = None,
    max_distance: Annotated[
        float | None, typer.Option(help="When matching: moves longer than this are not believed.")
    ] = None,
    regularization: Annotated[str, typer.Option(help="lcurve, cv, or a number.")] = "cv",
    coupling: Annotated[str, typer.Option(help="Force averaged (mean) or summed (sum) over the others.")] = "mean",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the fit to this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw V' and Phi' (.png, .pdf or .svg).")] = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn V and Phi from snapshots; by default without labels and without matching."""
    with job(threads, as_json) as clock:
        import trackless as tl
        from trackless.files.atomic import check_target

        _check_outputs(data, output, figure)
        for target in (output, figure):
            if target is not None:
                check_target(target, force)
        if center not in ("mean", "origin"):
            raise InputError(f"--center: expected mean or origin, got {center!r}")
        if model is not None and (external or interaction):
            raise InputError("--model uses that system's own functions; leave out --external and --interaction")
        if model is not None and coupling != "mean":
            raise InputError("--model: its truth is meant with mean coupling; leave out --coupling, or --model")
        truth = tl.models.ALL[model.value]() if model is not None else None
        families = (
            (truth.external_basis, truth.interaction_basis)
            if truth is not None
            else (
                _family("--external", external or "splines:8", center),
                _family("--interaction", interaction or "splines:24", "origin"),
            )
        )
        strength = regularization if regularization in ("lcurve", "cv") else _number("--regularization", regularization)
        shared = {"sigma": sigma, "regularization": strength, "coupling": coupling}
        estimator = _estimator(method, families, quadrature, max_distance, shared)
        snapshots = tl.read(data if len(data) > 1 else data[0], dt=dt)
        about = "origin" if model is not None else center
        shape = (
            f"radial V about the {about}, "
            if families[0] is not None and not isinstance(families[0], tl.TensorSplines)
            else ""
        )
        how = {Method.self_test: f"{quadrature or 'trapezoid'} rule", Method.labeled: "particles followed by label"}
        how[Method.barycentric] = "particles sent to their mean target"
        followed = how.get(method, f"particles matched by {method.value}")
        assumed = f"{shape}{coupling} coupling, {followed}, ridge by {regularization}"
        say(as_json, f"{snapshots}\nassumed: {assumed}")
        fitted = estimator.fit(snapshots)
        scores = tl.gradient_errors(fitted, truth, snapshots) if truth is not None else None
        if output is not None:
            fitted.save(output, overwrite=force)
        if figure is not None:
            from trackless.plots import fit_figure

            save_figure(fit_figure({"learnt": fitted}, snapshots, truth), figure, force)
        known = truth.coefficients if truth is not None else (None,) * len(fitted.coef_)
        table = {
            name: {"truth": exact, "learnt": float(value)}
            for name, exact, value in zip(fitted.moments_.names, known, fitted.coef_, strict=True)
        }
        matched = {
            "matched_fraction": getattr(fitted, "matched_fraction_", None),
            "dropped_fraction": getattr(fitted, "dropped_fraction_", None),
            "unfinished_plans": fitted.tally_.unfinished if method is not Method.self_test else 0,
        }
        if as_json:
            summary = {
                "method": method.value, "coefficients": table, "lambda": fitted.lambda_, "loss": fitted.loss_,
                "sigma": fitted.sigma_, "condition_numbers": fitted.condition_numbers_, "seconds": clock(),
            }  # fmt: skip
            summary |= matched if method is not Method.self_test else {}
            print_json(summary | ({"errors": scores._asdict()} if scores is not None else {}))
            return
        if truth is not None:
            print_coefficients(table)
        else:
            _print_slopes(fitted, snapshots)
        conditions = ", ".join(f"{name} {value:.3g}" for name, value in fitted.condition_numbers_.items())
        console.print(f"loss {fitted.loss_:.5g}, ridge {fitted.lambda_:.3g}, condition numbers: {conditions}")
        if fitted.condition_numbers_["all"] > 1e10:
            console.print(
                "[yellow]The data hardly tell these functions apart: use fewer, or do not trust details.[/yellow]"
            )
        if method is not Method.self_test:
            origin = "given" if sigma is not None else "from the residuals"
            console.print(f"{fitted.matching_report_}\nsigma {fitted.sigma_:.4g} ({origin})", highlight=False)
        if scores is not None:
            console.print(f"gradient error of V {scores.external:.1%}, of Phi {scores.interaction:.1%}")
        for target, what in ((output, "fit"), (figure, "picture")):
            if target is not None:
                console.print(f"The {what} is in [bold]{escape(str(target))}[/bold].", highlight=False)


def _estimator(
    method: Method,
    families: tuple[Any, Any],
    quadrature: str | None,
    max_distance: float | None,
    shared: dict[str, Any],
) -> Any:
    """The estimator a method names; an option it cannot honour is an error."""
    import trackless as tl

    if method is not Method.self_test and quadrature is not None:
        raise typer.BadParameter(f"belongs to the self-test, not to --method {method.value}", param_hint="--quadrature")
    if method in (Method.self_test, Method.labeled) and max_distance is not None:
        raise typer.BadParameter(f"--method {method.value} does no matching", param_hint="--max-distance")
    if method is Method.self_test:
        if shared["sigma"] is None:
            raise typer.BadParameter("the self-test needs the noise intensity (sigma^2 = 2 D)", param_hint="--sigma")
        return tl.SelfTest(*families, quadrature=quadrature or "trapezoid", **shared)
    if method is Method.labeled:
        return tl.LabeledMLE(*families, **shared)
    return tl.SinkhornMLE(*families, matching=method.value, max_distance=max_distance, **shared)


def _print_slopes(fitted: Any, snapshots: Any) -> None:
    """Radial slopes where the data were, from the 1st to the 99th percentile of distances."""
    import numpy as np
    from rich.columns import Columns

    from trackless.exploration import explore
    from trackless.potentials import RadialPotential

    explored = explore(snapshots)
    tables = []
    for role, letter, distance in (("external", "V", "|x|"), ("interaction", "Phi", "r")):
        potential = getattr(fitted, f"{role}_")
        if isinstance(potential, RadialPotential):
            low, high = np.quantile(explored.reached(role, potential.origin), [0.01, 0.99])
            grid = Table(distance, f"{letter}'({distance})")
            for r in np.linspace(low, high, 9):
                grid.add_row(f"{r:.4g}", f"{float(potential.slope(r)):.4g}")
            tables.append(grid)
        elif potential is not None:
            console.print(f"{letter} is not radial: draw it with --figure, or save the fit with --output")
    if tables:
        console.print("Learnt slopes, where the data were:")
        console.print(Columns(tables))


def _family(option: str, text: str, center: str) -> Any:
    """A basis from text such as splines:20; radial ones about the origin or the mean position."""
    import trackless as tl

    kinds = {"splines": tl.RadialSplines, "rbf": tl.GaussianRBF, "tensor": tl.TensorSplines}
    kind, _, count = text.partition(":")
    if kind == "none":
        return None
    if kind not in kinds or (count and not count.isdigit()):
        raise InputError(f"{option}: expected splines:COUNT, rbf:COUNT, tensor:COUNT or none, got {text!r}")
    about = {} if center == "origin" or kind == "tensor" else {"center": "mean"}
    return kinds[kind](int(count), **about) if count else kinds[kind](**about)


def _check_outputs(data: list[Path], output: Path | None, figure: Path | None) -> None:
    """Refuse, before any work, what would end in a lost or misnamed file."""
    if figure is not None:
        check_picture(figure)
    named = [path.resolve() for path in (*data, output, figure) if path is not None]
    if len(set(named)) < len(named):
        raise InputError("data, --output and --figure must be different files")


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: expected lcurve, cv or a number, got {text!r}") from None
