"""Bars on a terminal: nested loops, loops that end early, and nothing left behind."""

import io

import pytest
from rich.console import Console

from trackless import _progress
from trackless.cli.progress import Bars


@pytest.fixture
def screen():
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def test_nested_loops_share_a_display_that_ends_with_the_outer_one(screen):
    bars = Bars(screen)
    seen = []
    with _progress.shown_by(bars):
        for a in _progress.track(range(2), "outer", 2):
            for b in _progress.track(range(3), "inner", 3):
                seen.append((a, b))
                assert len(bars._display.tasks) == 2
            assert len(bars._display.tasks) == 1
    assert len(seen) == 6
    assert bars._display is None
    text = screen.file.getvalue()
    assert "outer" in text
    assert "inner" in text


def test_a_loop_that_fails_takes_its_bar_away(screen):
    bars = Bars(screen)

    def work():
        for _ in bars(range(3), "outer", 3):
            for _ in bars(range(3), "inner", 3):
                raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        work()
    assert bars._display is None
    assert list(bars(range(2), "again", 2)) == [0, 1]
