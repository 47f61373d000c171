"""Forgetting what is over: in small transactions, so that nobody else waits, and counted exactly.

What is open, pending, running or current is never touched, however old it is.
"""

# ruff: noqa: S608 - SQL built from our own constants
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from lakeledger.config import RetentionSettings
from lakeledger.db import Row, Store, Transaction
from lakeledger.db.derived import forget_silently
from lakeledger.db.queries import Query, parse, statement
from lakeledger.records import retention as records
from lakeledger.sync.schemas import store as schemas

# A writer waits for at most one chunk, which is made to take about this long, and gets its turn in the pause after it. One of another
# process on SQLite looks whether it is its turn every 25 ms at first, then ever more rarely: the pause must not be over between two looks.
CHUNK_SECONDS = 0.04
PAUSE_SECONDS = 0.025
# A part of that time is the same however few rows there are: without a smallest chunk, slow ones would become ever smaller and never end.
SMALLEST_CHUNK, FIRST_CHUNK, LARGEST_CHUNK = 100, 100, 5_000
# What there is to delete is looked for without holding anybody up, so many rows at a time; versions of schemas are large.
PAGE, PAGE_OF_SCHEMAS = 5_000, 500
MOST_DAYS = 1_000_000

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_WAITING = "letter.tenant_id = :tenant_id and letter.status in ('pending', 'processing')"

RECORDS = "metadata_records"

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Rule:
    """What of one table is over: its key, the time that counts, on what conditions, and the setting that says how long it is kept."""

    table: str
    key: str
    at: str
    over: str
    days: str

    @property
    def count(self) -> Query:
        return statement(f"select count(*) as number from {self.table} where tenant_id = :tenant_id and {self._old}")

    @property
    def find(self) -> Query:
        return statement(
            f"select {self.key} as id, {self.at} as at from {self.table} where tenant_id = :tenant_id and {self._old}"
            f" and ({self.at}, {self.key}) > (:after_at, cast(:after_id as text)) order by {self.at}, {self.key} limit :page_size"
        )

    @property
    def still(self) -> Query:
        """Those of the found ones that are over still: somebody may have come back to one.

        `tenant_id || ''`: were the tenant something that an index can find, SQLite would go through all that is over, chunk after chunk.
        """
        return by_ids(f"select {self.key} as id from {self.table} where {self.key} LISTED and tenant_id || '' = :tenant_id and {self._old}")

    @property
    def delete(self) -> Query:
        return by_ids(f"delete from {self.table} where {self.key} LISTED")

    @property
    def _old(self) -> str:
        return f"{self.at} < :cutoff and {self.over}"


def by_ids(text: str) -> Query:
    """A statement about the rows with certain ids, which each database finds by the key in its own way."""
    lists = {"sqlite": "in (select value from json_each(:ids))", "postgres": "= any(array(select jsonb_array_elements_text(:ids)))"}
    named = (f"-- name: by_ids@{dialect}\n{text.replace('LISTED', listed)}\n" for dialect, listed in lists.items())
    return parse("".join(named)).by_ids


_OPEN_ERROR = "select 1 from error_log error where error.tenant_id = :tenant_id and error.status = 'open' and error.sync_run_id ="
_OF_RUNS = (
    f"not exists ({_OPEN_ERROR} pipeline_logging_id)"
    f" and not exists (select 1 from dead_letter_queue letter where {_WAITING} and letter.sync_run_id = pipeline_logging_id)"
    "\n and run_kind = :run_kind -- optional\n"
)
# Letters before their errors, and errors before their runs: what others hang on goes last.
RULES = (
    Rule("dead_letter_queue", "id", "resolved_at", "status in ('resolved', 'discarded')", "dead_letters_days"),
    Rule(
        "error_log",
        "id",
        "resolved_at",
        f"status <> 'open' and not exists (select 1 from dead_letter_queue letter where {_WAITING} and letter.error_log_id = error_log.id)",
        "errors_days",
    ),
    Rule(
        "sync_marker_history",
        "id",
        "updated_at",
        "not forced and version < (select version from sync_markers marker where marker.id = sync_marker_history.marker_id)",
        "positions_days",
    ),
    Rule("dq_results", "dq_result_id", "executed_at", "1 = 1", "quality_days"),
    Rule("recon_results", "recon_result_id", "ended_at", "ended_at is not null", "records_days"),
    Rule("local_job_runs", "id", "ended_at", "ended_at is not null", "runs_days"),
    Rule("pipeline_runs", "pipeline_logging_id", "end_time", f"idempotency_key is null and {_OF_RUNS}", "runs_days"),
    # While a run with an idempotency key is there, the same work is not done again.
    Rule("pipeline_runs", "pipeline_logging_id", "end_time", f"idempotency_key is not null and {_OF_RUNS}", "keyed_runs_days"),
)
STEPS_OF = by_ids("select step_logging_id as id from step_logs where pipeline_logging_id LISTED")
FORGET_STEPS = by_ids("delete from step_logs where step_logging_id LISTED")
# What these left in the warehouse, a sweep has yet to find (see tables/sweep.py).
REMEMBER_UNDONE = by_ids(
    "insert into forgotten_runs (run_id, tenant_id, forgotten_at) select pipeline_logging_id, tenant_id, :now from pipeline_runs"
    " where pipeline_logging_id LISTED and status <> 'COMPLETED'"
)
FORGET_TRANSITIONS = by_ids("delete from state_transitions where entity_id LISTED")

