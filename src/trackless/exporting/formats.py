"""export: the one table of programs that potentials are written for, chosen by name or by the ending of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.exporting.delimited import grid_text, radial_text, told_of_grids
from trackless.exporting.hoomd import hoomd_text
from trackless.exporting.lammps import lammps_text
from trackless.exporting.learnt import Learnt, learnt_of
from trackless.exporting.openmm import openmm_text
from trackless.files.atomic import check_target, replacing
from trackless.mixtures import in_words

FORMATS: dict[str, str | None] = {"lammps": None, "openmm": ".py", "hoomd": ".py", "csv": ".csv"}
"""Name -> the ending that its files have, None for any."""
GUESSED = {".table": "lammps", ".csv": "csv"}
WRITERS: dict[str, Callable[[Learnt, Path, int], str]] = {
    "lammps": lammps_text,
    "openmm": lambda learnt, _, points: openmm_text(learnt, points),
    "hoomd": lambda learnt, _, points: hoomd_text(learnt, points),
}
FEWEST, MOST = 10, 1_000_000  # rows of a table


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    format : str
    files : tuple of Path
    sentences : tuple of str
        How units and coupling were converted, what was extrapolated and what was left out; they are in the files, too.
    """

    format: str
    files: tuple[Path, ...]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            (f"{self.format}: {', '.join(map(str, self.files))}", *(f"- {said}" for said in self.sentences))
        )


def export(
    fitted: Any,
    path: str | Path,
    format: str | None = None,
    kT: float | None = None,
    length: float = 1.0,
    points: int = 1000,
    core: str = "safe",
    reach: tuple[float, float] | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write V and Phi of a fit for a simulator, in its units, safe where the data end.

    Phi is written as the potential of a pair. Below the distances that the data explored it repels, above them its
    force ends smoothly, and the file says so; energies are 0 where a table of Phi ends, and where V is lowest.

    Parameters
    ----------
    fitted : fitted estimator
    path : path
    format : "lammps", "openmm", "hoomd" or "csv", optional
        By default from the ending, ``.table`` (lammps) or ``.csv``. "lammps": a file for ``pair_style table``, with
        lines of an input script as comments; a radial V is the table of particles and an anchor. "openmm" and "hoomd":
        a ``.py`` with the tables and functions that use them. "csv": r, energy, force (points,), its 95 % band, and
        what was extrapolated; potentials that are not radial on a grid.
    kT : float, optional
        The simulator's temperature in its energies, which are then kT / (sigma^2 / 2) times V and Phi. By default
        kT = sigma^2 / 2, the mobility is 1, and the numbers are those of the fit.
    length : float
        Lengths of the simulator per length of the data.
    points : int
        Rows of a table.
    core : "safe" or "linear"
        Below the explored distances: a repulsive core, or the force at the edge
        (:mod:`trackless.exporting.continuation`).
    reach : (float, float), optional
        Explored distances, in units of the data, where the fit does not know them.
    overwrite : bool
        Whether files of that name may be replaced.

    Returns
    -------
    Exported
        The files, and what was done in words.

    Examples
    --------
    >>> import tempfile, pathlib, trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=20, duration=0.1, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> done = tl.export(fitted, pathlib.Path(tempfile.mkdtemp()) / "phi.table", kT=4.1, length=1e-3)
    >>> print(done.sentences[0])
    forces were averaged over N = 10 particles: Phi was divided by 10, so that Phi is the potential of a pair
    """
    target = Path(path)
    name = checked_format(target, format)
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or not FEWEST <= points <= MOST:
        raise InputError(f"points: expected a whole number from {FEWEST} to {MOST}, got {points!r}")
    if not all(hasattr(fitted, part) for part in ("external_", "interaction_", "sigma_", "coupling")):
        raise InputError(f"export: expected a fitted estimator, got {type(fitted).__name__}")
    learnt = learnt_of(fitted, kT, length, core, reach)
    if name == "csv":
        learnt = replace(learnt, notes=(*learnt.notes, *told_of_grids(learnt, int(points))))
        texts = _csv(learnt, target, int(points))
    else:
        learnt = _for_simulator(learnt, name)
        texts = {target: WRITERS[name](learnt, target, int(points))}
    for file in texts:  # all of them, before any is written
        check_target(file, overwrite)
    for file, text in texts.items():
        with replacing(file, overwrite) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    return Exported(name, tuple(texts), learnt.sentences)


def checked_format(path: Path, format: str | None) -> str:
    """The name of a format, as told or from the ending."""
    ending = path.suffix.lower()
    if format is None:
        if ending not in GUESSED:
            known = ", ".join(f"{end} ({name})" for end, name in GUESSED.items())
            raise InputError(
                f"{path}: {ending or 'a file without ending'} does not say for which program; name it {known}, or give "
                f"the format: {', '.join(FORMATS)}"
            )
        return GUESSED[ending]
    if format not in FORMATS:
        raise InputError(f"format: expected {', '.join(map(repr, FORMATS))}, got {format!r}")
    wanted = FORMATS[format]
    if wanted not in (None, ending):
        raise InputError(f"{path}: for {format} a file ending in {wanted} is written; name it so")
    return format


def _csv(learnt: Learnt, path: Path, points: int) -> dict[Path, str]:
    texts: dict[Path, str] = {}
    if learnt.curves:
        texts[path] = radial_text(learnt, points)
    if learnt.others:
        grid = path.with_name(f"{path.stem}-grid{path.suffix}") if learnt.curves else path
        texts[grid] = grid_text(learnt, points)
    return texts


def _for_simulator(learnt: Learnt, name: str) -> Learnt:
    """The same, if a simulator takes it, with a word on what it does not."""
    if not learnt.curves:
        who = in_words(tuple(one.name for one in learnt.others))
        raise InputError(f"{who}: not radial, and {name} takes tables of distances only; format='csv' writes a grid")
    if np.ndim(learnt.scales.sigma) > 0:
        raise InputError(
            f"{name}: sigma differs between directions, which no temperature stands for; format='csv' writes potentials"
        )
    if learnt.dim is not None and learnt.dim > 3:
        raise InputError(f"{name}: simulates three dimensions at most, the data have {learnt.dim}; use format='csv'")
    said = [
        f"{one.name} is not radial and not in this file: {name} takes tables of distances, format='csv' writes a grid"
        for one in learnt.others
    ]
    if learnt.dim == 1 and name != "openmm":
        said.append(f"the data have one dimension, {name} moves particles in two or three: hold the other coordinates")
    return replace(learnt, notes=(*learnt.notes, *said))
