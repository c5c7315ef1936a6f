"""RKHS Fourier features of a one-column Matérn kernel on [a, b]: start reading here.

The inducing variables are β_i = ⟨f, φ_i⟩ with the inner product of the kernel's RKHS on [a, b], and

    φ = [1, cos ω_m(x−a), sin ω_m(x−a), ((x−a)/L)^k],    ω_m = 2πm/L,  m = 1…F,  k = 1…p+1,

the monomials being the completion: without them the span holds periodic functions only. By the reproducing property
Cov(β_i, f(x)) = φ_i(x) for x in [a, b], with no hyper-parameter in it, and Cov(β_i, β_j) = ⟨φ_i, φ_j⟩, which
`odvff.features.matern_gram` computes.

**Outside the box**, at a distance r beyond an edge, ⟨k(x,·), g⟩ sees only the state at the edge:

    tail(r) = e^{−λr} Σ_{k≤p} (r^k/k!) [(λ+∂)^k g](edge),     ∂ pointing outwards.
"""

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features.matern_gram import gram, harmonic_states, monomial_states
from odvff.kernels import Matern, matern, one_column
from odvff.kernels.matern_shape import VANISHED
from odvff.linalg import Covariance
from odvff.support.arrays import Array, concatenate, is_traced, namespace
from odvff.support.checks import matrix, whole


