"""`MetadataMonitor`: keeps jobs in step with the control table and a folder of YAML files, whatever goes wrong in either."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from lakeledger.control import memory
from lakeledger.control.deployment import Applied
from lakeledger.control.edits import attempts
from lakeledger.control.imports import Import, Importer
from lakeledger.control.opening import OpenLedger, open_control
from lakeledger.control.reading import Files
from lakeledger.errors import Conflict, Invalid, LakeledgerError
from lakeledger.jobs import JobBackend
from lakeledger.runs import describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WATCHER = "monitor"
# A file that was changed more lately than this may still be written: it is left for the next look, which comes when this is over.
SETTLE_SECONDS = 2.0
# How often that time the last look of a bounded run waits for files that are written on and on.
_PATIENCE = 2
_SHORTEST_PAUSE_SECONDS = 0.05
_WATCHING = "watching"

T = TypeVar("T")


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
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        if not 0 < check_interval_seconds < float("inf"):
            raise Invalid(f"check_interval_seconds must be positive, not {check_interval_seconds}")
        if not 0 <= settle_seconds < float("inf"):
            raise Invalid(f"settle_seconds must not be negative, not {settle_seconds}")
        self._opened = open_control(control_table, ledger, backend, spark)
        self._folder = Path(volume_path).absolute() if volume_path else None
        self._interval = check_interval_seconds
        self._settle_seconds = settle_seconds
        self._files = Files(settle_seconds)
        table, base = self._opened.deployment.table, Path(self._opened.deployment.base)
        self._importer = Importer(self._opened.store, self._opened.worker.name, table, base, self._files.load_all)
        self._tell = tell
        self._stop = threading.Event()
        followed = [table.location, *([self._importer.name(str(self._folder))] if self._folder else [])]
        self._failures = self._opened.background(WATCHER, " ".join(followed))
        self._unwatched: str | None = None

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
        """Look again and again, at once when a file changes, else after the interval; how often it looked.

        The last look, if there is one, waits for files that somebody may still be writing: nobody would come back for them.
        """
        looked = 0
        while max_iterations is None or looked < max_iterations:
            is_last = looked + 1 == max_iterations
            if is_last:
                self._wait_until_settled()
            if self._stop.is_set():
                break
            cycle = self._look(is_last=is_last)
            self._report(cycle)
            self._tell(cycle)
            looked += 1
            if not is_last:
                self._wait()
        return looked

    def check(self) -> Cycle:
        """Look once: import what files say, then bring the jobs of what changed to what the table says. Never raises a known error.

        A file that was changed only just now is left for the next look.
        """
        cycle = self._check(is_last=False)
        self._report(cycle)
        return cycle

    def cursor(self) -> int | None:
        """The version of the control table up to which everything was carried out, or None."""
        table = self._opened.deployment.table
        if not table.exists():
            return None
        with self._opened.store.read() as tx:
            found = memory.cursor(tx, table.identity, WATCHER)
        return found["version"] if found else None

    def _check(self, *, is_last: bool) -> Cycle:
        errors: list[str] = []
        applied: list[Applied] = []
        version: int | None = None
        imported = self._import(errors)
        if is_last:
            errors += [f"{file}: it is still being written, and was left out" for file in self._files.left]
        try:
            version, applied = self._again(self._bring)
            errors += [f"{each.module_name}: {each.error}" for each in applied if each.error]
            if not errors:
                self._advance(version)
        except LakeledgerError as error:
            errors.append(str(error))
        return Cycle(version, imported, applied, errors)

    def _report(self, cycle: Cycle) -> None:
        """Log what is wrong now, and keep it in the ledger; what is as it was is not repeated."""
        wrong = {error: error for error in cycle.errors}
        self._failures.replace({**wrong, **({_WATCHING: self._unwatched} if self._unwatched else {})})

    def _advance(self, version: int) -> None:
        with self._opened.store.write() as tx:
            memory.advance(tx, self._opened.deployment.table.identity, WATCHER, {"version": version})

    def _look(self, *, is_last: bool) -> Cycle:
        try:
            return self._check(is_last=is_last)
        except Exception as error:  # noqa: BLE001 - the outermost loop: whatever it is, it may be over at the next look
            return Cycle(errors=[f"the monitor could not work: {describe(error)}"])

    def _bring(self) -> tuple[int, list[Applied]]:
        deployment = self._opened.deployment
        if self._folder is not None:  # without one, a table that is not there is a wrong name
            deployment.table.create()
        seen = deployment.table.read().version  # before the plan: what is committed later may not be in it
        return seen, deployment.bring()

    def _import(self, errors: list[str]) -> Import | None:
        if self._folder is None:
            return None
        folder = self._folder
        try:
            found = self._again(lambda: self._importer.load(folder))
        except LakeledgerError as error:
            errors.append(str(error))
            return None
        errors += [*found.problems, *(line for conflict in found.conflicts for line in conflict.words())]
        return found

    def _again(self, do: Callable[[], T]) -> T:
        """Do it, again and again as long as somebody else is quicker, such as another monitor."""
        for _ in attempts():
            try:
                return do()
            except Conflict as error:
                if not error.retryable or self._stop.is_set():
                    raise
                refused = error
        raise refused

    def _wait(self) -> None:
        """Until something happens in the folder, a file there is settled that was not, or the interval is over."""
        try:
            self._watch()
            self._unwatched = None
        except Exception as error:  # noqa: BLE001 - the folder is gone, or nobody can watch it: the next look comes all the same
            self._unwatched = f"{self._folder} cannot be watched, and is only looked at every {self._interval:g} s: {describe(error)}"
            self._failures.report(_WATCHING, self._unwatched, error)
            self._stop.wait(self._interval)

    def _watch(self) -> None:
        if self._folder is None or not self._folder.is_dir():
            self._stop.wait(self._interval)
            return
        from watchfiles import watch

        seconds = min(self._interval, max(self._files.due_in(self._folder), _SHORTEST_PAUSE_SECONDS))
        milliseconds = max(1, int(seconds * 1000))  # 0 would wait for ever
        watcher = watch(self._folder, stop_event=self._stop, rust_timeout=milliseconds, yield_on_timeout=True, raise_interrupt=True)
        next(iter(watcher), None)

    def _wait_until_settled(self) -> None:
        """Until nobody can still be writing a file, or somebody does so on and on."""
        ends = time.monotonic() + _PATIENCE * self._settle_seconds
        while self._folder and (seconds := self._files.settles_in(self._folder)) and time.monotonic() < ends:
            if self._stop.wait(seconds):
                return
