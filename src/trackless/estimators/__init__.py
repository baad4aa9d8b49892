"""Estimators: fit(snapshots) -> self, following scikit-learn's conventions."""
