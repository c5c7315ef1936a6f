"""Time and memory against the number of rows, from ten thousand to a hundred million, eight columns."""

from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import Failed, TooLong, fresh
from benchmarks.generated import COLUMNS, generated
from benchmarks.showing import circumstances, each, markdown, picture, pyplot, spread

OURS = "odvff, streamed"
ROWS = [10**k for k in range(4, 9)]
REPEATS = {10**7: 2, 10**8: 1}
LIMIT = 900.0  # seconds
RESULTS = Path(__file__).parent / "results" / "rows.json"
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
    for fewer in Results(RESULTS).of(_name(library, n_rows // 10)):
        if "failed" in fewer or fewer["fit"] > LIMIT / 10:
            return {"failed": "too long with a tenth of the rows"}
    with generated(n_rows, seed) as path:
        try:
            return fresh(environment, job, path, seed, limit=LIMIT)
        except (Failed, TooLong) as error:
            return {"failed": str(error)[:300]}


def cells() -> list[Cell]:
    cells = []
    for n in ROWS:
        minutes = 0.2 + n / 2e7
        cells.append(Cell(_name(OURS, n), partial(_ours, n), REPEATS.get(n, 3), minutes))
        if n <= MOST_OF_PEERS:
            cells += [Cell(_name(name, n), partial(_peer, name, n), 1, 20 * minutes) for name in PEERS]
    return cells


def show(results: Results) -> str:
    head = ["rows", "fit, s", "rows a second", "peak memory, GB", "whole process, s", "coverage", *PEERS]
    rows, everything = [], []
    for n in ROWS:
        runs = results.of(_name(OURS, n))
        everything += runs
        row = [f"{n:,}", spread(each(runs, "fit")), spread([n / s for s in each(runs, "fit")])]
        row += [spread(each(runs, "peak_gb")), spread(each(runs, "wall")), spread(each(runs, "coverage"))]
        rows.append(row + [_of_peer(results.of(_name(name, n)), runs) for name in PEERS])
    text = (
        f"Rows of {COLUMNS} columns in a Parquet file (made before the clock starts), default arguments. Ours are "
        "streamed, the others read the file into memory. Of them the table has the time of the fit alone, as a "
        f"multiple of ours, and the peak of memory; more than {LIMIT / 60:.0f} minutes is too long, and so is more "
        "than a tenth of that with a tenth of the rows."
    )
    return "\n\n".join([text, markdown(head, rows), _picture(results), circumstances(everything)])


def _of_peer(runs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> str:
    if not runs:
        return "–"
    if "failed" in runs[0]:
        return "too long" if "took more than" in runs[0]["failed"] or "too long" in runs[0]["failed"] else "failed"
    ratio = f"{runs[0]['fit'] / min(each(ours, 'fit')):.3g} ×" if ours else f"{runs[0]['fit']:.3g} s"
    return f"{ratio}, {runs[0]['peak_gb']:.2g} GB"


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
