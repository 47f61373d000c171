"""A warehouse on an S3 server. What needs Spark has a process of its own, because the tests' session in this one has no S3A."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from contract.keeping import ORDERS, overwrite, put, read
from contract.rebuilt import assert_same, load
from delta_readers import with_deltalake
from integration.commands import invoke
from jars import MissingJars, fetch
from lakeledger import Advance, NotInstalled, NumberPosition, Settings, Source, Unavailable, clock, failpoints
from lakeledger.config import S3Settings
from lakeledger.delta_publishing import Foreign
from lakeledger.lake import Storage
from lakeledger.tables import Change, Layout, NewFile, parse_name
from needs import missing
from s3_server import CREDENTIALS, SECRET, MissingServer, S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent.parent
DEADLINE_SECONDS = 550


def test_a_warehouse_on_s3_is_as_good_as_one_on_disk(tmp_path: Path) -> None:
    try:
        fetch("s3", "iceberg", "sqlite")
        S3Server.find()
    except (MissingJars, MissingServer) as error:
        missing(str(error))
    file = str(TESTS / "integration/s3_on_spark.py")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:xdist", f"--basetemp={tmp_path / 'inner'}", "--durations=5", file]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LAKELEDGER_", "AWS_"))}
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**environment, **CREDENTIALS, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    assert SECRET not in done.stdout + done.stderr


def test_a_table_on_s3_is_published_as_delta(bucket: S3Server, tmp_path: Path) -> None:
    settings = Settings(f"sqlite:///{tmp_path}/ledger.db", "s3://lake/shop", publish=("delta",), s3=S3Settings(bucket.endpoint))
    with lakeledger.open(settings) as ledger:
        for number in range(3):
            put(ledger, [number], mode="async")
            ledger.publish(ORDERS)
        overwrite(ledger, [7, 8], mode="async")
        ledger.publish(ORDERS)
        place: dict[str, Any] = {}
        exec(ledger.delta.read_with("deltalake", ORDERS), place)
        assert sorted(place["frame"]["id"].to_pylist()) == read(ledger) == [7, 8]
        options = {"AWS_ENDPOINT_URL": bucket.endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
        old = with_deltalake(ledger.tables.get(ORDERS).location, 2, options)
        assert sorted(old["id"].to_pylist()) == read(ledger, 3)
        storage = Storage(ledger.tables.get(ORDERS).location, settings.s3)
        storage.write("_delta_log/00000000000000000004.json", b'{"commitInfo": {"operation": "WRITE"}}')
        with pytest.raises(Foreign, match="has an entry 4 that the ledger did not write"):
            ledger.publish(ORDERS)
        (defect,) = ledger.repair.verify(ORDERS, apply=True).defects
        assert defect.repaired


def test_a_session_without_the_jars_is_told_how_to_get_them(bucket: S3Server, tmp_path: Path, spark: SparkSession) -> None:
    settings = Settings(url=f"sqlite:///{tmp_path}/ledger.db", warehouse="s3://lake/shop", s3=S3Settings(bucket.endpoint))
    with lakeledger.open(settings, spark=spark) as ledger:
        with pytest.raises(NotInstalled, match="run `lakeledger jars fetch s3` once"):
            ledger.append(spark.range(3), "t")
        assert (ledger.tables.find("t"), ledger.runs.list()[0].status) == (None, "FAILED")


def test_credentials_that_are_refused_are_told_with_the_fix(bucket: S3Server, tmp_path: Path) -> None:
    bucket.refuse_everybody()
    settings = Settings(url=f"sqlite:///{tmp_path}/ledger.db", warehouse="s3://lake/shop", s3=S3Settings(bucket.endpoint))
    with lakeledger.open(settings) as ledger:
        for attempt in (ledger.tables.sweep, lambda: Storage(ledger.warehouse, settings.s3).make("x")):
            with pytest.raises(Unavailable, match=r"s3://lake at http://127.0.0.1:\d+ refuses access .*: set AWS_PROFILE") as refused:
                attempt()
            assert not refused.value.retryable
            assert SECRET not in str(refused.value)


def test_the_command_line_tells_within_seconds_that_a_store_is_away(bucket: S3Server, quiet: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELEDGER_S3_ENDPOINT", bucket.endpoint)
    assert invoke("db", "migrate").exit_code == 0
    words = ["--warehouse", "s3://lake/shop"]
    assert "nothing is left over" in invoke("tables", "sweep", *words).output
    assert "s3://lake/shop can be read" in invoke("doctor", *words).output
    bucket.stop()
    began = time.monotonic()
    told = invoke("tables", "sweep", *words, "--json")
    assert (told.exit_code, '"Unavailable"' in told.stdout, '"retryable": true' in told.stdout) == (1, True, True), told.output
    assert f"s3://lake at {bucket.endpoint} cannot be reached" in invoke("doctor", *words).output
    assert time.monotonic() - began < 20


def test_a_lost_ledger_is_rebuilt_from_s3_and_the_hint_may_fail(bucket: S3Server, tmp_path: Path) -> None:
    settings = Settings(
        url=f"sqlite:///{tmp_path}/lost.db", warehouse="s3://lake/shop", metadata="sync", outage_seconds=0, s3=S3Settings(bucket.endpoint)
    )
    with lakeledger.open(settings) as lost:
        for number in (1, 2):
            file = NewFile(f"data/run/{number}.parquet", 10, number, "", "snappy", {"id": {"min": 1, "max": 2, "nulls": 0}}, clock.now())
            schema = {"fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
            change = Change(parse_name("shop.orders"), "shop/orders", "append", schema, Layout(), [file])
            load(lost, change, moves=[Advance(Source("shop", "orders"), NumberPosition(number))])
        new = replace(settings, url=f"sqlite:///{tmp_path}/new.db")
        lakeledger.rebuild(new, apply=True)
        with lakeledger.open(new) as found:
            assert_same(found, lost)
        failpoints.armed[failpoints.BEFORE_HINT] = lambda _: bucket.stop()
        try:
            load(lost, replace(change, files=[replace(file, path="data/run/3.parquet")], snapshot_id=clock.new_id()))
        finally:
            failpoints.armed.clear()
        assert lost.tables.get("shop.orders").current_version == 3
        with pytest.raises(Unavailable, match="cannot be reached"):
            lakeledger.rebuild(replace(settings, url=f"sqlite:///{tmp_path}/newer.db"), apply=True)
        assert not (tmp_path / "newer.db").exists()
