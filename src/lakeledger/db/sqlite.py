"""SQLite: the embedded default. WAL, one writer at a time, readers on their own connections."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from lakeledger import clock, codec
from lakeledger.config import DEFAULT_CONNECTIONS
from lakeledger.db import Cursor, Transaction, to_json, unkept
from lakeledger.db.pool import Pool
from lakeledger.errors import Conflict, Failed, Invalid, LakeledgerError, Unavailable

BUSY_SECONDS = 30.0
RETRY_SECONDS = 0.005
# How often it is asked, by whoever waits, whether another process has committed; a commit of this one is told at once.
POLL_SECONDS = 0.05


class SqliteDatabase:
    """One database file."""

    dialect = "sqlite"

    def __init__(self, url: str, connections: int = DEFAULT_CONNECTIONS) -> None:
        path = url.removeprefix("sqlite://")
        if not path.startswith("/") or path == "/" or ":memory:" in path:
            raise Invalid(f"cannot open {url!r}: write sqlite:///file.db (relative) or sqlite:////folder/file.db (absolute)")
        self.path = Path(path[1:])
        self.url = url
        self._pool = Pool(self._connect, size=connections)
        self._writing = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self._watching = threading.Lock()
        self._closed = threading.Event()
        self._commits = 0
        self._committed = threading.Condition()
        self._prepare()

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        # There is one writer: it need not wait for a connection, too, which readers that wait for it may have.
        begin = _begin_write if write else _begin_read
        with self._translated(), self._turn() if write else nullcontext(), self._pool.connection(begin, at_once=write) as connection:
            try:
                yield Transaction(tenant_id, clock.now(), self.dialect, _Bound(connection))
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
            if write:
                self._tell()

    def _tell(self) -> None:
        """Wake whoever waits in this process."""
        with self._committed:
            self._commits += 1
            self._committed.notify_all()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads of one process queue on a lock, which is fair; SQLite's own busy wait is only for other processes."""
        if not self._writing.acquire(timeout=BUSY_SECONDS):
            raise self._busy()
        try:
            yield
        finally:
            self._writing.release()

    def _busy(self) -> Unavailable:
        return Unavailable(f"another writer has held {self.path} for more than {BUSY_SECONDS:.0f} s: try again")

    def make_place(self) -> None:
        """The file is made when it is opened."""

    def run_script(self, tx: Transaction, script: str) -> None:
        for statement in split_statements(script):
            tx.connection.execute(statement, {})

    def stamp(self) -> str:
        # A connection of its own: what it sees change was committed by others, and here all writers are others.
        with self._translated(), self._watching:
            self._watcher = self._watcher or self._connect()
            return str(self._watcher.execute("pragma data_version").fetchone()[0])

    def mark(self) -> str:
        return self.stamp()

    def wait(self, timeout: float, since: str | None = None) -> bool:
        ends = time.monotonic() + timeout
        try:
            known = since or self.stamp()
            while True:
                told = self._commits
                if self.stamp() != known:
                    return True
                left = ends - time.monotonic()
                if left <= 0 or self._closed.is_set():
                    return False
                self._hear(told, min(left, POLL_SECONDS))
        except LakeledgerError:  # whoever looks is told what is wrong
            self._closed.wait(min(timeout, POLL_SECONDS))
            return True

    def _hear(self, told: int, seconds: float) -> None:
        """Wait for a commit of this process since so many."""
        with self._committed:
            self._committed.wait_for(lambda: self._commits != told, seconds)

    def connections(self) -> dict[str, int]:
        return self._pool.usage()

    def close(self) -> None:
        self._closed.set()
        self._tell()
        self._pool.close()
        with self._watching:
            if self._watcher:
                self._watcher.close()
            self._watcher = None

    def _prepare(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Invalid(f"cannot create the ledger at {self.path}: {error.strerror}; choose a writable folder with --url") from error
        with self._translated(), self._pool.connection() as connection:
            _use_wal(connection)
            connection.execute("select count(*) from sqlite_master")

    def _connect(self) -> sqlite3.Connection:
        for declared, convert in _CONVERTERS.items():
            sqlite3.register_converter(declared, convert)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, detect_types=sqlite3.PARSE_DECLTYPES
        )
        connection.row_factory = sqlite3.Row
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma synchronous = full")
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            raise Invalid(unkept(error)) from error
        except sqlite3.IntegrityError as error:
            raise Conflict(f"the ledger refused a row: {error}") from error
        except sqlite3.OperationalError as error:
            raise self._operational(error) from error
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise Invalid(
                    f"{self.path} is not a usable SQLite database ({error}): restore it from a backup or open another file"
                ) from error
            raise Failed(f"SQLite failed on {self.path}: {error}") from error

    def _operational(self, error: sqlite3.OperationalError) -> Exception:
        text = str(error)
        if "locked" in text or "busy" in text:
            return self._busy()
        if "unable to open" in text or "readonly" in text:
            return Invalid(f"cannot open {self.path} for writing ({text}): check the folder's permissions or choose another --url")
        return Failed(f"SQLite failed on {self.path}: {text}")


class _Bound:
    """A connection that knows how Python values are written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, text: str, parameters: Mapping[str, Any]) -> Cursor:
        return self._connection.execute(text, _encoded(parameters))

    def executemany(self, text: str, rows: Iterable[Mapping[str, Any]]) -> Cursor:
        return self._connection.executemany(text, (_encoded(row) for row in rows))


def _begin_read(connection: sqlite3.Connection) -> None:
    connection.execute("pragma query_only = on")
    connection.execute("begin")


def _begin_write(connection: sqlite3.Connection) -> None:
    connection.execute("pragma query_only = off")
    connection.execute("begin immediate")


def _use_wal(connection: sqlite3.Connection) -> None:
    # Whoever makes a file a WAL file while another does the same is refused at once: SQLite's busy wait does not cover it.
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def split_statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one (`executescript` would commit the open transaction)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


def _encoded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if type(value) in _AS_THEY_ARE else _encode(value) for name, value in parameters.items()}


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return codec.to_text(value)
    if isinstance(value, dict | list):
        return to_json(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Invalid(f"the number {value} is too big for the ledger: it keeps 64 bits")
    return value


_AS_THEY_ARE = frozenset((str, bool, float, type(None)))
_CONVERTERS: dict[str, Callable[[bytes], Any]] = {
    "timestamptz": lambda raw: codec.to_time(raw.decode()),
    "boolean": lambda raw: raw == b"1",
    "jsonb": lambda raw: {} if raw == b"{}" else json.loads(raw.decode()),
}
