"""simulate: reproducibility, the clock, starting points, boxes, and simple statistics."""

from types import SimpleNamespace

import numpy as np
import pytest

import trackless as tl
from trackless.potentials import Centered, PotentialSum
from trackless.shapes import Gaussian, Power
from trackless.simulation import _seeds

REFERENCE = tl.models.reference()
SHORT = {"particles": 5, "runs": 20, "duration": 0.05, "step": 1e-3, "observe_every": 1e-2}


def trap(stiffness=1.0, sigma=1.0):
    """V = stiffness |x|^2 / 2."""
    return tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (0.5 * stiffness,), sigma)


@pytest.mark.parametrize("accurate", [False, True])
def test_number_of_threads_does_not_matter(accurate):
    try:
        tl.set_threads(1)
        one = tl.simulate(REFERENCE, seed=3, accurate=accurate, **SHORT)
        tl.set_threads(2)
        two = tl.simulate(REFERENCE, seed=3, accurate=accurate, **SHORT)
    finally:
        tl.set_threads(None)
    np.testing.assert_array_equal(one.positions, two.positions)


def test_seeds_differ():
    first, second = (tl.simulate(REFERENCE, seed=seed, **SHORT) for seed in (1, 2))
    assert np.abs(first.positions - second.positions).min() > 0


def test_every_generator_has_a_state_of_its_own():
    states = _seeds(seed=3, runs=50)
    assert len(np.unique(states)) == states.size == 2 * 50 * 4


def test_runs_of_a_data_set_differ():
    positions = tl.simulate(REFERENCE, initial=0.0, **SHORT).positions
    assert (positions[:, 0] == 0).all()
    assert np.abs(positions[1:, 1] - positions[:-1, 1]).min() > 0


@pytest.mark.parametrize("particles", [3, 40])
def test_more_runs_continue_the_sequence(particles):
    options = {**SHORT, "particles": particles}
    few, many = (tl.simulate(REFERENCE, seed=5, **{**options, "runs": runs}) for runs in (5, 21))
    np.testing.assert_array_equal(many.positions[:5], few.positions)


def test_longer_durations_continue_the_paths():
    short, long = (tl.simulate(trap(), seed=5, **{**SHORT, "duration": t}) for t in (0.05, 0.1))
    np.testing.assert_allclose(long.positions[:, :6], short.positions, atol=1e-5)


def test_hiding_labels_does_not_change_the_positions():
    labeled = tl.simulate(REFERENCE, labeled=True, **SHORT)
    hidden = tl.simulate(REFERENCE, **SHORT)
    assert labeled.labeled
    assert not hidden.labeled
    for one, other in zip(labeled.positions.reshape(-1, 5, 2), hidden.positions.reshape(-1, 5, 2), strict=True):
        np.testing.assert_array_equal(sorted(one.tolist()), sorted(other.tolist()))
    steps = np.abs(np.diff(hidden.positions, axis=1)).mean() / np.abs(np.diff(labeled.positions, axis=1)).mean()
    assert steps > 2  # neighbours in the array are other particles


def test_times_of_the_snapshots():
    data = tl.simulate(trap(), particles=2, runs=1, duration=0.1, step=1e-3, observe_every=0.02)
    np.testing.assert_allclose(data.times, [0.0, 0.02, 0.04, 0.06, 0.08, 0.1])
    cut = tl.simulate(trap(), particles=2, runs=1, duration=0.11, step=1e-3, observe_every=0.02)
    np.testing.assert_array_equal(cut.times, data.times)


@pytest.mark.parametrize("labeled", [True, False])
def test_first_snapshot_is_the_start(labeled):
    start = np.random.default_rng(0).standard_normal((3, 4, 2))
    data = tl.simulate(REFERENCE, initial=start, labeled=labeled, duration=0.01, step=1e-3)
    assert data.positions.shape == (3, 2, 4, 2)
    for run in range(3):
        np.testing.assert_array_equal(sorted(data.positions[run, 0].tolist()), sorted(start[run].tolist()))


def test_one_configuration_can_start_all_runs():
    start = np.random.default_rng(0).standard_normal((4, 2))
    data = tl.simulate(REFERENCE, initial=start, runs=3, labeled=True, duration=0.01, step=1e-3)
    np.testing.assert_array_equal(data.positions[:, 0], np.broadcast_to(start, (3, 4, 2)))


