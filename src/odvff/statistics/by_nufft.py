"""Statistics of harmonics by non-uniform FFTs, at a cost that hardly depends on their number.

Harmonics multiply into harmonics: with θ = 2πt, Σ w cos iθ cos jθ = ½ Σ w [cos(i−j)θ + cos(i+j)θ]. So

- a column's own block follows from the moments Σ w e^{ikθ}, |k| ≤ 2F: one 1-D transform;
- the block of a pair of columns from Σ w e^{i(kθ + lφ)}, |k|, |l| ≤ F: one 2-D transform;
- a column against anything that is no harmonic (1, y, remainders R̂, levels) from a 1-D transform with that as strength;
- a separable term's own block from d-dimensional transforms with |k_i| ≤ 2F and products of remainders as strengths.

Two real strengths travel as one complex one. A column that is alone needs no strengths but 1 and y: many rows of it are
first replaced by weights at 120 F nodes.
"""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, pairwise
from typing import Any

import finufft
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from odvff.features.base import Axis
from odvff.linalg.composed import slices
from odvff.statistics.basis import columns_of, fill_features
from odvff.statistics.nodes import modes_of_nodes, nodes, nodes_pay, powers_in_cells, weights_at_nodes
from odvff.statistics.remainders import remainders
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum, Term

# Of FINUFFT's sums: with 1e-9 the entries are right to 2e-11 √(A_ii A_jj), and fits of a million rows agree with those
# by products to six digits, down to noise of 1e-6 of the variance. For few rows more digits cost next to nothing.
TOLERANCE, FINE_TOLERANCE, FEW_ROWS = 1e-9, 1e-12, 100_000
# 2-D grids are large, and pay with many rows; strengths of 1-D transforms are many, and should stay in the cache
BLOCK_ROWS, SMALL_BLOCK_ROWS = 2**19, 2**15
ROWS_AT_ONCE = 2**16  # that go to nodes: in fewer, threads wait for each other's turn in the interpreter
FEW_STRENGTHS = 16  # of which the general product is quicker than the symmetric one


