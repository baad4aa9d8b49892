"""Memory: a memory-mapped data set is read in pieces, never copied whole."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, threading, time
import trackless as tl

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

peak, done = [0.0], threading.Event()

def watch():
    while not done.is_set():
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.002)

data = tl.read(sys.argv[1], dt=0.01)
model = tl.models.reference()
tl.accumulate(data[:2], model.external_basis, model.interaction_basis)   # compile
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
tl.accumulate(data, model.external_basis, model.interaction_basis)
done.set()
print(peak[0] - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
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
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "data.npy")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    grown = float(result.stdout)
    assert 0 < grown < megabytes / 4
