"""Time and memory against the number of rows, from ten thousand to a hundred million, eight columns."""

from functools import partial
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh, machine
from benchmarks.generated import COLUMNS, generated
from benchmarks.showing import circumstances, each, markdown, picture, pyplot, short, spread
from benchmarks.tabular import run

OURS = "odvff, streamed"
ROWS = [10**k for k in range(4, 9)]
REPEATS = {10**7: 2, 10**8: 1}
LIMIT = 600  # seconds of processor time, of a peer
RESULTS = Path(__file__).parent / "results" / "rows.json"
FEWER = ", as fewer rows tell"
# library -> its job and environment; all hold their rows in memory
PEERS = {
    "BayesianRidge": ("sklearn", "tabular_ridge"),
    "LightGBM": ("lightgbm", "tabular_lightgbm"),
    "EBM": ("interpret", "tabular_interpret"),
    "pyGAM": ("pygam", "tabular_pygam"),
    "GPyTorch SVGP": ("gpytorch", "tabular_gpytorch"),
    "NGBoost": ("ngboost", "tabular_ngboost"),
}
MOST_OF_PEERS = 10**7  # a hundred million rows of eight columns are 7 GB, and most make several copies


def _name(library: str, n_rows: int) -> str:
    return f"{library} | N={n_rows}"


def _ours(n_rows: int, seed: int) -> dict[str, Any]:
    with generated(n_rows, seed) as path:
        return fresh("odvff", "odvff_stream", path)


def _peer(library: str, n_rows: int, seed: int) -> dict[str, Any]:
    environment, job = PEERS[library]
    if why := hopeless([Results(RESULTS).of(_name(library, n_rows // part)) for part in (100, 10)]):
        return {"failed": why, "machine": machine()}
    with generated(n_rows, seed) as path:
        return run(environment, job, path, seed, LIMIT)


def hopeless(fewer: list[list[dict[str, Any]]]) -> str:
    """Why a fit is not worth trying, as those to a hundredth and to a tenth of the rows tell; empty if they do not.

    It takes as many times as long as with a tenth as that took longer than with a hundredth; if the latter is not
    known, nothing is: some take as long for any number of rows.
    """
    failures = [run["failed"] for runs in fewer for run in runs if "failed" in run]
    if failures:
        return failures[-1] if failures[-1].endswith(FEWER) else failures[-1] + FEWER
    seconds = [runs[0]["processor"] if runs else None for runs in fewer]
    if None in seconds:
        return ""
    hundredth, tenth = seconds
    return f"over {LIMIT // 60} minutes{FEWER}" if tenth * tenth / hundredth > LIMIT else ""


def cells() -> list[Cell]:
    cells = []
    for n in ROWS:
        minutes = 0.2 + n / 2e7
        cells.append(Cell(_name(OURS, n), partial(_ours, n), REPEATS.get(n, 3), minutes))
        if n <= MOST_OF_PEERS:
            cells += [Cell(_name(name, n), partial(_peer, name, n), 1, 1.0 + 3 * minutes) for name in PEERS]
    return cells


def show(results: Results) -> str:
    head = ["rows", "fit, s", "rows a second", "peak memory, GB", "whole process, s", "coverage", *PEERS]
    rows, everything = [], []
    for n in ROWS:
        by_seed = results.by_seed(_name(OURS, n))
        runs = list(by_seed.values())
        everything += runs
        row = [f"{n:,}", spread(each(runs, "fit")), spread([n / s for s in each(runs, "fit")])]
        row += [spread(each(runs, "peak_gb")), spread(each(runs, "wall")), spread(each(runs, "coverage"))]
        rows.append(row + [_of_peer(n, results.by_seed(_name(name, n)), by_seed) for name in PEERS])
    text = (
        f"Rows of {COLUMNS} columns in a Parquet file, made before the clock starts, so that the system may still "
        "hold it in memory. Ours is `ODVFFRegressor` with default arguments; rows are streamed, a tenth of them but at "
        "most 10,000 held out, and the time of the fit includes reading them as often as it takes (that of the whole "
        "process one time more, for those held out). The others read the file into "
        "memory and fit nine tenths of the rows, as in `tabular`: LightGBM with five models, pyGAM with its search, "
        "NGBoost with early stopping, GPyTorch with as many steps whatever the rows. Their columns have the time of "
        "the fit alone, as a multiple of ours on the same file, the peak of memory, and how much their log density on "
        "rows that they held out is above ours on those that ours did. "
        f"More than {LIMIT // 60} minutes of processor time is too long, also where a tenth of the rows tells so; "
        f"more than {MOST_OF_PEERS:,} rows do not fit into memory several times over."
    )
    return "\n\n".join([text, markdown(head, rows), _rates(results), _picture(results), circumstances(everything)])


def rate(results: Results, n: int) -> float | None:
    """Rows a second of our fit, the median."""
    runs = results.of(_name(OURS, n))
    return n / median(each(runs, "fit")) if runs else None


def _rates(results: Results) -> str:
    """How the rate at the most rows compares with that at a million."""
    many, few = rate(results, ROWS[-1]), rate(results, 10**6)
    if many is None or few is None:
        return ""
    return f"Rows a second at {ROWS[-1]:,} rows are {100 * many / few:.0f} % of those at 1,000,000."


def _of_peer(n: int, theirs: dict[int, dict[str, Any]], ours: dict[int, dict[str, Any]]) -> str:
    """Beside ours on the same rows."""
    if n > MOST_OF_PEERS:
        return "not tried"
    seeds = [seed for seed in theirs if seed in ours]
    if not seeds:
        return "–"
    peer, own = theirs[seeds[0]], ours[seeds[0]]
    if "failed" in peer:
        return "failed" if peer["failed"].startswith("failed") else "too long"
    # scores of a peer are of y in units of its deviation: log p(y) = log p(y/s) − log s
    better = peer["log_density"] - log(peer["deviation"]) - own["log_density"]
    return f"{short(peer['fit'] / own['fit'])} ×, {short(peer['peak_gb'], 2)} GB, {better:+.3f}"


def _picture(results: Results) -> str:
    plt = pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name in (OURS, *PEERS):
        found = [(n, run) for n in ROWS for run in results.of(_name(name, n)) if "fit" in run]
        style = {"color": "black", "linewidth": 2} if name == OURS else {"linewidth": 1}
        for axis, key in ((axes[0], "fit"), (axes[1], "peak_gb")):
            medians = [(n, median([r[key] for m, r in found if m == n])) for n in sorted({n for n, _ in found})]
            if medians:
                axis.loglog(*zip(*medians, strict=True), "o-", markersize=4, label=name, **style)
    axes[0].set(title="seconds of the fit", xlabel="rows")
    axes[1].set(title="peak memory, GB", xlabel="rows")
    axes[1].set_ylim(0.1, 24)  # a range in which a few hundredths look like what they are
    for axis in axes:
        axis.grid(alpha=0.3)
    if axes[0].lines:
        axes[0].legend(fontsize=7)
    plt.close(figure)
    return picture(figure, "rows")


ROWS_BENCHMARK = [Experiment("rows", "time and memory against the number of rows, eight columns", cells, show)]
