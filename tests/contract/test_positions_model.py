"""Positions against a model: whatever is tried in whatever order, the store says what the model says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from lakeledger import Conflict, FilesPosition, Ledger, NumberPosition, TimestampPosition
from lakeledger.db import Store
from lakeledger.sync import Position, Positions

SOURCES = st.sampled_from(["shop", "shop.orders", "other.orders"])
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
TIMES = st.integers(-3, 3).map(lambda hours: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours))
POSITIONS = (
    NUMBERS.map(NumberPosition) | TIMES.map(TimestampPosition) | st.integers(0, 5).map(lambda count: FilesPosition(count, str(count)))
)
TENANTS = itertools.count()


@dataclass
class Model:
    """What a source's position should be: every value it had, and whether each was forced."""

    values: list[tuple[Position, bool]] = field(default_factory=list)

    def allows(self, to: Position, expected: int | None, *, force: bool) -> bool:
        if expected is not None and expected != len(self.values):
            return False
        if not self.values or force:
            return True
        now = self.values[-1][0]
        return now.kind == to.kind and place(now) <= place(to)


def place(position: Position) -> Any:
    match position:
        case NumberPosition(value):
            return value
        case TimestampPosition(at):
            return at
        case FilesPosition(count, _):
            return count
    raise AssertionError(position)


def machine(ledger: Ledger) -> type[RuleBasedStateMachine]:
    class PositionMachine(RuleBasedStateMachine):
        """Each example has a tenant of its own in the same database."""

        def __init__(self) -> None:
            super().__init__()
            self.positions = Positions(Store(ledger.database, f"t{next(TENANTS)}"), "ann")
            self.models: dict[str, Model] = {}

        @rule(source=SOURCES, to=POSITIONS, force=st.booleans(), expected=st.none() | st.integers(0, 3))
        def advance(self, source: str, to: Position, force: bool, expected: int | None) -> None:
            self._try(source, to, expected, force=force)

        @precondition(lambda self: self.models)
        @rule(data=st.data(), to=POSITIONS)
        def advance_from_the_right_version(self, data: st.DataObject, to: Position) -> None:
            source = data.draw(st.sampled_from(sorted(self.models)))
            self._try(source, to, len(self.models[source].values), force=False)

        def _try(self, source: str, to: Position, expected: int | None, *, force: bool) -> None:
            model = self.models.get(source, Model())
            if not model.allows(to, expected, force=force):
                with pytest.raises(Conflict):
                    self.positions.advance(source, to, expected, force=force)
                return
            marker = self.positions.advance(source, to, expected, force=force)
            model.values.append((to, force))
            self.models[source] = model
            assert (marker.version, marker.position) == (len(model.values), to)

        @invariant()
        def the_store_says_what_the_model_says(self) -> None:
            found = {marker.source.name: (marker.version, marker.position) for marker in self.positions.list()}
            assert found == {source: (len(model.values), model.values[-1][0]) for source, model in self.models.items()}

        def teardown(self) -> None:
            for source, model in self.models.items():
                kept = [(change.version, change.position_data, change.forced) for change in self.positions.history(source)]
                assert kept == [(number, to.document(), forced) for number, (to, forced) in enumerate(model.values, start=1)]

    return PositionMachine


def test_positions_behave_as_the_model_says(ledger: Ledger) -> None:
    examples = 25 if ledger.database.dialect == "sqlite" else 8
    run_state_machine_as_test(
        machine(ledger),
        settings=settings(max_examples=examples, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)),
    )
