"""Two laboratories, one fit: moments of separate data sets are added."""

import argparse

import trackless as tl

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=300)
arguments = parser.parse_args()

model = tl.models.smooth_control()
small = tl.simulate(model, particles=5, runs=arguments.runs, seed=1).between(0.02, 1.0)
large = tl.simulate(model, particles=12, runs=arguments.runs, duration=0.5, seed=2).between(0.02, 0.5)

bases = model.external_basis, model.interaction_basis
moments = [tl.accumulate(data, *bases) for data in (small, large)]
for label, part in (("5 particles", moments[0]), ("12 particles", moments[1]), ("together", moments[0] + moments[1])):
    fit = tl.SelfTest(sigma=1.0).fit(part)
    print(f"{label:13s}", "  ".join(f"{c:7.3f}" for c in fit.coef_))
print("truth        ", "  ".join(f"{c:7.3f}" for c in model.coefficients))
