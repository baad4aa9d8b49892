"""More machines than one, and work that may be interrupted: dask.distributed, and checkpoints.

A cluster is handed batches as pure functions with all that they need, so that what was lost with a worker is simply
done again; nothing is ever added twice, because sums are joined by the one task that asked for them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from trackless import __version__, _threads
from trackless._errors import InputError
from trackless.passes import TOGETHER, helped_by

PATIENCE = "10 s"  # for a scheduler to answer
ADDRESS = re.compile(r"((tcp|tls|ucx|ws|wss)://)?(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):\d{1,5}|inproc://\S+")
AHEAD = 2  # parts handed out for every thread of the cluster, so that none waits for the next


@contextmanager
def using(
    client: Any = None, checkpoint: str | Path | None = None, about: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Everything inside the block that goes over data runs on a cluster, or can be taken up again where it was.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        Passes over data, simulations and bootstraps are done by its workers.
    checkpoint : path, optional
        A folder for sums of passes that take longer than ten seconds; it is made, and removed when the block ends
        well. Entered again with the same folder, the same work goes on from there.
    about : dict, optional
        Data and settings that the work depends on: a checkpoint of others is refused.

    Examples
    --------
    >>> import trackless as tl
    >>> with tl.using():  # here, as always; with tl.using(client=Client("tcp://...")): on a cluster
    ...     tl.simulate(tl.models.reference(), runs=2, duration=0.1, step=1e-2)
    Snapshots(2 runs, 11 times, 10 particles, dim 2, unlabeled)
    """
    keeper = None
    if checkpoint is not None:
        from trackless.files.checkpoints import Checkpoint  # files know results, which know estimators

        keeper = Checkpoint(checkpoint, about or {})
    with helped_by(DaskCluster(client) if client is not None else None, keeper):
        yield
    if keeper is not None:
        keeper.remove()


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler, before it is waited for.

    Examples
    --------
    >>> check_address("tcp://localhost:8786")
    >>> check_address("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    trackless._errors.InputError: client: expected the address of a dask scheduler such as tcp://HOST:8786, got ...
    """
    if not ADDRESS.fullmatch(address):
        raise InputError(f"client: expected the address of a dask scheduler such as tcp://HOST:8786, got {address!r}")


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A client of the cluster whose scheduler is at an address; None for None."""
    if address is None:
        yield None
        return
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{address}: no dask scheduler answers there ({error}); start one with `dask scheduler` and workers with "
            "`dask worker tcp://HOST:8786`"
        ) from None
    with client:
        yield client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError("clusters need the package dask; pip install 'trackless[dask]'") from None
    return distributed


class DaskCluster:
    """The workers of a dask.distributed cluster."""

    def __init__(self, client: Any) -> None:
        if not all(hasattr(client, name) for name in ("submit", "scheduler_info", "run", "cancel")):
            raise InputError(f"client: expected a dask.distributed.Client, got {type(client).__name__}")
        self._client = client
        self._threads = sum(client.nthreads().values())
        if not self._threads:
            raise InputError(
                f"client: the cluster {client.scheduler.address} has no workers; start some with "
                f"`dask worker {client.scheduler.address}`"
            )
        self._check_versions()

    def _check_versions(self) -> None:
        try:
            found = set(self._client.run(_version, on_error="return").values())
        except Exception as error:  # what a worker cannot import is told in many ways
            found = {error}
        wrong = [one for one in found if isinstance(one, str) and one != __version__]
        if wrong:
            raise InputError(f"client: a worker has trackless {wrong[0]}, here it is {__version__}; install the same")
        if any(isinstance(one, ImportError) for one in found):
            raise InputError("client: a worker has no trackless; install it where workers and scheduler run")

    def mapped(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """``map(function, items)`` on the workers."""
        return self._in_order(function, ([item] for item in items), None, 1)

    def joined(
        self, function: Callable[[Any], Any], groups: Iterable[Iterable[Any]], join: Callable[[list[Any]], Any]
    ) -> Iterator[Any]:
        """``join([function(item) for item in group])`` for each group, both on the workers."""
        return self._in_order(function, groups, join, TOGETHER)

    def _in_order(
        self, function: Callable[[Any], Any], groups: Iterable[Iterable[Any]], join: Any, size: int
    ) -> Iterator[Any]:
        """Results in order; no more is handed out than keeps the workers busy."""
        import dask.config

        # as a task, not as data: what died with a worker can then be had again
        shared = self._client.submit(_itself, function, pure=False)
        waiting: deque[Any] = deque()
        ahead = max(2, -(-AHEAD * self._threads // size))

        def submit(group: Iterable[Any]) -> Any:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # positions are large
                parts = [self._client.submit(_alone, shared, item, pure=False) for item in group]
            return parts[0] if join is None else self._client.submit(join, parts, pure=False)

        try:
            for group in chain(groups, [None] * ahead):
                if group is not None:
                    waiting.append(submit(group))
                if waiting and (group is None or len(waiting) >= ahead):
                    yield self._result(waiting.popleft())
        finally:
            self._client.cancel([*waiting, shared])

    def _result(self, future: Any) -> Any:
        distributed = _distributed()
        try:
            return future.result()
        except distributed.scheduler.KilledWorker as error:
            raise InputError(
                f"client: a part of the work was given up, because every worker that tried it died ({error}); they may "
                "have too little memory: start them with more (`dask worker --memory-limit`), or with fewer threads"
            ) from None
        except (distributed.CancelledError, distributed.comm.CommClosedError, TimeoutError) as error:
            raise InputError(
                f"client: the connection to the cluster was lost ({error}); start again when it is there; with "
                "checkpoint= the work goes on where it was"
            ) from None


def _version() -> str:
    return __version__


def _itself(value: Any) -> Any:
    return value


def _alone(function: Callable[[Any], Any], item: Any) -> Any:
    """Dask starts as many of these as a worker has threads, so each takes one."""
    with _threads.limited(1):
        return function(item)
