"""What the fitted model predicts: simulated from observed snapshots, and held against those that followed.

Data are cut into pieces that begin with an observed snapshot. The model is simulated from there, and distances in the
second half of the pieces are compared with those that were observed.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.mixtures import listed
from trackless.networks import RadialNetwork
from trackless.potentials import Centered, PiecewiseCubic, RadialPotential
from trackless.reporting.distances import measures
from trackless.simulation import simulate
from trackless.snapshots import EVEN, Snapshots
from trackless.space import wrap
from trackless.tables import tabulated
from trackless.uncertainty import cutoff_of

Array = NDArray[np.float64]
SECONDS = 5.0  # after which no further simulation is begun
STEPS = 20  # of the simulation between two snapshots
STIFF = 0.2  # a step times a second derivative, beyond which steps follow the forces
FIRST_WORK, GROWTH = 4.0, 8.0  # intervals simulated at first, and how quickly they become more
MOST_PIECES, FEWEST_PIECES = 64, 16  # few runs are cut into several pieces
SHORTEST = 8  # snapshots of a piece that was cut
BATCHES = (4, 8, 16)  # pieces simulated together at first; then all others
FEW_PATHS = 24  # below, pieces are simulated several times
MOST_LOOKS, MOST_POINTS = 10, 200_000  # snapshots of a piece, and particles in all, whose distances are counted
GRID = 1000  # distances or places at which stiffness is looked for
FAR, FINEST_TIP = 2.0, 4096  # tables of networks end at so many explored ranges, and have at most so many cells
FINEST = 1000  # simulated snapshots, where observed times are irregular


class Prediction(NamedTuple):
    """Observed and predicted densities, as plain data, and what is to be said of them."""

    comparisons: list[dict[str, Any]]
    sentences: list[str]


class Clock:
    """How much time is left for simulations, and how much may be simulated before it is looked at again."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._end = time.monotonic() + seconds
        self._work = FIRST_WORK  # intervals between snapshots, of all runs together

    @property
    def left(self) -> float:
        """Seconds; below 0 nothing more should be begun."""
        return self._end - time.monotonic()

    def intervals(self, runs: int) -> int:
        """How many intervals of so many runs may be simulated in one go."""
        return max(1, int(self._work / runs))

    def took(self, work: int, seconds: float) -> None:
        """Learn from what was done: go on with more of it at once, if there is time for that."""
        self._work = max(1.0, min(GROWTH * work, 0.5 * self.left * work / max(seconds, 1e-3)))


def cannot_be_simulated(fitted: Any, snapshots: Snapshots, run: int) -> str:
    """Why the fitted model does not tell how a run goes on, in words; empty if it does."""
    seen = getattr(getattr(fitted, "moments_", None), "observation", None)
    if seen is not None and not seen.complete:
        return (
            "Nothing was simulated: the data were seen through an instrument that misses particles or is a little off, "
            "which a simulation does not know."
        )
    if len(snapshots.times_of(run)) < 2:
        return "Nothing was simulated: there is only one snapshot."
    if len(np.unique(snapshots.species_counts_of(run), axis=0)) > 1:
        return "Nothing was simulated: the number of particles changes within a run, which is no part of the model."
    return ""


def path(fitted: Simulated, start: Snapshots, times: Array, clock: Clock, stride: int = 1, seed: int = 0) -> Array:
    """The fitted model simulated from first snapshots, (runs, times or fewer, particles, dim), the start included.

    Every ``stride``-th observed time is asked for. Irregular times are met as closely as a fine, even clock allows.
    Ends early when the time is over.
    """
    every, marks = _marks(times)
    single_steps = fitted.dynamics == "discrete"
    step = every / (stride if single_steps else stride * STEPS)
    accurate = not single_steps and fitted.stiffness * step > STIFF
    first = np.stack([np.asarray(start.frame(m, 0), float) for m in range(start.runs)])
    found, now, done = [np.repeat(wrap(first, start.box)[:, None], (marks == 0).sum(), axis=1)], start, 0
    while done < marks[-1] and clock.left > 0:
        ahead, begun = min(clock.intervals(start.runs), int(marks[-1]) - done), time.monotonic()
        shown = simulate(
            fitted, initial=now, runs=start.runs, duration=ahead * every, observe_every=every,
            step=step, accurate=accurate, seed=seed + done,
        )  # fmt: skip
        found.append(np.asarray(shown.positions)[:, marks[(marks > done) & (marks <= done + ahead)] - done])
        now, done = shown.between(float(shown.times[-1]), np.inf), done + ahead
        clock.took(ahead * start.runs, time.monotonic() - begun)
    return np.concatenate(found, axis=1)


