"""The collapsed bound of terms of which some have features that move with hyper-parameters, such as inducing points.

Sums over rows of fixed features are taken once. Of the moving ones, u(x) = k(Z, x), every evaluation goes through the
rows twice, with the memory of a chunk: first the sums of w u φᵀ, w u uᵀ, w u y and w k(x,x); then the bound's
derivatives with respect to these are pulled back through each chunk,

    dL = Σ_rows w (C⁻ᵀ[2Ḡψ + ṽy/σ²])ᵀ du + tr(G_K dK) − Σ w dk(x,x)/2σ²,

    Ḡ = ∂L/∂Ã = [I − B̃⁻¹ − ṽṽᵀ]/2σ²,    G_K = −½ C⁻ᵀMC⁻¹,

with Ã, B̃, ṽ and M of all features as `bound` has them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.inference.collapsed.blocks import Blocks, Middle
from odvff.inference.collapsed.bound import inverse_root_of
from odvff.inference.collapsed.fit import NOISE, VARIANCE, Fit, kernel_limits
from odvff.inference.collapsed.passes import fit_by_passes
from odvff.kernels.flat import flat
from odvff.linalg import BlockFactor
from odvff.posterior import Posterior
from odvff.statistics import Rows, Statistics, collect
from odvff.statistics.basis import fill_features, outside
from odvff.statistics.collect import weighted_rows
from odvff.support.checks import positive
from odvff.support.run import Tell
from odvff.terms import Sum, Term

BLOCK_ROWS = 4096
WIDEST = 20.0  # of logarithms of a moving kernel's numbers, either way


@dataclass(frozen=True)
class _Moving:
    """A term whose features move: what makes its kernel of a vector, and where its numbers and features stand."""

    term: Term
    make: Any
    numbers: slice  # of the kernel, among all parameters
    locations: slice
    place: slice  # among the features

    def at(self, p: Any) -> Term:
        Z = p[self.locations].reshape(np.shape(self.term.features.locations))
        return replace(self.term, kernel=self.make(p[self.numbers]), features=self.term.features.moved(Z))


class MovingBound:
    """The bound as a function of a vector: log hyper-parameters of fixed terms, those of moving ones and their
    locations, then the log noise variance.

    `rows` gives chunks (X, y) or (X, y, weights) as often as it is called.
    """

    def __init__(self, terms: Sum, noise: float, rows: Callable[[], Iterable[tuple[Any, ...]]]):
        self._original, self._rows = terms, rows
        fixed = [i for i, term in enumerate(terms) if term.features.is_fixed]
        self._fixed = Sum(tuple(terms.terms[i] for i in fixed)).canonical if fixed else None
        self._fixed_at = fixed
        self._places = (
            np.concatenate([np.r_[terms.slices[i]] for i in fixed]).astype(int) if fixed else np.zeros(0, int)
        )
        self._blocks = None if self._fixed is None else Blocks(self._fixed)
        start = [] if self._blocks is None else list(self._blocks.start)
        n = sum(len(own) for own in start)
        self._moving: list[_Moving] = []
        for i, term in enumerate(terms):
            if not term.features.is_fixed:
                if term.features.locations is None:
                    raise InputError(
                        f"term {term.name!r} has {type(term.features).__name__}, neither fixed in a box nor points; "
                        "derive them from FixedFeatures, or train by minibatches."
                    )
                numbers, make = flat(term.kernel)
                Z = np.ravel(np.asarray(term.features.locations))
                own, after = slice(n, n + len(numbers)), n + len(numbers) + len(Z)
                self._moving.append(_Moving(term, make, own, slice(own.stop, after), terms.slices[i]))
                start += [numbers, Z]
                n = after
        self.start = np.concatenate([*start, [np.log(positive(noise, "noise"))]])
        self._statistics = _fixed_sums(self._fixed, rows)
        self.weight = self._statistics.weight
        self.mean, self.variance = self._statistics.mean(), self._statistics.variance()
        if not self.weight > 0:
            raise InputError("there is no row with a positive weight to fit to.")

    def limits(self, scale: float) -> Any:
        """As for fixed terms; kernels of moving ones within e^±20 of where they start, and locations anywhere."""
        limits = np.tile([-np.inf, np.inf], (len(self.start), 1))
        if self._blocks is not None:
            own = kernel_limits(self._blocks, np.log(VARIANCE) + np.log(scale))
            limits[: len(own)] = own
        for one in self._moving:
            limits[one.numbers] = self.start[one.numbers, None] + [-WIDEST, WIDEST]
        limits[-1] = np.log(NOISE) + np.log(scale)
        return limits

    def terms_at(self, p: Any) -> Sum:
        """The model at these parameters, fixed terms in the basis of statistics."""
        found: dict[str, Term] = {one.term.name: one.at(p) for one in self._moving}
        if self._blocks is not None:
            found |= {term.name: term for term in self._blocks.at(p)}
        return Sum(tuple(found[name] for name in self._original.names))

    def __call__(self, parameters: Any) -> tuple[float, Any]:
        """The bound and its gradient."""
        p, at = parameters, self._at(parameters)
        s, noise, n = at.terms.slices, at.noise, len(at.v)
        gradient = np.zeros_like(p)
        inverse = at.inverse_root.T @ at.inverse_root  # B̃⁻¹
        if self._blocks is not None:
            uncertain = np.diagonal(inverse)
            own = [s[i] for i in self._fixed_at]
            middles = [Middle(at.inverse_root[r.start :, r], uncertain[r], at.v[r], at.A[r, r], noise) for r in own]
            n_fixed = self._blocks.places[-1].stop
            gradient[:n_fixed] = -0.5 * self._blocks.whitened(p).traces(middles)
            variances = self._blocks.variances
            gradient[variances] -= 0.5 * self.weight * np.exp(p[variances]) / noise
        G = (np.eye(n) - inverse - np.outer(at.v, at.v)) / noise  # 2σ²·∂L/∂Ã, over σ²
        M = inverse - np.eye(n) + np.outer(at.v, at.v) + at.A / noise
        self._of_moving(p, at, M, gradient)
        for X, y, w, psi in self._chunks(at.terms, at.C):
            self._of_chunk(p, at, X, w, G @ psi + np.outer(at.v / noise, y), gradient)
        self._of_rows_outside(p, at, G, gradient)
        left_out = at.residual / noise
        gradient[-1] = 0.5 * (-self.weight + n - np.trace(inverse) + at.fit - at.v @ at.v + left_out)
        value = -0.5 * (self.weight * np.log(2 * np.pi * noise) + at.log_det + at.fit + left_out)
        return float(value), gradient

    def posterior(self, parameters: Any) -> tuple[Posterior, float]:
        """The optimal posterior at these parameters, and its noise."""
        at = self._at(parameters)
        pairs = zip(self._original, at.terms, strict=True)
        # fixed features in the user's own basis: their whitened coordinates are the same
        terms = [replace(o, kernel=t.kernel, columns=t.columns) if o.features.is_fixed else t for o, t in pairs]
        return Posterior(terms, at.v, at.inverse_root.T), at.noise

    def _at(self, p: Any) -> "_At":
        """The sums in whitened coordinates, and what follows from them."""
        terms, noise = self.terms_at(p), float(np.exp(p[-1]))
        n, C = terms.size, terms.Kuu().factor()
        A, b, prior = np.zeros((n, n)), np.zeros(n), 0.0
        if self._fixed is not None and self._blocks is not None:
            own = BlockFactor(tuple(C.blocks[i] for i in self._fixed_at))
            A[np.ix_(self._places, self._places)] = own.solve(own.solve(self._statistics.gram).T)
            b[self._places] = own.solve(self._statistics.projections())
            prior += self.weight * np.exp(p[self._blocks.variances]).sum()
        moving = np.concatenate([np.r_[one.place] for one in self._moving])
        # rows are whitened before they are summed: points that nearly fall together cost digits but once
        for X, y, w, psi in self._chunks(terms, C):
            own_rows = psi[moving] * w
            A[moving] += own_rows @ psi.T
            b[moving] += own_rows @ y
            prior += sum(w @ one.at(p).variances(X) for one in self._moving)
        A[np.ix_(self._places, moving)] = A[np.ix_(moving, self._places)].T
        kept = self._statistics.outside
        if len(kept):
            psi = C.solve(terms.Kuf(kept.X))
            A += (psi * kept.weights) @ psi.T
            b += psi @ (kept.weights * kept.Y[:, 0])
            prior += sum(kept.weights @ one.at(p).variances(kept.X) for one in self._moving)
        A = 0.5 * (A + A.T)
        root, log_det = inverse_root_of(A, noise)
        v = root.T @ (root @ b) / noise
        fit = (self._statistics.sum_of_squares() - b @ v) / noise
        return _At(terms, noise, C, A, root, log_det, v, float(fit), float(prior - np.trace(A)))

    def _chunks(self, terms: Sum, C: BlockFactor) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Rows inside the boxes, a few thousand at a time, with ψ of all terms."""
        for X, y, w in weighted_rows(self._rows()):
            for start in range(0, len(X), BLOCK_ROWS):
                part = slice(start, start + BLOCK_ROWS)
                x, own_y, own_w = X[part], y[part], w[part]
                if self._fixed is not None and (out := outside(self._fixed, x)).any():
                    x, own_y, own_w = x[~out], own_y[~out], own_w[~out]
                phi = np.empty((terms.size, len(x)))
                if self._fixed is not None and len(x):
                    own = np.empty((self._fixed.size, len(x)))
                    fill_features(self._fixed, x, own)
                    phi[self._places] = own
                for one in self._moving:
                    phi[one.place] = terms.terms[self._original.names.index(one.term.name)].Kuf(x)
                yield x, own_y, own_w, C.solve(phi)

    def _of_moving(self, p: Any, at: "_At", M: Any, gradient: Any) -> None:
        """tr(G_K dK) of every moving term."""
        from odvff.kernels.pull_back import of_points

        for one, i in ((one, self._original.names.index(one.term.name)) for one in self._moving):
            C, own = at.C.blocks[i], at.terms.terms[i]
            upstream = -0.5 * C.solve_transpose(C.solve_transpose(M[one.place, one.place]).T)
            upstream[np.diag_indices_from(upstream)] *= 1 + C.jitter  # which is relative to the diagonal
            Z = np.asarray(own.features.locations)
            of_kernel, of_Z = of_points(one.make, p[one.numbers], Z, upstream)
            gradient[one.numbers] += of_kernel
            gradient[one.locations] += of_Z.ravel()

    def _of_chunk(self, p: Any, at: "_At", X: Any, w: Any, of_psi: Any, gradient: Any) -> None:
        """What the moving features of a chunk, and their variances, add; `of_psi` is ∂L/∂ψ of a row of weight 1."""
        from odvff.kernels.pull_back import of_rows, of_variances

        if not len(X):
            return
        for one in self._moving:
            own = one.at(p)
            x, Z = own.select(X), np.asarray(own.features.locations)
            C = at.C.blocks[self._original.names.index(one.term.name)]
            upstream = w * C.solve_transpose(of_psi[one.place])
            of_kernel, of_Z = of_rows(one.make, p[one.numbers], Z, x, upstream)
            gradient[one.numbers] += of_kernel + of_variances(one.make, p[one.numbers], x, -w / (2 * at.noise))
            gradient[one.locations] += of_Z.ravel()

    def _of_rows_outside(self, p: Any, at: "_At", G: Any, gradient: Any) -> None:
        """Rows outside a box, where fixed features depend on lengthscales too."""
        kept, terms = self._statistics.outside, at.terms
        if not len(kept):
            return
        of_psi = G @ at.C.solve(terms.Kuf(kept.X)) + np.outer(at.v / at.noise, kept.Y[:, 0])
        self._of_chunk(p, at, kept.X, kept.weights, of_psi, gradient)
        upstream = kept.weights * at.C.solve_transpose(of_psi)
        assert self._blocks is not None
        for i, own in zip(self._fixed_at, self._blocks.places, strict=True):
            term, features = terms.terms[i], terms.terms[i].features
            rates = features.Kuf_rates(term.kernel, term.select(kept.X))  # type: ignore[attr-defined]
            gradient[own.start : own.stop - 1] += [np.sum(upstream[terms.slices[i]] * rate) for rate in rates]


