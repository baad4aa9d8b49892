"""Which of several fits is best, without a truth: the loss on runs that were not fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t
from sklearn.base import clone

from trackless import _progress
from trackless._errors import InputError
from trackless.estimators.least_squares import LeastSquares
from trackless.joining import concatenate
from trackless.snapshots import Snapshots

Array = NDArray[np.float64]
BLOCKS = 120  # parts of the data that are fitted or held out together
FOLDS = 4
LEVEL = 0.01  # how often one of two candidates that are alike is clearly better than the other


@dataclass(frozen=True)
class Comparison:
    """Candidates, best first.

    Attributes
    ----------
    names : tuple of str
    scores : tuple of float
        Minus the mean held-out loss: higher is better.
    behind : tuple of float
        How far each is behind the best (the first is 0).
    errors : tuple of float
        Standard error of that difference, from the scatter of the held-out parts, or of the folds where that is
        larger: what was fitted to few runs may be bad by chance, and is then bad on all the parts it did not see.
    parts : int
        How many held-out parts there are, whose scatter these errors are: of few it is hardly known.

    Examples
    --------
    >>> import trackless as tl
    >>> data = tl.simulate(tl.models.reference(), runs=40, step=1e-3)
    >>> v, phi = tl.RadialSplines(8), tl.RadialSplines(20)
    >>> with_it = tl.SelfTest(v, phi, sigma=1.0, regularization="evidence")
    >>> without = tl.SelfTest(v, None, sigma=1.0, regularization="evidence")
    >>> tl.compare(data, {"interacting": with_it, "not": without}).best
    'interacting'
    """

    names: tuple[str, ...]
    scores: tuple[float, ...]
    behind: tuple[float, ...]
    errors: tuple[float, ...]
    parts: int

    @property
    def best(self) -> str:
        """The name of the best candidate."""
        return self.names[0]

    @property
    def clear(self) -> float:
        """Standard errors by which a candidate is clearly ahead, at a level of 1 %: Student's t for so many parts."""
        return float(t.isf(LEVEL, self.parts - 1)) if self.parts > 1 else np.inf

    def clearly(self, better: str, worse: str, errors: float | None = None) -> bool:
        """Whether one candidate is ahead of another by more than so many standard errors (``clear`` by default)."""
        place = {name: k for k, name in enumerate(self.names)}
        for name in (better, worse):
            if name not in place:
                raise InputError(f"compare: there is no candidate {name!r}; there are {', '.join(self.names)}")
        a, b = place[better], place[worse]
        error = max(np.hypot(self.errors[a], self.errors[b]), 1e-300)
        return bool(self.scores[a] - self.scores[b] > (self.clear if errors is None else errors) * error)

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'candidate':{max(width, 9)}}  held-out score  behind the best"]
        for name, score, behind, error in zip(self.names, self.scores, self.behind, self.errors, strict=True):
            gap = f"{behind:.3g} +- {error:.2g}" if behind > 0 else ""
            lines.append(f"{name:{max(width, 9)}}  {score:14.6g}  {gap}".rstrip())
        return "\n".join(lines)


