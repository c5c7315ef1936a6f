"""The tables of the paper."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.showing import markdown

from experiments import data, paper, synthetic
from experiments.ways import Sizes, fit_and_score

STEPS, BATCH = 8000, 500
# planned runs of every cell; one of each by minibatches, which take minutes, and more with --repeats
COLLAPSED_RUNS = 5
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


def _name(reading: str, way: str, method: str, **where: Any) -> str:
    return " | ".join([reading, way, method, *(f"{key}={value}" for key, value in where.items())])


# |β| = 11, 99, 189 of |β| + |γ| = 200


def synthetic_cells(counted: str = "of every column") -> list[Cell]:
    cells = []
    for reading in synthetic.READINGS:
        for D, by_beta in paper.SYNTHETIC.items():
            job = partial(_synthetic, "collapsed", "odvff", Sizes(0, 0, 0, 0), reading, D, 50_000)
            cells.append(Cell(_name(reading, "collapsed", "odvff", D=D), job, COLLAPSED_RUNS, 0.3))
            for beta, methods in by_beta.items():
                for way, method in [*(("paper", m) for m in methods), ("stochastic", "odvff")]:
                    if reading != synthetic.OF_THE_PAPER and way == "paper":
                        continue  # the other reading is the paper's
                    sizes = Sizes(beta, 200 - beta, _steps(D, beta, method), BATCH, counted)
                    job = partial(_synthetic, way, method, sizes, reading, D, 50_000)
                    minutes = 2 + D * beta / 100
                    cells.append(Cell(_name(reading, way, method, D=D, beta=beta), job, 1, minutes))
    return cells


# |β| = 10 and 50 of 100


def by_rows_cells(D: int, counted: str = "of every column") -> list[Cell]:
    cells = []
    for reading in synthetic.READINGS:
        for (n, beta), methods in paper.BY_ROWS[D].items():
            sizes = Sizes(beta, 100 - beta, _steps(D, beta, "odvff"), BATCH, counted)
            if beta == 10:
                job = partial(_synthetic, "collapsed", "odvff", sizes, reading, D, n)
                cells.append(Cell(_name(reading, "collapsed", "odvff", N=n), job, COLLAPSED_RUNS, 0.3))
                if n == 50_000:
                    job = partial(_synthetic, "collapsed", "sgpr", sizes, reading, D, n)
                    cells.append(Cell(_name(reading, "collapsed", "sgpr", N=n), job, COLLAPSED_RUNS, 4.0))
            for way, method in [*(("paper", m) for m in methods if m != "sgpr"), ("stochastic", "odvff")]:
                if (reading != synthetic.OF_THE_PAPER and way == "paper") or (method == "svgp" and beta == 50):
                    continue
                own = sizes if method == "odvff" else Sizes(beta, 100 - beta, STEPS, BATCH)
                where = {"N": n} if method == "svgp" else {"N": n, "beta": beta}
                job = partial(_synthetic, way, method, own, reading, D, n)
                cells.append(Cell(_name(reading, way, method, **where), job, 1, 1 + D * beta / 100))
    return cells


# the UCI and PMLB sets


def _benchmark(way: str, method: str, sizes: Sizes, name: str, seed: int) -> dict[str, Any]:
    X, y = data.load(name)
    train, test = data.split(len(y), seed)
    return fit_and_score(way, method, sizes, (X[train], y[train]), (X[test], y[test]), seed)


# |γ|, |β|: those of all columns together, as |β| = 100 in each of ten makes a thousand features
BENCHMARK_SIZES = {"kegg_directed": (150, 50), "sgemmProd": (120, 80)}
BENCHMARK_STEPS, BENCHMARK_BATCH = 10_000, 400


def benchmark_cells(counted: str = "of all columns together") -> list[Cell]:
    cells = []
    for name in data.SETS:
        gamma, beta = BENCHMARK_SIZES.get(name, (300, 100))
        sizes = Sizes(beta, gamma, BENCHMARK_STEPS, BENCHMARK_BATCH, counted)
        for way, method in (
            ("collapsed", "odvff"),
            ("stochastic", "odvff"),
            *(("paper", m) for m in ("odvff", "odvgp", "svgp")),
        ):
            job = partial(_benchmark, way, method, sizes, name)
            cells.append(
                Cell(f"{name} | {way} | {method}", job, *((COLLAPSED_RUNS, 0.3) if way == "collapsed" else (1, 5.0)))
            )
    return cells


def _mean(runs: list[dict[str, Any]], key: str) -> tuple[float, float, int]:
    import numpy as np

    values = [run[key] for run in runs]
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(np.mean(values)), error, len(values)


def _cell(runs: list[dict[str, Any]], key: str = "log_density") -> str:
    if not runs:
        return "–"
    mean, error, n = _mean(runs, key)
    more = "" if n == 1 else f" ± {error:.3f}"
    return f"{mean:.3f}{more} ({n})"


# how good a value is: the larger the better
GOODNESS: dict[str, Callable[[float], float]] = {
    "log_density": lambda value: value,
    "rmse": lambda value: -value,
    "coverage": lambda value: -abs(value - 0.95),
}


def _ranks(values: dict[str, float | None], key: str = "log_density") -> dict[str, str]:
    """Rank of every method among those that have a value, in square brackets; equal to three digits is equal."""
    goodness = {m: round(GOODNESS[key](v), 3) for m, v in values.items() if v is not None}
    return {m: f" [{1 + sum(o > goodness[m] for o in goodness.values())}]" if m in goodness else "" for m in values}


def _on_same_rows(own: dict[str, list[dict[str, Any]]], key: str = "log_density") -> dict[str, float | None]:
    """Means over the seeds that all methods have, for ranks: seeds differ by more than methods."""
    n = min((len(runs) for runs in own.values() if runs), default=0)
    return {m: _mean(runs[:n], key)[0] if runs else None for m, runs in own.items()}


NAMES = {"odvff": "ODVFF", "odvgp": "ODVGP", "svgp": "SVGP", "sgpr": "SGPR"}
MEASURES = {
    "log_density": (0, "mean test log-likelihood"),
    "rmse": (1, "RMSE"),
    "coverage": (2, "coverage of 95 % intervals"),
}


COUNTED = "± standard error (runs) [rank on the seeds that all have]"


def show_synthetic(results: Results) -> str:
    parts = []
    for reading in synthetic.READINGS:
        head = ["D", "\\|β\\|", "method", "paper", "as in the paper", "ours stochastic", "ours collapsed"]
        rows = []
        for D, by_beta in paper.SYNTHETIC.items():
            for beta, methods in by_beta.items():
                own = {m: results.of(_name(reading, "paper", m, D=D, beta=beta)) for m in methods}
                ranks = _ranks(dict(methods)), _ranks(_on_same_rows(own))
                for method, value in methods.items():
                    ours = [results.of(_name(reading, "stochastic", method, D=D, beta=beta))]
                    ours.append(results.of(_name(reading, "collapsed", "odvff", D=D)) if beta == 11 else [])
                    if reading != synthetic.OF_THE_PAPER and not any((own[method], *ours)):
                        continue
                    rows.append(
                        [
                            str(D),
                            str(beta),
                            NAMES[method],
                            f"{value:.3f}{ranks[0][method]}" if reading == synthetic.OF_THE_PAPER else "",
                            _cell(own[method]) + ranks[1][method] if reading == synthetic.OF_THE_PAPER else "",
                            *(_cell(runs) if method == "odvff" and runs else "" for runs in ours),
                        ]
                    )
        parts.append(f"Reading: {reading}. Mean test log-likelihood {COUNTED}.\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def show_by_rows(D: int, results: Results, shown: tuple[str, ...] = tuple(NAMES)) -> str:
    parts = []
    for reading in synthetic.READINGS:
        for key, (place, title) in MEASURES.items():
            head = ["N", "\\|β\\|", "method", "paper", "as in the paper", "ours stochastic", "ours collapsed"]
            rows = []
            for (n, beta), methods in paper.BY_ROWS[D].items():
                rows += [row for m, row in _by_method(results, reading, key, place, n, beta, methods) if m in shown]
            parts.append(f"Reading: {reading}. {title} {COUNTED}.\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def _by_method(
    results: Results, reading: str, key: str, place: int, n: int, beta: int, methods: dict[str, tuple[float, ...]]
) -> Iterator[tuple[str, list[str]]]:
    """Row by row; SGPR has no minibatches: its run as in the paper is the collapsed one."""
    where = {m: {"N": n} if m in ("svgp", "sgpr") else {"N": n, "beta": beta} for m in methods}
    own = {m: results.of(_name(reading, "collapsed" if m == "sgpr" else "paper", m, **where[m])) for m in methods}
    ranks = (
        _ranks({m: values[place] for m, values in methods.items()}, key),
        _ranks(_on_same_rows(own, key), key),
    )
    for method, values in methods.items():
        ours = [results.of(_name(reading, "stochastic", method, **where[method]))]
        ours.append(results.of(_name(reading, "collapsed", method, N=n)) if beta == 10 else [])
        if reading != synthetic.OF_THE_PAPER and not any((own[method], *ours)):
            continue
        yield (
            method,
            [
                f"{n:,}",
                str(beta),
                NAMES[method],
                f"{values[place]:.3f}{ranks[0][method]}" if reading == synthetic.OF_THE_PAPER else "",
                _cell(own[method], key) + ranks[1][method] if own[method] or reading == synthetic.OF_THE_PAPER else "",
                *(_cell(runs, key) if method == "odvff" and runs else "" for runs in ours),
            ],
        )


METHODS = ("odvff", "odvgp", "svgp")


def show_benchmark(results: Results) -> str:
    head = ["data", "paper: ODVFF", "ODVGP", "SVGP", "as in the paper: ODVFF", "ODVGP", "SVGP"]
    head += ["ours stochastic", "ours collapsed", "RMSE", "coverage"]
    rows = []
    for name, one in data.SETS.items():
        values = {m: paper.BENCHMARK[one.paper or name][m][0] for m in METHODS}
        star, theirs = "*" if one.paper else "", _ranks(dict(values))
        own = {m: results.of(f"{name} | paper | {m}") for m in METHODS}
        stochastic, collapsed = (results.of(f"{name} | {way} | odvff") for way in ("stochastic", "collapsed"))
        row = [name, *(f"{values[m]:.3f}{star}{theirs[m]}" for m in METHODS)]
        if not any((*own.values(), stochastic, collapsed)):
            rows.append([*row, "absent", *[""] * 6])
            continue
        ranks = _ranks(_on_same_rows(own))
        row += [f"{_cell(own[m])}{ranks[m]}" for m in METHODS]
        rows.append([*row, _cell(stochastic), *(_cell(collapsed, key) for key in MEASURES)])
    notes = "\n".join(f"- {name}: {one.note}." for name, one in data.SETS.items() if one.note)
    title = f"Mean test log-likelihood {COUNTED}, of standardised targets; * is of another set."
    return f"{title}\n\n{markdown(head, rows)}\n\n{notes}"


# what does |β| count? the reading that fits the paper, and the others on request
SYNTHETIC, BENCHMARK = "|β| = 11, 99, 189 of 200 in D = 2, 4, 8", "the UCI and PMLB sets"
BY_ROWS = "|β| = 10, 50 of 100, N = 50,000 and 100,000, D = {}"


def _otherwise(name: str, what: str, counted: str, cells: Callable[..., list[Cell]], show: Any) -> Experiment:
    """A table with another reading of |β|: the cells that depend on it."""

    def depend_on_it() -> list[Cell]:
        return [cell for cell in cells(counted=counted) if "odvff" in cell.name and "collapsed" not in cell.name]

    return Experiment(name, f"{what}; |β| {counted}", depend_on_it, show, on_request=True)


TABLES = [
    Experiment("table-synthetic", SYNTHETIC, synthetic_cells, show_synthetic),
    *(
        Experiment(f"table-{D}d", BY_ROWS.format(D), partial(by_rows_cells, D), partial(show_by_rows, D))
        for D in (1, 5, 10)
    ),
    Experiment("table-benchmark", BENCHMARK, benchmark_cells, show_benchmark),
    _otherwise("table-synthetic-total", SYNTHETIC, "of all columns together", synthetic_cells, show_synthetic),
    *(
        _otherwise(
            f"table-{D}d-{name}",
            BY_ROWS.format(D),
            counted,
            partial(by_rows_cells, D),
            partial(show_by_rows, D, shown=("odvff",)),
        )
        for name, counted, Ds in (
            ("total", "of all columns together", (5, 10)),
            ("constant-apart", "of every column, its constant apart", (1, 5, 10)),
        )
        for D in Ds
    ),
    _otherwise("table-benchmark-per-column", BENCHMARK, "of every column", benchmark_cells, show_benchmark),
]
