"""Networks trained on moments: what training computes, stopping, seeds, files, errors."""

import equinox as eqx
import jax
import numpy as np
import pytest
from sklearn.base import clone

import trackless as tl
from trackless.accumulation import closed_bases
from trackless.networks import ACTIVATIONS
from trackless.nodes import nodes_of
from trackless.residuals import heard_in
from trackless.training import moments as training
from trackless.training.network import new_network, plain

MODEL = tl.models.reference()
SMALL = {"hidden": (12, 12), "networks": 1, "steps": 12}


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=40, step=1e-3, observe_every=2e-2, seed=0)


@pytest.fixture(scope="module")
def fitted(data):
    return tl.NeuralSelfTest(sigma=1.0, seed=3, **SMALL).fit(data)


# The dictionary


@pytest.mark.parametrize(
    "family", [tl.RadialSplines(12), tl.RadialSplines(9, cutoff=2.0), tl.TensorSplines(8, complete=True)]
)
@pytest.mark.parametrize("role", [0, 1])
def test_nodes_give_back_the_coefficients_whatever_the_constant(data, family, role):
    basis = closed_bases(data, *((family, None) if role == 0 else (None, family)))[role]
    nodes = nodes_of(basis)
    coef = np.random.default_rng(0).normal(size=basis.size)
    potential = basis.combine(coef)
    radial = isinstance(basis, tl.RadialSplines)
    values = potential.profile(nodes.points[:, 0]) if radial else potential(nodes.points)
    tolerance = 0.02 if radial else 1e-9  # the tip of a radial spline at r = 0 is rounded
    np.testing.assert_allclose(nodes.coefficients @ (values + 5.0), coef, atol=tolerance)


def test_other_families_have_no_nodes():
    with pytest.raises(TypeError, match="no nodes"):
        nodes_of(MODEL.external_basis)


# Networks and their plain twins


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("inputs", [1, 2])
def test_plain_network_is_the_trained_one(activation, inputs):
    points = np.random.default_rng(0).normal(size=(20, inputs))
    network = new_network((9, 9), activation, points, 2.0, 3.0, jax.random.PRNGKey(1))
    value, gradient, laplacian = plain(network).derivatives(points)
    np.testing.assert_allclose(value, jax.vmap(network)(points), atol=1e-5)
    np.testing.assert_allclose(gradient, jax.vmap(jax.grad(network))(points), atol=1e-5)
    hessians = jax.vmap(jax.hessian(network))(points)
    np.testing.assert_allclose(laplacian, np.trace(hessians, axis1=1, axis2=2), atol=1e-4)


def test_inputs_fill_the_reach():
    points = np.array([[1.0, -2.0], [3.0, 6.0]])
    network = plain(new_network((4,), "tanh", points, 2.5, 1.0, jax.random.PRNGKey(0)))
    np.testing.assert_allclose((points - network.shift) / network.scale, [[-2.5, -2.5], [2.5, 2.5]])


# Training


