"""A kernel as a vector of what is found from data, and the way back: logarithms of a plain one's numbers, GPJax's own
unconstrained parameters else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.kernels.plain import Kernel
from odvff.kernels.reading import plain
from odvff.support.arrays import in_double_precision


@dataclass(frozen=True)
class FromFlat:
    """vector ↦ kernel, of numbers or while JAX traces; equal for kernels of one shape."""

    make: Any  # of a tree of numbers
    shapes: Any  # the tree, with the shape of each number

    def __call__(self, vector: Any) -> Any:
        parts = _split(self.shapes, vector)
        return self.make(parts)

    def __hash__(self) -> int:
        return hash(self.make)


@dataclass(frozen=True)
class _Template:
    template: Kernel

    def __call__(self, logs: Any) -> Any:
        return self.template.with_logs(logs)


@in_double_precision
def flat(kernel: Any) -> tuple[Any, Any]:
    """The vector of a kernel, and what makes a kernel of such a vector."""
    kernel = plain(kernel)
    if isinstance(kernel, Kernel):
        logs = kernel.logs()
        return np.array([float(v) for v in _leaves(logs)]), FromFlat(_Template(kernel.template()), _shapes(logs))
    from jax.flatten_util import ravel_pytree
    from jax.tree_util import keystr, tree_flatten_with_path

    from odvff.support.modules import take_module_apart

    numbers, make = take_module_apart(kernel)
    vector, unravel = ravel_pytree(numbers)
    paths, _ = tree_flatten_with_path(numbers)
    shapes = tuple((keystr(path), np.shape(leaf)) for path, leaf in paths)
    return np.asarray(vector, dtype=np.float64), _FromModule(make, unravel, shapes)


@dataclass(frozen=True, eq=False)
class _FromModule:
    make: Any
    unravel: Any
    shapes: Any  # of the numbers, in their places

    @in_double_precision
    def __call__(self, vector: Any) -> Any:
        return self.make(self.unravel(vector))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FromModule) and self.make == other.make and self.shapes == other.shapes

    def __hash__(self) -> int:
        return hash((self.make, self.shapes))


def _leaves(tree: Any) -> Iterator[Any]:
    """The numbers of a tree, dictionaries in the order of their keys."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from _leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _leaves(part)
    else:
        yield tree


def _shapes(tree: Any) -> Any:
    """The same tree as something that can be compared and hashed, without its numbers."""
    if isinstance(tree, dict):
        return {key: _shapes(tree[key]) for key in sorted(tree)}
    return [_shapes(part) for part in tree] if isinstance(tree, list | tuple) else None


def _split(shapes: Any, vector: Any) -> Any:
    numbers = iter(vector[i] for i in range(len(vector)))

    def fill(shape: Any) -> Any:
        if isinstance(shape, dict):
            return {key: fill(part) for key, part in shape.items()}
        return [fill(part) for part in shape] if isinstance(shape, list) else next(numbers)

    return fill(shapes)
