"""Wrong usage that the framework finds, before a command begins, as one line like all other errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import cast

import typer

# the class of all that the framework refuses has no public name; this is its child in every version
REFUSED = cast("type[Exception]", typer.BadParameter.__bases__[0])
_OF_VALUE = re.compile(r"^Invalid value for '([^']+)'(?: / '[^']+')*: (?:Value error, )?(?:Input should be (?=.))?")


def in_one_line(refused: Exception) -> str:
    """What the framework says, with what came; empty where it has shown the help instead.

    Examples
    --------
    >>> in_one_line(typer.BadParameter("Input should be at least 1", param_hint="'--every'"))
    '--every: must be at least 1'
    """
    formatted = getattr(refused, "format_message", refused.__str__)()
    said = " ".join(formatted.split()).removesuffix(".")
    if (found := _OF_VALUE.match(said)) is None:
        return said[:1].lower() + said[1:]
    rest, must = said[found.end() :], "must be " * found[0].endswith("should be ")
    came = _what_came(refused)
    return f"{found[1]}: {must}{rest}" + (f", got {came}" if came and came not in rest else "")


def with_help(message: str, arguments: Sequence[str], commands: Collection[str]) -> str:
    """The message, and how to see what a command takes.

    Examples
    --------
    >>> with_help("--dt: expected a number above 0, got -1", ["fit", "--dt", "-1"], ["fit"])
    '--dt: expected a number above 0, got -1; see trackless fit --help'
    """
    command = f"{arguments[0]} " if arguments and arguments[0] in commands else ""
    return f"{message}; see trackless {command}--help"


def _what_came(refused: Exception) -> str:
    """The value that was refused, where the framework has kept it."""
    errors = getattr(refused.__cause__, "errors", None)
    found = errors() if callable(errors) else []
    value = found[0].get("input") if isinstance(found, list) and found else None
    return repr(value) if isinstance(value, (str, int, float)) else ""
