"""trackless report: a page about a saved fit and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trackless.cli.common import (
    FORMATS,
    AsJson,
    BoxSides,
    ColumnNames,
    Every,
    Force,
    MaxGap,
    Seed,
    Threads,
    TimeStep,
    UsageError,
    check_outputs,
    console,
    job,
    load_fit,
    longest_interval,
    print_json,
    read_data,
    read_options,
    say,
    verdict_of,
)


def report(
    fit: Annotated[Path, typer.Argument(help="A fit, as trackless fit -o writes it.")],
    data: Annotated[
        list[Path], typer.Argument(help=f"Its snapshots ({FORMATS}), or others; several files are several runs.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the page to this file.")] = Path("report.html"),
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    every: Every = 1,
    max_gap: MaxGap = "auto",
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate",
            metavar="",
            help="Test it on data that it has not seen, with p-values: of the data of the fit a part is held out and "
            "the rest fitted again; others are taken as they are. Takes longer. See trackless validate.",
        ),
    ] = False,
    no_simulate: Annotated[
        bool,
        typer.Option("--no-simulate", metavar="", help="Do not simulate the fitted model; show what was observed."),
    ] = False,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a page about a fit: potentials, predictions beside the data, an animation, and warnings first."""
    with job(threads, as_json) as clock:
        import trackless as tl
        from trackless.reporting import write_report

        reading, longest = read_options(dt, columns, box), longest_interval(max_gap)
        if output.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{output}: expected a page ending in .html")
        if validate and no_simulate:
            raise UsageError("--validate simulates the fitted model; leave out --no-simulate")
        check_outputs(force, (fit, *data), output)
        fitted = load_fit(fit)
        snapshots, notes = read_data(data, reading, every)
        if getattr(fitted, "fingerprint_", None) != snapshots.fingerprint():  # else the report cuts as the fit has cut
            snapshots = snapshots.without_gaps(longest)
        say(as_json, escape("\n".join((str(snapshots), *notes))))
        checked = tl.validate(fitted, snapshots, seed=seed) if validate else None
        said = write_report(
            fitted, snapshots, output, title=title, validation=checked, overwrite=force,
            source=[path.name for path in data], simulate=not no_simulate, seed=seed,
            reading=reading | ({"every": every} if every > 1 else {}),
        )  # fmt: skip
        size = output.stat().st_size
        if as_json:
            verdict = {} if checked is None else {"passed": checked.passed}
            print_json({"report": str(output), "bytes": size, **verdict, **said["summary"], "seconds": clock()})
            return
        if checked is not None:
            console.print(verdict_of(checked), highlight=False)
        console.print(
            f"The report is in [bold]{escape(str(output))}[/bold] ({size / 1e6:.1f} MB); open it in a browser.",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
