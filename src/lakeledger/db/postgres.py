"""PostgreSQL: for teams. psycopg 3, an advisory lock per tenant that orders its writers, so that its change log is in commit order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from lakeledger.config import DEFAULT_CONNECTIONS
from lakeledger.db import Cursor, Transaction, to_json, unkept
from lakeledger.db.pool import Pool
from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, LakeledgerError, NotInstalled, Unavailable
from lakeledger.redaction import scrub

try:
    import psycopg
    from psycopg import sql
    from psycopg.rows import dict_row
    from psycopg.types.json import Jsonb

    from lakeledger.db.listening import Listener
except ImportError as error:
    raise NotInstalled("PostgreSQL needs psycopg: pip install 'lakeledger[postgres]'") from error

CONNECT_SECONDS = 10
LOCK_SECONDS = 30
# Shorter than the wait for a lock: who waits behind a client that was stopped inside a transaction outlives it.
IDLE_SECONDS = 20
DEFAULT_SCHEMA = "lakeledger"

# Every wait of a session ends: for a lock, for a client that has stopped inside its transaction, for a peer that is gone.
_SERVER_BOUNDS = {
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_CLIENT_BOUNDS = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}

# One round trip: begin, bind the tenant for row-level security, wait for the writers before, then read the database's clock.
# What a writer reads after it waited for the lock must be what the writer before it left, whatever the server's default is.
# Writers of a tenant go one after the other, those of different tenants side by side. Whoever is bound to no tenant, as a migration
# or SQL typed by hand is (see 0002_change_log.postgres.sql), goes alone. With its commit whoever waits for one is told (see listening.py).
_BEGIN_WRITE = """
begin isolation level read committed read write;
select set_config('lakeledger.tenant', {tenant}, true),
       pg_advisory_xact_lock_shared(hashtext('lakeledger.writer'), hashtext(current_schema())),
       pg_advisory_xact_lock(hashtext('lakeledger.writer.' || current_schema()), hashtext({tenant})),
       pg_notify('lakeledger', current_schema()),
       clock_timestamp() as now
"""
_BEGIN_WRITE_ALONE = """
begin isolation level read committed read write;
select set_config('lakeledger.tenant', {tenant}, true),
       pg_advisory_xact_lock(hashtext('lakeledger.writer'), hashtext(current_schema())),
       pg_notify('lakeledger', current_schema()),
       clock_timestamp() as now
"""
_BEGIN_READ = """
begin isolation level repeatable read read only;
select set_config('lakeledger.tenant', {tenant}, true), clock_timestamp() as now
"""

# A client that was stopped while it sends a batch or reads an answer is `active` to the server, which then never loses patience with it.
# Whoever has waited in vain for its lock ends it. (The functions are those of PostgreSQL 14; the lock's name is in `classid`.)
_END_STALLED = """
select pg_terminate_backend(activity.pid, 5000)
  from pg_stat_activity activity
 where activity.state = 'active' and activity.wait_event_type = 'Client'
   and current_setting('idle_in_transaction_session_timeout')::interval > interval '0'
   and greatest(activity.query_start, activity.state_change)
       < clock_timestamp() - current_setting('idle_in_transaction_session_timeout')::interval
   and activity.pid in (
       select pid from pg_locks
        where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
          and classid in (hashtext('lakeledger.writer')::oid, hashtext('lakeledger.writer.' || current_schema())::oid))
