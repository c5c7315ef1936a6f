"""Checks of what comes in; values are looked at unless JAX is tracing them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from odvff.errors import Argument, InputError
from odvff.support.arrays import Array, asarray, is_traced
from odvff.support.shapes import Float


def gathered(checks: Iterable[Callable[[], object]]) -> None:
    """Make all these checks; whatever is wrong comes as one message."""
    found = []
    for check in checks:
        try:
            check()
        except InputError as error:
            found.append(error)
    if len(found) > 1:
        pieces = [piece for error in found for piece in ("\n- ", *error.args)]
        raise InputError(f"{len(found)} arguments cannot be used so:", *pieces)
    if found:
        raise found[0]


def numbers(value: Any, name: str) -> Float[Array, "*many"]:
    """The value as float64, if it holds real numbers."""
    if is_traced(value):
        return asarray(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} must be an array of numbers, got rows of different lengths.") from error
    if array.dtype.kind not in "biufO":
        raise InputError(f"{name} must hold real numbers, got {array.dtype}; convert it to numbers first.")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers, got objects: {error}.") from error


def untraced(what: str, *values: Any, instead: str) -> None:
    """Raise if JAX is tracing one of the values, for what is computed on NumPy alone."""
    if any(is_traced(value) for value in values):
        raise InputError(f"{what} is computed on NumPy and cannot be compiled or differentiated by JAX; {instead}.")


def positive(value: Any, name: str, remedy: str = "give a positive, finite number") -> Any:
    """The scalar, checked; a Python float unless it is being traced."""
    array = numbers(value, name)
    if array.shape not in ((), (1,)):
        raise InputError(Argument(name), f" must be a single number, got shape {array.shape}; {remedy}.")
    array = array.reshape(())
    if is_traced(array):
        return array
    if not (np.isfinite(array) and array > 0):
        raise InputError(Argument(name), f" must be positive and finite, got {float(array)!r}; {remedy}.")
    return float(array)


def whole(value: Any, name: str, *, at_least: int, remedy: str) -> int:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        value = value.item() if isinstance(value, np.generic) else value  # as people write it
        raise InputError(Argument(name), f" must be a whole number of at least {at_least}, got {value!r}; {remedy}.")
    return int(value)


def matrix(value: Any, name: str, *, n_columns: int | None = None) -> Float[Array, "N D"]:
    """The rows of a table as float64 of shape (N, D): checked for shape, and for NaN unless being traced."""
    array = numbers(value, name)
    if array.ndim != 2:
        hint = "; use reshape(-1, 1) for one column or reshape(1, -1) for one row" if array.ndim == 1 else ""
        raise InputError(f"{name} must have two dimensions (rows, columns), got shape {array.shape}{hint}.")
    if n_columns is not None and array.shape[1] != n_columns:
        wrong = f"{name} must have {n_columns} column{'s' * (n_columns != 1)}, got {array.shape[1]}"
        raise InputError(f"{wrong} (shape {array.shape}); pass just the columns this part of the model reads.")
    _finite(array, name)
    return array


def vector(value: Any, name: str, *, size: int) -> Float[Array, " N"]:
    """A float64 vector of the given size, checked like `matrix`."""
    array = numbers(value, name)
    if array.shape == (size, 1):
        array = array[:, 0]
    if array.shape != (size,):
        raise InputError(f"{name} must have shape ({size},), got {array.shape}.")
    _finite(array, name)
    return array


def _finite(array: Array, name: str) -> None:
    if is_traced(array):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # one that is not finite makes the sum so, and a sum takes a third of the time; numbers near 1e308 do it too
        if np.isfinite(array.sum()) or np.isfinite(array).all():
            return
    row, *column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
    where = f"row {row}" + (f", column {column[0]}" if column else "")
    raise InputError(
        f"{name} contains {array[(row, *column)]} at {where}; drop such rows or fill the missing values first."
    )
