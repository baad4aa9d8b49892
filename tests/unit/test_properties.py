"""What must hold for all data: the algebra of moments, and the symmetries of space and time."""

from functools import reduce
from operator import add

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import trackless as tl
from trackless.quadrature import every_rule, weights

SUMS = ("quadratic", "pair", "diffusion", "energy", "weight")
V, PHI = tl.RadialSplines(4, lower=0.0, upper=6.0), tl.RadialSplines(5, lower=0.0, upper=9.0)
few = settings(max_examples=20, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)


FEW_RUNS, ANY_DIM, EITHER = st.integers(1, 4), st.integers(1, 3), st.booleans()


@st.composite
def data_sets(draw, runs=FEW_RUNS, dim=ANY_DIM, even=EITHER):
    """Small data: 2 to 6 times, 2 to 5 particles, whose number changes where ``even`` is False."""
    generator = np.random.default_rng(draw(seeds))
    many, d, frames, particles = draw(runs), draw(dim), draw(st.integers(2, 6)), draw(st.integers(2, 5))
    times = np.cumsum(generator.uniform(0.05, 0.2, frames))
    if draw(even):
        return tl.Snapshots(generator.normal(size=(many, frames, particles, d)), times)
    counts = generator.integers(1, 6, size=(many, frames))
    counts[:, 0] = particles
    return tl.Snapshots([[generator.normal(size=(n, d)) for n in run] for run in counts], times)


def moments_of(data, external=V, interaction=PHI, **options):
    return tl.accumulate(data, external, interaction, **{"coupling": "sum", "windows": 1} | options)


def totals(moments):
    """Sums over all blocks and windows, by name."""
    return {name: getattr(moments, name).sum(axis=(0, 1)) for name in SUMS} | {"runs": moments.runs.sum()}


def assert_same(found, expected, tolerance=1e-12, factors=None):
    for name, values in expected.items():
        factor = (factors or {}).get(name, 1.0)
        largest = np.abs(values).max(initial=0.0)
        assert np.abs(found[name] - factor * values).max(initial=0.0) <= tolerance * abs(factor) * largest, name


# The algebra of moments


@few
@given(data_sets(runs=st.integers(3, 6)), st.integers(1, 2))
def test_merging_is_commutative_and_associative_and_equals_the_joint_sums(data, cut):
    cut = min(cut, data.runs - 2)
    a, b, c = (moments_of(data[part]) for part in (slice(0, cut), slice(cut, cut + 1), slice(cut + 1, None)))
    expected = totals(moments_of(data))
    for merged in (a + b + c, a + (b + c), c + (b + a), (b + c) + a, sum([b, a, c])):
        assert_same(totals(merged), expected)


@few
@given(data_sets(runs=st.integers(2, 6)), st.integers(1, 4), st.integers(1, 6))
def test_blocks_may_be_split_and_summed_again(data, windows, blocks):
    windows = min(windows, len(data.times_of(0)) - 1)
    cut = moments_of(data, windows=windows, blocks=blocks)
    whole = totals(moments_of(data, windows=windows, blocks=1))
    singles = [cut.select(blocks=slice(k, k + 1)) for k in range(cut.blocks)]
    for moments in (cut, cut.coarsened(1), reduce(add, singles), reduce(add, singles[::-1]).coarsened(2)):
        assert_same(totals(moments), whole)
    by_window = [totals(cut.select(windows=slice(k, k + 1))) for k in range(cut.windows)]
    assert_same({name: sum(part[name] for part in by_window) for name in SUMS}, {name: whole[name] for name in SUMS})
    at_once = totals(
        moments_of(data)
    )  # the rules of low order know no more of a window's surroundings than of its ends
    for name in ("quadratic", "diffusion", "weight"):
        at_once[name], whole[name] = at_once[name][0, :2], whole[name][0, :2]
    names = ("quadratic", "diffusion", "weight", "energy")
    assert_same({name: whole[name] for name in names}, {name: at_once[name] for name in names})


@few
@given(data_sets(), seeds)
def test_who_is_who_changes_nothing(data, seed):
    assert_same(totals(moments_of(data.shuffled(seed % 1000))), totals(moments_of(data)))


@few
@given(data_sets(runs=st.integers(2, 5)), seeds)
def test_the_order_of_runs_changes_nothing(data, seed):
    order = np.random.default_rng(seed).permutation(data.runs)
    runs = [[data.frame(m, i) for i in range(len(data.times_of(m)))] for m in order]
    other = tl.Snapshots(runs, [data.times_of(m) for m in order])
    assert_same(totals(moments_of(other)), totals(moments_of(data)))


# Space


