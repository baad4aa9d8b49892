"""Potentials for other programs: units, cores and ends, and files that give back what the fit said."""

import re
import runpy
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from differences import assert_radial_derivatives

import trackless as tl
from trackless.exporting.continuation import Continued, continued_pair, continued_trap
from trackless.exporting.learnt import learnt_of
from trackless.exporting.names import comment, words
from trackless.exporting.scales import scales_of
from trackless.identifiability import NOWHERE
from trackless.potentials import Centered
from trackless.shapes import Exponential, Gaussian, Power, ShiftedForce

MODEL = tl.models.reference()
MIXTURE = tl.models.mixture()


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=30, duration=0.2, step=1e-3)


@pytest.fixture(scope="module")
def fit(data):
    return tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(data)


@pytest.fixture(scope="module")
def mixed():
    data = tl.simulate(MIXTURE, runs=20, duration=0.2, step=1e-3)
    return tl.SelfTest(MIXTURE.external_basis, MIXTURE.interaction_basis, sigma=1.0).fit(data)


def known(interaction=None, external=None, explored=(0.1, 2.0), sigma=1.0, coupling="sum"):
    """Known potentials, told as if they had been learnt."""
    ranges = tuple(explored if potential is not None else None for potential in (external, interaction))
    parts = {"external_": external, "interaction_": interaction, "sigma_": sigma, "coupling": coupling}
    return SimpleNamespace(**parts, explored_=ranges)


def tables_of(path):
    """Sections of a file for pair_style table: name -> (r, energy, force), and its comments."""
    lines = path.read_text().splitlines()
    said = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
    rest = [line for line in lines if line and not line.startswith("#")]
    found = {}
    while rest:
        name, (_, count, _, low, high) = rest[0], rest[1].split()
        rows = np.array([line.split() for line in rest[2 : 2 + int(count)]], float)
        np.testing.assert_array_equal(rows[:, 0], np.arange(1, int(count) + 1))
        # what LAMMPS makes of R, and warns about where rows are farther from it than 1e-6
        np.testing.assert_allclose(rows[:, 1], np.linspace(float(low), float(high), int(count)), rtol=1e-12)
        found[name], rest = rows[:, 1:].T, rest[2 + int(count) :]
    return found, said


class TestContinuation:
    @pytest.mark.parametrize("inner", [Exponential(3.0), -1 * Exponential(3.0), Gaussian(0.9, 0.3), 0.0 * Power(2)])
    @pytest.mark.parametrize("core", ["safe", "linear"])
    def test_value_slope_and_curvature_belong_together(self, inner, core):
        phi = continued_pair(inner, 0.5, 2.0, core=core)
        for low, high in ((0.01, 0.49), (0.51, 1.99), (2.01, phi.end - 0.01), (phi.end + 0.01, phi.end + 1)):
            assert_radial_derivatives(phi, np.linspace(low, high, 20))
        for edge in (0.5, 2.0, phi.end):
            below, above = edge - 1e-9, edge + 1e-9
            np.testing.assert_allclose(phi.profile(below), phi.profile(above), atol=1e-6)
            np.testing.assert_allclose(phi.slope(below), phi.slope(above), atol=1e-6)
        assert phi.profile(phi.end) == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("inner", [Exponential(6.0), -1 * Exponential(6.0), Gaussian(1.2, 0.3), Gaussian(0.6, 0.2)])
    @pytest.mark.parametrize("low", [0.01, 0.5])
    def test_a_safe_core_repels_and_is_no_stiffer_than_the_data(self, inner, low):
        phi = continued_pair(inner, low, 2.0)
        largest = np.abs(inner.slope(np.linspace(low, 2.0, 4000))).max()
        r = np.linspace(0.0, low, 2000)
        edge = -inner.slope(low)
        assert phi.profile(0.0) - phi.profile(low) >= (0.25 if edge < 0 else 0.75) * low * abs(edge) * (1 - 1e-9)
        assert (phi.slope(r[(r > 0) & (r < 0.8 * low)]) < 0).all()
        assert np.abs(phi.slope(r)).max() < 1.8 * largest
        assert (phi.profile(r) > phi.profile(low) - 0.1 * low * largest).all()  # hardly a hole below the edge

    def test_linear_in_the_square_of_the_distance(self):
        phi = continued_pair(Exponential(3.0), 0.5, 2.0)
        squares = np.linspace(0.01, 0.25, 5)
        np.testing.assert_allclose(np.diff(-phi.slope(squares**0.5) / squares**0.5, 2), 0.0, atol=1e-9)

    def test_a_linear_core_holds_the_force(self):
        phi = continued_pair(Exponential(3.0), 0.5, 2.0, core="linear")
        np.testing.assert_allclose(phi.slope([0.0, 0.2]), Exponential(3.0).slope(0.5))

    def test_tables_end_where_potentials_do(self):
        cut = ShiftedForce(Exponential(1.0), 1.5)
        assert continued_pair(cut, 0.5, 2.0).end == pytest.approx(1.5, abs=1e-3)
        assert continued_pair(cut, 0.5, 1.49, cutoff=1.5).end == 1.5
        open_end = continued_pair(Exponential(1.0), 0.5, 2.0)
        assert open_end.end == pytest.approx(2.3)
        assert abs(open_end.slope(2.3)) < 1e-12
        assert abs(open_end.slope(2.15)) < abs(open_end.slope(2.0))

    def test_traps_hold_and_do_not_push_out(self):
        trap = continued_trap(Power(2), 0.1, 2.0)
        assert_radial_derivatives(trap, np.linspace(0.01, 0.09, 9))
        np.testing.assert_allclose(trap.slope([0.05, 1.0, 3.0]), [0.1, 2.0, 4.0])
        assert trap.profile(0.0) == pytest.approx(0.0)
        pushing = continued_trap(-1 * Power(2), 0.1, 2.0)
        assert pushing.slope(3.0) == 0

    def test_explored_from_zero_on(self):
        phi = continued_pair(Gaussian(0.0, 0.5), 0.0, 2.0)
        assert phi.slope(0.0) == 0
        assert_radial_derivatives(phi, np.linspace(0.01, 1.9, 9))


