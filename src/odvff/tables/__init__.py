"""Tables of people: what their columns are, where they come from, and how they become numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from odvff.tables.columns import Category, Numeric
from odvff.tables.schema import Schema
from odvff.tables.source import MemorySource, TableSource, learn_schema
from odvff.tables.table import Table, as_table

if TYPE_CHECKING:
    from odvff.tables.file_source import FileSource
    from odvff.tables.files import TableFiles

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

_LATER = {"FileSource": "odvff.tables.file_source", "TableFiles": "odvff.tables.files"}


def __getattr__(name: str) -> Any:
    """What pyarrow is needed for is imported when it is asked for."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'odvff.tables' has no attribute {name!r}")
