"""A warehouse on S3, in a process of its own: its session has S3A, which that of the other tests has not. Run by test_s3.py."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from iceberg_readers import READERS
from lakeledger import Failed, Ledger, Settings, SparkSettings, Unavailable, demo
from lakeledger.config import MirrorSettings, S3Settings
from lakeledger.control import documents
from lakeledger.lake import Storage
from lakeledger.lake.iceberg.read_with import S3A_FILE_SYSTEM
from lakeledger.maintenance import published
from s3_server import S3Server
from spark_conf import SPARK_CONF

BUCKET = "lake"
# Seconds, and some more on a busy machine.
AWAY_SECONDS = 30
ROWS = "select * from values (1, 'a/b 100%'), (2, 'ü?'), (3, null) as t(id, part)"
DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "PATH/in/*.csv", schema: "id int, price double"}
        target_config: {table: orders}
      - source_id: events
        source_type: files
        source_config: {path: "PATH/in/*.json", format: json, schema: "id int, kind string"}
        target_config: {table: events}
      - source_id: totals
        source_type: sql
        execution_order: 2
        transformation_config: {sql_task: {sql_query: "select count(*) as orders, sum(price) as total from orders"}}
        target_config: {table: totals, format: jsonl}
"""

Open = Callable[..., Ledger]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server of this process."""
    made = S3Server(tmp_path_factory.mktemp("s3") / "requests.log")
    made.start(BUCKET)
    yield made
    made.stop()


@pytest.fixture
def open_ledger(server: S3Server, tmp_path: Path) -> Iterator[Open]:
    """Opens the ledger of a tenant in a warehouse of this test's own; Spark is started by the first that needs it."""
    opened: list[Ledger] = []
    place = f"s3://{BUCKET}/{uuid.uuid4().hex[:8]}"

    def make(tenant: str = "default", warehouse: str = place, metadata: str = "async") -> Ledger:
        settings = Settings(
            url=f"sqlite:///{tmp_path}/ledger.db",
            warehouse=warehouse,
            tenant=tenant,
            metadata=metadata,
            s3=S3Settings(server.endpoint),
            mirror=MirrorSettings(enabled=False),
            spark=SparkSettings(
                master="local[2]", conf={**SPARK_CONF, "spark.hadoop.fs.s3.impl": S3A_FILE_SYSTEM}, jars=("iceberg", "sqlite")
            ),
        )
        opened.append(lakeledger.open(settings))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def ledger(open_ledger: Open) -> Ledger:
    return open_ledger()


def storage(ledger: Ledger, folder: str = "") -> Storage:
    return Storage(f"{ledger.warehouse}/{folder}".rstrip("/"), ledger.settings.s3)


def objects(ledger: Ledger) -> list[str]:
    return [file.path for file in storage(ledger).files()]


def put(ledger: Ledger, path: str, content: bytes) -> None:
    place = storage(ledger)
    with place.filesystem.open_output_stream(place.inner(path)) as stream:
        stream.write(content)


def read(ledger: Ledger, table: str, **at: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in ledger.read(table, **at).collect()), key=repr)


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_every_version_reads_as_it_was_and_every_file_has_its_checksum(ledger: Ledger, format: str) -> None:
    ledger.append(ledger.spark.sql(ROWS), "shop.t", partition_by=["part"], format=format)
    ledger.overwrite(ledger.spark.sql("select 20 as id, 'ü?' as part"), "shop.t", by_partition=True)
    ledger.append(ledger.spark.sql("select 4 as id, 'a/b 100%' as part"), "shop.t")
    assert read(ledger, "shop.t", version=1) == [(1, "a/b 100%"), (2, "ü?"), (3, None)]
    assert read(ledger, "shop.t", version=2) == [(1, "a/b 100%"), (20, "ü?"), (3, None)]
    assert read(ledger, "shop.t") == [(1, "a/b 100%"), (20, "ü?"), (3, None), (4, "a/b 100%")]
    ledger.settle()
    assert all(file.checksum for file in ledger.tables.files("shop.t"))
    verified = ledger.tables.verify("shop.t")
    assert (verified.checked, verified.findings) == (5, [])
    assert ledger.tables.sweep(timedelta(0)).leftovers == []


