"""The messages of PostgreSQL's `pgoutput`, protocol version 1: bytes in, values out, and nothing else.

Values are texts as PostgreSQL writes them, None for NULL, or UNCHANGED for a TOAST value that an update left as it was.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from lakeledger.errors import Failed


class Missing(Enum):
    """What stands in place of a value that was not sent."""

    UNCHANGED = "unchanged"


UNCHANGED = Missing.UNCHANGED
Value = str | None | Literal[Missing.UNCHANGED]
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A column of a relation, with its type's OID and modifier."""

    name: str
    type_oid: int
    type_modifier: int = -1
    is_key: bool = False


@dataclass(frozen=True)
class Relation:
    """A table as it is from here on. `identity` is its REPLICA IDENTITY: d(efault), n(othing), f(ull) or i(ndex)."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Begin:
    """The first message of a transaction: where it is committed."""

    commit_lsn: int
    xid: int


@dataclass(frozen=True)
class Commit:
    """The last message of a transaction: where the log goes on after it."""

    commit_lsn: int
    end_lsn: int


@dataclass(frozen=True)
class Insert:
    """A new row."""

    relation: Relation
    new: Row


@dataclass(frozen=True)
class Update:
    """`old` is the row before, if the whole of it was sent, or only its key if that changed (`old_is_key`)."""

    relation: Relation
    new: Row
    old: Row | None = None
    old_is_key: bool = False


@dataclass(frozen=True)
class Delete:
    """A row that is gone: the whole of it, or only its key."""

    relation: Relation
    old: Row
    old_is_key: bool = False


@dataclass(frozen=True)
class Truncate:
    """Tables that have no rows any more."""

    relations: tuple[Relation, ...]


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate


@dataclass
class Decoder:
    """Reads messages one after the other; it remembers the relations that the later ones refer to."""

    relations: dict[int, Relation] = field(default_factory=dict)

    def read(self, data: bytes) -> Message | None:
        """The message, or None for one that changes nothing (a type, an origin, a logical message). Raises Failed."""
        reader = _Reader(data)
        kind = reader.char()
        match kind:
            case "B":
                commit, _, xid = reader.take("!qqI")
                return Begin(commit, xid)
            case "C":
                _, commit, end, _ = reader.take("!bqqq")
                return Commit(commit, end)
            case "R":
                relation = _relation(reader)
                self.relations[relation.oid] = relation
                return relation
            case "I" | "U" | "D" | "T":
                return self._change(kind, reader)
            case "Y" | "O" | "M":
                return None
            case _:
                raise Failed(f"pgoutput sent a message {kind!r}, which protocol version 1 does not have: please report it")

    def _change(self, kind: str, reader: _Reader) -> Message:
        if kind == "T":
            count, _ = reader.take("!Ib")
            return Truncate(tuple(self._known(*reader.take("!I")) for _ in range(count)))
        relation = self._known(*reader.take("!I"))
        sign = reader.char()
        old = reader.row() if sign in "KO" else None
        if kind == "D":
            return Delete(relation, old or (), sign == "K")
        if old is not None:
            reader.char()
        new = reader.row()
        return Insert(relation, new) if kind == "I" else Update(relation, new, old, sign == "K")

    def _known(self, oid: int) -> Relation:
        try:
            return self.relations[oid]
        except KeyError:
            raise Failed(f"pgoutput sent a change of the relation {oid} without describing it first: please report it") from None


def commit_of(data: bytes) -> Commit:
    """The commit that a message is."""
    found = Decoder().read(data)
    if not isinstance(found, Commit):
        raise Failed(f"{data[:20]!r} is no commit of pgoutput's")
    return found


def key_changed(update: Update, keys: Container[str]) -> bool:
    """Whether an update gives a row another key: PostgreSQL sends the old one then, or always the whole old row."""
    if update.old is None:
        return False
    pairs = zip(update.relation.columns, update.old, update.new, strict=True)
    return any(old != new for column, old, new in pairs if column.name in keys and new is not UNCHANGED)


def with_old_values(update: Update) -> Row:
    """The new row, with the values of the old one where they did not change, if the whole old row was sent."""
    if update.old is None or update.old_is_key:
        return update.new
    return tuple(old if new is UNCHANGED else new for old, new in zip(update.old, update.new, strict=True))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        found = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return found

    def char(self) -> str:
        self._at += 1
        return chr(self._data[self._at - 1])

    def text(self) -> str:
        end = self._data.index(0, self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def row(self) -> Row:
        (count,) = self.take("!H")
        return tuple(self._values(count))

    def _values(self, count: int) -> Iterator[Value]:
        for _ in range(count):
            match self.char():
                case "n":
                    yield None
                case "u":
                    yield UNCHANGED
                case _:
                    (length,) = self.take("!I")
                    self._at += length
                    yield self._data[self._at - length : self._at].decode()


def _relation(reader: _Reader) -> Relation:
    (oid,) = reader.take("!I")
    schema, name = reader.text() or "pg_catalog", reader.text()
    identity = reader.char()
    (count,) = reader.take("!H")
    return Relation(oid, schema, name, identity, tuple(_column(reader) for _ in range(count)))


def _column(reader: _Reader) -> Column:
    (flags,) = reader.take("!b")
    name = reader.text()
    oid, modifier = reader.take("!Ii")
    return Column(name, oid, modifier, bool(flags & 1))
