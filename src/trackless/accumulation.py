"""accumulate: one pass over the snapshots, in pieces of bounded size, into Moments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _memory
from trackless._errors import InputError
from trackless._kernels.moments import accumulate_task
from trackless._kernels.vanishing import vanishing_task
from trackless.basis import Basis, families_of
from trackless.by_species import BySpecies, as_basis
from trackless.excerpts import Source
from trackless.exploration import explore
from trackless.magnitudes import check_magnitude
from trackless.matching import Matching, Tally
from trackless.moments import Moments, bounded_blocks, check_one_block, pair_rule
from trackless.observation import EVERYTHING, Observation
from trackless.passes import add_up
from trackless.pieces import Batches, Task, alike, block_cuts, count_ranges, loaded, spans, unlike, usual_length
from trackless.quadrature import RULES, STRIDES
from trackless.scale import using
from trackless.snapshots import Snapshots
from trackless.space import half_box, side_lengths
from trackless.tables import Families, Mask
from trackless.tips import at_centre, check_tips

Array = NDArray[np.float64]
Wanted = Basis | Mapping[Any, Basis] | None
COPIES = ((3.0, 0.0), (-1.5, 1.0), (-1.5, 1.0), (1.0, np.sqrt(2.0)))
"""Factors of sums, and additional errors of positions: a parabola in the variance of the error, taken at no error."""
LEAST_BLOCKS = 8  # for as many, time windows may be as short as two snapshots
SUMMED = ("energy", "weight", "quadratic", "pair", "diffusion", "work", "tally")  # arrays of Moments
FEW_BLOCKS = 64  # with fewer runs than this, time windows serve as further blocks


@_memory.kept
def accumulate(
    snapshots: Snapshots,
    external: Wanted = None,
    interaction: Wanted = None,
    coupling: str = "mean",
    windows: int | None = None,
    blocks: int | None = None,
    matching: Matching | None = None,
    per_direction: bool = False,
    observation: Observation | None = None,
    *,
    client: Any = None,
    checkpoint: str | Path | None = None,
    memory: int | str | None = None,
) -> Moments:
    """Reduce snapshots to moments on two bases.

    Parameters
    ----------
    snapshots : Snapshots
        At least two per run. Read in pieces, so that data in files may be larger than memory.
    external, interaction : Basis, dict of them by species, or None
        Families for V and Phi; None leaves that potential out. Open ranges are closed on the data.
    coupling : "mean" or "sum"
        Whether the interaction force on a particle is (1/N) sum_j or sum_j.
    windows : int, optional
        Time windows per run (default: 1, or as many as it takes to have 64 blocks and windows).
    blocks : int, optional
        At most this many groups of runs are kept apart (default: as many as memory allows, 1024 at most).
    matching : Matching, optional
        Follow particles to the next snapshot, for the estimators that regress displacements on forces. The moments
        are then those of the particles that could be followed, and serve these estimators only.
    per_direction : bool
        Keep the diffusion term of every direction apart, for a sigma that is not the same in all.
    observation : Observation, optional
        How particles were seen, if not all of them, where they are.
    client : dask.distributed.Client, optional
        Let the workers of a cluster do it; the sums are the same.
    checkpoint : path, optional
        A folder in which sums are kept now and then. If the work is interrupted, the same call goes on from there and
        gives the same moments, bit for bit; when it is done the folder is removed. One of other data or settings is
        refused.
    memory : int or str, optional
        Limit on what the process may take, in bytes or as in "2GB", besides data that are in memory already; by default
        the one that ``tl.set_memory`` set.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=8, duration=0.1, step=1e-3)
    >>> tl.accumulate(data, tl.RadialSplines(6), tl.RadialSplines(10), windows=2).quadratic.shape
    (8, 2, 2, 3, 16, 16)
    """
    given: tuple[Basis | None, Basis | None] = as_basis(external), as_basis(interaction)
    _check(snapshots, *given, coupling, matching)
    bases = closed_bases(snapshots, *given)
    if bases[1] is not None:
        _check_cutoff(bases[1], snapshots)
    matching = matching.resolved(snapshots) if matching is not None else None
    families = families_of(*bases, snapshots.dim, per_direction)
    seen = _closed_observation(observation, snapshots, matching, per_direction)
    moments = _empty(snapshots, *bases, coupling, windows, blocks, matching, families.parts, seen)
    plan = _Plan(coupling, families, matching, seen, seen.mask(snapshots.dim, families.reach if bases[1] else 0.0))
    cuts = block_cuts(snapshots.runs, moments.blocks)
    work = Batches(snapshots, cuts, moments.windows, alone=matching is not None)
    totals = {name: getattr(moments, name) for name in SUMMED}
    about = {"data": snapshots, "functions": families, "settings": (coupling, matching, seen, moments.weight.shape)}
    with using(client, checkpoint, about):
        add_up(work, partial(_run_task, plan=plan), snapshots, totals, "accumulating")
    return moments


def _closed_observation(
    observation: Observation | None, snapshots: Snapshots, matching: Matching | None, per_direction: bool
) -> Observation:
    """As given, with a window that is known; everything is seen where nothing was said."""
    if observation is None or observation.complete:
        return EVERYTHING
    if matching is not None:
        raise InputError("observation: particles that are followed are those that are seen; give no observation")
    if per_direction and observation.masked:
        raise InputError("sigma: one per direction cannot be used with a window or exclude_below; give one for all")
    return observation.closed(explore(snapshots), snapshots.box)


def closed_bases(
    snapshots: Snapshots, external: Basis | None, interaction: Basis | None
) -> tuple[Basis | None, Basis | None]:
    """Both families with open ranges closed on the data; the data are looked at only if something is open."""
    if all(basis is None or basis.closed for basis in (external, interaction)):
        return external, interaction
    explored = explore(snapshots)
    return (
        external.adapted(explored, "external") if external is not None else None,
        interaction.adapted(explored, "interaction") if interaction is not None else None,
    )


def _check(
    snapshots: Snapshots, external: Basis | None, interaction: Basis | None, coupling: str, matching: Matching | None
) -> None:
    if external is None and interaction is None:
        raise InputError(
            "external and interaction are both None: there is nothing to learn; leave out one of the two at most "
            "(external=None is no V, interaction=None no Phi), and for diffusion and drift alone use tl.motion(data)"
        )
    for name, basis in (("external", external), ("interaction", interaction)):
        if basis is not None and not isinstance(basis, Basis):
            raise InputError(f"{name}: expected a basis such as tl.RadialSplines(20), got {basis!r}")
    if getattr(interaction, "center", None) is not None:
        raise InputError("center: an interaction depends on differences of positions, it has no centre")
    if matching is not None and not isinstance(matching, Matching):
        raise InputError(f"matching: expected tl.Matching(...), got {matching!r}")
    check_snapshots(snapshots, coupling, interaction is not None)
    for basis, interacts in ((external, False), (interaction, True)):
        if isinstance(basis, BySpecies):
            basis.check(snapshots.species, "interaction" if interacts else "external")
            if matching is not None:
                raise InputError(
                    "matching: potentials of each species are learnt without following particles, SelfTest"
                )


def check_snapshots(snapshots: Snapshots, coupling: str, interaction: bool) -> None:
    """Refuse what nobody can learn from: single times, single particles, a mean over a number that changes."""
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"snapshots: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    if coupling not in ("mean", "sum"):
        raise InputError(f"coupling: expected 'mean' or 'sum', got {coupling!r}")
    if interaction and coupling == "mean" and not snapshots.constant_count:
        raise InputError(
            "coupling='mean' divides by the number of particles, which changes within a run here; "
            "use coupling='sum' (--coupling sum)"
        )
    for run in range(1 if snapshots.regular else snapshots.runs):
        if len(snapshots.times_of(run)) < 2:
            raise InputError(
                f"run {run} has {len(snapshots.times_of(run))} snapshot; at least two times are needed to see a change"
            )
        check_magnitude("times", float(np.ptp(snapshots.times_of(run))))
        if interaction and snapshots.counts_of(run).max() < 2:
            raise InputError(
                f"run {run} has one particle: there is no interaction, use interaction=None (--interaction none)"
            )


def _check_cutoff(interaction: Basis, snapshots: Snapshots) -> None:
    if snapshots.box is None:
        return
    cutoff = getattr(interaction, "cutoff", None)
    if cutoff is None or cutoff > half_box(snapshots.box):
        raise InputError(
            f"interaction: in a periodic box functions must vanish beyond half the shortest side "
            f"({half_box(snapshots.box):g}); use splines with a cutoff of at most that, such as "
            f"cutoff={half_box(snapshots.box):g}"
        )


def usual_windows(snapshots: Snapshots) -> int:
    """Time windows per run, so that together they are enough blocks; runs much shorter than most have empty ones.

    Windows have four intervals or more, fewer only where there would be hardly any scatter to see otherwise.
    """
    intervals = usual_length(snapshots) - 1
    enough, least = (-(-blocks // snapshots.runs) for blocks in (FEW_BLOCKS, LEAST_BLOCKS))
    return max(1, min(enough, intervals // 4), min(least, intervals))


def _empty(
    snapshots: Snapshots,
    external: Basis | None,
    interaction: Basis | None,
    coupling: str,
    windows: int | None,
    blocks: int | None,
    matching: Matching | None,
    parts: int,
    seen: Observation,
) -> Moments:
    pair_size = interaction.size if interaction is not None else 0
    size = pair_size + (external.size if external is not None else 0)
    shortest = min(len(snapshots.times_of(m)) for m in range(1 if snapshots.regular else snapshots.runs))
    if windows is None:
        windows = usual_windows(snapshots)
    elif not 1 <= windows <= shortest - 1:
        raise InputError(f"windows: expected 1 to {shortest - 1} (each needs two snapshots), got {windows}")
    if blocks is not None and blocks < 1:
        raise InputError(f"blocks: expected at least 1, got {blocks}")
    check_one_block(size, pair_size, windows)
    kept = bounded_blocks(snapshots.runs, size, pair_size, windows, blocks)
    shape = (kept, windows, len(STRIDES), len(RULES))
    cuts = block_cuts(snapshots.runs, kept)
    return Moments(
        external=external,
        interaction=interaction,
        coupling=coupling,
        dim=snapshots.dim,
        dynamics="continuous",
        observation=seen,
        quadratic=np.zeros((*shape, size, size)),
        pair=np.zeros((kept, windows, pair_size, pair_size)),
        diffusion=np.zeros((*shape, parts, size)),
        energy=np.zeros((kept, windows, size)),
        weight=np.zeros(shape),
        runs=np.diff(cuts),
        particles=count_ranges(snapshots, cuts),
        span=np.stack([spans(snapshots, int(run), windows) for run in cuts[:-1]]),
        matching=matching.method if matching is not None else "",
        work=np.zeros((kept, windows, size if matching is not None else 0)),
        tally=np.zeros((kept, windows, len(Tally._fields) if matching is not None else 0)),
    )


class _Plan(NamedTuple):
    """What a task needs besides its place."""

    coupling: str
    families: Families
    matching: Matching | None
    seen: Observation
    mask: Mask
    blur: float = 0.0
    """additional error of positions"""
    draw: int = 0
    """which random numbers it is made of"""


def _run_task(task: Task, plan: _Plan, snapshots: Source) -> dict[str, Array]:
    """What a task adds to its block and window, by the names of the arrays of Moments."""
    error = plan.seen.position_error
    if not error:
        return _seen_once(task, plan, snapshots)
    factors, further = zip(*COPIES, strict=True)
    copies = [
        _seen_once(task, plan._replace(blur=more * error, draw=draw), snapshots) for draw, more in enumerate(further)
    ]
    return {name: np.tensordot(factors, [copy[name] for copy in copies], axes=1) for name in SUMMED}


def _seen_once(task: Task, plan: _Plan, snapshots: Source) -> dict[str, Array]:
    """The same of positions as they are, or with further errors."""
    families, matching = plan.families, plan.matching
    piece, runs = task.piece, task.runs
    points, starts, counts, scales = loaded(task, snapshots, plan.coupling, len(families.external))
    if not np.isfinite(points).all():
        snapshots.check_finite()
    if plan.coupling == "mean":
        scales *= plan.seen.detection  # one of so many that are there, not of those that are seen
    if plan.blur:
        points += plan.blur * task.normals(points.shape, plan.draw)
    # class by class, run by run: equal weights follow each other
    frames = counts.shape[1]
    entry = (np.arange(len(runs))[:, None] * frames + piece.order).ravel()
    class_of = np.tile(piece.class_of, len(runs))
    by_class = np.argsort(class_of, kind="stable")
    sizes = families.external_size, families.interaction_size
    energy = np.zeros((counts.size, sum(sizes)))
    centered = at_centre(points, starts, families)
    coincident = np.zeros(counts.size, dtype=bool)
    offsets = np.append(starts[:, 0], starts[-1, -1])
    moved, matched, tally = _followed(task, snapshots, points, offsets, matching)
    lengths = side_lengths(snapshots.box, snapshots.dim)
    places = (points, starts, scales, lengths, entry[by_class], class_of[by_class], piece.weights, families)
    if plan.seen.masked:
        quadratic, pair, diffusion = vanishing_task(*places, plan.mask, energy, coincident)
        work = np.zeros(0)
    else:
        quadratic, pair, diffusion, work = accumulate_task(*places, energy, coincident, moved, matched)
    if not np.isfinite(energy).all():
        raise InputError("a basis function is not finite at some particle or pair; check the family's functions")
    check_tips(task, centered, families.external, "a particle lies at the centre")
    check_tips(task, coincident, families.interaction, "two particles coincide")
    by_run = energy.reshape(len(runs), frames, -1)
    first, last = by_run[:, 0], by_run[:, -1]
    if plan.seen.window is None:  # who enters or leaves a window does so where its energy is 0
        of_kind = np.diff(starts, axis=1).reshape(len(runs), frames, -1)
        first, last = (by_run[:, i] * usual_size(snapshots, runs, of_kind[:, i], families) for i in (0, -1))
    if matching is not None:  # the particles that were followed stand for their snapshot
        counts = np.diff(np.concatenate([[0.0], np.cumsum(matched)])[offsets]).reshape(counts.shape)
    weight = np.bincount(piece.class_of, counts.sum(axis=0)[piece.order], len(piece.weights)) @ piece.weights
    sums = {
        "energy": (last * piece.closes - first * piece.opens).sum(axis=0), "weight": weight, "quadratic": quadratic,
        "pair": pair, "diffusion": diffusion, "work": work, "tally": tally,
    }  # fmt: skip
    sums = plan.seen.corrected(sums, sizes[0])
    by_rule = ("quadratic", "diffusion", "weight")
    sums |= {name: sums[name].reshape(len(STRIDES), len(RULES), *sums[name].shape[1:]) for name in by_rule}
    return sums | {"pair": sums["pair"][_flat(pair_rule(matching is not None))]}


def _flat(rule: tuple[int, int]) -> int:
    """The place of a stride and rule among the columns of a piece's weights."""
    return rule[0] * len(RULES) + rule[1]


