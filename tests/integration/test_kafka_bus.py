"""Records by a real Kafka broker: sent from one ledger, received by another, each once, whoever is killed: `make kafka`."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import kafka_server
import lakeledger
from contract.repositories import ORDERS, fact, numbers
from empty_ledgers import new_sqlite_url
from integration import children
from integration.commands import answer
from lakeledger import Ledger, failpoints
from lakeledger.clock import new_id
from lakeledger.config import RecordSettings, load
from lakeledger.errors import Unavailable
from needs import missing

pytestmark = pytest.mark.kafka
SCRIPT = Path(children.__file__).parent / "bus_child.py"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_spec("confluent_kafka") is None:
        missing("confluent-kafka is not installed: `make kafka` installs it")
    try:
        with kafka_server.running(tmp_path_factory.mktemp("kafka")) as found:
            yield found
    except kafka_server.MissingBroker as error:
        missing(str(error))


@pytest.fixture
def events(servers: str) -> str:
    """A topic of its own, with two partitions."""
    from confluent_kafka.admin import AdminClient, NewTopic

    name = f"events-{new_id()}"
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, 2, 1)]).values():
        made.result(30)
    return f"kafka://{servers}/{name}"


def ledger_in(folder: Path, bus: str = "none") -> Ledger:
    folder.mkdir(exist_ok=True)
    url = f"sqlite:///{folder}/ledger.db" if (folder / "ledger.db").exists() else new_sqlite_url(folder)
    settings = load(url=url, warehouse=str(folder / "warehouse"))
    return lakeledger.open(replace(settings, records=RecordSettings(bus=bus)))


def test_records_go_from_one_ledger_to_another_once(events: str, tmp_path: Path) -> None:
    stop = threading.Event()
    with ledger_in(tmp_path / "a") as here, ledger_in(tmp_path / "b") as there:
        here.records.emit_many(fact(number, target=replace(ORDERS, table=f"t{number % 3}")) for number in range(30))
        assert here.bus.send(events, stop, once=True) == 30
        assert there.bus.receive(events, stop, once=True) == 30
        assert sorted(numbers(there.records.log(limit=None))) == list(range(30))
        assert numbers(there.records.history(replace(ORDERS, table="t1"), "custom")) == list(range(28, 0, -3))
        here.records.emit(fact(99))
        assert (here.bus.send(events, stop, once=True), there.bus.receive(events, stop, once=True)) == (1, 1)
        assert there.bus.receive(f"{events}?group=other", stop, once=True) == 31, "another group reads all of it"
        assert len(there.records.log(limit=None)) == 31
        assert here.bus.receive(events + "?group=back", stop, once=True) == 31
        assert here.bus.send(events, stop, once=True) == 0, "what comes back is known, and is not sent again"


def test_emitters_may_use_kafka_as_their_bus(events: str, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "a", bus=events) as ledger:
        assert ledger.records.emit(fact(1)) is not None
        done = ledger.records.emit_many([fact(1), fact(2)])
        assert (done.stored, done.published) == (0, 2)
        assert ledger.records.head() == 0
        url = ledger.settings.database_url
        assert answer("records", "receive", events, "--once", "--url", url) == {"records": 3}
        assert numbers(ledger.records.log()) == [1, 2]


def test_what_is_no_record_is_a_dead_letter_and_the_rest_is_stored(events: str, servers: str, tmp_path: Path) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for body in (b"not json", b"[1]", json.dumps({"kind": "custom"}).encode(), json.dumps(fact(1).to_dict()).encode()):
        producer.produce(events.rpartition("/")[2], body, b"key")
    producer.produce(events.rpartition("/")[2], json.dumps(fact(2, "visits").to_dict()).encode(), b"key")
    producer.flush(30)
    with ledger_in(tmp_path / "a") as ledger:
        ledger.records.kinds.set_policy("strict")
        ledger.bus.receive(events, threading.Event(), once=True)
        assert numbers(ledger.records.log()) == [1]
        assert sorted(each.table_name or "" for each in ledger.dead_letters.list(schema="records")) == ["unreadable"] * 3 + ["visits"]


def test_brokers_that_are_away_lose_nothing_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.bus.kafka.SEND_SECONDS", 1.0)
    with ledger_in(tmp_path / "a", bus="kafka://127.0.0.1:1/events") as ledger, pytest.raises(Unavailable, match="emit them again"):
        ledger.records.emit(fact(1))


@pytest.mark.parametrize("point", [failpoints.BUS_TAKEN, failpoints.BUS_STORED])
def test_a_receiver_that_is_killed_loses_nothing_and_stores_nothing_twice(events: str, point: str, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "a") as here:
        here.records.emit_many(fact(number) for number in range(100))
        assert here.bus.send(events, threading.Event(), once=True) == 100
    with ledger_in(tmp_path / "b") as there:
        where = (there.settings.database_url, str(tmp_path / "b/warehouse"), "sql")
    child = children.start(tmp_path / "child.log", "receive", *where, point, events, script=SCRIPT)
    assert child.wait() == -signal.SIGKILL, child.errors
    with ledger_in(tmp_path / "b") as there:
        assert numbers(there.records.log(limit=None)) == list(range(len(there.records.log(limit=None))))
        assert 0 < len(there.records.log(limit=None)) < 100
        there.bus.receive(events, threading.Event(), once=True)
        assert numbers(there.records.log(limit=None)) == list(range(100))
