"""Small random models with every kind of term, for tests."""

import numpy as np

from odvff import Categorical, Fourier, InducingPoints, Kronecker, Levels, Matern, Posterior, Separable, Sum, Term

METHODS = ("SVGP", "VFF", "ODVGP", "ODVFF", "mixed")


def random_terms(rng, method):
    """Terms over columns 0 and 1 (numeric), and 2 (a level) for the mixed model."""
    k0 = Matern(rng.choice([0.5, 1.5, 2.5]), 10 ** rng.uniform(-1, 0.5), rng.uniform(0.5, 2))
    k1 = Matern(rng.choice([0.5, 1.5, 2.5]), 10 ** rng.uniform(-1, 0.5), rng.uniform(0.5, 2))
    if method in ("SVGP", "ODVGP"):
        features = [InducingPoints(rng.uniform(0, 1, (rng.integers(2, 5), 1))) for _ in range(2)]
    else:
        features = [Fourier(int(rng.integers(1, 5)), (0, 1), bool(rng.integers(2))) for _ in range(2)]
    terms = [Term(k0, features[0], columns=[0]), Term(k1, features[1], columns=[1])]
    if method == "mixed":
        product = Separable((Matern(1.5, 0.5), Matern(0.5, 0.7)))
        terms += [
            Term(Matern(2.5, 0.3), InducingPoints(rng.uniform(0, 1, (3, 1))), columns=[1]),
            Term(Categorical(0.7), Levels(3), columns=[2]),
            Term(product, Kronecker((Fourier(1, (0, 1)), Fourier(1, (0, 1)))), columns=[0, 1]),
        ]
    return Sum(terms)


def random_rows(rng, n):
    """Rows inside and outside the box, with levels."""
    return np.column_stack([rng.uniform(-0.2, 1.2, (n, 2)), rng.integers(-1, 3, n)])


def random_posterior(rng, method):
    terms = random_terms(rng, method)
    n = terms.Kuu().size
    root = np.tril(rng.standard_normal((n, n)) / np.sqrt(n))
    np.fill_diagonal(root, rng.uniform(0.1, 1.0, n))
    gamma = None if method in ("SVGP", "VFF") else random_rows(rng, int(rng.integers(1, 6)))
    a = None if gamma is None else rng.standard_normal(len(gamma))
    return Posterior(terms, rng.standard_normal(n), root, gamma, a)
