"""The Gram matrix ⟨φ_i, φ_j⟩ of Fourier features in the RKHS of a Matérn kernel.

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

**The remainders R̂_k** complete the harmonics to a basis that is orthogonal in L² of the box:

    R̂_k = (B_k − Σ_{0<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}) / n_k,      ‖R̂_k‖² = ½ as for a cosine,

Bernoulli polynomials less their first F harmonics. They take no hyper-parameter, as monomials do not. With the R_k
above, which are orthogonal in the RKHS, n_k R̂_k = R_k + Σ_m (c_m + k!/(iθ_m)^k) e^{iθ_m t}, and

    c_m + k!/(iθ_m)^k = k! Σ_{r≥k} C(s,r) μ^{s−r} (iθ_m)^{r−k} / (μ+iθ_m)^s,

again without cancellation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from odvff.linalg import Bordered, Covariance, DiagonalPlusLowRank
from odvff.support.arrays import Array, concatenate, namespace
from odvff.support.shapes import Float

STEP = 1e-100  # of a complex step: its square is zero

# κ = κ_s λ^{2s−1} σ²: the spectral density of the driving noise
NOISE_DENSITY = {1: 2.0, 2: 4.0, 3: 16 / 3}

# P₁: the inverse of the stationary covariance of the state, in units of μ
STATE_PRECISION = {
    1: np.array([[1.0]]),
    2: np.array([[1.0, 0.0], [0.0, 1.0]]),
    3: np.array([[9 / 8, 0.0, 3 / 8], [0.0, 3.0, 0.0], [3 / 8, 0.0, 9 / 8]]),
}

PRECISION_ROOT = {s: np.linalg.cholesky(P) for s, P in STATE_PRECISION.items()}

# t^n = Σ_k N[n,k] B_k(t), and its inverse: the coefficients of the Bernoulli polynomials
MONOMIALS_IN_BERNOULLI = np.array([[comb(n + 1, k) / (n + 1) if k <= n else 0.0 for k in range(4)] for n in range(4)])
BERNOULLI_COEFFICIENTS = np.array([[1, 0, 0, 0], [-1 / 2, 1, 0, 0], [1 / 6, -1, 1, 0], [0, 1 / 2, -3 / 2, 1]])
# and by powers of t − ½
BERNOULLI_CENTRED = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [-1 / 12, 0, 1, 0], [0, -1 / 4, 0, 1]])


@dataclass(frozen=True)
class Parts:
    """What the Gram matrix is made of, for σ² = 1; harmonics are F cosines, then F sines."""

    diagonal: Array  # ½ρ(μ²+θ²)^s of the harmonics, (2F,)
    U: Array  # boundary states of the harmonics times P^{½}, (2F, s)
    c: Array  # coefficients of the eliminated harmonics, (q, 2F)
    t: Array  # T = t tᵀ is the integral part of the remainders, (q, ·)
    V: Array  # boundary states of the remainders times P^{½}, (q, s)


def gram(p: Parts, variance: Array, N: Array, eliminate: Array) -> Covariance:
    """⟨φ_i, φ_j⟩ as a structured operator; N makes 1 and what completes the harmonics, if anything does."""
    sigma = namespace(p.t, variance).sqrt(variance)
    core = DiagonalPlusLowRank(p.diagonal / variance, p.U / sigma)
    if len(N) > 1:
        return Bordered(core, p.c, p.t / sigma, p.V / sigma, N, eliminate)
    return DiagonalPlusLowRank(concatenate([(p.t[0, :1] / sigma) ** 2, core.d]), concatenate([p.V / sigma, core.U]))


def parts(n_harmonics: int, order: int, mu: Array, degree: int) -> Parts:
    """The parts for B_0 … B_degree, analytic in μ: it may be a NumPy number, real or complex, or a JAX tracer.

    An array of many μ gives all their parts at once, in the leading dimensions.
    """
    s, xp = order, namespace(mu)
    # c_m = q_m/(μ+iθ_m)^s with q_m = −k! μ^{s−k} Σ_{r<k} C(s,r) z^{r−k}, z = iθ_m/μ
    c = harmonic_rows(_eliminated(s, degree), n_harmonics, s, mu)
    mu = xp.asarray(mu)[..., None]
    theta = 2 * np.pi * np.arange(1, n_harmonics + 1)
    states = harmonic_states(n_harmonics, s)
    rho = 1 / (NOISE_DENSITY[s] * mu ** (2 * s - 1))
    # P^{½} = diag(μ^{−r}) chol(P₁): boundary states times this are the low-rank part
    precision_root = (1 / mu ** np.arange(s))[..., None] * PRECISION_ROOT[s]
    diagonal = 0.5 * rho * (mu**2 + theta**2) ** s
    # q_0 for each polynomial, and q_m = Σ_j A[k,j] (iθ_m)^{−j}; T = ρ (q_0 q_0ᵀ + A H Aᵀ)
    k = np.arange(degree + 1)
    q0 = np.array([comb(s, j) * factorial(j) for j in range(degree + 1)]) * mu ** (s - k)
    constants, powers = _numerators(s, degree)
    A = constants * mu[..., None] ** powers
    t = xp.sqrt(rho)[..., None] * concatenate([q0[..., None], A @ _zeta_root(n_harmonics, s)], axis=-1)
    # the state of R_k at a: that of B_k less that of its harmonics
    V = (_bernoulli_states(degree, s) - c @ states) @ precision_root
    return Parts(concatenate([diagonal, diagonal], axis=-1), states @ precision_root, c, t, V)


def with_rates(parts_at: Callable[[Any], Parts], mu: Any) -> tuple[Parts, Parts]:
    """Parts at μ (or at many) and their derivatives, by a complex step."""
    shifted = vars(parts_at(np.asarray(mu) + 1j * STEP))
    values = {name: np.ascontiguousarray(part.real) for name, part in shifted.items()}
    return Parts(**values), Parts(**{name: part.imag / STEP for name, part in shifted.items()})


def harmonic_rows(table: np.ndarray, n_harmonics: int, s: int, mu: Array) -> Array:
    """Coefficients of cosines, 2 Re c, and of sines, −2 Im c, in row k for c = μ^{−k} Σ_e numerator[e] z^e / (1+z)^s.

    Here z = iy and y = θ_m/μ, for one μ or many. In real arithmetic, by 1/(1+z)^s = (1−z)^s/(1+y²)^s: the product of
    the polynomials has whole coefficients (the table), its even powers of z are real, its odd ones imaginary. The
    result is analytic in y, and a complex step differentiates it.
    """
    each = namespace(mu).asarray(mu)[..., None]
    y = 2 * np.pi * np.arange(1, n_harmonics + 1) / each
    powers = [y**-s]  # of y, from −s to 2s−1
    for _ in range(3 * s - 1):
        powers.append(powers[-1] * y)
    rows = table @ namespace(y).stack(powers, axis=-2) / ((1 + y * y) ** s)[..., None, :]
    rows = rows.reshape(*y.shape[:-1], len(table) // 2, 2 * y.shape[-1])
    return rows / (each ** np.arange(len(table) // 2))[..., None]


def harmonic_table(numerators: list[dict[int, int]], s: int) -> Array:
    """The coefficients of y^{−s} … y^{2s−1} in 2 Re of every numerator, and in −2 Im of it in the next row."""
    table = np.zeros((2 * len(numerators), 3 * s))
    for row, numerator in enumerate(numerators):
        for e, a in numerator.items():
            for r in range(s + 1):
                f = e + r
                value = 2.0 * a * comb(s, r) * (-1) ** r * (-1) ** (f // 2)  # i^f = (−1)^{f//2} · (1 or i)
                table[2 * row + f % 2, f + s] += value if f % 2 == 0 else -value
    return table


@lru_cache(maxsize=64)
def _eliminated(s: int, degree: int) -> Float[Array, "K _"]:
    return harmonic_table([{r - k: -factorial(k) * comb(s, r) for r in range(k)} for k in range(degree + 1)], s)


@lru_cache(maxsize=64)
def _numerators(s: int, degree: int) -> tuple[Float[Array, "K s"], Float[Array, "K s"]]:
    """Constants and powers of μ in A[k,j] = −k! C(s,k−j) μ^{s−k+j} for 1 ≤ j ≤ k ≤ degree."""
    constants, powers = np.zeros((2, degree + 1, s))
    for k in range(degree + 1):
        for j in range(1, min(k, s) + 1):
            constants[k, j - 1], powers[k, j - 1] = -factorial(k) * comb(s, k - j), s - k + j
    return constants, powers


@lru_cache(maxsize=64)
def _bernoulli_states(degree: int, s: int) -> Float[Array, "K s"]:
    """(g, g′, g″) at 0 for B_0 … B_degree."""
    return BERNOULLI_COEFFICIENTS[: degree + 1, : degree + 1] @ monomial_states(degree, 0.0, s)


@lru_cache(maxsize=1024)
def harmonic_states(n_harmonics: int, order: int) -> Float[Array, "K s"]:
    """(g, g′, g″) at t = 0 or 1 for the F cosines and then the sines."""
    theta = 2 * np.pi * np.arange(1, n_harmonics + 1)
    zero, one = np.zeros_like(theta), np.ones_like(theta)
    cosines = np.stack([one, zero, -(theta**2)], axis=1)
    sines = np.stack([zero, theta, zero], axis=1)
    return np.concatenate([cosines, sines])[:, :order]


def monomial_states(degree: int, t: float, order: int) -> Float[Array, "K s"]:
    """(g, g′, g″) at t for 1, t, …, t^degree."""
    rows = [
        [factorial(k) / factorial(k - j) * t ** (k - j) if j <= k else 0.0 for j in range(order)]
        for k in range(degree + 1)
    ]
    return np.array(rows)


@lru_cache(maxsize=1024)
def _zeta_root(n_harmonics: int, order: int) -> Float[Array, "s s"]:
    """A root of H[u,v] = 2 Re Σ_{m>F} (iθ_m)^{−u} conj (iθ_m)^{−v}, u, v = 1…s: sums of even powers, or zero.

    Scaled by the power of the first missing frequency, so that any F gives numbers near one.
    """
    v, first = np.arange(1, order + 1), n_harmonics + 1.0
    u = v[:, None]
    signs = np.array([1, 0, -1, 0])[(u - v) % 4]
    H = 2 * signs * first ** (u + v) * scipy.special.zeta(u + v, first)
    return np.linalg.cholesky(H) / (2 * np.pi * first) ** u


# the remainders R̂_k


@lru_cache(maxsize=8)
def added(s: int) -> Float[Array, "K _"]:
    """k! Σ_{r≥k} C(s,r) z^{r−k} for k = 1…s, what n_k R̂_k has beside R_k; the constant, which is first, has none."""
    rest = [{r - k: factorial(k) * comb(s, r) for r in range(k, s + 1)} for k in range(1, s + 1)]
    return harmonic_table([{}, *rest], s)


@lru_cache(maxsize=1024)
def scaled_coefficients(n_harmonics: int, order: int) -> Float[Array, "s K"]:
    """Coefficients of R̂_1 … R̂_order on the F cosines and then the F sines."""
    theta = 2 * np.pi * np.arange(1, n_harmonics + 1)
    c = np.array([factorial(k) / (1j * theta) ** k for k in range(1, order + 1)]).reshape(order, n_harmonics)
    return np.concatenate([2 * c.real, -2 * c.imag], axis=1) / norms(n_harmonics, order)[:, None]


def harmonic_form(n_harmonics: int, order: int) -> tuple[Float[Array, "s F"], Float[Array, "s F"], Float[Array, "s K"]]:
    """R̂_1 … R̂_order as sums of F cosines, F sines and powers of t − ½: the coefficients of each, a row for each R̂."""
    cosines, sines = np.split(scaled_coefficients(n_harmonics, order), 2, axis=1)
    return cosines, sines, BERNOULLI_CENTRED[1 : order + 1, : order + 1] / norms(n_harmonics, order)[:, None]


@lru_cache(maxsize=1024)
def norms(n_harmonics: int, order: int) -> Float[Array, " s"]:
    """n_k with ‖B_k − its first F harmonics‖² = n_k²/2."""
    k = np.arange(1, order + 1)
    tail = scipy.special.zeta(2 * k, n_harmonics + 1) / (2 * np.pi) ** (2 * k)
    return 2 * scipy.special.factorial(k) * np.sqrt(tail)
