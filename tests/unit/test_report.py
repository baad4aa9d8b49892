"""The report: its numbers are those of the fit, nothing from outside gets into its code, and it needs nothing else."""

import json
import re
import types

import numpy as np
import pytest

import trackless as tl
from trackless.belonging import check_belongs
from trackless.exploration import explore, radial_density
from trackless.prediction import Compared
from trackless.reporting import animation, content, figures
from trackless.reporting.animation import FINE, animated
from trackless.reporting.content import collect
from trackless.reporting.curves import potentials_of
from trackless.reporting.page import COMPARED, embedded, page
from trackless.reporting.words import sentence, text
from trackless.uncertainty import Uncertainty, with_uncertainty

MODEL = tl.models.reference()
EVIL = "</script><script>document.title = 'broken'</script>\u2028<b>&"


def fitted_to(data, **options):
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, **options).fit(data)


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=60, step=1e-3, seed=3)


@pytest.fixture(scope="module")
def fitted(data):
    return fitted_to(data)


@pytest.fixture(scope="module")
def learnt(data):
    """By the one door, with all its findings."""
    return tl.fit(data, sigma=1.0, external="radial", interaction="radial")


@pytest.fixture(scope="module")
def mixed():
    data = tl.simulate(tl.models.mixture(), particles={"a": 5, "b": 3}, runs=30, step=1e-3, duration=0.3)
    families = tl.models.mixture().external_basis, tl.models.mixture().interaction_basis
    return tl.SelfTest(*families, sigma=1.0).fit(data), data


def numbers(values):
    return np.array([np.nan if value is None else value for value in values])


def data_in(made):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', made, re.S)[1])


# Numbers


