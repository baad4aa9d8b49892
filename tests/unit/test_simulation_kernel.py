"""The simulation kernel against its NumPy twin, and its tables against the potentials they stand for."""

import numpy as np
import pytest
import twins

from trackless import models
from trackless._kernels.neighbours import list_within, worth_listing
from trackless._kernels.simulation import SHIFT, radial_gradients, simulate_batch, tensor_gradients
from trackless.potentials import Centered, PotentialSum, Stretched
from trackless.shapes import Clamped, Gaussian, InversePower, Power, ShiftedForce
from trackless.slopes import RANGE, SMEARED, STIFFNESS, TURNING, slope_table
from trackless.space import side_lengths
from trackless.tensor_splines import TensorSpline

REACH, STEP = 6.0, 1e-3
TRAP = 2.0 * Power(2) - 0.5 * Power(1)
SHELLS = -3 * Gaussian(0.75, 0.125) + 2 * Gaussian(1.5, 0.25)
ELLIPSES = PotentialSum(
    (Stretched(Power(2), (1.0, 0.5)), Stretched(Gaussian(0.0, 1.0), (0.5, 1.5)), Gaussian(1.0, 0.3)), (1.0, 2.0, -1.0)
)


def bumpy(dim, count=6, even=False):
    coef = np.random.default_rng(5).standard_normal((count,) * dim)
    return TensorSpline(np.full(dim, -1.5), np.full(dim, 1.5), coef + np.flip(coef) if even else coef)


def tables(external, interaction, dim, scale, step=STEP):
    first = slope_table(external, dim, REACH, 1.0, step, 1.0)
    second = slope_table(interaction, dim, 2 * REACH, np.sqrt(2.0), step, scale)
    return first, second


def intensities(dim):
    """Another noise in every direction."""
    return 0.7 - 0.1 * np.arange(dim)


def simulated(
    initial, external, interaction, *, interacting=True, box, scale, steps, labeled, accurate=False, kinds=None
):  # fmt: skip
    """(runs, observations, n, dim) from the kernel and the seeds it started from."""
    runs, _, dim = initial.shape
    seeds = np.random.default_rng(11).integers(1, 2**63, (2, runs, 4), dtype=np.uint64)
    out = np.empty((runs, 3, *initial.shape[1:]))
    noise, mixing = seeds.copy()
    starts, pairs = np.array([0, initial.shape[1]]), np.zeros((int(interacting), 2), np.int64)
    if kinds is not None:
        starts, pairs = kinds
    else:
        external, interaction = (external,), (interaction,)
    simulate_batch(
        initial, noise, mixing, starts, external, interaction, pairs, side_lengths(box, dim), intensities(dim), scale,
        STEP, steps, labeled, accurate, out,
    )  # fmt: skip
    return out, seeds


def twin_path(x, seed, force, *, steps, step=twins.euler_step):
    state = [int(word) for word in seed]
    path = [x]
    for _ in range(2):
        for _ in range(steps):
            x = step(x, twins.normals(state, *x.shape), force, intensities(x.shape[1]), STEP)
        path.append(x)
    return np.array(path)


@pytest.mark.parametrize(
    ("external", "interaction", "dim", "particles"),
    [
        pytest.param(TRAP, None, 2, 4, id="external only"),
        pytest.param(None, SHELLS, 3, 4, id="interaction only"),
        pytest.param(TRAP, SHELLS, 1, 2, id="one dimension"),
        pytest.param(TRAP, SHELLS, 2, 10, id="both"),
        pytest.param(TRAP, SHELLS, 5, 3, id="five dimensions"),
        pytest.param(TRAP, SHELLS, 2, 80, id="pairs in several chunks"),
        pytest.param(Centered(TRAP, (0.4, -0.2)), SHELLS, 2, 4, id="centre"),
        pytest.param(ELLIPSES, ELLIPSES, 2, 6, id="stretched"),
        pytest.param(bumpy(2), bumpy(2, even=True), 2, 5, id="tensor splines"),
        pytest.param(bumpy(3), bumpy(3, even=True), 3, 3, id="tensor splines in three dimensions"),
    ],
)
@pytest.mark.parametrize("coupling", ["mean", "sum"])
def test_euler_maruyama_paths(external, interaction, dim, particles, coupling):
    initial = 0.6 * np.random.default_rng(0).standard_normal((2, particles, dim))
    scale = 1 / particles if coupling == "mean" else 1.0
    first, second = tables(external, interaction, dim, scale)
    steps = 2 if particles > 10 else 5
    paths, seeds = simulated(
        initial, first, second, interacting=interaction is not None, box=None, scale=scale, steps=steps, labeled=True
    )
    partner = second if interaction is not None else None
    for run in range(2):
        force = lambda x: twins.force_on(x, first, partner, scale)  # noqa: E731
        np.testing.assert_allclose(paths[run], twin_path(initial[run], seeds[0, run], force, steps=steps), atol=1e-10)


