"""Matching consecutive snapshots: exact assignment against scipy, transport plans against their NumPy twin."""

import re

import numpy as np
import pytest
import twins
from scipy.optimize import linear_sum_assignment

import trackless as tl
from trackless._kernels.assignment import assign
from trackless.matching import METHODS, Matching, diffusion_of

MATCHERS = ("assignment", "sinkhorn", "barycentric")
SIZES = [(1, 1), (1, 5), (4, 7), (6, 6), (13, 13), (8, 5), (40, 40), (30, 45), (3, 1)]
BOX = (3.0, 2.0)


def moves_of(matching, *frames, gaps=1.0, box=None):
    """Moves of each frame to the next one."""
    starts = np.concatenate([[0], np.cumsum([len(frame) for frame in frames])])
    pairs = len(frames) - 1
    first = np.arange(pairs)
    return matching.moves(np.concatenate(frames), starts, first, first + 1, np.broadcast_to(gaps, pairs) * 1.0, box)


def precise(method, epsilon, **options):
    return Matching(method, epsilon=epsilon, tolerance=1e-9, sweeps=20_000, **options)


def two_clouds(n, m, dim=2, seed=0):
    """A cloud of n particles and one of m, most of which are the first one's after a small move."""
    generator = np.random.default_rng([n, m, dim, seed])
    both = generator.standard_normal((max(n, m), dim))
    return both[:n], (both + 0.3 * generator.standard_normal(both.shape))[:m]


def two_fillings(n, m, dim=2, seed=2):
    """Two independent samples of the unit cube: nobody is alone, so plans spread."""
    generator = np.random.default_rng([n, m, dim, seed])
    return generator.uniform(size=(n, dim)), generator.uniform(size=(m, dim))


def total_cost(x, y, partner, box=None):
    kept = partner >= 0
    return twins.squared_distances(x, y, box)[np.flatnonzero(kept), partner[kept]].sum()


def least_cost(x, y, box=None):
    cost = twins.squared_distances(x, y, box)
    return cost[linear_sum_assignment(cost)].sum()


def assert_one_to_one(partner, n, m):
    """As many as possible have a partner of their own, the others -1."""
    assert partner.shape == (n,)
    kept = partner[partner >= 0]
    assert len(kept) == min(n, m)
    assert len(set(kept.tolist())) == len(kept)
    assert (partner >= -1).all()
    assert (partner < m).all()


def assert_sound(moves, n, m):
    """Finite everywhere; partners, where the method has them, are one-to-one."""
    for values in (moves.displacement, moves.squared, moves.matched, moves.right):
        assert np.isfinite(values).all()
    assert set(moves.matched.tolist()) <= {0.0, 1.0}
    if (moves.partner >= 0).any():
        assert moves.matched[:n].sum() == min(n, m)
        assert_one_to_one(moves.partner[:n], n, m)


# Exact assignment


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_assignment_is_as_cheap_as_scipys(n, m, dim):
    x, y = two_clouds(n, m, dim)
    partner = Matching("assignment").pair(x, y)
    assert_one_to_one(partner, n, m)
    assert total_cost(x, y, partner) == pytest.approx(least_cost(x, y), rel=1e-12)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_assignment_in_a_box_measures_to_the_nearest_image(n, m):
    x, y = (np.mod(points, BOX) for points in two_clouds(n, m))
    partner = Matching("assignment").pair(x, y, box=BOX)
    assert_one_to_one(partner, n, m)
    assert total_cost(x, y, partner, BOX) == pytest.approx(least_cost(x, y, BOX), rel=1e-12)
    moves = moves_of(Matching("assignment"), x, y, box=BOX)
    assert (np.abs(moves.displacement) <= np.array(BOX) / 2).all()
    assert moves.squared.sum() == pytest.approx(least_cost(x, y, BOX), rel=1e-12)


def test_a_particle_that_leaves_through_a_side_is_found_on_the_other():
    x, y = np.array([[0.1, 1.0], [2.0, 1.0]]), np.array([[1.9, 1.0], [2.9, 1.0]])
    assert Matching("assignment").pair(x, y).tolist() == [0, 1]
    assert Matching("assignment").pair(x, y, box=BOX).tolist() == [1, 0]
    np.testing.assert_allclose(moves_of(Matching("assignment"), x, y, box=BOX).displacement[0], [-0.2, 0.0], atol=1e-15)


