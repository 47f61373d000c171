"""Positions against a model: whatever is tried in whatever order, the store says what the model says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from examples import tried
from lakeledger import Conflict, FilesPosition, Ledger, NumberPosition, TimestampPosition
from lakeledger.db import Store
from lakeledger.sync import (
    BinlogPosition,
    DeltaPosition,
    DocumentPosition,
    GtidPosition,
    IcebergPosition,
    LsnPosition,
    OffsetsPosition,
    Position,
    Positions,
    ResumeTokenPosition,
    parse_position,
)

SERVERS = ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "726757ad-4455-11e8-ae04-0242ac110002:tag")
TENANTS = itertools.count()


@dataclass(frozen=True)
class Place:
    """A position, and the plain value it was made from, by which the model knows its order."""

    value: Any = field(compare=False)
    position: Position


def number(value: int) -> Place:
    return Place(value, NumberPosition(value))


def time(hours: int) -> Place:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    return Place(at, TimestampPosition(at))


def files(count: int) -> Place:
    return Place(count, FilesPosition(count, str(count)))


def delta(version: int) -> Place:
    return Place(version, DeltaPosition(version))


def lsn(value: int, as_number: bool) -> Place:
    text = f"{value // 2**32:X}/{value % 2**32:x}"
    return Place(value, parse_position("lsn", {"lsn": value}) if as_number else LsnPosition(text, {"slot": "shop"}))


def binlog(log: str, file: int, pos: int, row: int) -> Place:
    return Place((log, (file, pos, row)), BinlogPosition(f"{log}.{file:06d}", pos, {"row": row}))


def gtid(transactions: frozenset[tuple[str, int]]) -> Place:
    return Place(transactions, GtidPosition(",".join(f"{server}:{each}" for server, each in sorted(transactions))))


def offsets(values: dict[tuple[str, str], int]) -> Place:
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in values.items():
        topics.setdefault(topic, {})[partition] = offset
    return Place(values, OffsetsPosition(topics))


def resume_token(token: str, cluster_time: int | None) -> Place:
    return Place(cluster_time, ResumeTokenPosition({"_data": token}, cluster_time))


def iceberg(snapshot: int, sequence: int | None) -> Place:
    return Place(sequence, IcebergPosition(snapshot, sequence))


def document(value: Decimal | None) -> Place:
    there = {"page": [1, None]}
    if value is None:
        return Place(None, DocumentPosition(there))
    return Place(value, DocumentPosition.ordered_by({**there, "at": str(value)}, "at"))


FEW = st.integers(0, 3)
# Close to where texts of numbers grow by a digit, and where signs would turn.
MANY = st.integers(0, 2**64 - 1) | st.builds(lambda edge, few: edge - 1 + few, st.sampled_from([10, 16, 2**32, 2**36, 2**63]), FEW)
PLACES: dict[str, st.SearchStrategy[Place]] = {
    "number": (st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)).map(number),
    "timestamp": st.integers(-3, 3).map(time),
    "files": st.integers(0, 5).map(files),
    "delta": FEW.map(delta),
    "lsn": st.builds(lsn, MANY, st.booleans()),
    "binlog": st.builds(binlog, st.sampled_from(["mysql-bin", "replica.bin"]), st.sampled_from([3, 999_999, 1_000_000]), FEW, FEW),
    "gtid": st.frozensets(st.tuples(st.sampled_from(SERVERS), st.integers(1, 4)), min_size=1).map(gtid),
    "offsets": st.dictionaries(st.tuples(st.sampled_from(["orders", "items"]), st.sampled_from(["0", "1"])), FEW, min_size=1).map(offsets),
    "resume_token": st.builds(resume_token, st.sampled_from("ab"), st.none() | MANY),
    "iceberg": st.builds(iceberg, FEW, st.none() | FEW),
    "document": (st.none() | st.decimals(-2, 2, places=1) | st.decimals(-(10**30), 10**30, places=3)).map(document),
}
ANY_PLACE = st.sampled_from(sorted(PLACES)).flatmap(PLACES.__getitem__)
SOURCES = st.sampled_from(["shop", "shop.orders", "other.orders"])


def reaches(kind: str, now: Any, to: Any) -> bool:
    """Whether the one value is not behind the other."""
    match kind:
        case "binlog":
            return bool(now[0] == to[0] and now[1] <= to[1])
        case "gtid":
            return bool(now <= to)  # of sets: contained in
        case "offsets":
            return all(place in to and offset <= to[place] for place, offset in now.items())
    return now is None or (to is not None and bool(now <= to))


@dataclass
class Model:
    """What a source's position should be: every value it had, and whether each was forced."""

    values: list[tuple[Place, bool]] = field(default_factory=list)

    @property
    def now(self) -> Place:
        return self.values[-1][0]

    def allows(self, to: Place, expected: int | None, *, force: bool) -> bool:
        if expected is not None and expected != len(self.values):
            return False
        if not self.values or force:
            return True
        kind = self.now.position.kind
        return kind == to.position.kind and reaches(kind, self.now.value, to.value)


def machine(ledger: Ledger) -> type[RuleBasedStateMachine]:
    class PositionMachine(RuleBasedStateMachine):
        """Each example has a tenant of its own in the same database."""

        def __init__(self) -> None:
            super().__init__()
            self.positions = Positions(Store(ledger.database, f"t{next(TENANTS)}"), "ann")
            self.models: dict[str, Model] = {}

        @rule(source=SOURCES, to=ANY_PLACE, force=st.booleans(), expected=st.none() | st.integers(0, 3))
        def advance(self, source: str, to: Place, force: bool, expected: int | None) -> None:
            self._try(source, to, expected, force=force)

        @precondition(lambda self: self.models)
        @rule(data=st.data(), compare=st.booleans())
        def advance_in_the_same_kind(self, data: st.DataObject, compare: bool) -> None:
            source = data.draw(st.sampled_from(sorted(self.models)))
            model = self.models[source]
            for _ in range(3):
                to = data.draw(PLACES[model.now.position.kind])
                self._try(source, to, len(model.values) if compare else None, force=False)

        def _try(self, source: str, to: Place, expected: int | None, *, force: bool) -> None:
            model = self.models.get(source, Model())
            if not model.allows(to, expected, force=force):
                with pytest.raises(Conflict):
                    self.positions.advance(source, to.position, expected, force=force)
                return
            marker = self.positions.advance(source, to.position, expected, force=force)
            model.values.append((to, force))
            self.models[source] = model
            assert (marker.version, marker.position) == (len(model.values), to.position)

        @invariant()
        def the_store_says_what_the_model_says(self) -> None:
            found = {marker.source.name: (marker.version, marker.position) for marker in self.positions.list()}
            assert found == {source: (len(model.values), model.now.position) for source, model in self.models.items()}

        def teardown(self) -> None:
            for source, model in self.models.items():
                kept = [(change.version, change.position, change.forced) for change in reversed(self.positions.history(source))]
                assert kept == [(number, to.position, forced) for number, (to, forced) in enumerate(model.values, start=1)]

    return PositionMachine


def test_positions_behave_as_the_model_says(ledger: Ledger) -> None:
    share = 0.6 if ledger.database.dialect == "sqlite" else 0.2
    run_state_machine_as_test(
        machine(ledger),
        settings=tried(share, stateful_step_count=15, suppress_health_check=list(HealthCheck)),
    )
