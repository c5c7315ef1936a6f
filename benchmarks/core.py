"""The engine against the arithmetic that it cannot do without."""

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved
from odvff import Fourier, Matern, Sum, Term
from odvff.inference import CollapsedBound
from odvff.statistics import collect
from odvff.statistics.basis import orthogonal
from odvff.statistics.cost import costs


def additive(D: int, F: int) -> list[Term]:
    return [Term(Matern(1.5, 0.3), Fourier(F, (0, 1)), [d]) for d in range(D)]


def bound() -> None:
    """One value and gradient of the collapsed bound against one Cholesky factorisation of its size."""
    rng = np.random.default_rng(0)
    terms, X = additive(10, 40), rng.uniform(0, 1, (5000, 10))
    statistics = collect(terms, [(X, np.sin(5 * X[:, 0]) + rng.standard_normal(5000))])
    f = CollapsedBound(Sum([orthogonal(t) for t in Sum(terms)]), statistics)
    p = np.concatenate([*(b.parameters() for b in f.blocks), [np.log(0.3)]])
    n = statistics.n_features
    K = statistics.gram + 100 * np.eye(n)
    with threadpool_limits(1, user_api="blas"):
        t = interleaved({"bound": lambda: f(p), "cholesky": lambda: scipy.linalg.cholesky(K, lower=True)}, 25)
    print(f"|β| = {n}: bound {1e3 * t['bound']:.1f} ms, Cholesky {1e3 * t['cholesky']:.1f} ms")
    print(f"ratio {t['bound'] / t['cholesky']:.2f} (at most 5)")


def statistics() -> None:
    """One pass over a million rows against the product of a ready-made feature matrix."""
    rng = np.random.default_rng(0)
    for D, F, engine, limit in ((10, 10, "product", "at most 2"), (2, 200, "nufft", "at most 0.05")):
        terms, X, y = additive(D, F), rng.uniform(0, 1, (1_000_000, D)), rng.standard_normal(1_000_000)
        n = Sum(terms).Kuu().size
        ready = rng.standard_normal((1_000_000 if n < 300 else 250_000, n))
        t = interleaved(
            {
                "collect": lambda terms=terms, X=X, y=y, engine=engine: collect(terms, [(X, y)], engine=engine),
                "product": lambda ready=ready: ready.T @ ready,
            },
            7,
        )
        product = t["product"] * 1_000_000 / len(ready)
        print(f"D={D}, F={F}, |β|={n}, N=1,000,000: {engine} {t['collect']:.2f} s, Phi.T @ Phi {product:.2f} s")
        print(f"ratio {t['collect'] / product:.3f} ({limit})")


def engines() -> None:
    """Both engines and what the cost model says of them."""
    rng = np.random.default_rng(0)
    N = 200_000
    print("  D    F   product     nufft   model: product   nufft   (seconds; the model's of one core)")
    for D, F in ((1, 10), (1, 200), (2, 10), (2, 50), (2, 200), (5, 10), (5, 40), (10, 10), (10, 40)):
        terms, X, y = additive(D, F), rng.uniform(0, 1, (N, D)), rng.standard_normal(N)
        t = interleaved(
            {e: lambda e=e, terms=terms, X=X, y=y: collect(terms, [(X, y)], engine=e) for e in ("product", "nufft")},
            3,
        )
        c = costs(Sum([orthogonal(term) for term in Sum(terms)]), N)
        print(f"{D:3d}  {F:3d}  {t['product']:8.3f}  {t['nufft']:8.3f}  {c['product']:15.3f}  {c['nufft']:6.3f}")


CORE = {"bound": bound, "statistics": statistics, "engines": engines}
