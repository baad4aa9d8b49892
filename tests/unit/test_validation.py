"""validate: what is held out, what is asked, and what is said where something cannot be asked."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import trackless as tl
from trackless.alternatives import _said_of_all, clearly
from trackless.belonging import SHARED, known_again, mismatches
from trackless.comparison import Comparison
from trackless.prediction_plots import validation_figure
from trackless.survey import surveyed

MODEL = tl.models.reference()
DATA = tl.simulate(MODEL, runs=60, step=1e-3, seed=1)
FAST = {"replicates": 19}


def settings(**changes):
    usual = {"external": MODEL.external_basis, "interaction": MODEL.interaction_basis, "sigma": 1.0}
    return tl.SelfTest(**usual | {"quadrature": "auto"} | changes)


@pytest.fixture(scope="module")
def fitted():
    return settings().fit(DATA)


def test_data_of_the_fit_are_held_out_in_part(fitted):
    checked = tl.validate(fitted, DATA, **FAST)
    assert "fitted to 42 runs, tested on 18 others" in checked.sentences[0]
    assert checked.passed
    assert checked.comparison.best == "the fit"
    assert checked.predictive.p_value > 0.05
    assert len(validation_figure(checked).axes) - 1 == len(checked.predictive.curves) == 4  # one of motion


def test_other_data_test_the_fit_itself(fitted):
    other = tl.simulate(MODEL, runs=30, step=1e-3, seed=2)
    checked = tl.validate(fitted, other, **FAST)
    assert checked.sentences[0] == "the fit was tested as it is, on data that are not the snapshots of the fit"
    assert any("on other data the model passes" in sentence for sentence in checked.sentences)
    assert checked.passed


def test_what_was_not_held_out_is_said(fitted):
    own = tl.validate(fitted, DATA, held_out=0, **FAST)
    assert own.sentences[0].startswith("these are the data that the fit was made from, NOT HELD OUT")
    assert own.residual_test == fitted.residual_test(DATA)  # which knows what the fit took from them
    assert not any("other data" in sentence for sentence in own.sentences)
    blind = settings().fit(tl.accumulate(DATA, MODEL.external_basis, MODEL.interaction_basis))
    unknown = tl.validate(blind, DATA, **FAST)
    assert "whether it was made from these data is not known" in unknown.sentences[0]
    assert not any("other data" in sentence for sentence in unknown.sentences)


def test_data_are_known_again_however_they_were_cut():
    """The command line cuts runs at gaps before some fits; a part of the data is not what was fitted."""
    gapped = tl.Snapshots(DATA.positions, np.concatenate([DATA.times[:50], DATA.times[50:] + 3.0]))
    assert known_again(settings().fit(gapped.without_gaps()), gapped)[1] is True
    assert known_again(settings().fit(gapped), gapped)[1] is True
    assert known_again(settings().fit(gapped), gapped[:59])[1] == SHARED


def rounded(data, digits=4):
    return tl.Snapshots(np.round(data.positions, digits), data.times)


PARTS = {
    "all runs but one": lambda data: data[:59],
    "a tenth of the runs": lambda data: data[30:36],
    "every second snapshot": lambda data: data.every(2),
    "the first half": lambda data: data.between(0, 0.5),
    "the second half": lambda data: data.between(0.5, 1.0),
    "shuffled particles": lambda data: data.shuffled(),
    "rounded positions": rounded,
    "runs in another order": lambda data: tl.Snapshots(data.positions[::-1], data.times + 2.0),
    "one of them ragged": lambda data: tl.Snapshots([list(data.positions[7][::2])], [data.times[::2]]),
}


@pytest.mark.parametrize("part", PARTS)
def test_parts_and_variants_of_the_data_of_a_fit_are_not_unseen(fitted, part, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    for fit in (fitted, tl.load(tmp_path / "fit.trackless")):
        assert known_again(fit, PARTS[part](DATA))[1] == SHARED


def test_parts_of_the_data_of_a_fit_are_held_out_or_it_is_said_that_they_are_not(fitted):
    checked = tl.validate(fitted, DATA[:59], **FAST)
    assert "tested on 18 others; these data share snapshots with those of the fit" in checked.sentences[0]
    own = tl.validate(fitted, DATA.every(2), held_out=0, **FAST)
    assert own.sentences[0].startswith("these data share snapshots with those of the fit, NOT HELD OUT")
    assert not any("other data" in sentence for sentence in own.sentences)


@pytest.mark.parametrize("seed", range(2, 7))
def test_other_runs_of_the_same_model_are_not_taken_for_parts(fitted, seed):
    assert known_again(fitted, tl.simulate(MODEL, runs=60, step=1e-3, seed=seed))[1] is False


@pytest.mark.parametrize(("runs", "every"), [(1, 1e-5), (40, 1e-5), (1, 1e-3), (40, 1e-3)])
def test_runs_that_start_alike_are_not_taken_for_each_other(runs, every):
    start = np.array([[k % 4, k // 4] for k in range(10)], float)
    step = {"step": every, "duration": 200 * every, "observe_every": every}
    one, two = (surveyed(tl.simulate(MODEL, runs, seed=seed, initial=start, **step)).known for seed in (1, 2))
    assert one.shared_with(one) == len(one.particles) > 100
    assert one.shared_with(two) == 0


def test_frames_that_come_again_by_chance_tell_nothing():
    """Single particles at whole pixels."""
    pixels = [
        tl.Snapshots(np.random.default_rng(k).integers(0, 30, (20, 50, 1, 2)).astype(float), dt=1.0) for k in (0, 1)
    ]
    one, two = (surveyed(data).known for data in pixels)
    assert one.shared_with(two) == 0


def test_fits_of_older_files_do_not_know_parts_of_their_data(fitted):
    old = copy(fitted)
    old.frames_ = None
    assert known_again(old, DATA)[1] is True
    assert known_again(old, DATA[:59])[1] is None


def test_other_numbers_of_particles_and_ignored_species_are_said(fitted):
    fewer = tl.simulate(MODEL, runs=10, particles=5, step=1e-3, seed=3)
    said = mismatches(fitted, fewer)
    assert len(said) == 1
    assert "made with N = 10, these data have N = 5" in said[0]
    assert "is taken to be 2 times that" in said[0]
    assert tl.validate(fitted, fewer, **FAST).sentences[1] == said[0]
    several = tl.Snapshots(DATA.positions, DATA.times, species=["a", "b"] * 5)
    assert mismatches(fitted, several) == [
        "species are ignored: the fit knows one kind of particles only, the data have a, b"
    ]
    assert mismatches(fitted, DATA) == mismatches(settings(coupling="sum").fit(DATA), fewer) == []


def test_wrong_noise_and_missing_potentials_are_found():
    wrong = tl.validate(settings(sigma=1.3).fit(DATA), DATA, **FAST)
    assert not wrong.passed
    assert any("DOES NOT" in sentence for sentence in wrong.sentences)
    lonely = tl.validate(settings(interaction=None).fit(DATA), DATA, **FAST)
    assert not lonely.passed
    assert any("only one potential" in sentence for sentence in lonely.sentences)


def test_a_fit_that_follows_noise_is_worse_than_no_force():
    """Scored itself, not an estimator with its settings; where its own data cannot tell, nothing is said to hold."""
    few = tl.simulate(MODEL, runs=20, step=1e-3, duration=0.2, seed=2)
    other = tl.simulate(MODEL, runs=300, step=1e-3, duration=0.2, seed=999)
    noisy = tl.SelfTest(tl.RadialSplines(12), tl.RadialSplines(60), sigma=1.0, regularization=1e-8).fit(few)
    checked = tl.validate(noisy, other, **FAST)
    assert checked.passed is False
    assert checked.worse_than_nothing
    assert any("THE FIT DOES WORSE THAN NO FORCE AT ALL" in sentence for sentence in checked.sentences)
    scores = dict(zip(checked.comparison.names, checked.comparison.scores, strict=True))
    assert scores["no force"] == 0.0
    assert scores["the fit"] == pytest.approx(noisy.score(other), rel=1e-6)
    again = tl.validate(noisy, few, **FAST)
    assert again.passed is None
    assert "held-out loss" not in again.asked
    assert any("cannot tell the fit from no force at all" in sentence for sentence in again.sentences)


@pytest.mark.parametrize("seed", [2, 8, 14])
def test_very_little_data_say_nothing_for_or_against_a_fit(seed):
    """Two runs of three snapshots: differences of losses rest on four parts, whose scatter is hardly known."""
    few = tl.simulate(MODEL, runs=2, step=1e-3, duration=0.02, seed=seed)
    checked = tl.validate(settings(quadrature="trapezoid").fit(few), few, **FAST)
    assert checked.passed is None
    assert checked.comparison.parts == 4
    assert not any(sentence.startswith(("THE ", "HELD-OUT")) for sentence in checked.sentences)


def test_what_is_clear_depends_on_how_many_parts_tell_it():
    two = Comparison(("a", "b"), (0.0, -3.0), (0.0, 3.0), (0.0, 1.0), 4)
    assert two.clear == pytest.approx(4.54, abs=0.01)
    assert not two.clearly("a", "b")
    assert two.clearly("a", "b", 2.0)
    assert replace(two, parts=120).clearly("a", "b")
    assert not replace(two, parts=1).clearly("a", "b")
    far = replace(two, scores=(0.0, -1e6))
    assert far.clearly("a", "b")
    assert not clearly(far, "a", "b")


def test_alternatives_of_a_fit_are_those_of_its_own_data(fitted):
    other = tl.simulate(MODEL, runs=30, step=1e-3, seed=2)
    scores = tl.validate(fitted, other, **FAST).comparison
    alone = tl.SelfTest(MODEL.external_basis, None, sigma=1.0, quadrature="auto").fit(DATA)
    found = dict(zip(scores.names, scores.scores, strict=True))
    assert found["no interaction"] == pytest.approx(alone.score(other), rel=1e-6)
    assert scores.best == "the fit"


def test_data_outside_of_what_a_fit_knows_are_said_first_and_give_no_advice(fitted):
    other = tl.simulate(MODEL, runs=30, step=1e-3, seed=2)
    larger = tl.validate(fitted, tl.Snapshots(1000 * other.positions, other.times), **FAST)
    assert larger.passed is False
    assert larger.sentences[0].startswith("THESE DATA LIE OUTSIDE OF WHAT THE FIT KNOWS: V: all of the distances")
    assert "convert them" in larger.sentences[0]
    assert larger.better_without == ["no interaction"]
    (said,) = [one for one in larger.sentences if "LEAVING OUT THE INTERACTION MAKES IT BETTER" in one]
    assert said.endswith("the fit does not describe these data")
    assert "leave that potential out" not in str(larger)


def test_advice_to_leave_a_potential_out_is_for_data_of_the_kind_of_the_fit():
    worse = Comparison(("no interaction", "no force", "the fit"), (3.0, 2.0, 1.0), (0.0, 1.0, 2.0), (0.0, 0.1, 0.1), 99)
    alike, unlike = (" ".join(_said_of_all(worse, kind)) for kind in (True, False))
    assert "leave that potential out" in alike
    assert "it follows the noise" in alike
    assert "leave that potential out" not in unlike
    assert "it does not describe these data, or follows the noise" in unlike


def test_snapshots_that_say_nothing_of_motion_are_refused(fitted):
    with pytest.raises(tl.InputError, match="validate: runs have a single snapshot, in which nothing moves"):
        tl.validate(fitted, DATA.between(0.0, 0.0))
    pair = tl.simulate(MODEL, runs=150, step=1e-3, observe_every=1.0, seed=21)
    with pytest.raises(tl.InputError, match=r"runs of 3 snapshots at least, .* these have 2"):
        fitted.residual_test(pair, other=True)
    assert "snapshots at least" in str(tl.validate(fitted, pair, **FAST))


def test_few_runs_are_held_out_in_time():
    long = tl.simulate(MODEL, runs=2, duration=6.0, step=1e-3, observe_every=2e-2, seed=3)
    checked = tl.validate(settings().fit(long), long, **FAST)
    assert "fitted up to t = 4.2" in checked.sentences[0]
    assert checked.predictive.starts > 15


def test_a_fit_is_known_again_after_saving(fitted, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    assert tl.load(tmp_path / "fit.trackless").fingerprint_ == DATA.fingerprint()
    assert DATA[:59].fingerprint() != DATA.fingerprint()


def test_what_cannot_be_asked_is_said():
    counts = np.random.default_rng(0).integers(8, 11, (6, 101))
    flicker = tl.Snapshots(
        [[DATA.frame(m, i)[: counts[m, i]] for i in range(101)] for m in range(6)], [DATA.times] * 6
    )  # fmt: skip
    fitted = tl.SelfTest(
        tl.RadialFunctions(MODEL.external_basis.functions), None, sigma=1.0, coupling="sum", regularization=0.0
    ).fit(flicker)
    checked = tl.validate(fitted, flicker, **FAST)
    assert checked.predictive is None
    assert "number of particles changes" in checked.sentences[-1]
    single = settings(dynamics="discrete").fit(DATA[:20])
    assert "not asked of this kind" in tl.validate(single, DATA[:20], **FAST).sentences[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit: tl.validate(fit, np.zeros((2, 3, 4, 2))), "expected Snapshots"),
        (lambda fit: tl.validate(settings(), DATA), "expected a fitted estimator"),
        (lambda fit: tl.validate(fit, DATA, held_out=1.5), "between 0 and 1"),
        (lambda fit: tl.validate(fit, DATA, held_out="x"), "held_out: expected a part between 0 and 1.*got 'x'"),
        (lambda fit: tl.validate(fit, DATA, seed="a"), "seed: expected a whole number of at least 0, got 'a'"),
        (lambda fit: tl.validate(fit, DATA, replicates=0), "replicates: expected a whole number of at least 19, got 0"),
        (
            lambda fit: tl.validate(fit, tl.Snapshots(np.zeros((2, 3, 4, 3)), dt=1.0)),
            "the fit is of 2-dimensional data, these have 3",
        ),
        (
            lambda fit: tl.validate(fit, tl.Snapshots(np.zeros((2, 3, 4, 2)), dt=1.0, box=9.0)),
            "the fit is of data in free space, these are in a periodic box of 9 x 9",
        ),
        (
            lambda fit: tl.validate(fit, tl.Snapshots([[np.zeros((n, 2)) for n in (4, 4, 3)]], [[0.0, 1.0, 2.0]])),
            "mean coupling, for which the number of particles must not change",
        ),
    ],
)
def test_wrong_arguments(fitted, call, message):
    with pytest.raises(tl.InputError, match=message):
        call(fitted)
