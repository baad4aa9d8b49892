"""trackless validate: does a fit hold on data that it has not seen?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from trackless._errors import InputError
from trackless.cli.common import (
    FORMATS,
    AsJson,
    BoxSides,
    ColumnNames,
    Force,
    Seed,
    Threads,
    TimeStep,
    console,
    job,
    named,
    pictures,
    print_json,
    read_options,
    save_pictures,
    say,
)


def validate(
    fitted: Annotated[Path, typer.Argument(metavar="FIT", help="A fit, as saved by trackless fit -o.")],
    data: Annotated[list[Path], typer.Argument(help=f"Snapshots ({FORMATS}): those of the fit, or others.")],
    held_out: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=0.9, show_default=False,
            help="Part of the data that is held out; the rest is fitted again with the same settings. 0 tests the fit "
            "as it is. Left out: 0.3 if these are the data of the fit, else 0.",
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=19, help="How often the fit is simulated: p-values are multiples of 1/(N+1).")
    ] = 199,
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw what was observed and what was predicted (.png, .pdf or .svg; without an ending .png and .pdf)."
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Ask of data that a fit has not seen whether it holds: held-out loss, residuals, and prediction."""
    with job(threads, as_json) as clock:
        import trackless as tl

        options = read_options(columns, box)
        drawn = pictures(figure, force) if figure is not None else []
        loaded = tl.load(fitted)
        if not hasattr(loaded, "sigma_"):
            raise InputError(f"{fitted}: holds {type(loaded).__name__}, not a fit; use what trackless fit -o has saved")
        snapshots = tl.read(data if len(data) > 1 else data[0], dt=dt, **options)
        say(as_json, str(snapshots))
        checked = tl.validate(loaded, snapshots, "auto" if held_out is None else held_out, replicates, seed)
        if figure is not None:
            if checked.predictive is None:
                raise InputError(f"{figure}: there is no prediction to draw: {checked.sentences[-1]}")
            from trackless.plots import validation_figure

            save_pictures(validation_figure(checked), drawn, force)
        if as_json:
            print_json(_summary(checked) | {"seconds": clock()})
            return
        for sentence in checked.sentences:
            failed = sentence.startswith(("THE ", "HELD-OUT"))
            console.print(f"- {escape(sentence)}", highlight=False, style="bold red" if failed else None)
        verdict = "Nothing speaks against the fit." if checked.passed else "[bold red]The fit does not hold.[/bold red]"
        console.print(verdict, highlight=False)
        if drawn:
            console.print(f"The picture is in {named(drawn)}.", highlight=False)


def _summary(checked: Any) -> dict[str, Any]:
    """What --json prints."""
    found: dict[str, Any] = {"passed": checked.passed, "sentences": checked.sentences}
    if checked.comparison is not None:
        found["held_out_scores"] = dict(zip(checked.comparison.names, checked.comparison.scores, strict=True))
    if checked.residual_test is not None:
        found["residual_test"] = {"p_value": checked.residual_test.p_value, "passed": checked.residual_test.passed}
    if checked.predictive is not None:
        found["prediction"] = {"p_value": checked.predictive.p_value, "topics": checked.predictive.topics}
    return found
