"""PostgreSQL: for teams. psycopg 3, one advisory lock that orders writers, so that the change log is in commit order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from lakeledger import codec
from lakeledger.db import Cursor, Transaction
from lakeledger.db.pool import Pool
from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, LakeledgerError, NotInstalled, Unavailable
from lakeledger.redaction import scrub

try:
    import psycopg
    from psycopg import sql
    from psycopg.rows import dict_row
    from psycopg.types.json import Jsonb
except ImportError as error:
    raise NotInstalled("PostgreSQL needs psycopg: pip install 'lakeledger[postgres]'") from error

CONNECT_SECONDS = 10

# One round trip: begin, bind the tenant for row-level security, wait for the writers' lock, then read the database's clock.
# What a writer reads after it waited for the lock must be what the writer before it left, whatever the server's default is.
_BEGIN_WRITE = """
begin isolation level read committed read write;
select set_config('lakeledger.tenant', {tenant}, true),
       pg_advisory_xact_lock(hashtext('lakeledger.writer'), hashtext(current_schema())),
       clock_timestamp() as now
"""
_BEGIN_READ = """
begin isolation level repeatable read read only;
select set_config('lakeledger.tenant', {tenant}, true), clock_timestamp() as now
"""


class PostgresDatabase:
    """One PostgreSQL database; its tables are in the schema that was named, else in the one that search_path names first."""

    dialect = "postgres"

    def __init__(self, url: str, schema: str | None = None) -> None:
        self.url = scrub("%20".join(url.split()))
        self._target = url
        self._schema = schema
        self._pool = Pool(self._connect)
        with self._translated(), self._pool.connection() as connection:
            if schema:
                connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        with self._translated(), self._pool.connection() as connection:
            try:
                now = _begin(connection, tenant_id, _BEGIN_WRITE if write else _BEGIN_READ)
                yield Transaction(tenant_id, now, self.dialect, _Bound(connection))
            except BaseException:
                if not connection.closed:
                    connection.execute("rollback")
                raise
            connection.execute("commit")

    def run_script(self, tx: Transaction, script: str) -> None:
        cast("_Bound", tx.connection).raw.execute(script.encode())

    def stamp(self) -> str:
        with self._translated(), self._pool.connection() as connection:
            row = connection.execute("select pg_current_snapshot()::text as stamp").fetchone()
            return str(cast("dict[str, Any]", row)["stamp"])

    def connections(self) -> dict[str, int]:
        return self._pool.usage()

    def close(self) -> None:
        self._pool.close()

    def _connect(self) -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(
            self._target,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=CONNECT_SECONDS,
            application_name="lakeledger",
            options=self._session_options(),
        )

    def _session_options(self) -> str:
        """UTC for every session, on top of the options the url may carry."""
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._target)
        except psycopg.ProgrammingError:
            given = {"host": "@"}
        if "@" in str(given.get("host")):
            # psycopg would quote what it cannot read, which may be a piece of the password.
            raise Invalid(f"cannot read the url {self.url}: percent-encode what is special in the user name and the password") from None
        path = f" -c search_path={self._schema}" if self._schema else ""
        return f"{given.get('options') or ''} -c TimeZone=UTC{path}".strip()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._translate(error) from error

    def _translate(self, error: psycopg.Error) -> LakeledgerError:
        text = str(error).strip().partition("\n")[0]
        match error:
            case psycopg.errors.IntegrityError():
                return Conflict(f"the ledger refused a row: {text}")
            case psycopg.errors.DeadlockDetected() | psycopg.errors.SerializationFailure():
                return Conflict(f"another transaction got in the way: {text}; try again", retryable=True)
            case psycopg.errors.InsufficientPrivilege():
                return Forbidden(f"{self.url}: {text}; ask for the right or open another database")
            case psycopg.errors.UntranslatableCharacter() | psycopg.errors.CharacterNotInRepertoire():
                return Invalid(f"the ledger cannot keep that text ({text}): take out NUL and halves of characters")
            case psycopg.errors.InvalidSchemaName():
                return Invalid(f"{self.url}: {text}; create the schema that search_path names, or ask for the right to use it")
            case psycopg.OperationalError():
                return Unavailable(f"PostgreSQL at {self.url} cannot be reached: {text}; check that it runs and that the url is right")
            case _:
                return Failed(f"PostgreSQL failed at {self.url}: {text}")


def _begin(connection: psycopg.Connection[dict[str, Any]], tenant_id: str, script: str) -> datetime:
    """Begin a transaction; what time it is."""
    cursor = connection.execute(script.format(tenant=_quoted(tenant_id)).encode())
    cursor.nextset()
    now: datetime = cast("dict[str, Any]", cursor.fetchone())["now"]
    return now


@lru_cache(1_000)
def _quoted(text: str) -> str:
    return sql.Literal(text).as_string()


class _Bound:
    """A connection that knows how Python values are written."""

    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self.raw = connection

    def execute(self, text: str, parameters: Mapping[str, Any]) -> Cursor:
        return self.raw.execute(text.encode(), _encoded(parameters))

    def executemany(self, text: str, rows: Iterable[Mapping[str, Any]]) -> Cursor:
        cursor = self.raw.cursor()
        cursor.executemany(text.encode(), [_encoded(row) for row in rows])
        return cursor


def _encoded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Jsonb(value, dumps=codec.to_json) if isinstance(value, dict | list) else value for name, value in parameters.items()}
