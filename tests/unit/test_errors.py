"""Bad input: every error names the argument, what came and what to do."""

import numpy as np
import pytest

import trackless as tl
from trackless.shapes import Gaussian, Power

MODEL = tl.models.reference()
BASES = (MODEL.external_basis, MODEL.interaction_basis)
POSITIONS = 0.6 * np.random.default_rng(0).standard_normal((5, 6, 4, 2))
TIMES = 0.1 * np.arange(6)


def data(positions=POSITIONS, times=TIMES, **options):
    return tl.Snapshots(positions, times, **options)


def refused(*parts):
    """An InputError whose message holds all parts."""
    return pytest.raises(tl.InputError, match="".join(f"(?=.*{part})" for part in parts))


def test_input_errors_are_value_errors():
    assert issubclass(tl.InputError, ValueError)


# Data


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "bases", [BASES, (tl.RadialSplines(5, lower=0.0, upper=2.0), None)], ids=["open ranges", "closed ranges"]
)
def test_position_that_is_not_finite(bases, value):
    positions = POSITIONS.copy()
    positions[3, 2, 1, 0] = value
    with refused("positions", "run 3, frame 2, particle 1", "remove or repair it"):
        tl.accumulate(data(positions), *bases)


@pytest.mark.parametrize("regular", [True, False])
def test_fewer_than_two_snapshots(regular):
    short = data(POSITIONS[:, :1], TIMES[:1])
    if not regular:
        short = data([POSITIONS[0], POSITIONS[1, :1]], [TIMES, TIMES[:1]])
    with refused(f"run {0 if regular else 1} has 1 snapshot", "at least two times are needed"):
        tl.accumulate(short, *BASES)


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        ([0.0, 0.1, 0.1, 0.2, 0.3, 0.4], ("times must increase", r"frame 2 \(0.1\) follows 0.1")),
        ([0.0, 0.1, 0.3, 0.2, 0.4, 0.5], ("times must increase", r"frame 3 \(0.2\) follows 0.3")),
        ([0.0, 0.1, np.nan, 0.3, 0.4, 0.5], ("a time is NaN or infinite",)),
        ([0.0, 0.1, 0.2], ("expected 6 times, one per frame", r"got shape \(3,\)")),
        (0.1, ("expected 6 times", r"got shape \(\)")),
        ("abcdef", ("expected 6 numbers", "abcdef")),
    ],
)
def test_impossible_times(times, parts):
    with refused("times", *parts):
        data(times=times)


def test_impossible_times_of_one_run():
    with refused("times of run 1", "must increase"):
        data([POSITIONS[0], POSITIONS[1]], [TIMES, TIMES[::-1]])
    with refused("times", r"one array per run \(2\), got 3"):
        data([POSITIONS[0], POSITIONS[1]], [TIMES, TIMES, TIMES])
    with refused("times", "an array or one array per run", "0.1"):
        data([POSITIONS[0], POSITIONS[1]], 0.1)


@pytest.mark.parametrize(
    ("positions", "parts"),
    [
        (POSITIONS[0], (r"\(runs, times, particles, dim\)", r"got \(6, 4, 2\)", r"positions\[None\]")),
        (POSITIONS.astype(str), ("expected numbers", "type <U")),
        (POSITIONS[:, :, :0], (r"shape \(5, 6, 0, 2\)", "holds no particles")),
        ([], ("there is no run",)),
        ([[np.zeros((3, 2))] * 6, []], ("one without frames",)),
        ([[np.zeros((3, 2))] * 5 + [np.zeros((3, 3))]], ("frames disagree about the dimension", r"\[2, 3\]")),
        ([[np.zeros(3)] * 6], ("run 0, frame 0", r"\(particles, dim\)", r"got \(3,\)")),
        ([[[[0.0, 1.0], [2.0]]] * 6], ("run 0, frame 0", "not an array of numbers")),
        (None, ("an array or one array per run", "None")),
    ],
)
def test_wrong_shapes(positions, parts):
    with refused("positions", *parts):
        data(positions)


def test_labels_of_particles_that_come_and_go():
    with refused("labeled=True", "the number of particles changes"):
        data([[np.zeros((3, 2)), np.zeros((4, 2))]], [0.0, 1.0], labeled=True)


def test_arrays_are_no_snapshots():
    with refused("snapshots: expected Snapshots, got ndarray", "tl.Snapshots"):
        tl.accumulate(POSITIONS, *BASES)


def test_one_particle_has_no_interaction():
    with refused("run 0 has one particle", "use interaction=None"):
        tl.accumulate(data(POSITIONS[:, :, :1]), *BASES)
    tl.accumulate(data(POSITIONS[:, :, :1]), BASES[0], None)


def test_mean_coupling_needs_a_constant_number_of_particles():
    ragged = data([[POSITIONS[0, i, : 2 + i % 2] for i in range(6)]], [TIMES])
    with refused("coupling='mean'", "changes within a run", "use coupling='sum'"):
        tl.accumulate(ragged, *BASES)


def test_coincident_particles_under_a_function_with_a_slope_at_zero():
    positions = POSITIONS.copy()
    positions[2, 3, 0] = positions[2, 3, 1]
    pointed = tl.RadialSplines(6, lower=0.2, upper=2.0)
    with refused("two particles coincide in run 2, frame 3", "remove the particle", "flat_center=True"):
        tl.accumulate(data(positions), None, pointed)
    tl.accumulate(data(positions), None, tl.RadialSplines(6, lower=0.0, upper=2.0, flat_center=True))
    tl.accumulate(data(positions), None, tl.GaussianRBF(20))


