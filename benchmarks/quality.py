"""How good the fits are on the paper's synthetic rows, against the Gaussian process with the true parameters."""

import time
from typing import Any

import numpy as np

from benchmarks.synthetic import LENGTHSCALE, NOISE, Rows, Scores, additive_rows, scores
from odvff import Fourier, Matern, Posterior, Sum, Term
from odvff.inference import CollapsedBound, fit_collapsed
from odvff.methods import Options, fit_method
from odvff.statistics import collect
from odvff.statistics.basis import orthogonal

# so many harmonics that more change nothing in the fourth decimal
ORACLE_HARMONICS = {1: 400, 5: 250, 10: 150}


def oracle(rows: Rows) -> Scores:
    """The Gaussian process with the parameters that made the rows."""
    D = rows.X.shape[1]
    kernel = Matern(1.5, LENGTHSCALE, 1.0)
    terms = Sum([Term(kernel, Fourier(ORACLE_HARMONICS[D], (0, 1)), [d]) for d in range(D)])
    bound = CollapsedBound(Sum([orthogonal(term) for term in terms]), collect(terms, [(rows.X, rows.y)]))
    optimum = bound(np.concatenate([*(block.parameters() for block in bound.blocks), [np.log(NOISE)]]))
    return score(Posterior(terms, optimum.mean, optimum.inverse_root.T), NOISE, rows)


def score(posterior: Posterior, noise: Any, rows: Rows) -> Scores:
    mean, variance = posterior.predict(rows.X_test)
    return scores(mean, variance + noise, rows.y_test)


def accuracy() -> None:
    """Collapsed fits with 40 harmonics against the true-parameter process: within 0.005, coverage 0.94–0.96."""
    for D in (1, 5, 10):
        rows = additive_rows(D)
        terms = [Term(Matern(1.5), Fourier(40, (0, 1)), [d]) for d in range(D)]
        fit = fit_collapsed(terms, collect(terms, [(rows.X, rows.y)]))
        ours, best = score(fit.posterior, fit.noise, rows), oracle(rows)
        print(f"D={D:2d}  true parameters: {best}")
        print(f"D={D:2d}  collapsed:       {ours}")
        print(f"D={D:2d}  difference {ours.log_density - best.log_density:+.4f} (at least −0.005)", flush=True)


def stochastic() -> None:
    """The paper's setting: batches of 500, 8000 steps, 100 functions in all; coverage at least 0.93."""
    for D in (1, 5, 10):
        rows = additive_rows(D)
        for method, n_harmonics, n_beta, n_gamma in (("odvff", 5, 0, 90), ("odvgp", 0, 50, 50), ("svgp", 0, 100, 0)):
            options = Options(
                inference="stochastic", n_harmonics=n_harmonics, n_beta=n_beta, n_gamma=n_gamma, n_steps=8000
            )
            began = time.perf_counter()
            fit = fit_method(method, rows.X, rows.y, options).fit
            result = score(fit.posterior, fit.noise, rows)
            seconds = time.perf_counter() - began
            print(f"D={D:2d}  {method}: {result}, noise {fit.noise:.4f}, {seconds:.0f} s", flush=True)


QUALITY = {"accuracy": accuracy, "stochastic": stochastic}
