"""Rows drawn from Gaussian processes, as the paper describes them.

The text says: an ARD Matérn-3/2 kernel with ℓ = 0.1 in every column and variance 1, noise variance 0.2, and an additive
model. Its numbers decide for the first of three readings: in D = 5 and 10 all methods have the same RMSE, which is so
if there is nothing additive to find; and in D = 1 the RMSE of 0.21 says that 0.2 is the noise's standard deviation.
(The spread of y is 1.3 and 1.5 in the paper, which is that of no reading: 1.0, 1.1, and 2.3 or 3.2.)

- `product`: one function of all columns, noise of standard deviation 0.2;
- `product, noise variance 0.2`: the same with as much noise as the text says;
- `additive`: a sum of one function for each column, noise of variance 0.2, in which there is everything to find.
"""

from typing import Any

import numpy as np
from benchmarks.synthetic import matern32_path

LENGTHSCALE, SMOOTHNESS = 0.1, 1.5
# and the standard deviation of their noise
READINGS = {"product": 0.2, "product, noise variance 0.2": 0.2**0.5, "additive": 0.2**0.5}
TITLES = {
    "product": "one function of all columns",
    "product, noise variance 0.2": "one function of all columns, noise variance 0.2",
    "additive": "a sum of one function for each column, noise variance 0.2",
}
WAVES, BLOCK = 4000, 4096
TEST_ROWS = 1000

Rows = tuple[Any, Any]


def draw(reading: str, D: int, n_rows: int, seed: int, n_test: int = TEST_ROWS) -> tuple[Rows, Rows]:
    """Training and test rows of one function, uniform in [0,1]ᴰ."""
    rng = np.random.default_rng([seed, D, n_rows])
    X = rng.uniform(0, 1, (n_rows + n_test, D))
    if reading == "additive" or D == 1:
        f = sum(matern32_path(X[:, d], LENGTHSCALE, 1.0, rng) for d in range(D))
    else:
        f = _waves(X, rng)
    y = f + READINGS[reading] * rng.standard_normal(len(X))
    return (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])


def _waves(X: Any, rng: np.random.Generator) -> Any:
    """A function with the ARD Matérn kernel: many waves of random frequencies, which are multivariate t by Bochner's
    theorem (2ν degrees of freedom, scale 1/ℓ)."""
    degrees = 2 * SMOOTHNESS
    tails = np.sqrt(degrees / rng.chisquare(degrees, WAVES))
    frequencies = rng.standard_normal((X.shape[1], WAVES)) * tails / LENGTHSCALE
    phases, amplitudes = rng.uniform(0, 2 * np.pi, WAVES), rng.standard_normal(WAVES)
    f = np.empty(len(X))
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        f[rows] = np.cos(X[rows] @ frequencies + phases) @ amplitudes
    return np.sqrt(2 / WAVES) * f
