"""The batches of a source: which versions of which tables the moves of its position brought, and taking them back in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger.commit import Commit, Effect, commit
from lakeledger.db import Store, Transaction
from lakeledger.errors import Invalid
from lakeledger.names import TableName
from lakeledger.publishing import Publisher
from lakeledger.runs import ActiveRun, Counters, DoneBy, Fence
from lakeledger.runs import store as run_store
from lakeledger.sync import Advance, Marker, Rewind, Source, parse_source
from lakeledger.sync.positions import rewind
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Change, Files, store
from lakeledger.tables.model import TAKEN_BACK, Brought

PIPELINE = "take-back"


@dataclass(frozen=True)
class Batch:
    """What one table loses: the versions that brought it, and their rows, bytes and files."""

    table: TableName
    versions: tuple[int, ...]
    rows: int
    bytes: int
    paths: frozenset[str]

    @property
    def files(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class TakeBack:
    """A rewind with the batches that came after the place that it goes back to, by table."""

    rewind: Rewind
    batches: list[Batch]

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)


@dataclass(frozen=True)
class _Forget:
    """An effect: that files were never read."""

    plan: Rewind

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - it is about the source
        rewind.forget_files(tx, self.plan)

    def to_note(self) -> dict[str, Any]:
        source = self.plan.source
        return {
            "op": "forgotten",
            "source": source.key,
            "marker_type": source.marker_type,
            "files": [each.path for each in self.plan.files],
        }


@dataclass(frozen=True)
class Batches:
    """The batches of one tenant's sources."""

    _store: Store
    _begin: Callable[..., ActiveRun]
    _publisher: Publisher

    def tables(self, source: str | Source) -> list[str]:
        """The tables that a source has brought rows to, ever, by name."""
        name = (parse_source(source) if isinstance(source, str) else source).name
        with self._store.read() as tx:
            return [str(each) for each in store.tables_of_source(tx, name)]

    def preview(self, plan: Rewind) -> TakeBack:
        """What a rewind would take back: only whole batches that were appended and are as they were. Raises Invalid that says why not."""
        with self._store.read() as tx:
            return _preview(tx, plan)

    def take_back(self, plan: TakeBack, reason: str | None = None, by: str | None = None) -> Marker:
        """Do what the preview said: rows leave their tables and the position goes back, in one commit.

        Raises Conflict (retryable) if the source has moved since, or somebody has written the files again.
        """
        back = plan.rewind
        move = rewind.move_back(back, reason, takes_back=True)
        told = {"source": back.source.name, "to": back.to.document(), **({"reason": reason} if reason else {})}
        with self._begin(PIPELINE, by=by, kind="maintenance", parameters=told, done_by=DoneBy.COMMIT) as run:
            self._commit(plan, move, run.last_fence)
        with self._store.read() as tx:
            return positions.get(tx, back.source)

    def _commit(self, plan: TakeBack, move: Advance, fence: Fence) -> None:
        forgotten = _Forget(plan.rewind)

        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            def once(tx: Transaction, again: bool) -> Commit:
                if again and positions.stands_at(tx, move):
                    return Commit(run_store.get(tx, fence.run_id), fence)
                return commit(tx, fence, changes, [move], [forgotten, *effects])

            return self._store.persist(once)

        with self._store.read() as tx:
            changes = [_change(tx, batch, plan.rewind.source) for batch in plan.batches]
            modes = {self._publisher.mode(tx, store.get(tx, batch.table)) for batch in plan.batches}
        mode = "sync" if "sync" in modes else "async"
        self._publisher.commit(work, changes, [move], fence.run_id, mode, noted=[forgotten])


def _preview(tx: Transaction, plan: Rewind) -> TakeBack:
    name = plan.source.name
    if plan.appended_bound == "at least":
        raise Invalid(
            f"older moves of {name} were cleaned up, so which versions they made is not known: rewind without taking batches back, "
            "or load everything with a full refresh"
        )
    if plan.appended_bound == "up to":
        raise Invalid(
            f"{plan.to.document()} lies between two moves of {name}, and batches are taken back whole: "
            f"choose a version, `lakeledger positions history {name}` shows them"
        )
    moments = {(change.sync_run_id, change.updated_at) for change in plan.undone if change.sync_run_id}
    versions = store.versions_of_runs(tx, sorted({run_id for run_id, _ in moments if run_id}))
    by_table: dict[str, list[Brought]] = {}
    for each in versions:
        # Run and moment are those of one transaction: what moved the position made the version, too.
        if (each.run_id, each.committed_at) in moments and TAKEN_BACK not in each.summary:
            by_table.setdefault(each.table_id, []).append(each)
    found = [_batch(tx, table_id, brought, name) for table_id, brought in by_table.items()]
    return TakeBack(plan, sorted((each for each in found if each is not None), key=lambda each: each.table.key))


def _batch(tx: Transaction, table_id: str, brought: Sequence[Brought], source: str) -> Batch | None:
    """What a table loses. Raises Invalid if a version was no append, or if its files are not what they were."""
    gone = store.versions_taken_back(tx, table_id)
    standing = [each for each in brought if each.version not in gone and each.added_files]
    if not standing:
        return None
    table = standing[0].table
    if other := next((each for each in standing if each.operation != "append"), None):
        raise Invalid(
            f"version {other.version} of {table} is {_a(other.operation)}, which also changed rows that were there before {source} came: "
            f"it cannot be taken back; {_instead(other.operation)}load it with a full refresh"
        )
    files = store.files_of_versions(tx, table_id, [each.version for each in standing])
    if rewritten := next((file for file in files if file.removed_version is not None), None):
        by = store.operation_of(tx, table_id, rewritten.removed_version or 0)
        raise Invalid(
            f"files of version {rewritten.added_version} of {table} were written again by version {rewritten.removed_version}"
            f"{f' ({by})' if by else ''}, with rows of others: they cannot be taken back; delete the rows by a condition "
            f"(`ledger.delete`) and rewind without taking back, or load {source} with a full refresh"
        )
    if len(files) != sum(each.added_files for each in standing):
        raise Invalid(
            f"not every file that {source} brought to {table} is known any more: rewind without taking back, or load it with a full refresh"
        )
    paths = frozenset(file.file_path for file in files)
    versions = tuple(sorted(each.version for each in standing))
    return Batch(table, versions, sum(file.row_count for file in files), sum(file.file_size for file in files), paths)


def _change(tx: Transaction, batch: Batch, source: Source) -> Change:
    table = store.get(tx, batch.table)
    known = store.metadata(tx, table)
    if known is None:
        raise Invalid(f"{batch.table} has lost its schema")
    return Change(
        table=batch.table,
        location=table.location,
        operation="delete",
        schema=known.schema,
        layout=store.layout_of(known),
        files=[],
        retires=Files(batch.paths),
        counters=Counters(processed=batch.rows, deleted=batch.rows),
        summary={TAKEN_BACK: list(batch.versions), "taken_back_from": source.name, "deleted": batch.rows},
        schema_version=known.schema_version,
    )


def _instead(operation: str) -> str:
    """What finds its rows by their keys finds them again."""
    return "rewind without taking back, and what runs then merges the same rows again, or " if operation in ("merge", "sync") else ""


def _a(operation: str) -> str:
    return f"an {operation}" if operation[0] in "aeiou" else f"a {operation}"
