"""Delta tables that somebody else writes, read without JARs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from integration.reducing import reduced
from integration.test_source_contract import OnTheTestsSpark
from lakeledger import Ledger
from lakeledger.errors import Invalid
from lakeledger.pipelines.sources import Source
from lakeledger.pipelines.sources.delta import Delta, DeltaSource, Version
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from lakeledger.pipelines.load import Loaded

ORDERS = SourceName("shop", "orders")


def add(path: Path, *rows: tuple[int, str], **options: Any) -> None:
    table = pa.table({"id": pa.array([row[0] for row in rows], pa.int32()), "day": [row[1] for row in rows]})
    write_deltalake(str(path), table, mode="append", **options)


def load(ledger: Ledger, path: Path, mode: Any = "append", **options: Any) -> Loaded:
    return ledger.load(DeltaSource(ORDERS, Delta(str(path), mode, **options)), "orders", mode="overwrite" if mode == "full" else "append")


def ids(ledger: Ledger) -> list[int]:
    return sorted(row["id"] for row in ledger.read("orders").collect())


class TestDelta(OnTheTestsSpark):
    def make(self, folder: Path) -> Source:
        return DeltaSource(ORDERS, Delta(str(folder / "delta")))

    def add_rows(self, folder: Path) -> None:
        number = DeltaTable(str(folder / "delta")).version() + 2 if (folder / "delta").exists() else 1
        add(folder / "delta", (number, "a"), (number, "b"))

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in DeltaTable(str(folder / "delta")).to_pyarrow_table().to_pylist()]


@pytest.mark.parametrize("partition_by", [None, ["day"]])
def test_only_the_files_of_new_versions_are_read_and_compactions_are_no_news(
    sqlite_lake: Ledger, tmp_path: Path, partition_by: list[str] | None
) -> None:
    path = tmp_path / "a table"
    for number in (1, 2):
        add(path, (number, "x y"), partition_by=partition_by)
    assert load(sqlite_lake, path).rows == 2
    DeltaTable(str(path)).optimize.compact()
    assert load(sqlite_lake, path).summary == "nothing new"
    add(path, (3, "10:00"), partition_by=partition_by)
    assert load(sqlite_lake, path).rows == 1
    assert sorted(map(tuple, sqlite_lake.read("orders").collect())) == [(1, "x y"), (2, "x y"), (3, "10:00")]
    assert sqlite_lake.positions.get("shop.orders").position_data["version"] == 3


def test_rows_that_changed_are_refused_and_read_as_a_whole(sqlite_lake: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "delta"
    add(path, (1, "a"), (2, "a"))
    load(sqlite_lake, path)
    DeltaTable(str(path)).delete("id = 1")
    with pytest.raises(Invalid, match=r"version 1 of .* changed rows, not only added some: load it with load full"):
        load(sqlite_lake, path)
    assert load(sqlite_lake, path, "full").rows == 1
    assert ids(sqlite_lake) == [2]
    DeltaTable(str(path)).optimize.compact()
    assert load(sqlite_lake, path, "full").committed is None


@pytest.mark.parametrize("partition_by", [None, ["day"]])
def test_a_change_feed_leads_to_the_rows_of_the_table(sqlite_lake: Ledger, tmp_path: Path, partition_by: list[str] | None) -> None:
    path = tmp_path / "delta"
    add(path, (1, "a"), (2, "a"), (3, "b"), partition_by=partition_by, configuration={"delta.enableChangeDataFeed": "true"})
    assert load(sqlite_lake, path, "changes").rows == 3
    table = DeltaTable(str(path))
    table.update(updates={"day": "'c'"}, predicate="id = 1")
    table.delete("id = 2")
    add(path, (4, "d"), partition_by=partition_by)
    DeltaTable(str(path)).delete("id = 3")
    table.optimize.compact()
    load(sqlite_lake, path, "changes", max_versions=2)
    load(sqlite_lake, path, "changes")
    expected = {row["id"]: row for row in DeltaTable(str(path)).to_pyarrow_table().to_pylist()}
    rows = sqlite_lake.read("orders").collect()
    assert {row["_change_type"] for row in rows} == {"read", "insert", "update", "delete"}
    assert reduced(rows, "id") == expected
    assert sorted(expected) == [1, 4]


def test_changes_without_a_feed_are_refused_with_what_to_do(sqlite_lake: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "delta"
    add(path, (1, "a"), (2, "a"))
    load(sqlite_lake, path, "changes")
    DeltaTable(str(path)).delete("id = 1")
    with pytest.raises(Invalid, match=r"delta\.enableChangeDataFeed = true"):
        load(sqlite_lake, path, "changes")


def test_a_table_that_is_another_one_or_lost_its_log_is_refused(sqlite_lake: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "delta"
    with pytest.raises(Invalid, match="there is no Delta table at"):
        load(sqlite_lake, path)
    add(path, (1, "a"))
    load(sqlite_lake, path)
    for number in (2, 3):
        add(path, (number, "a"))
    DeltaTable(str(path)).create_checkpoint()
    (path / f"_delta_log/{1:020}.json").unlink()
    with pytest.raises(Invalid, match="has no entry of version 1 any more"):
        load(sqlite_lake, path)
    path.rename(tmp_path / "old")
    add(path, (9, "a"))
    with pytest.raises(Invalid, match="is another table than the one that was read"):
        load(sqlite_lake, path)


def test_what_an_action_says_is_what_a_version_is() -> None:
    kept = {"add": {"path": "a", "dataChange": False}}
    assert not Version.of(1, [kept, {"remove": {"path": "b", "dataChange": False}}, {"commitInfo": {}}]).is_news
    version = Version.of(2, [{"add": {"path": "c", "dataChange": True, "deletionVector": {"x": 1}}}, {"cdc": {"path": "d"}}])
    assert (version.added, version.feed, version.has_deletion_vectors, version.is_news) == (("c",), ("d",), True, True)
