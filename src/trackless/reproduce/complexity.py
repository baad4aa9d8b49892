"""Table 1 of the paper: cost of the methods, measured, with the exponents that the formulas predict."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless.accumulation import accumulate
from trackless.basis import GaussianRBF
from trackless.matching import Matching
from trackless.models import reference
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.sections import Claim, Section, Table
from trackless.reproduce.trained import network
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

TITLE = "Cost of the methods (Table 1)"
FORMULAS = {
    "labeled": "M L d N K (N + K) + K^3",
    "self_test": "M L d N K (N + K) + K^3",
    "sinkhorn": "M L d [N K (N + K) + T_S d N^2] + K^3",
}
NAMES = {"labeled": "labeled MLE", "self_test": "self-test", "sinkhorn": "Sinkhorn MLE"}
REPEATS = 5
BLOCKS = 32  # setting up many blocks would be a part of the time
GRIDS = {"M": (12800, 25600), "L": (3201, 6401), "N": (40, 80), "K": (20, 40)}
QUICK = {"M": (100, 400), "L": (51, 201), "N": (20, 40), "K": (10, 20)}


def parts(context: Context) -> list[Part]:
    return [Part("cost of the methods", context.store.has("complexity"), partial(costs_of, context), 200)]


def costs_of(context: Context) -> dict[str, NDArray[np.float64]]:
    """Seconds of processor time per method along each size; every time is the least of a few."""
    return context.store.arrays("complexity", partial(_measured, context))


def section(context: Context) -> Section:
    costs = costs_of(context)
    grids = {letter: _grid(letter, context.quick) for letter in GRIDS}
    exponents = {
        (method, letter): float(np.polyfit(np.log(grid[-2:]), np.log(costs[f"{method}-{letter}"][-2:]), 1)[0])
        for method in FORMULAS
        for letter, grid in grids.items()
    }
    usual = {method: float(costs[f"{method}-usual"]) for method in FORMULAS}
    rows = [
        (
            NAMES[method],
            FORMULAS[method],
            f"{usual[method] / usual['self_test']:.2f}",
            *(f"{exponents[method, letter]:.2f}" for letter in grids),
        )
        for method in FORMULAS
    ]
    columns = ("method", "paper's formula", "cost against the self-test", *(f"exponent in {x}" for x in grids))
    note = (
        "Exponents between two sizes: M = {M}, L = {L}, N = {N}, K_V = K_Phi = {K} Gaussian functions; "
        "elsewhere M = 100, L = 50, N = 10, K = 2 + 2. Costs against the self-test are those of {usual} runs. The "
        "formulas count operations of a plain loop; ours are below them where a pass does something else: a pair of "
        "particles touches four splines of a dictionary however many functions are made of it (K), and what does not "
        "grow with the pairs is still a part of the time (N). Below some thousand runs a part of the time is that of "
        "setting up the pass."
    ).format(**{letter: " and ".join(map(str, grid[-2:])) for letter, grid in grids.items()}, usual=_usual(context))
    rows.append(
        ("network", "E M L d (N P_V + N^2 P_Phi)", f"{float(costs['network']) / usual['self_test']:.0f}", *[""] * 4)
    )
    table = Table("complexity", "Measured in one run on this machine", columns, rows, note)
    claim = Claim(
        "Matching particles costs more than the self-test, which costs as much as the MLE with labels",
        usual["sinkhorn"] > 1.2 * usual["self_test"] and 0.4 < usual["labeled"] / usual["self_test"] < 2.5,
        f"Sinkhorn {usual['sinkhorn'] / usual['self_test']:.1f}, labels {usual['labeled'] / usual['self_test']:.1f} "
        "times the self-test, at dt = 0.01",
    )
    text = (
        "What is timed is the pass over the data (processor time of all threads); solving for a few coefficients "
        "takes no time. Of networks the whole fit is timed: they are trained on the moments of a dictionary, and after "
        "that one pass their cost no longer depends on the data, so that the paper's formula does not apply to them.",
    )
    return Section(TITLE, text, (table,), {}, (claim,))


def _grid(letter: str, quick: bool) -> tuple[int, ...]:
    return (QUICK if quick else GRIDS)[letter]


def _usual(context: Context) -> int:
    """Runs that methods are compared on."""
    return context.protocol.runs


def _measured(context: Context) -> dict[str, Any]:
    model = reference()
    matchings = {"labeled": Matching("labels"), "self_test": None, "sinkhorn": Matching("sinkhorn", sigma=1.0)}
    oracle = model.external_basis, model.interaction_basis

    def data(runs: int = 100, frames: int = 51, particles: int = 10) -> Snapshots:
        duration = 0.01 * (frames - 1)
        return simulate(model, particles=particles, runs=runs, duration=duration, step=1e-3, labeled=True, seed=1)

    costs: dict[str, list[float]] = {}
    for method, matching in matchings.items():
        passes: dict[str, list[Callable[[], Any]]] = {}
        options: dict[str, Any] = {"windows": 1, "blocks": BLOCKS, "matching": matching}
        for letter in GRIDS:
            grid = _grid(letter, context.quick)
            sets = {"M": lambda n: data(runs=n), "L": lambda n: data(frames=n), "N": lambda n: data(particles=n)}
            if letter == "K":
                seen = data()
                bases = [(GaussianRBF(n), GaussianRBF(n)) for n in grid]
                passes[letter] = [partial(accumulate, seen, *b, **options) for b in bases]
            else:
                passes[letter] = [partial(accumulate, sets[letter](n), *oracle, **options) for n in grid]
        for letter, calls in passes.items():
            costs[f"{method}-{letter}"] = [_seconds(call) for call in calls]
        usual = data(_usual(context))
        costs[f"{method}-usual"] = _seconds(partial(accumulate, usual, *oracle, **options))  # type: ignore[assignment]
    costs["network"] = _seconds(partial(network(0).fit, data(_usual(context))))  # type: ignore[assignment]
    return costs


def _seconds(call: Callable[[], Any]) -> float:
    """Processor time of all threads: what else runs on the machine is not counted."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)