@dataclass(frozen=True)
class Fourier:
    """RKHS Fourier features on an interval.

    Parameters
    ----------
    n_harmonics : number F of cosines and of sines.
    interval : (a, b), the box. Rows outside it are allowed: there the features decay, and f returns to its prior.
    completion : add the monomials that make the span dense (default), or keep the paper's basis.

    >>> phi = Fourier(n_harmonics=2, interval=(0, 1))
    >>> phi.inside([[0.25]], smoothness=1.5).ravel().round(4)   # 1, two cosines, two sines, t, t²
    array([ 1.    ,  0.    , -1.    ,  1.    ,  0.    ,  0.25  ,  0.0625])
    """

    n_harmonics: int
    interval: tuple[float, float]
    completion: bool = True

    def __post_init__(self) -> None:
        F = whole(self.n_harmonics, "n_harmonics", at_least=1, remedy="10 is a good start")
        try:
            a, b = (float(edge) for edge in self.interval)
        except (TypeError, ValueError) as error:
            raise InputError(f"interval must be a pair of numbers (a, b), got {self.interval!r}.") from error
        if not (np.isfinite(a) and np.isfinite(b)):
            raise InputError(f"interval must have finite bounds, got ({a}, {b}); use the range of the data.")
        if not a < b:
            raise InputError(f"interval must satisfy a < b, got ({a}, {b}), which is empty; use the range of the data.")
        if not np.isfinite(b - a):
            raise InputError(f"interval ({a}, {b}) is too wide for float64; scale the column first.")
        object.__setattr__(self, "interval", (a, b))
        object.__setattr__(self, "n_harmonics", F)

    def inside(self, X: Array, smoothness: float) -> Array:
        """φ(x) for rows inside the box, of shape (|β|, N): no lengthscale and no variance enter.

        The smoothness is a choice like the number of harmonics: it sets how many monomials complete the basis.
        """
        x = matrix(X, "X", n_columns=1)[:, 0]
        self.check_inside(x)
        return self._basis(x, Matern(smoothness).order)

    def check_inside(self, x: Array) -> None:
        """Raise if a row lies outside the box."""
        a, b = self.interval
        if not is_traced(x) and ((x < a) | (x > b)).any():
            i = int(np.argmax((x < a) | (x > b)))
            raise InputError(
                f"X has {x[i]} in row {i}, outside the interval ({a}, {b}), where features depend on the kernel; "
                "use Kuf(kernel, X) there."
            )

    def Kuu(self, kernel: Any) -> Covariance:
        """Cov(β, β) = ⟨φ_i, φ_j⟩, in linear memory."""
        k = matern(kernel)
        return gram(self.n_harmonics, k.order, k.rate * self.length, k.variance, self.completion)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """Cov(β, f(x)), of shape (|β|, N): φ(x) inside the box, decaying tails outside."""
        k = matern(kernel)
        X = matrix(X, "X")
        x = X[:, one_column(kernel, X.shape[1])]
        a, b = self.interval
        xp = namespace(x, k.lengthscale)
        nearest = xp.where(x < a, a, xp.where(x > b, b, x))  # at an edge, the derivative of the inside
        inside = self._basis(nearest, k.order)
        outside = x != nearest
        if not is_traced(outside) and not outside.any():
            return inside
        r = xp.minimum(xp.abs(x - nearest), VANISHED / k.rate)
        left, right = (edge @ tail_weights(r, k, self.length) for edge in self.edges(kernel))
        return xp.where(x < a, left, xp.where(x > b, right, inside))

    def Kuf_rate(self, kernel: Any, X: Array) -> Array:
        """∂Kuf/∂λ: zero inside the box. By a telescoping sum, ∂w_j/∂λ = −r e^{−λr} (r^j/j!) (λr)^{p−j}/(p−j)!."""
        k = matern(kernel)
        X = matrix(X, "X")
        x = X[:, one_column(kernel, X.shape[1])]
        a, b = self.interval
        r = np.minimum(np.where(x < a, a - x, np.where(x > b, x - b, 0.0)), VANISHED / k.rate)
        z, p = k.rate * r, k.order - 1
        rows = [(r / self.length) ** j / factorial(j) * z ** (p - j) / factorial(p - j) for j in range(k.order)]
        weights = -r * np.exp(-z) * np.stack(rows)
        left, right = (edge @ weights for edge in self.edges(kernel))
        return np.where(x < a, left, np.where(x > b, right, 0.0))

    def edges(self, kernel: Any) -> tuple[Any, Any]:
        """What features do outside the box, to the left and to the right: (|β|, s) each, times `tail_weights`."""
        order = matern(kernel).order
        return self._derivatives(0.0, order, sign=-1.0), self._derivatives(1.0, order, sign=1.0)

    def refined(self, factor: int) -> "Fourier":
        """These features among `factor` times as many harmonics."""
        factor = whole(factor, "factor", at_least=1, remedy="16 resolves most paths")
        return Fourier(factor * self.n_harmonics, self.interval, self.completion)

    def positions(self, kernel: Any, fine: "Fourier") -> np.ndarray:
        """Where these features stand among refined ones."""
        F, G = self.n_harmonics, fine.n_harmonics
        n_monomials = matern(kernel).order if self.completion else 0
        harmonics = np.arange(1, F + 1)
        return np.concatenate([[0], harmonics, G + harmonics, 2 * G + 1 + np.arange(n_monomials)])

    @property
    def length(self) -> float:
        """L = b − a."""
        return self.interval[1] - self.interval[0]

    def _basis(self, x: Array, order: int) -> Array:
        """[1, cos θ_m t, sin θ_m t, t^k] for x in the box."""
        xp = namespace(x)
        t = (x - self.interval[0]) / self.length
        degrees = range(1, order + 1) if self.completion else ()
        return concatenate([xp.ones_like(t)[None], harmonics(t, self.n_harmonics), *((t**k)[None] for k in degrees)])

    def _derivatives(self, t: float, order: int, sign: float) -> Any:
        """(sign·d/dt)^j φ_i at an edge t ∈ {0, 1}, of shape (|β|, s)."""
        n_monomials = order if self.completion else 0
        monomials = monomial_states(n_monomials, t, order)
        rows = [monomials[:1], harmonic_states(self.n_harmonics, order), monomials[1:]]
        return np.concatenate(rows) * sign ** np.arange(order)


def harmonics(t: Array, n_harmonics: int, out: Array | None = None) -> Array:
    """cos 2πmt and then sin 2πmt for m = 1…F: for t of shape (…, N) of shape (…, 2F, N), into `out` if it is given.

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


def tail_weights(r: Array, k: Matern, length: float) -> Array:
    """w_j(r) with tail(r) = Σ_j g^{(j)}(edge) w_j(r), derivatives with respect to t; of shape (s, N).

    Expanding (λ+∂)^k: w_j = e^{−λr} (r^j/j!) Σ_{i≤p−j} (λr)^i/i!, and d/dx = (1/L) d/dt.
    """
    xp = namespace(r, k.lengthscale)
    z = k.rate * r
    decay = xp.exp(-z)
    rows = []
    for j in range(k.order):
        series = sum(z**i / factorial(i) for i in range(k.order - j))
        rows.append(decay * (r / length) ** j / factorial(j) * series)
    return xp.stack(rows)
