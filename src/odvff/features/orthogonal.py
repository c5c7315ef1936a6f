"""Completed Fourier features in a basis that is orthogonal in L² of the box: what statistics are taken in.

Monomials are nearly sums of many harmonics, so sums over rows of their products lose digits that no later algebra
brings back. The same span has a better basis: in place of t^k the remainders

    R̂_k = (B_k − Σ_{0<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}) / n_k,      ‖R̂_k‖² = ½ as for a cosine,

Bernoulli polynomials less their first F harmonics. They take no hyper-parameter either. For rows spread evenly over
the box the Gram matrix of [1, cos, sin, R̂] is nearly diagonal.

With the remainders R_k of `matern_gram` (orthogonal in the RKHS), n_k R̂_k = R_k + Σ_m (c_m + k!/(iθ_m)^k) e^{iθ_m t},
and

    c_m + k!/(iθ_m)^k = k! Σ_{r≥k} C(s,r) μ^{s−r} (iθ_m)^{r−k} / (μ+iθ_m)^s,

again without cancellation. The factor eliminates to the same R_k, so whitened features are those of `Fourier`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.features.base import Axis
from odvff.features.cells import Table
from odvff.features.interval import Curve, IntervalFeatures
from odvff.features.matern_gram import BERNOULLI_COEFFICIENTS
from odvff.features.remainders import fill_inside, harmonic_coefficients, harmonic_form, norms, orthogonal_parts
from odvff.features.whitening import FourierGroup, Kind
from odvff.linalg import Bordered, DiagonalPlusLowRank
from odvff.support.arrays import Array, concatenate, namespace


@dataclass(frozen=True)
class OrthogonalFourier(IntervalFeatures):
    """[1, cos θ_m t, sin θ_m t, R̂_k] on the interval of completed Fourier features."""

    fourier: Any

    @property
    def interval(self) -> tuple[float, float]:  # type: ignore[override]
        return self.fourier.interval  # type: ignore[no-any-return]

    @property
    def smoothness(self) -> float | None:  # type: ignore[override]
        return self.fourier.smoothness  # type: ignore[no-any-return]

    @property
    def n_harmonics(self) -> int:
        return self.fourier.n_harmonics  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return 2 * self.n_harmonics + 1 + self.order

    def suited(self, kernel: Any) -> "OrthogonalFourier":
        return OrthogonalFourier(self.fourier.suited(kernel))

    def fill(self, X: Array, out: Array) -> None:
        t = (X[:, 0] - self.interval[0]) / self.length
        fill_inside(t[None], self.n_harmonics, self.order, out[None])

    def values(self, t: Array, order: int) -> Array:
        return self._change_basis(self.fourier.values(t, order), order)

    def states(self, order: int) -> tuple[Any, Any]:
        left, right = (self._change_basis(edge, order) for edge in self.fourier.states(order))
        return left, right

    def Kuu(self, kernel: Any) -> Bordered:
        """⟨φ̂_i, φ̂_j⟩."""
        k = self.kernel_of(kernel)
        F, s = self.n_harmonics, k.order
        p = orthogonal_parts(F, s, k.rate * self.length)
        sigma = namespace(p.t, k.variance).sqrt(k.variance)
        n = np.concatenate([[1.0], norms(F, s)])
        core = DiagonalPlusLowRank(p.diagonal / k.variance, p.U / sigma)
        return Bordered(core, p.c, p.t / sigma, p.V / sigma, N=np.diag(1 / n), eliminate=np.diag(n), lead=1)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """The change of basis applied to `Fourier.Kuf`."""
        return self._change_basis(self.fourier.Kuf(kernel, X), self.kernel_of(kernel).order)

    def Kuf_rates(self, kernel: Any, X: Array) -> list[Array]:
        order = self.kernel_of(kernel).order
        return [self._change_basis(rate, order) for rate in self.fourier.Kuf_rates(kernel, X)]

    def _change_basis(self, phi: Array, s: int) -> Array:
        F = self.n_harmonics
        remainders = BERNOULLI_COEFFICIENTS[1 : s + 1, : s + 1] @ concatenate([phi[:1], phi[-s:]])
        remainders = remainders - harmonic_coefficients(F, s) @ phi[1 : 2 * F + 1]
        return concatenate([phi[: 2 * F + 1], remainders / norms(F, s)[:, None]])

    # abilities

    @property
    def key(self) -> Hashable:
        return self.n_harmonics, self.smoothness

    def fill_alike(self, like: Sequence[Any], X: Array, columns: Sequence[tuple[int, ...]], out: Array) -> None:
        t = np.empty((len(like), len(X)))
        for row, f, (column,) in zip(t, like, columns, strict=True):
            np.subtract(X[:, column], f.interval[0], out=row)
            row /= f.length
        fill_inside(t, self.n_harmonics, self.order, out)

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Any) -> FourierGroup:
        return FourierGroup.at(Kind(self.n_harmonics, self.order, completed=True), self.smoothness, parameters)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (Axis(self.interval, self.n_harmonics, self.order),)

    def curve(self, kernel: Any, weights: Any) -> Curve:
        F = self.n_harmonics
        one, cosines, sines, remainders = np.split(weights, [1, F + 1, 2 * F + 1])
        # Σ_k w_k R̂_k, by the harmonics and the polynomial of each
        own_cosines, own_sines, polynomials = harmonic_form(F, self.order)
        powers = remainders @ polynomials
        powers[0] += one[0]
        table = Table.of(cosines + remainders @ own_cosines, sines + remainders @ own_sines, powers)
        left, right = (weights @ edge for edge in self.edges(self.order))
        return Curve(self.interval, self.kernel_of(kernel), table, left, right)

    @property
    def resolution(self) -> int:
        return self.n_harmonics

    def with_resolution(self, n: int) -> "OrthogonalFourier":
        return OrthogonalFourier(self.fourier.with_resolution(n))

    def holds(self, fewer: Any) -> bool:
        return self.fourier.holds(getattr(fewer, "fourier", None))  # type: ignore[no-any-return]

    def coarsening(self, fewer: Any) -> Any | None:
        return self.fourier.coarsening(getattr(fewer, "fourier", None))

    def words(self) -> str:
        return self.fourier.words()  # type: ignore[no-any-return]
