"""The remainders R̂_k of the completed basis at many rows, from tables: they are fixed functions of t."""

from functools import lru_cache
from typing import Any

import numpy as np

from odvff.features.cells import evaluate, taylor
from odvff.features.remainders import harmonic_form


def remainders(t: Any, n_harmonics: int, order: int, out: Any | None = None) -> Any:
    """R̂_1 + iR̂_2 and R̂_3 + i0 at positions t ∈ [0,1]: the s remainders two by two, of shape (⌈s/2⌉, N), in `out`."""
    if order == 0:  # the basis is not completed
        return np.zeros((0, len(t)), dtype=complex)
    tables = _tables(n_harmonics, order)
    return evaluate(tables, t, np.empty((len(tables), len(t)), dtype=complex) if out is None else out)


@lru_cache(maxsize=32)
def _tables(n_harmonics: int, order: int) -> Any:
    """Two remainders in one complex number: (⌈s/2⌉, 8, n)."""
    real = taylor(*harmonic_form(n_harmonics, order))
    tables = np.zeros(((order + 1) // 2, *real.shape[1:]), dtype=complex)
    tables.real, tables.imag[: order // 2] = real[::2], real[1::2]
    return tables
