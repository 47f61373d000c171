"""A small pipeline on Spark Connect, as a process of its own: `python connect.py FOLDER`. What it saw is printed as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

import lakeledger
from lakeledger import LakeledgerError, Ledger, Settings, SparkSettings
from lakeledger.cli import program
from lakeledger.control import documents
from lakeledger.pipelines.session import is_remote
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = "hunter2hunter2"
DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "*.csv", schema: "id int, day string, price double"}
        target_config: {table: orders, partition_by: [day]}
      - source_id: totals
        source_type: sql
        execution_order: 2
        transformation_config:
          sql_task: {sql_query: "select day, sum(price) as total from orders where id > :after group by day", parameters: {after: 0}}
        target_config: {table: totals, format: jsonl}
      - source_id: broken
        source_type: files
        execution_order: 3
        source_config: {path: "broken/*.csv", schema: "id int"}
        target_config: {table: broken}
"""
TIMES = """\
modules:
  - module_name: times
    sources:
      - source_id: times
        source_type: files
        source_config: {path: "times/*.csv", schema: "at timestamp, day date"}
        target_config: {table: loaded_times}
"""


def rows(collected: Iterable[Any]) -> list[list[Any]]:
    return sorted([list(row) for row in collected], key=repr)


def in_another_zone(ledger: Ledger, spark: SparkSession) -> dict[str, Any]:
    """A partition overwritten from a session with other settings, as it was before the user changed them and afterwards."""
    query = "select 1 as id, timestamp'2026-01-01 10:00:00Z' as at"
    ledger.append(spark.sql(query), "times", partition_by=["at"])
    other = spark.cloneSession()  # type: ignore[attr-defined]  # only Connect can
    for name, value in {"spark.sql.session.timeZone": "Europe/Berlin", "spark.sql.parquet.outputTimestampType": "INT96"}.items():
        other.conf.set(name, value)
    before = other.conf.getAll
    ledger.overwrite(other.sql(query), "times", by_partition=True)
    (file,) = ledger.tables.files("times")
    seen = {"bounds": file.column_bounds["at"], "unchanged": other.conf.getAll == before}
    other.client.close()  # one that is left open at the end of Python is waited for
    return seen


def on_a_changed_session(ledger: Ledger, spark: SparkSession, folder: Path) -> dict[str, Any]:
    """A declared load, while the session that the ledger has reads dates leniently and takes TIMESTAMP for another type."""
    settings = {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.legacy.timeParserPolicy": "LEGACY"}
    changed = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    (folder / "times").mkdir()
    (folder / "times/1.csv").write_text("at,day\n2026-01-01 10:00:00,2026-01-01\n", encoding="utf-8")
    ledger.run_modules(documents.parse(TIMES, "times.yml"), folder)
    (folder / "times/2.csv").write_text("at,day\n2026-01-01 10:00:00,2026-02-30\n", encoding="utf-8")
    (wrong,) = ledger.run_modules(documents.parse(TIMES, "times.yml"), folder)
    seen = {
        "types": [field["type"] for field in ledger.tables.view("loaded_times").schema["fields"]],
        "wrong day": wrong.steps[0].status,
        "unchanged": {name: spark.conf.get(name) for name in settings} == settings,
    }
    for name, value in changed.items():
        spark.conf.set(name, value)
    return seen


def diagnosed(folder: Path) -> str:
    """What the doctor says of the session that runs, when it was reached by a URL with credentials."""
    credentials = {"LAKELEDGER_SPARK": f"sc://spark.example:15002/;token={SECRET};x-api-key={SECRET};x-own={SECRET};user_id=ann"}
    shown = CliRunner().invoke(program, ["doctor", "--spark", "--json", "--url", f"sqlite:///{folder}/ledger.db"], env=credentials)
    return shown.output


def main(folder: Path) -> dict[str, Any]:
    (folder / "1.csv").write_text("id,day,price\n1,mon,1.5\n2,tue,2.5\n", encoding="utf-8")
    (folder / "broken").mkdir()
    (folder / "broken/1.csv").write_text("id\nx\n", encoding="utf-8")
    settings = Settings(f"sqlite:///{folder}/ledger.db", str(folder / "w"), spark=SparkSettings(remote="local[2]", conf=SPARK_CONF))
    with lakeledger.open(settings) as ledger:
        spark = ledger.spark
        seen: dict[str, Any] = {"remote": is_remote(spark)}
        appended = ledger.append(spark.sql("select * from values (1, 'a'), (2, 'b'), (3, null) as t(id, part)"), "t", partition_by=["part"])
        seen["appended"] = appended.snapshot.summary["added_rows"]
        ledger.overwrite(spark.sql("select 20 as id, 'b' as part"), "t", by_partition=True)
        seen["now"], seen["then"] = rows(ledger.read("t").collect()), rows(ledger.read("t", version=1).collect())
        ledger.append(spark.sql("select timestamp'2026-01-01 00:00:00.000001' as at, 1.10bd as amount"), "lines", format="jsonl")
        seen["lines"] = [[str(value) for value in row] for row in ledger.read("lines").collect()]
        seen["bounds"] = ledger.tables.files("lines")[0].column_bounds
        (result,) = ledger.run_modules(documents.parse(DOCUMENT, "shop.yml"), folder)
        seen["steps"] = [[step.source_id, step.status, step.loaded.rows if step.loaded else 0] for step in result.steps]
        seen["error"] = result.steps[-1].error
        seen["orders"], seen["totals"] = rows(ledger.read("orders").collect()), rows(ledger.read("totals").collect())
        seen["run"] = ledger.runs.get(result.run_id).records_processed
        (again,) = ledger.run_modules(documents.parse(DOCUMENT, "shop.yml"), folder)
        seen["again"] = again.rows
        try:
            ledger.append(spark.sql("select 'x' as id, 'a' as part"), "t")
        except LakeledgerError as error:
            seen["refused"] = str(error)
        try:
            ledger.append(spark.sql("select raise_error('boom') as id, 'a' as part").selectExpr("int(id) as id", "part"), "t")
        except Exception as error:  # noqa: BLE001 - whatever Spark Connect raises
            seen["raised"] = str(error)
        seen["other zone"] = in_another_zone(ledger, spark)
        seen["changed session"] = on_a_changed_session(ledger, spark, folder)
        seen["doctor"] = diagnosed(folder)
        seen["verified"] = [ledger.tables.verify(name).ok for name in ("t", "lines", "orders", "totals")]
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
