"""How time grows with columns and with harmonics: both engines, plain products, FINUFFT alone, the bound."""

from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.showing import circumstances, each, markdown, picture, pyplot, spread

REPEATS = 2
MOST_READY = 6000  # features, beyond which a product of ready features takes minutes
PARTS = {
    "product": "statistics by products",
    "ready": "ΦᵀΦ, Φ there already",
    "nufft": "statistics by NUFFT",
    "transforms": "FINUFFT alone",
    "bound": "bound and gradient",
    "cholesky": "Cholesky",
}
# (D, F, N): the engine that is out of its depth is left out, as are products of more features than memory holds
COLUMNS = [(1, 10, 500_000), (2, 10, 500_000), (5, 10, 500_000), (10, 10, 500_000), (20, 10, 200_000)]
COLUMNS += [(50, 10, 100_000), (100, 10, 50_000), (200, 10, 20_000)]
HARMONICS = [(1, F, 500_000) for F in (5, 20, 50, 200, 500, 1000, 2000, 5000)]
HARMONICS += [(2, F, 500_000) for F in (5, 20, 50, 100, 200)]


def _parts(D: int, F: int) -> list[str]:
    n = D * (2 * F + 3)
    parts = ["nufft", "transforms"] if D <= 20 else []
    parts += ["product", "ready"] if n <= MOST_READY // 4 or D > 20 else []
    return parts + (["bound", "cholesky"] if n <= MOST_READY else [])


def _run(D: int, F: int, N: int, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_engine", D, F, N, *_parts(D, F))


def _name(D: int, F: int, N: int) -> str:
    return f"D={D} F={F} N={N}"


def cells(sizes: list[tuple[int, int, int]]) -> list[Cell]:
    return [Cell(_name(*size), partial(_run, *size), REPEATS, 1.0) for size in sizes]


def show(name: str, sizes: list[tuple[int, int, int]], results: Results) -> str:
    if not any(results.of(_name(*size)) for size in sizes):
        return "Nothing has been measured yet."
    rows, everything = [], []
    for D, F, N in sizes:
        runs = results.of(_name(D, F, N))
        everything += runs
        found = [_cost(runs, part, N) for part in PARTS]
        rows.append([str(D), str(F), f"{N:,}", f"{D * (2 * F + 3):,}", *found])
    table = markdown(["D", "F", "rows", "features", *PARTS.values()], rows)
    return "\n\n".join([TEXT, table, _picture(name, sizes, results), circumstances(everything)])


TEXT = f"""\
Microseconds a row for statistics in one pass with two threads, milliseconds for the bound and the Cholesky of a matrix
of its size with one: the median of fresh processes (least–most). Left out: products of more than {MOST_READY // 4:,}
features in up to 20 columns, where transforms win by far; transforms in more than 20 columns, where products do; and
the bound with more than {MOST_READY:,} features."""


def _cost(runs: list[dict[str, Any]], part: str, N: int) -> str:
    if not runs or part not in runs[0]["took"]:
        return "–"
    return spread(
        [seconds * (1e3 if part in ("bound", "cholesky") else 1e6 / N) for seconds in each(runs, "took", part)]
    )


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
