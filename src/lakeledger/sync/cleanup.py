"""Forgetting what is over: in small transactions, so that nobody else waits, and counted exactly.

What is open, pending, running or current is never touched, however old it is.
"""

# ruff: noqa: S608 - SQL built from our own constants
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from lakeledger.config import RetentionSettings
from lakeledger.db import Row, Store, Transaction
from lakeledger.db.queries import Query, parse, statement
from lakeledger.sync.schemas import store as schemas

# A writer waits for at most one chunk, which is made to take about this long, and gets its turn in the pause after it.
CHUNK_SECONDS = 0.025
FIRST_CHUNK, LARGEST_CHUNK = 100, 5_000
# What there is to delete is looked for without holding anybody up, so many rows at a time.
PAGE = 5_000
MOST_DAYS = 1_000_000

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_WAITING = "letter.tenant_id = :tenant_id and letter.status in ('pending', 'processing')"

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Rule:
    """What of one table is over: its key, the time that counts, and on what conditions. `first` deletes what hangs on the rows."""

    table: str
    key: str
    at: str
    over: str
    first: str | None = None

    @property
    def count(self) -> Query:
        return statement(f"select count(*) as number from {self.table} where {self._old}")

    @property
    def find(self) -> Query:
        return statement(
            f"select {self.key} as id, {self.at} as at from {self.table}"
            f" where {self._old} and ({self.at}, {self.key}) > (:after_at, cast(:after_id as text))"
            f" order by {self.at}, {self.key} limit :page_size"
        )

    @property
    def still(self) -> Query:
        """Those of the found ones that are over still: somebody may have come back to one."""
        return by_ids(f"select {self.key} as id from {self.table} where {self._old} and {self.key} in (IDS)")

    @property
    def deletes(self) -> list[Query]:
        texts = [self.first, f"delete from {self.table} where {self.key} in (IDS)"]
        return [by_ids(text) for text in texts if text]

    @property
    def _old(self) -> str:
        return f"{self.table}.tenant_id = :tenant_id and {self.at} < :cutoff and {self.over}"


def by_ids(text: str) -> Query:
    """A statement about the rows with certain ids, which each database takes in its own way."""
    lists = {"sqlite": "select value from json_each(:ids)", "postgres": "select jsonb_array_elements_text(:ids)"}
    named = (f"-- name: by_ids@{dialect}\n{text.replace('IDS', ids)}\n" for dialect, ids in lists.items())
    return parse("".join(named)).by_ids


_LETTERS = Rule("dead_letter_queue", "id", "resolved_at", "status in ('resolved', 'discarded')")
_ERRORS = Rule(
    "error_log",
    "id",
    "resolved_at",
    f"status <> 'open' and not exists (select 1 from dead_letter_queue letter where {_WAITING} and letter.error_log_id = error_log.id)",
)
_HISTORY = Rule(
    "sync_marker_history",
    "id",
    "updated_at",
    "not forced and version < (select version from sync_markers marker where marker.id = sync_marker_history.marker_id)",
)
# A run that completed under an idempotency key is what keeps the same work from being done again.
_RUNS = Rule(
    "pipeline_runs",
    "pipeline_logging_id",
    "end_time",
    "status in ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED') and (idempotency_key is null or status <> 'COMPLETED')"
    " and (cast(:run_kind as text) is null or run_kind = :run_kind)"
    " and not exists (select 1 from error_log error where error.tenant_id = :tenant_id and error.status = 'open'"
    " and error.sync_run_id = pipeline_logging_id)"
    f" and not exists (select 1 from dead_letter_queue letter where {_WAITING} and letter.sync_run_id = pipeline_logging_id)",
    first="delete from state_transitions where entity_id in"
    " (IDS union all select step_logging_id from step_logs where pipeline_logging_id in (IDS))",
)


