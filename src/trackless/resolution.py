"""Which times the snapshots resolve.

Particles that start far from equilibrium relax fast, and no quadrature of sparse snapshots follows the first moments of
it. Leaving out the start costs information, keeping it costs a systematic error; both are estimated on a small
dictionary and a part of the runs, and the start is chosen where their sum is smallest.

On an interval dt the trapezoid's error is dt D2 / 12, with D2 the second difference f_0 - 2 f_1 + f_2, where f changes
slowly. Of a decay that leaves only a part q after dt it is more,

    dt D2 ((1 + q)/2 + (1 - q)/log q) / (1 - q)^2,

up to dt D2 / 2, and so for other rules; q is the ratio of successive second differences. Here
f = sigma^2/2 delta - G theta, the integrand of b - A theta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.intensity import Sigma
from trackless.moments import rule_index
from trackless.quadrature import rule_named, weights
from trackless.radial_splines import RadialSplines
from trackless.residuals import heard_in, pilot
from trackless.snapshots import Snapshots
from trackless.space import half_box
from trackless.wording import plural

Array = NDArray[np.float64]
LOOKED_AT = 10_000  # snapshots
FUNCTIONS = (8, 16)  # splines for V and Phi
BLOCKS = 40
HEAD = 40  # intervals among which the start is looked for
FEWEST = 6  # snapshots below which nothing can be said
FEWEST_RUNS = 2  # chance is told from error by what runs have in common
DETERMINED = 1e-3  # directions with less force than this part of the strongest are not looked at
SMOOTHED = 0.4  # part of the dictionary's noise that a prior leaves
SAME = 1.2  # expected squared errors that differ by less are the same
WORTH = 0.8  # the systematic error must make up for so much of it: the relaxation tells most of what is known of V
LEAST_KEPT = 1e-5  # of a decay after one interval: not distinguishable from nothing
SLOWEST = 0.99  # slower ones have the error of the first order in dt
COARSE = 0.1  # a systematic error beyond this part of the force is worth a warning


@dataclass(frozen=True)
class Resolution:
    """From when on the snapshots resolve the motion.

    Attributes
    ----------
    start : float
        Time of the first snapshot that is used.
    left_out : int
        Number of snapshots before it, per run.
    bias, noise : float
        Expected systematic and random error of the forces, as parts of them, with this start.
    bias_with_all : float
        The systematic error if nothing were left out.
    known : bool
        False where there were too few snapshots or runs, or runs that are not alike, to find out.
    why : str
        Which of these.
    """

    start: float
    left_out: int
    bias: float
    noise: float
    bias_with_all: float
    known: bool = True
    why: str = ""

    @property
    def coarse(self) -> bool:
        """Whether the interval between snapshots is too long for this motion, wherever one starts."""
        return self.known and self.bias > max(COARSE, 2 * self.noise)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if not self.known:
            return f"whether the snapshots are close enough in time could not be judged{self.why and ': ' + self.why}"
        said = "all snapshots are used"
        if self.left_out:
            several = self.left_out > 1
            said = (
                f"the first {f'{self.left_out:,} snapshots' if several else 'snapshot'} of each run, before "
                f"t = {self.start:.4g}, {'are' if several else 'is'} left out: the motion is too fast there for the "
                f"interval between snapshots (systematic error {self.bias_with_all:.1%} of the force with them, "
                f"{self.bias:.1%} without)"
            )
        if self.coarse:
            said += (
                f"; the snapshots are too far apart for this motion: a systematic error of about {self.bias:.0%} of "
                "the force remains; shorter intervals are needed"
            )
        return said


def resolved(
    snapshots: Snapshots, sigma: Sigma, coupling: str = "mean", quadrature: str = "trapezoid",
    cutoff: float | None = None,
) -> Resolution:  # fmt: skip
    """Find the start with the smallest expected error of the time integrals by a rule.

    Interactions are looked at up to a cutoff (in a periodic box, up to half of it).

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=100, step=1e-3, observe_every=0.02)
    >>> resolved(data, sigma=1.0).sentence
    'all snapshots are used'
    """
    times = snapshots.times_of(0)
    unknown = Resolution(float(times[0]), 0, np.nan, np.nan, np.nan, known=False)
    if not snapshots.regular:
        return replace(unknown, why="runs differ in their times or numbers of particles")
    if len(times) < FEWEST:
        return replace(unknown, why=f"{plural(len(times), 'snapshot')} in a run, and at least {FEWEST} are needed")
    part = snapshots[: max(1, LOOKED_AT // min(len(times), HEAD + 1))]
    if part.runs < FEWEST_RUNS:
        return replace(unknown, why=f"{plural(part.runs, 'run')}, and at least {FEWEST_RUNS} are needed")
    if snapshots.box is not None and int(snapshots.counts_of(0).max()) < 2:
        return replace(unknown, why="a single particle in a box")
    frames = _frames(part, sigma, coupling, cutoff)
    most = (len(frames.times) - 1) // 2
    found = [_expected(frames, start, snapshots.runs / part.runs, quadrature) for start in range(most + 1)]
    total = np.array([bias**2 + SMOOTHED * noise**2 for bias, noise in found])
    best = int(np.argmax(total <= SAME * total.min()))  # the earliest that is as good as any
    if found[0][0] ** 2 < WORTH * total[best]:
        best = 0
    return Resolution(float(times[best]), best, *found[best], found[0][0])


def resolved_part(
    snapshots: Snapshots, resolve: str | None, sigma: Sigma, coupling: str, quadrature: str,
    cutoff: float | None = None,
) -> tuple[Snapshots, Resolution | None]:  # fmt: skip
    """The snapshots to use and why, as ``resolve="auto"`` or None asks."""
    check_resolve(resolve)
    if resolve is None:
        return snapshots, None
    found = resolved(snapshots, sigma, coupling, quadrature, cutoff)
    return (snapshots.between(found.start, np.inf) if found.left_out else snapshots), found


def check_resolve(resolve: str | None) -> None:
    """Refuse what is neither "auto" nor None."""
    if resolve not in (None, "auto"):
        raise InputError(f"resolve: expected 'auto' or None, got {resolve!r}")


class _Frames(NamedTuple):
    """What each snapshot contributes, summed over the runs of a block.

    products : (blocks, frames, K, K), N G
    spread : (blocks, frames, K), sigma^2/2 N delta
    rise : (blocks, frames - 1, K), energy differences
    particles : (blocks, frames)
    """

    times: Array
    products: Array
    spread: Array
    rise: Array
    particles: Array
    slices: list[slice]


def _frames(snapshots: Snapshots, sigma: Sigma, coupling: str, cutoff: float | None) -> _Frames:
    times = snapshots.times[: HEAD + 1]
    head = snapshots.between(float(times[0]), float(times[-1]))
    count = len(times) - 1
    boxed = snapshots.box is not None
    if boxed and cutoff is None:
        cutoff = half_box(snapshots.box)
    bases = (
        None if boxed else RadialSplines(FUNCTIONS[0], center="mean", follow_data=True),  # a box has no centre
        None if int(snapshots.counts_of(0).max()) < 2 else RadialSplines(FUNCTIONS[1], cutoff=cutoff, follow_data=True),
    )
    moments = accumulate(head, *bases, coupling, windows=count, blocks=BLOCKS, per_direction=isinstance(sigma, tuple))
    ends = (0, moments.external_size, moments.size)
    slices = [slice(a, b) for a, b in pairwise(ends) if b > a]
    return _Frames(
        times,
        _per_frame(moments.quadratic, np.diff(times)),
        moments.half_variances(sigma) @ _per_frame(moments.diffusion, np.diff(times)),
        moments.energy,
        _per_frame(moments.weight, np.diff(times)),
        slices,
    )


def _per_frame(sums: Array, steps: Array) -> Array:
    """Values at the snapshots from sums over intervals: the left rule has the first of each, the trapezoid the last."""
    left, both = (sums[:, :, *rule_index(rule)] for rule in ("left", "trapezoid"))
    steps = steps.reshape(1, -1, *(1,) * (left.ndim - 2))
    first = left / steps
    return np.concatenate([first, (2 * both / steps - first)[:, -1:]], axis=1)


def _expected(frames: _Frames, start: int, more: float, rule: str) -> tuple[float, float]:
    """Systematic and random error of the force, as parts of it, if snapshots before ``start`` are left out.

    ``more`` is how many times as many runs there are in all.
    """
    weight = weights(frames.times[start:], rule)
    products, spread, particles = (part[:, start:] for part in (frames.products, frames.spread, frames.particles))
    total = np.tensordot(particles, weight, axes=1).sum()
    matrices = np.einsum("bfkl,f->bkl", products, weight)
    vectors = np.einsum("bfk,f->bk", spread, weight) - frames.rise[:, start:].sum(axis=1)
    matrix, vector = matrices.sum(axis=0) / total, vectors.sum(axis=0) / total
    heard = heard_in(matrix, frames.slices)
    coef = pilot(matrix, vector, heard)
    sizes, directions = np.linalg.eigh(matrix)
    kept = sizes > DETERMINED * sizes[-1]
    inverse = (directions[:, kept] / sizes[kept]) @ directions[:, kept].T
    integrand = spread - products @ coef
    blocks = len(vectors)
    errors = _quadrature_errors(integrand, np.diff(frames.times)[start:], rule) / (total / blocks)
    residuals = (vectors - matrices @ coef) / (total / blocks)
    metric = inverse @ _relative(frames, coef) @ inverse
    bias, of_bias = errors.mean(axis=0), np.cov(errors.T) / blocks
    systematic = max(bias @ metric @ bias - np.trace(metric @ of_bias), 0.0)
    random = np.trace(metric @ np.cov(residuals.T)) / blocks / more
    return float(np.sqrt(systematic)), float(np.sqrt(random))


def _relative(frames: _Frames, coef: Array) -> Array:
    """Metric (K, K) of squared errors of the forces of V and of Phi, each as a part of that force, halved.

    All starts are compared on the same particles: those of all times.
    """
    everywhere = frames.products.sum(axis=(0, 1)) / frames.particles.sum()
    metric = np.zeros_like(everywhere)
    for part in frames.slices:
        force = coef[part] @ everywhere[part, part] @ coef[part]
        metric[part, part] = everywhere[part, part] / force / len(frames.slices)
    return metric


def _quadrature_errors(values: Array, steps: Array, rule: str = "trapezoid") -> Array:
    """Error of a rule's integral of values (blocks, frames, K) over all intervals, per block: (blocks, K)."""
    total = np.zeros((len(values), values.shape[2]))
    second = np.diff(values, 2, axis=1)
    ratios = _kept_per_step(second)
    points = min(4, len(steps) + 1) if rule_named(rule) == "cubic" else 2
    for k, step in enumerate(steps):
        first = k if points == 2 else min(max(k - 1, 0), len(steps) + 1 - points)
        known = min(first, second.shape[1] - 1)
        total += step * _share(ratios[known], k - first, points) * second[:, known]
    return total


