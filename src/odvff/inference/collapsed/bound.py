"""The collapsed bound from statistics, with its gradient: no row is looked at again.

With K = C Cᵀ, Ã = C⁻¹ΦᵀWΦC⁻ᵀ, b̃ = C⁻¹ΦᵀWy, B̃ = I + Ã/σ² and ṽ = B̃⁻¹b̃/σ² (which is the whitened mean):

    L = −½[N log 2πσ² + log|B̃| + yᵀWy/σ² − b̃ᵀṽ/σ² + (Σ w k(x,x) − tr Ã)/σ²]

    ∂L/∂θ_t   = −½ tr(C⁻¹ (∂K_t/∂θ_t) C⁻ᵀ M_tt) − …,   M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ²   (just its diagonal blocks)
    ∂L/∂log σ² = ½[−N + |β| − tr B̃⁻¹ + yᵀWy/σ² − b̃ᵀṽ/σ² − ṽᵀṽ + (Σ w k(x,x) − tr Ã)/σ²]

One Cholesky factorisation and one triangular inverse. Everything is whitened before it is factored, so that B̃ ⪰ I and
no choice of hyper-parameters makes it ill-conditioned by itself.

Rows outside the box enter with their features at the current hyper-parameters, exactly, and with their own gradient.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from odvff.errors import FactorizationError
from odvff.features.base import WhitenedGroup
from odvff.linalg import BlockFactor
from odvff.statistics import Statistics
from odvff.support.arrays import Array, solve_triangular
from odvff.support.shapes import Float
from odvff.terms import Sum


class Blocks:
    """The terms, in the basis of statistics, as the optimiser sees them: a vector of hyper-parameters, and C⁻¹ of each.

    They are logarithms, those of each term in turn: its lengthscales in units of the box, then its variance. K is
    inverse to σ², so only lengthscales need work, which features do for all that are alike at once (`whitened`).
    """

    def __init__(self, terms: Sum):
        self.terms = terms.canonical
        self._pairs: list[tuple[Any, Any]] = [(term.features, term.kernel) for term in self.terms]
        self.start = [features.parameters(kernel) for features, kernel in self._pairs]
        ends = np.cumsum([len(own) for own in self.start])
        self.places = [slice(end - len(own), end) for own, end in zip(self.start, ends, strict=True)]
        self.variances = ends - 1  # where the log variance of each term is
        self.slices = self.terms.slices
        # of a log variance: 1
        self._rates = np.concatenate([[*features.log_rates(kernel), 1.0] for features, kernel in self._pairs])

    def at(self, parameters: Float[Array, " K"]) -> Sum:
        """The model with these hyper-parameters."""
        parts = zip(self.terms, self._pairs, self.places, strict=True)
        return Sum(tuple(replace(t, kernel=f.kernel_at(kernel, parameters[own])) for t, (f, kernel), own in parts))

    def whitened(self, parameters: Any) -> tuple[list[Any], list[WhitenedGroup]]:
        """C⁻¹ of every term at these logarithms of hyper-parameters, and what `traces` takes."""
        groups: list[WhitenedGroup] = []
        found: dict[int, Any] = {}
        for members in self.terms.alike:
            like, kernels = zip(*(self._pairs[i] for i in members), strict=True)
            own = np.stack([parameters[self.places[i]] for i in members])
            groups.append(like[0].whitened(like, kernels, own))
            found |= zip(members, groups[-1].inverses, strict=True)
        return [found[i] for i in range(len(found))], groups

    def information(self, effective: Float[Array, " T"]) -> Float[Array, " K"]:
        """½(∂ log S)² for every parameter, times the features that the data speak of, or one if they hardly do."""
        features = np.maximum(effective, 1.0)
        return 0.5 * (self._rates**2) ** 2 * np.repeat(features, [len(own) for own in self.start])

    def traces(self, groups: Sequence[WhitenedGroup], Ms: Sequence["Middle"]) -> Any:
        """tr(C⁻¹ (∂K/∂parameter) C⁻ᵀ M) for every parameter, M the diagonal blocks."""
        gradient = np.empty(len(self._rates))
        gradient[self.variances] = [-M.diagonal().sum() for M in Ms]
        for members, group in zip(self.terms.alike, groups, strict=True):
            for i, own in zip(members, group.traces([Ms[i] for i in members]), strict=True):
                gradient[self.places[i].start : self.variances[i]] = own
        return gradient


@dataclass(frozen=True)
class Middle:
    """A diagonal block of M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ², B̃⁻¹ = L⁻ᵀL⁻¹: it is multiplied with a few vectors, not made."""

    inverse_root: Float[Array, "K own"]  # the columns of L⁻¹ that belong to the block, from its first row on
    inverse_diagonal: Float[Array, " own"]  # of B̃⁻¹
    v: Float[Array, " own"]
    A: Float[Array, "own own"]
    noise: float

    def __matmul__(self, X: Float[Array, "own k"]) -> Float[Array, "own k"]:
        product = self.inverse_root.T @ (self.inverse_root @ X)
        product += np.outer(self.v, self.v @ X) + (self.A @ X) / self.noise - X
        return product

    def diagonal(self) -> Float[Array, " own"]:
        return self.inverse_diagonal - 1 + self.v**2 + self.A.diagonal() / self.noise

    def dense(self) -> Float[Array, "own own"]:
        M = self.inverse_root.T @ self.inverse_root + np.outer(self.v, self.v) + self.A / self.noise
        M.flat[:: len(M) + 1] -= 1
        return M


@dataclass(frozen=True)
class Evaluation:
    """The bound at some parameters, and what the posterior needs."""

    value: float
    gradient: Float[Array, " K"]
    mean: Float[Array, " B"]  # ṽ
    inverse_root: Float[Array, "B B"]  # L⁻¹ with L Lᵀ = B̃: the root of S is its transpose
    residuals: Float[Array, " T"]  # Σ w k_t(x,x) − tr Ã_tt for each term: the variance its features leave out
    effective: Float[Array, " T"]  # tr(I − B̃⁻¹)_tt for each term: how many of its features the data speak of


@dataclass(frozen=True)
class _Sums:
    """What the bound is made of, whatever the noise: Ã (its lower block triangle), b̃, and what features leave out."""

    A: Float[Array, "B B"]
    b: Float[Array, " B"]
    residuals: Float[Array, " T"]
    groups: list[WhitenedGroup]
    outside: tuple[Sum, BlockFactor, Any] | None  # terms, factor and ψ, if there are rows outside the box


class CollapsedBound:
    """The bound as a function of log hyper-parameters: those of each block in turn, then the log noise variance."""

    def __init__(self, terms: Sum, statistics: Statistics, output: int = 0, *, count: float | None = None):
        self.blocks = Blocks(terms)
        self.statistics, self.weight = statistics, statistics.weight
        self.projections = statistics.projections(output)
        self.squares = statistics.sum_of_squares(output)
        self.count = self.weight if count is None else count  # N of N log 2πσ²; sites, not being normalised, count 0
        self.y_outside = statistics.outside.Y[:, output]

    def values(self, kernels: Any, noises: list[float]) -> list[float]:
        """The bound alone, with several variances of noise: statistics are whitened once for all of them."""
        sums, values = self._sums(kernels), []
        for noise in noises:
            upper, log_det = _root(sums.A, noise)
            if upper is None:
                values.append(self(np.append(kernels, np.log(noise))).value)
                continue
            z = solve_triangular(upper.T, sums.b / np.sqrt(noise))  # |z|² = b̃ᵀB̃⁻¹b̃/σ², for y of any scale
            values.append(self._value(noise, log_det, (self.squares - z @ z) / noise, sums.residuals))
        return values

    def __call__(self, parameters: Float[Array, " K"]) -> Evaluation:
        noise, slices = float(np.exp(parameters[-1])), self.blocks.slices
        sums = self._sums(parameters[:-1])
        A, b, residuals = sums.A, sums.b, sums.residuals
        inverse_root, log_det = inverse_root_of(A, noise)
        v = inverse_root.T @ (inverse_root @ b) / noise
        fit = (self.squares - b @ v) / noise

        gradient = np.empty_like(parameters)
        uncertain = np.einsum("ij,ij->j", inverse_root, inverse_root)  # diag B̃⁻¹
        # L⁻¹ is lower triangular
        middles = [Middle(inverse_root[s.start :, s], uncertain[s], v[s], A[s, s], noise) for s in slices]
        gradient[:-1] = -0.5 * self.blocks.traces(sums.groups, middles)
        gradient[self.blocks.variances] -= 0.5 * self.weight * np.exp(parameters[self.blocks.variances]) / noise
        if sums.outside is not None:
            gradient[:-1] += self._outside(*sums.outside, v, inverse_root, noise)
        effective = 1 - uncertain
        gradient[-1] = 0.5 * (-self.count + effective.sum() + fit - v @ v + residuals.sum() / noise)
        spoken_of = np.array([effective[s].sum() for s in slices])
        return Evaluation(self._value(noise, log_det, fit, residuals), gradient, v, inverse_root, residuals, spoken_of)

    def information(self, evaluation: Evaluation) -> Float[Array, " K"]:
        """About the Fisher information of every parameter by itself, ½ tr(Σ⁻¹∂Σ)² with Σ = Q + σ²I.

        Every feature that the data speak of brings ½(∂ log S(ω))², S its spectral density: ½ for a log variance and, as
        S ∝ ℓ^{−2ν} where ω is large, ½(2ν)² for a log lengthscale. The log noise has half the number of rows.
        """
        return np.append(self.blocks.information(evaluation.effective), 0.5 * self.weight)

    def _sums(self, kernels: Any) -> _Sums:
        """The statistics in whitened coordinates, rows outside the box included."""
        slices, rows, outside = self.blocks.slices, self.statistics.outside, None
        try:
            inverses, groups = self.blocks.whitened(kernels)
        except np.linalg.LinAlgError:
            self.blocks.at(kernels).Kuu().factor()  # says which term it is, and what to do
            raise
        A = _whiten(inverses, slices, self.statistics.gram)
        b = np.concatenate([C @ self.projections[s] for C, s in zip(inverses, slices, strict=True)])
        if len(rows):
            terms = self.blocks.at(kernels)
            C = terms.Kuu().factor()
            psi = C.solve(terms.Kuf(rows.X))
            A += (psi * rows.weights) @ psi.T
            b += psi @ (rows.weights * self.y_outside)
            outside = (terms, C, psi)
        residuals = self.weight * np.exp(kernels[self.blocks.variances]) - np.array([np.trace(A[s, s]) for s in slices])
        return _Sums(A, b, residuals, groups, outside)

    def _value(self, noise: float, log_det: float, fit: float, residuals: Any) -> float:
        left_out = residuals.sum() / noise
        return float(-0.5 * (self.count * np.log(2 * np.pi * noise) + log_det + fit + left_out))

    def _outside(self, terms: Sum, C: BlockFactor, psi: Any, v: Any, inverse_root: Any, noise: float) -> Any:
        """tr(∂L/∂A dA) + ∂L/∂b db for dΦ of the rows outside, ∂L/∂A = −[B⁻¹ − K⁻¹ + vvᵀ]/2σ², ∂L/∂b = v/σ²."""
        rows = self.statistics.outside
        G_psi = -(inverse_root.T @ (inverse_root @ psi) - psi + np.outer(v, v @ psi)) / (2 * noise)
        upstream = C.solve_transpose(2 * G_psi + np.outer(v, self.y_outside) / noise) * rows.weights
        gradient = []
        for term, s in zip(terms, C.slices, strict=True):
            features: Any = term.features
            gradient += [np.sum(upstream[s] * rate) for rate in features.Kuf_rates(term.kernel, term.select(rows.X))]
            gradient.append(0.0)  # of the variance, which the features do not depend on
        return np.array(gradient)


def _whiten(inverses: Sequence[Any], slices: list[slice], gram: Float[Array, "B B"]) -> Float[Array, "B B"]:
    """The lower block triangle of C⁻¹ A C⁻ᵀ for a block-diagonal C, by products with their inverses."""
    half, whitened = np.empty_like(gram), np.zeros_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        half[s, : s.stop] = inverse @ gram[s, : s.stop]  # what lies to the right of it is not read
    for inverse, s in zip(inverses, slices, strict=True):
        whitened[s.start :, s] = half[s.start :, s] @ inverse.T
    return whitened


def _root(A: Any, noise: float) -> tuple[Any | None, float]:
    """Lᵀ and log|B̃| for B̃ = I + Ã/σ² = L Lᵀ; just the lower triangle of Ã is read. None where rounding prevents it."""
    B = A / noise
    B.flat[:: len(B) + 1] += 1.0
    # LAPACK counts by columns: our lower triangle is its upper one, B̃ = UᵀU with Uᵀ = L
    upper, failed = lapack.dpotrf(B.T, lower=0, overwrite_a=1)
    return (None, np.nan) if failed else (upper, 2 * float(np.log(np.diagonal(upper)).sum()))


def inverse_root_of(A: Float[Array, "B B"], noise: float) -> tuple[Float[Array, "B B"], float]:
    """L⁻¹ and log|B̃|."""
    upper, log_det = _root(A, noise)
    if upper is None:
        # Ã ⪰ 0 but for rounding: take the negative part off
        eigenvalues, Q = np.linalg.eigh(A, UPLO="L")
        if not np.isfinite(eigenvalues).all():
            raise FactorizationError("the statistics contain NaN or infinite entries; check the data for overflow.")
        inflated = 1 + np.maximum(eigenvalues, 0) / noise
        # B̃⁻¹ = EᵀE with E = D^{-½}Qᵀ; reversing rows and columns turns the R of a QR factorisation into a lower L⁻¹
        E = (Q / np.sqrt(inflated)).T
        R: Any = np.linalg.qr(E[:, ::-1], mode="r")
        R = R[::-1, ::-1]
        return R * np.sign(np.diagonal(R))[:, None], float(np.log(inflated).sum())
    inverse, _ = lapack.dtrtri(upper, lower=0, overwrite_c=1)
    return inverse.T, log_det
