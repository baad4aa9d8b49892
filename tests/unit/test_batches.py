"""Mini-batches: segments, weights that add up to the loss, padding, units."""

from itertools import pairwise

import jax
import numpy as np
import pytest

import trackless as tl
from trackless.quadrature import weights
from trackless.training.batches import Batches, Scales, Segment, segments_of
from trackless.training.network import new_network, plain

ONES = Scales(np.zeros(2), 1.0, (1.0, 1.0))


def regular(runs=12, times=4, particles=3, seed=0):
    """Frames with means of their own, at times that are not equidistant."""
    generator = np.random.default_rng(seed)
    positions = 1.0 + 0.3 * generator.normal(size=(runs, times, particles, 2))
    return tl.Snapshots(positions, np.cumsum(generator.uniform(0.5, 1.5, times)))


def ragged(counts, seed=0):
    """Runs given by their particle counts, each with times of its own."""
    generator = np.random.default_rng(seed)
    runs = [[1.0 + 0.3 * generator.normal(size=(n, 2)) for n in run] for run in counts]
    return tl.Snapshots(runs, [np.cumsum(generator.uniform(0.5, 1.5, len(run))) for run in counts])


def whole_runs(snapshots):
    return [Segment(m, 0, len(snapshots.times_of(m)) - 1) for m in range(snapshots.runs)]


def batches_of(snapshots, rule="trapezoid", scales=ONES, sigma=1.0):
    return Batches(snapshots, whole_runs(snapshots), rule, scales, sigma)


def sums(frames):
    """Something that every frame contributes to, for V and Phi apart: (2,)."""
    inside = (np.sin(frames.positions).sum(axis=2) * frames.present).sum(axis=1) ** 2
    return (frames.weights.astype(float) * inside[:, None]).sum(axis=0)


# Segments


def test_many_runs_are_segments_as_they_are():
    assert segments_of(regular(runs=10, times=4)) == [Segment(m, 0, 3) for m in range(10)]


@pytest.mark.parametrize(("runs", "times", "expected"), [(1, 101, 10), (9, 11, 18), (4, 31, 12), (1, 4, 3), (2, 8, 10)])
def test_few_runs_are_cut_into_windows_that_share_their_ends(runs, times, expected):
    segments = segments_of(regular(runs=runs, times=times, particles=1))
    assert len(segments) == expected
    for run in range(runs):
        mine = [s for s in segments if s.run == run]
        assert mine[0].first == 0
        assert mine[-1].last == times - 1
        assert all(a.last == b.first for a, b in pairwise(mine))
        lengths = [s.last - s.first for s in mine]
        assert max(lengths) - min(lengths) <= 1


def test_short_runs_have_fewer_windows():
    lengths = [(s.run, s.last - s.first) for s in segments_of(ragged([[2] * n for n in (2, 3, 9)]))]
    assert lengths == [(0, 1), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2), (2, 2)]


def test_a_single_segment_is_not_enough():
    with pytest.raises(tl.InputError, match="at least two runs or time windows"):
        segments_of(regular(runs=1, times=2))
    assert len(segments_of(regular(runs=2, times=2))) == 2


# One epoch


@pytest.mark.parametrize(("rule", "expected"), [("trapezoid", 48), ("left", 36)])
def test_an_epoch_visits_every_snapshot_that_counts_once(rule, expected):
    """Frames are told apart by where their particles are; the left rule does without the last ones."""
    positions = np.broadcast_to(np.arange(48.0).reshape(12, 4, 1, 1), (12, 4, 3, 2))
    batches = batches_of(tl.Snapshots(positions.copy(), np.arange(4.0)), rule)
    seen, orders = [], []
    generator = np.random.default_rng(0)
    for _ in range(2):
        frames = [inner for inner, _ in batches.shuffled(13, 3, generator)]
        assert all(f.positions.shape == (13, 3, 2) for f in frames)
        order = np.concatenate([f.positions[f.present[:, 0] == 1, 0, 0] for f in frames])
        orders.append(order.tolist())
        seen.append(sorted(order.tolist()))
    wanted = [k for k in range(48) if rule == "trapezoid" or k % 4 < 3]
    assert len(wanted) == expected
    assert seen == [wanted, wanted]
    assert orders[0] != orders[1] != wanted


