"""Declared loads on real Spark: files and SQL, what is new, what is refused, and how a module's run goes."""

from __future__ import annotations

import os
import threading
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from integration.loading import HEADER, SCHEMA, error_of, files_on_disk, only, orders, put, rows, run, sql
from lakeledger import Ledger, NotFound
from lakeledger.commit import commit
from lakeledger.control import documents
from lakeledger.db.queries import statement
from lakeledger.pipelines.runner import StepResult
from lakeledger.runs import Status
from lakeledger.tables import Change, Layout, parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Files


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_files_of_each_format_are_loaded(sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str) -> None:
    frame = spark.sql("select * from values (1, 'a', 1.5d), (2, 'ü', null) as t(id, name, price)").coalesce(1)
    frame.write.format(format).option("header", "true").save(str(base / "orders"))
    result = run(sqlite_lake, orders(f"orders/*.{format}", format=format), base)
    assert (only(result).status, result.rows) == ("COMPLETED", 2)
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5), (2, "ü", None)]
    assert sqlite_lake.read("orders").schema.simpleString() == "struct<id:int,name:string,price:double>"


def test_only_new_files_are_read_and_the_position_moves_with_the_rows(lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    first = run(lake, orders(), base)
    put(base / "orders/2.csv", f"{HEADER}2,b,2.5\n3,c,3.5\n")
    second = run(lake, orders(), base)
    assert (first.rows, second.rows) == (1, 2)
    assert rows(lake.read("orders")) == [(1, "a", 1.5), (2, "b", 2.5), (3, "c", 3.5)]
    marker = lake.positions.get("shop.orders")
    assert (marker.position_data["files"], marker.version, marker.sync_run_id) == (2, 2, second.run_id)
    assert [Path(file.path).name for file in lake.positions.files("shop.orders")] == ["2.csv", "1.csv"]
    (step,) = lake.runs.steps(second.run_id)
    assert (step.status, step.rows_processed, step.metadata["files"], step.target_table) == ("COMPLETED", 2, 1, "main.orders")
    assert (step.metadata["position"]["before"]["files"], step.metadata["position"]["after"]["files"]) == (1, 2)


def test_a_run_that_finds_nothing_new_does_not_start_spark(url: str, tmp_path: Path, base: Path, spark: SparkSession) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    reports = sql("select count(*) as n from orders")
    with lakeledger.open(url, warehouse=str(tmp_path / "w"), spark=spark) as ledger:
        run(ledger, orders(), base)
        run(ledger, reports, base)
    with lakeledger.open(url, warehouse=str(tmp_path / "w")) as ledger:
        for document in (orders(), reports):
            step = only(run(ledger, document, base))
            assert step.loaded is not None
            assert (step.status, step.loaded.summary) == ("COMPLETED", "nothing new")
        assert ledger._spark is None
        assert {table.current_version for table in ledger.tables.list()} == {1}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("in/*.csv", ["a1", "b1", "c1"]),
        ("in/**/*.csv", ["a1", "a2", "b1", "c1", "d1"]),
        ("in/[ab]*.csv", ["a1", "b1"]),
        ("in/[!ab]*.csv", ["c1"]),
        ("in/?1.csv", ["a1", "b1", "c1"]),
        ("in/*/a?.csv", ["a2"]),
        ("in/a1.csv", ["a1"]),
    ],
)
def test_a_glob_finds_its_files_and_no_others(sqlite_lake: Ledger, base: Path, pattern: str, expected: list[str]) -> None:
    for name in ("a1.csv", "b1.csv", "c1.csv", "deep/a2.csv", "deep/er/d1.csv", "deep/er/no.txt", "_hidden.csv", ".hidden.csv"):
        put(base / "in" / name, f"name\n{Path(name).stem}\n")
    assert only(run(sqlite_lake, orders(pattern, schema="name string"), base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(name,) for name in expected]


def test_files_may_have_any_name(sqlite_lake: Ledger, base: Path) -> None:
    names = ["a [1].csv", "b{x,y}.csv", "c d#%20.csv", "ü*?.csv", "e'\".csv", "f\\g.csv", "h=i.csv"]
    for number, name in enumerate(names):
        put(base / "orders" / name, f"{HEADER}{number},x,0\n")
    assert only(run(sqlite_lake, orders(), base)).error is None
    assert sorted(row[0] for row in rows(sqlite_lake.read("orders"))) == list(range(len(names)))
    assert run(sqlite_lake, orders(), base).rows == 0


def test_a_path_that_matches_nothing_is_an_error(sqlite_lake: Ledger, base: Path) -> None:
    assert "no file matches nowhere/*.csv" in error_of(sqlite_lake, run(sqlite_lake, orders("nowhere/*.csv"), base))
    assert "no such file" in error_of(sqlite_lake, run(sqlite_lake, orders("orders.csv"), base))


def test_a_file_that_was_only_touched_is_not_new(sqlite_lake: Ledger, base: Path) -> None:
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, orders(), base)
    os.utime(file, (1, 1))
    assert run(sqlite_lake, orders(), base).rows == 0