def test_curves_are_those_of_the_fit(fitted, data):
    explored = explore(data)
    for one, potential, role in zip(
        potentials_of(fitted, explored),
        (fitted.external_, fitted.interaction_),
        ("external", "interaction"),
        strict=True,
    ):
        # the ends are rounded, and may be outside what was explored by that
        columns = {name: numbers(values)[1:-1] for name, values in one["columns"].items()}
        r = columns["r"]
        np.testing.assert_allclose(columns["slope"], potential.slope(r), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(np.diff(columns["profile"]), np.diff(potential.profile(r)), atol=2e-4)
        np.testing.assert_allclose(
            [columns["slope_lower"], columns["slope_upper"]], potential.band(r), rtol=1e-3, atol=1e-3
        )
        lower, upper = potential.band(r, of="profile")
        np.testing.assert_allclose(columns["profile_upper"] - columns["profile_lower"], upper - lower, atol=1e-3)
        density = radial_density(explored.reached(role, potential.origin), r)
        np.testing.assert_allclose(columns["density"], density, rtol=1e-3, atol=1e-5)
        assert abs(columns["profile"].mean()) < 0.02  # a constant cannot be known
        assert one["ends"] == pytest.approx(fitted.explored_[role == "interaction"], rel=1e-5)


def test_on_a_line_the_hill_has_no_dip_at_distance_0():
    """Particles on a line meet; a kernel alone loses half of what is near 0."""
    line = tl.Snapshots(np.random.default_rng(0).normal(size=(40, 20, 10, 1)), np.arange(20) * 0.1)
    fit = tl.SelfTest(None, tl.RadialSplines(6), sigma=1.0, regularization=1e-3).fit(line)
    columns = potentials_of(fit, explore(line))[0]["columns"]
    assert columns["r"][0] < 0.02
    assert columns["density"][0] == pytest.approx(1 / np.sqrt(np.pi), rel=0.05)


def test_bands_are_left_out_where_there_are_none(data):
    one_window = fitted_to(tl.accumulate(data[:1], MODEL.external_basis, MODEL.interaction_basis, windows=1))
    assert one_window.covariance_ is None
    said = collect(one_window, data[:1], simulate=False)
    assert "slope_lower" not in said["potentials"][0]["columns"]
    assert "There are no error bars." in [warned["headline"] for warned in said["warnings"]]


def test_every_species_has_a_panel(mixed):
    fit, data = mixed
    said = collect(fit, data)
    assert [one["title"] for one in said["potentials"]] == [
        "External potential of a", "External potential of b", "Interaction of a and a", "Interaction of a and b",
        "Interaction of b and b",
    ]  # fmt: skip
    r = numbers(said["potentials"][3]["columns"]["r"])
    learnt = numbers(said["potentials"][3]["columns"]["slope"])
    np.testing.assert_allclose(learnt, fit.interaction_["a", "b"].slope(r), rtol=1e-4, atol=1e-4)
    # of many curves only those of the last time
    assert [one["label"].split(", after")[0] for one in said["comparisons"]] == [
        "Pair distances of a and a", "Pair distances of a and b", "Pair distances of b and b",
        "Distances of a from the centre", "Distances of b from the centre",
    ]  # fmt: skip
    assert said["animation"]["observed"]["counts"][0] == [5, 3]


def test_potentials_in_the_plane_are_maps(data):
    family = tl.TensorSplines(5).adapted(explore(data), "external")
    known = Uncertainty(family, 0.01 * np.eye(family.size), (np.array([-1.5, -1.5]), np.array([1.5, 1.5])))
    learnt = with_uncertainty(family.combine(np.random.default_rng(0).normal(size=family.size)), known)
    fit = types.SimpleNamespace(external_=learnt, interaction_=None, sigma_=1.0, explored_=(known.explored, None))
    (one,) = potentials_of(fit, explore(data))
    grid = np.stack(np.meshgrid(one["x"], one["y"]), axis=-1)
    np.testing.assert_allclose(one["columns"]["gradient_1"], learnt.gradient(grid)[..., 0], rtol=1e-3, atol=1e-3)
    value = np.array(one["columns"]["value"])
    np.testing.assert_allclose(value - value[0, 0], learnt(grid) - learnt(grid)[0, 0], atol=1e-3)
    lower, upper = learnt.band(grid, of="value")
    np.testing.assert_allclose(2 * np.array(one["columns"]["value_half"]), upper - lower, rtol=1e-3)
    assert 0.5 < np.mean(one["explored"]) < 1
    assert "as a map of the plane" in figures.potential(one)
    pairs = types.SimpleNamespace(external_=None, interaction_=learnt, sigma_=1.0, explored_=(None, known.explored))
    for fitted, letter, names in ((fit, "V", ("x₁", "x₂")), (pairs, "Φ", ("z₁", "z₂"))):
        (one,) = potentials_of(fitted, explore(data))
        drawn = figures.potential(one)
        assert [f"at {name}" in drawn for name in ("x₁", "x₂", "z₁", "z₂")] == [
            name in names for name in ("x₁", "x₂", "z₁", "z₂")
        ]
        assert f"{letter} at {names[1]} \\ {names[0]}" in drawn


def test_in_space_a_potential_that_is_not_radial_is_a_sentence():
    data = tl.simulate(MODEL, runs=3, step=1e-3, duration=0.1, dim=3)
    family = tl.TensorSplines(4).adapted(explore(data), "external")
    fit = types.SimpleNamespace(external_=family.combine(np.ones(family.size)), interaction_=None, sigma_=1.0)
    (one,) = potentials_of(fit, explore(data))
    assert "in 3 dimensions there is no picture of it" in figures.potential(one)
    assert "the first two of 3 coordinates" in animated(fit, data, simulate=False)["sentences"][0]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_predictions_agree_with_the_data_of_the_same_model(dim):
    data = tl.simulate(MODEL, runs=40, step=1e-3, duration=0.5, dim=dim)
    said = collect(fitted_to(data), data)
    assert {one["label"].split(",")[0] for one in said["comparisons"]} == {
        "Pair distances", "Distances from the centre"
    }  # fmt: skip
    for one in said["comparisons"]:
        observed, low, high = (np.array(one[name]) for name in ("observed", "lower", "upper"))
        assert np.mean((observed >= low) & (observed <= high)) > 0.75
    assert "simulated 39 times from 120 observed snapshots" in said["comparison_sentences"][0]


def test_a_wrong_model_predicts_something_else(data):
    wrong = fitted_to(data)
    wrong.sigma_, wrong.covariance_ = 2.0, None
    one = collect(wrong, data)["comparisons"][0]
    observed, low, high = (np.array(one[name]) for name in ("observed", "lower", "upper"))
    assert np.mean((observed >= low) & (observed <= high)) < 0.6


def test_the_same_fit_gives_the_same_page_byte_for_byte(fitted, data, tmp_path):
    """Whatever else the machine does: there is no clock and no date in it."""
    options = {"validation": tl.validate(fitted, data, replicates=19), "source": "data.npz"}
    first, again, other = (tmp_path / f"{name}.html" for name in ("first", "again", "other"))
    tl.report(fitted, data, first)
    fitted.save(tmp_path / "fit.trackless")
    tl.report(tl.load(tmp_path / "fit.trackless"), data, again)
    assert first.read_bytes() == again.read_bytes()
    tl.report(fitted, data, other, seed=1)
    assert first.read_bytes() != other.read_bytes()
    for path in (first, again):
        tl.report(fitted, data, path, overwrite=True, **options)
    assert first.read_bytes() == again.read_bytes()


def test_the_animation_shows_the_data(fitted, data):
    shown = animated(fitted, data)
    lower, upper = np.array(shown["lower"]), np.array(shown["upper"])
    for frame in (0, 50, 100):
        seen = np.array(shown["observed"]["positions"][frame]).reshape(-1, 2) / FINE * (upper - lower) + lower
        np.testing.assert_allclose(seen, data.frame(0, frame), atol=2e-4 * float(np.ptp(data.positions)))
    same_start = np.sort(np.reshape(shown["simulated"]["positions"][0], (-1, 2)), axis=0)
    np.testing.assert_array_equal(same_start, np.sort(np.reshape(shown["observed"]["positions"][0], (-1, 2)), axis=0))
    assert len(shown["simulated"]["positions"]) == len(shown["times"]) == 101


def test_a_range_in_a_table_is_said_to_be_one(fitted, data):
    one = collect(fitted, data)["comparisons"][0]
    assert '<th scope="col">95 % from</th><th scope="col">95 % to</th>' in figures.comparison(one, 0)


def test_large_data_are_thinned_and_it_is_said():
    generator = np.random.default_rng(0)
    many = tl.Snapshots(generator.normal(size=(1, 450, 1201, 2)), np.arange(450) * 0.1)
    still = types.SimpleNamespace(external_=None, interaction_=None, sigma_=1.0, coupling="sum")
    shown = animated(still, many, simulate=False)
    assert len(shown["times"]) == 150
    assert shown["observed"]["counts"][0] == [401]
    assert shown["sentences"] == ["Run 1 of 1, every 3rd of 450 snapshots, every 3rd particle."]
    assert len(json.dumps(shown)) < 1_500_000


# What cannot be simulated


def test_particles_that_come_and_go_are_not_simulated():
    generator = np.random.default_rng(0)
    runs = [[generator.normal(size=(6 + k % 2, 2)) for k in range(20)] for _ in range(3)]
    ragged = tl.Snapshots(runs, [np.arange(20) * 0.1] * 3)
    fit = tl.SelfTest(MODEL.external_basis, None, sigma=1.0, regularization=0.0).fit(ragged)
    said = collect(fit, ragged)
    assert said["comparisons"][0]["predicted"] is None
    assert "the number of particles changes" in said["comparison_sentences"][0]
    assert said["animation"]["simulated"] is None
    assert "the number of particles changes" in said["animation"]["sentences"][-1]


def test_a_single_snapshot_is_shown_as_it_is(fitted, data):
    said = collect(fitted, tl.Snapshots(data.positions[:, :1], data.times[:1]))
    assert said["comparison_sentences"] == ["nothing was predicted: there is only one snapshot of a run"]
    assert ("Time", "0 to 0", "a single time") in said["facts"]
    assert ("Runs", "60", "1 snapshot each") in said["facts"]
    assert said["animation"]["sentences"][0] == "Run 1 of 60, its only snapshot."
    assert 'id="play"' not in page(said)


def test_a_fit_that_blows_up_is_a_sentence(data):
    fit = fitted_to(data)
    fit.external_, fit.covariance_ = -500 * MODEL.external, None
    said = collect(fit, data)
    assert said["comparisons"][0]["predicted"] is None
    assert said["comparison_sentences"][0].startswith("nothing was predicted: the simulation blew up")
    assert said["animation"]["sentences"][-1].startswith("The fitted model cannot be simulated: the simulation blew up")


def test_an_instrument_is_not_simulated(data):
    fit = fitted_to(data, observation=tl.Observation(position_error=0.01))
    assert "simulations know of no instrument" in collect(fit, data)["comparison_sentences"][0]


def test_what_is_too_much_work_is_given_up(fitted, data, monkeypatch):
    monkeypatch.setattr(content, "WORK", 100.0)
    assert "nothing was predicted: it takes too long" in collect(fitted, data)["comparison_sentences"][0]
    monkeypatch.setattr(animation, "WORK", 110.0 * 200)  # of the 400 steps that forces ask for, at least
    shown = animated(fitted, data)
    kept = len(shown["simulated"]["positions"])
    assert 10 < kept < 60
    assert f"The simulation ends at t = {0.01 * (kept - 1):.4g}:" in shown["sentences"][1]


def test_irregular_times_and_single_steps_are_simulated(data):
    times = np.concatenate([np.arange(10) * 1e-3, 0.02 + np.arange(10) * 0.05])
    chosen = np.searchsorted(data.times, times - 1e-9).clip(max=100)
    irregular = tl.Snapshots(data.positions[:, np.unique(chosen)], data.times[np.unique(chosen)])
    said = collect(fitted_to(irregular), irregular)
    assert said["comparisons"][0]["predicted"] is not None
    assert len(said["animation"]["simulated"]["positions"]) == len(irregular.times)
    steps = tl.simulate(MODEL, runs=3, step=0.02, observe_every=0.02, duration=9.0)
    fit = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, dynamics="discrete", sigma=1.0).fit(steps)
    shown = animated(fit, steps)  # every third snapshot, of single steps all the same
    assert len(shown["simulated"]["positions"]) == len(shown["times"]) == 151


