"""tl.fit and tl.compare: what is decided, said and refused."""

import numpy as np
import pytest

import trackless as tl
from trackless.shapes import Gaussian, ShiftedForce

MODEL = tl.models.reference()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=60, particles=6, step=1e-3, seed=2)


@pytest.fixture(scope="module")
def fitted(data):
    return tl.fit(data, sigma=1.0)


def test_nothing_needs_to_be_chosen(fitted, data):
    assert fitted.regularization == "evidence"
    errors = tl.gradient_errors(fitted, MODEL, data)
    assert errors.external < 0.25
    assert errors.interaction < 0.25
    for potential in (fitted.external_, fitted.interaction_):
        lower, upper = potential.band([0.8])
        assert lower < upper


def test_what_was_decided_is_said(fitted):
    said = str(fitted.findings_)
    assert "V is taken about the origin" in said
    assert "V radial, Phi radial" in said
    assert "there is an external potential: Bayes factor 10^" in said
    assert "there is an interaction: Bayes factor 10^" in said
    assert "all snapshots are used" in said
    assert min(fitted.findings_.log_bayes_factors) > 3
    assert len(fitted.findings_.comparison.names) == 3


def test_a_fit_survives_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert loaded.findings_.sentences == fitted.findings_.sentences
    assert loaded.findings_.comparison == fitted.findings_.comparison
    np.testing.assert_allclose(loaded.interaction_.band([0.5, 1.0]), fitted.interaction_.band([0.5, 1.0]))


def test_potentials_that_are_not_radial_are_noticed():
    data = tl.simulate(tl.models.anisotropic(), runs=60, step=1e-3, seed=1)
    fitted = tl.fit(data, sigma=1.0)
    assert isinstance(fitted.external_basis_, tl.TensorSplines)
    assert "V free" in "\n".join(fitted.findings_.sentences)


def test_particles_elsewhere(data):
    moved = tl.Snapshots(data.positions + np.array([5.0, -3.0]), data.times)
    fitted = tl.fit(moved, sigma=1.0, interaction="radial", external="radial")
    assert "about the mean position, (" in fitted.findings_.sentences[0]
    np.testing.assert_allclose(fitted.external_.origin, [5.0, -3.0], atol=0.1)
    assert fitted.findings_.comparison is None
    given = tl.fit(moved, sigma=1.0, interaction="radial", external="radial", center=(5.0, -3.0))
    np.testing.assert_array_equal(given.external_.origin, [5.0, -3.0])


def test_told_and_not_asked(data):
    fitted = tl.fit(data, sigma=1.0, external="free", interaction=None)
    assert isinstance(fitted.external_basis_, tl.TensorSplines)
    assert fitted.interaction_ is None
    assert fitted.findings_.log_bayes_factors[1] is None
    assert "V is taken about" not in str(fitted.findings_)
    alone = tl.fit(data, sigma=1.0, interaction=None)
    assert "V free: held-out" in str(alone.findings_) or "V radial: " in str(alone.findings_)
    assert "Phi" not in str(alone.findings_)
    own = tl.fit(data, sigma=1.0, external=MODEL.external_basis, interaction=MODEL.interaction_basis, resolve=None)
    assert len(own.coef_) == 4
    assert own.resolution_ is None


def test_a_force_of_either_kind_is_not_called_none():
    """A cloud that stays together: a trap or an attraction alone explains it, so neither is needed, but one is."""
    data = tl.Snapshots(np.random.default_rng(0).normal(size=(20, 50, 8, 2)), 0.1 * np.arange(50))
    fitted = tl.fit(data, sigma=1.0)
    assert max(fitted.findings_.log_bayes_factors) < 3
    assert "but there is a force: either potential can stand in for the other" in str(fitted.findings_)
    alone = tl.fit(data, sigma=1.0, interaction=None)
    assert alone.findings_.log_bayes_factors[0] > 3


def test_a_cutoff_is_kept(data):
    fitted = tl.fit(data, sigma=1.0, external="radial", interaction="radial", cutoff=2.0)
    assert abs(fitted.interaction_.slope(2.5)) < 1e-9