def test_files_are_uploaded_in_place_and_never_renamed(ledger: Ledger, server: S3Server) -> None:
    before = len(server.requests())
    ledger.append(ledger.spark.range(10), "numbers")
    seen = server.requests()[before:]
    assert any("uploadId" in request for request in seen if request.startswith("POST")), seen
    assert [request for request in seen if request.startswith("PUT") and "_temporary" in request] == []
    assert all(path.endswith(".parquet") for path in objects(ledger)), objects(ledger)


def test_tenants_share_a_bucket_however_it_is_spelled_and_nothing_else(open_ledger: Open) -> None:
    ann, bob = open_ledger("ann"), open_ledger("bob")
    ann.append(ann.spark.range(3), "t")
    bob.append(bob.spark.range(5), "t")
    assert (ann.read("t").count(), bob.read("t").count()) == (3, 5)
    assert bob.tables.sweep(timedelta(0), delete=True).leftovers == []
    assert (len(objects(ann)) > 0, ann.tables.verify("t").ok) == (True, True)
    again = open_ledger("ann", ann.settings.warehouse_uri.replace("s3://", "s3a://") + "/")
    assert (again.read("t").count(), again.warehouse) == (3, ann.warehouse)


def test_what_a_failed_run_left_is_swept_and_nothing_else(ledger: Ledger) -> None:
    ledger.append(ledger.spark.range(3), "t")
    kept = objects(ledger)
    with pytest.raises(RuntimeError, match="boom"), ledger.run("t") as run:  # noqa: PT012 - what raises is the block of a run
        put(ledger, f"main/t/data/{run.id}/abc/part-0.parquet", b"rows")
        raise RuntimeError("boom")
    assert ledger.tables.sweep().leftovers == []  # too young
    assert [each.path for each in ledger.tables.sweep(timedelta(0)).leftovers] == [f"data/{run.id}/abc/part-0.parquet"]
    ledger.tables.sweep(timedelta(0), delete=True)
    assert objects(ledger) == kept
    assert run.id not in storage(ledger, "main/t").folders("data")
    assert ledger.read("t").count() == 3


def test_verify_names_what_is_missing_changed_and_untracked(ledger: Ledger) -> None:
    ledger.append(ledger.spark.range(3), "t")
    ledger.append(ledger.spark.range(3), "t")
    ledger.settle()
    first, second = (f"main/t/{file.file_path}" for file in ledger.tables.files("t"))
    size = next(file.size for file in storage(ledger).files() if file.path == second)
    storage(ledger).remove(first)
    put(ledger, second, b"x" * size)
    put(ledger, "main/t/data/unknown/x.parquet", b"?")
    found = ledger.tables.verify("t").findings
    assert [(item.problem, f"main/t/{item.path}") for item in found] == [
        ("changed", second),
        ("missing", first),
        ("untracked", "main/t/data/unknown/x.parquet"),
    ]
    with pytest.raises(Failed, match=rf"main\.t has lost a file of version 2: .*{first.rpartition('/')[2]}"):
        ledger.read("t").collect()


def test_a_load_reads_each_file_of_s3_once_and_tells_what_is_wrong_with_it(ledger: Ledger) -> None:
    put(ledger, "in/1.csv", b"id,price\n1,1.5\n2,2.5\n")
    put(ledger, "in/1.json", b'{"id": 1, "kind": "new"}\n')
    document = documents.parse(DOCUMENT.replace("PATH", ledger.warehouse.replace("s3://", "s3a://")), "shop.yml")
    (first,) = ledger.run_modules(document, Path())
    assert [(step.source_id, step.status, step.error) for step in first.steps] == [
        ("orders", "COMPLETED", None),
        ("events", "COMPLETED", None),
        ("totals", "COMPLETED", None),
    ]
    assert read(ledger, "totals") == [(2, 4.0)]
    put(ledger, "in/2.csv", b"id,price\n3,3.5\n")
    put(ledger, "in/2.json", b'{"id": 2}\n')
    (second,) = ledger.run_modules(document, Path())
    assert read(ledger, "orders") == [(1, 1.5), (2, 2.5), (3, 3.5)]
    wrong = next(step for step in second.failed if step.source_id == "events")
    assert f"{ledger.warehouse}/in/2.json lacks the column kind" in str(wrong.error)


