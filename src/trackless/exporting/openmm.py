"""OpenMM: a Python module with the tables as numbers, and functions that add them to a System."""

from __future__ import annotations

import numpy as np

from trackless.exporting.learnt import Curve, Learnt
from trackless.exporting.python import module_text, numbers

BODY = '''
import openmm

KT = {kT!r}  # energies of this file: kJ/mol where OpenMM's units are kept
MOBILITY = {mobility!r}  # velocity over force
DIMENSIONS = {dim!r}
SPECIES = {species!r}

# Potentials of a pair, by species: (end, energies at even distances from 0 to there).
PAIRS = {pairs}

# Potentials of single particles, by species: (end, energies, slope beyond, centre).
SINGLES = {singles}


def add_forces(system, kinds=None, periodic=False):
    """Add Phi and V to an openmm.System that has all its particles.

    ``kinds`` has a species for every particle; it may be left out where all are alike. ``periodic`` says whether
    distances are those in the periodic box.
    """
    count = system.getNumParticles()
    kinds = [""] * count if kinds is None else [str(kind) for kind in kinds]
    unknown = set(kinds) - set(SPECIES or [""])
    if len(kinds) != count or unknown:
        raise ValueError(f"expected {{count}} species out of {{SPECIES}}, got {{len(kinds)}}, unknown: {{unknown}}")
    members = {{kind: [i for i in range(count) if kinds[i] == kind] for kind in SPECIES or [""]}}
    added = []
    for pair, (end, energies) in PAIRS.items():
        if not all(members[kind] for kind in pair):
            continue
        force = openmm.CustomNonbondedForce("phi(r)")  # 0 beyond the end of its table
        force.addTabulatedFunction("phi", openmm.Continuous1DFunction(energies, 0.0, end))
        for _ in range(count):
            force.addParticle([])
        if SPECIES:
            force.addInteractionGroup(*(members[kind] for kind in pair))
        mode = force.CutoffPeriodic if periodic else force.CutoffNonPeriodic
        force.setNonbondedMethod(mode)
        force.setCutoffDistance(max(far for far, _ in PAIRS.values()))
        added.append(force)
    for kind, (end, energies, slope, centre) in SINGLES.items():
        # tables are for bonds, not for CustomExternalForce: a bond of one particle is the same
        force = openmm.CustomCompoundBondForce(
            1, "v(min(r, end)) + slope * max(0, r - end); r = sqrt((x1 - x0)^2 + (y1 - y0)^2 + (z1 - z0)^2 + 1e-24)"
        )
        force.addTabulatedFunction("v", openmm.Continuous1DFunction(energies, 0.0, end))
        for name in ("end", "slope", "x0", "y0", "z0"):
            force.addPerBondParameter(name)
        for i in members[kind]:
            force.addBond([i], [(1 - 1e-9) * end, slope, *centre])  # at its end, OpenMM takes a table for 0
        added.append(force)
    for force in added:
        system.addForce(force)
    return added


def brownian_integrator(step, particles):
    """dX = MOBILITY force dt + sqrt(2 KT MOBILITY) dW; planar data stay in the plane."""
    integrator = openmm.CustomIntegrator(step)
    integrator.addGlobalVariable("mobility", MOBILITY)
    integrator.addGlobalVariable("kT", KT)
    integrator.addPerDofVariable("free", 1.0)
    integrator.addUpdateContextState()
    integrator.addComputePerDof("x", "x + free * (mobility * dt * f + sqrt(2 * kT * mobility * dt) * gaussian)")
    free = openmm.Vec3(*(1.0 if k < DIMENSIONS else 0.0 for k in range(3)))
    integrator.setPerDofVariableByName("free", [free] * particles)
    return integrator
'''


def openmm_text(learnt: Learnt, points: int) -> str:
    """The module: numbers, ``add_forces`` and ``brownian_integrator``."""
    pairs = []
    for pair in learnt.pairs:
        curve = learnt.curve(1, learnt.kinds_of(pair))
        if curve is not None:
            pairs.append(f"    {_key(learnt, pair)}: {_table(curve, points)},\n")
    singles = []
    for k in range(max(1, len(learnt.species))):
        curve = learnt.curve(0, learnt.kinds_of((k,)))
        if curve is not None:
            slope = float(curve.potential.slope(curve.end))
            name = ascii(learnt.species[k]) if learnt.species else '""'
            singles.append(f"    {name}: (*{_table(curve, points)}, {slope!r}, {curve.centre!r}),\n")
    body = BODY.format(
        kT=learnt.scales.kT, mobility=learnt.scales.mobility, dim=learnt.dim or 3,
        species=_Ascii(learnt.species), pairs="{\n" + "".join(pairs) + "}", singles="{\n" + "".join(singles) + "}",
    )  # fmt: skip
    return module_text(learnt, "For OpenMM: add_forces(system) and brownian_integrator(step, particles).", body)


class _Ascii:
    """Something whose representation has no other letters."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return ascii(self.value)


def _key(learnt: Learnt, pair: tuple[int, int]) -> str:
    names = [learnt.species[k] for k in pair] if learnt.species else ["", ""]
    return ascii(tuple(names))


def _table(curve: Curve, points: int) -> str:
    r = np.linspace(0.0, curve.end, points)
    return f"({curve.end!r}, {numbers(curve.energy(r))})"
