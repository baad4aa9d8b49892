"""The neural self-test estimator (the paper's Algorithm 2): potentials with no basis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless import _progress
from trackless._errors import InputError
from trackless.accumulation import accumulate
from trackless.basis import Basis, Center, placed
from trackless.estimators.least_squares import checked_sigma
from trackless.estimators.saving import Saving
from trackless.moments import Moments, rule_index
from trackless.networks import Network, Perceptron, RadialNetwork, check_activation
from trackless.potentials import Potential, PotentialSum, RadialSum
from trackless.radial_splines import RadialSplines
from trackless.snapshots import Snapshots
from trackless.tensor_splines import TensorSplines

Array = NDArray[np.float64]
RADIAL = (24, 60)  # splines in the dictionaries of V and Phi
TENSOR = (10, 13)  # per direction
REACH = (1.0, 4.0)  # input range of the networks: external potentials vary over the cloud, interactions within it
FOLDS = 5  # each network leaves out one of so many parts of the data


class NeuralSelfTest(Saving):
    """Potentials as networks, trained on the self-test loss without looking at a truth.

    Several networks are trained, each on four fifths of the runs and stopped by its loss on the rest; the potentials
    are their means. Radial potentials in any dimension, and others in two, are trained on accumulated moments:
    the network is evaluated on the nodes of a spline dictionary, so a step costs the same whatever the data size.

    Parameters
    ----------
    sigma : float
        Noise intensity of dX = -force dt + sigma dW.
    radial : bool or (bool, bool)
        Whether V and Phi depend on the distance only.
    external, interaction : bool
        False leaves that potential out.
    center : tuple of float, "mean", or None
        Centre of a radial V (None: the origin).
    hidden : tuple of int
        Width of the hidden layers, all the same.
    activation : "softplus" or "tanh"
    networks : int
        How many are trained and averaged.
    quadrature : "left", "trapezoid" or "cubic"
        Rule for the time integrals.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.
    steps, patience : int
        At most so many steps; a network stops when its held-out loss has not improved for ``patience`` of them.
    seed : int
        The same seed gives the same weights.

    Attributes
    ----------
    external_, interaction_ : Potential or None
        Means of the networks, evaluated exactly, without JAX.
    curves_ : list of (steps, 2)
        Train and held-out loss of each network.
    stopped_ : list of int
        The step whose weights were kept.
    coef_ : (K,)
        The potentials in the dictionaries ``external_basis_`` and ``interaction_basis_``.
    loss_ : float
        The loss on all data.
    moments_ : Moments
    sigma_ : float

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=100, step=1e-3, observe_every=1e-2)
    >>> fitted = tl.NeuralSelfTest(sigma=1.0, networks=1, steps=20).fit(data)
    >>> fitted.interaction_.slope([0.5, 0.9]).shape
    (2,)
    """

    def __init__(
        self,
        sigma: float | None = None,
        radial: bool | tuple[bool, bool] = True,
        external: bool = True,
        interaction: bool = True,
        center: Center = None,
        hidden: tuple[int, ...] = (64, 64, 64),
        activation: str = "softplus",
        networks: int = 5,
        quadrature: str = "trapezoid",
        coupling: str = "mean",
        steps: int = 80,
        patience: int = 15,
        seed: int = 0,
    ) -> None:
        self.sigma = sigma
        self.radial = radial
        self.external = external
        self.interaction = interaction
        self.center: Center = center
        self.hidden = hidden
        self.activation = activation
        self.networks = networks
        self.quadrature = quadrature
        self.coupling = coupling
        self.steps = steps
        self.patience = patience
        self.seed = seed

    def fit(self, X: Snapshots | Moments, y: Any = None) -> NeuralSelfTest:
        """Train on snapshots, or on moments accumulated on spline dictionaries."""
        sigma = self._check()
        moments = X if isinstance(X, Moments) else self._accumulate(X, *self._dictionaries(X))
        bases = [b for b in (moments.external, moments.interaction) if b is not None]
        if not all(isinstance(basis, (RadialSplines, TensorSplines)) for basis in bases):
            raise InputError("networks are trained on moments of RadialSplines or TensorSplines; accumulate on those")
        trained = self._train(moments, sigma)
        self.moments_ = moments
        self.sigma_ = sigma
        self.external_basis_, self.interaction_basis_ = moments.external, moments.interaction
        self.curves_ = [np.array(result.curve) for result in trained]
        self.stopped_ = [result.best for result in trained]
        self.coef_ = np.mean([result.coef for result in trained], axis=0)
        self.loss_ = moments.normal_equations(sigma, self.quadrature).loss(self.coef_)
        self._keep_networks(trained, len(bases))
        self._set_potentials()
        return self

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the self-test loss of the fitted potentials on other data (higher is better)."""
        if not hasattr(self, "coef_"):
            raise InputError("this estimator is not fitted yet; call fit first")
        moments = X if isinstance(X, Moments) else self._accumulate(X, self.external_basis_, self.interaction_basis_)
        return -moments.normal_equations(self.sigma_, self.quadrature).loss(self.coef_)

    def _check(self) -> float:
        check_activation(self.activation)
        rule_index(self.quadrature)
        if not self.external and not self.interaction:
            raise InputError("external and interaction are both left out: there is nothing to learn")
        if not self.hidden or len(set(self.hidden)) != 1 or min(self.hidden) < 1:
            raise InputError(f"hidden: expected equal widths such as (64, 64, 64), got {self.hidden!r}")
        for name in ("networks", "steps", "patience"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected at least 1, got {getattr(self, name)!r}")
        return checked_sigma(self.sigma)

    def _dictionaries(self, snapshots: Snapshots) -> tuple[Basis | None, Basis | None]:
        radial = self.radial if isinstance(self.radial, tuple) else (self.radial, self.radial)
        if not all(radial) and snapshots.dim != 2:
            raise InputError(
                f"radial=False: networks that are not radial are trained in two dimensions so far, the data have "
                f"{snapshots.dim}; use radial=True"
            )
        families: list[Basis | None] = []
        for k, wanted in enumerate((self.external, self.interaction)):
            if not wanted:
                families.append(None)
            elif radial[k]:
                families.append(RadialSplines(RADIAL[k], center=self.center if k == 0 else None))
            else:
                families.append(TensorSplines(TENSOR[k], complete=True))
        return families[0], families[1]

    def _accumulate(self, snapshots: Snapshots, external: Basis | None, interaction: Basis | None) -> Moments:
        return accumulate(snapshots, external, interaction, self.coupling)

    def _train(self, moments: Moments, sigma: float) -> list[Any]:
        import jax  # only here: importing it takes a second

        from trackless.training.dictionary import nodes_of
        from trackless.training.moments import Units, train
        from trackless.training.network import new_network

        units = Units(*moments.unit_equations(sigma, self.quadrature))
        count = len(units.weights)
        if count < 2:
            raise InputError("networks need at least two runs or time windows: some to train on, some to stop by")
        roles = [k for k, basis in enumerate((moments.external, moments.interaction)) if basis is not None]
        bases = [(moments.external, moments.interaction)[k] for k in roles]
        nodes = [nodes_of(basis) for basis in bases if basis is not None]
        even = [k == 1 and isinstance(basis, TensorSplines) for k, basis in zip(roles, bases, strict=True)]
        energy = _energy_units(moments, sigma)
        keys = jax.random.split(jax.random.PRNGKey(self.seed), self.networks)
        trained = []
        for i in _progress.track(range(self.networks), "training", self.networks):
            start = [
                new_network(tuple(self.hidden), self.activation, node.points, REACH[k], energy[k], key)
                for k, node, key in zip(roles, nodes, jax.random.split(keys[i], len(nodes)), strict=True)
            ]
            held_out = np.arange(count) % min(FOLDS, count) == i % min(FOLDS, count)
            trained.append(train(start, nodes, even, units, held_out, self.steps, self.patience))
        return trained

    def _keep_networks(self, trained: list[Any], potentials: int) -> None:
        from trackless.training.network import plain

        kept = [tuple(plain(result.networks[k]) for result in trained) for k in range(potentials)]
        self.external_networks_: tuple[Perceptron, ...] = kept.pop(0) if self.external_basis_ is not None else ()
        self.interaction_networks_: tuple[Perceptron, ...] = kept.pop(0) if kept else ()

    def _set_potentials(self) -> None:
        self.external_ = _mean(self.external_networks_, self.external_basis_, even=False)
        self.interaction_ = _mean(self.interaction_networks_, self.interaction_basis_, even=True)


def _energy_units(moments: Moments, sigma: float) -> tuple[float, float]:
    """What V and Phi are measured in while training: sigma^2, for a summed Phi divided by the number of particles."""
    unit = sigma**2 if sigma > 0 else 1.0
    if moments.coupling == "mean":
        return unit, unit
    durations = (moments.span[:, :, 1] - moments.span[:, :, 0]).sum(axis=1)
    particles = moments.weight[:, :, 0, 0].sum() / (moments.runs * durations).sum()
    return unit, unit / max(particles, 1.0)


def _mean(networks: tuple[Perceptron, ...], basis: Basis | None, even: bool) -> Potential | None:
    """The mean of some networks as a potential."""
    if basis is None:
        return None
    weights = (1.0 / len(networks),) * len(networks)
    if isinstance(basis, RadialSplines):
        return placed(RadialSum(tuple(RadialNetwork(n) for n in networks), weights), basis.center)
    return PotentialSum(tuple(Network(n, even) for n in networks), weights)
