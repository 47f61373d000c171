"""Everything about capture over one store, wired together."""

from __future__ import annotations

import threading
from collections.abc import Callable, MutableSet
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lakeledger.background import Failures
from lakeledger.config import CaptureSettings, RetentionSettings
from lakeledger.db import Store
from lakeledger.runs import Worker

if TYPE_CHECKING:
    from lakeledger.sync.dead_letters import DeadLetters
    from lakeledger.sync.errors import Errors
    from lakeledger.sync.masking import Masking
    from lakeledger.sync.positions import Positions
    from lakeledger.sync.schemas import Schemas
    from lakeledger.sync.sync_runs import SyncRuns


class Capture:
    """Positions, schema versions, sync runs, errors and dead letters of one tenant, and what is done to all of them.

    Each is imported when it is first asked for: most who ask for one need none of the others. `threads` gets what has to be closed.
    """

    def __init__(
        self,
        store: Store,
        worker: Worker,
        lease_seconds: float,
        settings: CaptureSettings | None = None,
        retention: RetentionSettings | None = None,
        threads: MutableSet[Any] | None = None,
    ) -> None:
        self.store = store
        self.retention = retention or RetentionSettings()
        self._settings = settings or CaptureSettings()
        self._worker = worker
        self._lease_seconds = lease_seconds
        self._background: dict[tuple[str, str], Failures] = {}
        self._making = threading.Lock()
        self._runs: SyncRuns | None = None
        self._threads = threads

    @cached_property
    def positions(self) -> Positions:
        """How far each source was read."""
        from lakeledger.sync.positions import Positions

        return Positions(self.store, self._worker.name)

    @cached_property
    def schemas(self) -> Schemas:
        """The schema versions of captured tables."""
        from lakeledger.sync.schemas import Schemas

        return Schemas(self.store, self._worker.name, self.retention.schema_versions)

    @cached_property
    def errors(self) -> Errors:
        """What failed, and whether it was retried or settled."""
        from lakeledger.sync.errors import Errors, RetryPolicy

        policy = RetryPolicy(self._settings.retry_seconds, cap_seconds=self._settings.retry_cap_seconds)
        return Errors(self.store, self._worker.name, self.masking, policy)

    @cached_property
    def dead_letters(self) -> DeadLetters:
        """Records that could not be written."""
        from lakeledger.sync.dead_letters import DeadLetters

        return DeadLetters(self.store, self._worker.name, self.masking, self.background("replay"))

    @property
    def runs(self) -> SyncRuns:
        """The runs of capture, with the one thread that renews their leases."""
        from lakeledger.sync.sync_runs import SyncRuns

        with self._making:
            if self._runs is None:
                self._runs = SyncRuns(self.store, self._worker, self._lease_seconds, self.background("heartbeats"))
                if self._threads is not None:
                    self._threads.add(self._runs.heartbeats)
            return self._runs

    @cached_property
    def masking(self) -> Masking:
        """What is kept of records and rows that are shown."""
        from lakeledger.sync.masking import Masking

        return Masking(self._settings.mask, self._settings.record_bytes, self._settings.unmask)

    def background(self, part: str, owner: str = "") -> Failures:
        """Where a part of the background reports what fails: it is logged, and kept in the error log.

        Parts that work side by side at different things have different owners, so that none settles what failed for another.
        """
        from lakeledger.sync.kept_failures import KeptFailures

        return self._background.setdefault((part, owner), Failures(part, KeptFailures(self.errors, self._worker, owner)))

    def statistics(self, schema_name: str | None = None, hours: float = 24) -> dict[str, Any]:
        """How capture did in the last hours: of one schema or of all. Rates of nothing are None."""
        from lakeledger.sync import statistics

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
        """Delete, or with `dry_run` count, what is older than its retention: rows by table. Runs of one kind, or of all.

        A subscriber for which changes have to be kept longer than that is reported.
        """
        from lakeledger.sync import cleanup

        chosen = retention or self.retention
        if not dry_run:
            self.background("retention").replace(cleanup.waited_for(self.store, self.retention))
        return cleanup.clean(self.store, chosen, run_kind=run_kind, dry_run=dry_run, progress=progress, stop=stop)

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._runs:
            self._runs.close()