def test_beyond_two_dimensions_radial_is_assumed_and_said():
    data = tl.simulate(MODEL, runs=20, particles=5, dim=3, duration=0.3, step=1e-3, seed=1)
    fitted = tl.fit(data, sigma=1.0)
    assert any("taken to be radial" in sentence for sentence in fitted.findings_.sentences)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": "loud"}, "sigma: expected a number"),
        ({"dynamics": "jumps"}, "dynamics: expected 'continuous' or 'discrete'"),
        ({"debias": "yes"}, "debias: expected True or False"),
        ({"sigma": 1.0, "external": "splines"}, "external: expected 'auto', 'radial', 'free', a basis or None"),
        ({"sigma": 1.0, "interaction": 3}, "interaction: expected 'auto'"),
        ({"sigma": 1.0, "coupling": "average"}, "coupling: expected 'mean', 'sum' or 'auto'"),
        ({"sigma": 1.0, "resolve": "no"}, "resolve: expected 'auto' or None"),
        ({"sigma": 1.0, "quadrature": "simpson"}, "quadrature: expected"),
    ],
)
def test_impossible_wishes(data, options, message):
    with pytest.raises(tl.InputError, match=message):
        tl.fit(data, **options)


def test_arrays_must_be_wrapped(data):
    with pytest.raises(tl.InputError, match=r"wrap arrays in tl\.Snapshots"):
        tl.fit(data.positions, sigma=1.0)


# Comparing


def candidates():
    v, phi = tl.RadialSplines(8), tl.RadialSplines(20)
    return {
        "oracle": tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0),
        "splines": tl.SelfTest(v, phi, sigma=1.0, regularization="evidence"),
        "no interaction": tl.SelfTest(v, None, sigma=1.0, regularization="evidence"),
        "no external": tl.SelfTest(None, phi, sigma=1.0, regularization="evidence"),
    }


def test_candidates_are_ranked_without_a_truth(data):
    found = tl.compare(data, candidates())
    assert found.names[:2] == ("oracle", "splines")
    assert found.best == "oracle"
    assert found.behind[0] == found.errors[0] == 0.0
    assert all(a >= b for a, b in zip(found.scores[:-1], found.scores[1:], strict=True))
    assert found.clearly("oracle", "no interaction")
    assert not found.clearly("splines", "oracle")
    assert "behind the best" in str(found)
    assert "no external" in str(found)


def test_scores_are_those_of_fits_that_did_not_see(data):
    """By hand: fit one half of the blocks, score the other."""
    found = tl.compare(data, dict(list(candidates().items())[:2]), folds=2)
    losses = []
    for k in (0, 1):
        runs = np.arange(data.runs)
        train, test = (tl.Snapshots(data.positions[runs % 2 == p], data.times) for p in (1 - k, k))
        estimator = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(train)
        losses.append(estimator.score(test))
    assert found.scores[found.names.index("oracle")] == pytest.approx(np.mean(losses), rel=1e-3)


def test_one_run_is_compared_by_time_windows():
    data = tl.simulate(MODEL, runs=1, particles=30, step=1e-3, seed=2)
    v = tl.RadialSplines(6)
    found = tl.compare(data, {"both": tl.SelfTest(v, tl.RadialSplines(8), 1.0), "alone": tl.SelfTest(v, None, 1.0)})
    assert len(found.names) == 2


def test_a_fit_that_failed_in_one_fold_does_not_decide():
    from trackless.comparison import _Losses

    folds = np.arange(40) % 2
    unlucky = _Losses(np.where(folds == 0, 0.3, 3.0) + 0.1 * np.sin(np.arange(40)), folds)
    assert unlucky.error() < 0.25  # 1.65 on average: seven standard errors of the parts
    assert unlucky.by_fold().error() > 1.3


def test_other_estimators_are_compared_fold_by_fold(data):
    class Nothing(tl.NeuralSelfTest):
        def fit(self, X, y=None):
            return self

        def score(self, X, y=None):
            return 0.0

    found = tl.compare(data, {"nothing": Nothing(sigma=1.0), "splines": candidates()["splines"]}, folds=3)
    assert found.best == "splines"
    assert found.scores[1] == 0.0


