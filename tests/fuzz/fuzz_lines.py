"""Random command lines: what is possible and what is not, as the signatures of the commands and a few lists say."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from typer.models import OptionInfo

COMMANDS = {
    "inspect": 8,
    "fit": 8,
    "validate": 2,
    "report": 2,
    "export": 8,
    "simulate": 8,
    "watch": 2,
    "demo": 1,
    "benchmark": 1,
    "reproduce": 2,
    "": 1,
    "fti": 1,
}
STRANGE_TEXT = (
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-320",
    "9" * 30,
    "1_0",
    "٣",
    "½",
    "é",
    "日本語",
    "\u202e",
    "a\nb",
    "\x1b[31mred",
    "[bold]",
    "[/bold]",
    "%s",
    "{0}",
    "'",
    '"',
    "$HOME",
    "*",
    "~",
    "..",
    "/",
    "None",
    "True",
    ":",
    ",",
    "1:2",
    "2:1",
    "1,2",
    "1,,2",
    "=",
    "x=",
    "x=a,y=b",
    "auto",
    "none",
    "fit",
    "mean",
    "tcp://",
    "x" * 5000,
    "\udcff",
)
GOOD_TEXT = {
    "sigma": ("1.0", "0.5", "1.0,0.7", "diagonal", "0", "nan", "2"),
    "columns": ("x=x,y=y", "x=a,y=b", "run=run", "x"),
    "box": ("10", "10,20", "5,5,5", "-1", "0"),
    "max_gap": ("auto", "none", "0.5", "0.001", "-1"),
    "external": (
        "radial",
        "free",
        "none",
        "auto",
        "splines:5",
        "rbf:4",
        "tensor:4",
        "splines:0",
        "splines:-3",
        "cubic:5",
    ),
    "interaction": ("radial", "none", "auto", "splines:6", "rbf:5", "splines:60", "tensor:9", "splines"),
    "center": ("mean", "origin", "fit", "0,0", "1.5,-2", "1", "a,b"),
    "window": ("auto", "-1:1,-1:1", "0:1", "1:0,0:1"),
    "regularization": ("cv", "lcurve", "evidence", "0.1", "1e-9", "-1", "ridge"),
    "memory": ("2GB", "100MB", "1", "-1GB"),
    "reach": ("0.1:2", "2:0.1", "0:1", "1"),
    "title": ("A title", "<script>", "é"),
    "dask": ("nonsense", "tcp://", "1:2"),
    "dt": ("0.1", "0.01"),
    "cutoff": ("1.5", "0.2"),
    "exclude_below": ("0.05", "2"),
    "detection": ("0.9", "0", "1", "2"),
    "position_error": ("0.01", "5"),
    "max_distance": ("0.5", "1e-9"),
    "names": ("all", "sample-size", "nothing"),
}
NUMBERS = ("1", "0.5", "2", "0", "-1", "nan", "inf", "-inf", "1e-300", "1e300", "1e-9", "3")
WHOLE = ("1", "2", "3", "0", "-1", "-99999999999999999999", "99999999999999999999", "7")
# what decides how long a command works is never left to chance
BOUNDED: dict[tuple[str, str], tuple[str, ...]] = {
    ("simulate", "runs"): ("1", "2", "3", "0", "-4"),
    ("simulate", "particles"): ("1", "2", "5", "0"),
    ("simulate", "dim"): ("1", "2", "3", "5", "0"),
    ("simulate", "duration"): ("0.02", "0.05", "0", "-1", "nan", "inf"),
    ("simulate", "step"): ("1e-3", "5e-3", "0", "-1", "nan", "0.003"),
    ("simulate", "every"): ("1e-2", "5e-3", "0", "nan", "1"),
    ("demo", "runs"): ("2", "3", "20", "1", "0"),
    ("watch", "every"): ("0.1", "0", "-1", "nan"),
    ("validate", "replicates"): ("19", "20", "0", "18"),
    ("export", "points"): ("10", "50", "9", "1000001"),
}
ALWAYS = {
    "simulate": ["--runs", "2", "--particles", "3", "--duration", "0.02", "--step", "1e-3"],
    "demo": ["--runs", "20"],
    "watch": ["--once"],
    "validate": ["--replicates", "19"],
}


@dataclass
class Line:
    """A command line, and what is known of it before it is typed."""

    words: list[str]
    wrong: bool = False
    """an option or value is not of its type, so that this must be refused as wrong usage"""


@dataclass(frozen=True)
class Parameter:
    """An option or argument of a command: its name, how it is typed, and what it takes."""

    name: str
    names: tuple[str, ...]
    """--output, -o; none of an argument"""
    kind: Any
    several: bool
    required: bool


def parameters_of(command: Any) -> list[Parameter]:
    """What the signature of a command says."""
    hints, found = get_type_hints(command, include_extras=True), []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, said = get_args(hints[name])[:2]
        kinds = [one for one in get_args(kind) if one is not type(None)] if isinstance(kind, UnionType) else [kind]
        several = get_origin(kinds[0]) is list
        names = ()
        if isinstance(said, OptionInfo):
            names = tuple(one for one in said.param_decls or () if one.startswith("-")) or (
                f"--{name.strip('_').replace('_', '-')}",
            )
        required = parameter.default is inspect.Parameter.empty
        found.append(Parameter(name, names, get_args(kinds[0])[0] if several else kinds[0], several, required))
    return found


DATA = ("data.npz", "data.csv", "data.h5", "few.extxyz", "three.npz", "two.npz", "still.npz", "plain.npy", "runs")
FITS = ("fit.trackless", "splines.trackless", "free.trackless")
DOUBTFUL = (
    "bad-data.npz",
    "bad-data.csv",
    "bad-fit.trackless",
    "empty.csv",
    "empty",
    "missing.npz",
    "no/such/folder/x.csv",
    "there.png",
    "",
    ".",
    "/",
    "/dev/null",
    "/etc/shadow/x",
    "日本語.csv",
    "a\nb.npz",
    "x" * 300 + ".csv",
    "nul\0.npz",
    "[bold].npz",
    "-o",
    "data.npz/x",
    "\udcff.npz",
)
OUTPUTS = (
    "out.npz",
    "out.csv",
    "out.trackless",
    "out.html",
    "out.png",
    "out.pdf",
    "out.svg",
    "out.table",
    "out.py",
    "out",
    "out.h5",
    "out.extxyz",
    "out.lammpstrj",
    "out.zarr",
    "out.parquet",
    "out.md",
    "日本 é.npz",
    "there.png",
    "fit.trackless",
    "data.csv",
    "empty",
    "runs",
    "locked/out.npz",
    "no/such/folder/out.csv",
    "/proc/out.npz",
    "/dev/null",
    "data.npz/out",
    "",
    ".",
    "out.xyz.gz",
    "out.tsv",
    "x" * 300 + ".npz",
    "nul\0.csv",
    "[/bold].png",
    "a\nb.csv",
    "\udcff.csv",
)
FITTING = {
    "simulate": (".npz", ".csv", ".h5", ".tsv", ".extxyz", ".parquet"),
    "fit": (".trackless",),
    "watch": (".trackless",),
    "report": (".html",),
    "export": (".table", ".csv", ".py"),
    "demo": (".png", ".svg"),
    "benchmark": (".md",),
}


def random_line(commands: dict[str, list[Parameter]], generator: np.random.Generator) -> Line:
    """A command with some of its options; most are possible, some are not."""
    names, weights = list(COMMANDS), np.array(list(COMMANDS.values()), float)
    name = str(generator.choice(names, p=weights / weights.sum()))
    if name not in commands:
        words = [name] if name else [[], ["--version"], ["--help"], ["--nonsense"], [""]][generator.integers(5)]
        return Line(words, wrong=words in (["fti"], ["--nonsense"], [""]))
    line = Line([name, *ALWAYS.get(name, ())])
    doubt = generator.choice([0.0, 0.1, 0.4])  # what part of the values is odd
    expensive = name in ("benchmark", "reproduce")  # only ever asked for what is refused or listed
    for parameter in commands[name]:
        chance = 0.97 if parameter.required else 0.02 if parameter.name == "dask" else 0.12
        if generator.random() < chance and not (expensive and parameter.name in ("names", "output")):
            _add(line, name, parameter, doubt, generator)
    if generator.random() < 0.02:
        line.words.append("--help")
    if name == "benchmark":
        line.words += ["--output", ("there.png", "there.png/out.md", "empty", "/proc/out.md")[generator.integers(4)]]
        line.words = [word for word in line.words if word != "--force"]
    elif name == "reproduce":
        line.words += [["--list"], ["nonsense"], []][generator.integers(3)]
    if generator.random() < 0.03:
        line.words.append("--nonsense")
        line.wrong = True
    if generator.random() < 0.05:
        tail = line.words[1:]
        generator.shuffle(tail)
        line = Line([name, *tail])  # values without their options: what is right is not known any more
    return line


def _add(line: Line, command: str, parameter: Parameter, doubt: float, generator: np.random.Generator) -> None:
    """One option or argument with a value."""
    named = [parameter.names[generator.integers(len(parameter.names))]] if parameter.names else []
    if parameter.kind is bool:
        line.words += named
        return
    for _ in range(int(generator.choice([1, 1, 1, 2])) if parameter.several else 1):
        value, wrong = _value(command, parameter, doubt, generator)
        line.words += [*named, value]
        line.wrong |= wrong and bool(named)  # what begins with "-" is no argument, and counts as an option


def _value(command: str, parameter: Parameter, doubt: float, generator: np.random.Generator) -> tuple[str, bool]:
    """A value, and whether it is certainly none for this option."""

    def one(of: tuple[str, ...]) -> str:
        return of[generator.integers(len(of))]

    kind, name, odd = parameter.kind, parameter.name, generator.random() < doubt
    if (command, name) in BOUNDED:
        return one(BOUNDED[command, name]), False
    if kind is Path:
        if name in ("output", "figure", "checkpoint"):
            endings = (".png", ".svg") if name == "figure" else FITTING.get(command, ("",))
            return (one(OUTPUTS) if odd else f"out{one(endings)}"), False
        if odd:
            return one((*DOUBTFUL, *DATA, *FITS)), False
        if command == "watch":
            return "runs", False
        fits = FITS[:2] if command in ("validate", "report") else FITS  # the last one takes a minute to simulate
        return one(fits if name in ("fit", "fitted") else DATA), False
    if issubclass(kind, StrEnum):
        return ("nonsense", True) if odd else (one(tuple(kind)), False)
    if kind is int:
        return (one(("x", "1.5", "", "nan", "1e3")), True) if odd else (one(WHOLE), False)
    if kind is float:
        return (one(("x", "", "1,5", "--")), True) if odd else (one((*GOOD_TEXT.get(name, ()), *NUMBERS)), False)
    return (one(STRANGE_TEXT) if odd else one(GOOD_TEXT.get(name, STRANGE_TEXT))), False
