"""What the data can and cannot tell: how well the equations determine V, Phi, and one from the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from trackless.basis import Basis
from trackless.evidence import Posterior, slices_of
from trackless.mixtures import Potentials, learnt_potentials, name_of
from trackless.moments import Moments
from trackless.potentials import Potential, RadialPotential
from trackless.residuals import HEARD
from trackless.solvers import condition_numbers

Array = NDArray[np.float64]
GRID = 400  # distances at which a slope is held against its error
NOWHERE = "is nowhere known better than it is large"  # how the sentence on a potential lost in its error ends
NOTABLE = 0.05  # a trade-off by less than this part of the forces is not worth a sentence
OPPOSED = 0.5  # and so is one that the total force shows


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The change of V and Phi together that the data are least able to see, one standard deviation of it.

    Attributes
    ----------
    external, interaction : Potential, or a mapping of them by species
        The change of V and of Phi.
    sizes : (float, float)
        Their forces, as parts of the forces of V and Phi (root mean square over the particles).
    cancelled : float
        How much of the two changes of force cancels: 1 is all of it, 0 what independent forces have, below 0 they add.
    """

    external: Potential | Potentials
    interaction: Potential | Potentials
    sizes: tuple[float, float]
    cancelled: float


@dataclass(frozen=True, eq=False, repr=False)
class Identifiability:
    """How well a fit is determined by its data.

    Attributes
    ----------
    condition_numbers : dict
        Of the normal matrix A ("all") and of its "external" and "interaction" blocks.
    effective : (float, float)
        How many parameters of V and of Phi the data determine (the trace of what the data decide, not the prior).
    gram_external : (K_V, K_V)
        G_V: mean products of the forces of V's functions.
    gram_interaction : (K_Phi, K_Phi)
        c_N G_Phi: the same for Phi's functions, pair by pair, with c_N = (N - 1)/N^2.
    coercivity : float
        The largest c with A >= c diag(G_V, c_N G_Phi), on functions that the data reached. The theory asks for more
        than 0, and bounds it from below by 1 minus the correlation of the forces of V and Phi, where that is below 1
        (paper, Proposition on coercivity for joint estimation). NaN with a window or ``exclude_below``.
    correlation : float
        Largest 2 |cross force of V and Phi| relative to V's own and the pairs' own. Forces of many neighbours add up,
        so this may be more than 1; the bound says nothing then.
    smallest_eigenvalues : dict
        Of A ("all"), G_V ("external") and c_N G_Phi ("interaction").
    trade_off : TradeOff or None
        Where there are both potentials.
    explored : (range, range)
        Distances, or corners of a box, that V and Phi were seen at.
    sentences : tuple of str
    """

    condition_numbers: dict[str, float]
    effective: tuple[float, float]
    gram_external: Array
    gram_interaction: Array
    coercivity: float
    correlation: float
    smallest_eigenvalues: dict[str, float]
    trade_off: TradeOff | None
    explored: tuple[Any, Any]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value:.3g}" for name, value in self.condition_numbers.items())
        return "\n".join((
            f"condition numbers: {numbers}",
            f"parameters that the data determine: V {self.effective[0]:.1f}, Phi {self.effective[1]:.1f}",
            f"coercivity constant: {self.coercivity:.3g} (1 if V and Phi do not mix, 0 if data cannot tell them apart)",
            *self.sentences,
        ))  # fmt: skip

    __repr__ = __str__


def identifiability(fitted: Any) -> Identifiability:
    """What the data of a least-squares fit can tell.

    Parameters
    ----------
    fitted : fitted SelfTest, LabeledMLE or SinkhornMLE

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=50, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> found = fitted.identifiability()
    >>> 0 < found.coercivity <= 1
    True
    """
    moments: Moments = fitted.moments_
    as_they_are = fitted._equations(moments)
    # masked test functions are not those of the forces: what they have in common is looked at
    equations = as_they_are._replace(matrix=0.5 * (as_they_are.matrix + as_they_are.matrix.T))
    families = (fitted.external_basis_, fitted.interaction_basis_)
    parts = slices_of(families)
    grams = _grams(moments, equations.matrix, parts)
    masked = moments.observation.masked  # then there is no norm of forces to bound
    coercivity, correlation = (np.nan, np.nan) if masked else _coercivity(equations.matrix, grams, parts)
    numbers = condition_numbers(equations)
    blocks = {"external": grams.get(0), "interaction": grams.get(1)}
    smallest = {name: _smallest(gram) for name, gram in blocks.items() if gram is not None}
    trade_off = _trade_off(fitted, equations.matrix, families, parts)
    return Identifiability(
        numbers, _effective(fitted, as_they_are.matrix, parts), grams.get(0, np.zeros((0, 0))),
        grams.get(1, np.zeros((0, 0))), coercivity, correlation, {"all": _smallest(equations.matrix), **smallest},
        trade_off, fitted.explored_, (*_said_of_ranges(fitted), *_said_of(trade_off)),
    )  # fmt: skip


def _grams(moments: Moments, matrix: Array, parts: dict[int, slice]) -> dict[int, Array]:
    grams = {0: matrix[parts[0], parts[0]]} if 0 in parts else {}
    pairs = moments.pair_matrix()
    return grams | ({1: 0.5 * (pairs + pairs.T)} if 1 in parts else {})


