"""The demonstration: simulate the reference model, hide the labels, learn the forces back."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from trackless import models
from trackless.estimators.self_test import SelfTest
from trackless.fitting import fit
from trackless.models import Model
from trackless.scoring import GradientErrors, gradient_errors
from trackless.simulation import simulate
from trackless.snapshots import Snapshots


class Demonstration(NamedTuple):
    """What the demonstration made."""

    model: Model
    snapshots: Snapshots
    fits: dict[str, SelfTest]
    errors: dict[str, GradientErrors]

    def figure(self) -> Figure:
        """V' and Phi' on top of the truth."""
        from trackless.plots import fit_figure

        runs, times, particles, _ = self.snapshots.positions.shape
        title = f"learnt from {runs:,} runs x {times} shuffled snapshots of {particles} particles"
        return fit_figure(self.fits, self.snapshots, self.model, title)


def demonstrate(runs: int = 2000, seed: int = 0) -> Demonstration:
    """Fit the reference model twice: in its own four functions, and with nothing but the data and sigma."""
    model = models.reference()
    snapshots = simulate(model, runs=runs, step=1e-4, observe_every=1e-2, seed=seed)
    fits = {"learnt, true basis": SelfTest(model.external_basis, model.interaction_basis, sigma=model.sigma)}
    for estimator in fits.values():
        estimator.fit(snapshots)
    fits["learnt, nothing known"] = fit(snapshots, sigma=model.sigma)
    errors = {label: gradient_errors(fitted, model, snapshots) for label, fitted in fits.items()}
    return Demonstration(model, snapshots, fits, errors)
