"""Statistics by matrix products: features of a few thousand rows at a time, multiplied with themselves.

The product is symmetric, and BLAS does it with half the work. BLAS is held to one thread; the parallelism is over rows,
each thread with its own sum, added in a fixed order so that the same data give the same bits.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from odvff.statistics.basis import fill_features
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum

ROWS_A_THREAD = 2048  # fewer are done before a thread has begun
# long calls are few; 32 MB of features at a time
MOST_ROWS, LEAST_ROWS, BLOCK_ENTRIES = 8192, 512, 2**22


def moments_by_product(terms: Sum, X: Any, Y: Any, weights: Any | None, n_threads: int) -> Any:
    """Σ w z zᵀ, z = (φ̂, 1, y), of rows inside the box."""
    n_threads = max(1, min(n_threads, -(-len(X) // ROWS_A_THREAD)))
    if n_threads == 1:
        with one_blas_thread():
            return _sum(terms, X, Y, weights)
    edges = np.linspace(0, len(X), n_threads + 1).astype(int)
    pieces = [slice(lo, hi) for lo, hi in pairwise(edges)]
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        sums = pool.map(lambda s: _sum(terms, X[s], Y[s], None if weights is None else weights[s]), pieces)
        return sum(sums)


def _sum(terms: Sum, X: Any, Y: Any, weights: Any | None) -> Any:
    n = terms.size
    block = min(max(LEAST_ROWS, min(MOST_ROWS, BLOCK_ENTRIES // n)), len(X))
    buffer = np.empty((n + 1 + Y.shape[1], block))
    total = np.zeros((len(buffer), len(buffer)))
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        Z = buffer[:, : len(X[rows])]
        fill_features(terms, X[rows], Z)
        Z[n] = 1.0
        Z[n + 1 :] = Y[rows].T
        if weights is not None:
            Z *= np.sqrt(weights[rows])
        total += Z @ Z.T
    return total
