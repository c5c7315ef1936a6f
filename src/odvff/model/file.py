"""A model in a file, without pickle: numbers as safetensors, everything else as JSON, every value checked.

Nothing in the file is executed: a file names kinds of kernels and features, those of the package or of its reader's
own, and gives their numbers.
It holds no rows of data (inducing points lie where some rows are). Whatever is wrong with it is one `FileError`.
"""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

import odvff
from odvff.design import STRUCTURES
from odvff.errors import FileError, InputError, OdvffError
from odvff.features import Features, Fourier, InducingPoints, Kronecker, Levels
from odvff.features.base import Stored
from odvff.kernels import Additive, Categorical, Kernel, Matern, Separable
from odvff.kernels.reading import OfGPJax, kernel_words
from odvff.likelihoods import LIKELIHOODS, Likelihood, Units
from odvff.likelihoods.units import LARGEST
from odvff.methods import INFERENCE
from odvff.model.model import Model, Output
from odvff.model.predictive import Predictive
from odvff.model.quality import Evaluation
from odvff.model.task import Labels, Numbers, Task
from odvff.posterior import Posterior
from odvff.posterior.effects import Centre, parts_of
from odvff.support import storage
from odvff.support.words import is_scalar, items, number, plain, read, text, whole
from odvff.tables import Schema
from odvff.terms import Sum, Term

KIND = "model"
FEATURES = (Fourier, Kronecker, Levels, InducingPoints)
KERNELS = (Matern, Categorical, Additive, Separable, OfGPJax)
PACKAGES = ("numpy", "scipy", "scikit-learn")
MOST_FEATURES = 50_000
MOST_POINTS = 20_000  # that carry the mean
MOST_LETTERS = 10_000  # of a label
# fields that are plain values, and go into a file as they are
OF_MODEL = {"structure": str, "method": str, "inference": str, "n_rows": int, "target": str, "named_columns": bool}
OF_OUTPUT = {"label": Any, "bound": float, "converged": bool, "message": str, "report": tuple[str, ...]}


class UnknownClassError(FileError):
    """The file is whole, and names a class that is not known here."""


