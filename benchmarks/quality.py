"""What can be reached on the synthetic rows: the Gaussian process with the true parameters."""

from typing import Any

import numpy as np

from benchmarks.synthetic import LENGTHSCALE, NOISE, Rows, Scores, scores
from odvff import Fourier, Matern, Posterior, Sum, Term
from odvff.inference import CollapsedBound
from odvff.statistics import collect

# so many harmonics that more change nothing in the fourth decimal
ORACLE_HARMONICS = {1: 400, 5: 250, 10: 150}


def oracle(rows: Rows) -> Scores:
    """The Gaussian process with the parameters that made the rows."""
    D = rows.X.shape[1]
    kernel = Matern(1.5, LENGTHSCALE, 1.0)
    terms = Sum([Term(kernel, Fourier(ORACLE_HARMONICS[D], (0, 1)), [d]) for d in range(D)])
    bound = CollapsedBound(terms, collect(terms, [(rows.X, rows.y)]))
    optimum = bound(np.concatenate([*bound.blocks.start, [np.log(NOISE)]]))
    return score(Posterior(terms, optimum.mean, optimum.inverse_root.T), NOISE, rows)


def score(posterior: Posterior, noise: Any, rows: Rows) -> Scores:
    mean, variance = posterior.predict(rows.X_test)
    return scores(mean, variance + noise, rows.y_test)
