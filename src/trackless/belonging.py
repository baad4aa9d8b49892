"""Whether a fit and data can belong together, asked before anything is computed of both."""

from __future__ import annotations

from typing import Any

from trackless._errors import InputError
from trackless.mixtures import listed
from trackless.snapshots import Snapshots
from trackless.space import Box
from trackless.survey import surveyed
from trackless.wording import plural

UNKNOWN = object()  # of fits that were saved before boxes were
SHARED = "in part"  # whether data are those of a fit: True, False, None where nobody knows, or this: some of them are


def check_belongs(fitted: Any, snapshots: Any, asked: str) -> None:
    """Refuse a fit and data of different kinds: dimension, box, species, or a number of particles that changes.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
    asked : str
        Who asks, for messages.
    """
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"{asked}: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    if not all(hasattr(fitted, name) for name in ("external_", "interaction_", "sigma_")):
        raise InputError(f"{asked}: expected a fitted estimator, got {type(fitted).__name__}; call fit first")
    dim = _dimension(fitted)
    if dim is not None and dim != snapshots.dim:
        raise InputError(
            f"{asked}: the fit is of {dim}-dimensional data, these have {plural(snapshots.dim, 'dimension')}; give the "
            "data that were fitted, or others like them"
        )
    box: Any = getattr(fitted, "box_", UNKNOWN)
    if box is not UNKNOWN and (None if box is None else tuple(box)) != snapshots.box:
        raise InputError(
            f"{asked}: the fit is of data in {_space(box)}, these are in {_space(snapshots.box)}; give data like those "
            "that were fitted (box=)"
        )
    named = {kind for own in (fitted.external_, fitted.interaction_) for kinds, _ in listed(own) for kind in kinds}
    missing = sorted(named - set(snapshots.species or ()))
    if missing:
        there = f"those of the data are {', '.join(snapshots.species)}" if snapshots.species else "the data have none"
        raise InputError(
            f"{asked}: the fit is of the species {', '.join(sorted(named))}, {there}; give the data that were fitted, "
            "or say which column the species are in (--columns species=NAME)"
        )
    averaged = getattr(fitted, "coupling", "sum") == "mean" and fitted.interaction_ is not None
    if averaged and not snapshots.constant_count:
        raise InputError(
            f"{asked}: the fit has mean coupling, for which the number of particles must not change within a run, and "
            "in these data it does; fit again with coupling='sum'"
        )


def mismatches(fitted: Any, snapshots: Snapshots) -> list[str]:
    """How data differ from those of a fit, though they are not refused."""
    said: list[str] = []
    factor = time_factor(fitted, snapshots)
    if factor != 1.0:
        said.append(
            f"THE TIMES ARE NOT THOSE OF THE FIT: frames that it was made from are {factor:.4g} times as far apart "
            "here; read both with the same dt, or fit again"
        )
    potentials = (*listed(fitted.external_), *listed(fitted.interaction_))
    if len(snapshots.species or ()) > 1 and not any(kinds for kinds, _ in potentials):
        names = ", ".join(snapshots.species or ())
        said.append(f"species are ignored: the fit knows one kind of particles only, the data have {names}")
    number = getattr(getattr(fitted, "moments_", None), "number", None)
    if fitted.interaction_ is None or getattr(fitted, "coupling", "sum") != "mean" or number is None:
        return said
    counts = {int(n) for m in range(1 if snapshots.regular else snapshots.runs) for n in snapshots.counts_of(m)}
    if counts != {number}:
        few, most = min(counts), max(counts)
        here, factors = (f"{few}", f"{number / few:.3g}") if few == most else (
            f"{few} to {most}", f"{number / most:.3g} to {number / few:.3g}"
        )  # fmt: skip
        said.append(
            f"the fit has mean coupling and was made with N = {number}, these data have N = {here}: the force of a "
            f"pair, -grad Phi / N, is taken to be {factors} times that in the data of the fit; if it is the same, fit "
            "with coupling='sum'"
        )
    return said


def time_factor(fitted: Any, snapshots: Snapshots) -> float:
    """How many times as far apart in time as in the fit those frames are that it knows again; 1 where it knows none."""
    frames = getattr(fitted, "frames_", None)
    return 1.0 if frames is None else surveyed(snapshots).known.slower_than(frames)


def known_again(fitted: Any, snapshots: Snapshots) -> tuple[Snapshots, bool | str | None]:
    """Snapshots, cut at gaps as those of a fit, and whether they are those of the fit.

    True: the same; SHARED: some of them; False: none that is known; None: nobody knows.
    """
    fingerprint, frames = getattr(fitted, "fingerprint_", None), getattr(fitted, "frames_", None)
    cut = snapshots.without_gaps(getattr(fitted, "max_gap_", None))
    if fingerprint is not None:
        if fingerprint in (snapshots.fingerprint(), cut.fingerprint()):
            return cut, True
        apart = snapshots.without_gaps("auto")  # the command line cuts before it fits
        if fingerprint == apart.fingerprint():
            return apart, True
    if frames is None or not len(frames.particles):  # files of earlier versions, or frames that are all alike
        return cut, None
    return cut, SHARED if surveyed(cut).known.shared_with(frames) else False


def _space(box: Box) -> str:
    return "free space" if box is None else f"a periodic box of {' x '.join(f'{side:g}' for side in box)}"


def _dimension(fitted: Any) -> int | None:
    """Of the data of a fit, where it is known."""
    moments = getattr(fitted, "moments_", None)
    if moments is not None:
        return int(moments.dim)
    for network in (*getattr(fitted, "external_networks_", ()), *getattr(fitted, "interaction_networks_", ())):
        if len(network.shift) > 1:  # not radial
            return len(network.shift)
    return None
