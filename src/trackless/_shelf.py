"""What was read from files lately, at hand for whoever needs it next: bounded in size, and read ahead.

Threads that want the same piece wait for one of them to read it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from trackless import _memory

Load = Callable[[], Any]
Item = TypeVar("Item")


def read_ahead(items: Iterable[Item], fetch: Callable[[Item], None]) -> Iterator[Item]:
    """Items one by one, while the one that follows is fetched.

    Examples
    --------
    >>> fetched = []
    >>> [list(fetched) for item in read_ahead("abc", fetched.append)]
    [['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c']]
    """
    before: list[Item] = []
    for item in items:
        fetch(item)
        yield from before
        before = [item]
    yield from before


class Shelf:
    """Pieces by name, the least recently used of which go first when there is no room.

    Examples
    --------
    >>> shelf = Shelf()
    >>> shelf.get("a", 8, lambda: "read"), shelf.get("a", 8, lambda: "read again")
    ('read', 'read')
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Future[Any], int]] = OrderedDict()
        self._size = 0
        self._reader: ThreadPoolExecutor | None = None

    def get(self, name: Hashable, size: int, load: Load) -> Any:
        """A piece of so many bytes, read with ``load`` where it is not at hand."""
        future, new = self._place(name, size)
        if new:
            self._fill(name, future, load)
        return future.result()

    def fetch(self, name: Hashable, size: int, load: Load) -> None:
        """Read it in the background: it will be asked for soon."""
        future, new = self._place(name, size)
        if new:
            if self._reader is None:  # one is enough: it only has to keep up with those who compute
                self._reader = ThreadPoolExecutor(1, thread_name_prefix="trackless-reader")
            self._reader.submit(self._fill, name, future, load)

    def _place(self, name: Hashable, size: int) -> tuple[Future[Any], bool]:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name][0], False
            room = _memory.for_data() - size  # made before anything is read
            for other in list(self._kept):
                if self._size <= room:
                    break
                if self._kept[other][0].done():
                    self._forget(other)
            future: Future[Any] = Future()
            self._kept[name] = future, size
            self._size += size
            return future, True

    def _fill(self, name: Hashable, future: Future[Any], load: Load) -> None:
        try:
            future.set_result(load())
        except BaseException as error:  # whoever waits for it is told, and the next one tries again
            with self._lock:
                self._forget(name)
            future.set_exception(error)

    def _forget(self, name: Hashable) -> None:
        if name in self._kept:
            self._size -= self._kept.pop(name)[1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0


shelf = Shelf()


def _renewed() -> None:
    """A forked process has none of the threads that others wait for."""
    shelf.__init__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renewed)
