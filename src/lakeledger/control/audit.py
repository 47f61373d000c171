"""Who changed what, newest first: the commits of the control table, and what was then done to which job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from heapq import merge
from itertools import dropwhile, islice
from typing import Any

from lakeledger import codec
from lakeledger.control.differences import differences
from lakeledger.control.model import Commit, Snapshot
from lakeledger.control.table import ControlTable, run_name
from lakeledger.db import Store, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import NotFound
from lakeledger.redaction import scrub
from lakeledger.runs import Run, Step
from lakeledger.runs import store as run_log

sql = load("lakeledger.control")

LONGEST = 10_000
PAGE = 100

_PLACE: pages.Key = {"at": codec.to_time, "reference": str}
_COMMIT: pages.Key = {"table": str, "version": int}


@dataclass(frozen=True)
class Entry:
    """One commit of the control table, or one apply (then it has a `run_id`), with what it changed.

    A change of the table is as `differences` tells it; one of a job has `action`, `job_id`, `changes` in words, and `error`.
    """

    at: datetime
    by: str
    operation: str
    version: int
    reason: str = ""
    run_id: str | None = None
    changes: tuple[dict[str, Any], ...] = ()

    @property
    def reference(self) -> str:
        """What tells it from the others."""
        return self.run_id or f"{self.operation} {self.version}"

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {**vars(self), "changes": list(self.changes)}


def entries(table: ControlTable, store: Store, limit: int = 20, module: str | None = None, after: str | None = None) -> Page[Entry]:
    """The newest entries, a page at a time; of one module only, if it is given. Raises Invalid."""
    place = pages.parse(after, _PLACE)
    commits = _commits(table, limit + 1 if module is None and not place else LONGEST, module, place.get("at"))
    applies = _applies(table, store) if module is None else _applies_to(table, store, module)
    found = merge(commits, applies, key=lambda entry: entry.at, reverse=True)
    wanted = (entry for entry in found if module is None or any(change["module_name"] == module for change in entry.changes))
    page = list(islice((_about(entry, module) for entry in _behind(wanted, place)), pages.check_limit(limit) + 1))
    last = page[limit - 1] if len(page) > limit else None
    return Page(page[:limit], pages.place((last.at, last.reference)) if last else None)


def commits(table: ControlTable, limit: int = 20, after: str | None = None) -> Page[Commit]:
    """The newest commits, a page at a time. Raises Invalid."""
    place = pages.parse(after, _COMMIT)
    found = table.history(LONGEST if place else pages.check_limit(limit) + 1)
    if place:
        found = list(dropwhile(lambda commit: (commit.table, commit.version) != (place["table"], place["version"]), found))[1:]
    last = found[limit - 1] if len(found) > limit else None
    return Page(found[:limit], pages.place((last.table, last.version)) if last else None)


def _behind(found: Iterable[Entry], place: Mapping[str, Any]) -> Iterator[Entry]:
    """What follows that entry; if it is gone, what is older."""
    is_there = not place
    for entry in found:
        if is_there:
            yield entry
        elif (entry.at, entry.reference) == (place["at"], place["reference"]):
            is_there = True
        elif entry.at < place["at"]:
            is_there = True
            yield entry


def _about(entry: Entry, module: str | None) -> Entry:
    if module is None:
        return entry
    return Entry(**{**vars(entry), "changes": tuple(change for change in entry.changes if change["module_name"] == module)})


def _commits(table: ControlTable, limit: int, module: str | None, until: datetime | None = None) -> Iterator[Entry]:
    """What each commit changed, told once the view before it was read. Of one whose files were cleaned up, only who made it is known.

    A commit that says that it is about other modules, or that is later than `until`, is not read.
    """

    def matters(commit: Commit | None) -> bool:
        return commit is not None and commit.may_touch(module) and (until is None or commit.at <= until)

    newer: Commit | None = None
    apart: list[Commit] = []
    read = lru_cache(maxsize=2)(lambda version: _read(table, version))
    for commit in table.history(limit):
        if commit.table not in ("", table.name):
            apart.append(commit)
            continue
        if apart or matters(newer):
            yield from _told(newer, apart, read(commit.version), read(newer.version if newer else None))
        newer, apart = commit, []
    if apart or matters(newer):
        yield from _told(newer, apart, read(newer.version - 1) if newer else None, read(newer.version if newer else None))


def _read(table: ControlTable, version: int | None) -> Snapshot | None:
    """The table at that version, or now. None if there is none, or no longer."""
    try:
        return table.read(version)
    except NotFound:
        return None


def _told(commit: Commit | None, apart: list[Commit], before: Snapshot | None, after: Snapshot | None) -> Iterator[Entry]:
    """A commit with what it changed. What others changed before it in the modules table alone is told of the last of them."""
    found = list(differences(before, after)) if before and after else []
    settings = [change for change in found if change["source_id"] is None] if apart else []
    if commit:
        yield _of_commit(commit, [change for change in found if change not in settings])
    for number, other in enumerate(apart):
        yield _of_commit(other, settings if number == 0 else [])


def _of_commit(commit: Commit, changes: list[dict[str, Any]]) -> Entry:
    return Entry(commit.at, commit.by or "", commit.operation, commit.version, scrub(commit.reason), None, tuple(changes))


def _applies(table: ControlTable, store: Store) -> Iterator[Entry]:
    after: str | None = None
    while True:
        with store.read() as tx:
            runs = run_log.list_page(tx, run_name(table), limit=PAGE, after=after)
        for run in runs:
            if run.parameters.get("control_table_id") == table.identity:
                with store.read() as tx:
                    steps = run_log.steps(tx, run.id)
                if steps or run.error_message:
                    yield _of_run(run, steps)
        if runs.next is None:
            return
        after = runs.next


def _applies_to(table: ControlTable, store: Store, module: str) -> Iterator[Entry]:
    """What was done to the job of one module."""
    last: str | None = None
    while True:
        with store.read() as tx:
            steps = [Step(**row) for row in tx.all(sql.applied_to_module, module_name=module, before_id=last, page_size=PAGE)]
            runs = {step.id: run_log.get(tx, step.pipeline_logging_id) for step in steps}
        for step in steps:
            if runs[step.id].parameters.get("control_table_id") == table.identity:
                yield _of_run(runs[step.id], [step])
        if len(steps) < PAGE:
            return
        last = steps[-1].id


def _of_run(run: Run, steps: list[Step]) -> Entry:
    changes = tuple(
        {
            "module_name": step.step_name,
            "action": step.metadata.get("action"),
            "job_id": step.metadata.get("job_id"),
            "changes": step.metadata.get("changes", []),
            "error": step.error_message,
        }
        for step in steps
    )
    return Entry(run.start_time, run.trigger_by, "APPLY", run.parameters["version"], f"on {run.parameters.get('backend')}", run.id, changes)
