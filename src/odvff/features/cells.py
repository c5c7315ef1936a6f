"""Functions of one column from tables: a Taylor series in each cell of [0, 1].

A sum of F harmonics and a polynomial is analytic. With 36 F cells or more, (πF/n)⁸/8! < 1e-13: of the harmonics, seven
derivatives at the centre of a cell are enough, and they come from FFTs. A row costs the same however many there are.
"""

from typing import Any

import numpy as np
from numpy.polynomial import polynomial
from scipy.special import factorial

from odvff.support.shapes import Array, Float

DEGREE, CELLS = 7, 36
BLOCK_ROWS = 2**15  # in fewer, threads wait for each other's turn in the interpreter; more leave the cache


def taylor(cosines: Float[Array, "K F"], sines: Float[Array, "K F"], polynomials: Any) -> Float[Array, "K 8 n"]:
    """g^{(j)}/(j! nʲ) at the centres of n cells, of K functions g.

    They are Σ_m a_m cos 2πmt + b_m sin 2πmt + Σ_i p_i (t−½)^i: F harmonics and a few powers, a row for each function.
    """
    F = cosines.shape[1]
    n = 1 << (CELLS * F - 1).bit_length()
    m = np.arange(1, F + 1)
    u = (np.arange(n) + 0.5) / n - 0.5
    # Σ_m a_m cos mθ + b_m sin mθ = Re Σ_m (a_m − i b_m) e^{imθ}, half a cell on
    modes = 0.5 * n * (cosines - 1j * sines) * np.exp(1j * np.pi * m / n)
    order = np.arange(DEGREE + 1)
    derivatives = (2j * np.pi * m / n) ** order[:, None] / factorial(order)[:, None]
    spectrum = np.zeros((DEGREE + 1, n // 2 + 1), dtype=complex)
    tables = np.empty((len(modes), DEGREE + 1, n))
    for table, own, powers in zip(tables, modes, polynomials, strict=True):
        spectrum[:, 1 : F + 1] = own * derivatives
        table[:] = np.fft.irfft(spectrum, n)
        for j in range(len(powers)):
            table[j] += polynomial.polyval(u, polynomial.polyder(powers, j)) / (n**j * factorial(j))
    return tables


def evaluate(tables: Array, t: Float[Array, " N"], out: Array) -> Array:
    """Functions at positions t ∈ [0, 1], from their tables (K, 8, n), real or complex: (K, N), in `out`."""
    n = tables.shape[-1]
    for start in range(0, len(t), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        v = t[rows] * n
        cell = v.astype(np.intp)
        np.minimum(cell, n - 1, out=cell)  # t = 1 belongs to the last
        v -= cell
        v -= 0.5
        v, derivative = v.astype(tables.dtype, copy=False), np.empty(len(v), dtype=tables.dtype)
        # Horner's rule in every cell
        for value, table in zip(out[:, rows], tables, strict=True):
            table[DEGREE].take(cell, out=value, mode="clip")
            for row in table[DEGREE - 1 :: -1]:
                value *= v
                value += row.take(cell, out=derivative, mode="clip")
    return out