# Full loads


def test_a_full_load_replaces_the_table_when_its_files_changed(lake: Ledger, base: Path) -> None:
    document = orders(load_type="full")
    seen = []
    for name in ("a", "a", "b", "b", "a"):
        put(base / "orders/1.csv", f"{HEADER}1,{name},1.5\n")
        seen.append(only(run(lake, document, base)).loaded.summary)  # type: ignore[union-attr]
        assert rows(lake.read("orders")) == [(1, name, 1.5)]
    assert seen == ["version 1", "nothing new", "version 2", "nothing new", "version 3"]


def test_a_full_load_forgets_the_rows_of_files_that_went(sqlite_lake: Ledger, base: Path) -> None:
    first, second = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n"), put(base / "orders/2.csv", f"{HEADER}2,b,2.5\n")
    document = orders(load_type="full")
    run(sqlite_lake, document, base)
    first.unlink()
    assert run(sqlite_lake, document, base).rows == 1
    assert rows(sqlite_lake.read("orders")) == [(2, "b", 2.5)]
    assert run(sqlite_lake, document, base).rows == 0
    second.unlink()
    assert "no file matches" in error_of(sqlite_lake, run(sqlite_lake, document, base))
    assert rows(sqlite_lake.read("orders")) == [(2, "b", 2.5)]


def test_a_full_load_may_bring_another_schema(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, orders(schema=None, load_type="full"), base)
    put(base / "orders/1.csv", "code\nx\n")
    run(sqlite_lake, orders(schema=None, load_type="full"), base)
    assert sqlite_lake.read("orders").columns == ["code"]


# Files that do not fit


