"""Effects of a fitted model: what each part adds to the prediction, centred on the training rows, with its band.

Parts are the terms; a term of inducing points with an additive kernel has a part for each column. With u the features
of its term and ψ(x) = C⁻¹Cov(u, f_p(x)), the same formulas hold for all of them.

Parts of a sum share a level: a constant can move from one to the other. So an effect is told as f_p(x) − f̄_p, with
f̄_p its mean over the training rows, and these means add up to the intercept. With ψ̄ the mean of ψ over the rows,

    mean = (m − ψ(γ)a_γ)ᵀ(ψ − ψ̄) + [k_p(x,γ)a_γ − its mean],    variance = k_p(x,x) − ψᵀψ + (ψ − ψ̄)ᵀS(ψ − ψ̄).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.features import InducingPoints
from odvff.kernels import Additive
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
        if isinstance(term.kernel, Additive) and isinstance(term.features, InducingPoints):
            Z, jitter = term.features.locations, term.features.jitter
            for i, (k, c) in enumerate(zip(term.kernel.factors, columns, strict=True)):
                parts.append(Part(t, k, (c,), InducingPoints(Z[:, [i]], jitter)))
        else:
            parts.append(Part(t, term.kernel, columns, term.features))
    return parts


@dataclass(frozen=True)
class Centre:
    """Means over the training rows: of whitened features, of what γ adds to each part; and how much effects vary."""

    features: tuple[Any, ...]  # of every part, (|β_t|,)
    gamma: Any  # (parts,)
    variances: Any  # (parts,)


def centre_of(q: Posterior, X: Any, weights: Any | None) -> Centre:
    """The centre of these rows."""
    w = (np.ones(len(X)) if weights is None else weights) / (len(X) if weights is None else weights.sum())
    features, gamma, variances = [], [], []
    for part in parts_of(q, X.shape[1]):
        C, m = q.factor.blocks[part.term], q.whitened_weights[q.factor.slices[part.term]]
        total, first, second, by_gamma = np.zeros(C.size), 0.0, 0.0, 0.0
        for start in range(0, len(X), BLOCK_ROWS):
            x, share = X[start : start + BLOCK_ROWS], w[start : start + BLOCK_ROWS]
            psi, extra = C.solve(part.cross(x)), _by_gamma(q, part, x)
            mean = m @ psi + extra
            total += psi @ share
            by_gamma += float(extra @ share)
            first, second = first + float(mean @ share), second + float(mean**2 @ share)
        features.append(total)
        gamma.append(by_gamma)
        variances.append(max(second - first**2, 0.0))
    return Centre(tuple(features), np.array(gamma), np.array(variances))


def part_levels(q: Posterior, centre: Centre, width: int) -> Any:
    """What every effect is centred by, on the scale of f: with the effects these add up to the mean."""
    slices = (q.factor.slices[part.term] for part in parts_of(q, width))
    of_features = [q.whitened_weights[s] @ psi for s, psi in zip(slices, centre.features, strict=True)]
    return np.array(of_features) + centre.gamma


def centred_effect(q: Posterior, centre: Centre, p: int, part: Part, X: Any) -> tuple[Any, Any]:
    """Mean and variance of the effect of the p-th part at rows X."""
    s, C = q.factor.slices[part.term], q.factor.blocks[part.term]
    psi = C.solve(part.cross(X))
    apart = psi - centre.features[p][:, None]
    mean = q.whitened_weights[s] @ apart + _by_gamma(q, part, X) - centre.gamma[p]
    spread = q.root[s, None] * apart if q.root.ndim == 1 else q.root[s].T @ apart
    return mean, residual_variance(part.variances(X), psi) + (spread**2).sum(axis=0)


def _by_gamma(q: Posterior, part: Part, X: Any) -> Any:
    """k_p(x,γ)a_γ."""
    return np.zeros(len(X)) if q.gamma is None else part.covariance(X, q.gamma) @ q.a_gamma
