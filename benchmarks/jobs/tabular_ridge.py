"""scikit-learn's BayesianRidge with default arguments."""

from sklearn.linear_model import BayesianRidge

from tables import asked, measure, standardised

split, _ = asked()
X, X_test = standardised(split.X, split.X_test)

measure(
    split,
    lambda: BayesianRidge().fit(X, split.y),
    lambda model: model.predict(X_test, return_std=True),
    "scikit-learn",
)
