"""What Spark with Delta sees of published tables. These tests need a session with Delta, so test_delta_spark runs them elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from contract.delta_tables import compact
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, delta_publishing
from lakeledger.lake.delta import OWNER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASES = """
select cast(id as int) as id, cast(id as string) as name, cast(id % 3 as byte) as b, cast(id as short) as s, cast(id as float) as f,
       id / 7 as d, cast(id as decimal(20, 5)) as money, id % 2 = 0 as flag, date'2026-01-01' + cast(id as int) as day,
       timestamp'2026-01-01 00:00:00Z' + make_dt_interval(id) as at, cast('x' as binary) as raw,
       cast(timestamp'2026-01-01 00:00:00' as timestamp_ntz) as ntz, array(struct(id as x, 'y' as y)) as list, map('k', id) as pairs,
       named_struct('in side', named_struct('deep', id)) as nest
  from range({low}, {high})
"""


@pytest.fixture
def ledger(tmp_path: Path, delta_spark: SparkSession) -> Ledger:
    return lakeledger.open(new_sqlite_url(tmp_path), warehouse=str(tmp_path / "warehouse"), spark=delta_spark)


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


def delta(ledger: Ledger, version: int | None = None, name: str = "shop.orders") -> DataFrame:
    number = {each.version: each.delta_version for each in ledger.tables.history(name)}
    reader = ledger.spark.read.format("delta")
    return (reader if version is None else reader.option("versionAsOf", number[version])).load(ledger.tables.get(name).location)


def agree(ledger: Ledger, name: str = "shop.orders") -> None:
    """Every version is the same through the ledger and through Delta: names, types and rows."""
    ledger.publish(name, ["iceberg", "delta"])
    for each in ledger.tables.history(name):
        theirs, ours = delta(ledger, each.version, name), ledger.read(name, version=each.version)
        assert [(field.name, field.dataType) for field in theirs.schema] == [(field.name, field.dataType) for field in ours.schema]
        assert rows(theirs) == rows(ours), each.version


def test_spark_reads_every_version_as_the_ledger_does(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_publishing, "ENTRIES", 3)
    from pyspark.sql import functions as F

    spark = ledger.spark

    def frame(low: int, high: int) -> DataFrame:
        return spark.sql(CASES.format(low=low, high=high))

    ledger.append(frame(0, 5), "shop.orders", partition_by=["day"])
    ledger.publish("shop.orders", ["iceberg", "delta"])
    ledger.merge(frame(3, 8).dropDuplicates(["id"]), "shop.orders", keys=["id"])
    agree(ledger)
    ledger.append(frame(8, 10).withColumn("id", F.col("id").cast("long")), "shop.orders", evolve=True)
    ledger.columns.rename("shop.orders", "name", "the name")
    ledger.columns.drop("shop.orders", "f")
    ledger.columns.add("shop.orders", "f", "string")
    agree(ledger)
    ledger.merge(ledger.read("shop.orders").where("id > 7").withColumn("d", F.col("d") + 1), "shop.orders", keys=["id"])
    ledger.delete("shop.orders", "id = 1")
    ledger.overwrite(ledger.read("shop.orders").where("id < 9"), "shop.orders", by_partition=True)
    agree(ledger)
    for where in ("`the name` = '4' and money = 4", "at >= timestamp'2026-01-05 00:00:00Z'", "f is null", "day = date'2026-01-03'"):
        assert rows(delta(ledger).where(where)) == rows(ledger.read("shop.orders").where(where)), where


def test_a_history_is_seen_without_what_is_hidden(ledger: Ledger) -> None:
    spark = ledger.spark
    for version, name in ((1, "ann"), (2, "bea")):
        ledger.apply_changes(
            spark.sql(f"select 1 as id, '{name}' as name, {version} as at"),
            "shop.orders",
            keys=["id"],
            sequence_by="at",
            stored_as_scd_type=2,
        )
        agree(ledger)
    assert not [field for field in delta(ledger).columns if "hidden" in field]


def test_a_stream_reads_what_was_appended_and_not_what_was_compacted_and_nobody_else_writes(ledger: Ledger, tmp_path: Path) -> None:
    spark, place = ledger.spark, f"{ledger.warehouse}/shop/orders"
    ledger.append(spark.range(3), "shop.orders")
    ledger.publish("shop.orders", ["delta"])

    def streamed() -> list[int]:
        query = spark.readStream.format("delta").load(place).writeStream.format("parquet")
        query.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        return sorted(row.id for row in spark.read.parquet(str(tmp_path / "out")).collect())

    assert streamed() == [0, 1, 2]
    ledger.append(spark.range(3, 5), "shop.orders")
    compact(ledger, *((number,) for number in range(5)), columns={"id": "long"})
    ledger.append(spark.range(5, 6), "shop.orders")
    ledger.publish("shop.orders")
    assert streamed() == [0, 1, 2, 3, 4, 5]
    assert rows(delta(ledger)) == rows(ledger.read("shop.orders"))
    for statement in (
        f"insert into delta.`{place}` values (9)",
        f"delete from delta.`{place}` where id = 1",
        f"optimize delta.`{place}`",
        f"vacuum delta.`{place}`",
        f"alter table delta.`{place}` add columns (x int)",
    ):
        with pytest.raises(Exception, match=OWNER):
            spark.sql(statement)
    spark.sql(f"create table seen using delta location '{place}'")
    assert spark.table("seen").count() == 6
    history = {row.version: row for row in spark.sql(f"describe history delta.`{place}`").collect()}
    assert [history[number].operation for number in sorted(history)] == ["WRITE", "WRITE", "OPTIMIZE", "WRITE"]
    assert '"lakeledger.version":4' in history[3].userMetadata
