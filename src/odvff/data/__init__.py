"""Tables of people: what their columns are, where they come from, and how they become numbers."""

from typing import TYPE_CHECKING, Any

from odvff.data.columns import Category, Numeric
from odvff.data.schema import Schema
from odvff.data.source import MemorySource, TableSource, learn_schema
from odvff.data.tables import Table, as_table

if TYPE_CHECKING:
    from odvff.data.file_source import FileSource
    from odvff.data.files import TableFiles

__all__ = [
    "Category",
    "FileSource",
    "MemorySource",
    "Numeric",
    "Schema",
    "Table",
    "TableFiles",
    "TableSource",
    "as_table",
    "learn_schema",
]

_LATER = {"FileSource": "odvff.data.file_source", "TableFiles": "odvff.data.files"}


def __getattr__(name: str) -> Any:
    """What pyarrow is needed for is imported when it is asked for."""
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'odvff.data' has no attribute {name!r}")
