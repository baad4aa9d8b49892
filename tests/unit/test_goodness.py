"""What residual tests say of themselves."""

from types import SimpleNamespace

import numpy as np

import trackless as tl
from trackless.cli.fit import _unit
from trackless.goodness import ResidualTest

ASKED = {
    "p_value": 0.4, "p_balance": 0.2, "p_variation": 1.0, "p_number": 1.0, "statistic": 52.7, "expected": 24.5,
    "degrees": 15, "worst": "x1 between t = 0 and 1",
}  # fmt: skip


def test_an_expectation_has_its_spread():
    known = ResidualTest(**ASKED, variation=1.02, variation_error=0.1, spread=21.0)
    assert "52.7 where 24.5 +- 21 are expected, fluctuations 1.02 +- 0.1 of what sigma says" in known.sentence
    few = ResidualTest(**ASKED, variation=1.02, variation_error=0.1, spread=np.inf)
    assert "24.5 are expected of data this few" in few.sentence


def test_fluctuations_that_say_nothing_are_said_to():
    found = ResidualTest(**ASKED, variation=2.66, variation_error=2.6e4, spread=21.0)
    assert "2.66" not in found.sentence
    assert "fluctuations are not known well enough to be asked" in found.sentence


def test_it_is_said_how_many_were_asked_and_a_p_value_of_1_does_not_seem_perfect():
    asked = ASKED | {"p_value": 1.0}
    both = ResidualTest(**asked, variation=1.02, variation_error=0.1)
    assert "tests (p > 0.5 for the 2 that could be asked, together: squares" in both.sentence
    assert "(p > 0.5 for the only one that" in ResidualTest(**asked, variation=1.0, variation_error=0.6).sentence
    assert "for the 3 that" in ResidualTest(**asked, variation=1.02, variation_error=0.1, changing=True).sentence
    assert "(p = 0.4 for the 2" in ResidualTest(**ASKED, variation=1.02, variation_error=0.1).sentence


def test_slopes_have_a_unit_where_sigma_is_not_known():
    assert "in units of kT = sigma^2/2" in _unit(SimpleNamespace(noise_=SimpleNamespace(known=False)))
    assert not _unit(SimpleNamespace(noise_=SimpleNamespace(known=True)))
    assert not _unit(SimpleNamespace(noise_=None))


def diffusing(seed, runs, frames, particles=10, step=0.01):
    """Free particles, sigma = 1."""
    generator = np.random.default_rng(seed)
    moves = np.sqrt(step) * generator.normal(size=(runs, frames, particles, 2))
    moves[:, 0] *= 0.5 / np.sqrt(step)
    return tl.Snapshots(np.cumsum(moves, axis=1), step * np.arange(frames))


def test_one_run_of_few_particles_is_no_reason_for_an_alarm():
    """Their noise is known from the very paths that are tested, which is less certain than it looks."""
    found = [tl.fit(diffusing(seed, runs=1, frames=101), sigma=1.0).findings_.residual_test for seed in range(6)]
    assert all(test.passed for test in found)
    assert sum(test.statistic for test in found) / sum(test.degrees for test in found) > 1.2  # no chi-square
    assert all(test.expected > test.degrees for test in found)


def test_little_data_decide_nothing():
    """Two runs of two snapshots made up an interaction in one of eight data sets, and ruled it out in the others."""
    for seed in range(4):
        found = tl.fit(diffusing(seed, runs=2, frames=2)).findings_
        np.testing.assert_allclose(found.log_bayes_factors, 0, atol=0.1)
        assert found.residual_test.passed
        assert "no interaction can be seen, and none is ruled out" in str(found)
