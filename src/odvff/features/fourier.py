"""RKHS Fourier features of a one-column Matérn kernel on [a, b]: start reading here.

The inducing variables are β_i = ⟨f, φ_i⟩ with the inner product of the kernel's RKHS on [a, b], and

    φ = [1, cos ω_m(x−a), sin ω_m(x−a), ((x−a)/L)^k],    ω_m = 2πm/L,  m = 1…F,  k = 1…p+1,

the monomials being the completion: without them the span holds periodic functions only. By the reproducing property
Cov(β_i, f(x)) = φ_i(x) for x in [a, b], with no hyper-parameter in it, and Cov(β_i, β_j) = ⟨φ_i, φ_j⟩.

**One formula for all three smoothnesses.** A Matérn process with s = p + 1 is Markov in its state (f, f′, …, f^{(p)}):
white noise of density κ drives (λ + ∂)^s f. Its RKHS norm on [a, b] is the cost of the state at a plus the cost of
the noise that follows,

    ⟨g, h⟩ = (1/κ) ∫_a^b (λ+∂)^s g · (λ+∂)^s h dx + Δg(a)ᵀ P Δh(a),     Δg = (g, g′, …, g^{(p)}),

with P the inverse of the stationary covariance of the state. In t = (x−a)/L ∈ [0, 1] only μ = λL and σ² remain:
θ_m = 2πm, ρ = 1/(κ_s μ^{2s−1} σ²), P = diag(μ^{−r}) P₁ diag(μ^{−r})/σ², and derivatives are with respect to t.

**Harmonics** are eigenfunctions of (μ+∂): orthogonal under the integral, with ½ρ(μ²+θ²)^s = L/(2S(ω)) on the diagonal,
and of rank s at the boundary.

**Polynomials** are taken as Bernoulli polynomials B_k, whose Fourier coefficients are −k!/(iθ_m)^k. Then
q = (μ+∂)^s B_k has the coefficients

    q_0 = C(s,k) k! μ^{s−k},     q_m = −k! Σ_{r<k} C(s,r) μ^{s−r} (iθ_m)^{r−k},

and the part of B_k that is orthogonal (under the integral) to the first F harmonics is R_k = B_k − Σ_m c_m e^{iθ_m t}
with c_m = q_m/(μ+iθ_m)^s. What is left of its norm is the sum over m > F, a Hurwitz zeta function: no cancellation,
however many harmonics there are. This is the elimination that `odvff.linalg.Bordered` asks for.

**Outside the box**, at a distance r beyond an edge, ⟨k(x,·), g⟩ sees only the state at the edge:

    tail(r) = e^{−λr} Σ_{k≤p} (r^k/k!) [(λ+∂)^k g](edge),     ∂ pointing outwards.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from odvff.arrays import Array, concatenate, is_traced, namespace
from odvff.checks import matrix
from odvff.errors import InputError
from odvff.kernels import Matern, matern, one_column
from odvff.linalg import Bordered, Covariance, DiagonalPlusLowRank

# κ = κ_s λ^{2s−1} σ²: the spectral density of the driving noise
NOISE_DENSITY = {1: 2.0, 2: 4.0, 3: 16 / 3}

# P₁: the inverse of the stationary covariance of the state, in units of μ
STATE_PRECISION = {
    1: np.array([[1.0]]),
    2: np.array([[1.0, 0.0], [0.0, 1.0]]),
    3: np.array([[9 / 8, 0.0, 3 / 8], [0.0, 3.0, 0.0], [3 / 8, 0.0, 9 / 8]]),
}

# t^n = Σ_k N[n,k] B_k(t), and its inverse: the coefficients of the Bernoulli polynomials
MONOMIALS_IN_BERNOULLI = np.array([[comb(n + 1, k) / (n + 1) if k <= n else 0.0 for k in range(4)] for n in range(4)])
BERNOULLI_COEFFICIENTS = np.array([[1, 0, 0, 0], [-1 / 2, 1, 0, 0], [1 / 6, -1, 1, 0], [0, 1 / 2, -3 / 2, 1]])


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
        F = self.n_harmonics
        if isinstance(F, bool) or not isinstance(F, int | np.integer) or F < 1:
            raise InputError(f"n_harmonics must be a whole number of at least 1, got {F!r}; 10 is a good start.")
        try:
            a, b = (float(edge) for edge in self.interval)
        except (TypeError, ValueError) as error:
            raise InputError(f"interval must be a pair of numbers (a, b), got {self.interval!r}.") from error
        if not (np.isfinite(a) and np.isfinite(b)):
            raise InputError(f"interval must have finite bounds, got ({a}, {b}); use the range of the data.")
        if not (a < b and np.isfinite(b - a)):
            raise InputError(f"interval must satisfy a < b, got ({a}, {b}), which is empty; use the range of the data.")
        object.__setattr__(self, "interval", (a, b))
        object.__setattr__(self, "n_harmonics", int(F))

    def inside(self, X: Array, smoothness: float) -> Array:
        """φ(x) for rows inside the box, of shape (|β|, N): no lengthscale and no variance enter.

        The smoothness is a choice like the number of harmonics: it sets how many monomials complete the basis.
        """
        x = matrix(X, "X", n_columns=1)[:, 0]
        a, b = self.interval
        if not is_traced(x) and ((x < a) | (x > b)).any():
            i = int(np.argmax((x < a) | (x > b)))
            raise InputError(
                f"X has {x[i]} in row {i}, outside the interval ({a}, {b}), where features depend on the kernel; "
                "use Kuf(kernel, X) there."
            )
        return self._basis(x, Matern(smoothness).order)

    def Kuu(self, kernel: Any) -> Covariance:
        """Cov(β, β) = ⟨φ_i, φ_j⟩, in linear memory."""
        return _gram(self, matern(kernel))

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """Cov(β, f(x)), of shape (|β|, N): φ(x) inside the box, decaying tails outside."""
        k = matern(kernel)
        X = matrix(X, "X")
        x = X[:, one_column(kernel, X.shape[1])]
        a, b = self.interval
        xp = namespace(x, k.lengthscale)
        nearest = xp.clip(x, a, b)
        inside = self._basis(nearest, k.order)
        outside = x != nearest
        if not is_traced(outside) and not outside.any():
            return inside
        r = xp.abs(x - nearest)
        left = self._derivatives(0.0, k.order, sign=-1.0) @ _tail_weights(r, k, self.length)
        right = self._derivatives(1.0, k.order, sign=1.0) @ _tail_weights(r, k, self.length)
        return xp.where(x < a, left, xp.where(x > b, right, inside))

    def refined(self, factor: int) -> "Fourier":
        """These features among `factor` times as many harmonics."""
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
        cycles = np.arange(1, self.n_harmonics + 1)[:, None] * t
        phase = 2 * np.pi * (cycles - xp.round(cycles))  # whole turns removed before they cost digits
        degrees = range(1, order + 1) if self.completion else ()
        return concatenate([xp.ones_like(t)[None], xp.cos(phase), xp.sin(phase), *((t**k)[None] for k in degrees)])

    def _derivatives(self, t: float, order: int, sign: float) -> Any:
        """(sign·d/dt)^j φ_i at an edge t ∈ {0, 1}, of shape (|β|, s)."""
        theta = 2 * np.pi * np.arange(1, self.n_harmonics + 1)
        n_monomials = order if self.completion else 0
        one = np.eye(1, order)
        rows = [one, _cos_state(theta, order), _sin_state(theta, order)]
        rows += [_monomial_state(k, t, order)[None] for k in range(1, n_monomials + 1)]
        return np.concatenate(rows) * sign ** np.arange(order)


def _cos_state(theta: np.ndarray, order: int) -> np.ndarray:
    """(cos θt, its first, its second derivative) at t = 0 or 1."""
    return np.stack([np.ones_like(theta), np.zeros_like(theta), -(theta**2)], axis=1)[:, :order]


def _sin_state(theta: np.ndarray, order: int) -> np.ndarray:
    return np.stack([np.zeros_like(theta), theta, np.zeros_like(theta)], axis=1)[:, :order]


def _monomial_state(degree: int, t: float, order: int) -> np.ndarray:
    """d^j/dt^j t^degree for j < order."""
    falling = [factorial(degree) / factorial(degree - j) if j <= degree else 0.0 for j in range(order)]
    return np.array([c * t ** (degree - j) if j <= degree else 0.0 for j, c in enumerate(falling)])


def _tail_weights(r: Array, k: Matern, length: float) -> Array:
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


def _gram(features: Fourier, k: Matern) -> Covariance:
    """⟨φ_i, φ_j⟩ as a structured operator; every number as in the module's text."""
    s, F = k.order, features.n_harmonics
    theta = 2 * np.pi * np.arange(1, F + 1)
    mu = k.rate * features.length
    xp = namespace(mu, k.variance)
    sigma = xp.sqrt(k.variance)
    rho = 1 / (NOISE_DENSITY[s] * mu ** (2 * s - 1) * k.variance)

    # P^{½} = diag(μ^{−r}) chol(P₁)/σ: boundary states times this are the low-rank part
    precision_root = (1 / mu ** np.arange(s))[:, None] * np.linalg.cholesky(STATE_PRECISION[s]) / sigma
    harmonic_states = np.concatenate([_cos_state(theta, s), _sin_state(theta, s)])
    U = harmonic_states @ precision_root
    diagonal = 0.5 * rho * (mu**2 + theta**2) ** s
    diagonal = concatenate([diagonal, diagonal])
    if not features.completion:
        d = concatenate([xp.reshape(rho * mu ** (2 * s), (1,)), diagonal])
        return DiagonalPlusLowRank(d, concatenate([precision_root[:1], U]))

    # q_0 and the coefficients A of q_m = Σ_j A[k,j] (iθ_m)^{−j}, for B_0 … B_s
    q0 = xp.stack([comb(s, d) * factorial(d) * mu ** (s - d) for d in range(s + 1)])
    A = xp.stack(
        [
            xp.stack(
                [-factorial(d) * comb(s, d - j) * mu ** (s - d + j) if j <= d else 0.0 * mu for j in range(1, s + 1)]
            )
            for d in range(s + 1)
        ]
    )
    # T = ρ (q_0 q_0ᵀ + A H Aᵀ)
    t = xp.sqrt(rho) * concatenate([q0[:, None], A @ _zeta_root(F, s)], axis=1)
    # c_m = q_m/(μ+iθ_m)^s, as coefficients of cosines and sines
    powers = (1j * theta) ** -np.arange(1, s + 1)[:, None]
    c_m = (A @ powers) / (mu + 1j * theta) ** s
    c = concatenate([2 * xp.real(c_m), -2 * xp.imag(c_m)], axis=1)
    # the state of R_k at a: that of B_k less that of its harmonics
    bernoulli_states = BERNOULLI_COEFFICIENTS[: s + 1, : s + 1] @ np.stack(
        [_monomial_state(d, 0.0, s) for d in range(s + 1)]
    )
    V = (bernoulli_states - c @ harmonic_states) @ precision_root
    return Bordered(
        DiagonalPlusLowRank(diagonal, U),
        c=c,
        t=t,
        V=V,
        N=MONOMIALS_IN_BERNOULLI[: s + 1, : s + 1],
        eliminate=BERNOULLI_COEFFICIENTS[: s + 1, : s + 1],
        lead=1,
    )


@lru_cache(maxsize=1024)
def _zeta_root(n_harmonics: int, order: int) -> np.ndarray:
    """A root of H[u,v] = 2 Re Σ_{m>F} (iθ_m)^{−u} conj (iθ_m)^{−v}, u, v = 1…s: sums of even powers, or zero.

    Scaled by the power of the first missing frequency, so that any F gives numbers near one.
    """
    edge = 2 * np.pi * (n_harmonics + 1)
    H = np.zeros((order, order))
    for u in range(1, order + 1):
        for v in range(1, order + 1):
            if (u + v) % 2 == 0:
                sign = 1 if (u - v) % 4 == 0 else -1
                n = u + v
                H[u - 1, v - 1] = sign * 2 * (n_harmonics + 1) ** n * scipy.special.zeta(n, n_harmonics + 1)
    return np.linalg.cholesky(H) / (edge ** np.arange(1, order + 1))[:, None]