def test_impossible_comparisons(data):
    both = candidates()
    with pytest.raises(tl.InputError, match="at least two candidates"):
        tl.compare(data, {"one": both["oracle"]})
    with pytest.raises(tl.InputError, match="same sigma and coupling"):
        tl.compare(data, {"a": both["oracle"], "b": tl.SelfTest(MODEL.external_basis, sigma=2.0)})
    with pytest.raises(tl.InputError, match="folds: expected at least 2"):
        tl.compare(data, both, folds=1)
    with pytest.raises(tl.InputError, match="there is no candidate 'best'"):
        tl.compare(data, both).clearly("best", "oracle")


@pytest.fixture(scope="module")
def crowd():
    """Particles that repel each other in a periodic box: there is no V."""
    soft = tl.Model("soft", None, tl.RadialFunctions([ShiftedForce(4.0 * Gaussian(0.0, 0.5), 1.5)]), (1.0,))
    return tl.simulate(
        soft, particles=20, runs=12, duration=0.5, step=1e-2, observe_every=1e-2, box=5.0, initial="lattice",
        coupling="sum",
    )  # fmt: skip


def test_in_a_periodic_box_there_is_no_external_potential(crowd):
    fitted = tl.fit(crowd, sigma=1.0, coupling="sum", cutoff=1.5)
    assert fitted.external_ is None
    assert any("V is taken to be flat" in sentence for sentence in fitted.findings_.sentences)
    mean = fitted.converted("mean")
    r = np.array([0.6, 0.9])
    np.testing.assert_allclose(mean.interaction_.slope(r), 20 * fitted.interaction_.slope(r))
    np.testing.assert_allclose(mean.interaction_.band(r), 20 * np.array(fitted.interaction_.band(r)))


@pytest.mark.parametrize("cutoff", [-1.0, 0.0, 2.6, np.inf])
def test_a_cutoff_in_a_box_has_a_range_that_is_said(crowd, cutoff):
    with pytest.raises(tl.InputError, match=r"cutoff: expected a distance above 0 and at most 2\.5, half the shortest"):
        tl.fit(crowd, sigma=1.0, coupling="sum", cutoff=cutoff)


def test_pairs_that_cannot_be_told_apart_must_be_nearer_than_the_cutoff(crowd):
    with pytest.raises(tl.InputError, match=r"exclude_below: 2 is not below 1\.5"):
        tl.fit(crowd, sigma=1.0, coupling="sum", cutoff=1.5, exclude_below=2.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"external": None, "center": "mean"}, r"center: no V is learnt, so that center='mean' would mean nothing"),
        ({"external": None, "center": (0.0, 0.0)}, "center: no V is learnt"),
        ({"external": "free", "center": "fit"}, "center: a V that is free has no centre"),
        ({"external": tl.RadialSplines(6), "center": (1.0, 2.0)}, r"center: V is of a given family.*RadialSplines\(ce"),
        ({"center": "mean"}, "center: no V is learnt"),  # in a box it is left out
        ({"external": "radial", "interaction": None, "cutoff": 1.0}, "cutoff: no Phi is learnt, so that cutoff=1"),
    ],
)
def test_what_would_mean_nothing_is_refused(crowd, settings, message):
    with pytest.raises(tl.InputError, match=message):
        tl.fit(crowd, sigma=1.0, coupling="sum", **settings)


def test_mean_coupling_is_among_the_findings_of_a_mixture():
    """Phi of a pair of species is then N times the potential of a pair, N those of all species."""
    data = tl.simulate(tl.models.mixture(), runs=20, duration=0.2, step=1e-3)
    said = tl.fit(data, sigma=1.0).findings_.sentences
    many = int(data.counts_of(0)[0])
    assert any(one.startswith("mean coupling") and f"Phi is N = {many} times" in one for one in said)


def test_particles_in_one_place_are_among_the_findings():
    data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3, seed=1)
    twice = data.positions.copy()
    twice[:, :, 1] = twice[:, :, 0]
    settings = {"sigma": 1.0, "external": "radial", "interaction": "radial"}
    for positions, said in ((data.positions, False), (twice, True)):
        found = tl.fit(tl.Snapshots(positions, data.times), **settings).findings_.sentences
        assert any("has one been detected twice?" in one for one in found) is said