class TestScales:
    def test_motion_is_the_same_in_any_units(self, fit):
        """mobility * force is the velocity of the fit, and 2 kT mobility is sigma^2, times the powers of length."""
        for kT, length in ((None, 1.0), (4.11, 1.0), (None, 1e3), (2.5, 0.01)):
            learnt = learnt_of(fit, kT, length, "safe", None)
            phi, trap = learnt.curve(1, ()), learnt.curve(0, ())
            r, mobility = np.linspace(0.2, 1.5, 7), learnt.scales.mobility
            np.testing.assert_allclose(mobility * phi.force(length * r), -length * fit.interaction_.slope(r) / 10)
            np.testing.assert_allclose(mobility * trap.force(length * r), -length * fit.external_.slope(r))
            assert 2 * learnt.scales.kT * mobility == pytest.approx(length**2)
            assert learnt.scales.friction == pytest.approx(1 / mobility)

    def test_pairs_are_those_of_the_converted_fit(self, fit):
        r = np.linspace(0.2, 1.5, 7)
        phi = learnt_of(fit, None, 1.0, "safe", None).curve(1, ())
        np.testing.assert_allclose(phi.force(r), -fit.converted("sum").interaction_.slope(r))
        lower, upper = fit.converted("sum").interaction_.band(r)
        np.testing.assert_allclose(phi.band(r), (-upper, -lower))

    def test_energies_are_those_of_kT(self):
        assert scales_of(known(Power(2), sigma=2.0), kT=6.0).energy == 3.0
        assert scales_of(known(Power(2), sigma=2.0)).energy == 1.0
        assert scales_of(known(Power(2), sigma=0.0)).kT == 0.0

    @pytest.mark.parametrize(
        ("options", "fitted", "message"),
        [
            ({"kT": -1.0}, {}, "kT: expected a positive number, got -1.0"),
            ({"length": np.inf}, {}, "length: expected a positive number"),
            ({"kT": 1.0}, {"sigma": 0.0}, "sigma = 0"),
            ({"kT": 1.0}, {"sigma": (1.0, 2.0)}, r"differs between directions \(1, 2\)"),
            ({}, {"coupling": "mean"}, "does not know N"),
        ],
    )
    def test_what_cannot_be_converted(self, options, fitted, message):
        with pytest.raises(tl.InputError, match=message):
            scales_of(known(Power(2), **fitted), **options)

    def test_a_number_of_particles_that_changes(self, tmp_path):
        generator = np.random.default_rng(0)
        runs = [[generator.standard_normal((n, 2)) for _ in range(3)] for n in (5, 5, 6, 6)]
        data = tl.Snapshots(runs, [[0.0, 0.1, 0.2]] * 4)
        fitted = tl.SelfTest(None, tl.RadialSplines(4, cutoff=2.0), sigma=1.0).fit(data)
        with pytest.raises(tl.InputError, match="in all snapshots here, or not known; fit again with coupling='sum'"):
            tl.export(fitted, tmp_path / "phi.table")
        assert list(tmp_path.iterdir()) == []


