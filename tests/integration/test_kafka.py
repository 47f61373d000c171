"""Topics of a real Kafka broker, read in batches: `make kafka`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jars
import kafka_server
import lakeledger
from integration.reducing import reduced
from lakeledger import Ledger
from lakeledger.config import SparkSettings
from lakeledger.errors import Invalid, Unavailable
from lakeledger.pipelines.sources import Source
from lakeledger.pipelines.sources.debezium import Debezium
from lakeledger.pipelines.sources.kafka import Kafka, KafkaSource, Range, bounds, share
from lakeledger.sync import Source as SourceName
from lakeledger.testing.sources import SourceContract
from needs import missing
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.pipelines.load import Loaded

ORDERS = SourceName("shop", "orders")
TOPIC = Kafka("nowhere", "orders", "id int")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_spec("confluent_kafka") is None:
        missing("confluent-kafka is not installed: `make kafka` installs it")
    try:
        with kafka_server.running(tmp_path_factory.mktemp("kafka")) as found:
            yield found
    except kafka_server.MissingBroker as error:
        missing(str(error))


@pytest.fixture(scope="module")
def kafka_spark() -> SparkSession:
    from lakeledger.pipelines.session import open_session

    try:
        jars.fetch("kafka")
    except jars.MissingJars as error:
        missing(str(error))
    return open_session(SparkSettings(master="local[2]", conf=SPARK_CONF, jars=("kafka",)))


@pytest.fixture
def kafka_lake(tmp_path: Path, kafka_spark: SparkSession) -> Iterator[Ledger]:
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", warehouse=str(tmp_path / "warehouse"), spark=kafka_spark) as opened:
        yield opened


def create(servers: str, topic: str, partitions: int = 2) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        made.result(30)


def send(servers: str, topic: str, values: Sequence[Any], partition: int = 0) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, None if value is None else json.dumps(value), partition=partition)
    assert producer.flush(30) == 0


def load(ledger: Ledger, config: Kafka) -> Loaded:
    return ledger.load(KafkaSource(ORDERS, config), "orders")


def test_what_was_not_read_is_what_is_between_the_offsets() -> None:
    there = {0: Range(5, 10), 1: Range(0, 3)}
    assert bounds(TOPIC, None, there) == there
    assert bounds(Kafka("x", "orders", "id int", start="latest"), None, there) == {0: Range(10, 10), 1: Range(3, 3)}
    assert bounds(TOPIC, {0: 7}, there) == {0: Range(7, 10), 1: Range(0, 3)}
    with pytest.raises(Invalid, match="messages 3 to 4 of orders, partition 0, are gone before they were read"):
        bounds(TOPIC, {0: 3, 1: 0}, there)
    with pytest.raises(Invalid, match="partition 0, ends at 10, before 11"):
        bounds(TOPIC, {0: 11, 1: 0}, there)
    with pytest.raises(Invalid, match="has no partition 2 any more"):
        bounds(TOPIC, {0: 5, 2: 0}, there)


def test_a_load_takes_of_each_partition_its_part_and_always_gets_on() -> None:
    ranges = {0: Range(0, 900), 1: Range(50, 150), 2: Range(7, 7), 3: Range(0, 1)}
    assert share(ranges, 5_000) == ranges
    assert share(ranges, 100) == {0: Range(0, 89), 1: Range(50, 59), 2: Range(7, 7), 3: Range(0, 1)}


def test_a_topic_is_json_or_events_and_not_both() -> None:
    with pytest.raises(Invalid, match="needs a schema of its JSON values, or debezium"):
        Kafka("x", "orders")


@pytest.mark.kafka
class TestKafka(SourceContract):
    @pytest.fixture(autouse=True)
    def _broker(self, servers: str, kafka_spark: SparkSession) -> None:
        self.servers, self.spark = servers, kafka_spark

    def open_ledger(self, folder: Path) -> Ledger:
        return lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=self.spark)

    def make(self, folder: Path) -> Source:
        return KafkaSource(ORDERS, Kafka(self.servers, folder.name, "id int, name string"))

    def add_rows(self, folder: Path) -> None:
        rows = self.rows(folder)
        if not rows:
            create(self.servers, folder.name)
        for partition in (0, 1):
            values = [{"id": len(rows) + number, "name": str(partition)} for number in range(3)]
            send(self.servers, folder.name, values, partition)
            with (folder / "sent.jsonl").open("a", encoding="utf-8") as sent:
                sent.writelines(f"{json.dumps(list(value.values()))}\n" for value in values)

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        sent = folder / "sent.jsonl"
        return [tuple(json.loads(line)) for line in sent.read_text(encoding="utf-8").splitlines()] if sent.exists() else []


@pytest.mark.kafka
def test_a_load_is_bounded_and_the_next_goes_on(kafka_lake: Ledger, servers: str) -> None:
    create(servers, "bounded")
    for partition in (0, 1):
        send(servers, "bounded", [{"id": number} for number in range(10)], partition)
    config = Kafka(servers, "bounded", "id int", max_messages=8)
    assert [load(kafka_lake, config).rows for _ in range(4)] == [8, 8, 4, 0]
    assert kafka_lake.positions.get("shop.orders").position_data == {"offsets": {"bounded": {"0": 10, "1": 10}}}
    assert sorted(row["id"] for row in kafka_lake.read("orders").collect()) == sorted([*range(10), *range(10)])


@pytest.mark.kafka
def test_debeziums_events_come_from_a_topic(kafka_lake: Ledger, servers: str) -> None:
    create(servers, "events")
    golden = (Path(__file__).parents[1] / "golden/debezium/with_schema.jsonl").read_text(encoding="utf-8").splitlines()
    send(servers, "events", [json.loads(line) for line in golden])
    loaded = load(kafka_lake, Kafka(servers, "events", debezium=Debezium("shop.orders")))
    assert loaded.detail["tombstones"] == 2
    assert sorted(reduced(kafka_lake.read("orders").collect(), "id")) == [5, 6]


@pytest.mark.kafka
def test_messages_that_are_gone_are_named(kafka_lake: Ledger, servers: str) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    create(servers, "lossy", partitions=1)
    send(servers, "lossy", [{"id": number} for number in range(4)])
    config = Kafka(servers, "lossy", "id int")
    load(kafka_lake, config)
    send(servers, "lossy", [{"id": number} for number in range(4)])
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.delete_records([TopicPartition("lossy", 0, 6)]).values():
        done.result(30)
    with pytest.raises(Invalid, match="messages 4 to 5 of lossy, partition 0, are gone before they were read"):
        load(kafka_lake, config)


@pytest.mark.kafka
def test_a_topic_that_is_not_there_and_a_broker_that_does_not_answer_are_named(
    kafka_lake: Ledger, servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Invalid, match="there is no topic nothing"):
        load(kafka_lake, Kafka(servers, "nothing", "id int"))
    monkeypatch.setattr("lakeledger.pipelines.sources.kafka.ASK_SECONDS", 2)
    with pytest.raises(Unavailable, match=r"Kafka at 127\.0\.0\.1:1 does not answer for orders"):
        load(kafka_lake, Kafka("127.0.0.1:1", "orders", "id int"))