def moments_by_nufft(terms: Sum, X: Any, Y: Any, weights: Any | None, n_threads: int) -> Any:
    """Σ w z zᵀ, z = (φ̂, 1, y), of rows inside the box: blocks of rows side by side, one thread for each."""
    lone = _harmonic(terms)
    if len(terms) == len(lone) == 1 and nodes_pay(lone[0].axis.n_harmonics, len(X)):
        return _by_nodes(terms, lone[0], X, Y, weights, n_threads)
    tolerance = FINE_TOLERANCE if len(X) <= FEW_ROWS else TOLERANCE
    plans = _Plans(tolerance)
    n_large = max(n_threads, -(-len(X) // BLOCK_ROWS)) if _has_several_columns(terms) else 0

    def rows(s: slice) -> tuple[Any, Any, Any]:
        return X[s], Y[s], None if weights is None else weights[s]

    def one_dimensional(blocks: list[slice]) -> list[Any]:
        return _total(_one_dimensional(terms, *rows(s), plans) for s in blocks)

    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        # long jobs first: the short ones fill the gap if a core is slower than the others
        large = [pool.submit(_several_columns, terms, *rows(s), tolerance) for s in _blocks(len(X), n_large)]
        small = [
            pool.submit(one_dimensional, some)
            for some in _dealt(_blocks(len(X), max(n_threads, -(-len(X) // SMALL_BLOCK_ROWS))), 4 * n_threads)
        ]
        moments = sum((job.result() for job in large), np.zeros((terms.size + 1 + Y.shape[1],) * 2))
        products, *modes = _total(job.result() for job in small)
        _fill_single_columns(moments, terms, Y.shape[1], products, list(map(_of_real_strengths, modes)))
    return moments


def _blocks(n_rows: int, n_blocks: int) -> list[slice]:
    edges = np.linspace(0, n_rows, n_blocks + 1).astype(int)
    return [slice(lo, hi) for lo, hi in pairwise(edges) if hi > lo]


def _dealt(blocks: list[slice], n_hands: int) -> list[list[slice]]:
    """Blocks for a few jobs: enough of them to fill gaps, and not so many that threads wait for the interpreter."""
    return [hand for i in range(n_hands) if (hand := blocks[i::n_hands])]


def _keywords(tolerance: float) -> dict[str, Any]:
    """One thread, as blocks of rows run side by side; the finer grid, as spreading costs more than the FFT."""
    return {"eps": tolerance, "isign": 1, "nthreads": 1, "upsampfac": 2.0}


@dataclass(frozen=True)
class _Harmonic:
    """A term of one column of harmonics: its column of the table, its axis, and where its features stand."""

    column: int
    axis: Axis
    place: slice

    @property
    def harmonics(self) -> slice:
        return slice(self.place.start + 1, self.place.start + 1 + 2 * self.axis.n_harmonics)

    def angles(self, X: Any) -> Any:
        return _angles(self.axis, X[:, self.column])


def _harmonic(terms: Sum) -> list[_Harmonic]:
    """The terms of one column of harmonics."""
    return [
        _Harmonic(columns_of(terms, i)[0], _axes(term)[0], terms.slices[i])
        for i, term in enumerate(terms)
        if len(_axes(term)) == 1
    ]


def _axes(term: Term) -> tuple[Axis, ...]:
    return term.features.axes  # type: ignore[attr-defined, no-any-return]


def _angles(axis: Axis, x: Any) -> Any:
    """θ = 2π(x−a)/L."""
    angles = x - axis.interval[0]
    angles *= 2 * np.pi / axis.length
    return angles


class _Plans:
    """FINUFFT's plans for 1-D transforms, made once in each thread for all columns with as many harmonics."""

    def __init__(self, tolerance: float):
        self._tolerance = tolerance
        self._made: dict[tuple[int, int, int], Any] = {}

    def modes(self, angles: Any, strengths: Any, n_modes: int) -> Any:
        """Σ strengths e^{ikθ}, for several strengths at once."""
        key = (threading.get_ident(), n_modes, len(strengths))
        if key not in self._made:
            # the grid fits into the cache: it may be finer, and nothing is gained by sorting the rows
            keywords = {**_keywords(self._tolerance), "upsampfac": 3.0, "spread_sort": 0}
            self._made[key] = finufft.Plan(1, (n_modes,), n_trans=len(strengths), **keywords)
        plan = self._made[key]
        plan.setpts(angles)
        return np.atleast_2d(plan.execute(strengths if len(strengths) > 1 else strengths[0]))


class _Column:
    """One column's harmonics: angles, number, and remainders."""

    def __init__(self, axis: Axis, angles: Any, out: Any | None = None):
        self.n_harmonics, self.n_remainders, self.angles = axis.n_harmonics, axis.n_remainders, angles
        self.remainders = remainders(angles * (0.5 / np.pi), self.n_harmonics, self.n_remainders, out)

    @property
    def remainder_rows(self) -> Any:
        """R̂_k at the rows, (s, N)."""
        return _unpaired(self.remainders)[: self.n_remainders]


def _fill_pairs(pairs: Any, real: Any) -> None:
    """Real rows two by two as complex ones; a last one without a partner has the imaginary part 0."""
    for i, row in enumerate(real):
        (pairs.imag if i % 2 else pairs.real)[i // 2] = row
    if len(real) % 2:
        pairs.imag[-1] = 0.0


def _unpaired(pairs: Any) -> Any:
    return _interleaved(pairs.real, pairs.imag)


def _of_real_strengths(modes: Any) -> Any:
    """Σ E e^{ikθ}, k ≥ 0, for each of two real strengths whose modes |k| ≤ n were taken together."""
    n = modes.shape[1] // 2
    forward, backward = modes[:, n:], modes[:, n::-1].conj()
    return _interleaved((forward + backward) / 2, (forward - backward) / 2j)


def _interleaved(even: Any, odd: Any) -> Any:
    return np.stack([even, odd], axis=1).reshape(2 * len(even), *even.shape[1:])


def _has_several_columns(terms: Sum) -> bool:
    """Is there anything for `_several_columns` to do?"""
    return len(_harmonic(terms)) > 1 or any(len(_axes(term)) > 1 for term in terms)


def _several_columns(terms: Sum, X: Any, Y: Any, w: Any | None, tolerance: float) -> Any:
    """The moments of harmonics of two columns, and of separable terms with anything; zeros in all other places."""
    moments = np.zeros((terms.size + 1 + Y.shape[1],) * 2)
    columns = [(one, one.angles(X)) for one in _harmonic(terms)]
    strengths = np.ones(len(X), dtype=complex) if w is None else w.astype(complex)
    for (a, theta), (b, phi) in combinations(columns, 2):
        block = _pair_block(a.axis.n_harmonics, theta, b.axis.n_harmonics, phi, strengths, tolerance)
        moments[a.harmonics, b.harmonics], moments[b.harmonics, a.harmonics] = block, block.T
    for i, (term, s) in enumerate(zip(terms, terms.slices, strict=True)):
        if len(_axes(term)) > 1:
            own = [
                _Column(axis, _angles(axis, X[:, c])) for axis, c in zip(_axes(term), columns_of(terms, i), strict=True)
            ]
            moments[s, s] = _kronecker_block(own, strengths, tolerance)
            _kronecker_against_the_rest(terms, s, X, Y, strengths.real, moments)
    return moments


def _fill_single_columns(moments: Any, terms: Sum, n_outputs: int, products: Any, modes: list[Any]) -> None:
    """Put Σ w E Eᵀ and every column's Σ w E e^{ikθ}, k ≥ 0, into their places."""
    which, places = _places(terms, n_outputs)
    moments[np.ix_(places, places)] = products[np.ix_(which, which)]
    for one, m in zip(_harmonic(terms), modes, strict=True):
        F, h = one.axis.n_harmonics, one.harmonics
        others = m[which, 1 : F + 1]
        moments[places, h] = np.concatenate([others.real, others.imag], axis=1)
        moments[h, places] = moments[places, h].T
        _fill_own_block(m[0], F, moments[h, h])


def _places(terms: Sum, n_outputs: int) -> tuple[list[int], list[int]]:
    """Which strengths (1, y, remainders and what has no harmonics) stand where.

    1 is also the constant of every column of harmonics; the zero that fills up a last pair stands nowhere.
    """
    n = terms.size
    which, places = list(range(1 + n_outputs)), list(range(n, n + 1 + n_outputs))
    next_pair = (1 + n_outputs + 1) // 2
    for term, s in zip(terms, terms.slices, strict=True):
        if len(_axes(term)) > 1:
            continue
        if _axes(term):
            which.append(0)
            places.append(s.start)
            s = slice(s.start + 1 + 2 * _axes(term)[0].n_harmonics, s.stop)
        size = s.stop - s.start
        which += range(2 * next_pair, 2 * next_pair + size)
        places += range(s.start, s.stop)
        next_pair += (size + 1) // 2
    return which, places


def _not_harmonic(term: Term) -> int:
    """How many features of a term are strengths: all that have no harmonics, or remainders."""
    axes = _axes(term)
    return 0 if len(axes) > 1 else axes[0].n_remainders if axes else term.features.size  # type: ignore[attr-defined]


def _one_dimensional(terms: Sum, X: Any, Y: Any, w: Any | None, plans: _Plans) -> list[Any]:
    """Σ w E Eᵀ for what is no harmonic (1 and y, remainders, levels), then for every column Σ w E e^{ikθ}, |k| ≤ 2F.

    The latter are of E two by two. (The moments of the weights are needed up to 2F, the others' just up to F.)
    """
    sizes = [1 + Y.shape[1], *(_not_harmonic(term) for term in terms)]
    pairs = slices([(size + 1) // 2 for size in sizes])
    E = np.empty((pairs[-1].stop, len(X)), dtype=complex)
    _fill_pairs(E[pairs[0]], [1.0, *Y.T])
    columns: list[_Column] = []
    for i, (term, own) in enumerate(zip(terms, pairs[1:], strict=True)):
        axes, read = _axes(term), columns_of(terms, i)
        if not axes:
            features: Any = term.features
            values = np.empty((features.size, len(X)))
            features.fill(X[:, list(read)], values)
            _fill_pairs(E[own], values)
        elif len(axes) == 1:
            columns.append(_Column(axes[0], _angles(axes[0], X[:, read[0]]), out=E[own]))
    real = _unpaired(E)
    # given the same array twice, BLAS does half the work, which takes longer if the rows are few
    left = real if w is None and len(real) > FEW_STRENGTHS else real * (1.0 if w is None else w)
    products = left @ real.T
    if w is not None:
        E *= w
    return [products, *(plans.modes(column.angles, E, 4 * column.n_harmonics + 1) for column in columns)]


def _by_nodes(terms: Sum, one: _Harmonic, X: Any, Y: Any, weights: Any | None, n_threads: int) -> Any:
    """Σ w z zᵀ of a lone column of harmonics."""
    F = one.axis.n_harmonics

    def sums(blocks: list[slice]) -> list[Any]:
        return _total(_sums_in_cells(one, X[s], Y[s], None if weights is None else weights[s]) for s in blocks)

    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        blocks = _blocks(len(X), n_threads * -(-len(X) // (n_threads * ROWS_AT_ONCE)))
        powers, y_with_y = _total(pool.map(sums, _dealt(blocks, 4 * n_threads)))
        omega = weights_at_nodes(_interleaved(powers.real, powers.imag))  # of 1, y and the zero that fills up a pair
        R = _remainders_at_nodes(F, one.axis.n_remainders)
        E = np.concatenate([omega, omega[0] * R])
        # the features that are no harmonics, 1 and R̂, with everything at the nodes
        known = np.concatenate([np.ones_like(omega[:1]), R])
        across = E.reshape(len(E), -1) @ known.reshape(len(known), -1).T
    products = np.zeros((len(E), len(E)))
    places = [0, *range(len(omega), len(E))]
    products[:, places], products[places, :] = across, across.T
    own = slice(1, 1 + Y.shape[1])
    products[own, own] = y_with_y
    moments = np.zeros((terms.size + 1 + Y.shape[1],) * 2)
    _fill_single_columns(moments, terms, Y.shape[1], products, [modes_of_nodes(E, F)])
    return moments


def _sums_in_cells(one: _Harmonic, X: Any, Y: Any, w: Any | None) -> list[Any]:
    """Σ w vʲ and Σ w y vʲ in the cells, and Σ w y yᵀ."""
    E = np.empty((Y.shape[1] // 2 + 1, len(X)), dtype=complex)
    _fill_pairs(E, [1.0, *Y.T])
    if w is not None:
        E *= w
    t = one.angles(X) * (0.5 / np.pi)
    return [powers_in_cells(t, E, one.axis.n_harmonics), Y.T @ (Y if w is None else Y * w[:, None])]


@lru_cache(maxsize=4)
def _remainders_at_nodes(n_harmonics: int, n_remainders: int) -> Any:
    """R̂ at the nodes, and a zero that fills up a pair: the same for every chunk of rows."""
    t = nodes(n_harmonics)
    R = _unpaired(remainders(t.ravel(), n_harmonics, n_remainders))
    return R.reshape(len(R), *t.shape)


def _total(parts: Iterable[list[Any]]) -> list[Any]:
    """The sum of lists of arrays, one by one."""
    return reduce(lambda total, part: [a + b for a, b in zip(total, part, strict=True)], parts)


def _fill_own_block(m: Any, F: int, block: Any) -> None:
    """Σ w h_i h_j for the harmonics (cosines, then sines) from the moments m_k = Σ w e^{ikθ}, k = 0…2F."""
    m = m / 2
    both_sides = np.concatenate([m[F - 1 : 0 : -1].conj(), m[:F]])
    C_sum, S_sum = (sliding_window_view(part, F) for part in (m.real[2:], m.imag[2:]))  # of i + j
    C_difference, S_difference = (  # of i − j
        sliding_window_view(part, F)[:, ::-1] for part in (both_sides.real, both_sides.imag)
    )
    cosines, sines = slice(0, F), slice(F, 2 * F)
    np.add(C_difference, C_sum, out=block[cosines, cosines])
    np.subtract(C_difference, C_sum, out=block[sines, sines])
    np.add(S_sum, S_difference, out=block[sines, cosines])
    np.subtract(S_sum, S_difference, out=block[cosines, sines])


def _pair_block(F: int, a: Any, G: int, b: Any, w: Any, tolerance: float) -> Any:
    """Σ w h_i(x) h_j(y) for the harmonics of two columns, whose angles are a and b."""
    modes = finufft.nufft2d1(a, b, w, n_modes=(2 * F + 1, 2 * G + 1), **_keywords(tolerance))
    plus = modes[F + 1 :, G + 1 :]  # e^{i(kθ + lφ)}
    minus = modes[F + 1 :, G - 1 :: -1]  # e^{i(kθ − lφ)}
    return 0.5 * np.block([[(plus + minus).real, (plus - minus).imag], [(plus + minus).imag, (minus - plus).real]])


def _kronecker_block(columns: list[_Column], w: Any, tolerance: float) -> Any:
    """The own block of a separable term: Σ w Π_d φ_{i_d}(x_d) φ_{j_d}(x_d)."""
    products = [_products(column) for column in columns]
    sizes = [1 + 2 * c.n_harmonics + c.n_remainders for c in columns]
    d = len(columns)
    block = np.zeros([*sizes, *sizes])
    transform = {2: finufft.nufft2d1, 3: finufft.nufft3d1}[d]
    n_modes = tuple(4 * c.n_harmonics + 1 for c in columns)
    for choice in np.ndindex(*(len(p) for p in products)):
        chosen = [p[i] for p, i in zip(products, choice, strict=True)]
        strength = w
        for product in chosen:
            strength = strength * product.strength
        modes = transform(*(c.angles for c in columns), strength, n_modes=n_modes, **_keywords(tolerance))
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
    F, s, remainders = column.n_harmonics, column.n_remainders, column.remainder_rows
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
        result.append(_Product(trigonometric, place, remainders[a], single))
        result.append(_Product(place, trigonometric, remainders[a], single))
        for b in range(s):
            other = np.array([2 * F + 1 + b])
            result.append(_Product(place, other, remainders[a] * remainders[b], zero))
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
    terms: Sum, s: slice, X: Any, Y: Any, w: Any, moments: Any, block_rows: int = 4096
) -> None:
    """Blocks of a separable term with everything else, by products."""
    n = terms.size
    cross = np.zeros((s.stop - s.start, len(moments)))
    for start in range(0, len(X), block_rows):
        rows = slice(start, start + block_rows)
        Z = np.empty((len(moments), len(X[rows])))
        fill_features(terms, X[rows], Z)
        Z[n], Z[n + 1 :] = 1.0, Y[rows].T
        cross += (Z[s] * w[rows]) @ Z.T
    keep = np.ones(len(moments), dtype=bool)
    keep[s] = False
    moments[s, keep] = cross[:, keep]
    moments[keep, s] = cross[:, keep].T
