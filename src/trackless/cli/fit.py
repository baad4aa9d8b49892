"""trackless fit: learn V and Phi from a file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from trackless._errors import InputError
from trackless.cli.common import (
    FORMATS,
    AsJson,
    BoxSides,
    CheckpointFolder,
    ColumnNames,
    CouplingName,
    Dask,
    Dynamics,
    Every,
    Force,
    MaxGap,
    Memory,
    ModelName,
    Route,
    Rule,
    Threads,
    TimeStep,
    UsageError,
    check_outputs,
    console,
    job,
    kept_in,
    longest_interval,
    named,
    pictures,
    positive,
    print_coefficients,
    print_json,
    print_sentence,
    read_data,
    read_options,
    save_pictures,
    say,
    without_files,
)
from trackless.cli.methods import Method, Options, as_seen, noise_intensity, place_of, plan
from trackless.cli.words import as_typed
from trackless.wording import plural


def fit(
    data: Annotated[
        list[Path],
        typer.Argument(help=f"Snapshots ({FORMATS}), or a folder of such files; several files are several runs."),
    ],
    sigma: Annotated[
        str | None,
        typer.Option(
            help="Noise intensity; sigma^2 = 2 D. Left out, it is found from the data (networks need it). One per "
            "direction: 1.0,0.5, or diagonal to find them.",
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="auto asks the data for everything and has error bands; self-test takes a family and a ridge; neural "
            "uses networks. None of them needs labels. For comparison: labeled follows the particles of a file that "
            "names them; sinkhorn, assignment and barycentric guess who is who from frame to frame first."
        ),
    ] = Method.auto,
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    every: Every = 1,
    max_gap: MaxGap = "auto",
    external: Annotated[
        str | None,
        typer.Option(
            help="V: radial, free (not radial) or none; auto asks the data. Or a family: splines:COUNT, rbf:COUNT, "
            "tensor:COUNT (self-test and matching: splines:8)."
        ),
    ] = None,
    interaction: Annotated[str | None, typer.Option(help="Phi: as for V (self-test and matching: splines:24).")] = None,
    center: Annotated[
        str | None,
        typer.Option(
            help="Centre of a radial V: mean (of the positions), origin, coordinates (1.5,-2), or fit to find it.",
            show_default=False,
        ),
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Distance beyond which there is no interaction.", show_default=False)
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="Particles cross the edge of what is seen: auto (the bounds of the data) or LOW:HIGH,LOW:HIGH.",
            show_default=False,
        ),
    ] = None,
    exclude_below: Annotated[
        float | None, typer.Option(help="Distance below which two particles cannot be told apart.", show_default=False)
    ] = None,
    detection: Annotated[
        float | None, typer.Option(help="Probability that a particle is seen in a frame.", show_default=False)
    ] = None,
    position_error: Annotated[
        float | None, typer.Option(help="Standard deviation of a measured coordinate.", show_default=False)
    ] = None,
    model: Annotated[
        ModelName | None,
        typer.Option(help="Compare with the truth of this system; self-test and matching then use its own functions."),
    ] = None,
    quadrature: Annotated[
        Rule | None, typer.Option(help="Time integration; auto: cubic on even times.", show_default=False)
    ] = None,
    dynamics: Annotated[
        Dynamics | None,
        typer.Option(help="continuous (default); or discrete: every snapshot is one step of the motion."),
    ] = None,
    debias: Annotated[
        bool, typer.Option("--debias", metavar="", help="Remove the errors of coarse intervals by simulating the fit.")
    ] = False,
    max_distance: Annotated[
        float | None, typer.Option(help="When matching: moves longer than this are not believed.")
    ] = None,
    regularization: Annotated[
        str | None, typer.Option(help="cv (default), lcurve, evidence, or a number; not for auto and neural.")
    ] = None,
    coupling: Annotated[
        CouplingName,
        typer.Option(
            help="Force averaged (mean) or summed (sum) over the others; auto sums where their number changes."
        ),
    ] = CouplingName.auto,
    route: Annotated[
        Route | None, typer.Option(help="Train networks on moments or snapshots; auto (default) chooses.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the networks' first weights.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the fit to this file.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw V' and Phi' (.png, .pdf or .svg; without an ending .png and .pdf).")
    ] = None,
    dask: Dask = None,
    checkpoint: CheckpointFolder = None,
    threads: Threads = None,
    memory: Memory = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn V and Phi from snapshots; by default without labels and without matching."""
    with job(threads, as_json, memory) as clock, ExitStack() as stack:
        import trackless as tl
        from trackless.scale import connected, using

        truth = tl.models.ALL[model.value]() if model is not None else None
        with without_files():
            reading, drawn = read_options(dt, columns, box), pictures(figure)
            positive(max_distance=max_distance)
            asked = Options(
                method, noise_intensity(sigma), external, interaction, place_of(center), truth,
                quadrature and quadrature.value, max_distance, regularization, coupling.value, route and route.value,
                seed, dynamics and dynamics.value, debias, longest_interval(max_gap),
                as_seen(cutoff, window, exclude_below, detection, position_error),
            )  # fmt: skip
            planned = plan(asked)
        check_outputs(force, data, output, *drawn)
        if checkpoint is not None and checkpoint.resolve() in {path.resolve() for path in (output, *drawn) if path}:
            raise UsageError(f"--checkpoint: {checkpoint} is what is written in the end; choose another folder")
        if len({path.resolve() for path in data}) < len(data):
            raise InputError("data: a file is given twice; its runs would count as independent ones: give it once")
        client = stack.enter_context(connected(dask))
        snapshots, notes = read_data(data, reading, every)
        read = escape(str(snapshots))
        estimator, snapshots, told = planned.on(snapshots, asked)
        told = (*notes, *told)
        say(as_json, "\n".join((read, f"assumed: {planned.assumed}", *(f"- {escape(as_typed(one))}" for one in told))))
        stack.enter_context(kept_in(checkpoint))
        stack.enter_context(using(client, checkpoint, {"data": snapshots, "settings": asked}))
        fitted = estimator.fit(snapshots)
        scores = tl.gradient_errors(fitted, truth, snapshots) if truth is not None else None
        if output is not None:
            fitted.save(output, overwrite=force)
        if drawn:
            from trackless.plots import fit_figure

            save_pictures(fit_figure({"learnt": fitted}, snapshots, truth), drawn, force)
        errors = {"errors": {role: _by_name(own) for role, own in scores._asdict().items()}} if scores else {}
        if as_json:
            print_json(_summary(method, fitted, truth, snapshots) | {"told": told, "seconds": clock()} | errors)
            return
        _print(method, fitted, truth, snapshots, given_sigma=sigma is not None)
        if scores is not None:
            _print_errors(scores)
        for targets, what in (([output] if output is not None else [], "fit"), (drawn, "picture")):
            if targets:
                console.print(f"The {what} is in {named(targets)}.", highlight=False)


