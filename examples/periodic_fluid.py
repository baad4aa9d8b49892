"""A periodic fluid of 500 particles, written as LAMMPS dumps and read back: the pair force from unlabeled frames."""

import argparse
from pathlib import Path

import numpy as np

import trackless as tl
from trackless.shapes import Exponential, ShiftedForce

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--runs", type=int, default=20)
parser.add_argument("--frames", type=int, default=200)
parser.add_argument("--particles", type=int, default=500)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--euler", action="store_true", help="plain Euler steps of 1e-3: too long for this core")
arguments = parser.parse_args()

DEPTH, RATE, CUTOFF = 3.0, 2.0, 3.0
walls = [ShiftedForce(Exponential(rate, 1.0), CUTOFF) for rate in (2 * RATE, RATE)]
morse = tl.Model("Morse", None, tl.RadialFunctions(walls), (DEPTH, -2 * DEPTH), sigma=np.sqrt(2.0))
side = 22.0 * np.sqrt(arguments.particles / 500)
data = tl.simulate(
    morse, particles=arguments.particles, runs=arguments.runs, duration=0.01 * (arguments.frames - 1), step=1e-3,
    observe_every=0.01, initial="lattice", box=side, coupling="sum", accurate=not arguments.euler, seed=arguments.seed,
)  # fmt: skip

files = [Path(f"run{m:02d}.lammpstrj") for m in range(data.runs)]
for m, file in enumerate(files):
    tl.write(data[m : m + 1], file, overwrite=True)
again = tl.read(files)
print(again, "in a box of", again.box)

fit = tl.fit(again, external=None, coupling="sum", cutoff=CUTOFF)
distances = np.array([0.8, 1.0, 1.2, 1.5, 2.0, 2.5])
lower, upper = fit.interaction_.band(distances)
for r, learnt, low, high, true in zip(
    distances, fit.interaction_.slope(distances), lower, upper, morse.interaction.slope(distances), strict=True
):
    print(f"r = {r:.1f}: Phi' = {learnt:7.3f} ({low:7.3f} to {high:7.3f}), truth {true:7.3f}")
print(fit.findings_)
print(f"error of Phi' where pairs were: {tl.gradient_errors(fit, morse, again).interaction:.1%}")