def test_gauss_newton_lowers_the_objective_and_solves_the_linear_problem(monkeypatch):
    """For networks that are linear in their weights one undamped step is the penalised least-squares solution."""

    class Linear(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            return self.weight @ jax.numpy.stack([x[0], x[0] ** 2, x[0] ** 3])

    monkeypatch.setattr(training, "UPDATES", 0.0)  # strengths stay as they are
    generator = np.random.default_rng(0)
    points = generator.normal(size=(5, 1))
    nodes = training.Nodes(points, np.eye(5))
    root = generator.normal(size=(5, 5))
    matrix, vector, inverse = root @ root.T, generator.normal(size=5), np.diag(generator.uniform(1, 2, 5))
    with jax.enable_x64(True):
        family = training._Coefficients([Linear(jax.numpy.zeros(3))], [nodes], [False])
        state = training._State(family, matrix.T @ inverse @ matrix, matrix.T @ inverse @ vector)
        state.damping = 0.0
        before = state.objective(state.coef, state.weights)
        assert state.advance()
    jacobian = np.stack([points[:, 0] ** k for k in (1, 2, 3)], axis=1)
    design = matrix @ jacobian
    exact = np.linalg.solve(design.T @ inverse @ design + training.STRENGTH * np.eye(3), design.T @ inverse @ vector)
    np.testing.assert_allclose(state.weights[0], exact, rtol=1e-8)
    assert state.objective(state.coef, state.weights) < before


def test_covariance_of_units_is_their_scatter():
    """Units b = A c + noise with known covariance; many of them, so that little is shrunk."""
    generator = np.random.default_rng(0)
    count, noise = 20_000, np.array([[1.0, 0.6], [0.6, 2.0]])
    residuals = generator.multivariate_normal([0, 0], noise, size=count)
    matrices = np.broadcast_to(np.diag([1.0, 2.0]), (count, 2, 2))
    units = training.Units(matrices, residuals + matrices[0] @ [3.0, -1.0], np.ones(count))
    np.testing.assert_allclose(
        units.covariance(np.array([3.0, -1.0]), np.array([True, True])) * count, noise, rtol=0.05
    )


@pytest.mark.parametrize("count", [4, 15, 200])
def test_covariance_of_few_units_is_shrunk_as_ledoit_and_wolf_say(count):
    """Towards typical variances along the spectrum of A (of functions of equal force); the share by its definition.

    One of the units is used up, as the fit goes through their mean: two units would be alike and show no noise at all.
    """
    generator = np.random.default_rng(count)
    root = np.tril(generator.normal(size=(3, 3))) + 2 * np.eye(3)
    matrix, residuals = np.eye(4), np.zeros((count, 4))
    heard = np.array([True, True, False, True])
    matrix[np.ix_(heard, heard)] = root @ root.T
    residuals[:, heard] = generator.normal(size=(count, 3)) @ np.array([[1, 0.5, 0], [0, 2, 0.3], [0, 0, 0.5]]) @ root.T
    residuals[:, 2] = 100.0  # of a function that is not heard
    coef = np.array([3.0, -1.0, 0.0, 2.0])
    matrices = np.broadcast_to(5 * matrix, (count, 4, 4))  # units of weight 5
    units = training.Units(matrices, 5 * residuals + matrices[0] @ coef, np.full(count, 5.0))
    own = np.sqrt(np.diag(root @ root.T))
    sizes, directions = np.linalg.eigh(root @ root.T / np.outer(own, own))
    to_white = np.diag(1 / np.sqrt(sizes)) @ directions.T @ np.diag(1 / own)
    white = residuals[:, heard] @ to_white.T
    variances = (white**2).mean(axis=0)
    padded = np.concatenate([variances[:1], variances, variances[-1:]])
    typical = np.maximum([padded[k : k + 3].mean() for k in range(3)], np.median(variances))
    white /= np.sqrt(typical)
    scatter = white.T @ white / count
    noise = sum(((np.outer(w, w) - scatter) ** 2).sum() for w in white) / count / (count - 2)  # less their mean
    share = min(noise / ((scatter - np.eye(3)) ** 2).sum(), 1.0)
    back = np.linalg.inv(to_white) @ np.diag(np.sqrt(typical))
    expected = back @ ((1 - share) * scatter + share * np.eye(3)) @ back.T / (count - 1)
    covariance = units.covariance(coef, heard)
    np.testing.assert_allclose(covariance[np.ix_(heard, heard)], expected, rtol=1e-9, atol=1e-12)
    assert not covariance[2].any()
    assert np.linalg.eigvalsh(covariance[np.ix_(heard, heard)])[0] > 0


def test_equations_are_judged_within_their_potential():
    """A summed interaction has large forces; that must not silence the external potential."""
    matrix = np.diag([1.0, 1e-3, 1e-9, 1e8, 1e2])
    heard = heard_in(matrix, [slice(0, 3), slice(3, 5)])
    assert heard.tolist() == [True, True, False, True, False]


def test_the_kept_weights_have_the_smallest_held_out_loss(fitted):
    curve = fitted.curves_[0]
    assert curve.shape[1] == 2
    assert fitted.stopped_[0] == int(np.argmin(curve[:, 1]))
    assert curve[-1, 0] < curve[0, 0]


def test_training_stops_when_patience_ends(data):
    patient = tl.NeuralSelfTest(sigma=1.0, hidden=(8,), networks=1, steps=400, patience=2).fit(data)
    assert len(patient.curves_[0]) - 1 - patient.stopped_[0] <= 3
    assert len(patient.curves_[0]) < 400


def test_held_out_runs_are_not_trained_on(data):
    """Changing the runs of the first part changes nothing but the held-out loss of the first network."""
    changed = data.positions.copy()
    changed[::5] *= 1.5
    bases = closed_bases(data, tl.RadialSplines(8), tl.RadialSplines(12))
    curves = []
    for positions in (data.positions, changed):
        moments = tl.accumulate(tl.Snapshots(positions, data.times), *bases, windows=1)
        estimator = tl.NeuralSelfTest(sigma=1.0, hidden=(8,), networks=1, steps=6, patience=10)
        curves.append(estimator.fit(moments).curves_[0])
    np.testing.assert_allclose(curves[0][:, 0], curves[1][:, 0], rtol=1e-9)
    assert abs(curves[0][-1, 1] - curves[1][-1, 1]) > 0.01


def test_the_same_seed_gives_the_same_weights(data, fitted):
    again = tl.NeuralSelfTest(sigma=1.0, seed=3, **SMALL).fit(data)
    other = tl.NeuralSelfTest(sigma=1.0, seed=4, **SMALL).fit(data)
    for a, b in zip(fitted.external_networks_[0].weights, again.external_networks_[0].weights, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(fitted.coef_, other.coef_)


def test_several_networks_are_averaged(data):
    several = tl.NeuralSelfTest(sigma=1.0, hidden=(8,), networks=3, steps=5).fit(data)
    assert len(several.curves_) == len(several.interaction_networks_) == 3
    r = np.array([0.4, 0.8])
    slopes = [network.derivatives(r[:, None])[1][:, 0] for network in several.interaction_networks_]
    np.testing.assert_allclose(several.interaction_.slope(r), np.mean(slopes, axis=0))


def test_the_loss_is_that_of_the_dictionary(data, fitted):
    assert fitted.loss_ == pytest.approx(-fitted.score(data))
    assert fitted.loss_ < -1.0


@pytest.mark.parametrize(("length", "time"), [(1e-6, 1.0), (1e4, 1e-3)])
def test_units_do_not_matter(data, length, time):
    """Lengths in other units, and times: potentials change by length^2 / time, and nothing else does."""
    options = {"hidden": (8,), "networks": 1, "steps": 6}
    plain_units = tl.NeuralSelfTest(sigma=1.0, **options).fit(data)
    other = tl.Snapshots(data.positions * length, data.times * time)
    scaled = tl.NeuralSelfTest(sigma=length / np.sqrt(time), **options).fit(other)
    r = np.array([0.3, 0.6, 0.9])
    for role in ("external_", "interaction_"):
        expected = getattr(plain_units, role).slope(r) * length / time
        np.testing.assert_allclose(getattr(scaled, role).slope(r * length), expected, rtol=1e-3)


def test_a_summed_interaction_is_the_mean_one_divided_by_the_particles(data):
    options = {"sigma": 1.0, "hidden": (8,), "networks": 1, "steps": 6}
    mean, summed = (tl.NeuralSelfTest(coupling=c, **options).fit(data) for c in ("mean", "sum"))
    r = np.array([0.3, 0.6, 0.9])
    np.testing.assert_allclose(10 * summed.interaction_.slope(r), mean.interaction_.slope(r), rtol=1e-3)


# Kinds of potentials


def test_a_potential_may_be_left_out(data):
    alone = tl.NeuralSelfTest(sigma=1.0, interaction=False, **SMALL).fit(data)
    assert alone.interaction_ is None
    assert alone.external_.slope(0.5) > 0
    pairs = tl.NeuralSelfTest(sigma=1.0, external=False, **SMALL).fit(data)
    assert pairs.external_ is None
    assert np.isfinite(pairs.interaction_.slope(0.5))


def test_a_free_v_is_not_given_up_for_a_radial_phi():
    """Phi learns faster and could explain V away; networks that start from splines keep their own."""
    data = tl.simulate(MODEL, runs=50, step=1e-3, observe_every=1e-2, seed=1)
    fitted = tl.NeuralSelfTest(sigma=1.0, radial=(False, True), networks=1).fit(data)
    assert tl.gradient_errors(fitted, MODEL, data).external < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"external": "radial"}, "external: expected True or False"),
        ({"interaction": 0}, "interaction: expected True or False"),
        ({"hidden": 64}, "hidden: expected equal widths"),
        ({"hidden": (8.0, 8)}, "hidden: expected equal widths"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"radial": 1}, "radial: expected True, False or two"),
        ({"center": 0.0}, "center: expected 2 coordinates"),
    ],
)
def test_settings_of_another_kind(options, message):
    data = tl.simulate(MODEL, runs=4, duration=0.05, step=1e-2, observe_every=1e-2)
    with pytest.raises(tl.InputError, match=message):
        tl.NeuralSelfTest(sigma=1.0, **options).fit(data)


