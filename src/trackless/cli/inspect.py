"""trackless inspect: what is in a file, and what could be learnt from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trackless.cli.common import (
    FORMATS,
    AsJson,
    BoxSides,
    ColumnNames,
    Every,
    MaxGap,
    TimeStep,
    console,
    job,
    longest_interval,
    print_json,
    read_options,
)
from trackless.cli.words import as_typed


def inspect(
    data: Annotated[list[Path], typer.Argument(help=f"Snapshots ({FORMATS}); several files are several runs.")],
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    every: Every = 1,
    max_gap: MaxGap = "auto",
    as_json: AsJson = False,
) -> None:
    """Say what is in a file, whether its particles could be tracked, and what a fit could learn."""
    with job(None, as_json):
        import trackless as tl

        options = read_options(dt, columns, box) | {"max_gap": longest_interval(max_gap), "every": every}
        found = tl.inspect(data if len(data) > 1 else data[0], **options)
        if as_json:
            print_json(found.as_dict())
            return
        console.print(as_typed(str(found)), highlight=False, markup=False, soft_wrap=True)
