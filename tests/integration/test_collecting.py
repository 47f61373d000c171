"""Collectors over Spark catalogs and PostgreSQL, and checks and reconciliations as producers, for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from integration.commands import answer
from integration.source_database import Shop
from lakeledger import Ledger, MetadataRequest, MetadataTarget
from lakeledger.pipelines.sources.jdbc import JdbcConfig
from lakeledger.quality import Suite, expect

TYPED = "create table typed (id bigint primary key, price numeric(12, 4), code varchar(8) not null, at timestamptz, odd numeric)"
MODULE = """
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: jdbc
        source_config: {{url: "{url}", user: postgres, table: {schema}.typed}}
        transformation_config: {{load_type: full}}
        target_config: {{schema: silver, table: orders, write_mode: overwrite}}
"""


def payload(ledger: Ledger, target: Any, kind: str) -> dict[str, Any]:
    found = ledger.records.latest(target, kind)
    assert found is not None
    return found.payload


def test_a_table_of_postgresql_is_collected_without_spark(ledger: Ledger, shop: Shop, tmp_path: Path, url: str) -> None:
    shop.do(TYPED)
    shop.do("insert into typed select g, g * 1.5, 'c' || g % 3, case when g % 2 = 0 then now() end from generate_series(1, 100) g")
    shop.do("comment on column typed.code is 'which one'")
    config = JdbcConfig(shop.url, f"{shop.schema}.typed", user="postgres")
    producer = ledger.collectors.jdbc("erp", config)
    counted = ledger.records.produce(producer, MetadataRequest(producer.target, parameters={"exact": True}), must_succeed=True)
    assert counted.kinds == ("schema_snapshot", "statistics_snapshot")
    assert producer.target == MetadataTarget("erp", shop.schema, "typed")
    schema = payload(ledger, producer.target, "schema_snapshot")
    columns = {each["name"]: each for each in schema["columns"]}
    assert (columns["price"]["precision"], columns["price"]["scale"], columns["code"]["length"]) == (12, 4, 8)
    assert (columns["code"]["comment"], columns["code"]["nullable"], schema["primary_key"]) == ("which one", False, ["id"])
    assert payload(ledger, producer.target, "statistics_snapshot")["row_count"] == 100
    shop.do("analyze typed")
    ledger.records.produce(producer, MetadataRequest(producer.target), must_succeed=True)
    known = payload(ledger, producer.target, "statistics_snapshot")
    assert (known["row_count"], known["sampled"], known["columns"]["code"]["distinct_count"]) == (100, True, 3)
    assert known["columns"]["at"]["null_percent"] == 50

    document = tmp_path / "pipeline.yaml"
    document.write_text(MODULE.format(url=shop.url, schema=shop.schema), encoding="utf-8")
    (first,) = answer("records", "collect", "--file", str(document), "--url", url)["results"]
    assert (first["target"], first["outcome"], first["kinds"]) == ("shop.orders", "stored", ["schema_snapshot", "statistics_snapshot"])
    shop.do("alter table typed drop column at, alter column price type numeric(14, 4), add column more text")
    (second,) = answer("records", "collect", "--file", str(document), "--url", url)["results"]
    assert second["kinds"] == ["schema_snapshot", "catalog_diff", "statistics_snapshot"]
    diff = payload(ledger, MetadataTarget("shop.orders", "shop", "orders"), "catalog_diff")
    assert {(each["change"], each["column"], each["breaking"]) for each in diff["changes"]} == {
        ("column_removed", "at", True), ("type_changed", "price", False), ("column_added", "more", False),
    }  # fmt: skip


def test_a_database_that_does_not_answer_is_an_error_without_its_password(ledger: Ledger) -> None:
    config = JdbcConfig("jdbc:postgresql://127.0.0.1:1/erp", "public.orders", user="ann", password="hunter2")
    producer = ledger.collectors.jdbc("erp", config)
    result = ledger.records.produce(producer, MetadataRequest(producer.target))
    assert result.outcome == "error"
    assert "hunter2" not in (result.message or "")


def test_tables_of_a_spark_catalog_are_collected(sqlite_lake: Ledger) -> None:
    spark = sqlite_lake.spark
    spark.sql("create database if not exists facts")
    spark.sql("drop table if exists facts.visits")
    spark.sql("create table facts.visits (id bigint comment 'the key', name string, day date) using parquet partitioned by (day)")
    try:
        spark.sql("insert into facts.visits values (1, 'a', date '2026-01-01'), (2, null, date '2026-01-02'), (2, 'b', date '2026-01-02')")
        (result,) = sqlite_lake.collectors.collect_spark("facts")
        assert (result.outcome, result.kinds) == ("stored", ("schema_snapshot", "statistics_snapshot")), result.message
        target = MetadataTarget("spark_catalog", "facts", "visits")
        schema, known = (payload(sqlite_lake, target, kind) for kind in result.kinds)
        assert [(each["name"], each["type"]) for each in schema["columns"]] == [("id", "long"), ("name", "string"), ("day", "date")]
        assert (schema["partitioned_by"], schema["columns"][0]["comment"]) == (["day"], "the key")
        assert (known["row_count"], known["columns"]["name"]["null_count"]) == (3, 1)
        assert known["columns"]["day"] == {
            "null_count": 0,
            "null_percent": 0.0,
            "min": "2026-01-01",
            "max": "2026-01-02",
            "distinct_count": 2,
        }
        rows = MetadataRequest(target, parameters={"statistics": "rows"})
        assert sqlite_lake.records.produce(sqlite_lake.collectors.spark_catalog(), rows).records[0].payload["row_count"] == 3
        missing = MetadataRequest(MetadataTarget("spark_catalog", "facts", "gone"))
        assert sqlite_lake.records.produce(sqlite_lake.collectors.spark_catalog(), missing).outcome == "error"
    finally:
        spark.sql("drop database facts cascade")


def test_a_check_and_a_reconciliation_are_producers(sqlite_lake: Ledger) -> None:
    frame = sqlite_lake.spark.createDataFrame([(1, "a"), (2, None)], "id bigint, name string")
    sqlite_lake.append(frame, "silver.orders")
    sqlite_lake.append(frame, "gold.orders")
    target = MetadataTarget("quality", "silver", "orders")
    suite = Suite("orders", (expect("not_null", "name"),), fail_on_error=True)
    checked = sqlite_lake.records.produce(sqlite_lake.collectors.quality(suite), MetadataRequest(target), must_succeed=True)
    assert (checked.outcome, checked.kinds) == ("duplicate", ("dq_result",)), "its own commit has kept it"
    assert checked.records[0].payload["overall_status"] == "FAIL"
    assert len(sqlite_lake.quality.history()) == 1
    declared = {
        "name": "copies",
        "source": {"table": "silver.orders"},
        "target": {"table": "gold.orders"},
        "checks": ["count"],
        "keys": ["id"],
    }
    elsewhere: list[Any] = []
    producer = sqlite_lake.collectors.recon(declared)
    result = sqlite_lake.records.produce(producer, MetadataRequest(MetadataTarget("copies", "gold", "orders")), must_succeed=True)
    elsewhere.extend(result.records)
    assert [(each.kind, each.payload["status"], each.producer_id) for each in elsewhere] == [("recon_result", "pass", "recon.v1")]
