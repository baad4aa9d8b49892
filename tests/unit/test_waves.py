"""Motion from density waves: diffusion, drift, missed particles and errors of positions, told apart."""

import numpy as np
import pytest

import trackless as tl
from trackless.shapes import Exponential, ShiftedForce
from trackless.waves import Motion, _Correlations, _doubted

DIFFUSION, INTERVAL = 0.5, 0.02
DRIFT = np.array([1.5, -0.5])


def walk(runs=6, times=120, particles=120, seed=0, side=12.0, drift=DRIFT):
    """Free particles in a periodic box, which has the same number of them everywhere at all times."""
    generator = np.random.default_rng(seed)
    steps = np.sqrt(2 * DIFFUSION * INTERVAL) * generator.normal(size=(runs, times, particles, 2)) + drift * INTERVAL
    return (generator.uniform(0, side, (runs, 1, particles, 2)) + np.cumsum(steps, axis=1)) % side


def thinned(positions, keep, seed=1):
    """Each particle of every snapshot with a probability, in another order."""
    generator = np.random.default_rng(seed)
    return [[generator.permutation(x[generator.random(len(x)) < keep]) for x in run] for run in positions]


def times_of(positions):
    return [np.arange(len(run)) * INTERVAL for run in positions]


def in_errors(found, truth):
    return abs(found.diffusion - truth) / found.diffusion_error


@pytest.mark.parametrize("box", [12.0, None])
def test_diffusion_and_drift(box):
    positions = walk()
    if box is None:  # without wrapping nobody leaves
        positions = np.unwrap(positions, axis=1, period=12.0)
    found = tl.motion(tl.Snapshots(positions, np.arange(120) * INTERVAL, box=box).shuffled())
    assert in_errors(found, DIFFUSION) < 3
    assert found.diffusion_error < 0.1 * DIFFUSION
    assert (np.abs(found.drift - DRIFT) < 3 * found.drift_error + 1e-3).all()
    assert (found.drift_error < 0.3).all()
    assert found.position_error is None


def test_particles_that_flicker_in_a_window_that_they_cross():
    sides = (2.0, 10.0)
    seen = [[x[((x > sides[0]) & (x < sides[1])).all(axis=1)] for x in run] for run in thinned(walk(), 0.8)]
    data = tl.Snapshots(seen, times_of(seen))
    found = tl.motion(data, tl.Observation(window=(sides, sides)))
    assert in_errors(found, DIFFUSION) < 3
    assert found.diffusion_error < 0.15 * DIFFUSION
    assert (np.abs(found.drift - DRIFT) < 4 * found.drift_error).all()
    assert found.seen_again[0] == pytest.approx(0.8, abs=0.05)


def test_errors_of_positions_are_found_and_not_taken_for_motion():
    error = 0.08  # together with a step of 0.14
    positions = np.unwrap(walk(drift=0 * DRIFT), axis=1, period=12.0)
    positions += error * np.random.default_rng(3).normal(size=positions.shape)
    found = tl.motion(tl.Snapshots(positions, np.arange(120) * INTERVAL))
    assert in_errors(found, DIFFUSION) < 3
    assert found.position_error == pytest.approx(error, rel=0.2)
    assert "positions are off by about 0.0" in found.sentence


def test_labels_do_not_matter():
    data = tl.Snapshots(walk(runs=2), np.arange(120) * INTERVAL, box=12.0)
    assert tl.motion(data.shuffled(5)).diffusion == pytest.approx(tl.motion(data).diffusion, rel=1e-6)


def test_one_snapshot_shows_no_motion():
    with pytest.raises(tl.InputError, match="at least two are needed"):
        tl.motion(tl.Snapshots(np.zeros((1, 1, 3, 2)), [0.0]))


def test_sigma_of_particles_that_come_and_go_is_told_by_waves():
    seen = thinned(np.unwrap(walk(runs=4, particles=60, drift=0 * DRIFT), axis=1, period=12.0), 0.8)
    fitted = tl.SelfTest(
        tl.RadialSplines(4, center="mean"), None, regularization=1e-3, coupling="sum",
        observation=tl.Observation(detection=0.8),
    ).fit(tl.Snapshots(seen, times_of(seen)))  # fmt: skip
    assert fitted.noise_.known
    assert abs(fitted.sigma_ - np.sqrt(2 * DIFFUSION)) < 3 * fitted.noise_.error
    assert "density waves" in fitted.noise_.sentence


def test_the_window_may_be_that_of_the_data():
    """Also where a fit has to find sigma before it has looked at anything else."""
    seen = [[x[((x > 2) & (x < 10)).all(axis=1)] for x in run] for run in walk(runs=2, times=40)]
    data, auto = tl.Snapshots(seen, times_of(seen)), tl.Observation(window="auto")
    everyone = np.concatenate([x for run in seen for x in run])
    bounds = tl.Observation(window=np.stack([everyone.min(axis=0), everyone.max(axis=0)], axis=1))
    assert tl.motion(data, auto).diffusion == tl.motion(data, bounds).diffusion
    family = tl.RadialSplines(4, lower=0.0, cutoff=1.0)
    fitted = tl.SelfTest(None, family, regularization=1.0, coupling="sum", observation=auto).fit(data)
    assert fitted.noise_.motion is not None
    assert fitted.moments_.observation == bounds


