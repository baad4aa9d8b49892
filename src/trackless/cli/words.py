"""Sentences of the library in the words of the command line: what is cutoff= in Python is --cutoff here."""

from __future__ import annotations

import re
from functools import cache

import typer

OTHERWISE = {"overwrite": "--force", "observe_every": "--interval", "client": "--dask"}  # Python's names for options
_VALUE = r"(?P<value>'[^']*'|\{[^}]*\}|None|True|False|\.\.\.|[-+]?\d[\d.e+-]*\d|\d)?"  # as Python writes it


def as_typed(text: str) -> str:
    """A sentence that names arguments of Python, with the options that stand for them.

    Examples
    --------
    >>> as_typed("give the time of a step (dt=, --dt), use coupling='sum' or leave V out (external=None)")
    'give the time of a step (--dt), use --coupling sum or leave V out (--external none)'
    >>> as_typed("cutoff: expected a distance above exclude_below, got 0.1")
    '--cutoff: expected a distance above --exclude-below, got 0.1'
    >>> as_typed("use every third snapshot (every(3))")
    'use every third snapshot (--every 3)'
    >>> as_typed("validate: the fit is of the species a, b, the data have none")
    'validate: the fit is of the species a, b, the data have none'
    """
    names = "|".join(map(re.escape, _options()))
    # "validate: ..." is said by what was called, not of the option --validate of another command
    text = re.sub(rf"^({names})(?=: | \()", lambda f: f[1] if f[1] in _commands() else _options()[f[1]], text)
    text = re.sub(r"(?<![\w.])every\((\d+)\)", r"--every \1", text)
    parts = re.split(r"(tl\.\w+\([^)]*\))", text)  # a call stays as it is
    parts[::2] = [re.sub(rf"(?<![\w./-])(?P<name>{names})={_VALUE}", _option, part) for part in parts[::2]]
    joined = "|".join(name for name in _options() if "_" in name)  # no word of a sentence
    parts[::2] = [re.sub(rf"(?<![\w./-])({joined})(?!\w)", lambda f: _options()[f[1]], part) for part in parts[::2]]
    text = "".join(parts)
    text = re.sub(r"(--[\w-]+)(?: [\w.]+)?, (?=\1\b)", "", text)  # what was said in both ways
    return re.sub(r"(--[\w-]+)(?: \S+)? \((\1(?: [^)]*)?)\)", r"\2", text)


@cache
def _commands() -> frozenset[str]:
    """Names of commands, which are those of functions in Python."""
    from trackless.cli.commands import app

    return frozenset(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@cache
def _options() -> dict[str, str]:
    """Name of an argument in Python -> the option of whatever command has it."""
    from trackless.cli.commands import app

    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    every = [option for command in commands for parameter in command.params for option in parameter.opts]
    return {option[2:].replace("-", "_"): option for option in every if option.startswith("--")} | OTHERWISE


def _option(found: re.Match[str]) -> str:
    option, value = _options()[found["name"]], found["value"] or ""
    if value in ("", "True", "False"):
        return f"{'no ' * (value == 'False')}{option}"
    if value.startswith("{"):  # {'x': ..., 'y': ...} is x=...,y=...
        value = value.strip("{}").replace("': ", "=").replace("'", "").replace(", ", ",")
    return f"{option} {'none' if value == 'None' else value.strip(chr(39))}"