# Whose data


def test_other_data_are_not_taken_for_those_of_the_fit(fitted, learnt, data, tmp_path):
    """As many runs do not make them the same: a test of the fit's own data would be wrong there."""
    other = tl.simulate(MODEL, runs=60, step=1e-3, seed=4)
    for fit in (fitted, learnt):
        said = collect(fit, other, source=["other.npz"], simulate=False)
        assert said["seen"] is False
        assert ("Residual test", fit.residual_test(other, other=True).chance) in [fact[:2] for fact in said["facts"]]
        assert said["title"] == "Learnt forces and other.npz"
        assert "These are not the snapshots of the fit." in page(said)
        assert "data = ...  # the snapshots of the fit, which are not those of this report" in said["code"]
        own = collect(fit, data, source=["data.npz"], simulate=False)
        assert own["seen"] is True
        assert "not the snapshots of the fit" not in page(own)
    wrong = tl.simulate(MODEL, runs=60, step=1e-3, seed=4, initial=1.5)
    wrong = tl.Snapshots(1.2 * wrong.positions, wrong.times)
    assert "The fitted model does not explain these data." in [
        warned["headline"] for warned in collect(learnt, wrong, simulate=False)["warnings"]
    ]


@pytest.mark.parametrize("form", ["radial", "free"])
def test_data_outside_of_what_the_fit_explored_are_named(data, form):
    """Kilometres for metres: what is drawn is known at other distances than those of the data."""
    fit = tl.fit(data, sigma=1.0, external=form, interaction=form)
    far = tl.Snapshots(1000 * data.positions, data.times)
    said = collect(fit, far, simulate=False)
    assert said["warnings"][0]["headline"] == "These data lie outside of what the fit knows."
    pairs = "Phi: more than 99 % of the di"
    assert pairs in said["warnings"][0]["detail"]
    assert said["potentials"][1]["outside"].startswith(pairs)
    assert "Φ: more than 99\xa0% of the di" in page(said).split("Table of values")[1]
    for one, (low, high) in zip(said["potentials"], fit.explored_, strict=True):
        if form == "radial":  # a hill's top is where the data are, which is not shown
            assert max(one["columns"]["density"]) < 0.2 * one["peak"]
        else:  # no map of places that the fit has not seen
            assert [one["x"][0], one["x"][-1]] == pytest.approx([low[0], high[0]], rel=1e-4)
    own, alike = (
        collect(fit, these, simulate=False) for these in (data, tl.simulate(MODEL, runs=60, step=1e-3, seed=4))
    )
    assert [one["outside"] for one in own["potentials"]] == ["", ""]
    assert re.match(r"V: 0\.\d+ % of the ", alike["potentials"][0]["outside"])
    assert not [one for one in own["warnings"] + alike["warnings"] if "outside" in one["headline"]]


