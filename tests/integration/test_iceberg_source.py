"""Iceberg tables that somebody else writes, read without JARs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.types import LongType

from integration.test_source_contract import OnTheTestsSpark
from lakeledger import Ledger
from lakeledger.errors import Invalid
from lakeledger.pipelines.sources import Source
from lakeledger.pipelines.sources.iceberg import Iceberg, IcebergSource
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from lakeledger.pipelines.load import Loaded

ORDERS = SourceName("shop", "orders")
NAME = "shop.orders"


def properties(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/iceberg"}


def table_in(folder: Path) -> Table:
    catalog: Catalog = load_catalog("source", **properties(folder))
    try:
        return catalog.load_table(NAME)
    except NoSuchTableError:
        catalog.create_namespace_if_not_exists("shop")
        return catalog.create_table(NAME, pa.schema([("id", pa.int32()), ("day", pa.string())]))


def add(folder: Path, *rows: tuple[int, str]) -> None:
    columns = {"id": pa.array([row[0] for row in rows], pa.int32()), "day": [row[1] for row in rows]}
    table_in(folder).append(pa.table(columns))


def load(ledger: Ledger, folder: Path, mode: Any = "append") -> Loaded:
    source = IcebergSource(ORDERS, Iceberg(NAME, mode, properties(folder)))
    return ledger.load(source, "orders", mode="overwrite" if mode == "full" else "append")


class TestIceberg(OnTheTestsSpark):
    def make(self, folder: Path) -> Source:
        return IcebergSource(ORDERS, Iceberg(NAME, catalog=properties(folder)))

    def add_rows(self, folder: Path) -> None:
        number = len(table_in(folder).snapshots()) + 1
        add(folder, (number, "a"), (number, "b"))

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in table_in(folder).scan().to_arrow().to_pylist()]


def test_rows_that_changed_are_refused_and_read_as_a_whole(sqlite_lake: Ledger, tmp_path: Path) -> None:
    add(tmp_path, (1, "a"), (2, "a"))
    assert load(sqlite_lake, tmp_path).rows == 2
    table_in(tmp_path).delete("id = 1")
    with pytest.raises(Invalid, match=r"snapshot \d+ of shop.orders is an overwrite, which changed rows"):
        load(sqlite_lake, tmp_path)
    assert load(sqlite_lake, tmp_path, "full").rows == 1
    assert load(sqlite_lake, tmp_path, "full").committed is None


def test_a_compaction_is_no_news_and_new_columns_are_null_in_old_files(sqlite_lake: Ledger, tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    add(tmp_path, (2, "b"))
    load(sqlite_lake, tmp_path)
    compact(table_in(tmp_path))
    loaded = load(sqlite_lake, tmp_path)
    assert (loaded.summary, loaded.committed) == ("nothing new", None)
    with table_in(tmp_path).update_schema() as update:
        update.add_column("level", LongType())
    add_level = pa.table({"id": pa.array([3], pa.int32()), "day": ["c"], "level": [7]})
    table_in(tmp_path).append(add_level)
    assert load(sqlite_lake, tmp_path, "full").rows == 3
    assert sorted(map(tuple, sqlite_lake.read("orders").collect())) == [(1, "a", None), (2, "b", None), (3, "c", 7)]


def compact(table: Table) -> None:
    """Replace all files by one with the same rows. pyiceberg calls that an overwrite; other engines write what is written here."""
    table.overwrite(table.scan().to_arrow())
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text(encoding="utf-8"))
    for snapshot in metadata["snapshots"][2:]:
        snapshot["summary"]["operation"] = "replace"
    path.write_text(json.dumps(metadata), encoding="utf-8")


def test_a_renamed_column_is_refused(sqlite_lake: Ledger, tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    with table_in(tmp_path).update_schema() as update:
        update.rename_column("day", "date")
    with pytest.raises(Invalid, match=r"renamed a column \(date, day\)"):
        load(sqlite_lake, tmp_path)


def test_a_snapshot_that_is_gone_is_refused(sqlite_lake: Ledger, tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    load(sqlite_lake, tmp_path)
    first = table_in(tmp_path).snapshots()[0].snapshot_id
    add(tmp_path, (2, "b"))
    table_in(tmp_path).maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(Invalid, match=rf"snapshot {first} of shop.orders, up to which it was read, is expired"):
        load(sqlite_lake, tmp_path)


def test_a_table_can_be_read_by_its_metadata_file_alone(sqlite_lake: Ledger, tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    source = IcebergSource(ORDERS, Iceberg(table_in(tmp_path).metadata_location))
    assert sqlite_lake.load(source, "orders").rows == 1
    with pytest.raises(Invalid, match="there is no Iceberg table"):
        sqlite_lake.load(IcebergSource(ORDERS, Iceberg(f"{tmp_path}/none.metadata.json")), "orders")
