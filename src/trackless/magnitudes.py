"""Numbers that can be computed with, in whatever units: high powers of others overflow, or vanish."""

from __future__ import annotations

from typing import Any

import numpy as np

from trackless._errors import InputError

SMALLEST, LARGEST = 1e-30, 1e30  # eighth powers, products of four energies, are still numbers


def check_magnitude(name: str, *numbers: float) -> None:
    """Refuse numbers so small or large that only a slip, or units for something else, can be meant; 0 is not judged.

    Examples
    --------
    >>> check_magnitude("cutoff", 1e-9, 0.0, 1e12)
    >>> check_magnitude("cutoff", 1e300)
    Traceback (most recent call last):
    ...
    trackless._errors.InputError: cutoff: 1e+300 is too large to compute with; use units that bring it nearer to 1
    """
    for number in numbers:
        if number and not SMALLEST <= abs(number) <= LARGEST:
            kind = "small" if abs(number) < SMALLEST else "large"
            raise InputError(f"{name}: {number:g} is too {kind} to compute with; use units that bring it nearer to 1")


def check_whole(name: str, number: Any, fewest: int) -> None:
    """Refuse what is not a whole number of at least ``fewest``.

    Examples
    --------
    >>> check_whole("replicates", 0, 19)
    Traceback (most recent call last):
    ...
    trackless._errors.InputError: replicates: expected a whole number of at least 19, got 0
    """
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < fewest:
        raise InputError(f"{name}: expected a whole number of at least {fewest}, got {number!r}")
