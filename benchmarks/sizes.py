"""How time grows with columns and with harmonics: both engines, plain products, FINUFFT alone, the bound."""

from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import SLEEPING, fresh
from benchmarks.showing import NOTHING, circumstances, each, markdown, picture, pyplot, spread

REPEATS = 2
MOST_FACTORED = 6000  # features of which the bound is evaluated
MOST_MULTIPLIED = 1500  # features of which statistics are taken by products, where there is another way
PARTS = {
    "product": "statistics by products",
    "ready": "ΦᵀΦ, Φ there already",
    "nufft": "statistics by NUFFT",
    "transforms": "FINUFFT alone",
    "bound": "bound and gradient",
    "cholesky": "Cholesky",
}
LIMITED_BY = {"product": "ready", "nufft": "transforms", "bound": "cholesky"}
# (D, F, N): the engine that is out of its depth is left out, as are products of more features than memory holds
COLUMNS = [(1, 10, 500_000), (2, 10, 500_000), (5, 10, 500_000), (10, 10, 500_000), (20, 10, 200_000)]
COLUMNS += [(50, 10, 100_000), (100, 10, 50_000), (200, 10, 20_000)]
HARMONICS = [(1, F, 500_000) for F in (5, 20, 50, 200, 500, 1000, 2000, 5000)]
HARMONICS += [(2, F, 500_000) for F in (5, 20, 50, 100, 200)]


def _parts(D: int, F: int) -> list[str]:
    n = D * (2 * F + 3)
    parts = ["nufft", "transforms"] if D <= 20 else []
    parts += ["product", "ready"] if n <= MOST_MULTIPLIED or D > 20 else []
    return parts + (["bound", "cholesky"] if n <= MOST_FACTORED else [])


def _run(D: int, F: int, N: int, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_engine", D, F, N, *_parts(D, F), variables=SLEEPING)


def _name(D: int, F: int, N: int) -> str:
    return f"D={D} F={F} N={N}"


def cells(sizes: list[tuple[int, int, int]]) -> list[Cell]:
    return [Cell(_name(*size), partial(_run, *size), REPEATS, 1.0) for size in sizes]


def show(name: str, sizes: list[tuple[int, int, int]], results: Results) -> str:
    if not any(results.of(_name(*size)) for size in sizes):
        return NOTHING
    rows, everything = [], []
    for D, F, N in sizes:
        runs = results.of(_name(D, F, N))
        everything += runs
        shown = [text(runs, part, N) for part in LIMITED_BY for text in (_cost, _beside_its_limit)]
        rows.append([str(D), str(F), f"{N:,}", f"{D * (2 * F + 3):,}", *shown])
    head = ["D", "F", "rows", "features", "statistics by products, µs a row", "% of ΦᵀΦ"]
    head += ["statistics by NUFFT, µs a row", "% of FINUFFT", "bound and gradient, ms", "in Choleskys"]
    return "\n\n".join([TEXT, markdown(head, rows), _picture(name, sizes, results), circumstances(everything)])


TEXT = f"""\
Statistics in one pass with two threads, beside what cannot be done without: ΦᵀΦ of features that are there already, and
FINUFFT's own transforms of the same moments. The bound beside the Cholesky of a matrix of its size, with one thread.
Medians of fresh processes (least–most). Left out: products of more than {MOST_MULTIPLIED:,} features in up to 20
columns, where transforms win by far; transforms in more than 20 columns, where products do; and the bound with more
than {MOST_FACTORED:,} features. A pass also writes the matrix of statistics, which FINUFFT does not: with thousands of
harmonics in one column that is most of its time, as 10,003² numbers are 0.8 GB."""


def _cost(runs: list[dict[str, Any]], part: str, N: int) -> str:
    """Microseconds a row, or milliseconds."""
    if not runs or part not in runs[0]["took"]:
        return "–"
    return spread([seconds * (1e3 if part == "bound" else 1e6 / N) for seconds in each(runs, "took", part)])


def _beside_its_limit(runs: list[dict[str, Any]], part: str, N: int) -> str:
    """Percent of its rate, or how many of it."""
    if not runs or part not in runs[0]["took"]:
        return "–"
    took, limits = (each(runs, "took", one) for one in (part, LIMITED_BY[part]))
    ratios = [ours / limit for ours, limit in zip(took, limits, strict=True)]
    return spread(ratios, 2) if part == "bound" else spread([100 / ratio for ratio in ratios], 2)


def _picture(name: str, sizes: list[tuple[int, int, int]], results: Results) -> str:
    """Microseconds a row (for the bound: milliseconds) against the number of features."""
    import numpy as np

    plt = pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for axis, parts, title in (
        (axes[0], ("product", "ready", "nufft", "transforms"), "statistics: microseconds a row"),
        (axes[1], ("bound", "cholesky"), "bound: milliseconds"),
    ):
        for D in sorted({D for D, _, _ in sizes}) if name == "harmonics" else [None]:
            for part in parts:
                points = []
                for size in sizes:
                    runs = results.of(_name(*size))
                    if (D is None or size[0] == D) and runs and part in runs[0]["took"]:
                        scale = 1e6 / size[2] if axis is axes[0] else 1e3
                        points.append((runs[0]["features"], scale * float(np.median(each(runs, "took", part)))))
                if points:
                    label = PARTS[part] + ("" if D is None else f", D={D}")
                    style = {"product": "C0o-", "ready": "C0o:", "nufft": "C1s-", "transforms": "C1s:"}
                    style |= {"bound": "C2^-", "cholesky": "C2^:"}
                    axis.loglog(*zip(*points, strict=True), style[part], label=label, alpha=0.5 if D == 2 else 1.0)
        axis.set(title=title, xlabel="features")
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize=7)
    plt.close(figure)
    return picture(figure, name)


SIZES = [
    Experiment(name, f"time against the number of {name}", partial(cells, sizes), partial(show, name, sizes))
    for name, sizes in (("columns", COLUMNS), ("harmonics", HARMONICS))
]