def test_tables_end_at_the_cutoff_of_the_family(data):
    fitted = tl.SelfTest(None, tl.RadialSplines(6, cutoff=1.5), sigma=1.0).fit(data)
    fitted.covariance_ = None  # as of a single window: potentials without error bars do not know their family
    fitted._set_potentials()
    assert learnt_of(fitted, None, 2.0, "safe", None).curve(1, ()).end == 3.0


class TestLammps:
    def test_tables_give_back_the_fit(self, fit, tmp_path):
        done = tl.export(fit, tmp_path / "phi.table")
        assert done.format == "lammps"
        assert done.files == (tmp_path / "phi.table",)
        found, said = tables_of(tmp_path / "phi.table")
        assert list(found) == ["PHI", "V", "ZERO"]
        for name, potential, factor, explored in (
            ("PHI", fit.interaction_, 0.1, fit.explored_[1]),
            ("V", fit.external_, 1.0, fit.explored_[0]),
        ):
            r, energy, force = found[name]
            seen = (r >= explored[0]) & (r <= explored[1])
            assert seen.sum() > 300
            np.testing.assert_allclose(force[seen], -factor * potential.slope(r[seen]), rtol=1e-6, atol=1e-12)
            difference = energy[seen] - factor * potential.profile(r[seen])  # a constant
            np.testing.assert_allclose(difference, difference.mean(), atol=1e-6 * np.abs(energy).max())
        r, energy, force = found["PHI"]
        assert energy[-1] == pytest.approx(0.0, abs=1e-12)
        assert (force[r < 0.8 * fit.explored_[1][0]] > 0).all()
        np.testing.assert_allclose(np.diff(energy), -np.diff(r) * (force[1:] + force[:-1]) / 2, atol=2e-4)
        for sentence in done.sentences:
            assert comment(sentence) in said
        for words_ in (tl.__version__, "N = 10", "sigma = 1", "data from r =", "95 % band", "repulsive core"):
            assert words_ in said

    def test_lines_of_an_input_script(self, fit, tmp_path):
        tl.export(fit, tmp_path / "my phi.table", kT=4.0, length=2.0)
        said = (tmp_path / "my phi.table").read_text()
        assert '\n# pair_coeff 1 1 "my phi.table" PHI\n' in said
        assert '\n# pair_coeff 1 2 "my phi.table" V\n' in said
        assert "\n# create_atoms 2 single 0 0 0  #" in said
        assert "\n# fix motion mobile brownian 4 12345 gamma_t 2 rng gaussian\n" in said  # D = kT / gamma = 4 / 2
        assert re.search(r"\n# pair_style table linear \d{5,6}\n", said)

    def test_several_species(self, mixed, tmp_path):
        tl.export(mixed, tmp_path / "phi.table", points=200)
        found, _ = tables_of(tmp_path / "phi.table")
        assert list(found) == ["PHI_a_a", "PHI_a_b", "PHI_b_b", "V_a", "V_b", "ZERO"]
        r, _, force = found["PHI_a_b"]
        seen = (r > 0.1) & (r < 2.0)
        np.testing.assert_allclose(force[seen], -mixed.interaction_["a", "b"].slope(r[seen]) / 10, rtol=1e-6)
        said = (tmp_path / "phi.table").read_text()
        for line in ("* * phi.table ZERO", "1 2 phi.table PHI_a_b", "2 3 phi.table V_b"):
            assert f"\n# pair_coeff {line}\n" in said

    def test_names_cannot_break_out_of_their_place(self, tmp_path):
        evil = "x\nshell rm -rf ~\n"
        pairs = {(evil, evil): Exponential(1.0), (evil, "b c"): Exponential(2.0), ("b c", "b c"): Exponential(3.0)}
        fitted = known(tl.BySpecies, explored=((0.1, 2.0),) * 3)
        fitted.interaction_ = pairs
        fitted.explored_ = (None, ((0.1, 2.0),) * 3)
        tl.export(fitted, tmp_path / "phi.table", points=20)
        found, _ = tables_of(tmp_path / "phi.table")
        assert list(found) == ["PHI_b_c_b_c", "PHI_b_c_x_shell_rm_rf", "PHI_x_shell_rm_rf_x_shell_rm_rf"]
        for format in ("openmm", "hoomd"):
            tl.export(fitted, tmp_path / f"{format}.py", format=format, points=20)
            compile((tmp_path / f"{format}.py").read_text(), "exported", "exec")
            assert "\nshell" not in (tmp_path / f"{format}.py").read_text()

    def test_pairs_that_do_not_interact(self, tmp_path):
        fitted = known()
        fitted.interaction_, fitted.explored_ = {("a", "b"): Exponential(1.0)}, (None, ((0.1, 2.0),))
        tl.export(fitted, tmp_path / "phi.table", points=20)
        found, _ = tables_of(tmp_path / "phi.table")
        assert list(found) == ["PHI_a_b", "ZERO"]
        assert not found["ZERO"][1:].any()
        assert "\n# pair_coeff 1 1" not in (tmp_path / "phi.table").read_text()

    def test_a_centre_is_where_the_anchor_is(self, tmp_path):
        tl.export(known(external=Centered(Power(2), (1.0, 2.0))), tmp_path / "v.table", length=10.0)
        assert "create_atoms 2 single 10 20 0" in (tmp_path / "v.table").read_text()


