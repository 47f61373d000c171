"""The same calls wherever Spark runs: `python elsewhere.py SETTINGS` opens ledgers on that Spark and does what it is told.

It is told one JSON object per line, and answers in one.
A process of its own, because the tests' session may be running in theirs.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import lakeledger
from integration.frames import bounds, rows
from integration.judging import NAMES, SCHEMA, Row, is_unexpected
from integration.waiting import until
from lakeledger import Conflict, Failed, Fenced, Invalid, LakeledgerError, Ledger, Settings, SparkSettings
from lakeledger.cli import program
from lakeledger.config import MirrorSettings
from lakeledger.control import documents
from lakeledger.pipelines.remote import is_remote
from lakeledger.quality import Suite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Each row takes a moment, and no CPU.
SLOW = "select id, java_method('java.lang.Thread', 'sleep', 200L) as slept from range(0, 2000, 1, 2)"
FILES = """\
modules:
  - module_name: shop
    sources:
      - {source_id: csv, source_type: files, source_config: {path: "*.csv", schema: "id int, day date"}, target_config: {table: csv}}
      - source_id: lines
        source_type: files
        source_config: {path: "*.jsonl", format: json, schema: "id int, at timestamp"}
        target_config: {table: lines, format: jsonl}
      - source_id: parquet
        source_type: files
        source_config: {path: "*.parquet", format: parquet}
        target_config: {table: parquet, partition_by: [part]}
"""
TASKS = """\
modules:
  - module_name: report
    sources:
      - source_id: totals
        source_type: sql
        transformation_config:
          sql_task: {sql_query: "select part, count(*) as n from main.orders where id > :after group by part", parameters: {after: 1}}
        target_config: {table: totals}
      - source_id: python
        source_type: task
        depends_on: [totals]
        transformation_config: {task_type: python, python_task: {function: "steps:double"}}
"""
ZONED = """\
modules:
  - module_name: zoned
    sources:
      - source_id: zoned
        source_type: sql
        transformation_config: {sql_task: {sql_query: "select cast(at as string) as text from main.times"}}
        target_config: {table: zoned}
"""
STEPS = """\
def double(context):
    read = context.ledger.read("totals")
    context.ledger.append(read.selectExpr("part", "n * 2 as n"), "doubled")
"""
SLOW_TASK = f"""\
modules:
  - module_name: slow
    sources:
      - source_id: slow
        source_type: sql
        transformation_config: {{sql_task: {{sql_query: "{SLOW}"}}}}
        target_config: {{table: slow}}
