"""Tables of others, taken in where they are: nothing is copied, and nothing of theirs is ever deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lakeledger
from contract.keeping import let_pass
from iceberg_readers import READERS
from lakeledger import Conflict, Invalid, Ledger
from lakeledger.commit import commit
from lakeledger.tables import Change, Files, Layout, NewFile, parse_name

NAME = "silver.orders"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        opened.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(days=1))
        yield opened


def orders(*ids: int) -> pa.Table:
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "name": [f"n{each}" for each in ids], "at": pa.array([AT] * len(ids), pa.timestamp("us", "UTC"))}
    )


def folder(path: Path, *tables: pa.Table) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables):
        parquet.write_table(table, path / f"{number}.parquet")
    return path


def everything(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


def seen(ledger: Ledger, reader: str, name: str = NAME) -> list[Any]:
    """What another engine reads of the current version."""
    id_ = ledger.tables.history(name)[0].iceberg_snapshot_id
    return sorted(READERS[reader](ledger, name, id_ or 0).to_pylist(), key=repr)


def read(ledger: Ledger, version: int | None = None) -> list[int]:
    return sorted(each for path in ledger.tables.view(NAME, version).paths for each in parquet.read_table(path)["id"].to_pylist())


def replace_all(ledger: Ledger, *ids: int) -> None:
    """The table's rows are others from now on, in a file that the ledger wrote."""
    table, known = ledger.tables.get(NAME), ledger.tables.metadata(NAME)
    assert known is not None
    with ledger.run("load") as run:
        path = f"data/{run.id}/x.parquet"
        (Path(table.location) / path).parent.mkdir(parents=True)
        parquet.write_table(orders(*ids), Path(table.location) / path)
        file = NewFile(path, (Path(table.location) / path).stat().st_size, len(ids), "", "snappy", {}, AT)
        leaving = Files(frozenset(ledger.tables.view(NAME).file_paths))
        change = Change(parse_name(NAME), table.location, "merge", known.schema, Layout(), [file], leaving)
        with ledger.store.write() as tx:
            commit(tx, run.fence, [change])
    ledger.publisher.publish(NAME)


def test_a_folder_of_parquet_becomes_a_table_and_its_files_stay(ledger: Ledger, tmp_path: Path) -> None:
    place = folder(tmp_path / "lake/orders", orders(1, 2), orders(3).append_column("more", pa.array(["x"])))
    (place / "notes.txt").write_text("hello", encoding="utf-8")
    (place / "_SUCCESS").write_text("", encoding="utf-8")
    before = everything(place)
    made = ledger.adoption.register(NAME, parquet=str(place))
    assert (made.applied, made.kind, made.files, made.rows) == (True, "parquet", 2, 3)
    assert made.notes == ("1 of its files are no Parquet and not taken in, notes.txt among them",)
    table = ledger.tables.get(NAME)
    assert (table.location, table.row_count, table.current_version) == (str(place), 3, 1)
    assert [file.column_bounds["id"] for file in ledger.tables.files(NAME)] == [
        {"min": 1, "max": 2, "nulls": 0},
        {"min": 3, "max": 3, "nulls": 0},
    ]
    assert {name for name in everything(place) if not name.startswith("metadata/")} == before
    for reader in ("pyiceberg", "duckdb"):
        assert [(row["id"], row["name"], row["more"]) for row in seen(ledger, reader)] == [(1, "n1", None), (2, "n2", None), (3, "n3", "x")]
    again = ledger.adoption.register(NAME, parquet=str(place))
    assert (again.applied, again.rows, ledger.tables.get(NAME).current_version) == (False, 3, 1)
    with pytest.raises(Conflict, match=r"is where silver.orders is"):
        ledger.adoption.register("silver.other", parquet=str(place))
    other = folder(tmp_path / "lake/other", orders(1))
    with pytest.raises(Conflict, match=r"there is a table silver.orders already"):
        ledger.adoption.register(NAME, parquet=str(other))
    with pytest.raises(Invalid, match="in the ledger's own warehouse"):
        ledger.adoption.register("silver.x", parquet=ledger.settings.warehouse_uri)


