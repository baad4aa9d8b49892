"""Limits of memory: what they may be, and what follows from them."""

import numpy as np
import pytest

import trackless as tl
from trackless import _memory

DATA = tl.Snapshots(np.random.default_rng(0).normal(size=(600, 3, 4, 2)), dt=0.1)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("1.5 gb", 15 * 10**8), ("600M", 6 * 10**8), ("1GiB", 2**30), (10**9, 10**9), ("1e9", None),
     ("-2GB", None), ("2 apples", None), ("", None), (True, None), ("100MB", None), (0, None)],
)  # fmt: skip
def test_sizes(text, size):
    if size is not None:
        assert _memory.size_in_bytes(text) == size
        return
    with pytest.raises(tl.InputError, match="memory: "):
        tl.set_memory(text)


def test_a_limit_is_for_one_call_or_for_all():
    try:
        tl.set_memory("2GB")
        tl.accumulate(DATA, tl.RadialSplines(5), None, memory="1GB")
        assert tl.get_memory() == 2 * 10**9
        with pytest.raises(tl.InputError, match="memory"):
            tl.accumulate(DATA, tl.RadialSplines(5), None, memory="nothing")
        assert tl.get_memory() == 2 * 10**9
    finally:
        tl.set_memory(None)


def test_moments_have_fewer_blocks_where_memory_is_short():
    bases = tl.RadialSplines(40), tl.RadialSplines(60)
    plain, short = (tl.accumulate(DATA, *bases, memory=memory) for memory in (None, "500MB"))
    assert plain.blocks == 600
    assert short.blocks < 100
    assert sum(values.nbytes for values in (short.quadratic, short.pair)) < 0.25 * 150e6
    for name in ("quadratic", "energy"):
        one, two = (getattr(m, name).sum(axis=0) for m in (plain, short))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def test_moments_that_do_not_fit_are_refused():
    said = r"1000 functions in 1 windows need 48 MB of moments, and 37.5 MB are for them; .*\(memory=, --memory\)"
    with pytest.raises(tl.InputError, match=said):
        tl.accumulate(DATA, tl.RadialSplines(1000), None, memory="500MB", windows=1)
