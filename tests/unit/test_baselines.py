"""The trajectory-based baselines: displacements regressed on forces, with labels or after matching."""

import numpy as np
import pytest
import twins
from sklearn.base import clone

import trackless as tl
from trackless import pieces
from trackless.matching import METHODS, Matching, Tally, diffusion_of
from trackless.shapes import Gaussian, Power

MODEL = tl.models.reference()
BASES = (MODEL.external_basis, MODEL.interaction_basis)
MATCHERS = ("sinkhorn", "assignment", "barycentric")
EXTERNAL = tl.RadialFunctions([Power(2), Gaussian(0.6, 0.4)])
DENSE = tl.RadialFunctions([Gaussian(0.75, 0.3), Gaussian(1.5, 0.4)])
SPLINES = tl.RadialSplines(9, lower=0.0, upper=1.8)
LABELS = Matching("labels")
ASSIGNMENT = Matching("assignment")


def walks(particles=5, dim=2, runs=3, times=7, step=0.1, seed=0, box=None, shift=0.0):
    """Labeled random walks: regular, or with the given array of times."""
    times = np.arange(times) * 0.1 if np.ndim(times) == 0 else np.asarray(times)
    generator = np.random.default_rng(seed)
    start = 0.8 * generator.standard_normal((runs, 1, particles, dim))
    moves = step * generator.standard_normal((runs, len(times), particles, dim))
    return tl.Snapshots(shift + start + moves.cumsum(axis=1), times, box, labeled=True)


def ragged(counts_per_run, seed=3):
    """Walkers of which some come and go, at irregular times; in one run they stay the same."""
    generator = np.random.default_rng(seed)
    runs, times = [], []
    for counts in counts_per_run:
        walkers = 0.8 * generator.standard_normal((max(counts), 2))
        frames = []
        for n in counts:
            walkers = walkers + 0.1 * generator.standard_normal(walkers.shape)
            frames.append(generator.permutation(walkers)[:n])
        runs.append(frames)
        times.append(np.cumsum(generator.uniform(0.05, 0.2, len(counts))))
    return tl.Snapshots(runs, times)


CHANGING = [(4, 5, 3, 6), (2, 1, 7, 3, 3, 4), (5, 0, 2)]


def partners(x, y):
    """The exact assignment, by the matching itself: test_matching compares it with scipy."""
    return ASSIGNMENT.pair(x, y) if len(x) else np.zeros(0, int)


def assert_as_twin(snapshots, external, interaction, coupling="mean", windows=1, matching=LABELS, partner_of=None):
    """Sums per run and window, and the normal equations of all, as in the twin."""
    moments = tl.accumulate(snapshots, external, interaction, coupling, windows, snapshots.runs, matching)
    bases = (moments.external, moments.interaction)
    expected = twins.motion_of(snapshots, *bases, coupling, windows, partner_of)
    if not snapshots.labeled:
        expected["right"][:] = np.nan
    left = {name: getattr(moments, name)[:, :, 0, 0] for name in ("quadratic", "weight")}
    found = left | {"work": moments.work} | Tally(*np.moveaxis(moments.tally, -1, 0))._asdict()
    for name, values in expected.items():
        scale = np.nan_to_num(np.abs(values)).max()
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=1e-10 * scale, err_msg=name)
    equations = moments.motion_equations()
    total = expected["weight"].sum()
    matrix, vector = expected["quadratic"].sum(axis=(0, 1)) / total, -expected["work"].sum(axis=(0, 1)) / total
    np.testing.assert_allclose(equations.matrix, matrix, rtol=1e-10, atol=1e-10 * np.abs(matrix).max())
    np.testing.assert_allclose(equations.vector, vector, rtol=1e-10, atol=1e-10 * np.abs(vector).max())
    assert equations.external == (bases[0].size if bases[0] is not None else 0)


# Normal equations of labeled data


