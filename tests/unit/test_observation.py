"""What an instrument does to data, and what is undone of it: exact identities, and agreement with plain NumPy."""

import numpy as np
import pytest
import twins

import trackless as tl
from trackless.observation import EVERYTHING
from trackless.quadrature import weights

WINDOW = ((0.0, 10.0), (1.0, 9.0))
FAMILIES = {
    "splines": lambda: (tl.RadialSplines(6, lower=0.0, upper=9.0, center=(5.0, 5.0)),
                        tl.RadialSplines(7, lower=0.0, cutoff=1.5)),
    "tensor": lambda: (tl.TensorSplines(5, lower=(0.0, 0.0), upper=(10.0, 10.0)),
                       tl.RadialSplines(7, lower=0.2, cutoff=1.5)),
    "few": lambda: (None, tl.RadialSplines(5, lower=0.0, cutoff=2.0)),
}  # fmt: skip


def scattered(runs=2, times=5, particles=40, seed=0, box=None):
    positions = np.random.default_rng(seed).uniform(0, 10, (runs, times, particles, 2))
    return tl.Snapshots(positions, np.arange(times) * 0.1, box=box)


def sums_of(data, observation, external, interaction, coupling="sum"):
    """Normal matrix, diffusion and energy sums by the trapezoid, in plain NumPy."""
    psi, phi = twins.functions_of(external), twins.functions_of(interaction)
    mask = observation.mask(data.dim, interaction.cutoff)
    weight = weights(data.times)
    matrix = diffusion = energy = 0.0
    for run in data.positions:
        each = []
        for w, x in zip(weight, run, strict=True):
            scale = 1.0 if coupling == "sum" else 1.0 / len(x)
            h, delta, test, force = twins.masked_snapshot(x, psi, phi, scale, mask, data.box)
            matrix = matrix + w * np.einsum("idk,idl->kl", test, force)
            diffusion = diffusion + w * delta
            each.append(h)
        energy = energy + each[-1] - each[0]
    return matrix, diffusion, energy


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "observation",
    [tl.Observation(window=WINDOW), tl.Observation(exclude_below=0.4), tl.Observation(WINDOW, 0.4)],
    ids=["window", "near pairs", "both"],
)
def test_masked_sums_are_those_of_numpy(family, observation):
    external, interaction = FAMILIES[family]()
    data = scattered()
    found = tl.accumulate(data, external, interaction, coupling="sum", windows=1, observation=observation)
    matrix, diffusion, energy = sums_of(data, observation, found.external, found.interaction)
    quadratic = found.quadratic[:, 0, 0, 1].sum(axis=0)
    np.testing.assert_allclose(quadratic, matrix, rtol=1e-10, atol=1e-10 * np.abs(matrix).max())
    seen = found.diffusion[:, 0, 0, 1, 0].sum(axis=0)
    np.testing.assert_allclose(seen, diffusion, rtol=1e-9, atol=1e-9 * np.abs(diffusion).max())
    np.testing.assert_allclose(found.energy[:, 0].sum(axis=0), energy, atol=1e-10 * np.abs(energy).max())


def test_near_pairs_in_a_periodic_box_and_under_the_mean():
    interaction = tl.RadialSplines(7, lower=0.2, cutoff=1.5)
    data, observation = scattered(box=10.0), tl.Observation(exclude_below=0.3)
    found = tl.accumulate(data, None, interaction, windows=1, observation=observation)
    matrix, _, energy = sums_of(data, observation, None, found.interaction, "mean")
    np.testing.assert_allclose(found.quadratic[:, 0, 0, 1].sum(axis=0), matrix, atol=1e-12 * np.abs(matrix).max())
    np.testing.assert_allclose(found.energy[:, 0].sum(axis=0), energy, atol=1e-10 * np.abs(energy).max())


def test_a_window_that_nobody_leaves_changes_nothing():
    external, interaction = FAMILIES["splines"]()
    data = scattered(particles=70)
    plain = tl.accumulate(data, external, interaction, coupling="sum", windows=2)
    wide = tl.Observation(window=((-1e6, 1e6), (-1e6, 1e6)))
    masked = tl.accumulate(data, external, interaction, coupling="sum", windows=2, observation=wide)
    for name in ("quadratic", "pair", "diffusion", "energy", "weight"):
        a, b = getattr(plain, name), getattr(masked, name)
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-10 * np.abs(a).max())