@pytest.mark.parametrize("box", [None, (6.0, 6.0)])
@pytest.mark.parametrize("dropped", [(0, 0), (7, 0), (0, 7)])
def test_assignment_with_many_ties(dropped, box):
    """A lattice and the same one moved by half its spacing: every particle has four nearest ones."""
    lattice = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    generator = np.random.default_rng(0)
    x, y = generator.permutation(lattice)[dropped[0] :], generator.permutation(lattice + 0.5)[dropped[1] :]
    partner = Matching("assignment").pair(x, y, box=box)
    assert_one_to_one(partner, len(x), len(y))
    assert total_cost(x, y, partner, box) == pytest.approx(least_cost(x, y, box), rel=1e-12)


@pytest.mark.parametrize("method", ["assignment", "sinkhorn"])
def test_of_too_many_particles_the_surplus_is_left_out(method):
    y = np.random.default_rng(0).uniform(size=(4, 2))
    x = np.concatenate([y[:2] + 0.001, [[3.0, 3.0]], y[2:] + 0.001, [[-2.0, 1.0], [0.0, -2.0]]])
    moves = moves_of(Matching(method, epsilon=1e-3), x, y)
    assert moves.partner[:7].tolist() == [0, 1, -1, 2, 3, -1, -1]
    assert moves.matched[:7].tolist() == [1, 1, 0, 1, 1, 0, 0]
    np.testing.assert_array_equal(moves.displacement[[2, 5, 6]], 0.0)
    np.testing.assert_allclose(moves.displacement[[0, 1, 3, 4]], -0.001)


def assigned(cost):
    """The kernel itself: targets, and the dual variables of rows and columns."""
    rows, columns = cost.shape
    target, source = np.full(rows, -9), np.full(columns, -9)
    of_row, of_column = np.full(rows, np.nan), np.full(columns, np.nan)
    room = np.empty(columns), np.empty(columns, np.int64), np.empty(columns, bool), np.empty(columns, np.int64)
    assign(cost, rows, columns, target, source, of_row, of_column, room)
    assert [source[j] for j in target] == list(range(rows))
    assert np.sum(source >= 0) == rows
    return target, of_row, of_column


@pytest.mark.parametrize("kind", ["uniform", "integers", "distances", "negative"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (5, 5), (7, 12), (30, 30)])
def test_dual_variables_prove_the_assignment(rows, columns, kind):
    generator = np.random.default_rng([rows, columns])
    cost = {
        "uniform": lambda: generator.uniform(size=(rows, columns)),
        "integers": lambda: generator.integers(0, 4, (rows, columns)).astype(float),
        "distances": lambda: twins.squared_distances(*two_clouds(rows, columns)),
        "negative": lambda: -generator.uniform(size=(rows, columns)),
    }[kind]()
    target, of_row, of_column = assigned(cost)
    left = cost - of_row[:, None] - of_column
    assert left.min() >= -1e-12
    np.testing.assert_allclose(left[np.arange(rows), target], 0.0, atol=1e-12)
    assert of_column.max() <= 0.0
    unmatched = np.setdiff1d(np.arange(columns), target)
    np.testing.assert_array_equal(of_column[unmatched], 0.0)
    assert of_row.sum() + of_column.sum() == pytest.approx(cost[linear_sum_assignment(cost)].sum(), abs=1e-11)


# Transport plans


def mean_targets(x, y, epsilon, box=None):
    """What the twin's plan says: shares, mean displacements, mean squared ones, shares of the own index."""
    plan = twins.transport_plan(twins.squared_distances(x, y, box), epsilon)
    share = plan.sum(axis=1)
    apart = -twins.displacement(x[:, None], y[None, :], box)
    displacement = np.einsum("ij,ijk->ik", plan, apart) / share[:, None]
    own = np.zeros(len(x))
    own[: len(y)] = np.diagonal(plan)[: len(x)]
    return share, displacement, (plan * (apart**2).sum(axis=-1)).sum(axis=1) / share, own / share


