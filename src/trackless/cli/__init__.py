"""The command line. No science here: every command is a few calls of the public interface."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point; commands are loaded in here, so that an interrupt meanwhile is one line, too."""
    try:
        from trackless.cli.commands import run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was done yet\n")
        sys.exit(130)
    run()
