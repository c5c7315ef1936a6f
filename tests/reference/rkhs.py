"""Plain-NumPy twins of the RKHS of a Matérn kernel on [a, b], by quadrature and by the formulas of each smoothness."""

from functools import lru_cache
from itertools import pairwise
from math import factorial

import numpy as np


def trig_and_monomials(n_harmonics, a, b, n_monomials):
    """The basis as functions of (x, order of the derivative)."""
    L = b - a

    def trig(m, shift):
        w = 2 * np.pi * m / L
        return lambda x, j: w**j * np.cos(w * (x - a) + shift + j * np.pi / 2)

    def monomial(k):
        def g(x, j):
            if j > k:
                return np.zeros_like(x)
            return factorial(k) / factorial(k - j) * ((x - a) / L) ** (k - j) / L**j

        return g

    return (
        [monomial(0)]
        + [trig(m, 0.0) for m in range(1, n_harmonics + 1)]
        + [trig(m, -np.pi / 2) for m in range(1, n_harmonics + 1)]
        + [monomial(k) for k in range(1, n_monomials + 1)]
    )


def kernel_function(nu, lengthscale, variance, centre):
    """k(centre, ·) as a function of (x, order of the derivative), one-sided at the centre."""
    lam = np.sqrt(2 * nu) / lengthscale
    polynomial = {0.5: [1.0], 1.5: [1.0, 1.0], 2.5: [1.0, 1.0, 1 / 3]}[nu]  # in λr, ascending

    def g(x, j):
        r, sign = np.abs(x - centre), np.where(x >= centre, 1.0, -1.0)
        p = np.polynomial.Polynomial(polynomial)
        for _ in range(j):  # d/dz (p e^{−z}) = (p′ − p) e^{−z}
            p = p.deriv() - p
        return variance * (sign * lam) ** j * p(lam * r) * np.exp(-lam * r)

    return g


leggauss = lru_cache(np.polynomial.legendre.leggauss)


def inner_products(left, right, nu, lengthscale, variance, a, b, n_nodes, breaks=()):
    """⟨g, h⟩ in the RKHS on [a, b] for lists of functions: the formulas of each smoothness, by Gauss–Legendre."""
    lam = np.sqrt(2 * nu) / lengthscale
    nodes, weights = leggauss(n_nodes)
    order = int(nu + 0.5)
    binomial = {1: [1, 1], 2: [1, 2, 1], 3: [1, 3, 3, 1]}[order]

    def operator(functions, x):
        return np.stack([sum(c * lam ** (order - j) * f(x, j) for j, c in enumerate(binomial)) for f in functions])

    integral = 0.0
    edges = [a, *sorted(x for x in breaks if a < x < b), b]
    for lo, hi in pairwise(edges):
        x = lo + (hi - lo) * (nodes + 1) / 2
        integral = integral + (hi - lo) / 2 * (operator(left, x) * weights) @ operator(right, x).T

    def products_at_a(i, j):
        """g^{(i)}(a) h^{(j)}(a)."""
        A = np.array([a])
        return np.outer([f(A, i)[0] for f in left], [f(A, j)[0] for f in right])

    s2 = variance
    if nu == 0.5:
        return integral / (2 * lam * s2) + products_at_a(0, 0) / s2
    if nu == 1.5:
        return integral / (4 * lam**3 * s2) + products_at_a(0, 0) / s2 + products_at_a(1, 1) / (lam**2 * s2)
    return (
        3 * integral / (16 * lam**5 * s2)
        + 9 / (8 * s2) * products_at_a(0, 0)
        + 9 / (8 * lam**4 * s2) * products_at_a(2, 2)
        + 3 / (lam**2 * s2) * (products_at_a(1, 1) + (products_at_a(2, 0) + products_at_a(0, 2)) / 8)
    )


def gram(n_harmonics, a, b, nu, lengthscale, variance, completion):
    """⟨φ_i, φ_j⟩ for the whole basis."""
    basis = trig_and_monomials(n_harmonics, a, b, int(nu + 0.5) if completion else 0)
    # entire integrands of bandwidth 2F: this many nodes integrate them to rounding
    return inner_products(basis, basis, nu, lengthscale, variance, a, b, 8 * n_harmonics + 64)


def matern(nu, lengthscale, variance, X, Z):
    """k(X, Z) for one column."""
    r = np.sqrt(2 * nu) * np.abs(X[:, :1] - Z[:, :1].T) / lengthscale
    return variance * {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu] * np.exp(-r)
