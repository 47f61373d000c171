"""Empty ledgers for tests. To make one takes longer than most tests do, so it is made once and then copied or emptied."""

from __future__ import annotations

import uuid
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import sql

from lakeledger import db
from lakeledger.db import migrate
from postgres_server import LOCK_OPTIONS, Server

# Emptying leaves dead rows behind: after this many, a new schema is cheaper than what they cost the tests that follow.
MOST_DEAD_ROWS = 3_000

# Notes that some statement has changed tables, or something else that a database is made of.
_WATCH = """
create table public.changes (at timestamptz);
create function public.note_change() returns event_trigger language plpgsql security definer as
    $$ begin insert into public.changes values (now()); end $$;
create event trigger note_change on ddl_command_end execute function public.note_change()
"""

# Everything that a statement could change about the tables: each has a row that then is another.
_SHAPE = """
with related as (select oid from pg_class where relnamespace = %(schema)s::regnamespace),
     parts as (
        select 'schema' as kind, oid, xmin from pg_namespace where oid = %(schema)s::regnamespace
        union all select 'relation', oid, xmin from pg_class where relnamespace = %(schema)s::regnamespace
        union all select 'function', oid, xmin from pg_proc where pronamespace = %(schema)s::regnamespace
        union all select 'type', oid, xmin from pg_type where typnamespace = %(schema)s::regnamespace
        union all select 'column', attrelid, xmin from pg_attribute where attrelid in (select oid from related)
        union all select 'default', oid, xmin from pg_attrdef where adrelid in (select oid from related)
        union all select 'constraint', oid, xmin from pg_constraint where connamespace = %(schema)s::regnamespace
        union all select 'trigger', oid, xmin from pg_trigger where tgrelid in (select oid from related)
        union all select 'rule', oid, xmin from pg_rewrite where ev_class in (select oid from related)
        union all select 'policy', oid, xmin from pg_policy where polrelid in (select oid from related)
     )
select string_agg(kind || ' ' || oid || ' ' || xmin, ',' order by kind, oid, xmin::text) from parts
"""


def migrate_database(url: str) -> None:
    """Make an empty ledger of an empty database."""
    database = db.open(url)
    try:
        migrate.migrate(database)
    finally:
        database.close()


@cache
def sqlite_bytes() -> bytes:
    """The file of an empty ledger on SQLite."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "ledger.db")
        migrate_database(f"sqlite:///{path}")
        return path.read_bytes()


def new_sqlite_url(folder: Path) -> str:
    """The URL of an empty ledger on SQLite, in that folder."""
    path = folder / "ledger.db"
    path.write_bytes(sqlite_bytes())
    return f"sqlite:///{path}"


class PostgresLedgers:
    """Schemas of one server, each with an empty ledger.

    One that a test has given back is emptied for the next test; one whose tables a test has changed is dropped.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = psycopg.connect(server.url(), options=f"{LOCK_OPTIONS} -csession_replication_role=replica")
        with self._connection.transaction():
            self._connection.execute(_WATCH)
        self._free: list[str] = []
        self._shapes: dict[str, list[Any]] = {}
        self._doubted: set[str] = set()
        self._applied: dict[str, list[Any]] = {}
        self._emptying: dict[str, sql.Composed] = {}
        self._dead_rows: Counter[str] = Counter()

    def take(self) -> str:
        """A schema for one test."""
        return self._free.pop() if self._free else self._make()

    def give_back(self, schema: str) -> None:
        """Let the next test have it. Raises psycopg's LockNotAvailable if a transaction was left open on it."""
        with self._connection.transaction():
            if self._is_as_made(schema) and self._empty(schema) <= MOST_DEAD_ROWS:
                self._free.append(schema)
                return
        self._server.drop_schema(schema)

    def close(self) -> None:
        self._connection.close()

    def _make(self) -> str:
        schema = f"test_{uuid.uuid4().hex[:12]}"
        self._server.create_schema(schema)
        migrate_database(self._server.url(schema=schema))
        with self._connection.transaction():
            self._shapes[schema] = self._shape(schema)
            self._applied[schema] = self._migrations(schema)
            self._emptying[schema] = self._how_to_empty(schema)
        return schema

    def _is_as_made(self, schema: str) -> bool:
        # To look at the shape takes as long as a short test, so it is done only after somebody has changed one.
        if self._connection.execute("delete from public.changes").rowcount:
            self._doubted = set(self._shapes)
        if schema in self._doubted and self._shape(schema) != self._shapes[schema]:
            return False
        self._doubted.discard(schema)
        return self._migrations(schema) == self._applied[schema]

    def _shape(self, schema: str) -> list[Any]:
        return self._connection.execute(_SHAPE, {"schema": schema}).fetchall()

    def _migrations(self, schema: str) -> list[Any]:
        return self._connection.execute(sql.SQL("select * from {}").format(sql.Identifier(schema, "schema_migrations"))).fetchall()

    def _how_to_empty(self, schema: str) -> sql.Composed:
        found = self._connection.execute(
            "select relname, relkind::text from pg_class where relnamespace = %s::regnamespace and relkind in ('r', 'S')", [schema]
        ).fetchall()
        tables = [sql.Identifier(schema, name) for name, kind in found if kind == "r" and name != "schema_migrations"]
        sequences = [sql.Literal(f"{schema}.{name}") for name, kind in found if kind == "S"]
        # The lock is what a transaction that a test left open would be found by.
        parts = [sql.SQL("lock table {}").format(sql.SQL(", ").join(tables))]
        parts += [sql.SQL("delete from {}").format(table) for table in tables]
        parts += [sql.SQL("select setval({}, 1, false)").format(name) for name in sequences]
        return sql.SQL("; ").join(parts)

    def _empty(self, schema: str) -> int:
        """Remove every row; how many were removed from this schema so far."""
        cursor = self._connection.execute(self._emptying[schema])
        while cursor.nextset():
            self._dead_rows[schema] += cursor.rowcount
        return self._dead_rows[schema]
