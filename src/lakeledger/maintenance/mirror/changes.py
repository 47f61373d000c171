"""What is new in the ledger for one of the lake's tables: by the change feed, or, where that says too little, from the ledger itself."""

# ruff: noqa: S608 - SQL built from our own names, and from columns that the ledger has
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lakeledger import codec
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import Query, load, parse
from lakeledger.events import rows as event_rows
from lakeledger.maintenance.mirror.layout import Declared, LakeTable
from lakeledger.sync import Source
from lakeledger.sync.kinds import DocumentPosition
from lakeledger.sync.model import Advance, Marker, MarkerType
from lakeledger.sync.positions import store as positions

sql = load("lakeledger.maintenance.mirror")

# How many changes or rows one commit takes: what is in memory at a time.
PAGE = 20_000
# In whose name the mirror commits. Its own runs are not copied: each copy would be a run to copy.
PIPELINE = "lake_mirror"
_OWN = {"pipeline_runs": f"not (pipeline_id = '{PIPELINE}' and run_kind = 'maintenance')"}

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_DOCUMENTS = ("json", "jsonb")


@dataclass(frozen=True)
class Place:
    """How far a table has followed: all changes up to `seq` of that `feed` are in it, or, while it is `copying` the rows of the ledger,
    those rows up to a time and a key. `table` is the name that the table has in the lake.
    """

    table: str
    feed: str
    seq: int
    copying: tuple[datetime, str] | None = None

    def document(self) -> dict[str, Any]:
        told = {"at": codec.to_text(self.copying[0]), "key": self.copying[1]} if self.copying else None
        return {"seq": self.seq, "feed": self.feed, "table": self.table, **({"copying": told} if told else {})}

    @classmethod
    def of(cls, marker: Marker) -> Place:
        found = marker.position_data
        copying = found.get("copying")
        at = (codec.to_time(copying["at"]), str(copying["key"])) if copying else None
        return cls(found["table"], found["feed"], int(found["seq"]), at)


@dataclass(frozen=True)
class Standing:
    """Where a table stands, and where the feed does."""

    source: Source
    version: int
    place: Place | None
    feed: str
    head: int
    trimmed: int

    def next(self, table: str, *, anew: bool = False) -> Place | None:
        """Where to go on from; None if nothing has changed. What the feed no longer says, or never said, is copied from the ledger."""
        place = self.place
        start = Place(table, self.feed, max(self.head, self.trimmed), (_LONG_AGO, ""))
        if anew or place is None or place.feed != self.feed or self.trimmed > place.seq:
            return start
        return place if place.copying or self.head > place.seq else None

    def move(self, place: Place) -> Advance:
        """The move that goes with the rows: from where it stands, once."""
        document = {**place.document(), "step": self.version + 1}
        return Advance(self.source, DocumentPosition.ordered_by(document, "step"), expected_version=self.version)


@dataclass(frozen=True)
class Chunk:
    """Rows that are new or have changed, and where the table stands with them. `is_last` if nothing is behind them for now."""

    rows: list[Row]
    place: Place
    is_last: bool


def source_of(dataset: str, table: LakeTable) -> Source:
    """What the position of a table belongs to."""
    return Source(dataset, table.name, MarkerType.STREAM)


def standing(tx: Transaction, source: Source) -> Standing:
    """Where the table of that source stands."""
    marker = positions.find(tx, source)
    ends, feed = tx.one(sql.ends) or {}, (tx.one(sql.feed) or {})["applied_at"]
    place = Place.of(marker) if marker else None
    return Standing(source, marker.version if marker else 0, place, codec.to_text(feed), int(ends["head"]), int(ends["trimmed"]))


def known_columns(tx: Transaction, table: LakeTable) -> dict[str, str]:
    """The columns that the ledger has, and their types."""
    return {row["name"]: row["type"] for row in tx.all(sql.columns_of, table_name=table.name)}


