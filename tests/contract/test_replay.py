"""Replay: each letter is given to the callback once, and settled by how that went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

import lakeledger
from contract.lettering import expire_claim, fill, new
from contract.making import together, wait_until
from lakeledger import Invalid, Ledger, Unavailable
from lakeledger.config import CaptureSettings, Settings
from lakeledger.db import Database, Store, Transaction
from lakeledger.sync.dead_letters import DeadLetter, DeadLetters
from lakeledger.sync.errors import NewError
from lakeledger.sync.masking import Masking


def test_a_dry_replay_counts_and_calls_nothing(ledger: Ledger) -> None:
    before = fill(ledger, 3, error_message="row 1 is bad")
    ledger.dead_letters.add(new({"id": 9, "password": "hunter2"}, error_message="gone"))
    called: list[DeadLetter] = []
    plan = ledger.dead_letters.replay(called.append)
    assert (plan.dry_run, plan.total, plan.incomplete, plan.replayed, plan.failed) == (True, 4, 1, 0, 0)
    assert [(cause.count, cause.error_message) for cause in plan.groups] == [(3, "row 1 is bad"), (1, "gone")]
    assert called == []
    assert ledger.dead_letters.list()[1:] == before[::-1]


BUSINESS = {"account_key": "AB-1042", "subscription_key": 77, "storage_key": "2026/01", "pass": "yes", "sas": "12", "token": 5}


def test_a_record_with_innocent_columns_is_replayed_as_it_was(ledger: Ledger) -> None:
    ledger.dead_letters.add(new(BUSINESS))
    ledger.errors.log(NewError("shop", "lines", "validation", "account_key=1042 is not there", record_data=BUSINESS, max_retries=0))
    called: list[DeadLetter] = []
    done = ledger.dead_letters.replay(called.append, dry_run=False)
    assert (done.replayed, done.incomplete) == (2, 0)
    assert [letter.record_data for letter in called] == [BUSINESS, BUSINESS]
    assert called[1].error_message == "account_key=1042 is not there"


def test_an_unmasked_column_is_replayed_as_it_was(url: str, tmp_path: Path) -> None:
    capture = CaptureSettings(unmask=("token",))
    with lakeledger.open(Settings(url=url, warehouse=str(tmp_path / "warehouse"), capture=capture)) as ledger:
        letter = ledger.dead_letters.add(new({"token": "ETH", "password": "hunter2"}, error_message="token=ETH password=hunter2"))
        assert (letter.record_data, letter.error_message) == ({"token": "ETH", "password": "***"}, "token=ETH password=***")
        assert ledger.dead_letters.add(new({"token": "ETH"})).record_complete


def test_a_replay_gives_each_letter_out_once_and_settles_it(ledger: Ledger) -> None:
    letters = fill(ledger, 7)
    called: list[str] = []

    def callback(letter: DeadLetter) -> None:
        called.append(letter.id)
        if letter.record_data["id"] == 3:
            raise ValueError("still bad, password=hunter2")

    done = ledger.dead_letters.replay(callback, dry_run=False, batch=2)
    assert (done.total, done.replayed, done.failed, done.skipped, done.dry_run) == (7, 6, 1, 0, False)
    assert called == [letter.id for letter in letters]
    (left,) = ledger.dead_letters.list(status="pending")
    assert (left.id, left.error_count, left.error_message) == (letters[3].id, 2, "ValueError: still bad, password=***")
    (one, *_) = ledger.dead_letters.list(status="resolved")
    assert one.resolution_method == "reprocessed"
    assert (one.resolved_by or "").startswith(f"{ledger.worker.name} (replay ")


def test_a_second_replay_has_nothing_to_do(ledger: Ledger) -> None:
    fill(ledger, 3)
    called: list[DeadLetter] = []
    assert ledger.dead_letters.replay(called.append, dry_run=False).replayed == 3
    again = ledger.dead_letters.replay(called.append, dry_run=False)
    assert (again.total, again.replayed, len(called)) == (0, 0, 3)


def test_a_replay_takes_only_what_was_asked_for(ledger: Ledger) -> None:
    letters = fill(ledger, 3, error_message="bad")
    other = ledger.dead_letters.add(new(schema_name="shop", error_message="gone"))
    called: list[str] = []
    replay = ledger.dead_letters.replay
    replay(lambda letter: called.append(letter.id), schema="shop", table="orders", dry_run=False)
    replay(lambda letter: called.append(letter.id), fingerprint=letters[0].fingerprint, limit=2, dry_run=False)
    assert called == [other.id, letters[0].id, letters[1].id]
    with pytest.raises(Invalid, match="at least 1"):
        replay(print, limit=0)


def test_a_replay_leaves_alone_what_another_worker_holds(ledger: Ledger) -> None:
    letters = fill(ledger, 4)
    ledger.dead_letters.claim(2, worker="w1")
    expire_claim(ledger, letters[0])
    called: list[str] = []
    ledger.dead_letters.replay(lambda letter: called.append(letter.id), dry_run=False)
    assert called == [letters[0].id, letters[2].id, letters[3].id]


def test_a_replay_holds_no_transaction_while_the_callback_works(ledger: Ledger) -> None:
    fill(ledger, 2)
    logged: list[str] = []

    def callback(letter: DeadLetter) -> None:
        logged.append(ledger.errors.log(NewError("shop", None, "unknown", f"while {letter.id}")).id)

    assert ledger.dead_letters.replay(callback, dry_run=False).replayed == 2
    assert len(logged) == 2


def test_an_incomplete_record_is_given_out_with_its_id_at_the_source(ledger: Ledger) -> None:
    ledger.dead_letters.add(new({"id": 1, "password": "hunter2"}, source_record_id="mongo_1"))
    seen: list[tuple[bool, str | None]] = []
    done = ledger.dead_letters.replay(lambda letter: seen.append((letter.record_complete, letter.source_record_id)), dry_run=False)
    assert seen == [(False, "mongo_1")]
    assert (done.replayed, done.incomplete) == (1, 1)


def test_an_interrupted_replay_gives_back_what_it_did_not_finish(ledger: Ledger) -> None:
    letters = fill(ledger, 4)

    def callback(letter: DeadLetter) -> None:
        if letter.id == letters[1].id:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.dead_letters.replay(callback, dry_run=False)
    assert [(letter.id, letter.status, letter.error_count) for letter in ledger.dead_letters.list()] == [
        (letters[3].id, "pending", 1),
        (letters[2].id, "pending", 1),
        (letters[1].id, "pending", 1),
        (letters[0].id, "resolved", 1),
    ]


def test_a_record_that_changed_while_it_was_replayed_waits_again(ledger: Ledger) -> None:
    ledger.dead_letters.add(new({"qty": 1}, source_record_id="a"))
    done = ledger.dead_letters.replay(lambda _: void(ledger.dead_letters.add(new({"qty": 2}, source_record_id="a"))), dry_run=False)
    assert (done.replayed, done.skipped) == (0, 1)
    (letter,) = ledger.dead_letters.list(status="pending")
    assert letter.record_data == {"qty": 2}


def test_a_slow_replay_renews_what_it_holds(ledger: Ledger) -> None:
    letters = fill(ledger, 3)
    until: list[datetime | None] = []

    def callback(letter: DeadLetter) -> None:
        until.append(ledger.dead_letters.get(letters[2].id).claimed_until)
        expire_claim(ledger, letters[2])

    done = ledger.dead_letters.replay(callback, dry_run=False, seconds=0.000_001)
    assert (done.replayed, done.skipped) == (3, 0)
    assert len(set(until)) == 3


def test_a_callback_that_takes_long_keeps_its_letter_and_those_after_it(ledger: Ledger) -> None:
    letters = fill(ledger, 2)

    def held_until() -> list[datetime | None]:
        return [ledger.dead_letters.get(letter.id).claimed_until for letter in letters]

    def callback(letter: DeadLetter) -> None:
        if letter.id == letters[0].id:
            before = held_until()
            wait_until(lambda: all(now and then and now > then for now, then in zip(held_until(), before, strict=True)))

    assert ledger.dead_letters.replay(callback, dry_run=False, seconds=0.6).replayed == 2


def test_two_replays_at_once_share_the_letters(ledger: Ledger) -> None:
    fill(ledger, 30)
    called: list[str] = []
    done = together(lambda _: ledger.dead_letters.replay(lambda letter: called.append(letter.id), dry_run=False, batch=3), 2)
    assert len(called) == len(set(called)) == sum(each.replayed for each in done) == 30


def test_a_record_that_fails_again_while_it_is_replayed_waits_again(ledger: Ledger) -> None:
    ledger.dead_letters.add(new({"qty": 1}, source_record_id="a"))
    done = ledger.dead_letters.replay(lambda _: void(ledger.dead_letters.add(new({"qty": 1}, source_record_id="a"))), dry_run=False)
    assert (done.replayed, done.failed, done.skipped) == (0, 0, 1)
    (letter,) = ledger.dead_letters.list()
    assert (letter.status, letter.error_count) == ("pending", 2)


@pytest.mark.filterwarnings("error")
def test_a_callback_that_nobody_awaits_resolves_nothing(ledger: Ledger) -> None:
    before = fill(ledger, 3)
    called: list[str] = []

    async def callback(letter: DeadLetter) -> None:
        called.append(letter.id)

    with pytest.raises(Invalid, match=r"use lakeledger\.aio, or pass a plain function"):
        ledger.dead_letters.replay(callback, dry_run=False)
    assert called == []
    assert ledger.dead_letters.list() == before[::-1]


def test_known_secrets_are_hidden_in_what_a_callback_raises(ledger: Ledger) -> None:
    fill(ledger, 1)

    def callback(_: DeadLetter) -> None:
        raise ValueError("with orders-pw")

    ledger.dead_letters.replay(callback, dry_run=False, known=["orders-pw"])
    assert ledger.dead_letters.list()[0].error_message == "ValueError: with ***"


@dataclass
class Breaking:
    """A database whose next write fails: before it begins, or when it is committed and only the answer is lost."""

    database: Database
    breaks: str = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        breaks, self.breaks = (self.breaks, "") if write else ("", self.breaks)
        if breaks == "before":
            raise Unavailable("the database is away")
        with self.database.transaction(tenant_id, write=write) as tx:
            yield tx
        if breaks == "after":
            raise Unavailable("the connection broke")


def breaking(ledger: Ledger, outage_seconds: float) -> tuple[Breaking, DeadLetters]:
    database = Breaking(ledger.database)
    return database, DeadLetters(Store(cast("Database", database), ledger.store.tenant_id, outage_seconds), "ann", Masking())


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_a_short_outage_after_the_callback_replays_nothing_twice(ledger: Ledger, breaks: str) -> None:
    letters = fill(ledger, 3)
    database, queue = breaking(ledger, 60)
    called: list[str] = []

    def callback(letter: DeadLetter) -> None:
        called.append(letter.id)
        database.breaks = breaks
        if letter.id == letters[1].id:
            raise ValueError("still bad")

    done = queue.replay(callback, dry_run=False)
    assert (done.replayed, done.failed, done.skipped) == (2, 1, 0)
    assert called == [letter.id for letter in letters]
    assert [(letter.status, letter.error_count) for letter in ledger.dead_letters.list()] == [
        ("resolved", 1),
        ("pending", 2),
        ("resolved", 1),
    ]


def test_what_was_replayed_and_cannot_be_settled_stays_held_and_what_was_not_reached_is_given_back(ledger: Ledger) -> None:
    letters = fill(ledger, 2)
    database, queue = breaking(ledger, 0)
    called: list[str] = []

    def callback(letter: DeadLetter) -> None:
        called.append(letter.id)
        database.breaks = "before" if letter.id == letters[0].id else ""

    with pytest.raises(Unavailable, match="the database is away"):
        queue.replay(callback, dry_run=False)
    assert [letter.status for letter in ledger.dead_letters.list()] == ["pending", "processing"]
    assert queue.replay(callback, dry_run=False).replayed == 1
    assert called == [letters[0].id, letters[1].id]


def void(_: object) -> None:
    """What a callback gives back."""
