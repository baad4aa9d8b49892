"""trackless export: V and Phi of a saved fit for a simulator."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trackless.cli.common import (
    AsJson,
    Force,
    UsageError,
    check_outputs,
    console,
    job,
    load_fit,
    named,
    positive,
    print_json,
    print_sentence,
    without_files,
)


class Program(StrEnum):
    """Who reads the file."""

    lammps = "lammps"
    openmm = "openmm"
    hoomd = "hoomd"
    csv = "csv"


class Core(StrEnum):
    """What is below the explored distances."""

    safe = "safe"
    linear = "linear"


def export(
    fit: Annotated[Path, typer.Argument(help="A fit, saved by trackless fit -o.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where it goes (.table for LAMMPS, .csv; .py for OpenMM and HOOMD).")
    ],
    program: Annotated[
        Program | None,
        typer.Option("--format", help="Who reads it; left out, the ending of the file says so.", show_default=False),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--kT", help="The simulator's kT in its energies; left out, kT = sigma^2 / 2 and the mobility is 1.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[float, typer.Option(help="Lengths of the simulator per length of the data.")] = 1.0,
    points: Annotated[int, typer.Option(min=10, max=1_000_000, help="Rows of a table.")] = 1000,
    core: Annotated[
        Core,
        typer.Option(help="Closer than any pair of the data: safe repels, linear goes on with the force at the edge."),
    ] = Core.safe,
    reach: Annotated[
        str | None,
        typer.Option(
            help="Explored distances, where the fit does not know them.", metavar="LOW:HIGH", show_default=False
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write V and Phi of a fit for LAMMPS, OpenMM, HOOMD-blue or as CSV, in their units and safe where the data end."""
    with job(None, as_json):
        import trackless as tl
        from trackless.exporting.formats import checked_format

        ends = _distances(reach)
        with without_files():
            checked_format(output, program and program.value)
            positive(kT=temperature, length=length)
        check_outputs(force, (fit,), output)
        done = tl.export(
            load_fit(fit), output, program and program.value, kT=temperature, length=length, points=points,
            core=core.value, reach=ends, overwrite=force,
        )  # fmt: skip
        if as_json:
            print_json({"format": done.format, "files": [str(file) for file in done.files], "told": done.sentences})
            return
        for sentence in done.sentences:
            extrapolated = any(
                word in sentence for word in ("extrapolated", "not in this file", "not tested", "WARNING")
            )
            print_sentence(sentence, "yellow" if extrapolated else None)
        console.print(f"For {done.format}: {named(done.files)}.", highlight=False)


def _distances(text: str | None) -> tuple[float, float] | None:
    """What --reach says."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise UsageError(f"--reach: expected LOW:HIGH, such as 0.1:3, got {text!r}") from None
    if not 0 <= low < high < float("inf"):
        raise UsageError(f"--reach: expected two increasing distances of at least 0, got {text!r}")
    return low, high
