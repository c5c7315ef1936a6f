"""Cosines and sines of many rows."""

import numpy as np

from odvff.support.arrays import Array, concatenate, namespace


def harmonics(t: Array, n_harmonics: int, out: Array | None = None) -> Array:
    """cos 2πmt and then sin 2πmt for m = 1…F: for t of shape (…, N) of shape (…, 2F, N), into `out` if it is given.

    On NumPy by doubling, e^{i(m+k)θ} = e^{imθ} e^{ikθ}: one cosine and one sine for each row, and a rounding error that
    grows no faster than the error of mθ itself.
    """
    F, xp = n_harmonics, namespace(t)
    if xp is not np:
        cycles = np.arange(1, F + 1)[:, None] * t
        phase = 2 * np.pi * (cycles - xp.round(cycles))  # whole turns removed before they cost digits
        return concatenate([xp.cos(phase), xp.sin(phase)])
    *many, n_rows = t.shape
    out = np.empty((*many, 2 * F, n_rows)) if out is None else out
    C, S, product = out[..., :F, :], out[..., F:, :], np.empty((*many, (F + 1) // 2, n_rows))
    theta = t - np.round(t)
    theta *= 2 * np.pi
    np.cos(theta, out=C[..., 0, :])
    np.sin(theta, out=S[..., 0, :])
    k = 1
    while k < F:
        n = min(k, F - k)
        low, high = slice(0, n), slice(k, k + n)
        c, s = C[..., k - 1 : k, :], S[..., k - 1 : k, :]
        np.multiply(C[..., low, :], c, out=C[..., high, :])
        C[..., high, :] -= np.multiply(S[..., low, :], s, out=product[..., low, :])
        np.multiply(S[..., low, :], c, out=S[..., high, :])
        S[..., high, :] += np.multiply(C[..., low, :], s, out=product[..., low, :])
        k += n
    return out
