"""The Iceberg updater: what was committed without it is seen by other engines soon after, whatever happens to whoever publishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import rows as select
from contract.making import wait_until
from contract.test_publishing import MONDAY, append, change, metadata_files, new_file, put, seen
from contract.updating import QUICK, Fifth
from iceberg_readers import catalog
from lakeledger import Ledger, failpoints
from lakeledger.tables import Layout

TESTS = Path(__file__).parent.parent

# What a commit that is published late passes through.
PUBLISHING = (failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT)


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


def test_what_is_due_later_is_nobodys_business_once_astha_has_ended(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("shop.orders", snapshot_commits=None, snapshot_every=timedelta(hours=1))
    with ledger.astha():
        late(ledger, 1)
        wait_until(lambda: is_published(ledger, 1))
        late(ledger, 2)
        wait_until(lambda: any(isinstance(each, threading.Timer) for each in threading.enumerate()))
    assert not [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


def test_killed_at_every_point_in_turn_it_converges(ledger: Ledger, tmp_path: Path) -> None:
    ledger.settings, handled, numbers = replace(ledger.settings, astha=QUICK), tmp_path / "handled", count(1)

    def commit_two() -> None:
        """One of them is an event that the fifth subscriber never handles."""
        late(ledger, next(numbers))
        late(ledger, next(numbers))

    commit_two()
    with ledger.astha({"fifth": lambda _: Fifth(handled)}):
        wait_until(lambda: len(ledger.events.lag()) == len(ledger.subscribers()) + 1 and is_settled(ledger))
        first = ledger.changes.last()[-1].seq
    for point in (*failpoints.DELIVERY, *PUBLISHING):
        if point == failpoints.AFTER_REFRESH:
            ledger.events.forget("iceberg_updater", apply=True)
        commit_two()
        assert run_until_killed(ledger, handled, point) == -signal.SIGKILL, point
        assert is_unbroken(ledger), point
    with ledger.astha({"fifth": lambda _: Fifth(handled)}):
        commit_two()
        wait_until(lambda: is_settled(ledger))
    newest = ledger.tables.get("shop.orders").current_version
    assert seen(ledger) == [*range(1, newest + 1)]
    assert is_published(ledger, newest)
    assert is_unbroken(ledger)
    assert {row["iceberg_metadata_state"] for row in select(ledger, "select iceberg_metadata_state from table_files")} == {"completed"}
    told = {change.seq: (change.after or {})["version"] % 2 for change in ledger.changes.after(first, table="table_snapshots", limit=None)}
    heard = [int(line) for line in handled.read_text().splitlines() if int(line) > first]
    parked = {int((letter.source_record_id or "").partition("/")[2]) for letter in ledger.events.parked("fifth", limit=1_000)}
    assert {*heard} == {seq for seq, is_odd in told.items() if not is_odd}
    assert parked - {*range(first + 1)} == {seq for seq, is_odd in told.items() if is_odd}
    assert (once := list(dict.fromkeys(heard))) == sorted(once), "what is repeated after a crash comes in order, too"
    assert not ledger.events.parked("iceberg_updater")


def run_until_killed(ledger: Ledger, handled: Path, point: str) -> int:
    command = [
        sys.executable,
        str(TESTS / "contract/updating.py"),
        ledger.settings.url,
        str(Path(ledger.warehouse).parent),
        str(handled),
        point,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, check=False, env=environment, timeout=60).returncode


def is_settled(ledger: Ledger) -> bool:
    """Whether everything is handled or parked, and published."""
    newest = ledger.tables.get("shop.orders").current_version
    return is_published(ledger, newest) and all(not lag.behind and not lag.lanes for lag in ledger.events.lag())


def is_unbroken(ledger: Ledger) -> bool:
    """Whether no version was published twice, and none before an earlier one."""
    with catalog(ledger) as opened:
        snapshots = opened.load_table("shop.orders").metadata.snapshots
    versions = [each.sequence_number for each in snapshots]
    ids = {each.snapshot_id for each in snapshots}
    return versions == sorted(set(versions)) and len(ids) == len(versions)
