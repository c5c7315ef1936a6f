"""scikit-learn estimators: three lines from a table to a model."""

from odvff.support.deferred import deferred

with deferred("asyncio", "numpy.f2py", "numpy.testing", "pandas", "pydoc", "scipy.spatial", "scipy.stats"):
    from odvff.estimators.classifier import ODVFFClassifier
    from odvff.estimators.regressor import ODVFFRegressor

__all__ = ["ODVFFClassifier", "ODVFFRegressor"]
