"""Moments: addition, symmetries, and the normal equations they give."""

import numpy as np
import pytest

import trackless as tl
from trackless import moments as moments_module
from trackless.moments import rule_index
from trackless.quadrature import RULES
from trackless.shapes import Gaussian, Power

ARRAYS = ("quadratic", "pair", "diffusion", "energy", "weight", "runs", "span")
EXTERNAL = tl.RadialFunctions([Power(2), Gaussian(0.5, 0.4)], names=["spring", "shell"], reach=(0.0, 8.0))
INTERACTION = tl.RadialSplines(9, lower=0.0, upper=3.0)


def cloud(runs=6, times=9, particles=5, seed=0, dim=2):
    positions = 0.7 * np.random.default_rng(seed).standard_normal((runs, times, particles, dim))
    return tl.Snapshots(positions, 0.1 * np.arange(times))


def moments_of(data, **options):
    return tl.accumulate(data, EXTERNAL, INTERACTION, **options)


def assert_same(found, expected, tolerance=1e-12, names=ARRAYS):
    for name in names:
        a, b = getattr(found, name), getattr(expected, name)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max(), err_msg=name)


def test_merged_moments_are_the_joint_ones():
    data = cloud()
    first, second, third = (moments_of(part, windows=2) for part in data.split(parts=3))
    assert_same(first + second + third, moments_of(data, windows=2))


def test_addition_neither_changes_its_terms_nor_depends_on_their_order():
    first, second = (moments_of(part, windows=1) for part in cloud().split(0.5))
    before = first.quadratic.copy()
    ab, ba = (first + second).normal_equations(1.0), (second + first).normal_equations(1.0)
    np.testing.assert_allclose(ab.matrix, ba.matrix, rtol=1e-13)
    np.testing.assert_allclose(ab.vector, ba.vector, rtol=1e-10)
    np.testing.assert_array_equal(first.quadratic, before)


def test_runs_of_different_length_and_size_are_weighted_by_particles_and_time():
    long, large = cloud(runs=2, times=17), cloud(runs=3, particles=8)
    together = moments_of(long, windows=1) + moments_of(large, windows=1)
    joint = moments_of(tl.concatenate([long, large]), windows=1)
    assert_same(joint, together)
    parts = [moments_of(data, windows=1).normal_equations(1.0).matrix for data in (long, large)]
    weights = np.array([2 * 5 * 1.6, 3 * 8 * 0.8])
    np.testing.assert_allclose(
        joint.normal_equations(1.0).matrix, np.tensordot(weights / weights.sum(), parts, 1), rtol=1e-10
    )


@pytest.mark.parametrize("change", ["external", "interaction", "coupling", "windows", "dim"])
def test_moments_that_differ_cannot_be_added(change):
    data, options = cloud(), {"external": EXTERNAL, "interaction": INTERACTION, "coupling": "mean", "windows": 2}
    mine = tl.accumulate(data, **options)
    other = {
        "external": tl.RadialFunctions([Power(2), Power(4)], reach=(0.0, 8.0)),
        "interaction": tl.RadialSplines(9, lower=0.0, upper=3.5),
        "coupling": "sum",
        "windows": 3,
    }
    if change == "dim":
        theirs = tl.accumulate(cloud(dim=3), **options)
    else:
        theirs = tl.accumulate(data, **{**options, change: other[change]})
    same = "closed bases" if change in ("external", "interaction") else change
    with pytest.raises(tl.InputError, match=f"moments differ in {change} .* accumulate both with the same {same}"):
        mine + theirs


def test_only_moments_can_be_added():
    with pytest.raises(TypeError):
        moments_of(cloud()) + 1


def test_order_of_particles_does_not_matter():
    data = cloud()
    assert_same(moments_of(data.shuffled(seed=5)), moments_of(data), tolerance=1e-11)


def test_reversing_time_flips_the_energy_change_only():
    data = cloud()
    reversed_ = tl.Snapshots(data.positions[:, ::-1], data.times)
    forward, backward = moments_of(data, windows=1), moments_of(reversed_, windows=1)
    np.testing.assert_allclose(backward.energy, -forward.energy, atol=1e-12)
    for rule in ("trapezoid", "cubic"):
        q = rule_index(rule)
        for name in ("quadratic", "pair", "diffusion", "weight"):
            a, b = (getattr(m, name)[:, :, *q] for m in (forward, backward))
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(a).max())
    left = rule_index("left")
    assert not np.allclose(forward.quadratic[:, :, *left], backward.quadratic[:, :, *left])


