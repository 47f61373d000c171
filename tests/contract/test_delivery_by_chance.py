"""Whatever comes in which order: failures, crashes, pauses, slow tables. Every event is handled or parked, and the order is kept."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from contract.delivering import Recorder, Stage
from contract.making import execute, rows
from contract.test_storm import ADD_FILE, ADD_TABLE
from lakeledger import Ledger, clock
from lakeledger.events import Change, Event, feed, lanes, subscription

READ_LANE = feed.of_lane
TABLES = ["orders", "items", "people"]


class World:
    """One subscriber on a ledger, which crashes now and then."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.failing = 0.0
        self.is_well = True
        self.is_dead = False
        self.is_calm = False
        self.cursor = 0
        self.handled: list[tuple[str, int]] = []
        self.stage = self.start()

    def start(self) -> Stage:
        recorder = Recorder("default", ["table_files"], self.handle, health=self.health)
        return Stage(self.ledger, recorder, retries=3, breaker_failures=4, first_pause_seconds=1.0, longest_pause_seconds=4.0)

    def handle(self, event: Event[Any]) -> None:
        """Fail or not; and before or after that anything may happen."""
        if self.is_dead or self.chance.random() < self.failing:
            raise ValueError("by chance")
        self.meanwhile()
        if not self.is_dead:
            self.handled.append((event.data.table_id, event.seq))
            self.meanwhile()

    def meanwhile(self) -> None:
        """While an event is being handled others commit, it is written down how far it got, or everything ends."""
        match self.chance.randrange(24):
            case 0 if not self.is_calm:
                self.commit()
                self.stage.read()
            case 1:
                self.save()
            case 2 if not self.is_calm:
                self.is_dead = True

    def save(self) -> None:
        if not self.is_dead:
            self.stage.save()
            before, self.cursor = self.cursor, self.ledger.events.lag()[0].seq
            assert self.cursor >= before, "what was passed is not read again"

    def read_lane(self, *arguments: Any) -> Sequence[Change]:
        """Others commit while a lane is read from the log."""
        found = READ_LANE(*arguments)
        if not self.is_calm and self.chance.random() < 0.1:
            self.commit()
            self.stage.read()
        return found

    def health(self) -> None:
        if not self.is_well:
            raise OSError("not well")

    def commit(self) -> None:
        with self.ledger.store.write() as tx:
            files = [{"id": clock.new_id(), "table_id": self.chance.choice(TABLES)} for _ in range(self.chance.randint(1, 6))]
            tx.many(ADD_FILE, files)

    def step(self) -> None:
        """Something happens."""
        match self.chance.randrange(8):
            case 0 | 1:
                self.commit()
            case 2:
                self.failing, self.is_well = self.chance.choice([0.0, 0.3, 0.9]), self.chance.random() < 0.7
            case 3:
                self.save()
            case 4:
                self.is_dead = True
            case 5:
                self.stage.now += self.chance.choice([0.5, 2.0, 10.0])
            case _:
                self.stage.work()
        if self.is_dead:  # What was not written down is lost.
            self.is_dead, self.stage = False, self.start()

    def calm(self) -> None:
        """Everything works, for long enough."""
        self.failing, self.is_well, self.is_calm = 0.0, True, True
        for _ in range(40):
            self.stage.now += 5.0
            self.stage.work()
            self.save()


def in_order(numbers: list[int]) -> bool:
    """Whether each comes first when all before it have come: what is repeated after a crash begins further back, and goes on in order."""
    first = list(dict.fromkeys(numbers))
    return first == sorted(first)


@pytest.mark.parametrize("seed", range(12))
def test_every_event_is_handled_or_parked_in_order(ledger: Ledger, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANE_LIMIT", 3)
    monkeypatch.setattr(subscription, "TOTAL_LIMIT", 6)
    monkeypatch.setattr(subscription, "REFILL", 2)
    for name in TABLES:
        execute(ledger, ADD_TABLE, id=name)
    world = World(ledger, seed)
    monkeypatch.setattr(feed, "of_lane", world.read_lane)
    world.stage.work()
    world.save()
    for _ in range(150):
        world.step()
    world.calm()
    logged = {change.seq for change in ledger.changes.after(table="table_files", limit=None)}
    handled = {seq for _, seq in world.handled}
    parked = {int((letter.source_record_id or "").partition("/")[2]) for letter in ledger.events.parked(limit=1_000)}
    assert logged - handled - parked == set()
    assert rows(ledger, "select * from delivery") == []
    assert ledger.events.lag()[0].behind == 0
    by_table = defaultdict(list)
    for table, seq in world.handled:
        by_table[table].append(seq)
    assert all(in_order(numbers) for numbers in by_table.values())
