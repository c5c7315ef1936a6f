"""The tables of the paper."""

from collections.abc import Callable
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


# readings of the synthetic rows: are all methods run as in the paper, or just ours and SGPR?
Readings = dict[str, bool]
USUAL: Readings = {"product": True, "additive": False}

# |β| = 11, 99, 189 of |β| + |γ| = 200


def synthetic_cells(counted: str = "of every column", readings: Readings = USUAL) -> list[Cell]:
    cells = []
    for reading, all_methods in readings.items():
        for D, by_beta in paper.SYNTHETIC.items():
            job = partial(_synthetic, "collapsed", "odvff", Sizes(0, 0, 0, 0), reading, D, 50_000)
            cells.append(Cell(_name(reading, "collapsed", "odvff", D=D), job, COLLAPSED_RUNS, 0.3))
            for beta, methods in by_beta.items():
                for way, method in [*(("paper", m) for m in methods), ("stochastic", "odvff")]:
                    if way == "paper" and not all_methods:
                        continue
                    sizes = Sizes(beta, 200 - beta, _steps(D, beta, method), BATCH, counted)
                    job = partial(_synthetic, way, method, sizes, reading, D, 50_000)
                    minutes = 2 + D * beta / 100
                    cells.append(Cell(_name(reading, way, method, D=D, beta=beta), job, 1, minutes))
    return cells


# |β| = 10 and 50 of 100


def by_rows_cells(D: int, counted: str = "of every column", readings: Readings = USUAL) -> list[Cell]:
    cells = []
    for reading, all_methods in readings.items():
        for (n, beta), methods in paper.BY_ROWS[D].items():
            sizes = Sizes(beta, 100 - beta, _steps(D, beta, "odvff"), BATCH, counted)
            if beta == 10:
                job = partial(_synthetic, "collapsed", "odvff", sizes, reading, D, n)
                cells.append(Cell(_name(reading, "collapsed", "odvff", N=n), job, COLLAPSED_RUNS, 0.3))
                if n == 50_000:
                    job = partial(_synthetic, "collapsed", "sgpr", sizes, reading, D, n)
                    cells.append(Cell(_name(reading, "collapsed", "sgpr", N=n), job, COLLAPSED_RUNS, 4.0))
            for way, method in [*(("paper", m) for m in methods if m != "sgpr"), ("stochastic", "odvff")]:
                if (way == "paper" and not all_methods) or (method == "svgp" and beta == 50):
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


