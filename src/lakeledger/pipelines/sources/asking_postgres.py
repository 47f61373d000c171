"""PostgreSQL as a source, asked directly by psycopg: columns with their types, bounds, estimates, open writers and a shared snapshot."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from lakeledger.config import suggest
from lakeledger.errors import Forbidden, Invalid, LakeledgerError, NotInstalled, Unavailable
from lakeledger.pipelines.sources.asking import Column, without
from lakeledger.pipelines.sources.dialects import POSTGRESQL, check_url, split_name
from lakeledger.pipelines.sources.postgres_types import to_column

CONNECT_SECONDS = 10
# Counting rows without a watermark may have to look at every one of them.
ASK_SECONDS = 600
PAUSE_SECONDS = 0.05

# A domain is read as what it is made of. PostgreSQL knows which column of which table a result's column is: that one may be NOT NULL.
_TYPES = """
with recursive given as (
    select * from unnest(%s::oid[], %s::int[], %s::oid[], %s::int[]) with ordinality as g(type, modifier, relation, attribute, place)
), resolved as (
    select place, type, modifier from given
    union all
    select r.place, t.typbasetype, case when t.typtypmod = -1 then r.modifier else t.typtypmod end
      from resolved r join pg_type t on t.oid = r.type and t.typtype = 'd'
)
select format_type(r.type, r.modifier), t.typtype::text, coalesce(a.attnotnull, false)
  from resolved r join pg_type t on t.oid = r.type and t.typtype <> 'd' join given g on g.place = r.place
  left join pg_attribute a on a.attrelid = g.relation and a.attnum = g.attribute
 order by r.place
"""
_TABLES = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'v', 'm', 'f', 'p') and n.nspname not like 'pg\\_%%' and n.nspname <> 'information_schema'
"""
# Whoever writes to a table, or to a partition of it, holds one of these locks until its transaction ends.
_WRITERS = """
select l.virtualtransaction, l.pid, coalesce(a.usename::text, ''), coalesce(a.xact_start::text, 'a time unknown')
  from pg_locks l left join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'relation' and l.granted and l.database = (select oid from pg_database where datname = current_database())
   and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
   and l.pid is distinct from pg_backend_pid()
   and l.relation in (select %s::regclass union select relid from pg_partition_tree(%s::regclass))
"""


@dataclass(frozen=True)
class Postgres:
    """How to reach a database, and which of its columns are to have other types on Spark than they would."""

    address: str
    parameters: Mapping[str, Any]
    types: Mapping[str, str]
    secrets: tuple[str, ...] = ()

    @contextmanager
    def asking(self) -> Iterator[PostgresAsks]:
        """One look at the database: everything that is asked inside is asked of the same state of it."""
        with self.translated(), self._connect() as connection:
            connection.execute(
                f"set transaction isolation level repeatable read, read only; set local statement_timeout = '{ASK_SECONDS}s'"
            )
            yield PostgresAsks(self, connection)

    @contextmanager
    def snapshot(self) -> Iterator[str]:
        """The name of a state of the database that other sessions can read, too, for as long as the block lasts."""
        with self.translated():
            connection = self._connect()
        try:
            with self.translated():
                connection.execute("set transaction isolation level repeatable read, read only")
                connection.execute("set local idle_in_transaction_session_timeout = 0")
                (name,) = connection.execute("select pg_export_snapshot()").fetchone() or ("",)
            yield str(name)
        finally:
            connection.close()

    def _connect(self) -> Any:
        try:
            import psycopg
        except ImportError as error:
            raise NotInstalled("PostgreSQL as a source needs psycopg: pip install 'lakeledger[postgres]'") from error
        # Nothing among the options but what was asked for: a pooler in between may take none.
        return psycopg.connect(**{"connect_timeout": CONNECT_SECONDS, "application_name": "lakeledger", **self.parameters})

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise ours for psycopg's errors, without the secrets."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            text = " ".join(without(str(error), list(self.secrets)).split())
            raise self._failure(error.sqlstate or "", text) from None

    def _failure(self, state: str, text: str) -> LakeledgerError:
        refused = state.startswith("28") or re.search(r"authentication failed|no password supplied|role \S+ does not exist", text)
        if refused:
            return Forbidden(f"{self.address} refuses the user or the password: check the references of user and password ({text})")
        if state == "3D000" or re.search(r"database \S+ does not exist", text):
            return Invalid(f"{self.address} has no such database: check the URL ({text})")
        if state == "42501":
            return Forbidden(f"{self.address}: {text}; grant SELECT to the user of the source")
        if not state or state[:2] in ("08", "53", "55", "57", "58", "40"):
            return Unavailable(f"{self.address} does not answer: {text}; see that it runs, then run it again")
        return Invalid(f"{self.address}: {text}")


