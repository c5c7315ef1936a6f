"""Real tables with default or usual settings: our regressor beside what a user would pick instead.

Tables are Parquet files, with the target in the column `y`, in the folder `ODVFF_DATA`, `../shared/data` or `data`.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell, Experiment
from benchmarks.fresh import Failed, TooLong, fresh, machine
from benchmarks.tabular_show import cell_name, show, show_interactions

FOLDERS = ("../shared/data", "data")
REPEATS = 3
SLOW_REPEATS = 1  # of libraries that take minutes a table
PROCESSOR = 10 * 60  # seconds of work; waiting for it may take four times as long, on a machine that others use

TABLES = (  # the fewest numbers first
    "3droad_first5000",
    "tamilelectric",
    "BNG_echoMonths",
    "537_houses",
    "bike",
    "BNG_lowbwt",
    "215_2dplanes",
    "344_mv",
    "564_fried",
    "protein",
    "kegg_directed",
    "BNG_breastTumor",
    "BNG_pwLinear",
    "airline_nyc2013",
    "sgemmProd",
)


@dataclass(frozen=True)
class Library:
    """Its environment and job, about how many minutes a run takes, and how it is used."""

    environment: str
    job: str
    minutes: float
    use: str


LIBRARIES = {
    "odvff": Library("odvff", "tabular_odvff", 0.4, "`ODVFFRegressor()`"),
    "BayesianRidge": Library(
        "sklearn", "tabular_ridge", 0.1, "scikit-learn's, default arguments, standardised columns"
    ),
    "LightGBM": Library(
        "lightgbm",
        "tabular_lightgbm",
        1.0,
        "default trees, up to 1,000 with early stopping on a tenth of the training rows; a model of the mean (RMSE) "
        "and of four quantiles, whose outer ones make the interval; log density and CRPS are of a Gaussian with that "
        "mean and a variance a + b s², s being the spread of the quantiles, a and b most likely on that tenth "
        "(of three ways to make a density of quantiles the best by far, as test rows of the first split told)",
    ),
    "pyGAM": Library(
        "pygam", "tabular_pygam", 2.0, "`LinearGAM().gridsearch`: 20 splines a column, its own prediction intervals"
    ),
    "NGBoost": Library(
        "ngboost",
        "tabular_ngboost",
        2.0,
        "Normal, default trees, rate 0.1, up to 2,000 with early stopping on a tenth of the training rows "
        "(the default rate of 0.01 was worse and slower on the first split of two tables, 0.05 a little worse)",
    ),
    "GPR": Library(
        "sklearn",
        "tabular_gpr",
        2.0,
        "scikit-learn's exact process on 1,500 training rows: Matérn-3/2 with a lengthscale a column, white noise",
    ),
    "GPyTorch": Library(
        "gpytorch",
        "tabular_gpytorch",
        4.0,
        "SVGP: Matérn-3/2 with a lengthscale a column, 300 learned points, 3,000 steps of Adam (0.01, falling in the "
        "last quarter) on batches of 512, standardised columns",
    ),
    "EBM": Library(
        "interpret",
        "tabular_interpret",
        5.0,
        "interpret's `ExplainableBoostingRegressor`, default arguments, which include pairs of columns; it has no "
        "predictive distribution: a Gaussian with the standard deviation of its residuals on a tenth of the training "
        "rows, which it does not learn from",
    ),
}


def file_of(name: str) -> Path | None:
    """The file of a table, if there is one."""
    chosen = os.environ.get("ODVFF_DATA")
    paths = (Path(folder) / f"{name}.parquet" for folder in ([chosen] if chosen else FOLDERS))
    return next((path.absolute() for path in paths if path.exists()), None)


def run(environment: str, job: str, path: Path, seed: int, processor: int = PROCESSOR) -> dict[str, Any]:
    """What a job measured, or why it did not."""
    try:
        return fresh(environment, job, path, seed, processor, limit=4.0 * processor)
    except TooLong as late:
        why = {"failed": f"over {processor // 60} minutes", "processor": round(late.processor)}
    except Failed as failure:
        why = {"failed": f"failed: {str(failure).splitlines()[-1][:150]}"}  # the error itself ends the traceback
    return {**why, "machine": machine()}


def found() -> dict[str, Path]:
    """The tables that are here."""
    return {name: path for name in TABLES if (path := file_of(name))}


def cells() -> list[Cell]:
    """Every library on every table."""
    return [
        Cell(
            cell_name(table, name),
            partial(run, library.environment, library.job, path),
            REPEATS if library.minutes <= 1.0 else SLOW_REPEATS,
            library.minutes,
        )
        for table, path in found().items()
        for name, library in LIBRARIES.items()
    ]


def interactions_cells() -> list[Cell]:
    return [
        Cell(table, partial(run, "lightgbm", "tabular_interactions", path), REPEATS, 0.5)
        for table, path in found().items()
    ]


USES = {name: library.use for name, library in LIBRARIES.items()}
TABULAR = [
    Experiment("tabular", "eight libraries on real tables", cells, partial(show, TABLES, USES, PROCESSOR // 60)),
    Experiment(
        "tabular-interactions",
        "LightGBM on real tables, with and without interactions",
        interactions_cells,
        partial(show_interactions, TABLES),
    ),
]
