"""The loss on snapshots against a plain double loop over particles, and against the moment route's."""

import jax
import numpy as np
import pytest
from twins import self_test_loss

import trackless as tl
from trackless.accumulation import closed_bases
from trackless.benchmarks.training import _PlainLoss
from trackless.exploration import explore
from trackless.networks import Network, RadialNetwork
from trackless.nodes import nodes_of
from trackless.potentials import Centered, PotentialSum, RadialSum
from trackless.training import jets, snapshots
from trackless.training.batches import Batches, segments_of
from trackless.training.loss import Pair
from trackless.training.network import new_network, plain, trainable
from trackless.training.recipe import Recipe
from trackless.training.snapshots import loss_of, loss_on

SIGMA = 0.7
TIP = 0.05
RECIPE = Recipe(
    sigma=SIGMA, wanted=(True, True), radial=(True, True), center=None, hidden=(5, 5), activation="tanh", networks=1,
    quadrature="trapezoid", coupling="mean", steps=1, patience=1, seed=0,
)  # fmt: skip


def some_data(dim=2, runs=3, particles=4, shift=0.0):
    generator = np.random.default_rng(dim)
    return tl.Snapshots(shift + generator.normal(size=(runs, 4, particles, dim)), np.array([0.0, 0.2, 0.5, 0.6]))


def ragged_data():
    generator = np.random.default_rng(5)
    counts = [(3, 4, 2), (2, 2, 2, 2), (1, 3, 5), (4, 0, 3)]
    times = [np.cumsum(generator.uniform(0.1, 0.3, len(run))) for run in counts]
    return tl.Snapshots([[generator.normal(size=(n, 2)) for n in run] for run in counts], times)


def some_networks(inputs, count=1, seed=0, shift=0.0, activation="tanh"):
    """Networks of forces of order 1, at ``shift``."""
    found = []
    for k in range(count):
        corners = shift + np.random.default_rng(seed + k).normal(size=(2, inputs))
        found.append(plain(new_network((5, 5), activation, corners, 1.5, 4.0, jax.random.PRNGKey(seed + k))))
    return tuple(found)


def mean_of(networks, radial, even, center=None):
    if not networks:
        return None
    share = (1 / len(networks),) * len(networks)
    if not radial:
        return PotentialSum(tuple(Network(n, even) for n in networks), share)
    potential = RadialSum(tuple(RadialNetwork(n, TIP) for n in networks), share)
    return potential if center is None else Centered(potential, center)


