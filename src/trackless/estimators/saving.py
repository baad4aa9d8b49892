"""What every estimator shares: scikit-learn's conventions, and a file."""

from __future__ import annotations

from pathlib import Path

from sklearn.base import BaseEstimator

from trackless._errors import InputError


class Saving(BaseEstimator):
    """An estimator that can be written as plain data once it is fitted."""

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the fitted estimator as plain data; :func:`trackless.load` reads it back."""
        if not any(name.endswith("_") for name in vars(self)):
            raise InputError("this estimator is not fitted yet, so there is nothing to save; call fit first")
        from trackless.files.results import save  # files know estimators, not the other way round

        save(self, path, overwrite)
