"""Fits with a V of each kind and a Phi of each pair: moments against NumPy, and what must not matter."""

import numpy as np
import pytest
import twins
from test_many_particles import kinds_twin

import trackless as tl
from trackless.basis import families_of, members_of
from trackless.evidence import log_bayes_factor, posterior
from trackless.exploration import explore
from trackless.quadrature import RULES, STRIDES, every_rule
from trackless.residuals import Units

MODEL = tl.models.mixture()
TIMES = np.arange(6) * 0.1


def families(low=0.0):
    v = {"a": tl.RadialSplines(6, low, 4.0), "b": tl.RadialSplines(5, low, 4.0)}
    phi = {("a", "a"): tl.RadialSplines(7, low, 6.0), ("a", "b"): tl.RadialSplines(5, low, 6.0),
           ("b", "b"): tl.RadialSplines(6, low, 6.0)}  # fmt: skip
    return v, phi


def scattered(kinds, seed=0):
    positions = np.random.default_rng(seed).normal(size=(3, 6, len(kinds), 2))
    return tl.Snapshots(positions, TIMES, species=kinds)


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, particles={"a": 4, "b": 3}, runs=60, step=1e-3, seed=1)


@pytest.fixture(scope="module")
def fitted(data):
    v, phi = ({kinds: tl.RadialSplines(count) for kinds, _ in basis.members}
              for basis, count in ((MODEL.external_basis, 6), (MODEL.interaction_basis, 8)))  # fmt: skip
    return tl.SelfTest(v, phi, sigma=1.0, regularization="evidence").fit(data)


def test_moments_are_those_of_numpy():
    data = scattered(["a", "b", "a", "b", "b"])
    moments = tl.accumulate(data, *families(), blocks=1, windows=1)
    functions = [[twins.functions_of(f) for _, f in basis.members] for basis in (moments.external, moments.interaction)]
    pairs = [(0, 0), (0, 1), (1, 1)]
    table = every_rule(TIMES)
    expected = {"quadratic": 0.0, "diffusion": 0.0, "energy": 0.0}
    for run in data.positions:
        parts = [kinds_twin(frame, np.array([0, 0, 1, 1, 1]), *functions, pairs, 1 / 5) for frame in run]
        expected["quadratic"] += np.einsum("srf,fkl->srkl", table, [part[0] for part in parts])
        expected["diffusion"] += np.einsum("srf,fk->srk", table, [part[2] for part in parts])
        expected["energy"] += parts[-1][3] - parts[0][3]
    assert moments.quadratic.shape[2:4] == (len(STRIDES), len(RULES))
    scale = np.abs(expected["quadratic"]).max()
    np.testing.assert_allclose(moments.quadratic[0, 0], expected["quadratic"], atol=1e-10 * scale)
    np.testing.assert_allclose(moments.diffusion[0, 0, :, :, 0], expected["diffusion"], atol=1e-9 * scale)
    np.testing.assert_allclose(moments.energy[0, 0], expected["energy"], atol=1e-9)
    assert moments.names[0].startswith("V: a: spline")
    assert moments.names[-1].startswith("Phi: b-b: spline")


