"""Derivatives by central differences of fourth order, to hold analytic ones against."""

from __future__ import annotations

import numpy as np

STEP = 1e-3
FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
SECOND = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}


def directional(function, x, direction, stencil, order, step=STEP):
    """Derivative of ``function`` at ``x`` (..., dim) or (...,) along ``direction``."""
    return sum(w * function(x + k * step * direction) for k, w in stencil.items()) / step**order


def gradient(function, x):
    return np.stack([directional(function, x, unit, FIRST, 1) for unit in np.eye(x.shape[-1])], axis=-1)


def laplacian(function, x):
    return sum(directional(function, x, unit, SECOND, 2) for unit in np.eye(x.shape[-1]))


def assert_derivatives(potential, x, tolerance=1e-6):
    """Gradient and Laplacian agree with differences of the values, relative to the largest of all of these."""
    least = np.abs(potential(x)).max()
    for exact, found in [
        (potential.gradient(x), gradient(potential, x)),
        (potential.laplacian(x), laplacian(potential, x)),
    ]:
        assert exact.shape == found.shape
        assert np.abs(exact - found).max() <= tolerance * max(np.abs(exact).max(), least)


def assert_radial_derivatives(potential, r, tolerance=1e-6):
    """Slope and curvature agree with differences of the profile."""
    least = np.abs(potential.profile(r)).max()
    slope = directional(potential.profile, r, 1.0, FIRST, 1)
    curvature = directional(potential.profile, r, 1.0, SECOND, 2)
    assert np.abs(potential.slope(r) - slope).max() <= tolerance * max(np.abs(slope).max(), least)
    assert np.abs(potential.curvature(r) - curvature).max() <= tolerance * max(np.abs(curvature).max(), least)


def points_at(radii, dim, seed=0, avoid=()):
    """Points at random directions, one per radius, none within three steps of the radii in ``avoid``."""
    radii = np.asarray(radii)
    for kink in avoid:
        radii = radii[np.abs(radii - kink) > 3 * STEP]
    directions = np.random.default_rng(seed).standard_normal((len(radii), dim))
    return radii[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
