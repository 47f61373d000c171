"""What the commands of errors and dead letters share: how rows are chosen, and how causes and records are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

import click

from lakeledger.cli import show
from lakeledger.errors import Invalid, NotFound
from lakeledger.sync import parse_source

SCHEMA = click.option("--schema", metavar="NAME", help="Only those of this schema.")
TABLE = click.option("--table", metavar="NAME", help="Only those of this table: orders or shop.orders.")
GROUP = click.option("--group", "fingerprint", metavar="CAUSE", help="Only those with this cause, as `groups` shows it.")
NOTE = click.option("--note", metavar="TEXT", help="A note, which is kept with it.")


class HasFingerprint(Protocol):
    """A group of rows with one cause."""

    @property
    def fingerprint(self) -> str: ...


G = TypeVar("G", bound=HasFingerprint)


def split_table(schema: str | None, table: str | None) -> tuple[str | None, str | None]:
    """The schema and the table; `shop.orders` is both, unless the schema is given."""
    if table is None or schema is not None or "." not in table:
        return schema, table
    source = parse_source(table)
    return source.schema_name, source.table_name


def find_group(groups: Iterable[G], beginning: str) -> G:
    """The group whose fingerprint begins so. Raises NotFound, or Invalid if several do."""
    found = [group for group in groups if group.fingerprint.startswith(beginning)] if beginning else []
    if len(found) > 1:
        raise Invalid(f"several causes begin with {beginning!r}: give more of it")
    if not found:
        raise NotFound(f"no cause {beginning!r}: `groups` lists them")
    return found[0]


def tables_words(tables: Sequence[str]) -> str:
    """Which tables: the first ones by name."""
    more = f" and {len(tables) - 2} more" if len(tables) > 3 else ""
    return ", ".join(tables[: 2 if more else 3]) + more


def print_document(title: str, value: Any) -> None:
    """A record, or the details of an error, as JSON."""
    show.print_title(title)
    show.print_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
