"""A topic of Kafka that records travel by: one producer out, one consumer in. Each record is a message, keyed by its target.

A message is acknowledged by all brokers that must have it; a consumer notes how far it got once what it read is stored. So a record that
was published may come twice, and is stored once by its dedupe key; the order within a target is that of publishing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from lakeledger import codec, failpoints
from lakeledger.errors import Invalid, NotInstalled, Unavailable
from lakeledger.records.model import MetadataRecord
from lakeledger.records.producing import Emitted

SEND_SECONDS = 30.0
ASK_SECONDS = 15.0
POLL_SECONDS = 0.5
# How long a consumer may be silent before its partitions go to another; and how long it waits for them, and for what is in them.
SESSION_SECONDS = 10
SILENT_SECONDS = 120.0
BATCH = 1_000
ELSEWHERE = ("record_id", "sequence")


@dataclass(frozen=True)
class KafkaTopic:
    """A topic on some servers. `options` are those of Kafka's clients (`security.protocol`, `sasl.mechanism` …)."""

    servers: str
    topic: str
    group: str = "lakeledger"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def publish(self, records: Sequence[MetadataRecord]) -> Emitted:
        """Send records, and wait until the brokers have them. Raises Unavailable, NotInstalled, or Invalid for one that is too large."""
        wrong: list[Any] = []

        def hear(error: Any, _: Any) -> None:
            if error is not None:
                wrong.append(error)

        producer = self._producer
        for record in records:
            body = codec.to_json(replace(record, sequence=None, verbatim=True).to_dict()).encode()
            while True:
                try:
                    producer.produce(self.topic, body, record.target.key.encode(), on_delivery=hear)
                    break
                except BufferError:  # More than its queue holds: what is there goes first.
                    producer.poll(POLL_SECONDS)
                except _kafka().KafkaException as error:
                    raise Invalid(f"a record about {record.target.name} cannot be sent to {self.topic}: {error.args[0]}") from error
        left = producer.flush(SEND_SECONDS)
        if wrong or left:
            told = str(wrong[0]) if wrong else f"{left} records were not acknowledged within {SEND_SECONDS:g} s"
            raise Unavailable(
                f"Kafka at {self.servers} did not take records for {self.topic}: {told}; emit them again, each is stored once"
            )
        return Emitted(published=len(records))

    def deliver(
        self,
        handle: Callable[[Sequence[MetadataRecord]], object],
        refuse: Callable[[bytes, str], object],
        stop: threading.Event,
        *,
        once: bool = False,
    ) -> int:
        """Give what was published to `handle` in batches, until told to stop, or `once` up to what is there now; how many came.

        A batch is noted as read when `handle` has returned. What is no record goes to `refuse`. Raises Unavailable or NotInstalled.
        """
        consumer, total = self._consumer(), 0
        try:
            ends = self._ends(consumer) if once else {}
            consumer.subscribe([self.topic])
            done: dict[int, int] = {}
            heard_at = time.monotonic()
            while not stop.is_set() and not (once and all(done.get(part, 0) >= end for part, end in ends.items())):
                messages = consumer.consume(BATCH, POLL_SECONDS)
                if failed := next((each.error() for each in messages if each.error() is not None and each.error().fatal()), None):
                    raise Unavailable(f"Kafka at {self.servers} does not give what is in {self.topic}: {failed}")
                came = [each for each in messages if each.error() is None]
                if came:
                    total += self._hand_over(came, handle, refuse)
                    failpoints.reach(failpoints.BUS_STORED)
                    consumer.commit(asynchronous=False)
                    heard_at = time.monotonic()
                done |= {each.partition(): each.offset() + 1 for each in came}
                if once and not came:
                    done |= self._noted(consumer, ends)
                    if time.monotonic() - heard_at > SILENT_SECONDS:
                        raise Unavailable(f"Kafka at {self.servers} gave nothing of {self.topic} for {SILENT_SECONDS:g} s: run it again")
        except _kafka().KafkaException as error:
            raise Unavailable(f"Kafka at {self.servers} does not answer for {self.topic}: {error.args[0]}") from error
        finally:
            consumer.close()
        return total

    def close(self) -> None:
        """Wait for what is under way."""
        if "_producer" in vars(self):
            self._producer.flush(SEND_SECONDS)

    def _hand_over(
        self, messages: Sequence[Any], handle: Callable[[Sequence[MetadataRecord]], object], refuse: Callable[[bytes, str], object]
    ) -> int:
        found: list[MetadataRecord] = []
        for each in messages:
            try:
                document = json.loads(each.value() or b"")
                # It gets a place and an id of its own here.
                found.append(MetadataRecord.from_dict({name: value for name, value in dict(document).items() if name not in ELSEWHERE}))
            except (ValueError, TypeError, Invalid) as error:
                refuse(each.value() or b"", f"{self.topic}[{each.partition()}]@{each.offset()} is no record: {error}")
        failpoints.reach(failpoints.BUS_TAKEN)
        if found:
            handle(found)
        return len(found)

    def _ends(self, consumer: Any) -> dict[int, int]:
        """Behind the last message of each partition that has any, now."""
        kafka = _kafka()
        found = consumer.list_topics(self.topic, timeout=ASK_SECONDS).topics[self.topic]
        if found.error is not None or not found.partitions:
            raise Invalid(f"there is no topic {self.topic} on {self.servers}: make it first")
        asked = {
            part: consumer.get_watermark_offsets(kafka.TopicPartition(self.topic, part), timeout=ASK_SECONDS) for part in found.partitions
        }
        return {part: high for part, (low, high) in asked.items() if high > low}

    def _noted(self, consumer: Any, ends: Mapping[int, int]) -> dict[int, int]:
        """How far the group had got before, of what comes not again; nothing while its coordinator cannot say, as after a kill."""
        kafka = _kafka()
        try:
            found = consumer.committed([kafka.TopicPartition(self.topic, part) for part in ends], timeout=POLL_SECONDS)
        except kafka.KafkaException:
            return {}
        return {each.partition: each.offset for each in found if each.offset >= 0}

    @cached_property
    def _producer(self) -> Any:
        safe = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": int(SEND_SECONDS * 1_000)}
        return _kafka().Producer({**self.options, **safe, "bootstrap.servers": self.servers})

    def _consumer(self) -> Any:
        ours = {"group.id": self.group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        defaults = {"session.timeout.ms": SESSION_SECONDS * 1_000}
        return _kafka().Consumer({**defaults, **self.options, **ours, "bootstrap.servers": self.servers})


def _kafka() -> Any:
    try:
        import confluent_kafka
    except ImportError as error:
        raise NotInstalled("Kafka as a bus needs its client: pip install 'lakeledger[kafka]'") from error
    return confluent_kafka
