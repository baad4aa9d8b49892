"""All commands, and what becomes of errors."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from rich.markup import escape

from trackless._errors import InputError
from trackless.cli.benchmark import benchmark
from trackless.cli.common import UsageError, console, errors
from trackless.cli.demo import demo
from trackless.cli.export import export
from trackless.cli.fit import fit
from trackless.cli.inspect import inspect
from trackless.cli.report import report
from trackless.cli.reproduce import reproduce
from trackless.cli.simulate import simulate
from trackless.cli.usage import REFUSED, in_one_line, with_help
from trackless.cli.validate import validate
from trackless.cli.watch import watch
from trackless.cli.words import as_typed

app = typer.Typer(
    help="Learn the forces between particles without tracking them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (demo, simulate, inspect, fit, watch, validate, report, export, reproduce, benchmark)
for command in COMMANDS:
    app.command()(command)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", metavar="", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from trackless import __version__

        console.print(f"trackless {__version__}", highlight=False)
        raise typer.Exit


def run() -> None:
    """Do what was typed, and leave with a code: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted.

    Bad input never ends in a traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files may hold what a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    code: object = 0
    try:
        code = app(standalone_mode=False, prog_name="trackless")  # otherwise the framework prints errors in its own way
    except REFUSED as error:
        if not (said := in_one_line(error)):  # the help was shown, as nothing at all was typed
            sys.exit(2)
        _fail_usage(said)
    except UsageError as error:
        _fail_usage(as_typed(str(error)))
    except InputError as error:
        _fail(as_typed(str(error)))
    except MemoryError:
        _fail("there is not enough memory for this; use fewer functions, runs or particles")
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (KeyboardInterrupt, SystemExit) as end:
        code = 130 if isinstance(end, KeyboardInterrupt) else end.code
    if code == 130:  # the framework turns an interrupt into this code without a word
        errors.print("interrupted; no file was left half-written")
    sys.exit(code if isinstance(code, int) else 0)


def _fail_usage(message: str) -> None:
    _fail(with_help(message, sys.argv[1:], [command.__name__ for command in COMMANDS]), 2)


def _fail(message: str, code: int = 1) -> None:
    shown = "".join(
        letter if letter.isprintable() else repr(letter)[1:-1] for letter in message
    )  # a line, come what may
    errors.print(f"[bold red]error:[/bold red] {escape(shown)}", highlight=False, soft_wrap=True)
    sys.exit(code)
