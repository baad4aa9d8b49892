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
from trackless.excerpts import Excerpt, NotFinite, Source
from trackless.snapshots import Snapshots

if TYPE_CHECKING:
    from trackless.pieces import Batches, Task

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
    work: Batches,
    of_task: OfTask,
    snapshots: Snapshots,
    totals: Mapping[str, Array],
    description: str,
    places: Places | None = None,
) -> None:
    """Add what every task gives to arrays.

    Parameters
    ----------
    work : Batches
    of_task : callable (task, snapshots=) -> mapping of str to array
        A pure function of the task and the positions it reads.
    totals : mapping of str to array
        Added to at ``places(name, task)``, by default the task's slot.
    """
    places, keeper = places or _slot, _keeper.get()
    name = f"{description}-{_identity(of_task, work, snapshots, totals)}" if keeper is not None else ""
    done = keeper.begun(name, totals) if keeper is not None else 0
    cluster = _cluster.get() if len(work) > 1 else None
    groups = _groups(done, len(work), 1 if cluster is None else TOGETHER)
    found = (
        (_of_tasks(batch, snapshots, of_task, places) for batch in work.after(done))
        if cluster is None
        else _elsewhere(cluster, [[work[k] for k in group] for group in groups], snapshots, of_task, places)
    )
    alone = len(work) == 1  # then its tasks, which may be slow ones, tell how far it is
    groups_done = zip(groups, found, strict=True)
    for group, parts in groups_done if alone else _progress.track(groups_done, description, len(groups)):
        for part in _progress.track(parts, description, len(work[0])) if alone else parts:
            for (array, place), values in part.items():
                totals[array][place] += values
        if keeper is not None:
            keeper.keep(name, totals, group.stop, group.stop == len(work))


def mapped(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    description: str,
    ahead: Callable[[Sequence[Item]], Iterable[Item]] = iter,
) -> Iterable[Result]:
    """``map(function, items)``, here one after the other as ``ahead(items)`` gives them; ``function`` is pure."""
    cluster = _cluster.get() if len(items) > 1 else None
    results = map(function, ahead(items)) if cluster is None else cluster.mapped(function, items)
    return _progress.track(results, description, len(items))


def joined(parts: Iterable[Sums]) -> Sums:
    """Several sums as one, added in order; what was given stays as it is, since others may still need it."""
    result: Sums = {}
    for part in parts:
        for key, values in part.items():
            result[key] = result[key] + values if key in result else values
    return result


def _groups(done: int, count: int, together: int) -> list[range]:
    """What is left of so many batches, in groups; they begin at the same places whatever was done before."""
    starts = [done, *range((done // together + 1) * together, count, together)] if done < count else []
    return [range(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)] if starts else []


def _elsewhere(
    cluster: Cluster, groups: list[list[list[Task]]], snapshots: Snapshots, of_task: OfTask, places: Places
) -> Iterator[list[Sums]]:
    """Sums of each group of batches; data in files are read where the work is done, others are sent along."""
    of_batch = partial(_of_batch, of_task=of_task, places=places)
    try:
        if snapshots.in_files:
            yield from ([one] for one in cluster.joined(partial(of_batch, snapshots), groups, joined))
        else:
            sent = (((Excerpt(snapshots, batch), batch) for batch in group) for group in groups)
            yield from ([one] for one in cluster.joined(partial(_unpacked, of_batch), sent, joined))
    except NotFinite:
        snapshots.check_finite()
        raise


def _of_tasks(batch: list[Task], snapshots: Source, of_task: OfTask, places: Places) -> Iterator[Sums]:
    """Sums of every task, one by one: they may be large."""
    for task, sums in zip(batch, _threads.each(partial(of_task, snapshots=snapshots), batch), strict=True):
        yield {(name, places(name, task)): values for name, values in sums.items()}


def _of_batch(snapshots: Source, batch: list[Task], of_task: OfTask, places: Places) -> Sums:
    return joined(_of_tasks(batch, snapshots, of_task, places))


def _unpacked(function: Callable[[Any, Any], Any], given: tuple[Any, Any]) -> Any:
    return function(*given)


def _slot(name: str, task: Task) -> tuple[int, int]:
    return task.slot


def _identity(of_task: Any, work: Batches, snapshots: Snapshots, totals: Mapping[str, Array]) -> str:
    """A text that is the same for passes with the same result only."""
    tasks = [[(task.slot, task.piece, task.runs[0], len(task.runs)) for task in batch] for batch in work.groups]
    times = [snapshots.times_of(m) for m in range(1 if snapshots.regular else snapshots.runs)]
    return digest((of_task, tasks, times, snapshots, {name: array.shape for name, array in totals.items()}))
