"""Reconciliation for real: PostgreSQL, ledger tables, files, Delta, Iceberg and queries, down to the cell that differs."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.source_database import Shop
from lakeledger import Invalid, Ledger, records
from lakeledger.recon import Reconciliation, Report, Result, Status, record_hash
from lakeledger.recon.canonical import Column, Pair, encode, pair, row_text
from lakeledger.recon.digests import digest, total
from lakeledger.recon.documents import of_mapping
from lakeledger.recon.file_hash import Asked, TableFiles
from lakeledger.recon.postgres_sql import PostgresSql
from lakeledger.recon.sides import How, SparkSide, open_side
from lakeledger.recon.spark_sql import SparkSql
from lakeledger.recon.splits import ByHash, ByRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIXED = """
create table mixed (
    id bigint primary key, code char(8), name varchar(40), amount numeric(12, 4), rate numeric(6, 2), at timestamptz, local timestamp,
    born date, paid boolean, body bytea, ratio double precision, small real, tag uuid, extra jsonb, n smallint
)
"""
FILL = """
insert into mixed select g,
    (array['a', 'bb ', null, ''])[1 + g % 4], (array['😀 né', '', 'NULL', null, E'a|b\\nc', ' x '])[1 + g % 6],
    case when g % 11 <> 0 then g * 1.5 end, g % 100, timestamptz '2026-01-01' + g * interval '37 minutes 0.000123 seconds',
    timestamp '1969-12-31 23:59:59.999999' + g * interval '1 day', date '1600-02-29' + g, (array[true, false, null])[1 + g % 3],
    (array['\\x00ff'::bytea, '\\x'::bytea, null])[1 + g % 3],
    (array[0.1, '-0'::float8, 'NaN'::float8, null, 'Infinity'::float8, 1e300, 5e-324, -123456.789])[1 + g % 8],
    (array[0.1, '-0'::real, 'NaN'::real])[1 + g % 3], md5(g::text)::uuid, jsonb_build_object('b', g, 'a', null), g % 7
