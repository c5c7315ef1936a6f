"""Classes that a file may name: those of the package, and those that its reader gives. Nothing else is made."""

from collections.abc import Iterable
from typing import Any

from odvff.errors import FileError


class UnknownClassError(FileError):
    """The file is whole, and names a class that is not known here."""


def named(name: str, classes: Iterable[tuple[str | None, Any]], what: str) -> Any:
    """The class of this name."""
    for own, found in classes:
        if own == name:
            return found
    raise UnknownClassError(
        f"has the {what} {name[:40]!r}, which is none of odvff's: if it is yours, give its class, "
        "odvff.load(path, known=[…])."
    )
