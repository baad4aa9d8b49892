"""What is said of a fit: whether a potential is there, what a validation could ask, and that both agree."""

import dataclasses
import types

import numpy as np
import pytest

import trackless as tl
from trackless.cli.common import verdict_of
from trackless.goodness import ResidualTest
from trackless.presence import EVEN, STRONG, leans_towards, presence
from trackless.reporting.verdict import verdict
from trackless.validation import MOTION, Validation, validate

MODEL = tl.models.reference()


@pytest.mark.parametrize("factor", [-8.0, -STRONG, -1.0, 0.0, 1.0, 2.9, STRONG, 20.0, 4000.0])
def test_a_potential_is_there_or_not_or_not_decided(factor):
    said = presence("interaction", factor)
    assert ("there is an" in said) == (factor >= STRONG)
    assert ("is needed" in said) == (factor <= -STRONG)
    assert ("likely" in said) == (EVEN < factor < STRONG) == leans_towards(factor)
    assert "10^1737" not in said
    unresolved = presence("interaction", factor, resolved=False)
    assert "is needed" not in unresolved  # coarse integrals may hide a potential
    assert (unresolved == said) == (factor > -STRONG)


def test_odds_for_a_potential_are_no_warning_that_it_is_not_there():
    potential = MODEL.interaction
    fit = types.SimpleNamespace(external_=potential, interaction_=potential, sigma_=1.0)

    def warned(*factors):
        fit.findings_ = types.SimpleNamespace(log_bayes_factors=factors)
        return [one for one in verdict(fit, None, None, None).warnings if one.headline.startswith("The data")]

    (likely,) = warned(2.77, 30.0)
    assert likely.headline == "The data speak for an external potential, but not clearly."
    assert "odds are 15 to 1 for it" in likely.detail
    (unseen,) = warned(30.0, 0.1)
    assert unseen.headline == "The data do not show an interaction."
    assert warned(30.0, 30.0) == []


@pytest.fixture(scope="module")
def coarse():
    """Snapshots so far apart that sigma cannot be known."""
    data = tl.simulate(MODEL, runs=60, observe_every=0.1, step=1e-3, seed=203)
    fitted = tl.fit(data, external="radial", interaction="radial")
    assert not fitted.noise_.known
    return fitted, data


def test_where_sigma_is_not_known_a_fit_is_not_said_to_hold(coarse):
    checked = validate(*coarse, replicates=19)
    assert checked.passed is None
    assert checked.asked == {"held-out loss", "the balance of energies"}
    assert checked.sentences[0].startswith("too little could be asked to say that the fit holds")
    assert "could not be asked: fluctuations of energies, prediction" in checked.sentences[0]
    assert "too little could be asked" in verdict_of(checked)
    assert verdict(coarse[0], None, None, checked).passed == []


def test_a_placeholder_is_not_predicted_with_whatever_a_part_of_the_data_seems_to_know(coarse):
    fitted, data = coarse
    others = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(data[:20])
    again = validate(fitted, data[:20], 0.0, replicates=19)
    assert again.predictive is None
    fitted.__class__ = type("Lucky", (tl.SelfTest,), {"__sklearn_clone__": lambda self: _always(others)})
    try:
        checked = validate(fitted, data, 0.3, replicates=19)
    finally:
        fitted.__class__ = tl.SelfTest
    assert checked.predictive is None
    assert not checked.asked & MOTION
    assert checked.passed is None


def _always(fitted):
    """An estimator whose every fit is this one."""
    return types.SimpleNamespace(fit=lambda data: fitted, set_params=lambda **settings: fitted)


def test_a_fit_that_was_asked_holds_and_says_what_was_asked():
    test = types.SimpleNamespace(passed=True, asked={"the balance of energies": True, "fluctuations of energies": True})
    checked = Validation(None, test, None, ("tested",))
    assert checked.passed
    assert checked.summary == (
        "asked: the balance of energies, fluctuations of energies; could not be asked: held-out loss, prediction"
    )
    assert verdict_of(checked).startswith("Nothing speaks against the fit. Asked: ")
    assert replaced(checked, sigma_known=False).passed is None
    assert Validation(None, None, None, ()).passed is None


def replaced(checked, **changes):
    return Validation(**{name: getattr(checked, name) for name in checked.__dataclass_fields__} | changes)


@pytest.mark.parametrize("there", [False, True])
def test_the_held_out_loss_knows_what_integrals_over_time_do(there):
    """All blocks share their errors, and V stands in for what Phi is smoothed by: neither says that there is a V."""
    model = types.SimpleNamespace(
        external=MODEL.external if there else None, interaction=MODEL.interaction, sigma=1.0, coefficients=None
    )
    data = tl.simulate(model, runs=100, observe_every=0.02, step=2e-3, seed=1)
    fitted = tl.fit(data, sigma=1.0, external="radial", interaction="radial")
    (said,) = (one for one in validate(fitted, data, replicates=19).sentences if "leaving out the external" in one)
    assert ("clearly worse" in said) == there
    assert ("so little worse" in said or "not clearly so" in said) != there
    factor = fitted.findings_.log_bayes_factors[0]
    assert (factor > STRONG) == there
    assert np.isfinite(factor)


def test_a_test_without_power_is_no_word_for_a_fit():
    fit = types.SimpleNamespace(external_=MODEL.external, interaction_=MODEL.interaction, sigma_=1.0)
    known = ResidualTest(0.5, 0.5, 0.5, 1.0, 10.0, 12.0, 12, 1.0, 0.02, "nothing", spread=5.0)
    blind = dataclasses.replace(known, variation_error=3.0)
    assert verdict(fit, known, None, None).passed == [known.sentence]
    assert verdict(fit, blind, None, None).passed == []
    assert verdict(fit, blind, None, None).untested == [blind.sentence]
