"""The paper's comparison on a small scale: the self-test against estimators that follow particles.

Labeled maximum likelihood knows who is who. The others are given the same unlabeled snapshots: the self-test, which
needs no labels, and three ways of guessing them. The labels only serve to count how many guesses were right. All that
follow particles take a finite difference for a velocity, which costs them an error of order dt even with labels.
"""

import argparse

from matplotlib.figure import Figure

import trackless as tl
from trackless.plots import error_curves

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=500)
parser.add_argument("--output", default="compare_methods.png", help="the picture")
arguments = parser.parse_args()

model = tl.models.reference()
families = model.external_basis, model.interaction_basis
finest = tl.simulate(model, runs=arguments.runs, step=1e-4, observe_every=1e-3, labeled=True, seed=1)
methods = {
    "self-test": tl.SelfTest(*families, sigma=model.sigma),
    "labeled": tl.LabeledMLE(*families),
    "sinkhorn": tl.SinkhornMLE(*families, sigma=model.sigma),
    "assignment": tl.SinkhornMLE(*families, matching="assignment"),
    "barycentric": tl.SinkhornMLE(*families, sigma=model.sigma, matching="barycentric"),
}

print(f"{arguments.runs} runs of 10 particles; errors of grad V / grad Phi in %, and right matches")
intervals = []
errors = {role: {name: [] for name in methods} for role in ("external", "interaction")}
for stride in (1, 10, 100):
    data = finest.every(stride)
    intervals.append(data.times[1] - data.times[0])
    print(f"\ndt = {intervals[-1]:g}")
    for name, estimator in methods.items():
        fitted = estimator.fit(data)
        score = tl.gradient_errors(fitted, model, finest)
        errors["external"][name].append(score.external)
        errors["interaction"][name].append(score.interaction)
        guessed = isinstance(fitted, tl.SinkhornMLE)
        matches = f"   {fitted.matched_fraction_:6.1%} matched rightly" if guessed else ""
        print(f"  {name:12s} {100 * score.external:6.2f} / {100 * score.interaction:6.2f}{matches}")

figure = Figure(figsize=(10, 4.2), layout="constrained")
for axis, (role, curves) in zip(figure.subplots(1, 2), errors.items(), strict=True):
    error_curves(axis, intervals, curves, role).spines[["top", "right"]].set_visible(False)
figure.axes[1].legend(frameon=False)
figure.savefig(arguments.output, dpi=160)
print(f"\nThe picture is in {arguments.output}.")
