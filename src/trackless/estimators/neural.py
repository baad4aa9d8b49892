"""The neural self-test estimator (the paper's Algorithm 2): potentials with no basis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trackless._errors import InputError
from trackless.accumulation import accumulate, check_snapshots
from trackless.basis import Basis, Center, closed_center, placed
from trackless.estimators.least_squares import explored_range
from trackless.estimators.saving import Saving
from trackless.evidence import slices_of
from trackless.exploration import explore
from trackless.intensity import single_sigma
from trackless.moments import Moments, rule_index
from trackless.networks import Network, Perceptron, RadialNetwork, check_activation
from trackless.potentials import Potential, PotentialSum, RadialSum
from trackless.radial_splines import RadialSplines
from trackless.snapshots import Snapshots
from trackless.survey import surveyed
from trackless.tensor_splines import TensorSplines
from trackless.uncertainty import Uncertainty, with_uncertainty

Array = NDArray[np.float64]
RADIAL = (24, 60)  # splines in the dictionaries of V and Phi
TENSOR = (8, 18)  # per direction
ROUTES = ("auto", "moments", "snapshots")
DEFAULTS = {"moments": (5, 80, 15), "snapshots": (1, 200, 20)}  # networks; steps or epochs; patience


class NeuralSelfTest(Saving):
    """Potentials as networks, trained on the self-test loss without looking at a truth.

    Each network is trained on four fifths of the runs (of time windows, where runs are few) and stopped by its loss on
    the rest; the potentials are means over the networks. There are two routes. On ``"moments"`` the networks are
    evaluated on the nodes of a spline dictionary, and a Gauss-Newton step costs the same whatever the data size: for
    radial potentials in any dimension, and for others in two. On ``"snapshots"`` they are trained with Adam on
    mini-batches of the data (the paper's recipe): any dimension, minutes instead of seconds. ``"auto"`` takes moments
    where it can; ``route_`` says which it was.

    Parameters
    ----------
    sigma : float
        Noise intensity of dX = -force dt + sigma dW.
    radial : bool or (bool, bool)
        Whether V and Phi depend on the distance only.
    route : "auto", "moments" or "snapshots"
    external, interaction : bool
        False leaves that potential out.
    center : tuple of float, "mean", or None
        Centre of a radial V (None: the origin).
    hidden : tuple of int
        Width of the hidden layers, all the same.
    activation : "softplus" or "tanh"
    networks : int, optional
        How many are trained and averaged (default: 5 on moments, 1 on snapshots).
    quadrature : "left", "trapezoid" or "cubic"
        Rule for the time integrals.
    coupling : "mean" or "sum"
        Whether the interaction force is averaged over the N particles or summed.
    steps, patience : int, optional
        At most so many steps; a network stops when its held-out loss has not improved for ``patience`` of them.
        Gauss-Newton steps on moments (80 and 15), epochs on snapshots (200 and 20).
    learning_rates : (float, float)
        Of V and Phi on the snapshot route, annealed to a hundredth.
    batch : int
        Snapshots in a mini-batch; fewer where particles are so many that memory would suffer.
    laplacian : "exact" or "stochastic"
        On the snapshot route, for networks that are not radial: the stochastic one (one random direction per point)
        costs the same in every dimension.
    seed : int
        The same seed gives the same weights.

    Attributes
    ----------
    external_, interaction_ : Potential or None
        Means of the networks, evaluated exactly, without JAX.
    route_ : "moments" or "snapshots"
    curves_ : tuple of (steps, 2)
        Train and held-out loss of each network. On snapshots the train loss is the mean over an epoch's batches, while
        the weights move; the held-out loss is that of the averaged weights.
    stopped_ : tuple of int
        The steps whose weights were kept, counted from 0.
    coef_ : (K,)
        The potentials in the dictionaries ``external_basis_`` and ``interaction_basis_`` (moments only).
    covariance_ : (K, K)
        Of ``coef_`` (moments only): networks linearised in their weights, and what they differ by. It is what
        ``interaction_.band`` is made of.
    loss_ : float
        The loss on all data.
    moments_ : Moments
        Moments only.
    sigma_ : float
    tip_ : float
        Radial networks are functions of sqrt(r^2 + tip_^2): flat at r = 0 where it is not 0, as on snapshots.

    Examples
    --------
    >>> import trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=100, step=1e-3, observe_every=1e-2)
    >>> fitted = tl.NeuralSelfTest(sigma=1.0, networks=1, steps=20).fit(data)
    >>> fitted.interaction_.slope([0.5, 0.9]).shape
    (2,)
    """

    route_: str
    sigma_: float
    radial_: tuple[bool, bool]
    center_: tuple[float, ...] | None
    tip_: float
    loss_: float
    curves_: tuple[Array, ...]
    stopped_: tuple[int, ...]
    external_networks_: tuple[Perceptron, ...]
    interaction_networks_: tuple[Perceptron, ...]
    moments_: Moments
    external_basis_: Basis | None
    interaction_basis_: Basis | None
    coef_: Array
    covariance_: Array
    freedom_: float
    explored_: tuple[Any, Any]

    def __init__(
        self,
        sigma: float | None = None,
        radial: bool | tuple[bool, bool] = True,
        route: str = "auto",
        external: bool = True,
        interaction: bool = True,
        center: Center = None,
        hidden: tuple[int, ...] = (64, 64, 64),
        activation: str = "softplus",
        networks: int | None = None,
        quadrature: str = "trapezoid",
        coupling: str = "mean",
        steps: int | None = None,
        patience: int | None = None,
        learning_rates: tuple[float, float] = (1e-4, 5e-4),
        batch: int = 64,
        laplacian: str = "exact",
        seed: int = 0,
    ) -> None:
        self.sigma = sigma
        self.radial = radial
        self.route = route
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
        self.learning_rates = learning_rates
        self.batch = batch
        self.laplacian = laplacian
        self.seed = seed

    def fit(self, X: Snapshots | Moments, y: Any = None) -> NeuralSelfTest:
        """Train on snapshots, or on moments accumulated on spline dictionaries."""
        sigma = self._check()
        if not isinstance(X, Moments):
            check_snapshots(X, self.coupling, self.interaction)
        learnt = self._on_moments(X, sigma) if self._route(X) == "moments" else self._on_snapshots(X, sigma)
        for name in [name for name in vars(self) if name.endswith("_")]:  # of an earlier fit
            delattr(self, name)
        vars(self).update(learnt)
        self.fingerprint_ = X.fingerprint() if isinstance(X, Snapshots) else None
        self.frames_ = surveyed(X).known if isinstance(X, Snapshots) else None
        if isinstance(X, Snapshots):
            self.box_ = X.box
        self._set_potentials()
        return self

    def score(self, X: Snapshots | Moments, y: Any = None) -> float:
        """Minus the self-test loss of the fitted potentials on other data (higher is better)."""
        self._check_fitted()
        if self.route_ == "snapshots":
            return -self._loss_on(X)
        moments = (
            X if isinstance(X, Moments)
            else accumulate(X, self.external_basis_, self.interaction_basis_, self.coupling)
        )  # fmt: skip
        return -moments.normal_equations(self.sigma_, self.quadrature).loss(self.coef_)

    def _check(self) -> float:
        check_activation(self.activation)
        rule_index(self.quadrature)
        if not self.external and not self.interaction:
            raise InputError("external and interaction are both left out: there is nothing to learn")
        for name in ("external", "interaction"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(
                    f"{name}: expected True or False, whether there is such a potential (networks need no basis), got "
                    f"{getattr(self, name)!r}"
                )
        widths = self.hidden if isinstance(self.hidden, (tuple, list)) else ()
        if not widths or len(set(widths)) != 1 or not all(isinstance(w, (int, np.integer)) and w > 0 for w in widths):
            raise InputError(f"hidden: expected equal widths such as (64, 64, 64), got {self.hidden!r}")
        if not isinstance(self.seed, (int, np.integer)):
            raise InputError(f"seed: expected a whole number, got {self.seed!r}")
        for name in ("networks", "steps", "patience", "batch"):
            value = getattr(self, name)
            left_out = value is None and name != "batch"
            if not left_out and (not isinstance(value, (int, np.integer)) or value < 1):
                raise InputError(f"{name}: expected a whole number of at least 1, got {value!r}")
        rates = self.learning_rates
        numbers = isinstance(rates, (tuple, list)) and all(isinstance(rate, (int, float, np.number)) for rate in rates)
        if not numbers or len(rates) != 2 or not all(rate > 0 for rate in rates):
            raise InputError(
                f"learning_rates: expected two positive numbers, for V and Phi, got {self.learning_rates!r}"
            )
        for name, offered in (("route", ROUTES), ("laplacian", ("exact", "stochastic")), ("coupling", ("mean", "sum"))):
            if getattr(self, name) not in offered:
                raise InputError(f"{name}: expected {', '.join(map(repr, offered))}, got {getattr(self, name)!r}")
        return single_sigma(self.sigma, "NeuralSelfTest")

    def _radial(self) -> tuple[bool, bool]:
        both = tuple(self.radial) if isinstance(self.radial, (tuple, list)) else (self.radial,) * 2
        if len(both) != 2 or not all(isinstance(shape, (bool, np.bool_)) for shape in both):
            raise InputError(f"radial: expected True, False or two of them, for V and Phi, got {self.radial!r}")
        return bool(both[0]), bool(both[1])

    def _route(self, data: Snapshots | Moments) -> str:
        """Which route is taken; an error names the one that works."""
        if isinstance(data, Moments):
            if self.route == "snapshots":
                raise InputError("route='snapshots' trains on snapshots, but moments were given; leave out route")
            return "moments"
        shapes = [
            shape for shape, wanted in zip(self._radial(), (self.external, self.interaction), strict=True) if wanted
        ]
        reduces = all(shapes) or data.dim == 2
        if self.route == "moments" and not reduces:
            raise InputError(
                f"route='moments': networks that are not radial are trained on moments in two dimensions, the data "
                f"have {data.dim}; use route='snapshots' or radial=True"
            )
        route = "moments" if self.route == "moments" or (self.route == "auto" and reduces) else "snapshots"
        if route == "snapshots":
            _check_free(data)
        return route

    def _dictionaries(self) -> tuple[Basis | None, Basis | None]:
        families: list[Basis | None] = []
        for k, wanted in enumerate((self.external, self.interaction)):
            if not wanted:
                families.append(None)
            elif self._radial()[k]:
                families.append(RadialSplines(RADIAL[k], center=self.center if k == 0 else None))
            else:
                families.append(TensorSplines(TENSOR[k], complete=True))
        return families[0], families[1]

    def _recipe(self, route: str, sigma: float, center: tuple[float, ...] | None) -> Any:
        from trackless.training.recipe import Recipe  # JAX is imported only where it is used: it takes a second

        given = (self.networks, self.steps, self.patience)
        networks, steps, patience = (d if g is None else g for g, d in zip(given, DEFAULTS[route], strict=True))
        return Recipe(
            sigma=sigma, wanted=(self.external, self.interaction), radial=self._radial(), center=center,
            hidden=tuple(self.hidden), activation=self.activation, networks=networks, quadrature=self.quadrature,
            coupling=self.coupling, steps=steps, patience=patience, seed=self.seed,
        )  # fmt: skip

    def _on_moments(self, data: Snapshots | Moments, sigma: float) -> dict[str, Any]:
        """Learned attributes of the moment route."""
        from trackless.training.moments import train_on_moments

        moments = data if isinstance(data, Moments) else accumulate(data, *self._dictionaries(), self.coupling)
        bases = (moments.external, moments.interaction)
        if not all(isinstance(basis, (RadialSplines, TensorSplines)) for basis in bases if basis is not None):
            raise InputError("networks are trained on moments of RadialSplines or TensorSplines; accumulate on those")
        radial = tuple(not isinstance(basis, TensorSplines) for basis in bases)
        result = train_on_moments(moments, self._recipe("moments", sigma, None)._replace(radial=radial))
        coef = result.coef
        assert coef is not None
        loss = moments.normal_equations(sigma, self.quadrature).loss(coef)
        center = getattr(moments.external, "center", None)
        explored = None if isinstance(data, Moments) else explore(data)
        own = {
            "moments_": moments, "external_basis_": bases[0], "interaction_basis_": bases[1], "coef_": coef,
            "covariance_": result.covariance, "freedom_": float(moments.blocks * moments.windows),
            "explored_": (explored_range(explored, bases[0], 0), explored_range(explored, bases[1], 1)),
        }  # fmt: skip
        return own | _learnt("moments", sigma, radial, center, loss, result)

    def _on_snapshots(self, data: Snapshots | Moments, sigma: float) -> dict[str, Any]:
        """Learned attributes of the snapshot route."""
        from trackless.training.snapshots import Descent, loss_of, train_on_snapshots

        assert isinstance(data, Snapshots)
        if sigma == 0:
            raise InputError("sigma=0: the snapshot route measures energies in sigma^2; use route='moments'")
        radial = self._radial()
        center = None
        if self.external and radial[0]:
            center = closed_center(self.center, explore(data), "external")
        rates = (float(self.learning_rates[0]), float(self.learning_rates[1]))
        descent = Descent(rates, self.batch, self.laplacian == "stochastic")
        recipe = self._recipe("snapshots", sigma, center)
        result = train_on_snapshots(data, recipe, descent)
        loss = loss_of(result.external, result.interaction, result.tip, data, recipe)
        return _learnt("snapshots", sigma, radial, center, loss, result)

    def _loss_on(self, data: Snapshots | Moments) -> float:
        if isinstance(data, Moments):
            raise InputError("networks trained on snapshots are scored on snapshots, not on moments")
        check_snapshots(data, self.coupling, bool(self.interaction_networks_))
        _check_free(data)
        from trackless.training.snapshots import loss_of

        recipe = self._recipe("snapshots", self.sigma_, self.center_)._replace(radial=self.radial_)
        return loss_of(self.external_networks_, self.interaction_networks_, self.tip_, data, recipe)

    def _set_potentials(self) -> None:
        self.external_ = self._mean(self.external_networks_, self.radial_[0], self.center_, even=False)
        self.interaction_ = self._mean(self.interaction_networks_, self.radial_[1], None, even=True)
        if self.route_ == "moments":
            self._set_uncertainty()

    def _set_uncertainty(self) -> None:
        """Bands, from the covariance of the networks' spline coefficients."""
        bases = (self.external_basis_, self.interaction_basis_)
        for role, part in slices_of(bases).items():
            potential, basis, explored = (self.external_, self.interaction_)[role], bases[role], self.explored_[role]
            if potential is not None and basis is not None and explored is not None:
                with_uncertainty(potential, Uncertainty(basis, self.covariance_[part, part], explored, self.freedom_))

    def _mean(
        self, networks: tuple[Perceptron, ...], radial: bool, center: tuple[float, ...] | None, even: bool
    ) -> Potential | None:
        """The mean of some networks as a potential."""
        if not networks:
            return None
        weights = (1.0 / len(networks),) * len(networks)
        if radial:
            return placed(RadialSum(tuple(RadialNetwork(n, self.tip_) for n in networks), weights), center)
        return PotentialSum(tuple(Network(n, even) for n in networks), weights)


def _learnt(
    route: str, sigma: float, radial: tuple[bool, ...], center: tuple[float, ...] | None, loss: float, result: Any
) -> dict[str, Any]:
    """Learned attributes that both routes have."""
    return {
        "route_": route, "sigma_": sigma, "radial_": radial, "center_": center, "loss_": loss,
        "curves_": tuple(result.curves), "stopped_": tuple(result.stopped),
        "external_networks_": result.external, "interaction_networks_": result.interaction, "tip_": result.tip,
    }  # fmt: skip


def _check_free(snapshots: Snapshots) -> None:
    if snapshots.box is not None:
        raise InputError(
            "the snapshot route knows no periodic box: a network does not end smoothly at half the box; fit moments on "
            "splines with a cutoff instead, tl.accumulate(data, None, tl.RadialSplines(40, cutoff=...))"
        )