# Up to where every subscriber has handled everything: its cursor, or the lanes in which it is behind.
_READ_BY_ALL = (
    "(select coalesce(min(seq), 9223372036854775807) from ("
    "select seq from subscriber_cursor where tenant_id = :tenant_id"
    " union all select next_seq - 1 from delivery where tenant_id = :tenant_id) handled)"
)
# Events that every subscriber has read, if they are old enough. `seq + 0`: SQLite takes one end of a range, and it must be the chunk's.
CHANGES = parse(f"""
-- name: count
select count(*) as number from change_log where tenant_id = :tenant_id and at < :cutoff and seq <= {_READ_BY_ALL}

-- name: find
select seq from change_log
 where tenant_id = :tenant_id and seq > :after and at < :cutoff and seq <= {_READ_BY_ALL}
 order by seq
 limit :page_size

-- name: prune
delete from change_log
 where tenant_id = :tenant_id and seq between :first and :last and at < :cutoff and seq + 0 <= {_READ_BY_ALL}

-- name: note
-- Whoever reads the log at its own pace finds out that it missed something.
insert into change_log_trimmed (tenant_id, seq) values (:tenant_id, :last)
on conflict (tenant_id) do update set seq = excluded.seq where change_log_trimmed.seq < excluded.seq
""")

# Of every subscriber, up to where it has handled everything, and the first change behind that.
_WAITED_FOR = parse("""
-- name: handled
select subscriber, min(seq) as seq from (
    select subscriber, seq from subscriber_cursor where tenant_id = :tenant_id
    union all select subscriber, next_seq - 1 from delivery where tenant_id = :tenant_id) handled
 group by subscriber
 order by subscriber

-- name: first_behind
select at from change_log where tenant_id = :tenant_id and seq > :seq order by seq limit 1
""")


def waited_for(store: Store, retention: RetentionSettings) -> dict[str, str]:
    """The subscribers for which changes are kept that are older than they are kept otherwise; what is wrong by subscriber."""
    found = {}
    with store.read() as tx:
        cutoff = _Chosen(retention, tx.now, None).before("changes_days")
        for row in tx.all(_WAITED_FOR.handled):
            first = tx.one(_WAITED_FOR.first_behind, seq=row["seq"])
            if first and first["at"] < cutoff:
                name = row["subscriber"]
                found[name] = (
                    f"the change log is kept since {first['at']:%Y-%m-%d %H:%M:%S} UTC for subscriber {name}, which has not handled it: "
                    f"start `lakeledger astha`, or forget it with `lakeledger events forget {name} --apply`"
                )
    return found


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
        chosen = _Chosen(retention, tx.now, run_kind)
        if dry_run:
            return _count(tx, chosen)
    removed = dict.fromkeys([*(rule.table for rule in RULES), RECORDS, "change_log", "schema_registry"], 0)
    for table, count in _chunks(store, chosen):
        removed[table] += count
        progress(table, removed[table])
        if stop():
            break
    return removed


@dataclass(frozen=True)
class _Chosen:
    """What is to go: as old as the settings say now, and of which kind of runs."""

    retention: RetentionSettings
    now: datetime
    run_kind: str | None

    def before(self, days: str) -> datetime:
        """The time before which what that setting is about is old."""
        kept = timedelta(days=min(getattr(self.retention, days), MOST_DAYS))
        return self.now - min(kept, self.now - _LONG_AGO)

    def parameters(self, rule: Rule) -> dict[str, Any]:
        return {"cutoff": self.before(rule.days), "run_kind": self.run_kind}


def _count(tx: Transaction, chosen: _Chosen) -> dict[str, int]:
    found = [(rule.table, tx.one(rule.count, **chosen.parameters(rule)) or {}) for rule in RULES]
    found.append((RECORDS, {"number": sum(records.count_old(tx, kind, cutoff) for kind, cutoff in _old_kinds(tx, chosen))}))
    found.append(("change_log", tx.one(CHANGES.count, cutoff=chosen.before("changes_days")) or {}))
    counts: Counter[str] = Counter()
    for table, row in found:
        counts[table] += int(row["number"])
    return {**counts, "schema_registry": schemas.count_old(tx, chosen.retention.schema_versions)}


