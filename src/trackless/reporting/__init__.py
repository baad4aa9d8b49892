"""report: a fit as one HTML file that needs nothing else and opens anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trackless._errors import InputError
from trackless.belonging import check_belongs
from trackless.files.atomic import check_target, replacing
from trackless.magnitudes import check_whole
from trackless.reporting.content import collect
from trackless.reporting.page import page
from trackless.snapshots import Snapshots

ENDINGS = (".html", ".htm")


def _check(fitted: Any, snapshots: Any, path: Any, validation: Any) -> None:
    """One clear error for arguments that are missing or in another order."""
    usage = "tl.report(fitted, snapshots, 'report.html', validation=tl.validate(fitted, snapshots))"
    if isinstance(fitted, Snapshots):
        raise InputError(f"report: the first argument is the fit, got Snapshots; call {usage}")
    check_belongs(fitted, snapshots, "report")
    if not isinstance(path, (str, Path)) or not str(path):
        given = repr(path) if isinstance(path, str) else type(path).__name__
        raise InputError(f"path: expected the name of a file, got {given}; call {usage}")
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a report is a page of HTML; name it with one of the endings {', '.join(ENDINGS)}")
    if validation is not None and not all(hasattr(validation, name) for name in ("passed", "sentences", "predictive")):
        raise InputError(f"validation: expected what tl.validate found, got {type(validation).__name__}; call {usage}")


def report(
    fitted: Any,
    snapshots: Snapshots,
    path: str | Path = "",
    title: str | None = None,
    validation: Any = None,
    overwrite: bool = False,
    source: str | Sequence[str] | None = None,
    simulate: bool = True,
    seed: int = 0,
    reading: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page about a fit: potentials with bands, predictions beside the data, an animation, warnings first.

    One HTML file that loads nothing from anywhere. It can be read on a phone, in the dark, on paper, with a keyboard
    and by a screen reader; plots show their values, and can be downloaded as CSV and SVG.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
        The data of the fit, or others of the same kind.
    path : str or Path
        Where the page is written, ``report.html`` for instance.
    title : str, optional
    validation : optional
        What :func:`trackless.validate` found; without it observed distances are compared with those of a few
        simulations, and there are no p-values.
    overwrite : bool
        Whether a file that exists is replaced.
    source : str or sequence of str, optional
        Names of the files that the data are from.
    simulate : bool
        False: nothing is simulated, only what was observed is shown.
    seed : int
        Of the simulations. The same fit, data and seed give the same page, byte for byte.
    reading : dict, optional
        What else the files were read with (``dt``, ``columns``, ...; ``every``: the stride of the frames that were
        kept), for the lines of code that make the fit again.

    Returns
    -------
    Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=60, duration=0.3, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> made = tl.report(fitted, data, pathlib.Path(tempfile.mkdtemp()) / "report.html")
    >>> made.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    write_report(fitted, snapshots, path, title, validation, overwrite, source, simulate, seed, reading)
    return Path(path)


def write_report(
    fitted: Any,
    snapshots: Snapshots,
    path: str | Path,
    title: str | None = None,
    validation: Any = None,
    overwrite: bool = False,
    source: str | Sequence[str] | None = None,
    simulate: bool = True,
    seed: int = 0,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same as :func:`report`, but what it returns is what the page says, as ``reporting.content`` collects it."""
    _check(fitted, snapshots, path, validation)
    check_whole("seed", seed, 0)
    check_target(path, overwrite)  # before the work
    names = [source] if isinstance(source, str) else list(source or ())
    said = collect(fitted, snapshots, title, validation, names, reading, simulate, seed)
    made = page(said)
    with replacing(path, overwrite) as temporary:
        temporary.write_text(made, encoding="utf-8")
    return said
