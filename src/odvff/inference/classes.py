"""More than two classes: one fit of 0 and 1 for each class against the rest."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.inference.collapsed.fit import FitWarning
from odvff.inference.sites.fit import SiteFit, fit_sites
from odvff.support.arrays import Array
from odvff.support.checks import matrix
from odvff.terms import Sum, Term


@dataclass(frozen=True)
class OneVersusRest:
    """A fit for each class, or for two classes one fit of the second."""

    classes: Any  # in order
    fits: tuple[SiteFit, ...]

    def probabilities(self, X: Array) -> Array:
        """Of every class at every row, (N, classes): averaged over the posterior, and scaled to add up to one."""
        of_one = np.stack([fit.predictive_moments(X)[0] for fit in self.fits], axis=1)
        if len(self.fits) == 1:
            return np.concatenate([1 - of_one, of_one], axis=1)
        return of_one / of_one.sum(axis=1, keepdims=True)


def fit_classes(
    terms: Sum | Iterable[Term],
    likelihood: Any,
    chunks: Iterable[tuple[Any, ...]],
    *,
    progress: Callable[[Any, int, float], None] | None = None,
    **options: Any,
) -> OneVersusRest:
    """Fit the labels y (of any kind that can be sorted) by sites; `options` are those of `fit_sites`.

    `progress` is called with the class, the round and the ELBO.
    """
    chunks = [(matrix(chunk[0], "X"), np.asarray(chunk[1]), *chunk[2:]) for chunk in chunks]
    for _, y, *_ in chunks:
        missing = y != y if y.dtype.kind in "fc" else np.array([label is None or label != label for label in y.ravel()])
        if missing.any():
            raise InputError(
                f"y has a missing label in row {int(np.argmax(missing))} of a chunk; drop such rows first."
            )
    classes = np.unique(np.concatenate([y for _, y, *_ in chunks])) if chunks else np.array([])
    if len(classes) < 2:
        raise InputError(f"there must be two classes or more, got {classes.tolist()}; check the target column.")
    fits = []
    for c in classes[1:] if len(classes) == 2 else classes:
        rows = [(X, (y == c).astype(float), *rest) for X, y, *rest in chunks]
        show = None if progress is None else (lambda n, elbo, c=c: progress(c, n, elbo))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FitWarning)
            fits.append(fit_sites(terms, likelihood, rows, progress=show, **options))
        for warning in caught:
            warnings.warn(f"class {c!r}: {warning.message}", warning.category, stacklevel=2)
        if fits[-1].message == "interrupted":
            raise KeyboardInterrupt(f"interrupted while class {c!r} was being fitted")
    return OneVersusRest(classes, tuple(fits))
