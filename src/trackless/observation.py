"""How particles were seen: through a window, with some missed, too close to tell apart, or a little off.

The equations of a fit assume that all particles are seen, where they are. What an instrument does instead is undone in
the moments, each part in its own way (MATH: missing particles):

- seen only with probability p: sums over single particles shrink by p, over pairs by p^2, over triples by p^3;
- a window whose edge particles cross, and a smallest distance at which two can be told apart: test functions that
  vanish there (:mod:`trackless._kernels.vanishing`), exact for the window, and for the distance while few particles are
  lost (:mod:`trackless.losses`);
- positions that are off by a random error: sums change with its variance, as positions with as much error again, and
  twice as much, drawn at random, tell; a parabola through them is followed back to no error.

What is assumed: which particles are missed, and how far they are off, is by chance, independent from particle to
particle and from snapshot to snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.exploration import Exploration
from trackless.intensity import Sigma
from trackless.magnitudes import check_magnitude
from trackless.tables import Mask
from trackless.wording import ordinal

Array = NDArray[np.float64]
RAMP = 0.25  # of the part of a window in which forces are known: there test functions rise to their full size
NEAREST_RAMP = 0.5  # the same for the smallest distance
BLURRED = 1.0  # variance of errors of a step, over that of the step itself, above which there is a warning
HOPELESS = 4.0  # above this there is no answer


@dataclass(frozen=True)
class Observation:
    """What an instrument does to the particles it sees.

    Parameters
    ----------
    window : ((low, high), ...) or "auto", optional
        Bounds, one pair per direction, of a field of view whose edge particles cross; "auto": those of the data.
        Interactions then need a cutoff: near the edge neighbours are not seen, and particles there only push others.
    exclude_below : float, optional
        Smallest distance at which two particles can be told apart. What that does to the pair itself is undone, what a
        lost particle does to others is not: it is meant for few losses (:mod:`trackless.losses` estimates them).
        0 is the same as None: nothing is left out.
    detection : float
        Probability that a particle is seen in a snapshot.
    position_error : float
        Standard deviation of each coordinate of a measured position.

    Examples
    --------
    >>> Observation(detection=0.8).complete, Observation(exclude_below=0).complete
    (False, True)
    >>> Observation(window=((0, 10), (0, 8))).bounds(2)
    array([[ 0., 10.],
           [ 0.,  8.]])
    """

    window: Any = None
    exclude_below: float | None = None
    detection: float = 1.0
    position_error: float = 0.0

    def __post_init__(self) -> None:
        if not (np.ndim(self.detection) == 0 and 0 < self.detection <= 1):
            raise InputError(f"detection: expected a probability above 0 and at most 1, got {self.detection!r}")
        if not (np.ndim(self.position_error) == 0 and 0 <= self.position_error < np.inf):
            raise InputError(f"position_error: expected a standard deviation, at least 0, got {self.position_error!r}")
        if self.exclude_below is not None and not 0 <= self.exclude_below < np.inf:
            raise InputError(f"exclude_below: expected a distance of at least 0, got {self.exclude_below!r}")
        check_magnitude("position_error", self.position_error)
        check_magnitude("exclude_below", self.exclude_below or 0.0)
        if self.exclude_below == 0:  # no two particles are nearer than that
            object.__setattr__(self, "exclude_below", None)
        if self.window is not None and not (isinstance(self.window, str) and self.window == "auto"):
            sides: Array = np.asarray([] if isinstance(self.window, str) else self.window, float)
            if sides.ndim != 2 or sides.shape[1] != 2 or not (np.diff(sides) > 0).all():
                raise InputError(
                    f"window: expected (low, high) with low < high for every direction, or 'auto', got {self.window!r}"
                )
            object.__setattr__(self, "window", tuple((float(a), float(b)) for a, b in sides))

    @property
    def complete(self) -> bool:
        """Whether all particles are seen, where they are."""
        return self == Observation()

    @property
    def masked(self) -> bool:
        """Whether test functions have to vanish somewhere."""
        return self.window is not None or bool(self.exclude_below)

    @property
    def sentence(self) -> str:
        """What was said of the instrument, in words; empty where all particles are seen."""
        said = []
        if self.window is not None:
            sides = self.window
            bounds = sides if isinstance(sides, str) else " x ".join(f"{low:.4g} to {high:.4g}" for low, high in sides)
            said.append("through a window as large as the data" if bounds == "auto" else f"through the window {bounds}")
        if self.exclude_below:
            said.append(f"as one where they are closer than {self.exclude_below:.4g}")
        if self.detection < 1:
            said.append(f"each with probability {self.detection:.4g}")
        if self.position_error:
            said.append(f"with errors of {self.position_error:.4g} in each coordinate")
        return f"particles are taken to be seen {', '.join(said)}" if said else ""

    def blurred(self, sigma: Sigma, gap: float) -> str:
        """A warning where errors of positions move particles further between snapshots than they move themselves.

        What the errors do is extrapolated away in their variance, which is good only while that is small.

        Examples
        --------
        >>> Observation(position_error=0.09).blurred(1.0, 0.01)[:63]
        'ERRORS OF POSITIONS ARE LARGER THAN THE MOTION between snapshot'
        """
        moved = float(np.min(np.square(sigma))) * gap
        ratio = 2 * self.position_error**2 / moved if moved > 0 else 0.0
        if ratio <= BLURRED:
            return ""
        fewer = int(np.ceil(ratio / BLURRED))
        said = (
            f"ERRORS OF POSITIONS ARE LARGER THAN THE MOTION between snapshots ({np.sqrt(ratio):.2g} times): what they "
            "do to the forces can no longer be undone, and bands do not know it; use every "
            f"{ordinal(fewer)} snapshot or fewer (every({fewer}))"
        )
        if ratio > HOPELESS:
            raise InputError(f"position_error: {said}")
        return said

    def bounds(self, dim: int) -> Array:
        """The window (dim, 2); infinite where there is none."""
        if self.window is None:
            return np.tile([-np.inf, np.inf], (dim, 1))
        sides = np.array(self.window, float)
        if len(sides) != dim:
            raise InputError(f"window: expected (low, high) for each of {dim} directions, got {len(sides)}")
        return sides

    def closed(self, explored: Exploration, box: Any) -> Observation:
        """The same with a window that is known; refused if it leaves nothing to look at."""
        if self.window is not None and box is not None:
            raise InputError("window: a periodic box has no edge that particles could cross; leave out one of the two")
        if self.exclude_below and len(explored.distances) and self.exclude_below >= explored.distances.max():
            raise InputError(
                f"exclude_below: {self.exclude_below:g} leaves out every pair, no two particles are so far apart "
                f"(at most {explored.distances.max():.3g}); give a distance that close neighbours have"
            )
        if self.window != "auto":
            low, high = self.bounds(len(explored.lower)).T
            if not ((explored.positions >= low) & (explored.positions <= high)).all(axis=1).any():
                there = " x ".join(f"{a:.4g} to {b:.4g}" for a, b in zip(explored.lower, explored.upper, strict=True))
                asked = " x ".join(f"{a:g} to {b:g}" for a, b in zip(low, high, strict=True))
                raise InputError(
                    f"window: no particle is ever inside {asked}, "
                    f"positions are in {there}; give bounds in the units of the data, or window='auto'"
                )
            return self
        sides = tuple(zip(explored.lower.tolist(), explored.upper.tolist(), strict=True))
        return Observation(sides, self.exclude_below, self.detection, self.position_error)

    def mask(self, dim: int, reach: float) -> Mask:
        """Where test functions vanish, if forces reach so far (0 without interactions)."""
        sides = self.bounds(dim)
        if self.window is not None and not np.isfinite(reach):
            raise InputError(
                "window: particles outside push those inside, unless the interaction has a cutoff; give one "
                "(cutoff=..., --cutoff), or interaction=None"
            )
        inner = sides + np.array([reach, -reach]) if self.window is not None else sides
        width = np.diff(inner)[:, 0]
        if not (width > 0).all():
            raise InputError(
                f"cutoff: {reach:g} leaves no particle whose neighbours are all inside the window {self.window}; use a "
                f"cutoff below {0.5 * float(np.diff(sides).min()):.3g}"
            )
        ramp = np.where(np.isfinite(width), RAMP * width, 1.0)
        near = self.exclude_below
        if near is None:
            return Mask(inner[:, 0].copy(), inner[:, 1].copy(), ramp, -1.0, 1.0)
        if near >= reach > 0:
            raise InputError(f"exclude_below: {near:g} is not below the cutoff {reach:g}")
        rise = NEAREST_RAMP * near
        if np.isfinite(reach) and reach > 0:
            rise = min(rise, 0.5 * (reach - near))
        return Mask(inner[:, 0].copy(), inner[:, 1].copy(), ramp, near, rise)

    def corrected(self, sums: dict[str, Array], external: int) -> dict[str, Array]:
        """Sums of what is seen -> of what there is; ``external`` functions come first.

        Every sum over pairs is p^2 of what it would be, and the quadratic part of interactions has pairs and triples.
        """
        p = self.detection
        if p == 1.0:
            return sums
        size = sums["energy"].shape[-1]
        single = np.arange(size) < external
        each = np.where(single, 1 / p, 1 / p**2)
        quadratic = sums["quadratic"] / np.where(single[:, None] & single, p, p**2)
        pairs = slice(external, None)
        triples = sums["quadratic"][..., pairs, pairs] - sums["pair"]
        quadratic[..., pairs, pairs] = sums["pair"] / p**2 + triples / p**3
        return sums | {
            "quadratic": quadratic, "pair": sums["pair"] / p**2, "diffusion": sums["diffusion"] * each,
            "energy": sums["energy"] * each, "weight": sums["weight"] / p,
        }  # fmt: skip


EVERYTHING = Observation()
"""All particles are seen, where they are."""