@pytest.mark.parametrize("box", [None, BOX], ids=["free", "box"])
@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.1, 1.0])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (20, 20), (12, 20), (20, 12)])
def test_mean_displacements_are_those_of_the_twins_plan(n, m, epsilon, box):
    x, y = two_fillings(n, m)
    if box is not None:
        x, y, epsilon = x * box, y * box, epsilon * np.prod(box)
    share, displacement, squared, own = mean_targets(x, y, epsilon, box)
    assert np.abs(share - 0.5).min() > 1e-6
    kept = share > 0.5
    moves = moves_of(precise("barycentric", epsilon), x, y, box=box)
    assert moves.unfinished == 0
    assert (moves.partner == -1).all()
    np.testing.assert_array_equal(moves.matched[:n], kept)
    np.testing.assert_allclose(moves.displacement[:n][kept], displacement[kept], atol=1e-8)
    np.testing.assert_allclose(moves.squared[:n][kept], squared[kept], atol=1e-8)
    np.testing.assert_allclose(moves.right[:n][kept], own[kept], atol=1e-8)
    for values in moves[1:5]:
        np.testing.assert_array_equal(values[:n][~kept], 0.0)
        np.testing.assert_array_equal(values[n:], 0.0)


def whole_plan(x, y, epsilon):
    """In as many dimensions as there are targets, the mean targets tell the whole plan."""
    displacement = moves_of(precise("barycentric", epsilon), x, y).displacement[: len(x)]
    return np.linalg.solve(y.T, (x + displacement).T).T


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 5.0])
@pytest.mark.parametrize(("n", "m"), [(6, 6), (4, 7)])
def test_sums_of_a_plan(n, m, epsilon):
    x, y = two_fillings(n, m, dim=m)
    plan = whole_plan(x, y, epsilon)
    np.testing.assert_allclose(plan, twins.transport_plan(twins.squared_distances(x, y), epsilon), atol=1e-8)
    np.testing.assert_allclose(plan.sum(axis=1), 1.0, atol=1e-12)
    assert plan.min() > -1e-12
    if n == m:
        np.testing.assert_allclose(plan.sum(axis=0), 1.0, atol=2e-9)
    else:
        assert plan.sum(axis=0).max() < 1 + 2e-9
        assert plan.sum(axis=0).min() < 0.6


@pytest.mark.parametrize("epsilon", [0.01, 0.02])
def test_a_nearly_certain_plan_has_the_form_of_an_optimal_one(epsilon):
    """Where Sinkhorn's sweeps would take for ever: log P + cost / epsilon is a row's number plus a column's."""
    x, y = two_fillings(6, 6, dim=6)
    plan = whole_plan(x, y, epsilon)
    np.testing.assert_allclose(plan.sum(axis=0), 1.0, atol=2e-9)
    i, j = np.nonzero(plan > 1e-6)
    assert len(i) > 15  # equations for 11 numbers
    design = np.concatenate([np.eye(6)[i], np.eye(6)[j]], axis=1)
    sums = np.log(plan[i, j]) + twins.squared_distances(x, y)[i, j] / epsilon
    residual = sums - design @ np.linalg.lstsq(design, sums)[0]
    assert np.abs(residual).max() < 1e-8


def test_epsilon_follows_from_sigma_and_the_gap():
    x, y = two_clouds(6, 6)
    by_sigma = moves_of(Matching("barycentric", sigma=0.6), x, y, gaps=0.3)
    by_epsilon = moves_of(Matching("barycentric", epsilon=2 * 0.6**2 * 0.3), x, y)
    np.testing.assert_allclose(by_sigma.displacement, by_epsilon.displacement, rtol=1e-12)
    other = moves_of(Matching("barycentric", sigma=0.6), x, y, gaps=0.6)
    assert np.abs(by_sigma.displacement - other.displacement).max() > 1e-2


def test_a_plan_that_ran_out_of_sweeps_is_counted():
    x, y = two_fillings(20, 20)
    hasty = Matching("barycentric", epsilon=0.03, tolerance=1e-9, sweeps=2)
    assert moves_of(hasty, x, y, x).unfinished == 2
    assert_sound(moves_of(hasty, x, y), 20, 20)


def test_a_permutation_comes_out_where_the_largest_entries_of_rows_collide():
    x, y = two_fillings(20, 20)
    plan = twins.transport_plan(twins.squared_distances(x, y), 0.03)
    assert len(set(plan.argmax(axis=1).tolist())) < 18
    assert_one_to_one(precise("sinkhorn", 0.03).pair(x, y), 20, 20)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize(("n", "m"), [(20, 20), (12, 20), (20, 12)])
