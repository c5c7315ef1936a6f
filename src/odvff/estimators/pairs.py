"""What users ask for as `interactions`, checked, in the words of `odvff.methods`."""

from typing import Any

from odvff.errors import InputError
from odvff.support.checks import whole
from odvff.tables.schema import place_of

Pairs = int | str | tuple[tuple[str, str], ...]


def pairs_asked(wanted: Any, names: tuple[str, ...], method: str, structure: str, inference: str) -> Pairs:
    """How many pairs of columns may act together, or which by name; "auto" looks for them where that costs little."""
    possible = method in ("odvff", "vff") and structure == "additive"
    if isinstance(wanted, str) and wanted == "auto":
        return "auto" if possible and inference != "stochastic" else 0
    if not isinstance(wanted, list | tuple):
        wanted = whole(wanted, "interactions", at_least=0, remedy="0 is none; or 'auto', or a list of pairs of columns")
    elif not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in wanted):
        raise InputError(
            "interactions must be 'auto', a number of pairs, or a list of pairs of columns such as "
            f"[('width', 'height')], got {wanted!r}."
        )
    if wanted and not possible:
        raise InputError(
            f"interactions={wanted!r} adds joint effects to those of single columns: it is for method 'odvff' or 'vff' "
            f"with structure='additive', and these are {method!r} and {structure!r}."
        )
    if isinstance(wanted, int):
        return wanted
    first, second = ([names[place_of(pair[i], names, "interactions")] for pair in wanted] for i in (0, 1))
    return tuple(zip(first, second, strict=True))