def _marks(times: Array) -> tuple[float, NDArray[np.int64]]:
    """An interval, and how many of them after the first each time is."""
    gaps, span = np.diff(times), float(times[-1] - times[0])
    every = float(gaps.mean()) if _is_even(times) else span / min(FINEST, int(np.ceil(span / gaps.min())))
    return every, np.rint((times - times[0]) / every).astype(np.int64)


def predict(fitted: Any, snapshots: Snapshots, explored: Exploration, simulated: bool = True) -> Prediction:
    """Distances between particles and from the centre, observed and as the fitted model predicts them.

    Parameters
    ----------
    fitted : fitted estimator
    snapshots : Snapshots
    explored : Exploration
        What they explored.
    simulated : bool
        False leaves out the prediction.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=20, duration=0.2, step=1e-3)
    >>> fitted = tl.SelfTest(external=tl.RadialSplines(4), sigma=1.0).fit(data)
    >>> [one["label"] for one in predict(fitted, data, Exploration(data), simulated=False).comparisons]
    ['Pair distances', 'Distances from the centre']
    """
    pieces, said = _pieces(snapshots), []
    looks = _looks(pieces)
    paths: list[Array] = []
    if simulated:
        why = cannot_be_simulated(fitted, pieces, 0)
        paths, why = ([], why) if why else _paths(as_simulated(fitted, explored), pieces, looks)
        said.append(why or _method(pieces, len(paths)))
    used = min(pieces.runs, len(paths)) or pieces.runs  # where time was over, the same starts are compared
    seen = [([pieces.frame(m, k) for k in looks], pieces.species_counts_of(m)[looks]) for m in range(used)]
    numbers = pieces.species_counts_of(0)[looks]
    comparisons = []
    for measure in measures(fitted, snapshots, explored):
        observed = np.array([measure.of(frames, counts) for frames, counts in seen])
        comparisons.append(
            measure.compared(observed, np.array([measure.of(list(frames), numbers) for frames in paths]))
        )
    return Prediction(comparisons, said)


def _method(pieces: Snapshots, paths: int) -> str:
    used = min(pieces.runs, paths)
    span = float(np.ptp(pieces.times_of(0)))
    return (
        f"The fitted model was simulated from {used} observed snapshots over a time of {span:.4g}, "
        f"{paths} paths in all, and compared with what followed in the second half of that time. The range holds "
        "95 % of what chance makes of so many data; errors of the fit itself are not part of it."
    )


