"""How the cost of the main operations grows: exponents in runs, particles and functions, from timings in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trackless import models
from trackless._progress import track
from trackless.accumulation import accumulate, closed_bases
from trackless.radial_splines import RadialSplines
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

REPEATS = 3
DENSITY, REACH = 1.0, 2.5  # of crowds in periodic boxes, and where their interactions end


class Growth(NamedTuple):
    """How the time of an operation grows with one size."""

    operation: str
    size: str
    expected: float
    seconds: Mapping[int, float]

    @property
    def exponent(self) -> float:
        """Slope of log time against log size between the two largest sizes.

        Examples
        --------
        >>> round(Growth("sort", "N", 2, {10: 9.0, 100: 10.0, 1000: 1000.0}).exponent, 6)
        2.0
        """
        (small, first), (large, second) = sorted(self.seconds.items())[-2:]
        return float(np.log(second / first) / np.log(large / small))


def growth(quick: bool = False, seed: int = 0) -> list[Growth]:
    """Time of accumulation against runs, particles (with and without a cutoff) and functions; of simulation."""
    factor = 1 if quick else 4
    cases: list[tuple[str, str, float, tuple[int, ...], Callable[[int], Callable[[], object]]]] = [
        ("accumulate", "runs M", 1, (50 * factor, 100 * factor, 200 * factor), lambda m: _runs(m, seed)),
        ("accumulate, all pairs", "particles N", 2, (200, 400, 400 * factor), lambda n: _crowd(n, None, seed)),
        (
            "accumulate, cutoff at constant density", "particles N", 1, (1000, 5000, 5000 * factor),
            lambda n: _crowd(n, REACH, seed),
        ),
        ("accumulate", "functions K", 2, (40, 80, 160), lambda k: _functions(k, factor, seed)),
        ("simulate", "runs M", 1, (500, 1000, 1000 * factor), lambda m: _simulated(m, 10, seed)),
        ("simulate, all pairs", "particles N", 2, (40, 80, 80 * factor), lambda n: _simulated(100, n, seed)),
    ]  # fmt: skip
    found = []
    for operation, size, expected, sizes, job in track(cases, "scaling", len(cases)):
        jobs = {value: job(value) for value in dict.fromkeys(sizes)}
        found.append(Growth(operation, size, expected, _timed(jobs)))
    return found


def _timed(jobs: Mapping[int, Callable[[], object]]) -> dict[int, float]:
    """The shortest of a few timings of each, taken in turns so that a disturbance meets all alike."""
    next(iter(jobs.values()))()  # compile
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(REPEATS):
        for size, job in jobs.items():
            start = time.perf_counter()
            job()
            best[size] = min(best[size], time.perf_counter() - start)
    return best


def _runs(runs: int, seed: int) -> Callable[[], object]:
    data = simulate(models.reference(), runs=runs, step=1e-3, observe_every=1e-2, seed=seed)
    bases = closed_bases(data, RadialSplines(20), RadialSplines(40))
    return lambda: accumulate(data, *bases, windows=1)


def _functions(functions: int, factor: int, seed: int) -> Callable[[], object]:
    data = simulate(models.reference(), runs=25 * factor, step=1e-3, observe_every=1e-2, seed=seed)
    bases = closed_bases(data, RadialSplines(functions // 4), RadialSplines(3 * functions // 4))
    return lambda: accumulate(data, *bases, windows=1, blocks=1)


def _crowd(particles: int, reach: float | None, seed: int) -> Callable[[], object]:
    """Two snapshots of particles that are spread evenly in a periodic box (with a cutoff), or in free space."""
    side = (particles / DENSITY) ** 0.5
    positions = np.random.default_rng(seed).uniform(0, side, (1, 2, particles, 2))
    data = Snapshots(positions, [0.0, 1.0], box=side if reach is not None else None)
    family = RadialSplines(24, lower=0.0, upper=None if reach is not None else 2 * side, cutoff=reach)
    return lambda: accumulate(data, None, family, coupling="sum", windows=1)


def _simulated(runs: int, particles: int, seed: int) -> Callable[[], object]:
    start = np.random.default_rng(seed).normal(0, 0.5, (runs, particles, 2))
    return lambda: simulate(
        models.reference(), particles=particles, runs=runs, duration=0.02, observe_every=0.02, initial=start, seed=seed
    )