def read(tx: Transaction, declared: Declared, place: Place, head: int) -> Chunk:
    """The next rows behind that place."""
    chosen = Chosen(declared, known_columns(tx, declared.table))
    return _copied(tx, chosen, place) if place.copying else _followed(tx, chosen, place, head)


@dataclass(frozen=True)
class Chosen:
    """The columns to read of a table: what the ledger has of those that are declared."""

    declared: Declared
    known: Mapping[str, str]

    @property
    def table(self) -> LakeTable:
        return self.declared.table

    @property
    def select(self) -> str:
        """Documents as text. A constant is not even read."""
        constant, own = self.table.constant, _OWN.get(self.table.name)
        columns = [
            f"'{constant[name]}' as {name}"
            if name in constant
            else f'cast("{name}" as text) as "{name}"'
            if self._is_document(name)
            else f'"{name}"'
            for name in dict.fromkeys([*(each.name for each in self.declared.columns), self.table.at, self.table.key])
            if name in self.known
        ]
        return f"select {', '.join(columns)} from {self.table.name} where tenant_id = :tenant_id{f' and {own}' if own else ''}"

    def _is_document(self, name: str) -> bool:
        return self.known[name] in _DOCUMENTS

    def by_keys(self) -> Query:
        listed = {"sqlite": "in (select value from json_each(:keys))", "postgres": "= any(array(select jsonb_array_elements_text(:keys)))"}
        # `tenant_id || ''`: were the tenant something that an index can find, SQLite would rather go through all of its rows.
        text = self.select.replace("tenant_id =", "tenant_id || '' =")
        return parse("".join(f"-- name: rows@{dialect}\n{text} and {self.table.key} {each}\n" for dialect, each in listed.items())).rows

    def in_order(self) -> Query:
        by = f"{self.table.at}, {self.table.key}"
        return parse(f"-- name: rows\n{self.select} and ({by}) > (:after_at, cast(:after_key as text)) order by {by} limit :page_size").rows


def _copied(tx: Transaction, chosen: Chosen, place: Place) -> Chunk:
    """The next rows of the ledger itself, oldest first."""
    at, key = place.copying or (_LONG_AGO, "")
    found = tx.all(chosen.in_order(), after_at=at, after_key=key, page_size=PAGE)
    is_last = len(found) < PAGE
    last = None if is_last else (found[-1][chosen.table.at], str(found[-1][chosen.table.key]))
    return Chunk(found, replace(place, copying=last), is_last)


def _followed(tx: Transaction, chosen: Chosen, place: Place, head: int) -> Chunk:
    """The rows of the next changes, as they are now; those that retention has deleted since as the changes have them."""
    about = {"table_name": chosen.table.name, "after_seq": place.seq}
    changed = tx.all(sql.changed, **about, last_seq=head, page_size=PAGE)
    last = int(changed[-1]["seq"]) if len(changed) == PAGE else head
    keys = sorted({row["key"] for row in changed})
    found = tx.all(chosen.by_keys(), keys=keys) if keys else []
    there = {row[chosen.table.key] for row in found}
    gone = [key for key in keys if key not in there]
    told = tx.all(sql.last_known, **about, last_seq=last, keys=gone) if gone else []
    lost = {row["key"]: row["after"] for row in told}.values()
    found += [_told(chosen, row) for row in lost if not _is_own(chosen.table, row)]
    return Chunk(found, replace(place, seq=last), last == head)


def _told(chosen: Chosen, after: Mapping[str, Any]) -> Row:
    """A row as its last change has it: without documents."""
    row = event_rows.read_values(chosen.table.name, after)
    return {**{each.name: row.get(each.name) for each in chosen.declared.columns}, **chosen.table.constant}


def _is_own(table: LakeTable, after: Mapping[str, Any]) -> bool:
    return table.name in _OWN and after.get("pipeline_id") == PIPELINE and after.get("run_kind") == "maintenance"


def keys_of(rows: Sequence[Row], table: LakeTable) -> list[str]:
    """The keys of rows, in order."""
    return sorted(str(row[table.key]) for row in rows)