def _coefficients(fitted: Any, truth: Any) -> dict[str, dict[str, float | None]]:
    known = truth.coefficients if truth is not None else (None,) * len(fitted.coef_)
    return {
        name: {"truth": exact, "learnt": float(value)}
        for name, exact, value in zip(fitted.moments_.names, known, fitted.coef_, strict=True)
    }


def _summary(method: Method, fitted: Any, truth: Any, snapshots: Any) -> dict[str, Any]:
    """What --json prints."""
    shared = {"method": method.value, "loss": fitted.loss_, "sigma": fitted.sigma_}
    noise = getattr(fitted, "noise_", None)
    if noise is not None:
        shared["sigma_error"] = noise.error if noise.known else None
    if method is Method.neural:
        held_out = [float(curve[best, 1]) for curve, best in zip(fitted.curves_, fitted.stopped_, strict=True)]
        return shared | {"route": fitted.route_, "stopped": fitted.stopped_, "held_out_losses": held_out}
    test = _residual_test(method, fitted, snapshots)
    shared |= {"residual_test": {"p_value": test.p_value, "passed": test.passed}} if test is not None else {}
    if method is Method.auto:
        left_out = fitted.resolution_.left_out if fitted.resolution_ is not None else 0
        shared |= {"findings": fitted.findings_.sentences, "left_out": left_out, "slopes": slopes(fitted)}
        told = fitted.identifiability()
        return shared | {
            "effective_parameters": fitted.posterior_.effective, "condition_numbers": told.condition_numbers,
            "coercivity": told.coercivity,
        }  # fmt: skip
    shared |= {
        "coefficients": _coefficients(fitted, truth), "lambda": fitted.lambda_,
        "condition_numbers": fitted.condition_numbers_,
    }  # fmt: skip
    if method.follows:
        shared |= {
            "matched_fraction": fitted.matched_fraction_, "dropped_fraction": fitted.dropped_fraction_,
            "unfinished_plans": fitted.tally_.unfinished,
        }  # fmt: skip
    return shared