def test_nothing_fitted_is_nothing_to_save(tmp_path):
    with pytest.raises(tl.InputError, match="nothing to save"):
        tl.NeuralSelfTest(sigma=1.0).save(tmp_path / "fit.trackless")
    assert not list(tmp_path.iterdir())


def test_potentials_that_are_not_radial(monkeypatch):
    monkeypatch.setattr("trackless.estimators.neural.TENSOR", (6, 6))
    data = tl.simulate(tl.models.anisotropic(), runs=40, step=1e-3, observe_every=2e-2)
    fitted = tl.NeuralSelfTest(sigma=1.0, radial=(False, False), hidden=(16, 16), networks=1, steps=60).fit(data)
    x = np.array([[0.6, -0.3], [0.6, 0.3]])
    np.testing.assert_allclose(fitted.interaction_(x), fitted.interaction_(-x))
    force = fitted.external_.gradient(x)  # of x_1^2 + 4 x_2^2
    assert force[0, 1] < -1.0
    assert force[1, 1] > 1.0
    assert force[:, 0].min() > 0.3


def test_a_centre_is_kept(data):
    moved = tl.Snapshots(data.positions + np.array([3.0, -1.0]), data.times)
    fitted = tl.NeuralSelfTest(sigma=1.0, center="mean", **SMALL).fit(moved)
    np.testing.assert_allclose(fitted.external_.origin, [3.0, -1.0], atol=0.1)


