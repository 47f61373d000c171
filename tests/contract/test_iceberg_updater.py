"""The Iceberg updater: what was committed without it is seen by other engines soon after, whatever happens to whoever publishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import rows as select
from contract.making import wait_until
from contract.test_publishing import MONDAY, append, change, metadata_files, new_file, put, seen
from iceberg_readers import catalog
from lakeledger import Ledger, failpoints
from lakeledger.tables import Layout

TESTS = Path(__file__).parent.parent

CHILD = """
import os, signal, sys, threading
import lakeledger
from lakeledger import failpoints
url, warehouse, point = sys.argv[1:]
failpoints.armed[point] = lambda _: os.kill(os.getpid(), signal.SIGKILL)
with lakeledger.open(url, warehouse=warehouse) as ledger, ledger.astha():
    threading.Event().wait(30)
"""


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        yield opened


def is_published(ledger: Ledger, version: int) -> bool:
    found = ledger.tables.publication("shop.orders")
    return found is not None and found.version == version


def late(ledger: Ledger, number: int) -> None:
    append(ledger, (number, MONDAY, "a"), mode="async")


def test_what_was_there_before_and_what_comes_later_is_published(ledger: Ledger) -> None:
    late(ledger, 1)
    with ledger.astha():
        wait_until(lambda: is_published(ledger, 1))
        late(ledger, 2)
        wait_until(lambda: is_published(ledger, 2))
        put(ledger, change(ledger, operation="overwrite", retires="all"), mode="async")
        wait_until(lambda: is_published(ledger, 3))
        assert seen(ledger) == []
        late(ledger, 4)
        ledger.columns.rename("shop.orders", "name", "title")
        wait_until(lambda: is_published(ledger, 5))
    assert seen(ledger) == [4]
    with catalog(ledger) as opened:
        assert [field.name for field in opened.load_table("shop.orders").schema().fields] == ["id", "day", "title"]
    assert {row["iceberg_metadata_state"] for row in select(ledger, "select iceberg_metadata_state from table_files")} == {"completed"}


def test_all_files_of_a_commit_are_one_snapshot(ledger: Ledger) -> None:
    put(ledger, change(ledger, *(new_file(ledger, [(number, MONDAY, "a")]) for number in range(20))), mode="async")
    with ledger.astha():
        wait_until(lambda: is_published(ledger, 1))
    assert len(metadata_files(ledger)) == 3


def test_tables_that_say_otherwise_are_left_alone_and_what_cannot_be_published_says_why(ledger: Ledger) -> None:
    late(ledger, 1)
    ledger.publisher.set_mode("shop.orders", "off")
    with ledger.astha():
        late(ledger, 2)
        wait_until(lambda: all(lag.behind == 0 for lag in ledger.events.lag()) and bool(ledger.events.lag()))
        assert is_published(ledger, 0)
        ledger.publisher.set_mode("shop.orders", None)
        put(
            ledger,
            change(ledger, new_file(ledger, [(3, MONDAY, "a")]), operation="overwrite", retires="all", layout=Layout("jsonl")),
            mode="async",
        )
        wait_until(lambda: "jsonl" in (((found := ledger.tables.publication("shop.orders")) and found.problem) or ""))
    assert not ledger.events.parked()


def test_a_policy_says_after_how_many_commits_others_see_a_table(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("shop", snapshot_commits=3)
    with ledger.astha():
        late(ledger, 1)
        late(ledger, 2)
        wait_until(lambda: bool(ledger.events.lag()) and all(lag.behind == 0 for lag in ledger.events.lag()))
        assert ledger.tables.publication("shop.orders") is None
        late(ledger, 3)
        wait_until(lambda: is_published(ledger, 3))
    assert len(metadata_files(ledger)) == 3


@pytest.mark.parametrize("policy", [{"snapshot_files": 2}, {"snapshot_rows": 2}, {"snapshot_every": timedelta(milliseconds=300)}])
def test_a_table_is_shown_by_size_or_by_time_if_its_policy_says_so(ledger: Ledger, policy: dict[str, Any]) -> None:
    ledger.snapshots.set_policy("shop.orders", snapshot_commits=None, **policy)
    with ledger.astha():
        late(ledger, 1)
        late(ledger, 2)
        wait_until(lambda: is_published(ledger, 2))
    assert seen(ledger) == [1, 2]


@pytest.mark.parametrize("point", [failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT])
def test_whoever_publishes_is_killed_and_the_next_one_goes_on(ledger: Ledger, point: str) -> None:
    append(ledger, (1, MONDAY, "a"), mode="sync")
    late(ledger, 2)
    command = [sys.executable, "-c", CHILD, ledger.settings.url, str(Path(ledger.warehouse).parent), point]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    child = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=60)
    assert child.returncode == -signal.SIGKILL, child.stderr
    with ledger.astha():
        wait_until(lambda: is_published(ledger, 2))
        late(ledger, 3)
        wait_until(lambda: is_published(ledger, 3))
    assert seen(ledger) == [1, 2, 3]
    with catalog(ledger) as opened:
        assert [each.sequence_number for each in opened.load_table("shop.orders").metadata.snapshots] == [1, 2, 3]
