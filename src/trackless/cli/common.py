"""What the commands share: options, output, progress bars, checks of options and output files."""

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
from trackless._errors import InputError, NotAResult
from trackless.cli.progress import Bars
from trackless.cli.words import as_typed
from trackless.magnitudes import check_magnitude

console = Console()
errors = Console(stderr=True)

Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers; the same seed gives the same result.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; all cores if left out.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Most memory to use, such as 2GB; larger data are read piece by piece in any case.", metavar="SIZE",
        show_default=False,
    ),
]  # fmt: skip
Force = Annotated[bool, typer.Option("--force", metavar="", help="Overwrite output files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON, nothing else.")]


Every = Annotated[int, typer.Option(min=1, metavar="N", help="Keep every N-th frame only.")]
FORMATS = ".npz, .npy, .h5, .zarr, .csv, .tsv, .txt, .parquet, .lammpstrj, .xyz, .gsd; text also as .gz"
TimeStep = Annotated[
    float | None,
    typer.Option(
        help="Time between frames (of a step), where the file counts them; with times of its own it must agree."
    ),
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        help="Columns of a table, where their names do not say what they are: x=COL1,y=COL2. "
        "Also z, frame, time, run, particle, species.",
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
Dask = Annotated[
    str | None,
    typer.Option(
        help="Let a dask cluster do the work: where its scheduler is, such as tcp://HOST:8786.", metavar="ADDRESS",
        show_default=False, callback=lambda address: _scheduler(address),
    ),
]  # fmt: skip
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        help="Keep sums in this folder now and then; interrupted, the same command goes on from there. Removed when "
        "all is done.",
        metavar="FOLDER",
        show_default=False,
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


class Route(StrEnum):
    """What networks are trained on."""

    auto = "auto"
    moments = "moments"
    snapshots = "snapshots"


class CouplingName(StrEnum):
    """How forces of the others join."""

    auto = "auto"
    mean = "mean"
    sum = "sum"


class UsageError(InputError):
    """Options that cannot be right, whatever is in the files: exit code 2 instead of 1."""


@contextmanager
def without_files() -> Iterator[None]:
    """What is judged in here is judged by the options alone, so that an error is one of usage."""
    try:
        yield
    except InputError as error:
        raise UsageError(str(error)) from None


def _scheduler(address: str | None) -> str | None:
    """An address that may be one, or none."""
    if address is not None:
        from trackless.scale import check_address

        with without_files():
            check_address(address)
    return address


def positive(**numbers: float | None) -> None:
    """Refuse numbers that are not positive; those that were left out are None."""
    for name, number in numbers.items():
        if number is not None and not 0 < number < float("inf"):
            raise UsageError(f"{name}: expected a number above 0, got {number:g}")
        with without_files():
            check_magnitude(name, number or 0.0)


@contextmanager
def job(threads: int | None, quiet: bool, memory: str | None = None) -> Iterator[Any]:
    """Threads, memory, progress bars and clock of one command; a wrong input ends it with one line."""
    from trackless._memory import set_memory
    from trackless._threads import set_threads

    set_threads(threads)
    with without_files():
        set_memory(memory)
    start = time.perf_counter()
    with _progress.shown_by(None if quiet or not errors.is_terminal else Bars(errors)):
        yield lambda: round(time.perf_counter() - start, 3)


@contextmanager
def kept_in(checkpoint: Path | None, words: str = "the same command goes on with what is kept in") -> Iterator[None]:
    """A word on where the work goes on if it is interrupted in here."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            errors.print(f"{words} {escape(str(checkpoint))}", highlight=False)
        raise


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


def print_sentence(sentence: str, style: str | None = None) -> None:
    """One thing that was found, in the words of the command line."""
    console.print(f"- {escape(as_typed(sentence))}", highlight=False, style=style)


def verdict_of(checked: Any) -> str:
    """What a validation came to, in a line."""
    if checked.passed is None and not checked.asked:
        return "[bold yellow]Nothing could be asked: this is no word for the fit, and none against it.[/bold yellow]"
    said = f"{checked.summary[:1].upper()}{checked.summary[1:]}."
    if checked.passed is None:
        return f"[bold yellow]Nothing speaks against the fit, but too little could be asked.[/bold yellow] {said}"
    if checked.passed:
        return f"Nothing speaks against the fit. {said}"
    return "[bold red]The fit does not hold.[/bold red]"


def save_pictures(figure: Any, paths: Sequence[Path], force: bool) -> None:
    from trackless.files.atomic import replacing
    from trackless.plots import save_figure

    for path in paths:
        with replacing(path, force) as temporary:
            save_figure(figure, temporary)


def pictures(path: Path | None) -> list[Path]:
    """The files that a picture is written to: the one named, or without an ending a .png and a .pdf."""
    if path is None:
        return []
    if path.suffix and path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UsageError(f"{path}: expected a picture ending in .png, .pdf or .svg, or no ending for .png and .pdf")
    return [path] if path.suffix else [path.with_name(path.name + ending) for ending in (".png", ".pdf")]


def check_outputs(force: bool, read: Sequence[Path], *written: Path | None) -> None:
    """Refuse, before any work, files that could not be written, or would replace one another or what is read."""
    from trackless.files.atomic import check_target

    taken = {path.resolve() for path in read}
    wanted = [path.resolve() for path in written if path is not None]
    if twice := next((path for path in wanted if wanted.count(path) > 1), None):
        raise UsageError(f"{twice.name}: two things would be written to this file; give each a name of its own")
    for path in (path for path in written if path is not None):
        if path.resolve() in taken:
            raise InputError(f"{path}: what is read and what is written must be different files; choose another name")
        taken.add(path.resolve())
        check_target(path, force)


def load_fit(path: Path) -> Any:
    """The fit that an argument FIT names; anything else is refused with a word on how to get one."""
    import trackless as tl

    try:
        loaded = tl.load(path)
    except NotAResult as error:
        raise InputError(f"{error}; FIT is the first argument, a file that trackless fit DATA -o FIT saves") from None
    if not hasattr(loaded, "sigma_"):
        raise InputError(f"{path}: holds {type(loaded).__name__}, not a fit; trackless fit DATA -o FIT saves one")
    return loaded


def read_data(data: Sequence[Path], reading: Mapping[str, Any], every: int = 1) -> tuple[Any, tuple[str, ...]]:
    """The snapshots of one file, or of several as further runs; and what was decided on the way, in words."""
    from trackless.files import read_with_notes

    found = read_with_notes(data if len(data) > 1 else data[0], **reading)
    return found.snapshots.every(every), found.notes


def named(paths: Sequence[Path]) -> str:
    """Names of files for a sentence."""
    return " and ".join(f"[bold]{escape(str(path))}[/bold]" for path in paths)


def longest_interval(text: str) -> Any:
    """What --max-gap says, as tl.fit takes it."""
    if text in ("auto", "none"):
        return "auto" if text == "auto" else None
    try:
        longest = float(text)
    except ValueError:
        raise UsageError(f"--max-gap: expected a time, auto or none, got {text!r}") from None
    positive(max_gap=longest)
    return longest


def read_options(dt: float | None, columns: str | None, box: str | None) -> dict[str, Any]:
    """What --dt, --columns and --box say, as tl.read takes it; nothing that was left out."""
    options: dict[str, Any] = {}
    if dt is not None:
        positive(dt=dt)
        options["dt"] = dt
    if columns is not None:
        from trackless.files.columns import check_roles

        parts = [part.partition("=") for part in columns.split(",")]
        if not all(role.strip() and name.strip() for role, _, name in parts):
            raise UsageError(f"expected --columns x=NAME,y=NAME,..., got {columns!r}")
        options["columns"] = {role.strip(): name.strip() for role, _, name in parts}
        if len(options["columns"]) < len(parts):
            raise UsageError(f"--columns: something is said twice; name every column once, got {columns!r}")
        with without_files():
            check_roles(options["columns"])
    if box is not None:
        try:
            sides = [float(side) for side in box.split(",")]
        except ValueError:
            raise UsageError(f"expected --box LENGTH or --box LENGTH,LENGTH,..., got {box!r}") from None
        for side in sides:
            positive(box=side)
        options["box"] = sides[0] if len(sides) == 1 else sides
    return options