from generate_series(1, 4000) g
"""


def mirrored(lake: Ledger, shop: Shop, table: str = "orders", into: str = "silver.orders") -> None:
    lake.load(shop.source(table, watermark=None), into, mode="overwrite")


def of(shop: Shop, table: str = "orders") -> dict[str, Any]:
    return {"jdbc": {"url": shop.url, "user": "postgres", "table": f"{shop.schema}.{table}"}}


def declared(source: Any, target: Any, *checks: Any, **more: Any) -> dict[str, Any]:
    return {"name": "orders", "source": source, "target": target, "checks": list(checks), "keys": ["id"], **more}


def reconcile(lake: Ledger, source: Any, target: Any, *checks: Any, **more: Any) -> dict[str, Result]:
    return by_name(lake.recon.run(declared(source, target, *checks, **more)))


def by_name(report: Report) -> dict[str, Result]:
    return {each.check_name: each for each in report.results}


def statuses(found: dict[str, Result]) -> dict[str, str]:
    return {name: str(each.status) for name, each in found.items()}


def orders(shop: Shop, count: int = 100) -> None:
    """Orders, of which one in ten has no time."""
    shop.do(
        "insert into orders (id, at, name) select g, case when g %% 10 > 0 then timestamptz '2026-01-01' + g * interval '1 day' end,"
        " 'n' || g from generate_series(1, %s) g",
        count,
    )


EVERY = (
    "count",
    {"sum": {"column": "amount"}},
    {"avg": {"column": "amount"}},
    {"min": {"column": "at"}},
    {"max": {"column": "born"}},
    {"null_rate": {"column": "name"}},
    {"group_count": {"columns": ["code", "paid"]}},
    "key_set",
    "pk_uniqueness",
    {"freshness": {"column": "at"}},
    "checksum",
)


def test_every_type_of_postgres_agrees_with_its_copy_and_one_changed_cell_is_exactly_found(lake: Ledger, shop: Shop) -> None:
    shop.do(MIXED)
    shop.connection.execute(FILL)
    mirrored(lake, shop, "mixed")
    found = reconcile(lake, of(shop, "mixed"), "silver.orders", *EVERY)
    assert statuses(found) == dict.fromkeys(found, "pass"), [each.message for each in found.values()]
    assert len(found) == len(EVERY)
    assert found["checksum"].message == "4,000 rows have equal digests"

    shop.do("update mixed set extra = extra || '{\"a\": 1}' where id = 2345")
    found = reconcile(lake, of(shop, "mixed"), "silver.orders", *EVERY)
    assert {name for name, each in found.items() if each.status != "pass"} == {"checksum"}
    result = found["checksum"]
    (sample,) = result.detail["samples"]
    assert sample == {
        "kind": "changed",
        "key": {"id": "2345"},
        "columns": ["extra"],
        "source": {"extra": '{"a": 1, "b": 2345}'},
        "target": {"extra": '{"a": null, "b": 2345}'},
    }
    assert (result.status, result.difference, result.detail["changed"]) == ("fail", 1.0, 1)
    assert result.detail["fetched_percent"] < 5
    assert max(result.detail["fetched_rows"]) < 4000 * 0.05
    assert result.ingestion_run_ids == [lake.tables.history("silver.orders")[0].run_id]


def test_each_cell_that_is_changed_is_reported_by_its_column(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do(MIXED)
    shop.connection.execute(FILL)
    mirrored(sqlite_lake, shop, "mixed")
    changes = {
        "code": "'zz'", "name": "'NULL '", "amount": "0.0001", "at": "'2026-01-01 00:00:00.000001Z'", "local": "'2026-01-01'",
        "born": "'infinity'", "paid": "null", "body": "'\\x01'", "ratio": "1.0000000000000002", "small": "0.3", "n": "-1",
    }  # fmt: skip
    for at, (column, value) in enumerate(changes.items()):
        shop.do(f"update mixed set {column} = {value} where id = {100 + at}")
    shop.do("update mixed set code = code || ' ' where id = 1; update mixed set ratio = 0 where ratio = 0")
    found = reconcile(sqlite_lake, of(shop, "mixed"), "silver.orders", "checksum")
    told = {each["key"]["id"]: each["columns"] for each in found["checksum"].detail["samples"]}
    assert told == {str(100 + at): [column] for at, column in enumerate(changes)}


def test_missing_extra_changed_and_doubled_rows_are_told_apart_with_null_as_a_key(sqlite_lake: Ledger, spark: SparkSession) -> None:
    rows = [(1, "a"), (2, "b"), (2, "b"), (3, "c"), (4, "d"), (None, "n"), (5, "e")]
    sqlite_lake.overwrite(spark.createDataFrame(rows, "id bigint, name string"), "bronze.orders")
    other = [(1, "a"), (2, "b"), (3, "C"), (None, "N"), (5, "e"), (5, "e"), (6, "f")]
    sqlite_lake.overwrite(_frame(spark, other), "silver.orders")
    found = reconcile(sqlite_lake, "bronze.orders", "silver.orders", "checksum", "key_set", "pk_uniqueness", "schema", "count")
    told = {(each["kind"], each["key"]["id"]) for each in found["checksum"].detail["samples"]}
    assert told == {("changed", "3"), ("changed", None), ("missing", "2"), ("missing", "4"), ("extra", "5"), ("extra", "6")}
    assert {(each["kind"], each["key"]["id"]) for each in found["key_set"].detail["samples"]} == {
        ("missing", "2"), ("missing", "4"), ("extra", "5"), ("extra", "6"),
    }  # fmt: skip
    doubled = found["pk_uniqueness"]
    assert (doubled.status, doubled.source_metric, doubled.target_metric) == ("fail", "2", "2")
    assert statuses(found) == {"checksum": "fail", "key_set": "fail", "pk_uniqueness": "fail", "schema": "pass", "count": "pass"}


def _frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> Any:
    """The same columns in another order, in other letters, and as another whole number."""
    return spark.createDataFrame(rows, "id int, name string").selectExpr("name as NAME", "id as Id")


def test_keys_that_are_texts_or_several_are_found_by_hashes(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.range(3_000).selectExpr("concat('k', id) as code", "cast(id % 7 as int) as part", "id * 2 as value")
    sqlite_lake.overwrite(frame, "bronze.t")
    sqlite_lake.overwrite(frame.selectExpr("code", "part", "if(code = 'k77', -1, value) as value").where("code <> 'k5'"), "silver.t")
    (result,) = sqlite_lake.recon.run(declared("bronze.t", "silver.t", "checksum", keys=["code", "part"])).results
    assert [(each["kind"], each["key"]) for each in result.detail["samples"]] == [
        ("changed", {"code": "k77", "part": "0"}),
        ("missing", {"code": "k5", "part": "5"}),
    ]
    assert result.detail["fetched_percent"] < 10


def test_probes_go_from_the_month_to_the_day_to_the_key_and_their_scopes_are_kept(sqlite_lake: Ledger, shop: Shop) -> None:
    orders(shop, 200)
    mirrored(sqlite_lake, shop)
    shop.do("update orders set name = 'x' where id = 42; delete from orders where id = 10")
    probes = [{"year_month": "at"}, {"day": "AT"}]
    (result,) = reconcile(sqlite_lake, of(shop), "silver.orders", {"checksum": {"probes": probes}}).values()
    assert [(each["kind"], each["key"]["id"]) for each in result.detail["samples"]] == [("changed", "42"), ("extra", "10")]
    periods = [each for each in result.scope if "keys" not in each]
    assert {(name, each[name]) for each in periods for name in ("year_month", "day") if name in each} == {
        ("year_month", "2026-02"), ("year_month", None), ("day", "2026-02-12"), ("day", None),
    }  # fmt: skip


def test_keys_that_lie_close_together_in_a_few_places_are_split_again(
    sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakeledger.recon.digests.LARGE_PART", 50)
    frame = spark.range(1_000).selectExpr("if(id < 500, id, id + 1000000000000000) as id", "id as value")
    sqlite_lake.overwrite(frame, "bronze.t")
    sqlite_lake.overwrite(frame.selectExpr("id", "if(id = 1000000000000777, 0, value) as value"), "silver.t")
    (result,) = sqlite_lake.recon.run(declared("bronze.t", "silver.t", "checksum")).results
    assert [each["key"] for each in result.detail["samples"]] == [{"id": "1000000000000777"}]
    assert max(result.detail["fetched_rows"]) <= 50


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "delta", "iceberg", "query", "jdbc query", "version"])
def test_any_two_kinds_of_sides_are_compared(sqlite_lake: Ledger, shop: Shop, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    orders(shop, 30)
    mirrored(sqlite_lake, shop)
    frame = sqlite_lake.read("silver.orders")
    side = _other_side(kind, sqlite_lake, shop, frame, tmp_path)
    found = reconcile(sqlite_lake, side, "silver.orders", "checksum", "count", "schema")
    assert statuses(found) == {"checksum": "pass", "count": "pass", "schema": "pass"}, [each.message for each in found.values()]


def _other_side(kind: str, lake: Ledger, shop: Shop, frame: Any, folder: Path) -> Any:  # noqa: PLR0911 - one for each kind
    path = str(folder / "out")
    schema = "id bigint, at timestamp, name string"
    match kind:
        case "parquet":
            frame.write.parquet(path)
            return {"files": {"path": f"{path}/*.parquet", "format": "parquet"}}
        case "csv":
            frame.write.option("header", "true").csv(path)
            return {"files": {"path": f"{path}/*.csv", "format": "csv", "schema": schema}}
        case "json":
            frame.write.json(path)
            return {"files": {"path": f"{path}/*.json", "format": "json", "schema": schema}}
        case "delta":
            lake.publish("silver.orders", ["delta"])
            return {"delta": {"path": lake.tables.get("silver.orders").placed(lake.warehouse).location}}
        case "iceberg":
            lake.publish("silver.orders", ["iceberg"])
            publication = lake.tables.publication("silver.orders")
            assert publication
            return {"iceberg": {"table": _metadata(lake, publication)}}
        case "query":
            return {"query": "select name, at, id from silver.orders where id > 0"}
        case "jdbc query":
            return {"jdbc": {"url": shop.url, "user": "postgres", "query": f"select * from {shop.schema}.orders", "filter": "id > 0"}}
        case _:
            before = lake.tables.get("silver.orders").current_version
            lake.overwrite(frame.limit(0), "silver.orders")
            lake.append(lake.read("silver.orders", version=before), "silver.orders")
            return {"table": "silver.orders", "version": before}


def _metadata(lake: Ledger, publication: Any) -> str:
    location = publication.metadata_location
    return location if "://" in location or location.startswith("/") else f"{lake.warehouse}/{location}"


def test_thresholds_pass_within_either_and_warn_before_they_fail(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.overwrite(spark.range(100), "bronze.t")
    sqlite_lake.overwrite(spark.range(97), "silver.t")
    found = reconcile(
        sqlite_lake,
        "bronze.t",
        "silver.t",
        {"count": {"name": "exact"}},
        {"count": {"name": "percent", "threshold": 0, "threshold_percent": 5}},
        {"count": {"name": "absolute", "threshold": 3, "threshold_percent": 0.1}},
        {"count": {"name": "both", "threshold": 2, "threshold_percent": 2.9}},
        {"count": {"name": "warns", "threshold_percent": 5, "warn": 1}},
        {"checksum": {"threshold_percent": 5}},
    )
    assert statuses(found) == {
        "exact": "fail", "percent": "pass", "absolute": "pass", "both": "fail", "warns": "warn", "checksum": "pass",
    }  # fmt: skip
    assert (found["exact"].difference, found["exact"].difference_percent) == (-3.0, 3.0)


def test_zero_rows_are_a_number_and_an_empty_side_fails(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.overwrite(spark.range(5).selectExpr("id", "id as v"), "bronze.t")
    sqlite_lake.overwrite(spark.range(0).selectExpr("id", "id as v"), "silver.t")
    sqlite_lake.overwrite(spark.range(0).selectExpr("id", "id as v"), "gold.t")
    every = ("count", {"sum": {"column": "v"}}, {"max": {"column": "v"}}, "key_set", {"group_count": {"columns": ["v"]}})
    found = reconcile(sqlite_lake, "bronze.t", "silver.t", *every)
    assert statuses(found) == dict.fromkeys(found, "fail")
    assert (found["count"].source_metric, found["count"].target_metric) == ("5", "0")
    found = reconcile(sqlite_lake, "silver.t", "gold.t", *every)
    assert statuses(found) == dict.fromkeys(found, "pass")
    assert (found["count"].source_metric, found["sum_v"].target_metric) == ("0", "0")


def test_groups_count_null_as_a_value(sqlite_lake: Ledger, spark: SparkSession) -> None:
    rows = [(1, None), (2, None), (3, "x"), (4, "NULL")]
    sqlite_lake.overwrite(spark.createDataFrame(rows, "id int, g string"), "bronze.t")
    sqlite_lake.overwrite(spark.createDataFrame([*rows[1:], (5, "")], "id int, g string"), "silver.t")
    (result,) = reconcile(sqlite_lake, "bronze.t", "silver.t", {"group_count": {"columns": ["g"]}}).values()
    assert {(each["group"]["g"], each["source"], each["target"]) for each in result.detail["groups"]} == {(None, 2, 1), ("", 0, 1)}


def test_checks_on_failure_are_asked_only_then(sqlite_lake: Ledger, spark: SparkSession) -> None:
    checks = (
        "count",
        {"group_count": {"columns": ["g"], "on_fail": "count"}},
        {"key_set": {"on_fail": "group_count_g"}},
        {"checksum": {"on_fail": True}},
    )
    frame = spark.range(10).selectExpr("id", "id % 2 as g")
    sqlite_lake.overwrite(frame, "bronze.t")
    sqlite_lake.overwrite(frame, "silver.t")
    found = reconcile(sqlite_lake, "bronze.t", "silver.t", *checks)
    assert statuses(found) == {"count": "pass", "group_count_g": "skipped", "key_set": "skipped", "checksum": "skipped"}
    assert found["checksum"].message == "no other check failed"
    sqlite_lake.overwrite(frame.where("id < 9"), "silver.t")
    assert statuses(reconcile(sqlite_lake, "bronze.t", "silver.t", *checks)) == dict.fromkeys(found, "fail")


def test_nothing_is_ever_compared_with_itself_or_with_nothing(sqlite_lake: Ledger, shop: Shop, spark: SparkSession) -> None:
    orders(shop, 3)
    mirrored(sqlite_lake, shop)
    for source, target, told in [
        ("silver.orders", "SILVER.orders", "the same thing"),
        (of(shop), of(shop), "the same thing"),
        ("silver.orders", "silver.gone", "no table silver.gone"),
        (of(shop, "gone"), "silver.orders", "gone"),
    ]:
        report = sqlite_lake.recon.run(declared(source, target, "count", "checksum"))
        assert {each.status for each in report.results} == {Status.ERROR}
        assert all(told in each.message for each in report.results), report.results
        assert sqlite_lake.runs.get(report.run_id or "").status == "FAILED"
    none = Reconciliation("orders", "silver.orders", None, sqlite_lake.recon.declared(declared("a.b", "b.c", "count")).checks)
    (result,) = sqlite_lake.recon.run(none).results
    assert (result.status, result.message) == ("error", "no target is given, and nothing was compared: declare `target`")
    with pytest.raises(Invalid, match="it would pass without having compared anything"):
        sqlite_lake.recon.run(Reconciliation("orders", "a.b", "b.c", ()))


def test_one_bad_check_never_stops_the_others(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.range(3).selectExpr("id", "'x' as name", "array(id) as list")
    sqlite_lake.overwrite(frame, "bronze.t")
    sqlite_lake.overwrite(frame.selectExpr("id", "name", "list"), "silver.t")
    found = reconcile(
        sqlite_lake, "bronze.t", "silver.t", "count", {"sum": {"column": "nmae"}}, {"sum": {"column": "name"}}, "checksum",
        {"checksum": {"name": "some", "columns": ["name"]}},
    )  # fmt: skip
    assert statuses(found) == {"count": "pass", "sum_nmae": "error", "sum_name": "error", "checksum": "error", "some": "pass"}
    assert "did you mean 'name'" in found["sum_nmae"].message
    assert "column list is array<bigint>, which cannot be compared" in found["checksum"].message
    run = sqlite_lake.runs.get(found["count"].run_id)
    assert (run.status, run.run_kind) == ("FAILED", "recon")
    steps = {step.step_name: step.status for step in sqlite_lake.runs.steps(run.id)}
    assert steps == {"count": "COMPLETED", "sum_nmae": "FAILED", "sum_name": "FAILED", "checksum": "FAILED", "some": "COMPLETED"}


def test_what_takes_too_long_is_cancelled_and_the_others_go_on(sqlite_lake: Ledger, shop: Shop, spark: SparkSession) -> None:
    orders(shop, 3)
    mirrored(sqlite_lake, shop)
    slow = {"jdbc": {"url": shop.url, "user": "postgres", "query": f"select o.*, pg_sleep(0.3)::text as s from {shop.schema}.orders o"}}
    found = reconcile(
        sqlite_lake, slow, "silver.orders", "count", {"min": {"column": "s", "timeout_seconds": 0.2}}, exclude=["s"],
    )  # fmt: skip
    assert found["count"].status == "pass"
    assert found["min_s"].status == "error"  # the target has no such column
    found = reconcile(sqlite_lake, slow, _slowly(), {"min": {"column": "s", "timeout_seconds": 0.2}}, "count", exclude=["s"])
    assert (found["min_s"].status, found["count"].status) == ("timeout", "fail")
    assert "took longer than 0.2 s, and was cancelled" in found["min_s"].message
    active = shop.rows("select query from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()")
    assert not active


def _slowly() -> dict[str, Any]:
    return {"query": "select id, at, name, cast(id as string) as s from silver.orders where id < 3"}


def test_spark_is_cancelled_too(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.overwrite(spark.range(2_000), "bronze.t")
    sqlite_lake.overwrite(spark.range(2), "silver.t")
    slow = {"query": "select a.id, a.id * b.id * c.id as x from bronze.t a cross join bronze.t b cross join bronze.t c"}
    small = {"query": "select id, id as x from silver.t"}
    found = reconcile(sqlite_lake, slow, small, {"max": {"column": "x", "timeout_seconds": 0.5}}, "schema")
    assert statuses(found) == {"max_x": "timeout", "schema": "pass"}
    assert "Spark took longer than 0.5 s" in found["max_x"].message


def test_what_is_not_due_is_skipped_until_its_next_period(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.overwrite(spark.range(3), "bronze.t")
    daily = declared("bronze.t", "silver.t", "count", frequency="daily")
    assert sqlite_lake.recon.run(daily).status == "error"
    sqlite_lake.overwrite(spark.range(3), "silver.t")
    assert sqlite_lake.recon.run(daily).status == "pass", "what could not be compared is still due"
    skipped = sqlite_lake.recon.run(daily)
    assert skipped.status == "scheduled_skip"
    assert "it is daily, and was carried out at" in skipped.results[0].message
    assert sqlite_lake.recon.run(daily, now=True).status == "pass"


def test_no_secret_and_no_masked_cell_is_kept(
    sqlite_lake: Ledger, shop: Shop, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "canary-4711-password")
    shop.do("create table people (id bigint primary key, password text, note text); insert into people values (1, 'hunter2-secret', 'a')")
    mirrored(sqlite_lake, shop, "people", "silver.people")
    shop.do("update people set password = 'other-secret-9', note = 'canary-4711-password' where id = 1")
    side = of(shop, "people")
    side["jdbc"]["password"] = "{{env.SHOP_PASSWORD}}"
    side["jdbc"]["filter"] = "note <> 'canary-4711-passwor'"
    (result,) = reconcile(sqlite_lake, side, "silver.people", "checksum").values()
    assert result.detail["samples"][0]["columns"] == ["note", "password"]
    with sqlite_lake.store.read() as tx:
        from lakeledger.db.queries import statement

        kept = str(
            [tx.all(statement(f"select * from {name}")) for name in ("recon_results", "metadata_records", "step_logs", "pipeline_runs")]
        )
    for secret in ("hunter2-secret", "other-secret-9", "canary-4711-password"):
        assert secret not in kept


def test_a_difference_that_is_usual_passes_once_its_band_has_learned_it(
    sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakeledger.recon import store as results

    sqlite_lake.overwrite(spark.range(1_000), "bronze.t")
    sqlite_lake.overwrite(spark.range(990), "silver.t")
    banded = declared("bronze.t", "silver.t", {"count": {"tolerance": "band"}})
    first = sqlite_lake.recon.run(banded).results[0]
    assert (first.status, first.band and first.band["state"]) == ("pass", "LEARNING")
    with sqlite_lake.store.write() as tx:
        for day in range(1, 30):
            records.add(tx, results.record(first, datetime.now(UTC) - timedelta(days=day)))
    usual = sqlite_lake.recon.run(banded).results[0]
    assert (usual.status, usual.band and usual.band["state"]) == ("pass", "ACTIVE"), usual
    sqlite_lake.overwrite(spark.range(500), "silver.t")
    odd = sqlite_lake.recon.run(banded).results[0]
    assert odd.status == "warn"


def _double(by: random.Random) -> float:
    edges = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 2.0**-10, 2.0**10, 2.0**30, 1.0, 0.1]
    if (kind := by.random()) < 0.2:
        return by.choice(edges)
    found: float = by.uniform(-2_000, 2_000) if kind < 0.6 else struct.unpack(">d", by.randbytes(8))[0]
    return found


def _moment(by: random.Random, zone: tzinfo | None) -> datetime:
    return datetime(2000, 1, 1, tzinfo=zone) + timedelta(microseconds=by.randint(-(6 * 10**16), 2 * 10**17))


SAME: dict[str, tuple[str, str, str, Callable[[random.Random], Any]]] = {
    "f": ("float", "float8", "double", _double),
    "t": ("timestamp", "timestamptz", "timestamp", lambda by: _moment(by, UTC)),
    "l": ("timestamp_ntz", "timestamp", "timestamp_ntz", lambda by: _moment(by, None)),
    "d": ("date", "date", "date", lambda by: date(2000, 1, 1) + timedelta(days=by.randint(-700_000, 2_900_000))),
    "s": ("text", "text", "string", lambda by: by.choice(["", "NULL", "a|b", "😀é", "e\u0301", "1:|", " pad  ", "x" * by.randint(0, 50)])),
    "b": ("binary", "bytea", "binary", lambda by: by.randbytes(by.randint(0, 9))),
    "m": ("number", "numeric(20,6)", "decimal(20,6)", lambda by: Decimal(by.randint(-(10**19), 10**19)).scaleb(-6)),
    "i": ("number", "bigint", "bigint", lambda by: by.randint(-(2**63), 2**63 - 1)),
    "k": ("boolean", "boolean", "boolean", lambda by: by.random() < 0.5),
}  # fmt: skip
_TYPES = {"float8": "double precision", "timestamptz": "timestamp with time zone", "timestamp": "timestamp without time zone"}


def test_canonical_texts_and_digests_of_postgres_and_spark_are_those_of_an_oracle(spark: SparkSession, shop: Shop) -> None:
    by = random.Random(20_261_117)
    rows = [tuple(None if by.random() < 0.1 else make(by) for *_, make in SAME.values()) for _ in range(400)]
    pairs = [_pair(name, *types[:3]) for name, types in SAME.items()]
    wanted = []
    for row in rows:
        texts = [encode(each.kind, value, each.scale) for each, value in zip(pairs, row, strict=True)]
        digest = hashlib.md5(row_text([each.kind for each in pairs], texts).encode(), usedforsecurity=False).hexdigest()
        wanted.append((*texts, int(digest[:15], 16)))

    shop.do(f"create table canon ({', '.join(f'{name} {types[1]}' for name, types in SAME.items())})")
    with shop.connection.cursor() as cursor:
        cursor.executemany(f"insert into canon values ({', '.join(['%s'] * len(SAME))})".encode(), rows)
    theirs = PostgresSql("source")
    asked = ", ".join([*(theirs.canonical(each) for each in pairs), theirs.digest(pairs)])
    shop.do("set timezone = 'Asia/Tokyo'")
    assert sorted(shop.connection.execute(f"select {asked} from canon".encode()).fetchall(), key=repr) == sorted(wanted, key=repr)

    ours = SparkSql("target")
    texts_of = [f"cast({name} as {types[2]}) as {name}" for name, types in SAME.items()]
    plain = [tuple(_plain(value) for value in row) for row in rows]
    schema = ", ".join(f"{name} {'string' if types[0].startswith(('time', 'date')) else types[2]}" for name, types in SAME.items())
    frame = spark.createDataFrame(plain, schema).selectExpr(*texts_of)
    asked_of = [f"{text} as c{at}" for at, text in enumerate([*(ours.canonical(each) for each in pairs), ours.digest(pairs)])]
    assert sorted((tuple(row) for row in frame.selectExpr(*asked_of).collect()), key=repr) == sorted(wanted, key=repr)

    # Nobody but PostgreSQL says what its hashes are.
    hashed = shop.connection.execute(f"select {theirs.hash(pairs)} from canon".encode()).fetchall()
    values = [f"{text} as c{at}" for at, text in enumerate(ours.hashed_values(pairs))]
    summed = frame.selectExpr("monotonically_increasing_id() as part", *values).mapInArrow(
        record_hash.sums, "part bigint, number bigint, high bigint, low bigint"
    )
    found = [(row["number"], total((row["high"], row["low"]))) for row in summed.collect()]
    assert sorted(found) == sorted((1, each) for (each,) in hashed)


def test_files_of_a_table_say_what_spark_says_of_them(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do(MIXED)
    shop.do(FILL)
    mirrored(sqlite_lake, shop, "mixed", "mixed")
    with open_side(sqlite_lake.context(), "target", of_mapping(declared(of(shop, "mixed"), "mixed", "checksum")).target) as side:
        assert isinstance(side, SparkSide)
        pairs = [pair(each, each) for each in side.columns() if each.kind != "binary"]
        key = next(each for each in pairs if each.name == "id")
        asked = Asked(pairs, ByRange(key, 100, 3900, 7))
        assert side.files(asked)
        from_files = digest(side, asked, None, "postgres")
        assert len(from_files) == 543
        assert _total(from_files) == 4000
        assert side.files(Asked([pair(each, each) for each in side.columns()], asked.split)) is None  # bytes are Spark's
        assert from_files == digest(replace(side, about=replace(side.about, files=None)), asked, None, "postgres")


def _total(digests: dict[Any, tuple[int, int]]) -> int:
    return sum(number for number, _ in digests.values())


@pytest.mark.parametrize("hows", [("postgres", "md5"), ("spark", "md5")])
def test_a_value_that_moves_to_another_column_or_another_row_is_seen(sqlite_lake: Ledger, shop: Shop, hows: tuple[How, ...]) -> None:
    moved: dict[str, list[tuple[Any, ...]]] = {
        "same": [(1, "a", None, 5), (2, "b", "c", None)],
        "column": [(1, None, "a", 5), (2, "b", "c", None)],
        "row": [(1, "b", None, 5), (2, "a", "c", None)],
        "zero": [(1, "a", None, 5), (2, "b", "c", 0)],
        "empty": [(1, "a", "", 5), (2, "b", "c", None)],
        "twice": [(1, "a", None, 5), (2, "b", "c", None), (2, "b", "c", None)],
    }
    rows = [(name, *row) for name, rows in moved.items() for row in rows]
    if "postgres" in hows:
        shop.do("create table moved (name text, id bigint, x text, y text, n int)")
        with shop.connection.cursor() as cursor:
            cursor.executemany(b"insert into moved values (%s, %s, %s, %s, %s)", rows)
    else:
        sqlite_lake.overwrite(sqlite_lake.spark.createDataFrame(rows, "name string, id bigint, x string, y string, n int"), "moved")
    source = of(shop, "moved") if "postgres" in hows else "moved"
    with open_side(sqlite_lake.context(), "source", of_mapping(declared(source, "any", "checksum")).source) as side:
        name, *pairs = (pair(each, each) for each in side.columns())
        for how in hows:
            found = digest(side, Asked(pairs, ByHash((name,), 1 << 30)), None, how)
            assert len(set(found.values())) == len(moved), (how, found)


def test_workers_without_numpy_digest_by_md5(
    sqlite_lake: Ledger, shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(batches: Iterable[Any]) -> Iterator[Any]:
        for _ in batches:
            raise ModuleNotFoundError("No module named 'numpy'")
        yield

    monkeypatch.setattr(record_hash, "sums", broken)
    monkeypatch.setattr(TableFiles, "can_sum", lambda *_: False)
    shop.do("create table plain as select g::bigint as id, g::text as name from generate_series(1, 50) g")
    sqlite_lake.overwrite(sqlite_lake.spark.range(1, 51).selectExpr("id", "if(id = 7, 'x', string(id)) as name"), "plain")
    with caplog.at_level("INFO"):
        report = sqlite_lake.recon.run(declared(of(shop, "plain"), "plain", "checksum"))
    assert [(each.status, each.difference) for each in report.results] == [("fail", 1)]
    assert "rows are digested by md5" in caplog.text


def _pair(name: str, kind: Any, postgres: str, spark: str) -> Pair:
    scale = 6 if postgres.startswith("numeric") else 0
    both = [Column(name, type_, kind, scale, is_integer=type_ == "bigint") for type_ in (_TYPES.get(postgres, postgres), spark)]
    return Pair(name, both[0], both[1], kind, scale)


def _plain(value: Any) -> Any:
    """Times as texts: Python's own way to Spark goes through the machine's time zone."""
    return value.isoformat() if isinstance(value, date) else bytearray(value) if isinstance(value, bytes) else value
