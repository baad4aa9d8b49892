"""Bars on a terminal: nested loops, loops that end early, and nothing left behind."""

import io

import numpy as np
import pytest
from rich.console import Console

import trackless as tl
from trackless import _progress, pieces
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


def test_items_count_by_what_they_cost(screen):
    bars, seen = Bars(screen), []
    with _progress.shown_by(bars):
        for _ in _progress.track("ab", "work", 10.0, [9.0, 1.0]):
            seen.append(bars._display.tasks[0].completed)
    assert seen == [0.0, 9.0]


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


def test_a_pass_of_one_batch_tells_its_tasks(monkeypatch):
    """A bar with a single step would say nothing of the time left."""
    monkeypatch.setattr(pieces, "TASK_POINTS", 50)
    data = tl.Snapshots(np.random.default_rng(0).normal(size=(12, 6, 5, 2)), dt=0.1)
    seen = []

    def display(items, description, total):
        seen.append((description, total))
        return items

    with _progress.shown_by(display):
        tl.accumulate(data, tl.RadialSplines(4, lower=0.0, upper=5.0), None)
    assert [name for name, _ in seen] == ["accumulating"]
    assert seen[0][1] > 5
