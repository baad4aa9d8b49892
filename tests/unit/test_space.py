"""Free space and periodic boxes."""

import numpy as np
import pytest

import trackless as tl
from trackless.space import checked_box, displacement, half_box, side_lengths, wrap


def test_displacement_is_the_shortest_of_all_images():
    generator = np.random.default_rng(0)
    box = (2.0, 3.0)
    x, y = generator.uniform(-5, 5, (2, 100, 2))
    images = np.array([(a, b) for a in range(-8, 9) for b in range(-8, 9)]) * box
    every = x[:, None] - y[:, None] + images
    nearest = every[np.arange(100), np.argmin((every**2).sum(axis=-1), axis=1)]
    np.testing.assert_allclose(displacement(x, y, box), nearest, atol=1e-12)
    np.testing.assert_array_equal(displacement(x, y), x - y)


def test_wrapping_moves_by_whole_sides():
    x = np.random.default_rng(1).uniform(-9, 9, (50, 2))
    box = (2.0, 3.0)
    inside = wrap(x, box)
    assert (inside >= 0).all()
    assert (inside < box).all()
    whole = (x - inside) / box
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-12)
    np.testing.assert_array_equal(wrap(x, None), x)


def test_sides():
    assert checked_box(None, 3) is None
    assert checked_box([1, 2], 2) == (1.0, 2.0)
    np.testing.assert_array_equal(side_lengths((1.0, 2.0), 2), [1.0, 2.0])
    np.testing.assert_array_equal(side_lengths(None, 3), [0.0, 0.0, 0.0])
    assert half_box((4.0, 2.0)) == 1.0
    assert half_box(None) == np.inf


@pytest.mark.parametrize("box", [0.0, -1.0, np.nan, np.inf, (1.0, 2.0, 3.0), (1.0, 0.0), ()])
def test_impossible_boxes(box):
    with pytest.raises(tl.InputError, match="box: expected one positive length or 2 of them, got"):
        checked_box(box, 2)