def test_the_permutation_has_the_largest_sum_of_the_plan(n, m, epsilon):
    x, y = two_fillings(n, m)
    plan = twins.transport_plan(twins.squared_distances(x, y), epsilon)
    partner = precise("sinkhorn", epsilon).pair(x, y)
    assert_one_to_one(partner, n, m)
    chosen = plan[np.flatnonzero(partner >= 0), partner[partner >= 0]].sum()
    assert chosen == pytest.approx(plan[linear_sum_assignment(plan, maximize=True)].sum(), abs=1e-8)


def test_the_most_likely_permutation_is_not_always_the_shortest():
    x, y = two_fillings(20, 20)
    by_plan, shortest = precise("sinkhorn", 0.03).pair(x, y), Matching("assignment").pair(x, y)
    assert total_cost(x, y, by_plan) > total_cost(x, y, shortest) + 1e-4


@pytest.mark.parametrize(("n", "m"), [(10, 10), (7, 12), (12, 7)])
def test_small_epsilon_leads_to_the_assignment(n, m):
    x, y = two_clouds(n, m, seed=2)
    exact = moves_of(Matching("assignment"), x, y)
    far = [
        np.abs(moves_of(precise("barycentric", epsilon), x, y).displacement - exact.displacement).max()
        for epsilon in (1.0, 0.1, 1e-2, 1e-3, 1e-4)
    ]
    assert far[0] > 0.1
    assert far[-1] < 1e-6
    for epsilon in (1e-3, 1e-4, 1e-12):
        np.testing.assert_array_equal(moves_of(Matching("sinkhorn", epsilon=epsilon), x, y).partner, exact.partner)


def moved_up(n):
    """A row of particles, each on the next one's place, because one squeezed in at its beginning."""
    return np.array([-0.1, *range(n - 1)])[:, None], np.arange(float(n))[:, None]


def test_a_row_that_moved_up_is_seen_as_such():
    """Old places cost nothing, yet only the first two can have changed places, with weight exp(-0.2 / 2 epsilon)."""
    x, y = moved_up(20)
    displacement = moves_of(precise("barycentric", 0.01), x, y).displacement[:20]
    doubt = np.exp(-10) / (1 + np.exp(-10))
    np.testing.assert_allclose(displacement[:2, 0], [0.1 + doubt, 1.0 - doubt], atol=1e-8)
    np.testing.assert_allclose(displacement[2:], 1.0, atol=1e-7)
    for n in (20, 100, 400):
        np.testing.assert_array_equal(Matching("sinkhorn", epsilon=0.01).pair(*moved_up(n)), np.arange(n))


# Nothing breaks

GRID = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0)), axis=-1).reshape(-1, 2)
HARD = {
    "cloud": two_clouds(9, 9),
    "more": two_clouds(6, 9),
    "fewer": two_clouds(9, 6),
    "far apart": (1e100 * two_clouds(5, 5)[0], 1e100 * two_clouds(5, 5)[1]),
    "far groups": (np.concatenate([GRID, GRID + 1e100]), np.concatenate([GRID + 0.1, GRID + 1e100])),
    "farther than squares reach": (np.array([[-1e200, 0.0], [0.0, 0.0]]), np.array([[0.1, 0.0], [1e200, 0.0]])),
    "coincident": (np.zeros((5, 2)), np.zeros((5, 2))),
    "coincident groups": (np.repeat(GRID[:3], 3, axis=0), np.repeat(GRID[:3], 3, axis=0)),
    "ties": (GRID, GRID + 0.5),
    "single": (np.array([[0.3, 0.1]]), np.array([[0.4, 0.2]])),
    "single among many": (np.array([[0.3, 0.1]]), GRID),
    "moved up": moved_up(30),
    "tiny": (1e-100 * GRID, 1e-100 * (GRID + 0.3)),
}


@pytest.mark.parametrize("method", MATCHERS)
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.1, 1e6])
@pytest.mark.parametrize("case", HARD)
def test_hard_cases_stay_finite_and_one_to_one(case, epsilon, method):
    x, y = HARD[case]
    moves = moves_of(Matching(method, epsilon=epsilon), x, y)
    lost = 1 if case == "farther than squares reach" else 0  # it cannot be told how far that particle went
    if lost == 0:
        assert_sound(moves, len(x), len(y))
        if method != "barycentric":
            assert moves.matched.sum() == min(len(x), len(y))
    assert np.isfinite(moves.displacement).all()
    assert np.isfinite(moves.squared).all()


