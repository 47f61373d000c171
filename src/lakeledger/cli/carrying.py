"""Modules of the control table carried out here: whole ones for the scheduler, single sources for the jobs of other backends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import Ledger
from lakeledger.config import suggest
from lakeledger.errors import Invalid, NotFound
from lakeledger.jobs.scheduler import Due, Outcome
from lakeledger.jobs.triggers import TableVersion
from lakeledger.pipelines import Plane
from lakeledger.runs import Status
from lakeledger.tables.checksums import Checksums

if TYPE_CHECKING:
    from lakeledger.control.documents import Module
    from lakeledger.control.model import Snapshot
    from lakeledger.pipelines.runner import ModuleResult, StepResult


@dataclass(frozen=True)
class Carrier:
    """Carries modules out on one ledger."""

    ledger: Ledger
    _checksums: Checksums

    def run(
        self,
        module: Module,
        base: Path,
        *,
        pipeline: str | None = None,
        trigger: str = "manual",
        parameters: Mapping[str, Any] | None = None,
        key: str | None = None,
        exclusive: bool = True,
        stop: threading.Event | None = None,
        progress: Callable[[StepResult], None] = lambda _: None,
    ) -> ModuleResult:
        """Run a module, in the run log under its own name or that of `pipeline`. Raises Conflict if it is already running."""
        from lakeledger.pipelines.runner import run_module

        new = self.ledger.run(
            pipeline or module.module_name,
            trigger,
            parameters=dict(parameters or {}),
            config_hash=module.config_hash,
            idempotency_key=key,
            exclusive=exclusive,
        )
        plane = Plane(self.ledger.store, self.ledger.warehouse, self._checksums, lambda: self.ledger.spark)
        with new as run:
            return run_module(plane, run, module, base, progress, stop=stop, ledger=self.ledger)

    def execute(self, due: Due) -> Outcome:
        """Carry out a run of a local job; how it ended in the run log."""
        from pydantic import ValidationError

        from lakeledger.control.documents import Module

        try:
            module = Module.model_validate(due.job.module)
        except ValidationError as error:
            raise Invalid(f"job {due.job.name} keeps no module that can run: `lakeledger apply` makes it anew") from error
        result = self.run(
            module,
            Path(due.job.base),
            trigger="manual" if due.run.waits else "scheduler",
            parameters=due.parameters,
            key=due.key,
            exclusive=due.is_exclusive,
            stop=due.stop,
        )
        ended = self.ledger.runs.get(result.run_id)
        return Outcome(ended.id, Status(ended.status), ended.error_message)

    def versions(self, names: Sequence[str]) -> dict[str, TableVersion]:
        """Where tables stand; one that is not there has no version yet."""
        found: dict[str, TableVersion] = {}
        for name in names:
            try:
                table = self.ledger.tables.get(name)
            except NotFound:
                continue
            found[name] = TableVersion(table.current_version, table.last_modified)
        return found


@contextmanager
def carrier(ledger: Ledger) -> Iterator[Carrier]:
    """A carrier for as long as the ledger is open."""
    checksums = Checksums(ledger.store)
    try:
        yield Carrier(ledger, checksums)
    finally:
        checksums.close()


def module_of(snapshot: Snapshot, name: str | None, source: str | None = None) -> Module:
    """A module of the control table, or one source of it, which then waits for no other. Raises NotFound or Invalid."""
    from lakeledger.cli.control_table import sources_of
    from lakeledger.control import rows

    if name is None:
        raise Invalid("say with --module which module of the control table to run")
    sources_of(snapshot, name)
    found = rows.modules_of(snapshot)
    if name not in found.good:
        raise Invalid("\n".join(map(str, found.bad.get(name, []))) or f"the module {name} has no sources")
    module = found.good[name]
    if source is None:
        return module
    known = [each.source_id for each in module.sources]
    if source not in known:
        raise NotFound(f"no source {source!r} in module {name}: it has {', '.join(known)}{suggest(source, known)}")
    (alone,) = (each for each in module.sources if each.source_id == source)
    return module.model_copy(update={"sources": [alone.model_copy(update={"depends_on": (), "run_if": "ALL_SUCCESS"})]})
