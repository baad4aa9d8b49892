"""What an instrument does to data biases a fit by many standard errors; said to the fit, it does not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import KDTree

import trackless as tl
from trackless.shapes import Gaussian, ShiftedForce

pytestmark = pytest.mark.slow
# the reference model with forces that add up
MODEL = replace(tl.models.reference(), coefficients=(-0.5, 2.0, -0.3, 0.2))
ORACLE = (MODEL.external_basis, MODEL.interaction_basis)
SOFT = tl.Model("soft", None, tl.RadialFunctions([ShiftedForce(Gaussian(0.0, 0.4), 1.6)]), (3.0,))
CUTOFF, SIDE = 1.6, 16.0


def scores(data, observation):
    """Deviations of the coefficients in standard errors."""
    settings = {"sigma": 1.0, "quadrature": "auto", "regularization": 0.0, "coupling": "sum"}
    fitted = tl.SelfTest(*ORACLE, **settings, observation=observation).fit(data)
    return (fitted.coef_ - MODEL.true_coef) / np.sqrt(np.diag(fitted.covariance_))


def test_missed_particles():
    biased, corrected = [], []
    for seed in range(3):
        data = tl.simulate(MODEL, runs=600, step=1e-3, coupling="sum", accurate=True, seed=seed)
        kept = np.random.default_rng(seed).random(data.positions.shape[:3]) < 0.8
        seen = [[x[k] for x, k in zip(run, own, strict=True)] for run, own in zip(data.positions, kept, strict=True)]
        thinned = tl.Snapshots(seen, [data.times] * data.runs)
        biased.append(scores(thinned, None))
        corrected.append(scores(thinned, tl.Observation(detection=0.8)))
    assert (np.abs(np.mean(biased, axis=0)[:2]) > 5).all()
    assert np.sqrt(np.mean(np.square(corrected))) < 1.5
    assert np.abs(np.mean(corrected, axis=0)).max() < 1.5


def test_errors_of_positions():
    biased, corrected = [], []
    for seed in range(3):
        data = tl.simulate(MODEL, runs=600, step=1e-3, coupling="sum", accurate=True, seed=10 + seed)
        off = data.positions + 0.05 * np.random.default_rng(seed).normal(size=data.positions.shape)
        blurred = tl.Snapshots(off, data.times)
        biased.append(scores(blurred, None))
        corrected.append(scores(blurred, tl.Observation(position_error=0.05)))
    # pairs are off by 0.07 where a shell of 0.125 is looked at: what is left is of the third order
    assert np.abs(np.mean(biased, axis=0)).max() > 40
    assert np.abs(np.mean(corrected, axis=0)).max() < 6


@pytest.fixture(scope="module")
def crowd():
    """300 soft particles in a periodic box, close to equilibrium."""
    start = np.random.default_rng(0).uniform(0, SIDE, (20, 300, 2))
    settings = {"step": 2e-3, "duration": 1.5, "box": SIDE, "coupling": "sum"}
    return tl.simulate(SOFT, initial=start, runs=20, **settings).between(0.5, 2.0)


def slope_errors(data, observation, r, lower=0.0):
    """Of Phi' on distances ``r``, as a part of it; and how much of them its band covers."""
    family = tl.RadialSplines(20, lower=lower, cutoff=CUTOFF, flat_center=lower == 0)
    settings = {"sigma": 1.0, "quadrature": "auto", "regularization": "evidence", "coupling": "sum"}
    learnt = tl.SelfTest(None, family, **settings, observation=observation).fit(data).interaction_
    truth, found, (lower, upper) = SOFT.interaction.slope(r), learnt.slope(r), learnt.band(r)
    error = np.sqrt((r * (found - truth) ** 2).sum() / (r * truth**2).sum())
    return error, np.mean((lower <= truth) & (truth <= upper))


def test_a_window_that_particles_cross(crowd):
    sides = (3.0, 13.0)
    seen = [[x[((x > sides[0]) & (x < sides[1])).all(axis=1)] for x in run] for run in crowd.positions]
    view, r = tl.Snapshots(seen, [crowd.times] * crowd.runs), np.linspace(0.1, 1.3, 100)
    blind, _ = slope_errors(view, None, r)
    error, covered = slope_errors(view, tl.Observation(window=(sides, sides)), r)
    assert blind > 0.2
    assert error < 0.1
    assert covered > 0.9


def test_pairs_that_are_too_close_to_be_told_apart(crowd):
    """The detector sees one particle where two are closer than 0.5: without a word that reads as a repulsion."""
    nearest = 0.5

    def merged(x):
        pairs = KDTree(x, boxsize=SIDE).query_pairs(nearest, output_type="ndarray")
        return np.delete(x, np.unique(pairs[:, 1]), axis=0)

    seen = tl.Snapshots([[merged(x) for x in run] for run in crowd.positions], [crowd.times] * crowd.runs, box=SIDE)
    r = np.linspace(0.6, 1.3, 100)
    blind, _ = slope_errors(seen, None, r, nearest)
    error, covered = slope_errors(seen, tl.Observation(exclude_below=nearest), r, nearest)
    assert blind > 0.25
    assert error < 0.75 * blind
    assert covered > 0.9
    settings = {"sigma": 1.0, "external": None, "cutoff": CUTOFF, "coupling": "sum"}
    warned = [
        "exclude_below=0.51" in str(tl.fit(seen[:2], **settings, **said).findings_)
        for said in ({}, {"exclude_below": nearest})
    ]
    assert warned == [True, False]
