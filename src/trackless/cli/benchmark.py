"""trackless benchmark: speed as ratios, and how it scales."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trackless.cli.common import AsJson, Force, Seed, Threads, console, job, named, print_json

PAGE = Path("results") / "benchmarks.md"


def benchmark(
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="A tenth of the work: noisier, for a look; writes no page.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help=f"The page that the table is written to ({PAGE} of a full run).", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure speed as ratios against plain NumPy (and plain JAX), and how it scales, in one run on this machine."""
    with job(threads, as_json) as clock:
        from trackless.benchmarks import page
        from trackless.benchmarks.scaling import growth
        from trackless.benchmarks.speed import measure

        written = output or (None if quick or as_json else PAGE)
        if written is not None:
            page.check_page(written, force)
        speed = measure(quick=quick, seed=seed)
        scales = growth(quick=quick, seed=seed)
        rows = page.rows(speed, scales)
        if written is not None:
            page.write_page(written, rows)
        if as_json:
            exponents = [
                {"operation": one.operation, "size": one.size, "exponent": one.exponent, "expected": one.expected}
                for one in scales
            ]
            results = [one._asdict() for one in speed]
            print_json({"results": results, "exponents": exponents, "seconds": clock()})
            return
        table = Table(*page.COLUMNS)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        if written is not None:
            console.print(f"The table is in {named([written])}.", highlight=False)
