"""Statistics of harmonics by non-uniform FFTs, at a cost that hardly depends on their number.

Harmonics multiply into harmonics: with θ = 2πt, Σ w cos iθ cos jθ = ½ Σ w [cos(i−j)θ + cos(i+j)θ]. So

- a column's own block follows from the moments Σ w e^{ikθ}, |k| ≤ 2F: one 1-D transform;
- the block of a pair of columns from Σ w e^{i(kθ + lφ)}, |k|, |l| ≤ F: one 2-D transform;
- a column against anything that is no harmonic (1, y, remainders R̂, levels) from a 1-D transform with that as strength;
- a separable term's own block from d-dimensional transforms with |k_i| ≤ 2F and products of remainders as strengths.

Two real strengths travel as one complex one. The remainders are themselves sums of harmonics less a polynomial,
evaluated by a transform of type 2.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import Any

import finufft
import numpy as np
from threadpoolctl import threadpool_limits

from odvff.features import Fourier, Kronecker, Levels
from odvff.features.orthogonal import OrthogonalFourier, bernoulli, norms, scaled_coefficients
from odvff.kernels import matern, separable
from odvff.statistics.basis import fill_features
from odvff.terms import Sum, Term

# of the sums, relative to the largest; and of the remainders, which are small differences of large sums
TOLERANCE, REMAINDER_TOLERANCE = 1e-11, 1e-14
BLOCK_ROWS = 2**19


def moments_by_nufft(terms: Sum, X: Any, Y: Any, weights: Any | None, n_threads: int) -> Any:
    """Σ w z zᵀ, z = (φ̂, 1, y), of rows inside the box: blocks of rows side by side, one thread for each."""
    n_blocks = max(n_threads, -(-len(X) // BLOCK_ROWS))
    edges = np.linspace(0, len(X), n_blocks + 1).astype(int)
    blocks = [slice(lo, hi) for lo, hi in pairwise(edges) if hi > lo]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        sums = pool.map(lambda s: _block_moments(terms, X[s], Y[s], None if weights is None else weights[s], 1), blocks)
        return sum(sums)


def _options(n_threads: int, tolerance: float = TOLERANCE) -> dict[str, Any]:
    # the finer grid is the faster one here: spreading costs more than the FFT
    return {"eps": tolerance, "isign": 1, "nthreads": n_threads, "upsampfac": 2.0}


def _pack(real: Any) -> Any:
    """Two real rows as one complex one."""
    packed = np.empty(((len(real) + 1) // 2, real.shape[1]), dtype=complex)
    packed.real = real[0::2]
    packed.imag[: len(real) // 2] = real[1::2]
    packed.imag[len(real) // 2 :] = 0.0
    return packed


class _Column:
    """One column's harmonics in a Fourier term: angles, number, and remainders."""

    def __init__(self, features: Any, smoothness: float, x: Any, n_threads: int):
        fourier = features.fourier if isinstance(features, OrthogonalFourier) else features
        self.n_harmonics = fourier.n_harmonics
        self.t = (x - fourier.interval[0]) / fourier.length
        self.angles = 2 * np.pi * self.t
        self.n_threads = n_threads
        self.n_remainders = int(smoothness + 0.5) if isinstance(features, OrthogonalFourier) else 0
        self.remainders = self._evaluate_remainders()

    def _evaluate_remainders(self) -> Any:
        """R̂_k at the rows, (s, N)."""
        s, F = self.n_remainders, self.n_harmonics
        if s == 0:
            return np.zeros((0, len(self.t)))
        cosines, sines = np.split(scaled_coefficients(F, s), 2, axis=1)
        # Σ_m a_m cos mθ + b_m sin mθ = Re Σ_m (a_m − i b_m) e^{imθ}; two of these in one transform
        half = 0.5 * (cosines - 1j * sines)
        modes = np.concatenate([half[:, ::-1].conj(), np.zeros((s, 1)), half], axis=1)
        packed = modes[0::2].astype(complex)
        packed[: len(modes[1::2])] += 1j * modes[1::2]
        options = _options(self.n_threads, REMAINDER_TOLERANCE)
        values = np.atleast_2d(finufft.nufft1d2(self.angles, packed, **options))
        series = np.empty((s, len(self.t)))
        series[0::2] = values.real
        series[1::2] = values.imag[: s // 2]
        return series + bernoulli(self.t, s) / norms(F, s)[:, None]

    def transform(self, packed: Any, n: int, n_modes: int) -> Any:
        """Σ strengths[a] e^{ikθ} for k = 0…n_modes and n real strengths that were packed, of shape (n, n_modes + 1)."""
        f = finufft.nufft1d1(self.angles, packed, n_modes=2 * n_modes + 1, **_options(self.n_threads))
        f = np.atleast_2d(f)
        forward, backward = f[:, n_modes:], f[:, n_modes::-1].conj()
        out = np.empty((n, n_modes + 1), dtype=complex)
        out[0::2] = (forward + backward) / 2
        out[1::2] = ((forward - backward) / 2j)[: n // 2]
        return out


def _block_moments(terms: Sum, X: Any, Y: Any, w: Any | None, n_threads: int) -> Any:
    layout = terms.Kuu().slices
    n = layout[-1].stop
    moments = np.zeros((n + 1 + Y.shape[1],) * 2)

    # what is no harmonic: 1 (the constant of every Fourier term too), y, remainders, levels
    strengths, places = [np.ones((1, len(X))), Y.T], [[n], *([n + 1 + j] for j in range(Y.shape[1]))]
    columns: dict[int, tuple[_Column, int]] = {}  # first harmonic's place
    for term, s in zip(terms, layout, strict=True):
        if isinstance(term.features, Levels):
            strengths.append(term.features.inside(term.select(X)))
            places += [[i] for i in range(s.start, s.stop)]
        elif isinstance(term.features, Fourier | OrthogonalFourier):
            column = _Column(term.features, matern(term.kernel).smoothness, term.select(X)[:, 0], n_threads)
            columns[s.start] = (column, s.start + 1)
            places[0].append(s.start)
            strengths.append(column.remainders)
            places += [[i] for i in range(s.stop - column.n_remainders, s.stop)]
    E = np.concatenate(strengths)
    Ew = E if w is None else E * w
    packed = _pack(Ew)
    w = Ew[0]
    _scatter(moments, places, places, Ew @ E.T)

    for column, first in columns.values():
        F = column.n_harmonics
        harmonics = [[i] for i in range(first, first + 2 * F)]
        # the weights' own moments are needed up to 2F, the others' up to F
        all_modes = column.transform(packed, len(E), 2 * F)
        others = all_modes[:, 1 : F + 1]
        _scatter(moments, places, harmonics, np.concatenate([others.real, others.imag], axis=1))
        _scatter(moments, harmonics, harmonics, _own_block(all_modes[0], F))
    for (a, i), (b, j) in combinations(columns.values(), 2):
        rows, columns_ = ([[p] for p in range(q, q + 2 * c.n_harmonics)] for c, q in ((a, i), (b, j)))
        _scatter(moments, rows, columns_, _pair_block(a, b, w))
    for term, s in zip(terms, layout, strict=True):
        if isinstance(term.features, Kronecker):
            moments[s, s] = _kronecker_block(term, X, w, n_threads)
            _kronecker_against_the_rest(terms, layout, term, s, X, Y, w, moments)
    return moments


def _scatter(moments: Any, rows: list[list[int]], columns: list[list[int]], block: Any) -> None:
    """Put a block at all its places, and its transpose at theirs."""
    row_index, row_of = _flatten(rows)
    column_index, column_of = _flatten(columns)
    values = block[np.ix_(row_of, column_of)]
    moments[np.ix_(row_index, column_index)] = values
    moments[np.ix_(column_index, row_index)] = values.T


def _flatten(places: list[list[int]]) -> tuple[list[int], list[int]]:
    return [p for group in places for p in group], [i for i, group in enumerate(places) for _ in group]


def _own_block(m: Any, F: int) -> Any:
    """Σ w h_i h_j for the harmonics (cosines, then sines) from the moments m_k = Σ w e^{ikθ}, k = 0…2F."""
    i = np.arange(1, F + 1)
    total, difference = i[:, None] + i, i[:, None] - i
    C_sum, S_sum = m.real[total], m.imag[total]
    C_difference, S_difference = m.real[np.abs(difference)], np.sign(difference) * m.imag[np.abs(difference)]
    cos_cos, sin_sin = (C_difference + C_sum) / 2, (C_difference - C_sum) / 2
    sin_cos = (S_sum + S_difference) / 2  # sine of i, cosine of j
    return np.block([[cos_cos, sin_cos.T], [sin_cos, sin_sin]])


def _pair_block(a: _Column, b: _Column, w: Any) -> Any:
    """Σ w h_i(x) h_j(y) for the harmonics of two columns."""
    F, G = a.n_harmonics, b.n_harmonics
    modes = finufft.nufft2d1(
        a.angles, b.angles, w.astype(complex), n_modes=(2 * F + 1, 2 * G + 1), **_options(a.n_threads)
    )
    plus = modes[F + 1 :, G + 1 :]  # e^{i(kθ + lφ)}
    minus = modes[F + 1 :, G - 1 :: -1]  # e^{i(kθ − lφ)}
    return 0.5 * np.block([[(plus + minus).real, (plus - minus).imag], [(plus + minus).imag, (minus - plus).real]])


def _kronecker_block(term: Term, X: Any, w: Any, n_threads: int) -> Any:
    """The own block of a separable term: Σ w Π_d φ_{i_d}(x_d) φ_{j_d}(x_d)."""
    kernels = separable(term.kernel, len(term.features.factors))  # type: ignore[attr-defined]
    selected = term.select(X)
    columns = [
        _Column(f, k.smoothness, selected[:, d], n_threads)
        for d, (f, k) in enumerate(zip(term.features.factors, kernels, strict=True))  # type: ignore[attr-defined]
    ]
    products = [_products(column) for column in columns]
    sizes = [1 + 2 * c.n_harmonics + c.n_remainders for c in columns]
    d = len(columns)
    block = np.zeros([*sizes, *sizes])
    transform = {2: finufft.nufft2d1, 3: finufft.nufft3d1}[d]
    n_modes = tuple(4 * c.n_harmonics + 1 for c in columns)
    for choice in np.ndindex(*(len(p) for p in products)):
        chosen = [p[i] for p, i in zip(products, choice, strict=True)]
        strength = w.astype(complex)
        for product in chosen:
            strength = strength * product.strength
        modes = transform(*(c.angles for c in columns), strength, n_modes=n_modes, **_options(n_threads))
        # contract every axis with the coefficients that turn e^{ikθ} into products of features
        for product in chosen:
            modes = np.tensordot(modes, product.coefficients, axes=([0], [0]))
        shape = [size for product in chosen for size in product.shape]
        part = modes.real.reshape(shape)
        order = [*range(0, 2 * d, 2), *range(1, 2 * d, 2)]
        index = np.ix_(*(p.rows for p in chosen), *(p.columns for p in chosen))
        block[index] += part.transpose(order)
    n = int(np.prod(sizes))
    return block.reshape(n, n)


class _Product:
    """Products φ_iφ_j of one column's features that share a strength: Σ_k coefficients[k, ij] e^{ikθ} times it."""

    def __init__(self, rows: Any, columns: Any, strength: Any, coefficients: Any):
        self.rows, self.columns, self.strength, self.coefficients = rows, columns, strength, coefficients
        self.shape = (len(rows), len(columns))


def _products(column: _Column) -> list[_Product]:
    F, s = column.n_harmonics, column.n_remainders
    exponential = _exponentials(F)  # (2F+1 modes, 2F+1 features)
    trigonometric = np.arange(2 * F + 1)
    # (trig)(trig): convolve; modes from −2F to 2F
    both = np.zeros((4 * F + 1, 2 * F + 1, 2 * F + 1), dtype=complex)
    for k in range(2 * F + 1):
        both[k : k + 2 * F + 1] += exponential[k][None, :, None] * exponential[:, None, :]
    result = [_Product(trigonometric, trigonometric, 1.0, both.reshape(4 * F + 1, -1))]
    single = np.zeros((4 * F + 1, 2 * F + 1), dtype=complex)
    single[F : 3 * F + 1] = exponential
    zero = np.zeros((4 * F + 1, 1), dtype=complex)
    zero[2 * F] = 1.0
    for a in range(s):
        place = np.array([2 * F + 1 + a])
        result.append(_Product(trigonometric, place, column.remainders[a], single))
        result.append(_Product(place, trigonometric, column.remainders[a], single))
        for b in range(s):
            other = np.array([2 * F + 1 + b])
            result.append(_Product(place, other, column.remainders[a] * column.remainders[b], zero))
    return result


def _exponentials(F: int) -> Any:
    """[1, cos mθ, sin mθ] as sums of e^{ikθ}, |k| ≤ F: shape (2F+1, 2F+1)."""
    out = np.zeros((2 * F + 1, 2 * F + 1), dtype=complex)
    out[F, 0] = 1.0
    for m in range(1, F + 1):
        out[F + m, m] = out[F - m, m] = 0.5
        out[F + m, F + m], out[F - m, F + m] = -0.5j, 0.5j
    return out


def _kronecker_against_the_rest(
    terms: Sum, layout: list[slice], term: Term, s: slice, X: Any, Y: Any, w: Any, moments: Any, block_rows: int = 4096
) -> None:
    """Blocks of a separable term with everything else, by products."""
    n = layout[-1].stop
    cross = np.zeros((s.stop - s.start, len(moments)))
    for start in range(0, len(X), block_rows):
        rows = slice(start, start + block_rows)
        phi = np.empty((s.stop - s.start, len(X[rows])))
        fill_features(term, X[rows], phi)
        Z = np.empty((len(moments), len(X[rows])))
        for other, place in zip(terms, layout, strict=True):
            if place != s:
                fill_features(other, X[rows], Z[place])
        Z[s] = 0.0
        Z[n], Z[n + 1 :] = 1.0, Y[rows].T
        cross += (phi * w[rows]) @ Z.T
    keep = np.ones(len(moments), dtype=bool)
    keep[s] = False
    moments[s, keep] = cross[:, keep]
    moments[keep, s] = cross[:, keep].T
