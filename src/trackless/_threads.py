"""Running independent tasks on the machine's cores.

Kernels release the GIL, so plain threads are enough. Results come back in the order of the tasks, whatever
the number of threads, which is what makes sums reproducible.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from trackless._errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 3  # tasks per thread that are at work, waiting for it, or done

_threads: int | None = None
_here: ContextVar[int | None] = ContextVar("threads_here", default=None)  # where others share the process


def set_threads(count: int | None) -> None:
    """Use ``count`` threads; None uses every core this process may run on.

    Examples
    --------
    >>> set_threads(None)
    >>> get_threads() >= 1
    True
    """
    global _threads
    if count is not None and count < 1:
        raise InputError(f"threads: expected at least 1, got {count}")
    _threads = count


def get_threads() -> int:
    """The number of threads kernels run on."""
    here = _here.get()
    if here is not None:
        return here
    if _threads is not None:
        return _threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def limited(count: int) -> Iterator[None]:
    """So many threads inside the block, whatever was set: for one of several who work in this process."""
    token = _here.set(count)
    try:
        yield
    finally:
        _here.reset(token)


def run(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """``[function(task) for task in tasks]`` on all threads, results in order."""
    return list(each(function, tasks))


def each(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """The same one by one, so that a large result can be used and forgotten while others are worked on.

    The first task runs alone: if the kernel is not compiled yet, the others wait for it instead of
    compiling it again. Never more than a few results per thread wait to be used.
    """
    tasks = list(tasks)
    if not tasks:
        return
    yield function(tasks[0])
    threads = min(get_threads(), len(tasks) - 1)
    if threads <= 1:
        yield from map(function, tasks[1:])
        return
    begun: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks[1:]:
                begun.append(pool.submit(function, task))
                if len(begun) > AHEAD * threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
