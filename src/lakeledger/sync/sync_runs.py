"""Sync runs: runs of the run log that carry changes from one place to another, in the words of those who operate capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from lakeledger.background import Failures
from lakeledger.codec import Id
from lakeledger.db import Store, Transaction
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub_value
from lakeledger.runs import Counters, Fence, Heartbeats, NewRun, Outcome, Run, Status, Worker, failed, recovery
from lakeledger.runs import store as run_store
from lakeledger.sync.lookup import word
from lakeledger.sync.lost_steps import note_lost_step
from lakeledger.sync.masking import plain

KIND = "sync"
REASON_LIMIT = 200


class SyncMode(StrEnum):
    """How a source is synchronised."""

    STREAM = "stream"
    BATCH = "batch"
    INITIAL = "initial"


_MODES = frozenset(SyncMode)


class SyncStatus(StrEnum):
    """The states of a sync run. The run log keeps them in upper case."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class SyncRunStatistics:
    """What a sync run moved."""

    records_processed: int = 0
    records_inserted: int = 0
    records_updated: int = 0
    records_deleted: int = 0
    records_failed: int = 0
    bytes_processed: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise Invalid(f"{name} must be a count, not {value!r}")

    def counters(self) -> Counters:
        """The same as the run log counts."""
        return Counters(
            self.records_processed,
            self.records_inserted,
            self.records_updated,
            self.records_deleted,
            self.records_failed,
            self.bytes_processed,
        )


@dataclass(frozen=True)
class SyncRun:
    """One synchronisation: a row of `pipeline_runs` of the kind `sync`, as the view `sync_runs` shows it.

    A run that was begun through the run log may have no mode; its pipeline then stands for the schema that it does not name.
    """

    id: str
    tenant_id: str
    schema_name: str
    sync_mode: SyncMode | None
    status: SyncStatus
    started_at: datetime
    completed_at: datetime | None
    duration_ms: int | None
    records_processed: int
    records_inserted: int
    records_updated: int
    records_deleted: int
    records_failed: int
    bytes_processed: int
    config_hash: str | None
    source_info: dict[str, Any] | None
    destination_info: dict[str, Any] | None
    instance_id: str | None
    node_id: str | None
    error_message: str | None
    error_details: dict[str, Any] | None
    heartbeat_at: datetime | None

    @property
    def statistics(self) -> SyncRunStatistics:
        return SyncRunStatistics(**{each.name: getattr(self, each.name) for each in fields(SyncRunStatistics)})


@dataclass(frozen=True)
class NewSync:
    """What is known of a sync run before it starts."""

    schema_name: str
    sync_mode: str
    config_hash: str | None = None
    source_info: Mapping[str, Any] | None = None
    destination_info: Mapping[str, Any] | None = None
    instance_id: Id | None = None
    node_id: Id | None = None


