"""Memory: a memory-mapped data set is read in pieces, never copied whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from trackless.benchmarks.storage import generate

WATCHED = """
import sys
import numpy as np
import trackless as tl
from trackless.benchmarks.storage import anonymous, anonymous_peak

{before}
start = anonymous()
with anonymous_peak(0.002) as peak:
    {job}
print(start / 2**20, peak[0] / 2**20)
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")


def peak(before, job, *arguments):
    """Megabytes of anonymous memory of a process before ``job``, and the most while it runs."""
    command = [sys.executable, "-c", WATCHED.format(before=before, job=job), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def growth(before, job, *arguments):
    """Megabytes by which ``job`` makes a process grow."""
    start, most = peak(before, job, *arguments)
    return most - start


@pytest.mark.parametrize("ending", ["npy", "zarr"])
def test_a_limit_of_memory_is_kept(ending, tmp_path):
    """400 MB of data within 500 MB, of which the program takes more than 100."""
    generate(tmp_path / f"data.{ending}", 4e8)
    _, most = peak(
        "tl.set_memory('500MB')",
        "tl.accumulate(tl.read(sys.argv[1], dt=0.01), tl.RadialSplines(5), tl.RadialSplines(8))",
        tmp_path / f"data.{ending}",
    )
    assert 100 < most < 5e8 / 2**20


@pytest.mark.slow
def test_memory_mapped_data_are_not_copied(tmp_path):
    import numpy as np

    megabytes, (times, particles, dim) = 480, (101, 10, 2)
    runs = megabytes * 2**20 // (8 * times * particles * dim)
    array = np.lib.format.open_memmap(tmp_path / "data.npy", "w+", np.float64, (runs, times, particles, dim))
    generator = np.random.default_rng(0)
    for first in range(0, runs, 1000):
        part = array[first : first + 1000]
        part[:] = generator.normal(0, 0.5, part.shape)
    array.flush()
    del array
    grown = growth(
        "data = tl.read(sys.argv[1], dt=0.01); model = tl.models.reference(); "
        "bases = model.external_basis, model.interaction_basis; tl.accumulate(data[:2], *bases)",
        "tl.accumulate(data, *bases)",
        tmp_path / "data.npy",
    )
    assert 0 < grown < megabytes / 4


@pytest.mark.slow
def test_thousands_of_particles_are_matched_within_a_few_cost_matrices():
    """2000 particles that move as far as their spacing; one matrix of costs takes 32 MB."""
    grown = growth(
        "x = np.random.default_rng(0).normal(0, 0.5, (2000, 2)); matching = tl.Matching('sinkhorn', sigma=0.02); "
        "matching.pair(x[:3], x[:3])",
        "partner = matching.pair(x, x + np.random.default_rng(1).normal(0, 0.02, x.shape)); "
        "assert len(set(partner)) == 2000",
    )
    assert 30 < grown < 130