@pytest.mark.parametrize("method", MATCHERS)
def test_without_next_particles_nobody_is_matched(method):
    x, none = GRID, np.zeros((0, 2))
    moves = moves_of(Matching(method, sigma=1.0), x, none, x, none, none)
    assert (moves.partner == -1).all()
    assert not moves.matched.any()
    assert not moves.displacement.any()
    assert moves.unfinished == 0


@pytest.mark.parametrize("method", ["assignment", "sinkhorn"])
def test_empty_snapshots_have_no_pairs(method):
    matching = Matching(method, sigma=1.0)
    assert matching.pair(GRID, np.zeros((0, 2))).tolist() == [-1] * 9
    assert matching.pair(np.zeros((0, 2)), GRID).tolist() == []


def test_far_groups_are_matched_within_themselves():
    x, y = HARD["far groups"]
    for method in ("assignment", "sinkhorn"):
        partner = Matching(method, epsilon=1e-3).pair(x, y)
        assert partner[:9].tolist() == list(range(9))
        assert sorted(partner[9:].tolist()) == list(range(9, 18))  # so far out, their grid is smaller than rounding


# Moves that are too long


@pytest.mark.parametrize("method", MATCHERS)
def test_a_flickering_particle_is_dropped_and_the_others_matched(method):
    """Particle 2 vanishes, another appears far away; without a limit they would be taken for one."""
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = x + 0.05
    y[2] = [4.0, -3.0]
    expected = np.array([1.0, 1.0, 0.0, 1.0])
    limited = moves_of(Matching(method, sigma=0.1, max_distance=0.5), x, y)
    np.testing.assert_array_equal(limited.matched[:4], expected)
    np.testing.assert_allclose(limited.displacement[:4], np.outer(expected, [0.05, 0.05]), atol=1e-3)
    np.testing.assert_allclose(limited.right[:4], expected, atol=1e-2)
    assert moves_of(Matching(method, sigma=0.1), x, y).matched[:4].all()


def test_a_far_newcomer_does_not_push_its_neighbours_around():
    """Shifting a row of particles by one is cheaper than one long move; a limit makes it the dearer choice."""
    x = np.arange(5.0)[:, None]
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None]
    assert Matching("assignment").pair(x, y).tolist() == [0, 1, 2, 3, 4]
    assert Matching("assignment", max_distance=0.5).pair(x, y).tolist() == [-1, 0, 1, 2, 3]
    assert Matching("sinkhorn", sigma=0.1, max_distance=0.5).pair(x, y).tolist() == [-1, 0, 1, 2, 3]


# Many pairs at once


@pytest.mark.parametrize("method", METHODS)
def test_many_pairs_at_once_are_the_pairs_one_by_one(method):
    generator = np.random.default_rng(5)
    counts = [6] * 9 if method == "labels" else [6, 6, 9, 4, 0, 5, 5, 1, 30]
    frames = [generator.standard_normal((n, 3)) for n in counts]
    gaps = generator.uniform(0.1, 0.5, 8)
    matching = Matching(method, sigma=0.7)
    together = moves_of(matching, *frames, gaps=gaps)
    begin = 0
    for i in range(8):
        alone = moves_of(matching, frames[i], frames[i + 1], gaps=gaps[i])
        n = len(frames[i])
        for name in ("partner", "displacement", "squared", "matched", "right"):
            found, expected = getattr(together, name)[begin : begin + n], getattr(alone, name)[:n]
            np.testing.assert_array_equal(found, expected, err_msg=name)
        begin += n
    assert (together.partner[begin:] == -1).all()


def test_pairs_need_not_follow_each_other():
    a, b = two_clouds(5, 5)
    c, d = two_clouds(7, 6, seed=1)
    starts = np.array([0, 5, 12, 17, 23])
    points = np.concatenate([a, c, b, d])
    moves = Matching("assignment").moves(points, starts, np.array([1, 0]), np.array([3, 2]), np.ones(2), None)
    np.testing.assert_array_equal(moves.partner[:5], Matching("assignment").pair(a, b))
    np.testing.assert_array_equal(moves.partner[5:12], Matching("assignment").pair(c, d))


def test_labels_keep_their_index():
    x, y = two_clouds(5, 5)
    moves = moves_of(Matching("labels"), x, y)
    assert moves.partner.tolist() == [0, 1, 2, 3, 4] + [-1] * 5
    np.testing.assert_allclose(moves.displacement[:5], y - x)
    assert moves.right.tolist() == [1.0] * 5 + [0.0] * 5


