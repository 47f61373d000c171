"""Table names: `orders` or `silver.orders`, made only of what is safe in a path, in SQL and in every other engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lakeledger import codec
from lakeledger.errors import Invalid

DEFAULT_SCHEMA = "main"

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True)
class TableName:
    """A table's name as given; two names are the same table if their keys are."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    @cached_property
    def key(self) -> str:
        return codec.fold(str(self))

    @property
    def folder(self) -> str:
        """Where the table's files live, relative to the tenant's part of the warehouse."""
        return self.key.replace(".", "/")


def table_key(name: str) -> str:
    """What the table of that name is matched by, also if it is a foreign one whose name is not allowed here."""
    return codec.fold(name if "." in name else f"{DEFAULT_SCHEMA}.{name}")


def parse_name(name: str | TableName) -> TableName:
    """The table that a name means. Raises Invalid."""
    if isinstance(name, TableName):
        return name
    schema, dot, table = name.rpartition(".")
    parts = TableName(schema if dot else DEFAULT_SCHEMA, table)
    if not _PART.fullmatch(parts.schema) or not _PART.fullmatch(parts.table):
        raise Invalid(f"table name {name!r} is not allowed: write table or schema.table, with letters, digits and underscores")
    return parts
