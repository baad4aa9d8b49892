"""Potentials that are not radial: tensor-product splines on the anisotropic model."""

import argparse

import trackless as tl

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=500)
arguments = parser.parse_args()

model = tl.models.anisotropic()
data = tl.simulate(model, runs=arguments.runs, step=1e-3, seed=1)
fit = tl.SelfTest(tl.TensorSplines(7), tl.TensorSplines(9), sigma=1.0, regularization="cv").fit(data)
errors = tl.gradient_errors(fit, model, data)
print(f"{fit.moments_.size} functions, gradient error of V {errors.external:.1%}, of Phi {errors.interaction:.1%}")
