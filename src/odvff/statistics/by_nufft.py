"""Statistics of harmonics by non-uniform FFTs, at a cost that hardly depends on their number.

Harmonics multiply into harmonics: with θ = 2πt, Σ w cos iθ cos jθ = ½ Σ w [cos(i−j)θ + cos(i+j)θ]. So

- a column's own block follows from the moments Σ w e^{ikθ}, |k| ≤ 2F: one 1-D transform;
- the block of a pair of columns from Σ w e^{i(kθ + lφ)}, |k|, |l| ≤ F: one 2-D transform;
- a column against anything that is no harmonic (1, y, remainders R̂) from a 1-D transform with that as strength.

Two real strengths travel as one complex one. Terms of another kind are multiplied with everything, as by products. A
column that is alone needs no strengths but 1 and y: many rows of it are first replaced by weights at 120 F nodes.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from itertools import combinations
from threading import get_ident
from typing import Any

import finufft
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from odvff.features.base import Axis
from odvff.features.cells import evaluate, taylor
from odvff.features.matern_gram import harmonic_form
from odvff.linalg.composed import slices
from odvff.rows import row_slices
from odvff.statistics.basis import columns_of
from odvff.statistics.by_product import blocks_of_z
from odvff.statistics.nodes import modes_of_nodes, nodes, nodes_pay, powers_in_cells, weights_at_nodes
from odvff.statistics.sums import Rows
from odvff.support.shapes import Array, Float, Int
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum

# Of FINUFFT's sums: with 1e-9 the entries are right to 2e-11 √(A_ii A_jj), and fits of a million rows agree with those
# by products to six digits, down to noise of 1e-6 of the variance. For few rows more digits cost next to nothing.
TOLERANCE, FINE_TOLERANCE, FEW_ROWS = 1e-9, 1e-12, 100_000
# 2-D grids are large, and pay with many rows; strengths of 1-D transforms are many, and should stay in the cache
BLOCK_ROWS, SMALL_BLOCK_ROWS = 2**19, 2**15
ROWS_AT_ONCE = 2**16  # that go to nodes: in fewer, threads wait for each other's turn in the interpreter
FEW_STRENGTHS = 16  # of which the general product is quicker than the symmetric one
# one thread, as blocks of rows run side by side; the finer grid, as spreading costs more than the FFT
PLAN = {"isign": 1, "nthreads": 1, "upsampfac": 2.0}


@dataclass(frozen=True)
class _Column:
    """A term of one column of harmonics: its column of the table, its axis, and where its features stand."""

    column: int
    axis: Axis
    place: slice

    @property
    def harmonics(self) -> slice:
        return slice(self.place.start + 1, self.place.start + 1 + 2 * self.axis.n_harmonics)

    def angles(self, X: Float[Array, "N D"]) -> Float[Array, " N"]:
        """θ = 2π(x−a)/L."""
        angles = X[:, self.column] - self.axis.interval[0]
        angles *= 2 * np.pi / self.axis.length
        return angles


def _columns(terms: Sum) -> list[_Column]:
    return [
        _Column(columns_of(term)[0], term.fixed.axes[0], place)
        for term, place in zip(terms, terms.slices, strict=True)
        if len(term.fixed.axes) == 1
    ]


def moments_by_nufft(terms: Sum, rows: Rows, n_threads: int) -> Float[Array, "K K"]:
    """Σ w z zᵀ, z = (φ̂, 1, y), of rows inside the box: blocks of rows side by side, one thread for each."""
    columns = _columns(terms)
    moments = np.zeros((terms.size + 1 + rows.Y.shape[1],) * 2)
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        if len(terms) == len(columns) == 1 and nodes_pay(columns[0].axis.n_harmonics, len(rows)):
            sums = _submit(pool, n_threads, partial(_sums_in_cells, columns[0]), rows, ROWS_AT_ONCE)
            products, *modes = _by_nodes(columns[0], *sums())
        else:
            tolerance = FINE_TOLERANCE if len(rows) <= FEW_ROWS else TOLERANCE
            large = None
            if len(terms) > 1 or not columns:
                # long jobs first: the short ones fill the gap if a core is slower than the others
                large = _submit(pool, n_threads, partial(_several_columns, terms, tolerance), rows, BLOCK_ROWS)
            small = _submit(pool, n_threads, partial(_one_column, terms, _plans(tolerance)), rows, SMALL_BLOCK_ROWS)
            if large is not None:
                (moments,) = large()
            products, *modes = small()
            modes = [_of_real_strengths(own) for own in modes]
    _fill(moments, terms, rows.Y.shape[1], products, modes)
    return moments


def _submit(
    pool: ThreadPoolExecutor, n_threads: int, function: Callable[[Rows], list[Any]], rows: Rows, most: int
) -> Callable[[], list[Any]]:
    """The sums of a function of blocks of rows, to be called for: as many for each thread, in a few jobs.

    These are enough to fill gaps, and not so many that threads wait for the interpreter.
    """
    n_blocks, n_jobs = n_threads * -(-len(rows) // (n_threads * most)), 4 * n_threads
    blocks = list(row_slices(len(rows), -(-len(rows) // n_blocks)))
    hands = (blocks[i::n_jobs] for i in range(min(n_jobs, len(blocks))))
    jobs = [pool.submit(lambda hand: _sum(function(rows[part]) for part in hand), hand) for hand in hands]
    return lambda: _sum(job.result() for job in jobs)


def _sum(parts: Iterable[list[Any]]) -> list[Any]:
    """The sum of lists of arrays, one by one."""
    return reduce(lambda total, part: [a + b for a, b in zip(total, part, strict=True)], parts)


# two real strengths in one complex one


def _fill_pairs(pairs: Any, real: Any) -> None:
    """Real rows two by two as complex ones; a last one without a partner has the imaginary part 0."""
    for i, row in enumerate(real):
        (pairs.imag if i % 2 else pairs.real)[i // 2] = row
    if len(real) % 2:
        pairs.imag[-1] = 0.0


def _of_real_strengths(modes: Any) -> Any:
    """Σ E e^{ikθ}, k ≥ 0, for each of two real strengths whose modes |k| ≤ n were taken together."""
    n = modes.shape[1] // 2
    forward, backward = modes[:, n:], modes[:, n::-1].conj()
    return _interleaved((forward + backward) / 2, (forward - backward) / 2j)


def _interleaved(even: Any, odd: Any) -> Any:
    return np.stack([even, odd], axis=1).reshape(2 * len(even), *even.shape[1:])


def _strengths(terms: Sum, n_outputs: int) -> tuple[list[slice], Int[Array, " K"]]:
    """What has no harmonics: the pairs of (1, y) and of each column's remainders, and where the real ones stand in z.

    What fills up a last pair stands at −1, nowhere.
    """
    groups = [(terms.size + 1 + n_outputs, 1 + n_outputs)]
    groups += [(one.place.stop, one.axis.n_remainders) for one in _columns(terms)]
    places = [place for stop, size in groups for place in (*range(stop - size, stop), *[-1] * (size % 2))]
    return slices([(size + 1) // 2 for _, size in groups]), np.array(places)


def remainders(t: Float[Array, " N"], n_harmonics: int, order: int, out: Any | None = None) -> Any:
    """R̂_1 + iR̂_2 and R̂_3 + i0 at positions t ∈ [0,1]: the s remainders two by two, of shape (⌈s/2⌉, N), in `out`."""
    tables = _tables(n_harmonics, order)
    return evaluate(tables, t, np.empty((len(tables), len(t)), dtype=complex) if out is None else out)


@lru_cache(maxsize=32)
def _tables(n_harmonics: int, order: int) -> Any:
    """Fixed functions of t from tables, two in one complex number: (⌈s/2⌉, 8, n)."""
    real = taylor(*harmonic_form(n_harmonics, order))
    tables = np.zeros(((order + 1) // 2, *real.shape[1:]), dtype=complex)
    _fill_pairs(tables, real)
    return tables


# sums over rows


def _plans(tolerance: float) -> Callable[[int, int, int], Any]:
    """FINUFFT's plans for 1-D transforms, made once in each thread for all columns with as many harmonics."""
    # the grid fits into the cache: it may be finer, and nothing is gained by sorting the rows
    keywords = {**PLAN, "eps": tolerance, "upsampfac": 3.0, "spread_sort": 0}
    return cache(lambda thread, n_modes, n_strengths: finufft.Plan(1, (n_modes,), n_trans=n_strengths, **keywords))


