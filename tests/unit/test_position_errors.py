"""Errors of positions, told from the motion with no label: how large they are, and what is not taken for them."""

import numpy as np
import pytest

import trackless as tl
from trackless.observation import EVERYTHING
from trackless.position_errors import OFF, position_errors
from trackless.shapes import Exponential, Gaussian, ShiftedForce

INTERVALS = {0.001: 0.1, 0.01: 1.0, 0.1: 2.0}  # between snapshots -> duration
SIDE = 14.0
MORSE = tl.Model(
    "Morse", None, tl.RadialFunctions([ShiftedForce(Exponential(rate, 1.0), 3.0) for rate in (4.0, 2.0)]), (3.0, -6.0),
    sigma=np.sqrt(2.0),
)  # fmt: skip
SOFT = tl.Model("soft", None, tl.RadialFunctions([ShiftedForce(Gaussian(0.0, 0.6), 2.5)]), (60.0,))


def blurred(data, error, seed=3):
    noise = np.random.default_rng(seed).normal(size=data.positions.shape)
    return tl.Snapshots(data.positions + error * noise, data.times, box=data.box)


def simulated(name, interval, seed, runs=40):
    model = getattr(tl.models, name)()
    return tl.simulate(
        model, runs=runs, duration=INTERVALS[interval], step=min(interval / 10, 1e-3), observe_every=interval, seed=seed
    )


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name", ["reference", "smoothness", "conditioning", "smooth_control"])
def test_nothing_is_said_of_positions_that_are_right(name, interval):
    """Particles that start anywhere, and fall into their trap within some intervals."""
    for seed in range(3):
        found = position_errors(simulated(name, interval, seed))
        assert found is None or not found.sentence(EVERYTHING)


def test_nothing_is_said_in_a_stationary_state():
    data = simulated("reference", 0.01, 5)
    later = tl.simulate(
        tl.models.reference(), initial=data.positions[:, -1], runs=40, step=1e-3, observe_every=0.05, duration=4.0
    )
    for stride in (1, 2, 4):
        found = position_errors(later.every(stride))
        assert found is None or not found.sentence(EVERYTHING)


@pytest.mark.parametrize("fluid", [MORSE, SOFT], ids=["liquid", "crystal"])
@pytest.mark.parametrize("interval", [0.001, 0.01])
def test_nothing_is_said_of_particles_that_push_each_other(fluid, interval):
    data = tl.simulate(
        fluid, particles=196, runs=3, duration=100 * interval, step=1e-3, observe_every=interval, initial="lattice",
        box=SIDE, coupling="sum", accurate=True,
    )  # fmt: skip
    found = position_errors(data)
    assert found is None or not found.sentence(EVERYTHING)
    off = position_errors(blurred(data, np.sqrt(interval)))
    if off is not None and interval < 0.01:
        assert abs(off.variance - interval) < 4 * off.variance_error
        assert OFF in off.sentence(EVERYTHING)


@pytest.mark.parametrize("error", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("interval", [0.001, 0.01])
def test_errors_are_measured_and_so_is_what_moves(error, interval):
    """From half of the motion between two snapshots to ten times as much."""
    for seed in range(3):
        found = position_errors(blurred(simulated("reference", interval, seed), error, seed))
        assert found is not None
        assert abs(found.variance - error**2) < 4 * found.variance_error
        assert found.variance_error < 0.15 * error**2
        assert abs(found.diffusion - 0.5) < 3 * found.diffusion_error
        assert found.sentence(EVERYTHING)


def test_the_remedy_is_named_and_silences_it():
    data = blurred(simulated("reference", 0.01, 1), 0.1)
    found = position_errors(data)
    assert found is not None
    said = found.sentence(EVERYTHING)
    assert said.startswith(f"{OFF} by 0.1 +- 0.00")
    assert "position_error=0.1 (--position-error 0.1)" in said
    assert "every(3)" in said  # errors of 0.14 of a step, which is 0.1
    assert not found.sentence(tl.Observation(position_error=0.1))
    assert "instead of 0.02" in found.sentence(tl.Observation(position_error=0.02))
    thinned = position_errors(data.every(3))
    assert thinned is not None
    assert "every(" not in thinned.sentence(EVERYTHING)


def test_snapshots_that_have_nothing_in_common_say_nothing():
    """All that is forgotten within an interval looks like an error, but nothing moves that it could be told from."""
    places = np.random.default_rng(0).normal(size=(20, 60, 10, 2))
    assert position_errors(tl.Snapshots(places, dt=0.1)) is None


def test_too_few_or_uneven_snapshots_say_nothing():
    data = simulated("reference", 0.01, 1, runs=4)
    assert position_errors(tl.Snapshots(data.positions[:, :3], data.times[:3])) is None
    uneven = np.cumsum(1.3 ** np.arange(20))
    assert position_errors(tl.Snapshots(data.positions[:, :20], uneven)) is None
    counts = [[x[: 9 + k % 2] for k, x in enumerate(run)] for run in data.positions]
    assert position_errors(tl.Snapshots(counts, [data.times] * data.runs)) is None


def test_a_drift_of_all_is_no_error():
    data = simulated("reference", 0.01, 2)
    moving = tl.Snapshots(data.positions + 30 * data.times[:, None, None], data.times)
    assert position_errors(moving).diffusion == pytest.approx(position_errors(data).diffusion, rel=0.05)
    assert not position_errors(moving).sentence(EVERYTHING)


def test_waves_in_a_trap_tell_sigma_through_errors_of_positions():
    """Short waves take a trap for slow diffusion (0.36 for 0.5): long ones know of it."""
    for error in (0.01, 0.1):
        data = blurred(simulated("reference", 0.01, 1, runs=60), error)
        found = tl.motion(data, tl.Observation(position_error=error))
        assert found.diffusion_error < 0.1 * 0.5
        assert abs(found.diffusion - 0.5) < 3 * found.diffusion_error


def test_one_interval_alone_takes_errors_as_they_were_said():
    generator = np.random.default_rng(1)
    steps = np.cumsum(0.1 * generator.normal(size=(40, 4, 200, 2)), axis=1)
    places = generator.uniform(0, 10, (40, 1, 200, 2)) + steps + 0.1 * generator.normal(size=steps.shape)
    data = tl.Snapshots(places % 10, dt=0.01, box=10.0)
    blind, told = tl.motion(data), tl.motion(data, tl.Observation(position_error=0.1))
    assert blind.diffusion == pytest.approx(1.5, rel=0.1)
    assert told.diffusion == pytest.approx(0.5, rel=0.2)
