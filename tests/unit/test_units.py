"""Units: positions times c and times times c^2 at fixed sigma is the same system."""

import numpy as np
import pytest

import trackless as tl


@pytest.fixture(scope="module")
def data():
    return tl.simulate(tl.models.reference(), runs=20, duration=0.5, step=1e-3, seed=4)


@pytest.mark.parametrize("exponent", [-40, -10, 10, 40])
@pytest.mark.parametrize("family", ["splines", "rbf", "functions", "tensor"])
def test_moments_scale(data, exponent, family):
    c = 2.0**exponent

    def moments(scale):
        bases = {
            "splines": (tl.RadialSplines(6), tl.RadialSplines(10)),
            "rbf": (tl.GaussianRBF(5, first=0.01 * scale), tl.GaussianRBF(8, first=0.01 * scale)),
            "functions": (
                tl.RadialFunctions([lambda r: r / scale, lambda r: (r / scale) ** 2]),
                tl.RadialFunctions([lambda r: np.exp(-r / scale)]),
            ),
            "tensor": (tl.TensorSplines(5), tl.TensorSplines(6)),
        }[family]
        return tl.accumulate(tl.Snapshots(data.positions * scale, data.times * scale**2), *bases)

    here, there = moments(1.0).normal_equations(1.0), moments(c).normal_equations(1.0)
    tolerance = 1e-9 if family != "functions" else 1e-6  # derivatives of callables are differences
    assert np.abs(there.matrix * c**2 - here.matrix).max() <= tolerance * np.abs(here.matrix).max()
    assert np.abs(there.vector * c**2 - here.vector).max() <= tolerance * np.abs(here.vector).max()