def _kept_per_step(second: Array) -> Array:
    """How little of a decay may be left after each interval, 0 to 1, from second differences (blocks, frames - 2, K).

    The ratio of successive differences less its standard error: errors grow quickly with the speed of a decay, so a
    speed that is not well known must not be taken for a low one.
    """
    count = len(second)
    ratio = _ratios(second.mean(axis=0))
    without = np.array([_ratios((second.sum(axis=0) - block) / max(count - 1, 1)) for block in second])
    error = np.sqrt((count - 1) * without.var(axis=0))  # jackknife
    return np.clip(ratio - error, LEAST_KEPT, SLOWEST)


def _ratios(second: Array) -> Array:
    """Each second difference (frames - 2, K) as a part of the one before; the last is not known and taken as before."""
    size = np.abs(second).mean(axis=0)
    scaled = second / np.where(size > 0, size, 1.0)
    before, after = scaled[:-1], scaled[1:]
    ratios = (before * after).sum(axis=1) / np.maximum((before**2).sum(axis=1), 1e-300)
    return np.append(ratios, ratios[-1:])


def _share(kept: float, place: int, points: int) -> float:
    """Error on an interval in units of dt D2, for a decay of which ``kept`` is left after dt.

    The rule integrates the polynomial through some ``points``, of which the interval begins at number ``place``; D2 is
    the second difference at the first of them.
    """
    numbers = np.arange(points)
    powers = numbers[:, None]
    integrals = ((place + 1.0) ** (powers + 1) - float(place) ** (powers + 1))[:, 0] / (numbers + 1)
    weight = np.linalg.solve(numbers**powers, integrals)
    exact = kept**place * (kept - 1) / np.log(kept)
    return float((weight @ kept**numbers - exact) / (1 - kept) ** 2)
