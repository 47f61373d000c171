"""What every control table promises. It runs on delta-rs here, and in a process with Delta for Spark on a catalog (test_control_spark)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from contract.controlling import put, remove, source
from contract.making import together
from lakeledger import Conflict, NotFound
from lakeledger.control import sql, table
from lakeledger.control.model import Edit, JobRow, ModuleRow, SourceRow
from lakeledger.control.table import ControlTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON = os.environ.get("LAKELEDGER_TESTS_CONTROL", "delta")
# The same code decides these for every table, and Spark takes seconds for each commit.
once = pytest.mark.skipif(ON != "delta", reason="decided by the same code for every table")


@pytest.fixture(params=[ON])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, SparkSession | None]]:
    """Where an empty control table can be made."""
    if request.param == "delta":
        yield str(tmp_path / "etl_control"), None
        return
    spark: SparkSession = request.getfixturevalue("delta_spark")
    schema = f"job_demo_{tmp_path.name}".replace("-", "_").lower()
    spark.sql(f"CREATE SCHEMA `{schema}`")
    yield f"spark_catalog.{schema}.etl_control", spark
    spark.sql(f"DROP SCHEMA `{schema}` CASCADE")


@pytest.fixture
def control(place: tuple[str, SparkSession | None]) -> ControlTable:
    opened = table.open(*place)
    opened.create()
    return opened


def test_a_table_that_is_not_there_says_so(place: tuple[str, SparkSession | None]) -> None:
    control = table.open(*place)
    assert not control.exists()
    with pytest.raises(NotFound, match="no control table"):
        control.read()


def test_a_new_table_is_empty_and_made_once(control: ControlTable) -> None:
    control.create()
    assert control.exists()
    assert control.name == "etl_control"
    snapshot = control.read()
    assert (snapshot.version, snapshot.modules_version, snapshot.sources, snapshot.modules, snapshot.problems) == (0, 0, {}, {}, ())


def test_rows_come_back_as_they_were_committed(control: ControlTable) -> None:
    row = source("größe", "m'x", execution_order=2**31 - 1, source_config='{"a": "\\" \\\\ \\n ü 🎈"}', is_active=False)
    settings = ModuleRow("m'x", "why", '{"cron": "0 1 * * *"}', None, '{"p": "1"}', '{"t": "1"}', '{"on_failure": ["a@b"]}', 60, 2)
    committed = control.commit(put(row, settings), control.read(), by="anna", reason="first")

    read = control.read()
    assert read == committed
    found, module = read.sources["m'x", "größe"], read.modules["m'x"]
    assert [getattr(found, each.name) for each in fields(found)[:8]] == [getattr(row, each.name) for each in fields(row)[:8]]
    assert [getattr(module, each.name) for each in fields(module)[:9]] == [getattr(settings, each.name) for each in fields(settings)[:9]]


@once
def test_all_rows_of_a_commit_have_one_time(control: ControlTable) -> None:
    read = control.commit(put(source("a"), source("b"), ModuleRow("shop")), control.read(), by="anna")
    rows: list[SourceRow | ModuleRow] = [*read.sources.values(), *read.modules.values()]
    times = {at for row in rows for at in (row.created_timestamp, row.updated_timestamp)}
    assert len(times) == 1
    (at,) = times
    assert at is not None
    assert at.tzinfo == UTC
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=5)


@once
def test_an_edit_that_changes_nothing_makes_no_commit(control: ControlTable) -> None:
    before = control.commit(put(source(source_config='{"path": "x", "format": "csv"}')), control.read(), by="anna")
    spelled = put(source(source_config='{"format":"csv","path":"x"}', updated_timestamp=datetime(2020, 1, 1, tzinfo=UTC)))
    for edit in (Edit(), spelled, remove(("shop", "nobody"))):
        assert control.commit(edit, before, by="bob") == before
    assert control.read() == before


@once
def test_only_what_changes_gets_a_new_time(control: ControlTable) -> None:
    before = control.commit(put(source("a"), source("b")), control.read(), by="anna")
    after = control.commit(put(source("a", execution_order=2), source("b")), before, by="anna")
    assert after.version == before.version + 1
    assert after.sources["shop", "b"] == before.sources["shop", "b"]
    was, now = before.sources["shop", "a"], after.sources["shop", "a"]
    assert was.created_timestamp == now.created_timestamp
    assert was.updated_timestamp is not None
    assert now.updated_timestamp is not None
    assert was.updated_timestamp < now.updated_timestamp


def test_a_deleted_row_is_gone(control: ControlTable) -> None:
    before = control.commit(put(source("a"), source("b"), ModuleRow("shop"), ModuleRow("old")), control.read(), by="anna")
    after = control.commit(Edit({("shop", "a"): None}, {"old": None}), before, by="anna")
    assert (set(after.sources), set(after.modules)) == ({("shop", "b")}, {"shop"})
    assert control.read() == after


def test_rows_that_others_changed_meanwhile_are_kept(control: ControlTable) -> None:
    base = control.commit(put(source("a"), source("b"), ModuleRow("shop")), control.read(), by="anna")
    control.commit(put(source("a", execution_order=7), source("new"), ModuleRow("shop", "theirs")), base, by="anna")
    after = control.commit(put(source("b", execution_order=9)), base, by="bob")
    assert {key[1]: row.execution_order for key, row in after.sources.items()} == {"a": 7, "b": 9, "new": 1}
    assert after.modules["shop"].description == "theirs"
    assert control.read() == after


@once
def test_a_row_that_somebody_else_changed_is_a_conflict_that_shows_both(control: ControlTable) -> None:
    base = control.commit(put(source(execution_order=1), ModuleRow("shop", "one")), control.read(), by="anna")
    theirs = control.commit(put(source(execution_order=2), ModuleRow("shop", "two")), base, by="anna")
    with pytest.raises(Conflict) as raised:
        control.commit(put(source(execution_order=3), ModuleRow("shop", "three")), base, by="bob")
    assert raised.value.retryable
    assert "shop.orders: execution_order was 1, is now 2, would be 3" in str(raised.value)
    assert "module shop: description was one, is now two, would be three" in str(raised.value)
    assert control.read() == theirs


@once
def test_a_row_that_somebody_else_deleted_or_added_is_a_conflict(control: ControlTable) -> None:
    empty = control.read()
    base = control.commit(put(source("a")), empty, by="anna")
    with pytest.raises(Conflict, match=r"shop\.a: execution_order was None, is now 1, would be 5"):
        control.commit(put(source("a", execution_order=5)), empty, by="bob")
    control.commit(remove(("shop", "a")), base, by="anna")
    with pytest.raises(Conflict, match=r"shop\.a is gone, and this edit would change it"):
        control.commit(put(source("a", execution_order=5)), base, by="bob")


@once
def test_whoever_makes_the_same_change_second_must_look_again(control: ControlTable) -> None:
    base = control.commit(put(source()), control.read(), by="anna")
    theirs = control.commit(put(source(is_active=False)), base, by="anna")
    with pytest.raises(Conflict, match=r"shop\.orders is already as this edit would make it"):
        control.commit(put(source(is_active=False)), base, by="bob")
    assert control.commit(put(source(is_active=False)), theirs, by="bob") == theirs


def test_an_earlier_version_is_both_tables_as_they_were(control: ControlTable) -> None:
    versions = [control.read()]
    for number in range(2):
        rows = put(source(execution_order=number), ModuleRow("shop", f"number {number}"))
        versions.append(control.commit(rows, versions[-1], by="anna"))
    for snapshot in versions:
        assert control.read(snapshot.version) == snapshot
    for missing in (-1, 99):
        with pytest.raises(NotFound, match=f"no version {missing}: the newest is 2"):
            control.read(missing)


def test_history_tells_who_changed_it_when_and_why(control: ControlTable) -> None:
    began = datetime.now(UTC) - timedelta(minutes=5)
    first = control.commit(put(source()), control.read(), by="anna", reason="a new source")
    second = control.commit(remove(("shop", "orders")), first, by="bob")
    history = [commit for commit in control.history() if commit.table == "etl_control"]
    assert [(commit.version, commit.by, commit.operation, commit.reason) for commit in history[:2]] == [
        (second.version, "bob", "EDIT", ""),
        (first.version, "anna", "EDIT", "a new source"),
    ]
    assert history[-1].version == 0
    assert "CREATE" in history[-1].operation
    assert all(began < commit.at < datetime.now(UTC) + timedelta(minutes=5) for commit in history)
    assert [commit.version for commit in control.history(1)] == [second.version]


def test_a_restored_version_says_again_what_it_said_in_a_new_commit(control: ControlTable) -> None:
    first = control.commit(put(source("a"), source("b"), ModuleRow("shop", "one")), control.read(), by="anna")
    edit = Edit({("shop", "a"): None, ("shop", "b"): source("b", is_active=False), ("shop", "c"): source("c")}, {"shop": None})
    second = control.commit(edit, first, by="anna")

    restored = control.restore(first.version, by="bob")
    assert restored.version > second.version
    assert hashes(restored.sources) == hashes(first.sources)
    assert restored.modules["shop"].description == "one"
    assert control.read() == restored
    newest = control.history(1)[0]
    assert (newest.by, newest.operation, newest.reason) == ("bob", "RESTORE", "restore version 1")
    for key in (("shop", "a"), ("shop", "b")):
        changed, was = restored.sources[key].updated_timestamp, first.sources[key].updated_timestamp
        assert changed is not None
        assert was is not None
        assert changed > was  # whoever looks for changes by time sees it
    assert control.restore(restored.version, by="bob") == restored


def test_edits_at_the_same_time_are_all_kept(control: ControlTable) -> None:
    workers, times = (6, 3) if ON == "delta" else (2, 2)

    def work(worker: int) -> None:
        for number in range(times):
            control.commit(put(source(f"s{number}", f"m{worker}")), control.read(), by=f"worker {worker}")

    together(work, workers)
    assert set(control.read().sources) == {(f"m{worker}", f"s{number}") for worker in range(workers) for number in range(times)}


@once
def test_one_statement_of_sql_is_one_commit(control: ControlTable) -> None:
    inserted = sql.run(control, INSERT, by="anna")
    assert (inserted.inserted, inserted.snapshot.version) == (1, 1)
    row = inserted.snapshot.sources["my_module", "new_sql_task"]
    assert (row.execution_order, row.is_active, row.created_timestamp) == (1, True, row.updated_timestamp)
    updated = sql.run(control, "UPDATE etl_control SET is_active = false WHERE source_id = 'new_sql_task'", by="anna")
    assert (updated.updated, updated.snapshot.version) == (1, 2)
    assert control.read() == updated.snapshot
    assert replace(updated.snapshot.sources["my_module", "new_sql_task"], is_active=True, updated_timestamp=row.updated_timestamp) == row


INSERT = """
INSERT INTO fe_ppark_demo.job_demo.etl_control VALUES (
  'new_sql_task',
  'my_module',
  'sql',
  1,
  '{}',
  '{"catalog": "bronze", "schema": "data", "table": "customers"}',
  '{"task_type": "sql_query", "sql_task": {"warehouse_id": "abc123", "sql_query": "SELECT * FROM bronze.customers"}}',
  true
);
"""


def hashes(sources: object) -> dict[object, str]:
    assert isinstance(sources, dict)
    return {key: row.content_hash for key, row in sources.items() if isinstance(row, SourceRow)}


def test_the_jobs_table_says_what_each_backend_has_and_is_written_only_when_that_changes(
    control: ControlTable, place: tuple[str, SparkSession | None]
) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    shop, stock = (JobRow(name, "local", f"{name}-1", name, "active", "a hash", 3, at, at) for name in ("shop", "stock"))
    elsewhere = replace(shop, backend="databricks", job_id="7")
    control.put_jobs("local", [shop, stock])
    control.put_jobs("databricks", [elsewhere])
    assert jobs_of(place) == (2, [elsewhere, shop, stock])
    control.put_jobs("local", [shop, stock])
    assert jobs_of(place)[0] == 2
    control.put_jobs("local", [paused := replace(shop, state="paused")])
    assert jobs_of(place) == (3, [elsewhere, paused])


def jobs_of(place: tuple[str, SparkSession | None]) -> tuple[int, list[JobRow]]:
    """The version of the jobs table, and what Delta itself finds in it."""
    location, spark = place
    if spark is None:
        delta = DeltaTable(f"{location}_jobs")
        version, data = delta.version(), pa.table(delta.scan())
    else:
        version = spark.sql(f"DESCRIBE HISTORY {location}_jobs").collect()[0]["version"]
        data = spark.table(f"{location}_jobs").toArrow()
    rows = [JobRow(**row) for row in data.to_pylist()]
    return version, sorted(rows, key=lambda row: (row.module_name, row.backend))
