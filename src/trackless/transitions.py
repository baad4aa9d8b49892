"""Discrete-time data, exactly: X' = X - dt F(X) theta + sigma sqrt(dt) Z from one snapshot to the next.

The self-test's balance is that of continuous time: on data that were made by such steps it is wrong by the order of dt.
Here the conditional means of test energies are used instead, which are known exactly (:mod:`trackless._kernels.
transitions`). Linearised at some coefficients they are normal equations like any others, kept as Moments; they are
solved, with whatever regularisation, and linearised again (Gauss-Newton).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless._kernels.energies import energy_series
from trackless._kernels.transitions import transition_task
from trackless.accumulation import FEW_BLOCKS
from trackless.balance import Balance, Tests, collected, tests_for
from trackless.basis import Basis, families_of
from trackless.bumps import bumps_for
from trackless.excerpts import Source
from trackless.exploration import Exploration, explore
from trackless.moments import Moments
from trackless.passes import add_up
from trackless.pieces import Batches, Task, block_cuts, loaded
from trackless.potentials import RadialPotential
from trackless.quadrature import RULES, STRIDES
from trackless.radial_splines import RadialSplines
from trackless.smoothing import smoothed_table
from trackless.snapshots import Snapshots
from trackless.space import half_box, side_lengths
from trackless.tables import Families, RadialTable, empty_table, one_kind

Array = NDArray[np.float64]
FUNCTIONS = (6, 12)  # test functions of single particles and of pairs
LOOKED_AT = 20_000  # snapshots that the roughness of test energies is measured on
SAFETY = 5.0  # deviations of noise that a test function keeps from the edge of a periodic box
NEARBY = 0.01  # relative change of sigma^2 for derivatives
BEYOND = 1.2  # smoothed tables reach so much farther than the data


class Transitions:
    """Pairs of successive snapshots, ready to be turned into normal equations.

    Parameters
    ----------
    snapshots : Snapshots
        With the same interval between all snapshots, and the same particles in them.
    moments : Moments
        Of the families that the forces are made of; its blocks and windows are used.
    """

    def __init__(self, snapshots: Snapshots, moments: Moments, sigma: float) -> None:
        self.snapshots, self.moments, self.sigma = snapshots, moments, sigma
        self.gap = common_gap(snapshots)
        dim, explored = snapshots.dim, explore(snapshots)
        families = (moments.external, moments.interaction)
        self.forces = families_of(*families, dim)
        roles = [self._tests_of(role, family, explored) for role, family in enumerate(families)]
        self.tests, self.smooth = (one_kind(*tables) for tables in zip(*roles, strict=True))
        self.rough = 1e-12 * np.eye(self.tests.external_size + self.tests.interaction_size)

    def _tests_of(self, role: int, family: Basis | None, explored: Exploration) -> tuple[Any, Any]:
        """Test functions of particles (role 0) or pairs (1), before and after the noise of a step."""
        noise = self.sigma * np.sqrt(self.gap * (role + 1))
        there = int(max(self.snapshots.counts_of(0))) > 1 if role == 1 else self.snapshots.box is None
        if not there:
            return empty_table(self.snapshots.dim), empty_table(self.snapshots.dim)
        if family is None or isinstance(family.combine(np.ones(family.size)), RadialPotential):
            return _radial_tests(explored, role, noise, self.snapshots)
        return bumps_for(explored, role, noise)

    def measure_roughness(self, coef: Array) -> None:
        """Find the covariance of what is not linear in the noise, on a part of the data."""
        part = self.snapshots[: max(1, LOOKED_AT // len(self.snapshots.times_of(0)))]
        cuts = block_cuts(part.runs, min(part.runs, FEW_BLOCKS))
        found = self._pass(part, cuts, coef)["rough"]
        mean = found / sum(len(part.times_of(m)) - 1 for m in range(part.runs))
        mean = np.tril(mean) + np.tril(mean, -1).T
        sizes, vectors = np.linalg.eigh(mean)
        self.rough = (vectors * np.maximum(sizes, 1e-6 * sizes.max())) @ vectors.T

    def linearised(self, coef: Array) -> Moments:
        """Normal equations, at some coefficients (K,), as moments whose rules and strides are all the same."""
        moments = self.moments
        shape, size = (moments.blocks, moments.windows), moments.size
        found = self._pass(self.snapshots, np.concatenate([[0], np.cumsum(moments.runs)]), coef)
        lower = self.sigma**2 * np.tril(found["matrix"])
        matrix = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
        vector = matrix @ coef - self.sigma**2 * found["slope"]
        weight = self.gap * found["particles"]
        rules = (*shape, len(STRIDES), len(RULES))
        return Moments(
            external=moments.external,
            interaction=moments.interaction,
            coupling=moments.coupling,
            dim=moments.dim,
            dynamics="discrete",
            quadratic=np.broadcast_to(matrix[:, :, None, None], (*rules, size, size)),
            pair=moments.pair,
            diffusion=np.broadcast_to(0.0, (*rules, 1, size)),
            energy=-vector,
            weight=np.broadcast_to(weight[:, :, None, None], rules),
            runs=moments.runs,
            particles=moments.particles,
            span=moments.span,
            matching="",
            work=moments.work,
            tally=moments.tally,
        )

    def slope_in_variance(self, coef: Array) -> Array:
        """How the right-hand side b depends on sigma^2 (K,): from a sigma that is a little larger and smaller."""
        sides = []
        for sign in (1.0, -1.0):
            other = Transitions(self.snapshots, self.moments, self.sigma * np.sqrt(1 + sign * NEARBY))
            other.rough = self.rough
            matrix, vector, _ = other.linearised(coef).normal_equations(other.sigma)
            sides.append(vector - matrix @ coef)
        return (sides[0] - sides[1]) / (2 * NEARBY * self.sigma**2)

    def _pass(self, snapshots: Snapshots, cuts: NDArray[np.int64], coef: Array) -> dict[str, Array]:
        """Sums of all steps: per block and window, and of how rough test energies are."""
        shape, size = (len(cuts) - 1, self.moments.windows), len(coef)
        totals = {
            "matrix": np.zeros((*shape, size, size)), "slope": np.zeros((*shape, size)), "particles": np.zeros(shape),
            "rough": np.zeros_like(self.rough),
        }  # fmt: skip
        plan = _Plan(
            self.moments.coupling, self.gap, self.forces, self.tests, self.smooth, np.ascontiguousarray(coef),
            self.sigma, self.rough,
        )  # fmt: skip
        work = Batches(snapshots, cuts, self.moments.windows)
        add_up(work, partial(_sums, plan=plan), snapshots, totals, "stepping", _place)
        return totals


def _place(name: str, task: Task) -> Any:
    return () if name == "rough" else task.slot


class _Plan(NamedTuple):
    """What a task needs besides its place."""

    coupling: str
    gap: float
    forces: Families
    tests: Families
    smooth: Families
    coef: Array
    sigma: float
    rough: Array


def _sums(task: Task, snapshots: Source, plan: _Plan) -> dict[str, Any]:
    steps = _steps_of(task, snapshots, plan.coupling)
    matrix, slope, rough = transition_task(
        steps.before, steps.after, steps.starts, plan.gap, steps.scales, side_lengths(snapshots.box, snapshots.dim),
        plan.forces, plan.tests, plan.smooth, plan.coef, plan.sigma, plan.rough,
    )  # fmt: skip
    return {"matrix": matrix, "slope": slope, "particles": float(steps.counts.sum()), "rough": rough}


class _Steps(NamedTuple):
    """The transitions of one task: positions (P, dim) before and after, numbers of particles and coupling factors."""

    before: Array
    after: Array
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    scales: Array


def _steps_of(task: Task, snapshots: Source, coupling: str) -> _Steps:
    points, starts, counts, scales = loaded(task, snapshots, coupling, further=0 if task.piece.closes else 1)
    runs, frames = counts.shape
    every = np.arange(runs * frames).reshape(runs, frames)
    first, next_ = every[:, :-1].ravel(), every[:, 1:].ravel()
    rows = [
        np.concatenate([np.arange(0), *(np.arange(starts[s, 0], starts[s, -1]) for s in chosen)])
        for chosen in (first, next_)
    ]  # fmt: skip
    own = np.diff(starts, axis=1)[first]
    ends = np.cumsum(own).reshape(own.shape)
    new = np.concatenate([ends[:, -1:] - own.sum(axis=1, keepdims=True), ends], axis=1)
    return _Steps(points[rows[0]], points[rows[1]], own.sum(axis=1), new, scales[first])


def balance_of_steps(
    snapshots: Snapshots, moments: Moments, coef: Array, cuts: NDArray[np.int64] | None = None
) -> Balance:
    """What single steps leave over, for test functions whose mean after a step is known exactly: polynomials.

    With Y = X - dt F(X) coef, H(X') - H(Y) - sigma^2/2 dt D(Y) is zero on average for every H of degree 2. All strides
    are the same, for nothing is integrated.
    """
    tests = tests_for(snapshots, per_direction=False, quadratic=True, kinds=1)
    if len(tests.names) == 0:
        raise InputError(
            "dynamics='discrete': in a periodic box there are no test functions whose mean after a step is known, so "
            "that sigma cannot be found and the model not be tested; give sigma"
        )
    linear = np.arange(len(tests.names)) < snapshots.dim  # coordinates come first; only they are linear in the noise
    tests = replace(tests, steady=linear)
    of_task = partial(
        _test_sums, coupling=moments.coupling, tests=tests, coef=np.ascontiguousarray(coef[None]),
        families=families_of(moments.external, moments.interaction, snapshots.dim), gap=common_gap(snapshots),
    )  # fmt: skip
    return collected(snapshots, tests, (1, len(coef)), cuts, of_task)


def _test_sums(
    task: Task, snapshots: Source, coupling: str, tests: Tests, coef: Array, families: Families, gap: float
) -> dict[str, Array]:
    dim, size = snapshots.dim, len(tests.names)
    steps = _steps_of(task, snapshots, coupling)
    none = families_of(None, None, dim)
    count = len(steps.counts)
    gram, cross = np.zeros((count, 1, size, size)), np.zeros((1, size, coef.shape[1]))
    lengths = side_lengths(snapshots.box, dim)
    expected, diffusion, _ = energy_series(
        steps.before, steps.starts, steps.scales, lengths, families, coef, tests.families, gap, np.full(count, gap),
        gram, cross,
    )  # fmt: skip
    seen, _, _ = energy_series(
        steps.after, steps.starts, steps.scales, lengths, none, np.zeros((1, 0)), tests.families, 0.0, np.zeros(count),
        np.zeros_like(gram), np.zeros((1, size, 0)),
    )  # fmt: skip
    change, spread = seen - expected, gap * diffusion
    terms = np.concatenate([change[:, None], -spread, np.zeros((count, 1, size))], axis=1)
    clock = gap * gram.sum(axis=0)
    both = len(STRIDES)
    return {
        "change": change.sum(axis=0),
        "diffusion": np.stack([spread.sum(axis=0)] * both),
        "power": np.zeros((both, 1, size)),
        "cross": cross,
        "squares": np.stack([np.einsum("rae,rbg->abeg", terms, terms)] * both),
        "clock": np.stack([clock] * both),
        "window_clock": clock,
    }


def common_gap(snapshots: Snapshots) -> float:
    """The interval between all snapshots; an error if there is no such thing, or particles come and go."""
    gap = snapshots.common_interval()
    if gap is None:
        gaps = snapshots.intervals()
        raise InputError(
            f"dynamics='discrete': expected the same interval between all snapshots, got {gaps.min():.6g} to "
            f"{gaps.max():.6g}; use dynamics='continuous', or a part of the data (snapshots.between, snapshots.every)"
        )
    if not snapshots.constant_count:
        raise InputError(
            "dynamics='discrete': the number of particles changes within a run, so steps have no beginning or no end; "
            "use dynamics='continuous'"
        )
    return gap


def _radial_tests(
    explored: Exploration, role: int, noise: float, snapshots: Snapshots
) -> tuple[RadialTable, RadialTable]:
    """Splines of the distance, before and after the noise of a step."""
    name = ("external", "interaction")[role]
    cutoff = None
    if snapshots.box is not None:
        cutoff = half_box(snapshots.box) - SAFETY * noise
        if cutoff <= noise:
            raise InputError(
                f"dynamics='discrete': noise moves particles by {noise:.3g} in a step, too far for a box of half side "
                f"{half_box(snapshots.box):.3g}"
            )
    center = "mean" if role == 0 else None
    family = RadialSplines(FUNCTIONS[role], cutoff=cutoff, center=center, flat_center=True).adapted(explored, name)
    farthest = explored.farthest(name, getattr(family, "center", None))
    top = BEYOND * (farthest if cutoff is None else cutoff) + SAFETY * noise
    scale = (cutoff or farthest) / FUNCTIONS[role]
    return family.table(snapshots.dim), smoothed_table(family, top, scale, noise, snapshots.dim)
