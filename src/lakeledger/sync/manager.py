"""`MetadataManager`: one object for everything about capture, with the method names that its users know. New code uses the slices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Protocol, Self

from lakeledger import codec, config
from lakeledger.codec import Id, to_moment
from lakeledger.config import RetentionSettings
from lakeledger.db import migrate
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub, scrub_value, secrets_in
from lakeledger.runs import this_worker
from lakeledger.sync.background import BackgroundCleanup
from lakeledger.sync.capture import Capture
from lakeledger.sync.dead_letters import DeadLetter, NewLetter, Replay
from lakeledger.sync.errors import ErrorLog, NewError
from lakeledger.sync.kinds import PositionLike, TimestampPosition, as_position
from lakeledger.sync.masking import plain
from lakeledger.sync.model import Marker, MarkerType, Source
from lakeledger.sync.schemas import SchemaDefinition, SchemaVersion
from lakeledger.sync.statistics import LONGEST_HOURS
from lakeledger.sync.sync_runs import KIND, NewSync, SyncRun, SyncRunStatistics


class HasCapture(Protocol):
    """An open ledger, as far as it matters here."""

    @property
    def sync(self) -> Capture: ...


class MetadataManager:
    """Where capture stands. `connection_pool` is the URL of a ledger or an open ledger; with a URL, `close` it or use `with`."""

    def __init__(
        self,
        connection_pool: str | HasCapture,
        metadata_schema: str | None = None,
        enable_cleanup: bool = True,
        retention_days: float | None = None,
        *,
        tenant: str | None = None,
    ) -> None:
        """With a PostgreSQL URL, `metadata_schema` is made and used; a SQLite file has no schemas, an open ledger has its own."""
        config.check_given(tenant=tenant)
        _check_target(connection_pool, tenant)
        self._target = connection_pool
        self._schema = metadata_schema
        self._tenant = tenant
        self._retention_days = retention_days
        self._enable_cleanup = enable_cleanup
        self._capture: Capture | None = None
        self._cleanup: BackgroundCleanup | None = None
        self._lock = threading.RLock()
        self._closed = False
        RetentionSettings().of_days(retention_days)
        self._secrets = secrets_in(connection_pool) if isinstance(connection_pool, str) else frozenset()

    def initialize(self) -> None:
        """Open the ledger, make its tables if they are not there, and begin to clean up in the background. Twice does no harm."""
        with self._lock:
            _ = self.capture
            if self._enable_cleanup and self._cleanup is None:
                self._cleanup = BackgroundCleanup(self._clean_in_background, failures=self.capture.background("cleanup"))
                self._cleanup.start()

    def close(self) -> None:
        """Stop what runs in the background; a ledger that was opened here is closed, one that was given is not."""
        with self._lock:
            capture, background, self._closed = self._capture, self._cleanup, True
            self._capture = self._cleanup = None
        if background:
            background.close()
        if capture and isinstance(self._target, str):
            capture.close()
            capture.store.database.close()

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def capture(self) -> Capture:
        """The slices behind it: positions, schemas, runs, errors, dead letters."""
        with self._lock:
            if self._closed:
                raise Invalid("this MetadataManager is closed: make a new one")
            if self._capture is None:
                self._capture = self._open(self._target) if isinstance(self._target, str) else self._target.sync
            return self._capture

    def update_stream_position(
        self,
        schema_name: str,
        position: PositionLike,
        table_name: str | None = None,
        sync_run_id: Id | None = None,
        *,
        order_by: str | None = None,
        expected_version: int | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> Marker:
        """Note how far a stream was read: a document, a whole number, a time or a typed position.

        A document's kind is told by what stands in it; `order_by` names the field that orders a free one.

        Raises Conflict if it would go back (unless forced) or is not at `expected_version`, Fenced if the run has ended.
        """
        source = Source(schema_name, table_name, MarkerType.STREAM)
        to = as_position(position, order_by)
        return self.capture.positions.advance(source, to, expected_version, force=force, reason=reason, run_id=sync_run_id)

    def get_stream_position(self, schema_name: str, table_name: str | None = None) -> dict[str, Any] | None:
        """The document of a stream's position, as it was given, or None."""
        return self._document(Source(schema_name, table_name, MarkerType.STREAM))

    def update_batch_timestamp(
        self,
        schema_name: str,
        timestamp: datetime | str,
        table_name: str | None = None,
        sync_run_id: Id | None = None,
        *,
        force: bool = False,
        reason: str | None = None,
    ) -> Marker:
        """Note up to which time, with its zone, a table was read. Raises Conflict if it would go back, unless forced."""
        source = Source(schema_name, table_name, MarkerType.BATCH)
        return self.capture.positions.advance(
            source, TimestampPosition(to_moment(timestamp)), force=force, reason=reason, run_id=sync_run_id
        )

    def get_batch_timestamp(self, schema_name: str, table_name: str | None = None) -> datetime | None:
        """Up to which time a table was read, or None. Raises Invalid if its position is no time."""
        source = Source(schema_name, table_name, MarkerType.BATCH)
        marker = self.capture.positions.find(source)
        if marker is None:
            return None
        if not isinstance(marker.position, TimestampPosition):
            raise Invalid(f"the position of {source.name} is a {marker.position_kind}, not a timestamp: use `positions show {source.name}`")
        return marker.position.at

    def update_initial_position(
        self, schema_name: str, position: PositionLike, table_name: str | None = None, sync_run_id: Id | None = None
    ) -> Marker:
        """Note where the first copy of a schema or table was taken."""
        source = Source(schema_name, table_name, MarkerType.INITIAL)
        return self.capture.positions.advance(source, as_position(position), run_id=sync_run_id)

    def get_initial_position(self, schema_name: str, table_name: str | None = None) -> dict[str, Any] | None:
        """Where the first copy was taken, or None."""
        return self._document(Source(schema_name, table_name, MarkerType.INITIAL))

    def get_active_markers(self, schema_name: str | None = None) -> Sequence[Marker]:
        """Every position, of one schema or of all."""
        found = self.capture.positions.list()
        return [marker for marker in found if schema_name is None or codec.fold(marker.schema_name) == codec.fold(schema_name)]

    def register_schema(
        self,
        schema_name: str,
        table_name: str,
        schema_definition: SchemaDefinition | Mapping[str, Any],
        evolution_type: str | None = None,
        policy: str | None = None,
        sync_run_id: Id | None = None,
    ) -> SchemaVersion:
        """A new version, or the latest if nothing changed. Raises Conflict if the policy refuses the change."""
        return self.capture.schemas.register(
            Source(schema_name, table_name), schema_definition, evolution_type=evolution_type, policy=policy, run_id=sync_run_id
        )

    def get_schema_version(self, schema_name: str, table_name: str, version: int | None = None) -> SchemaVersion | None:
        """A version of a schema, or the latest; None if there is none."""
        return self.capture.schemas.find(Source(schema_name, table_name), version)

    def get_schema_history(self, schema_name: str, table_name: str) -> Sequence[SchemaVersion]:
        """Every version, oldest first."""
        return self.capture.schemas.history(Source(schema_name, table_name))

    def start_sync_run(
        self,
        schema_name: str,
        sync_mode: str,
        config_hash: str | None = None,
        source_info: Mapping[str, Any] | None = None,
        destination_info: Mapping[str, Any] | None = None,
        instance_id: Id | None = None,
        node_id: Id | None = None,
    ) -> SyncRun:
        """Begin a sync run. It is kept alive until it is completed or this manager is closed. No credentials are stored."""
        self._secrets |= secrets_in([source_info and dict(source_info), destination_info and dict(destination_info)])
        new = NewSync(schema_name, sync_mode, config_hash, source_info, destination_info, instance_id, node_id)
        return self.capture.runs.start(new)

    def complete_sync_run(
        self,
        sync_run_id: Id,
        status: str = "completed",
        statistics: SyncRunStatistics | None = None,
        error_message: str | None = None,
        error_details: Mapping[str, Any] | None = None,
    ) -> SyncRun:
        """End a sync run. Raises NotFound, or Conflict if it has already ended."""
        return self.capture.runs.complete(sync_run_id, status, statistics, self._hide(error_message), self._hide(error_details))

    def get_sync_run(self, sync_run_id: Id) -> SyncRun:
        """A sync run. Raises NotFound."""
        return self.capture.runs.get(sync_run_id)

    def heartbeat(self, sync_run_id: Id) -> bool:
        """Keep alive a run that another process began. False: its lease is lost."""
        return self.capture.runs.heartbeat(sync_run_id)

    def log_error(
        self,
        schema_name: str,
        table_name: str | None,
        error_type: str,
        error_message: str,
        sync_run_id: Id | None = None,
        error_code: str | None = None,
        error_details: Mapping[str, Any] | None = None,
        stack_trace: str | None = None,
        record_data: Any = None,
        operation_type: str | None = None,
        max_retries: int | None = None,
        source_record_id: object = None,
    ) -> ErrorLog:
        """Note an error with its context. Without `max_retries`, its type decides whether it is worth trying again."""
        new = NewError(
            schema_name=schema_name,
            table_name=table_name,
            error_type=error_type,
            error_message=error_message,
            sync_run_id=sync_run_id,
            error_code=error_code,
            error_details=error_details,
            stack_trace=stack_trace,
            record_data=record_data,
            operation_type=operation_type,
            max_retries=max_retries,
            source_record_id=source_record_id,
        )
        return self.capture.errors.log(new, self._secrets)

    def get_due_errors(self, limit: int = 100, seconds: float = 300) -> Sequence[ErrorLog]:
        """Take the errors whose time to be tried again has come, oldest first. For so many seconds nobody else gets them."""
        return self.capture.errors.due(limit, seconds)

    def retry_failed(self, error_id: Id | ErrorLog, error: BaseException | str | None = None) -> ErrorLog:
        """Note that trying again failed: the next time is set, or after the last one the record becomes a dead letter."""
        return self.capture.errors.retried(error_id, error, self._secrets)

    def retry_succeeded(self, error_id: Id | ErrorLog) -> ErrorLog:
        """Note that trying again worked: the error is resolved."""
        return self.capture.errors.succeeded(error_id)

    def resolve_error(self, error_id: Id, note: str | None = None, resolved_by: str | None = None) -> ErrorLog:
        """Settle an open error. Raises Conflict if it is settled."""
        return self.capture.errors.resolve(error_id, note, resolved_by)

    def ignore_error(self, error_id: Id, note: str | None = None, resolved_by: str | None = None) -> ErrorLog:
        """Put an open error aside. Raises Conflict if it is settled."""
        return self.capture.errors.ignore(error_id, note, resolved_by)

    def add_to_dead_letter_queue(
        self,
        schema_name: str,
        table_name: str | None,
        operation_type: str,
        record_data: Any,
        sync_run_id: Id | None = None,
        error_log_id: Id | None = None,
        source_record_id: object = None,
        error_message: str | None = None,
        error_type: str | None = None,
    ) -> DeadLetter:
        """Put a record aside that cannot be applied. The same record failing again is the same letter, counted."""
        new = NewLetter(
            schema_name=schema_name,
            table_name=table_name,
            operation_type=operation_type,
            record_data=record_data,
            sync_run_id=sync_run_id,
            error_log_id=error_log_id,
            source_record_id=source_record_id,
            error_message=error_message,
            error_type=error_type,
        )
        return self.capture.dead_letters.add(new, self._secrets)

    def claim_dead_letters(self, worker: str, limit: int = 10, seconds: float = 300) -> Sequence[DeadLetter]:
        """Take letters for this worker alone, for a while."""
        return self.capture.dead_letters.claim(limit, worker, seconds)

    def resolve_dead_letter(
        self, letter_id: Id, method: str = "manual", resolved_by: str | None = None, note: str | None = None, worker: str | None = None
    ) -> DeadLetter:
        """Settle a letter, and the error that it came from. `worker` is who claimed it, if somebody did."""
        return self.capture.dead_letters.resolve(letter_id, method, resolved_by, note, worker)

    def discard_dead_letter(
        self, letter_id: Id, resolved_by: str | None = None, note: str | None = None, worker: str | None = None
    ) -> DeadLetter:
        """Give a letter up. `worker` is who claimed it, if somebody did."""
        return self.capture.dead_letters.discard(letter_id, resolved_by, note, worker)

    def reprocess_dead_letters(
        self, callback: Callable[[DeadLetter], None], schema_name: str | None = None, table_name: str | None = None, *, dry_run: bool = True
    ) -> Replay:
        """Hand every waiting letter to the callback, or with `dry_run` only count them."""
        return self.capture.dead_letters.replay(callback, schema=schema_name, table=table_name, dry_run=dry_run, known=self._secrets)

    def recover_failed_runs(self, max_age_hours: float = 24) -> Sequence[SyncRun]:
        """End the sync runs whose worker is lost, or gave no sign for so many hours. A living one may take as long as it likes."""
        if not 0 <= max_age_hours <= LONGEST_HOURS:
            raise Invalid(f"max_age_hours must be between 0 and {LONGEST_HOURS}, not {max_age_hours}")
        return self.capture.runs.recover(timedelta(hours=max_age_hours))

    def get_sync_statistics(self, schema_name: str | None = None, hours: float = 24) -> dict[str, Any]:
        """Runs, errors, dead letters and positions of the last hours, and how the cleanup goes. Rates of nothing are None."""
        background = self._cleanup
        cleanup = {"rounds": background.rounds, "last": background.last, "error": background.error} if background else None
        return {**self.capture.statistics(schema_name, hours), "cleanup": cleanup}

    def cleanup_old_metadata(self, retention_days: float | None = None, *, dry_run: bool = False) -> dict[str, int]:
        """Delete what is over and older than its retention: rows by table. Of the run log, only sync runs."""
        days = self._retention_days if retention_days is None else retention_days
        return self.capture.cleanup(self.capture.retention.of_days(days), run_kind=KIND, dry_run=dry_run)

    def _clean_in_background(self) -> dict[str, int]:
        background = self._cleanup
        stop = background.is_stopping if background else lambda: True
        return self.capture.cleanup(self.capture.retention.of_days(self._retention_days), run_kind=KIND, stop=stop)

    def _document(self, source: Source) -> dict[str, Any] | None:
        marker = self.capture.positions.find(source)
        return dict(marker.position_data) if marker else None

    def _hide(self, value: Any) -> Any:
        """The text or document without the secrets that this manager was given."""
        return scrub(value, self._secrets) if isinstance(value, str) else scrub_value(plain(value), known=self._secrets)

    def _open(self, url: str) -> Capture:
        settings = config.load(url=url, tenant=self._tenant)
        store = migrate.open_store(settings, self._schema)
        return Capture(store, this_worker(), settings.lease_seconds, settings.capture, settings.retention)


def _check_target(target: object, tenant: str | None) -> None:
    capture = getattr(target, "sync", None)
    if isinstance(target, str):
        config.check_given(url=target)
    elif isinstance(capture, Capture):
        if tenant not in (None, capture.store.tenant_id):
            raise Invalid(f"the open ledger is that of tenant {capture.store.tenant_id!r}, not {tenant!r}: open one with that tenant")
    else:
        raise Invalid(
            f"connection_pool is a {type(target).__name__}, which is neither the URL of a ledger nor an open one: "
            "write postgresql://user@host/database or sqlite:///path/to/file.db; the ledger makes its own connections"
        )
