"""Statistics by matrix products: features of a few thousand rows at a time, multiplied with themselves.

The product is symmetric, and BLAS does it with half the work. BLAS is held to one thread; the parallelism is over rows,
each thread with its own sum, added in a fixed order so that the same data give the same bits.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np

from odvff.rows import row_slices
from odvff.statistics.basis import fill_features
from odvff.statistics.sums import Rows
from odvff.support.shapes import Array, Float
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum

ROWS_A_THREAD = 2048  # fewer are done before a thread has begun
# long calls are few; 32 MB of features at a time
MOST_ROWS, LEAST_ROWS, BLOCK_ENTRIES = 8192, 512, 2**22


def moments_by_product(terms: Sum, rows: Rows, n_threads: int) -> Float[Array, "K K"]:
    """Σ w z zᵀ, z = (φ̂, 1, y), of rows inside the box."""

    def sums(part: Rows) -> Any:
        return reduce(iadd, (Z @ Z.T for Z in blocks_of_z(terms, part)))

    n_threads = min(n_threads, -(-len(rows) // ROWS_A_THREAD))
    with one_blas_thread():
        if n_threads == 1:
            return sums(rows)
        with ThreadPoolExecutor(n_threads) as pool:
            return sum(pool.map(sums, (rows[part] for part in row_slices(len(rows), -(-len(rows) // n_threads)))))


def blocks_of_z(terms: Sum, rows: Rows) -> Iterator[Float[Array, "K N"]]:
    """√w z of a few thousand rows inside the box at a time, each in the place of the one before."""
    n = terms.size
    block = min(max(LEAST_ROWS, min(MOST_ROWS, BLOCK_ENTRIES // n)), len(rows))
    buffer = np.empty((n + 1 + rows.Y.shape[1], block))
    for part in row_slices(len(rows), block):
        own = rows[part]
        Z = buffer[:, : len(own)]
        fill_features(terms, own.X, Z)
        Z[n] = 1.0
        Z[n + 1 :] = own.Y.T
        if own.weights is not None:
            Z *= np.sqrt(own.weights)
        yield Z
