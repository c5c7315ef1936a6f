"""Which engine is cheaper, by a model with measured constants (`python -m benchmarks run columns` and `harmonics`)."""

from odvff.statistics.nodes import nodes_pay
from odvff.terms import Sum

# nanoseconds on one core: a multiply-add of the product, a feature of a row, a point of a 1-D and of a 2-D transform
PRODUCT, FEATURE, POINT_1D, POINT_2D = 0.020, 4.3, 55.0, 160.0
# nanoseconds for a mode of the 2-D transform's grid, once for each block of rows
MODE = 40.0
# nanoseconds for a row that goes to nodes, and for a harmonic of theirs
NODE_ROW, NODE_HARMONIC = 50.0, 10_000.0


def cheaper_engine(terms: Sum, n_rows: int) -> str:
    """The engine with the fewest estimated nanoseconds of one core, among those that can do these terms well."""
    n = terms.size
    by_product = n_rows * n * (FEATURE + PRODUCT * n)
    axes = [term.features.axes for term in terms]  # type: ignore[attr-defined]
    if any(len(own) != 1 for own in axes):  # separable terms and levels gain little: products are as good for them
        return "product"
    F, s = [own[0].n_harmonics for own in axes], [own[0].n_remainders for own in axes]
    D = len(axes)
    if D == 1 and nodes_pay(F[0], n_rows):
        by_nufft = n_rows * NODE_ROW + F[0] * NODE_HARMONIC
    else:
        # for each column: 1, y and all remainders as strengths, two in one; and the tables of its own
        n_1d = sum((2 + sum(s)) / 2 + (s_t + 1) // 2 for s_t in s)
        pairs = D * (D - 1) / 2
        grids = sum(F[i] * F[j] * 16 for i in range(D) for j in range(i))
        by_nufft = n_rows * (n_1d * POINT_1D + pairs * POINT_2D) + MODE * grids
    return "product" if by_product <= by_nufft else "nufft"
