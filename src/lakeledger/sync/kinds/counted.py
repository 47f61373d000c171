"""Positions that are one time, one number, one version, or a count of files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.kinds.order import Document, Ordered, Position, order_text, whole, without


@dataclass(frozen=True)
class TimestampPosition(Ordered):
    """Everything up to this time has been read. `given` is how it was written, which may be finer than microseconds."""

    kind: ClassVar[str] = "timestamp"
    at: datetime
    extras: Document = field(default_factory=dict, hash=False)
    given: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime):
            raise Invalid(f"a position needs a time such as datetime.now(UTC), not {self.at!r}")
        if self.at.tzinfo is None:
            raise Invalid(f"a position needs a time with a time zone, not {self.at.isoformat()}")

    @property
    def order_key(self) -> str:
        return codec.to_text(self.at)

    def document(self) -> dict[str, Any]:
        return {"timestamp": self.given or codec.to_text(self.at), **self.extras}

    def distance(self, earlier: Position) -> str | None:
        return str(abs(self.at - earlier.at)) if isinstance(earlier, TimestampPosition) else None

    @classmethod
    def parse(cls, document: Document) -> Self:
        given, extras = document["timestamp"], without(document, "timestamp")
        if isinstance(given, datetime):
            return cls(given, extras)
        at = datetime.fromisoformat(str(given))
        return cls(at.astimezone(UTC) if at.tzinfo else at, extras, str(given))


@dataclass(frozen=True)
class Whole(Ordered):
    """Positions that are one whole number of 64 bits. `given` is how it was written, if that was as text."""

    name: ClassVar[str]
    unit: ClassVar[str]
    value: int
    extras: Document = field(default_factory=dict, hash=False)
    given: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not -(2**63) <= self.value < 2**64:
            raise Invalid(f"a position is a number of 64 bits, not {self.value}")

    @property
    def order_key(self) -> str:
        return f"{self.value + 2**63:020d}"

    def document(self) -> dict[str, Any]:
        return {self.name: self.value if self.given is None else self.given, **self.extras}

    def distance(self, earlier: Position) -> str | None:
        return f"{abs(self.value - earlier.value):,} {self.unit}" if isinstance(earlier, Whole) else None

    @classmethod
    def parse(cls, document: Document) -> Self:
        given = document[cls.name]
        return cls(whole(given), without(document, cls.name), given if isinstance(given, str) else None)


class NumberPosition(Whole):
    """Everything up to this number has been read: a sequence, an offset, a change number."""

    kind: ClassVar[str] = "number"
    name: ClassVar[str] = "value"
    unit: ClassVar[str] = "numbers"


class DeltaPosition(Whole):
    """Everything up to this version of a Delta table has been read."""

    kind: ClassVar[str] = "delta"
    name: ClassVar[str] = "version"
    unit: ClassVar[str] = "versions"


@dataclass(frozen=True)
class IcebergPosition(Ordered):
    """Everything up to this snapshot has been read. Ids are random: the order is that of the sequence numbers, if they are given."""

    kind: ClassVar[str] = "iceberg"
    snapshot_id: int
    sequence_number: int | None = None
    extras: Document = field(default_factory=dict, hash=False)

    @property
    def order_key(self) -> str:
        return order_text(self.sequence_number)

    def document(self) -> dict[str, Any]:
        order = {} if self.sequence_number is None else {"sequence_number": self.sequence_number}
        return {"snapshot_id": self.snapshot_id, **order, **self.extras}

    @classmethod
    def parse(cls, document: Document) -> Self:
        number = document.get("sequence_number")
        return cls(
            whole(document["snapshot_id"]),
            None if number is None else whole(number),
            without(document, "snapshot_id", "sequence_number"),
        )


@dataclass(frozen=True)
class FilesPosition(Ordered):
    """These files have been read: how many, and a digest of all of them. The files themselves are in `source_files`."""

    kind: ClassVar[str] = "files"
    count: int
    digest: str
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not 0 <= self.count < 2**64:
            raise Invalid(f"{self.count} is no number of files")

    @property
    def order_key(self) -> str:
        return f"{self.count:020d}"

    def document(self) -> dict[str, Any]:
        return {"files": self.count, "digest": self.digest, **self.extras}

    def distance(self, earlier: Position) -> str | None:
        return f"{abs(self.count - earlier.count):,} files" if isinstance(earlier, FilesPosition) else None

    @classmethod
    def of(cls, identities: Iterable[tuple[str, str]]) -> Self:
        """The position of a source of which the files with these paths and contents were read."""
        read = sorted(identities)
        return cls(len(read), codec.digest(read))

    @classmethod
    def parse(cls, document: Document) -> Self:
        return cls(whole(document["files"]), str(document["digest"]), without(document, "files", "digest"))