"""


def put_orders(ledger: Ledger) -> None:
    ledger.append(orders(ledger.spark), "orders", partition_by=["part"])


def orders(spark: SparkSession) -> DataFrame:
    return spark.sql("select * from values (1, 'a'), (2, 'b'), (3, null) as t(id, part)")


def rows_are_appended_and_read_at_every_version(ledger: Ledger, folder: Path) -> None:
    put_orders(ledger)
    ledger.append(ledger.spark.sql("select 4 as id, 'a' as part"), "orders")
    ledger.append(ledger.spark.sql("select timestamp'2026-01-01 00:00:00.000001' as at, 1.10bd as amount"), "lines", format="jsonl")
    assert rows(ledger.read("orders")) == [(1, "a"), (2, "b"), (3, None), (4, "a")]
    assert rows(ledger.read("orders", version=1)) == [(1, "a"), (2, "b"), (3, None)]
    assert [str(value) for value in rows(ledger.read("lines"))[0]] == ["2026-01-01 00:00:00.000001", "1.10"]
    assert bounds(ledger, "lines", "at")["min"] == "2026-01-01T00:00:00.000001Z"
    assert all(ledger.tables.verify(name).ok for name in ("orders", "lines"))


def an_overwrite_replaces_the_partitions_that_it_has(ledger: Ledger, folder: Path) -> None:
    put_orders(ledger)
    ledger.overwrite(ledger.spark.sql("select 20 as id, 'b' as part"), "orders", by_partition=True, base_version=1)
    assert rows(ledger.read("orders")) == [(1, "a"), (20, "b"), (3, None)]
    assert rows(ledger.read("orders", version=1)) == [(1, "a"), (2, "b"), (3, None)]


def files_are_loaded_once(ledger: Ledger, folder: Path) -> None:
    (folder / "1.csv").write_text("id,day\n1,2026-01-01\n2,2026-01-02\n", encoding="utf-8")
    (folder / "1.jsonl").write_text('{"id": 1, "at": "2026-01-01T10:00:00Z"}\n', encoding="utf-8")
    parquet.write_table(pa.table({"id": [1, 2, 3], "part": ["a", "b", "b"]}), folder / "1.parquet")
    document = documents.parse(FILES, "shop.yml")
    (first,) = ledger.run_modules(document, folder)
    assert first.error is None, first.error
    assert [step.loaded.rows for step in first.steps if step.loaded] == [2, 1, 3]
    (again,) = ledger.run_modules(document, folder)
    assert again.rows == 0
    assert rows(ledger.read("parquet")) == [(1, "a"), (2, "b"), (3, "b")]
    assert bounds(ledger, "lines", "at")["max"] == "2026-01-01T10:00:00.000000Z"
    (folder / "2.csv").write_text("id,day\nx,2026-01-01\n", encoding="utf-8")
    (broken,) = ledger.run_modules(document, folder)
    assert f"cannot read {folder}/2.csv" in str(broken.steps[0].error)
    assert "\n" not in str(broken.steps[0].error)
    assert ledger.tables.get("csv").current_version == 1


def tasks_read_tables_and_write_them(ledger: Ledger, folder: Path) -> None:
    put_orders(ledger)
    (folder / "steps.py").write_text(STEPS, encoding="utf-8")
    (result,) = ledger.run_modules(documents.parse(TASKS, "report.yml"), folder)
    assert result.error is None, result.error
    assert rows(ledger.read("totals")) == [("b", 1), (None, 1)]
    assert rows(ledger.read("doubled")) == [("b", 2), (None, 2)]
    assert ledger.runs.get(result.run_id).records_processed == 4


def what_was_computed_from_an_older_version_conflicts(ledger: Ledger, folder: Path) -> None:
    put_orders(ledger)
    ledger.overwrite(ledger.spark.sql("select 10 as id, 'a' as part"), "orders", by_partition=True, base_version=1)
    ledger.overwrite(ledger.spark.sql("select 20 as id, 'b' as part"), "orders", by_partition=True, base_version=1)
    with pytest.raises(Conflict) as caught:
        ledger.overwrite(ledger.spark.sql("select 11 as id, 'a' as part"), "orders", by_partition=True, base_version=1)
    assert caught.value.retryable
    assert rows(ledger.read("orders")) == [(10, "a"), (20, "b"), (3, None)]


def a_session_of_others_is_used_and_left_as_it_was(ledger: Ledger, folder: Path) -> None:
    query = "select 1 as id, timestamp'2026-01-01 10:00:00Z' as at"
    ledger.append(ledger.spark.sql(query), "times", partition_by=["at"])
    home: Any = ledger.spark
    other: Any = home.cloneSession() if is_remote(home) else home.newSession()
    for name, value in {"spark.sql.session.timeZone": "Europe/Berlin", "spark.sql.parquet.outputTimestampType": "INT96"}.items():
        other.conf.set(name, value)
    before = other.conf.getAll
    with lakeledger.open(ledger.settings, spark=other) as guest:
        guest.overwrite(other.sql(query), "times", by_partition=True)
        assert bounds(guest, "times", "at")["min"] == "2026-01-01T10:00:00.000000Z"
        (result,) = guest.run_modules(documents.parse(ZONED, "zoned.yml"), folder)
        assert result.error is None, result.error
        assert rows(guest.read("zoned")) == [("2026-01-01 10:00:00",)]
    assert len(ledger.tables.files("times")) == 1
    assert other.conf.getAll == before
    if is_remote(other):
        other.client.close()  # one that is left open at the end of Python is waited for


def what_fails_is_told_in_one_line_and_leaves_nothing(ledger: Ledger, folder: Path) -> None:
    put_orders(ledger)
    with pytest.raises(Invalid) as wrong:
        ledger.append(ledger.spark.sql("select 'x' as id, 'a' as part"), "orders")
    assert "id is integer, not string" in str(wrong.value)
    with pytest.raises(Failed) as failed:
        ledger.append(ledger.spark.sql("select int(raise_error('boom')) as id, 'a' as part"), "orders")
    assert "boom" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert ledger.tables.get("orders").current_version == 1
    assert ledger.tables.verify("orders").ok


def a_run_that_is_cancelled_stops_at_once(ledger: Ledger, folder: Path) -> None:
    cancel_in_the_middle(ledger, folder)
    if is_remote(ledger.spark):
        # Also where the work is done on a session beside the user's.
        other: Any = ledger.spark.cloneSession()  # type: ignore[attr-defined]  # only Connect can
        other.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        with lakeledger.open(ledger.settings, spark=other) as guest:
            cancel_in_the_middle(guest, folder)
        other.client.close()


def cancel_in_the_middle(ledger: Ledger, folder: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ledger.run_modules, documents.parse(SLOW_TASK, "slow.yml"), folder)
        until(lambda: list(Path(ledger.warehouse).rglob("part-*")), "a file to be begun")
        began = time.monotonic()
        ledger.runs.cancel(ledger.runs.list()[0].id, "enough")
        assert isinstance(running.exception(60), Fenced)
    assert time.monotonic() - began < 15
    assert ledger.tables.list() == []
    assert rows(ledger.spark.sql("select 1 as id")) == [(1,)]


def expectations_are_checked_and_rules_set_rows_aside(ledger: Ledger, _: Path) -> None:
    nan = float("nan")
    given: list[Row] = [
        (1, 0.5, "a", None, Decimal("0.10")),
        (None, nan, "it's", date(2026, 1, 31), None),
        (-3, -1.5, None, date(2026, 2, 1), Decimal("-1.00")),
        (5, None, "ab", None, Decimal("0.00")),
    ]
    declared: list[dict[str, Any]] = [
        {"not_null": "i"},
        {"between": {"column": "d", "min": 0, "max": 1, "strict_min": False, "strict_max": False}},
        {"in_set": {"column": "s", "values": ["a", "it's"]}, "nulls": "fail"},
        {"matches": {"column": "s", "regex": "^a"}, "where": "i > 0"},
        {"valid": "m <> 0.10"},
        {"compare": {"columns": ["d", "i"], "operator": "<"}},
    ]
    rules: list[dict[str, Any]] = [{**each, "action": "quarantine", "name": f"rule {number}"} for number, each in enumerate(declared)]
    others: list[dict[str, Any]] = [
        {"unique": "s"},
        {"valid": "1 / (i - 1) > 0", "name": "fails"},
        {"valid": "no sql", "name": "unread"},
        {"sum": {"column": "d", "min": 0}},
    ]
    suite = Suite.of("rules", rules + others)
    frame = ledger.spark.createDataFrame([(number, *row) for number, row in enumerate(given)], SCHEMA)
    ledger.append(frame, "checked", quality=suite)
    expected: dict[int, list[str]] = {}
    for number, row in enumerate(given):
        values = dict(zip(NAMES, (number, *row), strict=True))
        if broken := [rule.reason for rule in suite.rules if is_unexpected(rule, values)]:
            expected[number] = broken
    aside = {json.loads(row["row"])["n"]: list(row["reasons"]) for row in ledger.read("checked__quarantine").collect()}
    assert aside == expected, (aside, expected)
    assert [row["n"] for row in ledger.read("checked").collect()] == [n for n in range(4) if n not in expected]
    checks = ledger.quality.checks(ledger.quality.history("checked")[0].id)
    counts = [sum(rule.reason in each for each in expected.values()) for rule in suite.rules]
    assert [check.unexpected_count for check in checks] == [*counts, 0, None, None, None], checks
    assert "DIVIDE_BY_ZERO" in str(checks[7].error_message)
    assert "PARSE_SYNTAX_ERROR" in str(checks[8].error_message)
    again = ledger.check("checked", Suite.of("again", [{"row_count": 4 - len(expected)}, {"unique": "n"}]))
    assert again.success, again.message


SCENARIOS: dict[str, Callable[[Ledger, Path], None]] = {
    scenario.__name__: scenario
    for scenario in (
        rows_are_appended_and_read_at_every_version,
        an_overwrite_replaces_the_partitions_that_it_has,
        files_are_loaded_once,
        tasks_read_tables_and_write_them,
        what_was_computed_from_an_older_version_conflicts,
        a_session_of_others_is_used_and_left_as_it_was,
        what_fails_is_told_in_one_line_and_leaves_nothing,
        a_run_that_is_cancelled_stops_at_once,
        expectations_are_checked_and_rules_set_rows_aside,
    )
}


class Elsewhere:
    """What a process holds that is told what to do."""

    def __init__(self, spark: SparkSettings) -> None:
        self._spark = spark
        self._ledgers: dict[str, Ledger] = {}
        self._frames: dict[str, DataFrame] = {}

    def settings(self, folder: str, warehouse: str | None = None, **spark: Any) -> Settings:
        conf = {**self._spark.conf, **spark.pop("conf", {})}
        own = replace(self._spark, conf=conf, **spark)
        return Settings(
            f"sqlite:///{folder}/ledger.db", warehouse or f"{folder}/warehouse", spark=own, mirror=MirrorSettings(enabled=False)
        )

    def scenario(self, name: str, folder: str) -> None:
        with lakeledger.open(self.settings(folder)) as ledger:
            SCENARIOS[name](ledger, Path(folder))

    def open(self, folder: str, warehouse: str | None = None, name: str = "mine", given: bool = False, **spark: Any) -> None:
        """Keep a ledger for what comes next: on a session of its own, which may be set otherwise, or on one that it is given."""
        session: Any = None
        if given:
            with lakeledger.open(self.settings(folder)) as ledger:
                session = ledger.spark.cloneSession()  # type: ignore[attr-defined]  # only Connect can
        if name in self._ledgers:
            self._ledgers[name].close()
        self._ledgers[name] = lakeledger.open(self.settings(folder, warehouse, **spark), spark=session)
        self._frames[name] = self._ledgers[name].spark.sql("select 0 as id, 'w' as slept")

    def append(self, name: str = "mine", query: str | None = None) -> int:
        """Append what the query gives on the ledger's session, or else the frame that was made when it was opened."""
        ledger = self._ledgers[name]
        return ledger.append(ledger.spark.sql(query) if query else self._frames[name], "t").version

    def stop(self) -> None:
        """Stop Spark, so that the next session can be set otherwise."""
        self._ledgers["mine"].spark.stop()

    def count(self) -> int:
        return self._ledgers["mine"].read("t").count()

    def run(self, document: str, folder: str) -> list[str | None]:
        (result,) = self._ledgers["mine"].run_modules(documents.parse(document, "m.yml"), Path(folder))
        return [step.error for step in result.steps]

    def doctor(self, folder: str, spark: str) -> str:
        words = ["doctor", "--spark", "--json", "--url", f"sqlite:///{folder}/ledger.db"]
        return CliRunner().invoke(program, words, env={"LAKELEDGER_SPARK": spark}).output


def serve(here: Elsewhere) -> None:
    for line in sys.stdin:
        command = json.loads(line)
        began = time.monotonic()
        try:
            answer = {"value": getattr(here, command.pop("do"))(**command)}
        except LakeledgerError as error:
            answer = {"error": type(error).__name__, "message": str(error), "retryable": error.retryable}
        except Exception:  # noqa: BLE001 - shown by the test that asked
            answer = {"traceback": traceback.format_exc()}
        sys.stdout.write(json.dumps({**answer, "seconds": time.monotonic() - began}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        serve(Elsewhere(SparkSettings(**json.loads(sys.argv[1]))))
