"""What is known, as values: a fact, what it is about, and in which execution it came to be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from lakeledger import clock, codec
from lakeledger.errors import Invalid
from lakeledger.names import table_key
from lakeledger.redaction import SHAPES, is_clean, scrub_value

# A kind is a name in SQL, in a path and in a URL.
KIND = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class MetadataTarget:
    """The physical thing that a record describes."""

    source_id: str
    schema: str | None = None
    table: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`schema.table` as people write it, or the source if it is no table."""
        return ".".join(part for part in (self.schema, self.table) if part) or self.source_id

    @property
    def name_key(self) -> str | None:
        """What its table is matched by; None if it is no table."""
        return _keys(self.source_id, self.schema, self.table)[0]

    @property
    def key(self) -> str:
        """What the target itself is matched by: its source and its table, or its schema."""
        return _keys(self.source_id, self.schema, self.table)[1]


@lru_cache(maxsize=10_000)
def _keys(source_id: str, schema: str | None, table: str | None) -> tuple[str | None, str]:
    """What a table is matched by, and what its target is: many records are about the same one."""
    name_key = table_key(f"{schema}.{table}" if schema else table) if table else None
    return name_key, f"{source_id}|{name_key or (codec.fold(schema) + '.' if schema else '')}"


@dataclass(frozen=True)
class MetadataContext:
    """In which execution a record came to be."""

    job_id: str | None = None
    run_id: str | None = None
    namespace: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MetadataRecord:
    """A fact. It is never changed: the same fact stored twice is one, and `dedupe_key` says which facts are the same.

    Without one they are if all of their content is, `produced_at` included. Tokens and credentials of URLs are taken out as it is made;
    what is `verbatim` was scrubbed before. `sequence` is its place in the log of its tenant, which it has once it is stored.
    """

    target: MetadataTarget
    context: MetadataContext
    kind: str
    payload: dict[str, Any]
    producer_id: str
    version: str | None = None
    quality: dict[str, Any] | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    produced_at: datetime = field(default_factory=clock.now)
    dedupe_key: str = ""
    record_id: str = field(default_factory=clock.new_id)
    sequence: int | None = field(default=None, compare=False)
    verbatim: InitVar[bool] = False

    def __post_init__(self, verbatim: bool) -> None:
        if not verbatim:
            self._check()
        if verbatim and self.dedupe_key:
            return
        text = self._identity()
        # Most hold no secret, which is seen at once of the text that they are told apart by.
        if not verbatim and not is_clean(text):
            self._scrub()
            text = self._identity()
        if not self.dedupe_key:
            object.__setattr__(self, "dedupe_key", hashlib.sha256(text.encode()).hexdigest())

    def _check(self) -> None:
        if not KIND.fullmatch(self.kind):
            raise Invalid(f"{self.kind!r} is no kind of record: write letters, digits, _ and -, as in ingestion_volume")
        if not self.producer_id:
            raise Invalid(f"a record of the kind {self.kind} needs a producer_id that stays the same, as in ingestion.v1")
        if not self.target.source_id:
            raise Invalid(f"the target of a record of the kind {self.kind} needs a source_id")
        if not isinstance(self.payload, dict):
            raise Invalid(f"the payload of a record of the kind {self.kind} must be an object, not {type(self.payload).__name__}")
        object.__setattr__(self, "produced_at", codec.to_moment(self.produced_at))

    def _scrub(self) -> None:
        for name in ("payload", "quality", "extras"):
            object.__setattr__(self, name, _without_secrets(getattr(self, name)))
        # Other tools name a source by its URL, with the password in it.
        for name in ("target", "context"):
            about = getattr(self, name)
            object.__setattr__(self, name, replace(about, **_without_secrets(vars(about))))

    def _identity(self) -> str:
        """What makes it the same fact: everything but the id."""
        target, context = self.target, self.context
        about = [target.source_id, target.schema, target.table, target.extras]
        execution = [context.job_id, context.run_id, context.namespace, context.extras]
        said = [self.kind, self.payload, self.producer_id, self.version, self.quality, self.extras]
        try:
            return codec.to_json([about, execution, said, codec.to_text(self.produced_at)])
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(f"a record of the kind {self.kind} holds what JSON does not know: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """As it is written elsewhere: the document of a file, a line of the log."""
        return {
            "record_id": self.record_id,
            "sequence": self.sequence,
            "kind": self.kind,
            "target": vars(self.target),
            "context": vars(self.context),
            "payload": self.payload,
            "produced_at": codec.to_text(self.produced_at),
            "producer_id": self.producer_id,
            "version": self.version,
            "quality": self.quality,
            "extras": self.extras,
            "dedupe_key": self.dedupe_key,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, verbatim: bool = False) -> MetadataRecord:
        """The record that a document is. Raises Invalid, naming what is missing or not known."""
        given = dict(document)
        try:
            target, context = MetadataTarget(**given.pop("target")), MetadataContext(**(given.pop("context", None) or {}))
            at = given.pop("produced_at", None)
            times: dict[str, Any] = {"produced_at": codec.to_moment(at)} if at is not None else {}
            known = {name: value for name, value in given.items() if value is not None or name == "quality"}
            return cls(target, context, **times, **known, verbatim=verbatim)
        except (KeyError, TypeError) as error:
            told = str(error).replace("MetadataRecord.__init__()", "a record").replace("__init__()", "it")
            raise Invalid(f"that is no record ({told}): it needs target, kind, payload and producer_id") from error


Target = MetadataTarget | str


def _without_secrets(facts: Any) -> Any:
    """Only what has the shape of a secret is one: names in facts are those of other people's columns."""
    return scrub_value(facts, rules=SHAPES)


def check_kind(kind: str | None) -> str:
    """The kind, if it can be one. Raises Invalid."""
    if kind is None:
        raise Invalid('which kind of record is not said: write kind="ingestion_volume"')
    if not KIND.fullmatch(kind):
        raise Invalid(f"{kind!r} is no kind of record; the target comes first: latest(target, kind)")
    return kind


def chunks(records: Iterable[MetadataRecord], size: int) -> Iterator[list[MetadataRecord]]:
    """The records in groups of at most so many."""
    rest = iter(records)
    while chunk := list(islice(rest, size)):
        yield chunk


ALWAYS = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))


def window_of(record: MetadataRecord) -> tuple[datetime | None, datetime | None]:
    """The time that a record is about, if it says so; without a bound it reaches from or to the end of time."""
    found = [_time(_window(record, name)) for name in ("window_start", "window_end")]
    if found == [None, None]:
        return None, None
    return found[0] or ALWAYS[0], found[1] or ALWAYS[1]


def _window(record: MetadataRecord, name: str) -> Any:
    found = record.payload.get(name)
    return record.extras.get(name) if found is None else found


def _time(value: Any) -> datetime | None:
    """A time or a day; without a time zone it is UTC, as times in the ledger are."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, str) or len(value) < len("2026-01-31"):
        return None
    try:
        return codec.to_time(value)
    except (ValueError, OverflowError):
        return None