def test_start_from_snapshots():
    earlier = tl.simulate(REFERENCE, box=6.0, labeled=True, **{**SHORT, "runs": 2})
    data = tl.simulate(REFERENCE, initial=earlier, runs=5, labeled=True, duration=0.01, step=1e-3)
    assert data.box == (6.0, 6.0)
    np.testing.assert_array_equal(data.positions[:, 0], earlier.positions[[0, 1, 0, 1, 0], 0])


def test_initial_spread():
    positions = tl.simulate(trap(), initial=0.5, particles=50, runs=100, duration=0.01, step=0.01).positions[:, 0]
    count = positions.size
    assert abs(positions.std() / 0.5 - 1) < 4.5 / np.sqrt(2 * count)
    assert abs(positions.mean()) < 4.5 * 0.5 / np.sqrt(count)


def test_one_step_per_observation_is_the_discrete_time_model():
    data = tl.simulate(
        trap(2.0, sigma=0.0), runs=3, particles=4, duration=1.0, step=0.1, observe_every=0.1, labeled=True
    )
    expected = data.positions[:, :1] * 0.8 ** np.arange(11)[:, None, None]
    np.testing.assert_allclose(data.positions, expected, rtol=1e-6)


@pytest.mark.parametrize("accurate", [False, True])
def test_without_noise_particles_relax_exponentially(accurate):
    data = tl.simulate(
        trap(2.0, sigma=0.0), particles=3, runs=2, duration=1.0, step=1e-3, observe_every=0.1, labeled=True, dim=3,
        accurate=accurate,
    )  # fmt: skip
    expected = data.positions[:, :1] * np.exp(-2 * data.times)[:, None, None]
    tolerance = 1e-6 if accurate else 1e-3
    np.testing.assert_allclose(data.positions, expected, atol=2 * tolerance)
    assert (np.abs(data.positions - expected).max() > 1e-4) != accurate


def test_positions_in_a_box_are_wrapped():
    model = tl.Model("gas", None, tl.RadialFunctions([Gaussian(0.0, 0.3)]), (1.0,))
    data = tl.simulate(model, particles=6, runs=10, duration=2.0, step=1e-2, observe_every=0.1, box=(2.0, 3.0))
    assert data.box == (2.0, 3.0)
    assert (data.positions >= 0).all()
    assert (data.positions < data.box).all()
    # free diffusion has forgotten the start by then: uniform within the box
    shares = [np.histogram(data.positions[:, -1, :, k], bins=2, range=(0, data.box[k]))[0] for k in range(2)]
    assert min(np.min(share) for share in shares) > 12


def test_coupling():
    pair = np.array([[[-0.5, 0.0], [0.5, 0.0]]])
    model = tl.Model("springs", None, tl.RadialFunctions([Power(2)]), (1.0,), sigma=0.0)
    for coupling, rate in (("mean", 2.0), ("sum", 4.0)):  # relative distance falls with 2 * 2 / N, or 2 * 2
        data = tl.simulate(model, initial=pair, duration=0.1, step=1e-3, labeled=True, coupling=coupling, accurate=True)
        distance = data.positions[0, -1, 1, 0] - data.positions[0, -1, 0, 0]
        assert distance == pytest.approx(np.exp(-rate * 0.1), rel=1e-5)


def test_centre_of_mass_feels_no_interaction():
    silent = tl.Model("silent", None, REFERENCE.interaction_basis, (-3.0, 2.0), sigma=0.0)
    data = tl.simulate(silent, labeled=True, accurate=True, **SHORT)
    center = data.positions.mean(axis=2)
    np.testing.assert_allclose(center, np.broadcast_to(center[:, :1], center.shape), atol=1e-12)
    assert np.abs(np.diff(data.positions, axis=1)).max() > 1e-2


def test_harmonic_trap_has_the_stationary_variance():
    stiffness, sigma, step = 2.0, 0.8, 0.02
    data = tl.simulate(
        trap(stiffness, sigma), particles=40, runs=100, duration=3.0, step=step, observe_every=3.0,
        initial=sigma / np.sqrt(2 * stiffness), seed=1,
    )  # fmt: skip
    last = data.positions[:, -1]
    # Euler-Maruyama: X' = (1 - k h) X + sigma sqrt(h) Z, so the variance is sigma^2 / (2 k - k^2 h)
    expected = sigma**2 / (2 * stiffness - stiffness**2 * step)
    assert abs(last.var() / expected - 1) < 4 * np.sqrt(2 / last.size)
    assert abs(last.mean()) < 4 * np.sqrt(expected / last.size)