def test_right_counts_the_particles_that_kept_their_index():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    moves = moves_of(Matching("assignment"), x, x[[0, 2, 1, 3]] + 0.1)
    assert moves.right.tolist() == [1, 0, 0, 1, 0, 0, 0, 0]


# sigma from the data


@pytest.fixture(scope="module")
def diffusing():
    return tl.simulate(tl.models.reference(), runs=20, duration=0.05, step=1e-3, observe_every=1e-3, seed=2)


def test_sigma_is_estimated_from_unlabeled_snapshots(diffusing):
    estimated = diffusion_of(diffusing, Matching())
    assert estimated == pytest.approx(1.0, rel=0.1)
    assert Matching().resolved(diffusing).sigma == estimated
    assert Matching("barycentric").resolved(diffusing).sigma == estimated
    assert Matching("assignment").resolved(diffusing).sigma is None
    assert Matching(sigma=0.5).resolved(diffusing).sigma == 0.5
    assert Matching(epsilon=0.5).resolved(diffusing).sigma is None


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_sigma_of_other_noise(factor):
    reference = tl.models.reference()
    bases = (reference.external_basis, reference.interaction_basis)
    model = tl.Model("other noise", *bases, reference.coefficients, sigma=factor)
    data = tl.simulate(model, runs=20, duration=0.05, step=1e-3 / factor**2, observe_every=1e-3 / factor**2, seed=3)
    assert diffusion_of(data, Matching()) == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize("unit", [1e-6, 37.0, 1e8])
def test_sigma_has_the_unit_of_the_positions(diffusing, unit):
    scaled = tl.Snapshots(unit * diffusing.positions, diffusing.times)
    assert diffusion_of(scaled, Matching()) == pytest.approx(unit * diffusion_of(diffusing, Matching()), rel=1e-9)
    slower = tl.Snapshots(diffusing.positions, 100 * diffusing.times)
    assert diffusion_of(slower, Matching()) == pytest.approx(diffusion_of(diffusing, Matching()) / 10, rel=1e-9)


def test_sigma_is_not_that_of_the_shortest_moves():
    """Where particles move as far as they are apart, the exact assignment finds them too slow by a fifth."""
    coarse = tl.simulate(tl.models.reference(), runs=20, duration=1.0, step=1e-3, observe_every=5e-2, seed=2)
    frames = [coarse.frame(m, i) for m in range(20) for i in range(21)]
    squared = moves_of(Matching("assignment"), *frames).squared.reshape(20, 21, 10)[:, :-1]
    assert np.sqrt(squared.mean() / 2 / 5e-2) < 0.85
    assert diffusion_of(coarse, Matching()) == pytest.approx(1.0, rel=0.1)


# Errors


def refused(*parts):
    return pytest.raises(tl.InputError, match=".*".join(re.escape(part) for part in parts))


def test_unknown_method():
    with refused("matching: expected one of labels, assignment, sinkhorn, barycentric", "got 'nearest'"):
        Matching("nearest").pair([[0.0]], [[1.0]])


@pytest.mark.parametrize("name", ["sigma", "epsilon", "max_distance", "tolerance"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "wide"])
def test_settings_that_must_be_positive(name, value):
    with refused(f"{name}: expected a positive number", f"got {value!r}"):
        Matching(**{name: value}).check()


@pytest.mark.parametrize("sweeps", [0, -1, 2.5, "x", None])
def test_sweeps_are_a_whole_number(sweeps):
    with refused("sweeps: expected a whole number of at least 1", f"got {sweeps!r}"):
        Matching(sweeps=sweeps).check()


@pytest.mark.parametrize("method", ["sinkhorn", "barycentric"])
@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_a_long_row_that_moved_up_by_one(method, tolerance):
    """Scalings grow along the row, beyond what floating-point numbers hold, unless they are taken in."""
    n = 200
    x, y = np.array([-0.1, *range(n - 1)])[:, None], np.arange(float(n))[:, None]
    matching = Matching(method, epsilon=0.01, tolerance=tolerance, sweeps=20_000)
    both, starts = np.concatenate([x, y]), np.array([0, n, 2 * n])
    moves = matching.moves(both, starts, np.array([0]), np.array([1]), np.ones(1), None)
    assert moves.matched[:n].all()
    np.testing.assert_allclose(moves.displacement[:n], y - x, atol=0.05 if tolerance is None else 5e-4)