def _one_column(terms: Sum, plan_of: Callable[[int, int, int], Any], rows: Rows) -> list[Any]:
    """Σ w E Eᵀ for what is no harmonic (1 and y, remainders), then for every column Σ w E e^{ikθ}, |k| ≤ 2F.

    The latter are of E two by two. (The moments of the weights are needed up to 2F, the others' just up to F.)
    """
    w, columns = rows.weights, _columns(terms)
    pairs, _ = _strengths(terms, rows.Y.shape[1])
    E = np.empty((pairs[-1].stop, len(rows)), dtype=complex)
    _fill_pairs(E[pairs[0]], [1.0, *rows.Y.T])
    all_angles = [one.angles(rows.X) for one in columns]
    for one, angles, place in zip(columns, all_angles, pairs[1:], strict=True):
        remainders(angles * (0.5 / np.pi), one.axis.n_harmonics, one.axis.n_remainders, E[place])
    real = _interleaved(E.real, E.imag)
    # given the same array twice, BLAS does half the work, which takes longer if the rows are few
    left = real if w is None and len(real) > FEW_STRENGTHS else real * (1.0 if w is None else w)
    sums = [left @ real.T]
    if w is not None:
        E *= w
    for one, angles in zip(columns, all_angles, strict=True):
        plan = plan_of(get_ident(), 4 * one.axis.n_harmonics + 1, len(E))
        plan.setpts(angles)
        sums.append(np.atleast_2d(plan.execute(E if len(E) > 1 else E[0])))
    return sums


