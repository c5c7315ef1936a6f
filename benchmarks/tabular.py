"""Real tables with default or usual settings: our regressor beside what a user would pick instead.

Tables are Parquet files, with the target in the column `y`, in the folder `ODVFF_DATA`, `../shared/data` or `data`.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell, Experiment
from benchmarks.fresh import Failed, TooLong, fresh
from benchmarks.tabular_show import SETS, cell_name, show

FOLDERS = ("../shared/data", "data")
REPEATS = 3
PROCESSOR, WALL = 15 * 60, 4 * 15 * 60.0  # seconds of work, and of waiting for it on a machine that others use

# library: environment, job, about how many minutes a run takes
LIBRARIES = {
    "odvff": ("odvff", "tabular_odvff", 0.4),
    "BayesianRidge": ("sklearn", "tabular_ridge", 0.1),
    "LightGBM": ("lightgbm", "tabular_lightgbm", 1.0),
    "pyGAM": ("pygam", "tabular_pygam", 2.0),
    "NGBoost": ("ngboost", "tabular_ngboost", 2.0),
    "GPR": ("sklearn", "tabular_gpr", 2.0),
    "GPyTorch": ("gpytorch", "tabular_gpytorch", 4.0),
    "EBM": ("interpret", "tabular_interpret", 5.0),
}


def file_of(name: str) -> Path | None:
    """The file of a table, if there is one."""
    chosen = os.environ.get("ODVFF_DATA")
    paths = (Path(folder) / f"{name}.parquet" for folder in ([chosen] if chosen else FOLDERS))
    return next((path.absolute() for path in paths if path.exists()), None)


def run(environment: str, job: str, path: Path, seed: int) -> dict[str, Any]:
    """What a job measured, or why it did not."""
    try:
        return fresh(environment, job, path, seed, PROCESSOR, limit=WALL)
    except TooLong as late:
        return {"failed": f"over {PROCESSOR // 60} minutes", "processor": round(late.processor)}
    except Failed as failure:
        return {"failed": f"failed: {str(failure).splitlines()[-1][:150]}"}  # the error itself ends the traceback


def cells() -> list[Cell]:
    """Every library on every table that is here, small tables first."""
    found = {name: path for name in SETS if (path := file_of(name))}
    return [
        Cell(cell_name(name, library), partial(run, environment, job, path), REPEATS, minutes)
        for name, path in found.items()
        for library, (environment, job, minutes) in LIBRARIES.items()
    ]


TABULAR = [Experiment("tabular", "real tables, eight libraries", cells, show)]