@pytest.mark.parametrize(
    ("schema", "text", "reason"),
    [
        (SCHEMA, "id,nom,price\n2,b,2.5\n", "nom"),
        (SCHEMA, "id,name,price\n2,b,2.5\nx,c,3.5\n", '"x"'),
        (SCHEMA, "id,name,price\n2,b\n", "2,b"),
        (SCHEMA, "id,name\n2,b\n", "lacks the column price"),
        (SCHEMA, "id,name,price,extra\n2,b,2.5,9\n", "schema does not have: extra"),
        (None, "id,nom,price\n2,b,2.5\n", "nom"),
        (None, "id,name,price\n2,b,2.5\nx,c,3.5\n", '"x"'),
    ],
    ids=[
        "wrong header",
        "wrong type",
        "too few columns in a row",
        "a column is missing",
        "a column too many",
        "wrong header for the table",
        "wrong type for the table",
    ],
)
def test_a_csv_that_does_not_fit_is_named_and_nothing_is_half_done(
    sqlite_lake: Ledger, base: Path, schema: str | None, text: str, reason: str
) -> None:
    document = orders(schema=schema)
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, document, base)
    before = files_on_disk(sqlite_lake)
    put(base / "orders/2.csv", f"{HEADER}7,g,7.5\n")
    bad = put(base / "orders/3.csv", text)
    error = error_of(sqlite_lake, run(sqlite_lake, document, base))
    assert "orders/3.csv" in error
    assert reason in error
    assert files_on_disk(sqlite_lake) == before
    assert sqlite_lake.positions.get("shop.orders").position_data["files"] == 1
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5)]
    put(bad, f"{HEADER}8,h,8.5\n")
    assert run(sqlite_lake, document, base).rows == 2


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("json", '{"id": 1}\n{"id": \n', "Malformed"),
        ("json", '{"id": "x"}\n', "Malformed"),
        ("parquet", "no parquet at all", "not a Parquet file"),
    ],
)
def test_a_broken_file_is_named(sqlite_lake: Ledger, base: Path, format: str, text: str, reason: str) -> None:
    put(base / f"orders/broken.{format}", text)
    error = error_of(sqlite_lake, run(sqlite_lake, orders(f"orders/*.{format}", schema="id int", format=format), base))
    assert f"orders/broken.{format}" in error
    assert reason in error
    assert sqlite_lake.tables.list() == []
    assert sqlite_lake.positions.find("shop.orders") is None


def test_a_schema_that_cannot_be_read_is_refused(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    assert "cannot read the schema 'id nonsense'" in error_of(sqlite_lake, run(sqlite_lake, orders(schema="id nonsense"), base))


def test_later_files_are_read_by_the_schema_of_the_table(sqlite_lake: Ledger, base: Path) -> None:
    document = orders(schema=None)
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, document, base)
    put(base / "orders/2.csv", f"{HEADER}2,3,4\n")  # by itself, name would be a number and price an integer
    assert only(run(sqlite_lake, document, base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5), (2, "3", 4.0)]


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_column_that_comes_later_is_not_lost_silently(sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str) -> None:
    document = orders(f"orders/*/*.{format}", schema=None, format=format)
    spark.sql("select 1L as id").write.format(format).save(str(base / "orders/1"))
    run(sqlite_lake, document, base)
    spark.sql("select 2L as id, 'new' as extra").write.format(format).save(str(base / "orders/2"))
    assert "extra" in error_of(sqlite_lake, run(sqlite_lake, document, base))


# Lost positions


def forget_position(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        tx.execute(statement("delete from sync_markers where tenant_id = :tenant_id"))


def test_a_source_whose_position_is_lost_is_not_loaded_twice(lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(lake, orders(), base)
    forget_position(lake)
    error = error_of(lake, run(lake, orders(), base))
    assert "main.orders holds rows of shop.orders, but the position of shop.orders is gone" in error
    assert rows(lake.read("orders")) == [(1, "a", 1.5)]


def test_a_lost_position_is_noticed_however_much_came_after(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, orders(), base)
    forget_position(sqlite_lake)
    view, name = sqlite_lake.tables.view("orders"), parse_name("orders")
    with sqlite_lake.run("others") as other, sqlite_lake.store.write() as tx:
        for _ in range(120):
            commit(tx, other.fence, [Change(name, name.folder, "append", view.schema, Layout(), [])])
    assert "the position of shop.orders is gone" in error_of(sqlite_lake, run(sqlite_lake, orders(), base))


def test_a_full_load_is_the_way_out_of_a_lost_position(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, orders(), base)
    forget_position(sqlite_lake)
    assert only(run(sqlite_lake, orders(load_type="full"), base)).error is None
    put(base / "orders/2.csv", f"{HEADER}2,b,2.5\n")
    assert run(sqlite_lake, orders(), base).rows == 1
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5), (2, "b", 2.5)]


# SQL


