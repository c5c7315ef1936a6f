"""Kernels in words, for files: ours say theirs themselves; GPJax's are named here, with the numbers that make them."""

from collections.abc import Callable
from typing import Any

from odvff.errors import FileError
from odvff.kernels.plain import Kernel
from odvff.kernels.reading import name_of, parameter, plain
from odvff.support.arrays import in_double_precision
from odvff.support.words import items, number, text, whole

NUMBERS = {
    "RBF": ("lengthscale", "variance"),
    "Matern12": ("lengthscale", "variance"),
    "Matern32": ("lengthscale", "variance"),
    "Matern52": ("lengthscale", "variance"),
    "Periodic": ("lengthscale", "variance", "period"),
    "PoweredExponential": ("lengthscale", "variance", "power"),
    "RationalQuadratic": ("lengthscale", "variance", "alpha"),
    "Linear": ("variance",),
}
TOGETHER = ("SumKernel", "ProductKernel")


@in_double_precision
def kernel_words(kernel: Any) -> dict[str, Any]:
    """A kernel as plain values."""
    kernel = plain(kernel)
    if isinstance(kernel, Kernel):
        return {"kind": kernel.kind(), **kernel.to_words()}
    return _of_gpjax(kernel)


def _of_gpjax(kernel: Any) -> dict[str, Any]:
    name = type(kernel).__name__
    if not type(kernel).__module__.startswith("gpjax") or name not in (*NUMBERS, *TOGETHER):
        raise FileError(
            f"{name_of(kernel)} has no place in a file; write it as a class derived from odvff.kernels.Kernel."
        )
    words = {"kind": OfGPJax.kind(), "name": name}
    if name in TOGETHER:
        return words | {"kernels": [_of_gpjax(part) for part in kernel.kernels]}
    active = kernel.active_dims
    if isinstance(active, slice) and active != slice(None):
        raise FileError(f"{name_of(kernel)} has active_dims={active}; give a list of columns, which a file can hold.")
    columns = None if isinstance(active, slice) else [int(c) for c in active]
    return words | {"columns": columns, **{key: parameter(getattr(kernel, key)).tolist() for key in NUMBERS[name]}}


class OfGPJax:
    """Makes kernels of GPJax again; nothing but what is named here."""

    @classmethod
    def kind(cls) -> str:
        return "gpjax"

    @classmethod
    @in_double_precision
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], Any]) -> Any:
        import gpjax as gpx
        import jax.numpy as jnp

        name = text(words["name"])
        if name in TOGETHER:
            return getattr(gpx.kernels, name)(kernels=[inner(w) for w in items(words["kernels"])])
        if name not in NUMBERS:
            raise FileError(f"it has the kernel {name[:40]!r} of GPJax, which files do not hold.")
        values = {key: _numbers(words[key]) for key in NUMBERS[name]}
        columns = None if words["columns"] is None else [whole(c) for c in items(words["columns"])]
        arguments = {key: jnp.asarray(value) for key, value in values.items()}
        return getattr(gpx.kernels, name)(active_dims=columns, **arguments)


def _numbers(value: Any) -> Any:
    return [number(v) for v in value] if isinstance(value, list) else number(value)