def test_particle_at_the_centre_of_a_function_with_a_slope_there():
    positions = POSITIONS.copy()
    positions[1, 4, 2] = (0.5, 0.25)
    pointed = tl.RadialSplines(6, lower=0.2, upper=2.0, center=(0.5, 0.25))
    with refused("a particle lies at the centre in run 1, frame 4", "flat_center=True"):
        tl.accumulate(data(positions), pointed, None)
    tl.accumulate(data(POSITIONS), pointed, None)


# Families


def test_nothing_to_learn():
    with refused("external and interaction are both None", "external=None is no V", "use tl.motion"):
        tl.accumulate(data(), None, None)


@pytest.mark.parametrize("name", ["external", "interaction"])
def test_what_is_no_basis(name):
    with refused(f"{name}: expected a basis such as", "Power"):
        tl.accumulate(data(), **{name: Power(2)})


def test_basis_outside_the_range_of_the_data():
    far = tl.RadialSplines(10, lower=0.0, upper=40.0)
    with refused("no data reached", r"V: spline around r=1\d", "use a smaller range"):
        tl.SelfTest(far, None, sigma=1.0).fit(data())
    nowhere = tl.RadialFunctions([Gaussian(30.0, 0.1)], names=["far away"])
    with refused("no data reached Phi: far away"):
        tl.SelfTest(BASES[0], nowhere, sigma=1.0).fit(data())


def test_duplicate_functions_without_regularization():
    twice = tl.RadialFunctions([Power(2), Power(2)], names=["once", "twice"])
    with refused("singular", "0.707", "regularization above 0"):
        tl.SelfTest(twice, None, sigma=1.0, regularization=0.0).fit(data())
    coef = tl.SelfTest(twice, None, sigma=1.0, regularization=1e-9).fit(data()).coef_
    assert coef[0] == pytest.approx(coef[1])


def test_interaction_in_a_box_must_end_within_half_a_side():
    boxed = data(box=(3.0, 4.0))
    for basis in (tl.RadialSplines(6), tl.RadialSplines(6, cutoff=1.6), tl.GaussianRBF(5), tl.TensorSplines(6)):
        with refused("interaction", "half the shortest side", r"1\.5", r"cutoff=1\.5"):
            tl.accumulate(boxed, None, basis)
    tl.accumulate(boxed, None, tl.RadialSplines(6, cutoff=1.5))


def test_interaction_with_a_centre():
    closed = tl.RadialSplines(6, lower=0.0, upper=2.0, center=(1.0, 0.0))
    for basis in (closed, tl.RadialSplines(6, center="mean"), tl.RadialFunctions([Power(2)], center=(1.0, 0.0))):
        with refused("center", "it has no centre"):
            tl.accumulate(data(), None, basis)


def test_families_of_another_dimension():
    with refused("center: expected 2 coordinates"):
        tl.accumulate(data(), tl.RadialFunctions([Power(2)], center=(1.0, 0.0, 0.0)), None)
    with refused("made for 2 dimensions, the data have 3"):
        tl.accumulate(data(np.zeros((1, 2, 3, 3)), [0.0, 1.0]), tl.models.anisotropic().external_basis, None)


def test_functions_that_are_not_finite():
    broken = tl.RadialFunctions([lambda r: np.where(r > 0.5, np.nan, r**2)])
    with refused("a basis function is not finite", "check the family"):
        tl.accumulate(data(), broken, None)


# Choices


@pytest.mark.parametrize(
    ("sigma", "parts"),
    [
        (-1.0, ("at least 0", r"got -1\.0")),
        (np.nan, ("finite number", "nan")),
        ("one", ("expected a number", "one")),
        ([1.0, 2.0, 3.0], ("2 directions", "got 3")),
        ("1", ("diagonal",)),
    ],
)
def test_impossible_sigma(sigma, parts):
    with refused("sigma", *parts):
        tl.SelfTest(*BASES, sigma=sigma).fit(data())


@pytest.mark.parametrize(
    ("option", "value", "parts"),
    [
        ("coupling", "average", ("'mean' or 'sum'", "got 'average'")),
        ("quadrature", "simpson", ("left, trapezoid, cubic", "got 'simpson'")),
        ("regularization", "auto", ("'lcurve', 'cv', 'evidence' or a number", "got 'auto'")),
        ("regularization", None, ("'lcurve', 'cv', 'evidence' or a number", "got None")),
        ("regularization", -1.0, ("at least 0", r"got -1\.0")),
    ],
)
def test_impossible_options(option, value, parts):
    with refused(option, *parts):
        tl.SelfTest(*BASES, sigma=1.0, **{option: value}).fit(data())


def test_output_file_exists(tmp_path):
    fitted = tl.SelfTest(*BASES, sigma=1.0).fit(data())
    file = tmp_path / "there.npz"
    file.write_text("precious")
    for write in (lambda: tl.write(data(), file), lambda: fitted.save(file)):
        with refused("there.npz exists", "choose another name", "overwrite=True"):
            write()
    with refused("is a directory; give a file name"):
        fitted.save(tmp_path)
    assert file.read_text() == "precious"


@pytest.mark.parametrize("count", [0, -2])
def test_impossible_number_of_threads(count):
    with refused("threads: expected at least 1", f"got {count}"):
        tl.set_threads(count)
