"""Terms in words, for the file of a model: kinds of features and kernels from short lists, and their numbers."""

from typing import Any

import numpy as np

from odvff.errors import FileError
from odvff.features import Fourier, InducingPoints, Kronecker, Levels
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.support.words import items, number, text, whole
from odvff.terms import Term

# writing


def term_words(term: Term, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    features = term.features
    if isinstance(features, InducingPoints):
        arrays[prefix + "locations"] = np.asarray(features.locations)
        words: dict[str, Any] = {"kind": "points", "jitter": float(features.jitter)}
    elif isinstance(features, Kronecker):
        words = {"kind": "kronecker", "factors": [_fourier_words(f) for f in features.factors]}
    elif isinstance(features, Levels):
        words = {"kind": "levels", "n_levels": features.n_levels}
    else:
        words = _fourier_words(features)
    columns = None if term.columns is None else list(term.columns)
    return {"name": term.name, "columns": columns, "kernel": _kernel_words(term.kernel), "features": words}


def _fourier_words(features: Any) -> dict[str, Any]:
    return {
        "kind": "fourier",
        "n_harmonics": features.n_harmonics,
        "interval": [float(end) for end in features.interval],
        "completion": bool(features.completion),
    }


def _kernel_words(kernel: Any) -> dict[str, Any]:
    if isinstance(kernel, Additive | Separable):
        return {"kind": type(kernel).__name__.lower(), "factors": [_kernel_words(k) for k in kernel.factors]}
    if isinstance(kernel, Categorical):
        return {"kind": "categorical", "variance": float(kernel.variance)}
    return {
        "kind": "matern",
        "smoothness": float(kernel.smoothness),
        "lengthscale": float(kernel.lengthscale),
        "variance": float(kernel.variance),
    }


# reading


def n_features(term: Term) -> int:
    """How many features a term has, found without a dense matrix."""
    features = term.features
    return len(features.locations) if isinstance(features, InducingPoints) else term.Kuu().size


def term_of(words: Any, prefix: str, arrays: dict[str, Any], most: int, width: int) -> Term:
    columns = words["columns"]
    if columns is not None and any(whole(c) >= width for c in items(columns)):
        raise FileError("a term in it reads a column that is not there.")
    if columns is not None and len(set(columns)) != len(columns):
        raise FileError("a term in it reads a column twice.")
    features, kind = words["features"], words["features"]["kind"]
    made: Any
    if kind == "points":
        made = InducingPoints(arrays[prefix + "locations"], number(features["jitter"]))
        _most(len(made.locations), most)
    elif kind == "kronecker":
        made = Kronecker(tuple(_fourier(f, most) for f in items(features["factors"])))
    elif kind == "levels":
        made = Levels(_most(features["n_levels"], most))
    else:
        made = _fourier(features, most)
    return Term(_kernel(words["kernel"]), made, None if columns is None else tuple(columns), text(words["name"]))


def _fourier(words: Any, most: int) -> Fourier:
    if words["kind"] != "fourier":
        raise FileError(f"it has unknown features, {str(words['kind'])[:40]!r}.")
    low, high = (number(end) for end in words["interval"])
    return Fourier(_most(words["n_harmonics"], most), (low, high), words["completion"] is True)


def _kernel(words: Any, depth: int = 0) -> Any:
    kind = words["kind"]
    if kind in ("additive", "separable") and depth == 0:
        factors = tuple(_kernel(w, 1) for w in items(words["factors"]))
        return Additive(factors) if kind == "additive" else Separable(factors)
    if kind == "categorical":
        return Categorical(number(words["variance"]))
    if kind == "matern":
        return Matern(*(number(words[name]) for name in ("smoothness", "lengthscale", "variance")))
    raise FileError(f"it has an unknown kernel, {str(kind)[:40]!r}.")


def _most(value: Any, most: int) -> int:
    """A number of harmonics, levels or points: the mean has an entry for each, so made-up ones cost no memory."""
    n = whole(value)
    if n > most:
        raise FileError(f"a term in it has {n} harmonics or levels (or points), and the mean {most} entries.")
    return n
