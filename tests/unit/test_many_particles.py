"""Large snapshots in cells and rows, and several kinds of particles: kernels against plain NumPy."""

import numpy as np
import pytest
import twins
from test_kernels import assert_as_twin

import trackless as tl
from trackless._kernels import moments as kernels
from trackless._kernels.cells import cells_around, grid_of, sorted_into_cells
from trackless._kernels.energies import energy_series
from trackless._kernels.moments import accumulate_task
from trackless.shapes import Gaussian, Power
from trackless.space import displacement
from trackless.tables import Families, empty_table

WELL = tl.RadialFunctions([Power(2), Gaussian(0.6, 0.4)], reach=(0.0, 30.0))
NEAR = tl.RadialSplines(7, lower=0.0, cutoff=1.0)
BUMPS = tl.RadialFunctions([Gaussian(0.2, 0.3), Gaussian(0.5, 0.2)], reach=(0.0, 6.0))


def scattered(n, sides, seed=0, runs=1, times=3):
    return np.random.default_rng(seed).uniform(0, sides, (runs, times, n, len(sides)))


@pytest.mark.parametrize("sides", [(9.0,), (4.2, 7.0), (2.1, 6.0), (3.1, 3.2, 4.5)])
@pytest.mark.parametrize("periodic", [True, False])
def test_cells_find_every_neighbour_once(sides, periodic):
    n, reach = 90, 1.0
    x = np.ascontiguousarray(scattered(n, sides)[0, 0].T) - (0.0 if periodic else 3.0)
    lengths = np.array(sides) if periodic else np.zeros(len(sides))
    lower, inverse, cells = grid_of(x, lengths, reach)
    positions, order, cell_of, start = sorted_into_cells(x, np.array([0, 30, n]), lengths, lower, inverse, cells)
    assert np.array_equal(np.sort(order[:30]), np.arange(30))  # kinds stay together
    assert np.array_equal(positions, x[:, order])
    total = int(np.prod(cells))
    near = np.empty(3 ** len(sides), np.int64)
    for i in range(n):
        around = near[: cells_around(cell_of[i], cells, lengths, near)]
        assert len(set(around.tolist())) == len(around)
        listed = [j for kind in range(2) for c in kind * total + around for j in range(start[c], start[c + 1])]
        gaps = displacement(positions.T, positions[:, i], sides if periodic else None)
        assert set(np.flatnonzero(np.linalg.norm(gaps, axis=1) <= reach)) <= set(listed)
        assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("sides", [(30.0,), (9.0, 5.0), (7.0, 2.2), (3.5, 4.0, 5.0)])
@pytest.mark.parametrize("periodic", [True, False])
def test_large_snapshots_with_a_cutoff(sides, periodic):
    positions = scattered(130, sides)
    data = tl.Snapshots(positions, np.arange(3) * 0.1, sides if periodic else None)
    center = tuple(side / 2 for side in sides)
    assert_as_twin(data, tl.RadialFunctions(WELL.functions, center=center, reach=(0.0, 30.0)), NEAR, coupling="sum")


@pytest.mark.parametrize("interaction", [tl.GaussianRBF(4), tl.TensorSplines(4)], ids=["radial", "tensor"])
def test_the_largest_snapshots_go_through_rows_without_a_cutoff(interaction):
    n = kernels.MOST_TOGETHER + 30
    data = tl.Snapshots(0.8 * np.random.default_rng(1).standard_normal((1, 2, n, 2)), [0.0, 0.1])
    moments = tl.accumulate(data, WELL, interaction, blocks=1, windows=1)
    i, j = np.triu_indices(n, 1)
    of_pairs = [
        np.array([phi(frame[i] - frame[j]).sum() / n for phi in twins.functions_of(moments.interaction)])
        for frame in data.positions[0]
    ]
    np.testing.assert_allclose(moments.energy[0, 0, WELL.size :], of_pairs[1] - of_pairs[0], rtol=1e-8, atol=1e-8)


