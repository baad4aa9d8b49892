"""Test energies: kernels against plain NumPy, and functions seen through noise."""

import numpy as np
import pytest
import twins

import trackless as tl
from trackless import balance as balances
from trackless._kernels.energies import energy_series
from trackless._kernels.transitions import transition_task
from trackless.bumps import bumps_for
from trackless.exploration import explore
from trackless.potentials import Potential
from trackless.shapes import Gaussian, Power
from trackless.smoothing import smoothed_table
from trackless.tables import PolynomialTable, by_direction, empty_table, one_kind, one_noise

SPLINES = tl.RadialSplines(7, lower=0.0, upper=2.5)
FAMILY = tl.RadialFunctions([Power(2), Gaussian(0.6, 0.4)], reach=(0.0, 5.0))


class Polynomial(Potential):
    """One of x_k, x_k x_l."""

    def __init__(self, k, m, origin, scale):
        self.k, self.m, self.origin, self.scale = k, m, origin, scale

    def _of(self, x):
        return (np.asarray(x) - self.origin) / self.scale

    def __call__(self, x):
        y = self._of(x)
        return y[..., self.k] * (y[..., self.m] if self.m is not None else 1.0)

    def gradient(self, x):
        y, result = self._of(x), np.zeros(np.shape(x))
        if self.m is None:
            result[..., self.k] = 1 / self.scale
            return result
        result[..., self.k] += y[..., self.m] / self.scale
        result[..., self.m] += y[..., self.k] / self.scale
        return result

    def laplacian(self, x):
        return np.full(np.shape(x)[:-1], 2 / self.scale**2 if self.k == self.m else 0.0)


class Bump(Potential):
    """One function of a table of bumps."""

    def __init__(self, table, e, even):
        self.table, self.centres = table, [table.centres[e]] + ([-table.centres[e]] if even else [])

    def __call__(self, x):
        squares = [(self.table.precision * (x - c) ** 2).sum(axis=-1) for c in self.centres]
        return self.table.amplitude * sum(np.exp(-0.5 * s) for s in squares)

    def gradient(self, x):
        parts = [
            (self.table.precision * (x - c), (self.table.precision * (x - c) ** 2).sum(axis=-1)) for c in self.centres
        ]
        return -self.table.amplitude * sum(p * np.exp(-0.5 * s)[..., None] for p, s in parts)

    def laplacian(self, x):
        total = 0.0
        for c in self.centres:
            p, s = self.table.precision * (x - c), (self.table.precision * (x - c) ** 2).sum(axis=-1)
            total = total + ((p**2).sum(axis=-1) - self.table.precision.sum()) * np.exp(-0.5 * s)
        return self.table.amplitude * total


def polynomials(origin, scale):
    dim = len(origin)
    pairs = [(k, None) for k in range(dim)] + [(k, m) for k in range(dim) for m in range(k, dim)]
    table = PolynomialTable(np.asarray(origin, float), scale, len(pairs), one_noise(dim))
    return table, [Polynomial(*p, origin, scale) for p in pairs]


def cloud(seed=0, snapshots=3, particles=6, dim=2):
    return 0.8 * np.random.default_rng(seed).standard_normal((snapshots, particles, dim))


def starts(snapshots, particles):
    """First particle of each snapshot, and the end of its one kind."""
    return np.add.outer(np.arange(snapshots) * particles, np.array([0, particles]))


def series(x, forces, coef, tests, scale):
    n, particles, dim = x.shape
    size = sum(table.size for table in tests)
    parts = len(tests[0].noise)
    gram, cross = np.zeros((n, parts, size, size)), np.zeros((parts, size, coef.shape[1]))
    weights = np.arange(1.0, n + 1)
    values = energy_series(
        x.reshape(-1, dim), starts(n, particles), np.full(n, scale), np.zeros(dim), one_kind(*forces), coef,
        one_kind(*tests), 0.0, weights, gram, cross,
    )  # fmt: skip
    return *values, gram, cross


