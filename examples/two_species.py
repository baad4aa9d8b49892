"""Two species whose particles nobody follows: a V of each kind, a Phi of each pair of kinds."""

import argparse

import trackless as tl

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=1000)
arguments = parser.parse_args()

model = tl.models.mixture()
data = tl.simulate(model, particles={"a": 6, "b": 6}, runs=arguments.runs, step=1e-3, seed=1)
print(data)

traps = {kind: tl.RadialSplines(8) for kind in data.species}
pairs = {pair: tl.RadialSplines(14) for pair in (("a", "a"), ("a", "b"), ("b", "b"))}
fit = tl.SelfTest(traps, pairs, sigma=1.0, regularization="evidence").fit(data)  # or tl.fit(data), which asks for more

errors = tl.gradient_errors(fit, model, data)
for kind, error in errors.external.items():
    print(f"V of {kind}: gradient error {error:.1%}")
for pair, error in errors.interaction.items():
    lower, upper = fit.interaction_[pair].band(0.8)
    slope = fit.interaction_[pair].slope(0.8)
    print(
        f"Phi of {' and '.join(pair)}: Phi'(0.8) = {slope:.2f} ({lower:.2f} to {upper:.2f}), gradient error {error:.1%}"
    )
