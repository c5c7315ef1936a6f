"""What a fixed set of models predicts, kept, to see that a change of the house changes no number.

    python -m tests.predictions write FILE [FOLDER]     # fit all, keep predictions (and the model files in a folder)
    python -m tests.predictions compare FILE            # fit all again: equal to 1e-9?

The same machine must do both: another processor rounds otherwise, and a search that rounds otherwise takes other steps.
`test_predictions.py` compares what files of version 0.1 predict, which needs no search and so holds everywhere.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from odvff import ODVFFClassifier, ODVFFRegressor

WITHIN = 1e-9


def table(n=300, seed=0):
    """Numbers, a few of them missing, and categories."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.uniform(0, 1, n),
            "b": rng.normal(3, 2, n),
            "c": pd.Categorical(rng.choice(["x", "y", "z"], n), categories=["x", "y", "z"]),
        }
    )
    frame.loc[:20, "a"] = np.nan
    y = np.sin(6 * frame.a.fillna(0.3)) + 0.3 * frame.b * (frame.c == "x") + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def numbers(n=200, seed=1):
    """Two columns that act together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def counts(y):
    return np.round(np.exp(y / 2))


MODELS = {
    "default": lambda: ODVFFRegressor().fit(*table()),
    "rough": lambda: ODVFFRegressor(smoothness=0.5, n_harmonics=6).fit(*table()),
    "smooth": lambda: ODVFFRegressor(smoothness=2.5, completion=False, n_harmonics=6).fit(*table()),
    "pairs": lambda: ODVFFRegressor(interactions=[("x0", "x1")], n_harmonics=2).fit(*numbers()),
    "pairs found": lambda: ODVFFRegressor().fit(*numbers(600)),
    "points for the mean": lambda: ODVFFRegressor(n_harmonics=2, n_inducing=5, random_state=3).fit(*table()),
    "weights": lambda: ODVFFRegressor(n_harmonics=4).fit(*table(), sample_weight=np.arange(300) % 3),
    "vff": lambda: ODVFFRegressor(method="vff").fit(*table()),
    "sgpr": lambda: ODVFFRegressor(method="sgpr", n_inducing=8, max_iter=5).fit(*table()),
    "svgp": lambda: ODVFFRegressor(method="svgp", n_inducing=6, max_iter=3).fit(*table()),
    "odvgp": lambda: ODVFFRegressor(method="odvgp", n_inducing=8, max_iter=3).fit(*table()),
    "stochastic": lambda: ODVFFRegressor(inference="stochastic", n_harmonics=3, n_inducing=4, max_iter=60).fit(
        *table()
    ),
    "exact": lambda: ODVFFRegressor(method="exact", max_iter=5).fit(*(part[:60] for part in numbers())),
    "separable": lambda: ODVFFRegressor(structure="separable", n_harmonics=3).fit(*numbers()),
    "counts": lambda: ODVFFRegressor(likelihood="poisson", n_harmonics=3).fit(table()[0], counts(table()[1])),
    "counts by minibatches": lambda: ODVFFRegressor(
        likelihood="poisson", inference="stochastic", n_harmonics=2, n_inducing=3, max_iter=20
    ).fit(table()[0], counts(table()[1])),
    "outliers": lambda: ODVFFRegressor(likelihood="student-t", n_harmonics=3).fit(*table()),
    "probit": lambda: ODVFFClassifier().fit(table()[0], np.where(table()[1] > 0, "b", "a")),
    "logit": lambda: ODVFFClassifier(likelihood="logit", n_harmonics=3).fit(table()[0], table()[1] > 0),
    "classes": lambda: ODVFFClassifier(n_harmonics=3).fit(table()[0], np.digitize(table()[1], [0.0, 1.0])),
    "in parts": lambda: ODVFFRegressor(n_harmonics=5).partial_fit(*table(200, 5)).partial_fit(*table(100, 6)),
    "many rows": lambda: ODVFFRegressor().fit(*numbers(7000)),
}
ON_ARRAYS = ("pairs", "pairs found", "exact", "separable", "many rows")


def rows_for(name):
    """Rows to predict at, some far out and some with labels that were never seen."""
    if name in ON_ARRAYS:
        return np.concatenate([numbers(12, seed=9)[0], [[2.5, -3.0], [0.0, 1.4]]])
    frame = table(40, seed=9)[0].iloc[15:32].reset_index(drop=True)
    frame.loc[3, "b"], frame.loc[4, "a"] = 25.0, 1.6
    return frame


def answers(name, model):
    """All that a model says of these rows, as lists of numbers."""
    X = rows_for(name)
    said = {"intercept": np.ravel(model.intercept_)}
    if hasattr(model, "classes_"):
        labels = [None] if len(model.classes_) == 2 else model.classes_.tolist()
        said["probabilities"] = model.predict_proba(X)
        said["density"] = model.log_predictive_density(X, model.predict(X))
    else:
        labels = [None]
        mean, std = model.predict(X, return_std=True)
        y = np.maximum(np.round(mean), 0.0)
        said |= {"mean": mean, "std": std, "quantiles": model.predict_quantiles(X, [0.05, 0.5, 0.9])}
        said |= {"density": model.log_predictive_density(X, y), "cdf": model.predict_cdf(X, y)}
        said["draws"] = model.sample_y(X, 2, random_state=4)
    for label in labels:
        said[f"latent {label}"] = np.stack(model.predict_latent(X, **({} if label is None else {"label": label})))
        for where, at in (("at rows", X), ("on a grid", None)):
            for effect, found in model.effects(at, label=label).items():
                said[f"effect {label} {effect} {where}"] = np.stack([found.mean, found.std])[:, :60]
    return {key: np.asarray(value).tolist() for key, value in said.items()}


def furthest(here, there):
    """The largest difference, relative to the size of what is compared, and where it is."""
    worst = (0.0, "")
    for key, value in there.items():
        a, b = np.asarray(here[key]), np.asarray(value)
        if a.shape != b.shape:
            return np.inf, f"{key}: shapes {a.shape} and {b.shape}"
        known = np.isfinite(b)
        if not np.array_equal(a[~known], b[~known], equal_nan=True):
            return np.inf, f"{key}: other entries are not finite"
        if known.any():
            worst = max(worst, (float(np.abs(a - b)[known].max() / max(1.0, np.abs(b[known]).max())), key))
    return worst


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


def main(command, file, folder=None):
    if command == "write":
        kept = {}
        for name in MODELS:
            model = fitted(name)
            kept[name] = answers(name, model)
            if folder is not None:
                model.save(Path(folder) / f"{name}.odvff")
            print(name, flush=True)
        Path(file).write_text(json.dumps(kept))
        return 0
    kept, apart = json.loads(Path(file).read_text()), 0
    for name in MODELS:
        difference, key = furthest(answers(name, fitted(name)), kept[name])
        apart += difference > WITHIN
        print(f"{'APART' if difference > WITHIN else 'equal'}  {name}: {difference:.1e} {key}", flush=True)
    return int(apart > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