"""


class PostgresDatabase:
    """One PostgreSQL database. Its tables are in the schema that is named, else in the url's search_path, else in `lakeledger`."""

    dialect = "postgres"

    def __init__(self, url: str, schema: str | None = None, connections: int = DEFAULT_CONNECTIONS) -> None:
        self.url = scrub("%20".join(url.split()))
        self._target = url
        self._options = self._url_options()
        self._schema = schema or (None if "search_path" in self._options else DEFAULT_SCHEMA)
        self._pool = Pool(self._connect, _is_stale, connections)
        self._listener = Listener(self._connect, CONNECT_SECONDS)
        with self._translated(), self._pool.connection():
            pass  # whoever opens it hears at once that it cannot be reached

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        began: list[datetime] = []
        writing = _BEGIN_WRITE if tenant_id else _BEGIN_WRITE_ALONE
        script = (writing if write else _BEGIN_READ).format(tenant=_quoted(tenant_id)).encode()
        with self._translated(), self._pool.connection(lambda each: began.append(_begin(each, script))) as connection:
            try:
                yield Transaction(tenant_id, began[-1], self.dialect, _Bound(connection))
            except BaseException:
                with suppress(psycopg.Error):  # A server that is gone has rolled back; what went wrong before is the news.
                    connection.execute("rollback")
                raise
            connection.execute("commit")

    def make_place(self) -> None:
        with self._translated(), self._pool.connection() as connection:
            if self._schema:
                _make_schema(connection, self._schema)

    def run_script(self, tx: Transaction, script: str) -> None:
        cast("_Bound", tx.connection).raw.execute(script.encode())

    def stamp(self) -> str:
        found: list[Any] = []
        ask = "select pg_current_snapshot()::text as stamp"
        with self._translated(), self._pool.connection(lambda each: found.append(each.execute(ask).fetchone())):
            return str(found[-1]["stamp"])

    def mark(self) -> str:
        return self._listener.mark()

    def wait(self, timeout: float, since: str | None = None) -> bool:
        return self._listener.wait(timeout, since or self.mark())

    def connections(self) -> dict[str, int]:
        return self._pool.usage()

    def close(self) -> None:
        self._listener.close()
        self._pool.close()

    def _connect(self) -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(
            self._target,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=CONNECT_SECONDS,
            application_name="lakeledger",
            options=self._session_options(),
            **self._client_bounds(),
        )

    def _client_bounds(self) -> dict[str, Any]:
        return {name: value for name, value in _CLIENT_BOUNDS.items() if name not in self._target}

    def _url_options(self) -> str:
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._target)
        except psycopg.ProgrammingError:
            given = {"host": "@"}
        if "@" in str(given.get("host")):
            # psycopg would quote what it cannot read, which may be a piece of the password.
            raise Invalid(f"cannot read the url {self.url}: percent-encode what is special in the user name and the password") from None
        return str(given.get("options") or "")

    def _session_options(self) -> str:
        """Bounds for every wait, which the url's own options may change; UTC and the schema, which they may not."""
        bounds = " ".join(f"-c {name}={value}" for name, value in _SERVER_BOUNDS.items())
        path = f" -c search_path={self._schema}" if self._schema else ""
        return f"{bounds} {self._options} -c TimeZone=UTC{path}"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._translate(error) from error
        except UnicodeEncodeError as error:
            raise Invalid(unkept(error)) from error

    def _translate(self, error: psycopg.Error) -> LakeledgerError:
        text = str(error).strip().partition("\n")[0]
        kind, message = next((kind, message) for raised, kind, message in _TRANSLATIONS if isinstance(error, raised))
        if isinstance(error, psycopg.errors.FeatureNotSupported) and "during recovery" in text:
            return Unavailable(f"PostgreSQL at {self.url} is a standby that has not taken over: {text}; try again when it takes writes")
        return kind(message.format(url=self.url, text=text))


# What the driver raises, what it is here, and what is said; the first that fits.
_TRANSLATIONS: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], type[LakeledgerError], str], ...] = (
    (psycopg.errors.IntegrityError, Conflict, "the ledger refused a row: {text}"),
    (
        (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure),
        Unavailable,
        "another transaction got in the way: {text}; nothing was written, try again",
    ),
    (psycopg.errors.InsufficientPrivilege, Forbidden, "{url}: {text}; ask for the right or open another database"),
    (
        (psycopg.errors.UntranslatableCharacter, psycopg.errors.CharacterNotInRepertoire),
        Invalid,
        "the ledger cannot keep that text ({text}): take out NUL and halves of characters",
    ),
    (psycopg.errors.InvalidSchemaName, Invalid, "{url}: {text}; create the schema that search_path names, or ask for the right to use it"),
    (psycopg.DataError, Invalid, "the ledger cannot keep that value: {text}"),
    (
        psycopg.errors.LockNotAvailable,
        Unavailable,
        f"another writer has held the ledger at {{url}} for more than {LOCK_SECONDS} s: try again; pg_stat_activity shows who",
    ),
    (
        psycopg.errors.IdleInTransactionSessionTimeout,
        Unavailable,
        f"PostgreSQL at {{url}} ended a transaction that did nothing for {IDLE_SECONDS} s; nothing of it was written, try again",
    ),
    (psycopg.OperationalError, Unavailable, "PostgreSQL at {url} cannot be reached: {text}; check that it runs and that the url is right"),
    (psycopg.Error, Failed, "PostgreSQL failed at {url}: {text}"),
)


def _is_stale(error: Exception) -> bool:
    """Whether the server has let go of an idle connection; one that waited in vain for a lock has a server that is there."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, psycopg.errors.LockNotAvailable)


def _begin(connection: psycopg.Connection[dict[str, Any]], script: bytes) -> datetime:
    """Begin a transaction; what time it is."""
    try:
        cursor = connection.execute(script)
    except psycopg.errors.LockNotAvailable:
        if not _end_stalled(connection):
            raise
        cursor = connection.execute(script)
    cursor.nextset()
    now: datetime = cast("dict[str, Any]", cursor.fetchone())["now"]
    return now


def _end_stalled(connection: psycopg.Connection[dict[str, Any]]) -> bool:
    """End the clients that hold up writers and were stopped inside a statement; whether there was one."""
    connection.execute("rollback")
    try:
        return bool(connection.execute(_END_STALLED).fetchall())
    except psycopg.Error:  # Another role's client, which we may not end, or a server without these functions: then it is waited for.
        return False


def _make_schema(connection: psycopg.Connection[dict[str, Any]], schema: str) -> None:
    """Make the schema unless it is there: whoever may only use one need not have the right to make one."""
    there = "select 1 from pg_namespace where nspname = %(schema)s"
    if connection.execute(there, {"schema": schema}).fetchone() is None:
        with suppress(psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema):  # somebody else was a moment earlier
            connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))


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
    return {name: Jsonb(value, dumps=to_json) if isinstance(value, dict | list) else value for name, value in parameters.items()}