def test_nothing_is_matched_with_nothing():
    nothing = np.empty((0, 2))
    assert len(Matching(sigma=1.0).pair(nothing, nothing)) == 0
    with refused("no particle could be matched"):
        Matching().pair(nothing, nothing)


def test_a_regularisation_below_the_smallest_number():
    assert Matching(sigma=1e-170).pair([[0.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]]).tolist() == [0]


def test_labels_may_be_wrong_too():
    assert Matching("labels", max_distance=1.0).pair([[0.0], [5.0]], [[0.5], [9.0]]).tolist() == [0, -1]


def test_too_many_particles_for_a_matrix_of_distances():
    starts, one = np.array([0, 30_000, 60_000]), np.ones(1, dtype=int)
    with refused("matching 30000 particles needs 7.2 GB"):
        Matching("assignment").moves(np.zeros((60_000, 1)), starts, 0 * one, one, np.ones(1), None)


def test_accumulate_wants_a_matching_not_its_name():
    data = tl.simulate(tl.models.reference(), runs=2, duration=0.02, step=1e-3)
    with refused("matching: expected tl.Matching"):
        tl.accumulate(data, tl.RadialSplines(4), None, matching="sinkhorn")


def test_labels_need_labeled_snapshots(diffusing):
    with refused("the snapshots are unlabeled", "tl.SelfTest", "tl.SinkhornMLE", "labeled=True"):
        Matching("labels").resolved(diffusing)
    with refused("the snapshots are unlabeled"):
        Matching("labels").pair(np.zeros((2, 2)), np.zeros((3, 2)))
    labeled = tl.Snapshots(diffusing.positions, diffusing.times, labeled=True)
    assert Matching("labels").resolved(labeled) == Matching("labels")


@pytest.mark.parametrize(
    ("x", "y"), [(np.zeros(3), np.zeros(3)), (np.zeros((3, 2)), np.zeros((3, 3))), (np.zeros((1, 3, 2)), GRID)]
)
def test_pair_wants_two_snapshots(x, y):
    with refused("expected snapshots of shapes (n, dim) and (m, dim)", str(x.shape), str(y.shape)):
        Matching("assignment").pair(x, y)


def test_mean_targets_are_no_partners():
    with refused("barycentric targets lie between particles", "Matching('sinkhorn')"):
        Matching("barycentric").pair(GRID, GRID)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["assignment", "sinkhorn"])
def test_pair_names_positions_that_are_not_finite(method, bad):
    broken = GRID.copy()
    broken[4, 1] = bad
    with refused("run 0, frame 1, particle 4 is not finite"):
        Matching(method).pair(GRID, broken)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_accumulate_names_positions_that_are_not_finite(method, sigma, bad):
    positions = np.random.default_rng(0).standard_normal((3, 5, 4, 2))
    positions[1, 3, 2, 0] = bad
    data = tl.Snapshots(positions, np.arange(5.0), labeled=True)
    splines = tl.RadialSplines(6, lower=0.0, upper=3.0)
    with refused("run 1, frame 3, particle 2 is not finite"):
        tl.accumulate(data, splines, splines, matching=Matching(method, sigma=sigma))


def test_sigma_is_not_estimated_from_positions_that_are_not_finite():
    positions = np.random.default_rng(0).standard_normal((3, 5, 4, 2))
    positions[2, 1, 3, 1] = np.nan
    with refused("run 2, frame 1, particle 3 is not finite"):
        Matching().resolved(tl.Snapshots(positions, np.arange(5.0)))


def test_nothing_moves_or_nothing_is_in_reach(diffusing):
    still = tl.Snapshots(np.broadcast_to(GRID, (2, 3, 9, 2)), np.arange(3.0))
    with refused("nothing moves between the snapshots", "give epsilon"):
        Matching().resolved(still)
    with refused("no particle could be matched", "max_distance"):
        Matching(max_distance=1e-9).resolved(diffusing)
    splines = tl.RadialSplines(6, lower=0.0, upper=3.0)
    with refused("no particle could be followed", "max_distance"):
        tl.SinkhornMLE(splines, splines, sigma=1.0, max_distance=1e-9).fit(diffusing)
