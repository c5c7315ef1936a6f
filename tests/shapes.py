"""What checks a function while the tests run: the shapes of arrays in its signature, where it has any."""

from collections.abc import Callable
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses arrays of other shapes than it says; as it is if it says none."""
    return beartype(function) if any(map(_shaped, function.__annotations__.values())) else function


def _shaped(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_shaped, get_args(hint)))
