"""Exported potentials in the programs they are for, where those are installed.

LAMMPS is looked for under its usual names; TRACKLESS_LAMMPS names another executable.
"""

import os
import runpy
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import KDTree

import trackless as tl
from trackless.exporting.learnt import learnt_of
from trackless.potentials import Centered
from trackless.shapes import Exponential, Power, ShiftedForce

pytestmark = pytest.mark.slow
USUAL = ("lmp", "lammps", "lmp_serial")
LAMMPS = os.environ.get("TRACKLESS_LAMMPS") or next(filter(None, map(shutil.which, USUAL)), None)


def knows_brownian(program):
    """Whether a LAMMPS has the package that the lines beside a table ask for; not all builds have."""
    said = subprocess.run([program, "-h"], capture_output=True, text=True, check=False).stdout
    return "BROWNIAN" in said.partition("Installed packages:")[2].partition("List of")[0].split()


needs_lammps = pytest.mark.skipif(
    LAMMPS is None or not knows_brownian(LAMMPS), reason="LAMMPS with its BROWNIAN package is not installed"
)

CUTOFF, BOX, PARTICLES, STEP = 2.5, 16.0, 200, 5e-4
MORSE = tl.RadialFunctions([ShiftedForce(Exponential(rate, 1.0), CUTOFF) for rate in (3.0, 6.0)])
MODEL = tl.Model("Morse", None, MORSE, (-0.8, 0.4), 1.0)
"""A fluid of particles that attract each other by 0.8 kT; with more it would take long to its equilibrium."""


def run_lammps(folder, lines):
    (folder / "in.test").write_text("\n".join(lines) + "\n")
    command = [LAMMPS, "-in", "in.test", "-log", "none", "-screen", "none"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def atoms(positions, types, box):
    """A data file; positions (particles, 2)."""
    rows = [f"{k + 1} {types[k]} {x!r} {y!r} 0" for k, (x, y) in enumerate(positions.tolist())]
    (low, high), count = box, max(types)
    head = [f"{len(rows)} atoms", f"{count} atom types", f"{low} {high} xlo xhi", f"{low} {high} ylo yhi"]
    masses = ["Masses", "", *(f"{k} 1.0" for k in range(1, count + 1))]
    return "\n".join(["test", "", *head, "-0.5 0.5 zlo zhi", "", *masses, "", "Atoms", "", *rows, ""])


def dumped(path, count, columns):
    """Numbers (frames, particles, columns) of a sorted dump."""
    lines = path.read_text().splitlines()
    frames = [lines[k + 9 : k + 9 + count] for k in range(0, len(lines), 9 + count)]
    return np.array([[row.split() for row in frame] for frame in frames], float).reshape(-1, count, columns)


def snippet(path):
    """The commented lines of an input script that a table comes with."""
    lines = [line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("# ")]
    return [line for line in lines if line.split()[0] in ("pair_style", "pair_coeff", "group", "fix", "create_atoms")]


def pair_distribution(frames, blocks):
    """g(r) (blocks, bins) of consecutive parts of a run of frames (times, particles, 2)."""
    edges = np.arange(0.4, 4.0, 0.05)
    ideal = PARTICLES * (PARTICLES - 1) / BOX**2 * np.pi * np.diff(edges**2)
    found = []
    for frame in frames:
        tree = KDTree(frame % BOX, boxsize=BOX)
        found.append(np.diff(tree.count_neighbors(tree, edges)) / ideal)
    return np.array([part.mean(axis=0) for part in np.array_split(found, blocks)])


@needs_lammps
def test_lammps_has_the_energies_and_forces_of_the_fit(tmp_path):
    """Pairs far from each other at distances from contact to the end of the table, with LAMMPS' own interpolation."""
    fitted = SimpleNamespace(
        external_=None, interaction_=MODEL.interaction, sigma_=1.0, coupling="sum", explored_=(None, (0.6, 2.4))
    )
    tl.export(fitted, tmp_path / "phi.table", kT=3.0, length=1.5, points=2000)
    curve = learnt_of(fitted, 3.0, 1.5, "safe", None).curve(1, ())
    r = np.linspace(0.01, 0.999 * curve.end, 150)
    x = np.stack([np.repeat(10.0 * np.arange(150), 2), np.zeros(300)], axis=1)
    x[1::2, 0] += r
    (tmp_path / "pairs.data").write_text(atoms(x, [1] * 300, (-10, 1510)))
    run_lammps(tmp_path, [
        "units lj", "dimension 2", "atom_style atomic", "read_data pairs.data", *snippet(tmp_path / "phi.table"),
        "compute e all pe/atom", "dump d all custom 1 out.dump id fx c_e",
        "dump_modify d sort id format float %.12g", "run 0",
    ])  # fmt: skip
    _, force, energy = dumped(tmp_path / "out.dump", 300, 3)[0, 1::2].T
    scale = np.abs(curve.force(r)).max()
    np.testing.assert_allclose(force, curve.force(r), atol=2e-4 * scale)
    np.testing.assert_allclose(2 * energy, curve.energy(r), atol=2e-4 * np.abs(curve.energy(r)).max())


@needs_lammps
def test_lammps_makes_the_same_fluid(tmp_path):
    """Simulated here, learnt from snapshots, simulated again by LAMMPS: g(r) agrees within sampling errors."""
    data = tl.simulate(
        MODEL, particles=PARTICLES, runs=4, duration=45.0, step=STEP, observe_every=0.1, box=BOX, coupling="sum",
        initial="lattice", seed=3,
    ).between(5.0, 45.0)  # fmt: skip
    fitted = tl.fit(data, sigma=1.0, external=None, interaction="radial", coupling="sum", cutoff=CUTOFF)
    tl.export(fitted, tmp_path / "phi.table")
    ours, theirs = [], []
    for run in range(4):
        frames = data.positions[run]
        ours.append(pair_distribution(frames, 8))
        (tmp_path / "start.data").write_text(atoms(frames[-1] % BOX, [1] * PARTICLES, (0, BOX)))
        lines = [line.replace(" 12345 ", f" {run + 100} ") for line in snippet(tmp_path / "phi.table")]
        run_lammps(tmp_path, [
            "units lj", "dimension 2", "atom_style atomic", "read_data start.data", "neighbor 0.4 bin", *lines,
            f"timestep {STEP}", "run 4000", f"dump d all custom 200 run{run}.dump id x y",
            "dump_modify d sort id format float %.10g", "run 80000",
        ])  # fmt: skip
        theirs.append(pair_distribution(dumped(tmp_path / f"run{run}.dump", PARTICLES, 3)[..., 1:], 8))
    one, other = np.concatenate(ours), np.concatenate(theirs)
    there = one.mean(axis=0) > 0.01
    difference = (other.mean(axis=0) - one.mean(axis=0))[there]
    error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / len(one))[there]
    print(f"g(r): rms {np.sqrt((difference**2).mean()):.4f}, {np.sqrt(((difference / error) ** 2).mean()):.2f} errors")
    assert np.sqrt((difference**2).mean()) < 0.015
    assert np.sqrt(((difference / error) ** 2).mean()) < 1.8  # 1 for the truth, a little more for a fit to these data
    assert np.abs(difference).max() < 0.06


