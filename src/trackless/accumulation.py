"""accumulate: one pass over the snapshots, in pieces of bounded size, into Moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trackless import _progress, _threads
from trackless._errors import InputError
from trackless._kernels.moments import accumulate_task
from trackless.basis import Basis
from trackless.exploration import explore
from trackless.moments import Moments, bounded_blocks
from trackless.quadrature import RULES, STRIDES, every_rule
from trackless.snapshots import Snapshots
from trackless.space import half_box, side_lengths
from trackless.tables import RadialTable, TensorTable, empty_table

Array = NDArray[np.float64]
BATCH_POINTS = 2_000_000  # particles in the tasks handed out together
TASK_POINTS = 50_000  # particles one task reads into memory, unless a single run of a block has more
MOST_BYTES = 2_000_000_000  # moments of one block may not be larger
FEW_BLOCKS = 64  # with fewer runs than this, time windows serve as further blocks


@dataclass(frozen=True)
class Piece:
    """Frames first..last of a run, inside one time window, ordered by their quadrature weights."""

    first: int
    last: int
    order: NDArray[np.int64]
    """(frames,): frames counted from ``first``, those with equal weights together"""
    class_of: NDArray[np.int64]
    """(frames,): class of each entry of ``order``"""
    weights: Array
    """(classes, strides * rules)"""
    opens: bool
    """whether the window starts with this piece"""
    closes: bool
    """whether the window ends with it"""


@dataclass
class Task:
    """Runs of one block in one piece of a window, worked on by one kernel call."""

    slot: tuple[int, int]
    piece: Piece
    particles: int
    runs: list[int] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Number of particles, about."""
        return len(self.runs) * (self.piece.last - self.piece.first + 1) * self.particles