@pytest.mark.parametrize("counts", [(3, 4), (1, 5), (40, 50)], ids=str)
@pytest.mark.parametrize("accurate", [False, True])
def test_several_kinds(counts, accurate):
    """Traps of each kind, and a Phi for two of the three pairs; the second kind does not feel itself."""
    n = sum(counts)
    initial = 0.6 * np.random.default_rng(0).standard_normal((1 if accurate else 3, n, 2))
    soft, bump = 0.5 * Power(2), Gaussian(0.0, 1.0)
    traps = tuple(tables(trap, None, 2, 1.0)[0] for trap in (soft, Centered(0.2 * Power(2), (0.4, -0.2))))
    pushes = tuple(tables(None, push, 2, 1 / n)[1] for push in (bump, -0.5 * bump))
    kinds = np.array([0, counts[0], n]), np.array([[0, 0], [0, 1]])
    steps = 1 if accurate else 3
    arguments = {"box": None, "scale": 1 / n, "steps": steps, "accurate": accurate, "kinds": kinds}
    paths, seeds = simulated(initial, traps, pushes, labeled=True, **arguments)
    kind_of = np.repeat([0, 1], counts)

    def force(x):
        total = np.concatenate([twins.force_on(x[kind_of == a], traps[a], None, 1.0) for a in (0, 1)])
        z = x[:, None] - x[None, :]
        for (a, b), push in zip(kinds[1], pushes, strict=True):
            meets = (kind_of[:, None] == a) & (kind_of == b) | (kind_of[:, None] == b) & (kind_of == a)
            total += (twins.table_gradient(push, z) * (meets & ~np.eye(n, dtype=bool))[..., None]).sum(axis=1) / n
        return total

    step = twins.heun_step if accurate else twins.euler_step
    for run in range(len(initial)):
        expected = twin_path(initial[run], seeds[0, run], force, steps=steps, step=step)
        np.testing.assert_allclose(paths[run], expected, atol=1e-10)
    mixed, _ = simulated(initial, traps, pushes, labeled=False, **arguments)
    for a in (0, 1):
        found, there = (np.sort(p[:, :, kind_of == a, 0]) for p in (mixed, paths))
        np.testing.assert_array_equal(found, there)


@pytest.mark.parametrize("box", [(2.0, 2.0), (2.0, 3.5)])
def test_periodic_box(box):
    initial = np.random.default_rng(1).uniform(0.0, 3.0, (2, 6, 2))
    repulsion = ShiftedForce(Clamped(InversePower(0.5, 6), 0.3), 1.0)
    first, second = tables(None, repulsion, 2, 1 / 6)
    paths, seeds = simulated(initial, first, second, interacting=True, box=box, scale=1 / 6, steps=5, labeled=True)
    for run in range(2):
        force = lambda x: twins.force_on(x, first, second, 1 / 6, box)  # noqa: E731
        expected = np.mod(twin_path(initial[run], seeds[0, run], force, steps=5), box)
        np.testing.assert_allclose(paths[run], expected, atol=1e-10)