def test_single_precision_positions():
    data = cloud()
    single = tl.Snapshots(data.positions.astype(np.float32), data.times)
    exact = tl.Snapshots(single.positions.astype(np.float64), data.times)
    assert_same(moments_of(single), moments_of(exact), tolerance=0.0)
    assert_same(moments_of(single), moments_of(data), tolerance=1e-4)


def test_number_of_threads_does_not_matter():
    data = cloud(runs=12)
    try:
        tl.set_threads(1)
        one = moments_of(data, windows=2)
        tl.set_threads(3)
        assert_same(moments_of(data, windows=2), one, tolerance=0.0)
    finally:
        tl.set_threads(None)


def refinement(fine, coarse):
    """Coarse splines in terms of the fine ones (whose knots include theirs), (fine.size, coarse.size)."""
    r = np.linspace(fine.lower, fine.upper, 400)
    tables = [np.stack([b.combine(unit).profile(r) for unit in np.eye(b.size)], axis=1) for b in (fine, coarse)]
    matrix, _, rank, _ = np.linalg.lstsq(*tables)
    assert rank == fine.size
    np.testing.assert_allclose(tables[0] @ matrix, tables[1], atol=1e-12)
    return matrix


def test_moments_of_a_coarser_family_are_a_change_of_basis():
    data = cloud()
    coarse = tl.RadialSplines(7, lower=0.2, upper=2.2)  # 5 intervals
    fine = tl.RadialSplines(12, lower=0.2, upper=2.2)  # 10 intervals
    change = refinement(fine, coarse)
    direct = tl.accumulate(data, coarse, coarse)
    changed = tl.accumulate(data, fine, fine).transformed((coarse, change), (coarse, change))
    assert_same(changed, direct, tolerance=1e-9)
    assert (changed.external, changed.interaction) == (coarse, coarse)


def test_one_family_can_be_changed_alone():
    moments = moments_of(cloud())
    merged = tl.RadialFunctions([lambda r: r**2], names=["sum"], reach=(0.0, 8.0))
    changed = moments.transformed(external=(merged, np.array([[1.0], [0.0]])))
    assert changed.size == moments.size - 1
    np.testing.assert_allclose(changed.quadratic[..., 0, 0], moments.quadratic[..., 0, 0])
    np.testing.assert_allclose(changed.quadratic[..., 1:, 1:], moments.quadratic[..., 2:, 2:])
    np.testing.assert_array_equal(changed.pair, moments.pair)
    with pytest.raises(tl.InputError, match="expected a matrix with 2 rows, got shape"):
        moments.transformed(external=(merged, np.eye(3)))


def test_coarsened_blocks_are_summed():
    moments = moments_of(cloud(runs=7), windows=2)
    coarse = moments.coarsened(3)
    assert coarse.blocks == 3
    assert sorted(coarse.runs) == [2, 2, 3]
    for name in ("quadratic", "pair", "diffusion", "energy", "weight"):
        np.testing.assert_allclose(getattr(coarse, name).sum(axis=0), getattr(moments, name).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(coarse.quadratic[0], moments.quadratic[: coarse.runs[0]].sum(axis=0))
    assert moments.coarsened(10) is moments
    with pytest.raises(tl.InputError, match="blocks: expected at least 1, got 0"):
        moments.coarsened(0)


def test_selected_blocks_and_windows():
    data = cloud()
    moments = moments_of(data, windows=2)
    assert_same(moments.select(blocks=slice(0, 2)), moments_of(data[:2], windows=2))
    assert_same(moments.select(blocks=np.arange(6) % 2 == 0), moments.select(blocks=slice(0, None, 2)))
    first = moments.select(windows=slice(0, 1))
    assert_same(first, moments_of(data.between(0.0, 0.4), windows=1))
    assert first.windows == 1


def test_windows_share_their_ends_and_add_up():
    data = cloud()
    whole, parts = moments_of(data, windows=1), moments_of(data, windows=4)
    np.testing.assert_allclose(parts.span[0], [[0.0, 0.2], [0.2, 0.4], [0.4, 0.6], [0.6, 0.8]])
    np.testing.assert_allclose(parts.energy.sum(axis=1), whole.energy[:, 0], atol=1e-12)
    for rule in ("left", "trapezoid"):
        q = rule_index(rule)
        for name in ("quadratic", "pair", "diffusion", "weight"):
            a, b = getattr(parts, name)[:, :, *q].sum(axis=1), getattr(whole, name)[:, 0, *q]
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max())


