"""simulate: paths of a known (or fitted) system, seen as snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless import _threads
from trackless._errors import InputError
from trackless._kernels.neighbours import MANY
from trackless._kernels.simulation import simulate_batch
from trackless.composition import ForKernel, counts_of, kinds_for_kernel, species_of
from trackless.intensity import checked_sigma
from trackless.passes import mapped
from trackless.scale import using
from trackless.slopes import slope_table
from trackless.snapshots import Snapshots
from trackless.space import checked_box, side_lengths

Array = NDArray[np.float64]
LOCKSTEP = 8  # runs advanced together, so that loops over their pairs are long
GROUP = 32  # batches handed to the threads together


def simulate(
    model: Any,
    particles: int | Mapping[str, int] = 10,
    runs: int = 100,
    duration: float = 1.0,
    step: float = 1e-4,
    observe_every: float = 1e-2,
    dim: int = 2,
    initial: float | str | ArrayLike | Snapshots = 0.5,
    labeled: bool = False,
    accurate: bool | Literal["roughly"] = False,
    box: float | tuple[float, ...] | None = None,
    coupling: str | None = None,
    seed: int = 0,
    client: Any = None,
) -> Snapshots:
    """Simulate dX_i = -grad V(X_i) dt - (1/N) sum_j grad Phi(X_i - X_j) dt + sigma dW_i.

    Parameters
    ----------
    model : Model or fitted estimator
        Anything with ``external``, ``interaction`` (potentials or None) and ``sigma``; or, for an estimator,
        ``external_``, ``interaction_`` and ``sigma_``. sigma is a number, or one per direction. Of several species V
        may be a mapping {"a": potential}, Phi one {("a", "b"): potential}.
    particles : int, or dict of str to int
        How many in a run; for several species, of each: {"a": 6, "b": 4} (one number is divided evenly).
    runs, dim : int
    duration, observe_every : float
        Snapshots are taken at 0, observe_every, 2 observe_every, ... up to the duration.
    step : float
        Step of the scheme; ``step=observe_every`` gives the discrete-time model.
    initial : float, "lattice", array or Snapshots
        Standard deviation of Gaussian positions; or a lattice that fills the box, particles at random places of it, so
        that none are on top of each other; or given positions, (particles, dim) or (runs, particles, dim), sorted
        by the names of their species; or a data set whose first snapshots, and species, are the start.
    labeled : bool
        Keep the particles in order. By default they are permuted at every snapshot, within their species. The paths
        are the same.
    accurate : bool or "roughly"
        Heun's scheme (weak order 2) with steps cut where forces are stiff; ``step`` is then the largest one.
        Needed for singular interactions. "roughly" cuts them less: several times faster, and distributions are right
        to about one percent.
    box : float or tuple, optional
        Sides of a periodic box.
    coupling : "mean" or "sum", optional
        By default that of a fitted estimator, "mean" for a model.
    seed : int
        The same seed gives the same data on any number of threads; more runs continue the sequence.
    client : dask.distributed.Client, optional
        Let the workers of a cluster do it; the paths are the same.

    Returns
    -------
    Snapshots

    Examples
    --------
    >>> import trackless as tl
    >>> tl.simulate(tl.models.reference(), runs=3, duration=0.1, step=1e-3, seed=1)
    Snapshots(3 runs, 11 times, 10 particles, dim 2, unlabeled)
    >>> tl.simulate(tl.models.mixture(), particles={"a": 4, "b": 2}, runs=3, duration=0.1, step=1e-3)
    Snapshots(3 runs, 11 times, 6 particles, dim 2, unlabeled, species a, b)
    """
    external, interaction, given = _parts(model)
    if isinstance(initial, Snapshots):
        dim = initial.dim
        box = initial.box if box is None else box
    coupling = str(getattr(model, "coupling", "mean") if coupling is None else coupling)
    species = species_of((external, interaction), particles, initial)
    counts = counts_of(species, particles, initial)
    _check(model, dim, coupling, min(counts), runs)
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, got {seed!r}")
    if accurate not in (True, False, "roughly"):
        raise InputError(f"accurate: expected True, False or 'roughly', got {accurate!r}")
    intensities = np.zeros(dim) + checked_sigma(given, dim)
    sigma = float(intensities.max())
    substeps, observations = checked_clock(duration, step, observe_every)
    sides = checked_box(box, dim)
    start = _start(initial, runs, sum(counts), dim, seed, side_lengths(sides, dim))
    runs, total = start.shape[:2]
    if not species:  # given positions say how many there are
        counts = (total,)
    elif sum(counts) != total:
        raise InputError(f"initial: expected positions of {sum(counts)} particles ({counts} of each kind), got {total}")
    batch = 1 if accurate or total >= MANY else LOCKSTEP
    lengths, scale = side_lengths(sides, dim), 1.0 / total if coupling == "mean" else 1.0
    reach = _reach(initial, start) + 4 * sigma * np.sqrt(duration)
    tables = kinds_for_kernel(
        external, interaction, species, counts, partial(slope_table, dim=dim, step=step, accurate=accurate), reach,
        sigma, scale,
    )  # fmt: skip
    advance = partial(
        _advance, batch=batch, observations=observations, tables=tables, lengths=lengths, sigma=intensities,
        scale=scale, step=step, substeps=substeps, labeled=labeled, accurate=bool(accurate),
    )  # fmt: skip
    positions, seeds = np.empty((runs, observations, total, dim)), _seeds(seed, runs)
    firsts = range(0, runs, batch * GROUP)
    groups = [_Group(m, start[m : m + batch * GROUP], seeds[:, m : m + batch * GROUP]) for m in firsts]
    with using(client):
        for group, paths in zip(groups, mapped(advance, groups, "simulating"), strict=True):
            positions[group.first : group.first + len(paths)] = paths
    kinds = np.repeat(species, counts) if species else None
    return Snapshots(positions, np.arange(observations) * observe_every, sides, labeled, kinds)


def _parts(model: Any) -> tuple[Any, Any, Any]:
    fitted = hasattr(model, "sigma_")
    names = ("external_", "interaction_", "sigma_") if fitted else ("external", "interaction", "sigma")
    if not all(hasattr(model, name) for name in names):
        raise InputError(f"model: expected a model or a fitted estimator, got {model!r}")
    external, interaction, sigma = (getattr(model, name) for name in names)
    if sigma is None:
        raise InputError("sigma: the model has none; a fitted estimator or a Model is needed")
    return external, interaction, sigma


def check_model(model: Any, dim: int) -> None:
    """Refuse a dimension that a model does not have."""
    only = getattr(model, "dim", None)
    if only is not None and only != dim:
        raise InputError(f"dim: the model {model.name!r} exists in {only} dimensions only, got {dim}")


def _check(model: Any, dim: int, coupling: str, particles: int, runs: int) -> None:
    check_model(model, dim)
    if coupling not in ("mean", "sum"):
        raise InputError(f"coupling: expected 'mean' or 'sum', got {coupling!r}")
    for name, value in (("particles", particles), ("runs", runs), ("dim", dim)):
        if value < 1:
            raise InputError(f"{name}: expected at least 1, got {value}")


def checked_clock(duration: float, step: float, observe_every: float) -> tuple[int, int]:
    """Steps per observation and number of observations."""
    for name, value in (("duration", duration), ("step", step), ("observe_every", observe_every)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: expected a positive number, got {value!r}")
    ratio = observe_every / step
    substeps = round(ratio)
    if substeps < 1 or abs(ratio - substeps) > 1e-6 * ratio:
        raise InputError(f"observe_every ({observe_every:g}) must be a whole multiple of step ({step:g})")
    intervals = int(duration / observe_every + 1e-6)
    if intervals < 1:
        raise InputError(f"duration ({duration:g}) is shorter than observe_every ({observe_every:g})")
    return substeps, intervals + 1


def _start(
    initial: float | str | ArrayLike | Snapshots, runs: int, particles: int, dim: int, seed: int, lengths: Array
) -> Array:
    """Initial positions, (runs, particles, dim)."""
    if isinstance(initial, Snapshots):
        frames = [np.asarray(initial.frame(m % initial.runs, 0), float) for m in range(runs)]
        if len({frame.shape for frame in frames}) != 1:
            raise InputError("initial: the first snapshots differ in their number of particles")
        return np.stack(frames)
    if isinstance(initial, str):
        return _lattice(initial, runs, particles, seed, lengths)
    given = np.asarray(initial, dtype=float)
    if given.ndim == 0:
        if not (np.isfinite(given) and given >= 0):
            raise InputError(f"initial: expected a standard deviation of at least 0, got {initial!r}")
        # A stream of its own per run, so that more runs continue the sequence.
        roots = np.random.SeedSequence(seed, spawn_key=(2,)).spawn(runs)
        spread = np.stack([np.random.Generator(np.random.PCG64(r)).standard_normal((particles, dim)) for r in roots])
        return float(given) * spread + 0.5 * lengths
    if given.ndim == 2:
        given = np.broadcast_to(given, (runs, *given.shape))
    if given.ndim != 3 or given.shape[2] != dim or not np.isfinite(given).all():
        raise InputError(f"initial: expected finite positions (runs, particles, {dim}), got shape {given.shape}")
    return np.array(given, order="C")  # a copy: kernels are compiled once more for arrays that are read-only


def _lattice(name: str, runs: int, particles: int, seed: int, lengths: Array) -> Array:
    """Places of a lattice in the box, nearly as wide in all directions, taken at random: (runs, particles, dim)."""
    if name != "lattice" or not (lengths > 0).all():
        raise InputError(f"initial: expected a standard deviation, positions, or 'lattice' with a box=, got {name!r}")
    width = (np.prod(lengths) / particles) ** (1 / len(lengths))
    sizes = np.maximum(1, np.floor(lengths / width)).astype(np.int64)
    while np.prod(sizes) < particles:
        sizes[np.argmax(lengths / sizes)] += 1
    places = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=-1)
    roots = np.random.SeedSequence(seed, spawn_key=(2,)).spawn(runs)
    taken = [np.random.Generator(np.random.PCG64(root)).permutation(len(places))[:particles] for root in roots]
    return (places[np.stack(taken)] + 0.5) * (lengths / sizes)


def _reach(initial: float | str | ArrayLike | Snapshots, start: Array) -> float:
    """How far out particles start, about. It sets where tables end, so it must not depend on random positions."""
    if not isinstance(initial, Snapshots) and np.ndim(initial) == 0 and not isinstance(initial, str):
        return 6 * float(initial) + 1e-9  # type: ignore[arg-type]
    return float(np.linalg.norm(start, axis=-1).max()) + 1e-9


def _seeds(seed: int, runs: int) -> NDArray[np.uint64]:
    """Generator states (2, runs, 4): for the noise and for the permutations."""
    words = [np.random.SeedSequence(seed, spawn_key=(k,)).generate_state(4 * runs, np.uint64) for k in (0, 1)]
    return np.stack(words).astype(np.uint64).reshape(2, runs, 4)


class _Group(NamedTuple):
    """Runs that are handed to the threads, or to a worker of a cluster, together."""

    first: int
    start: Array
    """(runs, particles, dim)"""
    seeds: NDArray[np.uint64]
    """(2, runs, 4)"""


def _advance(
    group: _Group,
    batch: int,
    observations: int,
    tables: ForKernel,
    lengths: Array,
    sigma: Array,
    scale: float,
    step: float,
    substeps: int,
    labeled: bool,
    accurate: bool,
) -> Array:
    """Paths of a group of runs, (runs, observations, particles, dim), in batches of some that advance together."""
    runs = len(group.start)
    out = np.empty((runs, observations, *group.start.shape[1:]))

    def advance(part: slice) -> None:
        noise, mixing = group.seeds[:, part].copy()
        inside = simulate_batch(
            group.start[part], noise, mixing, *tables, lengths, sigma, scale, step, substeps, labeled, accurate,
            out[part],
        )  # fmt: skip
        if not inside or not np.isfinite(out[part]).all():
            raise InputError(
                f"the simulation blew up in runs {group.first + part.start} to {group.first + part.stop - 1}: "
                f"step={step:g} is too large for these forces; use a smaller step or accurate=True"
            )

    _threads.run(advance, [slice(m, min(m + batch, runs)) for m in range(0, runs, batch)])
    return out
