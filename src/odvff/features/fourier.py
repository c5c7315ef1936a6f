"""RKHS Fourier features of a one-column Matérn kernel on [a, b]: start reading here.

The inducing variables are β_i = ⟨f, φ_i⟩ with the inner product of the kernel's RKHS on [a, b], and

    φ = [1, cos ω_m(x−a), sin ω_m(x−a), ((x−a)/L)^k],    ω_m = 2πm/L,  m = 1…F,  k = 1…p+1,

the monomials being the completion: without them the span holds periodic functions only. Cov(β_i, f(x)) = φ_i(x) in the
box (`interval` says what it is outside), and Cov(β_i, β_j) = ⟨φ_i, φ_j⟩, which `odvff.features.matern_gram` computes.

Monomials are nearly sums of many harmonics, so sums over rows of their products lose digits that no later algebra
brings back. Statistics are taken in a better basis of the same span: with the remainders R̂_k of `matern_gram` in place
of t^k the Gram matrix of rows that are spread evenly over the box is nearly diagonal. Its factor eliminates to the same
functions, so whitened features are equal in either basis.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from odvff.errors import FactorizationError, InputError
from odvff.features.base import Axis, Features, OnUnitBox, Stored, WhitenedGroup
from odvff.features.cells import taylor
from odvff.features.interval import IntervalFeatures, checked_interval
from odvff.features.matern_gram import (
    BERNOULLI_COEFFICIENTS,
    MONOMIALS_IN_BERNOULLI,
    Parts,
    added,
    gram,
    harmonic_form,
    harmonic_rows,
    harmonic_states,
    monomial_states,
    norms,
    parts,
    scaled_coefficients,
)
from odvff.features.whitening import columns_at
from odvff.kernels import Matern
from odvff.linalg import Covariance
from odvff.support.arrays import Array, concatenate, is_traced, namespace
from odvff.support.checks import whole
from odvff.support.shapes import Float, Int
from odvff.support.words import number

LONGEST = 1e30
"""Bounds on μ = λL, beyond which μ⁶ leaves float64."""


@dataclass(frozen=True)
class Fourier(IntervalFeatures):
    """RKHS Fourier features on an interval.

    Parameters
    ----------
    n_harmonics : number F of cosines and of sines.
    interval : (a, b), the box. Rows outside it are allowed: there the features decay, and f returns to its prior.
    completion : add the monomials that make the span dense (default), or keep the paper's basis.
    smoothness : of the kernel, 0.5, 1.5 or 2.5: it sets how many monomials complete the basis. By default that of the
        kernel of the term.

    >>> phi = Fourier(n_harmonics=2, interval=(0, 1), smoothness=1.5)
    >>> phi.inside([[0.25]]).ravel().round(4)   # 1, two cosines, two sines, t, t²
    array([ 1.    ,  0.    , -1.    ,  1.    ,  0.    ,  0.25  ,  0.0625])
    """

    n_harmonics: int
    interval: tuple[float, float]
    completion: bool = True
    smoothness: float | None = None

    def __post_init__(self) -> None:
        F = whole(self.n_harmonics, "n_harmonics", at_least=1, remedy="10 is a good start")
        object.__setattr__(self, "interval", checked_interval(self.interval))
        object.__setattr__(self, "n_harmonics", F)

    @property
    def n_completing(self) -> int:
        """How many functions complete the harmonics."""
        return self.order if self.completion else 0

    @property
    def size(self) -> int:
        return 2 * self.n_harmonics + 1 + self.n_completing

    def values(self, t: Float[Array, " N"], order: int) -> Float[Array, "B N"]:
        """[1, cos θ_m t, sin θ_m t, t^k]."""
        degrees = range(1, order + 1) if self.completion else ()
        one = namespace(t).ones_like(t)[None]
        return concatenate([one, harmonics(t, self.n_harmonics), *((t**k)[None] for k in degrees)])

    def states(self, order: int) -> tuple[Float[Array, "B s"], Float[Array, "B s"]]:
        degree = order if self.completion else 0
        at = [monomial_states(degree, t, order) for t in (0.0, 1.0)]
        left, right = (np.concatenate([m[:1], harmonic_states(self.n_harmonics, order), m[1:]]) for m in at)
        return left, right

    def Kuu(self, kernel: Any) -> Covariance:
        """⟨φ_i, φ_j⟩, in linear memory."""
        k = self.kernel_of(kernel)
        mu = k.rate * self.length
        if not is_traced(mu) and not 1 / LONGEST < mu < LONGEST:
            raise FactorizationError(
                f"the lengthscale is {k.lengthscale / self.length:.3g} times the interval, and its powers would over- "
                "or underflow; no jitter was tried, as none would help. Likely causes: (a) an optimiser without "
                "bounds: keep the lengthscale between 1e-6 and 1e6 of the interval; (b) an interval in other units "
                "than the column.",
                condition=np.inf,
            )
        return gram(self.parts(k.order, mu), k.variance, *self.elimination(k.order))

    def parts(self, order: int, mu: Any) -> Parts:
        """What ⟨φ_i, φ_j⟩ is made of at μ = λL, or at many."""
        return parts(self.n_harmonics, order, mu, degree=order if self.completion else 0)

    def elimination(self, order: int) -> tuple[Float[Array, "K K"], Float[Array, "K K"]]:
        """N and N⁻¹: 1 and what completes the harmonics are N (R + c h), with the remainders R of `matern_gram`."""
        own = slice(order + 1 if self.completion else 1)
        return MONOMIALS_IN_BERNOULLI[own, own], BERNOULLI_COEFFICIENTS[own, own]

    def orthogonal(self) -> "OrthogonalFourier":
        return OrthogonalFourier(self.n_harmonics, self.interval, self.completion, self.smoothness)

    # abilities

    @property
    def key(self) -> Hashable:
        return self.n_harmonics, self.completion, self.smoothness

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Float[Array, "T 2"]) -> WhitenedGroup:
        mu = np.sqrt(2 * self.order - 1) / np.exp(parameters[:, 0])  # λ = √(2ν)/ℓ
        columns = columns_at(self, mu, np.exp(parameters[:, 1]))
        return WhitenedGroup(columns.inverses, columns.traces)

    def on_unit_box(self, kernel: Any, X: Float[Array, "N D"]) -> OnUnitBox:
        k = self.kernel_of(kernel)
        unit = replace(self, interval=(0.0, 1.0), smoothness=k.smoothness)
        t = (self._column(kernel, X) - self.interval[0]) / self.length
        return OnUnitBox(unit, (k.lengthscale / self.length, k.variance), partial(Matern, k.smoothness), t[:, None])

    def refined(self, factor: int) -> "Fourier":
        factor = whole(factor, "factor", at_least=1, remedy="16 resolves most paths")
        return replace(self, n_harmonics=factor * self.n_harmonics)

    def positions(self, fine: Any) -> Int[Array, " B"]:
        m, G = np.arange(1, self.n_harmonics + 1), fine.n_harmonics
        return np.concatenate([[0], m, G + m, 2 * G + 1 + np.arange(self.n_completing)])

    @property
    def resolution(self) -> int:
        return self.n_harmonics

    def with_resolution(self, n: int) -> "Fourier":
        return replace(self, n_harmonics=n)

    def holds(self, fewer: Any) -> bool:
        few = getattr(fewer, "n_harmonics", self.n_harmonics + 1)
        return few <= self.n_harmonics and self.with_resolution(few) == fewer

    def words(self) -> str:
        return f"{self.n_harmonics} harmonics"

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        # the smoothness is that of the kernel
        interval = [float(end) for end in self.interval]
        return {"n_harmonics": self.n_harmonics, "interval": interval, "completion": bool(self.completion)}

    @classmethod
    def from_words(cls, words: dict[str, Any], stored: Stored) -> "Fourier":
        low, high = (number(end) for end in words["interval"])
        return cls(stored.at_most(words["n_harmonics"]), (low, high), words["completion"] is True)


class OrthogonalFourier(Fourier):
    """The same span as [1, cos θ_m t, sin θ_m t, R̂_k], orthogonal in L² of the box: what statistics are taken in."""

    def __repr__(self) -> str:
        # it stands in the signature of statistics that were put into files
        same = repr(Fourier(self.n_harmonics, self.interval, self.completion, self.smoothness))
        return f"{type(self).__name__}(fourier={same})" if self.completion else same

    def fill(self, X: Float[Array, "N D"], out: Float[Array, "B N"]) -> None:
        self.fill_alike([self], X, [(0,)], out[None])

    def fill_alike(self, like: Sequence[Any], X: Float[Array, "N D"], columns: Any, out: Float[Array, "T B N"]) -> None:
        # few long calls: this is where a pass over the rows spends its time, and it makes no copies
        F, s = self.n_harmonics, self.n_completing
        t = np.empty((len(like), len(X)))
        for row, f, (column,) in zip(t, like, columns, strict=True):
            np.subtract(X[:, column], f.interval[0], out=row)
            row /= f.length
        out[:, 0] = 1.0
        trigonometric = harmonics(t, F, out=out[:, 1 : 2 * F + 1])
        np.matmul(scaled_coefficients(F, s), trigonometric, out=out[:, 2 * F + 1 :])
        t -= 0.5
        square = t * t
        # B_1, B_2 and B_3
        for k, polynomial in enumerate((t, square - 1 / 12, t * (square - 1 / 4))[:s]):
            out[:, 2 * F + 1 + k] += polynomial * (1 / norms(F, s)[k])

    def values(self, t: Float[Array, " N"], order: int) -> Float[Array, "B N"]:
        return self._change_basis(super().values(t, order))

    def states(self, order: int) -> tuple[Float[Array, "B s"], Float[Array, "B s"]]:
        left, right = (self._change_basis(edge) for edge in super().states(order))
        return left, right

    def _change_basis(self, phi: Float[Array, "B K"]) -> Float[Array, "B K"]:
        """From monomials to remainders."""
        F = self.n_harmonics
        one, trigonometric, monomials = phi[:1], phi[1 : 2 * F + 1], phi[2 * F + 1 :]
        s = len(monomials)
        polynomials = BERNOULLI_COEFFICIENTS[1 : s + 1, : s + 1] @ concatenate([one, monomials])
        remainders = polynomials / norms(F, s)[:, None] + scaled_coefficients(F, s) @ trigonometric
        return concatenate([one, trigonometric, remainders])

    def parts(self, order: int, mu: Any) -> Parts:
        found = super().parts(order, mu)
        return replace(found, c=harmonic_rows(added(order), self.n_harmonics, order, mu)) if self.completion else found

    def elimination(self, order: int) -> tuple[Float[Array, "K K"], Float[Array, "K K"]]:
        n = np.concatenate([[1.0], norms(self.n_harmonics, order if self.completion else 0)])
        return np.diag(1 / n), np.diag(n)

    # richer ones have other remainders
    refined = Features.refined
    positions = Features.positions  # type: ignore[assignment]

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (Axis(self.interval, self.n_harmonics, self.n_completing),)

    def curve(self, kernel: Any, weights: Float[Array, " B"]) -> Callable[[Any], Any]:
        F = self.n_harmonics
        one, cosines, sines, remainders = np.split(weights, [1, F + 1, 2 * F + 1])
        # Σ_k w_k R̂_k, by the harmonics and the polynomial of each
        own_cosines, own_sines, polynomials = harmonic_form(F, self.n_completing)
        powers = remainders @ polynomials
        powers[0] += one[0]
        sums = cosines + remainders @ own_cosines, sines + remainders @ own_sines, powers
        return self.curve_by(taylor(*(own[None] for own in sums)), kernel, weights)

    def coarsening(self, fewer: Any) -> Float[Array, "K B"] | None:
        """The remainder that begins earlier is the later one and the harmonics between them,

        n'_k R̂'_k = n_k R̂_k + Σ_{f<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}.
        """
        F, s = self.n_harmonics, self.n_completing
        f = getattr(fewer, "n_harmonics", F)
        if f == F or self.with_resolution(f) != fewer:
            return super().coarsening(fewer)
        if f > F:
            raise InputError(f"statistics with {F} harmonics say nothing of {f}; collect them with as many.")
        T = np.zeros((fewer.size, self.size))
        few = np.arange(f)
        T[0, 0] = 1.0
        T[1 + few, 1 + few] = T[1 + f + few, 1 + F + few] = 1.0
        ratio = norms(F, s) / norms(f, s)
        between = np.r_[1 + f : 1 + F, 1 + F + f : 1 + 2 * F]
        T[2 * f + 1 :, between] = -ratio[:, None] * scaled_coefficients(F, s)[:, between - 1]
        T[2 * f + 1 :, 2 * F + 1 :] = np.diag(ratio)
        return T


def harmonics(t: Float[Array, "*many N"], n_harmonics: int, out: Any = None) -> Float[Array, "*many K N"]:
    """cos 2πmt and then sin 2πmt for m = 1…F, into `out` if it is given.

    On NumPy by doubling, e^{i(m+k)θ} = e^{imθ} e^{ikθ}: one cosine and one sine for each row, and a rounding error that
    grows no faster than the error of mθ itself.
    """
    F, xp = n_harmonics, namespace(t)
    if xp is not np:
        cycles = np.arange(1, F + 1)[:, None] * t
        phase = 2 * np.pi * (cycles - xp.round(cycles))  # whole turns removed before they cost digits
        return concatenate([xp.cos(phase), xp.sin(phase)])
    *many, n_rows = t.shape
    out = np.empty((*many, 2 * F, n_rows)) if out is None else out
    C, S, product = out[..., :F, :], out[..., F:, :], np.empty((*many, (F + 1) // 2, n_rows))
    theta = t - np.round(t)
    theta *= 2 * np.pi
    np.cos(theta, out=C[..., 0, :])
    np.sin(theta, out=S[..., 0, :])
    k = 1
    while k < F:
        n = min(k, F - k)
        low, high = slice(0, n), slice(k, k + n)
        c, s = C[..., k - 1 : k, :], S[..., k - 1 : k, :]
        np.multiply(C[..., low, :], c, out=C[..., high, :])
        C[..., high, :] -= np.multiply(S[..., low, :], s, out=product[..., low, :])
        np.multiply(S[..., low, :], c, out=S[..., high, :])
        S[..., high, :] += np.multiply(C[..., low, :], s, out=product[..., low, :])
        k += n
    return out