def _smallest(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


def _coercivity(matrix: Array, grams: dict[int, Array], parts: dict[int, slice]) -> tuple[float, float]:
    """The constant, and the correlation of the forces of V and Phi that bounds it."""
    own = np.zeros_like(matrix)
    for role, part in parts.items():
        own[part, part] = grams[role]
    size = np.sqrt(np.maximum(np.diag(own), 0.0))
    heard = np.concatenate([size[part] ** 2 > HEARD * (size[part] ** 2).max() for part in parts.values()])
    scaled = np.ix_(heard, heard)
    unit = np.outer(size[heard], size[heard])
    own, total = own[scaled] / unit, matrix[scaled] / unit
    own += 1e-12 * np.eye(len(own))  # splines next to each other are almost the same where data are few
    cross = total.copy()
    first = int(heard[parts[0]].sum()) if 0 in parts else 0
    cross[:first, :first] = cross[first:, first:] = 0.0
    if np.linalg.eigvalsh(own)[0] <= 0:  # errors of positions that were extrapolated away may leave less than nothing
        return np.nan, np.nan
    return float(eigh(total, own, eigvals_only=True)[0]), float(eigh(cross, own, eigvals_only=True)[-1])


def _effective(fitted: Any, matrix: Array, parts: dict[int, slice]) -> tuple[float, float]:
    """Diagonal sums of (what the data decide of each coefficient): of gain times A."""
    found: Posterior | None = fitted.posterior_
    if found is not None:
        decided = found.gain(matrix) @ matrix[found.heard]
    else:
        decided = np.linalg.solve(matrix + fitted.ridge_matrix(), matrix)
    sums = [float(np.trace(decided[parts[role], parts[role]])) if role in parts else 0.0 for role in (0, 1)]
    return sums[0], sums[1]


def _trade_off(
    fitted: Any, matrix: Array, families: tuple[Basis | None, Basis | None], parts: dict[int, slice]
) -> TradeOff | None:
    if len(parts) < 2 or fitted.covariance_ is None or families[0] is None or families[1] is None:
        return None
    v, phi = parts[0], parts[1]
    forces = np.zeros_like(matrix)
    squares = [float(fitted.coef_[part] @ matrix[part, part] @ fitted.coef_[part]) for part in (v, phi)]
    sizes = [max(square, 1e-300) for square in squares]
    for part, size in zip((v, phi), sizes, strict=True):
        forces[part, part] = matrix[part, part] / size
    scales, axes = np.linalg.eigh(forces)
    root = axes * np.sqrt(np.maximum(scales, 0.0))
    variances, directions = np.linalg.eigh(root.T @ fitted.covariance_ @ root)
    if variances[-1] <= 0:
        return None
    change = fitted.covariance_ @ root @ directions[:, -1] / np.sqrt(variances[-1])
    own = [float(change[part] @ matrix[part, part] @ change[part]) for part in (v, phi)]
    if min(*squares, *own) < 0:  # of masked functions, whose products with the forces are no squares
        return None
    cancelled = -2 * float(change[v] @ matrix[v, phi] @ change[phi]) / max(sum(own), 1e-300)
    parts_of = (float(np.sqrt(own[0] / sizes[0])), float(np.sqrt(own[1] / sizes[1])))
    return TradeOff(families[0].combine(change[v]), families[1].combine(change[phi]), parts_of, cancelled)


def _said_of(trade_off: TradeOff | None) -> list[str]:
    if trade_off is None or max(trade_off.sizes) < NOTABLE or trade_off.cancelled < OPPOSED:
        return []
    return [
        f"V and Phi trade off: V' may change by {trade_off.sizes[0]:.0%} if Phi' changes by {trade_off.sizes[1]:.0%} "
        f"(one standard deviation), because {trade_off.cancelled:.0%} of it cancels in the force"
    ]


def _said_of_ranges(fitted: Any) -> list[str]:
    """Where a radial potential was seen, and where its slope is known worse than it is large."""
    sentences = []
    for one in learnt_potentials(fitted):
        potential, letter = one.potential, name_of(one.role, ())
        primed = one.name.replace(letter, f"{letter}'", 1)
        if not isinstance(potential, RadialPotential) or one.explored is None:
            continue
        low, high = one.explored
        below = f"below r = {low:.3g} and " if low > 0.1 * high else ""
        sentences.append(f"{below}beyond r = {high:.3g} the data say nothing of {one.name}")
        if potential.uncertainty is None:
            continue
        r = np.linspace(low, high, GRID + 1)[1:]  # an error at r = 0 itself concerns no one
        error, slope = potential.uncertainty.deviation(r, "slope"), potential.slope(r)
        typical = float(np.sqrt(np.mean(slope**2)))
        poor = error > typical
        if poor.all():
            sentences.append(f"{primed} {NOWHERE}")
        elif poor[-1]:
            known = r[np.flatnonzero(~poor)[-1]]
            sentences.append(f"beyond r = {known:.3g} the error of {primed} is larger than a typical {letter}'")
    return sentences