def test_accurate_mode_has_the_variance_of_continuous_time():
    stiffness, sigma = 4.0, 1.0
    data = tl.simulate(
        trap(stiffness, sigma), particles=40, runs=60, duration=1.5, step=0.1, observe_every=1.5, accurate=True,
        initial=sigma / np.sqrt(2 * stiffness), seed=2,
    )  # fmt: skip
    last = data.positions[:, -1]
    expected = sigma**2 / (2 * stiffness)
    assert abs(last.var() / expected - 1) < 4 * np.sqrt(2 / last.size)
    # what Euler-Maruyama with that step would give is far outside
    assert stiffness * 0.1 / 2 > 2 * 4 * np.sqrt(2 / last.size)


def test_accurate_mode_agrees_with_small_steps():
    model = tl.models.smooth_control()

    def energies(x):
        i, j = np.triu_indices(x.shape[1], 1)
        return model.external(x).mean(axis=1) + model.interaction(x[:, i] - x[:, j]).sum(axis=1) / x.shape[1] ** 2

    options = {"particles": 6, "runs": 600, "duration": 0.2, "observe_every": 0.2, "initial": 0.2}
    careful = tl.simulate(model, step=0.02, accurate=True, seed=1, **options).positions
    small = tl.simulate(model, step=1e-3, seed=2, **options).positions
    before, after, expected = energies(careful[:, 0]), energies(careful[:, -1]), energies(small[:, -1])
    error = np.sqrt((after.var() + expected.var()) / 600)
    assert abs(after.mean() - expected.mean()) < 4 * error
    assert abs(before.mean() - expected.mean()) > 40 * error  # what it is to tell apart is much larger


def test_fitted_estimators_can_be_simulated():
    data = tl.simulate(REFERENCE, particles=6, runs=20, duration=0.2, step=2e-3, observe_every=2e-2)
    fitted = tl.SelfTest(tl.RadialSplines(6), tl.RadialSplines(9), sigma=1.0).fit(data)
    assert tl.simulate(fitted, particles=4, runs=3, duration=0.1, step=1e-3).runs == 3
    general = tl.SelfTest(tl.TensorSplines(5), tl.TensorSplines(6), sigma=1.0).fit(data)
    assert np.isfinite(tl.simulate(general, particles=4, runs=3, duration=0.1, step=1e-3).positions).all()


def test_a_single_particle_feels_the_external_potential_only():
    alone = tl.simulate(REFERENCE, particles=1, runs=4, duration=0.05, step=1e-3, seed=2)
    without = tl.Model("trap", REFERENCE.external_basis, None, (-0.5, 2.0))
    np.testing.assert_array_equal(
        alone.positions, tl.simulate(without, particles=1, runs=4, duration=0.05, step=1e-3, seed=2).positions
    )


def test_particles_may_leave_the_first_table():
    hill = tl.Model("hill", tl.RadialFunctions([Power(2)]), None, (-2.0,), sigma=0.0)
    data = tl.simulate(hill, initial=np.array([[0.1, 0.0]]), runs=1, duration=1.0, step=1e-3, observe_every=0.5)
    np.testing.assert_allclose(data.positions[0, :, 0, 0], 0.1 * 1.004 ** np.array([0, 500, 1000]), rtol=1e-5)


