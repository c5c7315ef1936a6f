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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff import kernels
from odvff.features.kronecker import row_products
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.terms import Term

BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Part:
    """A term, or one column of a term whose kernel is a sum over columns."""

    term: int  # its position among the terms
    kernel: Any
    columns: tuple[int, ...]
    features: Any
    name: str = ""  # of the term, where the part is all of it
    shared: bool = False  # a pair whose columns have parts of their own
    pairs: tuple[tuple[int, int], ...] = ()  # of a column: the pairs that it is in, and whether it is their 0th or 1st

    def cross(self, X: Any) -> Any:
        """Cov(u, f_p(x)), (|β_t|, N)."""
        return Term(self.kernel, self.features, self.columns).Kuf(X)

    def covariance(self, X: Any, Z: Any) -> Any:
        return Term(self.kernel, self.features, self.columns).covariance(X, Z)

    def variances(self, X: Any) -> Any:
        return Term(self.kernel, self.features, self.columns).variances(X)


def parts_of(q: Posterior, width: int) -> list[Part]:
    """The parts of a posterior on so many columns, in the order of its terms."""
    parts = []
    for t, term in enumerate(q.terms):
        columns = tuple(range(width)) if term.columns is None else term.columns
        split = term.features.split(term.kernel, columns)
        parts += [Part(t, *part, term.name if part[2] is term.features else "") for part in split]
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
    variances: Any  # (parts,)

    @staticmethod
    def sizes(q: Posterior, parts: list[Part]) -> tuple[list[int], list[int]]:
        """The lengths of all entries of `features` and of `gamma`."""
        n_points = 0 if q.gamma is None else len(q.gamma)
        features = [sum(_sizes(q, part)) if part.shared else q.factor.blocks[part.term].size for part in parts]
        return features, [2 * n_points if part.shared else 1 for part in parts]


@dataclass(frozen=True)
class _PairMeans:
    """Means over the rows of a shared pair: ᾱ and β̄, and those of k(x,γ) and k(y,γ)."""

    features: list[Any]
    gamma: list[Any]


def centre_of(q: Posterior, X: Any, weights: Any | None) -> Centre:
    """The centre of these rows."""
    w = (np.ones(len(X)) if weights is None else weights) / (len(X) if weights is None else weights.sum())
    parts = parts_of(q, X.shape[1])
    blocks = [(X[rows], w[rows]) for rows in (slice(i, i + BLOCK_ROWS) for i in range(0, len(X), BLOCK_ROWS))]

    # pairs first: what belongs to a column depends on the mean over the other one
    pairs = {p: _means_of_pair(q, part, blocks) for p, part in enumerate(parts) if part.shared}
    features: list[Any] = []
    gamma: list[Any] = []
    variances = []
    for p, part in enumerate(parts):
        phi: Any = 0.0
        by_gamma, first, second = 0.0, 0.0, 0.0
        for x, share in blocks:
            own, by_pairs = _by_gamma(q, pairs, parts, p, x)
            effect = own + by_pairs
            if part.shared:
                effect = effect + _mean_of(q, [_apart(q, pairs, parts, p, x)])
            else:  # ψ is linear in φ: its mean takes one solution for all rows
                cross = part.cross(x)
                effect = effect + q.weights[q.factor.slices[part.term]] @ cross
                effect = effect + _mean_of(q, list(_of_pairs(q, pairs, parts, p, x)))
                phi = phi + cross @ share
            first, second = first + float(effect @ share), second + float(effect**2 @ share)
            by_gamma = by_gamma + own @ share
        own_block = q.factor.blocks[part.term]
        features.append(np.concatenate(pairs[p].features) if part.shared else own_block.solve(phi[:, None])[:, 0])
        gamma.append(np.concatenate(pairs[p].gamma) if part.shared else np.reshape(by_gamma, 1))
        variances.append(max(second - first**2, 0.0))
    return Centre(tuple(features), tuple(gamma), np.array(variances))


def _means_of_pair(q: Posterior, part: Part, blocks: list[tuple[Any, Any]]) -> _PairMeans:
    def mean(of: Any, side: int) -> Any:
        return sum(of(q, part, side, x) @ share for x, share in blocks)

    return _PairMeans([mean(_side, side) for side in (0, 1)], [mean(_side_by_gamma, side) for side in (0, 1)])


def _means_of_pairs(q: Posterior, parts: list[Part], centre: Centre) -> dict[int, _PairMeans]:
    """The means of all shared pairs, as a centre has them."""
    return {
        p: _PairMeans(np.split(centre.features[p], [_sizes(q, part)[0]]), np.split(centre.gamma[p], 2))
        for p, part in enumerate(parts)
        if part.shared
    }


def _sizes(q: Posterior, part: Part) -> list[int]:
    """How many features each of the two columns of a pair has."""
    C: Any = q.factor.blocks[part.term]
    return [factor.size for factor in C.factors]


