"""Networks for potentials that are not radial: the paper's anisotropic model, true and learnt contours side by side.

In two dimensions networks are trained on the moments of a tensor-product dictionary. The same call works in three or
more dimensions, where it trains on snapshots instead and takes minutes.
"""

import argparse

from matplotlib.figure import Figure

import trackless as tl
from trackless.exploration import explore
from trackless.plots import contour_row

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=1000)
parser.add_argument("--networks", type=int, default=5)
parser.add_argument("--output", default="anisotropic.png", help="the picture")
arguments = parser.parse_args()

model = tl.models.anisotropic()
data = tl.simulate(model, runs=arguments.runs, step=1e-3, observe_every=1e-2, seed=1)
fit = tl.NeuralSelfTest(sigma=model.sigma, radial=False, networks=arguments.networks).fit(data)
errors = tl.gradient_errors(fit, model, data[:50].every(5))
print(f"trained on {fit.route_}; gradient error of V {errors.external:.1%}, of Phi {errors.interaction:.1%}")

explored = explore(data)
figure = Figure(figsize=(10, 5.6), layout="constrained")
rows = figure.subplots(2, 2)
contour_row(rows[0], {"$V$, true": model.external, "$V$, learnt": fit.external_}, explored.positions)
contour_row(rows[1], {r"$\Phi$, true": model.interaction, r"$\Phi$, learnt": fit.interaction_}, explored.displacements)
figure.savefig(arguments.output, dpi=160)
print(f"The picture is in {arguments.output}.")
