"""Is the registry true, in storage and for other engines? What can be put right is; data is never invented, and what is lost is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from lakeledger import clock
from lakeledger.config import S3Settings
from lakeledger.db import Row, Store
from lakeledger.delta_publishing import DeltaPublisher
from lakeledger.errors import LakeledgerError
from lakeledger.lake import Storage
from lakeledger.lake.delta import LOG, log
from lakeledger.lake.iceberg.reach import data_paths
from lakeledger.maintenance import published, retired
from lakeledger.maintenance.policies import sql
from lakeledger.publishing import Publisher
from lakeledger.tables import Table, Tables, delta, publications, store
from lakeledger.tables.store import sql as table_sql
from lakeledger.tables.verify import Finding


@dataclass(frozen=True)
class Defect:
    """Something that is not as the registry says. `repair` is what puts it right, or what a person can do if nothing does.

    `repaired` is None if nothing here can put it right, else whether that was done.
    """

    problem: str
    path: str
    detail: str
    repair: str
    repaired: bool | None = None


@dataclass(frozen=True)
class Checked:
    """What a check of one table found."""

    table: Table
    checked: int
    defects: list[Defect]

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong, or nothing is any more."""
        return all(defect.repaired for defect in self.defects)


# A defect, and what puts it right, if anything does.
Found = tuple[Defect, Callable[[], None] | None]