@pytest.mark.parametrize("coupling", ["mean", "sum"])
@pytest.mark.parametrize(
    ("external", "interaction"),
    [
        pytest.param(EXTERNAL, DENSE, id="dense"),
        pytest.param(SPLINES, SPLINES, id="splines"),
        pytest.param(tl.RadialSplines(6), tl.GaussianRBF(7), id="open ranges"),
        pytest.param(tl.TensorSplines(5), tl.TensorSplines(6), id="tensor"),
        pytest.param(tl.TensorSplines(5), SPLINES, id="tensor and radial"),
        pytest.param(EXTERNAL, None, id="no interaction"),
        pytest.param(None, SPLINES, id="no external"),
    ],
)
def test_equations_on_every_kind_of_family(external, interaction, coupling):
    assert_as_twin(walks(), external, interaction, coupling)


@pytest.mark.parametrize("particles", [2, 5, 150])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_equations_in_every_dimension(dim, particles):
    assert_as_twin(walks(particles, dim, runs=2, times=3), EXTERNAL, SPLINES)


@pytest.mark.parametrize("windows", [1, 3])
def test_equations_at_irregular_times(windows):
    times = np.cumsum(np.random.default_rng(1).uniform(0.01, 0.3, 10))
    assert_as_twin(walks(4, times=times), SPLINES, DENSE, windows=windows)


def test_equations_in_a_periodic_box():
    box = (3.0, 4.5)
    wrapped = tl.Snapshots(np.mod(walks(8, shift=0.2).positions, box), np.arange(7) * 0.1, box, labeled=True)
    assert np.abs(np.diff(wrapped.positions, axis=1)).max() > 2.0  # somebody crossed a side
    center = tl.RadialFunctions(EXTERNAL.functions, center=(1.5, 1.5))
    assert_as_twin(wrapped, center, tl.RadialSplines(8, lower=0.0, cutoff=1.5))
    assert_as_twin(wrapped, center, None, matching=ASSIGNMENT, partner_of=lambda x, y: ASSIGNMENT.pair(x, y, box=box))


def test_equations_of_matched_particles():
    data = walks(12, step=0.3)
    assert_as_twin(data, EXTERNAL, SPLINES, matching=ASSIGNMENT, partner_of=partners)
    tally = tl.accumulate(data, EXTERNAL, SPLINES, matching=ASSIGNMENT).tally.sum(axis=(0, 1))
    assert 0.2 < tally[2] / tally[1] < 0.9  # some of them wrongly


def test_the_matrix_is_the_self_tests_under_the_left_rule():
    data = walks()
    matrix = tl.accumulate(data, EXTERNAL, SPLINES).normal_equations(1.0, "left").matrix
    equations = tl.accumulate(data, EXTERNAL, SPLINES, matching=LABELS).motion_equations()
    np.testing.assert_allclose(equations.matrix, matrix, rtol=1e-12)


# Adding and cutting


