"""The command line. No science here: every command is a few calls of the public interface."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trackless import _progress
from trackless._errors import InputError

app = typer.Typer(
    help="Learn the forces between particles without tracking them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
errors = Console(stderr=True)

Seed = Annotated[int, typer.Option(help="Seed of the random numbers; the same seed gives the same result.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; all cores if left out.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite output files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, nothing else.")]


class ModelName(StrEnum):
    """Known-truth models."""

    reference = "reference"
    smoothness = "smoothness"
    conditioning = "conditioning"
    singularity = "singularity"
    smooth_control = "smooth_control"
    anisotropic = "anisotropic"


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from trackless import __version__

        console.print(f"trackless {__version__}", highlight=False)
        raise typer.Exit


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=2, help="Independent runs to simulate.")] = 2000,
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture (.png, .pdf or .svg).")] = Path(
        "trackless-demo.png"
    ),
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a system, hide the labels, learn its forces back and draw them over the truth."""
    with _job(threads, as_json) as clock:
        from trackless.demo import demonstrate
        from trackless.files.atomic import check_target

        _check_picture(check_target(output, force))
        _say(as_json, f"Simulating {runs} runs of 10 particles, shuffling every snapshot, fitting ...")
        result = demonstrate(runs, seed)
        _save_figure(result.figure(), output, force)
        exact = next(iter(result.fits.values()))
        table = {
            name: {"truth": truth, "learnt": float(value)}
            for name, truth, value in zip(exact.moments_.names, result.model.coefficients, exact.coef_, strict=True)
        }
        if as_json:
            scores = {label: e._asdict() for label, e in result.errors.items()}
            _print_json({"coefficients": table, "errors": scores, "figure": str(output), "seconds": clock()})
            return
        _print_coefficients(table)
        for label, error in result.errors.items():
            console.print(f"{label}: gradient error of V {error.external:.1%}, of Phi {error.interaction:.1%}")
        console.print(f"\nThe picture is in [bold]{escape(str(output))}[/bold] ({clock():.0f} s).", highlight=False)