def _old_kinds(tx: Transaction, chosen: _Chosen) -> list[tuple[str, datetime]]:
    """The kinds of records that are not kept for good, with the time before which each is old.

    What goes to Parquet before it goes is left to `records retention`, which has a place for that.
    """
    found = (each for each in records.kept(tx, chosen.retention.records_days) if not each.archive)
    return [(each.kind, cutoff) for each in found if (cutoff := each.before(chosen.now))]


def _find_records(kind: str, cutoff: datetime, tx: Transaction, last: Row | None) -> list[Row]:
    return records.find_old(tx, kind, cutoff, PAGE, last)


def _forget_records(tx: Transaction, found: list[Row]) -> int:
    return records.forget(tx, [row["seq"] for row in found])


@dataclass(frozen=True)
class _Work:
    """What is over in one table: how the first page of it is found, or the one after a row; and how it is removed, if it still may be."""

    table: str
    find: Callable[[Transaction, Row | None], list[Row]]
    remove: Callable[[Transaction, list[Row]], int]


def _work(store: Store, chosen: _Chosen) -> Iterator[_Work]:
    for rule in RULES:
        yield _Work(rule.table, partial(_find, rule, chosen), partial(_delete, rule, chosen))
    with store.read() as tx:
        old = _old_kinds(tx, chosen)
    for kind, cutoff in old:
        yield _Work(RECORDS, partial(_find_records, kind, cutoff), _forget_records)
    yield _Work("change_log", partial(_find_events, chosen), partial(_prune, chosen))
    yield _Work("schema_registry", partial(schemas.find_old, chosen.retention.schema_versions, PAGE_OF_SCHEMAS), schemas.archive)


def _chunks(store: Store, chosen: _Chosen) -> Iterator[tuple[str, int]]:
    for work in _work(store, chosen):
        pace = _Pace(store)
        for found in _pages(store, work):
            for count in pace.remove(found, work):
                yield work.table, count


def _pages(store: Store, work: _Work) -> Iterator[list[Row]]:
    """What there is to remove, each page from where the one before ended: what has gone is not gone through again."""
    last: Row | None = None
    while True:
        with store.read() as tx:
            found = work.find(tx, last)
        if not found:
            return
        yield found
        last = found[-1]


class _Pace:
    """Chunk after chunk of one table, each as large as fits the time, with a pause after it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._size = FIRST_CHUNK

    def remove(self, found: list[Row], work: _Work) -> Iterator[int]:
        """Remove these rows; how many went, chunk by chunk."""
        while found:
            chunk, found = found[: self._size], found[self._size :]
            yield self._timed(chunk, work)

    def _timed(self, chunk: list[Row], work: _Work) -> int:
        with self._store.write() as tx:
            start = time.perf_counter()
            count = work.remove(tx, chunk)
        took = time.perf_counter() - start
        if took > CHUNK_SECONDS or len(chunk) == self._size:  # The last chunk of a page is a short one, which says little.
            self._size = max(SMALLEST_CHUNK, min(LARGEST_CHUNK, int(len(chunk) * min(2.0, CHUNK_SECONDS / took))))
        time.sleep(max(PAUSE_SECONDS, took / 2))
        return count


def _find(rule: Rule, chosen: _Chosen, tx: Transaction, last: Row | None) -> list[Row]:
    """Oldest first."""
    after = {"after_at": last["at"], "after_id": last["id"]} if last else {"after_at": _LONG_AGO, "after_id": ""}
    return tx.all(rule.find, **chosen.parameters(rule), page_size=PAGE, **after)


def _delete(rule: Rule, chosen: _Chosen, tx: Transaction, found: list[Row]) -> int:
    over = [row["id"] for row in tx.all(rule.still, ids=[row["id"] for row in found], **chosen.parameters(rule))]
    with forget_silently(tx):
        if rule.table == "pipeline_runs":
            tx.execute(REMEMBER_UNDONE, ids=over)
            _forget_steps(tx, over)
        tx.execute(rule.delete, ids=over)
    return len(over)


def _find_events(chosen: _Chosen, tx: Transaction, last: Row | None) -> list[Row]:
    return tx.all(CHANGES.find, cutoff=chosen.before("changes_days"), after=last["seq"] if last else 0, page_size=PAGE)


def _prune(chosen: _Chosen, tx: Transaction, found: list[Row]) -> int:
    pruned = tx.execute(CHANGES.prune, cutoff=chosen.before("changes_days"), first=found[0]["seq"], last=found[-1]["seq"])
    if pruned:
        tx.execute(CHANGES.note, last=found[-1]["seq"])
    return pruned


def _forget_steps(tx: Transaction, run_ids: list[str]) -> None:
    """What belongs to runs goes with them: their steps, and the states that both went through."""
    steps = [row["id"] for row in tx.all(STEPS_OF, ids=run_ids)]
    tx.execute(FORGET_TRANSITIONS, ids=[*run_ids, *steps])
    tx.execute(FORGET_STEPS, ids=steps)
