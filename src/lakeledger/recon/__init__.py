"""Whether two copies of the same rows agree: reconciliation between ledger tables, files, databases, Delta, Iceberg and queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import clock, codec
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid, NotFound
from lakeledger.recon.model import Check, Probe, Reconciliation, Report, Result, Status, Thresholds, worst

if TYPE_CHECKING:
    from lakeledger.pipelines import Context
    from lakeledger.runs import ActiveRun
    from lakeledger.sync.masking import Masking

__all__ = ["Check", "Probe", "Recon", "Reconciliation", "Report", "Result", "Status", "Thresholds", "worst"]

_PERIODS = {"daily": "%Y-%m-%d", "weekly": "%G-W%V", "monthly": "%Y-%m"}


@dataclass(frozen=True)
class Recon:
    """The reconciliations of one tenant."""

    _store: Store
    _begin: Callable[..., ActiveRun]
    _context: Callable[[], Context]
    _masking: Callable[[], Masking]

    def run(
        self,
        reconciliation: Reconciliation | Mapping[str, Any],
        *,
        base: Path | None = None,
        now: bool = False,
        trigger: str = "manual",
        progress: Callable[[Result], None] = lambda _: None,
    ) -> Report:
        """Carry out a reconciliation, declared as in YAML or as a value, as one run. What is not due is skipped, unless `now`.

        Whatever a check or a side raises is the result of a check. Files are found from `base`. Raises Invalid for what is declared
        wrongly, and Conflict while another process carries out the same.
        """
        from lakeledger.recon.running import Work

        declared = self.declared(reconciliation)
        told = {"reconciliation": declared.name, "checks": [each.name for each in declared.checks]}
        with self._begin(f"recon:{declared.name}", trigger, kind="recon", exclusive=True, parameters=told) as run:
            context = replace(self._context(), base=base or Path())
            work = Work(context, declared, run, self._masking(), progress)
            reason = None if now else self._not_due(declared)
            results = work.skip(reason) if reason else work.carry_out()
            if broken := [each for each in results if each.status in (Status.ERROR, Status.TIMEOUT)]:
                run.fail(f"{len(broken)} of {len(results)} checks could not be carried out: {broken[0].check_name}: {broken[0].message}")
        return Report(declared.name, run.id, tuple(results))

    def declared(self, reconciliation: Reconciliation | Mapping[str, Any]) -> Reconciliation:
        """A reconciliation as a value. Raises Invalid."""
        if isinstance(reconciliation, Reconciliation):
            if not reconciliation.checks:
                raise Invalid(f"{reconciliation.name} has no checks: it would pass without having compared anything")
            return reconciliation
        from lakeledger.recon.documents import of_mapping

        return of_mapping(reconciliation)

    def load(self, path: Path | str, variables: Mapping[str, Any] | None = None) -> list[Reconciliation]:
        """The reconciliations that a YAML file declares. Raises Invalid with file:line:column."""
        from lakeledger.recon.documents import load

        return load(path, variables)

    def history(
        self,
        name: str | None = None,
        table: str | None = None,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        status: str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[Result]:
        """Results, newest first, a page at a time: of one reconciliation, of one ledger table, or all. Raises Invalid."""
        from lakeledger.recon import store

        if status is not None and status not in list(Status):
            raise Invalid(f"status {status!r} is not one of {', '.join(Status)}")
        times = [codec.to_moment(each) if each is not None else None for each in (since, until)]
        with self._store.read() as tx:
            return store.history(tx, name, table, times[0], times[1], status, limit, after)

    def get(self, result_id: str) -> Result:
        """A result by its id, or the beginning of it. Raises NotFound or Invalid."""
        from lakeledger.recon import store

        with self._store.read() as tx:
            return store.get(tx, result_id)

    def last(self, name: str) -> list[Result]:
        """What the last run of a reconciliation found, in the order of its checks. Raises NotFound if it never ran."""
        from lakeledger.recon import store

        with self._store.read() as tx:
            found = store.last_results(tx, name)
        if not found:
            raise NotFound(f"reconciliation {name!r} has never run: `lakeledger recon run {name}` carries it out")
        return found

    def explain(self, name_or_id: str) -> str:
        """In words, of the last run of a reconciliation or of one result: what was compared, and why it stands so. Raises NotFound."""
        from lakeledger.recon.explain import explain

        try:
            results: Sequence[Result] = self.last(name_or_id)
        except NotFound:
            results = [self.get(name_or_id)]
        return explain(results)

    def _not_due(self, declared: Reconciliation) -> str | None:
        """Why a reconciliation is not due: something was compared in this period already."""
        from lakeledger.recon import store

        if declared.frequency == "adhoc":
            return None
        with self._store.read() as tx:
            last = store.last_compared(tx, declared.name)
        shape = _PERIODS[declared.frequency]
        if last is None or last.strftime(shape) != clock.now().strftime(shape):
            return None
        return f"it is {declared.frequency}, and was carried out at {last:%Y-%m-%d %H:%M} UTC; `--now` does it again"
