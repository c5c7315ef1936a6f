"""What users ask for as `interactions`, checked, in the words of `odvff.methods`."""

from typing import Any

from odvff.errors import Argument, InputError
from odvff.support.checks import whole
from odvff.tables.schema import place_of

Pairs = int | str | tuple[tuple[str, str], ...]


def check_pairs(wanted: Any, name: str) -> None:
    """Is it "auto", a number, or a list of pairs?"""
    if is_auto(wanted):
        return
    if not isinstance(wanted, list | tuple):
        whole(wanted, name, at_least=0, remedy="0 is none; or 'auto', or a list of pairs of columns")
    elif not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in wanted):
        raise InputError(
            Argument("interactions"),
            " must be 'auto', a number of pairs, or a list of pairs of columns such as [('width', 'height')], got "
            f"{wanted!r}.",
        )


def check_possible(wanted: Any, method: str, structure: str) -> None:
    """Are there pairs with such a method and structure, if some are asked for?"""
    if wanted and not is_auto(wanted) and not has_pairs(method, structure):
        raise InputError(
            Argument("interactions", wanted),
            " adds joint effects to those of single columns: it is for method 'odvff' or 'vff' with ",
            Argument("structure", "additive"),
            f", and these are {method!r} and {structure!r}.",
        )


def is_auto(wanted: Any) -> bool:
    return isinstance(wanted, str) and wanted == "auto"


def has_pairs(method: str, structure: str) -> bool:
    return method in ("odvff", "vff") and structure == "additive"


def pairs_asked(wanted: Any, names: tuple[str, ...], method: str, structure: str, inference: str) -> Pairs:
    """How many pairs of columns may act together, or which by name; "auto" looks for them where that costs little."""
    if is_auto(wanted):
        return "auto" if has_pairs(method, structure) and inference != "stochastic" else 0
    if not isinstance(wanted, list | tuple):
        return int(wanted)
    first, second = ([names[place_of(pair[i], names, "interactions")] for pair in wanted] for i in (0, 1))
    return tuple(zip(first, second, strict=True))
