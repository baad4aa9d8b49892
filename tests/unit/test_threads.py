"""Threads and progress: results in order, displays only where asked for."""

import threading
import time

import numpy as np
import pytest

import trackless as tl
from trackless import _progress, _threads


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    tl.set_threads(request.param)
    yield request.param
    tl.set_threads(None)


def test_results_come_in_the_order_of_the_tasks(threads):
    def slow_at_first(k):
        time.sleep(0.02 if k < 2 else 0.0)
        return k * k

    assert tl.get_threads() == threads
    assert _threads.run(slow_at_first, range(8)) == [k * k for k in range(8)]
    assert _threads.run(slow_at_first, []) == []


def test_the_first_task_runs_alone(threads):
    running, together = [], []

    def task(k):
        running.append(k)
        time.sleep(0.01)
        together.append((k, len(running)))
        running.remove(k)

    _threads.run(task, range(6))
    assert together[0] == (0, 1)
    assert sorted(k for k, _ in together) == list(range(6))


def test_several_tasks_run_at_once():
    tl.set_threads(2)
    try:
        meeting = threading.Barrier(2, timeout=5)
        _threads.run(lambda k: meeting.wait() if k else 0, range(3))  # would time out one after the other
    finally:
        tl.set_threads(None)


def test_errors_of_tasks_are_raised(threads):
    def fails(k):
        if k == 3:
            raise tl.InputError("task 3")

    with pytest.raises(tl.InputError, match="task 3"):
        _threads.run(fails, range(6))


def test_default_is_at_least_one_thread():
    tl.set_threads(None)
    assert tl.get_threads() >= 1


def test_progress_is_shown_only_inside_the_block():
    seen = []

    def display(items, description, total):
        seen.append((description, total))
        yield from items

    data = tl.Snapshots(np.random.default_rng(0).standard_normal((3, 4, 2, 2)), np.arange(4.0))
    basis = tl.RadialSplines(5, lower=0.0, upper=2.0)
    with _progress.shown_by(display):
        shown = tl.accumulate(data, basis, None)
        tl.simulate(tl.models.reference(), particles=2, runs=2, duration=0.01, step=0.01)
    silent = tl.accumulate(data, basis, None)
    assert [description for description, _ in seen] == ["accumulating", "simulating"]
    assert all(total >= 1 for _, total in seen)
    np.testing.assert_array_equal(shown.quadratic, silent.quadratic)
