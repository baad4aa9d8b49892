"""Averaged or summed forces: what "auto" takes, and one from the other."""

import numpy as np
import pytest

import trackless as tl
from trackless.coupling import chosen_coupling


def ragged(*counts):
    generator = np.random.default_rng(0)
    return tl.Snapshots([[generator.random((n, 2)) for n in run] for run in counts], dt=0.1)


def test_auto_sums_where_the_number_changes():
    assert chosen_coupling(ragged((3, 3), (3, 3))).name == "mean"
    within, between = ragged((3, 4)), ragged((3, 3), (5, 5))
    assert chosen_coupling(within).name == chosen_coupling(between).name == "sum"
    assert "their number changes, 3 to 5" in chosen_coupling(between).sentence
    assert "N = 3 times" in chosen_coupling(ragged((3, 3))).sentence
    assert chosen_coupling(between, "mean").name == "mean"
    with pytest.raises(tl.InputError, match="coupling: expected 'mean', 'sum' or 'auto'"):
        chosen_coupling(within, "both")


def test_the_door_takes_auto():
    data = tl.simulate(tl.models.reference(), runs=10, particles=4, step=1e-3, observe_every=0.02)
    missing = [[frame[: 3 + (i + m) % 2] for i, frame in enumerate(run)] for m, run in enumerate(data.positions)]
    changing = tl.Snapshots(missing, [data.times] * 10)
    shapes = {"external": "radial", "interaction": "radial"}
    with pytest.raises(tl.InputError, match="coupling='sum'"):
        tl.fit(changing, sigma=1.0, **shapes)
    fitted = tl.fit(changing, sigma=1.0, coupling="auto", **shapes)
    assert fitted.coupling == "sum"
    assert "sum coupling: forces between particles add up (their number changes, 3 to 4)" in str(fitted.findings_)
    assert tl.fit(data, sigma=1.0, coupling="auto", **shapes).coupling == "mean"