def accumulate(
    snapshots: Snapshots,
    external: Basis | None = None,
    interaction: Basis | None = None,
    coupling: str = "mean",
    windows: int | None = None,
    blocks: int | None = None,
) -> Moments:
    """Reduce snapshots to moments on two bases.

    Parameters
    ----------
    snapshots : Snapshots
        At least two per run. Read in pieces, so a memory-mapped array may be larger than memory.
    external, interaction : Basis or None
        Families for V and Phi; None leaves that potential out. Open ranges are closed on the data.
    coupling : "mean" or "sum"
        Whether the interaction force on a particle is (1/N) sum_j or sum_j.
    windows : int, optional
        Time windows per run (default: 1, or as many as it takes to have 64 blocks and windows).
    blocks : int, optional
        At most this many groups of runs are kept apart (default: as many as memory allows, 512 at most).

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
    _check(snapshots, external, interaction, coupling)
    external, interaction = closed_bases(snapshots, external, interaction)
    if interaction is not None:
        _check_cutoff(interaction, snapshots)
    tables = tuple(
        b.table(snapshots.dim) if b is not None else empty_table(snapshots.dim) for b in (external, interaction)
    )
    moments = _empty(snapshots, external, interaction, coupling, windows, blocks)
    batches = list(_batches(_tasks(snapshots, moments)))
    for batch in _progress.track(batches, "accumulating", len(batches)):
        _add_batch(moments, snapshots, batch, *tables)
    mirror(moments.quadratic)
    mirror(moments.pair)
    return moments


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


def mirror(matrices: Array) -> None:
    """Copy the lower triangles of (..., K, K) to the upper ones, in place."""
    rows, columns = np.tril_indices(matrices.shape[-1], -1)
    matrices[..., columns, rows] = matrices[..., rows, columns]


def _check(snapshots: Snapshots, external: Basis | None, interaction: Basis | None, coupling: str) -> None:
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"snapshots: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    if external is None and interaction is None:
        raise InputError("external and interaction are both None: there is nothing to learn")
    for name, basis in (("external", external), ("interaction", interaction)):
        if basis is not None and not isinstance(basis, Basis):
            raise InputError(f"{name}: expected a basis such as tl.RadialSplines(20), got {basis!r}")
    if getattr(interaction, "center", None) is not None:
        raise InputError("center: an interaction depends on differences of positions, it has no centre")
    if coupling not in ("mean", "sum"):
        raise InputError(f"coupling: expected 'mean' or 'sum', got {coupling!r}")
    if interaction is not None and coupling == "mean" and not snapshots.constant_count:
        raise InputError(
            "coupling='mean' divides by the number of particles, which changes within a run here; "
            "use coupling='sum' (--coupling sum)"
        )
    for run in range(1 if snapshots.regular else snapshots.runs):
        if len(snapshots.times_of(run)) < 2:
            raise InputError(
                f"run {run} has {len(snapshots.times_of(run))} snapshot; at least two times are needed to see a change"
            )
        if interaction is not None and snapshots.counts_of(run).max() < 2:
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
            f"({half_box(snapshots.box):g}); use tl.RadialSplines(..., cutoff={half_box(snapshots.box):g})"
        )


def _empty(
    snapshots: Snapshots,
    external: Basis | None,
    interaction: Basis | None,
    coupling: str,
    windows: int | None,
    blocks: int | None,
) -> Moments:
    pair_size = interaction.size if interaction is not None else 0
    size = pair_size + (external.size if external is not None else 0)
    shortest = min(len(snapshots.times_of(m)) for m in range(1 if snapshots.regular else snapshots.runs))
    if windows is None:
        windows = max(1, min(-(-FEW_BLOCKS // snapshots.runs), (shortest - 1) // 4))
    if not 1 <= windows <= shortest - 1:
        raise InputError(f"windows: expected 1 to {shortest - 1} (each needs two snapshots), got {windows}")
    if blocks is not None and blocks < 1:
        raise InputError(f"blocks: expected at least 1, got {blocks}")
    one_block = 8 * windows * len(STRIDES) * len(RULES) * (size**2 + pair_size**2)
    if one_block > MOST_BYTES:
        raise InputError(
            f"{size} functions in {windows} windows need {one_block / 1e9:.0f} GB of moments; use fewer functions"
        )
    kept = bounded_blocks(snapshots.runs, size, pair_size, windows, blocks)
    shape = (kept, windows, len(STRIDES), len(RULES))
    return Moments(
        external=external,
        interaction=interaction,
        coupling=coupling,
        dim=snapshots.dim,
        quadratic=np.zeros((*shape, size, size)),
        pair=np.zeros((*shape, pair_size, pair_size)),
        diffusion=np.zeros((*shape, size)),
        energy=np.zeros((kept, windows, size)),
        weight=np.zeros(shape),
        runs=np.zeros(kept, dtype=np.int64),
        span=np.zeros((kept, windows, 2)),
    )


def _tasks(snapshots: Snapshots, moments: Moments) -> Iterator[Task]:
    """Cut the data into tasks: consecutive runs of a block, in one piece of a window, with the same times."""
    cuts = np.linspace(0, snapshots.runs, moments.blocks + 1).round().astype(int)
    shared = _pieces(snapshots, 0, moments.windows) if snapshots.regular else None
    for block, (begin, end) in enumerate(pairwise(cuts)):
        moments.runs[block] = end - begin
        task = None
        for m in range(begin, end):
            windows = shared or _pieces(snapshots, m, moments.windows)
            if m == begin:
                times = snapshots.times_of(m)
                moments.span[block] = [(times[w[0].first], times[w[-1].last]) for w in windows]
            if shared and len(windows) == len(windows[0]) == 1:  # whole runs: many of them in a task
                if task is None or task.points + task.points // len(task.runs) > TASK_POINTS:
                    if task is not None:
                        yield task
                    task = Task((block, 0), shared[0][0], int(snapshots.counts_of(m).max()))
                task.runs.append(m)
                continue
            for w, window in enumerate(windows):
                for piece in window:
                    yield Task((block, w), piece, int(snapshots.counts_of(m).max()), [m])
        if task is not None:
            yield task


def _pieces(snapshots: Snapshots, run: int, windows: int) -> list[list[Piece]]:
    """The time windows of a run, each cut into pieces of bounded size."""
    times = snapshots.times_of(run)
    length = max(2, TASK_POINTS // max(1, int(snapshots.counts_of(run).max())))
    cuts = np.linspace(0, len(times) - 1, windows + 1).round().astype(int)
    return [_cut(times, int(a), int(b), length) for a, b in pairwise(cuts)]


def _cut(times: Array, begin: int, end: int, length: int) -> list[Piece]:
    table = every_rule(times[begin : end + 1]).reshape(len(STRIDES) * len(RULES), -1).T
    unit = (times[end] - times[begin]) / (end - begin)
    _, kept, class_of = np.unique(np.round(table / unit, 9), axis=0, return_index=True, return_inverse=True)
    pieces = []
    for first in range(begin, end + 1, length):
        last = min(first + length - 1, end)
        classes = class_of.ravel()[first - begin : last - begin + 1]
        order = np.argsort(classes, kind="stable")
        pieces.append(Piece(first, last, order, classes[order], table[kept], first == begin, last == end))
    return pieces


def _batches(tasks: Iterator[Task]) -> Iterator[list[Task]]:
    """Groups of tasks whose positions are in memory together."""
    batch: list[Task] = []
    for task in tasks:
        if batch and sum(t.points for t in batch) + task.points > BATCH_POINTS:
            yield batch
            batch = []
        batch.append(task)
    if batch:
        yield batch


def _add_batch(
    moments: Moments,
    snapshots: Snapshots,
    batch: list[Task],
    external: RadialTable | TensorTable,
    interaction: RadialTable | TensorTable,
) -> None:
    work = partial(
        _run_task, snapshots=snapshots, coupling=moments.coupling, external=external, interaction=interaction
    )
    size, pair_size = moments.size, moments.pair.shape[-1]
    shape = (len(STRIDES), len(RULES))
    for task, (quadratic, pair, diffusion, energy, weight) in zip(batch, _threads.run(work, batch), strict=True):
        slot = task.slot
        moments.quadratic[slot] += quadratic[:, :size, :size].reshape(*shape, size, size)
        moments.pair[slot] += pair[:, :pair_size, :pair_size].reshape(*shape, pair_size, pair_size)
        moments.diffusion[slot] += diffusion.reshape(*shape, size)
        moments.energy[slot] += energy
        moments.weight[slot] += weight.reshape(shape)


def _run_task(
    task: Task,
    snapshots: Snapshots,
    coupling: str,
    external: RadialTable | TensorTable,
    interaction: RadialTable | TensorTable,
) -> tuple[Array, Array, Array, Array, Array]:
    piece, runs = task.piece, task.runs
    counts = np.array([snapshots.counts_of(m)[piece.first : piece.last + 1] for m in runs])
    points = np.concatenate([snapshots.points_of(m, piece.first, piece.last) for m in runs])
    points = np.ascontiguousarray(points, dtype=np.float64)
    frames = counts.shape[1]
    starts = np.concatenate([[0], np.cumsum(counts)])
    scales = 1.0 / np.maximum(counts.ravel(), 1) if coupling == "mean" else np.ones(counts.size)
    # class by class, run by run: equal weights follow each other
    entry = (np.arange(len(runs))[:, None] * frames + piece.order).ravel()
    class_of = np.tile(piece.class_of, len(runs))
    by_class = np.argsort(class_of, kind="stable")
    energy = np.zeros((counts.size, external.size + interaction.size))
    centered = _at_centre(points, starts, external)
    coincident = np.zeros(counts.size, dtype=bool)
    quadratic, pair, diffusion = accumulate_task(
        points, starts, scales, side_lengths(snapshots.box, snapshots.dim), entry[by_class], class_of[by_class],
        piece.weights, external, interaction, energy, coincident,
    )  # fmt: skip
    if not np.isfinite(energy).all():
        snapshots.check_finite()
        raise InputError("a basis function is not finite at some particle or pair; check the family's functions")
    _check_tips(task, centered, external, "a particle lies at the centre")
    _check_tips(task, coincident, interaction, "two particles coincide")
    usual = np.array([snapshots.counts_of(m).mean() for m in runs])[:, None]
    by_run = energy.reshape(len(runs), frames, -1)
    first, last = (
        by_run[:, i] * _usual_size(counts[:, i, None], usual, external.size, interaction.size) for i in (0, -1)
    )
    change = (last * piece.closes - first * piece.opens).sum(axis=0)
    weight = np.bincount(piece.class_of, counts.sum(axis=0)[piece.order], len(piece.weights)) @ piece.weights
    return quadratic, pair, diffusion, change, weight


def _usual_size(n: NDArray[np.int64], usual: Array, external: int, interaction: int) -> Array:
    """Factors (runs, K) that scale energies of a frame with n particles to the usual number of its run.

    1 where the number never changes. Where it does, a constant added to a potential would otherwise change the
    energy whenever a particle appears; this way those that are not seen count like those that are.
    """
    single = usual / np.maximum(n, 1)
    pairs = usual * (usual - 1) / np.maximum(n * (n - 1), 1)
    return np.concatenate([np.repeat(single, external, axis=1), np.repeat(pairs, interaction, axis=1)], axis=1)


def _at_centre(points: Array, starts: NDArray[np.int64], table: RadialTable | TensorTable) -> NDArray[np.bool_]:
    """Whether a particle of each snapshot lies where distances are measured from."""
    if not (isinstance(table, RadialTable) and _slopes_at_zero(table).any()):
        return np.zeros(len(starts) - 1, dtype=bool)
    at = np.flatnonzero((points == table.origin).all(axis=1))
    return np.histogram(at, starts)[0] > 0


def _check_tips(task: Task, found: NDArray[np.bool_], table: RadialTable | TensorTable, what: str) -> None:
    if found.any() and isinstance(table, RadialTable) and _slopes_at_zero(table).any():
        run, frame = divmod(int(np.argmax(found)), task.piece.last - task.piece.first + 1)
        raise InputError(
            f"{what} in run {task.runs[run]}, frame {task.piece.first + frame}, where a function with "
            "a slope at r = 0 has no Laplacian; remove the particle, or use functions that are flat at 0 "
            "(tl.RadialSplines(..., flat_center=True))"
        )


def _slopes_at_zero(table: RadialTable) -> NDArray[np.bool_]:
    position = (0.0 - table.bottom) * table.bins_per_unit + 1.0
    cell = table.cell_of[:, max(int(position), 0)]
    u = 0.0 - table.left[cell]
    c1, c2, c3 = (table.coef[:, cell, k] for k in (1, 2, 3))
    return np.abs(c1 + u * (2 * c2 + 3 * u * c3)) > 0
