"""What the trajectory-based estimators share: the likelihood of displacements between snapshots.

Between two snapshots the Euler-Maruyama scheme says X' - X = -F(X) theta dt + sigma sqrt(dt) Z, so maximising the
likelihood is least squares of displacements on forces (paper, section on baselines). The normal matrix is that of the
self-test under the left rule; the bias of order dt stays however many data there are.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import Wanted, accumulate
from trackless.estimators.least_squares import LeastSquares
from trackless.intensity import single_sigma
from trackless.matching import Matching, Tally
from trackless.moments import Moments, NormalEquations
from trackless.residuals import Units
from trackless.snapshots import Snapshots


class MotionLeastSquares(LeastSquares):
    """Least squares of displacements on forces; a subclass says how particles are followed."""

    @abstractmethod
    def _matching(self) -> Matching:
        """How particles are followed from one snapshot to the next."""

    def _check(self) -> None:
        if self.sigma is not None:
            single_sigma(self.sigma, type(self).__name__)
        self._matching().check()

    def _accumulate(self, snapshots: Snapshots, external: Wanted, interaction: Wanted) -> Moments:
        return accumulate(snapshots, external, interaction, self.coupling, matching=self._matching())

    def _equations(self, moments: Moments, part: NDArray[np.bool_] | None = None) -> NormalEquations:
        equations = moments.motion_equations(part)
        if moments.matching != self._matching().method:
            raise InputError(
                f"the moments were accumulated with matching {moments.matching!r}, not {self._matching().method!r}"
            )
        return equations

    def _units(self, moments: Moments) -> Units:
        followed = Units(*moments.motion_units())
        return followed.select(followed.weights > 0)  # somebody could be followed there

    def _noise(self, moments: Moments, equations: NormalEquations, coef: NDArray[np.float64]) -> float:
        """The given sigma, or the root mean square of the residuals: |X' - X + F theta dt|^2 / dt per dimension."""
        if self.sigma is not None:
            return single_sigma(self.sigma, type(self).__name__)
        tally = self.tally_of(moments)
        total = moments.weight[:, :, 0, 0].sum()  # left rule, stride 1
        explained = 2.0 * total * equations.loss(coef)  # -2 b theta + theta A theta, both times n
        return float(np.sqrt(max(tally.variation + explained, 0.0) / (tally.matched * moments.dim)))

    @staticmethod
    def tally_of(moments: Moments) -> Tally:
        """What was followed, summed over blocks and windows."""
        return Tally(*moments.tally.sum(axis=(0, 1)).tolist())

    @property
    def tally_(self) -> Tally:
        """How many particles could be followed, how many were, how many rightly."""
        self._check_fitted()
        return self.tally_of(self.moments_)

    @property
    def matched_fraction_(self) -> float | None:
        """Share of what was followed that went to itself (for mean targets: under the plan); None without labels."""
        tally = self.tally_
        return None if np.isnan(tally.right) else tally.right / tally.matched

    @property
    def dropped_fraction_(self) -> float:
        """Share of the particles that found no partner in the next snapshot."""
        tally = self.tally_
        return 1.0 - tally.matched / tally.particles

    @property
    def matching_report_(self) -> str:
        """What was followed, in a sentence."""
        tally = self.tally_
        said = [f"followed {tally.matched:,.0f} of {tally.particles:,.0f} particles to the next snapshot"]
        if tally.matched < tally.particles:
            said.append(
                f"{self.dropped_fraction_:.2%} dropped, because the next snapshot has fewer or none within reach"
            )
            if self._matching().max_distance is None:
                said.append(
                    "where particles come and go a wrong partner is often a far one: set max_distance to a few times "
                    "the usual move"
                )
        if self.matched_fraction_ is not None and self.moments_.matching != "labels":
            said.append(f"{self.matched_fraction_:.2%} of them rightly, as the labels tell")
        if tally.unfinished:
            said.append(f"{tally.unfinished:,.0f} transport plans did not reach their tolerance")
        return "; ".join(said)
