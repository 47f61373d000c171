"""Tables on Spark: what was written is read again, at any version, whatever its names and types."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from integration.frames import FORMATS, ORDERS, nulls_like, rows
from lakeledger import Invalid, Ledger, NotFound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_each_version_is_read_as_it_was(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    lake.append(spark.sql("select 3 as id, 'c' as name, 1.5d as price"), "orders", evolve=True)
    lake.overwrite(spark.sql("select 'x' as code"), "orders")
    assert lake.read("orders", version=1).columns == ["id", "name"]
    assert rows(lake.read("orders", version=1)) == [(1, "a"), (2, "b")]
    assert lake.read("orders", version=2).columns == ["id", "name", "price"]
    assert rows(lake.read("orders", version=2)) == [(1, "a", None), (2, "b", None), (3, "c", 1.5)]
    assert lake.read("orders").columns == ["code"]
    assert rows(lake.read("orders")) == [("x",)]


def test_a_table_is_read_as_it_was_at_a_time(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    lake.overwrite(spark.sql("select 'x' as code"), "orders")
    second, first = (snapshot.committed_at for snapshot in lake.tables.history("orders"))
    assert first < second
    assert rows(lake.read("orders", at=first)) == [(1, "a"), (2, "b")]
    assert rows(lake.read("orders", at=second - timedelta(microseconds=1))) == [(1, "a"), (2, "b")]
    assert rows(lake.read("orders", at=second)) == rows(lake.read("orders", at=second + timedelta(days=1))) == [("x",)]
    with pytest.raises(NotFound, match=r"main\.orders did not exist at"):
        lake.read("orders", at=first - timedelta(microseconds=1))


def test_a_version_or_table_that_never_was_is_not_found(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    for version in (0, 2, -1):
        with pytest.raises(NotFound, match=f"no version {version}: it has 1 to 1"):
            lake.read("orders", version=version)
    with pytest.raises(NotFound, match=r"no table main\.nope"):
        lake.read("nope")


def test_a_time_without_a_zone_is_refused(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    with pytest.raises(Invalid, match="time zone"):
        lake.read("orders", at=datetime(2099, 1, 1))  # noqa: DTZ001 - that is the point


def test_new_columns_come_last_and_the_others_are_found_by_name(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql("select 1 as id, 'a' as name"), "orders")
    lake.append(spark.sql("select true as paid, 'b' as NAME, 2 as Id"), "orders", evolve=True)
    lake.append(spark.sql("select 'c' as name, 3 as id, false as paid"), "orders")
    assert lake.read("orders").columns == ["id", "name", "paid"]
    assert rows(lake.read("orders")) == [(1, "a", None), (2, "b", True), (3, "c", False)]
    assert lake.tables.view("orders").table.current_version == 3
    metadata = lake.tables.metadata("orders")
    assert metadata is not None
    assert metadata.schema_version == 2


def test_column_names_that_look_the_same_are_the_same(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as `caf\u00e9`"), "t")
    sqlite_lake.append(spark.sql("select 2 as `cafe\u0301`"), "t")
    assert rows(sqlite_lake.read("t")) == [(1,), (2,)]


@pytest.mark.parametrize("format", FORMATS)
def test_columns_may_have_any_name(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    names = ["a b", "a.b", "a`b", "ü", "漢字", "a,b;{}()=", "a/b", "%", "'", '"', "select", "a\nb", "1", "rows", "min_0"]
    frame = spark.createDataFrame([tuple(range(len(names)))], names)
    sqlite_lake.append(frame, "t", format=format)
    sqlite_lake.append(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in reversed(names))), "t")
    assert sqlite_lake.read("t").columns == names
    assert rows(sqlite_lake.read("t")) == [tuple(range(len(names)))] * 2
    assert sqlite_lake.tables.files("t")[0].column_bounds["a b"]["max"] == 0


TYPES = {
    "boolean": "true",
    "byte": "127Y",
    "short": "-32768S",
    "int": "2147483647",
    "long": "-9223372036854775808L",
    "float": "3.4028234E38f",
    "double": "4.9E-324d",
    "decimal": "cast('-9999999999999999999999999999.9999999999' as decimal(38, 10))",
    "small decimal": "cast(-1.05 as decimal(5, 2))",
    "string": "'ü😀'",
    "varchar": "cast('ab' as varchar(10))",
    "binary": "X'00ff80'",
    "date": "date'1582-10-04'",
    "timestamp": "timestamp'1883-11-18 12:03:57.999999'",
    "timestamp_ntz": "timestamp_ntz'0001-01-01 00:00:00.000001'",
    "year-month interval": "interval '-1-2' year to month",
    "day-time interval": "interval '1 02:03:04.567891' day to second",
    "array": "array(1, null)",
    "map": "map('a', 1, 'b', null)",
    "struct": "named_struct('x', named_struct('y', array(named_struct('z', 1.10bd))))",
    "void": "null",
}
PARQUET_ONLY = {"map by number": "map(1, 'a')", "map by struct": "map(named_struct('a', 1), 2)"}


@pytest.mark.parametrize("format", FORMATS)
def test_every_type_comes_back_as_it_went(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    types = TYPES | (PARQUET_ONLY if format == "parquet" else {})
    frame = spark.sql("select " + ", ".join(f"{value} as `{name}`" for name, value in types.items()))
    sqlite_lake.append(frame, "t", format=format)
    sqlite_lake.append(frame.select(*(f"`{name}`" for name in types)).where("false").union(spark.sql(nulls_like(frame))), "t")
    back = sqlite_lake.read("t")
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert as_text(back.where("`int` is not null")) == as_text(frame)
    assert set(as_text(back.where("`int` is null"))[0]) == {None}


def as_text(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Rows by the digits of Spark's own text: Python has no value for some of Spark's types, and not every text is UTF-8."""
    return [tuple(row) for row in frame.selectExpr(*(f"hex(string(`{name}`))" for name in frame.columns)).collect()]


