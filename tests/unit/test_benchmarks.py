"""The benchmark's table and page; what it measures is not asserted, machines differ."""

import pytest

import trackless as tl
from trackless.benchmarks import page, scaling
from trackless.benchmarks.scaling import Growth
from trackless.benchmarks.speed import Comparison

SPEED = [Comparison("accumulate", "1 s", "150 s (scaled)", 150.0), Comparison("share", "9", "20 (peak)", 0.45)]
GROWTH = [Growth("accumulate", "particles N", 2, {200: 0.1, 100: 0.03, 400: 0.4})]


def test_exponents_are_those_of_the_largest_sizes():
    assert GROWTH[0].exponent == pytest.approx(2.0)


def test_every_size_is_timed_and_the_shortest_time_counts():
    calls = []
    found = scaling._timed({2: lambda: calls.append(2), 3: lambda: calls.append(3)})
    assert calls == [2] + [2, 3] * scaling.REPEATS
    assert set(found) == {2, 3}
    assert all(0 <= seconds < 1 for seconds in found.values())


@pytest.mark.parametrize("reach", [None, scaling.REACH])
def test_crowds_are_accumulated_with_and_without_a_cutoff(reach):
    moments = scaling._crowd(200, reach, seed=0)()
    assert moments.interaction.cutoff == reach
    assert moments.particles.tolist() == [[200, 200]]


def test_the_page_holds_every_row_and_replaces_only_its_own_kind(tmp_path):
    table = page.rows(SPEED, GROWTH)
    path = tmp_path / "new" / "benchmarks.md"
    page.check_page(path, force=False)
    page.write_page(path, table)
    text = path.read_text()
    assert "| accumulate | 1 s | 150 s (scaled) | 150 x |  |" in text
    assert "| share | 9 | 20 (peak) | 45% |  |" in text
    assert "N^2.00 (100, 200, 400; expected N^2)" in text
    page.check_page(path, force=False)
    page.write_page(path, table[:1])
    assert "N^2.00" not in path.read_text()
    path.write_text("my notes")
    with pytest.raises(tl.InputError, match="none of this program's pages"):
        page.check_page(path, force=False)
    page.check_page(path, force=True)
