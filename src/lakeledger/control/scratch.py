"""A scratch copy of the control table in SQLite, on which one statement is run: it reaches no file, no other table and no end of time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from lakeledger.config import suggest
from lakeledger.control.columns import JOBS, MODULES, SOURCES, Columns
from lakeledger.control.comparisons import time_text
from lakeledger.control.model import JobRow, Snapshot
from lakeledger.control.statements import Statement
from lakeledger.errors import Invalid

SECONDS = 10.0
_BYTES = 64 * 1024 * 1024
_STEPS = 10_000

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_WRITES = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Touched:
    """A row that a statement changed: what it was, and what it is; None if it was not there, or is gone."""

    before: Values | None
    after: Values | None


@dataclass(frozen=True)
class Selected:
    """What a SELECT found."""

    columns: tuple[str, ...]
    rows: list[Values]


def select(
    statement: Statement, snapshot: Snapshot, name: str, now: datetime, limit: int, jobs: Sequence[JobRow] | None = None
) -> Selected:
    """The first rows that a SELECT finds."""
    with _copy(snapshot, name, jobs) as connection, _guarded(connection, _may_read):
        cursor = connection.execute(statement.text, {"now": time_text(now)})
        return Selected(tuple(each[0] for each in cursor.description), cursor.fetchmany(limit))


def change(statement: Statement, snapshot: Snapshot, name: str, now: datetime) -> tuple[list[Touched], list[Values]]:
    """What a write does to its table: the rows that it touches, and all rows as they are then."""
    columns = statement.target
    table = name if columns is SOURCES else f"{name}_modules"

    def may_write(action: int, subject: str | None, detail: str | None) -> bool:
        return _may_read(action, subject, detail) or (action in _WRITES and subject == table)

    with _copy(snapshot, name) as connection:
        before = _rows(connection, table)
        with _guarded(connection, may_write):
            connection.execute(statement.text, {"now": time_text(now)})
        after = _rows(connection, table)
    touched = [Touched(row, after.get(number)) for number, row in before.items() if after.get(number) != row]
    return touched + [Touched(None, row) for number, row in after.items() if number not in before], list(after.values())


@contextmanager
def _copy(snapshot: Snapshot, name: str, jobs: Sequence[JobRow] | None = None) -> Iterator[sqlite3.Connection]:
    """Both tables with all their rows, also those that cannot be read: they can be looked at, and repaired."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute("pragma case_sensitive_like = on")  # as in Spark
        for columns, table, found in ((SOURCES, name, snapshot.sources), (MODULES, f"{name}_modules", snapshot.modules)):
            broken = {problem.row_number: problem.values for problem in snapshot.problems if problem.table == columns.table}
            rows = [*found.values(), *(columns.row(**values) for values in broken.values())]
            _fill(connection, table, columns.names, _stored_rows(columns, rows), columns.defaults)
        if jobs is not None:
            _fill(connection, f"{name}_jobs", JOBS.names, _stored_rows(JOBS, jobs))
        yield connection
    finally:
        connection.close()


def _fill(
    connection: sqlite3.Connection, table: str, names: Sequence[str], rows: Iterable[Values], defaults: Mapping[str, str] | None = None
) -> None:
    """Columns have no types, so that SQLite turns no text into a number: what was written is what is checked."""
    made = [f'"{name}" default {defaults[name]}' if defaults and name in defaults else f'"{name}"' for name in names]
    connection.execute(f'create table "{_quoted(table)}" ({", ".join(made)})')
    connection.execute("begin")
    places = ", ".join("?" for _ in names)
    connection.executemany(f'insert into "{_quoted(table)}" values ({places})', rows)  # noqa: S608 - our own names
    connection.execute("commit")


@contextmanager
def _guarded(connection: sqlite3.Connection, may: Callable[[int, str | None, str | None], bool]) -> Iterator[None]:
    """Let SQLite itself refuse whatever is not allowed, too large or too long."""
    ends = time.monotonic() + SECONDS

    def judge(action: int, subject: str | None, detail: str | None, *_: str | None) -> int:
        return sqlite3.SQLITE_OK if may(action, subject, detail) else sqlite3.SQLITE_DENY

    if may is _may_read:
        connection.execute("pragma query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    connection.set_authorizer(judge)
    try:
        yield
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise Invalid(f"the statement was stopped: it ran for more than {SECONDS:.0f} s") from error
        raise Invalid(_told(error)) from error
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        raise Invalid(f"the statement cannot be run: {error}") from error
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _told(error: sqlite3.OperationalError) -> str:
    what, _, name = str(error).partition("no such column: ")
    if name and not what:
        return f"there is no column {name!r}{suggest(name.rpartition('.')[2], [*SOURCES.names, *MODULES.names])}"
    return f"this does not run without Spark: {error}"


def _may_read(action: int, subject: str | None, detail: str | None) -> bool:
    if action == sqlite3.SQLITE_FUNCTION:
        return detail != "load_extension"
    return action in _READS and not (subject or "").startswith(("sqlite_", "pragma_"))


def _rows(connection: sqlite3.Connection, table: str) -> dict[int, Values]:
    found = connection.execute(f'select rowid, * from "{_quoted(table)}" order by rowid')  # noqa: S608 - our own name
    return {number: tuple(values) for number, *values in found}


def _stored_rows(columns: Columns, rows: Iterable[Any]) -> Iterator[Values]:
    """The rows for SQLite, which keeps everything but the times as it is. Many rows have the same time: its text is made once."""
    texts: dict[datetime | None, str | None] = {None: None}
    values = attrgetter(*columns.said)
    for row in rows:
        for at in (row.created_timestamp, row.updated_timestamp):
            if at not in texts:
                texts[at] = time_text(at)
        yield (*values(row), texts[row.created_timestamp], texts[row.updated_timestamp])


def _quoted(name: str) -> str:
    return name.replace('"', '""')
