"""Snapshots: an unlabeled data set, regular or ragged, in memory, memory-mapped or left in files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trackless._errors import InputError
from trackless.snapshot_input import checked_times, clock, floating, ragged
from trackless.space import Box, checked_box
from trackless.species import Species, sorted_array, sorted_runs
from trackless.stored import StoredArray, StoredRun
from trackless.wording import plural

if TYPE_CHECKING:
    from trackless.gaps import Gaps

EVEN = 1e-6  # relative difference of intervals that counts as none
FINGERPRINT_RUNS = 16  # looked at to tell data sets apart


class Snapshots:
    """Positions of particles at given times, in one or many independent runs.

    Immutable: methods return new objects that share memory with this one where they can. A memory-mapped array
    is used as it is and read in pieces; so are positions that :func:`trackless.read` left in files.

    Parameters
    ----------
    positions : array (runs, times, particles, dim), or list of runs
        A run is an array (times, particles, dim), or a list of arrays (particles, dim) if the number of
        particles changes from frame to frame. float32 and float64 are kept as they are.
    times : array (times,), or list of such arrays, one per run
        Strictly increasing; they need not be equidistant.
    dt : float, optional
        Instead of ``times``: the interval between all snapshots, the first of which are at time 0.
    box : float or sequence of float, optional
        Side lengths of a periodic box; free space if left out.
    labeled : bool
        True only if index i is the same particle in every frame of a run.
    species : array, optional
        The kind (a name or a whole number) of each particle: (particles,) or (runs, times, particles); for ragged data
        a list of runs, each an array (particles,) or a list of such arrays, one per frame. The particles of every
        snapshot are then kept sorted by kind.

    Examples
    --------
    >>> import numpy as np, trackless as tl
    >>> data = tl.Snapshots(np.zeros((3, 5, 4, 2)), times=np.arange(5) * 0.1)
    >>> data
    Snapshots(3 runs, 5 times, 4 particles, dim 2, unlabeled)
    >>> len(data.every(2).times), data.between(0.1, 0.3).positions.shape
    (3, (3, 3, 4, 2))
    """

    def __init__(
        self,
        positions: ArrayLike | Sequence[Any],
        times: ArrayLike | Sequence[ArrayLike] | None = None,
        box: float | Sequence[float] | None = None,
        labeled: bool = False,
        species: Any = None,
        dt: float | None = None,
    ) -> None:
        times = clock(times, dt)
        self._labeled = bool(labeled)
        self._found: dict[str, Any] = {}
        self._species: Species | None = species if isinstance(species, Species) else None
        self._array: Any = None
        if isinstance(positions, StoredArray) or (isinstance(positions, np.ndarray) and positions.dtype != object):
            self._array = positions if isinstance(positions, StoredArray) else floating(positions, "positions")
            if self._array.ndim != 4:
                raise InputError(
                    f"positions: expected shape (runs, times, particles, dim), got {self._array.shape}; "
                    "a single run needs a leading axis: positions[None]"
                )
            self._runs = None
            self._times = checked_times(times, self._array.shape[1], "times")
            self._dim = self._array.shape[3]
            if 0 in self._array.shape:
                raise InputError(f"positions: shape {self._array.shape} holds no particles")
        else:
            self._runs, self._times = ragged(positions, times)  # type: ignore[arg-type]
            self._dim = self._runs[0][0].shape[1]
        self._box = checked_box(box, self._dim)
        if species is not None and self._species is None:
            self._sort_by(species)
        if self._labeled and not self.constant_count:
            raise InputError("labeled=True: the number of particles changes between frames, so labels cannot be right")

    def _sort_by(self, species: Any) -> None:
        if self._array is not None:
            self._array, self._species = sorted_array(self._array, species, self._labeled)
            if isinstance(self._array, np.ndarray):
                self._array.flags.writeable = False
        else:
            self._runs, self._species = sorted_runs(self._runs or [], species, self._labeled)

    # What is in it

    @property
    def regular(self) -> bool:
        """Whether all runs share their times and number of particles (one array holds them)."""
        return self._array is not None

    @property
    def positions(self) -> Any:
        """Array (runs, times, particles, dim), or a list of runs, each a list of frames (particles, dim).

        Where they were left in files they are read when a part of them is asked for.
        """
        if self._array is not None:
            return self._array
        return [run if isinstance(run, StoredRun) else list(run) for run in self._runs or ()]

    @property
    def in_files(self) -> bool:
        """Whether positions were left in files, at least in part."""
        runs = [self._array] if self._array is not None else self._runs or ()
        return any(isinstance(run, (StoredArray, StoredRun)) for run in runs)

    @property
    def nbytes(self) -> int:
        """Bytes of all positions, wherever they are (about, of ragged ones)."""
        if self._array is not None:
            return self._array.nbytes
        return 8 * self._dim * sum(int(self.counts_of(m).sum()) for m in range(self.runs))

    @property
    def times(self) -> Any:
        """Array (times,), or a list of them for ragged data."""
        return self._times

    @property
    def runs(self) -> int:
        """Number of independent runs."""
        return len(self._array) if self._array is not None else len(self._runs or ())

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return self._dim

    @property
    def box(self) -> Box:
        """Side lengths of the periodic box, or None."""
        return self._box

    @property
    def labeled(self) -> bool:
        """Whether particle indices mean the same particle at every time."""
        return self._labeled

    @property
    def constant_count(self) -> bool:
        """Whether the number of particles stays the same within every run."""
        return self._array is not None or all(len(set(self.counts_of(m).tolist())) == 1 for m in range(self.runs))

    @property
    def frames(self) -> int:
        """Number of snapshots in all runs together."""
        if self._array is not None:
            return self._array.shape[0] * self._array.shape[1]
        return sum(len(run) for run in self._runs or ())

    def times_of(self, run: int) -> NDArray[np.float64]:
        """Times of one run."""
        return self._times if isinstance(self._times, np.ndarray) else self._times[run]

    def counts_of(self, run: int) -> NDArray[np.int64]:
        """Number of particles in each frame of one run."""
        if self._array is not None:
            return np.full(self._array.shape[1], self._array.shape[2], dtype=np.int64)
        assert self._runs is not None
        frames = self._runs[run]
        return frames.counts if isinstance(frames, StoredRun) else np.array([len(f) for f in frames], dtype=np.int64)

    def usual_counts(self, run: int) -> tuple[float, float]:
        """Mean number of particles, and of ordered pairs of them, in the frames of one run.

        Energies of frames with other numbers are scaled to these: a constant added to a potential would otherwise
        change the energy whenever a particle appears; this way those that are not seen count like those that are.
        """
        counts = self.counts_of(run).astype(float)
        return float(counts.mean()), float((counts * (counts - 1)).mean())

    @property
    def species(self) -> tuple[str, ...] | None:
        """Names of the kinds of particles, sorted, or None where all are alike."""
        return self._species.names if self._species is not None else None

    def species_counts_of(self, run: int) -> NDArray[np.int64]:
        """Number of particles of each kind in each frame of one run, (frames, kinds); positions are sorted by kind."""
        return self._species.counts_of(run) if self._species is not None else self.counts_of(run)[:, None]

    def kinds_in(self, run: int, kinds: int) -> NDArray[np.int64]:
        """The same, (frames, kinds), for one who tells so many kinds apart: with 1 all particles are alike."""
        return self.counts_of(run)[:, None] if kinds == 1 else self.species_counts_of(run)

    def species_of(self, run: int, index: int) -> NDArray[np.str_]:
        """The kind of each particle of one snapshot, (particles,)."""
        if self._species is None:
            raise InputError("species: these data have one kind of particles only")
        return self._species.of(run, index)

    def points_of(self, run: int, first: int, last: int) -> NDArray[Any]:
        """Positions of frames ``first`` to ``last`` (included) of one run, stacked: (sum of counts, dim)."""
        if self._array is not None:
            return self._array[run, first : last + 1].reshape(-1, self._dim)
        assert self._runs is not None
        frames = self._runs[run]
        return frames.points(first, last) if isinstance(frames, StoredRun) else np.concatenate(frames[first : last + 1])

    def points_of_runs(self, runs: range, first: int, last: int) -> NDArray[Any]:
        """The same of consecutive runs, one after the other."""
        if self._array is None or len(runs) == 1:
            each = [self.points_of(m, first, last) for m in runs]
            return each[0] if len(each) == 1 else np.concatenate(each)
        if isinstance(self._array, StoredArray):
            return self._array.of_runs(runs, first, last).reshape(-1, self._dim)
        return self._array[runs.start : runs.stop, first : last + 1].reshape(-1, self._dim)

    def fetch(self, runs: range, first: int, last: int) -> None:
        """Read such frames in the background, if they are in files: they will be needed soon."""
        if isinstance(self._array, StoredArray):
            self._array.fetch(runs, first, last)
        for run in runs if self._array is None else ():
            if isinstance(frames := (self._runs or ())[run], StoredRun):
                frames.fetch(first, last)

    def groups(self) -> Iterable[tuple[range, tuple[int, ...]]]:
        """Runs that have the same times, and frames at which they are best cut, as they lie in files."""
        if isinstance(self._array, StoredArray):
            return self._array.groups()
        return [
            (runs, ()) for runs in ([range(self.runs)] if self.regular else (range(m, m + 1) for m in range(self.runs)))
        ]

    def run_of(self, run: int) -> Any:
        """The frames of one run: an array, a sequence of arrays (particles, dim), or what stands for them in a file."""
        if self._array is not None:
            return self._array.run(run) if isinstance(self._array, StoredArray) else self._array[run]
        return (self._runs or ())[run]

    def frame(self, run: int, index: int) -> NDArray[Any]:
        """Positions of one snapshot, (particles, dim)."""
        if self._array is not None:
            return self._array[run, index]
        assert self._runs is not None
        return self._runs[run][index]

    def __len__(self) -> int:
        return self.runs

    def __repr__(self) -> str:
        label = "labeled" if self._labeled else "unlabeled"
        if self._species is not None:
            label += f", species {', '.join(self._species.names)}"
        if self._box is not None:
            label += f", box {' x '.join(f'{side:g}' for side in self._box)}"
        many = plural(self.runs, "run")
        if self._array is not None:
            sizes = f"{plural(self._array.shape[1], 'time')}, {plural(self._array.shape[2], 'particle')}"
        else:
            sizes = f"{plural(self.frames, 'snapshot')}, ragged"
        return f"Snapshots({many}, {sizes}, dim {self._dim}, {label})"

    # Parts of it

    def intervals(self) -> NDArray[np.float64]:
        """All intervals between snapshots; where all runs have the same times, those of one run."""
        return np.concatenate([np.diff(self.times_of(m)) for m in range(1 if self.regular else self.runs)])

    def common_interval(self) -> float | None:
        """The interval between all snapshots, or None where they are not all the same."""
        gaps = self.intervals()
        return None if np.ptp(gaps) > EVEN * gaps.mean() * len(gaps) else float(gaps.mean())

    def every(self, stride: int) -> Snapshots:
        """Every ``stride``-th snapshot, starting with the first."""
        if not isinstance(stride, (int, np.integer)) or stride < 1:
            raise InputError(f"every: expected a whole stride of at least 1, got {stride!r}")
        return self._select(lambda times: slice(None, None, stride))

    def between(self, start: float, stop: float) -> Snapshots:
        """The snapshots with start <= time <= stop (a billionth of the span is forgiven)."""

        def chosen(times: NDArray[np.float64]) -> slice:
            slack = 1e-9 * (times[-1] - times[0])  # nothing beside large times: both ends must count themselves
            return slice(np.searchsorted(times, start - slack), np.searchsorted(times, stop + slack, side="right"))

        return self._select(chosen)

    def gaps(self, longest: float | str | None = "auto") -> Gaps:
        """Intervals longer than ``longest``, or by default than the data's own (see :class:`trackless.gaps.Gaps`)."""
        from trackless.gaps import find_gaps  # which knows Snapshots

        return find_gaps(self, longest)

    def without_gaps(self, longest: float | str | None = "auto") -> Snapshots:
        """Every run cut into runs of its own wherever an interval is longer; ``gaps(longest)`` says how many.

        Snapshots between two gaps are left out. By default nothing is cut where intervals are irregular on purpose.
        """
        return self._cut(self.gaps(longest).pieces)

    def split(self, fraction: float | None = None, parts: int | None = None) -> list[Snapshots]:
        """Disjoint groups of runs: two (``fraction`` of the runs first), or ``parts`` of about equal size."""
        if (fraction is None) == (parts is None):
            raise InputError("split: give either fraction or parts")
        if fraction is not None:
            cuts = [0, round(self.runs * fraction), self.runs]
        else:
            cuts = np.linspace(0, self.runs, (parts or 0) + 1).round().astype(int).tolist()
        if len(cuts) < 2 or any(b <= a for a, b in pairwise(cuts)):
            raise InputError(f"split: of {self.runs} runs a group would be empty; take fewer or larger groups")
        return [self[a:b] for a, b in pairwise(cuts)]

    def __getitem__(self, runs: slice) -> Snapshots:
        """A group of runs."""
        if not isinstance(runs, slice):
            raise InputError("Snapshots are indexed with a slice of runs, such as data[:100]")
        species = self._species.runs(runs) if self._species is not None else None
        if self._array is not None:
            return self._like(self._array[runs], self._times, species)
        assert self._runs is not None
        return self._like(self._runs[runs], self._times[runs], species)

    def shuffled(self, seed: int | None = 0) -> Snapshots:
        """A copy with the particles of every snapshot permuted at random (within their kinds): labels are gone."""
        generator = np.random.default_rng(seed)
        if self._array is not None and self._species is None:
            array = np.asarray(self._array)
            mixed = generator.permuted(np.broadcast_to(np.arange(array.shape[2]), array.shape[:3]), axis=-1)
            return Snapshots(np.take_along_axis(array, mixed[..., None], axis=2), self._times, self._box)
        mixed_runs = [
            [
                np.concatenate([generator.permutation(kind) for kind in np.split(self.frame(m, i), np.cumsum(n)[:-1])])
                for i, n in enumerate(self.species_counts_of(m))
            ]
            for m in range(self.runs)
        ]
        positions = np.array(mixed_runs) if self._array is not None else mixed_runs
        return Snapshots(positions, self._times, self._box, species=self._species)

    def fingerprint(self) -> str:
        """A short text that differs between data sets: of their sizes, and of positions in some of their frames."""
        digest = hashlib.blake2b(repr((self.runs, self.frames, self._dim, self._box)).encode(), digest_size=12)
        for run in np.unique(np.linspace(0, self.runs - 1, FINGERPRINT_RUNS).astype(int)).tolist():
            digest.update(self.times_of(run)[[0, -1]].tobytes())
            for index in (0, len(self.times_of(run)) - 1):
                digest.update(np.ascontiguousarray(self.frame(run, index), dtype=np.float64).tobytes())
        return digest.hexdigest()

    def check_finite(self) -> None:
        """Raise an error that names run, frame and particle if a position is NaN or infinite."""
        from trackless.survey import check_finite  # which knows Snapshots

        check_finite(self)

    def remembered(self, what: str, found: Callable[[], Any]) -> Any:
        """What looking at the data found before; or else what it finds now, kept, for data do not change."""
        if what not in self._found:
            self._found[what] = found()
        return self._found[what]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_found": {}}

    def _select(self, chosen: Any) -> Snapshots:
        if self._array is not None:
            part = chosen(self._times)
            if not len(self._times[part]):
                raise InputError("no snapshot is left in that range of times")
            species = self._species.frames(part) if self._species is not None else None
            return self._like(self._array[:, part], self._times[part], species)
        parts = [(m, chosen(t)) for m, t in enumerate(self._times)]
        parts = [(m, part) for m, part in parts if len(self._times[m][part])]
        if not parts:
            raise InputError("no snapshot is left in that range of times")
        return self._cut(parts)

    def _cut(self, parts: Sequence[tuple[int, slice]]) -> Snapshots:
        """Some frames of some runs (a run may come again) as runs; itself if those are all of them."""
        if [(m, part.indices(len(self.times_of(m)))) for m, part in parts] == [
            (m, (0, len(self.times_of(m)), 1)) for m in range(self.runs)
        ]:
            return self
        species = self._species.selected(list(parts)) if self._species is not None else None
        times = [self.times_of(m)[part] for m, part in parts]
        return self._like([self.run_of(m)[part] for m, part in parts], times, species)

    def _like(self, positions: Any, times: Any, species: Species | None) -> Snapshots:
        return Snapshots(positions, times, self._box, self._labeled, species)