def test_particles_at_the_edge_have_no_energy_but_push():
    """A particle whose neighbours may be outside the window is no test particle, but a force on those inside."""
    interaction = tl.RadialSplines(6, lower=0.0, cutoff=1.0)
    window = tl.Observation(window=((0.0, 10.0), (0.0, 10.0)))
    at_edge, outside = [1.5, 5.0], [0.9, 5.0]

    def matrix(*particles):
        data = tl.Snapshots(np.array([[particles, particles]], float), [0.0, 1.0])
        return tl.accumulate(data, None, interaction, coupling="sum", observation=window).quadratic

    assert not matrix(outside, [0.5, 5.0]).any()
    assert matrix(at_edge, [1.9, 5.0]).any()
    # three in a row: the one outside pushes its neighbour, whose own energy is with the third
    assert (matrix(outside, at_edge, [1.9, 5.0]) != matrix(at_edge, [1.9, 5.0])).any()


def test_sums_of_missed_particles_are_right_on_average():
    """All ways to miss particles of one snapshot, weighted with their probabilities, give the sums of the whole."""
    p, particles = 0.7, 6
    x = np.random.default_rng(1).normal(size=(particles, 2))
    external, interaction = tl.RadialSplines(3, 0.0, 4.0), tl.RadialSplines(3, 0.0, 6.0)

    def sums(seen, **observation):
        """By the left rule, which takes the first of two snapshots."""
        data = tl.Snapshots([[x[seen], x]], [[0.0, 1.0]])
        found = tl.accumulate(data, external, interaction, "sum", observation=tl.Observation(**observation))
        return {name: getattr(found, name)[0, 0, 0, 0] for name in ("quadratic", "diffusion", "weight")}

    total = dict.fromkeys(("quadratic", "diffusion", "weight"), 0.0)
    for code in range(1, 2**particles):
        seen = np.array([code >> i & 1 for i in range(particles)], bool)
        chance = p ** seen.sum() * (1 - p) ** (~seen).sum()
        for name, value in sums(seen, detection=p).items():
            total[name] = total[name] + chance * value
    for name, value in sums(np.ones(particles, bool)).items():
        np.testing.assert_allclose(total[name], value, rtol=1e-10, atol=1e-12)


def test_the_mean_over_seen_particles_becomes_that_over_all():
    """Seen with probability p, 1/N of those that are there is p over the number of those that are seen."""
    data = scattered(particles=8)
    bases = tl.RadialSplines(3, 0.0, 15.0), tl.RadialSplines(3, 0.0, 15.0)
    half = tl.accumulate(data, *bases, observation=tl.Observation(detection=0.5))
    full = tl.accumulate(data, *bases)
    k = 3
    np.testing.assert_allclose(half.diffusion[..., :k], full.diffusion[..., :k] / 0.5)
    np.testing.assert_allclose(half.diffusion[..., k:], full.diffusion[..., k:] * 0.5 / 0.5**2)


def test_errors_of_positions_are_taken_off_to_first_order():
    """Of a harmonic V, mean |x + e|^2 exceeds |x|^2 by dim e^2: what is left over is small."""
    generator = np.random.default_rng(2)
    x = generator.normal(size=(400, 3, 20, 2))
    error = 0.3
    seen = x + error * generator.normal(size=x.shape)
    family = tl.RadialFunctions([lambda r: 0.5 * r**2], reach=(0.0, 16.0))
    times = [0.0, 0.1, 0.2]

    def norm(positions, **seen_with):
        data = tl.Snapshots(positions, times)
        moments = tl.accumulate(data, family, None, observation=tl.Observation(**seen_with))
        return moments.normal_equations(1.0).matrix[0, 0]

    truth, biased, corrected = norm(x), norm(seen), norm(seen, position_error=error)
    assert biased - truth == pytest.approx(2 * error**2, rel=0.1)
    assert abs(corrected - truth) < 0.1 * (biased - truth)


def test_drawn_errors_do_not_depend_on_threads():
    data = scattered()
    bases = tl.RadialSplines(4, 0.0, 15.0), tl.RadialSplines(4, 0.0, 15.0)
    found = []
    for threads in (1, 2):
        tl.set_threads(threads)
        found.append(tl.accumulate(data, *bases, observation=tl.Observation(position_error=0.1)).quadratic)
    tl.set_threads(None)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"detection": 0.0}, "detection: expected a probability above 0"),
        ({"detection": 1.2}, "detection: expected a probability"),
        ({"position_error": -1.0}, "position_error: expected a standard deviation"),
        ({"exclude_below": -1.0}, "exclude_below: expected a distance"),
        ({"window": ((1.0, 0.0), (0.0, 1.0))}, "window: expected .low, high."),
        ({"window": (0.0, 1.0)}, "window: expected .low, high."),
        ({"window": "all"}, "window: expected .low, high."),
    ],
)
def test_impossible_instruments_are_refused(settings, message):
    with pytest.raises(tl.InputError, match=message):
        tl.Observation(**settings)