@needs_lammps
def test_lammps_holds_particles_in_a_trap_by_an_anchor(tmp_path):
    """V = k r^2 / 2 about (1, 2), no interaction: positions have the variance kT / k in any units."""
    fitted = SimpleNamespace(
        external_=Centered(2.0 * Power(2), (1.0, 2.0)), interaction_=None, sigma_=1.0, coupling="sum",
        explored_=((0.01, 1.5), None),
    )  # fmt: skip
    tl.export(fitted, tmp_path / "v.table", kT=2.0, length=3.0)
    start = np.array([3.0, 6.0]) + np.random.default_rng(0).normal(size=(200, 2))
    (tmp_path / "start.data").write_text(atoms(start, [1] * 199 + [2], (-30, 40)))
    lines = snippet(tmp_path / "v.table")
    place = next(line for line in lines if line.startswith("create_atoms"))
    assert place.startswith("create_atoms 2 single 3 6 0")
    run_lammps(tmp_path, [
        "units lj", "dimension 2", "atom_style atomic", "read_data start.data", "group wrong type 2",
        "delete_atoms group wrong", *lines, "timestep 2e-3", "run 1000", "dump d mobile custom 250 out.dump id x y",
        "dump_modify d sort id format float %.10g", "run 50000",
    ])  # fmt: skip
    x = dumped(tmp_path / "out.dump", 199, 3)[..., 1:].reshape(-1, 2)
    np.testing.assert_allclose(x.mean(axis=0), [3.0, 6.0], atol=0.03)
    np.testing.assert_allclose(x.var(axis=0), 9 * 0.5 / 4.0, rtol=0.04)  # kT / k = sigma^2 / 2 / 4, times length^2


def test_openmm_has_the_energies_and_forces_of_the_fit(tmp_path):
    openmm = pytest.importorskip("openmm")
    model = tl.models.mixture()
    data = tl.simulate(model, runs=20, duration=0.2, step=1e-3)
    fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    tl.export(fitted, tmp_path / "forces.py", format="openmm")
    module = runpy.run_path(str(tmp_path / "forces.py"))
    kinds = ["a"] * 6 + ["b"] * 5
    x = np.zeros((11, 3))
    x[:, :2] = 0.8 * np.random.default_rng(0).normal(size=(11, 2))
    x[0, 0] = 6.0  # beyond the table of V
    system = openmm.System()
    for _ in kinds:
        system.addParticle(1.0)
    module["add_forces"](system, kinds)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, module["brownian_integrator"](1e-3, 11), platform)
    context.setPositions(x.tolist())
    state = context.getState(getForces=True, getEnergy=True)
    found = np.array(state.getForces(asNumpy=True)._value)
    energy, force = 0.0, np.zeros_like(x)
    learnt = learnt_of(fitted, None, 1.0, "safe", None)
    for i in range(11):
        r = np.linalg.norm(x[i])
        trap = learnt.curve(0, (kinds[i],))
        energy += trap.energy(r)
        force[i] += trap.force(r) * x[i] / r
        for j in range(i):
            gap = x[i] - x[j]
            r, pair = np.linalg.norm(gap), learnt.curve(1, (kinds[i], kinds[j]))
            if r < pair.end:
                energy += pair.energy(r)
                force[i] += pair.force(r) * gap / r
                force[j] -= pair.force(r) * gap / r
    np.testing.assert_allclose(found, force, atol=1e-3)  # a spline rounds the bend at the edge of the data
    assert state.getPotentialEnergy()._value == pytest.approx(energy, abs=1e-5)
    context.getIntegrator().step(100)
    assert not np.array(context.getState(getPositions=True).getPositions(asNumpy=True)._value)[:, 2].any()
