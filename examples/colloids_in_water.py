"""Spheres in water, located in a video but not linked: how they diffuse and drift, and whether they interact.

1 um latex spheres at 24 frames a second (detections of the trackpy examples, columns frame, x, y in um).
"""

import argparse
from pathlib import Path

import trackless as tl

MEASURED = Path(__file__).resolve().parents[2] / "shared" / "data" / "bulk_water_detections_um_24fps.csv"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, default=MEASURED)
parser.add_argument("--frames", type=int, default=300)
arguments = parser.parse_args()
if not arguments.data.exists():
    raise SystemExit(print(f"{arguments.data.name} is not here; give --data"))

data = tl.read(arguments.data, dt=1 / 24).between(0.0, arguments.frames / 24)
print(data)

# Spheres come and go at the edge and in depth, and closer than 4.3 um two of them are seen as one.
fit = tl.fit(data, coupling="sum", window="auto", exclude_below=4.3)
motion = fit.noise_.motion
print(f"D = {motion.diffusion:.3f} +- {motion.diffusion_error:.3f} um^2/s; tracks of the brighter spheres say 0.40")
for direction, velocity, error in zip("xy", motion.drift, motion.drift_error, strict=True):
    print(f"drift along {direction}: {velocity:.2f} +- {error:.2f} um/s")
print(fit.findings_)