@dataclass(frozen=True)
class PostgresAsks:
    """A PostgreSQL database that is asked within one transaction."""

    database: Postgres
    connection: Any

    def columns(self, rows: str) -> list[Column]:
        import psycopg

        try:
            result = self.connection.execute(f"select * from {rows} lakeledger limit 0").pgresult
        except psycopg.errors.UndefinedTable as error:
            self.connection.rollback()
            raise Invalid(self._no_table(rows, str(error).partition("\n")[0])) from None
        places = range(result.nfields)
        asked = [result.ftype, result.fmod, result.ftable, result.ftablecol]
        found = self.connection.execute(_TYPES, [[each(place) for place in places] for each in asked]).fetchall()
        names = [result.fname(place).decode() for place in places]
        return [
            to_column(name, type_, category, nullable=not is_needed, declared=self._declared(name))
            for name, (type_, category, is_needed) in zip(names, found, strict=True)
        ]

    def one(self, query: str) -> tuple[str | None, ...]:
        return tuple(self.connection.execute(query).fetchone() or ())

    def all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of a query, with values for its `%s`."""
        return list(self.connection.execute(query, values).fetchall())

    def estimate(self, query: str) -> int | None:
        ((plan,),) = self.connection.execute(f"explain (format json) {query}").fetchall()
        return int(plan[0]["Plan"]["Plan Rows"])

    def wait_for_writers(self, table: str, seconds: float) -> None:
        ends = time.monotonic() + seconds
        waited_for = {row[0]: row for row in self.all(_WRITERS, table, table)}
        while waited_for:
            if time.monotonic() > ends:
                _, pid, user, since = next(iter(waited_for.values()))
                raise Unavailable(
                    f"a transaction writes to {table} since {since} (pid {pid}, user {user}) and has not ended within {seconds:g} s: what "
                    f"it commits later would be missed. Wait for it, give the watermark a lookback, or set late_rows to 'ignore'"
                )
            time.sleep(PAUSE_SECONDS)
            open_now = {row[0] for row in self.all(_WRITERS, table, table)}
            waited_for = {key: row for key, row in waited_for.items() if key in open_now}

    def _declared(self, name: str) -> str | None:
        return next((type_ for column, type_ in self.database.types.items() if column.casefold() == name.casefold()), None)

    def _no_table(self, rows: str, text: str) -> str:
        tables = [f"{schema}.{table}" for schema, table in self.all(_TABLES)]
        wanted = ".".join(split_name(rows)) if not rows.startswith("(") else ""
        bare = {name.partition(".")[2]: name for name in tables}
        near = suggest(wanted, tables) or suggest(wanted, list(bare))
        return f"{self.database.address}: {text}{near}; tables are named as schema.table, in the case that they have"


def parse_url(url: str) -> tuple[str, dict[str, Any]]:
    """A URL of PostgreSQL, for JDBC or not, without credentials, and what psycopg takes for it. Raises Invalid for a password in it."""
    check_url(url)
    parts = urlsplit(url.removeprefix("jdbc:"))
    asked = dict(parse_qsl(parts.query))
    hosts = [_host(each) for each in parts.netloc.rpartition("@")[2].split(",")]
    found: dict[str, Any] = {"host": ",".join(host for host, _ in hosts), "port": ",".join(port for _, port in hosts)}
    found["dbname"] = unquote(parts.path.lstrip("/")) or None
    found["user"] = unquote(parts.username) if parts.username else asked.get("user")
    found |= {name: asked[name] for name in ("sslmode", "sslrootcert", "sslcert", "sslkey") if name in asked}
    paths = [f"-csearch_path={asked['currentSchema']}"] if "currentSchema" in asked else []
    found["options"] = " ".join([*paths, *([asked["options"]] if "options" in asked else [])]) or None
    query = urlencode({name: value for name, value in asked.items() if name != "user"})
    jdbc = f"jdbc:{POSTGRESQL.name}://{parts.netloc.rpartition('@')[2]}{parts.path}{'?' + query if query else ''}"
    return jdbc, {name: value for name, value in found.items() if value}


def _host(text: str) -> tuple[str, str]:
    host, _, port = text.rpartition(":") if re.search(r":\d+$", text) else (text, "", "5432")
    return host.strip("[]"), port
