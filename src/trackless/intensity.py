"""The noise intensity sigma: one number, or one per direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.magnitudes import check_magnitude

Sigma = float | tuple[float, ...]
DIAGONAL = "diagonal"  # what a user writes for "one per direction, found from the data"


def checked_sigma(sigma: Any, dim: int | None = None) -> Sigma:
    """A noise intensity as a number of at least 0, or as one per direction.

    Examples
    --------
    >>> checked_sigma(1), checked_sigma([1, 0.5])
    (1.0, (1.0, 0.5))
    """
    if isinstance(sigma, (bool, np.bool_)):
        raise InputError(f"sigma: expected a number, or one per direction, got {sigma!r}")
    if sigma is None:
        raise InputError("sigma: the noise intensity is needed; sigma^2 = 2 D, with D the diffusion constant")
    try:
        values = np.asarray(sigma, float)
    except (TypeError, ValueError):
        raise InputError(f"sigma: expected a number, or one per direction, got {sigma!r}") from None
    if values.ndim > 1 or values.size == 0:
        raise InputError(f"sigma: expected a number, or one per direction, got {sigma!r}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(f"sigma: expected a finite number of at least 0, got {sigma!r}")
    check_magnitude("sigma", *values.ravel().tolist())
    if values.ndim == 0:
        return float(values)
    if dim is not None and len(values) != dim:
        raise InputError(f"sigma: expected one number, or {dim} for {dim} directions, got {len(values)}: {sigma!r}")
    return tuple(values.tolist())


def is_unknown(sigma: Any) -> bool:
    """Whether the data are asked for it: None for one number, "diagonal" for one per direction."""
    return sigma is None or isinstance(sigma, str)


def is_per_direction(sigma: Any) -> bool:
    """Whether there is one per direction, known or not."""
    return sigma is not None and (isinstance(sigma, str) or np.ndim(sigma) > 0)


def check_setting(sigma: Any, dim: int | None = None) -> None:
    """Refuse what is neither a noise intensity nor a way to ask for it."""
    if isinstance(sigma, str) and sigma != DIAGONAL:
        raise InputError(
            f"sigma: expected a number, one per direction, 'diagonal' (to find one per direction) or None (to find one "
            f"for all), got {sigma!r}"
        )
    if not is_unknown(sigma):
        checked_sigma(sigma, dim)


def single_sigma(sigma: Any, who: str) -> float:
    """A noise intensity that must be the same in all directions."""
    value = checked_sigma(sigma)
    if isinstance(value, tuple):
        raise InputError(
            f"sigma: {who} takes one number for all directions, got {sigma!r}; SelfTest takes one per direction"
        )
    return value


def typical_sigma(sigma: Sigma) -> float:
    """One number for the size of the noise: the root mean square over the directions."""
    return float(np.sqrt(np.mean(np.square(sigma))))
