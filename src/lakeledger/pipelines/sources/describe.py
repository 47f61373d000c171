"""What a database says of a table before anybody declares it as a source: columns, primary key, size, and what may be its watermark."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lakeledger.pipelines.sources.asking import Asks, Column
from lakeledger.pipelines.sources.asking_postgres import PostgresAsks
from lakeledger.pipelines.sources.jdbc import JdbcConfig, JdbcSource
from lakeledger.sync import Source as SourceName
from lakeledger.sync.kinds.watermark import DATE, INTEGER, TEXT

# How columns are called that say when a row was last changed, and then when it was made.
_CHANGED = re.compile(r"(?:^|_)(?:updated|modified|changed|last_update|last_modified)(?:_|$)|(?:^|_)(?:updated|modified|changed)(?:at|on)$")
_MADE = re.compile(r"(?:^|_)(?:created|inserted|added|ingested|event|recorded)(?:_|$)|(?:created|inserted)(?:at|on)$")

_KEY = """
select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
 where i.indrelid = %s::regclass and i.indisprimary order by array_position(i.indkey::int[], a.attnum::int)
"""
_INDEXED = """
select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
 where i.indrelid = %s::regclass and i.indisvalid
"""
_TABLES = """
select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and not c.relispartition and n.nspname not like 'pg\\_%%' and n.nspname <> 'information_schema'
 order by 1
"""


@dataclass(frozen=True)
class Candidate:
    """Columns that may be a watermark, and why; `warning` says what to see to before it is relied on."""

    columns: tuple[str, ...]
    reason: str
    warning: str | None = None


@dataclass(frozen=True)
class Description:
    """What is known of a table. `rows` is an estimate; the best candidate comes first; `unreadable` columns need a declared type."""

    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    rows: int | None
    watermarks: tuple[Candidate, ...]

    @property
    def unreadable(self) -> dict[str, str]:
        """The columns that cannot be read as they are, and why."""
        return {column.name: column.refused for column in self.columns if column.refused}


def describe(connection: JdbcConfig, table: str) -> Description:
    """What the database says of a table. Of the connection only URL, user, password and options count.

    Key, indexes and size are known of PostgreSQL. Raises Invalid, Forbidden or Unavailable.
    """
    source = JdbcSource(SourceName("describe", "table"), replace(connection, table=table, query=None))
    with source.asking() as asks:
        columns = asks.columns(source.rows)
        key, indexed = _keys(asks, source.rows)
        rows = asks.estimate(f"select 1 from {source.rows} described")
    return Description(table, tuple(columns), key, rows, tuple(candidates(columns, key, indexed)))


def list_tables(connection: JdbcConfig) -> list[str]:
    """Every table of the database, as schema.table. Raises as `describe`."""
    source = JdbcSource(SourceName("describe", "tables"), connection)
    with source.asking() as asks:
        return [str(row[0]) for row in asks.all(_TABLES)] if isinstance(asks, PostgresAsks) else []


def candidates(columns: list[Column], key: tuple[str, ...], indexed: frozenset[str] = frozenset()) -> list[Candidate]:
    """What may be a watermark: a time of the last change, a growing key, a time of creation; with the key to break ties."""
    only_key = next((column for column in columns if key == (column.name,)), None)
    tie = (only_key.name,) if only_key and only_key.order else ()
    times = [column for column in columns if column.order not in (None, INTEGER, TEXT, "decimal")]
    found = [_by_time(column, tie, indexed, "says when a row was last changed") for column in times if _CHANGED.search(column.name.lower())]
    if only_key and only_key.order == INTEGER:
        found.append(Candidate((only_key.name,), "is the primary key and a number", "changed rows are not seen: only new ones are"))
    made = [column for column in times if _MADE.search(column.name.lower()) and not _CHANGED.search(column.name.lower())]
    return found + [_by_time(column, tie, indexed, "says when a row was made, so changed rows are not seen") for column in made]


def _by_time(column: Column, tie: tuple[str, ...], indexed: frozenset[str], reason: str) -> Candidate:
    warnings = [
        "rows that are committed late need a lookback and merge" if column.order != DATE else "a day ties: give a lookback and merge",
        *(["it may be NULL"] if column.nullable else []),
        *([] if column.name in indexed else ["it has no index"]),
    ]
    return Candidate((column.name, *(name for name in tie if name != column.name)), reason, "; ".join(warnings))


def _keys(asks: Asks, table: str) -> tuple[tuple[str, ...], frozenset[str]]:
    if not isinstance(asks, PostgresAsks):
        return (), frozenset()
    return tuple(row[0] for row in asks.all(_KEY, table)), frozenset(row[0] for row in asks.all(_INDEXED, table))
