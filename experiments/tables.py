"""The tables of the paper."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment

from experiments import data, paper, synthetic
from experiments.table_text import (
    PER_COLUMN,
    USUAL,
    Readings,
    cell_name,
    show_benchmark,
    show_by_rows,
    show_per_column,
    show_synthetic,
)
from experiments.ways import Sizes, fit_and_score

STEPS, BATCH = 8000, 500
# planned runs of every cell; one of each by minibatches, which take minutes (seconds in one column), and more with
# --repeats
COLLAPSED_RUNS = 5
MINIBATCH_RUNS = {1: 3}  # by D
# harmonics make the natural step cubic in their number: with |β| = 189 in eight columns there are 1,500 features
FEWER_STEPS = {(4, 189): 2000, (8, 99): 2000, (8, 189): 500, (10, 50): 4000}


def _steps(D: int, beta: int, method: str) -> int:
    return FEWER_STEPS.get((D, beta), STEPS) if method == "odvff" else STEPS


def _synthetic(way: str, method: str, sizes: Sizes, reading: str, D: int, n_rows: int, seed: int) -> dict[str, Any]:
    train, test = synthetic.draw(reading, D, n_rows, seed)
    return _in_units(fit_and_score(way, method, sizes, train, test, seed))


def _in_units(measured: dict[str, Any]) -> dict[str, Any]:
    """Log density and RMSE of y itself, as the paper has them for synthetic rows."""
    import math

    scale = measured["scale"]
    return {**measured, "log_density": measured["log_density"] - math.log(scale), "rmse": measured["rmse"] * scale}


# |β| = 11, 99, 189 of |β| + |γ| = 200


def synthetic_cells(counted: str = "of every column", readings: Readings = USUAL) -> list[Cell]:
    cells = []
    for reading, all_methods in readings.items():
        for D, by_beta in paper.SYNTHETIC.items():
            job = partial(_synthetic, "collapsed", "odvff", Sizes(0, 0, 0, 0), reading, D, 50_000)
            cells.append(Cell(cell_name(reading, "collapsed", "odvff", D=D), job, COLLAPSED_RUNS, 0.3))
            if all_methods:  # the paper has none here: to compare with
                job = partial(_synthetic, "collapsed", "sgpr", Sizes(0, 200, 0, 0), reading, D, 50_000)
                cells.append(Cell(cell_name(reading, "collapsed", "sgpr", D=D), job, 1, 8.0))
            for beta, methods in by_beta.items():
                for way, method in [*(("paper", m) for m in methods), ("stochastic", "odvff")]:
                    if way == "paper" and not all_methods:
                        continue
                    sizes = Sizes(beta, 200 - beta, _steps(D, beta, method), BATCH, counted)
                    job = partial(_synthetic, way, method, sizes, reading, D, 50_000)
                    minutes = 2 + D * beta / 100
                    cells.append(Cell(cell_name(reading, way, method, D=D, beta=beta), job, 1, minutes))
    return cells


# |β| = 10 and 50 of 100


def by_rows_cells(D: int, counted: str = "of every column", readings: Readings = USUAL) -> list[Cell]:
    cells = []
    for reading, all_methods in readings.items():
        for (n, beta), methods in paper.BY_ROWS[D].items():
            sizes = Sizes(beta, 100 - beta, _steps(D, beta, "odvff"), BATCH, counted)
            if beta == 10:
                job = partial(_synthetic, "collapsed", "odvff", sizes, reading, D, n)
                cells.append(Cell(cell_name(reading, "collapsed", "odvff", N=n), job, COLLAPSED_RUNS, 0.3))
                if n == 50_000:
                    job = partial(_synthetic, "collapsed", "sgpr", sizes, reading, D, n)
                    cells.append(Cell(cell_name(reading, "collapsed", "sgpr", N=n), job, COLLAPSED_RUNS, 4.0))
            for way, method in [*(("paper", m) for m in methods if m != "sgpr"), ("stochastic", "odvff")]:
                if (way == "paper" and not all_methods) or (method == "svgp" and beta == 50):
                    continue
                own = sizes if method == "odvff" else Sizes(beta, 100 - beta, STEPS, BATCH)
                where = {"N": n} if method == "svgp" else {"N": n, "beta": beta}
                job = partial(_synthetic, way, method, own, reading, D, n)
                cells.append(
                    Cell(cell_name(reading, way, method, **where), job, MINIBATCH_RUNS.get(D, 1), 0.3 + D * beta / 100)
                )
    return cells


# the UCI and PMLB sets


def _benchmark(way: str, method: str, sizes: Sizes, name: str, seed: int) -> dict[str, Any]:
    X, y = data.load(name)
    train, test = data.split(len(y), seed)
    return fit_and_score(way, method, sizes, (X[train], y[train]), (X[test], y[test]), seed)


# |γ|, |β| where the paper has others than 300 and 100
BENCHMARK_SIZES = {"kegg_directed": (150, 50), "sgemmProd": (120, 80)}
BENCHMARK_STEPS, BENCHMARK_BATCH = 10_000, 400
# |β| = 100 in each of ten columns makes a thousand features, and steps many times as long: fewer, but on two sets
FEWER_STEPS_PER_COLUMN, ALL_STEPS_PER_COLUMN = 2000, ("537_houses", "protein")
MINUTES = {"of all columns together": 5.0, "of every column": 8.0}


def benchmark_cells(counted: str = "of all columns together") -> list[Cell]:
    cells = []
    for name in data.SETS:
        gamma, beta = BENCHMARK_SIZES.get(name, (300, 100))
        fewer = counted == "of every column" and name not in ALL_STEPS_PER_COLUMN
        steps = FEWER_STEPS_PER_COLUMN if fewer else BENCHMARK_STEPS
        sizes = Sizes(beta, gamma, steps, BENCHMARK_BATCH, counted)
        for way, method in (
            ("collapsed", "odvff"),
            ("stochastic", "odvff"),
            *(("paper", m) for m in ("odvff", "odvgp", "svgp")),
        ):
            job = partial(_benchmark, way, method, sizes, name)
            runs, minutes = (COLLAPSED_RUNS, 0.3) if way == "collapsed" else (1, MINUTES[counted])
            cells.append(Cell(f"{name} | {way} | {method}", job, runs, minutes, not data.is_here(name)))
    return cells


# what does |β| count? the reading that fits the paper, and the others on request
SYNTHETIC, BENCHMARK = "|β| = 11, 99, 189 of 200 in D = 2, 4, 8", "the UCI and PMLB sets"
BY_ROWS = "|β| = 10, 50 of 100, N = 50,000 and 100,000, D = {}"


BY_ROWS_D = (1, 5, 10)


def _otherwise(name: str, what: str, counted: str, cells: Callable[..., list[Cell]], show: Any) -> Experiment:
    """A table with another reading of |β|: the cells that depend on it."""

    def depend_on_it() -> list[Cell]:
        return [c for c in cells(counted=counted) if "odvff" in c.name and "collapsed" not in c.name]

    return Experiment(name, f"{what}; |β| {counted}", depend_on_it, show, on_request=True)


def _of_other_rows(name: str, what: str, reading: str, cells: Callable[..., list[Cell]], show: Any) -> Experiment:
    """A table with another reading of the synthetic rows."""
    readings = {reading: True}
    return Experiment(
        name, f"{what}; rows: {reading}", partial(cells, readings=readings), partial(show, readings=readings), True
    )


def _by_rows(D: int) -> tuple[str, Callable[..., list[Cell]], Any]:
    return BY_ROWS.format(D), partial(by_rows_cells, D), partial(show_by_rows, D)


PRODUCT: Readings = {"product": True}
ROWS_OF = {"additive": "additive", "noisy": "product, noise variance 0.2"}
COUNTED_BY = {"total": "of all columns together", "constant-apart": "of every column, its constant apart"}
TABLES = [
    Experiment("table-synthetic", SYNTHETIC, synthetic_cells, show_synthetic),
    *(Experiment(f"table-{D}d", *_by_rows(D)) for D in BY_ROWS_D),
    Experiment("table-benchmark", BENCHMARK, benchmark_cells, show_benchmark),
    _otherwise(
        "table-synthetic-total",
        SYNTHETIC,
        COUNTED_BY["total"],
        partial(synthetic_cells, readings=PRODUCT),
        partial(show_synthetic, readings=PRODUCT),
    ),
    *(
        _otherwise(
            f"table-{D}d-{name}",
            what,
            counted,
            partial(cells, readings=PRODUCT),
            partial(show, shown=("odvff",), readings=PRODUCT),
        )
        for name, counted in COUNTED_BY.items()
        for D in BY_ROWS_D
        for what, cells, show in [_by_rows(D)]
        if D > 1 or name != "total"
    ),
    _otherwise(PER_COLUMN, BENCHMARK, "of every column", benchmark_cells, show_per_column),
    *(
        _of_other_rows(f"table-synthetic-{name}", SYNTHETIC, reading, synthetic_cells, show_synthetic)
        for name, reading in ROWS_OF.items()
    ),
    *(
        _of_other_rows(f"table-{D}d-{name}", what, reading, cells, show)
        for name, reading in ROWS_OF.items()
        for D in BY_ROWS_D
        for what, cells, show in [_by_rows(D)]
    ),
]