def test_words_for_names():
    assert words(["a-b", "a b", "é"]) == ("a_b", "a_b_2", "kind")
    assert comment("é\r\nx") == "???x"


class TestOpenMM:
    def test_the_module_holds_the_energies(self, fit, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "openmm", ModuleType("openmm"))
        tl.export(fit, tmp_path / "forces.py", format="openmm", kT=2.0)
        module = runpy.run_path(str(tmp_path / "forces.py"))
        assert (module["KT"], module["MOBILITY"], module["DIMENSIONS"], module["SPECIES"]) == (2.0, 0.25, 2, ())
        learnt = learnt_of(fit, 2.0, 1.0, "safe", None)
        end, energies = module["PAIRS"]["", ""]
        np.testing.assert_allclose(energies, learnt.curve(1, ()).energy(np.linspace(0, end, 1000)), atol=1e-12)
        end, energies, slope, centre = module["SINGLES"][""]
        np.testing.assert_allclose(energies, learnt.curve(0, ()).energy(np.linspace(0, end, 1000)), atol=1e-12)
        assert slope == pytest.approx(-float(learnt.curve(0, ()).force(end)))
        assert centre == (0.0, 0.0, 0.0)
        assert "repulsive core" in " ".join(module["__doc__"].split())


class TestHoomd:
    def test_tables_are_where_hoomd_takes_them(self, mixed, tmp_path, monkeypatch):
        class Table:
            def __init__(self, nlist, default_r_cut):
                self.params, self.r_cut = {}, {}

        class Brownian:
            def __init__(self, filter, kT):
                self.filter, self.kT, self.gamma = filter, kT, SimpleNamespace(default=1.0)

        forces, methods = SimpleNamespace(Table=Table), SimpleNamespace(Brownian=Brownian)
        stub = SimpleNamespace(md=SimpleNamespace(pair=forces, methods=methods), filter=SimpleNamespace(Type=tuple))
        monkeypatch.setitem(sys.modules, "hoomd", stub)
        tl.export(mixed, tmp_path / "forces.py", format="hoomd", points=300)
        module = runpy.run_path(str(tmp_path / "forces.py"))
        table = module["pair_table"](None)
        assert module["TYPES"] == ["a", "b"]
        assert module["ANCHORS"] == {"anchor1": (0.0, 0.0, 0.0)}
        learnt = learnt_of(mixed, None, 1.0, "safe", None)
        for types, curve in ((("a", "b"), learnt.curve(1, ("b", "a"))), (("b", "anchor1"), learnt.curve(0, ("b",)))):
            end, own = table.r_cut[types], table.params[types]
            r = np.linspace(0.0, end, 300, endpoint=False)
            assert end == curve.end
            np.testing.assert_allclose(own["U"], curve.energy(r), atol=1e-12)
            np.testing.assert_allclose(own["F"], curve.force(r), atol=1e-12)
        assert table.r_cut["anchor1", "anchor1"] == 0.0
        assert len(table.params["anchor1", "anchor1"]["U"]) == 1  # how HOOMD-blue is told of no interaction
        moved = module["brownian"]()
        assert (moved.filter, moved.kT, moved.gamma.default) == (("a", "b"), module["KT"], module["FRICTION"])


