"""Data sets for tests of files: small, of every kind, with positions of many magnitudes."""

from itertools import product

import numpy as np

import trackless as tl

TIMES = np.array([0.0, 0.1, 0.3])
SIDES = (3.0, 4.0, 5.5)


def regular(dim=2, dtype=float, **options):
    positions = np.random.default_rng(0).standard_normal((2, 3, 4, dim)).astype(dtype)
    return tl.Snapshots(positions, TIMES, **options)


def ragged(counts=((3, 1, 2), (2, 4)), **options):
    generator = np.random.default_rng(1)
    runs = [[generator.standard_normal((n, 2)) for n in run] for run in counts]
    return tl.Snapshots(runs, [0.1 + 0.3 * np.arange(len(run)) for run in counts], **options)


def any_kind(runs, even, dim, boxed, named, labeled, seed=0):
    """A data set with the given properties; times are irregular numbers with all digits."""
    generator = np.random.default_rng(seed)
    sides = SIDES[:dim] if boxed else None

    def points(count):
        if sides is not None:
            return generator.random((count, dim)) * sides
        return generator.standard_normal((count, dim)) * 10.0 ** generator.integers(-9, 9)

    lengths = [3 if even else 2 + m % 2 for m in range(runs)]
    counts = [[4] * length if even else [3, 3, 3][:length] if labeled else [3, 2, 4][:length] for length in lengths]
    kinds = None
    if named:  # both kinds in every file
        kinds = [
            [[*"baab"[:n]] if labeled else ["b", *generator.choice(["a", "b"], n - 2), "a"] for n in run]
            for run in counts
        ]
    positions = [[points(n) for n in run] for run in counts]
    if even:
        times = np.cumsum(generator.random(3))
        return tl.Snapshots(np.array(positions), times, sides, labeled, np.array(kinds) if named else None)
    return tl.Snapshots(positions, [np.cumsum(generator.random(n)) for n in lengths], sides, labeled, kinds)


def all_kinds(runs=(1, 3), boxed=(False, True)):
    """All data sets that differ in runs, evenness, dimension, box, species and labels."""
    for choice in product(runs, (True, False), (1, 2, 3), boxed, (False, True), (False, True)):
        yield any_kind(*choice)


def assert_equal(found, expected):
    """Everything is the same, bit by bit."""
    assert (found.runs, found.dim, found.box, found.labeled, found.species) == (
        expected.runs, expected.dim, expected.box, expected.labeled, expected.species,
    )  # fmt: skip
    assert found.regular or not expected.regular  # lists that could have been an array may become one
    for m in range(expected.runs):
        np.testing.assert_array_equal(found.times_of(m), expected.times_of(m))
        np.testing.assert_array_equal(found.species_counts_of(m), expected.species_counts_of(m))
        for i in range(len(expected.times_of(m))):
            np.testing.assert_array_equal(found.frame(m, i), expected.frame(m, i))
            assert found.frame(m, i).dtype == expected.frame(m, i).dtype
