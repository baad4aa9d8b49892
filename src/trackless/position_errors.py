"""Errors of positions told from the motion: they are forgotten at once, what moves is not.

Between two snapshots the mean position of all particles (in a periodic box: the longest density waves) changes by the
motion and by the difference of two errors. Its change d_t and the next ones have the covariances

    c_0 = 2 a (1 - q) + 2 b,    c_1 = -a (1 - q)^2 - b,    c_2 = -a q (1 - q)^2

where b is the variance of the errors, and a share q of a fluctuation of size a is left after one interval, as forces
and diffusion have it: q from c_2, b from c_1 (with no forces this is the covariance estimator for labeled tracks). Pair
forces do not move the mean position, and long waves relax slowly whatever the forces are: little is to be taken off.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless.exploration import explore
from trackless.observation import BLURRED, HOPELESS, Observation
from trackless.snapshots import Snapshots
from trackless.wave_series import ALIKE, stretches, waves_of
from trackless.wording import ordinal

Array = NDArray[np.float64]
OFF = "POSITIONS SEEM TO BE OFF"
POSITIONS = 1_000_000  # that are looked at, each in as many waves
LONG = 1e-2  # wave number in units of one over the extent of the data: of the mean position
SHELLS = 4  # squares of whole wave numbers in a box
WAVES = 24
CHANGED = 0.2  # of a wave between snapshots, above which it is too short
LAGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # intervals
FEWEST = 3  # of them
BLOCKS = 24
RATES = np.concatenate([[0.0], np.geomspace(1e-3, 1.5, 60)])  # of relaxation, times the interval
BENT = 1.0  # rate times the longest lag
ROUNDS = 3
RELAXED = 0.5  # of what is taken off for forces, as an error of it: rates of relaxation may differ
SEEN = 4.0  # standard errors
NOTABLE = 0.1  # of all that seems to move: less hardly changes a fit
MOVING = 2.0  # standard errors of what is left of a change, without which nothing is known to move


class PositionErrors(NamedTuple):
    """How far positions seem to be off.

    Attributes
    ----------
    variance, variance_error : float
        Of the error of one coordinate.
    share : float
        Of the mean square of all that seems to move from one snapshot to the next.
    diffusion, diffusion_error : float
        D of the motion itself.
    rate : float
        At which forces and diffusion make these waves forget themselves.
    interval : float
        Between snapshots.
    """

    variance: float
    variance_error: float
    share: float
    diffusion: float
    diffusion_error: float
    rate: float
    interval: float

    def sentence(self, said: Observation) -> str:
        """What to do about errors that are larger than was said; empty where the data do not show any."""
        beyond = self.variance - said.position_error**2
        if not beyond > max(SEEN * self.variance_error, NOTABLE * (self.variance + self.diffusion * self.interval)):
            return ""
        size = float(np.sqrt(self.variance))
        known = f"{OFF} by {size:.2g} +- {self.variance_error / (2 * size):.1g} in each coordinate"
        if said.position_error:
            known += f" instead of {said.position_error:.2g}"
        known += (
            f" ({self.share:.0%} of all that seems to move between snapshots forgets itself at once): sigma and the "
            "forces take that for motion"
        )
        ratio = self.variance / (self.diffusion * self.interval)
        use = f"position_error={size:.2g} (--position-error {size:.2g})"
        if ratio <= BLURRED:
            return f"{known}; use {use}"
        why = "cannot be undone" if ratio > HOPELESS else "can hardly be undone"
        fewer = int(np.ceil(ratio / BLURRED))
        return (
            f"{known}, and {why} because they are larger than the motion; measure them more precisely, or use {use} on "
            f"every {ordinal(fewer)} snapshot or fewer (every({fewer}))"
        )


def position_errors(snapshots: Snapshots) -> PositionErrors | None:
    """Errors of positions, from unlabeled snapshots; None where they cannot be told from the motion.

    The number of particles must stay the same, and snapshots be taken at even intervals.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=60, duration=0.5, step=1e-3)
    >>> off = data.positions + 0.1 * np.random.default_rng(0).normal(size=data.positions.shape)
    >>> found = position_errors(tl.Snapshots(off, data.times))
    >>> bool(abs(found.variance - 0.01) < 3 * found.variance_error)
    True
    """
    return long_waves(snapshots) if snapshots.constant_count else None


def long_waves(snapshots: Snapshots, detection: float = 1.0) -> PositionErrors | None:
    """What the longest waves tell; where particles are missed by chance, ``variance`` is mostly what that does.

    What is seen, with probability ``detection``, of a wave decays with the wave, but is that part of its square.
    """
    lengths = [len(snapshots.times_of(m)) for m in range(1 if snapshots.regular else snapshots.runs)]
    lags = np.array([lag for lag in LAGS if lag <= (max(lengths) - 1) // 2 or lag <= FEWEST <= max(lengths) - 2])
    if len(lags) < FEWEST:
        return None
    gap = float(np.median(snapshots.intervals()))
    changes, pairs = _changes(snapshots, lags, gap)
    if len(changes) < FEWEST or not (pairs.sum(axis=0) > 0).all() or not (changes.sum(axis=0) > 0).all():
        return None
    return _told_apart(changes / detection, pairs, lags, gap)


def _waves(snapshots: Snapshots) -> Array:
    """Wave vectors (waves, dim): the longest there are."""
    if snapshots.box is None:
        spread = float(explore(snapshots).positions.std(axis=0).max())
        return np.eye(snapshots.dim) * LONG / (spread or 1.0)
    if snapshots.dim > 3:
        return np.diag(2 * np.pi / np.array(snapshots.box))
    whole = [n for n in product(range(-2, 3), repeat=snapshots.dim) if 0 < sum(k * k for k in n) <= SHELLS]
    half = sorted((n for n in whole if next(k for k in n if k) > 0), key=lambda n: sum(k * k for k in n))
    return np.array(half[:WAVES], float) * 2 * np.pi / np.array(snapshots.box)


def _changes(snapshots: Snapshots, lags: NDArray[np.int64], gap: float) -> tuple[Array, Array]:
    """Sums of half the squares of changes over each lag, and their number: (blocks, lags) both.

    Waves are in units of their wave number and of the root of the number of particles: of D t and b.
    """
    waves = _waves(snapshots)
    particles = POSITIONS // len(waves)
    frames = particles / max(1.0, float(np.mean(snapshots.counts_of(0))))
    usual = int(np.median([len(snapshots.times_of(m)) for m in range(min(snapshots.runs, 100))]))
    # whole runs, if there is time for enough of them
    longest = int(np.clip(usual - 1, 1, max(lags[-1], frames // BLOCKS)))
    everywhere, unit = np.tile([-np.inf, np.inf], (snapshots.dim, 1)), np.sqrt((waves**2).sum(axis=1))
    parts_of_runs = stretches(snapshots, longest, particles)
    seen = [waves_of(snapshots, *part, waves, everywhere) for part in parts_of_runs]
    times = [snapshots.times_of(run)[first : last + 1] for run, first, last in parts_of_runs]
    if snapshots.box is None:  # sums of positions about their mean, to which one that is missed adds nothing else
        center = np.exp(-1j * waves @ explore(snapshots).mean)
        series = [rho * center - own[:, None] for rho, own in seen]
        change = np.mean(np.concatenate([np.diff(rho, axis=0) for rho in series]), axis=0)
        series = [rho - change * np.arange(len(rho))[:, None] for rho in series]  # without a drift of all
    else:
        again = np.sum([(rho[1:] * rho[:-1].conj()).sum(axis=0) for rho, _ in seen], axis=0)
        turn = again.conj() / np.maximum(np.abs(again), 1e-300)  # a drift of all turns the waves
        series = [rho * turn ** np.arange(len(rho))[:, None] for rho, _ in seen]
    series = [rho / (unit * np.sqrt(max(own.mean(), 1.0))) for rho, (_, own) in zip(series, seen, strict=True)]
    changed = sum((np.abs(np.diff(rho, axis=0)) ** 2).sum(axis=0) for rho in series) / sum(map(len, series))
    slow = (unit**2 * changed < CHANGED) | (unit == unit.min())
    parts = -(-BLOCKS // max(len(series), 1))
    changes, pairs = [], []
    for rho, clock in zip(series, times, strict=True):
        cuts = np.linspace(0, len(rho), parts + 1).astype(int)
        block, number = np.zeros((parts, len(lags))), np.zeros((parts, len(lags)))
        for place, lag in enumerate(lags.tolist()):
            even = np.abs(clock[lag:] - clock[:-lag] - lag * gap) < ALIKE * gap
            squares = 0.5 * (np.abs(rho[lag:, slow] - rho[:-lag, slow]) ** 2).mean(axis=1) * even
            for part, (first, last) in enumerate(pairwise(cuts)):
                block[part, place], number[part, place] = squares[first:last].sum(), even[first:last].sum()
        changes.append(block)
        pairs.append(number)
    return np.concatenate(changes), np.concatenate(pairs)


def _told_apart(changes: Array, pairs: Array, lags: NDArray[np.int64], gap: float) -> PositionErrors | None:
    """Errors and motion, with the jackknife's scatter; None where nothing is known to move."""
    total, number = changes.sum(axis=0), pairs.sum(axis=0)
    together, used = _relaxation((total / number)[None], lags), len(lags)
    for _ in range(ROUNDS):  # forces that are not harmonic: only as far as is needed to see how it bends
        used = max(FEWEST, int((lags * together[0, 2] <= BENT).sum()))
        together = _relaxation((total / number)[None, :used], lags[:used])
    variance, moved, rate, taken_off = together[0]
    if rate >= RATES[-1]:
        return None
    left, there = total - changes, number - pairs
    others = _relaxation(left[:, :used] / np.maximum(there[:, :used], 1.0), lags[:used])
    count = len(changes)
    errors = np.sqrt((count - 1) / count * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
    if not moved > MOVING * errors[1]:
        return None
    error = float(np.hypot(errors[0], RELAXED * taken_off))
    share = float(variance / max(variance + moved, 1e-300))
    # less than no errors: then fluctuations grow, or something else is not as it is taken to be here
    doubt = float(np.hypot(error, min(variance, 0.0)))
    return PositionErrors(
        float(variance), error, share, float(moved / gap), float(np.hypot(errors[1], doubt)) / gap, float(rate / gap),
        gap,
    )  # fmt: skip


def _relaxation(means: Array, lags: NDArray[np.int64]) -> Array:
    """b, D times the interval, the rate of relaxation times the interval, and what that takes off b: (sets, 4).

    Least squares of (sets, lags), relative to the lengths of the time averages that are compared.
    """
    weights = 1 / (means * np.sqrt(lags)) ** 2
    best = np.full((len(means), 5), np.inf)
    for rate in RATES:
        shape = np.expm1(-rate * lags) / np.expm1(-rate) if rate > 0 else lags.astype(float)
        whole = weights.sum(axis=1)
        middle, level = (weights @ shape) / whole, (weights * means).sum(axis=1) / whole
        away = shape - middle[:, None]
        slope = (weights * away * means).sum(axis=1) / (weights * away**2).sum(axis=1)
        offset = level - slope * middle
        misfit = (weights * (means - offset[:, None] - slope[:, None] * shape) ** 2).sum(axis=1)
        moved = slope * (rate / -np.expm1(-rate) if rate > 0 else 1.0)
        better = misfit < best[:, 4]
        best[better] = np.stack([offset, moved, np.full_like(moved, rate), 0 * moved, misfit], axis=1)[better]
    best[:, 3] = 2 * means[:, 0] - means[:, 1] - best[:, 0]
    return best[:, :4]