def test_no_pair_within_the_cutoff_of_a_fit(data):
    near = tl.SelfTest(None, tl.RadialSplines(6, cutoff=1.5), sigma=1.0).fit(data)
    said = collect(near, tl.Snapshots(1e6 * data.positions, data.times), simulate=False)
    assert max(said["potentials"][0]["columns"]["density"]) == 0
    assert said["potentials"][0]["outside"] == ""  # pairs beyond a cutoff are without a force, and the fit says so


def test_data_unlike_those_of_the_fit_are_a_warning(fitted):
    fewer = tl.simulate(MODEL, runs=10, particles=5, step=1e-3, seed=4)
    warned = {one["headline"]: one["detail"] for one in collect(fitted, fewer, simulate=False)["warnings"]}
    assert "N = 10, these data have N = 5" in warned["The data are not like those of the fit."]


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.txt"])
def test_a_report_is_a_page_of_html(fitted, data, tmp_path, name):
    with pytest.raises(tl.InputError, match=r"a report is a page of HTML.*\.html, \.htm"):
        fitted.report(tmp_path / name, data)
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_the_data_of_a_fit_is_said_to_be_one(fitted, learnt, data):
    for fit in (fitted, learnt):
        said = collect(fit, data[:50], source=["data.npz"])
        assert "These data share snapshots with those of the fit" in page(said)
        assert any("share snapshots with those of the fit" in one for one in said["comparison_sentences"])
        assert said["title"] == "Learnt forces and data.npz"
        own = fit.residual_test(data[:50], other=True)
        assert ("Residual test", own.chance) in [fact[:2] for fact in said["facts"]]