@pytest.mark.parametrize("kind", ["polynomials", "bumps"])
def test_energy_series_is_its_twin(kind):
    x = cloud()
    scale = 1 / 6
    forces = (FAMILY, SPLINES)
    own = [twins.functions_of(family) for family in forces]
    coef = np.random.default_rng(1).normal(size=(2, 9))
    if kind == "polynomials":
        external, singles = polynomials([0.1, -0.2], 0.7)
        interaction, pairs = FAMILY.table(2), twins.functions_of(FAMILY)
    else:
        explored = explore(tl.Snapshots(x[None], [0.0, 1.0, 2.0]))
        external, interaction = (bumps_for(explored, role, 0.2)[1] for role in range(2))
        singles = [Bump(external, e, False) for e in range(external.size)]
        pairs = [Bump(interaction, e, True) for e in range(interaction.size)]
    tables = [family.table(2) for family in forces]
    energy, diffusion, power, gram, cross = series(x, tables, coef, (external, interaction), scale)
    expected_cross = 0.0
    for s, points in enumerate(x):
        _, _, delta, h = (np.asarray(a) for a in twins.snapshot_sums(points, singles, pairs, scale))
        np.testing.assert_allclose(energy[s], h, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(diffusion[s, 0], delta, rtol=1e-9, atol=1e-9)
        test_force = twins.forces(points, singles, pairs, scale).reshape(-1, len(singles) + len(pairs))
        force = twins.forces(points, *own, scale).reshape(len(test_force), -1)
        np.testing.assert_allclose(gram[s, 0], test_force.T @ test_force, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(power[s], (force @ coef.T).T @ test_force, rtol=1e-9, atol=1e-9)
        expected_cross = expected_cross + (s + 1) * test_force.T @ force
    np.testing.assert_allclose(cross[0], expected_cross, rtol=1e-9, atol=1e-9)
    apart = series(
        x, [by_direction(t) for t in tables], coef, (by_direction(external), by_direction(interaction)), scale
    )
    for whole, parts, axis in ((diffusion, apart[1], 1), (gram, apart[3], 1), (cross, apart[4], 0)):
        np.testing.assert_allclose(parts.sum(axis=axis), np.squeeze(whole, axis), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(apart[0], energy)
    test_force = twins.forces(x[0], singles, pairs, scale).reshape(-1, 2, len(singles) + len(pairs))
    force = twins.forces(x[0], *own, scale).reshape(-1, 2, 9)
    first = series(
        x[:1], [by_direction(t) for t in tables], coef, (by_direction(external), by_direction(interaction)), scale
    )
    for k in range(2):
        np.testing.assert_allclose(apart[3][0, k], test_force[:, k].T @ test_force[:, k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(first[4][k], test_force[:, k].T @ force[:, k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(apart[1][0, k], twins.second_derivatives(x[0], singles, pairs, scale, k), atol=1e-5)


def test_transitions_are_their_twin():
    before, after = cloud(1), cloud(2)
    gap, sigma, scale = 0.05, 0.9, 1 / 6
    families, tests = (FAMILY, SPLINES), (SPLINES, FAMILY)
    smooth = tuple(smoothed_table(f, 4.0, 0.3, 0.2, 2) for f in tests)
    coef = np.random.default_rng(3).normal(size=9)
    rough = 0.3 * np.eye(9)
    matrix, vector, _ = transition_task(
        before.reshape(-1, 2), after.reshape(-1, 2), starts(3, 6), gap, np.full(3, scale), np.zeros(2),
        one_kind(*(f.table(2) for f in families)), one_kind(*(f.table(2) for f in tests)), one_kind(*smooth), coef,
        sigma, rough,
    )  # fmt: skip
    one = np.zeros((1, 9))
    expected = [np.zeros((9, 9)), np.zeros(9)]
    for x, y in zip(before, after, strict=True):
        force = twins.forces(x, *(twins.functions_of(f) for f in families), scale)
        moved = x - gap * force @ coef
        seen = series(y[None], [f.table(2) for f in families], one, [f.table(2) for f in tests], scale)[0][0]
        mean, _, _, gram, _ = series(moved[None], [f.table(2) for f in families], one, smooth, scale)
        # forces of smoothed tests at the place moved to, against those of the families at x
        nudged = [
            series((moved + e.reshape(moved.shape))[None], [f.table(2) for f in families], one, smooth, scale)[0][0]
            for e in 1e-5 * np.eye(moved.size)
        ]
        slopes = (np.array(nudged) - mean[0]).T / 1e-5
        j = gap * slopes @ force.reshape(-1, 9)
        inverse = np.linalg.inv(sigma**2 * gap * gram[0, 0] + gap**2 * rough)
        g = seen - mean[0]
        expected = [expected[0] + j.T @ inverse @ j, expected[1] + j.T @ inverse @ g]
    np.testing.assert_allclose(np.tril(matrix), np.tril(expected[0]), rtol=2e-3, atol=1e-3 * np.abs(expected[0]).max())
    np.testing.assert_allclose(vector, expected[1], rtol=2e-3, atol=1e-3 * np.abs(expected[1]).max())


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_gaussian_through_noise_is_a_wider_gaussian(dim):
    width, noise = 0.5, 0.3
    table = smoothed_table(tl.RadialFunctions([Gaussian(0.0, width)], reach=(0.0, 5.0)), 3.0, width, noise, dim)
    r = np.linspace(0.0, 2.5, 60)
    x = np.zeros((60, 1, dim))
    x[:, 0, 0] = r
    energy, *_ = series(x, (empty_table(dim), empty_table(dim)), np.zeros((1, 0)), (table, empty_table(dim)), 1.0)
    wider = np.hypot(width, noise)
    np.testing.assert_allclose(energy[:, 0], (width / wider) ** dim * np.exp(-0.5 * (r / wider) ** 2), atol=2e-5)


def test_splines_through_noise_are_their_mean():
    noise = 0.25
    table = smoothed_table(SPLINES, 4.0, 0.3, noise, 2)
    x = np.array([[[0.0, 0.0]], [[0.4, 0.3]], [[1.5, -0.5]]])
    energy, *_ = series(x, (empty_table(2), empty_table(2)), np.zeros((1, 0)), (table, empty_table(2)), 1.0)
    kicks = noise * np.random.default_rng(0).standard_normal((200_000, 2))
    kicks = np.concatenate([kicks, -kicks])
    for s in range(3):
        mean = [SPLINES.combine(unit)(x[s, 0] + kicks).mean() for unit in np.eye(SPLINES.size)]
        np.testing.assert_allclose(energy[s], mean, atol=3e-3)


def test_balance_holds_for_the_truth_and_knows_its_noise():
    model = tl.models.smooth_control()
    data = tl.simulate(model, runs=200, step=1e-3, accurate=True, seed=4)
    moments = tl.accumulate(data, model.external_basis, model.interaction_basis)
    found = balances.balance(data, moments.external, moments.interaction, np.array([model.true_coef]))
    left = found.change - 0.5 * found.diffusion[:, :, 0, 0] + found.power[:, :, 0, 0]
    z = left.mean(axis=0) / (left.std(axis=0) / np.sqrt(len(left)))
    assert np.abs(z).max() < 4.5
    assert 0.6 < (z**2).mean() < 1.6
    theory = np.sqrt(np.diagonal(found.window_clock[:, 0], axis1=1, axis2=2) / found.blocks)  # sigma = 1
    np.testing.assert_allclose(left.std(axis=0), theory, rtol=0.35)


def test_a_periodic_box_has_tests_of_pairs_only():
    data = tl.Snapshots(np.random.default_rng(0).uniform(0, 3, (2, 4, 8, 2)), np.arange(4.0), box=3.0)
    tests = balances.tests_for(data, per_direction=False, quadratic=False, kinds=1)
    assert tests.families.external_size == 0
    assert tests.families.interaction_size == len(tests.names) == 2
    assert tests.steady.all()
