"""scikit-learn's GaussianProcessRegressor on as many rows as an exact process is quick for."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from tables import asked, measure, standardised

ROWS = 1500

split, seed = asked()
X, X_test = standardised(split.X, split.X_test)
some = np.random.default_rng([seed, 1]).permutation(len(X))[:ROWS]
kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=1.5) + WhiteKernel()

measure(
    split,
    lambda: GaussianProcessRegressor(kernel, random_state=seed).fit(X[some], split.y[some]),
    lambda model: model.predict(X_test, return_std=True),
    "scikit-learn",
)
