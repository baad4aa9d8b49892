"""Averaged or summed forces: what "auto" takes, and one from the other."""

import numpy as np
import pytest

import trackless as tl
from trackless.coupling import chosen_coupling


def ragged(*counts):
    generator = np.random.default_rng(0)
    return tl.Snapshots([[generator.random((n, 2)) for n in run] for run in counts], dt=0.1)


def test_auto_sums_where_the_number_changes():
    assert chosen_coupling(ragged((3, 3), (3, 3))).name == "mean"
    within, between = ragged((3, 4)), ragged((3, 3), (5, 5))
    assert chosen_coupling(within).name == chosen_coupling(between).name == "sum"
    assert "their number changes, 3 to 5" in chosen_coupling(between).sentence
    assert "N = 3 times" in chosen_coupling(ragged((3, 3))).sentence
    assert chosen_coupling(between, "mean").name == "mean"
    with pytest.raises(tl.InputError, match="coupling: expected 'mean', 'sum' or 'auto'"):
        chosen_coupling(within, "both")


def test_the_door_takes_auto():
    data = tl.simulate(tl.models.reference(), runs=10, particles=4, step=1e-3, observe_every=0.02)
    missing = [[frame[: 3 + (i + m) % 2] for i, frame in enumerate(run)] for m, run in enumerate(data.positions)]
    changing = tl.Snapshots(missing, [data.times] * 10)
    shapes = {"external": "radial", "interaction": "radial"}
    with pytest.raises(tl.InputError, match="coupling='sum'"):
        tl.fit(changing, sigma=1.0, **shapes)
    fitted = tl.fit(changing, sigma=1.0, coupling="auto", **shapes)
    assert fitted.coupling == "sum"
    assert "sum coupling: forces between particles add up (their number changes, 3 to 4)" in str(fitted.findings_)
    assert tl.fit(data, sigma=1.0, coupling="auto", **shapes).coupling == "mean"


MODEL = tl.models.reference()
BASES = MODEL.external_basis, MODEL.interaction_basis
SPLINES = tl.RadialSplines(8, lower=0.0, upper=1.5), tl.RadialSplines(12, lower=0.0, upper=2.4)


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=80, particles=5, step=1e-3, observe_every=0.02, labeled=True, seed=4)


