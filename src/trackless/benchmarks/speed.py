"""Speed as ratios: the kernels against plain NumPy, timed in one run on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from trackless import models
from trackless._kernels import FAST
from trackless._threads import get_threads
from trackless._threads import run as run_threads
from trackless.accumulation import accumulate, closed_bases
from trackless.basis import Basis
from trackless.benchmarks import baselines
from trackless.benchmarks.training import throughput
from trackless.matching import TOLERANCE, Matching
from trackless.quadrature import weights
from trackless.radial_splines import RadialSplines
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

# Floating-point operations per pair in two dimensions: offsets and distance 10, cell 6; for each function that is not 0
# there (all given ones, four splines) value and derivatives 17, forces 12, and its products with those before, 2 each.
OF_A_PAIR, OF_A_FUNCTION, SPLINES_AT_A_PLACE = 16, 29, 4


class Comparison(NamedTuple):
    """One line of the benchmark."""

    what: str
    ours: str
    baseline: str
    ratio: float | None


def measure(quick: bool = False, seed: int = 0) -> list[Comparison]:
    """Accumulation on two bases, how far it is from the processor's peak, matching, simulation, training."""
    model = models.reference()
    runs = 200 if quick else 2000
    data = simulate(model, runs=runs, step=1e-3, observe_every=1e-3, seed=seed, labeled=True)
    what = f"accumulate {runs} x 1001 snapshots"
    splines = closed_bases(data, RadialSplines(20), RadialSplines(80))
    oracle = closed_bases(data, model.external_basis, model.interaction_basis)
    few, four = _accumulation(f"{what}, 4 functions", data, oracle, baselines.given_functions, quick)
    many, hundred = _accumulation(f"{what}, 100 splines", data, splines, baselines.splines, quick)
    speed = [_share(data, few, 2, 2, 4), _share(data, many, SPLINES_AT_A_PLACE, SPLINES_AT_A_PLACE, 100)]
    matching = [_matching(data, Matching(name, sigma=1.0), quick) for name in ("assignment", "sinkhorn")]
    training = [_training(radial, quick, seed) for radial in (True, False)]
    return [four, hundred, *speed, *matching, _simulation(model, quick, seed), *training]


def _share(data: Snapshots, seconds: float, external: int, interaction: int, size: int) -> Comparison:
    """How far accumulation is from what the processor can do, by counting operations.

    ``external`` and ``interaction`` functions are not 0 at a place; there are ``size`` in all.
    """
    particles = data.positions.shape[2]
    pairs = particles * (particles - 1) / 2
    at_pairs = OF_A_PAIR + OF_A_FUNCTION * interaction + interaction * (interaction + 1)
    of_products = particles * data.dim * size * (size + 1)  # a multiply-add for each pair of functions
    operations = pairs * at_pairs + particles * (OF_A_PAIR + OF_A_FUNCTION * external) + of_products
    rate, peak = data.frames * operations / seconds, peak_flops()
    return Comparison(
        f"share of the peak, {size} functions ({operations / 1e3:.3g} k operations a snapshot)",
        f"{rate / 1e9:.1f} GFlop/s", f"{peak / 1e9:.1f} GFlop/s (peak)", rate / peak,
    )  # fmt: skip


def _training(radial: bool, quick: bool, seed: int) -> Comparison:
    ours, plain = throughput(radial, quick, seed)
    what = f"train networks on snapshots, {'radial' if radial else 'not radial'}"
    return Comparison(what, f"{ours:.0f} /s", f"{plain:.0f} /s (Hessians in JAX)", ours / plain)


def _accumulation(
    what: str,
    data: Snapshots,
    bases: tuple[Basis | None, Basis | None],
    plain: Callable[[Any], baselines.Family],
    quick: bool,
) -> tuple[float, Comparison]:
    """Our seconds for all snapshots, and the comparison with the plain loop, timed on a part and scaled."""
    part = data[:1].every(5 if quick else 2)
    slow = [plain(basis) for basis in bases]
    accumulate(data[:2], *bases)  # compile
    ours = best_time(lambda: accumulate(data, *bases), 3)
    theirs = best_time(lambda: baselines.accumulate(part.positions, weights(part.times), *slow), 3)
    theirs *= data.frames / part.frames
    rate = f"{ours:.2f} s, {data.frames / ours / 1e3:.0f} k/s"
    return ours, Comparison(what, rate, f"{theirs:.0f} s (scaled)", theirs / ours)


