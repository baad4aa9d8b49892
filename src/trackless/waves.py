"""How particles move, told by density waves: diffusion, drift, and how well they are seen, with no label.

The wave rho_k(t) = sum_i chi(x_i) exp(i k x_i) of what is seen through a mask chi forgets itself as particles move. In
units of W = sum_i chi_i^2, and with the drift v taken off, half of the mean square of its change over a time tau is

    (mean |rho_k|^2 - mean rho_k(t + tau) rho_k(t)^* exp(-i k v tau)) / W  =  1 - s(tau) exp(-k^2 (D tau + o))

for short waves, whatever the forces (they enter with tau^2). Its dependence on k and tau tells four things apart:
diffusion (k^2 tau), positions that are off by a random error (k^2 o; a long exposure makes o negative), and particles
that are not seen again (s), by chance or because they have left. It is the quadratic variation of the noise of energies
(:mod:`trackless.noise`), for functions that an instrument's errors can be told from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.optimize import least_squares

from trackless._errors import InputError
from trackless.exploration import explore
from trackless.flicker import flicker
from trackless.observation import EVERYTHING, Observation
from trackless.position_errors import PositionErrors, long_waves
from trackless.snapshots import Snapshots
from trackless.spacing import spacing
from trackless.wave_series import ALIKE, FEWEST_BLOCKS, stretches, waves_of

Array = NDArray[np.float64]
WAVES = 120
LAGS = (1, 2, 3, 4, 6, 8)  # intervals
SHORT = 12  # runs are so many times longer than the longest time that is looked at
BLOCKS = 40
EVENED = 31  # waves of about the same length whose scatter is taken to be the same
DECAY = 1.2  # k^2 D tau of the shortest wave and the longest time
ROUNDS = 4
SEEN = 3.0  # standard errors beyond which a drift counts as one
FORGOTTEN = 0.02  # correlation of waves of neighbouring snapshots below which they have nothing in common
SAME = 0.15  # relative change of the shortest wave that changes nothing


@dataclass(frozen=True, eq=False)
class Motion:
    """What density waves tell of the motion.

    Attributes
    ----------
    diffusion, diffusion_error : float
        D and its standard error; sigma^2 = 2 D.
    drift, drift_error : (dim,)
        Mean velocity.
    offset, offset_error : float
        Variance of errors of positions along one direction; negative where a long exposure smears out the motion.
    seen_again : (lags,)
        Probability s that a particle is seen again after each of the times ``lags``, relative to being seen at once.
    lags : (lags,)
        Times.
    """

    diffusion: float
    diffusion_error: float
    drift: Array
    drift_error: Array
    offset: float
    offset_error: float
    seen_again: Array
    lags: Array

    def __str__(self) -> str:
        return self.sentence

    @property
    def position_error(self) -> float | None:
        """Standard deviation of a coordinate's error; None where the data do not show any."""
        return float(np.sqrt(self.offset)) if self.offset > 2 * self.offset_error else None

    @property
    def sentence(self) -> str:
        """All of it in words."""
        drift = ", ".join(f"{v:.3g} +- {e:.2g}" for v, e in zip(self.drift, self.drift_error, strict=True))
        drifting = bool((np.abs(self.drift) > SEEN * self.drift_error).any())
        flow = f"all drift with ({drift})" if drifting else f"no common drift can be seen ({drift})"
        said = f"particles diffuse with D = {self.diffusion:.3g} +- {self.diffusion_error:.2g}, {flow}"
        if self.seen_again[0] < 0.99:
            said += f"; {self.seen_again[0]:.0%} of them are seen again after {self.lags[0]:.3g}"
        if self.position_error is not None:
            share = self.offset / (self.offset + self.diffusion * self.lags[0])
            said += f"; positions are off by about {self.position_error:.2g}, {share:.0%} of all that seems to move"
            if share > 0.5:
                said += ": MORE THAN THE MOTION ITSELF, look at every second snapshot or fewer"
        return said


