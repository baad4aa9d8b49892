"""Networks trained on snapshots: what is kept, stopping, seeds, units, files, errors, which route is taken."""

from types import SimpleNamespace

import jax
import numpy as np
import optax
import pytest
from sklearn.base import clone
from twins import self_test_loss

import trackless as tl
from trackless.networks import RadialNetwork
from trackless.training import snapshots as training
from trackless.training.batches import Batches, segments_of
from trackless.training.loss import Pair

TINY = {"sigma": 1.0, "route": "snapshots", "hidden": (6,), "steps": 3, "batch": 32, "learning_rates": (1e-2, 2e-2)}
ALONE = {**TINY, "interaction": False}  # half the time to compile


def simulated(dim=2):
    return tl.simulate(
        tl.models.reference(), runs=12, particles=6, dim=dim, duration=0.1, step=1e-3, observe_every=1e-2, seed=0
    )


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module")
def fitted(data):
    return tl.NeuralSelfTest(**TINY).fit(data)


@pytest.fixture(scope="module")
def alone(data):
    return tl.NeuralSelfTest(**ALONE).fit(data)


@pytest.fixture(scope="module")
def impatient(data):
    """Learning rates so large that the held-out loss soon rises."""
    return tl.NeuralSelfTest(**ALONE | {"steps": 60, "patience": 3, "learning_rates": (0.2, 0.2), "networks": 2}).fit(
        data
    )


def weights_of(estimator):
    networks = (*estimator.external_networks_, *estimator.interaction_networks_)
    return np.concatenate([a.ravel() for n in networks for a in (*n.weights, *n.biases)])


# The loss


def test_the_loss_is_that_of_the_fitted_potentials(data, fitted):
    assert fitted.score(data) == -fitted.loss_
    other = data[:3].every(2)
    assert fitted.score(other) == pytest.approx(
        -self_test_loss(fitted.external_, fitted.interaction_, other, 1.0), rel=1e-4
    )


def test_a_centre_that_is_the_mean_of_the_data(data):
    moved = tl.Snapshots(data.positions + np.array([300.0, -100.0]), data.times)
    centred = tl.NeuralSelfTest(**ALONE | {"center": "mean", "quadrature": "left"}).fit(moved)
    np.testing.assert_allclose(centred.external_.origin, moved.positions.mean(axis=(0, 1, 2)), rtol=1e-9)
    assert centred.loss_ == -centred.score(moved)
    part = moved[:3]  # has another mean: the centre stays where it was
    assert centred.score(part) == pytest.approx(
        -self_test_loss(centred.external_, None, part, 1.0, rule="left"), rel=1e-4
    )


# Training


def test_training_lowers_both_losses(fitted):
    (curve,) = fitted.curves_
    assert curve.shape == (3, 2)
    assert (curve[-1] < curve[0]).all()
    assert fitted.route_ == "snapshots"
    assert fitted.sigma_ == 1.0


def test_the_kept_weights_have_the_smallest_held_out_loss(data, impatient):
    """Each network leaves out every fifth run, and its potential alone has the loss its curve says."""
    for member, (curve, best) in enumerate(zip(impatient.curves_, impatient.stopped_, strict=True)):
        assert best == int(np.argmin(curve[:, 1]))
        held_out = tl.Snapshots(data.positions[member::5], data.times)
        potential = impatient.external_networks_[member : member + 1]
        loss = training.loss_of(potential, (), impatient.tip_, held_out, impatient._recipe("snapshots", 1.0, None))
        assert loss == pytest.approx(curve[best, 1], rel=1e-3)
        assert curve[best, 1] < curve[-1, 1]


def test_training_stops_when_patience_ends(impatient):
    for curve, best in zip(impatient.curves_, impatient.stopped_, strict=True):
        assert len(curve) == best + 3 + 1 < 60


def test_several_networks_are_averaged(impatient):
    assert len(impatient.curves_) == len(impatient.external_networks_) == 2
    assert impatient.interaction_networks_ == ()
    assert impatient.interaction_ is None
    r = np.array([0.4, 0.8])
    slopes = [RadialNetwork(network, impatient.tip_).slope(r) for network in impatient.external_networks_]
    np.testing.assert_allclose(impatient.external_.slope(r), np.mean(slopes, axis=0))
    assert not np.allclose(*slopes, rtol=1e-3)


