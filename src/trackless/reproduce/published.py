"""The paper's published numbers, from the one file that holds them."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

AGREES = 2.0  # combined standard deviations, or standard errors of means
TRIALS = 10  # sets behind a published mean
SOURCES = {
    "method_comparison": "Table 2 (tab:dt_obs_sweep)",
    "boundary": "Table 4 (tab:boundary_results)",
    "condition_models": "Table 5 (tab:cond_all)",
    "sample_size_left": "Table 6 a (tab:M_scaling)",
    "sample_size_trapezoid": "Table 6 b (tab:M_scaling)",
    "sample_size_zero_gap": "Table 6 c (tab:M_scaling)",
    "condition_grid": "Table 7 (tab:cond_number)",
    "non_radial": "section on non-radial potentials, text",
}


class Published(NamedTuple):
    """A mean over trials and their standard deviation (NaN where the paper gives none)."""

    mean: float
    std: float

    def off(self, ours: NDArray[np.float64]) -> float:
        """How far the mean of our trials is from this one, in combined standard deviations; NaN if that is unknown.

        Examples
        --------
        >>> Published(1.0, 0.3).off(np.array([1.3, 1.7, 2.1]))
        1.4
        """
        return float((ours.mean() - self.mean) / np.hypot(self.std, ours.std(ddof=1))) if len(ours) > 1 else np.nan

    def error(self, ours: NDArray[np.float64]) -> float:
        """Standard error of the difference of the means."""
        own = ours.std(ddof=1) / np.sqrt(len(ours)) if len(ours) > 1 else 0.0
        return float(np.hypot(self.std / np.sqrt(TRIALS), own))

    def alike(self, ours: NDArray[np.float64]) -> bool:
        """Whether the means are within two standard errors: a much harder question than that of ``off``."""
        return bool(abs(ours.mean() - self.mean) <= AGREES * self.error(ours))


def published(table: str, quantity: str, **where: object) -> Published | None:
    """One number of a table; None where the table has no such cell.

    Parameters
    ----------
    table : str
        A key of ``SOURCES``.
    quantity : str
        "external" and "interaction" are gradient errors in %; "..._slope" is a rate.
    **where
        Other columns of the file: model, method, dim, particles, runs, step, interval.

    Examples
    --------
    >>> published("method_comparison", "interaction", method="self_test", interval=0.01)
    Published(mean=1.1, std=0.17)
    """
    wanted = {"table": table, "quantity": quantity} | where
    found = [row for row in _rows() if all(_same(row[name], value) for name, value in wanted.items())]
    if len(found) > 1:
        raise ValueError(f"{wanted} is not one cell but {len(found)}")
    if not found:
        return None
    return Published(float(found[0]["mean"]), float(found[0]["std"] or "nan"))


@cache
def _rows() -> tuple[dict[str, str], ...]:
    text = (files("trackless.reproduce") / "published.csv").read_text()
    return tuple(csv.DictReader(text.splitlines()))


def _same(there: str, wanted: object) -> bool:
    if isinstance(wanted, str):
        return there == wanted
    return there != "" and abs(float(there) - float(wanted)) <= 1e-9 * abs(float(there))  # type: ignore[arg-type]
