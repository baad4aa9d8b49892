"""trackless report: a page about a saved fit and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trackless._errors import InputError
from trackless.cli.common import (
    FORMATS,
    AsJson,
    BoxSides,
    ColumnNames,
    Force,
    MaxGap,
    Threads,
    TimeStep,
    console,
    job,
    longest_interval,
    print_json,
    read_options,
    say,
)


def report(
    fit: Annotated[Path, typer.Argument(help="A fit, as trackless fit -o writes it.")],
    data: Annotated[list[Path], typer.Argument(help=f"Its snapshots ({FORMATS}); several files are several runs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the page to this file.")] = Path("report.html"),
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    max_gap: MaxGap = "auto",
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    no_simulate: Annotated[
        bool, typer.Option("--no-simulate", help="Do not simulate the fitted model; show what was observed.")
    ] = False,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a page about a fit: potentials, predictions beside the data, an animation, and warnings first."""
    with job(threads, as_json) as clock:
        import trackless as tl
        from trackless.files.atomic import check_target

        options, longest = read_options(columns, box), longest_interval(max_gap)
        _check_output(fit, data, output)
        check_target(output, force)
        fitted = tl.load(fit)
        if not hasattr(fitted, "report"):
            raise InputError(f"{fit}: holds {type(fitted).__name__}, not a fit; trackless fit -o writes one")
        snapshots = tl.read(data if len(data) > 1 else data[0], dt=dt, **options).without_gaps(longest)
        say(as_json, escape(str(snapshots)))
        reading = {"dt": dt, **options}
        fitted.report(
            output, snapshots, title=title, overwrite=force, source=[path.name for path in data],
            simulate=not no_simulate, reading=reading,
        )  # fmt: skip
        size = output.stat().st_size
        if as_json:
            print_json({"report": str(output), "bytes": size, "seconds": clock()})
            return
        console.print(
            f"The report is in [bold]{escape(str(output))}[/bold] ({size / 1e6:.1f} MB); open it in a browser.",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def _check_output(fit: Path, data: list[Path], output: Path) -> None:
    """Refuse, before any work, what would end in a lost or misnamed file."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{output}: expected a page ending in .html")
    if output.resolve() in [path.resolve() for path in (fit, *data)]:
        raise InputError("the fit, the data and --output must be different files")
