"""Sessions that somebody else made, as in a notebook: what is written does not depend on their settings, and those stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lakeledger
from integration.frames import bounds, location, rows
from lakeledger import Failed, Invalid, Ledger, SparkSettings
from lakeledger.control import documents
from lakeledger.testing import raise_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOK = {
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.caseSensitive": "true",
}
VALUES = """select 1 as id, timestamp'2026-01-01 10:00:00Z' as at, timestamp'1500-01-01 00:00:00Z' as long_ago, date'1500-01-01' as old_day,
            1.50bd as amount, array(timestamp'2026-01-01 10:00:00Z') as times, double('-0.0') as zero, 0.0000001bd as tiny, X'ff' as raw"""


@pytest.fixture
def notebook(spark: SparkSession) -> SparkSession:
    """A session in another time zone, with settings as old notebooks have them."""
    made = spark.newSession()
    for name, value in NOTEBOOK.items():
        made.conf.set(name, value)
    return made


@pytest.fixture
def guest(sqlite_lake: Ledger, notebook: SparkSession) -> Iterator[Ledger]:
    """The ledger of `sqlite_lake`, opened by somebody who works on that session."""
    with lakeledger.open(sqlite_lake.settings, spark=notebook) as opened:
        yield opened


def physical_types(ledger: Ledger, table: str) -> dict[str, tuple[str, str]]:
    """Each leaf of the table's one file, with its type in Parquet."""
    (file,) = ledger.tables.files(table)
    schema = parquet.ParquetFile(location(ledger, table) / file.file_path).schema
    return {schema.column(at).path: (schema.column(at).physical_type, str(schema.column(at).logical_type)) for at in range(len(schema))}


def test_files_and_bounds_are_the_same_whoever_writes_them(
    sqlite_lake: Ledger, guest: Ledger, spark: SparkSession, notebook: SparkSession
) -> None:
    sqlite_lake.append(spark.sql(VALUES), "ours")
    guest.append(notebook.sql(VALUES), "theirs")
    assert physical_types(guest, "theirs") == physical_types(guest, "ours")
    (ours,), (theirs,) = guest.tables.files("ours"), guest.tables.files("theirs")
    assert theirs.column_bounds == ours.column_bounds
    assert bounds(guest, "theirs", "at")["min"] == "2026-01-01T10:00:00.000000Z"
    assert rows(sqlite_lake.read("theirs")) == rows(sqlite_lake.read("ours"))


@pytest.mark.parametrize("point", [None, "mid_write"])
def test_the_users_session_is_as_it_was(guest: Ledger, notebook: SparkSession, point: str | None) -> None:
    from pyspark.sql import SparkSession

    cached = notebook.sql(VALUES).cache()
    cached.count()
    before, active = notebook.conf.getAll, SparkSession.active()
    if point is None:
        guest.append(cached, "t")
    else:
        with raise_at(point, RuntimeError("on purpose")), pytest.raises(RuntimeError, match="on purpose"):
            guest.append(cached, "t")
    assert notebook.conf.getAll == before
    assert SparkSession.active() is active
    assert cached.storageLevel.useMemory
    assert [table.name for table in notebook.catalog.listTables("global_temp") if table.name.startswith("lakeledger")] == []


def test_a_frame_means_in_the_write_what_it_means_in_its_session(guest: Ledger, notebook: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "local.csv").write_text("at\n2026-07-01 12:00:00\n", encoding="utf-8")
    notebook.udf.register("twice", lambda text: text * 2)
    notebook.sql("select 'x' as word").createOrReplaceTempView("words")
    read = notebook.read.csv(str(tmp_path / "local.csv"), header=True, schema="at timestamp")
    guest.append(read.selectExpr("at", "cast('2026-07-01 12:00:00' as timestamp) as same", "twice('ab') as text"), "t")
    noon_in_berlin = datetime(2026, 7, 1, 10, tzinfo=UTC).timestamp() * 1_000_000
    assert rows(guest.read("t").selectExpr("unix_micros(at)", "unix_micros(same)", "text")) == [(noon_in_berlin, noon_in_berlin, "abab")]
    guest.append(notebook.sql("select word, cast('no number' as int) as number, timestamp'2026-01-01' as at from words"), "words")
    assert rows(guest.read("words").select("word", "number")) == [("x", None)]


@pytest.mark.parametrize("column", ["at", "long_ago", "old_day", "amount", "zero", "tiny", "raw"])
def test_a_partition_is_the_same_from_every_session(
    sqlite_lake: Ledger, guest: Ledger, spark: SparkSession, notebook: SparkSession, column: str
) -> None:
    sqlite_lake.append(spark.sql(VALUES), "t", partition_by=[column])
    guest.overwrite(notebook.sql(VALUES), "t", by_partition=True)
    assert len(guest.tables.files("t")) == 1
    assert rows(guest.read("t")) == rows(guest.read("t", version=1))


