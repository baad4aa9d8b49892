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
    Every,
    Force,
    Seed,
    Threads,
    TimeStep,
    check_outputs,
    console,
    job,
    load_fit,
    named,
    pictures,
    print_json,
    print_sentence,
    read_data,
    read_options,
    save_pictures,
    say,
    verdict_of,
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
    every: Every = 1,
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
    """Ask of data that a fit has not seen whether it holds: held-out loss, residuals, and prediction.

    The exit code is 0 whatever the answer; --json says "passed": true, false, or null where too little could be asked.
    """
    with job(threads, as_json) as clock:
        import trackless as tl

        options, drawn = read_options(dt, columns, box), pictures(figure)
        check_outputs(force, (fitted, *data), *drawn)
        loaded = load_fit(fitted)
        snapshots, notes = read_data(data, options, every)
        say(as_json, escape("\n".join((str(snapshots), *notes))))
        checked = tl.validate(loaded, snapshots, "auto" if held_out is None else held_out, replicates, seed)
        if drawn and checked.predictive is not None:
            from trackless.prediction_plots import validation_figure

            save_pictures(validation_figure(checked), drawn, force)
        if as_json:
            print_json(_summary(checked) | {"seconds": clock()})
            return
        for sentence in checked.sentences:
            failed = sentence.startswith(("THE ", "HELD-OUT"))
            print_sentence(sentence, "bold red" if failed else None)
        console.print(verdict_of(checked), highlight=False)
        if drawn and checked.predictive is None:
            raise InputError(f"{figure}: not written, because there is no prediction to draw; see above why")
        if drawn:
            console.print(f"The picture is in {named(drawn)}.", highlight=False)


def _summary(checked: Any) -> dict[str, Any]:
    """What --json prints."""
    found: dict[str, Any] = {"passed": checked.passed, "asked": sorted(checked.asked), "sentences": checked.sentences}
    if checked.comparison is not None:
        found["held_out_scores"] = dict(zip(checked.comparison.names, checked.comparison.scores, strict=True))
    if checked.residual_test is not None:
        found["residual_test"] = {"p_value": checked.residual_test.p_value, "passed": checked.residual_test.passed}
    if checked.predictive is not None:
        names = ("p_value", "topics", "level", "passed")
        found["prediction"] = {name: getattr(checked.predictive, name) for name in names}
    return found
