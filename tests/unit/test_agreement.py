"""agreement: a fit is compared with what its own data make of it, whatever an estimator with its settings would do."""

from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
import pytest

import trackless as tl
from trackless.agreement import agreement
from trackless.belonging import time_factor

MODEL = tl.models.reference()
DATA = tl.simulate(MODEL, runs=40, step=1e-3, seed=1)
FAST = {"replicates": 19}
SETTINGS = {
    "few functions": {"external": MODEL.external_basis, "interaction": MODEL.interaction_basis, "quadrature": "auto"},
    "L-curve": {"external": tl.RadialSplines(8), "interaction": tl.RadialSplines(20)},
    "evidence": {
        "external": tl.RadialSplines(8), "interaction": tl.RadialSplines(20), "regularization": "evidence",
        "quadrature": "auto",
    },
}  # fmt: skip
PARTS = {
    "all": lambda data: data,
    "a tenth": lambda data: data[30:34],
    "every fourth": lambda data: data.every(4),
    "the second half": lambda data: data.between(0.5, 1.0),
    "rounded": lambda data: tl.Snapshots(np.round(data.positions, 4), data.times),
}


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request):
    return tl.SelfTest(sigma=1.0, **SETTINGS[request.param]).fit(DATA)


def changed(fitted, **changes):
    other = copy(fitted)
    vars(other).update(changes)
    return other


@pytest.mark.parametrize("part", PARTS)
def test_a_fit_agrees_with_its_data_and_parts_of_them(fitted, part):
    found = agreement(fitted, fitted, PARTS[part](DATA))
    assert found.passed
    assert found.sentence == ""
    assert part != "all" or found.ratio == pytest.approx(1.0, abs=1e-9)


def test_coefficients_of_other_data_do_not_agree(fitted):
    doubled = changed(fitted, coef_=2 * fitted.coef_)
    for data in (DATA, DATA[:20]):
        found = agreement(doubled, fitted, data)
        assert found.p_value < 1e-4
        assert found.ratio == pytest.approx(2.0, abs=0.1)
        assert f"(forces {found.ratio:.3g} times as large" in found.sentence


def test_sigmas_are_compared_within_their_errors(fitted):
    assert "its sigma is 1.3, where they give 1 " in agreement(changed(fitted, sigma_=1.3), fitted, DATA).sentence
    assert agreement(changed(fitted, sigma_=1.0 + 1e-9), fitted, DATA).passed
    found = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, quadrature="auto").fit(DATA)
    near, far = (changed(found, sigma_=found.sigma_ + off * found.noise_.error) for off in (2.0, 6.0))
    assert agreement(near, found, DATA).sigma_agrees
    assert not agreement(far, found, DATA).sigma_agrees
    unknown = changed(far, noise_=replace(found.noise_, known=False))
    assert agreement(unknown, found, DATA).sigmas is None


def test_validate_tests_the_fit_and_not_its_settings_alone():
    fitted = tl.SelfTest(sigma=1.0, **SETTINGS["few functions"]).fit(DATA)
    wrong = deepcopy(fitted)
    wrong.coef_ = 2 * wrong.coef_
    wrong._set_potentials()
    for data in (DATA, DATA[:39]):
        checked = tl.validate(wrong, data, **FAST)
        assert checked.residual_test.passed  # of an estimator with its settings
        assert checked.passed is False
        assert checked.sentences[1].startswith("THE FIT IS NOT THAT OF THESE DATA")
    assert tl.validate(fitted, tl.simulate(MODEL, runs=20, step=1e-3, seed=2), **FAST).agreement is None


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_a_fit_that_was_made_with_other_times_is_noticed(sigma):
    found = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=sigma, quadrature="auto").fit(DATA)
    checked = tl.validate(found, tl.Snapshots(DATA.positions, 2 * np.asarray(DATA.times)), **FAST)
    assert checked.passed is False
    assert checked.sentences[0].startswith(
        "THE TIMES ARE NOT THOSE OF THE FIT: frames that it was made from are 2 times"
    )
    assert any("was it made with other times" in said for said in checked.sentences) == (sigma is None)


@pytest.mark.parametrize("part", PARTS)
def test_times_of_known_frames_are_those_of_the_fit(fitted, part, tmp_path):
    data = PARTS[part](DATA)
    assert time_factor(fitted, data) == 1.0
    fitted.save(tmp_path / "fit.trackless")
    slower = tl.Snapshots(data.positions, 5.0 + 0.5 * np.asarray(data.times))
    assert time_factor(tl.load(tmp_path / "fit.trackless"), slower) == pytest.approx(0.5)


def test_runs_that_were_moved_in_time_are_no_slower(fitted):
    moved = tl.Snapshots(list(DATA.positions[::-1]), [np.asarray(DATA.times) + 3.0 * m for m in range(DATA.runs)])
    assert time_factor(fitted, moved) == 1.0
    assert time_factor(fitted, tl.simulate(MODEL, runs=20, step=1e-3, seed=2)) == 1.0


def test_ways_to_find_sigma_that_disagree_still_count():
    found = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, quadrature="auto").fit(DATA)
    assert tl.validate(found, DATA, **FAST).passed
    doubted = changed(found, noise_=replace(found.noise_, p_value=7e-7))
    checked = tl.validate(doubted, DATA, **FAST)
    assert checked.passed is False
    assert any(said.startswith("THE TWO WAYS TO FIND SIGMA DISAGREE") for said in checked.sentences)
