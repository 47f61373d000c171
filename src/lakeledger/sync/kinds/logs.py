"""Positions in the logs of databases and in message logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from lakeledger.errors import Invalid
from lakeledger.sync.kinds.gtid import GtidSet
from lakeledger.sync.kinds.order import Document, Ordered, Position, order_text, whole, without


@dataclass(frozen=True)
class LsnPosition(Ordered):
    """A place in PostgreSQL's write-ahead log: `16/B374D848`, or the same as a number."""

    kind: ClassVar[str] = "lsn"
    lsn: str | int
    extras: Document = field(default_factory=dict, hash=False)
    as_number: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.lsn, int):
            if isinstance(self.lsn, bool) or not 0 <= self.lsn < 2**64:
                raise Invalid(f"{self.lsn} is no LSN: it has 64 bits")
            object.__setattr__(self, "as_number", True)
            object.__setattr__(self, "lsn", f"{self.lsn >> 32:X}/{self.lsn & 0xFFFFFFFF:X}")
        self.offset()

    def offset(self) -> int:
        """The place in bytes."""
        match = re.fullmatch(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", str(self.lsn))
        if match is None:
            raise Invalid(f"{self.lsn!r} is no LSN: write it as 16/B374D848")
        return (int(match[1], 16) << 32) + int(match[2], 16)

    @property
    def order_key(self) -> str:
        return f"{self.offset():020d}"

    def document(self) -> dict[str, Any]:
        return {"lsn": self.offset() if self.as_number else self.lsn, **self.extras}

    def distance(self, earlier: Position) -> str | None:
        return f"{abs(self.offset() - earlier.offset()):,} bytes of WAL" if isinstance(earlier, LsnPosition) else None

    @classmethod
    def parse(cls, document: Document) -> Self:
        lsn, extras = document["lsn"], without(document, "lsn")
        return cls(lsn if isinstance(lsn, int) else str(lsn), extras)


@dataclass(frozen=True)
class BinlogPosition(Ordered):
    """A place in MySQL's binary log: its file and the position in it, and inside an event the row."""

    kind: ClassVar[str] = "binlog"
    file: str
    pos: int
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.log()
        if any(not 0 <= part < 2**64 for part in self.place()):
            raise Invalid(f"{self.document()!r} is no place in a binary log: positions, events and rows are numbers of 64 bits")

    def log(self) -> tuple[str, int]:
        """Which log it is a file of, and the file's number."""
        base, _, number = self.file.rpartition(".")
        if not base or not (number.isascii() and number.isdigit()) or self.pos < 0:
            raise Invalid(f"{self.file!r} at {self.pos} is no place in a binary log: write mysql-bin.000003 and a position")
        return base, int(number)

    def place(self) -> tuple[int, ...]:
        """The file's number, the position in it, and inside that the event and its row."""
        inside = (whole(self.extras.get(name) or 0) for name in ("event", "row"))
        return self.log()[1], self.pos, *inside

    @property
    def order_key(self) -> str:
        return "".join(f"{part:020d}" for part in self.place())

    def document(self) -> dict[str, Any]:
        return {"file": self.file, "pos": self.pos, **self.extras}

    def follows(self, earlier: Position) -> bool:
        """A log with another name has another history, even if its numbers are higher."""
        return isinstance(earlier, BinlogPosition) and self.log()[0] == earlier.log()[0] and self.order_key >= earlier.order_key

    def distance(self, earlier: Position) -> str | None:
        if not isinstance(earlier, BinlogPosition) or self.log()[0] != earlier.log()[0]:
            return None
        files = abs(self.log()[1] - earlier.log()[1])
        return f"{files:,} log files" if files else f"{abs(self.pos - earlier.pos):,} bytes of the log"

    @classmethod
    def parse(cls, document: Document) -> Self:
        return cls(str(document["file"]), whole(document["pos"]), without(document, "file", "pos"))


@dataclass(frozen=True)
class GtidPosition(Ordered):
    """The transactions of MySQL that were read, whichever server they came from: a set, ordered by what it contains."""

    kind: ClassVar[str] = "gtid"
    gtids: str
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        GtidSet.parse(self.gtids)

    def document(self) -> dict[str, Any]:
        return {"gtids": self.gtids, **self.extras}

    def follows(self, earlier: Position) -> bool:
        return isinstance(earlier, GtidPosition) and GtidSet.parse(self.gtids).contains(GtidSet.parse(earlier.gtids))

    def distance(self, earlier: Position) -> str | None:
        if not isinstance(earlier, GtidPosition):
            return None
        ours, theirs = GtidSet.parse(self.gtids), GtidSet.parse(earlier.gtids)
        return f"{max(ours.missing_from(theirs), theirs.missing_from(ours)):,} transactions"

    @classmethod
    def parse(cls, document: Document) -> Self:
        return cls(str(document["gtids"]), without(document, "gtids"))


@dataclass(frozen=True)
class OffsetsPosition(Ordered):
    """Kafka: the next offset of every partition of every topic. It goes forward when no partition goes back or is forgotten."""

    kind: ClassVar[str] = "offsets"
    offsets: Mapping[str, Mapping[str, int]] = field(hash=False)
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        numbers = [offset for partitions in self.offsets.values() for offset in partitions.values()]
        if not numbers or any(whole(number) < 0 for number in numbers):
            raise Invalid(f"{dict(self.offsets)!r} are no offsets: write topic → partition → offset")

    def document(self) -> dict[str, Any]:
        return {"offsets": {topic: dict(partitions) for topic, partitions in self.offsets.items()}, **self.extras}

    def follows(self, earlier: Position) -> bool:
        if not isinstance(earlier, OffsetsPosition):
            return False
        ours, theirs = self.flat(), earlier.flat()
        return all(ours.get(place, -1) >= offset for place, offset in theirs.items())

    def distance(self, earlier: Position) -> str | None:
        if not isinstance(earlier, OffsetsPosition):
            return None
        ours, theirs = self.flat(), earlier.flat()
        return f"{sum(abs(ours.get(place, 0) - theirs.get(place, 0)) for place in {*ours, *theirs}):,} messages"

    def flat(self) -> dict[tuple[str, str], int]:
        """The offsets by topic and partition."""
        return {(topic, partition): offset for topic, partitions in self.offsets.items() for partition, offset in partitions.items()}

    @classmethod
    def parse(cls, document: Document) -> Self:
        offsets = {
            str(topic): {str(partition): whole(offset) for partition, offset in partitions.items()}
            for topic, partitions in document["offsets"].items()
        }
        return cls(offsets, without(document, "offsets"))


@dataclass(frozen=True)
class ResumeTokenPosition(Ordered):
    """MongoDB's resume token: opaque, so that only a declared order, such as the cluster time, tells which of two is later."""

    kind: ClassVar[str] = "resume_token"
    token: Any = field(hash=False)
    order: int | str | None = None
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        order_text(self.order)

    @property
    def order_key(self) -> str:
        return order_text(self.order)

    def document(self) -> dict[str, Any]:
        order = {} if self.order is None else {"cluster_time": self.order}
        return {"resume_token": self.token, **order, **self.extras}

    @classmethod
    def parse(cls, document: Document) -> Self:
        return cls(document["resume_token"], document.get("cluster_time"), without(document, "resume_token", "cluster_time"))
