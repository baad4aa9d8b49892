"""Progress of long loops: silent in the library, shown where somebody asked for it.

Long loops wrap their iterable in :func:`track`. Whoever owns the terminal (the command line) installs a
display with :func:`shown_by`; everybody else sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Description = str | Callable[[], str]  # a function is asked again before every item
Display = Callable[[Iterable, Description, int], Iterable]

_display: ContextVar[Display | None] = ContextVar("progress_display", default=None)


def track(items: Iterable[Item], description: Description, total: int) -> Iterable[Item]:
    """Iterate over ``items``, telling the installed display how far we are."""
    display = _display.get()
    return items if display is None else display(items, description, total)


@contextmanager
def shown_by(display: Display | None) -> Iterator[None]:
    """Let ``display(items, description, total)`` draw every :func:`track` inside the block."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
