"""The true potentials are the formulas of the paper (section 5), up to the constants no force can see."""

import numpy as np
import pytest
from differences import assert_derivatives, points_at

import trackless as tl
from trackless import models
from trackless.basis import members_of
from trackless.mixtures import listed, one_of

R = np.linspace(0.4, 2.4, 201)


def indicator(r, lower, upper, epsilon=0.05):
    return 0.5 * (np.tanh((r - lower) / epsilon) - np.tanh((r - upper) / epsilon))


def tip_and_bowl(r, alpha=(-1.0, 2.0)):
    return 0.5 * alpha[0] * r + alpha[1] * r**2


def double_well(r):
    return 0.25 * (r**2 - 1) ** 2 - 0.25


def shells(r, beta=(-3.0, 2.0), c=(0.75, 1.5), s=(0.125, 0.25)):
    return sum(beta[k] * np.exp(-((r - c[k]) ** 2) / (2 * s[k] ** 2)) for k in range(2))


def steps(r, beta=(-3.0, 2.0)):
    return beta[0] * indicator(r, 0.5, 1.0) + beta[1] * indicator(r, 1.0, 2.0)


def lennard_jones(r, epsilon=0.5, sigma=0.5):
    return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)


def morse(r, depth=0.5, a=2.0, r0=0.8):
    return depth * ((1 - np.exp(-a * (r - r0))) ** 2 - (1 - np.exp(a * r0)) ** 2)


RADIAL = {
    "reference": (tip_and_bowl, shells),
    "smoothness": (tip_and_bowl, steps),
    "conditioning": (double_well, lambda r: -0.5 * r / (r + 1)),
    "smooth_control": (double_well, morse),
}


@pytest.mark.parametrize("name", RADIAL)
def test_radial_models(name):
    model = models.ALL[name]()
    for potential, formula in zip((model.external, model.interaction), RADIAL[name], strict=True):
        difference = potential.profile(R) - formula(R)
        np.testing.assert_allclose(difference, difference[0], atol=1e-12)
    assert model.sigma == 1.0


def test_singular_model_outside_its_core():
    model = models.singularity()
    np.testing.assert_allclose(model.external.profile(R), R**2)
    # the shifted-force cut subtracts the slope at 2.5, the paper's formula does not
    h = 1e-6
    tail = (lennard_jones(2.5 + h) - lennard_jones(2.5 - h)) / (2 * h)
    difference = model.interaction.profile(R) - (lennard_jones(R) - tail * R)
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)
    assert abs(tail) < 1e-3
    assert model.interaction.slope(2.5) == model.interaction.profile(2.5) == 0


def test_singular_model_is_clamped_below_r_safe():
    phi = models.singularity(r_safe=0.35).interaction
    inside = np.array([0.0, 0.1, 0.3])
    np.testing.assert_allclose(phi.slope(inside), phi.slope(0.35))
    np.testing.assert_allclose(phi.profile(inside), phi.profile(0.35) + (inside - 0.35) * phi.slope(0.35))
    np.testing.assert_array_equal(phi.curvature(inside), 0.0)


def test_anisotropic_model():
    model = models.anisotropic()
    x = np.random.default_rng(0).standard_normal((50, 2))
    np.testing.assert_allclose(model.external(x), x[:, 0] ** 2 + 4 * x[:, 1] ** 2)
    np.testing.assert_allclose(model.interaction(x), 2 * np.exp(-0.5 * (x[:, 0] ** 2 / 0.5**2 + x[:, 1] ** 2 / 1.5**2)))
    assert model.dim == 2


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("role", ["external", "interaction"])
@pytest.mark.parametrize("name", models.ALL)
def test_derivatives(name, role, dim):
    model = models.ALL[name]()
    if model.dim not in (None, dim):
        dim = model.dim
    x = points_at(R[::3], dim, avoid=(0.35, 2.5))
    for _, potential in listed(getattr(model, role)):
        assert_derivatives(potential, x, tolerance=1e-3 if name == "smoothness" else 1e-4)


@pytest.mark.parametrize("name", models.ALL)
def test_coefficients_say_the_potentials(name):
    model = models.ALL[name]()
    bases = (model.external_basis, model.interaction_basis)
    assert len(model.coefficients) == sum(basis.size for basis in bases)
    x = points_at(R[::5], 2)
    for member in members_of(bases):
        truth = one_of((model.external, model.interaction)[member.role], member.kinds)
        coef = model.true_coef[member.part]
        total = sum(c * f(x) for c, f in zip(coef, member.basis.functions, strict=True))
        np.testing.assert_allclose(truth(x), total, atol=1e-12)


def test_true_coefficients_in_the_oracle_bases():
    expected = {
        "reference": (-0.5, 2, -3, 2),
        "smoothness": (-0.5, 2, -3, 2),
        "conditioning": (0.25, -0.5, 0.5),
        "smooth_control": (0.25, -0.5, -1, 0.5),
        "singularity": (1, 2, -2),
        "anisotropic": (1, 4, 2),
        "mixture": (0.5, 1, 6, -4, -5),
    }
    assert {name: make().coefficients for name, make in models.ALL.items()} == expected


def test_parts_may_be_missing():
    trap = tl.Model("trap", models.reference().external_basis, None, (-0.5, 2.0))
    assert trap.interaction is None
    assert trap.external.profile(1.0) == 1.5
    crowd = tl.Model("crowd", None, models.reference().interaction_basis, (-3.0, 2.0))
    assert crowd.external is None
    np.testing.assert_allclose(crowd.interaction.profile(R), shells(R))
