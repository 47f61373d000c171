"""A Kafka topic as a source, in batches: how far it goes is asked before Spark reads, and noted as offsets with the rows.

Offsets are kept in the ledger, and nothing is committed to Kafka's consumer groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.errors import Invalid, NotInstalled, Unavailable
from lakeledger.pipelines.sources import Reading, Seen, refuse_lost_position
from lakeledger.pipelines.sources.debezium import Debezium, decode
from lakeledger.pipelines.sources.files import parse_schema
from lakeledger.sync import Advance, OffsetsPosition
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASK_SECONDS = 15
GROUP = "lakeledger"


@dataclass(frozen=True)
class Kafka:
    """Which topic, and what its values are: JSON with a declared `schema`, or the events that `debezium` describes.

    A load reads up to `max_messages`, of each partition its share. The first one begins at the earliest message, or at the latest.
    `options` are those of Kafka's clients (`security.protocol`, `sasl.mechanism` …): librdkafka and Spark both get them.
    """

    servers: str
    topic: str
    schema: str | None = None
    debezium: Debezium | None = None
    max_messages: int = 1_000_000
    start: Literal["earliest", "latest"] = "earliest"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.schema is None) == (self.debezium is None):
            raise Invalid(f"the topic {self.topic} needs a schema of its JSON values, or debezium, and not both")


@dataclass(frozen=True)
class Range:
    """The offsets of a partition that are to be read, without the last."""

    begin: int
    end: int


@dataclass(frozen=True)
class KafkaSource:
    """A topic that somebody else writes."""

    name: SourceName
    config: Kafka

    def plan(self, seen: Seen) -> Reading | None:
        if seen.marker is None:
            refuse_lost_position(self.name, seen, "load it into another table")
        known = {int(part): at for part, at in seen.marker.position_data["offsets"][self.config.topic].items()} if seen.marker else None
        there = watermarks(self.config)
        ranges = share(bounds(self.config, known, there), self.config.max_messages)
        move = Advance(
            self.name,
            OffsetsPosition({self.config.topic: {str(part): each.end for part, each in ranges.items()}}),
            seen.marker.version if seen.marker else 0,
        )
        count = sum(each.end - each.begin for each in ranges.values())
        if not count:
            is_known = known is not None and known.keys() == ranges.keys()
            return None if is_known else Reading(None, move=move, message="nothing new")
        left = sum(each.end for each in bounds(self.config, known, there).values()) - sum(each.end for each in ranges.values())
        shape = [self.config.topic, self.config.schema, asdict(self.config.debezium) if self.config.debezium else None]
        detail: dict[str, Any] = {"messages": count, "left": left}
        return Reading(
            frame=lambda spark: self._frame(spark, ranges, seen, detail),
            batch_id=codec.digest(
                ["kafka", self.name.name, shape, [[part, each.begin, each.end] for part, each in sorted(ranges.items())]]
            ),
            move=move,
            summary={"source": self.name.name},
            detail=detail,
            is_slice=True,
        )

    @contextmanager
    def _frame(self, spark: SparkSession, ranges: Mapping[int, Range], seen: Seen, detail: dict[str, Any]) -> Iterator[DataFrame]:
        from pyspark.sql import functions as F

        messages = self._messages(spark, ranges)
        if self.config.debezium:
            # Changes of one key are in one partition, in the order of its offsets.
            lines = messages.select(
                F.col("value").cast("string").alias("text"),
                F.col("partition").cast("bigint").alias("file"),
                F.lit(0).cast("bigint").alias("block"),
                F.col("offset").alias("row"),
                F.lit(0).alias("element"),
            )
            frame, counts = decode(lines, self.config.debezium, known=seen.given_columns)
            detail.update(counts)
            yield frame
            return
        schema = parse_schema(spark, str(self.config.schema))
        row = F.from_json(F.col("value").cast("string"), schema, {"mode": "FAILFAST"})
        yield messages.where("value is not null").select(row.alias("row")).select("row.*")

    def _messages(self, spark: SparkSession, ranges: Mapping[int, Range]) -> DataFrame:
        from pyspark.errors import AnalysisException

        topic = self.config.topic
        options = {
            **{f"kafka.{name}": value for name, value in self.config.options.items()},
            "kafka.bootstrap.servers": self.config.servers,
            "assign": json.dumps({topic: sorted(ranges)}),
            "startingOffsets": json.dumps({topic: {str(part): each.begin for part, each in ranges.items()}}),
            "endingOffsets": json.dumps({topic: {str(part): each.end for part, each in ranges.items()}}),
            "failOnDataLoss": "true",
        }
        try:
            return spark.read.format("kafka").options(**options).load()
        except AnalysisException as error:
            if "kafka" not in str(error).lower() or "find" not in str(error).lower():
                raise
            raise NotInstalled(
                "Spark has no connector for Kafka: run `lakeledger jars fetch kafka` once, and add kafka to jars under [spark]"
            ) from error


def watermarks(config: Kafka) -> dict[int, Range]:
    """The first offset of each partition and the one after its last, now. Raises NotInstalled, Invalid or Unavailable."""
    try:
        from confluent_kafka import Consumer, KafkaException, TopicPartition
    except ImportError as error:
        raise NotInstalled("Kafka as a source needs its client: pip install 'lakeledger[kafka]'") from error
    consumer = Consumer({**config.options, "bootstrap.servers": config.servers, "group.id": GROUP, "enable.auto.commit": False})
    try:
        found = consumer.list_topics(config.topic, timeout=ASK_SECONDS).topics[config.topic]
        if found.error is not None or not found.partitions:
            raise Invalid(f"there is no topic {config.topic} on {config.servers}: check the source's topic")
        asked = {part: consumer.get_watermark_offsets(TopicPartition(config.topic, part), timeout=ASK_SECONDS) for part in found.partitions}
        return {part: Range(*each) for part, each in sorted(asked.items())}
    except KafkaException as error:
        raise Unavailable(f"Kafka at {config.servers} does not answer for {config.topic}: {error.args[0]}") from error
    finally:
        consumer.close()


def bounds(config: Kafka, known: Mapping[int, int] | None, there: Mapping[int, Range]) -> dict[int, Range]:
    """What was not read yet of each partition. Raises Invalid if messages are gone that were not, or the topic is another one."""
    ranges: dict[int, Range] = {}
    for part, found in there.items():
        first = found.begin if known is not None or config.start == "earliest" else found.end
        begin = (known or {}).get(part, first)  # a partition that is new later is read from its first message
        if begin < found.begin:
            raise Invalid(
                f"messages {begin} to {found.begin - 1} of {config.topic}, partition {part}, are gone before they were read: raise its "
                f"retention.ms, and move the position with `lakeledger positions` if the loss is accepted"
            )
        if begin > found.end:
            raise Invalid(
                f"{config.topic}, partition {part}, ends at {found.end}, before {begin} up to which it was read: it was made anew; "
                f"load it under another source_id"
            )
        ranges[part] = Range(begin, found.end)
    if gone := sorted(set(known or ()) - there.keys()):
        raise Invalid(f"{config.topic} has no partition {gone[0]} any more: it was made anew; load it under another source_id")
    return ranges


def share(ranges: Mapping[int, Range], most: int) -> dict[int, Range]:
    """So many messages at most, of each partition as its part of what is left."""
    total = sum(each.end - each.begin for each in ranges.values())
    if total <= most:
        return dict(ranges)
    return {
        part: Range(each.begin, each.begin + max((each.end - each.begin) * most // total, min(1, each.end - each.begin)))
        for part, each in ranges.items()
    }
