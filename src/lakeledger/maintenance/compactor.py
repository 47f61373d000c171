"""The compactor: tables are compacted by themselves, a few at a time, where there is a Spark to do it on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from lakeledger.background import Failures
from lakeledger.config import CompactionSettings
from lakeledger.db import Store
from lakeledger.events import Event, TableFiles, TableStats
from lakeledger.maintenance.compaction import Compaction
from lakeledger.maintenance.compaction.rewriting import look
from lakeledger.maintenance.due import Component, Publishes
from lakeledger.maintenance.timers import Timers
from lakeledger.names import TableName
from lakeledger.tables import store

# How often a table is looked at, at most: a look reads all of its files from the ledger, and there may be a hundred thousand.
LOOK_EVERY = timedelta(seconds=30)
# How soon what failed is tried again; each time it fails once more, twice as long.
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)

_log = logging.getLogger("lakeledger.compaction")


class Compactor(Component):
    """Compacts the tables of one tenant. Many commits are one look at their table; the work is done by workers, until `close`.

    With `background` "auto" it works only in a process that has a Spark session already, and else leaves tables to `lakeledger compact`.
    """

    name = "compactor"

    def __init__(
        self,
        handle: Store,
        publisher: Publishes,
        compaction: Compaction,
        settings: CompactionSettings,
        has_spark: Callable[[], bool],
        failures: Failures,
    ) -> None:
        super().__init__(handle, publisher)
        self._compaction, self._settings, self._has_spark, self._failures = compaction, settings, has_spark, failures
        self._quiet = timedelta(seconds=settings.quiet_seconds)
        self._lock = threading.Lock()
        self._pauses: dict[str, timedelta] = {}
        self._at_work: set[str] = set()
        self._timers = Timers(self.look, _log)
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="compactor")
        self._closed = False
        self._has_said = False

    def on_event(self, event: Event[TableFiles | TableStats]) -> None:
        """Have the table looked at soon. Of a commit the statistics are heard, which come once, after all its files."""
        if event.operation != "DELETE" and isinstance(event.data, TableStats) and self._may_work():
            self._timers.wait(event.data.table_id, min(LOOK_EVERY, self._quiet))

    def look(self, table_id: str) -> None:
        """Have the table compacted if that is worth it, now or once it is quiet."""
        if self._closed or not self._may_work():
            return
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            if table is None or table.file_count < self._settings.min_files:
                return
            plan = look(tx, table.name, self._settings).plan
        if plan.groups:
            self._hand_over(table_id, table.name)
        elif any(each.is_hot for each in plan.left):
            self._timers.wait(table_id, self._quiet)

    def close(self) -> None:
        """Nothing is compacted any more: somebody else delivers, or nobody does. The commit that is under way is finished."""
        self._closed = True
        self._timers.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _may_work(self) -> bool:
        if self._settings.background == "off":
            return False
        if self._settings.background == "start" or self._has_spark():
            return True
        if not self._has_said:
            self._has_said = True
            told = 'there is no Spark session in this process: run `lakeledger compact --apply`, or set compaction.background = "start"'
            _log.info("tables are not compacted by themselves: %s", told)
        return False

    def _hand_over(self, table_id: str, name: TableName) -> None:
        with self._lock:
            if self._closed or table_id in self._at_work:
                return
            self._at_work.add(table_id)
        self._pool.submit(self._work, table_id, name)

    def _work(self, table_id: str, name: TableName) -> None:
        try:
            (done,) = self._compaction.compact([str(name)], apply=True, trigger="scheduler", by=self.name, stop=lambda: self._closed)
            problem = done.problem
        except Exception as error:  # noqa: BLE001 - the outermost place of a worker
            problem = str(error)
        with self._lock:
            self._at_work.discard(table_id)
            pause = self._pauses.pop(table_id, FIRST_PAUSE)
            if problem:
                self._pauses[table_id] = min(2 * pause, LONGEST_PAUSE)
        if problem:
            self._failures.report(
                str(name), f"{name} could not be compacted, and is tried again in {pause.total_seconds():.0f} s: {problem}"
            )
            self._timers.wait(table_id, pause)
        else:  # Commits that came meanwhile were not looked at.
            self._failures.clear(str(name))
            self._timers.wait(table_id, min(LOOK_EVERY, self._quiet))