def save(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model: whole or not at all."""
    arrays: dict[str, Any] = {}
    classes = model.task.classes
    header = {
        "estimator": model.made_by,
        "parameters": model.asked,
        **{name: plain(getattr(model, name)) for name in OF_MODEL},
        "schema": model.schema.to_words(),
        "outputs": [_output_words(output, f"{i}.", arrays) for i, output in enumerate(model.outputs)],
        "classes": None if classes is None else plain(classes),
        "classes_type": None if classes is None else classes.dtype.str,
        "evaluation": None if model.evaluation is None else model.evaluation.to_words(),
        "versions": versions(),
    }
    try:
        storage.write(path, KIND, arrays, header)
    except (TypeError, ValueError) as error:
        raise FileError(f"{path} cannot be written: a value of the model has no place in a file ({error}).") from error


def load(path: str | os.PathLike[str], known: Iterable[type] = ()) -> Model:
    """The model in a file that `save` wrote: the same predictions, to the bit.

    A file names classes; those from outside the package must be among the `known`.
    """
    arrays, header = storage.read(path, KIND)
    known = tuple(known) if isinstance(known, Iterable) and not isinstance(known, type) else (known,)
    wrong = next((one for one in known if not isinstance(one, type)), None)
    if wrong is not None:
        raise InputError(f"known holds {wrong!r}, which is no class; give classes, such as known=[MyLikelihood].")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):  # numbers that a fit would not have made
            return _model(arrays, header, known)
    except UnknownClassError as error:
        raise FileError(f"{path} {error}") from error
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}") from error
    except (OdvffError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"{path} is damaged, or no model of this version: {error}") from error
    except (np.linalg.LinAlgError, ArithmeticError, RecursionError, MemoryError) as error:
        raise FileError(f"{path} is damaged: its numbers make no model ({type(error).__name__}).") from error


def versions() -> dict[str, str]:
    """Of what makes models here, and shows them."""
    own = {"odvff": odvff.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in PACKAGES}


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a model file: schema, method, parameters, versions."""
    return storage.read(path, KIND)[1]


# writing


def _output_words(output: Output, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    q, likelihood = output.posterior, output.predictive.likelihood
    _refuse_namesake(likelihood, likelihood.name, [own.name for own in LIKELIHOODS], LIKELIHOODS)
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
    return {
        **{name: plain(getattr(output, name)) for name in OF_OUTPUT},
        "terms": [term_words(term, f"{prefix}{t}.", arrays) for t, term in enumerate(q.terms)],
        "root": "upper" if upper else "lower",
        "likelihood": likelihood.name,
        "likelihood_parameters": likelihood.parameters(),
        "shift": output.predictive.units.shift,
        "scale": output.predictive.units.scale,
    }


def term_words(term: Term, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """A term as plain values, and its arrays under names with this prefix."""
    features, kernel = term.features, kernel_words(term.kernel)
    for one in (features, *features.factors):
        _refuse_namesake(one, one.kind(), [own.kind() for own in FEATURES], FEATURES)
    _refuse_namesake(term.kernel, kernel["kind"], [own.kind() for own in KERNELS[:-1]], KERNELS[:-1])
    return {
        "name": term.name,
        "columns": None if term.columns is None else list(term.columns),
        "kernel": kernel,
        "features": {"kind": features.kind(), **features.to_words(arrays, prefix)},
    }


def _refuse_namesake(value: Any, name: str, taken: list[str], ours: tuple[Any, ...]) -> None:
    """A class that is called as one of ours would come back as ours."""
    foreign = not type(value).__module__.startswith("gpjax") and type(value) not in ours
    if foreign and name in (*taken, ""):
        raise FileError(
            f"{type(value).__name__} is called {name!r} in files, as a class of odvff's or none; give it another name, "
            "or a `kind` of its own (a likelihood: a `name`)."
        )


# reading


def _model(arrays: dict[str, Any], header: dict[str, Any], known: tuple[type, ...]) -> Model:
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise FileError(f"the array {name[:40]!r} is not of finite float64 numbers.")
    schema = Schema.from_words(header["schema"])
    outputs = tuple(
        _output(words, f"{i}.", arrays, schema.width, known) for i, words in enumerate(items(header["outputs"]))
    )
    if not outputs:
        raise FileError("it has no output.")
    values = {name: read(kind, header[name]) for name, kind in OF_MODEL.items()}
    structure, method, inference = (values[name] for name in ("structure", "method", "inference"))
    if structure not in STRUCTURES or inference not in INFERENCE.get(method, ()):
        raise FileError(f"it was made by an unknown method: {method[:40]!r}, {inference[:40]!r}, {structure[:40]!r}.")
    task = _task(header, [output.label for output in outputs])
    if any(o.predictive.likelihood.for_labels != (task.classes is not None) for o in outputs):
        raise FileError("its likelihood is not one of this estimator's.")
    evaluation = None if header["evaluation"] is None else Evaluation.from_words(header["evaluation"])
    if evaluation is not None and evaluation.task != task.name:
        raise FileError("its evaluation is not one of this estimator.")
    for name, value in header["parameters"].items():
        if not _is_plain(value):
            raise FileError(f"its parameter {name!r} is neither a value nor a list of some.")
    return Model(
        schema=schema,
        outputs=outputs,
        task=task,
        made_by=text(header["estimator"]),
        asked=header["parameters"],
        evaluation=evaluation,
        **values,
    )


def _task(header: dict[str, Any], of_outputs: list[Any]) -> Task:
    """Numbers with one output, or classes that go with theirs."""
    if header["classes"] is None:
        if len(of_outputs) != 1:
            raise FileError("it has more outputs than a regression has.")
        return Numbers()
    labels = items(header["classes"])
    classes = _classes(labels, text(header["classes_type"]))
    told = labels[1:] if len(labels) == 2 else labels
    if [(type(label), label) for label in of_outputs] != [(type(c), c) for c in told]:
        raise FileError("its classes and outputs do not go together.")
    return Labels(classes)


def _classes(labels: list[Any], kind: str) -> Any:
    """The classes as an array of the type that they had."""
    if len(labels) < 2 or len({(type(label) is bool, label) for label in labels if is_scalar(label)}) != len(labels):
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


def _output(words: Any, prefix: str, arrays: dict[str, Any], width: int, known: tuple[type, ...]) -> Output:
    mean, packed = arrays[prefix + "mean"], arrays[prefix + "root"]
    n = len(mean)
    # before anything is made of them: matrices are no larger than the one that is in the file
    if n > MOST_FEATURES:
        raise FileError(f"it has {n} features, and models have up to {MOST_FEATURES}.")
    if words["root"] not in ("upper", "lower") or packed.shape != (n * (n + 1) // 2,):
        raise FileError("its covariance has the wrong size or form.")
    term = TermReader(known, arrays, n, width)
    terms = Sum(tuple(term(w, f"{prefix}{t}.") for t, w in enumerate(items(words["terms"]))))
    if terms.size != n:  # before a matrix is made
        raise FileError(f"its terms have {terms.size} features, and its mean {n}.")
    root = np.zeros((n, n))
    root[np.triu_indices(n)] = packed
    root = root if words["root"] == "upper" else root.T
    q = Posterior(terms, mean, root, *_gamma(prefix, arrays, width))
    likelihood: type[Likelihood] = named(text(words["likelihood"]), Likelihood, LIKELIHOODS, known)
    units = Units(number(words["shift"]), number(words["scale"]))
    if not 0 < units.scale <= LARGEST:
        raise FileError("a scale in it is not positive, or too large.")
    history = arrays[prefix + "history"]
    if history.ndim != 1:
        raise FileError("its history is no list of numbers.")
    return Output(
        predictive=Predictive(q, likelihood.from_parameters(words["likelihood_parameters"]), units),
        centre=_centre(q, prefix, arrays, width),
        history=tuple(history.tolist()),
        **{name: read(kind, words[name]) for name, kind in OF_OUTPUT.items()},
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


def _centre(q: Posterior, prefix: str, arrays: dict[str, Any], width: int) -> Centre:
    parts = parts_of(q, width)
    sizes = Centre.sizes(q, parts)
    flat, gamma, variances = (arrays[prefix + name] for name in ("centre", "centre_gamma", "variances"))
    if [flat.shape, gamma.shape] != [(sum(n),) for n in sizes] or variances.shape != (len(parts),):
        raise FileError("what its effects are centred by has the wrong size.")
    of_features, of_gamma = (tuple(np.split(a, np.cumsum(n)[:-1])) for a, n in zip((flat, gamma), sizes, strict=True))
    return Centre(of_features, of_gamma, variances)


@dataclass(frozen=True)
class TermReader:
    """Makes terms of words. Nothing but classes that are known here, or that were given, is made."""

    known: tuple[Any, ...]  # classes of the reader's own
    arrays: dict[str, Any]
    most: int  # features of all terms
    width: int  # of coded rows

    def __call__(self, words: Any, prefix: str) -> Term:
        columns = None if words["columns"] is None else tuple(whole(c) for c in items(words["columns"]))
        if columns is not None and any(c >= self.width for c in columns):
            raise FileError("a term in it reads a column that is not there.")
        if columns is not None and len(set(columns)) != len(columns):
            raise FileError("a term in it reads a column twice.")
        features = self._features(words["features"], prefix, FEATURES)
        return Term(self._kernel(words["kernel"]), features, columns, text(words["name"]))

    def _features(self, words: Any, prefix: str, ours: tuple[Any, ...]) -> Any:
        made = named(text(words["kind"]), Features, ours, self.known)
        # products are of features of one column
        part = partial(self._features, ours=(Fourier,))
        return made.from_words(words, Stored(self.arrays, prefix, self.most, part))

    def _kernel(self, words: Any, depth: int = 0) -> Any:
        allowed = KERNELS if depth == 0 else (Matern, OfGPJax)  # sums and products are of kernels of one column
        made = named(text(words["kind"]), Kernel, allowed, self.known)
        return made.from_words(words, lambda inner: self._kernel(inner, depth + 1))


def named(name: str, base: type, ours: Iterable[Any], known: Iterable[type]) -> Any:
    """The class of this name, among ours and those of the reader's own that are derived from this base."""
    for one in (*ours, *(cls for cls in known if issubclass(cls, base))):
        if name == (one.name if base is Likelihood else one.kind()):
            return one
    raise UnknownClassError(
        f"has the {base.__name__.lower()} {name[:40]!r}, which is none of odvff's: if it is yours, give its class, "
        "odvff.load(path, known=[…])."
    )


def _is_plain(value: Any, depth: int = 2) -> bool:
    """Is it a value, a list of values, or a list of such lists?"""
    inner = depth and isinstance(value, list)
    return all(_is_plain(v, depth - 1) for v in value) if inner else is_scalar(value)