def part_levels(q: Posterior, centre: Centre, width: int) -> Any:
    """What every effect is centred by, on the scale of f: with the effects these add up to the mean."""
    levels, parts = [], parts_of(q, width)
    pairs = _means_of_pairs(q, parts, centre)
    for p, part in enumerate(parts):
        psi, by_gamma = centre.features[p], centre.gamma[p]
        if part.shared:
            psi = np.kron(*pairs[p].features)
            by_gamma = 0.0 if q.gamma is None else np.prod(pairs[p].gamma, axis=0) @ q.a_gamma
        levels.append(float(q.whitened_weights[q.factor.slices[part.term]] @ psi + np.sum(by_gamma)))
    return np.array(levels)


def centred_effect(q: Posterior, centre: Centre, p: int, X: Any) -> tuple[Any, Any]:
    """Mean and variance of the effect of the p-th part at rows X."""
    parts = parts_of(q, X.shape[1])
    part, pairs = parts[p], _means_of_pairs(q, parts, centre)
    (s, psi), *others = _pieces(q, pairs, parts, p, X)
    own, by_pairs = _by_gamma(q, pairs, parts, p, X)
    features = psi
    if part.shared:
        features = q.factor.blocks[part.term].solve(part.cross(X))
    else:
        psi, own = psi - centre.features[p][:, None], own - centre.gamma[p]
    pieces = [(s, psi), *others]
    mean = _mean_of(q, pieces) + own + by_pairs
    if q.root.ndim == 1:
        spread = np.concatenate([q.root[s, None] * piece for s, piece in pieces])
    else:
        spread = sum(q.root[s].T @ piece for s, piece in pieces)
    return mean, residual_variance(part.variances(X), features) + (spread**2).sum(axis=0)


# what a part is made of


def _pieces(
    q: Posterior, pairs: dict[int, _PairMeans], parts: list[Part], p: int, X: Any
) -> Iterator[tuple[slice, Any]]:
    """Where features stand among all and what they are at rows X: own ones, then those of the pairs of a column."""
    part = parts[p]
    if part.shared:
        yield _apart(q, pairs, parts, p, X)
        return
    yield q.factor.slices[part.term], q.factor.blocks[part.term].solve(part.cross(X))
    yield from _of_pairs(q, pairs, parts, p, X)


def _apart(q: Posterior, pairs: dict[int, _PairMeans], parts: list[Part], p: int, X: Any) -> tuple[slice, Any]:
    """Of a shared pair: (α − ᾱ) ⊗ (β − β̄)."""
    part = parts[p]
    apart = [_side(q, part, side, X) - pairs[p].features[side][:, None] for side in (0, 1)]
    return q.factor.slices[part.term], row_products(apart)


def _of_pairs(
    q: Posterior, pairs: dict[int, _PairMeans], parts: list[Part], p: int, X: Any
) -> Iterator[tuple[slice, Any]]:
    """What belongs to a column of the pairs that it is in: (α − ᾱ) ⊗ β̄, or the other way round."""
    for other, side in parts[p].pairs:
        pair, means = parts[other], pairs[other].features
        both = [np.repeat(mean[:, None], len(X), axis=1) for mean in means]
        both[side] = _side(q, pair, side, X) - means[side][:, None]
        yield q.factor.slices[pair.term], row_products(both)


def _by_gamma(q: Posterior, pairs: dict[int, _PairMeans], parts: list[Part], p: int, X: Any) -> tuple[Any, Any]:
    """What the points add at rows X: by the part itself, and by the pairs of its column."""
    part, zero = parts[p], np.zeros(len(X))
    if q.gamma is None:
        return zero, zero
    if part.shared:
        first, second = (_side_by_gamma(q, part, side, X).T - pairs[p].gamma[side] for side in (0, 1))
        return (first * second) @ q.a_gamma, zero
    by_pairs = zero
    for other, side in part.pairs:
        means = pairs[other].gamma
        apart = _side_by_gamma(q, parts[other], side, X).T - means[side]
        by_pairs = by_pairs + (apart * means[1 - side]) @ q.a_gamma
    return part.covariance(X, q.gamma) @ q.a_gamma, by_pairs


def _side(q: Posterior, part: Part, side: int, X: Any) -> Any:
    """α(x) or β(y): the whitened features of one column of a pair."""
    C: Any = q.factor.blocks[part.term]
    (features, kernel), column = part.features.sides(part.kernel)[side], part.columns[side]
    return C.factors[side].solve(features.Kuf(kernel, X[:, [column]]))


def _side_by_gamma(q: Posterior, part: Part, side: int, X: Any) -> Any:
    """k(γ,x) of one column of a pair, (|γ|, N)."""
    if q.gamma is None:
        return np.zeros((0, len(X)))
    (_, kernel), column = part.features.sides(part.kernel)[side], [part.columns[side]]
    return kernels.covariance(kernel, q.gamma[:, column], X[:, column])


def _mean_of(q: Posterior, pieces: list[tuple[slice, Any]]) -> Any:
    return sum((q.whitened_weights[s] @ piece for s, piece in pieces), start=0.0)
