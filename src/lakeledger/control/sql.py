"""One SQL statement on the control table without Spark: INSERT, UPDATE, DELETE or SELECT, checked, and one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger import clock
from lakeledger.control import edits, scratch, sql_checks
from lakeledger.control.columns import TIMES, Columns
from lakeledger.control.model import JobRow, Snapshot
from lakeledger.control.scratch import Touched
from lakeledger.control.statements import Kind, Statement, parse
from lakeledger.control.table import ControlTable
from lakeledger.errors import Conflict
from lakeledger.redaction import scrub

MOST_ROWS = 10_000
_LONGEST_REASON = 500


@dataclass(frozen=True)
class SqlResult:
    """What a statement did, and the table after it. A SELECT has rows; `is_cut` says that there were more."""

    kind: Kind
    snapshot: Snapshot
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    is_cut: bool = False
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def changed(self) -> int:
        return self.inserted + self.updated + self.deleted


def run(table: ControlTable, statement: str, by: str, *, jobs: Sequence[JobRow] | None = None, limit: int = MOST_ROWS) -> SqlResult:
    """Run one statement on the newest rows; `jobs` are the rows of `<name>_jobs`, which can only be read.

    A write is one commit, or none if it changes nothing. If somebody changes one of its rows meanwhile, the statement is run again.
    Raises Invalid with everything that is wrong, and Conflict if others change its rows all the time.
    """
    parsed = parse(statement, table.name, has_jobs=jobs is not None)
    if parsed.kind == "SELECT":
        return _select(table, parsed, jobs, limit)
    for _ in edits.attempts():
        try:
            return _write(table, parsed, by, _reason(statement))
        except Conflict as error:
            if not error.retryable:
                raise
            conflict = error
    raise conflict


def _select(table: ControlTable, statement: Statement, jobs: Sequence[JobRow] | None, limit: int) -> SqlResult:
    snapshot = table.read()
    found = scratch.select(statement, snapshot, table.name, clock.now(), limit + 1, jobs)
    flags = [index for index, name in enumerate(found.columns) if name.lower() == "is_active"]
    rows = tuple(_with_flags(row, flags) for row in found.rows[:limit])
    return SqlResult("SELECT", snapshot, found.columns, rows, is_cut=len(found.rows) > limit)


def _write(table: ControlTable, statement: Statement, by: str, reason: str) -> SqlResult:
    snapshot, now, columns = table.read(), clock.now(), statement.target
    touched, left = scratch.change(statement, snapshot, table.name, now)
    edit = sql_checks.edit_of(columns, touched, left, snapshot, now)
    after = table.commit(edit, snapshot, by, reason) if edit else snapshot
    return SqlResult(
        statement.kind,
        after,
        inserted=sum(each.before is None for each in touched),
        updated=sum(_is_update(columns, each) for each in touched),
        deleted=sum(each.after is None for each in touched),
    )


def _is_update(columns: Columns, touched: Touched) -> bool:
    """Whether more than the times of the row changed."""
    if touched.before is None or touched.after is None:
        return False
    pairs = zip(columns.names, touched.before, touched.after, strict=True)
    return any(before != after for name, before, after in pairs if name not in TIMES)


def _with_flags(row: tuple[Any, ...], flags: Sequence[int]) -> tuple[Any, ...]:
    """SQLite's 0 and 1 where a truth value is meant."""
    return tuple(bool(value) if index in flags and value in (0, 1) else value for index, value in enumerate(row)) if flags else row


def _reason(statement: str) -> str:
    text = scrub(" ".join(statement.split()))
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
