"""The bus: emitted records travel by a queue if a setting says so, and whoever must hear of records follows their log."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import lakeledger
from contract.making import append, new_file
from contract.repositories import ORDERS, fact, numbers
from lakeledger import Invalid, Ledger, MetadataRecord, MetadataRequest
from lakeledger.bus import topic
from lakeledger.config import RecordSettings, load
from lakeledger.errors import Conflict, LakeledgerError


@pytest.fixture
def queued(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose emitters use the queue."""
    settings = load(url=url, warehouse=str(tmp_path / "warehouse"))
    with lakeledger.open(replace(settings, records=RecordSettings(bus="queue"))) as opened:
        yield opened


def test_what_goes_by_the_queue_is_stored_when_it_is_acknowledged(queued: Ledger) -> None:
    def emit(first: int) -> None:
        for number in range(first, first + 20):
            assert queued.records.emit(fact(number)) is not None
            assert queued.records.query(run_id=f"run-{number}", kinds=["custom"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(emit, range(0, 80, 20)))
    assert sorted(numbers(queued.records.history(ORDERS, "custom", limit=None))) == list(range(80))
    done = queued.records.emit_many(fact(number) for number in range(78, 90))
    assert (done.stored, done.duplicates, done.published) == (10, 2, 0)


def test_what_is_refused_is_the_error_of_its_emitter_and_of_nobody_else(queued: Ledger) -> None:
    queued.records.kinds.set_policy("strict")
    with pytest.raises(Invalid, match="is refused"):
        queued.records.emit(fact(1, "visits"))
    assert queued.records.emit(fact(2)) is not None
    queued.records.kinds.set_policy("quarantine")
    assert queued.records.emit(fact(3, "visits")) is None
    assert numbers(queued.records.log()) == [2]


def test_commits_do_not_travel_by_the_bus(queued: Ledger) -> None:
    append(queued, new_file("a", 10))
    assert "_bus" not in vars(queued.records)
    assert [each.kind for each in queued.records.log()] == ["ingestion_volume", "ingestion_runtime"]
    assert queued.records.produce(queued.collectors.ledger_tables, MetadataRequest(replace(ORDERS, source_id="ledger"))).outcome == "error"
    assert queued.collectors.collect("silver.orders")[0].outcome == "stored"


def test_a_queue_that_is_closed_takes_nothing_more(queued: Ledger) -> None:
    queued.records.emit(fact(1))
    bus = vars(queued.records)["_bus"]
    queued.records.close()
    with pytest.raises(Conflict, match="the bus is closed"):
        bus.publish([fact(2)])


def test_a_subscriber_gets_every_record_in_order_and_goes_on_where_it_was(keeper: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.bus.subscribing.PAGE", 3)
    heard: list[int] = []

    def hear(found: Sequence[MetadataRecord]) -> None:
        if len(heard) == 6 and not failing.is_set():
            failing.set()
            raise LakeledgerError("the mail server is away")
        heard.extend(numbers(found))

    failing, stop = threading.Event(), threading.Event()
    keeper.records.emit_many(fact(number) for number in range(8))
    with pytest.raises(LakeledgerError, match="away"):
        keeper.bus.subscribe("alerts", hear, stop, once=True, start=0)
    assert keeper.bus.subscribe("alerts", hear, stop, once=True) == 2
    keeper.records.emit_many(fact(number) for number in range(8, 10))
    assert keeper.bus.subscribe("alerts", hear, stop, once=True) == 2
    assert heard == list(range(10))
    assert keeper.bus.subscribe("late", hear, stop, once=True) == 0, "by default with what comes from now on"
    assert keeper.positions.get(source("alerts")).position_data["value"] == keeper.records.head()


def source(name: str) -> lakeledger.sync.Source:
    return lakeledger.sync.Source("metadata.events", name)


def test_a_subscriber_that_fails_is_reported_and_given_the_same_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.bus.subscribing.FIRST_PAUSE_SECONDS", 0.01)
    heard: list[int] = []
    stop = threading.Event()

    def hear(found: Sequence[MetadataRecord]) -> None:
        heard.extend(numbers(found))
        if len(heard) == 1:
            raise LakeledgerError("the mail server is away")
        stop.set()

    ledger.records.emit(fact(7))
    assert ledger.bus.subscribe("alerts", hear, stop, start=0) == 1
    assert heard == [7, 7]
    assert [each.error_message for each in ledger.errors.list(schema="lakeledger", table="bus")] == [
        "subscriber alerts could not take records behind 0: the mail server is away"
    ]


@pytest.mark.parametrize("url", ["kafka://broker:9092", "kafka://ann:secret@broker/events", "amqp://broker/events", "kafka://b/e?topic=x"])
def test_a_bus_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(Invalid, match="is no bus: write queue, or kafka://host:9092/topic") as refused:
        topic(url)
    assert "secret" not in str(refused.value)


def test_a_bus_of_another_kind_is_refused_as_a_setting() -> None:
    with pytest.raises(Invalid, match=r"records.bus must be none, queue or kafka://"):
        RecordSettings(bus="rabbit")