@pytest.mark.parametrize("format", FORMATS)
def test_variants_come_back_as_they_went(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    sqlite_lake.append(
        spark.sql("""select parse_json('{"a": [1, null, "x"]}') as v, parse_json('null') as n, cast(null as variant) as z"""),
        "t",
        format=format,
    )
    back = sqlite_lake.read("t").selectExpr("to_json(v)", "is_variant_null(n)", "z is null").collect()
    assert rows_of(back) == [('{"a":[1,null,"x"]}', True, True)]


def rows_of(collected: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in collected]


def test_numbers_without_a_value_come_back(sqlite_lake: Ledger, spark: SparkSession) -> None:
    for format in FORMATS:
        sqlite_lake.append(spark.sql("select double('NaN') as x, -0.0d as zero"), format, format=format)
        ((nan, zero),) = sqlite_lake.read(format).collect()
        assert math.isnan(nan)
        assert math.copysign(1, zero) == -1


@pytest.mark.parametrize(
    "name",
    ["", ".", "a.", ".a", "..", "../x", "a/b", "/etc", "a.b.c", "a b", "a-b", "a;drop table x", "a'b", 'a"b', "a`b", "ü", "1a", "a\n",
     "a\x00", "%41", "x" * 129, "~", "$HOME", "a\\b"],
)  # fmt: skip
def test_hostile_table_names_are_refused(sqlite_lake: Ledger, spark: SparkSession, name: str) -> None:
    for attempt in (
        lambda: sqlite_lake.append(spark.sql(ORDERS), name),
        lambda: sqlite_lake.read(name),
        lambda: sqlite_lake.tables.verify(name),
    ):
        with pytest.raises(Invalid, match="is not allowed"):
            attempt()
    assert not Path(sqlite_lake.warehouse).exists()
    assert sqlite_lake.tables.list() == []


@pytest.mark.parametrize("folder", ["a b#ü", "a[b]c", "a{b}", "100%20", "a*b?", "a:b'", "a\\b"])
def test_a_warehouse_may_be_in_any_folder(tmp_path: Path, spark: SparkSession, folder: str) -> None:
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", warehouse=str(tmp_path / folder / "w"), spark=spark) as ledger:
        ledger.append(spark.sql("select * from values (1, 'x'), (2, 'y') as t(id, part)"), "t", partition_by=["part"])
        assert rows(ledger.read("t")) == [(1, "x"), (2, "y")]
        assert ledger.tables.verify("t").ok
        assert ledger.tables.sweep(timedelta(0)).leftovers == []
