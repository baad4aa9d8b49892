"""How test energies change, window by window and interval by interval, beside what a fit says they should.

With forces from theta, the energy H of any test function obeys dH = (s D - P) dt + noise, where s = sigma^2/2, D is
the sum of its Laplacians and P = sum_i grad_i H . force_i. Two things follow that no fit has used up:

- on every time window, the mean of H(end) - H(start) - integral of (s D - P) is zero (MATH: sigma can be learnt too);
- on every interval, R = change of H - dt (mean of s D - P at both ends) has the covariance sigma^2 dt Gamma, with
  Gamma_kl = sum_i grad_i H_k . grad_i H_l: the quadratic variation. Drift at both ends takes away what is of first
  order in dt: what remains is of the order dt^2, and is extrapolated from strides 1 and 2.

Test functions are as smooth as can be (polynomials of degree 2, broad Gaussians of distances): rough ones have larger
errors of every kind. One pass over the data keeps small sums, per block and window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless._kernels.energies import energy_series
from trackless.accumulation import FEW_BLOCKS, usual_size
from trackless.basis import Basis, RadialFunctions, families_of
from trackless.excerpts import Source
from trackless.exploration import explore
from trackless.passes import add_up
from trackless.pieces import Batches, Task, block_cuts, loaded, spans, usual_length
from trackless.potentials import RadialSum
from trackless.quadrature import RULES, STRIDES, rule_named
from trackless.shapes import Gaussian, Power
from trackless.snapshots import Snapshots
from trackless.space import half_box, side_lengths
from trackless.tables import Families, PolynomialTable, RadialTable, by_direction, empty_table, one_noise

Array = NDArray[np.float64]
WINDOWS = 8
BLOCKS = 256
FEWEST_INTERVALS = 4  # in a window
BROAD = (1.5, 0.8)  # widths of Gaussians of pair distances, in units of their root mean square
BOXED = (0.5, 0.3)  # and in a periodic box, in units of the cutoff
NEIGHBOURS = 8.0  # distances between neighbours that test functions of pairs reach in a box
SMOOTH = 4  # power of (1 - (r/cutoff)^2) that makes them vanish there


@dataclass(frozen=True)
class Tests:
    """Test functions for single particles and pairs.

    Attributes
    ----------
    families : Families
        Polynomials of the coordinates (none in a periodic box), and functions of distances.
    steady : (E,) bool
        Which of them are so smooth that their quadratic variation is looked at.
    along : (E,) int
        The one direction that a function depends on, -1 where there are more.
    names : tuple of str
    """

    families: Families
    steady: NDArray[np.bool_]
    along: NDArray[np.int64]
    names: tuple[str, ...]


def tests_for(snapshots: Snapshots, per_direction: bool, quadratic: bool, kinds: int) -> Tests:
    """Smooth test functions on the scale of the data; ``quadratic``: polynomials only, none in a periodic box.

    Where ``kinds`` of particles are told apart, each has its own polynomials; functions of distances are of all pairs.
    """
    dim, explored = snapshots.dim, explore(snapshots)
    external: PolynomialTable | RadialTable = empty_table(dim)
    names: list[str] = []
    along: list[int] = []
    if snapshots.box is None:
        origin = explored.mean
        scale = float(np.sqrt(((explored.positions - origin) ** 2).sum(axis=1).mean()))
        letters = [f"x{k + 1}" for k in range(dim)]
        products = [(k, m) for k in range(dim) for m in range(k, dim)]
        names = letters + [letters[k] + letters[m] for k, m in products]
        along = [*range(dim), *(k if k == m else -1 for k, m in products)]
        external = PolynomialTable(np.ascontiguousarray(origin), scale or 1.0, len(names), one_noise(dim))
    pairs: list[str] = []
    interaction, reach = empty_table(dim), _reach(snapshots)
    if max(snapshots.counts_of(0)) > 1 and not (quadratic and snapshots.box is not None):
        family, pairs = _pair_functions(snapshots, quadratic)
        interaction = family.adapted(explored, "interaction").table(dim)
    steady = np.array([True] * len(names) * kinds + [snapshots.box is not None or name == "r^2" for name in pairs])
    if per_direction:
        external, interaction = by_direction(external), by_direction(interaction)
    every = np.array(along * kinds + [-1] * len(pairs), dtype=np.int64)
    meeting = np.array(list(combinations_with_replacement(range(kinds), 2)), np.int64)
    families = Families((external,) * kinds, (interaction,) * len(meeting), meeting, reach, False, kinds > 1)
    if kinds > 1:
        names = [f"{name} of {kind}" for kind in snapshots.species or () for name in names]
    return Tests(families, steady, every, (*names, *pairs))


def _reach(snapshots: Snapshots) -> float:
    """Of test functions of pairs: in a large box, some neighbours are enough."""
    if snapshots.box is None:
        return np.inf
    apart = float(np.prod(snapshots.box) / max(snapshots.counts_of(0).max(), 1)) ** (1 / snapshots.dim)
    return min(half_box(snapshots.box), NEIGHBOURS * apart)


def _pair_functions(snapshots: Snapshots, quadratic: bool) -> tuple[Basis, list[str]]:
    if snapshots.box is not None:
        cutoff = _reach(snapshots)
        widths = [part * cutoff for part in BOXED]
        functions = [lambda r, w=w: np.where(r < cutoff, (1 - (r / cutoff) ** 2) ** SMOOTH, 0.0)
                     * np.exp(-0.5 * (r / w) ** 2) for w in widths]  # fmt: skip
        return RadialFunctions(functions), [f"pairs within {w:.3g}" for w in widths]
    typical = float(np.sqrt((explore(snapshots).distances ** 2).mean())) or 1.0
    widths = [] if quadratic else [part * typical for part in BROAD]
    return RadialFunctions([RadialSum((Power(2),), (typical**-2,)), *(Gaussian(0.0, w) for w in widths)]), [
        "r^2",
        *(f"pairs within {w:.3g}" for w in widths),
    ]


@dataclass(frozen=True, eq=False)
class Balance:
    """Sums over a data set, per block of runs and time window, for E test functions and C sets of coefficients.

    The noise has one part, or one per direction; D and Gamma are the sums of theirs.

    Attributes
    ----------
    tests : Tests
    change : (blocks, windows, E)
        Change of H over the window.
    diffusion : (blocks, windows, strides, parts, E)
        Integral of D.
    power : (blocks, windows, strides, C, E)
        Integral of P.
    cross : (windows, parts, E, K)
        Integral of sum_i grad_i H_e . F_k, of all blocks: how the residuals depend on the coefficients.
    squares : (strata, strides, 1 + parts + C, 1 + parts + C, E, E)
        Sums over intervals of the products of the terms of R: change, -dt D of each part, dt P of each set.
        Strata are blocks, or blocks and windows where blocks are few.
    clock : (strata, strides, parts, E, E)
        Sums of dt Gamma.
    window_clock : (windows, parts, E, E)
        The same for windows, stride 1: all blocks together.
    spans : (windows, 2)
        First and last time of each window, of the first run.
    """

    tests: Tests
    change: Array
    diffusion: Array
    power: Array
    cross: Array
    squares: Array
    clock: Array
    window_clock: Array
    spans: Array

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.change)

    @property
    def windows(self) -> int:
        """Number of time windows."""
        return self.change.shape[1]

    @property
    def parts(self) -> int:
        """Of the noise: 1, or one per direction."""
        return self.clock.shape[2]


def balance(
    snapshots: Snapshots,
    external: Basis | None,
    interaction: Basis | None,
    coef: Array,
    coupling: str = "mean",
    quadrature: str = "auto",
    cuts: NDArray[np.int64] | None = None,
    per_direction: bool = False,
) -> Balance:
    """One pass over the data: test energies under the forces of two (closed) families.

    Parameters
    ----------
    coef : (C, K)
        Sets of coefficients, external first.
    cuts : (blocks + 1,), optional
        First run of each block, and the end of the last.
    per_direction : bool
        Keep the parts of the noise in each direction apart.
    """
    families = families_of(external, interaction, snapshots.dim, per_direction)
    if interaction is None:
        families = families._replace(reach=0.0)  # only pairs that tests look at
    tests = tests_for(snapshots, per_direction, quadratic=False, kinds=len(families.external))
    if len(tests.names) == 0:
        raise InputError("no test function fits these data: one particle in a periodic box has no energy to look at")
    of_task = partial(
        _sums, coupling=coupling, families=families, tests=tests, coef=np.ascontiguousarray(coef),
        rule=RULES.index(rule_named(quadrature)),
    )  # fmt: skip
    return collected(snapshots, tests, coef.shape, cuts, of_task)


def collected(
    snapshots: Snapshots,
    tests: Tests,
    shape: tuple[int, ...],
    cuts: NDArray[np.int64] | None,
    of_task: Callable[..., dict[str, Array]],
) -> Balance:
    """The sums of all pieces of the data; ``shape`` is that of the sets of coefficients."""
    size, (sets, functions) = len(tests.names), shape
    windows = max(1, min(WINDOWS, (usual_length(snapshots) - 1) // FEWEST_INTERVALS))
    if cuts is None:
        cuts = block_cuts(snapshots.runs, min(snapshots.runs, BLOCKS))
    kept = len(cuts) - 1
    parts = tests.families.parts
    strata = kept if kept >= FEW_BLOCKS else kept * windows
    result = Balance(
        tests=tests,
        change=np.zeros((kept, windows, size)),
        diffusion=np.zeros((kept, windows, len(STRIDES), parts, size)),
        power=np.zeros((kept, windows, len(STRIDES), sets, size)),
        cross=np.zeros((windows, parts, size, functions)),
        squares=np.zeros((strata, len(STRIDES), 1 + parts + sets, 1 + parts + sets, size, size)),
        clock=np.zeros((strata, len(STRIDES), parts, size, size)),
        window_clock=np.zeros((windows, parts, size, size)),
        spans=spans(snapshots, 0, windows),
    )
    totals = {name: array for name, array in vars(result).items() if name not in ("tests", "spans")}
    places = partial(_place, strata=windows if strata > kept else 1)
    add_up(Batches(snapshots, cuts, windows), of_task, snapshots, totals, "testing", places)
    return result


def _place(name: str, task: Task, strata: int) -> Any:
    """Where a sum belongs: to a block and window, to a window, or to a stratum, of which a block has so many."""
    block, window = task.slot
    if name in ("cross", "window_clock"):
        return window
    if name in ("squares", "clock"):
        return block * strata + (window if strata > 1 else 0)
    return task.slot


def _sums(
    task: Task, snapshots: Source, coupling: str, families: Families, tests: Tests, coef: Array, rule: int
) -> dict[str, Array]:
    piece, runs = task.piece, task.runs
    further = 0 if piece.closes else 1  # the interval to the next piece is one of this
    points, starts, counts, scales = loaded(task, snapshots, coupling, len(families.external), further)
    frames = counts.shape[1]
    weights = np.zeros((frames, len(STRIDES)))
    weights[piece.order] = piece.weights.reshape(-1, len(STRIDES), len(RULES))[piece.class_of][:, :, rule]
    parts = tests.families.parts
    gram = np.zeros((counts.size, parts, len(tests.names), len(tests.names)))
    cross = np.zeros((parts, len(tests.names), coef.shape[1]))
    energy, diffusion, power = energy_series(
        points, starts, scales, side_lengths(snapshots.box, snapshots.dim), families, coef, tests.families, 0.0,
        np.tile(weights[:, 0], len(runs)), gram, cross,
    )  # fmt: skip
    shape = (len(runs), frames)
    energy, diffusion, power, gram = (a.reshape(*shape, *a.shape[1:]) for a in (energy, diffusion, power, gram))
    of_kind = np.diff(starts, axis=1).reshape(*shape, -1)
    first, last = (energy[:, i] * usual_size(snapshots, runs, of_kind[:, i], tests.families) for i in (0, -1))
    sums = {
        "change": (last * piece.closes - first * piece.opens).sum(axis=0),
        "diffusion": np.einsum("rfpe,fs->spe", diffusion, weights),
        "power": np.einsum("rfce,fs->sce", power, weights),
        "cross": cross,
    }
    times = np.stack([snapshots.times_of(m)[piece.first : piece.last + 1 + further] for m in runs])
    squares, clocks, whole = [], [], np.zeros(0)
    for stride in STRIDES:
        gaps = np.diff(times[:, ::stride], axis=1)
        steady = (np.diff(of_kind[:, ::stride], axis=1) == 0).all(axis=2)[..., None, None]
        laplacians, powers, gammas = (_integrated(a[:, ::stride], gaps) for a in (diffusion, power, gram))
        changes = np.diff(energy[:, ::stride], axis=1)
        terms = np.concatenate([changes[:, :, None], -laplacians, powers], axis=2) * steady
        squares.append(np.einsum("rfae,rfbg->abeg", terms, terms, optimize=True))
        clocks.append((gammas * steady[..., None]).sum(axis=(0, 1)))
        whole = whole if stride > 1 else gammas.sum(axis=(0, 1))  # noise goes on where the number of particles changes
    return sums | {"squares": np.stack(squares), "clock": np.stack(clocks), "window_clock": whole}


def _integrated(values: Array, gaps: Array) -> Array:
    """Trapezoids over intervals (runs, intervals, ...) of values (runs, frames, ...)."""
    return 0.5 * (values[:, 1:] + values[:, :-1]) * gaps.reshape(*gaps.shape, *(1,) * (values.ndim - 2))
