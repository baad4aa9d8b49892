"""Jets of networks against JAX's own derivatives, in double precision."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trackless.networks import ACTIVATIONS, RadialNetwork
from trackless.training import jets
from trackless.training.jets import Jet, even_jet, exact_jet, in_chunks, radial_jet, stochastic_jet, values
from trackless.training.network import new_network, plain

KEY = jax.random.PRNGKey(3)


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def network_of(inputs, activation="softplus", hidden=(9, 9), seed=0):
    """Neither its unit nor its shift and scale are trivial."""
    corners = np.random.default_rng(seed).normal(0.7, 1.5, size=(2, inputs))
    return new_network(hidden, activation, corners, 2.0, 3.0, jax.random.PRNGKey(seed))


def points_of(count, inputs, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(count, inputs)))


@eqx.filter_jit
def jet_of(network, points):
    return exact_jet(network, points)


def differentiated(function, points):
    """The jet of a function of one point by JAX's derivatives, one point at a time."""
    hessian = jax.vmap(jax.jacrev(jax.grad(function)))(points)
    return Jet(jax.vmap(function)(points), jax.vmap(jax.grad(function))(points), jnp.trace(hessian, axis1=1, axis2=2))


def assert_same(actual, expected, rtol=1e-9, atol=1e-11):
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def number(jet):
    """Something that depends on every part of a jet, not linearly."""
    signs = jnp.arange(1.0, 1 + jet.gradient.shape[1])
    return jnp.sin(jet.value).sum() + (signs * jet.gradient**2).sum() + (jet.laplacian**3).sum()


def by_weights(function, network):
    """Derivative of a number by the network's weights."""
    return eqx.filter(eqx.filter_jit(eqx.filter_grad(function))(network), eqx.is_inexact_array)


# Exact


LAYERS = [(9,), (9, 9), (9, 9, 9)]


@pytest.mark.parametrize(
    ("activation", "inputs", "hidden"),
    [("softplus", 1, LAYERS[0]), ("softplus", 1, LAYERS[2])]
    + [("softplus", inputs, hidden) for inputs in (2, 5) for hidden in LAYERS]
    + [("tanh", inputs, hidden) for inputs, hidden in zip((5, 1, 2), LAYERS, strict=True)],
)
def test_exact_jet_is_what_differentiation_gives(activation, inputs, hidden):
    network, points = network_of(inputs, activation, hidden), points_of(6, inputs)
    jet = jet_of(network, points)
    assert jet.gradient.shape == (6, inputs)
    assert jet.value.shape == jet.laplacian.shape == (6,)
    assert_same(jet, eqx.filter_jit(differentiated)(network, points))
    np.testing.assert_allclose(eqx.filter_jit(values)(network, points), jet.value, rtol=1e-12)


@pytest.mark.parametrize(
    ("activation", "inputs", "hidden"),
    [("softplus", 1, (9,)), ("softplus", 2, (9, 9, 9)), ("softplus", 5, (9, 9)), ("tanh", 2, (9, 9))],
)
def test_weights_feel_every_part_of_an_exact_jet(activation, inputs, hidden):
    """Third derivatives: the rule of softplus is written by hand."""
    network, points = network_of(inputs, activation, hidden), points_of(5, inputs)
    expected = by_weights(lambda n: number(differentiated(n, points)), network)
    assert_same(by_weights(lambda n: number(exact_jet(n, points)), network), expected)
    plain = by_weights(lambda n: jnp.sin(jax.vmap(n)(points)).sum(), network)
    assert_same(by_weights(lambda n: jnp.sin(values(n, points)).sum(), network), plain)


def test_large_inputs_do_not_overflow():
    with jax.enable_x64(False):
        network = network_of(1)
        far = jnp.array([[-1e6], [1e6]], jnp.float32)
        jet, gradient = jet_of(network, far), by_weights(lambda n: exact_jet(n, far).laplacian.sum(), network)
        assert jet.value.dtype == jnp.float32
        assert all(np.isfinite(part).all() for part in jax.tree.leaves((jet, gradient)))


