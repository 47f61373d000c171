"""How emitted records travel to their repository, if not directly: by a queue of this process, or by Kafka. Off unless a setting says so.

What a commit writes is in its transaction and never travels by a bus. A record that was published is acknowledged once it cannot be lost:
by the queue when the repository has it, by Kafka when its brokers have it. Whoever else must hear of records follows their log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl, urlsplit

from lakeledger.errors import Invalid
from lakeledger.records.model import MetadataRecord
from lakeledger.records.producing import Emitted
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.bus.kafka import KafkaTopic

__all__ = ["Bus", "Handle", "open", "topic"]

# What is called with records, in their order; it may be called again with the same ones.
Handle = Callable[[Sequence[MetadataRecord]], object]


class Bus(Protocol):
    """What takes records from whoever emits them."""

    def publish(self, records: Sequence[MetadataRecord]) -> Emitted:
        """Hand records over; when it returns they are not lost. Raises what keeps them from being taken."""
        ...

    def close(self) -> None:
        """Let go of what is open, once all that was handed over is acknowledged."""
        ...


class Delivery(Protocol):
    """Where records come from that others published."""

    def deliver(self, handle: Handle, refuse: Callable[[bytes, str], object], stop: threading.Event, *, once: bool = False) -> int:
        """Give what was published to `handle`, and note it as read when that returns; what is no record, to `refuse`. How many came."""
        ...


def open(url: str, store: Callable[[Sequence[MetadataRecord]], Emitted], options: Mapping[str, str] | None = None) -> Bus:
    """The bus at that URL: `queue`, or `kafka://host:9092/topic`. Raises Invalid. `store` is the repository's own subscriber."""
    if url == "queue":
        from lakeledger.bus.queue import QueueBus

        return QueueBus(store)
    return topic(url, options)


def topic(url: str, options: Mapping[str, str] | None = None) -> KafkaTopic:
    """A topic of Kafka by its URL, `kafka://host:9092,other:9092/topic?group=name`. Raises Invalid."""
    parts = urlsplit(url)
    name, asked = parts.path.strip("/"), dict(parse_qsl(parts.query))
    if parts.scheme != "kafka" or not parts.netloc or not name or "@" in parts.netloc or asked.keys() - {"group"}:
        raise Invalid(f"{scrub(url)!r} is no bus: write queue, or kafka://host:9092/topic with ?group=NAME for who reads it")
    from lakeledger.bus.kafka import KafkaTopic

    return KafkaTopic(parts.netloc, name, asked.get("group", "lakeledger"), options or {})
