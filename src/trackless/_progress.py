"""Progress of long loops: silent in the library, shown where somebody asked for it.

Long loops wrap their iterable in :func:`track`. Whoever owns the terminal (the command line) installs a
display with :func:`shown_by`; everybody else sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Description = str | Callable[[], str]  # a function is asked again before every item
Display = Callable[..., Iterable]  # of items, description and total; and of costs, where they are known

_display: ContextVar[Display | None] = ContextVar("progress_display", default=None)


def track(
    items: Iterable[Item], description: Description, total: float, costs: Sequence[float] | None = None
) -> Iterable[Item]:
    """Iterate over ``items``, telling the installed display how far we are.

    ``costs`` says how long each item takes, in units of which ``total`` is the sum, where they differ much.
    """
    display = _display.get()
    if display is None:
        return items
    return display(items, description, total) if costs is None else display(items, description, total, costs)


@contextmanager
def shown_by(display: Display | None) -> Iterator[None]:
    """Let ``display(items, description, total)`` draw every :func:`track` inside the block."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