def show_synthetic(results: Results, readings: Readings = USUAL) -> str:
    parts = []
    for reading, all_methods in readings.items():
        head = ["D", "\\|β\\|", "method", "paper", "as in the paper", "ours stochastic", "ours collapsed"]
        rows = []
        for D, by_beta in paper.SYNTHETIC.items():
            for beta, methods in by_beta.items():
                own = {m: results.of(_name(reading, "paper", m, D=D, beta=beta)) for m in methods}
                ranks = _ranks(dict(methods)), _ranks(_on_same_rows(own))
                for method, value in methods.items():
                    ours = [results.of(_name(reading, "stochastic", method, D=D, beta=beta))]
                    ours.append(results.of(_name(reading, "collapsed", "odvff", D=D)) if beta == 11 else [])
                    if not all_methods and method != "odvff":
                        continue
                    rows.append(
                        [
                            str(D),
                            str(beta),
                            NAMES[method],
                            f"{value:.3f}{ranks[0][method]}" if all_methods else "",
                            _cell(own[method]) + ranks[1][method] if all_methods else "",
                            *(_cell(runs) if method == "odvff" and runs else "" for runs in ours),
                        ]
                    )
        parts.append(f"Reading: {reading}. Mean test log-likelihood {COUNTED}.\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def show_by_rows(D: int, results: Results, shown: tuple[str, ...] = tuple(NAMES), readings: Readings = USUAL) -> str:
    parts = []
    for reading, all_methods in readings.items():
        wanted = [m for m in shown if all_methods or m in ("odvff", "sgpr")]
        for key, (_, title) in MEASURES.items():
            head = ["N", "\\|β\\|", "method", "paper", "as in the paper", "ours stochastic", "ours collapsed"]
            rows = []
            for (n, beta), values in paper.BY_ROWS[D].items():
                theirs, as_there = _beside_the_paper(results, reading, key, n, beta, values)
                for m in (m for m in wanted if m in values):
                    beside = [theirs[m] if all_methods else "", as_there[m] if all_methods or m == "sgpr" else ""]
                    rows.append([f"{n:,}", str(beta), NAMES[m], *beside, *_ours(results, reading, m, key, n, beta)])
            parts.append(f"Reading: {reading}. {title} {COUNTED}.\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def _beside_the_paper(
    results: Results, reading: str, key: str, n: int, beta: int, values: dict[str, tuple[float, float, float]]
) -> tuple[dict[str, str], dict[str, str]]:
    """The paper's number of every method, and ours as in the paper, which is the collapsed one for SGPR."""
    place = MEASURES[key][0]
    names = {m: _name(reading, "paper", m, N=n, beta=beta) for m in values}
    names |= {"svgp": _name(reading, "paper", "svgp", N=n), "sgpr": _name(reading, "collapsed", "sgpr", N=n)}
    own = {m: results.of(names[m]) for m in values}
    theirs = {m: value[place] for m, value in values.items()}
    ranks = _ranks(dict(theirs), key), _ranks(_on_same_rows(own, key), key)
    return (
        {m: f"{theirs[m]:.3f}{ranks[0][m]}" for m in values},
        {m: _cell(own[m], key) + ranks[1][m] for m in values},
    )


def _ours(results: Results, reading: str, method: str, key: str, n: int, beta: int) -> list[str]:
    """Stochastic and collapsed; the latter chooses its features itself, and stands where it first can."""
    if method != "odvff":
        return ["", ""]
    stochastic = results.of(_name(reading, "stochastic", method, N=n, beta=beta))
    collapsed = results.of(_name(reading, "collapsed", method, N=n)) if beta == 10 else []
    return [_cell(runs, key) if runs else "" for runs in (stochastic, collapsed)]


METHODS = ("odvff", "odvgp", "svgp")
# what of the benchmark table: its measure, and its place in the paper's pairs
BENCHMARK_MEASURES = {"log_density": (0, "Mean test log-likelihood"), "rmse": (1, "RMSE")}


def show_benchmark(results: Results) -> str:
    tables = (_benchmark_table(results, key, place, title) for key, (place, title) in BENCHMARK_MEASURES.items())
    notes = "\n".join(f"- {name}: {one.note}." for name, one in data.SETS.items() if one.note)
    return "\n\n".join([*tables, notes])


def _benchmark_table(results: Results, key: str, place: int, title: str) -> str:
    """A row for each set; ours collapsed over all splits, and on those of the others, which seldom have as many."""
    head = ["data", "paper: ODVFF", "ODVGP", "SVGP", "as in the paper: ODVFF", "ODVGP", "SVGP", "ours stochastic"]
    head += [
        "ours collapsed, same splits",
        "ours collapsed, all splits",
        *(["coverage"] if key == "log_density" else []),
    ]
    rows, ranked = [], []
    for name, one in data.SETS.items():
        values = {m: paper.BENCHMARK[one.paper or name][m][place] for m in METHODS}
        own = {m: results.of(f"{name} | paper | {m}") for m in METHODS}
        stochastic, collapsed = (results.of(f"{name} | {way} | odvff") for way in ("stochastic", "collapsed"))
        theirs, ranks = _ranks(dict(values), key), _ranks(_on_same_rows(own, key), key)
        row = [name, *(f"{values[m]:.{3 - place}f}{'*' if one.paper else ''}{theirs[m]}" for m in METHODS)]
        if not any((*own.values(), stochastic, collapsed)) and not data.is_here(name):
            rows.append([*row, "absent", *[""] * (len(head) - len(row) - 1)])
            continue
        same = collapsed[: min((len(runs) for runs in own.values() if runs), default=0)]
        row += [f"{_cell(own[m], key)}{ranks[m]}" for m in METHODS]
        row += [_cell(runs, key) for runs in (stochastic, same, collapsed)]
        rows.append([*row, *([_cell(collapsed, "coverage")] if key == "log_density" else [])])
        if all(ranks.values()):
            ranked.append([*theirs.values(), *ranks.values()])
    means = [f"{sum(int(text[2:-1]) for text in column) / len(ranked):.1f}" for column in zip(*ranked, strict=True)]
    rows.append([f"mean rank on {len(ranked)} sets", *(means or ["–"] * 6), *[""] * (len(head) - 7)])
    return f"{title} {COUNTED}, of standardised targets; * is of another set.\n\n{markdown(head, rows)}"


# what does |β| count? the reading that fits the paper, and the others on request
SYNTHETIC, BENCHMARK = "|β| = 11, 99, 189 of 200 in D = 2, 4, 8", "the UCI and PMLB sets"
BY_ROWS = "|β| = 10, 50 of 100, N = 50,000 and 100,000, D = {}"


BY_ROWS_D = (1, 5, 10)


def _otherwise(name: str, what: str, counted: str, cells: Callable[..., list[Cell]], show: Any) -> Experiment:
    """A table with another reading of |β|: the cells that depend on it."""

    def depend_on_it() -> list[Cell]:
        return [cell for cell in cells(counted=counted) if "odvff" in cell.name and "collapsed" not in cell.name]

    return Experiment(name, f"{what}; |β| {counted}", depend_on_it, show, on_request=True)


def _of_other_rows(name: str, what: str, reading: str, cells: Callable[..., list[Cell]], show: Any) -> Experiment:
    """A table with another reading of the synthetic rows."""
    readings = {reading: True}
    return Experiment(
        name, f"{what}; rows: {reading}", partial(cells, readings=readings), partial(show, readings=readings), True
    )


def _by_rows(D: int) -> tuple[str, Callable[..., list[Cell]], Any]:
    return BY_ROWS.format(D), partial(by_rows_cells, D), partial(show_by_rows, D)


ROWS_OF = {"additive": "additive", "noisy": "product, noise variance 0.2"}
COUNTED_BY = {"total": "of all columns together", "constant-apart": "of every column, its constant apart"}
TABLES = [
    Experiment("table-synthetic", SYNTHETIC, synthetic_cells, show_synthetic),
    *(Experiment(f"table-{D}d", *_by_rows(D)) for D in BY_ROWS_D),
    Experiment("table-benchmark", BENCHMARK, benchmark_cells, show_benchmark),
    _otherwise("table-synthetic-total", SYNTHETIC, COUNTED_BY["total"], synthetic_cells, show_synthetic),
    *(
        _otherwise(f"table-{D}d-{name}", what, counted, cells, partial(show, shown=("odvff",)))
        for name, counted in COUNTED_BY.items()
        for D in BY_ROWS_D
        for what, cells, show in [_by_rows(D)]
        if D > 1 or name != "total"
    ),
    _otherwise("table-benchmark-per-column", BENCHMARK, "of every column", benchmark_cells, show_benchmark),
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
