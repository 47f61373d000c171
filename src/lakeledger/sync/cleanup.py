"""Forgetting what is over: in small transactions, so that nobody else waits, and counted exactly.

What is open, pending, running or current is never touched, however old it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from lakeledger.config import RetentionSettings
from lakeledger.db import Store, Transaction
from lakeledger.db.queries import Query, load
from lakeledger.sync.schemas import store as schemas

sql = load("lakeledger.sync", "cleanup.sql")

# A writer waits for at most one chunk, which is made to take about this long, and gets its turn in the pause after it.
CHUNK_SECONDS = 0.025
FIRST_CHUNK, LARGEST_CHUNK = 100, 5_000

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Rule:
    """What of one table is over: how it is counted, and how the next few rows are deleted."""

    table: str
    cutoff: datetime
    count: Query
    delete: Query


def clean(
    store: Store, retention: RetentionSettings, *, dry_run: bool = False, progress: Progress = lambda _table, _count: None
) -> dict[str, int]:
    """Delete, or with `dry_run` only count, what is older than its retention: rows by table."""
    with store.read() as tx:
        rules = _rules(retention, tx.now)
        if dry_run:
            counts = {rule.table: _count(tx, rule) for rule in rules}
            return {**counts, "schema_registry": schemas.count_old(tx, retention.schema_versions)}
    removed = dict.fromkeys([*(rule.table for rule in rules), "schema_registry"], 0)
    for table, chunk in _chunks(store, rules, retention.schema_versions):
        removed[table] += chunk
        progress(table, removed[table])
    return removed


def _rules(retention: RetentionSettings, now: datetime) -> list[Rule]:
    """Letters before their errors, and errors before their runs: what others hang on goes last."""

    def cutoff(days: float) -> datetime:
        return now - timedelta(days=days)

    return [
        Rule("dead_letter_queue", cutoff(retention.dead_letters_days), sql.count_letters, sql.delete_letters),
        Rule("error_log", cutoff(retention.errors_days), sql.count_errors, sql.delete_errors),
        Rule("sync_marker_history", cutoff(retention.positions_days), sql.count_history, sql.delete_history),
        Rule("pipeline_runs", cutoff(retention.runs_days), sql.count_runs, sql.delete_runs),
    ]


def _count(tx: Transaction, rule: Rule) -> int:
    row = tx.one(rule.count, cutoff=rule.cutoff) or {}
    return int(row["number"])


def _chunks(store: Store, rules: list[Rule], schema_versions: int) -> Iterator[tuple[str, int]]:
    for rule in rules:
        for removed in _paced(store, partial(_delete, rule)):
            yield rule.table, removed
    for removed in _paced(store, lambda tx, limit: schemas.archive_old(tx, schema_versions, limit)):
        yield "schema_registry", removed


def _delete(rule: Rule, tx: Transaction, limit: int) -> int:
    if rule.table == "pipeline_runs":
        tx.execute(sql.delete_transitions, cutoff=rule.cutoff, chunk=limit)
    return tx.execute(rule.delete, cutoff=rule.cutoff, chunk=limit)


def _paced(store: Store, work: Callable[[Transaction, int], int]) -> Iterator[int]:
    """Chunk after chunk until one comes back short, each as large as fits the time, with a pause of the same length between."""
    size = FIRST_CHUNK
    while True:
        with store.write() as tx:
            start = time.perf_counter()
            removed = work(tx, size)
        took = time.perf_counter() - start
        yield removed
        if removed < size:
            return
        size = max(1, min(LARGEST_CHUNK, int(size * min(2.0, CHUNK_SECONDS / took))))
        time.sleep(took)
