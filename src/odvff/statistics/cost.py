"""Which engine is cheaper, by a model with measured constants (`python -m benchmarks run columns` and `harmonics`)."""

from collections.abc import Callable
from typing import Any

from odvff.statistics.by_product import moments_by_product
from odvff.statistics.nodes import nodes_pay
from odvff.terms import Sum


def moments_by_nufft(*args: Any) -> Any:
    """`by_nufft.moments_by_nufft`, imported when it is first needed: FINUFFT takes a while to load."""
    from odvff.statistics import by_nufft

    return by_nufft.moments_by_nufft(*args)


ENGINES: dict[str, Callable[..., Any]] = {"product": moments_by_product, "nufft": moments_by_nufft}

# nanoseconds on one core: a multiply-add of the product, a feature of a row, a point of a 1-D and of a 2-D transform
PRODUCT, FEATURE, POINT_1D, POINT_2D = 0.020, 4.3, 55.0, 160.0
# nanoseconds for a mode of the 2-D transform's grid, once for each block of rows
MODE = 40.0
# nanoseconds for a row that goes to nodes, and for a harmonic of theirs
NODE_ROW, NODE_HARMONIC = 50.0, 10_000.0


def costs(terms: Sum, n_rows: int) -> dict[str, float]:
    """Estimated seconds of one core for each engine that can do these terms well."""
    n = terms.size
    result = {"product": 1e-9 * n_rows * n * (FEATURE + PRODUCT * n)}
    axes = [term.features.axes for term in terms]  # type: ignore[attr-defined]
    if all(len(own) == 1 for own in axes):  # separable terms and levels gain little: products are as good for them
        F, s = [own[0].n_harmonics for own in axes], [own[0].n_remainders for own in axes]
        D = len(axes)
        if D == 1 and nodes_pay(F[0], n_rows):
            return result | {"nufft": 1e-9 * (n_rows * NODE_ROW + F[0] * NODE_HARMONIC)}
        # for each column: 1, y and all remainders as strengths, two in one; and the tables of its own
        n_1d = sum((2 + sum(s)) / 2 + (s_t + 1) // 2 for s_t in s)
        pairs = D * (D - 1) / 2
        grids = sum(F[i] * F[j] * 16 for i in range(D) for j in range(i))
        result["nufft"] = 1e-9 * (n_rows * (n_1d * POINT_1D + pairs * POINT_2D) + MODE * grids)
    return result


def cheaper_engine(terms: Sum, n_rows: int) -> str:
    estimate = costs(terms, n_rows)
    return min(estimate, key=estimate.__getitem__)