def test_the_two_zeros_are_one_partition(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, double('-0.0') as k union all select 2, double('0.0')"), "t", partition_by=["k"])
    sqlite_lake.overwrite(spark.sql("select 3 as id, double('0.0') as k"), "t", by_partition=True)
    assert [row.id for row in sqlite_lake.read("t").collect()] == [3]


def test_binary_values_that_are_no_text_are_partitions_of_their_own(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, X'ff' as k union all select 2, X'fe'"), "t", partition_by=["k"])
    sqlite_lake.overwrite(spark.sql("select 3 as id, X'fe' as k"), "t", by_partition=True)
    assert sorted(row.id for row in sqlite_lake.read("t").collect()) == [1, 3]


@pytest.mark.parametrize("value", ["array(1)", "map('a', 1)", "named_struct('a', 1)"])
def test_a_column_without_one_text_is_no_partition_column(sqlite_lake: Ledger, spark: SparkSession, value: str) -> None:
    with pytest.raises(Invalid, match=r"cannot partition by k, a .*: partition by columns of plain values"):
        sqlite_lake.append(spark.sql(f"select {value} as k"), "t", partition_by=["k"])


DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "*.csv", schema: "id int, at timestamp"}
        target_config: {table: orders}
      - source_id: days
        source_type: sql
        execution_order: 2
        transformation_config:
          sql_task: {sql_query: "select date(at) as day, hour(at) as hour, count(*) as n from orders group by all"}
        target_config: {table: days}
      - source_id: wrong
        source_type: sql
        execution_order: 3
        transformation_config: {sql_task: {sql_query: "select cast('x' as int) as n"}}
        target_config: {table: wrong}
"""


def test_a_declared_load_gives_the_same_rows_on_every_session(guest: Ledger, notebook: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,at\n1,2026-01-01 23:30:00\n", encoding="utf-8")
    before: dict[str, Any] = notebook.conf.getAll
    (result,) = guest.run_modules(documents.parse(DOCUMENT, "shop.yml"), tmp_path)
    assert [step.status for step in result.steps] == ["COMPLETED", "COMPLETED", "FAILED"]
    assert "'x'" in (result.steps[-1].error or "")
    assert bounds(guest, "orders", "at")["min"] == "2026-01-01T23:30:00.000000Z"
    assert [(str(row.day), row.hour) for row in guest.read("days").collect()] == [("2026-01-01", 23)]
    assert notebook.conf.getAll == before


def test_settings_of_the_ledger_itself_count_for_its_loads(sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,at\n1,2026-01-01 23:30:00\n", encoding="utf-8")
    in_berlin = SparkSettings(conf={"spark.sql.session.timeZone": "Europe/Berlin"})
    with lakeledger.open(replace(sqlite_lake.settings, spark=in_berlin), spark=spark) as berlin:
        berlin.run_modules(documents.parse(DOCUMENT, "shop.yml"), tmp_path)
        assert bounds(berlin, "orders", "at")["min"] == "2026-01-01T22:30:00.000000Z"


def text(name: str, content: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).write_text(content, encoding="utf-8")

    return make


def parquet_file(column: str, value: Any, type_: pa.DataType | None = None, **options: Any) -> Callable[[Path], None]:
    return lambda folder: parquet.write_table(pa.table({column: pa.array([value], type_)}), folder / "a.parquet", **options)


def one_of_two_corrupt(folder: Path) -> None:
    parquet_file("id", 1)(folder)
    (folder / "b.parquet").write_bytes(b"PAR1 no longer what it was")


def module_of(source: dict[str, Any]) -> documents.Document:
    return documents.parse(json.dumps({"modules": [{"module_name": "m", "sources": [source]}]}), "m.yml")


def load_of(path: str, table: str, schema: str | None) -> documents.Document:
    config = {"path": path, "format": path.rpartition(".")[2]} | ({"schema": schema} if schema else {})
    return module_of({"source_id": table, "source_type": "files", "source_config": config, "target_config": {"table": table}})


LONG_AGO = datetime(1500, 1, 1, tzinfo=UTC)
FILES = [
    ("spark.sql.files.ignoreCorruptFiles", "true", "id bigint", one_of_two_corrupt),
    ("spark.sql.legacy.timeParserPolicy", "LEGACY", "id int, day date", text("a.csv", "id,day\n1,2026-02-30\n")),
    ("spark.sql.legacy.json.allowEmptyString.enabled", "true", "id int", text("a.json", '{"id": ""}\n')),
    ("spark.sql.columnNameOfCorruptRecord", "raw", "id int, raw string", text("a.json", '{"id": 1, "raw": "x"}\n')),
    ("spark.sql.timestampType", "TIMESTAMP_NTZ", None, text("a.csv", "at\n2026-01-01 10:00:00\n")),
    ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY", "day date", parquet_file("day", date(1500, 1, 1))),
    ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY", None, parquet_file("at", LONG_AGO, use_deprecated_int96_timestamps=True)),
    ("spark.sql.parquet.inferTimestampNTZ.enabled", "false", None, parquet_file("at", datetime(2026, 1, 1))),  # noqa: DTZ001 - has no zone
    ("spark.sql.parquet.binaryAsString", "true", None, parquet_file("raw", b"x")),
    ("spark.sql.parquet.enableVectorizedReader", "false", "amount string", parquet_file("amount", Decimal("1.25"), pa.decimal128(10, 2))),
]


@pytest.mark.parametrize(("setting", "value", "schema", "make"), FILES, ids=[setting for setting, *_ in FILES])
def test_no_setting_of_the_session_skips_a_file_or_changes_what_it_holds(
    sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path, setting: str, value: str, schema: str | None, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    other = spark.newSession()
    other.conf.set(setting, value)
    before = other.conf.getAll
    (suffix,) = {path.suffix for path in tmp_path.glob("[ab].*")}

    def loaded(ledger: Ledger, table: str) -> Any:
        (result,) = ledger.run_modules(load_of(f"*{suffix}", table, schema), tmp_path)
        if result.failed:
            return "FAILED"
        return sqlite_lake.tables.view(table).schema, rows(sqlite_lake.read(table).selectExpr("cast(struct(*) as string)"))

    with lakeledger.open(sqlite_lake.settings, spark=other) as theirs:
        assert loaded(theirs, "theirs") == loaded(sqlite_lake, "ours")
    assert other.conf.getAll == before


MEANINGS = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.chunkBase64String.enabled": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.function.concatBinaryAsString": "true",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
QUERY = r"""
modules:
  - module_name: m
    sources:
      - source_id: s
        source_type: sql
        transformation_config:
          sql_task:
            sql_query: >-
              select "a" as word, base64(cast(repeat('x', 99) as binary)) as coded, cast(1 as decimal(38, 18)) / 3 as third,
              concat(X'61') as raw, to_json(named_struct('a', null, 'b', 1)) as json, cast(named_struct('a', 1) as string) as record,
              timestamp'2026-01-01' as at, array_insert(array('a', 'b'), -1, 'c') as list, '\t' as tab, count(*) as n
              from values (1), (2) as t(id) group by 1
        target_config: {table: NAME}
"""


def test_a_query_means_the_same_on_every_session(sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    other = spark.newSession()
    for name, value in MEANINGS.items():
        other.conf.set(name, value)
    with lakeledger.open(sqlite_lake.settings, spark=other) as theirs:
        for ledger, table in ((theirs, "theirs"), (sqlite_lake, "ours")):
            (result,) = ledger.run_modules(documents.parse(QUERY.replace("NAME", table), "m.yml"), tmp_path)
            assert result.error is None
    assert sqlite_lake.tables.view("theirs").schema == sqlite_lake.tables.view("ours").schema
    assert rows(sqlite_lake.read("theirs")) == rows(sqlite_lake.read("ours"))


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_a_lost_or_corrupt_file_of_a_table_is_never_skipped(sqlite_lake: Ledger, spark: SparkSession, format_: str) -> None:
    careless = spark.newSession()
    careless.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    careless.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    with lakeledger.open(sqlite_lake.settings, spark=careless) as ledger:
        for number in (1, 2):
            ledger.append(careless.sql(f"select {number} as id"), "t", format=format_)
        read = ledger.read("t")
        lost = location(ledger, "t") / ledger.tables.files("t")[0].file_path
        content = lost.read_bytes()
        lost.write_bytes(content[: len(content) // 2])
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            read.collect()
        lost.unlink()
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            read.collect()
        with pytest.raises(Failed, match="t has lost a file of version 2"):
            ledger.read("t")


def test_a_frame_is_still_read_as_its_own_session_says(sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    text("a.csv", "day\n2026-02-30\n")(tmp_path)
    lenient = spark.newSession()
    lenient.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    lenient.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")  # so that the write is made from a session beside it
    with lakeledger.open(sqlite_lake.settings, spark=lenient) as ledger:
        ledger.append(lenient.read.csv(str(tmp_path / "a.csv"), header=True, schema="day date"), "t")
        assert bounds(ledger, "t", "day")["min"] == "2026-03-02"


def test_what_the_ledgers_settings_name_counts_even_where_loads_have_a_default(
    sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path
) -> None:
    text("a.csv", "day\n2026-02-30\n")(tmp_path)
    lenient = SparkSettings(conf={"spark.sql.legacy.timeParserPolicy": "LEGACY"})
    with lakeledger.open(replace(sqlite_lake.settings, spark=lenient), spark=spark) as ledger:
        ledger.run_modules(load_of("*.csv", "t", "day date"), tmp_path)
        assert bounds(ledger, "t", "day")["min"] == "2026-03-02"


@pytest.mark.parametrize(("settings", "status"), [({}, "COMPLETED"), (NOTEBOOK, "FAILED")], ids=["settings of loads", "others"])
def test_a_sql_task_sees_temporary_views_only_of_a_session_with_the_settings_of_loads(
    sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path, settings: dict[str, str], status: str
) -> None:
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    session.sql("select 'x' as word").createOrReplaceTempView("words")
    task = {"sql_task": {"sql_query": "select word from words"}}
    source = {"source_id": "s", "source_type": "sql", "transformation_config": task, "target_config": {"table": "t"}}
    with lakeledger.open(sqlite_lake.settings, spark=session) as ledger:
        (result,) = ledger.run_modules(module_of(source), tmp_path)
    assert result.steps[0].status == status