def _pieces(snapshots: Snapshots) -> Snapshots:
    """Parts of runs of the same length and times (from their first on), and numbers of particles where they stay."""
    lengths = np.array([len(snapshots.times_of(m)) for m in range(snapshots.runs)])
    usual = int(np.sort(lengths)[len(lengths) // 2])
    long = np.flatnonzero(lengths >= usual)
    first = int(long[0])
    times, counts = snapshots.times_of(first)[:usual], snapshots.species_counts_of(first)[:usual]
    cuts = max(1, min(-(-FEWEST_PIECES // len(long)), usual // SHORTEST)) if _is_even(times) else 1
    length = usual // cuts
    parts = []
    for m in np.unique(long[np.linspace(0, len(long) - 1, MOST_PIECES).round().astype(int)]).tolist():
        own, numbers = snapshots.times_of(m)[:usual], snapshots.species_counts_of(m)[:usual]
        at_the_same_times = np.allclose(own - own[0], times - times[0], rtol=0, atol=1e-6 * np.ptp(times))
        if at_the_same_times and ((numbers == counts[0]).all() or not (counts == counts[0]).all()):
            parts += [(m, slice(k * length, (k + 1) * length)) for k in range(cuts)]
    return snapshots._cut(parts[:: -(-len(parts) // MOST_PIECES)])


def _is_even(times: Array) -> bool:
    gaps = np.diff(times)
    return len(gaps) > 0 and bool(np.ptp(gaps) <= EVEN * gaps.mean() * len(gaps))


def _looks(pieces: Snapshots) -> list[int]:
    """Snapshots of every piece that are compared: spread over its second half."""
    length, particles = len(pieces.times_of(0)), int(pieces.counts_of(0).max())
    most = max(1, min(MOST_LOOKS, MOST_POINTS // (pieces.runs * particles)))
    return np.unique(np.linspace(length - 1, length // 2, most).round().astype(int)).tolist()


def _paths(fitted: Simulated, pieces: Snapshots, looks: list[int]) -> tuple[list[Array], str]:
    """Simulated paths (looks, particles, dim) in the order of the pieces, again and again; or why there are none."""
    found: list[Array] = []
    again, clock, times = -(-FEW_PATHS // pieces.runs), Clock(), pieces.times_of(0)
    ends = sorted({0, *(end for end in np.cumsum(BATCHES).tolist() if end < pieces.runs), pieces.runs})
    batches = [(k, slice(a, b)) for k in range(again) for a, b in pairwise(ends)]
    for k, batch in _progress.track(batches, "predicting", len(batches)):
        try:
            paths = path(fitted, pieces[batch], times, clock, seed=1 + k)
        except InputError as error:
            return [], f"The fitted model cannot be simulated: {error}."
        if paths.shape[1] < len(times):
            break
        found += list(paths[:, looks])
    if len(found) < 2:
        return [], "Nothing was simulated: it takes too long for a report (small steps, or many particles)."
    return found, ""


class Simulated(NamedTuple):
    """A fit as it is simulated."""

    external_: Any
    interaction_: Any
    sigma_: Any
    coupling: str
    dynamics: str
    stiffness: float
    """largest second derivative where the data were"""


def as_simulated(fitted: Any, explored: Exploration) -> Simulated:
    """The fit with networks replaced by tables of them, which are set up once and not for every simulation."""
    external, interaction = (
        _tabulated(getattr(fitted, f"{role}_"), FAR * explored.farthest(role)) for role in ("external", "interaction")
    )
    stiffness = max((_stiffness(fitted, role, explored) for role in ("external", "interaction")), default=0.0)
    dynamics = getattr(fitted, "dynamics", "continuous")
    return Simulated(external, interaction, fitted.sigma_, getattr(fitted, "coupling", "mean"), dynamics, stiffness)


def _stiffness(fitted: Any, role: str, explored: Exploration) -> float:
    """The largest second derivative of the potentials of a role, at distances or places that most data had."""
    largest = 0.0
    for kinds, potential in listed(getattr(fitted, f"{role}_")):
        own = explored.of_kinds(kinds)
        if isinstance(potential, RadialPotential):
            low, high = np.quantile(own.reached(role, potential.origin, cutoff_of(potential)), [0.001, 0.999])
            bends = np.diff(potential.slope(np.linspace(low, high, GRID))) / ((high - low) / (GRID - 1))
        else:
            places = own.positions if role == "external" else own.displacements
            bends = potential.laplacian(places[:: max(1, len(places) // GRID)])
        largest = max(largest, float(np.abs(bends).max()))
    return largest


def _tabulated(potential: Any, far: float) -> Any:
    inner = potential.inner if isinstance(potential, Centered) else potential
    if not any(isinstance(term, RadialNetwork) for term in getattr(inner, "terms", ())):
        return potential
    pieces = tabulated([inner], 0.0, far, far / FINEST_TIP)
    table = PiecewiseCubic(pieces.edges, pieces.coef[:, 0])
    return Centered(table, potential.center) if isinstance(potential, Centered) else table