@pytest.mark.parametrize("kind", ["regular", "ragged"])
@pytest.mark.parametrize("rule", ["left", "trapezoid", "cubic"])
def test_batches_estimate_the_sum_without_bias(kind, rule):
    """Of any function of the frames, every batch does: the last, smaller one as well."""
    data = regular() if kind == "regular" else ragged([[3, 2, 4, 3], [2, 2, 5], [4, 4, 4, 4, 1]] * 4)
    batches = batches_of(data, rule)
    inner = sum(sums(frames) for frames, _ in batches.in_order(5) if frames is not None)
    outer = sum(sums(ends) for _, ends in batches.in_order(5) if ends is not None)
    generator = np.random.default_rng(1)
    epochs = [list(batches.shuffled(13, 3, generator)) for _ in range(300)]
    assert all(int((epoch[-1][0].weights[:, 0] != 0).sum()) < 13 for epoch in epochs)
    for part, exact in ((0, inner), (1, outer)):
        drawn = np.array([[sums(batch[part]) for batch in epoch] for epoch in epochs])
        for sample in (drawn[:, 0], drawn[:, -1], drawn.mean(axis=1)):
            error = sample.std(axis=0) / np.sqrt(len(sample))
            assert (np.abs(sample.mean(axis=0) - exact) < 4.5 * error + 1e-6).all()
    assert np.std([[sums(batch[0])[0] for batch in epoch] for epoch in epochs]) < 0.5 * abs(inner[0])


@pytest.mark.parametrize("size", [1, 5, 48, 100])
def test_the_whole_sum_does_not_depend_on_the_batch(size):
    batches = batches_of(regular())
    inner, outer = np.zeros(2), np.zeros(2)
    for frames, ends in batches.in_order(size):
        assert (frames is None) != (ends is None)
        if frames is not None:
            assert len(frames.weights) == size
            inner += sums(frames)
        else:
            assert len(ends.weights) == 2 * size
            outer += sums(ends)
    expected_inner, expected_outer, total = np.zeros(2), np.zeros(2), 0.0
    for run in batches.snapshots.positions:
        values = np.sin(run).sum(axis=2).sum(axis=1) ** 2
        step = weights(batches.snapshots.times, "trapezoid")
        expected_inner += step @ values
        expected_outer += values[-1] - values[0]
        total += 3 * step.sum()
    np.testing.assert_allclose(inner, expected_inner / total, rtol=1e-5)
    np.testing.assert_allclose(outer, expected_outer / total, rtol=1e-4)


def test_weights_are_per_particle_and_time_in_units_of_diffusion():
    """Summed over particles they are 1; energies are divided by the whole time, in length^2/sigma^2."""
    data = regular(runs=3, particles=5)
    batches = batches_of(data, scales=Scales(np.zeros(2), 0.5, (1.0, 1.0)), sigma=2.0)
    (inner, _), (_, outer) = batches.in_order(100)
    assert (inner.weights * inner.present.sum(axis=1, keepdims=True)).sum(axis=0) == pytest.approx([1.0, 1.0])
    total = 3 * 5 * (data.times[-1] - data.times[0]) * 2.0**2 / 0.5**2
    np.testing.assert_allclose(outer.weights[:6], np.array([[-1, -1], [1, 1]] * 3) / total, rtol=1e-6)


def test_a_batch_that_is_not_full_is_padded_with_nothing():
    batches = batches_of(regular(runs=3, times=4))  # 12 snapshots
    *_, (last, ends) = batches.shuffled(5, 2, np.random.default_rng(0))
    assert last.positions.shape == (5, 3, 2)
    np.testing.assert_array_equal(last.present.sum(axis=1), [3, 3, 0, 0, 0])
    np.testing.assert_array_equal(last.weights[2:], 0.0)
    assert (last.weights[:2] > 0).all()
    assert ends.positions.shape == (4, 3, 2)
    assert all(part.dtype == np.float32 for part in (*last, *ends))


