"""Data larger than memory: what a pass over files costs in time and memory, beside one over a part that is in memory.

    python -m trackless.benchmarks.storage FOLDER --gigabytes 20 --memory 1GB --form zarr

writes random positions, reduces them to moments within the limit, and deletes them. Passes over files and in memory are
timed in processes of their own, in turns, because other work on the machine comes and goes.
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
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trackless as tl
from trackless.accumulation import closed_bases

TIMES, PARTICLES, DIM, DT = 1001, 10, 2, 1e-3
RUN_BYTES = 8 * TIMES * PARTICLES * DIM
PART = 500_000_000  # bytes that are in memory for comparison
BASES = (12, 24)  # splines for V and Phi


class Passes(NamedTuple):
    """Several passes, together."""

    size: float
    """bytes of positions"""
    seconds: float
    processor: float
    """seconds of all threads"""
    peak: float
    """bytes of anonymous memory of the process, at most"""

    def joined(self, other: Passes) -> Passes:
        """Both."""
        size, seconds, processor = (a + b for a, b in zip(self[:3], other[:3], strict=True))
        return Passes(size, seconds, processor, max(self.peak, other.peak))


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


def work(path: Path, memory: str | None, part: int | None = None) -> None:
    """Accumulate the runs that each line of the input asks for, within a limit; or always so many held in memory."""
    tl.set_memory(memory)
    data = tl.read(path, dt=DT, lazy=True)
    few = tl.Snapshots(np.asarray(data[:64].positions), data.times)
    bases = closed_bases(few, *map(tl.RadialSplines, BASES))
    tl.accumulate(few, *bases)  # kernels are compiled, or loaded
    held = tl.Snapshots(np.asarray(data[:part].positions), data.times) if part is not None else None
    for line in sys.stdin:
        first, last = map(int, line.split())
        asked = held if held is not None else data[first:last]
        with anonymous_peak() as peak:
            start = time.perf_counter(), time.process_time()
            tl.accumulate(asked, *bases)
            end = time.perf_counter(), time.process_time()
        print(asked.nbytes, end[0] - start[0], end[1] - start[1], peak[0], flush=True)


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


class _Worker:
    """A process that accumulates when it is told to."""

    def __init__(self, path: Path, memory: str | None, part: int | None) -> None:
        code = f"from trackless.benchmarks.storage import *; work(Path(sys.argv[1]), {memory!r}, {part!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.passes = Passes(0.0, 0.0, 0.0, 0.0)

    def run(self, first: int, last: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{first} {last}\n")
        self.process.stdin.flush()
        self.passes = self.passes.joined(Passes(*map(float, self.process.stdout.readline().split())))

    def close(self) -> None:
        self.process.communicate()


def measure(path: Path, memory: str, turns: int = 20) -> tuple[Passes, Passes]:
    """A pass over all of a file within a limit, and in turns with it passes over a part that is in memory."""
    runs = len(tl.read(path, dt=DT, lazy=True))
    workers = _Worker(path, memory, None), _Worker(path, None, min(runs, PART // RUN_BYTES))
    cuts = np.linspace(0, runs, min(turns, runs // 4) + 1).astype(int).tolist()
    for turn in pairwise(cuts):
        for worker in workers:
            worker.run(*turn)
    for worker in workers:
        worker.close()
    return workers[0].passes, workers[1].passes


def main() -> None:
    """Write, measure, print, delete."""
    parser = argparse.ArgumentParser(description="accumulate data larger than memory")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--form", default="npy", choices=["npy", "h5", "zarr"])
    parser.add_argument("--turns", type=int, default=20, help="with the passes in memory")
    parser.add_argument("--keep", action="store_true", help="do not delete the file, and use it if it is there")
    asked = parser.parse_args()
    path = asked.folder / f"storage-benchmark.{asked.form}"
    if not (asked.keep and path.exists()):
        generate(path, asked.gigabytes * 1e9)
    try:
        in_file, in_memory = measure(path, asked.memory, asked.turns)
        rates, costs = ([p.size / t / 1e6 for p in (in_file, in_memory) for t in (p[which],)] for which in (1, 2))
        print(
            f"{in_file.size / 1e9:.3g} GB in {path.suffix} within {asked.memory}: {rates[0]:.0f} MB/s, "
            f"{rates[0] / rates[1]:.0%} of {rates[1]:.0f} MB/s in memory; per second of a processor {costs[0]:.0f} MB, "
            f"{costs[0] / costs[1]:.0%} of {costs[1]:.0f} MB; anonymous memory up to {in_file.peak / 1e9:.2f} GB"
        )
    finally:
        if not asked.keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main()
