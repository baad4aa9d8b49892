"""Progress bars of a command: one display, a line for each loop that runs, the inner ones below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from rich.console import Console


class Bars:
    """Draws every :func:`trackless._progress.track` on a console, with the time left; gone when it ends.

    Examples
    --------
    >>> import io
    >>> bars = Bars(Console(file=io.StringIO(), force_terminal=True))
    >>> [(a, b) for a in bars(range(2), "outer", 2) for b in bars(range(2), "inner", 2)]
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._display: Any = None

    def __call__(
        self, items: Iterable[Any], description: Any, total: float, costs: Sequence[float] | None = None
    ) -> Iterator[Any]:
        text = description if callable(description) else lambda: description
        display = self._started()
        line = display.add_task(f"{text():>14}", total=total)
        try:
            for item, cost in zip(items, costs or repeat(1.0), strict=False):
                display.update(line, description=f"{text():>14}")
                yield item
                display.advance(line, cost)
        finally:
            display.remove_task(line)
            if not display.tasks:  # what is printed next must not be above a bar
                display.stop()
                self._display = None

    def _started(self) -> Any:
        if self._display is None:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
            self._display = Progress(*columns, console=self._console, transient=True)
            self._display.start()
        return self._display