def test_a_blow_up_names_the_step():
    stiff = trap(2000.0)
    with pytest.raises(tl.InputError, match=r"blew up in runs 0 to 4.*step=0.01 is too large.*accurate=True"):
        tl.simulate(stiff, particles=3, runs=5, duration=1.0, step=0.01)
    tl.simulate(stiff, particles=3, runs=5, duration=0.05, step=0.01, accurate=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 3e-3}, r"observe_every \(0.01\) must be a whole multiple of step \(0.003\)"),
        ({"step": 0.02}, r"observe_every \(0.01\) must be a whole multiple of step \(0.02\)"),
        ({"duration": 0.001}, r"duration \(0.001\) is shorter than observe_every"),
        ({"duration": -1.0}, "duration: expected a positive number, got -1.0"),
        ({"step": 0.0}, "step: expected a positive number"),
        ({"observe_every": np.nan}, "observe_every: expected a positive number"),
        ({"particles": 0}, "particles: expected at least 1, got 0"),
        ({"runs": 0}, "runs: expected at least 1"),
        ({"dim": 0}, "dim: expected at least 1"),
        ({"coupling": "both"}, "coupling: expected 'mean' or 'sum', got 'both'"),
        ({"initial": -0.5}, "initial: expected a standard deviation of at least 0, got -0.5"),
        ({"initial": np.zeros((3, 4, 3))}, r"initial: expected finite positions \(runs, particles, 2\), got shape"),
        ({"initial": np.full((4, 2), np.nan)}, "initial: expected finite positions"),
        ({"box": -1.0}, "box: expected one positive length"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulate(REFERENCE, **{"duration": 0.1, "step": 1e-3, **options})


def test_impossible_models():
    with pytest.raises(tl.InputError, match="'anisotropic' exists in 2 dimensions only, got 3"):
        tl.simulate(tl.models.anisotropic(), dim=3)
    with pytest.raises(tl.InputError, match="model: expected a model or a fitted estimator, got 3"):
        tl.simulate(3)
    with pytest.raises(tl.InputError, match="sigma: the model has none"):
        tl.simulate(tl.SelfTest())
    with pytest.raises(tl.InputError, match="sigma: expected a finite number of at least 0, got -1"):
        tl.simulate(trap(sigma=-1.0))


@pytest.mark.parametrize(
    ("potential", "message"),
    [
        (lambda x: x, "cannot simulate a function"),
        (PotentialSum((Centered(Power(2), (1.0, 0.0)), Power(2)), (1.0, 1.0)), "centred at the origin"),
    ],
)
def test_potentials_that_cannot_be_simulated(potential, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulate(SimpleNamespace(external=potential, interaction=None, sigma=1.0), runs=1, duration=0.01, step=1e-3)


def test_snapshots_of_different_size_cannot_start_one_data_set():
    ragged = tl.Snapshots([[np.zeros((3, 2))], [np.zeros((4, 2))]], [0.0])
    with pytest.raises(tl.InputError, match="first snapshots differ in their number of particles"):
        tl.simulate(trap(), initial=ragged, runs=2)


MIXTURE = tl.models.mixture()
MIXED = {"runs": 10, "duration": 0.05, "step": 1e-3}


def test_species_of_a_mixture():
    data = tl.simulate(MIXTURE, particles={"b": 2, "a": 3}, **MIXED)
    assert data.species == ("a", "b")
    assert data.species_counts_of(0)[0].tolist() == [3, 2]
    again = tl.simulate(MIXTURE, initial=data, **MIXED)
    assert again.species_counts_of(0)[0].tolist() == [3, 2]
    np.testing.assert_array_equal(np.sort(again.frame(0, 0)[:3, 0]), np.sort(data.frame(0, 0)[:3, 0]))
    assert tl.simulate(MIXTURE, particles=5, **MIXED).species_counts_of(0)[0].tolist() == [3, 2]
    positions = np.random.default_rng(0).normal(size=(5, 2))
    given = tl.simulate(MIXTURE, particles={"a": 1, "b": 4}, initial=positions, labeled=True, **MIXED)
    np.testing.assert_array_equal(given.frame(3, 0), positions)


def test_kinds_with_equal_potentials_move_as_one_kind_does():
    pairs = (("a", "a"), ("a", "b"), ("b", "b"))
    alike = SimpleNamespace(
        external=dict.fromkeys("ab", REFERENCE.external), interaction=dict.fromkeys(pairs, REFERENCE.interaction),
        sigma=1.0,
    )  # fmt: skip
    settings = {"labeled": True, "seed": 4, **MIXED}
    one = tl.simulate(REFERENCE, particles=6, **settings)
    two = tl.simulate(alike, particles={"a": 2, "b": 4}, **settings)
    named = tl.simulate(REFERENCE, particles={"a": 2, "b": 4}, **settings)
    np.testing.assert_allclose(two.positions, one.positions, atol=1e-10)
    np.testing.assert_allclose(named.positions, one.positions, atol=1e-10)
    assert named.species == ("a", "b")


def test_labels_are_hidden_within_species():
    settings = {"particles": {"a": 3, "b": 2}, **MIXED}
    shown, hidden = (tl.simulate(MIXTURE, labeled=labeled, **settings).positions for labeled in (True, False))
    for part in (slice(0, 3), slice(3, 5)):
        np.testing.assert_array_equal(np.sort(shown[:, :, part, 0]), np.sort(hidden[:, :, part, 0]))
    assert (shown != hidden).any()


def test_a_kind_without_potentials_diffuses():
    model = SimpleNamespace(external={"a": Power(2)}, interaction=None, sigma=0.0)
    data = tl.simulate(model, particles={"a": 2, "free": 2}, labeled=True, **MIXED)
    np.testing.assert_array_equal(data.positions[:, -1, 2:], data.positions[:, 0, 2:])
    assert (np.abs(data.positions[:, -1, :2]) < np.abs(data.positions[:, 0, :2])).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"particles": {"a": 3}}, "potentials of b, but there are a"),
        ({"particles": {"a": 3, "b": 0}}, "at least 1"),
        ({"initial": np.zeros((4, 2))}, "Say how many there are of each species"),
        ({"initial": np.zeros((4, 2)), "particles": {"a": 3, "b": 2}}, "positions of 5 particles"),
        ({"initial": tl.simulate(REFERENCE, **SHORT)}, "there are no species"),
    ],
)
def test_mixtures_that_cannot_be(settings, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulate(MIXTURE, **MIXED | settings)


def test_a_fitted_mixture_can_be_simulated():
    data = tl.simulate(MIXTURE, particles={"a": 3, "b": 2}, runs=40, duration=0.2, step=1e-3)
    fitted = tl.SelfTest(MIXTURE.external_basis, MIXTURE.interaction_basis, sigma=1.0).fit(data)
    assert tl.simulate(fitted, initial=data, **MIXED).species == ("a", "b")


def test_starts_with_other_numbers_of_each_species():
    kinds = np.array([[["a", "a", "b"]], [["a", "b", "b"]]])
    start = tl.Snapshots(np.random.default_rng(0).normal(size=(2, 1, 3, 2)), [0.0], species=kinds)
    assert tl.simulate(REFERENCE, initial=start, **MIXED | {"runs": 2}).species is None
    with pytest.raises(tl.InputError, match="how many particles of each species"):
        tl.simulate(MIXTURE, initial=start, **MIXED | {"runs": 2})


def test_a_lattice_fills_the_box():
    start = tl.simulate(trap(), particles=50, runs=2, duration=1e-3, step=1e-3, observe_every=1e-3, box=(4.0, 9.0),
                        initial="lattice", labeled=True).positions[:, 0]  # fmt: skip
    assert (start > 0).all()
    assert (start < (4.0, 9.0)).all()
    z = start[:, :, None] - start[:, None]
    nearest = np.where(np.eye(50, dtype=bool), np.inf, np.linalg.norm(z, axis=-1)).min()
    assert nearest > 0.7 * np.sqrt(36 / 50)
    assert not np.array_equal(start[0], start[1])


@pytest.mark.parametrize("given", ["lattice", "somewhere"])
def test_a_lattice_needs_a_box(given):
    with pytest.raises(tl.InputError, match="'lattice' with a box="):
        tl.simulate(trap(), particles=5, runs=2, initial=given, box=None if given == "lattice" else 3.0)


def test_the_coupling_of_a_fit_is_its_own():
    data = tl.simulate(tl.models.reference(), runs=30, duration=0.2, step=1e-2, observe_every=1e-2)
    fitted = tl.SelfTest(None, tl.models.reference().interaction_basis, sigma=1.0).fit(data)
    same = {"runs": 2, "duration": 0.1, "step": 1e-2, "seed": 3}
    mean, also = tl.simulate(fitted, **same), tl.simulate(fitted.converted("sum"), **same)
    np.testing.assert_allclose(mean.positions, also.positions, atol=1e-10)
    assert not np.allclose(tl.simulate(fitted, coupling="sum", **same).positions, mean.positions)


@pytest.mark.parametrize("box", [None, 20.0])
def test_many_particles_without_any_force_diffuse(box):
    """There are no pairs to list where nothing reaches anywhere."""
    free = tl.Model("free", None, None, (), sigma=1.0)
    start = np.full((4, 150, 2), 10.0)
    data = tl.simulate(
        free, particles=150, runs=4, duration=0.1, step=1e-2, observe_every=0.1, initial=start, labeled=True, box=box
    )
    moved = data.positions[:, 1] - data.positions[:, 0]
    assert moved.var() == pytest.approx(0.1, rel=0.15)  # 1200 numbers: 4 % by chance
