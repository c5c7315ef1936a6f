"""Shapes in signatures, `Float[Array, "N M"]`: for people, for mypy, and checked while the tests run.

They are jaxtyping's. Its import takes 40 ms, a tenth of a whole small fit, so where nobody has imported it (the tests
do, before us) the words are there and nothing stands behind them.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:

    class _Shaped:
        def __class_getitem__(cls, words: tuple[Any, str]) -> Any:
            return words[0]

    Bool = Float = Int = _Shaped

Array = Any  # a NumPy array, or a JAX tracer in its place

__all__ = ["Array", "Bool", "Float", "Int"]
