"""How tests type commands."""

import subprocess
import sys


def trackless(*arguments, cwd, **options):
    command = [sys.executable, "-m", "trackless.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **options)


def interruptible(*arguments) -> list[str]:
    """A command that listens to interrupts even where the tests themselves, started in the background, do not."""
    listening = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    program = f"{listening} runpy.run_module('trackless.cli', run_name='__main__')"
    return [sys.executable, "-c", program, *map(str, arguments)]
