"""What let other engines see a version is kept with it: a commit, the time, the size, a person, or a read that asks for fresh."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import rows, wait_until
from contract.test_publishing import MONDAY, append, seen
from iceberg_readers import catalog
from lakeledger import Conflict, Invalid, Ledger
from lakeledger.lake.iceberg import Unpublishable


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        yield opened


def late(ledger: Ledger, number: int) -> None:
    append(ledger, (number, MONDAY, "a"), mode="async")


def triggers(ledger: Ledger) -> dict[int, tuple[str, str | None]]:
    """By version, what started the run that made it, and what let others see it."""
    return {each.version: (each.trigger, each.publish_trigger) for each in ledger.tables.history("shop.orders")}


def test_a_version_says_what_let_others_see_it(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    late(ledger, 2)
    late(ledger, 3)
    ledger.publisher.publish("shop.orders")
    late(ledger, 4)
    ledger.snapshots.create("shop.orders")
    late(ledger, 5)
    ledger.snapshots.fresh("shop.orders")
    late(ledger, 6)
    assert triggers(ledger) == {
        1: ("manual", "commit"),
        2: ("manual", None),
        3: ("manual", "manual"),
        4: ("manual", "manual"),
        5: ("manual", "query"),
        6: ("manual", None),
    }
    with catalog(ledger) as opened:
        told = [each.summary["lakeledger.trigger"] for each in opened.load_table("shop.orders").metadata.snapshots]
    assert told == ["commit", "manual", "manual", "query"]


@pytest.mark.parametrize(
    ("policy", "trigger"),
    [
        ({}, "commit"),
        ({"snapshot_commits": None, "snapshot_files": 1}, "size"),
        ({"snapshot_commits": None, "snapshot_every": timedelta(milliseconds=50)}, "time"),
    ],
)
def test_components_say_why_a_table_was_due(ledger: Ledger, policy: dict[str, Any], trigger: str) -> None:
    if policy:
        ledger.snapshots.set_policy("shop.orders", **policy)
    with ledger.astha():
        late(ledger, 1)
        wait_until(lambda: triggers(ledger) == {1: ("manual", trigger)})


def test_a_read_that_asks_for_fresh_publishes_only_what_is_behind(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    pointer = ledger.tables.publication("shop.orders")
    assert ledger.snapshots.fresh("shop.orders") == pointer
    late(ledger, 2)
    assert ledger.snapshots.fresh("shop.orders").version == 2
    assert seen(ledger) == [1, 2]
    assert triggers(ledger) == {1: ("manual", "commit"), 2: ("manual", "query")}


def test_a_policy_or_a_mode_keeps_reads_from_publishing(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    ledger.snapshots.set_policy("shop.orders", snapshot_query=False)
    assert ledger.snapshots.fresh("shop.orders").version == 1
    late(ledger, 2)
    with pytest.raises(Conflict, match=r"see version 1 of shop\.orders, not 2, and a read does not publish it \(.*snapshot_query=off\)"):
        ledger.snapshots.fresh("shop.orders")
    ledger.snapshots.set_policy("shop.orders", snapshot_query=True)
    ledger.publisher.set_mode("shop.orders", "off")
    with pytest.raises(Conflict, match="metadata is off"):
        ledger.snapshots.fresh("shop.orders")
    ledger.publisher.set_mode("shop.orders", None)
    assert ledger.snapshots.fresh("shop.orders").version == 2
    with pytest.raises(Invalid, match="snapshot_query must be on or off, not 1"):
        ledger.snapshots.set_policy("shop.orders", snapshot_query=1)


def test_a_fresh_read_of_what_iceberg_cannot_hold_says_so(ledger: Ledger) -> None:
    from contract.keeping import put

    put(ledger, [1], "shop.lines", "jsonl", mode="async")
    with pytest.raises(Unpublishable, match="Iceberg has no jsonl files"):
        ledger.snapshots.fresh("shop.lines")


def test_the_trigger_is_one_that_is_known(ledger: Ledger) -> None:
    append(ledger, (1, MONDAY, "a"))
    assert rows(ledger, "select publish_trigger from table_snapshots") == [{"publish_trigger": "commit"}]