def test_a_fit_that_does_not_know_its_data_is_believed(fitted, data):
    """Fits of moments, and those of old files."""
    blind = fitted_to(tl.accumulate(data, MODEL.external_basis, MODEL.interaction_basis))
    said = collect(blind, data)
    assert said["seen"] is None
    assert "if these are the data that the fit was made from" in said["comparison_sentences"][1]
    assert said["title"] == "Forces learnt from snapshots"


def test_data_that_a_fit_has_cut_are_known_again(data):
    times = np.concatenate([data.times[:50], data.times[50:] + 3.0])
    gapped = tl.Snapshots(data.positions[:20], times)
    assert collect(tl.fit(gapped, sigma=1.0, external="radial", interaction="radial"), gapped, simulate=False)["seen"]
    cut_before = fitted_to(gapped.without_gaps())  # as the command line does
    said = collect(cut_before, gapped, simulate=False)
    assert said["seen"] is True
    assert said["facts"][0][1] == "40"


# Words


def test_warnings_come_first(data):
    wrong = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=0.5).fit(data)
    said = collect(wrong, data, simulate=False)
    assert said["warnings"][0]["headline"] == "The fitted model does not explain these data."
    made = page(said)
    assert made.index("Read this first") < made.index("What was learnt")
    assert "Nothing speaks against this fit" not in made


def test_units_are_said_once_and_p_values_in_one_way(learnt, data):
    said = collect(learnt, data, simulate=False)
    said["facts"].append(("Residual test", "p = 8.4e-12", "failed"))
    made = page(said)
    assert "<b>p\u00a0=\u00a08.4\u00a0×\u00a010⁻¹²</b>" in made  # one line, as in sentences
    assert made.count("Lengths and times are in the units of the data") == 1
    assert "the parameters are those of the fit" not in made
    other = page(collect(learnt, tl.simulate(MODEL, runs=20, step=1e-3, seed=99), simulate=False))
    assert "the parameters are those of the fit, from its own data" in other


def test_files_of_figures_have_even_names_and_say_their_units(fitted, data):
    made = page(collect(fitted, data))
    found = dict(re.findall(r'data-file="([^"]*)" data-said="([^"]*)"', made))
    (pairs,) = [name for name in found if re.fullmatch(r"pair-distances-after-[0-9-]+", name)][-1:]
    assert {"external-potential", "interaction"} <= set(found)
    assert found["interaction"].startswith("lengths are in units of the data, potentials in squares")
    assert found["interaction"].endswith("ends of the 95 % band")
    assert found[pairs].endswith("in 95 % of cases")


def test_a_summary_for_programs(fitted, learnt, data):
    wrong = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=0.5).fit(data)
    found = collect(wrong, data, simulate=False)["summary"]
    assert found["verdict"] == "warned"
    assert found["warnings"][0].startswith("The fitted model does not explain these data. ")
    assert found["p_values"]["residual test"] < 0.01
    good = collect(learnt, data, simulate=False)["summary"]
    assert good == {"verdict": "passed", "warnings": [], "p_values": good["p_values"]}