def test_what_cannot_be_honoured_is_refused():
    data = scattered()
    splines = tl.RadialSplines(5, 0.0, 5.0)
    window = tl.Observation(window=WINDOW)
    with pytest.raises(tl.InputError, match=r"give one \(cutoff="):
        tl.accumulate(data, None, splines, observation=window)
    with pytest.raises(tl.InputError, match="leaves no particle whose neighbours are all inside"):
        tl.accumulate(data, None, tl.RadialSplines(5, 0.0, cutoff=6.0), observation=window)
    with pytest.raises(tl.InputError, match="a periodic box has no edge"):
        tl.accumulate(scattered(box=10.0), None, tl.RadialSplines(5, 0.0, cutoff=2.0), observation=window)
    with pytest.raises(tl.InputError, match="'lcurve' looks at a loss"):
        tl.SelfTest(None, splines, sigma=1.0, observation=window).fit(data)
    with pytest.raises(tl.InputError, match=r"expected tl\.Observation"):
        tl.SelfTest(None, splines, sigma=1.0, observation="window").fit(data)
    with pytest.raises(tl.InputError, match="debias=False"):
        tl.SelfTest(splines, splines, sigma=1.0, debias=True, observation=tl.Observation(detection=0.5)).fit(data)
    fitted = tl.SelfTest(
        None, tl.RadialSplines(5, 0.0, cutoff=1.5), sigma=1.0, regularization=1e-3, coupling="sum", observation=window
    ).fit(data)
    with pytest.raises(tl.InputError, match="no loss to compare"):
        fitted.score(data)
    with pytest.raises(tl.InputError, match="all seen, where they are"):
        fitted.residual_test(data)


def test_observations_travel_with_moments_and_fits(tmp_path):
    data = scattered(runs=6, particles=200)
    seen = tl.Observation(WINDOW, 0.1, 0.9, 0.01)
    settings = {"sigma": 1.0, "regularization": 1e-3, "coupling": "sum", "observation": seen}
    fitted = tl.SelfTest(None, tl.RadialSplines(5, 0.1, cutoff=1.5), **settings).fit(data)
    assert fitted.moments_.observation == seen
    fitted.save(tmp_path / "fit.trackless")
    again = tl.load(tmp_path / "fit.trackless")
    assert again.moments_.observation == seen
    assert again.observation == seen
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    other = tl.accumulate(data, None, fitted.interaction_basis_, coupling="sum")
    assert other.observation == EVERYTHING
    with pytest.raises(tl.InputError, match="moments differ in observation"):
        _ = other + fitted.moments_


def test_v_alone_is_learnt_in_a_window():
    trap = tl.Model("trap", tl.RadialFunctions([tl.models.reference().external_basis.functions[1]]), None, (0.5,), 1.0)
    data = tl.simulate(trap, runs=100, particles=30, duration=0.5, step=1e-3, observe_every=0.02, initial=1.0, seed=2)
    inside = [[x[(np.abs(x) < 1.2).all(axis=1)] for x in run] for run in data.positions]
    seen = tl.Snapshots(inside, [data.times] * data.runs)
    fitted = tl.fit(seen, sigma=1.0, interaction=None, window=((-1.2, 1.2), (-1.2, 1.2)))
    places = np.array([[0.3, 0.2], [0.5, -0.5], [-0.6, 0.1]])
    lower, upper = fitted.external_.band(places)
    true = trap.external.gradient(places)
    assert ((lower < true) & (true < upper)).all()
    assert fitted.interaction_ is None


def test_errors_of_positions_larger_than_the_motion_are_said():
    data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3, seed=1)
    fitted = tl.fit(data, sigma=1.0, position_error=0.09)
    assert any("ERRORS OF POSITIONS ARE LARGER THAN THE MOTION" in said for said in fitted.findings_.sentences)
    with pytest.raises(tl.InputError, match=r"position_error: ERRORS OF POSITIONS.*every 8th snapshot"):
        tl.fit(data, sigma=1.0, position_error=0.2)


def test_nothing_left_to_look_at_is_refused():
    data = scattered()
    splines = tl.RadialSplines(5, 0.0, cutoff=1.5)
    with pytest.raises(tl.InputError, match=r"no particle is ever inside 80 to 90 x 80 to 90, positions are in .* to "):
        tl.accumulate(data, None, splines, observation=tl.Observation(window=((80, 90), (80, 90))))
    for settings in ({}, {"interaction": None}):
        with pytest.raises(tl.InputError, match="exclude_below: 50 leaves out every pair"):
            tl.fit(data, sigma=1.0, coupling="sum", exclude_below=50.0, **settings)


def test_no_smallest_distance_leaves_nothing_out():
    assert tl.Observation(exclude_below=0) == tl.Observation(exclude_below=-0.0) == tl.Observation()
    data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3, seed=1)
    plain, zero = (tl.fit(data, sigma=1.0, external=None, **said) for said in ({}, {"exclude_below": 0}))
    np.testing.assert_array_equal(plain.coef_, zero.coef_)
    assert plain.findings_.sentences == zero.findings_.sentences
