"""Data larger than memory: what a pass over files costs in time and memory, beside one over a part that is in memory.

    python -m trackless.benchmarks.storage FOLDER --gigabytes 20 --memory 1GB --form zarr

writes random positions, reduces them to moments within the limit, and deletes them. Both passes are timed in processes
of their own, the one in memory before and after the other, because other work on the machine comes and goes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trackless as tl
from trackless.accumulation import closed_bases

TIMES, PARTICLES, DIM, DT = 1001, 10, 2, 1e-3
RUN_BYTES = 8 * TIMES * PARTICLES * DIM
PART = 500_000_000  # bytes that are in memory for comparison
BASES = (12, 24)  # splines for V and Phi


class Pass(NamedTuple):
    """One pass over a file."""

    rate: float
    """bytes per second"""
    peak: float
    """bytes of anonymous memory of the process, at most"""


def generate(path: Path, size: float, seed: int = 0) -> None:
    """Random positions of about so many bytes, written piece by piece to an .npy, .h5 or .zarr file."""
    runs = max(8, int(size // RUN_BYTES))
    shape = (runs, TIMES, PARTICLES, DIM)
    generator = np.random.default_rng(seed)
    with _target(path, shape) as target:
        for first in range(0, runs, 100):
            part = min(100, runs - first)
            target[first : first + part] = generator.normal(0, 0.5, (part, *shape[1:]))


@contextmanager
def _target(path: Path, shape: tuple[int, ...]) -> Iterator[Any]:
    chunks = (50, *shape[1:])
    if path.suffix == ".npy":
        array = np.lib.format.open_memmap(path, "w+", np.float64, shape)
        yield array
        array.flush()
    elif path.suffix == ".zarr":
        import zarr

        yield zarr.create_array(path, shape=shape, dtype="float64", chunks=chunks)
    else:
        import h5py

        with h5py.File(path, "w") as file:
            yield file.create_dataset("positions", shape, np.float64, chunks=chunks)


def timed(path: Path, memory: str | None, part: int | None = None) -> Pass:
    """Accumulate a file within a limit, or (without one) so many of its runs that were brought into memory."""
    data = tl.read(path, dt=DT, lazy=True)
    few = data[:64]
    bases = closed_bases(tl.Snapshots(np.asarray(few.positions), few.times), *map(tl.RadialSplines, BASES))
    tl.accumulate(few, *bases)  # kernels are compiled, or loaded
    if part is not None:
        data = tl.Snapshots(np.asarray(data[:part].positions), data.times)
    with anonymous_peak() as peak:
        start = time.perf_counter()
        tl.accumulate(data, *bases, memory=memory)
        seconds = time.perf_counter() - start
    return Pass(data.nbytes / seconds, peak[0])


@contextmanager
def anonymous_peak(every: float = 0.005) -> Iterator[list[float]]:
    """The most anonymous memory in bytes that this process has while the block runs (Linux; 0 elsewhere)."""
    peak, done = [anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(every):
            peak[0] = max(peak[0], anonymous())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def anonymous() -> float:
    """Bytes of memory of this process that no file stands behind."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0.0)


def _in_process(path: Path, memory: str | None, part: int | None) -> Pass:
    code = f"from trackless.benchmarks.storage import *; print(*timed(Path(sys.argv[1]), {memory!r}, {part!r}))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return Pass(*map(float, done.stdout.split()))


def measure(path: Path, memory: str) -> tuple[Pass, Pass]:
    """A pass over all of a file within a limit, and one over a part of it in memory (the mean of two)."""
    part = max(8, PART // RUN_BYTES)
    before = _in_process(path, None, part)
    in_file = _in_process(path, memory, None)
    after = _in_process(path, None, part)
    return in_file, Pass((before.rate + after.rate) / 2, max(before.peak, after.peak))


def main() -> None:
    """Write, measure, print, delete."""
    parser = argparse.ArgumentParser(description="accumulate data larger than memory")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--form", default="npy", choices=["npy", "h5", "zarr"])
    parser.add_argument("--keep", action="store_true", help="do not delete the file, and use it if it is there")
    asked = parser.parse_args()
    path = asked.folder / f"storage-benchmark.{asked.form}"
    if not (asked.keep and path.exists()):
        generate(path, asked.gigabytes * 1e9)
    try:
        in_file, in_memory = measure(path, asked.memory)
        print(
            f"{asked.gigabytes:g} GB in {path.suffix} within {asked.memory}: {in_file.rate / 1e6:.0f} MB/s, "
            f"{in_file.rate / in_memory.rate:.0%} of {in_memory.rate / 1e6:.0f} MB/s in memory; "
            f"anonymous memory up to {in_file.peak / 1e9:.2f} GB"
        )
    finally:
        if not asked.keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main()