def test_kinds_with_the_same_coefficients_are_one_kind():
    """All kinds together: the sums over members are the moments of one family for all."""
    data = scattered(["a", "b", "a", "b", "b", "a"])
    v, phi = tl.RadialSplines(6, 0.0, 4.0), tl.RadialSplines(7, 0.0, 6.0)
    pairs = (("a", "a"), ("a", "b"), ("b", "b"))
    apart = tl.accumulate(data, dict.fromkeys("ab", v), dict.fromkeys(pairs, phi))
    together = tl.accumulate(data, v, phi)
    merged = apart.transformed((v, np.tile(np.eye(6), (2, 1))), (phi, np.tile(np.eye(7), (3, 1))))
    for name in ("quadratic", "diffusion", "energy", "pair", "weight"):
        np.testing.assert_allclose(getattr(merged, name), getattr(together, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shared", [0, 1])
def test_one_potential_for_all_beside_others_of_kinds(shared):
    data = scattered(["a", "b", "a", "b", "b", "a"])
    plain = (tl.RadialSplines(6, 0.0, 4.0), tl.RadialSplines(7, 0.0, 6.0))
    pairs = (("a", "a"), ("a", "b"), ("b", "b"))
    apart = [dict.fromkeys("ab", plain[0]), dict.fromkeys(pairs, plain[1])]
    everything = tl.accumulate(data, *apart)
    apart[shared] = plain[shared]
    mixed = tl.accumulate(data, *apart)
    matrix = np.tile(np.eye(plain[shared].size), ((2, 3)[shared], 1))
    merged = everything.transformed(**{("external", "interaction")[shared]: (plain[shared], matrix)})
    for name in ("quadratic", "diffusion", "energy", "pair"):
        np.testing.assert_allclose(getattr(mixed, name), getattr(merged, name), rtol=1e-9, atol=1e-9)


def test_numbers_that_change_are_scaled_kind_by_kind():
    """A constant added to the potentials of one kind changes nothing, whoever appears."""
    generator = np.random.default_rng(0)
    counts = generator.integers(1, 4, size=(2, 6, 2))
    runs = [[generator.normal(size=(int(n.sum()), 2)) for n in run] for run in counts]
    kinds = [[np.repeat(["a", "b"], n) for n in run] for run in counts]
    data = tl.Snapshots(runs, TIMES, species=kinds)
    ones = tl.RadialFunctions([lambda r: np.ones_like(r)], reach=(0.0, 10.0))
    for v, phi in ((dict.fromkeys("ab", ones), {("a", "b"): ones}), (ones, {("a", "b"): ones})):
        moments = tl.accumulate(data, v, phi, coupling="sum", blocks=1, windows=1)
        np.testing.assert_allclose(moments.energy, 0.0, atol=1e-9)


def test_order_within_kinds_does_not_matter(data, fitted):
    mixed = tl.accumulate(data.shuffled(3), fitted.external_basis_, fitted.interaction_basis_)
    np.testing.assert_allclose(mixed.quadratic, fitted.moments_.quadratic, rtol=1e-9, atol=1e-12)


def test_swapped_names_swap_the_results(data):
    v = {"a": tl.RadialSplines(6), "b": tl.RadialSplines(5)}
    phi = {("a", "a"): tl.RadialSplines(7), ("a", "b"): tl.RadialSplines(5), ("b", "b"): tl.RadialSplines(6)}
    names = {"a": "z", "b": "c"}  # the order of the kinds changes
    swapped = tl.Snapshots(data.positions, data.times, species=[names[kind] for kind in data.species_of(0, 0)])
    first = tl.SelfTest(v, phi, sigma=1.0, regularization=1e-3).fit(data)
    second = tl.SelfTest(
        {names[kind]: basis for kind, basis in v.items()},
        {tuple(names[kind] for kind in pair): basis for pair, basis in phi.items()}, sigma=1.0, regularization=1e-3,
    ).fit(swapped)  # fmt: skip
    r = np.linspace(0.3, 2.0, 7)
    for kind, name in names.items():
        np.testing.assert_allclose(second.external_[name].slope(r), first.external_[kind].slope(r), atol=1e-7)
    np.testing.assert_allclose(second.interaction_["z", "c"].slope(r), first.interaction_["a", "b"].slope(r), atol=1e-7)
    np.testing.assert_allclose(second.interaction_["z", "z"].slope(r), first.interaction_["a", "a"].slope(r), atol=1e-7)


def test_each_family_is_adapted_to_its_own_kind(data, fitted):
    explored = explore(data)
    for member in members_of((fitted.external_basis_, fitted.interaction_basis_)):
        own = explored.of_kinds(member.kinds)
        sample = own.reached(("external", "interaction")[member.role])
        assert member.basis.upper == pytest.approx(np.quantile(sample, 0.999))
    radii = np.linalg.norm(data.positions[:, :, 4:], axis=-1)  # sorted by kind
    assert explored.of_kinds(("b",)).radii().mean() == pytest.approx(radii.mean(), rel=0.01)
    assert len(explored.of_kinds(("a", "b")).distances) == data.frames * 4 * 3
    assert len(explored.of_kinds(("b", "b")).distances) == data.frames * 3


def test_exploration_where_kinds_change_from_frame_to_frame():
    kinds = np.random.default_rng(0).choice(["a", "b"], size=(2, 6, 5))
    positions = np.random.default_rng(1).normal(size=(2, 6, 5, 2))
    regular = tl.Snapshots(positions, TIMES, species=kinds)
    ragged = tl.Snapshots([list(run) for run in positions], TIMES, species=[list(run) for run in kinds])
    for pair in (("a",), ("a", "b"), ("b", "b")):
        samples = [np.sort(explore(data).of_kinds(pair).distances) for data in (regular, ragged)]
        np.testing.assert_allclose(*samples)
    assert len(explore(regular).of_kinds(("a",)).positions) == (kinds == "a").sum()


def test_fits_have_potentials_with_bands(fitted):
    r = np.linspace(0.3, 1.5, 5)
    for potential in (fitted.external_["a"], fitted.external_["b"], fitted.interaction_["b", "a"]):
        lower, upper = potential.band(r)
        wider = potential.band(r, simultaneous=True)
        assert (lower < upper).all()
        assert (wider[0] < lower).all()
    assert len(fitted.posterior_.missed) == 5
    assert len(fitted.coef_) == 2 * 6 + 3 * 8
    first = fitted.interaction_basis_.members[0][1].combine(fitted.coef_[12:20])
    np.testing.assert_array_equal(fitted.interaction_["a", "a"].slope(r), first.slope(r))


def test_a_fit_of_two_kinds_that_do_not_meet_is_two_fits():
    """Alone in their traps, kinds have nothing in common: the prior of each is its own."""
    traps = tl.Model("traps", MODEL.external_basis, None, (0.5, 1.0))
    data = tl.simulate(traps, particles={"a": 3, "b": 2}, runs=40, step=1e-3)
    v = families()[0]
    both = tl.accumulate(data, v, None)
    found = posterior(Units.of(both, 1.0, "trapezoid"), (both.external, None), bands=False)
    assert [len(h) for h in found.hyperparameters] == [11, 11]
    prior = found.prior.copy()
    prior[:6, :6] = prior[6:, 6:] = 0
    assert not prior.any()
    np.testing.assert_array_equal(both.quadratic[..., :6, 6:], 0.0)


def test_bayes_factors_of_each_pair(fitted):
    units = fitted._units(fitted.moments_)
    both = (fitted.external_basis_, fitted.interaction_basis_)
    of_pair = log_bayes_factor(units, both, fitted.posterior_, 1, ("a", "b"))
    assert 3 < of_pair < log_bayes_factor(units, both, fitted.posterior_, 1)


def test_saving_and_loading(fitted, data, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    again = tl.load(tmp_path / "fit.trackless")
    r = np.linspace(0.3, 1.5, 5)
    np.testing.assert_array_equal(again.interaction_["a", "b"].band(r), fitted.interaction_["a", "b"].band(r))
    assert again.external_basis_ == fitted.external_basis_
    assert again.moments_.external.species == ("a", "b")
    assert again.score(data) == pytest.approx(fitted.score(data))
    tl.save(fitted.moments_, tmp_path / "moments.trackless")
    assert tl.load(tmp_path / "moments.trackless").interaction == fitted.interaction_basis_


def test_merged_data_are_the_data(data):
    whole = tl.accumulate(data, *families())
    parts = [tl.accumulate(part, whole.external, whole.interaction) for part in data.split(0.5)]
    merged, expected = (m.normal_equations(1.0).matrix for m in (parts[0] + parts[1], whole))
    np.testing.assert_allclose(merged, expected, rtol=1e-9, atol=1e-12)


def test_everything_else_a_fit_can_do(fitted, data):
    assert fitted.bootstrap(draws=5).shape == (5, len(fitted.coef_))
    found = fitted.identifiability()
    assert any("Phi of a and b" in sentence for sentence in found.sentences)
    assert sum(found.effective) == pytest.approx(fitted.posterior_.effective, rel=1e-6)
    assert len(found.explored[1]) == 3
    assert fitted.residual_test(data).passed
    v = dict.fromkeys("ab", tl.RadialSplines(6))
    with_it, without = (tl.SelfTest(v, phi, sigma=1.0, regularization="evidence")
                        for phi in ({("a", "b"): tl.RadialSplines(8)}, None))  # fmt: skip
    assert tl.compare(data, {"interacting": with_it, "not": without}).best == "interacting"
    errors = tl.gradient_errors(fitted, MODEL, data)
    assert list(errors.external) == ["a", "b"]
    assert errors.interaction["a", "b"] < 0.5
    plain = tl.SelfTest(tl.RadialSplines(6), None, sigma=1.0).fit(data)
    assert errors.external["b"] < tl.gradient_errors(plain, MODEL, data).external["b"]


def test_sigma_is_found(data):
    found = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, quadrature="auto").fit(data)
    assert abs(found.sigma_ - 1.0) < 5 * found.noise_.error
    assert found.noise_.error < 0.02


@pytest.mark.parametrize(
    ("v", "phi", "message"),
    [
        ({"a": 6, "d": 6}, None, "external: there is no species 'd'; there are a, b"),
        ({("a", "b"): 6}, None, "external: expected names of species"),
        (None, {"a": 6}, "interaction: expected pairs of species"),
        (None, {("b", "b"): 6}, "interaction of b and b: RadialSplines: there are no pairs"),
    ],
)
def test_species_that_are_not_there(v, phi, message):
    lone = tl.Snapshots(np.random.default_rng(0).normal(size=(3, 6, 4, 2)), TIMES, species=["a", "a", "a", "b"])
    given = [basis and {kinds: tl.RadialSplines(n) for kinds, n in basis.items()} for basis in (v, phi)]
    with pytest.raises(tl.InputError, match=message):
        tl.accumulate(lone, *given)


def test_other_species_are_refused(data, fitted):
    other = tl.Snapshots(data.positions, data.times, species=["a"] * 4 + ["c"] * 3)
    none = tl.Snapshots(data.positions, data.times)
    for wrong, message in ((other, "species a, b, these have a, c"), (none, "the data have none")):
        with pytest.raises(tl.InputError, match=message):
            fitted.score(wrong)
    moments = tl.accumulate(other, {"a": tl.RadialSplines(6), "c": tl.RadialSplines(6)}, None)
    with pytest.raises(tl.InputError, match="differ in external"):
        _ = moments + tl.accumulate(data, dict.fromkeys("ab", tl.RadialSplines(6)), None)
    with pytest.raises(tl.InputError, match="score: fitted for the species"):
        fitted.score(moments)


def test_families_of_two_sorts_are_refused(data):
    with pytest.raises(tl.InputError, match="families of one sort for all species"):
        tl.accumulate(data, {"a": tl.RadialSplines(5), "b": tl.TensorSplines(5)}, None)


def test_tensor_splines_of_kinds(data):
    moments = tl.accumulate(data, {"b": tl.TensorSplines(5)}, {("a", "b"): tl.TensorSplines(5)})
    tables = families_of(moments.external, moments.interaction, 2)
    assert [table.size for table in tables.external] == [0, moments.external_size]
    assert np.isfinite(moments.quadratic).all()


@pytest.mark.parametrize("setting", [{"dynamics": "discrete"}, {"debias": True}])
def test_what_is_not_for_species(data, setting):
    with pytest.raises(tl.InputError, match="not for potentials of each species"):
        tl.SelfTest(MODEL.external_basis, None, sigma=1.0, **setting).fit(data)
    with pytest.raises(tl.InputError, match="without following particles"):
        tl.LabeledMLE(MODEL.external_basis, None, sigma=1.0).fit(data)


@pytest.fixture(scope="module")
def found(data):
    return tl.fit(data)


def test_the_door_tells_species_apart(data, found):
    said = str(found.findings_)
    assert found.sigma_ == pytest.approx(1.0, abs=0.05)
    assert list(found.external_) == ["a", "b"]
    assert list(found.interaction_) == [("a", "a"), ("a", "b"), ("b", "b")]
    assert "V and Phi taken to be radial for every species" in said
    assert "there is an interaction of a and b" in said
    assert [len(factors) for factors in found.findings_.log_bayes_factors] == [2, 3]
    assert found.findings_.residual_test.passed
    assert tl.gradient_errors(found, MODEL, data).interaction["a", "b"] < 0.3


def test_the_findings_of_a_mixture_are_saved(found, tmp_path):
    found.save(tmp_path / "fit.trackless")
    again = tl.load(tmp_path / "fit.trackless")
    assert again.findings_.log_bayes_factors == found.findings_.log_bayes_factors
    assert again.identifiability().sentences == found.identifiability().sentences


def test_the_door_leaves_out_pairs_that_are_never_seen():
    data = tl.simulate(MODEL, particles={"a": 3, "b": 1}, runs=10, duration=0.2, step=1e-3)
    fitted = tl.fit(data, sigma=1.0, resolve=None)
    assert list(fitted.interaction_) == [("a", "a"), ("a", "b")]
    assert "never more than one b" in str(fitted.findings_)


def test_one_family_is_the_same_for_all_species(data):
    fitted = tl.fit(data, sigma=1.0, external=tl.RadialSplines(6), interaction=None, resolve=None)
    assert fitted.external_.slope(1.0) > 0
    assert fitted.findings_.log_bayes_factors[1] is None


def test_the_door_takes_dicts(data):
    phi = {("b", "a"): tl.RadialSplines(10)}
    fitted = tl.fit(data, sigma=1.0, external=tl.RadialSplines(6), interaction=phi, resolve=None)
    assert list(fitted.interaction_) == [("a", "b")]
    assert "there is an external potential: " in str(fitted.findings_)
    with pytest.raises(tl.InputError, match="not for potentials of each species"):
        tl.fit(data, sigma=1.0, dynamics="discrete")
