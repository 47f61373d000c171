"""What other engines see of a table: the pointer moves with the commit, or not at all. Files are real, Spark is not needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lakeledger
from contract.making import rows as select
from iceberg_readers import READERS, catalog, plain
from lakeledger import Conflict, Ledger, clock, publishing
from lakeledger.commit import Commit, Effect, commit
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.lake.iceberg.hint import HINT
from lakeledger.lake.iceberg.manifests import MANIFESTS_MERGED_AT
from lakeledger.lake.iceberg.stage import SNAPSHOTS_KEPT
from lakeledger.lake.parquet import Parquet
from lakeledger.lake.storage import Storage
from lakeledger.publishing import ATTEMPTS
from lakeledger.runs import Fence
from lakeledger.tables import Change, Files, Layout, NewFile, Partitions, parse_name

FIELDS = {"id": "long", "day": "date", "name": "string"}
SCHEMA = {"type": "struct", "fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in FIELDS.items()]}
ORDERS = parse_name("shop.orders")
MONDAY, TUESDAY = date(2026, 3, 2), date(2026, 3, 3)

Work = Callable[[Sequence[Change], Sequence[Effect]], Commit]


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        yield opened


def new_file(ledger: Ledger, values: Sequence[tuple[Any, ...]]) -> NewFile:
    """A file with these rows, as Spark would have written it."""
    storage = Storage(f"{ledger.warehouse}/{ORDERS.folder}")
    path = f"data/run/{clock.new_id()}.parquet"
    types = [pa.int64(), pa.date32(), pa.string()]
    columns = [pa.array([row[number] for row in values], type_) for number, type_ in enumerate(types)]
    whole = Path(storage.inner(path))
    whole.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(dict(zip(FIELDS, columns, strict=True))), whole)
    facts = Parquet().inspect(storage, path, {}, set(FIELDS))
    partition = f"day={values[0][1]}"
    return NewFile(path, whole.stat().st_size, facts.rows, partition, facts.compression, facts.bounds, clock.now())


def change(ledger: Ledger, *files: NewFile, **more: Any) -> Change:
    given = {"operation": "append", "schema": SCHEMA, "layout": Layout("parquet", ("day",)), **more}
    return Change(ORDERS, ORDERS.folder, files=list(files), **given)


def put(ledger: Ledger, *changes: Change, mode: str = "sync", meanwhile: Callable[[], object] = lambda: None) -> Commit:
    """Commit, as a write does; `meanwhile` happens between the staging of metadata and the commit."""
    with ledger.run("load") as run:
        return ledger.publisher.commit(working(ledger, run.fence, meanwhile), changes, [], run.id, mode)


def working(ledger: Ledger, fence: Fence, meanwhile: Callable[[], object]) -> Work:
    def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
        meanwhile()
        with ledger.store.write() as tx:
            return commit(tx, fence, changes, effects=effects)

    return work


def append(ledger: Ledger, *values: tuple[Any, ...], **more: Any) -> Commit:
    return put(ledger, change(ledger, new_file(ledger, values)), **more)


def seen(ledger: Ledger, reader: str = "pyiceberg", version: int | None = None) -> list[Any]:
    """The ids that another engine finds."""
    snapshot = ledger.tables.view("shop.orders", version)
    (found,) = [each for each in ledger.tables.history("shop.orders") if each.version == snapshot.version]
    return sorted(READERS[reader](ledger, "shop.orders", found.iceberg_snapshot_id or 0)["id"].to_pylist())


def metadata_files(ledger: Ledger) -> set[str]:
    return {path.name for path in Path(ledger.warehouse, ORDERS.folder, "metadata").glob("*") if not path.name.endswith(HINT)}


def test_what_a_commit_published_stays_though_its_answer_was_lost(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    with ledger.run("load") as run:

        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            with ledger.store.write() as tx:
                made = commit(tx, run.fence, changes, effects=effects)
            return Commit(made.run, run.fence)  # as whoever finds, when asked again, that all is done already

        ledger.publisher.commit(work, [change(ledger, new_file(ledger, [(2, MONDAY, "b")]))], [], run.id, "sync")
    assert seen(ledger) == [1, 2]
    append(ledger, (3, MONDAY, "c"))
    assert seen(ledger) == [1, 2, 3]


def test_every_change_is_seen_with_its_commit(ledger: Ledger) -> None:
    first, second = new_file(ledger, [(1, MONDAY, "a"), (2, MONDAY, None)]), new_file(ledger, [(3, TUESDAY, "c")])
    put(ledger, change(ledger, first, second))
    append(ledger, (4, TUESDAY, "d"))
    put(
        ledger,
        change(ledger, new_file(ledger, [(5, MONDAY, "e")]), operation="overwrite", retires=Partitions(frozenset([f"day={MONDAY}"]))),
    )
    put(ledger, change(ledger, new_file(ledger, [(3, TUESDAY, "c")]), operation="replace", retires=Files(frozenset([second.path]))))
    put(ledger, change(ledger, new_file(ledger, [(9, MONDAY, "z")]), operation="overwrite", retires="all", layout=Layout()))
    expected = {1: [1, 2, 3], 2: [1, 2, 3, 4], 3: [3, 4, 5], 4: [3, 4, 5], 5: [9]}
    for reader in READERS:
        assert {version: seen(ledger, reader, version) for version in expected} == expected, reader
    with catalog(ledger) as opened:
        table = opened.load_table("shop.orders")
        assert [each.summary.operation.value for each in table.metadata.snapshots] == [
            "append",
            "append",
            "overwrite",
            "replace",
            "overwrite",
        ]
        assert [each.sequence_number for each in table.metadata.snapshots] == [1, 2, 3, 4, 5]
        totals = [(each.summary["total-records"], each.summary["total-data-files"]) for each in table.metadata.snapshots]
    assert totals == [("3", "2"), ("4", "3"), ("3", "3"), ("3", "3"), ("1", "1")]
    states = {row["iceberg_metadata_state"] for row in select(ledger, "select iceberg_metadata_state from table_files")}
    assert states == {"completed"}


def test_a_partition_is_told_where_the_bounds_of_a_file_prove_it(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"), (2, MONDAY, "b"))
    append(ledger, (3, MONDAY, "c"), (4, TUESDAY, "d"))
    append(ledger, (5, None, "e"))
    with catalog(ledger) as opened:
        table = opened.load_table("shop.orders")
        assert len(list(table.scan(row_filter=f"day = '{TUESDAY}'").plan_files())) == 1
        assert table.scan(row_filter=f"day = '{TUESDAY}'").to_arrow()["id"].to_pylist() == [4]
        assert sorted(table.scan(row_filter=f"day = '{MONDAY}'").to_arrow()["id"].to_pylist()) == [1, 2, 3]
        assert table.scan(row_filter="day is null").to_arrow()["id"].to_pylist() == [5]
        assert {spec.spec_id: len(spec.fields) for spec in table.specs().values()} == {0: 0, 1: 1}


def test_a_writer_that_was_overtaken_makes_only_its_metadata_anew(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    others = iter([2, 3])

    def overtake() -> None:
        if number := next(others, None):
            append(ledger, (number, MONDAY, "b"))

    made = append(ledger, (4, MONDAY, "d"), meanwhile=overtake)
    assert made.tables[0].version == 4
    assert seen(ledger) == [1, 2, 3, 4]
    # Four stagings that count, of three files each, and nothing of the two that did not.
    assert len(metadata_files(ledger)) == 4 * 3


def test_who_is_overtaken_again_and_again_gives_way(ledger: Ledger) -> None:
    append(ledger, (0, MONDAY, "a"))
    before = metadata_files(ledger)
    others = iter(range(1, 100))
    with pytest.raises(Conflict, match=rf"others published shop\.orders {ATTEMPTS} times") as caught:
        append(ledger, (100, MONDAY, "d"), meanwhile=lambda: append(ledger, (next(others), MONDAY, "b")))
    assert caught.value.retryable
    assert seen(ledger) == list(range(ATTEMPTS + 1))
    assert len(metadata_files(ledger) - before) == ATTEMPTS * 3


def test_what_is_refused_leaves_neither_a_pointer_nor_metadata(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    before, pointer = metadata_files(ledger), ledger.tables.publication("shop.orders")
    gone = change(ledger, new_file(ledger, [(2, MONDAY, "b")]), operation="overwrite", retires=Files(frozenset(["data/gone"])))
    with pytest.raises(Conflict, match="while it was being overwritten"):
        put(ledger, gone)
    assert (metadata_files(ledger), ledger.tables.publication("shop.orders")) == (before, pointer)


def test_a_batch_that_is_there_already_is_not_published_again(ledger: Ledger) -> None:
    batch = change(ledger, new_file(ledger, [(1, MONDAY, "a")]), batch_id="one")
    put(ledger, batch)
    before = metadata_files(ledger)
    made = put(ledger, replace(batch, snapshot_id=clock.new_id()))
    assert not made.applied
    assert metadata_files(ledger) == before


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"layout": Layout("jsonl")}, "Iceberg has no jsonl files"),
        (
            {"schema": {"fields": [*SCHEMA["fields"], {"name": "odd", "type": "variant", "nullable": True, "metadata": {}}]}},
            "column odd, which is variant",
        ),
    ],
)
def test_what_iceberg_cannot_hold_is_committed_and_says_why_it_is_not_seen(ledger: Ledger, more: dict[str, Any], why: str) -> None:
    made = put(ledger, change(ledger, new_file(ledger, [(1, MONDAY, "a")]), **more))
    assert made.tables[0].version == 1
    found = ledger.tables.publication("shop.orders")
    assert found is not None
    assert (found.version, found.metadata_location, found.problem_version) == (0, None, 1)
    assert why in (found.problem or "")
    put(ledger, change(ledger, new_file(ledger, [(2, MONDAY, "b")]), operation="overwrite", retires="all"))
    found = ledger.tables.publication("shop.orders")
    assert found is not None
    assert (found.version, found.problem) == (2, None)
    assert seen(ledger) == [2]


def test_what_was_not_published_with_its_commit_is_caught_up_with_in_one_snapshot(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    append(ledger, (2, MONDAY, "b"), mode="async")
    put(ledger, change(ledger, new_file(ledger, [(3, TUESDAY, "c")]), operation="overwrite", retires="all"), mode="async")
    append(ledger, (4, TUESDAY, "d"), mode="async")
    found = ledger.tables.publication("shop.orders")
    assert found is not None
    assert found.version == 1
    assert (ledger.publisher.publish("shop.orders") or found).version == 4
    assert seen(ledger) == [3, 4]
    assert {
        row["iceberg_metadata_state"] for row in select(ledger, "select iceberg_metadata_state from table_files where state = 'live'")
    } == {"completed"}
    before = metadata_files(ledger)
    ledger.publisher.publish("shop.orders")
    assert metadata_files(ledger) == before
    append(ledger, (5, TUESDAY, "e"), mode="async")
    append(ledger, (6, TUESDAY, "f"))
    assert seen(ledger) == [3, 4, 5, 6]
    with catalog(ledger) as opened:
        assert [each.sequence_number for each in opened.load_table("shop.orders").metadata.snapshots] == [1, 4, 6]


def test_a_commit_that_takes_earlier_ones_along_completes_their_files(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"), mode="async")
    append(ledger, (2, MONDAY, "b"), mode="sync")
    assert seen(ledger) == [1, 2]
    assert states(ledger) == ["completed", "completed"]


def test_a_file_that_comes_while_a_table_is_looked_at_is_published_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    append(ledger, (1, MONDAY, "a"), mode="async")
    catch_up, others = ledger.publisher._catch_up, iter([2])

    def overtaken(*looked_at: Any) -> bool:
        if number := next(others, None):
            append(ledger, (number, MONDAY, "b"), mode="async")
        return catch_up(*looked_at)

    monkeypatch.setattr(ledger.publisher, "_catch_up", overtaken)
    ledger.publisher.publish("shop.orders")
    ledger.publisher.publish("shop.orders")
    assert seen(ledger) == [1, 2]


def test_a_table_says_for_itself_when_it_is_seen(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    ledger.publisher.set_mode("shop.orders", "off")
    with ledger.store.read() as tx:
        assert ledger.publisher.mode(tx, ledger.tables.get("shop.orders")) == "off"
        assert ledger.publisher.mode(tx, ledger.tables.get("shop.orders"), "async") == "async"
    ledger.publisher.set_mode("shop.orders", None)
    with ledger.store.read() as tx:
        assert ledger.publisher.mode(tx, ledger.tables.get("shop.orders")) == "sync"
        with pytest.raises(lakeledger.Invalid, match="metadata cannot be 'now': write sync, async or off"):
            ledger.publisher.mode(tx, None, "now")


def test_metadata_does_not_grow_with_the_number_of_commits(ledger: Ledger) -> None:
    file = new_file(ledger, [(1, MONDAY, "a")])
    whole = Path(ledger.warehouse, ORDERS.folder)
    commits = MANIFESTS_MERGED_AT + SNAPSHOTS_KEPT + 10
    with ledger.run("load") as run:
        for number in range(commits):
            path = f"data/run/{number}.parquet"
            os.link(whole / file.path, whole / path)
            planned = change(ledger, replace(file, path=path))
            ledger.publisher.commit(working(ledger, run.fence, lambda: None), [planned], [], run.id, "sync")
    with catalog(ledger) as opened:
        table = opened.load_table("shop.orders")
        manifests = table.current_snapshot().manifests(table.io)
        assert len(table.metadata.snapshots) == SNAPSHOTS_KEPT
        assert len(manifests) < MANIFESTS_MERGED_AT
        assert sum(each.added_files_count + each.existing_files_count for each in manifests) == commits
    assert seen(ledger) == [1] * commits


def test_others_can_read_but_not_write(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    with catalog(ledger) as opened:
        table = opened.load_table("shop.orders")
        with pytest.raises(Exception, match="view"):
            table.append(table.scan().to_arrow())
        with pytest.raises(Exception, match="view"):
            opened.drop_table("shop.orders")
        assert opened.list_tables("shop") == [("shop", "orders")]
    assert seen(ledger) == [1]


def test_a_warehouse_that_was_moved_is_published_again(ledger: Ledger, url: str, tmp_path: Path) -> None:
    append(ledger, (1, MONDAY, "a"))
    append(ledger, (2, MONDAY, "b"))
    (tmp_path / "warehouse").rename(tmp_path / "elsewhere")
    with lakeledger.open(url, warehouse=str(tmp_path / "elsewhere"), metadata="sync") as moved:
        moved.move_warehouse(apply=True)
        append(moved, (3, MONDAY, "c"))
        for reader in READERS:
            assert seen(moved, reader) == [1, 2, 3]


def test_all_tables_are_read_alike(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"), (2, None, "ü" * 100), (3, TUESDAY, None))
    snapshot = ledger.tables.history("shop.orders")[0]
    found = {name: plain(read(ledger, "shop.orders", snapshot.iceberg_snapshot_id or 0)) for name, read in READERS.items()}
    assert found["pyiceberg"] == found["polars"] == found["duckdb"]


def test_a_storage_that_is_away_is_told_of_each_file_and_made_up_for(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    append(ledger, (2, MONDAY, "b"), mode="async")
    folder = Path(ledger.warehouse, ORDERS.folder, "metadata")
    folder.rename(folder.with_name("away"))
    folder.write_bytes(b"no folder")
    ledger.publisher._bases.clear()  # as whoever has not published it before
    with pytest.raises(lakeledger.Failed):
        ledger.publisher.publish("shop.orders")
    assert states(ledger) == ["completed", "failed"]
    folder.unlink()
    folder.with_name("away").rename(folder)
    ledger.publisher.publish("shop.orders")
    assert states(ledger) == ["completed", "completed"]
    assert seen(ledger) == [1, 2]


def test_what_cannot_be_published_afterwards_says_why(ledger: Ledger) -> None:
    odd = {"fields": [*SCHEMA["fields"], {"name": "odd", "type": "variant", "nullable": True, "metadata": {}}]}
    put(ledger, change(ledger, new_file(ledger, [(1, MONDAY, "a")]), schema=odd), mode="async")
    with pytest.raises(Unpublishable, match="column odd"):
        ledger.publisher.publish("shop.orders")
    found = ledger.tables.publication("shop.orders")
    assert found is not None
    assert (found.problem_version, "odd" in (found.problem or "")) == (1, True)


def test_who_writes_faster_than_anybody_publishes_takes_the_rest_along(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MOST_BEHIND", 3)
    append(ledger, (0, MONDAY, "a"))
    ledger.publisher.set_mode("shop.orders", "async")
    for number in range(1, 7):
        with ledger.store.read() as tx:
            mode = ledger.publisher.mode(tx, ledger.tables.get("shop.orders"))
        append(ledger, (number, MONDAY, "b"), mode=mode)
    found = ledger.tables.publication("shop.orders")
    assert found is not None
    assert found.version == 6
    with catalog(ledger) as opened:
        assert [each.sequence_number for each in opened.load_table("shop.orders").metadata.snapshots] == [1, 6]


def states(ledger: Ledger) -> list[str]:
    return [
        row["iceberg_metadata_state"] for row in select(ledger, "select iceberg_metadata_state from table_files order by added_version")
    ]


@pytest.mark.parametrize("kind", ["table.metadata.json", "list.avro", "manifest-0.avro"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_metadata_that_somebody_removed_is_made_anew(ledger: Ledger, kind: str, mode: str) -> None:
    append(ledger, (1, MONDAY, "a"))
    append(ledger, (2, MONDAY, "b"))
    for path in Path(ledger.warehouse, ORDERS.folder, "metadata").glob(f"*{kind}"):
        path.unlink()
    ledger.publisher._bases.clear()  # as whoever has not published it before
    put(
        ledger,
        change(ledger, new_file(ledger, [(3, TUESDAY, "c")]), operation="overwrite", retires=Partitions(frozenset(["day=none"]))),
        mode=mode,
    )
    ledger.publisher.publish("shop.orders")
    if kind == "manifest-0.avro":  # nothing that was removed had to be read
        put(
            ledger,
            change(ledger, new_file(ledger, [(4, MONDAY, "d")]), operation="overwrite", retires=Partitions(frozenset([f"day={MONDAY}"]))),
        )
        assert seen(ledger) == [3, 4]
    else:
        assert seen(ledger) == [1, 2, 3]


def test_a_column_that_was_dropped_before_anybody_else_saw_the_table_is_in_nobodys_way(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"), mode="async")
    ledger.publisher.set_mode("shop.orders", "async")
    ledger.columns.drop("shop.orders", "name")
    ledger.publisher.publish("shop.orders")
    for reader in READERS:
        assert seen(ledger, reader) == [1], reader
