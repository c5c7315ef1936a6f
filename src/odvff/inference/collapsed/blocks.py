"""A term as the optimiser of the collapsed bound sees it: its hyper-parameters, and the columns that it is made of.

Hyper-parameters are logarithms: for a Fourier term (log ℓ, log σ²), for a separable one (log ℓ_1, …, log ℓ_d, log σ²),
for levels (log σ²). K is proportional to 1/σ², so only lengthscales need work (`whitening`); a separable term is the
Kronecker product of its columns, of which the first has the variance.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features import Fourier, Kronecker, Levels
from odvff.features.kronecker import row_products
from odvff.features.orthogonal import OrthogonalFourier
from odvff.inference.collapsed.whitening import Columns, Kind, columns_at
from odvff.kernels import Matern, Separable, categorical, matern, separable
from odvff.linalg.blocks import slices
from odvff.statistics.basis import orthogonal
from odvff.terms import Sum, Term


@dataclass(frozen=True)
class Block:
    """A term as the optimiser sees it."""

    term: Term

    @property
    def _lengths(self) -> list[float]:
        return [_fourier(f).length for f in _columns(self.term)]

    def parameters(self) -> Any:
        """Logarithms of lengthscales relative to the box, and of the variance."""
        if isinstance(self.term.features, Levels):
            return np.log([categorical(self.term.kernel).variance])
        kernels = _kernels(self.term)
        ratios = [k.lengthscale / length for k, length in zip(kernels, self._lengths, strict=True)]
        return np.log([*ratios, np.prod([k.variance for k in kernels])])

    def at(self, parameters: Any) -> Term:
        """The term with these parameters."""
        *lengthscales, variance = np.exp(parameters)
        if isinstance(self.term.features, Levels):
            return replace(self.term, kernel=replace(categorical(self.term.kernel), variance=variance))
        kernels = [
            Matern(k.smoothness, ratio * length, variance if i == 0 else 1.0)
            for i, (k, ratio, length) in enumerate(zip(_kernels(self.term), lengthscales, self._lengths, strict=True))
        ]
        separable_kernel = isinstance(self.term.features, Kronecker)
        return replace(self.term, kernel=Separable(tuple(kernels)) if separable_kernel else kernels[0])

    def columns(self) -> list[tuple[Kind, float]]:
        """Kind and √(2ν) of every column; none for levels."""
        features = _columns(self.term)
        kernels = _kernels(self.term) if features else []
        return [
            (Kind(_fourier(f).n_harmonics, k.order, isinstance(f, OrthogonalFourier)), np.sqrt(2 * k.smoothness))
            for f, k in zip(features, kernels, strict=True)
        ]

    def rates(self, term: Term, X: Any) -> list[Any]:
        """∂Kuf/∂log ℓ_i for rows outside the box, each (|β_t|, N)."""
        if isinstance(term.features, Levels):
            return []
        kernels, selected = _kernels(term), term.select(X)
        values = [f.Kuf(k, selected[:, [i]]) for i, (f, k) in enumerate(zip(_columns(term), kernels, strict=True))]
        result = []
        for i, (f, k) in enumerate(zip(_columns(term), kernels, strict=True)):
            changed = list(values)
            changed[i] = -k.rate * f.Kuf_rate(k, selected[:, [i]])
            result.append(row_products(changed))
        return result


def _columns(term: Term) -> tuple[Any, ...]:
    """The one-column features of a term; none for levels."""
    if isinstance(term.features, Kronecker):
        return term.features.factors
    if isinstance(term.features, Fourier | OrthogonalFourier):
        return (term.features,)
    if isinstance(term.features, Levels):
        return ()
    raise InputError(
        f"term {term.name!r} has {type(term.features).__name__}; the collapsed bound from statistics takes Fourier, "
        "Kronecker and Levels."
    )


def _kernels(term: Term) -> list[Matern]:
    if isinstance(term.features, Kronecker):
        return separable(term.kernel, len(term.features.factors))
    return [matern(term.kernel)]


def _fourier(features: Any) -> Fourier:
    return features.fourier if isinstance(features, OrthogonalFourier) else features


class Blocks:
    """All terms, and where the hyper-parameters of their columns stand among all: those of each block in turn."""

    def __init__(self, terms: Sum):
        self.blocks = [Block(orthogonal(term)) for term in terms]
        counts = [len(block.parameters()) for block in self.blocks]
        self.variances = np.cumsum(counts) - 1  # where the log variance of each block is
        self.slices = slices([block.term.Kuu().size for block in self.blocks])
        columns = [(t, i, *one) for t, block in enumerate(self.blocks) for i, one in enumerate(block.columns())]
        self._owners = [[c for c, (owner, *_) in enumerate(columns) if owner == t] for t in range(len(self.blocks))]
        self._kinds = [kind for _, _, kind, _ in columns]
        self._roots = np.array([root for *_, root in columns])
        self._lengthscales = np.array([self.variances[t] - counts[t] + 1 + i for t, i, *_ in columns], dtype=int)
        self._shared = np.array([self.variances[t] for t, *_ in columns], dtype=int)
        self._first = np.array([i == 0 for _, i, *_ in columns], dtype=bool)
        self._groups = {kind: [c for c, k in enumerate(self._kinds) if k == kind] for kind in self._kinds}

    def whitened(self, parameters: Any) -> "Whitened":
        """C⁻¹ of every block at these logarithms of hyper-parameters."""
        mu = self._roots / np.exp(parameters[self._lengthscales])
        variance = np.where(self._first, np.exp(parameters[self._shared]), 1.0)
        stacks = [columns_at(kind, mu[c], variance[c]) for kind, c in self._groups.items()]
        of_column = {
            c: inverse
            for stack, members in zip(stacks, self._groups.values(), strict=True)
            for c, inverse in zip(members, stack.inverses, strict=True)
        }
        inverses = [
            # levels have no columns, and C⁻¹ = σ I
            Inverse(tuple(of_column[c] for c in owned), 1.0 if owned else float(np.exp(parameters[v] / 2)))
            for owned, v in zip(self._owners, self.variances, strict=True)
        ]
        return Whitened(self, stacks, inverses)

    def information(self, effective: Any) -> Any:
        """½(∂ log S)² for every parameter, times the features that the data speak of, or one if they hardly do."""
        features = np.maximum(effective, 1.0)
        rates = np.ones(self.variances[-1] + 1)  # of a log variance
        rates[self._lengthscales] = self._roots**2  # 2ν
        owners = np.searchsorted(self.variances, np.arange(len(rates)))
        return 0.5 * rates**2 * features[owners]

    def traces(self, stacks: list[Columns], Ms: list["Middle"]) -> Any:
        """tr(C⁻¹ (∂K/∂parameter) C⁻ᵀ M) for every parameter, M the diagonal blocks."""
        gradient = np.empty(self.variances[-1] + 1)
        gradient[self.variances] = [-M.diagonal().sum() for M in Ms]
        of_column: dict[int, Any] = {}  # M, or for a column of a separable term an array
        for owned, M in zip(self._owners, Ms, strict=True):
            if len(owned) == 1:
                of_column[owned[0]] = M
            elif owned:
                sizes, dense = [self._kinds[c].size for c in owned], M.dense()
                of_column.update({c: _partial_trace(dense, sizes, i) for i, c in enumerate(owned)})
        for stack, members in zip(stacks, self._groups.values(), strict=True):
            gradient[self._lengthscales[members]] = stack.traces([of_column[c] for c in members])
        return gradient


@dataclass(frozen=True)
class Inverse:
    """C⁻¹ of a block: a Kronecker product of those of its columns, or a multiple of the identity."""

    factors: tuple[Any, ...]
    scale: float = 1.0

    def __matmul__(self, M: Any) -> Any:
        """C⁻¹M, one factor after the other: with two columns of n features that is n/2 times less work."""
        if not self.factors:
            return self.scale * M
        product, before = M, 1
        for factor in self.factors:
            n = len(factor)
            product = factor @ product.reshape(before, n, -1)
            before *= n
        return product.reshape(M.shape)

    def from_right(self, M: Any) -> Any:
        """M C⁻ᵀ."""
        return M @ self.factors[0].T if len(self.factors) == 1 else (self @ M.T).T


@dataclass(frozen=True)
class Middle:
    """A diagonal block of M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ², B̃⁻¹ = L⁻ᵀL⁻¹: it is multiplied with a few vectors, not made."""

    inverse_root: Any  # the columns of L⁻¹ that belong to the block, from its first row on
    inverse_diagonal: Any  # of B̃⁻¹
    v: Any
    A: Any
    noise: float

    def __matmul__(self, X: Any) -> Any:
        product = self.inverse_root.T @ (self.inverse_root @ X)
        product += np.outer(self.v, self.v @ X) + (self.A @ X) / self.noise - X
        return product

    def diagonal(self) -> Any:
        return self.inverse_diagonal - 1 + self.v**2 + self.A.diagonal() / self.noise

    def dense(self) -> Any:
        M = self.inverse_root.T @ self.inverse_root + np.outer(self.v, self.v) + self.A / self.noise
        M.flat[:: len(M) + 1] -= 1
        return M


@dataclass(frozen=True)
class Whitened:
    """C⁻¹ of every block, and what the gradient takes."""

    blocks: Blocks
    stacks: list[Columns]
    inverses: list[Inverse]

    def traces(self, Ms: list["Middle"]) -> Any:
        return self.blocks.traces(self.stacks, Ms)


def _partial_trace(M: Any, sizes: list[int], keep: int) -> Any:
    """Σ over all other axes of M on a Kronecker product."""
    before, n, after = int(np.prod(sizes[:keep])), sizes[keep], int(np.prod(sizes[keep + 1 :]))
    return np.einsum("aibajb->ij", M.reshape(before, n, after, before, n, after))