# Stochastic


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_stochastic_jet_has_exact_values_and_gradients_and_the_laplacian_on_average(activation):
    network, points = network_of(3, activation), points_of(4, 3)
    exact = jet_of(network, points)
    keys = jax.random.split(jax.random.PRNGKey(0), 2000)
    jet = jax.jit(jax.vmap(lambda key: stochastic_jet(network, points, key)))(keys)
    for same, part in zip(jet[:2], exact[:2], strict=True):
        np.testing.assert_allclose(same, np.broadcast_to(part, same.shape), rtol=1e-9, atol=1e-11)
    drawn = np.asarray(jet.laplacian)
    error = drawn.std(axis=0) / np.sqrt(len(keys))
    assert (error > 0).all()
    assert (np.abs(drawn.mean(axis=0) - exact.laplacian) < 5 * error).all()
    correlation = np.corrcoef(drawn.T)[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < 0.2  # every point has a direction of its own


def test_one_direction_is_all_there_is_on_a_line():
    network, points = network_of(1), points_of(5, 1)
    key = jax.random.PRNGKey(3)
    assert_same(eqx.filter_jit(stochastic_jet)(network, points, key), jet_of(network, points))
    expected = by_weights(lambda n: number(exact_jet(n, points)), network)
    assert_same(by_weights(lambda n: number(stochastic_jet(n, points, key)), network), expected)


# Even and radial


def test_even_jet_is_that_of_the_symmetrised_network():
    network, points = network_of(2), points_of(6, 2)

    jet = jax.jit(lambda at: even_jet(lambda x: exact_jet(network, x), at))
    symmetrised = jax.jit(lambda at: differentiated(lambda x: 0.5 * (network(x) + network(-x)), at))
    assert_same(jet(points), symmetrised(points))
    here, there = jet(points), jet(-points)
    assert_same((there.value, -there.gradient, there.laplacian), tuple(here), rtol=1e-12)
    assert not np.allclose(here.gradient, jet_of(network, points).gradient)


@pytest.mark.parametrize("tip", [0.0, 0.3])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_radial_jet_is_that_of_a_function_of_the_rounded_distance(dim, tip):
    network, points = network_of(1), points_of(6, dim)

    jet = jax.jit(lambda at: radial_jet(lambda s: exact_jet(network, s), at, tip))
    rounded = jax.jit(lambda at: differentiated(lambda x: network(jnp.sqrt((x**2).sum() + tip**2)[None]), at))
    assert_same(jet(points), rounded(points))
    potential = RadialNetwork(plain(network), tip)
    in_numpy = tuple(getattr(potential, name)(np.asarray(points)) for name in ("__call__", "gradient", "laplacian"))
    assert_same(jet(points), in_numpy)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_radial_jet_is_finite_where_particles_coincide(dim):
    """Padding puts absent particles in one place; their jets are multiplied by zero, also backwards."""
    with jax.enable_x64(False):
        network, points = network_of(1), jnp.zeros((2, dim), jnp.float32)

        @eqx.filter_jit
        def jet(network):
            return radial_jet(lambda s: exact_jet(network, s), points, 0.01)

        assert all(np.isfinite(part).all() for part in jet(network))
        np.testing.assert_array_equal(jet(network).gradient, 0.0)
        weighted = by_weights(lambda n: 0.0 * number(jet(n)), network)
        assert all(np.isfinite(part).all() for part in jax.tree.leaves(weighted))


# Chunks


@pytest.mark.parametrize("count", [7, 14, 25])
def test_chunks_change_nothing(monkeypatch, count):
    network, points = network_of(2), points_of(count, 2)
    whole = jet_of(network, points)
    gradient = by_weights(lambda n: number(exact_jet(n, points)), network)
    monkeypatch.setattr(jets, "CHUNK", 7)
    parts = eqx.filter_jit(lambda n: in_chunks(lambda x, _: exact_jet(n, x), points, KEY))(network)
    assert_same(parts, whole, rtol=1e-11)
    in_parts = by_weights(lambda n: number(in_chunks(lambda x, _: exact_jet(n, x), points, KEY)), network)
    assert_same(in_parts, gradient, rtol=1e-11)


def test_a_chunk_is_all_a_function_sees(monkeypatch):
    monkeypatch.setattr(jets, "CHUNK", 7)
    seen = []

    def function(points, _):
        seen.append(points.shape)
        return points.sum(axis=1)

    in_chunks(function, points_of(25, 3), KEY)
    assert set(seen) == {(7, 3)}


def test_chunks_have_random_directions_of_their_own(monkeypatch):
    monkeypatch.setattr(jets, "CHUNK", 7)
    drawn = in_chunks(lambda x, key: jax.random.normal(key, x.shape[:1]), points_of(21, 2), KEY)
    assert len(np.unique(np.asarray(drawn))) == 21
