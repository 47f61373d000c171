"""Change events by chance, and what becomes of them as plain Python has it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lakeledger
from lakeledger import Ledger, Settings
from lakeledger.tables import Committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("a", "b")
SCHEMA = "key int, seq int, op string, a int, b string, _unset array<string>"


@dataclass(frozen=True)
class Event:
    """One of a key, or of all keys; `unset` are columns that it says nothing of."""

    key: int | None
    seq: int
    op: str
    a: int | None = None
    b: str | None = None
    unset: tuple[str, ...] = ()

    @property
    def row(self) -> tuple[Any, ...]:
        return (self.key, self.seq, self.op, self.a, self.b, list(self.unset))

    @property
    def values(self) -> tuple[Any, ...]:
        return (self.a, self.b)


def make(chance: random.Random, *, partial: bool = False, ties: bool = True, keys: int = 4, events: int = 18) -> list[Event]:
    """A history: rows, deletes, the same again, and several at one time."""
    made = []
    for number in range(events):
        seq = chance.randint(1, 12) if ties else number + 1
        op = chance.choices("UD", (5, 1))[0]
        unset = tuple(name for name in COLUMNS if chance.random() < 0.3) if partial and op == "U" else ()
        a = chance.choice([None, 1, 2]) if op == "U" and "a" not in unset else None
        b = chance.choice([None, "x", "y"]) if op == "U" and "b" not in unset else None
        made.append(Event(chance.randrange(keys), seq, op, a, b, unset))
    return made


def apply(ledger: Ledger, spark: SparkSession, events: Iterable[Event], mode: str, number: int) -> Committed:
    """Apply events to table `t` as the batch of that number; with sync, the rows that they lead to."""
    if mode == "sync":
        rows = spark.createDataFrame(sorted(newest(events), key=repr), "key int, a int, b string")
        return ledger.merge(rows, "t", keys=["key"], mode="sync", position=("feed", number))
    return ledger.apply_changes(
        spark.createDataFrame([event.row for event in events], SCHEMA).drop("_unset"),
        "t",
        keys=["key"],
        sequence_by="seq",
        apply_as_deletes="op = 'D'",
        except_column_list=["op", "seq"],
        stored_as_scd_type=2 if mode == "scd2" else 1,
        position=("feed", number),
    )


@dataclass(frozen=True)
class Case:
    """Events that are applied to a table of a tenant's own in two batches, the second up to a point at which whoever does it is killed."""

    url: str
    tenant: str
    warehouse: str
    mode: str
    point: str

    def open(self, spark: SparkSession) -> Ledger:
        """A ledger whose commits other engines see at once."""
        return lakeledger.open(Settings(self.url, self.warehouse, tenant=self.tenant, metadata="sync"), spark=spark)

    def apply(self, ledger: Ledger, spark: SparkSession, number: int) -> None:
        """Apply the first or the second batch."""
        apply(ledger, spark, self._so_far(number) if number == 1 or self.mode == "sync" else self._so_far(2)[1::2], self.mode, number)

    def expected(self, number: int) -> set[tuple[Any, ...]]:
        """What the table has after that many batches."""
        return (versions if self.mode == "scd2" else newest)(self._so_far(number))

    def _so_far(self, number: int) -> list[Event]:
        return make(random.Random(3), events=40, keys=8)[:: 3 - number]


def newest(events: Iterable[Event], *, partial: bool = False) -> set[tuple[Any, ...]]:
    """The newest row of each key."""
    found = set()
    for key, own, floor in _by_key(events):
        alive = [event for event in own if event.op == "U" and event.seq > floor]
        if not alive:
            continue
        if partial:
            carried = ([event for event in alive if name not in event.unset] for name in COLUMNS)
            picked = [max(((e.seq, _rank(getattr(e, name)), getattr(e, name)) for e in each), default=(0, (), None))
                      for name, each in zip(COLUMNS, carried, strict=True)]  # fmt: skip
            found.add((key, *(value for _, _, value in picked)))
        else:
            found.add((key, *max(alive, key=lambda event: (event.seq, _order(event))).values))
    return found


def versions(events: Iterable[Event], tracked: tuple[str, ...] = COLUMNS) -> set[tuple[Any, ...]]:
    """Every version of each key: the row, and from when until when it counted."""
    events, found = list(events), set()
    cuts = {event.seq for event in events if event.op == "T"}
    for key, own, _ in _by_key(events):
        at: dict[int, Event | None] = dict.fromkeys(cuts)
        for event in sorted(own, key=lambda event: (event.op == "D", _order(event))):
            if event.seq not in cuts:
                at[event.seq] = event if event.op == "U" else None
        found |= {(key, *version) for version in _runs(sorted(at.items()), tracked)}
    return found


def _runs(events: list[tuple[int, Event | None]], tracked: tuple[str, ...]) -> list[tuple[Any, ...]]:
    made: list[list[Any]] = []
    row: dict[str, Any] | None = None
    for seq, event in events:
        if event is None:
            if row is not None:
                made[-1][-1] = seq
            row = None
            continue
        said = {name: value for name, value in zip(COLUMNS, event.values, strict=True) if name not in event.unset}
        now = {**(row or dict.fromkeys(COLUMNS)), **said}
        if row is not None and all(row[name] == now[name] for name in tracked):
            made[-1][:2] = now.values()
        else:
            if row is not None:
                made[-1][-1] = seq
            made.append([*now.values(), seq, None])
        row = now
    return [tuple(each) for each in made]


def _by_key(events: Iterable[Event]) -> Iterable[tuple[int, list[Event], int]]:
    """The events of each key, and up to when all that it had was deleted."""
    events = list(events)
    cut = max((event.seq for event in events if event.op == "T"), default=0)
    keys: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.key is not None:
            keys[event.key].append(event)
    for key, own in keys.items():
        yield key, own, max([cut, *(event.seq for event in own if event.op == "D")])


def _order(event: Event) -> tuple[Any, ...]:
    return (*(_rank(value) for value in event.values), event.unset)


def _rank(value: Any) -> tuple[Any, ...]:
    """NULL comes first."""
    return (value is not None, value) if value is not None else (False,)
