"""Ledgers that earlier releases left behind are opened by this one: everything in them is found, and goes on."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import lakeledger
from contract.making import append, new_file, rows, table_names
from lakeledger import Ledger, NumberPosition
from lakeledger.jobs.local import LocalBackend
from postgres_server import Server

FROZEN = Path(__file__).parent.parent / "frozen"
# What is empty by nature: a row is in there only while retention deletes, while a subscriber is behind, once events were delivered.
EMPTY = {"retention_under_way", "delivery", "astha_lease"}


@pytest.fixture(params=["sqlite", "postgres"])
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """The frozen ledger, opened by this release."""
    text = (FROZEN / f"{request.param}.sql").read_text(encoding="utf-8")
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as frozen_file:
            frozen_file.executescript(text)
        url = f"sqlite:///{tmp_path}/ledger.db"
    else:
        server: Server = request.getfixturevalue("postgres")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(text.encode())
        url = server.url(schema="frozen")
    with lakeledger.open(url, warehouse="/frozen/warehouse") as ledger:
        yield ledger
    if request.param == "postgres":
        server.drop_schema("frozen")


def test_every_table_of_that_release_has_something(frozen: Ledger) -> None:
    script = (FROZEN / f"{frozen.database.dialect}.sql").read_text(encoding="utf-8").lower()
    made = [name for name in table_names(frozen) if re.search(rf"create table (\w+\.)?\"?{name}\"? ", script)]
    assert len(made) > 20
    assert {name for name in made if not rows(frozen, f"select 1 from {name} limit 1")} <= EMPTY


def test_tables_are_read_as_they_were_at_every_version(frozen: Ledger) -> None:
    names = [[field["name"] for field in frozen.tables.view("silver.orders", version).schema["fields"]] for version in range(1, 7)]
    assert names == [["id", "day"], ["id", "weekday"], ["id", "weekday", "note"], ["id", "weekday"], ["id", "weekday", "note"], names[4]]
    physical = [field["physical_name"] for field in frozen.tables.view("silver.orders").schema["fields"]]
    assert physical == ["id", "day", "note_4"]
    assert frozen.tables.view("silver.orders", 5).file_paths == ["data/run/day=mon/a", "data/run/day=tue/b"]
    assert frozen.tables.view("silver.orders").file_paths == ["data/run/day=tue/b", "data/run/day=mon/c"]
    operations = [snapshot.operation for snapshot in frozen.tables.history("silver.orders")]
    assert operations == ["replace", "alter", "alter", "alter", "alter", "append"]
    table = frozen.tables.get("silver.orders")
    assert (table.content_version, table.row_count, table.file_count) == (1, 20, 2)


def test_runs_positions_and_what_went_wrong_are_there(frozen: Ledger) -> None:
    (broken,) = frozen.runs.list(pipeline="broken")
    assert (broken.status, broken.idempotency_key, broken.parameters) == ("FAILED", "once", {"day": "mon"})
    assert frozen.explain(broken.id).status == "FAILED"
    position = frozen.positions.find("shop.orders")
    assert position is not None
    assert position.position == NumberPosition(7)
    assert [file.path for file in frozen.positions.files("shop.orders")] == ["in/1.csv"]
    assert len(frozen.positions.history("crm")) == 2
    assert frozen.schemas.get("crm.people").version == 2
    assert [error.error_message for error in frozen.errors.list(schema="crm")] == ["ValueError: no such person"]
    assert {letter.table_name for letter in frozen.dead_letters.list()} == {"people"}
    (asked,) = LocalBackend(frozen.store, frozen.worker.name).runs()
    assert asked.status == "queued"
    volume = frozen.records.latest("bronze.orders", "ingestion_volume")
    assert volume is not None
    assert volume.payload["rows"] == 10
    assert frozen.changes.after()
    assert {each.table: each.data_at for each in frozen.freshness.list()}["bronze.orders"] == volume.produced_at


def test_it_goes_on(frozen: Ledger) -> None:
    frozen.positions.advance("shop.orders", NumberPosition(8))
    more = append(frozen, new_file("e"), table="bronze.orders", location="bronze/orders")
    assert (more.version, more.table.row_count) == (2, 20)
    frozen.columns.add("silver.orders", "last", "long")
    assert frozen.tables.get("silver.orders").current_version == 7
    assert frozen.sync.cleanup(dry_run=True)
