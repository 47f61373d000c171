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

# Notes in which schema a statement has changed what tables there are and what they look like; null is a statement that does not say.
_WATCH = """
create table public.changed_schemas (name text);
create function public.note_changed_schemas() returns event_trigger language plpgsql security definer as $$
begin
    if tg_event = 'sql_drop' then
        insert into public.changed_schemas
        select distinct coalesce(schema_name, address_names[1]) from pg_event_trigger_dropped_objects() where not is_temporary;
    else
        insert into public.changed_schemas
        select distinct coalesce(schema_name, (pg_identify_object_as_address(classid, objid, objsubid)).object_names[1])
          from pg_event_trigger_ddl_commands()
         where schema_name is distinct from 'pg_temp';
    end if;
end $$;
create event trigger note_changes on ddl_command_end execute function public.note_changed_schemas();
create event trigger note_drops on sql_drop execute function public.note_changed_schemas()
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
        self._changed: set[str] = set()
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
        with self._connection.transaction():
            self._note_changed()
        schema = f"test_{uuid.uuid4().hex[:12]}"
        self._server.create_schema(schema)
        migrate_database(self._server.url(schema=schema))
        with self._connection.transaction():
            self._connection.execute("delete from public.changed_schemas")
            self._applied[schema] = self._migrations(schema)
            self._emptying[schema] = self._how_to_empty(schema)
        return schema

    def _is_as_made(self, schema: str) -> bool:
        self._note_changed()
        return schema not in self._changed and self._migrations(schema) == self._applied[schema]

    def _note_changed(self) -> None:
        for (name,) in self._connection.execute("delete from public.changed_schemas returning name").fetchall():
            self._changed |= set(self._applied) if name is None else {name}

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
