"""One load, whatever its source: what the caller and the source each bring is kept, and what was done is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from integration.frames import rows
from lakeledger import Invalid, Ledger, NumberPosition, Unavailable
from lakeledger.commit import Commit
from lakeledger.db import Store, Transaction
from lakeledger.pipelines.apply import Write
from lakeledger.pipelines.load import load
from lakeledger.pipelines.sources import Reading, Seen
from lakeledger.sync import Advance, Source
from lakeledger.tables import parse_name

SHOP = Source("shop", "prices")


@dataclass(frozen=True)
class Prices:
    """The whole price list, each time it is asked for; the position is the number of the list."""

    number: int
    frame: bool = True
    reading: dict[str, Any] = field(default_factory=dict)
    name: Source = SHOP

    def plan(self, seen: Seen) -> Reading:
        move = Advance(self.name, NumberPosition(self.number), seen.marker.version if seen.marker else 0)
        frame = (lambda spark: nullcontext(spark.sql(f"select {self.number} as price"))) if self.frame else None
        return Reading(frame, f"list-{self.number}", move, **self.reading)


@dataclass
class Note:
    """An effect that notes the commits that it was written with."""

    seen: list[int] = field(default_factory=list)

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - what it is given
        self.seen += [each.version for each in committed.tables] or [0]


def test_what_the_caller_and_the_source_bring_are_both_kept(sqlite_lake: Ledger) -> None:
    called: list[str] = []
    own, theirs = Note(), Note()
    into = Write(
        parse_name("prices"), "overwrite", effects=(own,), summary={"asked_by": "ann"}, confirm=lambda: called.append("the caller's")
    )
    reading = {"effects": (theirs,), "summary": {"list": 1}, "confirm": lambda: called.append("the source's")}
    with sqlite_lake.run("prices") as run:
        load(sqlite_lake.context(), Prices(1, reading=reading), into, run.fence)
    assert (own.seen, theirs.seen) == ([1], [1])
    assert called == ["the caller's", "the source's"]
    (version,) = sqlite_lake.tables.history("prices")
    assert {"asked_by": "ann", "list": 1}.items() <= version.summary.items()


def test_a_list_is_loaded_once_and_again_after_its_position_was_set_back(lake: Ledger) -> None:
    assert lake.load(Prices(3), "prices", mode="overwrite").committed is not None
    assert lake.load(Prices(3), "prices", mode="overwrite").committed is None
    lake.positions.advance(SHOP, NumberPosition(1), force=True, reason="the list was wrong")
    assert lake.load(Prices(3), "prices", mode="overwrite").committed is not None
    assert lake.positions.get(SHOP).position == NumberPosition(3)
    assert rows(lake.read("prices")) == [(3,)]


def test_a_source_that_gives_only_what_is_new_is_not_taken_for_a_window_or_for_everything(sqlite_lake: Ledger) -> None:
    with pytest.raises(Invalid, match=r"shop\.prices cannot be loaded with a full refresh: it gives only what is new"):
        sqlite_lake.load(Prices(1), "prices", full_refresh=True)
    with pytest.raises(Invalid, match=r"shop\.prices cannot be loaded by a window: it has no watermark"):
        sqlite_lake.load(Prices(1), "prices", window=(1, 2))
    assert sqlite_lake.tables.find("prices") is None


def test_a_move_without_rows_whose_answer_was_lost_is_not_made_twice(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    note = Note()
    with ledger.run("prices") as run:
        context = ledger.context()
        store = _losing_the_answer(context.store, monkeypatch)
        load(replace(context, store=store), Prices(7, frame=False, reading={"effects": (note,)}), Write(parse_name("prices")), run.fence)
    marker = ledger.positions.get(SHOP)
    assert (marker.position, marker.version) == (NumberPosition(7), 1)
    assert note.seen == [0]


def _losing_the_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose next write is committed and then said to have failed, as when the connection breaks just then."""
    real: Callable[..., Any] = store.database.transaction
    lost: list[bool] = []

    @contextmanager
    def transaction(tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        with real(tenant_id, write=write) as tx:
            yield tx
        if write and not lost:
            lost.append(True)
            raise Unavailable("the connection is lost")

    monkeypatch.setattr(store.database, "transaction", transaction)
    return store
