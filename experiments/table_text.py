"""How the tables are shown: the paper's numbers, ours, standard errors, how many runs, and ranks.

Ranks are those of the paper: of every repetition on its own, and then their mean. Methods that differ by less than a
thousandth share a rank, and only repetitions that all have are counted, as seeds differ by more than methods do.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.cells import Results
from benchmarks.showing import markdown

from experiments import data, paper, synthetic

Run = dict[str, Any]
Runs = dict[int, Run]  # by seed

# readings of the synthetic rows: are all methods run as in the paper, or just ours and SGPR?
Readings = dict[str, bool]
USUAL: Readings = {"product": True, "additive": False}

NAMES = {"odvff": "ODVFF", "odvgp": "ODVGP", "svgp": "SVGP", "sgpr": "SGPR"}
RANKED = ("odvff", "odvgp", "svgp")
MEASURES = {
    "log_density": (0, "Mean test log-likelihood"),
    "rmse": (1, "RMSE"),
    "coverage": (2, "Coverage of 95 % intervals"),
}
COUNTED = "± standard error (runs)"
RANKS = "[mean rank on the seeds that all have]"
WAYS = ["paper", "as in the paper", "ours stochastic", "ours collapsed, same seeds", "ours collapsed, all seeds"]

# how good a value is: the larger the better
GOODNESS: dict[str, Callable[[float], float]] = {"log_density": lambda value: value, "rmse": lambda value: -value}
TIE = 1e-3
PER_COLUMN = "table-benchmark-per-column"


def cell_name(reading: str, way: str, method: str, **where: Any) -> str:
    return " | ".join([reading, way, method, *(f"{key}={value}" for key, value in where.items())])


def ranks(values: dict[Any, float], key: str = "log_density") -> dict[Any, float]:
    """1 is best; who cannot be told apart shares a rank."""
    good = {name: GOODNESS[key](value) for name, value in values.items()}
    return {
        name: 1.0
        + sum(other - own > TIE for other in good.values())
        + (sum(abs(other - own) <= TIE for other in good.values()) - 1) / 2
        for name, own in good.items()
    }


def mean_ranks(runs: dict[Any, Runs], key: str = "log_density") -> dict[Any, float]:
    """Over the seeds that all have; none where fewer than two have any."""
    seeds = common_seeds(runs)
    if not seeds or len([one for one in runs.values() if one]) < 2:
        return {}
    each = [ranks({name: one[seed][key] for name, one in runs.items() if one}, key) for seed in seeds]
    return {name: sum(found[name] for found in each) / len(each) for name in each[0]}


def common_seeds(runs: dict[Any, Runs]) -> list[int]:
    """Of all that have been run at all."""
    return sorted(set.intersection(*(set(one) for one in runs.values() if one))) if any(runs.values()) else []


def at(runs: Runs, seeds: Any) -> Runs:
    return {seed: run for seed, run in runs.items() if seed in seeds}


def value_text(runs: Runs, key: str = "log_density", missing: str = "–") -> str:
    """Mean, standard error and count."""
    import numpy as np

    if not runs:
        return missing
    values = [run[key] for run in runs.values()]
    more = "" if len(values) == 1 else f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"
    return f"{np.mean(values):.3f}{more} ({len(values)})"


def rank_text(rank: float | None) -> str:
    return "" if rank is None else f" [{round(rank, 2):g}]"


def _title(reading: str, measure: str, ranked: bool) -> str:
    return f"Rows: {synthetic.TITLES[reading]}. {measure} {COUNTED}{' ' + RANKS if ranked else ''}.\n\n"


def show_synthetic(results: Results, readings: Readings = USUAL) -> str:
    """A row for each D, |β| and method; the collapsed fit chooses its features itself, and stands in the first."""
    parts = []
    for reading, all_methods in readings.items():
        rows = []
        for D, by_beta in paper.SYNTHETIC.items():
            where = {(beta, m): {"D": D, "beta": beta} for beta, methods in by_beta.items() for m in methods}
            own = {at: results.by_seed(cell_name(reading, "paper", at[1], **w)) for at, w in where.items()}
            found = mean_ranks(own)
            collapsed = results.by_seed(cell_name(reading, "collapsed", "odvff", D=D))
            if all_methods:
                sgpr = value_text(results.by_seed(cell_name(reading, "collapsed", "sgpr", D=D)))
                rows.append([str(D), "–", "SGPR, 200 points", "", sgpr, "", "", ""])
            for (beta, m), w in where.items():
                if not all_methods and m != "odvff":
                    continue
                value, rank = by_beta[beta][m]
                stochastic = results.by_seed(cell_name(reading, "stochastic", m, **w))
                rows.append(
                    [
                        *(str(D), str(beta), NAMES[m]),
                        f"{value:.3f}{rank_text(rank)}" if all_methods else "",
                        value_text(own[beta, m]) + rank_text(found.get((beta, m))) if all_methods else "",
                        *_ours(m, "log_density", stochastic, collapsed, beta == min(by_beta)),
                    ]
                )
        parts.append(
            _title(reading, MEASURES["log_density"][1], all_methods) + markdown(["D", "\\|β\\|", "method", *WAYS], rows)
        )
    return "\n\n".join(parts)


def show_by_rows(D: int, results: Results, shown: tuple[str, ...] = tuple(NAMES), readings: Readings = USUAL) -> str:
    parts = []
    for reading, all_methods in readings.items():
        wanted = [m for m in shown if all_methods or m in ("odvff", "sgpr")]
        for key, (place, measure) in MEASURES.items():
            ranked = all_methods and key == "log_density" and len(shown) > 1  # as in the paper
            rows = []
            for (n, beta), values in paper.BY_ROWS[D].items():
                own = {m: results.by_seed(_by_rows_name(reading, m, n, beta)) for m in values}
                found = mean_ranks({m: own[m] for m in RANKED}) if ranked else {}
                stochastic = results.by_seed(cell_name(reading, "stochastic", "odvff", N=n, beta=beta))
                collapsed = results.by_seed(cell_name(reading, "collapsed", "odvff", N=n))
                for m in (m for m in wanted if m in values):
                    theirs = rank_text(values[m][3]) if ranked and m in RANKED else ""
                    rows.append(
                        [
                            *(f"{n:,}", str(beta), NAMES[m]),
                            f"{values[m][place]:.3f}{theirs}" if all_methods else "",
                            value_text(own[m], key) + rank_text(found.get(m)) if all_methods or m == "sgpr" else "",
                            *_ours(m, key, stochastic, collapsed, beta == 10),
                        ]
                    )
            parts.append(_title(reading, measure, ranked) + markdown(["N", "\\|β\\|", "method", *WAYS], rows))
    return "\n\n".join(parts)


def _by_rows_name(reading: str, method: str, n: int, beta: int) -> str:
    """Where a method as in the paper is kept: SVGP and SGPR have no |β|, and SGPR is collapsed there too."""
    way = "collapsed" if method == "sgpr" else "paper"
    return cell_name(reading, way, method, N=n, **({} if method in ("svgp", "sgpr") else {"beta": beta}))


def _ours(method: str, key: str, stochastic: Runs, collapsed: Runs, first: bool) -> list[str]:
    """Stochastic, and collapsed on the same seeds and on all."""
    if method != "odvff":
        return ["", "", ""]
    shown = [stochastic, *([at(collapsed, stochastic), collapsed] if first else [{}, {}])]
    return [value_text(runs, key, "") for runs in shown]


def show_benchmark(results: Results) -> str:
    tables = (_benchmark_table(results, key) for key in GOODNESS)
    notes = "\n".join(f"- {name}: {one.note}." for name, one in data.SETS.items() if one.note)
    return "\n\n".join([*tables, notes])


def _benchmark_table(results: Results, key: str) -> str:
    """A row for each set; ours collapsed over all splits, and on those of the others, which seldom have as many."""
    place, title = MEASURES[key]
    per_column = Results(results.path.with_name(f"{PER_COLUMN}.json"))
    head = ["data", "paper: ODVFF", "ODVGP", "SVGP", "as in the paper: ODVFF, \\|β\\| of every column", "ODVGP", "SVGP"]
    head += ["ODVFF, \\|β\\| of all columns together", "ours stochastic"]
    head += ["ours collapsed, same splits", "ours collapsed, all splits"]
    head += ["coverage"] if key == "log_density" else []
    rows, found = [], []
    for name, one in data.SETS.items():
        values = {m: paper.BENCHMARK[one.paper or name][m][place] for m in RANKED}
        own = {m: results.by_seed(f"{name} | paper | {m}") for m in RANKED}
        together, every = own["odvff"], per_column.by_seed(f"{name} | paper | odvff")
        own["odvff"] = every or together  # the reading that fits the paper better, where it was run
        stochastic, collapsed = (results.by_seed(f"{name} | {way} | odvff") for way in ("stochastic", "collapsed"))
        theirs, ours = ranks(values, key), mean_ranks(own, key)
        row = [name, *(f"{values[m]:.{3 - place}f}{'*' if one.paper else ''}{rank_text(theirs[m])}" for m in RANKED)]
        if not any((*own.values(), stochastic, collapsed)) and not data.is_here(name):
            rows.append([*row, "absent", *[""] * (len(head) - len(row) - 1)])
            continue
        shown = {m: f"{value_text(own[m], key)}{rank_text(ours.get(m))}" for m in RANKED}
        row += [shown["odvff"] if every else "–", shown["odvgp"], shown["svgp"]]
        row.append(value_text(together, key) if every else shown["odvff"])
        row += [value_text(runs, key) for runs in (stochastic, at(collapsed, common_seeds(own)), collapsed)]
        rows.append([*row, *([value_text(collapsed, "coverage")] if key == "log_density" else [])])
        if len(ours) == len(RANKED) and not one.paper:
            found.append(ours)
    means = [f"{sum(one[m] for one in found) / len(found):.2f}" if found else "–" for m in RANKED]
    theirs_text = [f"{paper.BENCHMARK_RANKS[m][place]:.2f}" for m in RANKED]
    last = [f"mean rank: theirs on 17 sets, ours on {len(found)}", *theirs_text, *means]
    rows.append([*last, *[""] * (len(head) - len(last))])
    return f"{title} {COUNTED} [rank], of standardised targets; * is of another set.\n\n{markdown(head, rows)}"


def show_per_column(results: Results) -> str:
    """ODVFF with |β| functions of every column, beside |β| of all columns together."""
    together = Results(results.path.with_name("table-benchmark.json"))
    rows = []
    for name, one in data.SETS.items():
        for way in ("paper", "stochastic"):
            cell = f"{name} | {way} | odvff"
            runs = results.by_seed(cell)
            if not runs:
                continue
            beside = at(together.by_seed(cell), runs)
            sizes = [" / ".join(sorted({f"{r['features']:,}" for r in found.values()})) for found in (runs, beside)]
            values = [value_text(found) for found in (runs, beside)]
            theirs = f"{paper.BENCHMARK[one.paper or name]['odvff'][0]:.3f}{'*' if one.paper else ''}"
            way_text = {"paper": "as in the paper", "stochastic": "ours stochastic"}[way]
            rows.append([name, way_text, theirs, f"{values[0]}, {sizes[0]}", f"{values[1]}, {sizes[1]}"])
    head = ["data", "way", "paper: ODVFF", "\\|β\\| of every column", "\\|β\\| of all columns together"]
    return f"Mean test log-likelihood of ODVFF {COUNTED}, and functions in all.\n\n{markdown(head, rows)}"