@pytest.fixture
def shop(sqlite_lake: Ledger, spark: SparkSession) -> Ledger:
    """A ledger with two tables: main.orders and silver.lines."""
    sqlite_lake.append(spark.sql("select * from values (1, 'a'), (2, 'b'), (3, 'c') as t(id, name)"), "orders")
    sqlite_lake.append(spark.sql("select * from values (1, 10), (1, 20), (2, 30) as t(order_id, amount)"), "silver.lines")
    return sqlite_lake


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select count(*) as n from orders", [(3,)]),
        ("select count(*) as n from MAIN.Orders", [(3,)]),
        ("select name, sum(amount) as total from orders o join silver.lines l on l.order_id = o.id group by name", [("a", 30), ("b", 30)]),
        ("select orders.name, lines.amount from orders, silver.lines where orders.id = lines.order_id and amount > 25", [("b", 30)]),
        ("with big as (select * from silver.lines where amount > 15), n as (select count(*) as n from big) select * from n", [(2,)]),
        ("with orders as (select * from orders where id > 1) select count(*) as n from orders", [(2,)]),
        ("select (with orders as (select 7 as x) select max(x) from orders) as x, count(*) as n from orders", [(7, 3)]),
        ("select count(*) as n from `main`.`orders` -- from nowhere", [(3,)]),
        ("select id from orders union all select order_id from silver.lines where amount = 30 order by 1", [(1,), (2,), (2,), (3,)]),
        ("select id from orders where exists (select 1 from silver.lines where order_id = orders.id) order by 1", [(1,), (2,)]),
        ("select main.orders.name as name from main.orders where main.orders.id = 1", [("a",)]),
        ("select 1 as one;", [(1,)]),
    ],
)
def test_a_query_reads_ledger_tables_by_their_names(shop: Ledger, base: Path, query: str, expected: list[Any]) -> None:
    assert only(run(shop, sql(query), base)).error is None
    assert rows(shop.read("result")) == expected