def _residual_test(method: Method, fitted: Any, snapshots: Any) -> Any:
    """Whether the fitted model could have made the data, or None where that is not asked."""
    if method is Method.auto:
        return fitted.findings_.residual_test
    if method is not Method.self_test or not fitted.can_be_tested(snapshots):
        return None
    return fitted.residual_test(snapshots)


def _print_test(test: Any) -> None:
    print_sentence(test.sentence, None if test.passed else "bold red")


def _print(method: Method, fitted: Any, truth: Any, snapshots: Any, given_sigma: bool) -> None:
    if truth is not None and method.has_coefficients:
        print_coefficients(_coefficients(fitted, truth))
    else:
        _print_slopes(fitted, snapshots)
    if method is Method.neural:
        _print_training(fitted)
        return
    if method is Method.auto:
        test = fitted.findings_.residual_test
        for sentence in fitted.findings_.sentences:
            if test is not None and sentence == test.sentence:
                _print_test(test)
            else:
                print_sentence(sentence)
        loss = "" if fitted.moments_.observation.masked else f"loss {fitted.loss_:.5g}; "  # there is none with masks
        console.print(
            f"{loss}the data determine {plural(round(fitted.posterior_.effective), 'parameter')}", highlight=False
        )
        return
    conditions = ", ".join(f"{name} {value:.3g}" for name, value in fitted.condition_numbers_.items())
    console.print(f"loss {fitted.loss_:.5g}, ridge {fitted.lambda_:.3g}, condition numbers: {conditions}")
    if fitted.condition_numbers_["all"] > 1e10:
        console.print(
            "[yellow]The data hardly tell these functions apart: use fewer, or do not trust details.[/yellow]"
        )
    for found in (getattr(fitted, name, None) for name in ("center_", "noise_", "debiasing_")):
        if found is not None:
            print_sentence(found.sentence)
    test = _residual_test(method, fitted, snapshots)
    if test is not None:
        _print_test(test)
    if method.follows:
        origin = "given" if given_sigma else "from the residuals"
        console.print(f"{fitted.matching_report_}\nsigma {fitted.sigma_:.4g} ({origin})", highlight=False)


def _print_training(fitted: Any) -> None:
    unit = "step" if fitted.route_ == "moments" else "epoch"
    many = len(fitted.stopped_) > 1
    stopped = ", ".join(str(best + 1) for best in fitted.stopped_)
    console.print(
        f"trained on {fitted.route_}: {len(fitted.stopped_)} network{'s' * many} for each potential, kept from {unit}"
        f"{'s' * many} {stopped}, where the loss on held-out data was smallest; loss {fitted.loss_:.5g}",
        highlight=False,
    )
    last = [(len(curve), best) for curve, best in zip(fitted.curves_, fitted.stopped_, strict=True)]
    if any(best == length - 1 for length, best in last):
        console.print(
            f"[yellow]Still improving when training ended: more {unit}s may do better, "
            "tl.NeuralSelfTest(steps=...) in Python.[/yellow]",
            highlight=False,
        )
    if fitted.loss_ >= 0:
        console.print("[yellow]No better than no force at all: the data are too few, or sigma is wrong.[/yellow]")