def _matching(data: Snapshots, matching: Matching, quick: bool) -> Comparison:
    """All pairs of consecutive snapshots matched on all threads, against a loop over pairs timed on a part."""
    runs, times, particles, _ = data.positions.shape
    gap = float(data.times[1] - data.times[0])
    starts = np.arange(times + 1) * particles
    first = np.arange(times - 1)
    gaps = np.full(times - 1, gap)

    def match(run: int) -> int:
        points = data.positions[run].reshape(-1, data.dim)
        return int(matching.moves(points, starts, first, first + 1, gaps, data.box).right.sum())

    match(0)  # compile
    ours = best_time(lambda: run_threads(match, range(runs)), 3)
    part = data.positions[0, : 51 if quick else 201]
    if matching.method == "assignment":
        theirs = best_time(lambda: baselines.match_exactly(part), 3)
    else:
        slow = partial(baselines.match_entropically, part, 2 * gap, TOLERANCE[matching.method], matching.sweeps)
        theirs = best_time(slow, 2)
    theirs *= runs * (times - 1) / (len(part) - 1)
    return Comparison(
        f"match {runs} x {times - 1} pairs of snapshots, {matching.method}",
        f"{ours:.2f} s, {ours / (runs * (times - 1)) * 1e6:.2f} us a pair",
        f"{theirs:.0f} s (scaled)",
        theirs / ours,
    )


def _simulation(model: models.Model, quick: bool, seed: int) -> Comparison:
    runs, steps = 2000, 20 if quick else 100
    start = np.random.default_rng(seed).normal(0, 0.5, (runs, 10, 2))
    simulate(model, runs=16, duration=0.01, observe_every=0.01, initial=start[:16])  # compile
    duration = 10 * steps * 1e-4
    ours = (
        best_time(lambda: simulate(model, runs=runs, duration=duration, observe_every=duration, initial=start), 3) / 10
    )
    external, interaction = model.external, model.interaction
    slow = lambda: baselines.euler_maruyama(start, steps, 1e-4, external, interaction, 1.0, seed)  # type: ignore[arg-type]  # noqa: E731
    theirs = best_time(slow, 2)
    each = ours / (runs * steps)
    return Comparison(
        f"simulate {runs} runs, per {steps} steps",
        f"{ours:.3f} s, {each * 1e9:.0f} ns a run and step",
        f"{theirs:.2f} s",
        theirs / ours,
    )


def best_time(job: Callable[[], object], repeats: int) -> float:
    """The shortest of a few timings: other processes only ever add."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


@njit(nogil=True, fastmath=FAST, cache=True)
def _multiply_add(values, rounds):
    """Two chains of 32 multiply-adds on each of the values, ``rounds`` times: vectorised, from the first cache."""
    total = 0.0
    for _ in range(rounds):
        for i in range(values.shape[0]):
            x = values[i]
            y, z = x, 1.0 - x
            for _ in range(32):
                y = y * x + 0.25
                z = z * x + 0.75
            total += y + z
    return total


def peak_flops() -> float:
    """Floating-point operations per second that compiled, vectorised multiply-adds reach here on all threads."""
    values, rounds = np.linspace(0.1, 0.9, 256), 4000
    _multiply_add(values, 10)  # compile
    threads = get_threads()
    # The first task of a batch runs alone, the rest side by side.
    alone = best_time(lambda: _multiply_add(values, rounds), 3)
    together = best_time(lambda: run_threads(lambda _: _multiply_add(values, rounds), range(threads + 1)), 3) - alone
    return 4 * 32 * len(values) * rounds * threads / together