def kinds_twin(x, kinds, external, interaction, pairs, scale, box=None):
    """N G, its pair part, N delta and N h where functions belong to kinds and pairs of kinds."""
    n, dim = x.shape
    size = sum(map(len, external)) + sum(map(len, interaction))
    force, delta, h = np.zeros((n, dim, size)), np.zeros(size), np.zeros(size)
    f = 0
    for kind, functions in enumerate(external):
        own = kinds == kind
        for psi in functions:
            force[own, :, f] = psi.gradient(x[own])
            delta[f], h[f] = psi.laplacian(x[own]).sum(), psi(x[own]).sum()
            f += 1
    first = f
    pushes = np.zeros((n * n, dim, size - first))
    i, j = np.divmod(np.arange(n * n), n)
    z = displacement(x[i], x[j], box)
    for (a, b), functions in zip(pairs, interaction, strict=True):
        meets = (i != j) & (((kinds[i] == a) & (kinds[j] == b)) | ((kinds[i] == b) & (kinds[j] == a)))
        for phi in functions:
            gradient = scale * phi.gradient(z[meets])
            np.add.at(force[:, :, f], i[meets], gradient)
            pushes[meets, :, f - first] = gradient
            delta[f] = scale * phi.laplacian(z[meets]).sum()
            h[f] = 0.5 * scale * phi(z[meets]).sum()
            f += 1
    return np.einsum("ika,ikb->ab", force, force), np.einsum("pka,pkb->ab", pushes, pushes), delta, h


@pytest.mark.parametrize(
    ("counts", "reach", "local"),
    [
        ((3, 4), np.inf, True), ((5, 0), np.inf, True), ((60, 70), np.inf, True), ((60, 70), 1.0, True),
        ((3, 4), np.inf, False), ((60, 70), np.inf, False),
    ],
)  # fmt: skip
def test_several_kinds(counts, reach, local):
    sides = (6.0, 5.0)
    n = sum(counts)
    x = scattered(n, sides, times=2)[0]
    near = [NEAR, tl.RadialSplines(8, lower=0.0, cutoff=0.9)] if local else [BUMPS, BUMPS]
    pairs = np.array([[0, 1], [1, 1]])  # the first kind does not interact with itself
    wells = [WELL, tl.RadialFunctions([Power(4)], reach=(0.0, 30.0))]
    families = Families(
        tuple(w.table(2) for w in wells), tuple(family.table(2) for family in near), pairs, reach
    )  # fmt: skip
    starts = np.array([[s * n, s * n + counts[0], (s + 1) * n] for s in range(2)])
    weights = np.array([[0.3], [0.7]])
    size = families.external_size + families.interaction_size
    energy = np.zeros((2, size))
    quadratic, pair, diffusion, _ = accumulate_task(
        x.reshape(-1, 2), starts, np.full(2, 0.1), np.array(sides), np.arange(2), np.arange(2), weights, families,
        energy, np.zeros(2, bool), np.zeros((0, 2)), np.zeros(0),
    )  # fmt: skip
    kinds = np.repeat([0, 1], counts)
    functions = [[twins.functions_of(f) for f in group] for group in (wells, near)]
    parts = [kinds_twin(frame, kinds, *functions, pairs, 0.1, sides) for frame in x]
    expected = [sum(w * part[k] for w, part in zip((0.3, 0.7), parts, strict=True)) for k in range(3)]
    np.testing.assert_allclose(quadratic[0], expected[0], rtol=1e-9, atol=1e-10 * np.abs(expected[0]).max())
    np.testing.assert_allclose(pair[0], expected[1], rtol=1e-9, atol=1e-10 * np.abs(expected[1]).max())
    np.testing.assert_allclose(diffusion[0, 0], expected[2], rtol=1e-9, atol=1e-9 * np.abs(expected[2]).max())
    np.testing.assert_allclose(energy, [part[3] for part in parts], rtol=1e-9, atol=1e-9)


def test_energies_of_large_snapshots_are_those_of_small_ones():
    """In rows with a reach, and without one, where every pair is looked at."""
    sides = (8.0, 7.0)
    x = scattered(140, sides, times=2)[0]
    external, interaction = WELL.table(2), NEAR.table(2)
    tests = tl.RadialSplines(6, lower=0.0, cutoff=0.8).table(2)
    starts = np.array([[0, 140], [140, 280]])
    coef = np.random.default_rng(2).normal(size=(2, external.size + interaction.size))
    found = []
    for reach in (1.0, np.inf):
        own = [Families((external,), (interaction,), np.zeros((1, 2), np.int64), reach),
               Families((empty_table(2),), (tests,), np.zeros((1, 2), np.int64), reach)]  # fmt: skip
        gram, cross = np.zeros((2, 1, tests.size, tests.size)), np.zeros((1, tests.size, coef.shape[1]))
        values = energy_series(
            x.reshape(-1, 2), starts, np.ones(2), np.array(sides), own[0], coef, own[1], 0.0, np.ones(2), gram, cross
        )
        found.append([*values, gram, cross])
    for rows, together in zip(*found, strict=True):
        np.testing.assert_allclose(rows, together, rtol=1e-9, atol=1e-9)
