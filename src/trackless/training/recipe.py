"""What both routes are told, and what they give back."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from trackless.networks import Perceptron
from trackless.training.network import Scaled, new_network

Array = NDArray[np.float64]
FOLDS = 5  # each network leaves out one of so many parts of the data
# Input range of the networks: external potentials vary over the cloud, interactions within it, the more so the fewer
# directions they have.
REACH = {True: (1.0, 4.0), False: (1.0, 2.0)}


class Recipe(NamedTuple):
    """Settings of :class:`trackless.NeuralSelfTest`, checked.

    ``wanted`` and ``radial`` are for V and Phi; ``steps`` and ``patience`` are counted in Gauss-Newton steps on moments
    and in epochs on snapshots.
    """

    sigma: float
    wanted: tuple[bool, bool]
    radial: tuple[bool, bool]
    center: tuple[float, ...] | None
    hidden: tuple[int, ...]
    activation: str
    networks: int
    quadrature: str
    coupling: str
    steps: int
    patience: int
    seed: int

    def new_networks(self, points: list[Array | None], units: tuple[float, float], member: int) -> list[Scaled | None]:
        """Random networks of V and Phi for one member of the ensemble, for inputs that fill ``points``."""
        keys = jax.random.split(jax.random.split(jax.random.PRNGKey(self.seed), self.networks)[member])
        return [
            None if where is None
            else new_network(self.hidden, self.activation, where, REACH[self.radial[k]][k], units[k], keys[k])
            for k, where in enumerate(points)
        ]  # fmt: skip

    def left_out(self, member: int, parts: int) -> NDArray[np.bool_]:
        """Which of the parts of the data one member does not see; they decide when it stops."""
        folds = min(FOLDS, parts)
        return np.arange(parts) % folds == member % folds


class Ensemble(NamedTuple):
    """Trained networks, and how training went.

    external, interaction : the members' networks, empty where a potential is left out.
    curves : per member (steps, 2), train and held-out loss.
    stopped : per member the step whose weights were kept.
    coef, covariance : (K,) the potentials' means in the moments' bases, and (K, K) of their errors; or None.
    tip : radial networks are functions of sqrt(r^2 + tip^2).
    """

    external: tuple[Perceptron, ...]
    interaction: tuple[Perceptron, ...]
    curves: list[Array]
    stopped: list[int]
    coef: Array | None = None
    covariance: Array | None = None
    tip: float = 0.0


def describe(member: int, recipe: Recipe, curve: list[Any]) -> str:
    """What a progress bar says."""
    which = f"network {member + 1} of {recipe.networks}" if recipe.networks > 1 else "training"
    return which + (f", loss {curve[-1][0]:.5g}, held out {curve[-1][1]:.5g}" if curve else "")
