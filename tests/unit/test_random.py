"""Random numbers of the kernels: bit by bit against the twin, and their distributions."""

import numpy as np
import pytest
import twins
from scipy import stats

from trackless._kernels.random import fill_normals, next_bits, next_uniform, shuffle

SEED = np.random.SeedSequence(7).generate_state(4, np.uint64)


def state_of(seed=SEED):
    return np.array([seed], dtype=np.uint64)


def drawn(count, seed=SEED):
    out = np.empty(count)
    fill_normals(state_of(seed), 0, out, count)
    return out


def test_twin_gives_the_published_sequence():
    # xoshiro256++ from the state (1, 2, 3, 4): test vector of the authors' reference code, as used by rand_xoshiro
    state = [1, 2, 3, 4]
    assert [twins.next_bits(state) for _ in range(5)] == [
        41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205,
    ]  # fmt: skip


def test_bits_are_xoshiro():
    state, twin = state_of(), [int(word) for word in SEED]
    assert [int(next_bits(state, 0)) for _ in range(1000)] == [twins.next_bits(twin) for _ in range(1000)]
    assert state[0].tolist() == twin


def test_uniforms_are_those_of_the_twin():
    state, twin = state_of(), [int(word) for word in SEED]
    values = np.array([next_uniform(state, 0) for _ in range(1000)])
    np.testing.assert_array_equal(values, [twins.next_uniform(twin) for _ in range(1000)])


def test_normals_are_the_ziggurat_of_the_twin():
    count = 30_000
    values = drawn(count)
    expected = twins.normals([int(word) for word in SEED], count)
    assert np.abs(expected).max() > twins.TAIL  # or the tail is not tested
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_generators_of_a_batch_are_independent_of_each_other():
    other = np.random.SeedSequence(8).generate_state(4, np.uint64)
    state = np.stack([other, SEED])
    out = np.empty(50)
    fill_normals(state, 1, out, 50)
    np.testing.assert_array_equal(out, drawn(50))
    np.testing.assert_array_equal(state[0], other)


def test_only_the_first_count_are_filled():
    out = np.full(5, np.inf)
    fill_normals(state_of(), 0, out, 3)
    assert np.isfinite(out).tolist() == [True, True, True, False, False]


def test_moments_of_the_normal_distribution():
    values = drawn(1_000_000)
    # mean, variance, skewness and kurtosis, each within 4.5 of its standard errors
    for power, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)]:
        assert abs((values**power).mean() - expected) < 4.5 * np.sqrt(variance / len(values))


def test_normal_distribution_function():
    values = drawn(200_000)
    assert stats.kstest(values, "norm").pvalue > 1e-3
    assert stats.kstest(values[np.abs(values) > 3.0], _tail).pvalue > 1e-3


def _tail(x):
    """Distribution function of a normal deviate beyond +-3."""
    lower = stats.norm.cdf(np.minimum(x, -3.0))
    upper = np.maximum(stats.norm.cdf(x) - stats.norm.cdf(3.0), 0.0)
    return (lower + upper) / (2 * stats.norm.cdf(-3.0))


def test_successive_normals_are_uncorrelated():
    values = drawn(500_000)
    for lag in (1, 2, 3):
        assert abs((values[:-lag] * values[lag:]).mean()) < 4.5 / np.sqrt(len(values))
        assert abs((values[:-lag] ** 2 * values[lag:] ** 2).mean() - 1) < 4.5 * np.sqrt(8 / len(values))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_shuffle_is_that_of_the_twin(n):
    state, twin = state_of(), [int(word) for word in SEED]
    for _ in range(20):
        order = np.arange(n)
        shuffle(state, 0, order)
        assert order.tolist() == twins.shuffled(twin, n)


def test_shuffle_is_uniform():
    state = state_of()
    counts = np.zeros((4, 4, 4), int)
    for _ in range(24_000):
        order = np.arange(4)
        shuffle(state, 0, order)
        counts[tuple(order[:3])] += 1
    seen = counts[counts > 0]
    assert len(seen) == 24
    assert stats.chisquare(seen).pvalue > 1e-3
