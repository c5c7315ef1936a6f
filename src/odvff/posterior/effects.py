"""Effects of a fitted model: what each part adds to the prediction, centred on the training rows, with its band.

Parts are the terms; a term of inducing points with an additive kernel has a part for each column. With u the features
of its term and ψ(x) = C⁻¹Cov(u, f_p(x)), the same formulas hold for all of them.

**Levels.** Parts of a sum share a level: a constant can move from one to the other. So an effect is told as
f_p(x) − f̄_p, with f̄_p its mean over the training rows, and these means add up to the intercept. With ψ̄ the mean of ψ,

    mean = (m − ψ(γ)a_γ)ᵀ(ψ − ψ̄) + [k_p(x,γ)a_γ − its mean],    variance = k_p(x,x) − ψᵀψ + (ψ − ψ̄)ᵀS(ψ − ψ̄).

**Pairs.** A joint effect of two columns that have effects of their own shares more with these: a function of one column
alone. Its features are products, ψ = α(x) ⊗ β(y), so it is told apart exactly, with ᾱ and β̄ the means over the rows:

    α ⊗ β = (α − ᾱ) ⊗ (β − β̄)  +  (α − ᾱ) ⊗ β̄  +  ᾱ ⊗ (β − β̄)  +  ᾱ ⊗ β̄
            what both do together    belongs to x     belongs to y     to the intercept

and in the same way k(x,γ)k(y,γ'). That is the decomposition of variance for columns that are independent of each other.
What the features of a pair leave out stays with the pair.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff import kernels
from odvff.features.kronecker import row_products
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.rows import row_slices
from odvff.support.shapes import Array, Float
from odvff.terms import Term

BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Part(Term):
    """A term, or one column of a term whose kernel is a sum over columns (which has no name then)."""

    columns: tuple[int, ...] = ()
    place: int = 0  # of the term among all
    shared: bool = False  # a pair whose columns have parts of their own
    pairs: tuple[tuple[int, int], ...] = ()  # of a column: the pairs that it is in, and whether it is their 0th or 1st


def parts_of(q: Posterior, width: int) -> list[Part]:
    """The parts of a posterior on so many columns, in the order of its terms."""
    parts = []
    for t, term in enumerate(q.terms):
        columns = tuple(range(width)) if term.columns is None else term.columns
        for kernel, read, features in term.features.split(term.kernel, columns):
            if features.is_pair:  # factors of GPJax's say which columns they read
                kernel, read = features.read(kernel, read)  # type: ignore[attr-defined]
            parts.append(Part(kernel, features, read, term.name if features is term.features else "", t))
    alone = {part.columns[0]: p for p, part in enumerate(parts) if len(part.columns) == 1}
    for p, part in enumerate(parts):
        if part.features.is_pair and alone.keys() >= set(part.columns):
            parts[p] = replace(part, shared=True)
            for side, column in enumerate(part.columns):
                own = parts[alone[column]]
                parts[alone[column]] = replace(own, pairs=(*own.pairs, (p, side)))
    return parts


@dataclass(frozen=True)
class Centre:
    """Means over the training rows, and how much effects vary there.

    Of every part: of ψ, and of what γ adds (a number); of a shared pair: ᾱ and β̄ one after the other, and k(x,γ) and
    k(y,γ) likewise.
    """

    features: tuple[Any, ...]
    gamma: tuple[Any, ...]
    variances: Float[Array, " parts"]

    @staticmethod
    def sizes(q: Posterior, parts: list[Part]) -> tuple[list[int], list[int]]:
        """The lengths of all entries of `features` and of `gamma`."""
        n_points = 0 if q.gamma is None else len(q.gamma)
        blocks: list[Any] = [q.factor.blocks[part.place] for part in parts]
        features = [
            sum(C.size for C in own.factors) if part.shared else own.size
            for part, own in zip(parts, blocks, strict=True)
        ]
        return features, [2 * n_points if part.shared else 1 for part in parts]


def centre_of(q: Posterior, X: Float[Array, "N D"], weights: Float[Array, " N"] | None) -> Centre:
    """The centre of these rows."""
    w = (np.ones(len(X)) if weights is None else weights) / (len(X) if weights is None else weights.sum())
    parts = parts_of(q, X.shape[1])
    blocks = [(X[rows], w[rows]) for rows in row_slices(len(X), BLOCK_ROWS)]
    # pairs first: what belongs to a column depends on the mean over the other one
    pairs = {p: _Pair(q, part).centred_on(blocks) for p, part in enumerate(parts) if part.shared}
    features: list[Any] = []
    gamma: list[Any] = []
    variances = []
    for p, part in enumerate(parts):
        phi: Any = 0.0
        by_gamma, first, second = 0.0, 0.0, 0.0
        for x, share in blocks:
            effect = _mean_of(q, _of_pairs(pairs, part, p, x))
            if not part.shared:  # ψ is linear in φ: its mean takes one solution for all rows
                cross, own = part.Kuf(x), _by_gamma(q, part, x)
                effect = effect + q.weights[q.factor.slices[part.place]] @ cross + own
                phi, by_gamma = phi + cross @ share, by_gamma + own @ share
            first, second = first + float(effect @ share), second + float(effect**2 @ share)
        variances.append(max(second - first**2, 0.0))
        if part.shared:
            of_features, of_gamma = zip(*pairs[p].means, strict=True)
            features.append(np.concatenate(of_features))
            gamma.append(np.concatenate(of_gamma))
        else:
            features.append(q.factor.blocks[part.place].solve(phi[:, None])[:, 0])
            gamma.append(np.reshape(by_gamma, 1))
    return Centre(tuple(features), tuple(gamma), np.array(variances))


class CentredEffects:
    """The effects of all parts of a posterior on so many columns, told as what they are apart from their centre."""

    def __init__(self, q: Posterior, centre: Centre, width: int):
        self._q, self._centre, self.parts = q, centre, parts_of(q, width)
        self._pairs = {}
        for p, part in enumerate(self.parts):
            if part.shared:
                C: Any = q.factor.blocks[part.place]
                features = np.split(centre.features[p], [C.factors[0].size])
                self._pairs[p] = _Pair(q, part, zip(features, np.split(centre.gamma[p], 2), strict=True))

    def at(self, p: int, X: Float[Array, "N D"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and variance of the effect of the p-th part at rows X."""
        q, part = self._q, self.parts[p]
        features = q.factor.blocks[part.place].solve(part.Kuf(X))
        pieces = _of_pairs(self._pairs, part, p, X)
        if not part.shared:
            own = (features - self._centre.features[p][:, None], _by_gamma(q, part, X) - self._centre.gamma[p])
            pieces = [(q.factor.slices[part.place], *own), *pieces]
        if q.root.ndim == 1:
            spread = np.concatenate([q.root[s, None] * psi for s, psi, _ in pieces])
        else:
            spread = sum(q.root[s].T @ psi for s, psi, _ in pieces)
        return _mean_of(q, pieces), residual_variance(part.variances(X), features) + (spread**2).sum(axis=0)

    def level(self) -> float:
        """What all effects are centred by, on the scale of f: with the effects it adds up to the mean."""
        q, total = self._q, 0.0
        for p, part in enumerate(self.parts):
            own = (q.factor.slices[part.place], self._centre.features[p][:, None], self._centre.gamma[p])
            total += float(_mean_of(q, [self._pairs[p].told(np.zeros((1, 0)), ()) if part.shared else own])[0])
        return total


