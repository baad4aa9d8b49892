"""Where results come from: when, with which code, on what machine, at what cost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trackless import __version__

PROTOCOLS = {True: "quick", False: "full"}
PROCESS = Path("/proc/self")
RESET_PEAK = "5"  # what Linux takes as a wish to measure the largest memory anew


class Cost(NamedTuple):
    """Of a part."""

    seconds: float
    memory: float
    """largest meanwhile, in GB"""
    commit: str

    @classmethod
    def read(cls, seconds: str, memory: str, commit: str) -> Cost | None:
        """From text; None where it is none.

        Examples
        --------
        >>> Cost.read("2.5", "0.8", "abc1234"), Cost.read("2.", "x", "abc1234")
        (Cost(seconds=2.5, memory=0.8, commit='abc1234'), None)
        """
        try:
            return cls(float(seconds), float(memory), commit)
        except ValueError:
            return None


def forget_peak() -> None:
    """Measure the largest memory from now on, where the system can."""
    with suppress(OSError):
        (PROCESS / "clear_refs").write_text(RESET_PEAK)


def peak_memory() -> float:
    """The largest memory this process has had since :func:`forget_peak`, in GB; since it began where that cannot be."""
    try:
        lines = (PROCESS / "status").read_text().splitlines()
        return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 2**30 if sys.platform == "darwin" else 2**20
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def record(seconds: float, own: float, memory: float, commits: list[str], quick: bool = False) -> dict[str, Any]:
    """When, with which code, on what machine, for how long, with how much memory (GB), under which protocol.

    ``own`` seconds were not spent for experiments before it; ``commits`` are of the parts, and of the section itself.
    """
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "protocol": PROTOCOLS[quick],
        "date": date.today().isoformat(),
        "version": __version__,
        "commit": " and ".join(commits),
        "machine": f"{os.cpu_count()} cores, {there:.0f} GB",
        "minutes": round(seconds / 60, 1),
        "own minutes": round(own / 60, 1),
        "peak memory": round(memory, 1),
    }


@cache
def commit() -> str:
    """The commit of this code; "unknown" where it is installed and no checkout, even inside of one of other code."""
    here = Path(__file__)
    try:
        for command in (["ls-files", "--error-unmatch", here.name], ["rev-parse", "--short", "HEAD"]):
            found = subprocess.run(
                ["git", *command], cwd=here.parent, capture_output=True, text=True, check=True, timeout=10
            )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()