def motion(snapshots: Snapshots, observation: Observation = EVERYTHING) -> Motion:
    """D, drift and errors of positions from unlabeled snapshots, some of whose particles may be missed.

    Particles must move less between snapshots than they are apart.

    Parameters
    ----------
    snapshots : Snapshots
    observation : Observation
        Its window, if there is one ("auto": the bounds of the data).

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.Model("free", None, None, (), sigma=1.0)
    >>> data = tl.simulate(model, runs=50, particles=20, initial=3.0, step=1e-2, duration=0.2)
    >>> found = tl.motion(data)
    >>> bool(abs(found.diffusion - 0.5) < 4 * found.diffusion_error)
    True
    """
    fewest = min(len(snapshots.times_of(m)) for m in range(1 if snapshots.regular else snapshots.runs))
    if fewest < 2:
        raise InputError("motion: a run has one snapshot; at least two are needed to see anything move")
    gap = float(np.median(snapshots.intervals()))
    lags = [lag for lag in LAGS if lag <= max(1, (fewest - 1) // SHORT)]
    typical = spacing(snapshots)
    if typical.neighbour is None and typical.step is None:
        raise InputError("motion: there are no particles to look at")
    not_again = InputError(
        "motion: snapshots have nothing to do with the ones before them (no density wave outlives one interval), so "
        "that nothing can be said of how particles move; look more often, or give sigma"
    )
    if observation.window is not None:
        observation = observation.closed(explore(snapshots), snapshots.box)
    sides, offset_said = observation.bounds(snapshots.dim), observation.position_error**2
    several = observation.window is not None or not snapshots.constant_count
    # particles that move far are seen less at both times: of sin^2, chi(x) chi(x + d) falls like exp(-narrow d^2 / 2)
    narrow = 4 / 3 * (np.pi / np.diff(sides)[:, 0]) ** 2
    shortest = 2 * np.pi / (typical.neighbour or 4 * (typical.step or 1.0))  # as a wave number
    found = waves = sums = shares = None
    for _ in range(ROUNDS):
        waves = _wave_numbers(snapshots, shortest)
        sums = _correlations(snapshots, waves, lags, gap, sides)
        if not _remembers(sums):
            raise not_again
        found, shares = _fitted(sums, waves, several, narrow, found, offset_said)
        wanted = np.sqrt(DECAY / max(found.diffusion * sums.times[-1] + found.offset, 1e-300))
        if abs(np.log(wanted / shortest)) < SAME:
            break
        shortest = float(np.clip(wanted, 0.25 * shortest, 4 * shortest))
    assert found is not None
    assert waves is not None
    assert sums is not None
    assert shares is not None
    found = _doubted(found, sums, waves, shares)
    if len(lags) > 1:
        # a model that is right gives the same whichever times it is fitted to
        late, _ = _fitted(sums.after(len(lags) // 2), waves, several, narrow, found, offset_said)
        found = replace(
            found,
            diffusion_error=float(np.hypot(found.diffusion_error, late.diffusion - found.diffusion)),
            drift_error=np.hypot(found.drift_error, late.drift - found.drift),
        )
    if observation.masked:  # of an edge, and of pairs that are taken for one, long waves know nothing
        return found
    seen = flicker(snapshots) if several and observation.detection == 1 else None
    if seen is not None and not seen.by_chance:
        return found
    slow = long_waves(snapshots, observation.detection if seen is None else seen.seen)
    return found if slow is None else _held_back(found, slow, several)


def _held_back(found: Motion, slow: PositionErrors, several: bool) -> Motion:
    """What short waves tell, doubted as forces hold particles back meanwhile; or what long waves know better."""
    lost = -np.expm1(-slow.rate * found.lags[-1]) * found.diffusion
    error = float(np.hypot(found.diffusion_error, lost))
    if error <= slow.diffusion_error:
        return replace(found, diffusion_error=error)
    wrong = abs(slow.diffusion - found.diffusion) * float(found.lags[-1])
    found = replace(found, diffusion=slow.diffusion, diffusion_error=slow.diffusion_error)
    if several:  # they do not tell errors of positions from particles that are missed
        return replace(found, offset_error=float(np.hypot(found.offset_error, wrong)))
    return replace(found, offset=slow.variance, offset_error=slow.variance_error)


def _remembers(sums: _Correlations) -> bool:
    """Whether waves of one snapshot are seen in the next one, beyond chance; each block is one trial."""
    each = sums.again[:, 0].real.sum(axis=1) / np.maximum(sums.power[:, 0].sum(axis=1), 1e-300)
    if len(each) < FEWEST_BLOCKS:
        return bool(each.mean() > FORGOTTEN)
    return bool(each.mean() > max(SEEN * each.std(ddof=1) / np.sqrt(len(each)), FORGOTTEN))


def _doubted(found: Motion, sums: _Correlations, waves: Array, shares: Array) -> Motion:
    """Errors that know that particles which avoid each other do not move freely.

    Waves of an ordered fluid, S(k) = |rho|^2 / W < 1, relax with D / S(k): how far that is from D is how wrong an
    estimate may be that takes them for those of free particles, by the share that each wave has in it. Neighbours that
    turn a particle back between two snapshots also look like errors of positions.
    """
    order = np.argsort((waves**2).sum(axis=1))
    by_block = uniform_filter1d((sums.power[:, 0] / np.maximum(sums.size[:, :1], 1e-300))[:, order], EVENED, axis=1)
    scatter = by_block.std(axis=0, ddof=1) / np.sqrt(len(by_block)) if len(by_block) > 1 else np.inf
    structure = np.maximum(by_block.mean(axis=0) + SEEN * scatter, 1e-3)
    part = float(np.abs(shares[order]) @ np.maximum(1 / structure - 1, 0.0))
    return replace(
        found,
        diffusion_error=float(np.hypot(found.diffusion_error, part * found.diffusion)),
        offset_error=float(np.hypot(found.offset_error, part * (found.diffusion * sums.times[0] + abs(found.offset)))),
    )


def _wave_numbers(snapshots: Snapshots, shortest: float) -> Array:
    """Wave vectors (waves, dim) in all directions, evenly in their squares; in a box, waves that fit into it."""
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(WAVES, snapshots.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    waves = shortest * np.sqrt((np.arange(WAVES) + 0.5) / WAVES)[:, None] * directions
    if snapshots.box is None:
        return waves
    unit = 2 * np.pi / np.array(snapshots.box)
    return np.unique(np.rint(waves / unit), axis=0)[1:] * unit  # without k = 0, which is among them or does no harm


class _Correlations(NamedTuple):
    """Sums over snapshots, per block."""

    again: NDArray[np.complex128]
    """(blocks, lags, waves): rho(t + tau) rho(t)^*"""
    power: Array
    """(blocks, lags, waves): |rho|^2, the mean of both times"""
    size: Array
    """(blocks, lags): W, likewise"""
    times: Array
    """(lags,): tau"""

    def after(self, first: int) -> _Correlations:
        """Those of longer times."""
        return _Correlations(self.again[:, first:], self.power[:, first:], self.size[:, first:], self.times[first:])


def _correlations(snapshots: Snapshots, waves: Array, lags: list[int], gap: float, sides: Array) -> _Correlations:
    parts = stretches(snapshots, max(lags))
    seen = [waves_of(snapshots, *part, waves, sides) for part in parts]
    if np.isfinite(sides).all():
        # the image of the window itself stands still while particles drift
        still = sum(rho.sum(axis=0) for rho, _ in seen) / sum(len(rho) for rho, _ in seen)
        seen = [(rho - still, own) for rho, own in seen]
    again, power, size = [], [], []
    for (run, first, last), (rho, own) in zip(parts, seen, strict=True):
        times = snapshots.times_of(run)[first : last + 1]
        block: list[list] = [[], [], []]
        for lag in lags:
            good = np.abs(times[lag:] - times[:-lag] - lag * gap) < ALIKE * lag * gap
            before, after = rho[:-lag][good], rho[lag:][good]
            block[0].append((after * before.conj()).sum(axis=0))
            block[1].append(0.5 * (np.abs(after) ** 2 + np.abs(before) ** 2).sum(axis=0))
            block[2].append(0.5 * (own[:-lag][good] + own[lag:][good]).sum())
        for kept, values in zip((again, power, size), block, strict=True):
            kept.append(values)
    result = _Correlations(np.array(again), np.array(power), np.array(size), gap * np.array(lags, float))
    if not (result.size.sum(axis=0) > 0).all():
        raise InputError("motion: no two snapshots are one usual interval apart; give more, at even intervals")
    return _together(result)


def _together(sums: _Correlations) -> _Correlations:
    """The same in at most so many blocks."""
    count = len(sums.size)
    if count <= BLOCKS:
        return sums
    starts = np.linspace(0, count, BLOCKS, endpoint=False).astype(int)
    again, power, size = (np.add.reduceat(values, starts) for values in sums[:3])
    return _Correlations(again, power, size, sums.times)


def _fitted(
    sums: _Correlations, waves: Array, several: bool, narrow: Array, start: Motion | None, offset_said: float
) -> tuple[Motion, Array]:  # fmt: skip
    """Least squares for D, the offset, the drift and, where particles come and go, s of every lag.

    With the share (waves,) that each wave has in D: what it would move if D were twice as large for this wave alone.

    ``narrow`` (dim,) is the inverse square of the distance after which the mask loses sight of a particle. One time
    alone tells no offset: then it is as was said.
    """
    times, squares = sums.times, (waves**2).sum(axis=1)
    total = sums.size.sum(axis=0)[:, None]
    power, again = sums.power.sum(axis=0) / total, sums.again.sum(axis=0) / total
    dim, count = waves.shape[1], len(times)
    with_offset = count > 1

    def split(p: Array) -> tuple[float, float, Array, Array]:
        kept = np.exp(-np.abs(p[2 + dim :])) if several else np.ones(count)
        return p[0], p[1] if with_offset else offset_said, p[2 : 2 + dim], kept

    def residual(p: Array, power: Array, again: NDArray[np.complex128], part: Array | float = 1.0) -> Array:
        """(lags, waves, 2): real and imaginary, weighted; ``part`` of the whole (lags, 1) is what the data are."""
        diffusion, offset, drift, kept = split(p)
        half = diffusion * times + offset
        lost = 1 / (1 + 2 * np.outer(half, narrow))  # (lags, dim)
        expected = 1 - kept[:, None] * np.exp(-half[:, None] * (lost @ (waves**2).T))
        changed = power - again * np.exp(-1j * times[:, None] * ((lost * drift) @ waves.T))
        away = (changed - part * expected) / weight
        return np.stack([away.real, away.imag], axis=-1)

    first = np.zeros(2 + dim + (count if several else 0))
    first[0] = start.diffusion if start is not None else DECAY / squares.max() / times[-1]
    if start is not None:
        first[1], first[2 : 2 + dim] = start.offset, start.drift
    if several:
        first[2 + dim :] = 0.2
    scale = np.concatenate([[first[0], first[0] * times[0]], np.full(dim, np.sqrt(first[0] / times[0]))])
    scale = np.append(scale, np.ones(len(first) - len(scale)))
    # waves that have changed more scatter more, about as much as they have changed: not each for itself, by chance
    order = np.argsort(squares)
    changes = uniform_filter1d((power - np.abs(again))[:, order], EVENED, axis=1, mode="nearest")
    weight = np.maximum(changes[:, np.argsort(order)], 0.02)
    solved = least_squares(lambda u: residual(u * scale, power, again).ravel(), first / scale)
    p = solved.x * scale
    used = np.ones(len(p), bool)
    used[1] = with_offset
    jacobian = solved.jac[:, used] / scale[used]
    gain = np.linalg.pinv(jacobian)
    by_block = [
        residual(p, sums.power[b] / total, sums.again[b] / total, sums.size[b][:, None] / total).ravel()
        for b in range(len(sums.size))
    ]
    influence = np.zeros((len(by_block), len(p)))
    influence[:, used] = -np.array(by_block) @ gain.T
    blocks = len(influence)
    centred = influence - influence.mean(axis=0)
    error = np.sqrt((centred**2).sum(axis=0) * blocks / max(blocks - 1, 1)) if blocks > 1 else np.full(len(p), np.inf)
    diffusion, offset, drift, kept = split(p)
    shares = (gain[0] * jacobian[:, 0]).reshape(count, len(waves), 2).sum(axis=(0, 2))
    found = Motion(
        float(diffusion), float(error[0]), drift, error[2 : 2 + dim], float(offset), float(error[1]), kept, times,
    )  # fmt: skip
    return found, shares