CASES = {
    "radial": {},
    "radial, left rule": {"quadrature": "left"},
    "radial, softplus": {"activation": "softplus"},
    "radial, three dimensions": {"dim": 3},
    "radial, one dimension": {"dim": 1},
    "neither is radial": {"radial": (False, False)},
    "neither is radial, three dimensions, left rule": {"radial": (False, False), "dim": 3, "quadrature": "left"},
    "V alone is radial": {"radial": (True, False)},
    "Phi alone is radial, summed": {"radial": (False, True), "coupling": "sum"},
    "no external": {"external": 0},
    "no external, far away": {"external": 0, "radial": (False, True), "shift": 1e3},
    "no interaction": {"interaction": 0},
    "summed": {"coupling": "sum"},
    "numbers that change": {"data": ragged_data, "coupling": "sum"},
    "numbers that change, not radial, left rule": {
        "data": ragged_data, "coupling": "sum", "radial": (False, False), "quadrature": "left",
    },
    "a centre": {"center": (0.4, -0.3)},
    "far away": {"radial": (False, False), "shift": 1e3},
    "far away, radial": {"center": (1000.2, 999.9), "shift": 1e3},
    "several networks": {"external": 3, "interaction": 3},
    "several networks, not radial": {"external": 2, "interaction": 2, "radial": (False, False)},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_the_double_loop_over_particles(case):
    options = {"dim": 2, "shift": 0.0, "external": 1, "interaction": 1, "activation": "tanh", "data": None}
    options |= CASES[case]
    names = ("dim", "shift", "external", "interaction", "activation", "data")
    dim, shift, externals, interactions, activation, data = (options.pop(name) for name in names)
    data = some_data(dim, shift=shift) if data is None else data()
    recipe = RECIPE._replace(**options)
    radial = recipe.radial
    place = 0.0 if radial[0] else shift
    external = some_networks(1 if radial[0] else dim, externals, seed=1, shift=place, activation=activation)
    interaction = some_networks(1 if radial[1] else dim, interactions, seed=11, activation=activation)
    expected = self_test_loss(
        mean_of(external, radial[0], False, recipe.center),
        mean_of(interaction, radial[1], True),
        data, SIGMA, recipe.coupling, recipe.quadrature,
    )  # fmt: skip
    assert abs(expected) > 0.02
    assert loss_of(external, interaction, TIP, data, recipe) == pytest.approx(expected, rel=5e-5, abs=5e-6)


def test_without_an_external_potential_it_does_not_matter_where_the_particles_are():
    """Only displacements count, so single precision must be spent on those."""
    near, interaction = some_data(), some_networks(1, seed=11)
    far = tl.Snapshots(near.positions + 1e5, near.times)
    expected = loss_of((), interaction, TIP, near, RECIPE)
    assert loss_of((), interaction, TIP, far, RECIPE) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("radial", [(True, True), (False, False)])
def test_batches_and_chunks_change_nothing(monkeypatch, radial):
    data, recipe = some_data(), RECIPE._replace(radial=radial)
    networks = [some_networks(1 if r else 2, seed=s) for r, s in zip(radial, (1, 11), strict=True)]
    whole = loss_of(*networks, TIP, data, recipe)
    monkeypatch.setattr(snapshots, "SCORED", 5)
    monkeypatch.setattr(jets, "CHUNK", 7)
    assert loss_of(*networks, TIP, data, recipe) == pytest.approx(whole, rel=1e-5)


def test_the_loss_of_an_ensemble_is_that_of_its_mean():
    """Not the mean of its losses."""
    data = some_data()
    external, interaction = some_networks(1, 3, seed=1), some_networks(1, 3, seed=11)
    losses = [loss_of((v,), (phi,), TIP, data, RECIPE) for v, phi in zip(external, interaction, strict=True)]
    assert loss_of(external, interaction, TIP, data, RECIPE) < np.mean(losses) - 0.01
    assert loss_of(external[:1] * 3, interaction[:1] * 3, TIP, data, RECIPE) == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.parametrize("coupling", ["mean", "sum"])
def test_both_routes_have_the_same_loss(coupling):
    """Up to what the dictionary resolves; nobody comes near r = 0, where splines are rounded and networks are not."""
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    data = tl.Snapshots(corners + 0.1 * np.random.default_rng(0).normal(size=(6, 5, 4, 2)), np.linspace(0, 0.4, 5))
    bases = closed_bases(data, tl.RadialSplines(24), tl.RadialSplines(60))
    networks = some_networks(1, seed=1), some_networks(1, seed=11)
    coef = []
    for basis, (network,) in zip(bases, networks, strict=True):
        nodes = nodes_of(basis)
        coef.append(nodes.coefficients @ network.derivatives(nodes.points)[0])
    moments = tl.accumulate(data, *bases, coupling)
    reduced = moments.normal_equations(SIGMA, "trapezoid").loss(np.concatenate(coef))
    splines = [basis.combine(part) for basis, part in zip(bases, coef, strict=True)]
    assert reduced == pytest.approx(self_test_loss(*splines, data, SIGMA, coupling), rel=1e-6)
    assert loss_of(*networks, TIP, data, RECIPE._replace(coupling=coupling)) == pytest.approx(reduced, rel=0.03)


def test_all_particles_at_one_place_have_no_size():
    data = tl.Snapshots(np.zeros((2, 3, 4, 2)), np.arange(3.0))
    with pytest.raises(tl.InputError, match="at the same place"):
        loss_of(some_networks(1), some_networks(1), TIP, data, RECIPE)


@pytest.mark.parametrize("radial", [True, False])
def test_the_benchmark_compares_equals(radial):
    """The loss that ours is timed against gives the same number."""
    data, recipe = some_data(), RECIPE._replace(radial=(radial, radial))
    scales = snapshots.scales_of(data, explore(data), recipe)
    batches = Batches(data, segments_of(data), "trapezoid", scales, SIGMA)
    pair = Pair(*(tuple(map(trainable, some_networks(1 if radial else 2, seed=s))) for s in (1, 11)))
    losses = [loss_on(batches, 4, pair, loss.inner, loss.outer) for loss in (
        snapshots.loss_for(recipe, scales, TIP, stochastic=False), _PlainLoss(radial, TIP)
    )]  # fmt: skip
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
