"""Columns have ids and physical names that their table never uses again; adding, renaming and dropping one is a commit."""

from __future__ import annotations

from typing import Any

import pytest

from contract.making import ORDERS, append, change, execute, new_file, opened, overwrite, put, rows
from lakeledger import Conflict, Invalid, Ledger, NotFound, db
from lakeledger.db import derived, migrate
from lakeledger.db.queries import statement
from lakeledger.tables import Layout


def struct(**columns: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": type_} for name, type_ in columns.items()]}


def columns(ledger: Ledger, version: int | None = None) -> dict[str, tuple[int, str]]:
    """The id and the physical name of each column."""
    fields = ledger.tables.view(ORDERS, version).schema["fields"]
    return {field["name"]: (field["id"], field["physical_name"]) for field in fields}


def used(ledger: Ledger) -> list[str]:
    metadata = ledger.tables.metadata(ORDERS)
    assert metadata is not None
    return metadata.columns


def test_columns_are_numbered_as_they_come(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", name="string"))
    assert columns(ledger) == {"id": (1, "id"), "name": (2, "name")}
    append(ledger, new_file("b"), schema=struct(name="string", price="double", id="long"), evolve=True)
    assert columns(ledger) == {"id": (1, "id"), "name": (2, "name"), "price": (3, "price")}
    assert used(ledger) == ["id", "name", "price"]


def test_a_column_that_is_dropped_and_added_again_is_another_one(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", name="string"))
    ledger.columns.drop(ORDERS, "NAME")
    assert columns(ledger) == {"id": (1, "id")}
    ledger.columns.add(ORDERS, "name", "string")
    assert columns(ledger) == {"id": (1, "id"), "name": (3, "name_3")}
    ledger.columns.drop(ORDERS, "name")
    append(ledger, new_file("b"), schema=struct(id="long", name="string"), evolve=True)
    assert columns(ledger) == {"id": (1, "id"), "name": (4, "name_4")}
    assert used(ledger) == ["id", "name", "name_3", "name_4"]
    assert columns(ledger, 1) == {"id": (1, "id"), "name": (2, "name")}


def test_a_name_that_looks_like_a_physical_one_is_no_trouble(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", x_3="string", x="long"))
    ledger.columns.drop(ORDERS, "x")
    ledger.columns.drop(ORDERS, "x_3")
    ledger.columns.add(ORDERS, "x", "long")
    ledger.columns.add(ORDERS, "x_3", "long")
    assert columns(ledger) == {"id": (1, "id"), "x": (4, "x_4"), "x_3": (5, "x_3_5")}
    ledger.columns.drop(ORDERS, "x_3")
    ledger.columns.rename(ORDERS, "x", "x_3")
    ledger.columns.add(ORDERS, "x_3_5", "long")
    assert columns(ledger) == {"id": (1, "id"), "x_3": (4, "x_4"), "x_3_5": (6, "x_3_5_6")}


def test_a_renamed_column_is_the_same_one(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", amount="double"))
    made = ledger.columns.rename(ORDERS, "amount", "total")
    assert (made.version, made.snapshot.operation, made.applied) == (2, "alter", True)
    assert columns(ledger) == {"id": (1, "id"), "total": (2, "amount")}
    append(ledger, new_file("b"), schema=struct(id="long", total="double"))
    assert ledger.tables.get(ORDERS).row_count == 20
    ledger.columns.add(ORDERS, "amount", "double")
    assert columns(ledger) == {"id": (1, "id"), "total": (2, "amount"), "amount": (3, "amount_3")}
    ledger.columns.rename(ORDERS, "total", "TOTAL")
    assert "TOTAL" in columns(ledger)


def test_an_overwrite_keeps_the_columns_that_stay_what_they_are(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", price="string", name="string"))
    overwrite(ledger, new_file("b"), schema=struct(price="double", ID="long", other="string"))
    assert columns(ledger) == {"price": (4, "price_4"), "ID": (1, "id"), "other": (5, "other")}


def test_a_partition_column_is_renamed_with_its_layout_and_cannot_be_dropped(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition="day=mon"), schema=struct(id="long", day="string"), layout=Layout("parquet", ("day",)))
    ledger.columns.rename(ORDERS, "day", "date")
    view = ledger.tables.view(ORDERS)
    assert view.layout.partition_by == ("date",)
    assert [file.partition_path for file in ledger.tables.files(ORDERS)] == ["day=mon"]
    with pytest.raises(Invalid, match=r"silver\.orders is partitioned by date: overwrite the whole table with other partitions first"):
        ledger.columns.drop(ORDERS, "date")


@pytest.mark.parametrize(
    ("method", "arguments", "error", "message"),
    [
        ("add", ("id", "long"), Conflict, "already has a column id"),
        ("add", ("ID", "long"), Conflict, "already has a column ID"),
        ("add", (" ", "long"), Invalid, "needs a name"),
        ("add", ("x", "words"), Invalid, "'words' is no type: use Spark's"),
        ("add", ("x", "decimal(40,2)"), Invalid, "1 to 38 digits"),
        ("add", ("x", "int; drop table tables"), Invalid, "is no type"),
        ("add", ("x", "number of things"), Invalid, "is no type"),
        ("add", ("x", "array<int of things>"), Invalid, "is no type"),
        ("rename", ("nam", "x"), NotFound, r"has no column 'nam': it has id, name.*did you mean"),
        ("rename", ("name", "ID"), Conflict, "already has a column ID"),
        ("rename", ("name", ""), Invalid, "needs a name"),
        ("drop", ("other",), NotFound, "has no column 'other'"),
    ],
)
def test_what_cannot_be_altered_is_named_and_nothing_is_changed(
    ledger: Ledger, method: str, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", name="string"))
    with pytest.raises(error, match=message):
        getattr(ledger.columns, method)(ORDERS, *arguments)
    assert ledger.tables.get(ORDERS).current_version == 1


def test_the_last_column_stays(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with pytest.raises(Invalid, match="the only column"):
        ledger.columns.drop(ORDERS, "id")


def test_a_table_that_is_not_there_has_no_columns_and_makes_no_run(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match=r"no table silver\.orders"):
        ledger.columns.drop(ORDERS, "id")
    assert not ledger.runs.list()


@pytest.mark.parametrize("alter", ["rename", "drop", "replace"])
def test_files_that_were_written_for_a_column_that_has_changed_are_a_conflict(ledger: Ledger, alter: str) -> None:
    append(ledger, new_file("a"), schema=struct(id="long", name="string"))
    planned = ledger.tables.view(ORDERS).schema
    if alter == "rename":
        ledger.columns.rename(ORDERS, "name", "title")
    else:
        ledger.columns.drop(ORDERS, "name")
    if alter == "replace":
        ledger.columns.add(ORDERS, "name", "string")
    before = ledger.tables.get(ORDERS)
    with ledger.run("load") as run, pytest.raises(Conflict, match=r"column name of silver\.orders has changed") as raised:
        put(ledger, change(run, new_file("b"), schema=planned, evolve=True))
    assert raised.value.retryable
    assert ledger.tables.get(ORDERS) == before


def test_two_writers_that_bring_the_same_new_column_bring_one(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=struct(id="long"))
    planned = {**ledger.tables.view(ORDERS).schema}
    planned["fields"] = [*planned["fields"], {"name": "x", "type": "long", "physical_name": "x"}]
    append(ledger, new_file("b"), schema=planned, evolve=True)
    append(ledger, new_file("c"), schema=planned, evolve=True)
    assert columns(ledger) == {"id": (1, "id"), "x": (2, "x")}


def test_a_task_alters_in_the_name_of_its_step(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with ledger.run("job") as run, run.step("alter") as step:
        made = ledger.columns.add(ORDERS, "x", "long", run=step)
    assert made.snapshot.run_id == run.id


BEFORE = """
insert into tables (table_id, tenant_id, schema_name, table_name, name_key,
                    location, current_version, content_version, row_count, total_size,
                    file_count, last_modified, created_at, updated_at)
values ('t', 'default', 'silver', 'orders', 'silver.orders', 'silver/orders', 3, 3, 0, 0, 0, :now, :now, :now)
"""
SCHEMA_VERSION = """
insert into table_metadata (id, tenant_id, table_id, schema_version, "schema", schema_hash, storage_engine, engine_config, format,
                            compression, partition_by, sort_by, properties, last_modified, created_at, updated_at)
values (:id, 'default', 't', :number, :schema, 'x', 'lakeledger', :empty, 'parquet', 'none', :none, :none, :empty, :now, :now, :now)
"""
SNAPSHOT = """
insert into table_snapshots (snapshot_id, tenant_id, table_id, version, operation, summary, schema_version, run_id, trigger, committed_at)
values (:id, 'default', 't', :number, 'overwrite', :empty, :number, 'r', 'api', :now)
"""


def test_the_columns_of_an_older_ledger_get_their_ids(bare_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = migrate.available
    monkeypatch.setattr(migrate, "available", lambda dialect: everything(dialect)[:6])
    monkeypatch.setattr(derived, "install", lambda *_: None)  # some of what is watched now was not there yet
    database = db.open(bare_url)
    migrate.migrate(database)
    with database.transaction("default", write=True) as tx:
        tx.execute(statement(BEFORE))
        for number, schema in enumerate([struct(id="long", Name="string"), struct(id="long"), struct(price="double", name="long")], 1):
            tx.execute(statement(SCHEMA_VERSION), id=f"m{number}", number=number, schema=schema, empty={}, none=[])
            tx.execute(statement(SNAPSHOT), id=f"s{number}", number=number, empty={})
    database.close()
    monkeypatch.undo()
    with opened(bare_url) as ledger:
        assert columns(ledger, 1) == {"id": (1, "id"), "Name": (2, "Name")}
        assert columns(ledger, 2) == {"id": (1, "id")}
        assert columns(ledger, 3) == {"price": (3, "price"), "name": (2, "name")}
        assert used(ledger) == ["id", "Name", "price"]
        ledger.columns.add(ORDERS, "id", "long")
        assert columns(ledger)["id"] == (4, "id_4")
        assert not rows(ledger, "select * from change_log where table_name = 'table_metadata' and operation = 'UPDATE'")
        execute(ledger, "delete from tables")
