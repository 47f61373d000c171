"""How rows of capture are found: by id or the beginning of one, by the table they belong to, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Protocol, TypeVar

from lakeledger import codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import Query
from lakeledger.errors import Invalid, NotFound
from lakeledger.runs.store import FIRST_ID, LAST_ID
from lakeledger.sync.masking import writable
from lakeledger.sync.model import Source, key_part

E = TypeVar("E", bound=StrEnum)


class Group(Protocol):
    """What one cause has led to."""

    @property
    def count(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...


G = TypeVar("G", bound=Group)


def by_id(tx: Transaction, exact: Query, begins: Query, row_id: Id, what: str) -> Row:
    """The row with that id, or the only one whose id begins so. Raises NotFound, or Invalid if several do."""
    row_id = str(row_id)
    if row := tx.one(exact, id=row_id):
        return row
    # Ids of the same shape have the same order in every collation; text that is merely longer has not.
    first, last = row_id + FIRST_ID[len(row_id) :], row_id + LAST_ID[len(row_id) :]
    rows = tx.all(begins, prefix=row_id, first=first, last=last) if len(row_id) >= 4 else []
    if len(rows) > 1:
        raise Invalid(f"several {what}s begin with {row_id!r}: give more of the id")
    if not rows:
        raise NotFound(f"no {what} {row_id!r}: list them to see their ids")
    return rows[0]


def check_limit(limit: int) -> int:
    """The limit, if it is one. Raises Invalid."""
    return pages.check_limit(limit, pages.MAX_PAGE)


@lru_cache(maxsize=1_024)
def table_key(schema: str, table: str | None) -> str:
    """What rows of a table are matched by. Raises Invalid without a schema."""
    return writable(Source(schema, table).key)


@lru_cache(maxsize=1_024)
def schema_key(schema: str) -> str:
    """What rows of a schema are matched by."""
    return writable(key_part(schema))


def table_filter(schema: str | None, table: str | None) -> dict[str, str | None]:
    """The key of one table or of a schema, or of a table in any schema the pattern of its keys (`!` escapes); nothing without a name."""
    if schema and table:
        return {"name_key": table_key(schema, table), "schema_key": None, "names": None}
    if schema:
        return {"name_key": None, "schema_key": schema_key(schema), "names": None}
    return {"name_key": None, "schema_key": None, "names": f"%/{_escaped(table)}" if table else None}


def table_name(schema: str, table: str | None) -> str:
    """A table as people write it."""
    return Source(schema, table).name


def time(value: datetime | str) -> datetime:
    """A time that was computed: SQLite gives those as text."""
    return codec.to_time(value) if isinstance(value, str) else value


def word(kind: type[E], value: str) -> E:
    """The member of a vocabulary, however its letters are cased. Raises Invalid that lists the words."""
    try:
        return value if isinstance(value, kind) else kind(value.strip().lower())
    except (AttributeError, ValueError):
        raise Invalid(f"{value!r} is not one of {_listed(kind)}") from None


def word_or_none(kind: type[E], value: str | None) -> str | None:
    """The word to look for, if one was given. Raises Invalid that lists the words."""
    return None if value is None else word(kind, value).value


def by_cause(rows: Iterable[Row]) -> list[list[Row]]:
    """Counts per table and status, put together by fingerprint."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["fingerprint"], []).append(row)
    return list(found.values())


def page_of_groups(groups: Sequence[G], limit: int | None, after: str | None) -> Page[G]:
    """A part of the groups, the biggest first."""
    key: pages.Key = {"count": int, "fingerprint": str}
    return pages.cut(groups, key, lambda group: (group.count, group.fingerprint), limit, after, descending=True)


def tables_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The tables that these rows are about, each once."""
    return tuple(sorted({table_name(row["schema_name"], row["table_name"]) for row in rows}))


def _escaped(name: str) -> str:
    return writable(key_part(name)).replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _listed(kind: Iterable[StrEnum]) -> str:
    return ", ".join(member.value for member in kind)
