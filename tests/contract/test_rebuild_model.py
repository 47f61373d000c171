"""A ledger that is lost again and again, in the middle of whatever was published when: each row of the source comes once to each table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import lakeledger
from contract.rebuilt import load
from lakeledger import Advance, Invalid, Ledger, NumberPosition, Source, clock
from lakeledger.sync import VersionsPosition
from lakeledger.tables import Change, Files, Layout, NewFile, parse_name, store

ORDERS, SALES, ASIDE = "shop.orders", "shop.sales", "shop.orders__quarantine"
COUNTED, REPORT = Source("shop", "orders"), Source("reports", "sales")
SCHEMA = {"fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}, "physical_name": "id"}]}


class World:
    """A source that counts, a table of its rows, another of its odd ones, and a report of the first; and a ledger that may be lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, list[int]] = {}
        self.made = self.losses = 0
        self.ledger = self._open()
        self.extract(1, "sync")  # what was never published does not come back

    def _open(self) -> Ledger:
        return lakeledger.open(f"sqlite:///{self.folder}/{self.losses}.db", warehouse=f"{self.folder}/warehouse", metadata="sync")

    def lose(self) -> None:
        published = [
            table for table in self.ledger.tables.list() if (seen := self.ledger.tables.publication(str(table.name))) and seen.version
        ]
        self.ledger.close()
        self.losses += 1
        if published:
            url, warehouse = f"sqlite:///{self.folder}/{self.losses}.db", f"{self.folder}/warehouse"
            assert lakeledger.rebuild(url, warehouse=warehouse, apply=True).problems == []
        self.ledger = self._open()

    def file(self, rows: list[int]) -> NewFile:
        path = f"data/run/{clock.new_id()}.parquet"
        self.rows[path] = rows
        return NewFile(path, 10, len(rows), "", "snappy", {"id": {"min": min(rows), "max": max(rows), "nulls": 0}}, clock.now())

    def found(self, table: str) -> list[int]:
        there = self.ledger.tables.find(table)
        return sorted(row for path in self.ledger.tables.view(table).file_paths for row in self.rows[path]) if there else []

    def extract(self, more: int, mode: str) -> None:
        """Load what is new; its odd rows are set aside, too, in the same commit."""
        self.made += more
        marker = self.ledger.positions.find(COUNTED)
        assert marker or not self.found(ORDERS)
        new = list(range((marker.position_data["value"] if marker else 0) + 1, self.made + 1))
        if not new:
            return
        changes = [change(ORDERS, self.file(new))]
        if odd := [row for row in new if row % 2]:
            changes.append(change(ASIDE, self.file(odd), location="shop/orders"))
        load(self.ledger, *changes, moves=[Advance(COUNTED, NumberPosition(self.made), marker.version if marker else 0)], mode=mode)

    def report(self, mode: str) -> None:
        """Bring to the report what came since, or everything where nobody knows what that is."""
        orders, marker = self.ledger.tables.find(ORDERS), self.ledger.positions.find(REPORT)
        if orders is None:
            return
        read = marker.position if marker else None
        with self.ledger.store.read() as tx:
            view = store.view(tx, parse_name(ORDERS))
            is_all = not isinstance(read, VersionsPosition) or read.ids[ORDERS] != orders.table_id
            try:
                new = view if is_all or not isinstance(read, VersionsPosition) else store.appended(tx, view, read.versions[ORDERS])
            except Invalid:
                new, is_all = view, True
        rows = [row for path in new.file_paths for row in self.rows[path]]
        if not rows:
            return
        more: dict[str, Any] = {"operation": "overwrite", "retires": "all"} if is_all and self.ledger.tables.find(SALES) else {}
        to = VersionsPosition({ORDERS: view.content_version}, {ORDERS: orders.table_id})
        load(self.ledger, change(SALES, self.file(rows), **more), moves=[Advance(REPORT, to, force=is_all)], mode=mode)

    def compact(self, mode: str) -> None:
        paths = self.ledger.tables.view(ORDERS).file_paths[:2] if self.ledger.tables.find(ORDERS) else []
        if paths:
            rows = [row for path in paths for row in self.rows[path]]
            load(self.ledger, change(ORDERS, self.file(rows), operation="replace", retires=Files(frozenset(paths))), mode=mode)

    def publish(self, table: str) -> None:
        if self.ledger.tables.find(table):
            self.ledger.publisher.publish(table)


def change(table: str, file: NewFile, *, location: str | None = None, **more: Any) -> Change:
    name = parse_name(table)
    schema = {"fields": [{**field, "physical_name": "lakeledger_aside_id" if location else "id"} for field in SCHEMA["fields"]]}
    return Change(name, location or name.folder, **{"operation": "append", "schema": schema, "layout": Layout(), "files": [file], **more})


@contextmanager
def world() -> Iterator[World]:
    with TemporaryDirectory() as folder:
        made = World(Path(folder))
        yield made
        made.ledger.close()


MODE = st.sampled_from(["sync", "async", "async"])
STEP = st.one_of(
    st.tuples(st.just("extract"), st.integers(1, 3), MODE),
    st.tuples(st.just("report"), MODE),
    st.tuples(st.just("compact"), MODE),
    st.tuples(st.just("publish"), st.sampled_from([ORDERS, SALES, ASIDE])),
    st.tuples(st.just("lose")),
)


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(STEP, min_size=3, max_size=12))
@example([("extract", 1, "async"), ("report", "sync"), ("lose",), ("extract", 1, "sync")])  # a version that has become another one
@example([("extract", 2, "async"), ("extract", 2, "async"), ("publish", ASIDE)])  # what was set aside is ahead of its table
@example([("extract", 2, "async"), ("extract", 1, "sync"), ("report", "sync")])  # a table is ahead of what was set aside
def test_every_row_comes_once_whatever_was_published_when_the_ledger_was_lost(steps: list[tuple[Any, ...]]) -> None:
    with world() as lake:
        for step, *given_ in steps:
            getattr(lake, step)(*given_)
        lake.lose()
        lake.extract(1, "sync")
        lake.report("sync")
        everything = list(range(1, lake.made + 1))
        assert lake.found(ORDERS) == everything
        assert lake.found(ASIDE) == [row for row in everything if row % 2]
        assert lake.found(SALES) == everything