# Files, conventions, errors


def test_saved_and_loaded(fitted, data, tmp_path):
    fitted.save(tmp_path / "net.trackless")
    loaded = tl.load(tmp_path / "net.trackless")
    r = np.linspace(0.1, 2, 7)
    np.testing.assert_array_equal(loaded.interaction_.slope(r), fitted.interaction_.slope(r))
    np.testing.assert_array_equal(loaded.external_.profile(r), fitted.external_.profile(r))
    assert loaded.score(data) == fitted.score(data)
    np.testing.assert_array_equal(loaded.curves_[0], fitted.curves_[0])


def test_networks_on_moments_have_bands(fitted, data, tmp_path):
    r = np.linspace(0.2, 1.2, 6)
    lower, upper = fitted.interaction_.band(r)
    assert (lower < fitted.interaction_.slope(r)).all()
    assert (fitted.interaction_.slope(r) < upper).all()
    everywhere = fitted.interaction_.band(r, simultaneous=True)
    assert (everywhere[0] < lower).all()
    assert np.isinf(fitted.external_.band(50.0)).all()
    fitted.save(tmp_path / "net.trackless")
    np.testing.assert_array_equal(tl.load(tmp_path / "net.trackless").interaction_.band(r), fitted.interaction_.band(r))
    few = tl.NeuralSelfTest(sigma=1.0, seed=3, **SMALL).fit(data[:10])
    widths = [np.ptp(f.interaction_.band(r), axis=0).mean() for f in (few, fitted)]
    assert widths[0] > 1.2 * widths[1]  # a quarter of the data


def test_clone_forgets_the_fit(fitted):
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(tl.InputError, match="not fitted yet"):
        fresh.score(fitted.moments_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": None}, "sigma: the noise intensity is needed"),
        ({"activation": "relu"}, "second derivative"),
        ({"hidden": (64, 32)}, "hidden: expected equal widths"),
        ({"hidden": ()}, "hidden: expected equal widths"),
        ({"networks": 0}, "networks: expected a whole number of at least 1"),
        ({"external": False, "interaction": False}, "nothing to learn"),
        ({"quadrature": "simpson"}, "quadrature: expected one of"),
    ],
)
def test_wrong_settings(data, options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.NeuralSelfTest(**{"sigma": 1.0, **options}).fit(data)


def test_wrong_data(data):
    with pytest.raises(tl.InputError, match="moments of RadialSplines or TensorSplines"):
        tl.NeuralSelfTest(sigma=1.0).fit(tl.accumulate(data, MODEL.external_basis, MODEL.interaction_basis))
    cube = tl.simulate(MODEL, runs=4, dim=3, duration=0.1, step=1e-3)
    with pytest.raises(tl.InputError, match="trained on moments in two dimensions, the data have 3"):
        tl.NeuralSelfTest(sigma=1.0, radial=False, route="moments").fit(cube)
    one = tl.accumulate(data[:1].every(10), tl.RadialSplines(4), None, windows=1)
    with pytest.raises(tl.InputError, match="at least two runs or time windows"):
        tl.NeuralSelfTest(sigma=1.0).fit(one)
