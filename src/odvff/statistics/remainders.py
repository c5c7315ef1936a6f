"""The remainders R̂_k of the completed basis at many rows, from tables: a Taylor series in each cell of [0, 1].

R̂_k is a fixed function of t (a Bernoulli polynomial less its first F harmonics, scaled), analytic within [0, 1]. With
36 F cells or more, (πF/n)⁸/8! < 1e-13: seven derivatives at the centre of a cell are enough. They come from FFTs.
"""

from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from odvff.features.orthogonal import BERNOULLI_CENTRED, norms, scaled_coefficients

DEGREE, CELLS = 7, 36
BLOCK_ROWS = 2**15  # in fewer, threads wait for each other's turn in the interpreter; more leave the cache


def remainders(t: Any, n_harmonics: int, order: int, out: Any | None = None) -> Any:
    """R̂_1 + iR̂_2 and R̂_3 + i0 at positions t ∈ [0,1]: the s remainders two by two, of shape (⌈s/2⌉, N), in `out`."""
    if order == 0:  # the basis is not completed
        return np.zeros((0, len(t)), dtype=complex)
    tables = _tables(n_harmonics, order)
    values = np.empty((len(tables), len(t)), dtype=complex) if out is None else out
    for start in range(0, len(t), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        _evaluate(tables, t[rows], values[:, rows])
    return values


def _evaluate(tables: Any, t: Any, out: Any) -> None:
    """Horner's rule in every cell."""
    n = tables.shape[-1]
    v = t * n
    cell = v.astype(np.intp)
    np.minimum(cell, n - 1, out=cell)  # t = 1 belongs to the last
    v -= cell
    v -= 0.5
    v, derivative = v.astype(complex), np.empty(len(t), dtype=complex)
    for value, table in zip(out, tables, strict=True):
        table[DEGREE].take(cell, out=value, mode="clip")
        for row in table[DEGREE - 1 :: -1]:
            value *= v
            value += row.take(cell, out=derivative, mode="clip")


@lru_cache(maxsize=32)
def _tables(n_harmonics: int, order: int) -> Any:
    """R̂^{(j)}/(j! nʲ) at the centres of n cells, two remainders in one complex number: (⌈s/2⌉, 8, n)."""
    F, s = n_harmonics, order
    n = 1 << (CELLS * F - 1).bit_length()
    m = np.arange(1, F + 1)
    u = (np.arange(n) + 0.5) / n - 0.5
    # Σ_m a_m cos mθ + b_m sin mθ = Re Σ_m (a_m − i b_m) e^{imθ}, half a cell on
    cosines, sines = np.split(scaled_coefficients(F, s), 2, axis=1)
    modes = 0.5 * n * (cosines - 1j * sines) * np.exp(1j * np.pi * m / n)
    tables = np.zeros(((s + 1) // 2, DEGREE + 1, n), dtype=complex)
    spectrum = np.zeros(n // 2 + 1, dtype=complex)
    for k in range(s):
        pair = tables[k // 2].imag if k % 2 else tables[k // 2].real
        for j in range(DEGREE + 1):
            spectrum[1 : F + 1] = modes[k] * (2j * np.pi * m / n) ** j
            derivative = polynomial.polyval(u, polynomial.polyder(BERNOULLI_CENTRED[k], j)) / norms(F, s)[k] / n**j
            pair[j] = (np.fft.irfft(spectrum, n) + derivative) / factorial(j)
    return tables
