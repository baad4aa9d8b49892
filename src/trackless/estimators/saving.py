"""What every estimator shares: scikit-learn's conventions, and a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from trackless._errors import InputError


class Saving(BaseEstimator):
    """An estimator that can be written as plain data once it is fitted."""

    def _check_fitted(self, otherwise: str = "") -> None:
        if not any(name.endswith("_") for name in vars(self)):
            raise InputError(f"this estimator is not fitted yet{otherwise}; call fit first")

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the fitted estimator as plain data; :func:`trackless.load` reads it back."""
        self._check_fitted(", so there is nothing to save")
        from trackless.files.results import save  # files know estimators, not the other way round

        save(self, path, overwrite)

    def report(self, path: str | Path, snapshots: Any, **options: Any) -> Path:
        """Write a page about the fit to ``path``; ``options`` are those of :func:`trackless.report`."""
        self._check_fitted(", so there is nothing to report")
        from trackless.reporting import report  # which knows estimators, plots and simulations

        return report(self, snapshots, path, **options)