def _followed(
    task: Task, snapshots: Source, points: Array, starts: NDArray[np.int64], matching: Matching | None
) -> tuple[Array, Array, Array]:
    """Displacements (P, dim) to the next snapshot, who has one (P,), and the tally; all empty without matching.

    An interval belongs to the window of its first snapshot, so the last snapshot of a window is not followed.
    """
    if matching is None:
        return np.zeros((0, snapshots.dim)), np.zeros(0), np.zeros(0)
    piece, runs = task.piece, task.runs
    if not piece.closes:  # then the task has one run, and the next snapshot is in the next piece
        following = snapshots.frame(runs[0], piece.last + 1).astype(np.float64)
        points, starts = np.concatenate([points, following]), np.append(starts, starts[-1] + len(following))
    if not np.isfinite(points).all():
        snapshots.check_finite()
    frames = piece.last - piece.first + (1 if piece.closes else 2)
    first = (np.arange(len(runs))[:, None] * frames + np.arange(frames - 1)).ravel()
    gaps = np.concatenate([np.diff(snapshots.times_of(m)[piece.first : piece.first + frames]) for m in runs])
    moves = matching.moves(points, starts, first, first + 1, gaps, snapshots.box)
    sizes = np.diff(starts)
    gap_of = np.ones(len(sizes))
    gap_of[first] = gaps
    tally = Tally(
        particles=float(sizes[first].sum()),
        matched=float(moves.matched.sum()),
        right=float(moves.right.sum()) if snapshots.labeled else np.nan,
        unfinished=float(moves.unfinished),
        variation=float((moves.squared / np.repeat(gap_of, sizes)).sum()),
    )
    return moves.displacement, moves.matched, np.array(tally)


def usual_size(snapshots: Source, runs: range, counts: NDArray[np.int64], families: Families) -> Array:
    """Factors that scale energies of frames with ``counts`` (runs, kinds) to the usual numbers of their run.

    They are (runs, K), or a single 1 where all snapshots have the same numbers.

    A constant added to a potential would otherwise change the energy whenever a particle appears; this way those that
    are not seen count like those that are.
    """
    kinds = len(families.external)
    if alike(snapshots, kinds):
        return np.ones((1, 1))
    each = unlike(snapshots, runs, kinds)
    usual = np.array([families.terms(snapshots.kinds_in(m, kinds)).mean(axis=0) for m in each])
    return families.of_functions(usual / np.maximum(families.terms(counts), 1.0))
