"""trackless simulate: snapshots of a known-truth system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trackless.cli.common import AsJson, Force, ModelName, Seed, Threads, console, job, print_json


def simulate(
    model: Annotated[ModelName, typer.Argument(help="Which system.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where the snapshots go (.npz, .h5, .csv, .tsv, .parquet; .lammpstrj or .extxyz for a single run).",
        ),
    ],
    particles: Annotated[int, typer.Option(min=1)] = 10,
    runs: Annotated[int, typer.Option(min=1)] = 100,
    duration: float = 1.0,
    step: Annotated[float, typer.Option(help="Step of the scheme.")] = 1e-4,
    every: Annotated[float, typer.Option(help="Time between snapshots.")] = 1e-2,
    dim: Annotated[int, typer.Option(min=1)] = 2,
    sigma: Annotated[
        float | None, typer.Option(min=0.0, help="Noise intensity instead of the system's own (1).", show_default=False)
    ] = None,
    labeled: Annotated[bool, typer.Option("--labeled", help="Keep the particles in order.")] = False,
    accurate: Annotated[bool, typer.Option("--accurate", help="Better scheme, smaller steps where stiff.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate one of the known-truth systems and write its snapshots."""
    with job(threads, as_json) as clock:
        import trackless as tl
        from trackless.files.atomic import check_target
        from trackless.files.formats import check_writable

        check_writable(check_target(output, force), runs)
        truth = tl.models.ALL[model.value]()
        truth = truth if sigma is None else replace(truth, sigma=sigma)
        data = tl.simulate(
            truth, particles=particles, runs=runs, duration=duration, step=step, observe_every=every, dim=dim,
            labeled=labeled, accurate=accurate, seed=seed,
        )  # fmt: skip
        tl.write(data, output, overwrite=force)
        if as_json:
            print_json({"output": str(output), "shape": data.positions.shape, "seconds": clock()})
            return
        console.print(f"{data} written to [bold]{escape(str(output))}[/bold] ({clock():.1f} s).", highlight=False)
