"""Measured files, where they are at hand: what tracking and textbooks say of them comes out without tracking."""

from pathlib import Path

import numpy as np
import pytest

import trackless as tl

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WATER, COLLOIDS = DATA / "bulk_water_detections_um_24fps.csv", DATA / "trackpy_brightfield_um.csv"


@pytest.mark.skipif(not WATER.exists(), reason="the measured file is not here")
def test_spheres_in_water_diffuse_and_drift_and_do_not_interact():
    fitted = tl.fit(tl.read(WATER, dt=1 / 24), coupling="sum", window="auto", exclude_below=4.3)
    found = fitted.noise_.motion
    assert found.diffusion == pytest.approx(0.40, rel=0.2)
    assert abs(found.diffusion - 0.40) < 2 * found.diffusion_error
    # the brighter spheres, which can be tracked, drift with (0.48, 0.17)
    assert np.linalg.norm(found.drift - [0.48, 0.17]) < 0.2
    assert (found.drift_error < 0.12).all()
    assert fitted.findings_.log_bayes_factors[1] < 3
    assert "no interaction can be seen" in str(fitted.findings_)
    r = np.linspace(6.5, 17, 30)
    lower, upper = fitted.interaction_.band(r)
    assert ((lower < 0) & (upper > 0)).mean() > 0.9


@pytest.mark.skipif(not COLLOIDS.exists(), reason="the measured file is not here")
def test_five_colloids_say_how_they_diffuse_and_nothing_of_an_interaction():
    fitted = tl.fit(tl.read(COLLOIDS, dt=7 / 50))
    variance, error = fitted.sigma_**2, 2 * fitted.sigma_ * fitted.noise_.error
    assert abs(variance / 2 - 0.077) < 1.96 * error / 2
    assert error < 0.4 * variance
    said = str(fitted.findings_)
    assert "no interaction can be seen" in said
    assert "Phi' is nowhere known better than it is large" in said
