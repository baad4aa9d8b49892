"""What the data explored: bounds of everything, samples of the rest, densities."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

import trackless as tl
from trackless import exploration
from trackless.exploration import explore, radial_density

POSITIONS = np.random.default_rng(0).normal(0.3, 0.5, (5, 4, 6, 2))
TIMES = np.arange(4.0)


def test_everything_is_sampled_if_there_is_little():
    explored = explore(tl.Snapshots(POSITIONS, TIMES))
    np.testing.assert_array_equal(explored.lower, POSITIONS.min(axis=(0, 1, 2)))
    np.testing.assert_array_equal(explored.upper, POSITIONS.max(axis=(0, 1, 2)))
    assert explored.positions.shape == (120, 2)
    assert explored.displacements.shape == (5 * 4 * 15, 2)
    np.testing.assert_allclose(explored.mean, POSITIONS.mean(axis=(0, 1, 2)))
    distances = np.linalg.norm(POSITIONS[:, :, :, None] - POSITIONS[:, :, None], axis=-1)
    i, j = np.triu_indices(6, 1)
    np.testing.assert_allclose(np.sort(explored.distances), np.sort(distances[:, :, i, j].ravel()))


def test_distances_by_role_and_centre():
    explored = explore(tl.Snapshots(POSITIONS, TIMES))
    center = (0.3, -0.1)
    np.testing.assert_array_equal(explored.reached("interaction"), explored.distances)
    np.testing.assert_allclose(
        explored.reached("external", center), np.linalg.norm(explored.positions - center, axis=1)
    )
    assert explored.farthest("external", center) >= explored.radii(center).max()
    assert explored.farthest("external") >= explored.radii().max()
    assert explored.farthest("interaction") >= explored.distances.max()


def test_ragged_data_give_the_same_as_regular_ones():
    whole = explore(tl.Snapshots(POSITIONS, TIMES))
    ragged = explore(tl.Snapshots(list(POSITIONS), [TIMES] * 5))
    np.testing.assert_array_equal(ragged.positions, whole.positions)
    np.testing.assert_array_equal(ragged.displacements, whole.displacements)
    np.testing.assert_array_equal(ragged.lower, whole.lower)


def test_distances_in_a_box_are_to_the_nearest_image():
    explored = explore(
        tl.Snapshots(np.array([[[[0.1, 0.1], [2.9, 0.1]]]] * 2).reshape(1, 2, 2, 2), [0.0, 1.0], box=3.0)
    )
    np.testing.assert_allclose(explored.distances, 0.2)


def test_large_data_are_sampled_evenly(monkeypatch):
    monkeypatch.setattr(exploration, "SAMPLE_PAIRS", 1500)
    positions = np.zeros((50, 40, 6, 2))
    positions[..., 0] = np.arange(50)[:, None, None]
    positions[..., 1] = np.arange(40)[:, None]
    for data in (tl.Snapshots(positions, np.arange(40.0)), tl.Snapshots(list(positions), np.arange(40.0))):
        explored = explore(data)
        frames = len(explored.positions) // 6
        assert 80 <= frames <= 100  # 1500 / 15 pairs
        assert len(np.unique(explored.positions[:, 0])) > 40
        assert len(np.unique(explored.positions[:, 1])) > 30
        np.testing.assert_array_equal(explored.upper, [49.0, 39.0])  # bounds come from all


def test_large_frames_are_thinned(monkeypatch):
    monkeypatch.setattr(exploration, "SAMPLE_PARTICLES", 10)
    explored = explore(tl.Snapshots(np.random.default_rng(1).random((1, 2, 45, 2)), [0.0, 1.0]))
    assert explored.positions.shape == (18, 2)


@pytest.mark.parametrize("ragged", [False, True])
def test_positions_that_are_not_finite_are_named(ragged):
    positions = POSITIONS.copy()
    positions[3, 2, 5, 1] = np.nan
    data = tl.Snapshots(list(positions), [TIMES] * 5) if ragged else tl.Snapshots(positions, TIMES)
    with pytest.raises(tl.InputError, match="run 3, frame 2, particle 5"):
        explore(data)


def test_no_particle_at_all():
    empty = tl.Snapshots([[np.zeros((0, 2)), np.zeros((0, 2))]], [0.0, 1.0])
    with pytest.raises(tl.InputError, match="no particle in any snapshot"):
        explore(empty)


def test_radial_density_is_a_kernel_density():
    sample = np.random.default_rng(2).gamma(3.0, 0.3, 4000)
    grid = np.linspace(0.0, 5.0, 600)
    density = radial_density(sample, grid, bandwidth=0.15)
    np.testing.assert_allclose(density, gaussian_kde(sample, 0.15)(grid), atol=2e-3)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)


def test_radial_density_needs_a_spread():
    with pytest.raises(tl.InputError, match="all distances are equal"):
        radial_density(np.ones(10), np.linspace(0, 2, 5))