@pytest.mark.parametrize("accurate", [False, True])
@pytest.mark.parametrize(
    ("dim", "box", "counts"),
    [(1, (60.0,), (110,)), (2, (12.0, 9.0), (130,)), (2, None, (70, 60)), (3, (7.0, 6.0, 5.0), (120,))],
    ids=str,
)
def test_lists_of_neighbours_change_nothing(dim, box, counts, accurate):
    """Particles are fast, so that a path needs several lists."""
    n = sum(counts)
    width = np.array(box) if box is not None else np.full(dim, 11.0)
    initial = np.random.default_rng(1).uniform(0.0, 1.0, (1, n, dim)) * width
    core = ShiftedForce(2.0 * Gaussian(0.0, 0.4), 1.0)
    _, push = tables(None, core, dim, 1.0)
    none, _ = tables(None, None, dim, 1.0)
    assert 1.0 <= push.reach < 1.01
    starts, pairs = np.concatenate([[0], np.cumsum(counts)]), np.array([[0, 0], [0, 1], [1, 1]][: 2 * len(counts) - 1])
    kinds = starts, pairs
    arguments = {"box": box, "scale": 1.0, "steps": 12, "labeled": True, "accurate": accurate, "kinds": kinds}
    assert worth_listing(np.ascontiguousarray(initial[0].T), starts, pairs, side_lengths(box, dim), 1.5)
    near, _ = simulated(initial, (none,) * len(counts), (push,) * len(pairs), **arguments)
    every = push._replace(reach=np.inf)
    far, _ = simulated(initial, (none,) * len(counts), (every,) * len(pairs), **arguments)
    np.testing.assert_allclose(near, far, atol=1e-11)


def test_near_pairs_against_numpy():
    generator = np.random.default_rng(2)
    for dim, box in ((1, 9.0), (2, None), (2, 5.0), (3, 3.0)):
        x = generator.uniform(0.0, 5.0, (dim, 80))
        starts, pairs = np.array([0, 30, 80]), np.array([[0, 0], [0, 1]])
        lengths = side_lengths(None if box is None else (box,) * dim, dim)
        room = np.empty(4, np.int64)
        of_i, of_j, listed = list_within(x, starts, pairs, lengths, 1.1, room, room.copy())
        z = x[:, :, None] - x[:, None]
        z -= 0 if box is None else box * np.rint(z / box)
        near = np.argwhere(np.triu((z**2).sum(axis=0) <= 1.1**2, 1))
        for c, (a, b) in enumerate(pairs):
            found = np.sort(np.stack([of_i, of_j])[:, listed[c] : listed[c + 1]], axis=0).T
            wanted = near[(np.searchsorted(starts, near, side="right") - 1 == (a, b)).all(axis=1)]
            assert sorted(map(tuple, found)) == sorted(map(tuple, wanted))


def test_potentials_end_where_they_are_not_felt():
    cut = slope_table(ShiftedForce(Power(2), 1.5), 2, REACH, 1.0, STEP, 1.0)
    assert 1.5 <= cut.reach < 1.51
    assert 1.5 < slope_table(Stretched(ShiftedForce(Power(2), 1.5), (0.5, 2.0)), 2, REACH, 1.0, STEP, 1.0).reach < 3.02
    assert slope_table(None, 2, REACH, 1.0, STEP, 1.0).reach == 0
    assert slope_table(Power(2), 2, REACH, 1.0, STEP, 1.0).reach == np.inf
    assert slope_table(Gaussian(0.0, 1.0), 2, REACH, 1.0, STEP, 1.0).reach < 10


def test_plain_steps_do_not_ask_where_they_are_safe():
    adaptive, plain = (slope_table(Gaussian(0.5, 0.01), 2, REACH, 1.0, STEP, 1.0, accurate=a) for a in (True, False))
    np.testing.assert_array_equal(adaptive.coef, plain.coef)
    assert adaptive.safe_step.min() < STEP
    assert (plain.safe_step == STEP).all()


