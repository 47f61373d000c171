"""Spark with Iceberg's own JAR and the ledger's catalog, in a process of its own. Run by test_iceberg_spark.py."""

from __future__ import annotations

import io
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from contract.mirroring import PARTS
from iceberg_readers import plain
from integration.lake_queries import QUERIES, as_of, days, expected, fill
from integration.lake_queries import plain as lake_rows
from integration.test_publishing import MIXED
from lakeledger import Ledger
from lakeledger.config import Settings, SparkSettings
from lakeledger.pipelines.session import open_session
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A handful of rows: compiling a query takes longer than running it.
CONF = {**SPARK_CONF, "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
ORDERS = "shop.orders"


@pytest.fixture(scope="session")
def iceberg_spark() -> SparkSession:
    """The one session of this process; catalogs are named by whoever reads."""
    return open_session(SparkSettings(master="local[2]", conf=CONF, jars=("iceberg", "postgresql", "sqlite")))


@pytest.fixture
def ledger(url: str, tmp_path: Path, iceberg_spark: SparkSession) -> Iterator[Ledger]:
    """The ledger of a tenant of its own, because Spark keeps a catalog by its name, which is the tenant's."""
    settings = Settings(url, str(tmp_path / "warehouse"), tenant=f"t{uuid.uuid4().hex[:8]}", metadata="sync")
    with lakeledger.open(settings, spark=iceberg_spark) as opened:
        yield opened


def pasted(ledger: Ledger) -> DataFrame:
    """The table by the code that `read-with` prints."""
    names: dict[str, DataFrame] = {}
    exec(ledger.publisher.read_with("spark", ORDERS), names)
    return names["frame"]


def at(ledger: Ledger, version: int | str) -> DataFrame:
    """The table in Spark's Iceberg catalog, by the number of a snapshot or by a tag."""
    return ledger.spark.sql(f"select * from {ledger.settings.tenant}.{ORDERS} version as of {version!r}")


def agree(ledger: Ledger) -> list[int]:
    """The versions that Spark reads from Iceberg and the ledger alike."""
    history = ledger.tables.history(ORDERS)
    for each in history:
        expected = plain(ledger.read(ORDERS, each.version).toArrow())
        assert plain(at(ledger, each.iceberg_snapshot_id or 0).toArrow()) == expected, each.version
    return [each.version for each in history]


def test_every_version_reads_as_in_the_ledger(ledger: Ledger, iceberg_spark: SparkSession) -> None:
    mixed = iceberg_spark.sql(MIXED)
    ledger.append(mixed, ORDERS, partition_by=["day"])
    assert plain(pasted(ledger).toArrow()) == plain(ledger.read(ORDERS).toArrow())
    ledger.append(mixed.where("id > 1"), ORDERS)
    ledger.columns.rename(ORDERS, "name", "title")
    ledger.columns.drop(ORDERS, "price")
    ledger.columns.add(ORDERS, "price", "string")
    renamed = mixed.withColumnRenamed("name", "title").selectExpr("*", "'cheap' as cost").drop("price").withColumnRenamed("cost", "price")
    ledger.overwrite(renamed.where("id = 2"), ORDERS, by_partition=True)
    ledger.overwrite(mixed.selectExpr("cast(id as string) as id", "day"), ORDERS, partition_by=["id"])
    ledger.snapshots.tag(ORDERS, "june-close", 2)
    ledger.snapshots.tag(ORDERS, "july-close")
    iceberg_spark.sql(f"refresh table {ledger.settings.tenant}.{ORDERS}")
    assert agree(ledger) == [7, 6, 5, 4, 3, 2, 1]
    for tag in ("june-close", "july-close"):
        assert plain(at(ledger, tag).toArrow()) == plain(ledger.read(ORDERS, tag).toArrow())
    refs = iceberg_spark.sql(f"select name, type from {ledger.settings.tenant}.{ORDERS}.refs order by name").collect()
    assert [tuple(row) for row in refs] == [("july-close", "TAG"), ("june-close", "TAG"), ("main", "BRANCH")]


def test_compressed_metadata_is_read(ledger: Ledger, iceberg_spark: SparkSession) -> None:
    packed = replace(ledger.settings, metadata_compression="gzip")
    with lakeledger.open(packed, spark=iceberg_spark) as opened:
        opened.append(iceberg_spark.range(3), ORDERS)
        opened.append(iceberg_spark.range(3, 5), ORDERS)
        assert (found := opened.tables.publication(ORDERS)) is not None
        assert str(found.metadata_location).endswith(".gz.metadata.json")
        assert sorted(row.id for row in pasted(opened).collect()) == [0, 1, 2, 3, 4]
        assert agree(opened) == [2, 1]


def test_nobody_but_the_ledger_changes_a_table(ledger: Ledger, iceberg_spark: SparkSession) -> None:
    ledger.append(iceberg_spark.range(3), ORDERS)
    assert sorted(row.id for row in pasted(ledger).collect()) == [0, 1, 2]
    before = ledger.tables.publication(ORDERS)
    for statement in ("insert into {} values (9)", "delete from {} where id = 1", "alter table {} add column note string", "drop table {}"):
        with pytest.raises(Exception, match=r"iceberg\.jdbc\.UncheckedSQLException"):
            iceberg_spark.sql(statement.format(f"{ledger.settings.tenant}.{ORDERS}")).collect()
    assert ledger.tables.publication(ORDERS) == before
    # Spark does not know whether it was refused, so it leaves the files that it wrote: nobody's, and named as such.
    assert {defect.problem for defect in ledger.repair.verify(ORDERS).defects} <= {"untracked"}
    assert sorted(row.id for row in ledger.read(ORDERS).collect()) == [0, 1, 2]


def explained(frame: DataFrame) -> str:
    """The plan of a query."""
    with redirect_stdout(io.StringIO()) as told:
        frame.explain("formatted")
    return told.getvalue()


@contextmanager
def without_other_days(ledger: Ledger, name: str, days: Collection[str]) -> Iterator[None]:
    """Files of other partitions are not there: whoever reads one fails."""
    view = ledger.tables.view(f"{ledger.mirror.dataset}.{name}")
    others = [Path(path) for path in view.paths if not any(f"={day}/" in path for day in days)]
    assert 0 < len(others) < len(view.paths)
    for path in others:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in others:
            path.with_suffix(".away").rename(path)


def test_the_seeds_queries_read_only_the_partitions_that_they_ask_for(ledger: Ledger, iceberg_spark: SparkSession) -> None:
    fill(ledger)
    exec(ledger.publisher.read_with("spark", f"{ledger.mirror.dataset}.pipeline_runs"), {})  # the catalog
    names = {name: f"{ledger.settings.tenant}.{ledger.mirror.dataset}.{name}" for name in PARTS}
    wanted = expected()
    for name, query in QUERIES.items():
        frame = iceberg_spark.sql(as_of("spark", query, **names))
        plan = explained(frame)
        assert ("ingestion_date = " if name == "failed_checks" else "start_time >= ") in plan, plan
        table = {"failed_runs": "pipeline_runs", "slowest_steps": "step_logs", "failed_checks": "dq_results"}[name]
        with without_other_days(ledger, table, days(ledger, name)):
            assert lake_rows(name, frame.collect()) == wanted[name], name