class SyncRuns:
    """The sync runs of one tenant. Those that this process starts are kept alive until they end or the handle is closed."""

    def __init__(self, store: Store, worker: Worker, lease_seconds: float, failures: Failures | None = None) -> None:
        self._store = store
        self._worker = worker
        self._lease_seconds = lease_seconds
        self.heartbeats = Heartbeats(store, lease_seconds, failures)

    def start(self, new: NewSync) -> SyncRun:
        """Begin a run under a lease. What is said of source and destination is stored without credentials. Raises Invalid."""
        if not new.schema_name.strip():
            raise Invalid("a sync run needs the name of the schema that it synchronises")
        wanted = NewRun(
            pipeline_id=_pipeline(new.schema_name),
            trigger_type="api",
            run_kind=KIND,
            config_hash=new.config_hash,
            schema_name=new.schema_name,
            sync_mode=word(SyncMode, new.sync_mode).value,
            source_info=plain(new.source_info),
            destination_info=plain(new.destination_info),
            instance_id=None if new.instance_id is None else str(new.instance_id),
            node_id=None if new.node_id is None else str(new.node_id),
        )
        with self._store.write() as tx:
            run = run_store.begin(tx, run_store.add(tx, wanted, self._worker.name).id, self._worker, self._lease_seconds)
        self.heartbeats.add(Fence(run.id, run.lease_token))
        return as_sync_run(run)

    def complete(
        self,
        run_id: Id,
        status: str,
        statistics: SyncRunStatistics | None = None,
        error_message: str | None = None,
        error_details: Mapping[str, Any] | None = None,
    ) -> SyncRun:
        """End a run. Raises NotFound, Conflict if it has already ended, or Invalid if that is no way to end."""
        outcome = _outcome(word(SyncStatus, status), error_message, error_details)

        def end(tx: Transaction, again: bool) -> Run:
            run = _sync_run(tx, run_id)
            if again and run.status == outcome.status:
                return run
            if run.is_open and statistics:
                run_store.count(tx, run.id, statistics.counters())
            return run_store.finish(tx, run.id, outcome, self._worker.name)

        ended = self._store.persist(end)
        self.heartbeats.drop(ended.id)
        return as_sync_run(ended)

    def heartbeat(self, run_id: Id) -> bool:
        """Say that a run that another process began is still at work. False: its lease is lost."""
        with self._store.write() as tx:
            run = _sync_run(tx, run_id)
            return run_store.renew(tx, Fence(run.id, run.lease_token), self._lease_seconds)

    def get(self, run_id: Id) -> SyncRun:
        """The run with that id. Raises NotFound."""
        with self._store.read() as tx:
            return as_sync_run(_sync_run(tx, run_id))

    def list(self, schema_name: str | None = None, limit: int = 50, after: str | None = None) -> Page[SyncRun]:
        """Sync runs, newest first, a page at a time: of one schema or of all. Raises Invalid."""
        with self._store.read() as tx:
            runs = run_store.list_page(tx, schema_name and _pipeline(schema_name), limit=limit, after=after, kind=KIND)
        return Page(map(as_sync_run, runs), runs.next)

    def recover(self, silence: timedelta | None = None) -> Sequence[SyncRun]:
        """End the runs whose worker is lost, or gave no sign for so long. A living one is never ended for its age."""
        with self._store.write() as tx:
            ended = recovery.recover(tx, self._worker, note_lost_step, kind=KIND, silence=silence)
        return [as_sync_run(run) for run in ended]

    def close(self) -> None:
        """Stop keeping runs alive."""
        self.heartbeats.close()


def _sync_run(tx: Transaction, run_id: Id) -> Run:
    """The run, if it is one of capture's. Raises NotFound, or Invalid if it is a run of another kind."""
    run = run_store.get(tx, run_id)
    if run.run_kind != KIND:
        raise Invalid(f"run {run.id} is a {run.run_kind} run, not a sync run: `lakeledger runs show` shows it")
    return run


def as_sync_run(run: Run) -> SyncRun:
    """A run of the log, in the words of capture."""
    same = {each.name: getattr(run, each.name) for each in fields(SyncRun) if hasattr(run, each.name)}
    return SyncRun(
        **{
            **same,
            "schema_name": run.schema_name or run.pipeline_id,
            "sync_mode": SyncMode(run.sync_mode) if run.sync_mode in _MODES else None,
            "status": SyncStatus(run.status.lower()),
            "started_at": run.start_time,
            "completed_at": run.end_time,
        }
    )


def _pipeline(schema_name: str) -> str:
    return f"sync:{schema_name}"


def _outcome(status: SyncStatus, message: str | None, details: Mapping[str, Any] | None) -> Outcome:
    if status in (SyncStatus.PENDING, SyncStatus.RUNNING):
        raise Invalid(f"a sync run cannot end as {status}: use completed, failed or cancelled")
    said = failed(message).error_message if message else None
    kept = None if details is None else scrub_value(plain(dict(details)))
    return Outcome(Status(status.upper()), said, kept, said and said[:REASON_LIMIT])
