"""The noise of the normal equations, from the scatter of independent parts of the data.

At finite dt the likelihood's noise, sigma^2/(N M T) A, is too small for rough functions: the quadrature over sparse
snapshots adds noise of its own. The scatter of b - A theta over blocks and time windows knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from trackless.intensity import Sigma
from trackless.moments import Moments

Array = NDArray[np.float64]
FLOOR = 1e-10  # eigenvalues of A below this part of the largest are as good as zero
MASKED = 1e-3  # of the largest: where masks make some directions negative, those below this are left as they are
EVENED = 9  # neighbouring directions whose variances are averaged
HEARD = 1e-5  # equations of functions with less than this part of the largest force say nothing


@dataclass(frozen=True, eq=False)
class Adjustment:
    """What else is known of the right-hand side b of some normal equations.

    Attributes
    ----------
    shift : (K,)
        Taken off b: its bias.
    covariance : (K, K)
        Noise of b that is common to all parts of the data: of the shift, of an estimated sigma.
    """

    shift: Array
    covariance: Array


class Units(NamedTuple):
    """Normal equations of independent parts of the data: n A (units, K, K), n b (units, K) and n (units,)."""

    matrices: Array
    vectors: Array
    weights: Array
    common: Array | None = None
    """covariance (K, K) of noise in b that all units share, so that their scatter does not show it"""

    @classmethod
    def of(cls, moments: Moments, sigma: Sigma, quadrature: str) -> Units:
        """Blocks and time windows of some moments."""
        return cls(*moments.unit_equations(sigma, quadrature))

    def select(self, chosen: NDArray[np.bool_]) -> Units:
        """Some of them."""
        return Units(self.matrices[chosen], self.vectors[chosen], self.weights[chosen], self.common)

    def adjusted(self, by: Adjustment) -> Units:
        """The same with another right-hand side and its noise."""
        return self._replace(vectors=self.vectors - self.weights[:, None] * by.shift, common=by.covariance)

    def mean(self) -> tuple[Array, Array]:
        """A and b of all together."""
        total = self.weights.sum()
        return self.matrices.sum(axis=0) / total, self.vectors.sum(axis=0) / total

    def scatter(self, coef: Array, heard: NDArray[np.bool_]) -> Array:
        """Covariance (K, K) of b - A coef as the units scatter: not biased, but singular where units are few.

        Rows and columns of functions that are not ``heard`` (K,) are zero.
        """
        residuals = np.where(heard, self.vectors - self.matrices @ coef, 0.0) / self.weights.mean()
        scatter = residuals.T @ residuals / len(residuals) ** 2
        if self.common is None:
            return scatter
        # correlations with what the units show may take off a part of it, but no more than there is
        sizes, vectors = np.linalg.eigh(scatter + np.outer(heard, heard) * self.common)
        return (vectors * np.maximum(sizes, 0.0)) @ vectors.T

    def freedom(self, gain: Array, heard: NDArray[np.bool_]) -> float:
        """How many units the residuals b - A coef are worth, if coef = gain (K, heard) @ b: at least 1.

        The fit follows each unit a little, so that residuals are too small. A unit's leverage is the eigenvalue of
        its A times the gain, averaged with the eigenvalues as weights: 1/n for each of n units that are alike, however
        many coefficients there are; where each speaks of other functions, they add up to the number of coefficients.

        Examples
        --------
        >>> import numpy as np
        >>> alike = Units(np.broadcast_to(np.eye(3), (9, 3, 3)), np.zeros((9, 3)), np.ones(9))
        >>> round(alike.freedom(np.eye(3), np.ones(3, dtype=bool)), 6)
        8.0
        >>> apart = Units(9 * np.eye(9)[:, :, None] * np.eye(9)[:, None], np.zeros((9, 9)), np.ones(9))
        >>> round(apart.freedom(np.eye(9), np.ones(9, dtype=bool)), 6)
        1.0
        """
        followed = self.matrices[:, heard] @ (gain / self.weights.sum())
        sums, squares = np.einsum("uii->u", followed), np.einsum("uij,uji->u", followed, followed)
        leverages = np.divide(squares, sums, out=np.ones_like(sums), where=sums > 0)
        return max(len(followed) - float(np.clip(leverages, 0.0, 1.0).sum()), 1.0)

    def covariance(self, coef: Array, heard: NDArray[np.bool_]) -> Array:
        """The same, shrunk so that it can be inverted, for weights; what units have in common is not part of it.

        (An error of sigma is one of the scale of all forces. Weighed against a prior it would shrink them: the many
        parameters of a prior would rather all be smaller. So it widens bands, and does not change estimates.)

        In the coordinates in which the likelihood's covariance sigma^2/(N M T) A is the identity, smooth functions have
        its variance and rough ones more, by the quadrature over sparse snapshots. So the scatter is shrunk towards a
        diagonal that varies slowly along the spectrum of A, by the share that minimises the expected squared error
        where that diagonal is the identity (Ledoit and Wolf, J. Multivariate Anal. 88, 2004).

        Parameters
        ----------
        coef : (K,)
        heard : (K,) bool
            Functions whose equations are wanted; rows and columns of the others are zero.

        Returns
        -------
        (K, K)
        """
        matrix = self.mean()[0][np.ix_(heard, heard)]
        matrix = 0.5 * (matrix + matrix.T)  # masked test functions are not those of the forces
        own = np.sqrt(np.diag(matrix))  # functions of equal force: the spectrum must not depend on units or coupling
        residuals = ((self.vectors - self.matrices @ coef) / self.weights.mean())[:, heard] / own
        sizes, vectors = np.linalg.eigh(matrix / np.outer(own, own))
        sound = sizes > (MASKED if sizes.min() < -MASKED * sizes.max() else -np.inf) * sizes.max()
        sizes = np.maximum(sizes, FLOOR * sizes.max())
        white = residuals @ (vectors / np.sqrt(sizes))
        typical = (white**2).mean(axis=0)
        typical[sound] = _typical_variances(typical[sound])
        white = white / np.sqrt(typical)
        scatter = white.T @ white / len(white)
        share = shrinkage(white, np.eye(len(scatter)), free=len(white) - 2)  # the fit goes through their mean
        back = own[:, None] * vectors * np.sqrt(sizes * typical)
        shrunk = back @ ((1 - share) * scatter + share * np.eye(len(scatter))) @ back.T
        result = np.zeros((len(heard), len(heard)))
        result[np.ix_(heard, heard)] = shrunk / max(len(white) - 1, 1)  # the fit goes through the mean of the units
        return result


def shrinkage(samples: Array, target: Array, free: int) -> float:
    """By how much to shrink the scatter of samples towards a target, to be nearest to their covariance on average.

    The share is that of Ledoit and Wolf (J. Multivariate Anal. 88, 2004): of the squared distance of the scatter from
    the target, what chance alone would make. Chance is itself seen in the scatter of the samples, which lose something
    to what has been fitted to them. Two samples less their mean are alike: they show nothing of it.

    Parameters
    ----------
    samples : (B, E)
        Scattering about zero.
    target : (E, E)
    free : int
        Samples less 1, or less 2 where their mean has been taken away.

    Examples
    --------
    >>> import numpy as np
    >>> shrinkage(np.array([[1.0, 2.0], [-1.0, -2.0]]), np.eye(2), free=0)
    1.0
    >>> samples = np.random.default_rng(0).normal(size=(4000, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> shrinkage(samples, np.eye(2), free=3999) < 0.01
    True
    """
    scatter = samples.T @ samples / len(samples)
    distance = ((scatter - target) ** 2).sum()
    if free < 1 or distance == 0:
        return 1.0
    chance = (((samples**2).sum(axis=1) ** 2).mean() - (scatter**2).sum()) / free
    return float(min(max(chance, 0.0) / distance, 1.0))


def _typical_variances(variances: Array) -> Array:
    """Variances along the spectrum of A, smallest force first, evened out; none is below that of the largest forces."""
    even = uniform_filter1d(variances, min(EVENED, len(variances)), mode="nearest")
    least = np.median(variances[-max(3, len(variances) // 10) :])
    return np.maximum(even, least if least > 0 else 1.0)


def heard_in(matrix: Array, parts: list[slice]) -> NDArray[np.bool_]:
    """Which equations of a normal matrix the data reached, judged for V and Phi apart; the others are all but empty."""
    sizes = np.diag(matrix)  # below 0 where masked test functions are not heard
    return np.concatenate([sizes[part] > HEARD * sizes[part].max() for part in parts])


def significant(errors: Array, noise: Array, heard: NDArray[np.bool_]) -> Array:
    """Covariance (K, K) that stands for a systematic error e of b - A theta: e e^T, less what e has by chance.

    Parameters
    ----------
    errors : (units, K)
        Estimates of e from independent parts of the data.
    noise : (K, K)
        Covariance of b - A theta; e is measured in it.
    heard : (K,) bool
    """
    mean = errors[:, heard].mean(axis=0)
    inverse = np.linalg.inv(noise[np.ix_(heard, heard)])
    scattered = errors[:, heard] - mean
    chance = np.einsum("uk,kl,ul->", scattered, inverse, scattered) / len(errors) / max(len(errors) - 1, 1)
    size = mean @ inverse @ mean
    share = max(1.0 - chance / size, 0.0) if size > 0 else 0.0
    result = np.zeros_like(noise)
    result[np.ix_(heard, heard)] = share * np.outer(mean, mean)
    return result


def pilot(matrix: Array, vector: Array, heard: NDArray[np.bool_]) -> Array:
    """A first solution (K,), good enough to look at residuals: a small ridge in the units of each function."""
    part = np.ix_(heard, heard)
    coef = np.zeros(len(vector))
    coef[heard] = np.linalg.solve(matrix[part] + 1e-3 * np.diag(np.diag(matrix[part])), vector[heard])
    return coef