def test_a_query_says_which_versions_it_read_and_runs_again_when_they_moved(shop: Ledger, spark: SparkSession, base: Path) -> None:
    document = sql("select count(*) as n from orders")
    assert only(run(shop, document, base)).loaded.detail["inputs"] == {"main.orders": 1}  # type: ignore[union-attr]
    assert only(run(shop, document, base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    shop.append(spark.sql("select 4 as id, 'd' as name"), "orders")
    assert only(run(shop, document, base)).loaded.detail["inputs"] == {"main.orders": 2}  # type: ignore[union-attr]
    assert rows(shop.read("result")) == [(4,)]
    assert run(shop, sql("select count(*) + 1 as n from orders"), base).rows == 1


def test_a_query_over_what_the_ledger_does_not_know_runs_each_time(sqlite_lake: Ledger, spark: SparkSession, base: Path) -> None:
    for number in (1, 2):
        spark.sql(f"select {number} as n").createOrReplaceTempView("not_of_the_ledger")
        assert run(sqlite_lake, sql("select n from not_of_the_ledger"), base).rows == 1
        assert rows(sqlite_lake.read("result")) == [(number,)]


def test_parameters_are_bound_by_name(shop: Ledger, base: Path) -> None:
    document = """\
modules:
  - module_name: report
    sources:
      - source_id: result
        source_type: sql
        transformation_config:
          sql_task:
            sql_query: >
              select :number as number, :share as share, :word as word, :yes as yes, :day as day, count(*) as n
              from orders where array_contains(:names, name)
            parameters: {number: 1, share: 0.5, word: "'; drop table orders; --", yes: true, day: 2026-01-02, names: [a, c]}
        target_config: {table: result}
"""
    assert only(run(shop, document, base)).error is None
    assert rows(shop.read("result")) == [(1, 0.5, "'; drop table orders; --", True, date(2026, 1, 2), 2)]
    assert only(run(shop, document, base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    assert run(shop, document.replace("number: 1", "number: 2"), base).rows == 1


def test_a_query_may_stand_in_a_file(shop: Ledger, base: Path) -> None:
    document = """\
modules:
  - module_name: report
    sources:
      - source_id: result
        source_type: sql
        transformation_config: {task_type: sql_file, sql_task: {sql_file_path: sql/count.sql}}
        target_config: {table: result, schema: gold, write_mode: append, format: jsonl}
"""
    error = error_of(shop, run(shop, document, base))
    assert "sql/count.sql" in error
    assert "check sql_file_path" in error
    put(base / "sql/count.sql", "-- how many\nselect count(*) as n from orders\n")
    assert only(run(shop, document, base)).error is None
    assert rows(shop.read("gold.result")) == [(3,)]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from nowhere", "nowhere"),
        ("select * from main.nowhere join orders using (id)", "nowhere"),
        ("select nope from orders", "nope"),
        ("select cast('x' as int) as n from orders", "'x'"),
        ("select id, ID from orders", "differ only in case"),
        ("drop table orders", "a SQL task is one SELECT"),
        ("insert into orders select 9, 'z'", "a SQL task is one SELECT"),
        ("select 1; select 2", "a SQL task is one SELECT"),
        ("delete from orders", "a SQL task is one SELECT"),
        ("create table x as select 1", "a SQL task is one SELECT"),
        ("select from where", "cannot read the query"),
        ("select * from (select 1", "cannot read the query"),
    ],
)
def test_a_query_that_cannot_be_run_fails_in_one_line(shop: Ledger, base: Path, query: str, reason: str) -> None:
    put(base / "query.sql", query)
    document = """\
modules:
  - module_name: report
    sources:
      - source_id: result
        source_type: sql
        transformation_config: {task_type: sql_file, sql_task: {sql_file_path: query.sql}}
        target_config: {table: result}
"""
    error = error_of(shop, run(shop, document, base))
    assert reason in error
    assert shop.tables.find("result") is None
    assert (shop.tables.get("orders").current_version, rows(shop.read("orders"))) == (1, [(1, "a"), (2, "b"), (3, "c")])


def test_a_query_leaves_no_view_behind(shop: Ledger, spark: SparkSession, base: Path) -> None:
    run(shop, sql("select count(*) as n from orders"), base)
    run(shop, sql("select nope from orders"), base)
    assert [row["tableName"] for row in spark.sql("show tables").collect() if row["tableName"].startswith("lakeledger_")] == []


# The run of a module


def steps(*sources: tuple[str, int, str]) -> str:
    """A module of SQL steps: id, execution_order, query."""
    text = "modules:\n  - module_name: shop\n    sources:\n"
    for name, order, query in sources:
        text += f"""\
      - source_id: {name}
        source_type: sql
        execution_order: {order}
        transformation_config: {{sql_task: {{sql_query: {query!r}}}}}
        target_config: {{table: {name}}}
"""
    return text


def test_steps_of_the_same_order_run_at_the_same_time(sqlite_lake: Ledger, base: Path) -> None:
    together = threading.Barrier(3, timeout=60)

    def meet(step: StepResult) -> None:
        if step.status == Status.RUNNING and step.source_id != "last":
            together.wait()  # nobody gets past unless all three are running

    document = steps(("a", 1, "select 1 as x"), ("b", 1, "select 2 as x"), ("c", 1, "select 3 as x"), ("last", 2, "select * from a"))
    result = run(sqlite_lake, document, base, progress=meet)
    assert [step.status for step in result.steps] == ["COMPLETED"] * 4
    logged = {step.step_name: step for step in sqlite_lake.runs.steps(result.run_id)}
    ends = [logged[name].end_time for name in "abc"]
    assert all(end is not None and logged["last"].start_time >= end for end in ends)


def test_two_sources_may_fill_one_table_at_the_same_time(lake: Ledger, base: Path) -> None:
    put(base / "eu/1.csv", f"{HEADER}1,a,1.5\n")
    put(base / "us/1.csv", f"{HEADER}2,b,2.5\n")
    document = f"""\
modules:
  - module_name: shop
    sources:
      - {{source_id: eu, source_type: files, source_config: {{path: eu/*.csv, schema: "{SCHEMA}"}}, target_config: {{table: orders}}}}
      - {{source_id: us, source_type: files, source_config: {{path: us/*.csv, schema: "{SCHEMA}"}}, target_config: {{table: orders}}}}
"""
    result = run(lake, document, base)
    assert [step.error for step in result.steps] == [None, None]
    assert rows(lake.read("orders")) == [(1, "a", 1.5), (2, "b", 2.5)]
    assert [snapshot.version for snapshot in lake.tables.history("orders")] == [2, 1]


def test_one_failing_step_of_ten_is_contained(sqlite_lake: Ledger, base: Path) -> None:
    first = [(f"s{number}", 1, "select 1 as x" if number != 4 else "select * from nowhere") for number in range(1, 9)]
    document = steps(*first, ("d1", 2, "select * from s1"), ("d2", 2, "select * from s4"))
    result = run(sqlite_lake, document, base)
    by_status = {status: [step.source_id for step in result.steps if step.status == status] for status in Status}
    assert (len(by_status[Status.COMPLETED]), by_status[Status.FAILED], by_status[Status.SKIPPED]) == (7, ["s4"], ["d1", "d2"])
    ended = sqlite_lake.runs.get(result.run_id)
    assert ended.status == "FAILED"
    assert ended.error_message is not None
    assert ended.error_message.startswith("1 of 10 steps failed: s4: ")
    assert "nowhere" in ended.error_message
    logged = {step.step_name: step for step in sqlite_lake.runs.steps(result.run_id)}
    assert [logged[step.source_id].status for step in result.steps] == [step.status for step in result.steps]
    assert logged["d1"].metadata["reason"] == "waits for s4, which did not complete"
    assert {table.table_name for table in sqlite_lake.tables.list()} == set(by_status[Status.COMPLETED])
    repaired = run(sqlite_lake, document.replace("nowhere", "s1"), base)
    assert [step.status for step in repaired.steps] == ["COMPLETED"] * 10
    assert sum(1 for step in repaired.steps if step.loaded and step.loaded.committed) == 3


def test_a_failed_run_names_every_failing_step(sqlite_lake: Ledger, base: Path) -> None:
    result = run(sqlite_lake, steps(("good", 1, "select 1 as x"), ("bad", 1, "select * from a1"), ("worse", 1, "select * from a2")), base)
    message = sqlite_lake.runs.get(result.run_id).error_message or ""
    assert message.startswith("2 of 3 steps failed: bad: ")
    assert "; worse: " in message


def test_inactive_sources_are_not_run(sqlite_lake: Ledger, base: Path) -> None:
    document = steps(("on", 1, "select 1 as x"), ("off", 1, "select 2 as x")).replace(
        "source_id: off", "source_id: off\n        is_active: false"
    )
    result = run(sqlite_lake, document, base)
    assert [step.source_id for step in result.steps] == ["on"]
    assert [step.step_name for step in sqlite_lake.runs.steps(result.run_id)] == ["on"]
    assert [table.table_name for table in sqlite_lake.tables.list()] == ["on"]


def test_a_module_runs_under_its_name_and_its_configuration(sqlite_lake: Ledger, base: Path) -> None:
    document = documents.parse(steps(("a", 1, "select 1 as x")), "shop.yml")
    (result,) = sqlite_lake.run_modules(document, base, "shop", trigger="scheduler")
    ended = sqlite_lake.runs.get(result.run_id)
    assert (ended.pipeline_id, ended.status, ended.trigger_type, ended.exclusive) == ("shop", "COMPLETED", "scheduler", True)
    assert ended.config_hash == document.modules[0].config_hash
    assert (ended.records_processed, ended.commit_count) == (1, 1)
    with pytest.raises(NotFound, match="no module 'shoop' in the document: it has shop"):
        sqlite_lake.run_modules(document, base, "shoop")
