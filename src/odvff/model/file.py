"""A fitted estimator in a file, without pickle: numbers as safetensors, everything else as JSON, every value checked.

Nothing in the file is executed: a file names kinds of kernels and features from short lists, and gives their numbers.
It holds no rows of data (inducing points lie where some rows are). Whatever is wrong with it is one `FileError`.
"""

import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import odvff
from odvff.design import STRUCTURES
from odvff.errors import FileError, OdvffError
from odvff.features import Fourier, InducingPoints, Kronecker, Levels
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.likelihoods.named import CLASSIFICATION, PARAMETERS, REGRESSION
from odvff.likelihoods.outcomes import Outcome
from odvff.methods import INFERENCE
from odvff.model.evaluation import CLASSIFICATION as CLASSES
from odvff.model.evaluation import Evaluation
from odvff.model.model import Model, Output
from odvff.posterior import Posterior
from odvff.posterior.effects import Centre, parts_of
from odvff.support import storage
from odvff.support.words import number, text, whole
from odvff.tables import Schema
from odvff.terms import Sum, Term

KIND = "model"
PACKAGES = ("numpy", "scipy", "scikit-learn")
MOST_FEATURES = 50_000
MOST_POINTS = 20_000  # that carry the mean
MOST_LETTERS = 10_000  # of a label


def save(path: str | os.PathLike[str], estimator: Any) -> None:
    """Write a fitted estimator."""
    model = estimator._model()
    arrays: dict[str, Any] = {}
    header = {
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in estimator.get_params(deep=False).items()},
        "named_columns": hasattr(estimator, "feature_names_in_"),
        "schema": model.schema.to_words(),
        "structure": model.structure,
        "method": model.method,
        "inference": model.inference,
        "n_rows": model.n_rows,
        "target": model.target,
        "outputs": [_output_words(output, f"{i}.", arrays) for i, output in enumerate(model.outputs)],
        "classes": [_plain(c) for c in estimator.classes_] if hasattr(estimator, "classes_") else None,
        "classes_type": estimator.classes_.dtype.str if hasattr(estimator, "classes_") else None,
        "evaluation": estimator.evaluation_.to_words() if hasattr(estimator, "evaluation_") else None,
        "versions": {
            "odvff": odvff.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }
    try:
        storage.write(path, KIND, arrays, header)
    except (TypeError, ValueError) as error:
        raise FileError(f"{path} cannot be written: a value of the model has no place in a file ({error}).") from error


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator in a file that `save` wrote: the same predictions, to the bit."""
    arrays, header = storage.read(path, KIND)
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):  # numbers that a fit would not have made
            return _estimator(arrays, header)
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}") from error
    except (OdvffError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"{path} is damaged, or no model of this version: {error}") from error
    except (np.linalg.LinAlgError, ArithmeticError, RecursionError, MemoryError) as error:
        raise FileError(f"{path} is damaged: its numbers make no model ({type(error).__name__}).") from error


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a model file: schema, method, parameters, versions."""
    return storage.read(path, KIND)[1]


