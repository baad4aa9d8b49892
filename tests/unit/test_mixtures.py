"""Potentials of kinds and pairs of kinds: names in any order, errors that say what there is."""

import numpy as np
import pytest

import trackless as tl
from trackless.mixtures import Potentials, by_kinds, joined, kinds_of, learnt_potentials, listed, name_of, one_of
from trackless.shapes import Gaussian, Power

TRAP, CORE = Power(2), Gaussian(0.0, 1.0)


def test_pairs_have_no_order():
    pairs = Potentials({("b", "a"): CORE, ("a", "a"): 2 * CORE})
    assert pairs["a", "b"] is pairs["b", "a"] is CORE
    assert list(pairs) == [("a", "a"), ("a", "b")]
    assert len(pairs) == 2
    assert ("b", "b") not in pairs
    assert kinds_of(["b", 2]) == ("2", "b")
    assert repr(pairs) == "Potentials(a-a: RadialSum, a-b: Gaussian)"


def test_kinds_without_a_potential_are_not_there():
    traps = Potentials({"b": TRAP, "a": None})
    assert list(traps) == ["b"]
    assert traps.get("a") is None
    with pytest.raises(KeyError, match="no potential for 'a'; there are those for b"):
        traps["a"]


def test_potentials_cannot_be_changed():
    with pytest.raises(TypeError):
        Potentials({"a": TRAP})["a"] = CORE


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({("a", "b"): TRAP, ("b", "a"): TRAP}, "given twice; .* are the same pair"),
        ({"a": TRAP, ("a", "b"): TRAP}, "got both"),
        ({("a", "b", "c"): TRAP}, "a pair of names, got"),
    ],
)
def test_names_that_cannot_be(members, message):
    with pytest.raises(tl.InputError, match=message):
        by_kinds(members)


def test_one_for_all_is_that_of_any_kind():
    assert one_of(TRAP, ("a",)) is TRAP
    assert one_of({"a": TRAP}, ("a",)) is TRAP
    assert one_of({"a": TRAP}, ("b",)) is None
    assert listed(None) == []
    assert listed(TRAP) == [((), TRAP)]
    assert listed({"b": TRAP, "a": CORE}) == [(("a",), CORE), (("b",), TRAP)]
    assert joined({(): TRAP}) is TRAP
    assert joined({}) is None
    assert joined({("a",): TRAP})["a"] is TRAP
    assert name_of(0, ("a",)) == "V of a"


def test_every_potential_of_a_fit_is_listed():
    class Fitted:
        external_, interaction_ = TRAP, Potentials({("a", "a"): CORE, ("a", "b"): CORE})
        explored_ = ((0.0, 1.0), ((0.1, 1.0), (0.2, 1.0)))

    found = learnt_potentials(Fitted)
    assert [one.name for one in found] == ["V", "Phi of a and a", "Phi of a and b"]
    assert [one.explored[0] for one in found] == [0.0, 0.1, 0.2]


def test_a_fit_that_keeps_no_ranges():
    """Networks trained on snapshots."""

    class Fitted:
        external_, interaction_ = TRAP, None

    assert learnt_potentials(Fitted)[0].explored is None


def test_families_of_kinds():
    splines = tl.RadialSplines(5, lower=0.0, upper=2.0)
    family = tl.BySpecies({"b": tl.RadialSplines(4, lower=0.0, upper=1.0), "a": splines})
    assert family.size == 9
    assert family.names[0] == f"a: {splines.names[0]}"
    assert not family.closed  # which kinds there are else is not known
    assert tl.BySpecies(family.families, species=("a", "b")).closed
    assert family == tl.BySpecies({"a": splines, "b": tl.RadialSplines(4, lower=0.0, upper=1.0)})
    assert hash(family) == hash(tl.BySpecies(dict(family.families)))
    assert family != tl.BySpecies({"a": splines})
    coef = np.arange(9.0)
    r = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(family.combine(coef)["a"].slope(r), splines.combine(coef[:5]).slope(r))


def test_the_reach_of_all_pairs():
    near, far = (tl.RadialSplines(5, lower=0.0, cutoff=end) for end in (1.0, 2.0))
    assert tl.BySpecies({("a", "a"): near, ("a", "b"): far}).cutoff == 2.0
    assert tl.BySpecies({("a", "a"): near, ("a", "b"): tl.RadialSplines(5)}).cutoff is None


@pytest.mark.parametrize(
    "families", [{}, {"a": None}, {"a": "splines"}, {"a": tl.BySpecies({"a": tl.RadialSplines()})}]
)
def test_families_that_are_none(families):
    with pytest.raises(tl.InputError, match=r"expected a (family|basis)"):
        tl.BySpecies(families)
