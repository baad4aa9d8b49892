"""Who went where: matching the particles of consecutive snapshots.

The self-test estimator never needs this. The baselines do: they follow particles from one snapshot to the next, by
their labels or by a guess, and regress the displacements on the forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless import _memory
from trackless._errors import InputError
from trackless._kernels.matching import FARTHEST, match_frames
from trackless.snapshots import Snapshots
from trackless.space import Box, checked_box, side_lengths

Array = NDArray[np.float64]
MOST_BYTES = 4_000_000_000  # distances of one pair of snapshots may not take more
TOLERANCE = {"labels": 1.0, "assignment": 1.0, "sinkhorn": 1e-2, "barycentric": 1e-3}
METHODS = ("labels", "assignment", "sinkhorn", "barycentric")  # numbered as in the kernel
# A regularisation needs no accurate sigma: few pairs of particles are compared, in few and coarse rounds.
PILOT_CANDIDATES = 200_000
PILOT_ROUNDS = 8
PILOT_ACCURACY = 0.05


class Tally(NamedTuple):
    """Sums over the particles of all snapshots but the last ones."""

    particles: float
    """that could have been followed"""
    matched: float
    """that were"""
    right: float
    """that were matched to themselves (NaN where the data carry no labels)"""
    unfinished: float
    """pairs of snapshots whose transport plan did not reach its tolerance"""
    variation: float
    """sum of |displacement|^2 / dt"""


class Moves(NamedTuple):
    """What became of the particles P of some snapshots."""

    partner: NDArray[np.int64]
    """(P,): index in the next snapshot, -1 where there is none"""
    displacement: Array
    """(P, dim): 0 where there is none"""
    squared: Array
    """(P,): squared distance (its mean under the plan)"""
    matched: Array
    """(P,): 1, or 0 where the particle was dropped or has no next snapshot"""
    right: Array
    """(P,): how much of it was matched to the particle with its index"""
    unfinished: int


@dataclass(frozen=True)
class Matching:
    """How particles of consecutive snapshots are matched.

    Parameters
    ----------
    method : "labels", "assignment", "sinkhorn" or "barycentric"
        By index (labeled data); the permutation with the smallest sum of squared distances; the permutation that
        an entropic transport plan makes most likely; or no permutation but the mean target under that plan.
    sigma : float, optional
        Noise intensity, which sets the plan's regularisation to 2 sigma^2 dt: before it is scaled, the plan is then the
        transition density of free diffusion. Estimated from the data if left out.
    epsilon : float, optional
        The regularisation itself, in units of squared distance, instead.
    max_distance : float, optional
        Longer moves count as this long, and are dropped if chosen.
    tolerance : float, optional
        The plan is good enough when its sums are within this of 1: by default 0.01 where it becomes a permutation,
        0.001 for barycentric targets (what that means: docs/concepts.md).
    sweeps : int
        The plan is left as it is after so many sweeps.

    Examples
    --------
    >>> Matching("assignment").pair([[0.0, 0.0], [1.0, 0.0]], [[1.1, 0.0], [0.1, 0.0], [5.0, 5.0]])
    array([1, 0])
    """

    method: str = "sinkhorn"
    sigma: float | None = None
    epsilon: float | None = None
    max_distance: float | None = None
    tolerance: float | None = None
    sweeps: int = 1000

    def check(self) -> None:
        """Raise an error that names the setting that cannot be right."""
        if self.method not in METHODS:
            raise InputError(f"matching: expected one of {', '.join(METHODS)}, got {self.method!r}")
        for name in ("max_distance", *(("sigma", "epsilon", "tolerance") if self.entropic else ())):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, (int, float, np.number)) or not (np.isfinite(value) and value > 0):
                raise InputError(f"{name}: expected a positive number, got {value!r}")
        if not isinstance(self.sweeps, (int, np.integer)) or self.sweeps < 1:
            raise InputError(f"sweeps: expected a whole number of at least 1, got {self.sweeps!r}")

    @property
    def entropic(self) -> bool:
        """Whether a transport plan is computed."""
        return self.method in ("sinkhorn", "barycentric")

    def resolved(self, snapshots: Snapshots) -> Matching:
        """The same matching with sigma estimated from the data where a plan needs it and it was not given."""
        self.check()
        if self.method == "labels" and not snapshots.labeled:
            raise InputError(
                "the snapshots are unlabeled: nobody knows which particle is which from one frame to the next; use a "
                "method that need not know (tl.fit or tl.SelfTest, --method self-test), match particles "
                "(tl.SinkhornMLE, --method sinkhorn), or give labels: a column of names, columns={'particle': ...}, of "
                "which every frame of a run holds the same ones, or tl.Snapshots(..., labeled=True)"
            )
        if not self.entropic or self.epsilon is not None or self.sigma is not None:
            return self
        return replace(self, sigma=diffusion_of(snapshots, self))

    def moves(
        self,
        points: Array,
        starts: NDArray[np.int64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        gaps: Array,
        box: Box,
    ) -> Moves:
        """Match pairs of snapshots.

        Parameters
        ----------
        points : (P, dim), finite
        starts : (S + 1,)
            Snapshot s is ``points[starts[s]:starts[s + 1]]``.
        first, second : (pairs,)
            The snapshots of each pair.
        gaps : (pairs,)
            Time between them.
        box : Box
        """
        count, dim = points.shape
        partner = np.full(count, -1)
        moved = np.zeros((count, dim))
        squared, matched, right = np.zeros((3, count))
        epsilon = np.maximum(2.0 * (self.sigma or 1.0) ** 2 * gaps, np.finfo(float).tiny)
        if self.epsilon is not None:
            epsilon = np.full(len(gaps), float(self.epsilon))
        largest = int(np.diff(starts).max(initial=0))
        if self.method != "labels" and 8 * largest**2 > _memory.for_work(MOST_BYTES):
            raise InputError(
                f"matching {largest} particles needs {_memory.in_words(8 * largest**2)} of distances for each "
                "thread; use tl.SelfTest, which matches nothing, or fewer particles"
            )
        farthest = FARTHEST if self.max_distance is None else min(float(self.max_distance), FARTHEST)
        unfinished = match_frames(
            points, starts, first, second, side_lengths(box, dim), METHODS.index(self.method), epsilon, farthest,
            self.tolerance or TOLERANCE[self.method], int(self.sweeps), partner, moved, squared, matched, right,
        )  # fmt: skip
        return Moves(partner, moved, squared, matched, right, int(unfinished))

    def pair(
        self, first: ArrayLike, second: ArrayLike, dt: float = 1.0, box: float | tuple[float, ...] | None = None
    ) -> NDArray[np.int64]:
        """Match two snapshots (n, dim) and (m, dim): indices (n,) into the second, -1 for what was dropped."""
        try:
            x, y = (np.asarray(points, dtype=float) for points in (first, second))
        except (TypeError, ValueError) as error:
            raise InputError(f"expected two arrays of positions ({error})") from None
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InputError(f"expected snapshots of shapes (n, dim) and (m, dim), got {x.shape} and {y.shape}")
        if self.method == "barycentric":
            raise InputError("barycentric targets lie between particles; use Matching('sinkhorn') for partners")
        labeled = self.method == "labels" and len(x) == len(y)
        both = Snapshots([[x, y]], [np.array([0.0, dt])], box, labeled)
        both.check_finite()
        starts = np.array([0, len(x), len(x) + len(y)])
        ready = self.resolved(both)
        moves = ready.moves(
            np.concatenate([x, y]), starts, np.array([0]), np.array([1]), np.array([dt]), checked_box(box, both.dim)
        )
        return moves.partner[: len(x)]


def diffusion_of(snapshots: Snapshots, matching: Matching) -> float:
    """Noise intensity at which transport plans move particles as far as they say they do (EM on a sample).

    Starts from the exact assignment, whose moves are too short, and takes the mean squared displacement under the
    plan as the next sigma^2 d dt until it settles. Drift is neglected, so it is an order of magnitude with a few
    per cent of error at small dt: enough to set a regularisation.
    """
    points, starts, gaps = _pilot(snapshots)
    firsts = np.arange(len(gaps)) * 2
    plan = replace(matching, method="barycentric", epsilon=None, tolerance=0.1, sweeps=50)
    step = replace(matching, method="assignment")
    variance = 0.0
    for _ in range(PILOT_ROUNDS):
        moves = step.moves(points, starts, firsts, firsts + 1, gaps, snapshots.box)
        moved = moves.matched > 0
        if not moved.any():
            raise InputError("no particle could be matched; is max_distance too small, or does each frame lack them?")
        gap_of = np.repeat(gaps, np.diff(starts)[::2])
        of_first = np.repeat(np.tile([True, False], len(gaps)), np.diff(starts))
        old, variance = variance, float((moves.squared[of_first] / gap_of)[moved[of_first]].mean() / snapshots.dim)
        if variance == 0.0:
            raise InputError("nothing moves between the snapshots, so sigma cannot be estimated; give epsilon")
        if abs(variance - old) < PILOT_ACCURACY * variance:
            break
        step = replace(plan, sigma=float(np.sqrt(variance)))
    return float(np.sqrt(variance))


def _pilot(snapshots: Snapshots) -> tuple[Array, NDArray[np.int64], Array]:
    """Pairs of consecutive frames from all over the data: points, starts, time gaps."""
    pairs = sum(len(snapshots.times_of(m)) - 1 for m in range(snapshots.runs))
    largest = max(int(snapshots.counts_of(m).max()) for m in range(1 if snapshots.regular else snapshots.runs))
    wanted = max(1, min(pairs, PILOT_CANDIDATES // max(largest, 1) ** 2))
    ends = np.cumsum([len(snapshots.times_of(m)) - 1 for m in range(snapshots.runs)])
    points, gaps = [], []
    for chosen in np.linspace(0, pairs - 1, wanted).round().astype(int):
        run = int(np.searchsorted(ends, chosen, side="right"))
        frame = int(chosen - (ends[run - 1] if run else 0))
        points += [snapshots.frame(run, frame), snapshots.frame(run, frame + 1)]
        gaps.append(snapshots.times_of(run)[frame + 1] - snapshots.times_of(run)[frame])
    starts = np.concatenate([[0], np.cumsum([len(frame) for frame in points])])
    stacked = np.concatenate(points).astype(np.float64)
    if not np.isfinite(stacked).all():
        snapshots.check_finite()
    return stacked, starts, np.array(gaps)