def clean(
    store: Store,
    retention: RetentionSettings,
    *,
    run_kind: str | None = None,
    dry_run: bool = False,
    progress: Progress = lambda _table, _count: None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, int]:
    """Delete, or with `dry_run` only count, what is older than its retention: rows by table. Runs of one kind, or of all.

    `stop` is asked after every chunk; what was deleted until then is what is counted.
    """
    with store.read() as tx:
        rules = _rules(retention, tx.now)
        if dry_run:
            counts = {rule.table: _count(tx, rule, cutoff, run_kind) for rule, cutoff in rules}
            return {**counts, "schema_registry": schemas.count_old(tx, retention.schema_versions)}
    removed = dict.fromkeys([*(rule.table for rule, _ in rules), "schema_registry"], 0)
    for table, count in _chunks(store, rules, run_kind, retention.schema_versions):
        removed[table] += count
        progress(table, removed[table])
        if stop():
            break
    return removed


def _rules(retention: RetentionSettings, now: datetime) -> list[tuple[Rule, datetime]]:
    """Letters before their errors, and errors before their runs: what others hang on goes last."""

    def cutoff(days: float) -> datetime:
        return now - min(timedelta(days=min(days, MOST_DAYS)), now - _LONG_AGO)

    return [
        (_LETTERS, cutoff(retention.dead_letters_days)),
        (_ERRORS, cutoff(retention.errors_days)),
        (_HISTORY, cutoff(retention.positions_days)),
        (_RUNS, cutoff(retention.runs_days)),
    ]


def _count(tx: Transaction, rule: Rule, cutoff: datetime, run_kind: str | None) -> int:
    row = tx.one(rule.count, cutoff=cutoff, run_kind=run_kind) or {}
    return int(row["number"])


def _chunks(store: Store, rules: list[tuple[Rule, datetime]], run_kind: str | None, schema_versions: int) -> Iterator[tuple[str, int]]:
    pace = _Pace(store)
    for rule, cutoff in rules:
        for found in _pages(store, rule, cutoff, run_kind):
            for count in pace.delete(found, rule, cutoff, run_kind):
                yield rule.table, count
    for count in pace.repeat(lambda limit, tx: schemas.archive_old(tx, schema_versions, limit)):
        yield "schema_registry", count


def _pages(store: Store, rule: Rule, cutoff: datetime, run_kind: str | None) -> Iterator[list[Row]]:
    """What there is to delete, oldest first."""
    after: dict[str, Any] = {"after_at": _LONG_AGO, "after_id": ""}
    while True:
        with store.read() as tx:
            found = tx.all(rule.find, cutoff=cutoff, run_kind=run_kind, page_size=PAGE, **after)
        if not found:
            return
        yield found
        after = {"after_at": found[-1]["at"], "after_id": found[-1]["id"]}


class _Pace:
    """Chunk after chunk, each as large as fits the time, with a pause of the same length after it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._size = FIRST_CHUNK

    def delete(self, found: list[Row], rule: Rule, cutoff: datetime, run_kind: str | None) -> Iterator[int]:
        """Delete these rows; how many went, chunk by chunk."""
        ids = [row["id"] for row in found]
        while ids:
            chunk, ids = ids[: self._size], ids[self._size :]
            yield self._timed(partial(_delete, rule, chunk, cutoff, run_kind))

    def repeat(self, work: Callable[[int, Transaction], int]) -> Iterator[int]:
        """Do it until a chunk comes back short."""
        while True:
            size = self._size
            count = self._timed(partial(work, size))
            yield count
            if count < size:
                return

    def _timed(self, work: Callable[[Transaction], int]) -> int:
        with self._store.write() as tx:
            start = time.perf_counter()
            count = work(tx)
        took = time.perf_counter() - start
        self._size = max(1, min(LARGEST_CHUNK, int(self._size * min(2.0, CHUNK_SECONDS / took))))
        time.sleep(took)
        return count


def _delete(rule: Rule, ids: list[str], cutoff: datetime, run_kind: str | None, tx: Transaction) -> int:
    over = [row["id"] for row in tx.all(rule.still, ids=ids, cutoff=cutoff, run_kind=run_kind)]
    for query in rule.deletes:
        tx.execute(query, ids=over)
    return len(over)
