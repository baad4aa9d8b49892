"""Numbers in sentences."""

from __future__ import annotations

from math import floor, isfinite, log10


def plural(count: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> plural(1, "run"), plural(2000, "snapshot")
    ('1 run', '2,000 snapshots')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many digits, written out unless it is very large or very small.

    Examples
    --------
    >>> rounded(294.2, 2), rounded(0.01234), rounded(1.5e-7), rounded(1234.5, 2)
    ('290', '0.0123', '1.5e-07', '1,200')
    """
    if not isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    places = digits - 1 - floor(log10(abs(value)))
    whole = round(value, places)
    return f"{whole:,.0f}" if places <= 0 else f"{whole:.{digits}g}"


def ordinal(number: int) -> str:
    """A place in a row.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