def test_hidden_labels_are_a_permutation_drawn_from_the_second_generator():
    initial = np.random.default_rng(2).standard_normal((3, 7, 2))
    first, second = tables(TRAP, SHELLS, 2, 1 / 7)
    arguments = {"interacting": True, "box": None, "scale": 1 / 7, "steps": 2}
    labeled, seeds = simulated(initial, first, second, labeled=True, **arguments)
    mixed, _ = simulated(initial, first, second, labeled=False, **arguments)
    for run in range(3):
        state = [int(word) for word in seeds[1, run]]
        for frame in range(3):
            order = twins.shuffled(state, 7)
            np.testing.assert_array_equal(mixed[run, frame], labeled[run, frame, order])


@pytest.mark.parametrize(
    ("external", "interaction"), [(0.5 * Power(2), Gaussian(0.0, 1.0)), (ELLIPSES, None)], ids=["radial", "stretched"]
)
def test_heun_steps_where_forces_are_soft(external, interaction):
    initial = 0.6 * np.random.default_rng(4).standard_normal((1, 4, 2))
    first, second = tables(external, interaction, 2, 1 / 4)
    assert min(first.safe_step.min(), second.safe_step.min()) == STEP
    paths, seeds = simulated(
        initial, first, second, interacting=interaction is not None, box=None, scale=1 / 4, steps=1, labeled=True,
        accurate=True,
    )  # fmt: skip
    force = lambda x: twins.force_on(x, first, second if interaction is not None else None, 1 / 4)  # noqa: E731
    expected = twin_path(initial[0], seeds[0, 0], force, steps=1, step=twins.heun_step)
    np.testing.assert_allclose(paths[0], expected, atol=1e-10)


def test_heun_steps_are_cut_where_forces_are_stiff():
    curvature = 5.5 * STIFFNESS / STEP  # 1/8 is the first power of 1/2 below 1/5.5
    stiff = slope_table(0.5 * curvature * Power(2), 2, REACH, 1.0, STEP, 1.0)
    halvings = 3
    assert set(stiff.safe_step.ravel()) == {STEP / 2**halvings}
    initial = np.array([[[0.5, 0.2]]])
    nothing = slope_table(None, 2, REACH, 1.0, STEP, 1.0)
    paths, seeds = simulated(
        initial, stiff, nothing, interacting=False, box=None, scale=1.0, steps=1, labeled=True, accurate=True
    )
    state, x = [int(word) for word in seeds[0, 0]], initial[0]
    for _ in range(2**halvings):
        force = lambda y: twins.force_on(y, stiff, None, 1.0)  # noqa: E731
        x = twins.heun_step(x, twins.normals(state, 1, 2), force, intensities(2), STEP / 2**halvings)
    np.testing.assert_allclose(paths[0, 1], x, atol=1e-10)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_safe_steps_look_as_far_as_a_particle_may_move(spread):
    core = Clamped(InversePower(0.5, 12), 0.35)
    largest, scale = 1e-2, 0.1
    table = slope_table(core, 2, REACH, spread, largest, scale)
    steps = table.safe_step[0]
    distance = np.sqrt(((table.first_cell + np.arange(len(steps))) << SHIFT).view(np.float64))
    grid = np.linspace(0.0, REACH, 20_000)
    stiffness = scale * np.abs(core.curvature(grid))

    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def smeared(r, step):
        """Heun's error of the mean force, as a part of the largest force within reach."""

        def mean(variance):
            return weights @ core.slope(np.abs(r + np.sqrt(variance) * nodes)) / weights.sum()

        off = abs(2 * mean(0.5 * spread**2 * step) - core.slope(r) - mean(spread**2 * step)) / 3
        return off / np.abs(core.slope(grid[np.abs(grid - r) < 4 * spread * np.sqrt(step)])).max(initial=1e-300)

    def stiffest_within(r, step, slack):
        return stiffness[np.abs(grid - r) < 4 * spread * np.sqrt(step) + slack].max(initial=0.0)

    resolution = 3 * REACH / 16384
    for cell in np.random.default_rng(0).choice(np.flatnonzero((distance > 0.01) & (distance < 2.0)), 200):
        assert steps[cell] * stiffest_within(distance[cell], steps[cell], -resolution) <= STIFFNESS
        further = 2 * steps[cell] * stiffest_within(distance[cell], 2 * steps[cell], resolution)
        near_tip = distance[cell] < 4 * spread * np.sqrt(2 * steps[cell])  # which asks for smaller steps still
        blurred = smeared(distance[cell], 2 * steps[cell]) > 0.5 * SMEARED
        assert steps[cell] == largest or further > 0.9 * STIFFNESS or near_tip or blurred
    assert steps.max() == largest
    assert steps.min() < largest / 100


