"""What the data can tell: known matrices, known models, and plain sentences."""

from types import SimpleNamespace

import numpy as np
import pytest

import trackless as tl
from trackless.identifiability import _coercivity, _trade_off

MODEL = tl.models.reference()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=150, step=1e-3, seed=3)


@pytest.fixture(scope="module")
def oracle(data):
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, regularization=0.0).fit(data)


def test_the_gram_matrices_are_mean_products_of_forces(data, oracle):
    found = oracle.identifiability()
    explored = tl.exploration.explore(data)
    distances = explored.distances
    slopes = np.stack([f.slope(distances) for f in MODEL.interaction_basis.functions], axis=1)
    pairs = slopes.T @ slopes / len(slopes) * 9 / 100  # c_N = (N - 1)/N^2
    np.testing.assert_allclose(found.gram_interaction, pairs, rtol=0.03)
    radii = explored.radii()
    slopes = np.stack([f.slope(radii) for f in MODEL.external_basis.functions], axis=1)
    np.testing.assert_allclose(found.gram_external, slopes.T @ slopes / len(slopes), rtol=0.03)


def test_the_coercivity_inequality_holds(oracle):
    """theta A theta >= c (alpha G_V alpha + c_N beta G_Phi beta), with equality somewhere."""
    found = oracle.identifiability()
    matrix = oracle.moments_.normal_equations(1.0).matrix
    own = np.zeros_like(matrix)
    own[:2, :2], own[2:, 2:] = found.gram_external, found.gram_interaction
    thetas = np.random.default_rng(0).normal(size=(20_000, 4))
    ratios = np.einsum("tk,kl,tl->t", thetas, matrix, thetas) / np.einsum("tk,kl,tl->t", thetas, own, thetas)
    assert found.coercivity <= ratios.min() * (1 + 1e-9)
    assert ratios.min() < 1.3 * found.coercivity
    assert found.smallest_eigenvalues["all"] >= found.coercivity * min(
        found.smallest_eigenvalues["external"], found.smallest_eigenvalues["interaction"]
    )


def test_coercivity_of_a_known_matrix():
    """Two unit forces with correlation r: the constant is 1 - r."""
    matrix = np.array([[1.0, 0.3], [0.3, 1.0]])
    constant, correlation = _coercivity(matrix, {0: np.eye(1), 1: np.eye(1)}, {0: slice(0, 1), 1: slice(1, 2)})
    assert constant == pytest.approx(0.7)
    assert correlation == pytest.approx(0.3)


def test_every_parameter_of_an_oracle_family_is_determined(oracle):
    found = oracle.identifiability()
    np.testing.assert_allclose(found.effective, (2, 2), atol=1e-8)
    assert found.condition_numbers == oracle.condition_numbers_
    assert "coercivity constant" in str(found)


def test_the_trade_off_is_one_standard_deviation_of_the_least_known_direction(oracle):
    found = oracle.identifiability().trade_off
    change = np.concatenate([
        np.linalg.lstsq(
            np.stack([f.slope(r) for f in basis.functions], axis=1), potential.slope(r), rcond=None
        )[0]
        for basis, potential in ((MODEL.external_basis, found.external), (MODEL.interaction_basis, found.interaction))
        for r in [np.linspace(0.1, 2.5, 60)]
    ])  # fmt: skip
    assert change @ np.linalg.solve(oracle.covariance_, change) == pytest.approx(1.0, rel=1e-3)
    assert 0 < found.sizes[0] < 0.5
    assert -1 <= found.cancelled <= 1


def test_a_potential_that_only_trades_off_is_said_to():
    """Phi = |r|^2 pulls everyone to the mean, and so does a trap: only the mean's own motion tells them apart."""
    spring = tl.RadialFunctions([lambda r: r**2], names=["spring"])
    model = tl.Model("springs", spring, spring, (1.0, 1.0))
    data = tl.simulate(model, runs=20, particles=20, step=1e-3, seed=1)
    fitted = tl.SelfTest(spring, spring, sigma=1.0, regularization=0.0).fit(data)
    found = fitted.identifiability()
    assert found.trade_off.cancelled > 0.5
    assert any(sentence.startswith("V and Phi trade off") for sentence in found.sentences)


def test_what_was_not_seen_is_said(data):
    fitted = tl.SelfTest(tl.RadialSplines(8), tl.RadialSplines(16), sigma=1.0, regularization="evidence").fit(data)
    found = fitted.identifiability()
    ends = [
        f"beyond r = {fitted.explored_[role][1]:.3g} the data say nothing of {name}"
        for role, name in ((0, "V"), (1, "Phi"))
    ]
    assert all(any(end in sentence for sentence in found.sentences) for end in ends)
    assert found.effective[0] + found.effective[1] == pytest.approx(fitted.posterior_.effective, rel=1e-6)


def test_a_core_that_keeps_particles_apart_is_said():
    data = tl.simulate(tl.models.singularity(), runs=20, step=1e-3, accurate=True, seed=2).between(0.05, 1.0)
    fitted = tl.SelfTest(
        tl.RadialSplines(6), tl.RadialSplines(20, follow_data=True), sigma=1.0, regularization="evidence"
    ).fit(data)
    assert any(sentence.startswith("below r = 0.4") for sentence in fitted.identifiability().sentences)


def test_one_potential_has_no_trade_off(data):
    fitted = tl.SelfTest(tl.RadialSplines(8), None, sigma=1.0, regularization=0.0).fit(data)
    found = fitted.identifiability()
    assert found.trade_off is None
    assert found.gram_interaction.shape == (0, 0)


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(tl.InputError, match="not fitted yet"):
        tl.SelfTest(tl.RadialSplines(8), None, sigma=1.0).identifiability()


def test_masked_functions_have_no_trade_off_where_their_products_are_no_squares():
    matrix = np.diag([1.0, -0.5, 1.0, 1.0] * 2)
    covariance = np.kron(np.diag([2.0, 1.0]), np.diag([1.0, 6.0, 0.1, 0.1]))
    covariance[0, 1] = covariance[1, 0] = 4.0
    families = tl.RadialSplines(4, 0.0, 1.0), tl.RadialSplines(4, 0.0, 1.0)
    parts = {0: slice(0, 4), 1: slice(4, 8)}
    for place in (0, 1):  # forces of the change, then of the fit itself, have a negative square
        fitted = SimpleNamespace(coef_=np.tile(np.eye(4)[place], 2), covariance_=covariance)
        assert _trade_off(fitted, matrix, families, parts) is None
