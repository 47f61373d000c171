"""`MetadataMonitor`: keeps jobs in step with the control table and a folder of YAML files, whatever goes wrong in either."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakeledger.control import memory
from lakeledger.control.deployment import Applied
from lakeledger.control.imports import Import, Importer
from lakeledger.control.opening import OpenLedger, open_control
from lakeledger.errors import Invalid, LakeledgerError
from lakeledger.jobs import JobBackend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WATCHER = "monitor"
# A file that is still being written is given this long before it counts as broken.
SETTLE_SECONDS = 2.0


@dataclass(frozen=True)
class Cycle:
    """What one look found and did. With errors, the cursor stayed where it was, and the next look tries again."""

    version: int | None = None
    imported: Import | None = None
    applied: list[Applied] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def did_something(self) -> bool:
        return bool(self.errors or (self.imported and self.imported.changed) or any(each.action.does_something for each in self.applied))


class MetadataMonitor:
    """Follows one control table and, if it is given, the YAML files below `volume_path`. Two at once do no harm: one of them waits."""

    def __init__(
        self,
        control_table: str | None = None,
        volume_path: str | Path | None = None,
        check_interval_seconds: float = 60,
        *,
        ledger: OpenLedger | str | None = None,
        backend: JobBackend | str | None = None,
        spark: SparkSession | None = None,
        tell: Callable[[Cycle], None] = lambda _: None,
    ) -> None:
        if not 0 < check_interval_seconds < float("inf"):
            raise Invalid(f"check_interval_seconds must be positive, not {check_interval_seconds}")
        self._opened = open_control(control_table, ledger, backend, spark)
        self._folder = Path(volume_path).absolute() if volume_path else None
        self._interval = check_interval_seconds
        self._tell = tell
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and close what was opened."""
        self._stop.set()
        self._opened.close()

    def stop(self) -> None:
        """End `run_continuous` after the look that is under way."""
        self._stop.set()

    def run_continuous(self, max_iterations: int | None = None) -> int:
        """Look again and again, at once when a file changes, else after the interval; how often it looked."""
        looked = 0
        for _ in self._wake(max_iterations):
            if self._stop.is_set():
                break
            self._tell(self.check())
            looked += 1
        return looked

    def check(self) -> Cycle:
        """Look once: import what files say, then bring the jobs of what changed to what the table says. Never raises a known error."""
        errors: list[str] = []
        applied: list[Applied] = []
        version: int | None = None
        imported = self._import(errors)
        try:
            deployment = self._opened.deployment
            if self._folder is not None:  # without one, a table that is not there is a wrong name
                deployment.table.create()
            seen = deployment.table.read().version  # before the plan: what is committed later may not be in it
            applied = deployment.bring()
            errors += [f"{each.module_name}: {each.error}" for each in applied if each.error]
            version = seen
            if not errors:
                self._advance(version)
        except LakeledgerError as error:
            errors.append(str(error))
        return Cycle(version, imported, applied, errors)

    def cursor(self) -> int | None:
        """The version of the control table up to which everything was carried out, or None."""
        with self._opened.store.read() as tx:
            found = memory.cursor(tx, self._opened.deployment.table.location, WATCHER)
        return found["version"] if found else None

    def _advance(self, version: int) -> None:
        with self._opened.store.write() as tx:
            memory.advance(tx, self._opened.deployment.table.location, WATCHER, {"version": version})

    def _import(self, errors: list[str]) -> Import | None:
        if self._folder is None:
            return None
        deployment = self._opened.deployment
        importer = Importer(self._opened.store, self._opened.worker.name, deployment.table, Path(deployment.base))
        try:
            found = importer.load(self._folder)
        except LakeledgerError as error:
            if not (isinstance(error, Invalid) and self._folder.is_dir() and "no YAML file" in str(error)):
                errors.append(str(error))
            return None
        errors += [problem for problem in found.problems if not self._is_fresh(problem)]
        errors += [line for conflict in found.conflicts for line in conflict.words()]
        return found

    def _is_fresh(self, problem: str) -> bool:
        """Whether the file that a problem is about is so new that somebody may still be writing it."""
        name = problem.partition(":")[0]
        try:
            return time.time() - Path(name).stat().st_mtime < SETTLE_SECONDS
        except OSError:
            return False

    def _wake(self, times: int | None) -> Iterator[Any]:
        """Now, and then whenever something happened in the folder or the interval is over."""
        count = 0
        while times is None or count < times:
            yield count
            count += 1
            if times is not None and count >= times:
                return
            self._wait()

    def _wait(self) -> None:
        if self._folder is None or not self._folder.is_dir():
            self._stop.wait(self._interval)
            return
        from watchfiles import watch

        milliseconds = max(1, int(self._interval * 1000))  # 0 would wait for ever
        watcher = watch(self._folder, stop_event=self._stop, rust_timeout=milliseconds, yield_on_timeout=True, raise_interrupt=False)
        next(iter(watcher), None)
