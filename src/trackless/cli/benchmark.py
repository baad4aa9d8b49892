"""trackless benchmark: speed as ratios."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from trackless.cli.common import AsJson, Seed, Threads, console, job, print_json


def benchmark(
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="A tenth of the work: noisier, for a look.")
    ] = False,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure speed as ratios against plain NumPy (and plain JAX), in one run on this machine."""
    with job(threads, as_json) as clock:
        from trackless.benchmarks.speed import measure

        results = measure(quick=quick, seed=seed)
        if as_json:
            print_json({"results": [r._asdict() for r in results], "seconds": clock()})
            return
        table = Table("what", "ours", "plain", "ratio")
        for r in results:
            table.add_row(r.what, r.ours, r.baseline, f"{r.ratio:.0f} x" if r.ratio is not None else "")
        console.print(table)