def assert_same_fit(one, other, rtol, atol=1e-12):
    assert one.coupling == other.coupling == one.moments_.coupling
    for name in ("coef_", "covariance_", "loss_", "sigma_", "freedom_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=atol, err_msg=name)
    for name in ("quadratic", "pair", "diffusion", "energy", "weight", "work", "particles"):
        np.testing.assert_allclose(getattr(one.moments_, name), getattr(other.moments_, name), rtol=1e-9, atol=1e-9)
    r = np.linspace(0.4, 1.4, 7)
    for role in ("external_", "interaction_"):
        np.testing.assert_allclose(getattr(one, role).slope(r), getattr(other, role).slope(r), rtol=rtol, atol=atol)
        np.testing.assert_allclose(getattr(one, role).band(r), getattr(other, role).band(r), rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    "make",
    [
        lambda c: tl.SelfTest(*BASES, sigma=1.0, regularization=0.0, coupling=c),
        lambda c: tl.SelfTest(*SPLINES, sigma=1.0, regularization=0.0, coupling=c),
        lambda c: tl.LabeledMLE(*BASES, regularization=0.0, coupling=c),
    ],
)
def test_converted_fits_are_those_made_directly(make, data):
    mean, summed = make("mean").fit(data), make("sum").fit(data)
    assert_same_fit(mean.converted("sum"), summed, 1e-7 if len(mean.coef_) > 10 else 1e-10)
    assert_same_fit(summed.converted("mean"), mean, 1e-7 if len(mean.coef_) > 10 else 1e-10)


@pytest.mark.parametrize("regularization", ["evidence", "cv", 1e-3])
def test_there_and_back_again(regularization, data):
    fitted = tl.SelfTest(*SPLINES, sigma=1.0, regularization=regularization).fit(data)
    summed = fitted.converted("sum")
    assert_same_fit(summed.converted("mean"), fitted, 1e-10)
    assert fitted.coupling == "mean"  # nothing was done to it
    np.testing.assert_allclose(5 * summed.interaction_.slope([0.7]), fitted.interaction_.slope([0.7]), rtol=1e-12)
    np.testing.assert_allclose(5 * np.array(summed.interaction_.band([0.7], simultaneous=True)),
                               fitted.interaction_.band([0.7], simultaneous=True), rtol=0.02)  # fmt: skip
    # everything that is made of a fit later is the same in other units
    scales = np.r_[np.ones(8), 5 * np.ones(12)]
    np.testing.assert_allclose(summed.bootstrap(5) * scales, fitted.bootstrap(5), rtol=1e-6, atol=1e-8)
    assert summed.score(data) == pytest.approx(fitted.score(data), rel=1e-9)
    one, other = (fit.residual_test(data) for fit in (fitted, summed))
    assert other.p_value == pytest.approx(one.p_value, rel=1e-4)
    assert summed.identifiability().effective == pytest.approx(fitted.identifiability().effective, rel=1e-5)


def test_evidence_and_hyperparameters_are_those_of_the_other_coupling(data):
    mean, summed = (tl.SelfTest(*SPLINES, sigma=1.0, regularization="evidence", coupling=c).fit(data)
                    for c in ("mean", "sum"))  # fmt: skip
    found, direct = mean.converted("sum").posterior_, summed.posterior_
    assert found.log_evidence == pytest.approx(direct.log_evidence, abs=0.05)
    for one, other in zip(found.hyperparameters, direct.hyperparameters, strict=True):
        np.testing.assert_allclose(one, other, atol=0.1)
    np.testing.assert_allclose(found.coef, direct.coef, rtol=0.02, atol=0.02 * np.abs(direct.coef).max())


def test_a_converted_fit_survives_a_file_and_clones(data, tmp_path):
    fitted = tl.fit(data[:60], sigma=None, external="radial", interaction="radial", coupling="auto").converted("sum")
    assert "sum coupling: forces between particles add up, so that Phi is that of a pair" in str(fitted.findings_)
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert_same_fit(loaded, fitted, 1e-12)
    back = loaded.converted("mean")
    np.testing.assert_allclose(back.interaction_.slope([0.7]), 5 * fitted.interaction_.slope([0.7]), rtol=1e-12)
    assert "N = 5 times" in str(back.findings_)


def test_numbers_of_particles_add_up():
    generator = np.random.default_rng(0)

    def moments(count, coupling="mean"):
        some = tl.Snapshots(generator.normal(size=(3, 4, count, 2)), dt=0.1)
        return tl.accumulate(some, *SPLINES, coupling)

    assert moments(5).number == (moments(5) + moments(5)).number == 5
    both = moments(5) + moments(7)
    assert both.number is None
    assert both.coarsened(1).particles.tolist() == [[5, 7]]
    assert both.select(blocks=slice(0, 3), windows=slice(0, 1)).number == 5
    with pytest.raises(tl.InputError, match="in all snapshots here, or not known; fit again with coupling='sum'"):
        both.converted("sum")
    with pytest.raises(tl.InputError, match="no potential is right for all of them: keep coupling='sum'"):
        (moments(5, "sum") + moments(7, "sum")).converted("mean")
    with pytest.raises(tl.InputError, match="expected 'mean' or 'sum'"):
        moments(5).converted("both")
    changing = ragged((3, 4, 3, 4), (3, 4, 3, 4))
    assert tl.accumulate(changing, *SPLINES, "sum").particles.tolist() == [[3, 4]] * 2
    alone = tl.SelfTest(external=tl.RadialSplines(3), sigma=1.0, regularization=1e-3).fit(changing)
    np.testing.assert_array_equal(alone.converted("sum").coef_, alone.coef_)  # without Phi there is nothing to convert