# Numbers of particles that differ


def test_ragged_frames_say_who_is_present():
    data = ragged([[2, 4], [1, 3]])
    batches = batches_of(data)
    (inner, _), (_, outer) = batches.in_order(6)
    assert batches.particles == 4
    np.testing.assert_array_equal(inner.present.sum(axis=1), [2, 4, 1, 3, 0, 0])
    np.testing.assert_array_equal(inner.present[0], [1, 1, 0, 0])
    np.testing.assert_allclose(inner.positions[3, :3], data.frame(1, 1), rtol=1e-6)
    np.testing.assert_array_equal(outer.present.sum(axis=1)[:5], [2, 4, 1, 3, 0])
    assert Batches(data, [Segment(1, 0, 1)], "trapezoid", ONES, 1.0).particles == 3


def test_energies_at_the_ends_are_scaled_to_the_mean_numbers():
    times = np.array([0.0, 1.0, 3.0])
    data = tl.Snapshots([[np.zeros((n, 2)) for n in (2, 4, 3)]], [times])
    batches = Batches(data, [Segment(0, 0, 2)], "trapezoid", ONES, 1.0)
    step = np.array([0.5, 1.5, 1.0])
    singles, pairs = np.mean([2, 4, 3]), np.mean([2, 12, 6])
    expected = np.array([[-singles / 2, -pairs / 2], [singles / 3, pairs / 6]]) / (step @ [2, 4, 3])
    np.testing.assert_allclose(batches.end_scales[0], expected)


def test_ends_without_particles_or_pairs_have_finite_weights():
    data = tl.Snapshots([[np.zeros((n, 2)) for n in (1, 3, 2)], [np.zeros((2, 2))] * 3], [np.arange(3.0)] * 2)
    assert np.isfinite(batches_of(data).end_scales).all()


# Units


SCALES = Scales(np.array([3.0, -2.0]), 0.4, (2.5, 0.3))


@pytest.mark.parametrize(("role", "radial"), [(0, False), (0, True), (1, False), (1, True)])
def test_networks_inside_and_outside_are_the_same(role, radial):
    """Energy times the inner network at the inner place is the outer network at the outer place."""
    generator = np.random.default_rng(0)
    corners = generator.normal(size=(2, 1 if radial else 2))
    inner = plain(new_network((5, 5), "tanh", corners, 2.0, 1.5, jax.random.PRNGKey(0)))
    outer = SCALES.outwards(inner, role, radial)
    positions = generator.normal(size=(6, 2)) + SCALES.origin
    inside = SCALES.inside(positions).astype(float)
    assert SCALES.inside(positions).dtype == np.float32
    if role == 1:  # displacements do not know the origin
        positions, inside = positions[:3] - positions[3:], inside[:3] - inside[3:]
    elif radial:  # nor do distances from the origin
        positions = positions - SCALES.origin
    if radial:
        positions, inside = (np.linalg.norm(x, axis=1, keepdims=True) for x in (positions, inside))
    energy = SCALES.energies[role]
    value, gradient, laplacian = inner.derivatives(inside)
    outside = outer.derivatives(positions)
    np.testing.assert_allclose(outside[0], energy * value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outside[1], energy / 0.4 * gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outside[2], energy / 0.4**2 * laplacian, rtol=1e-4, atol=1e-5)
    back = SCALES.inwards(outer, role, radial)
    for name in ("shift", "scale"):
        np.testing.assert_allclose(getattr(back, name), getattr(inner, name), rtol=1e-12)
    for name in ("weights", "biases"):
        for a, b in zip(getattr(back, name), getattr(inner, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_places_far_away_keep_their_digits():
    positions = 1e6 + np.array([[0.1, 0.2]])
    scales = Scales(np.full(2, 1e6), 0.5, (1.0, 1.0))
    np.testing.assert_allclose(scales.inside(positions), [[0.2, 0.4]], rtol=1e-6)