def trained_by_hand(data, wanted, rates, steps, memory):
    """A training that has not begun, and the mini-batches of an epoch."""
    recipe = tl.NeuralSelfTest(**TINY)._recipe("snapshots", 1.0, None)._replace(wanted=wanted)
    explored = training.explore(data)
    scales = training.scales_of(data, explored, recipe)
    batches = Batches(data, segments_of(data), "trapezoid", scales, 1.0)
    networks = recipe.new_networks(training.inputs_of(explored, recipe, scales), (1.0, 1.0), 0)
    pair = Pair(*(() if network is None else (network,) for network in networks))
    loss = training.loss_for(recipe, scales, training.TIP, stochastic=False)
    return training.Training(pair, loss, rates, steps, memory, seed=0), batches


def flat(tree):
    return np.concatenate([np.ravel(a) for a in jax.tree.leaves(tree) if hasattr(a, "shape")])


def test_weights_are_averaged_over_an_epoch(data):
    """What is judged and kept is the running mean of the weights, with the memory of one epoch."""
    run, batches = trained_by_hand(data, (True, False), (0.05, 0.05), steps=4, memory=3)
    mean = flat(run.pair)
    for batch in list(batches.shuffled(40, 5, np.random.default_rng(0)))[:3]:
        run.epoch([batch])
        mean = mean + (flat(run.pair) - mean) / 3
    np.testing.assert_allclose(flat(run.averaged), mean, rtol=1e-5, atol=1e-6)
    assert np.abs(flat(run.pair) - mean).max() > 1e-2
    judged = run.loss_on(batches, 64)
    assert judged == pytest.approx(training.loss_on(batches, 50, run.averaged, *run._parts), rel=1e-4)
    assert judged != pytest.approx(training.loss_on(batches, 50, run.pair, *run._parts), rel=1e-3)


def test_each_network_has_its_own_learning_rate_and_clipping(data):
    """Adam's first step is the learning rate in every weight, its first moment a tenth of the clipped gradient."""
    rates = (0.01, 0.03)
    run, batches = trained_by_hand(data, (True, True), rates, steps=3, memory=3)
    start = run.pair
    inner, outer = next(batches.shuffled(40, 10, np.random.default_rng(0)))
    steep = inner._replace(weights=1e4 * inner.weights), outer._replace(weights=1e4 * outer.weights)
    run.epoch([steep])
    for role, rate in enumerate(rates):
        moved = np.abs(flat(run.pair[role]) - flat(start[role]))
        assert moved.max() == pytest.approx(rate, rel=1e-3)
        assert np.linalg.norm(flat(optax.tree_utils.tree_get(run.states[role], "mu"))) == pytest.approx(0.1, rel=1e-3)
    run.epoch([steep] * 2)
    before = run.pair
    run.epoch([steep])  # annealed to a hundredth
    for role, rate in enumerate(rates):
        assert 0.001 * rate < np.abs(flat(run.pair[role]) - flat(before[role])).max() < 0.04 * rate


def test_the_default_recipe_is_the_documented_one():
    estimator = tl.NeuralSelfTest(sigma=1.0)
    given = {route: estimator._recipe(route, 1.0, None) for route in ("moments", "snapshots")}
    assert [(r.networks, r.steps, r.patience) for r in given.values()] == [(5, 80, 15), (1, 200, 20)]
    chosen = tl.NeuralSelfTest(sigma=1.0, networks=2, steps=7, patience=3)._recipe("snapshots", 1.0, None)
    assert (chosen.networks, chosen.steps, chosen.patience) == (2, 7, 3)


def test_many_particles_have_small_batches():
    assert training._batch_size(SimpleNamespace(particles=10, runs=np.zeros(1000)), 64) == 64
    assert training._batch_size(SimpleNamespace(particles=10, runs=np.zeros(20)), 64) == 20
    assert training._batch_size(SimpleNamespace(particles=100, runs=np.zeros(1000)), 64) == 13
    assert training._batch_size(SimpleNamespace(particles=1000, runs=np.zeros(1000)), 64) == 1
    assert training._batch_size(SimpleNamespace(particles=1, runs=np.zeros(1000)), 64) == 64