def _several_columns(terms: Sum, tolerance: float, rows: Rows) -> list[Any]:
    """The moments of harmonics of two columns, and of other terms with anything; zeros in all other places."""
    moments = np.zeros((terms.size + 1 + rows.Y.shape[1],) * 2)
    columns = [(one, one.angles(rows.X)) for one in _columns(terms)]
    strengths = rows.all_weights.astype(complex)
    for (a, theta), (b, phi) in combinations(columns, 2):
        block = _pair_block(a.axis.n_harmonics, theta, b.axis.n_harmonics, phi, strengths, tolerance)
        moments[a.harmonics, b.harmonics], moments[b.harmonics, a.harmonics] = block, block.T
    others = [s for term, s in zip(terms, terms.slices, strict=True) if len(term.fixed.axes) != 1]
    if others:
        own = np.r_[tuple(others)]
        cross = sum(Z[own] @ Z.T for Z in blocks_of_z(terms, rows))
        moments[own], moments[:, own] = cross, cross.T
    return [moments]


def _pair_block(F: int, a: Any, G: int, b: Any, w: Any, tolerance: float) -> Float[Array, "K M"]:
    """Σ w h_i(x) h_j(y) for the harmonics of two columns, whose angles are a and b."""
    modes = finufft.nufft2d1(a, b, w, n_modes=(2 * F + 1, 2 * G + 1), eps=tolerance, **PLAN)
    plus = modes[F + 1 :, G + 1 :]  # e^{i(kθ + lφ)}
    minus = modes[F + 1 :, G - 1 :: -1]  # e^{i(kθ − lφ)}
    return 0.5 * np.block([[(plus + minus).real, (plus - minus).imag], [(plus + minus).imag, (minus - plus).real]])


# a lone column by nodes


def _sums_in_cells(one: _Column, rows: Rows) -> list[Any]:
    """Σ w vʲ and Σ w y vʲ in the cells, and Σ w y yᵀ."""
    Y, w = rows.Y, rows.weights
    E = np.empty((Y.shape[1] // 2 + 1, len(rows)), dtype=complex)
    _fill_pairs(E, [1.0, *Y.T])
    if w is not None:
        E *= w
    t = one.angles(rows.X) * (0.5 / np.pi)
    return [powers_in_cells(t, E, one.axis.n_harmonics), Y.T @ (Y if w is None else Y * w[:, None])]


def _by_nodes(one: _Column, powers: Any, y_with_y: Any) -> list[Any]:
    """What `_one_column` has of rows, here of the weights at nodes, and the modes for each strength."""
    F = one.axis.n_harmonics
    omega = weights_at_nodes(_interleaved(powers.real, powers.imag))  # of 1, y and the zero that fills up a pair
    R = _remainders_at_nodes(F, one.axis.n_remainders)
    E = np.concatenate([omega, omega[0] * R])
    # the features that are no harmonics, 1 and R̂, with everything at the nodes
    known = np.concatenate([np.ones_like(omega[:1]), R])
    across = E.reshape(len(E), -1) @ known.reshape(len(known), -1).T
    products = np.zeros((len(E), len(E)))
    places = [0, *range(len(omega), len(E))]
    products[:, places], products[places, :] = across, across.T
    own = slice(1, 1 + len(y_with_y))
    products[own, own] = y_with_y
    return [products, modes_of_nodes(E, F)]


@lru_cache(maxsize=4)
def _remainders_at_nodes(n_harmonics: int, n_remainders: int) -> Float[Array, "P K n"]:
    """R̂ at the nodes, and a zero that fills up a pair: the same for every chunk of rows."""
    t = nodes(n_harmonics)
    pairs = remainders(t.ravel(), n_harmonics, n_remainders)
    R = _interleaved(pairs.real, pairs.imag)
    return R.reshape(len(R), *t.shape)


# everything into its place


def _fill(moments: Float[Array, "K K"], terms: Sum, n_outputs: int, products: Any, modes: list[Any]) -> None:
    """Put Σ w E Eᵀ and every column's Σ w E e^{ikθ}, k ≥ 0, into their places."""
    columns, (_, places) = _columns(terms), _strengths(terms, n_outputs)
    which = places >= 0
    places = places[which]
    moments[np.ix_(places, places)] = products[np.ix_(which, which)]
    for one, m in zip(columns, modes, strict=True):
        F, h = one.axis.n_harmonics, one.harmonics
        others = m[which, 1 : F + 1]
        moments[places, h] = np.concatenate([others.real, others.imag], axis=1)
        moments[h, places] = moments[places, h].T
        _fill_own_block(m[0], F, moments[h, h])
    # 1 is also the constant of every column of harmonics
    constants = [one.place.start for one in columns]
    moments[constants] = moments[terms.size]
    moments[:, constants] = moments[:, [terms.size]]


def _fill_own_block(m: Any, F: int, block: Float[Array, "K K"]) -> None:
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