def test_few_runs_are_cut_into_windows():
    assert moments_of(cloud(runs=1, times=41)).windows == 10
    assert moments_of(cloud(runs=64, times=41, particles=2)).windows == 1
    assert moments_of(cloud(runs=1, times=10)).windows == 8  # hardly any scatter otherwise
    assert moments_of(cloud(runs=1, times=3)).windows == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"windows": 0}, "windows: expected 1 to 8"),
        ({"windows": 9}, "windows: expected 1 to 8"),
        ({"blocks": 0}, "blocks: expected at least 1"),
    ],
)
def test_impossible_windows_and_blocks(options, message):
    with pytest.raises(tl.InputError, match=message):
        moments_of(cloud(), **options)


def test_number_of_blocks_is_bounded(monkeypatch):
    data = cloud(runs=9, times=3, particles=2)
    everything = moments_of(data, windows=1)
    monkeypatch.setattr(moments_module, "MAX_BLOCKS", 4)
    assert moments_of(data, windows=1).blocks == 4
    assert moments_of(data, windows=1, blocks=9).blocks == 9  # asked for
    summed = moments_of(data[:5], windows=1) + moments_of(data[5:], windows=1)
    assert summed.blocks == 4
    np.testing.assert_allclose(summed.quadratic.sum(axis=0), everything.quadratic.sum(axis=0), rtol=1e-10, atol=1e-12)
    assert summed.runs.sum() == 9


def test_memory_of_blocks_is_bounded(monkeypatch):
    data = cloud(runs=9, times=3, particles=2)
    full = moments_of(data, windows=1)
    held = sum(getattr(full, name).nbytes for name in ("quadratic", "pair", "diffusion", "weight"))
    monkeypatch.setattr(moments_module, "MEMORY", held // 3)
    assert moments_of(data, windows=1, blocks=9).blocks == 3


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("rule", RULES)
def test_normal_equations_are_ratios_of_sums(rule, stride):
    moments, sigma = moments_of(cloud(), windows=2), 0.7
    equations = moments.normal_equations(sigma, rule, stride)
    q = rule_index(rule, stride)
    n = 6 * 5 * 0.8  # runs x particles x duration
    np.testing.assert_allclose(equations.matrix, moments.quadratic[:, :, *q].sum(axis=(0, 1)) / n, rtol=1e-12)
    b = 0.5 * sigma**2 * moments.diffusion[:, :, *q].sum(axis=(0, 1, 2)) - moments.energy.sum(axis=(0, 1))
    np.testing.assert_allclose(equations.vector, b / n, rtol=1e-10, atol=1e-12)
    assert equations.external == 2


def test_second_stride_is_the_thinned_data():
    data = cloud()
    coarse = moments_of(data.every(2), windows=1).normal_equations(1.0, "trapezoid")
    found = moments_of(data, windows=1).normal_equations(1.0, "trapezoid", stride=2)
    np.testing.assert_allclose(found.matrix, coarse.matrix, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.vector, coarse.vector, rtol=1e-10, atol=1e-12)


def test_normal_matrix_is_symmetric_and_positive():
    matrix = moments_of(cloud()).normal_equations(1.0).matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > 0


def test_pair_part_is_everything_for_two_particles():
    moments = moments_of(cloud(particles=2))
    np.testing.assert_allclose(
        moments.pair_matrix(), moments.normal_equations(1.0).matrix[2:, 2:], rtol=1e-10, atol=1e-14
    )
    crowd = moments_of(cloud(particles=6))
    triples = crowd.normal_equations(1.0).matrix[2:, 2:] - crowd.pair_matrix()
    assert np.abs(triples).max() > 0.01


def test_names_say_potential_and_function():
    names = moments_of(cloud()).names
    assert names[:2] == ("V: spring", "V: shell")
    assert names[2].startswith("Phi: spline around r=")
    assert len(names) == 11


def test_rules_and_strides_that_are_not_kept():
    moments = moments_of(cloud())
    with pytest.raises(tl.InputError, match="quadrature: expected one of left, trapezoid, cubic, auto, got 'gauss'"):
        moments.normal_equations(1.0, "gauss")
    with pytest.raises(tl.InputError, match=r"stride: .* got 3; use snapshots.every"):
        moments.unit_equations(1.0, stride=3)
