"""Random numbers inside kernels: xoshiro256++ and normal deviates by the ziggurat.

Every run owns its generator, so a run's path depends on its seed alone: not on the number of threads, not on
the number of runs. The ziggurat (Marsaglia and Tsang 2000, 256 layers) needs no transcendental function in
99 % of draws; NumPy's legacy normals in numba cost about six times as much.
"""

from __future__ import annotations

import numpy as np
from numba import int64, njit, uint64

LAYERS = 256
TAIL = 3.6541528853610088  # where the lowest layer's tail begins
AREA = 0.00492867323399  # of each layer
MANTISSA = 2.0**52


def _layers():
    """Right edges x, acceptance thresholds and densities of the layers of exp(-x^2/2)."""
    edges = np.zeros(LAYERS + 1)
    density = lambda x: np.exp(-0.5 * x * x)  # noqa: E731
    edges[0] = AREA / density(TAIL)
    edges[1] = TAIL
    for i in range(2, LAYERS):
        edges[i] = np.sqrt(-2 * np.log(AREA / edges[i - 1] + density(edges[i - 1])))
    inside = (edges[1:] / edges[:-1] * MANTISSA).astype(np.int64)
    return edges / MANTISSA, inside, density(edges)


WIDTH, INSIDE, DENSITY = _layers()
SIGN = np.array([1.0, -1.0])


@njit(inline="always")
def rotated(x, k):
    return (x << uint64(k)) | (x >> uint64(64 - k))


@njit(inline="always")
def advanced(s0, s1, s2, s3):
    """64 random bits and the generator's next state."""
    result = rotated(s0 + s3, 23) + s0
    t = s1 << uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    return result, s0, s1, s2, rotated(s3, 45)


@njit
def next_bits(state, b):
    """64 random bits from the generator in ``state[b]`` (4 words)."""
    result, s0, s1, s2, s3 = advanced(state[b, 0], state[b, 1], state[b, 2], state[b, 3])
    state[b, 0], state[b, 1], state[b, 2], state[b, 3] = s0, s1, s2, s3
    return result


@njit
def next_uniform(state, b):
    """A number in (0, 1)."""
    return (float(next_bits(state, b) >> uint64(12)) + 0.5) / MANTISSA


@njit
def fill_normals(state, b, out, count):
    """Standard normal deviates into ``out[:count]``.

    The generator lives in registers meanwhile: kept in memory, its words are written one by one and read
    back as a vector, a stall of 20 ns per draw.
    """
    s0, s1, s2, s3 = state[b, 0], state[b, 1], state[b, 2], state[b, 3]
    for i in range(count):
        bits, s0, s1, s2, s3 = advanced(s0, s1, s2, s3)
        layer = bits & uint64(255)
        magnitude = int64(bits >> uint64(12))
        x = float(magnitude) * WIDTH[layer]
        if magnitude >= INSIDE[layer]:
            state[b, 0], state[b, 1], state[b, 2], state[b, 3] = s0, s1, s2, s3
            x = outside_layer(state, b, layer, magnitude)
            s0, s1, s2, s3 = state[b, 0], state[b, 1], state[b, 2], state[b, 3]
        out[i] = x * SIGN[(bits >> uint64(8)) & uint64(1)]  # a branch would be mispredicted half the time
    state[b, 0], state[b, 1], state[b, 2], state[b, 3] = s0, s1, s2, s3


@njit
def outside_layer(state, b, layer, magnitude):
    """The rare rest of the ziggurat."""
    while True:
        x = float(magnitude) * WIDTH[layer]
        if magnitude < INSIDE[layer]:
            return x
        if layer == 0:  # beyond the last edge: Marsaglia's tail method
            while True:
                x = -np.log(next_uniform(state, b)) / TAIL
                if -2.0 * np.log(next_uniform(state, b)) > x * x:
                    return x + TAIL
        low, high = DENSITY[layer], DENSITY[layer + uint64(1)]
        if low + next_uniform(state, b) * (high - low) < np.exp(-0.5 * x * x):
            return x
        bits = next_bits(state, b)
        layer = bits & uint64(255)
        magnitude = int64(bits >> uint64(12))


@njit
def shuffle(state, b, order):
    """Permute ``order`` in place (Fisher and Yates)."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = int(next_uniform(state, b) * (i + 1))
        order[i], order[j] = order[j], order[i]
