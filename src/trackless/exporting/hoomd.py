"""HOOMD-blue: a Python module with the tables as numbers, and a function that makes md.pair.Table of them.

As for LAMMPS, a radial V becomes the table of a particle and an anchor at its centre that is not moved.

Names and arguments are those of HOOMD-blue's documentation (``hoomd.md.pair.Table``, ``hoomd.md.methods.Brownian``,
``hoomd.filter.Type``): there is no package of it for pip, so that no test has run it.
"""

from __future__ import annotations

import numpy as np

from trackless.exporting.learnt import Curve, Learnt
from trackless.exporting.names import words
from trackless.exporting.python import module_text, numbers

BODY = '''
import numpy

import hoomd

KT = {kT!r}
FRICTION = {friction!r}  # force over velocity
TYPES = {types!r}  # of particles that move

# Anchors: particles at these places, one of each type, that no integration method moves. V is their table.
ANCHORS = {anchors!r}

# (end, energies, forces) at numpy.linspace(0, end, points, endpoint=False), by types; other pairs do not interact.
TABLES = {tables}


def pair_table(nlist):
    """hoomd.md.pair.Table with all potentials; types of particles are TYPES and those of ANCHORS."""
    table = hoomd.md.pair.Table(nlist, default_r_cut=0.0)
    names = [*TYPES, *ANCHORS]
    for k, first in enumerate(names):
        for second in names[k:]:
            end, energies, forces = TABLES.get((first, second), (0.0, [0.0], [0.0]))
            table.params[(first, second)] = dict(r_min=0.0, U=numpy.array(energies), F=numpy.array(forces))
            table.r_cut[(first, second)] = end
    return table


def brownian():
    """hoomd.md.methods.Brownian of the particles that move."""
    method = hoomd.md.methods.Brownian(filter=hoomd.filter.Type(TYPES), kT=KT)
    method.gamma.default = FRICTION  # which every version knows; default_gamma= is younger
    return method
'''


def hoomd_text(learnt: Learnt, points: int) -> str:
    """The module: numbers, ``pair_table`` and ``brownian``."""
    types = words(learnt.species) or ("A",)
    centres: dict[tuple[float, ...], str] = {}
    tables = []
    for i, j in learnt.pairs:
        curve = learnt.curve(1, learnt.kinds_of((i, j)))
        if curve is not None:
            tables.append(_entry((types[i], types[j]), curve, points))
    for k, name in enumerate(types):
        curve = learnt.curve(0, learnt.kinds_of((k,)))
        if curve is not None:
            anchor = centres.setdefault(curve.centre, _unused(f"anchor{len(centres) + 1}", types))
            tables.append(_entry((name, anchor), curve, points))
    body = BODY.format(
        kT=learnt.scales.kT, friction=learnt.scales.friction, types=list(types),
        anchors={name: centre for centre, name in centres.items()}, tables="{\n" + "".join(tables) + "}",
    )  # fmt: skip
    return module_text(learnt, "For HOOMD-blue (version 3 and later): pair_table(nlist) and brownian().", body)


def _entry(pair: tuple[str, str], curve: Curve, points: int) -> str:
    r = np.linspace(0.0, curve.end, points, endpoint=False)
    return f"    {pair!r}: ({curve.end!r}, {numbers(curve.energy(r))}, {numbers(curve.force(r))}),\n"


def _unused(name: str, types: tuple[str, ...]) -> str:
    while name in types:
        name += "_"
    return name
