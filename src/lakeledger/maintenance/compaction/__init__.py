"""Compaction: small files become few, in the table's order, with the same rows; whoever writes meanwhile goes first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakeledger.config import CompactionSettings
from lakeledger.db import Store
from lakeledger.errors import Conflict, LakeledgerError
from lakeledger.maintenance.compaction.planning import Plan, histogram
from lakeledger.maintenance.compaction.rewriting import Looked, look, rewrite
from lakeledger.names import TableName, parse_name
from lakeledger.pipelines.translating import translating
from lakeledger.runs import ActiveRun, describe
from lakeledger.tables import store

if TYPE_CHECKING:
    from lakeledger.pipelines import Context

__all__ = ["Compacted", "Compaction", "pipeline_of"]

# How often a writer may have been faster before a compaction leaves a table to the next round.
ATTEMPTS = 3

Progress = Callable[[str, int], None]
Bars = list[dict[str, int | None]]


@dataclass
class Compacted:
    """What a compaction does to a table (`plan`), and what it did: nothing in a dry run.

    `before` and `after` are histograms of its files by size. `problem` says what kept it from its work.
    """

    table: str
    plan: Plan
    before: Bars
    files_before: int
    after: Bars = field(default_factory=list)
    files_after: int = 0
    groups_done: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    seconds: float = 0.0
    versions: list[int] = field(default_factory=list)
    run_id: str | None = None
    problem: str | None = None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        found = {name: value for name, value in vars(self).items() if name != "plan"}
        groups = [group.document() for group in self.plan.groups]
        return {**found, "groups": groups, "left": [vars(each) for each in self.plan.left]}


@dataclass(frozen=True)
class Compaction:
    """What compacts the tables of one tenant."""

    _store: Store
    _settings: CompactionSettings
    _begin: Callable[..., ActiveRun]
    _recover: Callable[[], object]
    _context: Callable[[], Context]

    def compact(
        self,
        names: Sequence[str] = (),
        *,
        apply: bool = False,
        now: bool = False,
        trigger: str = "manual",
        by: str | None = None,
        reason: str | None = None,
        progress: Progress = lambda _what, _count: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Compacted]:
        """One round for these tables, or for all: each is a run of its own, and what keeps one from it is its `problem`.

        A dry run unless `apply`. With `now` also partitions are compacted that were written just now. It ends after the commit that is
        under way when `stop` says so. Raises NotFound for a table that is not there.
        """
        if now:
            calm = replace(self, _settings=replace(self._settings, quiet_seconds=0))
            return calm.compact(names, apply=apply, trigger=trigger, by=by, reason=reason, progress=progress, stop=stop)
        with self._store.read() as tx:
            found = [store.get(tx, parse_name(name)).name for name in names] if names else [each.name for each in store.list_page(tx)]
        if apply:
            self._recover()  # What lost runs have claimed nobody rewrites any more.
        told = {"by": by, "trigger": trigger, "parameters": {"reason": reason} if reason else {}}
        return [self._of_table(name, told if apply else None, progress, stop) for name in dict.fromkeys(found)]

    def _of_table(self, name: TableName, act: dict[str, Any] | None, progress: Progress, stop: Callable[[], bool]) -> Compacted:
        looked = self._look(name)
        if looked is None:
            return Compacted(str(name), Plan((), ()), [], 0)
        done = Compacted(str(name), looked.plan, histogram(looked.sizes.values()), len(looked.files))
        if act is None or not looked.plan.groups:
            return done
        started = time.monotonic()
        try:
            with self._begin(pipeline_of(name), kind="maintenance", exclusive=True, **act) as run, translating():
                done.run_id = run.id
                self._carry_out(run, looked, done, progress, stop)
        except LakeledgerError as error:
            done.problem = str(error)
        except Exception as error:  # noqa: BLE001 - the other tables go on, and the run says what it was
            done.problem = describe(error)
        done.seconds = time.monotonic() - started
        if (left := self._look(name)) is not None:
            done.after, done.files_after = histogram(left.sizes.values()), len(left.files)
        return done

    def _carry_out(self, run: ActiveRun, looked: Looked | None, done: Compacted, progress: Progress, stop: Callable[[], bool]) -> None:
        """Commit by commit, each planned anew, until nothing is left of the round. Raises Conflict if writers are faster time and again."""
        budget, lost = self._settings.round_bytes, 0
        while looked and looked.plan.groups and not stop():
            groups = looked.plan.groups[: looked.at_a_time]
            budget -= sum(group.size for group in groups)
            try:
                made = rewrite(self._context(), run.fence, looked, groups, self._settings)
            except Conflict as error:
                lost += 1
                if not error.retryable:
                    raise
                if lost == ATTEMPTS:
                    told = f"writers of {done.table} were faster {lost} times ({error}): what is left is compacted in the next round"
                    raise Conflict(told, retryable=True) from error
            else:
                done.versions.append(made.version)
                done.groups_done += made.groups
                done.bytes_read, done.bytes_written = done.bytes_read + made.bytes_read, done.bytes_written + made.bytes_written
                progress(f"groups of {done.table}", done.groups_done)
            looked = self._look(looked.table.name, budget)

    def _look(self, name: TableName, budget: int | None = None) -> Looked | None:
        """The table and what is to be done; None for one that has no version yet."""
        with self._store.read() as tx:
            table = store.find(tx, name)
            return look(tx, name, self._settings, budget) if table and table.current_version else None


def pipeline_of(name: TableName) -> str:
    """What the runs of a table's compaction are called: only one of them is at work at a time, in all processes."""
    return f"compact:{name}"
