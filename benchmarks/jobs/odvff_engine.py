"""`odvff_engine.py D F N PARTS…`: passes over N rows and the bound, beside the arithmetic that they cannot do without.

PARTS are of: product (statistics by matrix products), ready (ΦᵀΦ of a feature matrix that is there already), nufft
(statistics by non-uniform FFTs), transforms (FINUFFT's transforms of the same moments, and nothing else), bound (value
and gradient) and cholesky (of a matrix of its size). Seconds of each, for N rows.
"""

import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import finufft
import numpy as np
import scipy.linalg
from common import report
from threadpoolctl import ThreadpoolController
from timing import interleaved

from odvff import Fourier, Matern, Sum, Term
from odvff.inference import CollapsedBound
from odvff.statistics import collect

READY_ENTRIES = 2**28  # 2 GB
TOLERANCE, THREADS = 1e-9, 2
FEW, REPEATS = 20_000, 5


def terms_of(D: int, F: int) -> Sum:
    return Sum([Term(Matern(1.5, 0.3), Fourier(F, (0, 1)), [d]) for d in range(D)])


def rows_of(D: int, N: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (N, D))
    return X, np.sin(5 * X[:, 0]) + rng.standard_normal(N)


def transforms(X: Any, y: Any, F: int) -> Callable[[], None]:
    """Of every column the moments of 1 and y up to 2F and of two remainders, of every pair those of 1 up to F."""
    angles = [np.ascontiguousarray(2 * np.pi * x) for x in X.T]
    ones = np.ones(len(y), dtype=complex)
    strengths = np.stack([ones + 1j * y] + [ones] * X.shape[1])

    def run() -> None:
        for angle in angles:
            finufft.nufft1d1(angle, strengths, n_modes=4 * F + 1, eps=TOLERANCE, isign=1, nthreads=THREADS)
        for a, b in combinations(angles, 2):
            finufft.nufft2d1(a, b, ones, n_modes=(2 * F + 1,) * 2, eps=TOLERANCE, isign=1, nthreads=THREADS)

    return run


def ready_product(n: int, N: int) -> tuple[Callable[[], Any], float]:
    """ΦᵀΦ of as many rows as memory holds, and what to multiply its time with for all."""
    Phi = np.random.default_rng(1).standard_normal((min(N, READY_ENTRIES // n), n))
    return lambda: Phi.T @ Phi, N / len(Phi)


def one_thread(function: Callable[[], Any]) -> Callable[[], Any]:
    controller = ThreadpoolController()  # looking for libraries takes milliseconds, which are not theirs

    def run() -> Any:
        with controller.limit(limits=1, user_api="blas"):
            return function()

    return run


def bound(terms: Sum, X: Any, y: Any) -> Callable[[], Any]:
    f = CollapsedBound(terms, collect(terms, [(X[:FEW], y[:FEW])]))
    parameters = np.concatenate([*f.blocks.start, [0.0]])
    return one_thread(lambda: f(parameters))


def cholesky(n: int) -> Callable[[], Any]:
    K = np.random.default_rng(2).standard_normal((n, n)) / np.sqrt(n)
    K = K @ K.T + np.eye(n)
    return one_thread(lambda: scipy.linalg.cholesky(K, lower=True))


def main(D: int, F: int, N: int, parts: list[str]) -> None:
    terms, (X, y) = terms_of(D, F), rows_of(D, N)
    n = terms.Kuu().size
    makers: dict[str, Callable[[], tuple[Callable[[], Any], float]]] = {
        "product": lambda: (lambda: collect(terms, [(X, y)], engine="product"), 1.0),
        "ready": lambda: ready_product(n, N),
        "nufft": lambda: (lambda: collect(terms, [(X, y)], engine="nufft"), 1.0),
        "transforms": lambda: (transforms(X, y, F), 1.0),
        "bound": lambda: (bound(terms, X, y), 1.0),
        "cholesky": lambda: (cholesky(n), 1.0),
    }
    made = {part: makers[part]() for part in parts}
    seconds = interleaved({part: work for part, (work, _) in made.items()}, REPEATS)
    seconds = {part: seconds[part] * scale for part, (_, scale) in made.items()}
    report("odvff", "numpy", "scipy", "finufft", features=n, rows=N, took=seconds)


if __name__ == "__main__":
    D, F, N = map(int, sys.argv[1:4])
    main(D, F, N, sys.argv[4:])