@dataclass(frozen=True)
class Repair:
    """Compares tables with their storage and with what is published, and repairs what can be repaired."""

    _store: Store
    _tables: Tables
    _publisher: Publisher
    _delta: DeltaPublisher
    _s3: S3Settings

    def verify(self, name: str, *, deep: bool = True, apply: bool = False) -> Checked:
        """Check one table; `deep` compares the content of its files. With `apply`, repair it. Raises NotFound."""
        verified = self._tables.verify(name, deep=deep)
        table = verified.table
        found = [
            *self._storage_defects(table, verified.findings),
            *self._statistics(table),
            *self._published(table),
            *self._published_as_delta(table),
        ]
        return Checked(table, verified.checked, [_applied(defect, fix) if apply else defect for defect, fix in found])

    def _storage_defects(self, table: Table, findings: list[Finding]) -> Iterator[Found]:
        if not findings:
            return
        with self._store.read() as tx:
            files = {file.file_path: file for file in store.files(tx, table)}
            versions = [row["version"] for row in tx.all(sql.versions, table_id=table.table_id)]
            location = store.get(tx, table.name).location
        leftovers = {each.path for each in self._tables.sweep(only={location}).leftovers}
        for finding in findings:
            file = files.get(finding.path)
            defect = Defect(finding.problem, finding.path, finding.detail, "")
            if file is None:
                yield self._untracked(defect, location, is_orphan=finding.path in leftovers)
                continue
            needed = [
                each for each in versions if file.added_version <= each and (file.removed_version is None or each < file.removed_version)
            ]
            if not needed:
                yield (
                    replace(defect, repair="no version needs it: forget it", repaired=False),
                    partial(retired.mark, self._store, file.id),
                )
            else:
                yield replace(defect, repair=_lost(table, needed)), None

    def _untracked(self, defect: Defect, location: str, *, is_orphan: bool) -> Found:
        if not is_orphan:
            return replace(defect, repair="no run of this ledger left it, or it is younger than an hour: move it away by hand"), None
        return replace(defect, repair="a crashed run left it: remove it", repaired=False), lambda: self._sweep(location)

    def _sweep(self, location: str) -> None:
        self._tables.sweep(delete=True, only={location})

    def _statistics(self, table: Table) -> Iterator[Found]:
        """Whether the figures of a table are those of its live files."""
        with self._store.read() as tx:
            found, row = store.get(tx, table.name), tx.one(sql.live_figures, table_id=table.table_id) or {}
            stats = store.stats(tx, found)
        told = [(each.row_count, each.file_count, each.total_size) for each in (found, stats)]
        if told != [(figures := _figures(row)), figures]:
            said = f"{told[0][0]} rows in {told[0][1]} files of {told[0][2]} bytes"
            detail = f"{said}; the live files have {figures[0]}, {figures[1]} and {figures[2]}"
            yield Defect("statistics", "", detail, "count them anew", repaired=False), lambda: self._count(table)

    def _count(self, table: Table) -> None:
        with self._store.write() as tx:
            row = tx.one(sql.live_figures, table_id=table.table_id) or {}
            rows, files, size = _figures(row)
            counted = {"table_id": table.table_id, "row_count": rows, "file_count": files, "total_size": size}
            tx.execute(sql.set_figures, **counted)
            tx.execute(table_sql.put_stats, id=clock.new_id(), **counted)

    def _published(self, table: Table) -> Iterator[Found]:
        """Whether what other engines see can be read, and is what the registry says of that version."""
        with self._store.read() as tx:
            seen = store.publication(tx, table)
        if seen is None or seen.metadata_location is None:
            return
        wrong = Defect("published", seen.metadata_location, "", f"publish {table.name} anew", repaired=False)
        if not publications.Surroundings().goes_on(seen, table.location):
            yield replace(wrong, detail="it is not where the table is: the warehouse was moved"), lambda: self._publish(table)
            return
        try:
            found = published.find(self._store, table, self._s3)
            differs = self._compare(found) if found else None
        except published.Unreadable as error:
            yield replace(wrong, detail=error.reason), lambda: self._publish(table)
            return
        if differs:
            yield replace(wrong, detail=differs), lambda: self._publish(table)
        elif found and (gone := sorted(found.versions - self._versions(table))):
            detail = f"other engines still see the expired versions {', '.join(map(str, gone))}"
            yield replace(wrong, detail=detail, repair="let them forget these versions"), lambda: self._drop(table, gone)
        elif found and (strange := self._strange_tags(found)):
            detail = f"other engines see other tags than the ledger has: {', '.join(strange)}"
            yield replace(wrong, detail=detail, repair="show them the ledger's tags"), lambda: self._retag(table)

    def _published_as_delta(self, table: Table) -> Iterator[Found]:
        """Whether the Delta log ends with what the ledger wrote, and says the same as the registry."""
        with self._store.read() as tx:
            seen = delta.find(tx, table)
            if seen is None or seen.delta_version is None or seen.target_delta is not None:
                return
            registered = set(store.view(tx, table.name, seen.version).file_paths)
        wrong = Defect("published", f"{table.location}/{LOG}", "", f"publish {table.name} anew as Delta", repaired=False)
        try:
            state = log.replay(Storage(table.location, self._s3))
        except (FileNotFoundError, ValueError, KeyError) as error:
            yield replace(wrong, detail=f"it cannot be read: {error}", repair=f"move it away and publish {table.name}", repaired=None), None
            return
        if state is None:
            yield replace(wrong, detail="it is gone"), lambda: self._publish_as_delta(table)
        elif state.version > seen.delta_version:
            detail = f"it has entries up to {state.version}, the ledger wrote {seen.delta_version}: somebody else wrote to it"
            yield replace(wrong, detail=detail), lambda: self._publish_as_delta(table)
        elif state.live.keys() != registered or any(state.live.values()):
            same = len(state.live.keys() & registered)
            detail = f"version {seen.version} has {len(registered)} files, the log has {len(state.live)}, {same} of them the same"
            yield replace(wrong, detail=detail), lambda: self._publish_as_delta(table)

    def _publish_as_delta(self, table: Table) -> None:
        self._delta.publish(str(table.name), anew=True)

    def _compare(self, found: published.Published) -> str | None:
        table = found.table
        with self._store.read() as tx:
            registered = set(store.view(tx, table.name, found.publication.version).file_paths)
        with published.reading(table):
            seen = data_paths(Storage(table.location, self._s3), table.location, found.base)
        if seen == registered:
            return None
        same = len(seen & registered)
        return f"version {found.publication.version} has {len(registered)} files, other engines see {len(seen)}, {same} of them the same"

    def _strange_tags(self, found: published.Published) -> list[str]:
        """The tags that other engines see and should not, or should see and do not."""
        with self._store.read() as tx:
            tags = publications.tags(tx, found.table)
        known = {each["snapshot-id"] for each in found.base.document["snapshots"]}
        wanted = {(name, id_) for name, id_ in tags.items() if id_ in known}
        seen = {(name, ref["snapshot-id"]) for name, ref in found.base.document["refs"].items() if ref["type"] == "tag"}
        return sorted({name for name, _ in wanted ^ seen})

    def _retag(self, table: Table) -> None:
        self._publisher.retag(str(table.name), lambda _tx, _table: None)

    def _versions(self, table: Table) -> set[int]:
        with self._store.read() as tx:
            return {row["version"] for row in tx.all(sql.versions, table_id=table.table_id)}

    def _drop(self, table: Table, versions: list[int]) -> None:
        published.drop_versions(self._store, table, versions, self._s3)

    def _publish(self, table: Table) -> None:
        self._publisher.publish(str(table.name), anew=True)


def _applied(defect: Defect, fix: Callable[[], None] | None) -> Defect:
    if fix is None:
        return defect
    try:
        fix()
    except LakeledgerError as error:
        return replace(defect, detail=f"{defect.detail}; it could not be repaired: {error}")
    return replace(defect, repaired=True)


def _lost(table: Table, versions: list[int]) -> str:
    """What a person can do about rows that are gone."""
    current = table.current_version in versions
    count = "version" if len(versions) == 1 else "versions"
    told = f"{count} {', '.join(map(str, versions[-3:]))}{' and others' if len(versions) > 3 else ''} cannot be read without it: restore it"
    return f"{told}, or overwrite the table" if current else f"{told}, or let it expire (`lakeledger snapshots expire {table.name}`)"


def _figures(row: Row) -> tuple[int, int, int]:
    return int(row["row_count"]), int(row["file_count"]), int(row["total_size"])
