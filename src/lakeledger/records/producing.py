"""Producers: whoever has something to say about a target, asked one after the other, none of which can fail a pipeline by itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from lakeledger.errors import Invalid
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.redaction import scrub

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MetadataRequest:
    """What a producer is asked for: facts about a target, of these kinds or of all that it knows, in that execution."""

    target: MetadataTarget
    context: MetadataContext = field(default_factory=MetadataContext)
    kinds: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds))


class MetadataProducer(Protocol):
    """Says facts about targets. `capabilities` are the kinds that it produces."""

    @property
    def producer_id(self) -> str:
        """Who it is, the same from release to release: `ingestion.v1`."""
        ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    def supports(self, request: MetadataRequest) -> bool:
        """Whether it has anything to say about targets like this one."""
        ...

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:
        """The facts. Whatever it raises is the result `error`."""
        ...


class ProducerOutcome(StrEnum):
    """How asking a producer ended."""

    STORED = "stored"
    PUBLISHED = "published"
    DUPLICATE = "duplicate"
    NO_RECORDS = "no_records"
    UNSUPPORTED_TARGET = "unsupported_target"
    CAPABILITY_MISSING = "capability_missing"
    QUARANTINED = "quarantined"
    REFUSED = "refused"
    ERROR = "error"

    @property
    def is_failure(self) -> bool:
        return self in (ProducerOutcome.REFUSED, ProducerOutcome.ERROR)


@dataclass(frozen=True)
class Emitted:
    """What became of records that were emitted together: stored, there already, set aside as dead letters, or on their way by a bus."""

    stored: int = 0
    duplicates: int = 0
    quarantined: int = 0
    published: int = 0


@dataclass(frozen=True)
class ProducerResult:
    """What came of asking a producer about a target."""

    outcome: ProducerOutcome
    producer_id: str
    target: MetadataTarget
    records: tuple[MetadataRecord, ...] = ()
    emitted: Emitted = field(default_factory=Emitted)
    message: str | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.kind for record in self.records))


class MetadataProducerRunner:
    """Asks producers, and has stored what they say: all of it, whatever its kind.

    `emit_many` is what stores: `ledger.records.emit_many`, or `bulk_store` of a repository. A producer that fails is logged and is a
    result; it raises only if `must_succeed`.
    """

    def __init__(self, emit_many: Callable[[Iterable[MetadataRecord]], Any], *, must_succeed: bool = False) -> None:
        self._emit_many = emit_many
        self._must_succeed = must_succeed

    def execute(self, producer: MetadataProducer, request: MetadataRequest, *, must_succeed: bool | None = None) -> ProducerResult:
        """Ask one producer about one target. Raises what it raises only if it must succeed."""
        producer_id = producer.producer_id
        missing = [kind for kind in request.kinds if kind not in producer.capabilities]
        records: list[MetadataRecord] = []
        try:
            if not producer.supports(request):
                message = f"{producer_id} has nothing to say about {request.target.name}"
                return ProducerResult(ProducerOutcome.UNSUPPORTED_TARGET, producer_id, request.target, message=message)
            if missing:
                message = f"{producer_id} does not produce {', '.join(missing)}: it produces {', '.join(sorted(producer.capabilities))}"
                return ProducerResult(ProducerOutcome.CAPABILITY_MISSING, producer_id, request.target, message=message)
            records = [record for record in producer.produce(request) if not request.kinds or record.kind in request.kinds]
            if not records:
                return ProducerResult(ProducerOutcome.NO_RECORDS, producer_id, request.target)
            return self._stored(producer_id, request, records)
        except Exception as error:  # whatever a producer does, the pipeline that asks it goes on
            if self._must_succeed if must_succeed is None else must_succeed:
                raise
            message = scrub(f"{type(error).__name__}: {error}")
            _log.warning("producer %s failed on %s: %s", producer_id, request.target.name, message)
            refused = ProducerOutcome.REFUSED if records and isinstance(error, Invalid) else ProducerOutcome.ERROR
            return ProducerResult(refused, producer_id, request.target, tuple(records), message=message)

    def execute_all(self, producers: Iterable[MetadataProducer], requests: Iterable[MetadataRequest]) -> list[ProducerResult]:
        """Ask every producer about every target; what one fails at, the others do not feel."""
        asked = list(producers)
        return [self.execute(producer, request) for request in requests for producer in asked]

    def _stored(self, producer_id: str, request: MetadataRequest, records: Sequence[MetadataRecord]) -> ProducerResult:
        said = self._emit_many(records)
        quarantined, published = getattr(said, "quarantined", 0), getattr(said, "published", 0)
        emitted = Emitted(said.stored, said.duplicates, quarantined, published)
        if quarantined == len(records):
            outcome = ProducerOutcome.QUARANTINED
        elif published:
            outcome = ProducerOutcome.PUBLISHED
        elif not emitted.stored and not quarantined:
            outcome = ProducerOutcome.DUPLICATE
        else:
            outcome = ProducerOutcome.STORED
        return ProducerResult(outcome, producer_id, request.target, tuple(records), emitted)