def test_the_seed_decides(data, alone):
    again, other = (tl.NeuralSelfTest(**ALONE, seed=seed).fit(data) for seed in (0, 1))
    np.testing.assert_array_equal(weights_of(alone), weights_of(again))
    np.testing.assert_array_equal(alone.curves_[0], again.curves_[0])
    assert not np.allclose(weights_of(alone), weights_of(other), rtol=1e-2)


def test_held_out_runs_are_not_trained_on(data, alone):
    """Time runs backwards in them, so that units stay as they are: nothing but the held-out loss changes."""
    changed = data.positions.copy()
    changed[::5] = changed[::5, ::-1]
    other = tl.NeuralSelfTest(**ALONE).fit(tl.Snapshots(changed, data.times))
    np.testing.assert_allclose(other.curves_[0][:, 0], alone.curves_[0][:, 0], rtol=1e-4)
    assert np.abs(other.curves_[0][:, 1] / alone.curves_[0][:, 1] - 1).min() > 0.01
    if other.stopped_ == alone.stopped_:
        np.testing.assert_allclose(weights_of(other), weights_of(alone), rtol=1e-4, atol=1e-6)


def test_units_do_not_matter(data, fitted):
    """Lengths times c and times times c^2 keep sigma: V'(x) = V(x / c), and the same of Phi."""
    c = 30.0
    scaled = tl.NeuralSelfTest(**TINY).fit(tl.Snapshots(c * data.positions, c**2 * data.times))
    assert scaled.stopped_ == fitted.stopped_
    np.testing.assert_allclose(scaled.curves_[0] * c**2, fitted.curves_[0], rtol=1e-3)
    r = np.array([0.3, 0.6, 0.9])
    for role in ("external_", "interaction_"):
        there, here = getattr(scaled, role), getattr(fitted, role)
        np.testing.assert_allclose(there.profile(c * r), here.profile(r), rtol=1e-3)
        np.testing.assert_allclose(there.slope(c * r) * c, here.slope(r), rtol=1e-3, atol=1e-4)


