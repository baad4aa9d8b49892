"""Fitted potentials for other programs: tables in their units, with what was extrapolated said in the file.

`scales` converts units and coupling, `continuation` goes on where the data end, `learnt` puts both together for every
potential of a fit; `lammps`, `openmm`, `hoomd` and `delimited` write them, `formats` is the table of all of them.
"""

from trackless.exporting.formats import Exported, export

__all__ = ["Exported", "export"]
