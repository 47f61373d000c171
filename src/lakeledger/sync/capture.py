"""Everything about capture over one store, wired together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakeledger.background import Failures
from lakeledger.config import CaptureSettings, RetentionSettings
from lakeledger.db import Store
from lakeledger.runs import Worker
from lakeledger.sync import cleanup, statistics
from lakeledger.sync.dead_letters import DeadLetters
from lakeledger.sync.errors import Errors, RetryPolicy
from lakeledger.sync.kept_failures import KeptFailures
from lakeledger.sync.masking import Masking
from lakeledger.sync.positions import Positions
from lakeledger.sync.schemas import Schemas
from lakeledger.sync.sync_runs import SyncRuns


class Capture:
    """Positions, schema versions, sync runs, errors and dead letters of one tenant, and what is done to all of them."""

    def __init__(
        self,
        store: Store,
        worker: Worker,
        lease_seconds: float,
        settings: CaptureSettings | None = None,
        retention: RetentionSettings | None = None,
    ) -> None:
        settings = settings or CaptureSettings()
        masking = Masking(settings.mask, settings.record_bytes, settings.unmask)
        self.store = store
        self.retention = retention or RetentionSettings()
        self.positions = Positions(store, worker.name)
        self.schemas = Schemas(store, worker.name, self.retention.schema_versions)
        self.errors = Errors(store, worker.name, masking, RetryPolicy(settings.retry_seconds, cap_seconds=settings.retry_cap_seconds))
        self._worker = worker
        self._background: dict[tuple[str, str], Failures] = {}
        self.dead_letters = DeadLetters(store, worker.name, masking, self.background("replay"))
        self.runs = SyncRuns(store, worker, lease_seconds, self.background("heartbeats"))

    def background(self, part: str, owner: str = "") -> Failures:
        """Where a part of the background reports what fails: it is logged, and kept in the error log.

        Parts that work side by side at different things have different owners, so that none settles what failed for another.
        """
        return self._background.setdefault((part, owner), Failures(part, KeptFailures(self.errors, self._worker, owner)))

    def statistics(self, schema_name: str | None = None, hours: float = 24) -> dict[str, Any]:
        """How capture did in the last hours: of one schema or of all. Rates of nothing are None."""
        with self.store.read() as tx:
            found = statistics.collect(tx, schema_name, hours)
        return {**found, "resources": statistics.resources(self.store.database)}

    def cleanup(
        self,
        retention: RetentionSettings | None = None,
        *,
        run_kind: str | None = None,
        dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda _table, _count: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> dict[str, int]:
        """Delete, or with `dry_run` count, what is older than its retention: rows by table. Runs of one kind, or of all."""
        chosen = retention or self.retention
        return cleanup.clean(self.store, chosen, run_kind=run_kind, dry_run=dry_run, progress=progress, stop=stop)

    def close(self) -> None:
        """Stop what runs in the background."""
        self.runs.close()
