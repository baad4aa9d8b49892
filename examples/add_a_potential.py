"""A potential of your own, in ten lines: simulate it and learn it back."""

import argparse
from dataclasses import dataclass

import numpy as np

import trackless as tl
from trackless.potentials import RadialPotential
from trackless.shapes import Power


@dataclass(frozen=True)
class Wave(RadialPotential):
    """cos(k r)."""

    k: float

    def profile(self, r):
        return np.cos(self.k * np.asarray(r))

    def slope(self, r):
        return -self.k * np.sin(self.k * np.asarray(r))

    def curvature(self, r):
        return -(self.k**2) * np.cos(self.k * np.asarray(r))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=300)
arguments = parser.parse_args()

trap, wave = tl.RadialFunctions([Power(2)], names=["trap"]), tl.RadialFunctions([Wave(4.0)], names=["wave"])
model = tl.Model("waves", trap, wave, coefficients=(1.0, 0.8))
data = tl.simulate(model, runs=arguments.runs, seed=3)
fit = tl.SelfTest(trap, wave, sigma=1.0).fit(data)
print("truth ", model.coefficients)
print("learnt", fit.coef_.round(3))
