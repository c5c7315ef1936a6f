"""Equinox modules (GPJax's kernels and likelihoods) taken apart into their numbers and the rest."""

from dataclasses import dataclass
from typing import Any

from odvff.support.arrays import in_double_precision


@in_double_precision
def take_module_apart(module: Any) -> tuple[Any, "MakeModule"]:
    """Its numbers, as a tree of arrays, and the way back."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    widened = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64) if eqx.is_inexact_array(x) else x, module)
    numbers, rest = eqx.partition(widened, eqx.is_inexact_array)
    return numbers, MakeModule(rest)


@dataclass(frozen=True, eq=False)
class MakeModule:
    """A module from its numbers; equal for modules that differ in nothing else."""

    rest: Any

    def __call__(self, numbers: Any) -> Any:
        import equinox as eqx

        return eqx.combine(numbers, self.rest)

    def __eq__(self, other: object) -> bool:
        import equinox as eqx

        return isinstance(other, MakeModule) and bool(eqx.tree_equal(self.rest, other.rest))

    def __hash__(self) -> int:
        import jax

        return hash(str(jax.tree.structure(self.rest)))
