"""What a simulated system is composed of: which kinds of particles, how many of each, and their potentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.mixtures import in_words, listed, one_of
from trackless.potentials import RadialPotential
from trackless.snapshots import Snapshots


class ForKernel(NamedTuple):
    """Kinds and tables as the simulation kernel takes them."""

    starts: NDArray[np.int64]
    """(kinds + 1,): first particle of each kind"""
    external: tuple[Any, ...]
    """a table per kind"""
    interaction: tuple[Any, ...]
    """a table per row of ``pairs``, and one that is not used where there are none"""
    pairs: NDArray[np.int64]
    """(P, 2): which kinds interact"""


def species_of(potentials: tuple[Any, Any], particles: int | Mapping[str, int], initial: Any) -> tuple[str, ...]:
    """Names of the kinds, sorted: those of given snapshots, of given numbers, or of the model; () if all are alike."""
    named = sorted({kind for potential in potentials for kinds, _ in listed(potential) for kind in kinds})
    if isinstance(initial, Snapshots):
        species = initial.species or ()
        if not named and len(_first_counts(initial)) > 1:  # all move alike, so that nobody asks who is what
            return ()
    else:
        species = tuple(sorted(map(str, particles))) if isinstance(particles, Mapping) else tuple(named)
    missing = [kind for kind in named if kind not in species]
    if missing:
        there = f"there are {', '.join(species)}" if species else "there are no species"
        raise InputError(f"particles: the model has potentials of {in_words(tuple(missing))}, but {there}")
    return species


def counts_of(species: tuple[str, ...], particles: int | Mapping[str, int], initial: Any) -> tuple[int, ...]:
    """How many particles of each kind there are in a run; one number is divided as evenly as can be."""
    if species and isinstance(initial, Snapshots):
        first = _first_counts(initial)
        if len(first) > 1:
            raise InputError("initial: the first snapshots differ in how many particles of each species they have")
        return first.pop()
    if isinstance(particles, Mapping):
        given = {str(kind): int(count) for kind, count in particles.items()}
        return tuple(given[kind] for kind in species)
    if not species:
        return (particles,)
    if not isinstance(initial, Snapshots) and np.ndim(initial) > 0:
        raise InputError(
            f"particles: whose positions are given? Say how many there are of each species, such as "
            f"{dict.fromkeys(species, 5)}"
        )
    return tuple(particles // len(species) + (k < particles % len(species)) for k in range(len(species)))


def _first_counts(initial: Snapshots) -> set[tuple[int, ...]]:
    """Numbers of each kind in the first snapshots of all runs."""
    return {tuple(initial.species_counts_of(m)[0].tolist()) for m in range(initial.runs)}


def kinds_for_kernel(
    external: Any,
    interaction: Any,
    species: tuple[str, ...],
    counts: tuple[int, ...],
    table: Callable[..., Any],
    reach: float,
    sigma: float,
    scale: float,
) -> ForKernel:
    """Tables of the potentials of all kinds and pairs.

    Parameters
    ----------
    external, interaction : Potential, mapping of them, or None
    table : callable
        A potential (or None), the reach of its distances, their spread and a factor of the force -> a table.
    """
    names = species or ("",)
    for kinds, potential in listed(interaction):
        if isinstance(potential, RadialPotential) and np.any(potential.origin):
            of = f" of {in_words(kinds)}" if kinds else ""
            raise InputError(f"simulate: an interaction{of} depends on differences of positions, it has no centre")
    singles = [one_of(external, (kind,)) for kind in names]
    meeting, doubles = [], []
    for pair in combinations_with_replacement(range(len(names)), 2):
        potential = one_of(interaction, tuple(names[kind] for kind in pair))
        if potential is not None and (pair[0] != pair[1] or counts[pair[0]] > 1):
            meeting.append(pair)
            doubles.append(potential)
    return ForKernel(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        _alike([table(p, reach=reach, spread=sigma, scale=1.0) for p in singles], singles, "external"),
        _alike(
            [table(p, reach=2 * reach, spread=sigma * np.sqrt(2), scale=scale) for p in doubles or [None]],
            doubles, "interaction",
        ),
        np.array(meeting, np.int64).reshape(-1, 2),
    )  # fmt: skip


def _alike(tables: list[Any], potentials: list[Any], role: str) -> tuple[Any, ...]:
    """Tables of one class, which is what kernels take; that of no potential is made a weak one of it."""
    there = [table for table, potential in zip(tables, potentials, strict=False) if potential is not None]
    if len({type(table) for table in there}) > 1:
        raise InputError(f"simulate: the {role} potentials of all species must be radial, or all tensor splines")
    if len(there) in (0, len(tables)):
        return tuple(tables)
    nothing = there[0]._replace(coef=0 * there[0].coef)
    return tuple(nothing if potential is None else table for table, potential in zip(tables, potentials, strict=True))