@pytest.mark.parametrize("method", METHODS)
def test_windows_and_blocks_add_up(method):
    data, matching = walks(runs=6, times=13), Matching(method, epsilon=0.02)
    whole = tl.accumulate(data, EXTERNAL, SPLINES, windows=1, blocks=1, matching=matching)
    for windows, blocks in ((1, 6), (4, 1), (5, 3), (12, 6)):
        parts = tl.accumulate(data, EXTERNAL, SPLINES, windows=windows, blocks=blocks, matching=matching)
        assert parts.work.shape == (blocks, windows, whole.size)
        assert parts.tally.shape == (blocks, windows, 5)
        for name in ("work", "tally"):
            summed = getattr(parts, name).sum(axis=(0, 1))
            np.testing.assert_allclose(summed, getattr(whole, name)[0, 0], rtol=1e-10, atol=1e-12)
        for values, expected in zip(parts.motion_equations(), whole.motion_equations(), strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


def test_marked_blocks_and_windows_are_those_of_their_data():
    data = walks(runs=4, times=9)
    moments = tl.accumulate(data, EXTERNAL, DENSE, windows=2, blocks=4, matching=LABELS)
    part = np.zeros((4, 2), bool)
    part[1:3, 0] = True
    alone = tl.accumulate(data[1:3].between(0.0, 0.4), EXTERNAL, DENSE, matching=LABELS).motion_equations()
    np.testing.assert_allclose(moments.motion_equations(part).matrix, alone.matrix, rtol=1e-10)
    np.testing.assert_allclose(moments.motion_equations(part).vector, alone.vector, rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_moments_of_parts_add_up_to_the_joint_ones(method):
    data, matching = walks(runs=6), Matching(method, epsilon=0.02)
    joint = tl.accumulate(data, EXTERNAL, SPLINES, windows=2, matching=matching)
    added = sum(tl.accumulate(part, EXTERNAL, SPLINES, windows=2, matching=matching) for part in data.split(parts=3))
    np.testing.assert_allclose(added.work, joint.work, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(added.tally, joint.tally, rtol=1e-10)
    np.testing.assert_allclose(added.motion_equations().vector, joint.motion_equations().vector, rtol=1e-10)


def test_equations_of_combined_functions_and_of_fewer_blocks():
    moments = tl.accumulate(walks(runs=6), EXTERNAL, DENSE, matching=LABELS)
    before = moments.motion_equations()
    change = np.array([[1.0, 2.0], [0.5, -1.0]])
    both = np.kron(np.eye(2), change)
    after = moments.transformed((EXTERNAL, change), (DENSE, change)).motion_equations()
    np.testing.assert_allclose(after.matrix, both.T @ before.matrix @ both, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(after.vector, before.vector @ both, rtol=1e-10)
    fewer = moments.coarsened(2)
    assert len(fewer.work) == len(fewer.tally) == 2
    np.testing.assert_allclose(fewer.motion_equations().vector, before.vector, rtol=1e-10)
    first = tl.accumulate(walks(runs=6)[:3], moments.external, moments.interaction, matching=LABELS)
    chosen = moments.select(blocks=slice(3))
    np.testing.assert_allclose(chosen.motion_equations().vector, first.motion_equations().vector, rtol=1e-10)


def test_moments_with_other_matchings_do_not_add():
    data = walks()
    moments = [tl.accumulate(data, EXTERNAL, SPLINES, matching=matching) for matching in (LABELS, ASSIGNMENT, None)]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        with pytest.raises(tl.InputError, match="moments differ in matching"):
            moments[a] + moments[b]


@pytest.mark.parametrize("kind", ["regular", "own times", "changing numbers"])
@pytest.mark.parametrize("windows", [1, 2])
@pytest.mark.parametrize("task_points", [1, 12, 60])
def test_no_interval_is_lost_between_pieces(monkeypatch, task_points, windows, kind):
    data = walks(4, times=12)
    if kind == "own times":
        data = tl.Snapshots(list(data.positions), list(np.add.outer(np.arange(3), data.times)), labeled=True)
    if kind == "changing numbers":
        data = ragged([(4, 5, 3, 6, 4, 4, 0, 3), (6, 6, 5, 5, 5, 4, 7)])
    coupling = "sum" if kind == "changing numbers" else "mean"
    options = {"coupling": coupling, "windows": windows, "blocks": data.runs, "matching": ASSIGNMENT}
    expected = tl.accumulate(data, SPLINES, DENSE, **options)
    monkeypatch.setattr(pieces, "TASK_POINTS", task_points)
    monkeypatch.setattr(pieces, "BATCH_POINTS", 40)
    cut = tl.accumulate(data, SPLINES, DENSE, **options)
    assert max(len(window) for window in pieces._pieces(data, 0, windows)) > (1 if task_points < 60 else 0)
    for name in ("work", "tally", "weight", "quadratic"):
        np.testing.assert_allclose(getattr(cut, name), getattr(expected, name), rtol=1e-10, atol=1e-12, err_msg=name)
    assert_as_twin(data, SPLINES, DENSE, coupling, windows, ASSIGNMENT, partners)


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_does_not_matter(monkeypatch, method):
    monkeypatch.setattr(pieces, "TASK_POINTS", 20)
    data, matching = walks(runs=8), Matching(method, epsilon=0.02)
    found = []
    try:
        for threads in (1, 2, 5):
            tl.set_threads(threads)
            found.append(tl.accumulate(data, EXTERNAL, SPLINES, matching=matching))
    finally:
        tl.set_threads(None)
    for other in found[1:]:
        np.testing.assert_array_equal(other.work, found[0].work)
        np.testing.assert_array_equal(other.tally, found[0].tally)


# Estimators


@pytest.fixture(scope="module")
def data():
    """Labeled, at a dt at which matching is mostly right."""
    return tl.simulate(MODEL, particles=6, runs=30, duration=0.1, step=1e-3, observe_every=1e-3, labeled=True, seed=1)


@pytest.fixture(scope="module")
def labeled(data):
    return tl.LabeledMLE(*BASES).fit(data)


@pytest.fixture(scope="module")
def matched(data):
    return tl.SinkhornMLE(*BASES).fit(data)


@pytest.fixture(params=["labeled", "matched"])
def fitted(request):
    return request.getfixturevalue(request.param)


def test_coefficients_solve_the_motion_equations(fitted):
    equations = fitted.moments_.motion_equations()
    residual = equations.matrix @ fitted.coef_ + fitted.lambda_ * fitted.coef_ - equations.vector
    np.testing.assert_allclose(residual, 0.0, atol=1e-10)
    assert fitted.loss_ == equations.loss(fitted.coef_) < 0
    r = np.linspace(0.1, 2.0, 30)
    np.testing.assert_allclose(fitted.external_.profile(r), fitted.coef_[0] * r + fitted.coef_[1] * r**2)


def test_without_noise_and_with_a_tiny_step_the_truth_is_found():
    silent = tl.Model("silent", *BASES, MODEL.coefficients, sigma=0.0)
    data = tl.simulate(silent, particles=5, runs=10, duration=0.1, step=1e-4, observe_every=1e-4, labeled=True)
    labels = tl.LabeledMLE(*BASES, regularization=0.0).fit(data)
    np.testing.assert_allclose(labels.coef_, MODEL.true_coef, rtol=1e-4)  # the same scheme made the data
    assert labels.sigma_ < 1e-4
    guessed = tl.SinkhornMLE(*BASES, matching="assignment", regularization=0.0).fit(data.shuffled())
    np.testing.assert_allclose(guessed.coef_, labels.coef_, rtol=1e-9)


def test_moments_serve_in_place_of_snapshots(data, fitted):
    again = clone(fitted).fit(fitted.moments_)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    assert again.sigma_ == fitted.sigma_
    without_bases = type(fitted)().fit(fitted.moments_)
    np.testing.assert_array_equal(without_bases.coef_, fitted.coef_)


def test_renaming_particles_for_good_changes_nothing(data, labeled, matched):
    order = np.random.default_rng(4).permutation(6)
    renamed = tl.Snapshots(data.positions[:, :, order], data.times, labeled=True)
    for before in (labeled, matched):
        after = clone(before).fit(renamed)
        np.testing.assert_allclose(after.coef_, before.coef_, rtol=1e-9)
        assert after.sigma_ == pytest.approx(before.sigma_, rel=1e-10)
        assert after.matched_fraction_ == pytest.approx(before.matched_fraction_, rel=1e-12)


@pytest.mark.parametrize("matching", MATCHERS)
def test_shuffling_particles_does_not_change_what_matching_finds(data, matching):
    estimator = tl.SinkhornMLE(*BASES, sigma=1.0, matching=matching, regularization=0.0)
    tidy, mixed = clone(estimator).fit(data), clone(estimator).fit(data.shuffled(seed=8))
    # Sums in another order stop a plan a sweep earlier or later, which mean targets feel and permutations do not.
    np.testing.assert_allclose(mixed.coef_, tidy.coef_, rtol=2e-3 if matching == "barycentric" else 1e-10)
    assert tidy.matched_fraction_ > 0.9
    assert mixed.matched_fraction_ is None
    assert mixed.dropped_fraction_ == tidy.dropped_fraction_ == 0.0


def test_shuffling_spoils_labels(data, labeled):
    lied = tl.Snapshots(data.shuffled().positions, data.times, labeled=True)
    assert np.abs(tl.LabeledMLE(*BASES).fit(lied).coef_ - labeled.coef_).max() > 10


def test_labels_are_right_by_definition(labeled, matched):
    assert labeled.matched_fraction_ == 1.0
    assert labeled.matching_report_ == "followed 18,000 of 18,000 particles to the next snapshot"
    assert matched.matching_report_.startswith("followed 18,000 of 18,000 particles to the next snapshot; ")
    assert matched.matching_report_.endswith(f"{matched.matched_fraction_:.2%} of them rightly, as the labels tell")


def test_matched_fraction_counts_the_right_matches(data, matched):
    ready = Matching(sigma=diffusion_of(data, Matching()))
    right = total = 0
    for m in range(3):
        for i in range(100):
            partner = ready.pair(data.frame(m, i), data.frame(m, i + 1), dt=1e-3)
            right, total = right + np.sum(partner == np.arange(6)), total + 6
    part = tl.SinkhornMLE(*BASES, sigma=ready.sigma, regularization=1e-6).fit(data[:3])
    assert part.matched_fraction_ == right / total < 1


def test_matching_fails_where_particles_move_farther_than_their_spacing(data, matched):
    coarse = tl.SinkhornMLE(*BASES, sigma=1.0).fit(data.every(50))
    assert coarse.matched_fraction_ < 0.8 < 0.95 < matched.matched_fraction_


# Particles that come and go


def test_equations_of_changing_numbers_use_the_matched_ones():
    for windows in (1, 2):
        assert_as_twin(ragged(CHANGING), EXTERNAL, SPLINES, "sum", windows, ASSIGNMENT, partners)
    reach = Matching("assignment", max_distance=0.15)
    near = lambda x, y: reach.pair(x, y) if len(x) else np.zeros(0, int)  # noqa: E731
    assert_as_twin(ragged(CHANGING), EXTERNAL, SPLINES, "sum", 1, reach, near)


@pytest.mark.parametrize("matching", ["sinkhorn", "assignment"])
def test_dropped_fraction_by_hand(matching):
    """Of 4+5+3 | 2+1+7+3+3 | 5+0 particles 4+3+3 | 1+1+3+3+3 | 0 can be followed."""
    fit = tl.SinkhornMLE(EXTERNAL, DENSE, sigma=0.3, matching=matching, coupling="sum", regularization=1e-3)
    fit.fit(ragged(CHANGING))
    assert fit.tally_[:2] == (33, 21)
    assert fit.dropped_fraction_ == pytest.approx(12 / 33)
    assert fit.matched_fraction_ is None
    dropped = (
        "followed 21 of 33 particles to the next snapshot; "
        "36.36% dropped, because the next snapshot has fewer or none within reach"
    )
    assert fit.matching_report_.startswith(f"{dropped}; where particles come and go")
    assert "set max_distance" in fit.matching_report_
    assert fit.set_params(max_distance=1e6).fit(ragged(CHANGING)).matching_report_ == dropped


def test_asking_an_unfitted_estimator():
    for name in ("tally_", "matched_fraction_", "dropped_fraction_", "matching_report_"):
        with pytest.raises(tl.InputError, match="not fitted yet"):
            getattr(tl.SinkhornMLE(), name)


def test_nothing_moves():
    """Frozen particles: no displacement, no force, no warning."""
    frozen = tl.Snapshots(np.broadcast_to(np.random.default_rng(0).normal(size=(1, 1, 5, 2)), (3, 4, 5, 2)).copy(),
                          np.arange(4.0), labeled=True)  # fmt: skip
    assert (tl.LabeledMLE(EXTERNAL, None).fit(frozen).coef_ == 0).all()


def test_mean_targets_where_numbers_change():
    fit = tl.SinkhornMLE(EXTERNAL, DENSE, sigma=0.3, matching="barycentric", coupling="sum", regularization=1e-3)
    fit.fit(ragged(CHANGING))
    assert np.isfinite(fit.coef_).all()
    assert 0 < fit.tally_.matched < fit.tally_.particles == 33


def test_an_unfinished_plan_is_reported(data):
    moments = tl.accumulate(data[:2], *BASES, matching=Matching(sigma=5.0, tolerance=1e-12, sweeps=1))
    fit = tl.SinkhornMLE().fit(moments)
    assert fit.tally_.unfinished == 200
    assert "200 transport plans did not reach their tolerance" in fit.matching_report_


def test_particles_out_of_reach_are_dropped(data):
    moves = np.linalg.norm(np.diff(data.positions, axis=1), axis=-1)
    fit = tl.SinkhornMLE(*BASES, matching="assignment", max_distance=0.07).fit(data)
    assert 0.05 < fit.dropped_fraction_ == pytest.approx(np.mean(moves > 0.07), abs=0.02)
    assert f"{fit.dropped_fraction_:.2%} dropped" in fit.matching_report_


# sigma_


@pytest.mark.parametrize(
    ("matching", "reach"), [("labels", None), *((matching, reach) for matching in MATCHERS for reach in (None, 0.07))]
)
def test_sigma_is_the_root_mean_square_of_the_residuals(data, matching, reach):
    """sigma^2 = mean of |X' - X + dt F theta|^2 / (d dt) over who was followed, under the plan if there is one."""
    part = data[:5]
    guessing = tl.SinkhornMLE(*BASES, matching=matching, max_distance=reach)
    fit = (tl.LabeledMLE(*BASES) if matching == "labels" else guessing).fit(part)
    ready = Matching(matching, max_distance=reach).resolved(part)
    functions = [twins.functions_of(basis) for basis in (fit.external_basis_, fit.interaction_basis_)]
    total = followed = right = 0.0
    for m in range(5):
        points, starts, first = np.concatenate(part.positions[m]), np.arange(102) * 6, np.arange(100)
        moves = ready.moves(points, starts, first, first + 1, np.full(100, 1e-3), None)
        drift = 1e-3 * np.concatenate([twins.forces(x, *functions, 1 / 6) @ fit.coef_ for x in part.positions[m, :-1]])
        moved, kept = moves.displacement[:600], moves.matched[:600] > 0
        total += np.sum((2 * drift * moved + drift**2)[kept]) / 1e-3 + moves.squared.sum() / 1e-3
        followed, right = followed + kept.sum(), right + moves.right.sum()
    assert (followed == 5 * 100 * 6) == (reach is None)
    assert fit.sigma_ == pytest.approx(np.sqrt(total / (2 * followed)), rel=1e-8)
    assert fit.matched_fraction_ == pytest.approx(right / followed, rel=1e-12)


def test_sigma_is_near_the_truth_at_a_small_step(labeled, matched):
    assert labeled.sigma_ == pytest.approx(1.0, rel=0.02)
    assert matched.sigma_ == pytest.approx(1.0, rel=0.05)


def test_epsilon_may_be_given_instead_of_sigma(data):
    fits = [
        tl.SinkhornMLE(*BASES, matching="barycentric", regularization=0.0, **options).fit(data[:3]).coef_
        for options in ({"sigma": 2.0}, {"epsilon": 8e-3}, {"epsilon": 2e-3})
    ]
    np.testing.assert_allclose(fits[1], fits[0], rtol=1e-3)
    assert np.abs(fits[2] - fits[0]).max() > 0.1


def test_a_given_sigma_is_kept(data, labeled):
    given = tl.LabeledMLE(*BASES, sigma=0.5).fit(data)
    assert given.sigma_ == 0.5
    np.testing.assert_array_equal(given.coef_, labeled.coef_)
    assert tl.SinkhornMLE(*BASES, sigma=0.9).fit(data).sigma_ == 0.9


# Other data


@pytest.mark.parametrize(("particles", "dim"), [(2, 2), (6, 1), (6, 3)])
def test_other_sizes_and_dimensions(particles, dim):
    smooth = tl.Model("smooth", tl.RadialFunctions([Power(2)]), tl.RadialFunctions([Gaussian(0.0, 0.5)]), (1.0, 2.0))
    bases = (smooth.external_basis, smooth.interaction_basis)
    options = {"runs": 200, "duration": 0.2, "step": 2e-3, "observe_every": 2e-3, "labeled": True, "seed": 5}
    data = tl.simulate(smooth, particles=particles, dim=dim, **options)
    labels, guess = tl.LabeledMLE(*bases).fit(data), tl.SinkhornMLE(*bases).fit(data.shuffled())
    np.testing.assert_allclose(labels.coef_, smooth.true_coef, atol=0.3)
    assert labels.sigma_ == pytest.approx(1.0, rel=0.02)
    assert np.isfinite(guess.coef_).all()
    if dim == 3:  # there is room to tell them apart
        np.testing.assert_allclose(guess.coef_, smooth.true_coef, atol=0.3)


def test_single_precision(data, labeled, matched):
    single = tl.Snapshots(data.positions.astype(np.float32), data.times, labeled=True)
    np.testing.assert_allclose(clone(labeled).fit(single).coef_, labeled.coef_, rtol=1e-5)
    np.testing.assert_allclose(clone(matched).fit(single).coef_, matched.coef_, rtol=1e-5)


def test_units():
    """Positions times c and times times c^2 at fixed sigma is the same system; forces have the unit 1/c."""
    data, c = walks(6, step=0.05), 1e3
    scaled = tl.Snapshots(c * data.positions, c**2 * data.times, labeled=True)
    trap, soft, wide = (tl.RadialFunctions([f]) for f in (Power(2), Gaussian(0.0, 0.5), Gaussian(0.0, 0.5 * c)))
    for estimator in (tl.LabeledMLE, tl.SinkhornMLE):
        before = estimator(trap, soft, regularization=0.0).fit(data)
        after = estimator(trap, wide, regularization=0.0).fit(scaled)
        np.testing.assert_allclose(after.coef_ * [c**2, 1.0], before.coef_, rtol=1e-5)
        assert after.sigma_ == pytest.approx(before.sigma_, rel=1e-6)
        assert after.matched_fraction_ == before.matched_fraction_


# scikit-learn's conventions, files


def test_clone_copies_parameters_and_nothing_learnt(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not any(name.endswith("_") for name in vars(copy))
    assert clone(copy.set_params(sigma=0.5)).sigma == 0.5


def test_constructors_only_store_their_arguments():
    options = {"external": 3, "interaction": "x", "sigma": -1, "regularization": None, "coupling": 0}
    assert tl.LabeledMLE(**options).get_params() == options
    options |= {"matching": "?", "epsilon": "e", "max_distance": -2}
    assert tl.SinkhornMLE(**options).get_params() == options


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert set(vars(loaded)) == set(vars(fitted))
    np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    for name in ("sigma_", "matched_fraction_", "dropped_fraction_", "matching_report_", "tally_"):
        assert getattr(loaded, name) == getattr(fitted, name)
    np.testing.assert_array_equal(loaded.fit(loaded.moments_).coef_, fitted.coef_)


def test_loaded_without_labels_the_right_matches_stay_unknown(data, tmp_path):
    tl.SinkhornMLE(*BASES).fit(data[:5].shuffled()).save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert loaded.matched_fraction_ is None
    assert "rightly" not in loaded.matching_report_


def test_score_is_minus_the_loss_on_other_data(fitted):
    assert fitted.score(fitted.moments_) == -fitted.loss_
    other = tl.simulate(MODEL, particles=6, runs=40, duration=0.1, step=1e-3, observe_every=1e-3, labeled=True, seed=2)
    matching = Matching(fitted.moments_.matching)
    moments = tl.accumulate(other, fitted.external_basis_, fitted.interaction_basis_, matching=matching)
    assert fitted.score(other) == pytest.approx(-moments.motion_equations().loss(fitted.coef_), rel=1e-12)
    worse = clone(fitted).set_params(regularization=100.0).fit(fitted.moments_)
    assert fitted.score(other) > worse.score(other)


@pytest.mark.parametrize("strength", ["cv", "lcurve", 1e-3, 0])
def test_regularization_choices(fitted, strength):
    fit = clone(fitted).set_params(regularization=strength).fit(fitted.moments_)
    equations = fitted.moments_.motion_equations()
    expected = np.linalg.solve(equations.matrix + fit.lambda_ * np.eye(4), equations.vector)
    np.testing.assert_allclose(fit.coef_, expected, rtol=1e-8)
    if isinstance(strength, str):
        assert fit.lambda_ > 0
    else:
        assert fit.lambda_ == strength
    if strength == "cv":
        assert fit.lambda_ in fit.solution_.candidates


def test_cross_validation_over_time_windows_of_a_single_run(data):
    fit = tl.LabeledMLE(*BASES, regularization="cv").fit(data[:1])
    assert fit.moments_.windows == 25
    assert fit.lambda_ in fit.solution_.candidates


# Refusals


def test_the_self_test_refuses_moments_that_follow_particles(fitted):
    with pytest.raises(tl.InputError, match=f"matching '{fitted.moments_.matching}'.*accumulate without matching"):
        tl.SelfTest(sigma=1.0).fit(fitted.moments_)


@pytest.mark.parametrize("estimator", [tl.LabeledMLE, tl.SinkhornMLE])
def test_moments_that_follow_nobody_are_refused(data, estimator):
    moments = tl.accumulate(data[:2], *BASES)
    with pytest.raises(tl.InputError, match="these moments hold no displacements; accumulate with matching="):
        estimator().fit(moments)


def test_moments_of_another_matching_are_refused(labeled, matched):
    with pytest.raises(tl.InputError, match="accumulated with matching 'sinkhorn', not 'labels'"):
        tl.LabeledMLE().fit(matched.moments_)
    with pytest.raises(tl.InputError, match="accumulated with matching 'labels', not 'sinkhorn'"):
        tl.SinkhornMLE().fit(labeled.moments_)
    with pytest.raises(tl.InputError, match="accumulated with matching 'sinkhorn', not 'barycentric'"):
        tl.SinkhornMLE(matching="barycentric").fit(matched.moments_)
    with pytest.raises(tl.InputError, match="accumulated with matching 'sinkhorn', not 'labels'"):
        labeled.score(matched.moments_)


def test_labeled_mle_refuses_unlabeled_data(data):
    with pytest.raises(tl.InputError, match=r"unlabeled: nobody knows.*tl\.SelfTest.*tl\.SinkhornMLE.*labeled=True"):
        tl.LabeledMLE(*BASES).fit(data.shuffled())


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("matching", "labels", "expected 'sinkhorn', 'assignment' or 'barycentric', got 'labels'.*tl.LabeledMLE"),
        ("matching", "hungarian", "matching: expected .* got 'hungarian'"),
        ("sigma", -1.0, "sigma: expected a finite number of at least 0"),
        ("sigma", 0.0, "sigma: expected a positive number"),
        ("sigma", "one", "sigma: expected a number"),
        ("epsilon", 0.0, "epsilon: expected a positive number"),
        ("max_distance", -1.0, "max_distance: expected a positive number"),
        ("regularization", "auto", "regularization: expected 'lcurve', 'cv', 'evidence' or a number"),
        ("coupling", "average", "coupling: expected 'mean' or 'sum'"),
    ],
)
def test_impossible_options(data, option, value, message):
    with pytest.raises(tl.InputError, match=message):
        tl.SinkhornMLE(*BASES, **{option: value}).fit(data)


def test_impossible_sigma_of_labeled_data(data):
    with pytest.raises(tl.InputError, match="sigma: expected a finite number of at least 0"):
        tl.LabeledMLE(*BASES, sigma=np.nan).fit(data)


def test_score_before_fit():
    for estimator in (tl.LabeledMLE(), tl.SinkhornMLE()):
        with pytest.raises(tl.InputError, match="not fitted yet; call fit first"):
            estimator.score(None)


# The limit of small steps


def test_labels_and_self_test_agree_as_the_step_shrinks():
    """On the same paths: Ito's formula turns forces times displacements into energies, up to sums over squares."""
    data = tl.simulate(MODEL, runs=50, duration=0.2, step=1e-4, observe_every=1e-4, labeled=True, seed=0)
    strides, apart = (100, 40, 20, 8, 4, 1), []
    for stride in strides:
        seen = data.every(stride)
        labels = tl.LabeledMLE(*BASES, regularization=0.0).fit(seen)
        energies = tl.SelfTest(*BASES, sigma=1.0, regularization=0.0).fit(seen)
        apart.append(np.linalg.norm(labels.coef_ - energies.coef_))
    # Over eight seeds the last one was 1 to 5 % of the first, and the slope 0.8 to 0.96: order dt, then noise.
    assert apart[0] > apart[1] > apart[2] > apart[3]
    assert apart[-1] < 0.1 * apart[0]
    assert np.polyfit(np.log(strides), np.log(apart), 1)[0] > 0.6
