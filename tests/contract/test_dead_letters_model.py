"""Dead letters against a model: whatever is tried in whatever order, the store says what the model says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from examples import tried
from lakeledger import Conflict, Ledger
from lakeledger.db import Store
from lakeledger.db.queries import statement
from lakeledger.sync.dead_letters import DeadLetter, DeadLetters, NewLetter
from lakeledger.sync.masking import Masking

TABLES = st.sampled_from(["orders", "lines"])
OPERATIONS = st.sampled_from(["insert", "update"])
SOURCE_IDS = st.sampled_from([None, None, "a", "b"])
# Two of them differ only in what is masked.
RECORDS = st.sampled_from([{"qty": 1}, {"qty": 2}, {"qty": 1, "password": "hunter2"}, {"qty": 1, "password": "hunter3"}])
WORKERS = st.sampled_from(["w1", "w2"])
ACTOR = "ann"
TENANTS = itertools.count()
PAST = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class Model:
    """One letter as it should be."""

    id: str
    key: tuple[str, ...]
    record: dict[str, Any]
    status: str = "pending"
    count: int = 1
    holder: str | None = None
    expired: bool = False

    @property
    def is_settled(self) -> bool:
        return self.status in ("resolved", "discarded")

    @property
    def is_claimable(self) -> bool:
        return self.status == "pending" or (self.status == "processing" and self.expired)

    def may_settle(self, caller: str) -> bool:
        return self.is_claimable or (self.status == "processing" and self.holder in (caller, ACTOR))

    def is_held_by(self, worker: str) -> bool:
        return self.status == "processing" and self.holder == worker

    def claim(self, worker: str) -> None:
        self.status, self.holder, self.expired = "processing", worker, False

    def free(self, status: str = "pending") -> None:
        self.status, self.holder, self.expired = status, None, False


def masked(record: dict[str, Any]) -> dict[str, Any]:
    return {key: "***" if key == "password" else value for key, value in record.items()}


def key_of(table: str, operation: str, source_id: str | None, record: dict[str, Any]) -> tuple[str, ...]:
    return (table, operation, "source", source_id) if source_id else (table, operation, "record", repr(record))


@dataclass
class Queue:
    """Every letter ever made, oldest first."""

    letters: list[Model] = field(default_factory=list)

    def waiting(self, key: tuple[str, ...]) -> Model | None:
        return next((letter for letter in self.letters if letter.key == key and not letter.is_settled), None)

    def claimable(self) -> list[Model]:
        return [letter for letter in self.letters if letter.is_claimable]


class LetterMachine(RuleBasedStateMachine):
    """Each example has a tenant of its own in the same database."""

    ledger: ClassVar[Ledger]

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(self.ledger.database, f"l{next(TENANTS)}")
        self.real = DeadLetters(self.store, ACTOR, Masking())
        self.queue = Queue()

    @rule(table=TABLES, operation=OPERATIONS, source_id=SOURCE_IDS, record=RECORDS)
    def add(self, table: str, operation: str, source_id: str | None, record: dict[str, Any]) -> None:
        made = self.real.add(NewLetter("shop", table, operation, record, source_record_id=source_id))
        key = key_of(table, operation, source_id, record)
        known = self.queue.waiting(key)
        if known is None:
            self.queue.letters.append(Model(made.id, key, masked(record)))
            return
        known.free()
        known.count, known.record = known.count + 1, masked(record)
        assert made.id == known.id

    @rule(worker=WORKERS, limit=st.integers(1, 3))
    def claim(self, worker: str, limit: int) -> None:
        expected = self.queue.claimable()[:limit]
        assert [letter.id for letter in self.real.claim(limit, worker)] == [model.id for model in expected]
        for model in expected:
            model.claim(worker)

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data(), worker=WORKERS)
    def claim_some(self, data: st.DataObject, worker: str) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.queue.letters), unique_by=lambda model: model.id, max_size=3))
        got = self.real.claim(worker=worker, ids=[model.id for model in chosen])
        expected = [model for model in self.queue.claimable() if model in chosen]
        assert [letter.id for letter in got] == [model.id for model in expected]
        for model in expected:
            model.claim(worker)

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data())
    def time_passes(self, data: st.DataObject) -> None:
        model = data.draw(st.sampled_from(self.queue.letters))
        with self.store.write() as tx:
            text = "update dead_letter_queue set claimed_until = :past where id = :id and claimed_until is not null"
            tx.execute(statement(text), past=PAST, id=model.id)
        model.expired = model.status == "processing"

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data(), worker=WORKERS)
    def renew(self, data: st.DataObject, worker: str) -> None:
        model = data.draw(st.sampled_from(self.queue.letters))
        if model.status != "processing" or model.holder != worker:
            with pytest.raises(Conflict):
                self.real.renew(model.id, 300, worker)
            return
        self.real.renew(model.id, 300, worker)
        model.expired = False

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data(), worker=WORKERS)
    def release(self, data: st.DataObject, worker: str) -> None:
        model = data.draw(st.sampled_from(self.queue.letters))
        if model.status != "processing" or model.holder != worker:
            with pytest.raises(Conflict):
                self.real.release(model.id, worker)
            return
        self.real.release(model.id, worker)
        model.free()

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data(), worker=st.none() | WORKERS, verb=st.sampled_from(["resolve", "discard"]))
    def settle(self, data: st.DataObject, worker: str | None, verb: str) -> None:
        model = data.draw(st.sampled_from(self.queue.letters))
        if not (model.may_settle(ACTOR) if worker is None else model.is_held_by(worker)):
            with pytest.raises(Conflict):
                getattr(self.real, verb)(model.id, by="w1", worker=worker)
            return
        getattr(self.real, verb)(model.id, by="w1", worker=worker)
        model.free({"resolve": "resolved", "discard": "discarded"}[verb])

    @precondition(lambda self: self.queue.letters)
    @rule(data=st.data(), worker=WORKERS)
    def fail_again(self, data: st.DataObject, worker: str) -> None:
        model = data.draw(st.sampled_from(self.queue.letters))
        if not model.may_settle(worker):
            with pytest.raises(Conflict):
                self.real.failed_again(model.id, "no", worker)
            return
        self.real.failed_again(model.id, "no", worker)
        model.free()
        model.count += 1

    @rule(limit=st.none() | st.integers(1, 3), bad=st.sampled_from([0, 1, 2]), batch=st.integers(1, 3))
    def replay(self, limit: int | None, bad: int, batch: int) -> None:
        called: list[str] = []

        def callback(letter: DeadLetter) -> None:
            called.append(letter.id)
            if letter.record_data["qty"] == bad:
                raise ValueError("still bad")

        expected = self.queue.claimable()[:limit]
        done = self.real.replay(callback, limit=limit, batch=batch, dry_run=False)
        assert called == [model.id for model in expected]
        failed = [model for model in expected if model.record["qty"] == bad]
        incomplete = sum("password" in model.record for model in expected)
        assert (done.total, done.failed, done.skipped, done.incomplete) == (len(expected), len(failed), 0, incomplete)
        for model in expected:
            model.free("pending" if model in failed else "resolved")
            model.count += model in failed

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        found = [
            (letter.id, letter.status, letter.error_count, letter.claimed_by, letter.record_data)
            for letter in reversed(self.real.list(limit=1_000))
        ]
        assert found == [(model.id, model.status, model.count, model.holder, model.record) for model in self.queue.letters]


def test_dead_letters_behave_as_the_model_says(ledger: Ledger) -> None:
    share = 0.7 if ledger.database.dialect == "sqlite" else 0.2
    run_state_machine_as_test(
        type("OnThisLedger", (LetterMachine,), {"ledger": ledger}),
        settings=tried(share, stateful_step_count=25, suppress_health_check=list(HealthCheck)),
    )
