"""The paper's protocol: how many runs, which intervals, which seeds; and a small one for a look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from trackless import models
from trackless.basis import Basis
from trackless.exploration import Exploration, explore
from trackless.models import Model
from trackless.reproduce.store import Store
from trackless.simulation import simulate
from trackless.snapshots import Snapshots

BOUNDARY = ("smoothness", "conditioning", "singularity", "smooth_control")
RADIAL = ("reference", *BOUNDARY)
MOST_NUMBERS = 50_000_000  # coordinates that are held at once
SEEDS = {"pool": 42, "best": 1042, "metric": 2042, "zero_gap": 3042, "conditions": 4042, "non_radial": 5042}
"""Seeds of what is simulated: every trial of every purpose has random numbers of its own."""


@dataclass(frozen=True)
class Protocol:
    """Sizes of everything.

    Attributes
    ----------
    trials, runs : int
        Disjoint sets of runs, and runs in each: errors are means and standard deviations over the sets.
    step : float
        Of the simulation (the paper's Euler-Maruyama step).
    intervals : tuple of float
        Between snapshots; the finest is used for the reference model only.
    network_trials, best_trials : int
        How many sets are given to networks (of the same runs), and to ours at its best (simulated accurately).
    sizes : tuple of int
        Numbers of runs of the scaling experiments.
    particles, dimensions : tuple of int
        Of the condition numbers.
    """

    trials: int = 10
    runs: int = 2000
    step: float = 1e-4
    intervals: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    network_trials: int = 10
    best_trials: int = 5
    sizes: tuple[int, ...] = (20, 50, 200, 1000, 2000, 5000)
    particles: tuple[int, ...] = (5, 10, 20, 50, 100)
    dimensions: tuple[int, ...] = (2, 5, 10, 20)

    def intervals_of(self, model: str) -> tuple[float, ...]:
        """The paper looks at the finest interval for the reference model only."""
        return self.intervals if model == "reference" else tuple(dt for dt in self.intervals if dt > self.step)


FULL = Protocol()
QUICK = Protocol(
    trials=2, runs=100, intervals=(1e-2, 1e-1), network_trials=1, best_trials=1, sizes=(20, 50, 100),
    particles=(5, 10, 20), dimensions=(2, 5),
)  # fmt: skip


class Context(NamedTuple):
    """What an experiment works with."""

    protocol: Protocol
    store: Store

    @property
    def quick(self) -> bool:
        """Whether this is the small protocol."""
        return self.protocol != FULL

    @property
    def sizes(self) -> str:
        """How many runs there are, in words."""
        p = self.protocol
        said = f"{p.trials} sets of {p.runs} runs"
        return said + " (a quick look: the paper has 10 sets of 2000)" if self.quick else said


class Part(NamedTuple):
    """A piece of work that leaves its results in the store."""

    name: str
    done: bool
    work: Callable[[], Any]
    seconds: float = 10.0
    """what it takes, about, of a full run on two cores: for the estimate of the time left"""


def model_of(name: str) -> Model:
    """A model by its name."""
    return getattr(models, name)()


def seed_of(purpose: str, model: str, trial: int) -> int:
    """No two simulations share their random numbers."""
    names = (*RADIAL, "anisotropic")
    return SEEDS[purpose] + 100_000 * (1 + names.index(model)) + 10_000_000 * trial


def metric_of(context: Context, name: str) -> Exploration:
    """What errors are weighted with: one large set at a short interval, for all intervals (paper, section 5.1)."""
    key = (name, context.protocol)
    if key not in _METRICS:
        _METRICS[key] = explore(metric_snapshots(context, name))
    return _METRICS[key]


def metric_snapshots(context: Context, name: str) -> Snapshots:
    """That set."""
    runs, seed = min(context.protocol.runs, 1000), seed_of("metric", name, 0)
    return simulate(model_of(name), runs=runs, step=1e-4, observe_every=1e-3, seed=seed)


def closed_on_metric(context: Context, name: str) -> tuple[Basis, Basis]:
    """The oracle functions on the same range for all runs, so that their moments add."""
    model, metric = model_of(name), metric_of(context, name)
    assert model.external_basis is not None
    assert model.interaction_basis is not None
    return model.external_basis.adapted(metric, "external"), model.interaction_basis.adapted(metric, "interaction")


_METRICS: dict[tuple[str, Protocol], Exploration] = {}


def chunks(
    model: Model, runs: int, interval: float, seed: int, labeled: bool = True, **options: Any
) -> Iterator[Snapshots]:
    """Simulated runs, in pieces that fit into memory; every piece has a seed of its own."""
    duration, particles, dim = (options.get(key, usual) for key, usual in _USUAL.items())
    numbers = (round(duration / interval) + 1) * particles * dim
    size = max(1, min(runs, MOST_NUMBERS // numbers))
    for piece, first in enumerate(range(0, runs, size)):
        yield simulate(
            model, runs=min(size, runs - first), observe_every=interval, seed=seed + piece, labeled=labeled, **options
        )


_USUAL = {"duration": 1.0, "particles": 10, "dim": 2}