def test_maintenance_never_removes_what_others_wrote(ledger: Ledger, tmp_path: Path) -> None:
    place = folder(tmp_path / "lake/orders", orders(1, 2), orders(3))
    parquet.write_table(orders(7), place / "unknown.parquet")
    made = ledger.adoption.register(NAME, parquet=str(place))
    foreign = {"0.parquet", "1.parquet", "unknown.parquet", "data/part=1/theirs.parquet", "data/x.parquet", "metadata/theirs.json"}
    for name in foreign - everything(place):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"theirs")
    assert made.rows == 4
    assert ledger.tables.verify(NAME).ok
    replace_all(ledger, 10)
    replace_all(ledger, 11)
    ours = next(name for name in ledger.tables.view(NAME, 2).file_paths)
    with ledger.run("crash") as run:
        left = f"data/{run.id}/left.parquet"
        (place / left).parent.mkdir(parents=True)
        (place / left).write_bytes(b"ours")
    os.utime(place / left, (0, 0))
    let_pass(ledger, 5)
    report = ledger.maintenance.maintain(apply=True)
    assert [care.problems for care in report.tables] == [[]]
    let_pass(ledger, 5)
    ledger.maintenance.maintain(apply=True)
    assert foreign <= everything(place)
    assert {ours, left}.isdisjoint(everything(place))
    assert [file.file_path for file in ledger.tables.files(NAME)] == ledger.tables.view(NAME).file_paths
    assert read(ledger) == [11]
    assert ledger.tables.verify(NAME).ok
    assert ledger.repair.verify(NAME).ok
    with pytest.raises(lakeledger.NotFound, match="has expired"):
        ledger.tables.view(NAME, 1)
    again = ledger.adoption.register(NAME, parquet=str(place))
    assert (again.applied, again.rows, again.table.version) == (False, 4, 1)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_delta_table_is_taken_in_as_it_is_now(ledger: Ledger, tmp_path: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    place = str(tmp_path / "delta table")
    write_deltalake(place, orders(1, 2))
    write_deltalake(place, orders(3), mode="append")
    DeltaTable(place).delete("id = 2")
    before = everything(Path(place))
    with pytest.raises(Invalid, match="is a Delta table"):
        ledger.adoption.register(NAME, parquet=place)
    made = ledger.adoption.register(NAME, delta=place)
    assert (made.rows, read(ledger), made.table.snapshot.summary["delta_version"]) == (2, [1, 3], 2)
    assert "VACUUM" in made.notes[0]
    assert [row["id"] for row in seen(ledger, "duckdb")] == [1, 3]
    replace_all(ledger, 5)
    let_pass(ledger, 5)
    for _ in range(2):
        ledger.maintenance.maintain(apply=True)
        let_pass(ledger, 5)
    assert before <= everything(Path(place))
    assert DeltaTable(place).to_pyarrow_table().num_rows == 2

    parted = str(tmp_path / "parted")
    write_deltalake(parted, orders(1, 2), partition_by=["name"])
    with pytest.raises(Invalid, match="is partitioned by name, which stand in the names of its folders"):
        ledger.adoption.register("silver.parted", delta=parted)
    with pytest.raises(Invalid, match="there is no Delta table"):
        ledger.adoption.register("silver.parted", delta=str(tmp_path / "nothing"))


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_an_iceberg_table_keeps_the_ids_of_its_columns(ledger: Ledger, tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("theirs", uri=f"sqlite:///{tmp_path}/theirs.db", warehouse=f"file://{tmp_path}/theirs")
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.orders", schema=pa.schema([("id", pa.int64()), ("gone", pa.int32()), ("name", pa.string())]))
    table.append(pa.table({"id": [1], "gone": pa.array([7], pa.int32()), "name": ["a"]}))
    with table.update_schema() as update:
        update.delete_column("gone")
    with table.update_schema() as update:
        from pyiceberg.types import StringType

        update.add_column("more", StringType())
    table.append(pa.table({"id": [2], "name": ["b"], "more": ["m"]}))
    metadata = table.metadata_location
    made = ledger.adoption.register(NAME, iceberg=metadata.removeprefix("file://"))
    known = ledger.tables.metadata(NAME)
    assert known is not None
    assert [(field["id"], field["name"]) for field in known.schema["fields"]] == [(1, "id"), (3, "name"), (4, "more")]
    assert (made.rows, known.columns) == (2, ["id", "gone", "name", "more"])
    wanted = [{"id": 1, "name": "a", "more": None}, {"id": 2, "name": "b", "more": "m"}]
    assert [seen(ledger, reader) for reader in ("pyiceberg", "duckdb")] == [wanted, wanted]
    # What is added later never meets what old files have under its name.
    ledger.columns.add(NAME, "gone", "string")
    assert [row["gone"] for row in seen(ledger, "pyiceberg")] == [None, None]
    with table.update_schema() as update:
        update.rename_column("name", "title")
    table.append(pa.table({"id": [3], "title": ["c"], "more": ["m"]}))
    with pytest.raises(Invalid, match=r"is called \w+ in some files and \w+ in"):
        ledger.for_tenant("other").adoption.register(NAME, iceberg=table.metadata_location)
    catalog.close()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_cannot_be_read_as_one_table_is_refused_and_named(ledger: Ledger, tmp_path: Path) -> None:
    times = pa.table({"at": pa.array([AT], pa.timestamp("ns"))})
    refused: dict[str, tuple[Path, str]] = {
        "types": (folder(tmp_path / "types", orders(1), pa.table({"id": ["x"]})), "has column id as string, and the table as long"),
        "ns": (folder(tmp_path / "ns", times), r"column at is timestamp\[ns\], which Spark does not read"),
        "case": (folder(tmp_path / "case", pa.table({"id": [1], "ID": [2]})), "differ only in case"),
        "none": (folder(tmp_path / "none"), "no Parquet file in"),
        "hive": (folder(tmp_path / "hive/day=1", orders(1)).parent, "has day only in the names of its folders"),
    }
    broken = folder(tmp_path / "broken")
    (broken / "a.parquet").write_bytes(b"no parquet")
    refused["broken"] = (broken, "broken/a.parquet cannot be read as Parquet")
    for name, (place, told) in refused.items():
        with pytest.raises(Invalid, match=told):
            ledger.adoption.register(f"silver.{name}", parquet=str(place))
    assert ledger.tables.list() == []
    wide = folder(tmp_path / "wide", pa.table({"id": pa.array([1], pa.int32())}), pa.table({"id": pa.array([2], pa.int64())}))
    assert ledger.adoption.register("silver.wide", parquet=str(wide)).rows == 2
    assert ledger.tables.metadata("silver.wide").schema["fields"][0]["type"] == "long"  # type: ignore[union-attr]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_partitions_that_are_in_the_files_are_kept(ledger: Ledger, tmp_path: Path) -> None:
    for day in ("2026-01-01", "2026-01-02"):
        folder(tmp_path / f"parted/day={day}", orders(1).append_column("day", pa.array([day])))
    made = ledger.adoption.register(NAME, parquet=str(tmp_path / "parted"))
    known = ledger.tables.metadata(NAME)
    assert (made.notes, known.partition_by if known else None) == ((), ["day"])
    assert [file.partition_path for file in ledger.tables.files(NAME)] == ["day=2026-01-01", "day=2026-01-02"]
    assert [row["day"] for row in seen(ledger, "duckdb")] == ["2026-01-01", "2026-01-02"]
    folder(tmp_path / "mixed/day=1", orders(1, 2).append_column("day", pa.array(["1", "2"])))
    loose = ledger.adoption.register("silver.mixed", parquet=str(tmp_path / "mixed"))
    assert loose.notes == ("it is taken in without its partitions (day): bounds find its files",)
