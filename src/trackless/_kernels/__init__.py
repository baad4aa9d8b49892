"""Numba kernels: pair loops for moments, simulation and exploration.

Kernels release the GIL and are run by :mod:`trackless._threads`, each task with sums of its own, so results do
not depend on the number of threads. Shared arrays are indexed, never sliced, in the hot loops: a slice counts
a reference, and threads that count references on one array wait for each other. Distances of many pairs are
worked on together, one function at a time, so that loops vectorise. The plain NumPy twins are in
tests/unit/twins.py.
"""

# Reassociation and fused multiply-add let loops vectorise; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}
