"""Maintenance of tables, as one run: expire versions, remove their files, sweep what was left over, fill in checksums, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from lakeledger.config import S3Settings
from lakeledger.db import Store
from lakeledger.errors import LakeledgerError
from lakeledger.lake import Storage
from lakeledger.maintenance import expiry, policies, published, retired
from lakeledger.maintenance.model import Care, Report
from lakeledger.maintenance.planning import Policy
from lakeledger.maintenance.policies import sql
from lakeledger.names import parse_name
from lakeledger.runs import ActiveRun, Runs, Worker, describe
from lakeledger.runs import store as run_store
from lakeledger.tables import Table, Tables, store
from lakeledger.tables.checksums import fill_in

PIPELINE = "maintenance"
# How many checksums are kept at a time, and how many paths of what was swept one record names.
CHECKSUMS_AT_A_TIME = 500
PATHS_AT_A_TIME = 1_000

# What is being done, and to how much it was done so far.
Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Place:
    """A table under maintenance: as it is stored and with its whole location, its policy, and what was done so far."""

    stored: Table
    table: Table
    policy: Policy
    care: Care
    kept: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Maintenance:
    """What keeps the tables of one tenant tidy. Everything is a dry run unless `apply`."""

    _store: Store
    _worker: Worker
    _warehouse: Callable[[], str]
    _s3: S3Settings
    _tables: Tables
    _runs: Runs
    _begin: Callable[..., ActiveRun]
    _unheard: expiry.Unheard

    def maintain(
        self,
        names: Sequence[str] = (),
        *,
        apply: bool = False,
        by: str | None = None,
        reason: str | None = None,
        progress: Progress = lambda _what, _count: None,
    ) -> Report:
        """Maintain these tables, or all: what cannot be done for one is told in its `problems`, and the others go on.

        Raises NotFound for a table that is not there, and Conflict while another maintenance is at work.
        """
        return self._run(names, _ALL, {}, {"by": by, "reason": reason} if apply else None, progress)

    def expire(
        self,
        names: Sequence[str] = (),
        *,
        apply: bool = False,
        by: str | None = None,
        reason: str | None = None,
        keep_versions: int | None = None,
        keep_for: timedelta | None = None,
        progress: Progress = lambda _what, _count: None,
    ) -> Report:
        """Let versions expire, and other engines no longer see them, without touching a file; of these tables, or of all.

        `keep_versions` and `keep_for` count instead of the policy's. Raises as `maintain`, or Invalid.
        """
        given = {"keep_versions": keep_versions, "keep_for": keep_for}
        changes = {name: value for name, value in given.items() if value is not None}
        for name, value in changes.items():
            policies.check(name, value)
        return self._run(names, _EXPIRY, changes, {"by": by, "reason": reason} if apply else None, progress)

    def _run(
        self, names: Sequence[str], steps: Sequence[Step], changes: dict[str, Any], act: dict[str, str | None] | None, progress: Progress
    ) -> Report:
        """Do the steps, in a run of its own if it is an act of somebody, who may have a reason; else it is a dry run."""
        places = self._places(names, changes)
        work = Work(self._store, self._worker, self._s3, self._tables, self._unheard, progress, everything=not names)
        if act is None:
            for _, do in steps:
                do(work, places)
            return Report([*(place.care for place in places), *work.others], None)
        told = {"tables": list(names), **({"reason": act["reason"]} if act["reason"] else {})}
        with self._begin(PIPELINE, kind="maintenance", by=act["by"], exclusive=True, parameters=told) as run:
            # Whatever it writes, it writes while its lease holds.
            fenced = replace(self._store, check=lambda tx: run_store.check_fence(tx, run.fence))
            self._runs.recover()  # Lost runs need no version any more.
            work = replace(work, store=fenced, run_id=run.id)
            for name, do in steps:
                with run.step(name, "maintenance") as step:
                    before = [place.care.document() for place in places]
                    do(work, places)
                    step.metadata = _done(places, before)
            if all(place.care.problems for place in places) and places:
                run.fail(places[0].care.problems[0])
        return Report([*(place.care for place in places), *work.others], run.id)

    def _places(self, names: Sequence[str], changes: dict[str, Any]) -> list[Place]:
        warehouse = self._warehouse()
        with self._store.read() as tx:
            found = [store.get(tx, parse_name(name)) for name in names] if names else list(store.list_page(tx))
            chosen = {table.table_id: table for table in found}.values()
            return [
                Place(table, table.placed(warehouse), replace(policies.of_table(tx, table.name), **changes), Care(str(table.name)))
                for table in chosen
            ]


@dataclass(frozen=True)
class Work:
    """What the steps are given. Without a run it is a dry run: nothing is changed.

    `everything` is whether all tables are maintained. `others` is what was found in folders of tables that are not there.
    """

    store: Store
    worker: Worker
    s3: S3Settings
    tables: Tables
    unheard: expiry.Unheard
    progress: Progress
    everything: bool
    run_id: str | None = None
    others: list[Care] = field(default_factory=list)


Step = tuple[str, Callable[[Work, list[Place]], None]]


@contextmanager
def _telling(place: Place, doing: str) -> Iterator[None]:
    """What goes wrong is told of the table, and the others go on."""
    try:
        yield
    except (LakeledgerError, OSError) as error:
        told = f"cannot {doing}: {error if isinstance(error, LakeledgerError) else describe(error)}"
        place.care.problems.append(told)


def _expire(work: Work, places: list[Place]) -> None:
    with work.store.read() as tx:
        unheard = work.unheard(tx)
    for place in places:
        with _telling(place, "expire versions"):
            with work.store.read() as tx:
                planned = expiry.plan(tx, place.stored, place.policy, work.worker, unheard, work.run_id)
            place.kept.extend(planned.kept)
            if work.run_id is None:
                place.care.expired.extend(version.number for version in planned.expiring)
                continue
            for gone in expiry.expire(work.store, planned, work.worker, work.run_id):
                place.care.expired.extend(gone)
                work.progress(f"versions of {place.care.table}", len(place.care.expired))


def _unpublish(work: Work, places: list[Place]) -> None:
    for place in places:
        with _telling(place, "let other engines forget what has expired"):
            found = published.find(work.store, place.table, work.s3)
            gone = found.versions - set(_kept(work, place)) if found else set()
            if work.run_id and gone:
                gone = set(published.drop_versions(work.store, place.table, gone, work.s3))
            place.care.dropped.extend(sorted(gone))


def _kept(work: Work, place: Place) -> list[int]:
    """The versions that are there, or would be."""
    if work.run_id is None:
        return place.kept
    with work.store.read() as tx:
        return [row["version"] for row in tx.all(sql.versions, table_id=place.table.table_id)]


def _remove_retired(work: Work, places: list[Place]) -> None:
    for place in places:
        with _telling(place, "remove retired files"):
            # What other engines can still read is needed, too: it is asked for after it was told them to forget.
            seen = published.find(work.store, place.table, work.s3)
            still = (seen.versions - (set(place.care.dropped) if work.run_id is None else set())) if seen else set()
            needed = {*_kept(work, place), *still}
            if work.run_id is None:
                place.care.marked.grow(retired.count_removable(work.store, place.table, needed))
            else:
                for marked in retired.mark_removable(work.store, place.table, needed):
                    place.care.marked.grow(marked)
                    work.progress(f"marked files of {place.care.table}", place.care.marked.files)
            _remove_marked(work, place)


def _remove_marked(work: Work, place: Place) -> None:
    storage = Storage(place.table.location, work.s3)
    for files, now in retired.find_marked(work.store, place.table):
        over = retired.over(files, now, place.policy.grace)
        ids = {file["id"] for file in over}
        place.care.waiting.add(file["file_size"] for file in files if file["id"] not in ids)
        if over and work.run_id:
            retired.remove(work.store, storage, place.table, place.stored.location, over, work.run_id)
        place.care.removed.add(file["file_size"] for file in over)
        if over:
            work.progress(f"removed files of {place.care.table}", place.care.removed.files)


def _sweep_orphans(work: Work, places: list[Place]) -> None:
    if not places:
        return
    only = None if work.everything else {place.stored.location for place in places}
    with _telling(places[0], "sweep orphans"):
        swept = work.tables.sweep(max(place.policy.grace for place in places), delete=work.run_id is not None, only=only)
        left: dict[str, list[tuple[str, int]]] = {}
        for each in swept.leftovers:
            left.setdefault(each.table, []).append((each.path, each.size))
        for place in places:
            mine = left.pop(place.care.table, [])
            place.care.orphans.add(size for _, size in mine)
            _note(work, place, "orphan", mine)
        for name, files in left.items():
            work.others.append(Care(name))
            work.others[-1].orphans.add(size for _, size in files)


def _sweep_metadata(work: Work, places: list[Place]) -> None:
    done: set[str] = set()
    for place in places:
        if place.stored.location in done:
            continue
        done.add(place.stored.location)
        with _telling(place, "sweep metadata"):
            with work.store.read() as tx:
                here = [replace(table, location=place.table.location) for table in published.neighbours(tx, place.stored)]
            files = published.unneeded(work.store, here, work.s3, place.policy.grace)
            for each in here:
                files += published.unneeded_log(work.store, each, work.s3, place.policy.grace)
            if work.run_id:
                for _ in Storage(place.table.location, work.s3).remove_all(file.path for file in files):
                    pass
            place.care.metadata.add(file.size for file in files)
            _note(work, place, "metadata", [(file.path, file.size) for file in files])
            if files:
                work.progress(f"metadata of {place.care.table}", place.care.metadata.files)


def _fill_checksums(work: Work, places: list[Place]) -> None:
    for place in places:
        with _telling(place, "compute checksums"):
            if work.run_id is None:
                with work.store.read() as tx:
                    row = tx.one(sql.count_without_checksum, table_id=place.stored.table_id) or {}
                place.care.checksums = int(row["files"])
                continue
            for paths in _without_checksum(work, place):
                fill_in(work.store, place.table, paths, work.s3)
                place.care.checksums += len(paths)
                work.progress(f"checksums of {place.care.table}", place.care.checksums)


def _without_checksum(work: Work, place: Place) -> Iterator[list[str]]:
    after = ""
    while True:
        with work.store.read() as tx:
            chosen = {"table_id": place.stored.table_id, "after_path": after, "page_size": CHECKSUMS_AT_A_TIME}
            found = [row["file_path"] for row in tx.all(sql.without_checksum, **chosen)]
        if not found:
            return
        yield found
        after = found[-1]


def _note(work: Work, place: Place, why: str, files: list[tuple[str, int]]) -> None:
    if not work.run_id:
        return
    for start in range(0, len(files), PATHS_AT_A_TIME):
        with work.store.write() as tx:
            retired.note_removal(tx, place.stored, work.run_id, why, files[start : start + PATHS_AT_A_TIME])


def _done(places: list[Place], before: list[dict[str, Any]]) -> dict[str, Any]:
    """What a step has changed, by table."""
    found: dict[str, Any] = {}
    for place, old in zip(places, before, strict=True):
        if changed := {name: value for name, value in place.care.document().items() if value != old[name]}:
            found[place.care.table] = changed
    return found


_EXPIRY: Sequence[Step] = (("expire", _expire), ("unpublish", _unpublish))
_ALL: Sequence[Step] = (
    *_EXPIRY,
    ("retired files", _remove_retired),
    ("orphans", _sweep_orphans),
    ("metadata", _sweep_metadata),
    ("checksums", _fill_checksums),
)