@app.command()
def simulate(
    model: Annotated[ModelName, typer.Argument(help="Which system.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the snapshots go (.npz or .csv).")],
    particles: Annotated[int, typer.Option(min=1)] = 10,
    runs: Annotated[int, typer.Option(min=1)] = 100,
    duration: float = 1.0,
    step: Annotated[float, typer.Option(help="Step of the scheme.")] = 1e-4,
    every: Annotated[float, typer.Option(help="Time between snapshots.")] = 1e-2,
    dim: Annotated[int, typer.Option(min=1)] = 2,
    labeled: Annotated[bool, typer.Option("--labeled", help="Keep the particles in order.")] = False,
    accurate: Annotated[bool, typer.Option("--accurate", help="Better scheme, smaller steps where stiff.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate one of the known-truth systems and write its snapshots."""
    with _job(threads, as_json) as clock:
        import trackless as tl
        from trackless.files.atomic import check_target
        from trackless.files.tables import check_writable

        check_writable(check_target(output, force))
        truth = tl.models.ALL[model.value]()
        data = tl.simulate(
            truth, particles=particles, runs=runs, duration=duration, step=step, observe_every=every, dim=dim,
            labeled=labeled, accurate=accurate, seed=seed,
        )  # fmt: skip
        tl.write(data, output, overwrite=force)
        if as_json:
            _print_json({"output": str(output), "shape": data.positions.shape, "seconds": clock()})
            return
        console.print(f"{data} written to [bold]{escape(str(output))}[/bold] ({clock():.1f} s).", highlight=False)


@app.command()
def fit(
    data: Annotated[list[Path], typer.Argument(help="Snapshots: .npz, .npy or .csv; several files are several runs.")],
    sigma: Annotated[float, typer.Option(help="Noise intensity; sigma^2 = 2 D.")],
    dt: Annotated[float | None, typer.Option(help="Time between frames, where the file counts frames.")] = None,
    external: Annotated[
        str | None, typer.Option(help="Family for V: splines:COUNT, rbf:COUNT, tensor:COUNT or none [splines:8].")
    ] = None,
    interaction: Annotated[str | None, typer.Option(help="Family for Phi, likewise [splines:24].")] = None,
    center: Annotated[str, typer.Option(help="Centre of a radial V: mean (of the positions) or origin.")] = "mean",
    model: Annotated[
        ModelName | None, typer.Option(help="Use this system's own functions and compare with its truth.")
    ] = None,
    quadrature: Annotated[str, typer.Option(help="Time integration: left, trapezoid or cubic.")] = "trapezoid",
    regularization: Annotated[str, typer.Option(help="lcurve, cv, or a number.")] = "cv",
    coupling: Annotated[str, typer.Option(help="Force averaged (mean) or summed (sum) over the others.")] = "mean",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the fit to this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw V' and Phi' (.png, .pdf or .svg).")] = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn V and Phi from unlabeled snapshots."""
    with _job(threads, as_json) as clock:
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
        snapshots = tl.read(data if len(data) > 1 else data[0], dt=dt)
        about = "origin" if model is not None else center
        assumed = f"radial V about the {about}, {coupling} coupling, {quadrature} rule, ridge by {regularization}"
        _say(as_json, f"{snapshots}\nassumed: {assumed}")
        fitted = tl.SelfTest(*families, sigma=sigma, quadrature=quadrature, regularization=strength, coupling=coupling)
        fitted.fit(snapshots)
        scores = tl.gradient_errors(fitted, truth, snapshots) if truth is not None else None
        if output is not None:
            fitted.save(output, overwrite=force)
        if figure is not None:
            from trackless.plots import fit_figure

            _save_figure(fit_figure({"learnt": fitted}, snapshots, truth), figure, force)
        known = truth.coefficients if truth is not None else (None,) * len(fitted.coef_)
        table = {
            name: {"truth": exact, "learnt": float(value)}
            for name, exact, value in zip(fitted.moments_.names, known, fitted.coef_, strict=True)
        }
        if as_json:
            summary = {
                "coefficients": table, "lambda": fitted.lambda_, "loss": fitted.loss_, "sigma": fitted.sigma_,
                "condition_numbers": fitted.condition_numbers_, "seconds": clock(),
            }  # fmt: skip
            _print_json(summary | ({"errors": scores._asdict()} if scores is not None else {}))
            return
        if truth is not None:
            _print_coefficients(table)
        else:
            _print_slopes(fitted, snapshots)
        conditions = ", ".join(f"{name} {value:.3g}" for name, value in fitted.condition_numbers_.items())
        console.print(f"loss {fitted.loss_:.5g}, ridge {fitted.lambda_:.3g}, condition numbers: {conditions}")
        if fitted.condition_numbers_["all"] > 1e10:
            console.print(
                "[yellow]The data hardly tell these functions apart: use fewer, or do not trust details.[/yellow]"
            )
        if scores is not None:
            console.print(f"gradient error of V {scores.external:.1%}, of Phi {scores.interaction:.1%}")
        for target, what in ((output, "fit"), (figure, "picture")):
            if target is not None:
                console.print(f"The {what} is in [bold]{escape(str(target))}[/bold].", highlight=False)


@app.command()
def benchmark(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the work: noisier, for a look.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure speed as ratios against plain NumPy, in one run on this machine."""
    with _job(threads, as_json) as clock:
        from trackless.benchmarks.speed import measure

        results = measure(quick=quick, seed=seed)
        if as_json:
            _print_json({"results": [r._asdict() for r in results], "seconds": clock()})
            return
        table = Table("what", "ours", "plain NumPy", "ratio")
        for r in results:
            table.add_row(r.what, r.ours, r.baseline, f"{r.ratio:.0f} x" if r.ratio is not None else "")
        console.print(table)


@contextmanager
def _job(threads: int | None, quiet: bool) -> Iterator[Any]:
    """Threads, progress bars and clock of one command; a wrong input ends it with one line."""
    from trackless._threads import set_threads

    set_threads(threads)
    start = time.perf_counter()
    with _progress.shown_by(None if quiet or not errors.is_terminal else _bar):
        yield lambda: round(time.perf_counter() - start, 3)


def _bar(items: Any, description: str, total: int) -> Any:
    from rich.progress import track

    return track(items, description=f"{description:>14}", total=total, console=errors, transient=True)


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        console.print(text, highlight=False)


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=1))


def _print_coefficients(table: Mapping[str, Mapping[str, float | None]]) -> None:
    grid = Table("function", "truth", "learnt")
    for name, row in table.items():
        grid.add_row(name, f"{row['truth']:.4g}", f"{row['learnt']:.4g}")
    console.print(grid)


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


def _save_figure(figure: Any, path: Path, force: bool) -> None:
    from trackless.files.atomic import replacing

    with replacing(path, force) as temporary:
        figure.savefig(temporary, dpi=160)


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
        _check_picture(figure)
    named = [path.resolve() for path in (*data, output, figure) if path is not None]
    if len(set(named)) < len(named):
        raise InputError("data, --output and --figure must be different files")


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: expected a picture ending in .png, .pdf or .svg")


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: expected lcurve, cv or a number, got {text!r}") from None


def main() -> None:
    """Entry point: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted; never a traceback for bad input."""
    try:
        app(standalone_mode=True)
    except InputError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this; use fewer functions, runs or particles")
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (KeyboardInterrupt, SystemExit) as end:
        code = 130 if isinstance(end, KeyboardInterrupt) else end.code
        if code == 130:  # the framework turns an interrupt into this code without a word
            errors.print("interrupted; nothing was written")
        sys.exit(code)


def _fail(message: str) -> None:
    errors.print(f"[bold red]error:[/bold red] {escape(message)}", highlight=False, soft_wrap=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
