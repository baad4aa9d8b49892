"""LAMMPS: a file for ``pair_style table``, with the lines of an input script that go with it as comments.

LAMMPS has no table for a potential of single particles. A radial V is written as the table of a pair instead: of a
particle and an anchor, an atom of a type of its own that sits at the centre of V and is not moved.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np

from trackless.exporting.learnt import Curve, Learnt
from trackless.exporting.names import comment, comments, words
from trackless.potentials import Array

FIRST = 1e-6  # of the end: LAMMPS stops where two particles are closer than the first row, and takes no 0
ROWS = (10_000, 200_000)  # of the tables that LAMMPS makes from these, evenly spaced in r^2: so that cores have some


def lammps_text(learnt: Learnt, path: Path, points: int) -> str:
    """Sections PHI (or PHI_A_B), V (or V_A) and, for pairs without a potential, ZERO."""
    sections = _sections(learnt)
    ends = [curve.end for curve in sections.values() if curve is not None]
    snippet = _snippet(learnt, path, sections, max(ends))
    lines = [*comments(learnt.header()), "#", *comments(snippet, width=1000), ""]
    for name, curve in sections.items():
        r = nodes(curve.end if curve is not None else min(ends), points)
        energy, force = (curve.energy(r), curve.force(r)) if curve is not None else (0 * r, 0 * r)
        lines += [name, f"N {points} R {float(r[0])!r} {float(r[-1])!r}", ""]
        rows = zip(r.tolist(), energy.tolist(), force.tolist(), strict=True)
        lines += [f"{k} {x:.15g} {u:.15g} {f:.15g}" for k, (x, u, f) in enumerate(rows, 1)]
        lines.append("")
    return "\n".join(lines)


def nodes(end: float, points: int) -> Array:
    """Distances of the rows, (points,)."""
    return np.linspace(FIRST * end, end, points)


def _sections(learnt: Learnt) -> dict[str, Curve | None]:
    """Names of the sections and their curves, sorted: old versions take the first that begins with a name."""
    named = dict(zip(learnt.species, words(learnt.species), strict=True))
    found: dict[str, Curve | None] = {}
    for curve in learnt.curves:
        name = "_".join([("V", "PHI")[curve.role], *(named[kind] for kind in curve.kinds)])
        while name in found:  # a_b and c are not a and b_c
            name += "_"
        found[name] = curve
    missing = any(learnt.curve(1, learnt.kinds_of(pair)) is None for pair in learnt.pairs)
    if missing or learnt.of_role(0):
        found["ZERO"] = None
    return dict(sorted(found.items()))


def _snippet(learnt: Learnt, path: Path, sections: dict[str, Curve | None], end: float) -> list[str]:
    """Lines of an input script."""
    name_of = {curve: name for name, curve in sections.items() if curve is not None}
    file = comment(path.name)
    file = f'"{file}"' if " " in file else file
    scales, count = learnt.scales, max(1, len(learnt.species))
    types = [f"type {k} is species {name}" for k, name in enumerate(learnt.species, 1)]
    traps = learnt.of_role(0)
    anchors = _anchors(traps)
    said = ["In an input script (units lj, in which Boltzmann's constant is 1):", *types]
    if learnt.dim in (2, 3):
        said.append(f"dimension {learnt.dim}")
    finest = min(curve.explored[0] or curve.end for curve in name_of)
    rows = int(np.clip(ceil((end / finest) ** 2), *ROWS))
    said.append(f"pair_style table linear {rows}")
    if "ZERO" in sections:
        said.append(f"pair_coeff * * {file} ZERO")
    for i, j in learnt.pairs:
        curve = learnt.curve(1, learnt.kinds_of((i, j)))
        if curve is not None:
            said.append(f"pair_coeff {i + 1} {j + 1} {file} {name_of[curve]}")
    for k in range(count):
        curve = learnt.curve(0, learnt.kinds_of((k,)))
        if curve is not None:
            said.append(f"pair_coeff {k + 1} {count + 1 + anchors.index(curve.centre)} {file} {name_of[curve]}")
    group = "all"
    if anchors:
        for k, origin in enumerate(anchors, count + 1):
            said.append(
                f"create_atoms {k} single {' '.join(f'{x:.10g}' for x in origin)}  # an anchor: where V is centred"
            )
        said.append(f"group mobile type {'1' if count == 1 else f'1:{count}'}")
        group = "mobile"
    friction = f"{scales.friction:.10g}" if scales.known else "FRICTION"
    fix = f"fix motion {group} brownian {scales.kT:.10g} 12345 gamma_t {friction} rng gaussian"
    if not scales.movable:
        why = "sigma is 0, there is no temperature" if scales.known else "sigma is not known, nor is the friction"
        fix = f"# {fix}  # not ready: {why}; choose your own"
    return [*said, fix]


def _anchors(traps: tuple[Curve, ...]) -> list[tuple[float, ...]]:
    """Centres of V, each once, in three dimensions."""
    return list(dict.fromkeys(curve.centre for curve in traps))