def compare(
    snapshots: Snapshots, candidates: Mapping[str, Any], folds: int = FOLDS, nothing: str | None = None
) -> Comparison:
    """Rank estimators by their loss on held-out runs (time windows, where runs are few).

    Parameters
    ----------
    snapshots : Snapshots
    candidates : dict of estimators that are not fitted, by name
        ``SelfTest`` with any bases and regularization, ``NeuralSelfTest``, ...; they must share sigma and coupling,
        because losses are compared. One pass over the data each for those that reduce to moments.
    folds : int
        The data are cut into so many parts; each is held out once.
    nothing : str, optional
        A name for no force at all, which is then ranked with the others.

    Returns
    -------
    Comparison
    """
    if not isinstance(snapshots, Snapshots):
        raise InputError(f"compare: expected Snapshots, got {type(snapshots).__name__}; wrap arrays in tl.Snapshots")
    if len(candidates) < 2:
        raise InputError(f"compare: expected at least two candidates, got {len(candidates)}")
    kinds = {
        (tuple(np.atleast_1d(np.asarray(getattr(c, "sigma", None))).tolist()), getattr(c, "coupling", None))
        for c in candidates.values()
    }
    if len(kinds) > 1:
        raise InputError("compare: candidates must have the same sigma and coupling, or their losses mean nothing")
    if folds < 2:
        raise InputError(f"folds: expected at least 2, got {folds}")
    items = list(candidates.items())
    losses = {name: _held_out(snapshots, c, folds) for name, c in _progress.track(items, "comparing", len(items))}
    if len({len(loss.values) for loss in losses.values()}) > 1:  # some were scored fold by fold
        losses = {name: loss.by_fold() for name, loss in losses.items()}
    if nothing is not None:
        one = next(iter(losses.values()))
        losses[nothing] = one._replace(values=np.zeros_like(one.values))  # its loss is 0
    return _ranked(losses)


def ranked(losses: Mapping[str, Array]) -> Comparison:
    """Candidates by name, with the loss of each on the same parts of held-out data (parts,)."""
    return _ranked({name: _Losses(values, np.arange(len(values))) for name, values in losses.items()})


def _ranked(losses: Mapping[str, _Losses]) -> Comparison:
    order = sorted(losses, key=lambda name: losses[name].values.mean())
    differences = [losses[name].less(losses[order[0]]) for name in order]
    return Comparison(
        tuple(order),
        tuple(float(-losses[name].values.mean()) for name in order),
        tuple(float(d.values.mean()) for d in differences),
        tuple(max(d.error(), d.by_fold().error()) for d in differences),
        len(differences[0].values),
    )


class _Losses(NamedTuple):
    """Losses of held-out parts of the data, and the fold that each was in."""

    values: Array
    folds: NDArray[np.int64]

    def less(self, other: _Losses) -> _Losses:
        return self._replace(values=self.values - other.values)

    def by_fold(self) -> _Losses:
        """Means over folds."""
        names = np.unique(self.folds)
        return _Losses(np.array([self.values[self.folds == k].mean() for k in names]), names)

    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values)))


def _held_out(snapshots: Snapshots, candidate: Any, folds: int) -> _Losses:
    """Loss of each part of the data under a fit that did not see it."""
    if not isinstance(candidate, LeastSquares):
        if snapshots.runs < folds:
            raise InputError(f"compare: {snapshots.runs} runs cannot be cut into {folds} parts to hold out")
        parts = snapshots.split(parts=folds)
        rest = [concatenate([p for j, p in enumerate(parts) if j != k]) for k in range(folds)]
        fresh: list[Any] = [clone(candidate) for _ in range(folds)]
        scores = np.array([one.fit(rest[k]).score(parts[k]) for k, one in enumerate(fresh)])
        return _Losses(-scores, np.arange(folds))
    moments = candidate.moments_for(snapshots, BLOCKS)
    shape = (moments.blocks, moments.windows)
    count = shape[0] * shape[1]
    if count < 2:
        raise InputError("compare: a single run in a single time window leaves nothing to hold out")
    by_window = shape[0] < min(folds, shape[1] + 1)  # where there are fewer runs than folds, and no fewer windows
    folds = min(folds, shape[by_window])
    groups = np.arange(shape[1] if by_window else shape[0]) % folds
    losses = np.zeros(shape)
    for k in range(folds):
        train, test = ((None, part) if by_window else (part, None) for part in (groups != k, groups == k))
        each = candidate.held_out_losses(moments.select(*train), moments.select(*test))
        if by_window:
            losses[:, groups == k] = each
        else:
            losses[groups == k] = each
    fold_of = np.broadcast_to(groups if by_window else groups[:, None], shape)
    return _Losses(losses.ravel(), fold_of.ravel())
