"""Default estimators on real tables: Parquet files with the target in the column `y`, in the folder ODVFF_DATA."""

import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.showing import each, markdown
from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.model import metrics

SPLITS, TEST_SHARE = 5, 0.1
LOGARITHM = ("sgemmProd",)  # the target spans three orders of magnitude
CLASSES = ("banana",)
FOLDS = 10


def folder() -> Path:
    """Where the tables are."""
    return Path(os.environ.get("ODVFF_DATA", Path(__file__).parents[2] / "shared" / "data"))


def split(n: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[int(TEST_SHARE * n) :]), np.sort(order[: int(TEST_SHARE * n)])


def one(path: Path, seed: int) -> dict[str, Any]:
    """One fit with default arguments, and how it does on held-out rows, in units of the standard deviation of y."""
    table = pq.read_table(path).to_pandas()
    y = table.pop("y").to_numpy(dtype=np.float64)
    y = np.log(y) if path.stem in LOGARITHM else y
    train, test = split(len(y), seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ODVFFRegressor().fit(table.iloc[train], y[train])
    rows, target, scale = table.iloc[test], y[test], y[train].std()
    mean, std = model.predict(rows, return_std=True)
    return {
        "rows": len(y),
        "columns": table.shape[1],
        "log density": float(model.log_predictive_density(rows, target).mean() + np.log(scale)),
        "coverage": metrics.interval_coverage(target, model.predict_interval(rows)),
        "RMSE": metrics.rmse(target, mean) / scale,
        "CRPS": metrics.crps_gaussian(target, mean, std) / scale,
        "features": model.model_.outputs[0].posterior.factor.size,
        "report": list(model.model_.outputs[0].report),
        "warnings": [str(w.message) for w in caught],
    }


def table_cells() -> list[Cell]:
    paths = sorted(folder().glob("*.parquet"), key=lambda path: path.stat().st_size)
    return [Cell(path.stem, partial(one, path), SPLITS, 0.2) for path in paths if path.stem not in CLASSES]


def show_tables(results: Results) -> str:
    rows = []
    for cell in table_cells():
        runs = results.of(cell.name)
        numbers = [
            f"{np.mean(each(runs, key)):.3f}" if runs else "–" for key in ("log density", "coverage", "RMSE", "CRPS")
        ]
        rows.append(
            [cell.name, f"{runs[0]['rows']:,} × {runs[0]['columns']}" if runs else "–", *numbers, str(len(runs))]
        )
    head = ["table", "size", "log density", "coverage", "RMSE", "CRPS", "splits"]
    return "Default arguments, a tenth of the rows held out, targets standardised.\n\n" + markdown(head, rows)


def _classifiers() -> dict[str, Any]:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

    return {
        "odvff, separable": ODVFFClassifier(structure="separable"),
        "exact, Matérn-3/2": GaussianProcessClassifier(ConstantKernel() * Matern([1.0, 1.0], nu=1.5)),
        "exact, Gaussian kernel": GaussianProcessClassifier(ConstantKernel() * RBF([1.0, 1.0])),
    }


def in_folds(name: str, path: Path, seed: int) -> dict[str, Any]:
    """Accuracy in ten folds."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    table = pq.read_table(path).to_pandas()
    y = table.pop("y").to_numpy()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = cross_val_score(_classifiers()[name], table, y, cv=folds)
    return {"accuracy": float(np.mean(scores)), "error": float(np.std(scores) / np.sqrt(len(scores)))}


def banana_cells() -> list[Cell]:
    paths = [path for path in folder().glob("*.parquet") if path.stem in CLASSES]
    return [Cell(name, partial(in_folds, name, path), 1, 5.0) for path in paths for name in _classifiers()]


def show_banana(results: Results) -> str:
    rows = []
    for cell in banana_cells():
        rows += [[cell.name, f"{run['accuracy']:.4f} ± {run['error']:.4f}"] for run in results.of(cell.name)]
    return markdown(["model", "accuracy"], rows)


TABLES = [
    Experiment("tables", "default arguments on real tables, five splits", table_cells, show_tables),
    Experiment("banana", "two classes in ten folds, beside exact classifiers", banana_cells, show_banana),
]
