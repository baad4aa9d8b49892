"""Moments: what the data say, small and additive.

For a run with N particles observed at times t_l with quadrature weights w_l, the self-test loss needs only

    sum_l w_l N G(t_l),   sum_l w_l N delta(t_l),   N (h(t_L) - h(t_0)),   n = sum_l w_l N

(paper, eq. for the normal matrix and vector). They add over runs, whatever their durations and particle
numbers, and b = (sigma^2/2 * diffusion - energy) / n stays open in sigma; where it may differ between directions,
delta is kept for each of them. Blocks (groups of runs) and time
windows are kept apart, so that cross-validation, error bars and streaming are all the same addition.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trackless import _memory
from trackless._errors import InputError
from trackless.basis import Basis
from trackless.coupling import coupling_factor
from trackless.intensity import Sigma
from trackless.observation import EVERYTHING, Observation
from trackless.quadrature import ORDERS, RULES, STRIDES, rule_named

Array = NDArray[np.float64]
MEMORY = 512_000_000  # bytes that the blocks of one Moments may take
MOST_BYTES = 2_000_000_000  # moments of one block may not be larger
MAX_BLOCKS = 1024


class NormalEquations(NamedTuple):
    """A theta = b, for the loss L(theta) = theta A theta / 2 - b theta (paper, section 3.1)."""

    matrix: Array
    """A, (K, K)"""
    vector: Array
    """b, (K,)"""
    external: int
    """how many of the K functions belong to V; they come first"""

    def loss(self, coef: Array) -> float:
        """L(coef); negative at its minimum."""
        return float(0.5 * coef @ self.matrix @ coef - self.vector @ coef)


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Additive sums of a data set on two bases, per block and time window.

    Made by :func:`trackless.accumulate`; ``a + b`` merges two data sets.

    Attributes
    ----------
    external, interaction : Basis or None
        The (closed) bases; coefficients are external first.
    coupling : "mean" or "sum"
    dim : int
    dynamics : "continuous" or "discrete"
        "discrete": equations of steps from one snapshot to the next, linearised at some coefficients; then they are
        the same under every rule and stride, and hold no diffusion.
    quadratic : (blocks, windows, strides, rules, K, K)
        sum w N G under every quadrature rule, for all snapshots and for every second one. Not symmetric where test
        functions (first index) vanish at an edge that forces (second index) do not know.
    pair : (blocks, windows, K_Phi, K_Phi)
        The part of ``quadratic`` in which both forces come from the same neighbour, by one rule (``pair_rule``).
    diffusion : (blocks, windows, strides, rules, parts, K)
        sum w N delta; in one part, or with second derivatives along each direction in a part of their own.
    energy : (blocks, windows, K)
        N times the change of h over the window.
    weight : (blocks, windows, strides, rules)
        n = sum w N.
    runs : (blocks,)
        Number of runs in each block.
    particles : (blocks, 2)
        Fewest and most particles in a snapshot of each block.
    span : (blocks, windows, 2)
        First and last time of each window (of the block's first run).
    matching : str
        How particles were followed to the next snapshot ("" if they were not, which is what the self-test needs).
        If they were, ``quadratic`` and ``weight`` count only those that could be.
    work : (blocks, windows, K or 0)
        Sum of forces times displacements, F^T (X(t_{l+1}) - X(t_l)).
    tally : (blocks, windows, 5 or 0)
        Sums that :class:`trackless.matching.Tally` names.
    observation : Observation
        How particles were seen; sums are those of all particles, where they are, as far as that could be corrected.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=20, duration=0.1, step=1e-3)
    >>> moments = tl.accumulate(data, model.external_basis, model.interaction_basis)
    >>> moments.size, moments.blocks
    (4, 20)
    >>> first, second = (tl.accumulate(part, moments.external, moments.interaction) for part in data.split(0.5))
    >>> merged = (first + second).normal_equations(sigma=1.0)
    >>> bool(abs(merged.matrix - moments.normal_equations(sigma=1.0).matrix).max() < 1e-12)
    True
    """

    external: Basis | None
    interaction: Basis | None
    coupling: str
    dim: int
    dynamics: str
    quadratic: Array
    pair: Array
    diffusion: Array
    energy: Array
    weight: Array
    runs: NDArray[np.int64]
    particles: NDArray[np.int64]
    span: Array
    matching: str
    work: Array
    tally: Array
    observation: Observation = EVERYTHING

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.quadratic)

    @property
    def windows(self) -> int:
        """Number of time windows per block."""
        return self.quadratic.shape[1]

    @property
    def size(self) -> int:
        """Number of functions K."""
        return self.quadratic.shape[-1]

    @property
    def external_size(self) -> int:
        """Number of functions of V."""
        return self.external.size if self.external is not None else 0

    @property
    def names(self) -> tuple[str, ...]:
        """A name per function: V or Phi and the name in its family."""
        parts = (("V", self.external), ("Phi", self.interaction))
        return tuple(f"{letter}: {name}" for letter, basis in parts if basis is not None for name in basis.names)

    def __repr__(self) -> str:
        return f"Moments({self.size} functions, {self.blocks} blocks, {self.windows} windows, {self.runs.sum()} runs)"

    def __radd__(self, other: int) -> Moments:
        return self if other == 0 else NotImplemented  # so that sum([...]) works

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        for name in (*_SETTINGS, "windows", "parts"):
            a, b = getattr(self, name), getattr(other, name)
            if a != b:
                same = (
                    "closed bases, for instance moments.external and moments.interaction of the first"
                    if name in ("external", "interaction")
                    else {"parts": "per_direction"}.get(name, name)
                )
                raise InputError(
                    f"moments differ in {name} ({a!r} and {b!r}) and cannot be added; accumulate both with the same "
                    f"{same}"
                )
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ARRAYS}
        return replace(self, **joined).coarsened()

    def coarsened(self, blocks: int | None = None) -> Moments:
        """The same moments in at most ``blocks`` blocks (default: what the memory bound allows)."""
        if blocks is not None and blocks < 1:
            raise InputError(f"blocks: expected at least 1, got {blocks}")
        limit = bounded_blocks(self.blocks, self.size, self.pair.shape[-1], self.windows, blocks)
        if limit >= self.blocks:
            return self
        starts = np.linspace(0, self.blocks, limit, endpoint=False).round().astype(int)
        summed = {name: np.add.reduceat(getattr(self, name), starts) for name in _ARRAYS if name not in _NOT_SUMMED}
        ends = [extreme.reduceat(self.particles[:, k], starts) for k, extreme in enumerate((np.minimum, np.maximum))]
        return replace(self, **summed, span=self.span[starts], particles=np.stack(ends, axis=1))

    def select(
        self, blocks: slice | NDArray[Any] | None = None, windows: slice | NDArray[Any] | None = None
    ) -> Moments:  # fmt: skip
        """Only some blocks and time windows."""
        chosen = {name: getattr(self, name) for name in _ARRAYS}
        if blocks is not None:
            chosen = {name: values[blocks] for name, values in chosen.items()}
        if windows is not None:
            chosen = {name: v if name in _OF_BLOCKS else v[:, windows] for name, v in chosen.items()}
        return replace(self, **chosen)

    @property
    def parts(self) -> int:
        """How many noise intensities these moments are open in: 1, or one per direction."""
        return self.diffusion.shape[-2]

    def half_variances(self, sigma: Sigma) -> Array:
        """sigma^2/2 (parts,): what the parts of ``diffusion`` are multiplied with."""
        values = np.atleast_1d(sigma)
        if len(values) not in (1, self.parts):
            raise InputError(
                f"sigma: got {len(values)} numbers, these moments are for one"
                + (f" or {self.parts}" if self.parts > 1 else "; accumulate with per_direction=True")
            )
        return 0.5 * np.broadcast_to(values**2, (self.parts,))

    def normal_equations(
        self, sigma: Sigma, quadrature: str = "trapezoid", stride: int = 1, part: NDArray[np.bool_] | None = None
    ) -> NormalEquations:
        """A and b from all blocks and windows together, or from those marked in ``part`` (blocks, windows).

        A = sum w N G / n,   b = (sigma^2/2 sum w N delta - N dh) / n   (paper, eq. normal_matrix_vector).
        """
        if self.matching:
            raise InputError(
                f"these moments follow particles (matching {self.matching!r}) and count only those that were matched; "
                "for the self-test accumulate without matching"
            )
        q = rule_index(quadrature, stride)
        chosen = np.ones((self.blocks, self.windows), bool) if part is None else part
        total = self.weight[:, :, *q][chosen].sum()
        matrix = self.quadratic[:, :, *q][chosen].sum(axis=0) / total
        diffusion = self.half_variances(sigma) @ self.diffusion[:, :, *q][chosen].sum(axis=0)
        vector = (diffusion - self.energy[chosen].sum(axis=0)) / total
        return NormalEquations(matrix, vector, self.external_size)

    def unit_equations(
        self, sigma: Sigma, quadrature: str = "trapezoid", stride: int = 1
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Sums n A (units, K, K), n b (units, K) and weights n (units,) of every block and window on its own.

        Units are ordered by block, then by window; their scatter is the noise of the normal equations.
        """
        if self.matching:
            raise InputError("these moments follow particles; for the self-test accumulate without matching")
        q = rule_index(quadrature, stride)
        matrices = self.quadratic[:, :, *q].reshape(-1, self.size, self.size)
        vectors = (self.half_variances(sigma) @ self.diffusion[:, :, *q] - self.energy).reshape(-1, self.size)
        return matrices, vectors, self.weight[:, :, *q].ravel()

    def quadrature_errors(self, coef: Array, sigma: Sigma, quadrature: str = "trapezoid") -> Array:
        """Errors of b - A coef from the time integrals, (units, K): every snapshot against every second.

        A rule of order p is 2^p times as wrong on twice the interval, so its error is the difference over 2^p - 1.
        Their mean over the units (blocks and windows) estimates that of all data.
        """
        return self.stride_differences(coef, sigma, quadrature) / (2.0 ** ORDERS[rule_named(quadrature)] - 1)

    def stride_differences(self, coef: Array, sigma: Sigma, quadrature: str) -> Array:
        """How b - A coef changes where every second snapshot is left out, (units, K)."""
        residuals = []
        for stride in STRIDES:
            matrices, vectors, weights = self.unit_equations(sigma, quadrature, stride)
            residuals.append((vectors - matrices @ coef) / weights.mean())
        return residuals[1] - residuals[0]

    def motion_units(self) -> tuple[Array, Array, Array]:
        """The same for the likelihood of displacements."""
        q = rule_index("left")
        matrices = self.quadratic[:, :, *q].reshape(-1, self.size, self.size)
        return matrices, -self.work.reshape(-1, self.size), self.weight[:, :, *q].ravel()

    def motion_equations(self, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        """A and b of the likelihood of displacements (paper, section on baselines), Euler-Maruyama between snapshots.

        A = sum dt F^T F / n,   b = -sum F^T (X(t_{l+1}) - X(t_l)) / n,   n = sum dt over the particles followed.
        """
        if not self.matching:
            raise InputError(
                "these moments hold no displacements; accumulate with matching=tl.Matching(...), or fit snapshots"
            )
        q = rule_index("left")
        chosen = np.ones((self.blocks, self.windows), bool) if part is None else part
        total = self.weight[:, :, *q][chosen].sum()
        if total == 0 and part is not None:
            raise InputError(
                "in a part of the data no particle could be followed, so nothing can be held out there; "
                "give a fixed regularization"
            )
        if total == 0:
            raise InputError("no particle could be followed from one snapshot to the next; is max_distance too small?")
        matrix = self.quadratic[:, :, *q][chosen].sum(axis=0) / total
        return NormalEquations(matrix, -self.work[chosen].sum(axis=0) / total, self.external_size)

    def pair_matrix(self) -> Array:
        """The pair part of A's interaction block, (K_Phi, K_Phi): pairs only, without triples."""
        return self.pair.sum(axis=(0, 1)) / self.weight[:, :, *pair_rule(bool(self.matching))].sum()

    @property
    def number(self) -> int | None:
        """N, the number of particles in every snapshot; None where it differs."""
        fewest, most = int(self.particles[:, 0].min()), int(self.particles[:, 1].max())
        return most if fewest == most else None

    def converted(self, coupling: str) -> Moments:
        """The same moments for the other coupling: functions of Phi are N times as strong where they are summed."""
        factor = coupling_factor(self.coupling, coupling, self.number, self.interaction is not None)
        if self.interaction is None:
            return replace(self, coupling=coupling)
        stronger = self.transformed(interaction=(self.interaction, factor * np.eye(self.interaction.size)))
        return replace(stronger, coupling=coupling)

    def transformed(
        self, external: tuple[Basis | None, Array] | None = None, interaction: tuple[Basis | None, Array] | None = None
    ) -> Moments:
        """Moments of families that are combinations of this one's functions.

        Parameters
        ----------
        external, interaction : (basis, matrix), optional
            The new basis and the matrix (K_old, K_new) with its functions in terms of the old ones; None and a matrix
            without columns take a potential away. What is left out stays as it is.
        """
        parts, bases = [], []
        sizes = (self.external_size, self.size - self.external_size)
        for given, basis, size in zip((external, interaction), (self.external, self.interaction), sizes, strict=True):
            new, matrix = given if given is not None else (basis, np.eye(size))
            if matrix.shape[0] != size or (new is not None and matrix.shape[1] != new.size):
                raise InputError(f"transformed: expected a matrix with {size} rows, got shape {matrix.shape}")
            bases.append(new)
            parts.append(matrix)
        change = np.block(
            [[parts[0], np.zeros((sizes[0], parts[1].shape[1]))], [np.zeros((sizes[1], parts[0].shape[1])), parts[1]]]
        )
        return replace(
            self,
            external=bases[0],
            interaction=bases[1],
            quadratic=change.T @ self.quadratic @ change,
            pair=parts[1].T @ self.pair @ parts[1],
            diffusion=self.diffusion @ change,
            energy=self.energy @ change,
            work=self.work @ change if self.matching else self.work[:, :, :0],
        )


_SETTINGS = ("external", "interaction", "coupling", "dim", "dynamics", "observation", "matching")
_ARRAYS = tuple(f.name for f in fields(Moments) if f.name not in _SETTINGS)
_NOT_SUMMED = ("span", "particles")
_OF_BLOCKS = ("runs", "particles")  # and not of their windows


def rule_index(quadrature: str, stride: int = 1) -> tuple[int, int]:
    """Where a stride and rule are kept in the arrays of :class:`Moments`."""
    if stride not in STRIDES:
        raise InputError(f"stride: moments are kept for strides {STRIDES}, got {stride}; use snapshots.every(...)")
    return STRIDES.index(stride), RULES.index(rule_named(quadrature))


def pair_rule(followed: bool) -> tuple[int, int]:
    """The one rule that pair parts are kept for; the last snapshot of particles that are followed has no successor."""
    return rule_index("left" if followed else "trapezoid")


def bounded_blocks(wanted: int, size: int, pair_size: int, windows: int, asked: int | None = None) -> int:
    """How many blocks fit into the memory bound, at most ``wanted`` and (if given) ``asked``."""
    limit = max(1, min(wanted, _memory.for_work(MEMORY) // block_bytes(size, pair_size, windows)))
    return min(limit, MAX_BLOCKS if asked is None else asked)


def block_bytes(size: int, pair_size: int, windows: int) -> int:
    """Memory that the moments of one block take, about."""
    return 8 * windows * (len(RULES) * len(STRIDES) * (size**2 + size + 1) + pair_size**2)


def check_one_block(size: int, pair_size: int, windows: int) -> None:
    """Refuse moments that do not fit into memory even in a single block."""
    one, most = block_bytes(size, pair_size, windows), _memory.for_work(MOST_BYTES)
    if one > most:
        raise InputError(
            f"{size} functions in {windows} windows need {_memory.in_words(one)} of moments, "
            f"and {_memory.in_words(most)} are for them; use fewer functions"
            + (", or allow more memory (memory=, --memory)" if _memory.get_memory() is not None else "")
        )