@pytest.mark.parametrize(
    ("drift", "words"), [(DRIFT, "all drift with ("), (0 * DRIFT, "no common drift can be seen (")]
)
def test_motion_is_printed_in_words(drift, words):
    positions = walk(runs=3, times=40, drift=drift)
    found = tl.motion(tl.Snapshots(positions, np.arange(40) * INTERVAL, box=12.0))
    assert str(found).startswith("particles diffuse with D = 0.")
    assert words in str(found)


def test_snapshots_that_have_nothing_in_common_are_refused():
    places = np.random.default_rng(0).uniform(0, 10, (4, 60, 100, 2))
    for box in (None, 10.0):
        with pytest.raises(tl.InputError, match="nothing to do with the ones before them"):
            tl.motion(tl.Snapshots(places, dt=0.1, box=box))


def test_particles_that_avoid_each_other_do_not_tell_of_diffusion():
    """A crystal that shakes: waves relax with the forces, and what holds particles back is no error of positions."""
    generator = np.random.default_rng(1)
    side = np.arange(12) + 0.5
    lattice = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    away, frames = np.zeros((6, 144, 2)), []
    for _ in range(80):
        away = 0.8 * away + 0.1 * generator.standard_normal(away.shape)  # D = 0.5 at steps of 0.01, but held back
        frames.append((lattice + away) % 12)
    found = tl.motion(tl.Snapshots(np.stack(frames, axis=1), dt=0.01, box=12.0))
    assert abs(found.diffusion - 0.5) < 2 * found.diffusion_error
    assert found.position_error is None


def doubts(structure, reach=1.0):
    """Errors of D where a share ``reach`` of the longest waves has this S(k)."""
    squares = np.linspace(0.1, 1.0, 120)
    waves = np.sqrt(squares)[:, None] * np.ones((120, 1))
    # D is told by short waves: the longest tenth has a share of 1 % in it
    shares = np.where(np.arange(120) < 12, 0.01 / 12, 0.99 / 108)
    power = np.where(np.arange(120) < 120 * reach, structure, 1.0) * np.ones((20, 1, 120))
    sums = _Correlations(power.astype(complex), power, np.ones((20, 1)), np.array([0.01]))
    found = Motion(0.5, 0.01, np.zeros(1), np.zeros(1), 0.0, 1e-5, np.ones(1), np.array([0.01]))
    return _doubted(found, sums, waves, shares)


def test_doubtful_waves_count_by_their_share_in_the_result():
    assert doubts(1.0).diffusion_error == pytest.approx(0.01)
    assert doubts(0.5, reach=0.05).diffusion_error < 0.03  # and all would double D
    assert doubts(0.2).diffusion_error > 4 * 0.5  # a fluid whose particles avoid each other
    assert doubts(0.2).offset_error > 4 * 0.5 * 0.01


@pytest.mark.parametrize("keep", [0.98, 0.9])
def test_a_little_flicker_leaves_sigma_known(keep):
    """Also in a trap, where short waves take D for a third less than it is."""
    for seed in range(2):
        data = tl.simulate(tl.models.reference(), runs=60, step=1e-3, seed=seed)
        seen = tl.Snapshots(thinned(data.positions, keep, seed), [data.times] * data.runs)
        for said in (tl.Observation(detection=keep), tl.Observation()):
            found = tl.motion(seen, said)
            assert in_errors(found, 0.5) < 3
            assert found.diffusion_error < 0.2 * 0.5
            assert found.position_error is None


def test_a_fluid_that_flickers_does_not_tell_of_diffusion():
    """Morse particles pushed close: waves say 0.2 for 1, and say that they do not know."""
    walls = [ShiftedForce(Exponential(rate, 1.0), 3.0) for rate in (4.0, 2.0)]
    morse = tl.Model("Morse", None, tl.RadialFunctions(walls), (3.0, -6.0), sigma=np.sqrt(2.0))
    settings = {"step": 1e-3, "initial": "lattice", "box": 14.0, "coupling": "sum", "accurate": True}
    data = tl.simulate(morse, particles=200, runs=4, duration=1.0, observe_every=0.01, **settings)
    seen = tl.Snapshots(thinned(data.positions, 0.9), [data.times] * data.runs, box=14.0)
    found = tl.motion(seen, tl.Observation(detection=0.9))
    assert found.diffusion < 0.5
    assert found.diffusion_error > 0.5 * found.diffusion
    assert in_errors(found, 1.0) < 3
