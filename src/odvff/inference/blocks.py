"""What one term contributes to the gradient of the collapsed bound: its hyper-parameters, and tr(C⁻¹ dK C⁻ᵀ M).

Hyper-parameters are logarithms: for a Fourier term (log ℓ, log σ²), for a separable one (log ℓ_1, …, log ℓ_d, log σ²),
for levels (log σ²). K is proportional to 1/σ², so only lengthscales need work: K(μ) is made of the parts of
`matern_gram`, whose derivatives come from a complex step. In terms of harmonics h and remainders R, eliminated as the
factor does it,

    dK = diag(dD) + dP Pᵀ + P dPᵀ + blockdiag(0, dt tᵀ + t dtᵀ) + X G + G Xᵀ,     P = [U; V],  X = [[0, 0], [dc, 0]],

and with Y = C⁻ᵀ M C⁻¹ the trace is a sum of elementwise products.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features import Fourier, Kronecker, Levels
from odvff.features.matern_gram import parts, with_rates
from odvff.features.orthogonal import OrthogonalFourier, parts_and_rates
from odvff.kernels import Matern, Separable, categorical, matern, separable
from odvff.linalg import BorderedFactor, Factor, KroneckerFactor
from odvff.linalg.low_rank import LowRankFactor
from odvff.terms import Term


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

    def variance(self, parameters: Any) -> float:
        """k(x,x)."""
        return float(np.exp(parameters[-1]))

    def traces(self, parameters: Any, factor: Factor, M: Any) -> Any:
        """tr(C⁻¹ (∂K/∂parameter) C⁻ᵀ M) for every parameter."""
        if isinstance(self.term.features, Levels):
            return np.array([-np.trace(M)])
        kernels = _kernels(self.at(parameters))
        factors = factor.factors if isinstance(factor, KroneckerFactor) else (factor,)
        result = []
        for i, (f, k, C) in enumerate(zip(_columns(self.term), kernels, factors, strict=True)):
            mu = k.rate * _fourier(f).length
            # ∂/∂log ℓ = −μ ∂/∂μ; K is that of σ² = 1 divided by k.variance
            inner = _trace_of_rate(f, k, mu, C, _partial_trace(M, [c.size for c in factors], i))
            result.append(-mu * inner)
        return np.array([*result, -np.trace(M)])

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
            product = changed[0]
            for value in changed[1:]:
                product = (product[:, None, :] * value).reshape(-1, value.shape[1])
            result.append(product)
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


def _partial_trace(M: Any, sizes: list[int], keep: int) -> Any:
    """Σ over all other axes of M on a Kronecker product: tr((I⊗J⊗I) M) = tr(J · this)."""
    before, n, after = int(np.prod(sizes[:keep])), sizes[keep], int(np.prod(sizes[keep + 1 :]))
    if before == after == 1:
        return M
    return np.einsum("aibajb->ij", M.reshape(before, n, after, before, n, after))


def _trace_of_rate(features: Any, k: Matern, mu: float, C: Factor, M: Any) -> float:
    """tr(C⁻¹ (∂K/∂μ) C⁻ᵀ M) for one column."""
    F, s = _fourier(features).n_harmonics, k.order

    if isinstance(features, OrthogonalFourier):
        p, d = parts_and_rates(F, s, float(mu))
    else:
        p, d = with_rates(lambda mu: parts(F, s, mu, degree=s if features.completion else 0), mu)
    if isinstance(C, BorderedFactor):
        half = C.solve_transpose_eliminated(M)
        Y = C.solve_transpose_eliminated(half.T)
        h, R = _positions(C)
    elif isinstance(C, LowRankFactor):  # no completion: the constant is the first of the core
        half = C.solve_transpose(M)
        Y = C.solve_transpose(half.T)
        h, R = np.arange(1, C.size), np.array([0])
    else:
        raise TypeError(f"no gradient for a factor of type {type(C).__name__}")
    P, dP = np.empty((C.size, s)), np.empty((C.size, s))
    P[h], P[R], dP[h], dP[R] = p.U, p.V, d.U, d.V
    YP = Y @ P
    trace = d.diagonal @ np.diagonal(Y)[h] + 2 * np.sum(YP * dP) + 2 * np.sum((Y[np.ix_(R, R)] @ p.t) * d.t)
    # X G: dc against the rows h, columns R of G Y
    GY = p.diagonal[:, None] * Y[np.ix_(h, R)] + p.U @ YP[R].T
    trace += 2 * np.sum(d.c.T * GY)
    return float(trace / k.variance)


def _positions(C: BorderedFactor) -> tuple[Any, Any]:
    """Where the factor keeps harmonics and remainders."""
    core, border = C.operator.split(np.arange(C.size))
    return core, border