def test_sigma_is_a_unit_as_well(data, alone):
    """Faster times need a larger sigma: energies grow by its square."""
    faster = tl.NeuralSelfTest(**ALONE | {"sigma": 10.0}).fit(tl.Snapshots(data.positions, data.times / 100))
    r = np.array([0.3, 0.6, 0.9])
    np.testing.assert_allclose(faster.external_.slope(r), 100 * alone.external_.slope(r), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(faster.curves_[0], 1e4 * alone.curves_[0], rtol=1e-3)


def test_a_summed_interaction_is_the_mean_one_divided_by_the_particles(data, fitted):
    summed = tl.NeuralSelfTest(**TINY, coupling="sum").fit(data)
    r = np.array([0.3, 0.6, 0.9])
    np.testing.assert_allclose(6 * summed.interaction_.slope(r), fitted.interaction_.slope(r), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(summed.external_.slope(r), fitted.external_.slope(r), rtol=1e-3, atol=1e-4)
    assert summed.loss_ == pytest.approx(fitted.loss_, rel=1e-3)


def test_three_dimensions_with_random_directions():
    """The way that costs the same in every dimension; what it finds is close to the exact Laplacian's."""
    cube = simulated(dim=3)
    options = ALONE | {"route": "auto", "radial": False, "steps": 12}
    drawn = tl.NeuralSelfTest(**options, laplacian="stochastic").fit(cube)
    exact = tl.NeuralSelfTest(**options).fit(cube)
    assert drawn.route_ == exact.route_ == "snapshots"
    assert drawn.curves_[0][-1, 1] < drawn.curves_[0][0, 1]
    assert not np.array_equal(weights_of(drawn), weights_of(exact))
    x = np.array([[0.5, 0.0, 0.0], [0.0, -0.5, 0.2], [0.3, 0.3, 0.3]])
    force = drawn.external_.gradient(x)
    assert np.linalg.norm(force - exact.external_.gradient(x)) < 0.3 * np.linalg.norm(force)
    few = cube[:2].every(5)
    assert drawn.score(few) == pytest.approx(
        -self_test_loss(drawn.external_, None, few, 1.0), rel=1e-3
    )  # exact Laplacians again


# Files, conventions


def test_saved_and_loaded(data, fitted, tmp_path):
    fitted.save(tmp_path / "net.trackless")
    loaded = tl.load(tmp_path / "net.trackless")
    r = np.linspace(0.1, 2, 7)
    np.testing.assert_array_equal(loaded.interaction_.slope(r), fitted.interaction_.slope(r))
    np.testing.assert_array_equal(loaded.external_.profile(r), fitted.external_.profile(r))
    assert loaded.score(data) == -fitted.loss_
    assert loaded.route_ == "snapshots"
    assert loaded.get_params() == fitted.get_params()


def test_clone_forgets_the_fit(data, fitted):
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(tl.InputError, match="not fitted yet"):
        fresh.score(data)


def test_a_fit_on_one_route_forgets_the_other(data):
    estimator = tl.NeuralSelfTest(**ALONE | {"route": "auto", "networks": 1, "radial": (True, False)}).fit(data)
    by_moments = {"moments_", "coef_", "external_basis_", "interaction_basis_"}
    assert estimator.route_ == "moments"
    assert by_moments <= set(vars(estimator))
    estimator.set_params(route="snapshots").fit(data)
    assert estimator.route_ == "snapshots"
    assert not by_moments & set(vars(estimator))
    assert estimator.score(data) == -estimator.loss_
    estimator.set_params(route="moments").fit(data)
    assert estimator.route_ == "moments"
    assert estimator.score(data) == pytest.approx(-estimator.loss_)


def test_a_fit_that_is_refused_leaves_the_earlier_one_alone(data):
    estimator = tl.NeuralSelfTest(**ALONE | {"route": "moments", "networks": 1, "steps": 1}).fit(data)
    before = estimator.score(data)
    with pytest.raises(tl.InputError, match="sigma=0"):
        estimator.set_params(route="snapshots", sigma=0.0).fit(data)
    assert estimator.score(data) == before


# Which route


@pytest.mark.parametrize(
    ("dim", "options", "expected"),
    [
        (2, {}, "moments"),
        (3, {}, "moments"),
        (2, {"radial": False}, "moments"),
        (3, {"radial": False}, "snapshots"),
        (1, {"radial": False}, "snapshots"),
        (3, {"radial": (True, False)}, "snapshots"),
        (3, {"radial": (False, True)}, "snapshots"),
        (3, {"radial": (False, True), "external": False}, "moments"),
        (3, {"radial": (True, False), "interaction": False}, "moments"),
        (3, {"radial": (True, False), "external": False}, "snapshots"),
        (2, {"route": "snapshots"}, "snapshots"),
        (3, {"route": "moments"}, "moments"),
        (2, {"route": "moments", "radial": False}, "moments"),
    ],
)
def test_moments_are_taken_where_they_can_be(dim, options, expected):
    shape = tl.Snapshots(np.zeros((2, 3, 4, dim)), np.arange(3.0))
    assert tl.NeuralSelfTest(sigma=1.0, **options)._route(shape) == expected


def test_the_route_that_was_taken_is_told(data, monkeypatch):
    monkeypatch.setattr("trackless.estimators.neural.TENSOR", (6, 6))
    options = ALONE | {"route": "auto", "networks": 1, "steps": 1}
    assert tl.NeuralSelfTest(**options, radial=False).fit(data).route_ == "moments"
    assert tl.NeuralSelfTest(**options).fit(simulated(dim=3)).route_ == "moments"


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"route": "snapshot"}, "route: expected 'auto', 'moments', 'snapshots', got 'snapshot'"),
        ({"laplacian": "hutchinson"}, "laplacian: expected 'exact', 'stochastic', got 'hutchinson'"),
        ({"coupling": "pairs"}, "coupling: expected 'mean', 'sum', got 'pairs'"),
        ({"learning_rates": (1e-3,)}, "learning_rates: expected two positive numbers"),
        ({"learning_rates": (1e-3, 0.0)}, "learning_rates: expected two positive numbers"),
        ({"learning_rates": (-1e-3, 1e-3)}, "learning_rates: expected two positive numbers"),
        ({"batch": 0}, "batch: expected a whole number of at least 1, got 0"),
        ({"steps": 0}, "steps: expected a whole number of at least 1, got 0"),
        ({"patience": 0}, "patience: expected a whole number of at least 1, got 0"),
        ({"networks": 0}, "networks: expected a whole number of at least 1, got 0"),
        ({"sigma": None}, "sigma: the noise intensity is needed"),
        ({"sigma": 0.0}, "sigma=0: the snapshot route measures energies in .*; use route='moments'"),
        ({"external": False, "interaction": False}, "nothing to learn"),
        ({"hidden": (6, 5)}, "hidden: expected equal widths"),
        ({"activation": "relu"}, "second derivative"),
        ({"quadrature": "simpson"}, "quadrature: expected one of"),
    ],
)
def test_wrong_settings(data, options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.NeuralSelfTest(**TINY | options).fit(data)


def test_data_that_the_route_does_not_know(data, fitted):
    boxed = tl.Snapshots(data.positions % 4.0, data.times, box=4.0)
    with pytest.raises(tl.InputError, match="the snapshot route knows no periodic box"):
        tl.NeuralSelfTest(**TINY).fit(boxed)
    with pytest.raises(tl.InputError, match="knows no periodic box"):
        tl.NeuralSelfTest(**TINY | {"route": "auto", "radial": False}).fit(
            tl.Snapshots(np.ones((2, 3, 4, 3)), np.arange(3.0), box=4.0)
        )
    moments = tl.accumulate(data, tl.RadialSplines(5), tl.RadialSplines(5))
    with pytest.raises(tl.InputError, match="route='snapshots' trains on snapshots, but moments were given"):
        tl.NeuralSelfTest(**TINY).fit(moments)
    with pytest.raises(tl.InputError, match="scored on snapshots, not on moments"):
        fitted.score(moments)
    with pytest.raises(tl.InputError, match="expected Snapshots, got ndarray"):
        tl.NeuralSelfTest(**TINY).fit(data.positions)
    with pytest.raises(tl.InputError, match="at least two runs or time windows"):
        tl.NeuralSelfTest(**TINY).fit(data[:1].every(10))
    with pytest.raises(tl.InputError, match="use coupling='sum'"):
        tl.NeuralSelfTest(**TINY).fit(tl.Snapshots([[np.zeros((n, 2)) for n in (3, 2)]] * 2, [np.arange(2.0)] * 2))


def test_a_box_is_refused_when_scoring_as_well(data, fitted):
    with pytest.raises(tl.InputError, match="knows no periodic box"):
        fitted.score(tl.Snapshots(data.positions % 4.0, data.times, box=4.0))


def test_the_moment_route_says_which_one_works_in_three_dimensions():
    cube = tl.Snapshots(np.zeros((2, 3, 4, 3)), np.arange(3.0))
    with pytest.raises(tl.InputError, match="in two dimensions, the data have 3; use route='snapshots' or radial=True"):
        tl.NeuralSelfTest(sigma=1.0, radial=False, route="moments").fit(cube)


def test_training_that_diverges_says_so(data):
    with pytest.raises(tl.InputError, match=r"training diverged in epoch 1: .* use smaller learning_rates"):
        tl.NeuralSelfTest(**ALONE | {"learning_rates": (1e30, 1e30)}).fit(data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rates": 1e-3}, "two positive numbers"),
        ({"learning_rates": (1e-3, float("nan"))}, "two positive numbers"),
        ({"batch": None}, "batch: expected a whole number"),
        ({"steps": 2.5}, "steps: expected a whole number"),
        ({"radial": (True, False, True)}, "radial: expected True, False or two"),
        ({"radial": "no"}, "radial: expected True, False or two"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(data, settings, message):
    with pytest.raises(tl.InputError, match=message):
        tl.NeuralSelfTest(sigma=1.0, **settings).fit(data)
