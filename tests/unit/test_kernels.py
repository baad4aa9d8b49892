"""The accumulation kernel against its NumPy twin, to rounding."""

import numpy as np
import pytest
import twins

import trackless as tl
from trackless import pieces
from trackless.potentials import Stretched
from trackless.shapes import Gaussian, InversePower, Power, SmoothedIndicator

DENSE_EXTERNAL = tl.RadialFunctions([Power(2), Gaussian(0.6, 0.4)])
DENSE = tl.RadialFunctions([Gaussian(0.75, 0.3), Gaussian(1.5, 0.4)])
SPLINES = tl.RadialSplines(9, lower=0.0, upper=1.8)
STEPS = [SmoothedIndicator(c, c + 0.15, 0.004) for c in np.arange(0.05, 2.5, 0.25)]
WIDE_STEPS = [SmoothedIndicator(c, c + 0.9, 0.004) for c in np.arange(0.05, 3.0, 0.15)]


def cloud(dim=2, particles=5, runs=2, times=5, seed=0, shift=0.0, box=None):
    positions = shift + 0.8 * np.random.default_rng(seed).standard_normal((runs, times, particles, dim))
    return tl.Snapshots(positions, np.arange(times) * 0.1 if np.ndim(times) == 0 else times, box)


def assert_as_twin(snapshots, external, interaction, coupling="mean", windows=1):
    moments = tl.accumulate(snapshots, external, interaction, coupling, windows, blocks=snapshots.runs)
    expected = twins.moments_of(snapshots, moments.external, moments.interaction, coupling, windows)
    for name, values in expected.items():
        scale = np.abs(values).max(initial=0.0)
        np.testing.assert_allclose(getattr(moments, name), values, rtol=1e-10, atol=1e-10 * scale, err_msg=name)
    assert np.abs(expected["diffusion"]).max() > 0
    apart = tl.accumulate(
        snapshots, moments.external, moments.interaction, coupling, windows, blocks=snapshots.runs, per_direction=True
    )
    assert apart.parts == snapshots.dim
    settings = (snapshots, moments.external, moments.interaction, coupling, windows, True)
    parts = twins.moments_of(*settings)["diffusion"]
    starts = getattr(moments.interaction, "reach", None) or (0.0,)
    if starts[0] == 0:  # else the table begins at the closest pair, which has no neighbours to differ from
        np.testing.assert_allclose(apart.diffusion, parts, rtol=1e-4, atol=1e-6 * np.abs(parts).max())
    total = apart.diffusion.sum(axis=-2, keepdims=True)
    np.testing.assert_allclose(total, moments.diffusion, rtol=1e-9, atol=1e-10 * np.abs(parts).max())
    np.testing.assert_allclose(apart.quadratic, moments.quadratic, rtol=1e-12)


@pytest.mark.parametrize("particles", [2, 3, 10])
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_dense_functions_in_every_dimension(dim, particles):
    assert_as_twin(cloud(dim, particles), DENSE_EXTERNAL, DENSE)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("flat_center", [False, True])
@pytest.mark.parametrize("ends", [{"upper": 1.8}, {"cutoff": 1.8}], ids=["open", "cutoff"])
def test_splines_with_local_support(dim, flat_center, ends):
    splines = tl.RadialSplines(9, lower=0.0, flat_center=flat_center, **ends)
    assert not splines.table(dim).dense
    assert_as_twin(cloud(dim, 6), splines, splines)


def test_splines_on_uneven_knots():
    splines = tl.RadialSplines(knots=(0.1, 0.2, 0.5, 0.9, 1.0, 1.4, 1.5, 1.7, 1.9))
    assert not splines.table(2).dense
    assert_as_twin(cloud(2, 8), splines, splines)


@pytest.mark.parametrize(
    ("external", "interaction"),
    [
        pytest.param(tl.GaussianRBF(6), tl.GaussianRBF(7), id="gaussians"),
        pytest.param(tl.RadialSplines(8), tl.RadialSplines(10), id="open ranges"),
        pytest.param(tl.RadialSplines(9, lower=0.3, upper=1.2), SPLINES, id="linear below and above"),
        pytest.param(DENSE_EXTERNAL, tl.RadialFunctions([InversePower(0.5, 3.0), Power(1)]), id="singular"),
        pytest.param(tl.RadialFunctions(WIDE_STEPS), DENSE, id="more than four functions per cell"),
        pytest.param(tl.RadialFunctions(STEPS), tl.RadialFunctions(STEPS), id="steps"),
        pytest.param(DENSE_EXTERNAL, None, id="no interaction"),
        pytest.param(None, DENSE, id="no external"),
        pytest.param(None, SPLINES, id="splines only"),
    ],
)
def test_radial_families(external, interaction):
    assert_as_twin(cloud(2, 7), external, interaction)


