"""What a validation, an export and a report say where something is missing, failed, or could not be asked."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import trackless as tl
from trackless.reporting.page import _verdict
from trackless.reporting.verdict import verdict
from trackless.shapes import Gaussian, Power
from trackless.slopes import _stiffest
from trackless.tensor_splines import TensorSpline
from trackless.validation import UNASKED

MODEL = tl.models.reference()
DATA = tl.simulate(MODEL, runs=60, step=1e-3, seed=1)
FAST = {"replicates": 19}


@pytest.fixture(scope="module")
def fitted():
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, quadrature="auto").fit(DATA)


@pytest.fixture(scope="module")
def free():
    data = tl.simulate(tl.models.anisotropic(), runs=40, duration=0.5, step=2e-3, seed=2)
    families = tl.TensorSplines(8), tl.TensorSplines(10)
    return tl.SelfTest(*families, sigma=1.0, quadrature="auto", regularization="evidence").fit(data)


def failed_test(fitted):
    return replace(fitted.residual_test(DATA), p_value=1e-5, p_balance=1e-6)


def test_nothing_asked_is_neither_for_nor_against_a_fit():
    crowd = tl.Model("crowd", None, tl.RadialFunctions([Gaussian(0.0, 0.4)]), (2.0,))
    often = {"duration": 0.4, "step": 4e-3, "observe_every": 2e-2}
    gas = tl.simulate(crowd, particles=60, runs=12, box=6.0, initial="lattice", coupling="sum", **often)
    seen = tl.Snapshots([[f[(np.abs(f - 3) < 2.4).all(axis=1)] for f in run] for run in gas.positions % 6.0],
                        [gas.times] * 12)  # fmt: skip
    window = tl.Observation(window=((0.6, 5.4), (0.6, 5.4)))
    through = tl.SelfTest(None, tl.RadialSplines(8, cutoff=1.2), sigma=1.0, coupling="sum", regularization="evidence",
                          observation=window).fit(seen)  # fmt: skip
    checked = tl.validate(through, seen, **FAST)
    assert checked.passed is None
    assert checked.sentences[0] == UNASKED
    judged = verdict(through, None, None, checked)
    assert judged.untested == list(checked.sentences)
    assert not any("predicts" in warned.headline for warned in judged.warnings)
    page = _verdict([], judged.passed, judged.untested)
    assert "Nothing could be asked" in page
    assert "good" not in page


def test_a_residual_test_that_failed_counts(fitted):
    fitted = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, quadrature="auto").fit(DATA)
    fitted.findings_ = SimpleNamespace(residual_test=failed_test(fitted))
    checked = tl.validate(fitted, DATA, **FAST)
    assert checked.passed is False
    assert checked.residual_test.passed
    assert any(said.startswith("THE FIT FAILED ITS RESIDUAL TEST") for said in checked.sentences)


def test_a_missing_interaction_is_tried():
    lonely = tl.SelfTest(MODEL.external_basis, None, sigma=1.0, quadrature="auto").fit(DATA)
    checked = tl.validate(lonely, DATA, **FAST)
    assert checked.better_with == ["an interaction"]
    assert any("AN INTERACTION WOULD PREDICT BETTER" in said for said in checked.sentences)


def test_an_interaction_that_is_not_there_is_not_asked_for():
    trap = tl.Model("trap", tl.RadialFunctions([Power(2)]), None, (1.0,))
    data = tl.simulate(trap, particles=6, runs=40, duration=0.5, step=1e-2, observe_every=2e-2, seed=3)
    right = tl.SelfTest(trap.external_basis, None, sigma=1.0, quadrature="auto", regularization=0.0).fit(data)
    checked = tl.validate(right, data, **FAST)
    assert checked.better_with == []
    assert any("adding an interaction would make it" in said for said in checked.sentences)


def test_the_level_of_a_prediction_is_said(fitted):
    found = tl.validate(fitted, DATA, **FAST).predictive
    assert found.level == pytest.approx(0.05)
    assert "tested at a level of 0.05" in found.sentence
    assert replace(found, replicates=199).level == 0.01


def test_bands_of_non_radial_potentials_are_infinite_where_no_data_were(free):
    for potential, (low, high) in zip((free.external_, free.interaction_), free.explored_, strict=True):
        corners = np.array([[low[0], low[1]], [high[0], high[1]]])
        assert np.isinf(potential.band(corners)[1]).all()
        assert np.isfinite(potential.band([[0.0, 0.0], [0.02, -0.05]])[1]).all()


def test_grids_mark_what_was_extrapolated(free, tmp_path):
    done = tl.export(free, tmp_path / "free.csv", points=60)
    assert sum("of the grid is extrapolated" in said for said in done.sentences) == 2
    lines = [line for line in (tmp_path / "free.csv").read_text().splitlines() if not line.startswith("#")]
    assert lines[0].endswith(",extrapolated")
    cells = [line.split(",") for line in lines[1:]]
    marks = np.array([int(row[-1]) for row in cells])
    assert 0.1 < marks.mean() < 0.9
    ends = np.array([float(row[-2]) for row in cells])
    np.testing.assert_array_equal(np.isinf(ends), marks == 1)


def test_exports_say_that_sigma_is_a_placeholder_and_that_the_fit_failed(tmp_path):
    fitted = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0, quadrature="auto").fit(DATA)
    fitted.findings_ = SimpleNamespace(residual_test=failed_test(fitted), log_bayes_factors=(None, None))
    fitted.noise_ = SimpleNamespace(known=False)
    done = tl.export(fitted, tmp_path / "phi.csv")
    warned = [said for said in done.sentences if said.startswith("WARNING")]
    assert len(warned) == 2
    text = (tmp_path / "phi.csv").read_text()
    assert "# WARNING: sigma is not known" in text
    assert "# WARNING: the fit failed its residual test" in text


def test_second_derivatives_of_tensor_splines_are_bounded():
    generator = np.random.default_rng(0)
    spline = TensorSpline(np.zeros(2), np.array([2.0, 3.0]), generator.normal(size=(7, 8)) + 100.0)
    bound = _stiffest(spline.coef, np.array([4 / 2.0, 5 / 3.0]))
    x, h = generator.uniform(0.05, 1.95, (400, 2)), 1e-4
    steps = h * np.eye(2)
    hessians = np.stack([(spline.gradient(x + s) - spline.gradient(x - s)) / (2 * h) for s in steps], axis=1)
    largest = np.abs(np.linalg.eigvalsh(0.5 * (hessians + hessians.transpose(0, 2, 1)))).max()
    assert largest <= bound < 12 * largest


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit, path: tl.report(DATA, path), "the first argument is the fit, got Snapshots"),
        (lambda fit, path: tl.report(fit, DATA), "path: expected the name of a file, got ''"),
        (lambda fit, path: tl.report(DATA, DATA, path), "the first argument is the fit, got Snapshots"),
        (lambda fit, path: tl.report(DATA, fit, path), "the first argument is the fit, got Snapshots"),
        (lambda fit, path: tl.report(fit, path, DATA), "expected Snapshots, got"),
        (lambda fit, path: tl.report(fit, DATA, DATA), "path: expected the name of a file, got Snapshots"),
        (lambda fit, path: tl.report(fit, DATA, path, validation=fit), "validation: expected what tl.validate found"),
    ],
)
def test_arguments_of_a_report_in_another_order(fitted, tmp_path, call, message):
    with pytest.raises(tl.InputError, match=message):
        call(fitted, tmp_path / "report.html")