def _plain(value: Any) -> Any:
    """A JSON value, from what users pass to the constructor."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return value if _is_scalar(value) else None


# writing


def _output_words(output: Output, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    q = output.posterior
    arrays[prefix + "mean"] = q.mean_u
    root = np.asarray(q.root) if q.root.ndim == 2 else np.diag(q.root)
    upper = not np.tril(root, -1).any()
    arrays[prefix + "root"] = (root if upper else root.T)[np.triu_indices(len(root))]
    if q.gamma is not None:
        arrays[prefix + "gamma"], arrays[prefix + "a_gamma"] = q.gamma, q.a_gamma
    arrays[prefix + "centre"] = np.concatenate(output.centre.features)
    arrays[prefix + "centre_gamma"] = np.concatenate(output.centre.gamma)
    arrays[prefix + "variances"] = output.centre.variances
    arrays[prefix + "history"] = np.asarray(output.history, dtype=np.float64)
    arrays[prefix + "scores"] = np.asarray(output.scores, dtype=np.float64).reshape(-1, 2)
    return {
        "label": _plain(output.label),
        "terms": [_term_words(term, f"{prefix}{t}.", arrays) for t, term in enumerate(q.terms)],
        "root": "upper" if upper else "lower",
        "likelihood": output.outcome.likelihood,
        "likelihood_parameters": output.outcome.parameters,
        "shift": output.outcome.shift,
        "scale": output.outcome.scale,
        "bound": output.bound,
        "converged": output.converged,
        "message": output.message,
        "report": list(output.report),
    }


def _term_words(term: Term, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
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


def _estimator(arrays: dict[str, Any], header: dict[str, Any]) -> Any:
    from odvff.estimators import ODVFFClassifier, ODVFFRegressor

    made: Any = {"ODVFFRegressor": ODVFFRegressor, "ODVFFClassifier": ODVFFClassifier}.get(header["estimator"])
    if made is None:
        raise FileError(f"it holds an unknown estimator, {str(header['estimator'])[:40]!r}.")
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise FileError(f"the array {name[:40]!r} is not of finite float64 numbers.")
    parameters = header["parameters"]
    unknown = set(parameters) - set(made._get_param_names())
    if unknown:
        raise FileError(f"it has the unknown parameter {sorted(unknown)[0][:40]!r}.")
    for name, value in parameters.items():
        if not all(_is_scalar(v) for v in _flat(value)):
            raise FileError(f"its parameter {name!r} is neither a value nor a list of some.")
    schema = Schema.from_words(header["schema"])
    outputs = tuple(_output(words, f"{i}.", arrays, schema.width) for i, words in enumerate(_list(header["outputs"])))
    if not outputs:
        raise FileError("it has no output.")
    structure, method, inference = (text(header[name]) for name in ("structure", "method", "inference"))
    if structure not in STRUCTURES or inference not in INFERENCE.get(method, ()):
        raise FileError(f"it was made by an unknown method: {method[:40]!r}, {inference[:40]!r}, {structure[:40]!r}.")
    estimator = made(**parameters)
    n_rows, target = whole(header["n_rows"]), text(header["target"])
    estimator.model_ = Model(schema, structure, method, inference, n_rows, outputs, target)
    estimator.n_features_in_ = len(schema.columns)
    if header["named_columns"] is True:
        estimator.feature_names_in_ = np.asarray(schema.names, dtype=object)
    allowed: tuple[str, ...] = REGRESSION
    if made is ODVFFClassifier:
        classes = _list(header["classes"])
        allowed = CLASSIFICATION
        estimator.classes_ = _classes(classes, text(header["classes_type"]))
        labels = [(type(o.label), o.label) for o in outputs]
        if labels != [(type(c), c) for c in (classes[1:] if len(classes) == 2 else classes)]:
            raise FileError("its classes and outputs do not go together.")
    elif len(outputs) != 1:
        raise FileError("it has more outputs than a regression has.")
    if any(o.outcome.likelihood not in allowed for o in outputs):
        raise FileError("its likelihood is not one of this estimator's.")
    if header["evaluation"] is not None:
        estimator.evaluation_ = Evaluation.from_words(header["evaluation"])
        if (estimator.evaluation_.task == CLASSES) != (made is ODVFFClassifier):
            raise FileError("its evaluation is not one of this estimator.")
    return estimator


def _classes(labels: list[Any], kind: str) -> Any:
    """The classes as an array of the type that they had."""
    if len(labels) < 2 or len({(type(label) is bool, label) for label in labels if _is_scalar(label)}) != len(labels):
        raise FileError("its classes are not two or more different labels.")
    groups = {"O": str, "U": str, "b": bool, "i": int, "u": int, "f": float}
    dtype = np.dtype(kind)
    if dtype.kind not in groups or dtype.itemsize > 4 * MOST_LETTERS:
        raise FileError(f"its classes are of the type {kind[:40]!r}, which is none of labels.")
    if not all(type(label) is groups[dtype.kind] for label in labels):
        raise FileError(f"its classes are not all of the type {kind[:40]!r}.")
    classes = np.array(labels, dtype=dtype)
    if classes.tolist() != labels:
        raise FileError(f"its classes do not go into the type {kind[:40]!r}.")
    return classes


def _output(words: Any, prefix: str, arrays: dict[str, Any], width: int) -> Output:
    mean, packed = arrays[prefix + "mean"], arrays[prefix + "root"]
    n = len(mean)
    # before anything is made of them: matrices are no larger than the one that is in the file
    if n > MOST_FEATURES:
        raise FileError(f"it has {n} features, and models have up to {MOST_FEATURES}.")
    if words["root"] not in ("upper", "lower") or packed.shape != (n * (n + 1) // 2,):
        raise FileError("its covariance has the wrong size or form.")
    terms = Sum(tuple(_term(w, f"{prefix}{t}.", arrays, n, width) for t, w in enumerate(_list(words["terms"]))))
    size = sum(_size(term) for term in terms)
    if size != n:
        raise FileError(f"its terms have {size} features, and its mean {n}.")
    root = np.zeros((n, n))
    root[np.triu_indices(n)] = packed
    root = root if words["root"] == "upper" else root.T
    q = Posterior(terms, mean, root, *_gamma(prefix, arrays, width))
    name = text(words["likelihood"])
    if name not in REGRESSION + CLASSIFICATION:
        raise FileError(f"it has the unknown likelihood {name[:40]!r}.")
    parameters = {key: number(words["likelihood_parameters"][key]) for key in PARAMETERS.get(name, ())}
    scale = number(words["scale"])
    if scale <= 0 or any(value <= 0 for value in parameters.values()):
        raise FileError("a scale in it is not positive.")
    history, scores = arrays[prefix + "history"], arrays[prefix + "scores"]
    if history.ndim != 1:
        raise FileError("its history is no list of numbers.")
    return Output(
        words["label"],
        q,
        Outcome(name, parameters, number(words["shift"]), scale),
        _centre(q, prefix, arrays, width),
        number(words["bound"]),
        tuple(history.tolist()),
        tuple((int(step), float(score)) for step, score in scores),
        words["converged"] is True,
        text(words["message"]),
        tuple(text(line) for line in _list(words["report"])),
    )


def _gamma(prefix: str, arrays: dict[str, Any], width: int) -> tuple[Any, Any]:
    """Points that carry the mean, and their coefficients, if there are any."""
    gamma, a_gamma = arrays.get(prefix + "gamma"), arrays.get(prefix + "a_gamma")
    if gamma is None and a_gamma is None:
        return None, None
    if gamma is None or a_gamma is None or gamma.shape != (len(a_gamma), width) or a_gamma.ndim != 1:
        raise FileError("its inducing points and their coefficients do not go together.")
    if not 0 < len(gamma) <= MOST_POINTS:
        raise FileError(f"it has {len(gamma)} inducing points, and models have from 1 to {MOST_POINTS}, or none.")
    return gamma, a_gamma


def _size(term: Term) -> int:
    """How many features a term has, found without a dense matrix."""
    features = term.features
    return len(features.locations) if isinstance(features, InducingPoints) else term.Kuu().size


def _centre(q: Posterior, prefix: str, arrays: dict[str, Any], width: int) -> Centre:
    parts = parts_of(q, width)
    if len({part.columns for part in parts}) != len(parts):
        raise FileError("two terms in it read the same columns.")
    sizes = Centre.sizes(q, parts)
    flat, gamma, variances = (arrays[prefix + name] for name in ("centre", "centre_gamma", "variances"))
    if [flat.shape, gamma.shape] != [(sum(n),) for n in sizes] or variances.shape != (len(parts),):
        raise FileError("what its effects are centred by has the wrong size.")
    of_features, of_gamma = (tuple(np.split(a, np.cumsum(n)[:-1])) for a, n in zip((flat, gamma), sizes, strict=True))
    return Centre(of_features, of_gamma, variances)


def _term(words: Any, prefix: str, arrays: dict[str, Any], most: int, width: int) -> Term:
    columns = words["columns"]
    if columns is not None and any(whole(c) >= width for c in _list(columns)):
        raise FileError("a term in it reads a column that is not there.")
    if columns is not None and len(set(columns)) != len(columns):
        raise FileError("a term in it reads a column twice.")
    features, kind = words["features"], words["features"]["kind"]
    made: Any
    if kind == "points":
        made = InducingPoints(arrays[prefix + "locations"], number(features["jitter"]))
        _most(len(made.locations), most)
    elif kind == "kronecker":
        made = Kronecker(tuple(_fourier(f, most) for f in _list(features["factors"])))
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
        factors = tuple(_kernel(w, 1) for w in _list(words["factors"]))
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


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _flat(value: Any, depth: int = 2) -> list[Any]:
    """A value, those of a list, or those of a list of lists."""
    return [v for one in value for v in _flat(one, depth - 1)] if depth and isinstance(value, list) else [value]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(f"a list is missing; there is {str(value)[:40]!r}.")
    return value
