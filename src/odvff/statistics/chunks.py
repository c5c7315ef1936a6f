"""Chunks of rows, `(X, y)` or `(X, y, weights)`, checked one after the other."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.support.checks import matrix, numbers

Chunk = tuple[Any, ...]  # (X, y) or (X, y, weights)


def checked_chunks(chunks: Iterable[Chunk]) -> Iterator[tuple[Any, Any, Any]]:
    """X, Y with one or several columns, and weights (or None), without the rows of weight 0."""
    width = None
    for chunk in chunks:
        X, Y, weights = _checked(chunk)
        width = X.shape[1] if width is None else width
        if X.shape[1] != width:
            raise InputError(f"a chunk has {X.shape[1]} columns, the first had {width}; all must have the same.")
        yield X, Y, weights


def weighted_rows(chunks: Iterable[Chunk]) -> Iterator[tuple[Any, Any, Any]]:
    """The same for one output: X, y and weights, which are ones if there were none."""
    for X, Y, weights in checked_chunks(chunks):
        if Y.shape[1] != 1:
            raise InputError(f"y must have one column here, got {Y.shape[1]}; fit the outputs one by one.")
        yield X, Y[:, 0], np.ones(len(X)) if weights is None else weights


def _checked(chunk: Chunk) -> tuple[Any, Any, Any]:
    if not isinstance(chunk, list | tuple) or len(chunk) not in (2, 3):
        parts = f"{len(chunk)} parts" if isinstance(chunk, list | tuple) else type(chunk).__name__
        raise InputError(f"a chunk is (X, y) or (X, y, weights), got {parts}.")
    X, Y = matrix(chunk[0], "X"), _columns(chunk[1], "y")
    if len(Y) != len(X):
        raise InputError(f"X has {len(X)} rows and y has {len(Y)}; they must agree.")
    if len(chunk) == 2 or chunk[2] is None:
        return X, Y, None
    weights = _columns(chunk[2], "weights")
    if weights.shape != (len(X), 1):
        raise InputError(f"weights must have shape ({len(X)},), one for each row of X, got {np.shape(chunk[2])}.")
    weights = weights[:, 0]
    if (weights < 0).any():
        i = int(np.argmin(weights))
        raise InputError(
            f"weights has {weights[i]:g} in row {i}; weights count how often a row is there, so from 0 up."
        )
    keep = weights > 0
    return X[keep], Y[keep], weights[keep]


def _columns(value: Any, name: str) -> Any:
    """One or several columns; a vector is one."""
    array = numbers(value, name)
    return matrix(array[:, None] if array.ndim == 1 else array, name)
