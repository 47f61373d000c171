"""The ledger's store: one connection port over SQLite and PostgreSQL.

Slices are plain functions over a `Transaction` and named SQL. A transaction carries its tenant and its time, so neither
is passed around: `:tenant_id` and `:now` are bound in every statement.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from lakeledger import codec
from lakeledger.config import DEFAULT_CONNECTIONS
from lakeledger.db.queries import Query
from lakeledger.errors import Invalid, Unavailable
from lakeledger.redaction import scrub

Row = dict[str, Any]
T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class Cursor(Protocol):
    """What both drivers' cursors have in common."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """One open connection as the adapters see it: statement text and parameters in, a cursor out."""

    def execute(self, text: str, parameters: Mapping[str, Any]) -> Cursor: ...
    def executemany(self, text: str, rows: Iterable[Mapping[str, Any]]) -> Cursor: ...


@dataclass(frozen=True)
class Transaction:
    """One transaction of one tenant at one time. Never open another inside it."""

    tenant_id: str
    now: datetime
    dialect: str
    connection: Connection

    def execute(self, query: Query, **parameters: Any) -> int:
        """Run a statement; the number of rows it changed."""
        return self._run(query, parameters).rowcount

    def one(self, query: Query, **parameters: Any) -> Row | None:
        """The first row, or None."""
        row = self._run(query, parameters).fetchone()
        return None if row is None else dict(row)

    def all(self, query: Query, **parameters: Any) -> list[Row]:
        """Every row."""
        return [dict(row) for row in self._run(query, parameters).fetchall()]

    def many(self, query: Query, rows: Iterable[Mapping[str, Any]]) -> int:
        """Run a statement once per row of parameters; the number of rows that were changed."""
        return max(0, self.connection.executemany(query.text(self.dialect), (self._bound(row) for row in rows)).rowcount)

    def _run(self, query: Query, parameters: Mapping[str, Any]) -> Cursor:
        absent = frozenset(name for name in query.optional if parameters.get(name) is None)
        return self.connection.execute(query.text(self.dialect, absent), self._bound(parameters))

    def _bound(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "now": self.now, **parameters}


class Database(Protocol):
    """A database: transactions for any tenant. Writers are ordered one after the other; readers never wait for them."""

    @property
    def dialect(self) -> str: ...
    @property
    def url(self) -> str:
        """Where it is, without a password."""
        ...

    def transaction(self, tenant_id: str, *, write: bool) -> AbstractContextManager[Transaction]: ...
    def make_place(self) -> None:
        """Create what the tables go into, a folder or a schema, unless it is there."""
        ...

    def run_script(self, tx: Transaction, script: str) -> None:
        """Run several statements inside the transaction."""
        ...

    def stamp(self) -> str:
        """A text that stays the same as long as nobody, in any process, has committed anything."""
        ...

    def mark(self) -> str:
        """A mark of this moment for `wait`: take it before you look at what may change, and no commit is missed between the two."""
        ...

    def wait(self, timeout: float, since: str | None = None) -> bool:
        """True as soon as anybody, in any process, has committed since that mark, or since now; False if the time is up.

        It takes no connection of the pool, and raises nothing: after an outage it is True, since something may have changed.
        """
        ...

    def connections(self) -> dict[str, int]:
        """How many connections of this process are `in_use` and how many `idle`."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Store:
    """A database as one tenant sees it: the handle that every slice is given. `check` has a look at every write before it begins."""

    database: Database
    tenant_id: str
    outage_seconds: float = 300.0
    check: Callable[[Transaction], object] | None = None

    def read(self) -> AbstractContextManager[Transaction]:
        """A consistent view that neither waits for writers nor holds them up."""
        return self.database.transaction(self.tenant_id, write=False)

    def write(self) -> AbstractContextManager[Transaction]:
        """A write transaction: committed at the end of the block, rolled back by an exception."""
        return self._checked(self.check) if self.check else self.database.transaction(self.tenant_id, write=True)

    @contextmanager
    def _checked(self, check: Callable[[Transaction], object]) -> Iterator[Transaction]:
        with self.database.transaction(self.tenant_id, write=True) as tx:
            check(tx)
            yield tx

    def persist(self, work: Callable[[Transaction, bool], T], seconds: float | None = None) -> T:
        """Do work in a write transaction; if the store is away, again with back-off until it is back, for as long as is configured.

        `work` is given whether it was tried before: the answer to a commit can be lost, so it must look whether it is done already.
        Raises Unavailable if the store stays away, and whatever `work` raises.
        """
        give_up = time.monotonic() + (self.outage_seconds if seconds is None else seconds)
        pause = FIRST_PAUSE_SECONDS
        again = False
        while True:
            try:
                with self.write() as tx:
                    return work(tx, again)
            except Unavailable as error:
                left = give_up - time.monotonic()
                if left <= 0:
                    raise
                if not again:
                    _log.warning("%s; work in progress waits for up to %.0f s", error, left)
            again = True
            time.sleep(min(left, pause * random.uniform(0.5, 1)))  # noqa: S311 - jitter, no secret
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def rest(self, seconds: float, since: str | None, stop: threading.Event) -> None:
        """Until somebody commits, the time is up or `stop` is set, whichever is first; that it is set is seen within a second."""
        ends = time.monotonic() + seconds
        while not stop.is_set() and (left := ends - time.monotonic()) > 0:
            if self.database.wait(min(left, 1.0), since):
                return


def to_json(value: Any) -> str:
    """A document as a column keeps it. Raises Invalid for what JSON does not know."""
    try:
        return codec.to_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(unkept(error)) from error


def unkept(error: Exception) -> str:
    """Why a value cannot be kept."""
    return f"the ledger cannot keep that value ({type(error).__name__}: {error}): give what JSON knows"


def open(url: str, schema: str | None = None, connections: int = DEFAULT_CONNECTIONS) -> Database:
    """The database at `sqlite:///path` or `postgresql://…`, there in that schema, over at most so many connections.

    Raises Invalid, Unavailable or NotInstalled.
    """
    if schema is not None and not _SCHEMA.fullmatch(schema):
        raise Invalid(f"schema {schema!r} must match {_SCHEMA.pattern}: lower-case letters, digits, underscores")
    scheme = url.partition("://")[0]
    match scheme:
        case "sqlite":
            from lakeledger.db.sqlite import SqliteDatabase

            return SqliteDatabase(url, connections)
        case "postgresql" | "postgres":
            from lakeledger.db.postgres import PostgresDatabase

            return PostgresDatabase(url, schema, connections)
        case _:
            raise Invalid(f"cannot open {scrub(url)!r}: use sqlite:///path/to/file.db or postgresql://user@host/database")