def test_a_good_fit_says_what_was_tested_and_how_to_make_it_again(learnt, data):
    said = collect(learnt, data, source=["my data.csv"], reading={"dt": 0.01, "columns": None}, simulate=False)
    assert "the model passes its residual tests" in said["passed"][0]
    assert "data = tl.read('my data.csv', dt=0.01)" in said["code"]
    assert "fit = tl.fit(data, sigma=1.0, external='radial', interaction='radial')" in said["code"]
    told = [*said["decisions"], *said["identifiability"], *said["passed"]]
    assert sorted(told) == sorted(learnt.findings_.sentences)  # nothing is lost
    assert ("regularization", "'evidence'") in said["settings"]
    assert {row[0] for row in said["numbers"]} >= {"Coercivity", "Parameters of V", "Parameters of Φ"}


def test_a_validation_is_shown():
    data = tl.simulate(MODEL, runs=10, step=1e-3, duration=0.2)
    curve = types.SimpleNamespace(
        label="pair distances at t = 0.5", xlabel="r", ylabel="density", edges=np.arange(4.0), observed=np.ones(3),
        predicted=np.ones(3), lower=np.zeros(3), upper=np.full(3, 2.0),
    )  # fmt: skip
    topics = {"pair distances": 0.002}
    found = types.SimpleNamespace(p_value=0.004, topics=topics, curves={"pairs": curve}, within=0.9)
    found.replicates, found.passed, number = 19, False, Compared("motion", "how far all moves", 9.0, 1.0, 0.5, 1.5)
    found.without_density = [number]
    validation = types.SimpleNamespace(sentences=("pair distances differ",), passed=False, predictive=found)
    said = collect(fitted_to(data), data, validation=validation)
    assert said["comparisons"][0]["label"] == "Pair distances at t = 0.5"
    assert said["p_values"] == [("everything", "0.004"), ("pair distances", "0.002")]
    assert "What the fitted model predicts is not what was seen." in [warned["headline"] for warned in said["warnings"]]
    assert "Pair distances differ." in page(said)
    made = page(said)
    assert made.count('<th scope="col">90 % from</th>') == 2
    assert "Farthest off, and motion" in made
    assert said["single"]["rows"][0] | number._asdict() == said["single"]["rows"][0] | {"topic": "motion"}
    assert '<circle class="point" cx="4.000"' in made  # the farthest that is drawn
    assert "The smallest that so many simulations can give is 0.05," in made
    loud = types.SimpleNamespace(
        sentences=("tested on 5 others", "held-out loss: fine", "THE FIT DOES NOT PREDICT x"), passed=False,
        predictive=None,
    )  # fmt: skip
    said = collect(fitted_to(data), data, validation=loud, simulate=False)
    assert "THE FIT DOES NOT PREDICT x" in [warned["detail"] for warned in said["warnings"]]  # nothing but what failed
    assert "<li>The fit does not predict x.</li>" in page(said)
    nothing = types.SimpleNamespace(sentences=("held-out loss is fine",), passed=True, predictive=None)
    said = collect(fitted_to(data), data, validation=nothing, simulate=False)
    assert said["comparisons"][0]["label"] == "Pair distances"
    assert any("held-out loss is fine" in one for one in said["passed"])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("sigma = 1 +- 0.1 from the data (sigma^2 by x)", "σ = 1\xa0±\xa00.1 from the data (σ² by x)."),
        ("noise (sigma='diagonal')", "Noise (sigma=&#x27;diagonal&#x27;)."),
        ("beyond r = 2 the data say nothing of Phi'", "Beyond r = 2 the data say nothing of Φ′."),
        ("<b>", "&lt;b&gt;."),
    ],
)
def test_sentences_are_typeset_and_escaped(words, shown):
    assert sentence(words) == shown


# Safety


