"""scikit-learn's BayesianRidge with default arguments."""

from sklearn.linear_model import BayesianRidge
from tables import asked, measure, numbers, standardised

split, _ = asked()
X, X_test = standardised(*numbers(split, one_hot=True))

measure(
    split,
    lambda: BayesianRidge().fit(X, split.y),
    lambda model: model.predict(X_test, return_std=True),
    "scikit-learn",
)