def test_steps_across_a_step_of_the_force_are_small_enough():
    """A step in Phi, 0.05 wide: noise must not smear it within a time step. Far from it nothing is asked."""
    spread, largest = np.sqrt(2.0), 1e-3
    step = models.smoothness().interaction
    table = slope_table(step, 2, REACH, spread, largest, 0.01)  # so weak that stiffness does not matter
    steps = table.safe_step[0]
    r = np.sqrt(((table.first_cell + np.arange(len(steps))) << SHIFT).view(np.float64))
    assert np.median(steps[np.abs(r - 1.0) < 0.05]) <= largest / 8
    assert (steps[(r > 2.6) & (r < 5.0)] == largest).all()


def test_steps_near_a_tip_are_small_enough_to_turn_around():
    """What a step may change of the force's direction is bounded; without a tip nothing is asked."""
    spread, slope, largest = 1.4, 4.0, 1e-2
    table = slope_table(slope * Power(1), 2, REACH, spread, largest, 1.0)
    steps = table.safe_step[0]
    r = np.sqrt(((table.first_cell + np.arange(len(steps))) << SHIFT).view(np.float64))
    near = r < 0.01
    assert (steps[near] * slope / (2 * spread * np.sqrt(steps[near])) <= TURNING).all()
    assert (4 * steps[near] * slope / (2 * spread * np.sqrt(4 * steps[near])) > TURNING).all()
    assert (steps[r > 1.0] == largest).all()
    smooth = slope_table(slope * Power(2), 2, REACH, spread, largest, 1.0).safe_step[0]
    assert (smooth == largest).all()


@pytest.mark.parametrize("make", [models.reference, models.smoothness, models.conditioning, models.singularity,
                                  models.smooth_control, models.anisotropic])  # fmt: skip
@pytest.mark.parametrize("role", ["external", "interaction"])
def test_tabulated_gradients_are_those_of_the_potential(make, role):
    potential = getattr(make(), role)
    table = slope_table(potential, 2, REACH, 1.0, STEP, 1.0)
    points = np.random.default_rng(3).uniform(-2.0, 2.0, (2, 500))
    out, scratch, cells = np.empty((2, 500)), np.empty(500), np.empty(500, np.int64)
    outside, step = radial_gradients(table, points, 500, out, 0, scratch, scratch.view(np.int64), cells, True)
    exact = potential.gradient(points.T).T
    assert np.abs(out - exact).max() <= 1e-4 * np.abs(exact).max()
    np.testing.assert_allclose(out, twins.table_gradient(table, points.T).T, atol=1e-10 * np.abs(exact).max())
    assert outside == 0
    assert 0 < step <= STEP


def test_points_beyond_the_table_are_counted():
    table = slope_table(Power(2), 2, REACH, 1.0, STEP, 1.0)
    points = REACH * RANGE * np.array([[0.0, 0.9, 1.1, -9.0, 0.8], [0.0, 0.0, 0.0, 1.0, 0.8]])
    out, scratch, cells = np.empty((2, 5)), np.empty(5), np.empty(5, np.int64)
    outside, _ = radial_gradients(table, points, 5, out, 0, scratch, scratch.view(np.int64), cells, False)
    assert outside == 3


@pytest.mark.parametrize("dim", [2, 3])
def test_tensor_gradients_are_those_of_the_potential(dim):
    potential = bumpy(dim)
    points = np.random.default_rng(3).uniform(-2.0, 2.0, (dim, 200))
    out = np.empty((dim, 200))
    tensor_gradients(slope_table(potential, dim, REACH, 1.0, STEP, 1.0), points, 200, out, 0)
    np.testing.assert_allclose(out, potential.gradient(points.T).T, atol=1e-10)
