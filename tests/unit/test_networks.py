"""Networks as potentials: derivatives against finite differences and against JAX, without JAX at run time."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import trackless as tl
from trackless.networks import ACTIVATIONS, Network, Perceptron, RadialNetwork, check_activation


def perceptron(inputs, activation="softplus", hidden=(7, 7), seed=0):
    generator = np.random.default_rng(seed)
    sizes = (inputs, *hidden, 1)
    return Perceptron(
        weights=tuple(generator.normal(size=(b, a)) for a, b in pairwise(sizes)),
        biases=tuple(generator.normal(size=b) for b in sizes[1:]),
        activation=activation,
        shift=generator.normal(size=inputs),
        scale=generator.uniform(0.5, 2.0, size=inputs),
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_derivatives_are_those_of_the_values(activation, inputs):
    network = perceptron(inputs, activation)
    x = np.random.default_rng(1).normal(size=(6, inputs))
    value, gradient, laplacian = network.derivatives(x)
    h = 1e-4
    steps = h * np.eye(inputs)
    up, down = (np.stack([network.derivatives(x + s * step)[0] for step in steps], axis=1) for s in (1, -1))
    np.testing.assert_allclose(gradient, (up - down) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(laplacian, ((up + down - 2 * value[:, None]) / h**2).sum(axis=1), atol=1e-5)


def test_many_points_are_worked_on_in_chunks(monkeypatch):
    network, x = perceptron(2), np.random.default_rng(0).normal(size=(25, 2))
    whole = network.derivatives(x)
    monkeypatch.setattr("trackless.networks.CHUNK", 7)
    for a, b in zip(whole, network.derivatives(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert [len(part) for part in network.derivatives(np.zeros((0, 2)))] == [0, 0, 0]


def test_large_inputs_do_not_overflow():
    value, gradient, laplacian = perceptron(1).derivatives(np.array([[-1e6], [1e6]]))
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert (np.abs(laplacian) < 1e-10).all()


def test_radial_network_keeps_shapes_and_is_a_radial_potential():
    potential = RadialNetwork(perceptron(1))
    r = np.linspace(0.1, 2, 6).reshape(2, 3)
    assert potential.profile(r).shape == potential.slope(r).shape == potential.curvature(r).shape == (2, 3)
    x = np.array([[0.6, 0.8, 0.0]])
    np.testing.assert_allclose(potential.gradient(x), potential.slope(1.0) * x, rtol=1e-12)
    np.testing.assert_allclose(potential.laplacian(x), potential.curvature(1.0) + 2 * potential.slope(1.0), rtol=1e-12)


def test_a_rounded_radial_network_is_flat_at_the_origin():
    network = perceptron(1)
    potential = RadialNetwork(network, 0.3)
    assert potential.slope(0.0) == 0.0
    assert np.isfinite(potential.laplacian(np.zeros((1, 3)))).all()
    assert abs(RadialNetwork(network).slope(0.0)) > 1e-3
    r, h = np.array([0.0, 0.1, 0.5, 2.0]), 1e-4
    below, at, above = (potential.profile(r + k * h) for k in (-1, 0, 1))
    np.testing.assert_allclose(potential.slope(r), (above - below) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(potential.curvature(r), (above - 2 * at + below) / h**2, atol=1e-5)


def test_even_network_is_even():
    potential = Network(perceptron(2), even=True)
    x = np.random.default_rng(2).normal(size=(3, 4, 2))
    np.testing.assert_allclose(potential(-x), potential(x), rtol=1e-12)
    np.testing.assert_allclose(potential.gradient(-x), -potential.gradient(x), rtol=1e-12)
    np.testing.assert_allclose(potential.laplacian(-x), potential.laplacian(x), rtol=1e-12)
    h = 1e-5
    step = np.array([h, 0.0])
    slope = (potential(x + step) - potential(x - step)) / (2 * h)
    np.testing.assert_allclose(potential.gradient(x)[..., 0], slope, atol=1e-7)
    assert not np.allclose(Network(perceptron(2))(-x), Network(perceptron(2))(x))


@pytest.mark.parametrize("name", ["relu", "elu", "sigmoid", ""])
def test_activations_need_a_second_derivative(name):
    with pytest.raises(tl.InputError, match=r"activation: expected 'softplus' or 'tanh', got .* second derivative"):
        check_activation(name)


def test_evaluating_a_network_does_not_import_jax():
    code = "import sys, trackless.networks, trackless.files.results; print('jax' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