@pytest.mark.parametrize(
    ("external", "interaction"),
    [
        pytest.param(*(getattr(tl.models.anisotropic(), f"{part}_basis") for part in ("external", "interaction"))),
        pytest.param(
            tl.RadialFunctions([Power(2), Stretched(Gaussian(0.0, 1.0), (0.5, 1.5)), Gaussian(0.5, 0.3)]),
            tl.RadialFunctions(
                [
                    Stretched(Gaussian(0.0, 1.0), (0.5, 1.5)),
                    Stretched(Gaussian(0.5, 0.5), (0.5, 1.5)),
                    Stretched(Gaussian(0.0, 1.0), (1.5, 0.5)),
                    Gaussian(1.0, 0.3),
                ]
            ),
            id="several groups",
        ),
        pytest.param(
            tl.RadialFunctions([Stretched(step, (0.8, 1.3)) for step in STEPS]),
            tl.RadialFunctions([Stretched(step, (0.8, 1.3)) for step in STEPS]),
            id="local support on ellipses",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("particles", [2, 9])
def test_stretched_families(external, interaction, particles):
    assert_as_twin(cloud(2, particles), external, interaction)


@pytest.mark.parametrize(("dim", "particles", "count"), [(2, 3, 6), (2, 10, 7), (3, 5, 5)])
def test_tensor_splines(dim, particles, count):
    lower, upper = (-1.2,) * dim, (1.0,) * dim
    family = tl.TensorSplines(count, lower=lower, upper=upper)
    assert_as_twin(cloud(dim, particles), family, tl.TensorSplines(count))


def test_tensor_splines_without_interaction():
    assert_as_twin(cloud(2, 10), tl.TensorSplines(6), None)


@pytest.mark.parametrize(
    "interaction", [DENSE, SPLINES, tl.models.anisotropic().interaction_basis], ids=["dense", "local", "stretched"]
)
def test_pairs_of_many_particles_go_through_several_chunks(interaction):
    assert_as_twin(cloud(2, 150, runs=1, times=2), DENSE_EXTERNAL, interaction)


@pytest.mark.parametrize("interaction", [DENSE, SPLINES], ids=["dense", "local"])
def test_many_small_snapshots_go_through_several_batches(interaction):
    assert_as_twin(cloud(2, 3, runs=3, times=60), SPLINES, interaction)


@pytest.mark.parametrize("interaction", [DENSE, SPLINES], ids=["dense", "local"])
def test_coupling_sum(interaction):
    assert_as_twin(cloud(2, 6), DENSE_EXTERNAL, interaction, coupling="sum")


@pytest.mark.parametrize("box", [3.0, (3.0, 4.5)])
def test_periodic_box(box):
    snapshots = cloud(2, 8, shift=1.5, box=box)
    external = tl.RadialFunctions([Power(2), Gaussian(0.6, 0.4)], center=(1.5, 1.5))
    assert_as_twin(snapshots, external, tl.RadialSplines(8, lower=0.0, cutoff=1.5))


@pytest.mark.parametrize("center", [(0.5, -0.3), "mean"])
@pytest.mark.parametrize("family", [DENSE_EXTERNAL, SPLINES, tl.GaussianRBF(4)], ids=["dense", "local", "rbf"])
def test_centre_away_from_the_origin(center, family):
    if isinstance(family, tl.RadialFunctions):
        centered = tl.RadialFunctions(family.functions, center=center)
    elif isinstance(family, tl.RadialSplines):
        centered = tl.RadialSplines(family.count, family.lower, family.upper, center=center)
    else:
        centered = tl.GaussianRBF(family.count, center=center)
    assert_as_twin(cloud(2, 5, shift=0.7), centered, DENSE)


@pytest.mark.parametrize("windows", [1, 3])
def test_irregular_times(windows):
    positions = cloud(2, 4, times=13).positions
    times = np.cumsum(np.random.default_rng(1).uniform(0.01, 0.3, 13))
    assert_as_twin(tl.Snapshots(positions, times), SPLINES, DENSE, windows=windows)


@pytest.mark.parametrize("windows", [2, 5])
def test_several_windows(windows):
    assert_as_twin(cloud(2, 4, runs=3, times=11), DENSE_EXTERNAL, SPLINES, windows=windows)


def ragged(counts_per_run, dim=2, seed=3):
    generator = np.random.default_rng(seed)
    runs = [[0.8 * generator.standard_normal((n, dim)) for n in counts] for counts in counts_per_run]
    times = [np.cumsum(generator.uniform(0.05, 0.2, len(counts))) for counts in counts_per_run]
    return tl.Snapshots(runs, times)


@pytest.mark.parametrize("windows", [1, 2])
@pytest.mark.parametrize("interaction", [DENSE, SPLINES], ids=["dense", "local"])
def test_particles_that_come_and_go(interaction, windows):
    snapshots = ragged([(4, 5, 3, 6), (2, 1, 7, 3, 3, 4), (0, 5, 2)])
    assert_as_twin(snapshots, DENSE_EXTERNAL, interaction, coupling="sum", windows=windows)


def test_runs_with_different_numbers_of_particles():
    assert_as_twin(ragged([(4, 4, 4), (7, 7, 7, 7)]), DENSE_EXTERNAL, SPLINES, coupling="mean")


@pytest.mark.parametrize("windows", [1, 2])
@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize("task_points", [1, 12, 60])
def test_runs_longer_than_a_piece(monkeypatch, task_points, regular, windows):
    monkeypatch.setattr(pieces, "TASK_POINTS", task_points)
    monkeypatch.setattr(pieces, "BATCH_POINTS", 40)
    snapshots = cloud(2, 4, runs=3, times=12)
    if not regular:
        snapshots = tl.Snapshots(list(snapshots.positions), list(np.add.outer(np.arange(3), snapshots.times)))
    assert_as_twin(snapshots, SPLINES, DENSE, windows=windows)


def test_runs_of_a_block_are_summed():
    snapshots = cloud(2, 4, runs=5)
    moments = tl.accumulate(snapshots, DENSE_EXTERNAL, DENSE, windows=1, blocks=2)
    expected = twins.moments_of(snapshots, moments.external, moments.interaction)
    assert moments.runs.tolist() == [2, 3]
    for name, values in expected.items():
        together = np.stack([values[:2].sum(axis=0), values[2:].sum(axis=0)])
        np.testing.assert_allclose(getattr(moments, name), together, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(
    "family",
    [
        tl.RadialFunctions([Power(2), Gaussian(0.0, 0.5)]),
        tl.RadialSplines(9, lower=0.0, upper=1.8, flat_center=True),
        tl.RadialSplines(9, lower=0.0, upper=1.8),
    ],
    ids=["dense", "flat splines", "splines with rounded tips"],
)
def test_limits_at_the_centre_and_of_coincident_particles(family, dim):
    positions = cloud(dim, 5).positions.copy()
    positions[:, :, 0] = 0.0
    positions[:, :, 1] = positions[:, :, 2]
    assert_as_twin(tl.Snapshots(positions, np.arange(5.0)), family, family)


def test_limit_of_a_stretched_function_at_its_centre():
    positions = cloud(2, 4).positions.copy()
    positions[:, :, 0] = 0.0
    positions[:, :, 1] = positions[:, :, 2]
    valley = tl.RadialFunctions([Stretched(Power(2), (1.0, 0.5)), Stretched(Gaussian(0.0, 1.0), (0.5, 1.5))])
    assert_as_twin(tl.Snapshots(positions, np.arange(5.0)), valley, valley)


def test_constants_make_no_difference_where_particles_come_and_go():
    """A potential is known up to a constant, also when the number of particles changes."""
    snapshots = ragged([(4, 5, 3, 6), (2, 3, 7, 3, 3, 4)])
    energies = [
        tl.accumulate(
            snapshots,
            tl.RadialFunctions([lambda r, c=c: r**2 + c]),
            tl.RadialFunctions([lambda r, c=c: np.exp(-r) + c]),
            coupling="sum",
        ).energy
        for c in (0.0, 1000.0)
    ]
    np.testing.assert_allclose(*energies, atol=1e-8)
