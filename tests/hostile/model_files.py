"""Files of models, damaged or forged: a file is refused with one error, or it is a model that predicts."""

import json
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import odvff
from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.errors import FileError
from odvff.report import render
from odvff.support import storage
from tests.hostile.laws import Broken, finite, lawful, refused

ODD = [
    None, True, False, -1, 0, 1, 3, 2.5, -0.5, 10**9, 10**12, 10**400, 1e308, 1e-308, "", "x", "a", "../../etc/passwd",
    "__import__('os')", "\x9b31m", [], {}, [[]], [0], [1, 0], [0.0, 0.0], ["a", "a"], {"kind": "x"}, {"kind": "matern"},
]  # fmt: skip


def _rows(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.uniform(0, 1, n),
            "b": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "c": pd.Categorical(rng.choice(["u", "v"], n)),
        }
    )


MODELS = {
    "numbers": lambda X: ODVFFRegressor(n_harmonics=2).fit(X, X.a + X.a * X.b.fillna(0)),
    "points": lambda X: ODVFFRegressor(method="sgpr", n_inducing=3, max_iter=2).fit(X, X.a),
    "gamma": lambda X: ODVFFRegressor(n_harmonics=1, n_inducing=3).fit(X, np.sin(9 * X.a)),
    "counts": lambda X: ODVFFRegressor(likelihood="poisson", n_harmonics=1).fit(X, np.round(3 * X.a)),
    "classes": lambda X: ODVFFClassifier(n_harmonics=1).fit(X, np.digitize(X.a, [0.3, 0.6])),
    "labels": lambda X: ODVFFClassifier(n_harmonics=1).fit(X, X.c.astype(object)),
}


@lru_cache
def _written(name):
    """The bytes, arrays and header of a model, and rows to ask it at."""
    X = _rows()
    with TemporaryDirectory() as folder:
        place = Path(folder) / "m.odvff"
        MODELS[name](X).save(place)
        return place.read_bytes(), *storage.read(place, "model"), X


def _places(value, where=()):
    if where:
        yield where
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, v in inner:
        yield from _places(v, (*where, key))


def _forged(rng, header):
    """A header with one value replaced, swapped with another, or gone."""
    header = json.loads(json.dumps(header))
    places = list(_places(header))
    *way, last = places[rng.integers(len(places))]
    inner = header
    for key in way:
        inner = inner[key]
    how = rng.random()
    if how < 0.15:
        del inner[last]
    elif how < 0.3 and isinstance(inner, list) and len(inner) > 1:
        inner.reverse()
    elif how < 0.4 and isinstance(inner[last], int | float) and not isinstance(inner[last], bool):
        inner[last] *= float(rng.choice([-1, 1e-9, 1e9, 1.0000001]))
    else:
        inner[last] = ODD[rng.integers(len(ODD))]
    return header


def _damaged(rng, content):
    """The bytes cut off, changed, or repeated."""
    content, how = bytearray(content), rng.integers(4)
    place = int(rng.integers(len(content)))
    if how == 0:
        return bytes(content[:place])
    if how == 1:
        content[place] ^= 1 << int(rng.integers(8))
    elif how == 2:
        content[place : place + 8] = rng.bytes(8)
    else:
        content[:8] = int(rng.integers(2**62)).to_bytes(8, "little")
    return bytes(content)


def _forged_arrays(rng, arrays):
    arrays = dict(arrays)
    name = str(rng.choice(sorted(arrays)))
    value = arrays[name]
    other = [
        lambda: -value, lambda: value * 1e200, lambda: value * 1e-200, lambda: np.zeros_like(value),
        lambda: rng.permutation(value.ravel()).reshape(value.shape), lambda: np.concatenate([value, value]),
        lambda: value[:0], lambda: value.astype(np.float32), lambda: np.full_like(value, np.nan), lambda: value[None],
    ]  # fmt: skip
    arrays[name] = other[rng.integers(len(other))]()
    return arrays


def check(rng, folder):
    """Forge or damage a file; it is refused, or everything that is asked of the model is finite."""
    content, arrays, header, X = _written(str(rng.choice(list(MODELS))))
    place, how = folder / "m.odvff", rng.random()
    if how < 0.3:
        place.write_bytes(_damaged(rng, content))
    else:
        if how < 0.8:
            header = _forged(rng, header)
        else:
            arrays = _forged_arrays(rng, arrays)
        try:
            storage.write(place, "model", arrays, header)
        except ValueError:  # no JSON
            return "no file"
    try:
        with lawful("load"):
            model = odvff.load(place)
    except FileError as error:
        if "m.odvff" not in str(error):
            raise Broken("errors name the file", str(error)) from error
        return "refused"
    except Exception as error:
        raise Broken("one error of files", f"load raised {type(error).__name__}: {error}") from error
    _ask(model, X, folder)
    return "model"


def _ask(model, X, folder):
    """Everything that can be asked of a model that was read."""
    questions = {
        "predict": lambda: model.predict(X) if hasattr(model, "classes_") else model.predict(X, return_std=True),
        "probabilities": lambda: model.predict_proba(X) if hasattr(model, "classes_") else 0.0,
        "intervals": lambda: 0.0 if hasattr(model, "classes_") else model.predict_interval(X),
        "the intercept": lambda: model.intercept_,
        "effects": lambda: [
            np.stack([e.mean, e.std]).ravel()
            for i in range(len(model.model_.outputs))
            for e in model.model_.effects(None, i).values()
        ],
        "summary": lambda: len(str(model.summary())),
        "report": lambda: len(render(model.model_)),
        "save": lambda: model.save(folder / "again.odvff") or 0.0,
    }
    for what, ask in questions.items():
        try:
            with lawful(what):
                said = ask()
        except Exception as error:
            if refused(error):  # a forged schema may not fit the rows
                continue
            raise
        if what == "predict" and hasattr(model, "classes_"):
            continue
        parts = said if isinstance(said, list | tuple) else [said]
        finite(what, *parts)
