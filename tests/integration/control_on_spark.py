"""delta-rs and Spark SQL on the same control table. These tests need a session with Delta, so test_control_spark runs them elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contract.controlling import put, source
from lakeledger import Conflict, Invalid
from lakeledger.control import changes, sql, table
from lakeledger.control.catalog import CatalogControlTable
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.model import Edit, ModuleRow, Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EIGHT = """'{name}', 'shop', 'files', 1, '{{"path": "x"}}', '{{"table": "t"}}', '{{}}', true"""


@pytest.fixture
def control(tmp_path: Path) -> DeltaControlTable:
    made = DeltaControlTable(str(tmp_path / "etl_control"))
    made.create()
    return made


def path_name(control: DeltaControlTable) -> str:
    return f"delta.`{control.location}`"


def values(name: str) -> str:
    return EIGHT.format(name=name)


def test_what_spark_sql_does_is_seen(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    name = path_name(control)
    before = control.commit(put(source("a"), source("b"), source("c")), control.read(), by="anna")

    delta_spark.sql(f"INSERT INTO {name} VALUES ({values('ten')}, current_timestamp(), current_timestamp())")
    columns = "source_id, module_name, source_type, execution_order, source_config, target_config, transformation_config, is_active"
    delta_spark.sql(f"INSERT INTO {name} ({columns}) VALUES ({values('named')})")
    delta_spark.sql(f"UPDATE {name} SET is_active = false, updated_timestamp = current_timestamp() WHERE source_id = 'a'")
    delta_spark.sql(f"DELETE FROM {name} WHERE source_id = 'c'")
    delta_spark.sql(f"""
        MERGE INTO {name} AS t USING (SELECT 'b' AS source_id, 5 AS n) AS s ON t.source_id = s.source_id
        WHEN MATCHED THEN UPDATE SET execution_order = s.n
    """)

    after = control.read()
    assert after.version == before.version + 5
    assert after.problems == ()
    found = {change.source_id: change.kind for change in changes.between(before, after).changed_sources}
    assert found == {"ten": "new", "named": "new", "a": "deactivated", "b": "updated", "c": "deleted"}
    assert after.sources["shop", "named"].created_timestamp is None
    assert after.sources["shop", "ten"].created_timestamp == after.sources["shop", "ten"].updated_timestamp
    told = [(commit.operation, commit.by) for commit in control.history()]
    assert told[:5] == [("MERGE", None), ("DELETE", None), ("UPDATE", None), ("WRITE", None), ("WRITE", None)]


def test_what_we_commit_is_seen_by_spark(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    rows = put(source("ü", source_config='{"a": "b"}'), ModuleRow("shop", "why", timeout_seconds=5))
    ours = control.commit(rows, control.read(), by="anna", reason="because")
    row = ours.sources["shop", "ü"]
    (seen,) = delta_spark.table(path_name(control)).toArrow().to_pylist()
    assert seen == {each: getattr(row, each) for each in seen}
    assert list(seen)[:2] == ["source_id", "module_name"]
    (module,) = delta_spark.table(f"delta.`{control.location}_modules`").collect()
    assert (module.module_name, module.description, module.timeout_seconds) == ("shop", "why", 5)
    newest = delta_spark.sql(f"DESCRIBE HISTORY {path_name(control)} LIMIT 1").collect()[0]
    assert newest.userName == "anna"
    assert '"reason": "because"' in newest.userMetadata


DOCUMENTED = (
    """
    UPDATE fe_ppark_demo.job_demo.etl_control
    SET execution_order = 2,
        transformation_config = '{"task_type": "sql_query", "sql_task": {"sql_query": "SELECT 2 AS x"}}',
        updated_timestamp = current_timestamp()
    WHERE source_id = 'eight' AND module_name = 'shop'
    """,
    """
    UPDATE fe_ppark_demo.job_demo.etl_control
    SET is_active = false,
        updated_timestamp = current_timestamp()
    WHERE source_id = 'eight'
    """,
)


def test_the_updates_of_the_document_run_on_spark_and_here_alike(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    query = '{"task_type": "sql_query", "sql_task": {"sql_query": "SELECT 1 AS x"}}'
    work = {"source_type": "sql", "source_config": "{}", "transformation_config": query}
    rows = [source(name, target_config=f'{{"table": "{name}"}}', **work) for name in ("eight", "nine")]
    first = control.commit(put(*rows), control.read(), by="anna")
    for statement in DOCUMENTED:
        delta_spark.sql(statement.replace("fe_ppark_demo.job_demo.etl_control", path_name(control)))
    found = control.read()
    on_spark, before = found.sources["shop", "eight"], first.sources["shop", "eight"]
    assert (on_spark.execution_order, on_spark.is_active, "SELECT 2 AS x" in on_spark.transformation_config) == (2, False, True)
    assert on_spark.created_timestamp == before.created_timestamp
    assert on_spark.updated_timestamp > before.updated_timestamp  # type: ignore[operator]  # both are there
    assert [(change.kind, change.source_id) for change in changes.between(first, found).changed_sources] == [("deactivated", "eight")]
    for statement in DOCUMENTED:
        sql.run(control, statement.replace("'eight'", "'nine'"), by="anna")
    here = control.read().sources["shop", "nine"]
    assert (here.execution_order, here.is_active) == (on_spark.execution_order, on_spark.is_active)
    assert here.transformation_config == on_spark.transformation_config


def test_the_eight_value_insert_of_the_document_runs_here_and_spark_wants_names(
    delta_spark: SparkSession, control: DeltaControlTable
) -> None:
    with pytest.raises(Exception, match="INSERT_COLUMN_ARITY_MISMATCH"):
        delta_spark.sql(f"INSERT INTO {path_name(control)} VALUES ({values('eight')})")
    sql.run(control, f"INSERT INTO etl_control VALUES ({values('eight')})", by="anna")
    assert [row.source_id for row in delta_spark.table(path_name(control)).collect()] == ["eight"]


def test_an_edit_keeps_what_spark_did_meanwhile_and_refuses_to_overwrite_it(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    base = control.commit(put(source("a"), source("b")), control.read(), by="anna")
    delta_spark.sql(f"UPDATE {path_name(control)} SET execution_order = 9 WHERE source_id = 'a'")
    after = control.commit(put(source("b", execution_order=3)), base, by="bob")
    assert {key[1]: row.execution_order for key, row in after.sources.items()} == {"a": 9, "b": 3}
    with pytest.raises(Conflict, match="execution_order was 1, is now 9, would be 4"):
        control.commit(put(source("a", execution_order=4)), base, by="bob")


def test_rows_that_spark_let_in_are_problems_until_somebody_repairs_them(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    control.commit(put(source("a"), source("good")), control.read(), by="anna")
    delta_spark.sql(f"INSERT INTO {path_name(control)} (source_id, module_name) VALUES ('a', 'shop'), ('bare', 'shop')")
    read = control.read()
    assert set(read.sources) == {("shop", "good")}
    assert {(problem.key[1], problem.field) for problem in read.problems} >= {
        ("a", "source_id"),
        ("bare", "is_active"),
        ("bare", "source_type"),
    }

    control.commit(put(source("good", execution_order=2)), read, by="anna")
    assert delta_spark.table(path_name(control)).count() == 4, "no row is lost"
    sql.run(control, "DELETE FROM etl_control WHERE is_active IS NULL", by="anna")
    repaired = control.read()
    assert repaired.problems == ()
    assert set(repaired.sources) == {("shop", "good"), ("shop", "a")}


def test_a_table_with_deletion_vectors_is_read_and_written(delta_spark: SparkSession, tmp_path: Path) -> None:
    control = DeltaControlTable(str(tmp_path / "made_by_spark"))
    DeltaControlTable(str(tmp_path / "shape")).create()
    shape = f"delta.`{tmp_path}/shape`"
    delta_spark.sql(
        f"CREATE TABLE {path_name(control)} USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT * FROM {shape}"
    )
    delta_spark.sql(f"INSERT INTO {path_name(control)} VALUES ({values('a')}, null, null), ({values('b')}, null, null)")
    delta_spark.sql(f"DELETE FROM {path_name(control)} WHERE source_id = 'a'")
    before = control.read()
    assert (set(before.sources), before.modules_version) == ({("shop", "b")}, -1)
    after = control.commit(put(source("c"), ModuleRow("shop", "new")), before, by="anna")
    assert after.modules_version >= 0
    assert {row.source_id for row in delta_spark.table(path_name(control)).collect()} == {"b", "c"}


def test_a_table_of_the_catalog_fills_in_what_an_insert_leaves_out(delta_spark: SparkSession) -> None:
    delta_spark.sql("CREATE SCHEMA filled")
    control = table.open("filled.etl_control", delta_spark)
    control.create()
    delta_spark.sql("INSERT INTO filled.etl_control (source_id, module_name, source_type) VALUES ('a', 'shop', 'files')")
    row = table.open("filled.etl_control").read().sources["shop", "a"]  # with the session that is running
    assert (row.execution_order, row.is_active, row.source_config) == (1, True, "{}")
    assert row.created_timestamp is not None
    delta_spark.sql("ALTER TABLE filled.etl_control ADD COLUMN owner STRING")
    delta_spark.sql("UPDATE filled.etl_control SET owner = 'team'")
    control.commit(put(source("a", execution_order=2)), control.read(), by="anna")
    assert [(each.owner, each.execution_order) for each in delta_spark.table("filled.etl_control").collect()] == [("team", 2)]

    (place,) = delta_spark.sql("DESCRIBE DETAIL filled.etl_control").collect()
    by_path = DeltaControlTable(place.location.removeprefix("file:"))
    assert set(by_path.read().sources) == {("shop", "a")}
    with pytest.raises(Invalid, match=r"AllowColumnDefaults.*change it through Spark"):
        by_path.commit(put(source("b")), by_path.read(), by="anna")


def test_a_table_of_delta_rs_can_be_edited_through_spark_too(delta_spark: SparkSession, control: DeltaControlTable) -> None:
    through_spark = table.open(path_name(control), delta_spark)
    assert through_spark.name == "etl_control"
    first = control.commit(put(source("a"), ModuleRow("shop", "one")), control.read(), by="anna")
    assert through_spark.read() == first
    second = through_spark.commit(put(source("a", execution_order=2), ModuleRow("shop", "two")), first, by="bob", reason="on Spark")
    assert control.read() == second
    assert control.read(first.version) == through_spark.read(first.version) == first
    newest = control.history(1)[0]
    assert (newest.by, newest.reason, newest.operation) == ("bob", "on Spark", "EDIT")


class Interrupted(CatalogControlTable):
    """Lets somebody else change the sources between the two commits of an edit."""

    def _write_sources(self, change: Edit, now: Snapshot, mark: object) -> None:
        if change.modules:
            other = CatalogControlTable(self.location, self._spark)
            other.commit(put(source("a", execution_order=50)), now, by="somebody else")
        super()._write_sources(change, now, mark)  # type: ignore[arg-type]  # only passed on


def test_an_edit_of_both_tables_that_fails_leaves_the_modules_as_they_were(delta_spark: SparkSession) -> None:
    delta_spark.sql("CREATE SCHEMA half")
    control = Interrupted("half.etl_control", delta_spark)
    control.create()
    base = CatalogControlTable("half.etl_control", delta_spark).commit(
        put(source("a"), ModuleRow("shop", "one")), control.read(), by="anna"
    )
    with pytest.raises(Conflict, match="execution_order was 1, is now 50, would be 2"):
        control.commit(put(source("a", execution_order=2), ModuleRow("shop", "two")), base, by="bob")
    after = control.read()
    assert after.modules["shop"].description == "one"
    assert after.sources["shop", "a"].execution_order == 50
