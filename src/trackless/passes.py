"""Passes over the data: batches of tasks, worked on here or by a cluster, added up in a fixed order.

Everything that sums over the data goes through :func:`add_up`, everything else that is long and falls into independent
parts through :func:`mapped`. Both run here, on all threads, unless :func:`trackless.using` said that a cluster should
do it; and sums may be kept in a file now and then, so that a pass that was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trackless import _progress, _threads
from trackless.digests import digest
from trackless.excerpts import Excerpt, Source
from trackless.snapshots import Snapshots

if TYPE_CHECKING:
    from trackless.pieces import Task

Array = NDArray[np.float64]
Item = TypeVar("Item")
Result = TypeVar("Result")
Sums: TypeAlias = dict[tuple[str, Any], Any]
"""(name of an array, place in it) -> what to add there"""
OfTask = Callable[..., Mapping[str, Any]]
Places = Callable[[str, "Task"], Any]
TOGETHER = 8
"""Batches whose sums are joined before they leave the cluster: fixed, since the order of additions follows from it."""


class Cluster(Protocol):
    """Somebody else who works on parts."""

    def mapped(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """``map(function, items)``, elsewhere."""
        ...

    def joined(
        self, function: Callable[[Any], Any], groups: Iterable[Iterable[Any]], join: Callable[[list[Any]], Any]
    ) -> Iterator[Any]:
        """``join([function(item) for item in group])`` for each group in order, elsewhere."""
        ...


class Keeper(Protocol):
    """Somebody who keeps sums of a pass that may be interrupted."""

    def begun(self, name: str, totals: Mapping[str, Array]) -> int:
        """Put what was kept of a pass into ``totals``; how many batches that is."""
        ...

    def keep(self, name: str, totals: Mapping[str, Array], done: int, complete: bool) -> None:
        """Keep the sums of so many batches, if it is time to."""
        ...


_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)
_keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def helped_by(cluster: Cluster | None, keeper: Keeper | None) -> Iterator[None]:
    """Passes inside the block are worked on and kept by these; None leaves it as it was."""
    work, kept = _cluster.set(cluster or _cluster.get()), _keeper.set(keeper or _keeper.get())
    try:
        yield
    finally:
        _cluster.reset(work)
        _keeper.reset(kept)


def add_up(
    work: Sequence[list[Task]],
    of_task: OfTask,
    snapshots: Snapshots,
    totals: Mapping[str, Array],
    description: str,
    places: Places | None = None,
) -> None:
    """Add what every task gives to arrays.

    Parameters
    ----------
    work : batches of tasks
    of_task : callable (task, snapshots=) -> mapping of str to array
        A pure function of the task and the positions it reads.
    totals : mapping of str to array
        Added to at ``places(name, task)``, by default the task's slot.
    """
    of_batch = partial(_of_batch, of_task=of_task, places=places or _slot)
    keeper = _keeper.get()
    name = f"{description}-{_identity(of_batch, work, snapshots, totals)}" if keeper is not None else ""
    done = keeper.begun(name, totals) if keeper is not None else 0
    parts, count = _parts(of_batch, work, snapshots, done)
    for batches, sums in _progress.track(parts, description, count):
        for (array, place), values in sums.items():
            totals[array][place] += values
        done += batches
        if keeper is not None:
            keeper.keep(name, totals, done, done == len(work))


def mapped(
    function: Callable[[Item], Result], items: Sequence[Item], description: str
) -> Iterable[Result]:  # fmt: skip
    """``map(function, items)``, here one after the other; ``function`` is pure."""
    cluster = _cluster.get()
    results = map(function, items) if cluster is None or len(items) < 2 else cluster.mapped(function, items)
    return _progress.track(results, description, len(items))


def _parts(
    of_batch: Callable[..., Sums], work: Sequence[list[Task]], snapshots: Snapshots, done: int
) -> tuple[Iterator[tuple[int, Sums]], int]:
    """Sums of what is left of the work, with the number of batches in each; and how many there will be."""
    cluster = _cluster.get()
    if cluster is None or len(work) < 2:
        return ((1, of_batch(batch, snapshots=snapshots)) for batch in work[done:]), len(work) - done
    starts = [done, *range((done // TOGETHER + 1) * TOGETHER, len(work), TOGETHER)] if done < len(work) else []
    groups = [work[a:b] for a, b in zip(starts, [*starts[1:], len(work)], strict=True)]
    if snapshots.by_reference:
        sums = cluster.joined(partial(of_batch, snapshots=snapshots), groups, joined)
    else:
        sent = (((batch, Excerpt(snapshots, batch)) for batch in group) for group in groups)
        sums = cluster.joined(partial(_with_positions, of_batch), sent, joined)
    return zip(map(len, groups), sums, strict=True), len(groups)


def _identity(of_batch: Any, work: Sequence[list[Task]], snapshots: Snapshots, totals: Mapping[str, Array]) -> str:
    """A text that is the same for passes with the same result only."""
    tasks = [[(task.slot, task.piece, task.runs[0], len(task.runs)) for task in batch] for batch in work]
    times = [snapshots.times_of(m) for m in range(1 if snapshots.regular else snapshots.runs)]
    return digest((of_batch, tasks, times, snapshots, {name: array.shape for name, array in totals.items()}))


def _slot(name: str, task: Task) -> tuple[int, int]:
    return task.slot


def _of_batch(batch: list[Task], snapshots: Source, of_task: OfTask, places: Places) -> Sums:
    return joined(
        {(name, places(name, task)): values for name, values in sums.items()}
        for task, sums in zip(batch, _threads.each(partial(of_task, snapshots=snapshots), batch), strict=True)
    )


def _with_positions(of_batch: Callable[..., Sums], given: tuple[list[Task], Excerpt]) -> Sums:
    batch, positions = given
    return of_batch(batch, snapshots=positions)


def joined(parts: Iterable[Sums]) -> Sums:
    """Several sums as one, added in order; what was given stays as it is, since others may still need it."""
    result: Sums = {}
    for part in parts:
        for key, values in part.items():
            result[key] = result[key] + values if key in result else values
    return result
