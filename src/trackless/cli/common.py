"""What the commands share: options, output, progress bars, checks of output files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trackless import _progress
from trackless._errors import InputError

console = Console()
errors = Console(stderr=True)

Seed = Annotated[int, typer.Option(help="Seed of the random numbers; the same seed gives the same result.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; all cores if left out.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite output files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, nothing else.")]


FORMATS = ".npz, .npy, .h5, .csv, .tsv, .txt, .parquet, .lammpstrj, .xyz, .gsd; text also as .gz"
TimeStep = Annotated[float | None, typer.Option(help="Time between frames (of a step), where the file counts them.")]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        help="Columns of a table, where their names do not say what they are: x=POSITION_X,y=POSITION_Y,frame=FRAME. "
        "Also time, z, run, particle, species.",
        metavar="NAMES",
        show_default=False,
    ),
]
BoxSides = Annotated[
    str | None,
    typer.Option(
        help="Sides of a periodic box that begins at 0, where the file has none: 10 or 10,20.", metavar="SIDES",
        show_default=False,
    ),
]  # fmt: skip
MaxGap = Annotated[
    str,
    typer.Option(
        help="Runs are split where an interval is longer; auto: than 3 times the usual one if intervals are regular "
        "otherwise; none: never.",
        metavar="TIME",
    ),
]


class ModelName(StrEnum):
    """Known-truth models."""

    reference = "reference"
    smoothness = "smoothness"
    conditioning = "conditioning"
    singularity = "singularity"
    smooth_control = "smooth_control"
    anisotropic = "anisotropic"
    mixture = "mixture"


class Dynamics(StrEnum):
    """What lies between two snapshots."""

    continuous = "continuous"
    discrete = "discrete"


class Rule(StrEnum):
    """Time integration."""

    auto = "auto"
    left = "left"
    trapezoid = "trapezoid"
    cubic = "cubic"


class CouplingName(StrEnum):
    """How forces of the others join."""

    auto = "auto"
    mean = "mean"
    sum = "sum"


@contextmanager
def job(threads: int | None, quiet: bool) -> Iterator[Any]:
    """Threads, progress bars and clock of one command; a wrong input ends it with one line."""
    from trackless._threads import set_threads

    set_threads(threads)
    start = time.perf_counter()
    with _progress.shown_by(None if quiet or not errors.is_terminal else _bar):
        yield lambda: round(time.perf_counter() - start, 3)


def _bar(items: Any, description: Any, total: int) -> Any:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=errors, transient=True) as progress:
        text = description if callable(description) else lambda: description
        task = progress.add_task(f"{text():>14}", total=total)
        for item in items:
            progress.update(task, description=f"{text():>14}")
            yield item
            progress.advance(task)


def say(quiet: bool, text: str) -> None:
    if not quiet:
        console.print(text, highlight=False)


def print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=1))


def print_coefficients(table: Mapping[str, Mapping[str, float | None]]) -> None:
    grid = Table("function", "truth", "learnt")
    for name, row in table.items():
        grid.add_row(name, f"{row['truth']:.4g}", f"{row['learnt']:.4g}")
    console.print(grid)


def save_pictures(figure: Any, paths: Sequence[Path], force: bool) -> None:
    from trackless.files.atomic import replacing
    from trackless.plots import save_figure

    for path in paths:
        with replacing(path, force) as temporary:
            save_figure(figure, temporary)


def pictures(path: Path, force: bool) -> list[Path]:
    """The files that a picture is written to, if they may be: the one named, or without an ending a .png and a .pdf."""
    from trackless.files.atomic import check_target

    if path.suffix and path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: expected a picture ending in .png, .pdf or .svg, or no ending for .png and .pdf")
    paths = [path] if path.suffix else [path.with_name(path.name + ending) for ending in (".png", ".pdf")]
    return [check_target(one, force) for one in paths]


def named(paths: Sequence[Path]) -> str:
    """Names of files for a sentence."""
    return " and ".join(f"[bold]{escape(str(path))}[/bold]" for path in paths)


def longest_interval(text: str) -> Any:
    """What --max-gap says, as tl.fit takes it."""
    if text in ("auto", "none"):
        return "auto" if text == "auto" else None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a time, auto or none, got {text!r}", param_hint="--max-gap") from None


def read_options(columns: str | None, box: str | None) -> dict[str, Any]:
    """What --columns and --box say, as tl.read takes it."""
    options: dict[str, Any] = {}
    if columns is not None:
        parts = [part.partition("=") for part in columns.split(",")]
        if not all(role.strip() and name.strip() for role, _, name in parts):
            raise typer.BadParameter(f"expected --columns x=NAME,y=NAME,..., got {columns!r}")
        options["columns"] = {role.strip(): name.strip() for role, _, name in parts}
    if box is not None:
        try:
            sides = [float(side) for side in box.split(",")]
        except ValueError:
            raise typer.BadParameter(f"expected --box LENGTH or --box LENGTH,LENGTH,..., got {box!r}") from None
        options["box"] = sides[0] if len(sides) == 1 else sides
    return options
