"""Tables of people: what their columns are, and how they become numbers."""

from odvff.data.columns import Category, Numeric
from odvff.data.schema import Schema, learn_schema
from odvff.data.tables import Table, as_table

__all__ = ["Category", "Numeric", "Schema", "Table", "as_table", "learn_schema"]