def test_a_prediction_that_fails_is_drawn_and_its_topics_are_explained(fitted, data):
    fast = fitted_to(data)
    fast.sigma_ = 1.5  # particles move farther than they do
    checked = tl.validate(fast, data, held_out=0, replicates=19)
    assert checked.predictive.telling
    said = collect(fast, data, validation=checked)
    first = said["single"]["rows"][0]
    assert said["single"]["failed"]
    assert abs(first["off"]) > 1
    assert any(one.topic == "motion" and abs(one.off) > 1 for one in checked.predictive.without_density)
    made = page(said)
    for words in ("how far particles are from where any was before", *COMPARED.values(), first["text"]):
        assert words[1:] in made
    for name, _ in said["p_values"]:
        assert name in COMPARED
    right = collect(fitted, data)["single"]
    assert not right["failed"]
    assert {row["text"].split(",")[0][:8] for row in right["rows"]} == {"how far "}


def test_nothing_from_outside_gets_into_the_code(tmp_path):
    names = np.array(["a", EVIL] * 3)
    data = tl.simulate(MODEL, runs=10, step=1e-3, duration=0.1, particles=6)
    data = tl.Snapshots(data.positions, data.times, species=names)
    family = {"a": tl.RadialSplines(4), EVIL: tl.RadialSplines(4)}
    fit = tl.SelfTest(family, None, sigma=1.0, regularization=1e-3).fit(data)
    made = tl.report(fit, data, tmp_path / "evil.html", title=EVIL, source=[EVIL]).read_text(encoding="utf-8")
    assert made.count("<script") == 2
    assert made.count("</script>") == 2
    assert "<b>&" not in made
    assert data_in(made)["potentials"][0]["of"].endswith(EVIL) or data_in(made)["potentials"][1]["of"].endswith(EVIL)
    assert EVIL in data_in(made)["animation"]["species"]


def test_embedded_text_is_ascii_without_markup():
    assert embedded({"x": EVIL}).isascii()
    assert not set("<>&") & set(embedded({"x": EVIL}))
    assert json.loads(embedded({"x": EVIL}))["x"] == EVIL
    with pytest.raises(ValueError, match="JSON"):
        embedded(float("nan"))


def test_odd_file_names_can_be_written():
    assert text("caf\udce9\x00.csv") == "caf?.csv"


def test_the_page_needs_nothing_else(fitted, data, tmp_path):
    made = tl.report(fitted, data, tmp_path / "report.html", source="data.npz").read_text(encoding="utf-8")
    assert "default-src 'none'" in made
    assert not re.search(r"""(src|href|action)\s*=\s*["']?(?!#|data:)[^\s"'>]*[:/]""", made.split("<script>")[0])
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon|@import|url\((?!#)", made)
    assert re.findall(r"https?:[^\"'\s]*", made) == ["http://www.w3.org/2000/svg"]  # a name of SVG elements
    assert "innerHTML" not in made


# Files


def test_a_report_on_many_runs_is_small(fitted, data, tmp_path):
    many = tl.Snapshots(np.tile(data.positions, (34, 1, 1, 1))[:2000], data.times)
    assert many.positions.shape == (2000, 101, 10, 2)
    assert fitted.report(tmp_path / "large.html", many).stat().st_size < 1e6  # 8 MB is what we promise


def test_files_are_not_overwritten_unasked(fitted, data, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(tl.InputError, match="exists; choose another name"):
        fitted.report(path, data)
    assert path.read_text() == "mine"
    assert fitted.report(path, data, overwrite=True, simulate=False) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_fit_that_was_saved_gives_the_same_page(fitted, data, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    one, other = (collect(fit, data, simulate=False)["potentials"] for fit in (fitted, loaded))
    assert one == other


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda fit, data: (fit, data.positions), "expected Snapshots, got ndarray"),
        (lambda fit, data: (tl.SelfTest(), data), "expected a fitted estimator, got SelfTest; call fit first"),
        (
            lambda fit, data: (fit, tl.Snapshots(data.positions[..., :1], data.times)),
            "2-dimensional data, these have 1 ",
        ),
    ],
)
def test_a_fit_and_data_that_do_not_belong_together(fitted, data, change, words):
    with pytest.raises(tl.InputError, match=words):
        check_belongs(*change(fitted, data), "report")


def test_species_that_are_missing_are_named(mixed):
    fit, data = mixed
    alike = tl.Snapshots(data.positions, data.times)
    with pytest.raises(tl.InputError, match="the species a, b, the data have none; give the data that were fitted"):
        collect(fit, alike)


def test_an_unfitted_estimator_has_no_report(data, tmp_path):
    with pytest.raises(tl.InputError, match="nothing to report; call fit first"):
        tl.SelfTest().report(tmp_path / "report.html", data)
