"""trackless simulate: snapshots of a known-truth system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trackless.cli.common import (
    AsJson,
    Dask,
    Force,
    ModelName,
    Seed,
    Threads,
    check_outputs,
    console,
    job,
    print_json,
    without_files,
)


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
    particles: Annotated[int, typer.Option(min=1, help="In a run.")] = 10,
    runs: Annotated[int, typer.Option(min=1, help="Independent ones.")] = 100,
    duration: Annotated[float, typer.Option(help="Of a run.")] = 1.0,
    step: Annotated[float, typer.Option(help="Step of the scheme.")] = 1e-4,
    interval: Annotated[
        float,
        typer.Option("--interval", "--every", help="Time between snapshots (--every in other commands counts frames)."),
    ] = 1e-2,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of space.")] = 2,
    sigma: Annotated[
        float | None, typer.Option(min=0.0, help="Noise intensity instead of the system's own (1).", show_default=False)
    ] = None,
    labeled: Annotated[bool, typer.Option("--labeled", metavar="", help="Keep the particles in order.")] = False,
    accurate: Annotated[
        bool, typer.Option("--accurate", metavar="", help="Better scheme, smaller steps where stiff.")
    ] = False,
    seed: Seed = 0,
    dask: Dask = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate one of the known-truth systems and write its snapshots."""
    with job(threads, as_json) as clock:
        import trackless as tl
        from trackless.files.formats import check_writable
        from trackless.scale import connected
        from trackless.simulation import check_model, checked_clock

        truth = tl.models.ALL[model.value]()
        with without_files():
            check_writable(output, runs)
            checked_clock(duration, step, interval)
            check_model(truth, dim)
        check_outputs(force, (), output)
        truth = truth if sigma is None else replace(truth, sigma=sigma)
        with connected(dask) as client:
            data = tl.simulate(
                truth, particles=particles, runs=runs, duration=duration, step=step, observe_every=interval, dim=dim,
                labeled=labeled, accurate=accurate, seed=seed, client=client,
            )  # fmt: skip
        tl.write(data, output, overwrite=force)
        if as_json:
            print_json({"output": str(output), "shape": data.positions.shape, "seconds": clock()})
            return
        console.print(f"{data} written to [bold]{escape(str(output))}[/bold] ({clock():.1f} s).", highlight=False)
