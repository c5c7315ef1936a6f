"""scikit-learn estimators: three lines from a table to a model."""

from odvff.support.deferred import UNUSED, deferred

with deferred(*UNUSED):
    from odvff.estimators.classifier import ODVFFClassifier
    from odvff.estimators.regressor import ODVFFRegressor

__all__ = ["ODVFFClassifier", "ODVFFRegressor"]