def _by_name(errors: Any) -> Any:
    """Errors of each species, or pair of them, under a name that JSON takes."""
    return {"-".join((key,) if isinstance(key, str) else key): error for key, error in errors.items()} if isinstance(
        errors, dict
    ) else errors  # fmt: skip


def _print_errors(scores: Any) -> None:
    parts = []
    for letter, own in zip(("V", "Phi"), scores, strict=True):
        named = _by_name(own)
        each = {f" of {kinds}": error for kinds, error in named.items()} if isinstance(named, dict) else {"": named}
        parts += [f"of {letter}{kinds} {error:.1%}" for kinds, error in each.items()]
    console.print(f"gradient error {', '.join(parts)}")


def slopes(fitted: Any) -> dict[str, Any]:
    """Slopes of radial potentials at nine distances of the explored range, with 95 % bands where there are any.

    Of several species under "a" and "a-b".
    """
    import numpy as np

    from trackless.mixtures import learnt_potentials
    from trackless.potentials import RadialPotential

    found: dict[str, Any] = {}
    for one in learnt_potentials(fitted):
        potential, role = one.potential, ("external", "interaction")[one.role]
        if not isinstance(potential, RadialPotential):
            continue
        low, high = one.explored
        r = np.linspace(low, high, 11)[1:-1]
        columns = {"distance": r, "slope": potential.slope(r)}
        if potential.uncertainty is not None:
            columns["lower"], columns["upper"] = potential.band(r)
        rows = [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
        if one.kinds:
            found.setdefault(role, {})["-".join(one.kinds)] = rows
        else:
            found[role] = rows
    return found


def _unit(fitted: Any) -> str:
    """Where sigma could not be known, slopes are read wrongly without their unit."""
    noise = getattr(fitted, "noise_", None)
    if noise is None or noise.known:
        return ""
    return ", in units of kT = sigma^2/2 per length, because sigma could not be known (good in a stationary state only)"


def _print_slopes(fitted: Any, snapshots: Any) -> None:
    """Radial slopes where the data were, from the 1st to the 99th percentile of distances."""
    import numpy as np
    from rich.columns import Columns

    from trackless.exploration import explore
    from trackless.mixtures import learnt_potentials
    from trackless.potentials import RadialPotential
    from trackless.uncertainty import cutoff_of

    explored = explore(snapshots)
    tables = []
    for one in learnt_potentials(fitted):
        potential, role = one.potential, ("external", "interaction")[one.role]
        letter, distance = (("V", "|x|"), ("Phi", "r"))[one.role]
        if isinstance(potential, RadialPotential):
            seen = explored.of_kinds(one.kinds).reached(role, potential.origin, cutoff_of(potential))
            low, high = np.quantile(seen, [0.01, 0.99])
            banded = potential.uncertainty is not None
            title = escape(one.name) if one.kinds else None
            grid = Table(distance, f"{letter}'({distance})", *(["95 % band"] if banded else []), title=title)
            for r in np.linspace(low, high, 9):
                ends = [" to ".join(f"{float(end):.3g}" for end in potential.band(r))] if banded else []
                grid.add_row(f"{r:.4g}", f"{float(potential.slope(r)):.4g}", *ends)
            tables.append(grid)
        else:
            console.print(f"{one.name} is not radial, so there is no table of slopes; --figure draws it in 2-D")
    if tables:
        console.print(f"Learnt slopes, where the data were{_unit(fitted)}:", highlight=False)
        console.print(Columns(tables))