class TestCsv:
    def test_bands_and_marks(self, fit, tmp_path):
        tl.export(fit, tmp_path / "phi.csv", points=400)
        lines = [line.split(",") for line in (tmp_path / "phi.csv").read_text().splitlines() if line[0] != "#"]
        assert lines[0] == ["potential", "r", "energy", "force", "force_lower", "force_upper", "extrapolated"]
        phi = np.array([line[1:] for line in lines if line[0] == "Phi"], float)
        assert len(phi) == 400
        low, high = fit.explored_[1]
        seen = (phi[:, 0] >= low) & (phi[:, 0] <= high)
        np.testing.assert_array_equal(phi[:, 5], ~seen)
        np.testing.assert_allclose(phi[seen, 2], -fit.interaction_.slope(phi[seen, 0]) / 10)
        assert (phi[seen, 3] <= phi[seen, 2]).all()
        assert (phi[seen, 4] >= phi[seen, 2]).all()
        assert np.isinf(phi[~seen, 3]).all()

    def test_potentials_that_are_not_radial_on_a_grid(self, tmp_path):
        data = tl.simulate(tl.models.anisotropic(), runs=10, duration=0.1, step=1e-3)
        fitted = tl.SelfTest(tl.TensorSplines(5), tl.RadialSplines(6), sigma=1.0).fit(data)
        done = tl.export(fitted, tmp_path / "both.csv", length=2.0, points=100)
        assert [file.name for file in done.files] == ["both.csv", "both-grid.csv"]
        lines = [line.split(",") for line in done.files[1].read_text().splitlines() if line[0] != "#"]
        assert lines[0][:6] == ["potential", "x", "y", "energy", "force_x", "force_y"]
        rows = np.array([line[1:] for line in lines[1:]], float)
        np.testing.assert_allclose(rows[:, 3:5], -fitted.external_.gradient(rows[:, :2] / 2) / 2, atol=1e-9)
        assert (rows[:, 5] <= rows[:, 3]).all()
        assert rows[:, 2].min() == 0
        done = tl.export(fitted, tmp_path / "phi.table")
        assert "V is not radial and not in this file" in done.sentences[-1]
        assert "V is not radial" in (tmp_path / "phi.table").read_text()
        free = tl.SelfTest(tl.TensorSplines(5), tl.TensorSplines(6), sigma=1.0).fit(data)
        with pytest.raises(tl.InputError, match=r"V and Phi: not radial.*format='csv' writes a grid"):
            tl.export(free, tmp_path / "free.table")
        assert tl.export(free, tmp_path / "free.csv").files == (tmp_path / "free.csv",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "phi.dat"}, r"\.dat does not say for which program.*lammps, openmm, hoomd, csv"),
        ({"path": "phi.py"}, "does not say for which program"),
        ({"path": "phi"}, "without ending"),
        ({"format": "gromacs"}, "format: expected 'lammps', 'openmm', 'hoomd', 'csv', got 'gromacs'"),
        ({"format": "openmm"}, r"a file ending in \.py"),
        ({"core": "hard"}, "core: expected 'safe' or 'linear', got 'hard'"),
        ({"points": 3}, "points: expected a whole number from 10"),
        ({"points": 10.5}, "points: expected"),
        ({"path": "nowhere/phi.table"}, "create it first"),
        ({"fitted": "fit"}, "expected a fitted estimator, got str"),
        ({"fitted": known()}, "neither V nor Phi"),
        ({"fitted": known(Power(2), sigma=(1.0, 2.0))}, "sigma differs between directions.*format='csv'"),
        ({"reach": (2.0, 1.0), "fitted": known(Power(2), explored=None)}, "two increasing distances"),
        ({"reach": 3, "fitted": known(Power(2), explored=None)}, "expected two distances"),
        ({"reach": (0.1, 3.0)}, r"reach: the fit knows .*\(Phi 0.1 to 2\); leave it out"),
        ({"kT": True}, "kT: expected a positive number, got True"),
        ({"length": True}, "length: expected a positive number, got True"),
        ({"fitted": known(Power(2), explored=None)}, r"does not know which distances.*reach=\(low, high\)"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(options, message, tmp_path):
    given = {"fitted": known(Power(2)), "path": "phi.table"} | options
    with pytest.raises(tl.InputError, match=message):
        tl.export(given.pop("fitted"), tmp_path / given.pop("path"), **given)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_unasked(tmp_path):
    tl.export(known(Exponential(1.0)), tmp_path / "phi.csv", points=20)
    before = (tmp_path / "phi.csv").read_bytes()
    with pytest.raises(tl.InputError, match="exists"):
        tl.export(known(Exponential(2.0)), tmp_path / "phi.csv", points=20)
    assert (tmp_path / "phi.csv").read_bytes() == before
    tl.export(known(Exponential(2.0)), tmp_path / "phi.csv", points=20, overwrite=True)
    assert (tmp_path / "phi.csv").read_bytes() != before


def test_edges_are_said_as_they_are_known(tmp_path):
    done = tl.export(known(-1 * Exponential(1.0)), tmp_path / "phi.table", core="linear")
    assert any("which attracts: particles may fall onto each other" in said for said in done.sentences)
    assert "without error bars" in str(done)
    found, _ = tables_of(tmp_path / "phi.table")
    assert (found["PHI"][2][:20] < 0).all()
    single = known(Exponential(1.0))
    single.dynamics = "discrete"
    assert "single steps" in tl.export(single, tmp_path / "steps.csv").sentences[-1]


def test_what_speaks_against_potentials_is_said_first(tmp_path):
    fitted = known(Exponential(1.0), Power(2))
    fitted.noise_ = SimpleNamespace(known=False)
    fitted.findings_ = SimpleNamespace(residual_test=None, log_bayes_factors=(-4.0, 50.0))
    lost = f"Phi' {NOWHERE}"
    fitted.identifiability = lambda: SimpleNamespace(sentences=(lost,))
    done = tl.export(fitted, tmp_path / "phi.table")
    assert done.sentences[0].startswith("WARNING: sigma is not known")
    assert done.sentences[1].startswith("WARNING: what is exported of V may be chance: no external potential is needed")
    assert "54 to 1 against one" in done.sentences[1]
    assert done.sentences[2] == f"WARNING: {lost}"
    assert not any(said.startswith("WARNING") for said in done.sentences[3:])
    text = (tmp_path / "phi.table").read_text()
    assert "moves particles as the fit does" not in text
    assert text.index("WARNING") < text.index("kT =")


def test_without_noise_there_is_no_temperature(tmp_path):
    done = tl.export(known(Exponential(1.0), sigma=0.0), tmp_path / "phi.table")
    assert done.sentences[0].startswith("WARNING: sigma is 0, so that there is no kT")
    _, said = tables_of(tmp_path / "phi.table")
    assert "moves particles as the fit does" not in said
    assert "no temperature; choose your own" in said


def lines_of(path):
    """Lines of an input script, as they are once the hash before each is taken off."""
    return [line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("# ")]


def test_a_motion_that_is_not_known_is_not_ready_to_be_used(tmp_path):
    fitted = known(Exponential(1.0))
    tl.export(fitted, tmp_path / "phi.table")
    assert lines_of(tmp_path / "phi.table")[-1].startswith("fix motion all brownian 0.5 12345 gamma_t 1 rng")
    fitted.noise_ = SimpleNamespace(known=False)
    tl.export(fitted, tmp_path / "unknown.table")
    last = lines_of(tmp_path / "unknown.table")[-1]
    assert last.startswith(
        "# fix motion all brownian 0.5 12345 gamma_t FRICTION rng gaussian  # not ready: sigma is not"
    )


def test_a_fit_that_nobody_tested_says_so(fit, tmp_path):
    done = tl.export(fit, tmp_path / "phi.csv", points=20)
    assert done.sentences[-1].startswith("not tested: ")
    assert "trackless validate" in (tmp_path / "phi.csv").read_text()
    tested = known(Exponential(1.0))
    passed = SimpleNamespace(passed=True)
    tested.findings_ = SimpleNamespace(residual_test=passed, log_bayes_factors=(None, None), sentences=())
    assert not any("not tested" in said for said in tl.export(tested, tmp_path / "tested.csv").sentences)


def test_networks_that_keep_no_range(tmp_path):
    fitted = known(Exponential(1.0), explored=None)
    del fitted.explored_
    done = tl.export(fitted, tmp_path / "phi.table", reach=(0.2, 3.0))
    assert any("below r = 0.2" in said for said in done.sentences)


def test_continued_potentials_can_be_simulated():
    core = continued_pair(-1 * Exponential(3.0), 0.3, 2.0)
    assert isinstance(core, Continued)
    model = SimpleNamespace(external=Power(2), interaction=core, sigma=1.0)
    data = tl.simulate(model, particles=4, runs=2, duration=0.1, step=1e-3)
    assert np.isfinite(data.positions).all()
