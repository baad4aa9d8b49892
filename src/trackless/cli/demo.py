"""trackless demo: simulate, shuffle, learn back, draw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trackless.cli.common import (
    AsJson,
    Force,
    Seed,
    Threads,
    check_outputs,
    console,
    job,
    named,
    pictures,
    print_coefficients,
    print_json,
    save_pictures,
    say,
)


def demo(
    runs: Annotated[int, typer.Option(min=2, help="Independent runs to simulate.")] = 2000,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The picture (.png, .pdf or .svg; without an ending .png and .pdf).")
    ] = Path("trackless-demo.png"),
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a system, hide the labels, learn its forces back and draw them over the truth."""
    with job(threads, as_json) as clock:
        from trackless.demo import demonstrate

        files = pictures(output)
        check_outputs(force, (), *files)
        say(as_json, f"Simulating {runs} runs of 10 particles, shuffling every snapshot, fitting ...")
        result = demonstrate(runs, seed)
        save_pictures(result.figure(), files, force)
        exact = next(iter(result.fits.values()))
        table = {
            name: {"truth": truth, "learnt": float(value)}
            for name, truth, value in zip(exact.moments_.names, result.model.coefficients, exact.coef_, strict=True)
        }
        if as_json:
            scores = {label: e._asdict() for label, e in result.errors.items()}
            print_json({"coefficients": table, "errors": scores, "figure": str(files[0]), "seconds": clock()})
            return
        print_coefficients(table)
        for label, error in result.errors.items():
            console.print(f"{label}: gradient error of V {error.external:.1%}, of Phi {error.interaction:.1%}")
        console.print(f"\nThe picture is in {named(files)} ({clock():.0f} s).", highlight=False)
