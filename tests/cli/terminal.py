"""How tests type commands."""

import subprocess
import sys


def trackless(*arguments, cwd, **options):
    command = [sys.executable, "-m", "trackless.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **options)
