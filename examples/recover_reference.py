"""Learn the reference model's forces from shuffled snapshots, with and without knowing its functions."""

import argparse

import trackless as tl

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=500)
arguments = parser.parse_args()

model = tl.models.reference()
data = tl.simulate(model, runs=arguments.runs, observe_every=0.01, seed=1)

oracle = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
for name, truth, learnt in zip(oracle.moments_.names, model.coefficients, oracle.coef_, strict=True):
    print(f"{name:16s} truth {truth:6.2f}   learnt {learnt:6.2f}")

blind = tl.SelfTest(tl.RadialSplines(8), tl.RadialSplines(24), sigma=1.0, regularization="cv").fit(data)
for label, fit in (("its own functions", oracle), ("splines", blind)):
    errors = tl.gradient_errors(fit, model, data)
    print(f"{label}: gradient error of V {errors.external:.1%}, of Phi {errors.interaction:.1%}")