@dataclass(frozen=True)
class _At:
    """The bound at some parameters."""

    terms: Sum
    noise: float
    C: Any
    A: Any  # Ã
    inverse_root: Any  # L⁻¹ with L Lᵀ = B̃
    log_det: float
    v: Any  # ṽ
    fit: float  # (yᵀWy − b̃ᵀṽ)/σ²
    residual: float  # Σ w k(x,x) − tr Ã


def _fixed_sums(fixed: Sum | None, rows: Callable[[], Iterable[tuple[Any, ...]]]) -> Statistics:
    """The statistics of the fixed terms; without any those of y alone."""
    if fixed is not None:
        return collect(fixed, rows())
    moments, n_rows, width = np.zeros((2, 2)), 0, 0
    for X, y, w in weighted_rows(rows()):
        Z = np.stack([np.ones(len(y)), y])
        moments, n_rows, width = moments + (Z * w) @ Z.T, n_rows + len(y), X.shape[1]
    return Statistics(moments, 0, n_rows, Rows(np.zeros((0, width)), np.zeros((0, 1)), np.zeros(0)))


def fit_moving(
    terms: Sum,
    rows: Any,
    noise: float | None,
    output: int,
    *,
    max_iter: int,
    progress: Callable[[int, float], None] | None,
    tell: Tell,
) -> Fit:
    """Maximise the bound over hyper-parameters and locations, from those of the terms on."""
    if isinstance(rows, Statistics) or output:
        raise InputError(
            "terms whose features move with hyper-parameters are fitted to rows, one output at a time: pass chunks "
            "(X, y) in a list, or a RowSource, in place of statistics."
        )
    chunks = rows.chunks if hasattr(rows, "chunks") else list(rows).__iter__
    if noise is None:
        noise = 0.1 * max(_fixed_sums(None, chunks).variance(), 1e-300)
    return fit_by_passes(MovingBound(terms, noise, chunks), max_iter=max_iter, progress=progress, tell=tell)
