"""Ledgers that are lost and rebuilt: commits with positions and files of sources, and all of a ledger that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lakeledger
from lakeledger import Ledger
from lakeledger.commit import Commit, Effect, commit
from lakeledger.sync import Advance
from lakeledger.tables import Change, store


def load(ledger: Ledger, *changes: Change, moves: Sequence[Advance] = (), effects: Sequence[Effect] = (), mode: str = "sync") -> Commit:
    """One commit, as a load makes it."""
    with ledger.run("load") as run:

        def work(planned: Sequence[Change], pointers: Sequence[Effect]) -> Commit:
            with ledger.store.write() as tx:
                return commit(tx, run.fence, planned, moves, [*effects, *pointers])

        return ledger.publisher.commit(work, changes, moves, run.id, mode, noted=effects)


@contextmanager
def rebuilt(ledger: Ledger, url: str) -> Iterator[Ledger]:
    """The ledger that a rebuild makes of the warehouse of that one."""
    warehouse = str(Path(ledger.warehouse).parent)
    lakeledger.rebuild(url, warehouse=warehouse, apply=True)
    with lakeledger.open(url, warehouse=warehouse, metadata="sync") as found:
        yield found


def state(ledger: Ledger) -> dict[str, Any]:
    """All that a rebuild promises to bring back."""
    return {
        "tables": {str(table.name): table_state(ledger, str(table.name)) for table in ledger.tables.list()},
        "positions": {
            (each.source.name, each.marker_type): (each.position_kind, each.position_data, each.order_key, each.version, each.sync_run_id)
            for each in ledger.positions.list()
        },
        "files": {
            (each.source.name, each.marker_type): sorted(map(repr, ledger.positions.files(each.source))) for each in ledger.positions.list()
        },
        "schemas": [(each.name, each.version, each.schema_definition, each.schema_hash) for each in ledger.schemas.list()],
    }


def table_state(ledger: Ledger, name: str) -> dict[str, Any]:
    table, known = ledger.tables.get(name), ledger.tables.metadata(name)
    with ledger.store.read() as tx:
        files = {
            file.file_path: (file.file_size, file.row_count, file.partition_path, file.column_bounds, file.run_id)
            for file in store.files(tx, table)
        }
    assert known is not None
    return {
        "table": (table.table_id, table.location, table.current_version, table.content_version),
        "size": (table.row_count, table.total_size, table.file_count),
        "metadata": (known.schema, known.columns, known.partition_by, known.sort_by, known.compression, known.properties),
        "versions": {each.version: version_state(ledger, name, each) for each in ledger.tables.history(name, limit=None)},
        "files": files,
        "tags": {tag.name: tag.version for tag in ledger.snapshots.tags(name)},
        "published": vars(ledger.tables.publication(name)) | {"updated_at": None},
    }


def version_state(ledger: Ledger, name: str, snapshot: Any) -> tuple[Any, ...]:
    view = ledger.tables.view(name, snapshot.version)
    told = (snapshot.snapshot_id, snapshot.operation, snapshot.batch_id, snapshot.run_id, snapshot.trigger, snapshot.summary)
    return (*told, view.schema, view.layout, sorted(view.file_paths))


def assert_same(found: Ledger, lost: Ledger) -> None:
    """All is as it was; what is not is named, part by part."""
    now, before = state(found), state(lost)
    assert now["tables"].keys() == before["tables"].keys()
    for name, table in before["tables"].items():
        for part, value in table.items():
            assert now["tables"][name][part] == value, (name, part)
    assert now == before