@few
@given(data_sets(even=st.just(True)), seeds)
def test_free_space_has_no_place_and_no_direction(data, seed):
    generator = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(generator.normal(size=(data.dim, data.dim)))  # mirrors too
    shift = generator.normal(size=data.dim)
    moved = tl.Snapshots(data.positions @ turned.T + shift, data.times)
    there = tl.RadialSplines(4, lower=0.0, upper=6.0, center=tuple(shift))
    here, found = moments_of(data), moments_of(moved, external=there)
    assert_same(totals(found), totals(here), 1e-9)
    alone = totals(moments_of(moved, external=None))  # Phi needs no centre
    assert_same(alone, totals(moments_of(data, external=None)), 1e-9)
    assert np.abs(totals(moments_of(moved))["energy"] - totals(here)["energy"]).max() > 1e-6  # V does


@few
@given(data_sets(even=st.just(True), dim=st.just(2)), st.floats(3.0, 6.0), seeds)
def test_a_periodic_box_has_no_origin(data, side, seed):
    shift = np.random.default_rng(seed).uniform(-9, 9, size=2)
    cut = tl.RadialSplines(5, lower=0.0, cutoff=1.4)
    a, b = (
        moments_of(tl.Snapshots(points % side, data.times, box=side), external=None, interaction=cut)
        for points in (data.positions, data.positions + shift)
    )
    assert_same(totals(b), totals(a), 1e-9)


# Time

times = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12).map(lambda steps: np.append(0.0, np.cumsum(steps)))


@few
@given(times)
def test_weights_do_not_know_the_direction_of_time(t):
    for rule in ("trapezoid", "cubic"):
        np.testing.assert_allclose(weights(-t[::-1], rule), weights(t, rule)[::-1], rtol=0, atol=1e-12 * t[-1])
    assert weights(-t[::-1], "left")[0] == t[-1] - t[-2]  # the left rule does, which is why it is biased


@few
@given(times, st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_weights_follow_the_clock(t, start, unit):
    table = every_rule(t)
    np.testing.assert_allclose(table.sum(axis=-1), t[-1], rtol=1e-12)
    np.testing.assert_allclose(every_rule(start + unit * t), unit * table, rtol=0, atol=1e-8 * unit * t[-1])
    np.testing.assert_allclose(table[0, 1:] @ (2 + 3 * t), 2 * t[-1] + 1.5 * t[-1] ** 2, rtol=1e-10)


@few
@given(data_sets(even=st.just(True)))
def test_motion_in_reverse(data):
    """Averages over time stay; energies change by the opposite."""
    back = tl.Snapshots(data.positions[:, ::-1], -data.times[::-1])
    forward, reverse = moments_of(data), moments_of(back)
    for rule in (1, 2):
        for name in ("quadratic", "diffusion", "weight"):
            a, b = (getattr(moments, name)[:, :, 0, rule] for moments in (forward, reverse))
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * np.abs(a).max())
    np.testing.assert_allclose(reverse.energy, -forward.energy, rtol=0, atol=1e-11 * np.abs(forward.energy).max())


# Units


@few
@given(data_sets(), st.floats(-30, 30))
def test_units_of_moments(data, exponent):
    """Positions times c and times times c^2: sums of w G and w delta stay, and so do energies; n is times c^2."""
    c = 2.0**exponent
    runs = [[data.frame(m, i) * c for i in range(len(data.times_of(m)))] for m in range(data.runs)]
    other = tl.Snapshots(runs, [data.times_of(m) * c**2 for m in range(data.runs)])
    bases = (tl.RadialSplines(size, lower=0.0, upper=upper * c) for size, upper in ((4, 6.0), (5, 9.0)))
    assert_same(totals(moments_of(other, *bases)), totals(moments_of(data)), 1e-9, {"weight": c**2})


@settings(few, max_examples=10)
@given(st.floats(-20, 20), st.sampled_from(["cv", "evidence"]))
def test_units_of_a_fit(exponent, regularization):
    """At the same sigma potentials keep their values, so that slopes are divided by c.

    Not so for the paper's L-curve: where it has no corner, lambda is a number without regard to units.
    """
    c = 2.0**exponent
    data = tl.simulate(tl.models.reference(), runs=12, particles=4, duration=0.2, step=1e-3, seed=1)
    here, there = (
        tl.SelfTest(tl.RadialSplines(5), tl.RadialSplines(6), sigma=1.0, regularization=regularization).fit(one)
        for one in (data, tl.Snapshots(data.positions * c, data.times * c**2))
    )
    r = np.linspace(0.1, 1.5, 9)
    for name in ("external_", "interaction_"):
        one, other = getattr(here, name), getattr(there, name)
        size = np.abs(one.slope(r)).max()
        np.testing.assert_allclose(c * other.slope(c * r), one.slope(r), rtol=0, atol=1e-5 * size)
        rise = np.diff(one.profile(r))
        np.testing.assert_allclose(np.diff(other.profile(c * r)), rise, rtol=0, atol=1e-5 * np.abs(rise).max())
