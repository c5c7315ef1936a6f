"""Default estimators on real tables: Parquet files with the target in the column `y`, in the folder ODVFF_DATA."""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from odvff import ODVFFClassifier, ODVFFRegressor, metrics

SPLITS, TEST_SHARE = 5, 0.1
LOGARITHM = ("sgemmProd",)  # the target spans three orders of magnitude


def folder() -> Path:
    """Where the tables are."""
    path = Path(os.environ.get("ODVFF_DATA", "data"))
    if not any(path.glob("*.parquet")):
        raise SystemExit(f"there is no Parquet file in {path.absolute()}; name another folder in ODVFF_DATA.")
    return path


def split(n: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[int(TEST_SHARE * n) :]), np.sort(order[: int(TEST_SHARE * n)])


def one(path: Path, seed: int) -> dict[str, Any]:
    """One fit with default arguments, and how it does on held-out rows, in units of the standard deviation of y."""
    table = pq.read_table(path).to_pandas()
    y = table.pop("y").to_numpy(dtype=np.float64)
    y = np.log(y) if path.stem in LOGARITHM else y
    train, test = split(len(y), seed)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ODVFFRegressor().fit(table.iloc[train], y[train])
    seconds = time.perf_counter() - began
    rows, target, scale = table.iloc[test], y[test], y[train].std()
    mean, std = model.predict(rows, return_std=True)
    return {
        "rows": len(y),
        "columns": table.shape[1],
        "seconds": seconds,
        "log density": float(model.log_predictive_density(rows, target).mean() + np.log(scale)),
        "coverage": metrics.interval_coverage(target, model.predict_interval(rows)),
        "RMSE": metrics.rmse(target, mean) / scale,
        "CRPS": metrics.crps_gaussian(target, mean, std) / scale,
        "features": model.model_.outputs[0].posterior.factor.size,
        "report": list(model.model_.outputs[0].report),
        "warnings": [str(w.message) for w in caught],
    }


def tables() -> None:
    """Five splits of every regression table with default arguments; kept in benchmarks/results/tables.json."""
    kept = Path(__file__).parent / "results" / "tables.json"
    kept.parent.mkdir(exist_ok=True)
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for path in sorted(folder().glob("*.parquet"), key=lambda p: p.stat().st_size):
        if path.stem == "banana":  # two classes
            continue
        cells = results.setdefault(path.stem, {})
        for seed in range(SPLITS):
            if str(seed) not in cells:
                cells[str(seed)] = one(path, seed)
                kept.write_text(json.dumps(results, indent=1))
        values = {k: [c[k] for c in cells.values()] for k in ("log density", "coverage", "RMSE", "seconds", "features")}
        print(f"{path.stem:20s}", "  ".join(f"{k} {np.mean(v):.3f}" for k, v in values.items()), flush=True)


def banana() -> None:
    """Accuracy on the banana set in ten folds: ours with one joint effect, and scikit-learn's exact classifier."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    table = pq.read_table(folder() / "banana.parquet").to_pandas()
    y = table.pop("y").to_numpy()
    models = {
        "odvff, separable": ODVFFClassifier(structure="separable"),
        "exact, Matérn-3/2": GaussianProcessClassifier(ConstantKernel() * Matern([1.0, 1.0], nu=1.5)),
        "exact, Gaussian kernel": GaussianProcessClassifier(ConstantKernel() * RBF([1.0, 1.0])),
    }
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name, model in models.items():
        began = time.perf_counter()
        scores = cross_val_score(model, table, y, cv=folds)
        seconds = (time.perf_counter() - began) / len(scores)
        print(f"{name:24s} {np.mean(scores):.4f} ± {np.std(scores) / np.sqrt(len(scores)):.4f}  {seconds:.1f} s a fit")


TABLES = {"tables": tables, "banana": banana}
