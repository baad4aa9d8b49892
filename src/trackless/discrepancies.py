"""What a fit leaves unexplained of the balance of energies, window by window, and how much of it is chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, solve_triangular

from trackless.balance import Balance
from trackless.intensity import Sigma
from trackless.residuals import shrinkage

Array = NDArray[np.float64]
USED_UP = 0.05  # a direction with less than this part of its noise left has been fitted


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a fit was made of, as far as its own errors reach test energies.

    Attributes
    ----------
    gain : (K, K)
        Coefficients = gain b.
    residuals : (blocks, K)
        n (b - A theta) of each block.
    total : float
        n.
    noise : (K, K)
        Covariance of n b.
    smoothed : (K, K)
        Covariance of what a prior has smoothed away: (1 - gain A) C (1 - gain A)^T.
    coarser : (K,)
        How n (b - A theta) changes where every second snapshot is left out.
    """

    gain: Array
    residuals: Array
    total: float
    noise: Array
    smoothed: Array
    coarser: Array


class Discrepancies(NamedTuple):
    """What is left over on windows (flat: window by window), and how it scatters."""

    values: Array
    """(W E,)"""
    coarser: Array
    """(W E,): how they change where every second snapshot is left out, of the fit too"""
    raw: Array
    """(blocks, W E): they sum to the values"""
    by_block: Array
    """(blocks, W E): the same with what the fit itself took from each block"""
    covariance: Array
    """(W E, W E), shrunk from the scatter of the blocks towards theory, and what a prior smoothed away"""
    smoothed: Array
    """(W E, W E): the latter alone"""
    noise: Array
    """(W E, W E): noise in theory, as if nothing had been fitted"""
    share: float
    """of theory in the covariance"""

    def combined(self, matrix: Array) -> Discrepancies:
        """Sums of them: ``matrix`` is (W E, S)."""
        pairs = {name: matrix.T @ getattr(self, name) @ matrix for name in ("covariance", "smoothed", "noise")}
        rows = {name: getattr(self, name) @ matrix for name in ("values", "coarser", "raw", "by_block")}
        return self._replace(**rows, **pairs)

    def independent(self) -> Array:
        """Combinations (W E, I) with unit variance: of those directions that the fit has not used up."""
        root = np.linalg.cholesky(self.noise + 1e-12 * np.trace(self.noise) / len(self.noise) * np.eye(len(self.noise)))
        half = solve_triangular(root, self.covariance, lower=True)
        sizes, vectors = np.linalg.eigh(solve_triangular(root, half.T, lower=True))
        left = sizes > USED_UP
        return solve_triangular(root, vectors[:, left] / np.sqrt(sizes[left]), lower=True, trans=1)


def discrepancies(
    found: Balance, learnt: Learnt, sigma: Sigma, factors: Array, about_mean: bool = False
) -> Discrepancies:
    """Window by window, with one factor for each: change, minus the integrals of D, plus the integrals of P.

    In theory it is a martingale with the covariance sigma^2 times the integral of Gamma; the fit's own residual is
    another, and both are driven by the same noise.

    Blocks scatter about zero where the model is right, which is what a test supposes. With ``about_mean`` what they
    have in common is not taken for noise: for weights, while a parameter of the model is still to be found.
    """
    parts = found.parts
    drift = factors[1 + parts :] @ found.power - factors[1 : 1 + parts] @ found.diffusion  # (blocks, windows, 2, E)
    raw = (factors[0] * found.change + drift[:, :, 0]).reshape(found.blocks, -1)
    variances = np.broadcast_to(np.square(sigma), (parts,))
    cross = found.cross.sum(axis=1).reshape(raw.shape[1], -1)
    shared = np.einsum("p,wpek->wek", variances, found.cross).reshape(cross.shape)
    back = cross @ learnt.gain / learnt.total
    by_block = raw + learnt.residuals @ back.T
    coarser = (drift[:, :, 1] - drift[:, :, 0]).sum(axis=0).ravel() + back @ learnt.coarser
    noise: Array = np.asarray(block_diag(*np.einsum("p,wpef->wef", variances, found.window_clock)), float)
    theory = noise - back @ shared.T - shared @ back.T + back @ learnt.noise @ back.T
    free = found.blocks - (2 if about_mean else 1)
    covariance, share = _shrunk(_centred(by_block) if about_mean else by_block, theory, noise, free)
    smoothed = cross @ learnt.smoothed @ cross.T
    return Discrepancies(raw.sum(axis=0), coarser, raw, by_block, covariance + smoothed, smoothed, noise, share)


def _centred(samples: Array) -> Array:
    """Samples (B, E) less their mean, as large as those of B degrees of freedom."""
    blocks = len(samples)
    return (samples - samples.mean(axis=0)) * np.sqrt(blocks / (blocks - 1)) if blocks > 1 else samples


def _shrunk(samples: Array, theory: Array, noise: Array, free: int) -> tuple[Array, float]:
    """Covariance (E, E) of the sum of samples (B, E), shrunk towards theory as far as they are too few.

    In units of the noise; ``free`` is the number of samples less what has been fitted to them.
    """
    root = np.linalg.cholesky(noise + 1e-12 * np.trace(noise) / len(noise) * np.eye(len(noise)))
    white = solve_triangular(root, samples.T, lower=True).T * np.sqrt(len(samples))
    target = solve_triangular(root, solve_triangular(root, theory, lower=True).T, lower=True)
    scatter = white.T @ white / len(white)
    share = shrinkage(white, target, free)
    return root @ ((1 - share) * scatter + share * target) @ root.T, share
