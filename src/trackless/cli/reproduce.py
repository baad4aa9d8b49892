"""trackless reproduce: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trackless.cli.common import Threads, UsageError, console, job, kept_in, say, without_files


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="What to compute: names of --list, or all.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", metavar="", help="List what there is, and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", metavar="", help="Few runs: a few minutes, for a look.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", metavar="", help="Go on with the parts of an earlier run.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for tables, figures and the page.",
            show_default="results, or results-quick with --quick",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Compute the paper's tables and figures again, from simulation to picture.

    The full run of everything takes hours. It can be interrupted: finished parts stay in OUTPUT/parts, and --resume
    goes on with them.
    """
    with job(threads, False) as clock:
        from trackless.reproduce.runner import chosen, open_context, title_of
        from trackless.reproduce.runner import reproduce as run

        if list_:
            from trackless.reproduce import EXPERIMENTS

            table = Table("name", "what")
            for name in EXPERIMENTS:
                table.add_row(name, title_of(name))
            console.print(table)
            return
        if not names:
            raise UsageError("reproduce: say what to compute: all, or names that --list shows")
        with without_files():
            wanted = chosen(names)
        folder = output or Path("results-quick" if quick else "results")
        context = open_context(folder, quick, resume)
        with kept_in(context.store.folder, "--resume goes on with the parts in"):
            page = run(wanted, context, folder, lambda text: say(False, text))
        say(False, f"Done in {clock() / 60:.1f} minutes. The page is {page}.")