# what a part is made of: where its features stand among all, what they are at some rows, and what the points add there

Piece = tuple[slice, Any, Any]


class _Pair:
    """A joint effect of two columns that have effects of their own, and the means of what it is made of."""

    def __init__(self, q: Posterior, part: Part, means: Any = ()):
        C: Any = q.factor.blocks[part.place]
        self._place, self.means = q.factor.slices[part.place], tuple(means)  # for each column ᾱ, and that of k(x,γ)
        self._sides = tuple(zip(part.features.sides(part.kernel), part.columns, C.factors, strict=True))  # type: ignore[attr-defined]
        self._gamma = np.zeros((0, max(part.columns) + 1)) if q.gamma is None else q.gamma
        self._a_gamma = np.zeros(0) if q.gamma is None else q.a_gamma

    def _at(self, side: int, X: Float[Array, "N D"]) -> tuple[Float[Array, "B N"], Float[Array, "G N"]]:
        """Of one column: its whitened features α(x), and k(γ,x)."""
        (features, kernel), column, C = self._sides[side]
        x = X[:, [column]]
        return C.solve(features.Kuf(kernel, x)), kernels.covariance(kernel, self._gamma[:, [column]], x)

    def centred_on(self, blocks: list[tuple[Any, Any]]) -> "_Pair":
        """The same with the means over these rows, each with its share."""
        each = ([[value @ share for value in self._at(side, x)] for x, share in blocks] for side in (0, 1))
        self.means = tuple(tuple(map(sum, zip(*values, strict=True))) for values in each)
        return self

    def told(self, X: Float[Array, "N D"], apart: tuple[int, ...]) -> Piece:
        """The product over both columns, of what these are `apart` from their means, and of the means of others."""
        columns = []
        for side, means in enumerate(self.means):
            level = [np.broadcast_to(mean[:, None], (len(mean), len(X))) for mean in means]
            columns.append([a - b for a, b in zip(self._at(side, X), level, strict=True)] if side in apart else level)
        (alpha, k), (beta, l) = columns
        return self._place, row_products([alpha, beta]), self._a_gamma @ (k * l)


def _of_pairs(pairs: dict[int, _Pair], part: Part, p: int, X: Float[Array, "N D"]) -> list[Piece]:
    """Of a pair what both columns do together, of a column what belongs to it of the pairs that it is in."""
    if part.shared:
        return [pairs[p].told(X, (0, 1))]
    return [pairs[other].told(X, (side,)) for other, side in part.pairs]


def _by_gamma(q: Posterior, part: Part, X: Float[Array, "N D"]) -> Float[Array, " N"]:
    """What the points add at rows X, but for pairs."""
    return np.zeros(len(X)) if q.gamma is None else part.covariance(X, q.gamma) @ q.a_gamma


def _mean_of(q: Posterior, pieces: list[Piece]) -> Any:
    return sum((q.whitened_weights[s] @ psi + by_gamma for s, psi, by_gamma in pieces), start=0.0)