def test_a_write_that_fails_leaves_nothing(ledger: Ledger) -> None:
    broken = ledger.spark.sql("select id, raise_error('boom') as x from range(10)").selectExpr("id", "string(x) as x")
    with pytest.raises(Failed, match="boom"):
        ledger.append(broken, "t")
    assert objects(ledger) == []
    assert ledger.tables.find("t") is None


@pytest.mark.parametrize("metadata", ["sync", "async"])
def test_other_engines_read_every_version_from_s3(open_ledger: Open, metadata: str) -> None:
    ledger = open_ledger(metadata=metadata)
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(0), grace=timedelta(0))
    for number in range(4):
        frame = ledger.spark.sql(f"select {number} as id, 'a/b 100%' as part")
        _ = ledger.overwrite(frame, "shop.t") if number == 2 else ledger.append(frame, "shop.t")
        ledger.snapshots.fresh("shop.t")
    ledger.snapshots.tag("shop.t", "june", 2)
    assert seen(ledger, "shop.t") == {name: {1: [0], 2: [0, 1], 3: [2], 4: [2, 3]} for name in READERS}
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert (care.problems, care.expired) == ([], [1, 3])
    assert seen(ledger, "shop.t") == {name: {2: [0, 1], 4: [2, 3]} for name in READERS}
    table, s3 = ledger.tables.get("shop.t"), ledger.settings.s3
    unneeded = published.unneeded(ledger.store, [table], s3, timedelta(0), timedelta(0))
    assert unneeded == []  # What was published before is in the log of what is.
    assert ledger.repair.verify("shop.t").defects == []


def seen(ledger: Ledger, table: str) -> dict[str, dict[int, list[int]]]:
    """By reader and version, the ids that are found."""
    history = ledger.tables.history(table)
    return {
        name: {each.version: sorted(found(ledger, table, each.iceberg_snapshot_id or 0)["id"].to_pylist()) for each in history}
        for name, found in READERS.items()
    }


@pytest.mark.parametrize("engine", ["spark", "pyiceberg", "polars"])
def test_the_code_that_is_pasted_reads_from_s3(open_ledger: Open, engine: str) -> None:
    ledger = open_ledger(f"for_{engine}")
    ledger.append(ledger.spark.range(3), "shop.t", metadata="sync")
    names: dict[str, Any] = {}
    exec(ledger.publisher.read_with(engine, "shop.t"), names)
    frame = names["frame"].toArrow() if engine == "spark" else names["frame"]
    assert sorted(frame["id"].to_list() if engine == "polars" else frame["id"].to_pylist()) == [0, 1, 2]
    if engine != "spark":
        names["catalog"].close()


def test_a_bucket_that_is_not_there_is_named_before_anything_is_written(open_ledger: Open) -> None:
    ledger = open_ledger(warehouse="s3://nowhere/shop")
    with pytest.raises(Unavailable, match=r"there is no bucket 'nowhere' at http://127.0.0.1:\d+: create it") as refused:
        ledger.append(ledger.spark.range(1), "t")
    assert not refused.value.retryable
    assert ledger.runs.list()[0].status == "FAILED"


def test_the_demo_keeps_its_tables_on_s3(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELEDGER_S3_ENDPOINT", server.endpoint)
    with demo.open(tmp_path / "shop", 1, warehouse=f"s3://{BUCKET}/demo") as shop:
        assert [done.run.status for done in shop.load()] == ["COMPLETED", "COMPLETED"]
        shop.check()
        assert shop.ledger.warehouse == f"s3://{BUCKET}/demo/default"
        assert all(shop.ledger.tables.verify(str(table.name)).ok for table in shop.tables())
    assert not (tmp_path / "shop/warehouse").exists()


def test_a_store_that_went_away_is_unavailable_within_seconds_and_comes_back(ledger: Ledger, server: S3Server) -> None:
    ledger.append(ledger.spark.range(3), "t")
    server.stop()
    for attempt in (lambda: ledger.append(ledger.spark.range(1), "t"), lambda: ledger.tables.verify("t"), lambda: ledger.read("t")):
        began = time.monotonic()
        with pytest.raises(Unavailable, match=rf"s3://{BUCKET}.* cannot be reached") as refused:
            attempt()
        assert (refused.value.retryable, time.monotonic() - began < AWAY_SECONDS) == (True, True)
    server.start(BUCKET)
    ledger.append(ledger.spark.range(1), "t")
    assert ledger.tables.get("t").current_version == 2
