"""Streamed rows beside those that Spark writes: the same files, read, merged and published as those; and on an S3 server."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lakeledger
from iceberg_readers import plain, with_duckdb, with_pyiceberg
from integration.frames import WEIRD, rows
from lakeledger import Ledger, Settings
from lakeledger.config import S3Settings
from s3_server import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = (
    "id bigint, b byte, s short, i int, f float, d double, small decimal(9,2), mid decimal(18,4), big decimal(38,10), name string, "
    "raw binary, day date, at timestamp, local timestamp_ntz, ok boolean, tags array<string>, points map<string,int>, "
    "place struct<city:string,zip:int>"
)


def row(number: int) -> dict[str, Any]:
    return {
        "id": number, "b": 1, "s": -2, "i": number, "f": 0.5, "d": number / 3, "small": Decimal("1.25"), "mid": Decimal("-3.1234"),
        "big": Decimal("12345678901234567890.5"), "name": f"näme {number}", "raw": b"\x00\xff", "day": date(2026, 1, 1 + number % 3),
        "at": datetime(2026, 1, 1, 12, 30, 0, 123456, UTC), "local": datetime(1500, 6, 1, 1), "ok": True, "tags": ["a", None],  # noqa: DTZ001
        "points": {"x": 1}, "place": {"city": "Graz", "zip": 8010},
    }  # fmt: skip


def footers(ledger: Ledger, table: str) -> dict[str, set[tuple[str, ...]]]:
    """How each leaf of the files is kept, by its path."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for path in ledger.tables.view(table).paths:
        schema = parquet.read_metadata(path).schema
        for index in range(len(schema)):
            leaf = schema.column(index)
            found.setdefault(leaf.path, set()).add((leaf.physical_type, str(leaf.logical_type), leaf.max_repetition_level))
    return found


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_streamed_rows_are_kept_as_spark_keeps_them_and_read_merged_and_published_so(url: str, tmp_path: Path, spark: SparkSession) -> None:
    given = [row(number) for number in range(6)]
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync", spark=spark) as lake:
        frame = spark.createDataFrame([tuple(each.values()) for each in given[:3]], TYPES)
        lake.append(frame, "events", partition_by=["day"])
        with lake.stream_writer("events", every=3600) as writer:
            writer.write(given[3:])
            writer.write([{"id": "x"}, {"id": 7, "color": "red"}])
        kept = footers(lake, "events")
        assert {path: how for path, how in kept.items() if len(how) > 1} == {}, "Spark keeps them in another way"
        by_version: dict[int, list[Any]] = {1: [], 2: []}
        for file in lake.tables.files("events"):
            by_version[file.added_version].append((file.partition_path, sorted(file.column_bounds), file.row_count))
        assert sorted(by_version[1]) == sorted(by_version[2])
        expected = spark.createDataFrame([tuple(each.values()) for each in given], TYPES)
        assert rows(lake.read("events")) == rows(expected)
        assert [tuple(each) for each in lake.read("events__quarantine").select("row", "reasons").collect()] == [
            ('{"id": "x"}', ["id is not long"]),
            ('{"id": 7, "color": "red"}', ["color is new"]),
        ]
        published = lake.tables.publication("events")
        assert published is not None
        assert published.problem is None
        snapshot = lake.tables.history("events")[0].iceberg_snapshot_id
        assert snapshot is not None
        assert plain(with_pyiceberg(lake, "events", snapshot))[1] == plain(with_duckdb(lake, "events", snapshot))[1]
        assert with_pyiceberg(lake, "events", snapshot).num_rows == 6

        lake.merge(spark.createDataFrame([tuple({**row(4), "name": "new"}.values())], TYPES), "events", keys=["id"])
        assert {each["id"]: each["name"] for each in lake.read("events").collect()}[4] == "new"
        one_day = spark.createDataFrame([tuple({**row(3), "id": 30}.values())], TYPES)
        lake.overwrite(one_day, "events", by_partition=True)
        assert sorted(each["id"] for each in lake.read("events").collect()) == [1, 2, 4, 5, 30], "partitions are the same"

        replayed = lake.replay_rows("events", lambda bad: bad.selectExpr(f"from_json(row, '{TYPES}') as r").select("r.*"), dry_run=False)
        assert [each.error for each in replayed] == [None]
        assert lake.tables.get("events__quarantine").row_count == 0


def test_partitions_have_the_names_that_spark_gives_them(sqlite_lake: Ledger, spark: SparkSession) -> None:
    times = [datetime(2026, 1, 1, 12, 30, 0, 120000, UTC), datetime(1969, 12, 31, tzinfo=UTC)]
    given: list[dict[str, Any]] = [
        {"text": text, "at": times[number % 2], "price": Decimal(number).scaleb(-2), "ok": number % 2 == 0}
        for number, text in enumerate(WEIRD)
    ]
    schema = pa.schema([("text", pa.string()), ("at", pa.timestamp("us", "UTC")), ("price", pa.decimal128(10, 2)), ("ok", pa.bool_())])
    by = ["text", "at", "price", "ok"]
    with sqlite_lake.stream_writer("streamed", every=3600, schema=schema, partition_by=by) as writer:
        writer.write(given)
    frame = spark.createDataFrame([tuple(each.values()) for each in given], "text string, at timestamp, price decimal(10,2), ok boolean")
    sqlite_lake.append(frame, "sparked", partition_by=by)
    streamed, sparked = ({file.partition_path for file in sqlite_lake.tables.files(name)} for name in ("streamed", "sparked"))
    assert streamed == sparked
    assert len(streamed) == len(WEIRD)
    assert rows(sqlite_lake.read("streamed")) == rows(sqlite_lake.read("sparked"))


def test_a_warehouse_on_s3_gets_streamed_rows_and_they_outlast_its_outage(
    bucket: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []

    def come_back(record: logging.LogRecord) -> bool:
        waited.append(record.getMessage())
        bucket.start("lake")
        return True

    monkeypatch.setattr(logging.getLogger("lakeledger.pipelines.streaming.writer"), "filters", [come_back])
    settings = Settings(url=f"sqlite:///{tmp_path}/ledger.db", warehouse="s3://lake/shop", metadata="sync", s3=S3Settings(bucket.endpoint))
    with lakeledger.open(settings) as ledger, ledger.stream_writer("events", every=3600) as writer:
        bucket.stop()
        ticket = writer.write([{"id": 1}, {"id": 2}, {"id": "x"}])
        assert writer.flush() == ticket.result() == 1
        assert ["3 rows for main.events wait for up to" in text for text in waited] == [True], waited
        snapshot = ledger.tables.history("events")[0].iceberg_snapshot_id
        assert snapshot is not None
        assert sorted(with_pyiceberg(ledger, "events", snapshot).column("id").to_pylist()) == [1, 2]
        ledger.settle()
        assert ledger.tables.verify("events").ok
