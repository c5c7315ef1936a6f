"""Many rows of one column replaced by weights at fixed nodes.

[0, 1] is cut into n cells, in each of which a product of two features is a polynomial through its values at K
Chebyshev nodes u_i, with an error below (2πF/n)ᴷ/(K! 2ᴷ⁻¹) < 1e-12 of its size:

    g(v) = Σ_i g(u_i) ℓ_i(v)   ⇒   Σ_rows w g(v) = Σ_i ω_i g(u_i),   Σ_i ω_i u_iʲ = Σ_rows w vʲ for j < K.

A row costs K sums in its cell, however many harmonics there are, and what is asked of the nodes costs nothing by rows.
Sums of powers of several parts of the rows may be added.
"""

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.sparse import csc_array

from odvff.support.shapes import Array, Float

K, CELLS = 10, 12  # nodes in a cell, cells for each harmonic: eight nodes would need 29 cells, which leave the cache


def nodes_pay(n_harmonics: int, n_rows: int) -> bool:
    """Are there so many rows, more than twice the nodes, that replacing them is worth while?"""
    return n_rows >= 2 * K * CELLS * n_harmonics


def nodes(n_harmonics: int) -> Float[Array, "K n"]:
    """Positions t ∈ [0, 1] of the nodes, row i for the i-th of each cell."""
    n = CELLS * n_harmonics
    return (np.arange(n) + (1 + chebyshev.chebpts1(K)[:, None]) / 2) / n


def powers_in_cells(t: Float[Array, " N"], strengths: Any, n_harmonics: int) -> Any:
    """Σ_rows w vʲ in every cell, j < K, for rows at t ∈ [0, 1] and several strengths w, complex: (P, K, n)."""
    n = CELLS * n_harmonics
    v = t * n
    cell = v.astype(np.int32)
    np.clip(cell, 0, n - 1, out=cell)  # t = 1 belongs to the last
    v -= cell
    v *= 2
    v -= 1
    v = v.astype(complex)
    sums = np.empty((len(strengths), K, n), dtype=complex)
    ends, one = np.array([0, len(t)], dtype=np.int32), np.ones(1)
    for own, w in zip(sums, strengths, strict=True):
        # a sparse column with many entries in a place is their sum: in one pass, side by side with other threads'
        scattered = csc_array((w.copy(), cell, ends), shape=(n, 1))
        own[0] = scattered @ one
        for j in range(1, K):
            scattered.data *= v
            own[j] = scattered @ one
    return sums


def weights_at_nodes(powers: Array) -> Array:
    """ω of the nodes, (P, K, n), from the sums of powers."""
    # Σ_i ω_i u_iʲ = Σ_rows w vʲ; the sums of high powers matter the less: nothing is lost by an inverse
    vandermonde = polynomial.polyvander(chebyshev.chebpts1(K), K - 1)
    return np.linalg.inv(vandermonde.T) @ powers


def modes_of_nodes(weights: Float[Array, "P K n"], n_harmonics: int) -> Any:
    """Σ ω e^{ikθ} at the nodes, 0 ≤ k ≤ 2F, for real ω: (P, 2F+1)."""
    k = np.arange(2 * n_harmonics + 1)
    # θ = 2π(t_i + c/n) for node i of cell c: an FFT over the cells for each i
    over_cells = np.fft.rfft(weights)[..., : len(k)].conj()
    return (over_cells * np.exp(2j * np.pi * nodes(n_harmonics)[:, :1] * k)).sum(1)
