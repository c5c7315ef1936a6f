"""Terms in words, for the file of a model: kinds of features and kernels, and their numbers.

A file may name the classes of the package, and those that its reader gives. Nothing else is made.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from odvff.errors import FileError
from odvff.features import Features, Fourier, InducingPoints, Kronecker, Levels
from odvff.features.base import Stored
from odvff.kernels import Additive, Categorical, Kernel, Matern, Separable
from odvff.kernels.reading import OfGPJax, kernel_words
from odvff.support.words import items, text, whole
from odvff.terms import Term

FEATURES = (Fourier, Kronecker, Levels, InducingPoints)
KERNELS = (Matern, Categorical, Additive, Separable, OfGPJax)


class UnknownClassError(FileError):
    """The file is whole, and names a class that is not known here."""


def named(name: str, classes: Iterable[tuple[str | None, Any]], what: str) -> Any:
    """The class of this name."""
    for own, found in classes:
        if own == name:
            return found
    raise UnknownClassError(
        f"has the {what} {name[:40]!r}, which is none of odvff's: if it is yours, give its class, "
        "odvff.load(path, known=[…])."
    )


def term_words(term: Term, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """A term as plain values, and its arrays under names with this prefix."""
    features, kernel = term.features, kernel_words(term.kernel)
    for one in (features, *features.factors):
        _refuse_namesake(one, one.kind(), FEATURES)
    _refuse_namesake(term.kernel, kernel["kind"], KERNELS[:-1])
    return {
        "name": term.name,
        "columns": None if term.columns is None else list(term.columns),
        "kernel": kernel,
        "features": {"kind": features.kind(), **features.to_words(arrays, prefix)},
    }


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
        made = named(text(words["kind"]), _with_names(ours, self.known, Features), "features")
        # products are of features of one column
        part = partial(self._features, ours=(Fourier,))
        return made.from_words(words, Stored(self.arrays, prefix, self.most, part))

    def _kernel(self, words: Any, depth: int = 0) -> Any:
        allowed = KERNELS if depth == 0 else (Matern, OfGPJax)  # sums and products are of kernels of one column
        made = named(text(words["kind"]), _with_names(allowed, self.known, Kernel), "kernel")
        return made.from_words(words, lambda inner: self._kernel(inner, depth + 1))


def _with_names(ours: Iterable[Any], known: Iterable[Any], base: type) -> Iterator[tuple[str, Any]]:
    """Classes by their kinds; of those that are not ours, the ones that are derived from this one."""
    return ((one.kind(), one) for one in (*ours, *(cls for cls in known if issubclass(cls, base))))


def _refuse_namesake(value: Any, kind: str, ours: tuple[Any, ...]) -> None:
    """A class that is called as one of ours would come back as ours."""
    foreign = not type(value).__module__.startswith("gpjax") and type(value) not in ours
    if foreign and kind in {one.kind() for one in ours}:
        raise FileError(
            f"{type(value).__name__} is called {kind!r} in files, as a class of odvff's; give it another name, or a "
            "`kind` of its own."
        )
