"""How events are delivered: in order, again when they failed, parked in the end; and what a subscriber that is not well gets instead."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from contract.delivering import Recorder, Recorders, Stage, delivering, head, load, numbers
from contract.making import execute, rows, wait_until
from lakeledger import Ledger
from lakeledger.events import Event
from lakeledger.events import lanes as lanes_module
from lakeledger.events import subscription as subscription_module
from lakeledger.sync.dead_letters import DeadLetter

ORDERS, ITEMS = "silver.orders", "silver.items"


def poisoned(*names: str) -> Any:
    def handle(event: Event[Any]) -> None:
        if event.data.file_name in names:
            raise ValueError(f"cannot handle {event.data.file_name}")

    return handle


def following(ledger: Ledger, handle: Any = lambda _: None, **settings: Any) -> tuple[Stage, Recorder]:
    """A subscription that has begun, on an empty ledger."""
    recorder = Recorder("default", ["table_files"], handle)
    stage = Stage(ledger, recorder, **settings)
    stage.pass_time()
    assert recorder.refreshes == 1
    return stage, recorder


def lanes(ledger: Ledger) -> list[tuple[int, int]]:
    return [(row["next_seq"], row["attempts"]) for row in rows(ledger, "select * from delivery order by next_seq")]


def cursor(ledger: Ledger) -> dict[str, Any]:
    (row,) = rows(ledger, "select * from subscriber_cursor")
    return row


def names(recorder: Recorder) -> list[str]:
    return [event.data.file_name for event in recorder.seen]


# Again, and in order


def test_an_event_that_fails_is_tried_thirty_times_again_with_growing_pauses_and_then_parked(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"), breaker_failures=1_000)
    load(ledger, name="bad")
    load(ledger, name="good")
    stage.pass_time(40)
    assert [event.data.file_name for event in recorder.tried] == ["bad"] * 31 + ["good"]
    pauses = [wait for wait in stage.waits if wait != 0.5]
    assert pauses[:29] == pytest.approx([1, 2, 4, 8, 16, 32, *[60] * 23])
    (letter,) = ledger.events.parked("sub")
    bad = numbers(ledger)[0]
    assert (letter.item_kind, letter.source_record_id, letter.table_name, letter.operation_type) == ("event", f"sub/{bad}", "sub", "insert")
    assert (letter.error_message, letter.record_data["after"]["file_name"]) == ("ValueError: cannot handle bad", "bad")
    assert lanes(ledger) == []
    assert cursor(ledger)["seq"] == head(ledger)


def test_the_cursor_passes_an_event_that_fails_because_its_lane_has_a_row(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"))
    load(ledger, ORDERS, "bad")
    load(ledger, ITEMS, "other")
    load(ledger, ORDERS, "late")
    stage.work()
    stage.save()
    assert names(recorder) == ["other"]
    assert cursor(ledger)["seq"] == head(ledger)
    (row,) = rows(ledger, "select * from delivery")
    assert (row["next_seq"], row["attempts"], row["registry_table"]) == (numbers(ledger)[0], 1, "table_files")
    assert row["error"] == "ValueError: cannot handle bad"
    assert row["retry_at"] is not None
    recorder.handle = lambda _: None
    stage.pass_time(3)
    assert names(recorder) == ["other", "bad", "late"]
    assert lanes(ledger) == []


def test_a_lane_goes_on_where_it_was_after_a_crash_and_keeps_its_order(ledger: Ledger) -> None:
    stage, _ = following(ledger, poisoned("bad"))
    for name in ("one", "bad", "two", "three"):
        load(ledger, ORDERS, name)
    load(ledger, ITEMS, "other")
    stage.work()
    stage.save()
    load(ledger, ORDERS, "four")
    again = Recorder("default", ["table_files"])
    after_crash = Stage(ledger, again)
    after_crash.work()
    assert (names(again), again.refreshes) == ([], 0), "its pause is not over"
    after_crash.now += 60
    after_crash.pass_time(3)
    assert names(again) == ["bad", "two", "three", "four"]
    assert lanes(ledger) == []
    assert cursor(ledger)["seq"] == head(ledger)


def test_what_was_not_written_down_is_delivered_again(ledger: Ledger) -> None:
    stage, recorder = following(ledger)
    load(ledger, ORDERS, "one")
    stage.work()
    assert names(recorder) == ["one"]
    again = Recorder("default", ["table_files"])
    Stage(ledger, again).work()
    assert names(again) == ["one"]


def test_a_lane_whose_row_goes_does_not_take_what_waits_behind_it(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"))
    load(ledger, ORDERS, "bad")
    load(ledger, ORDERS, "next")
    stage.work()
    stage.save()
    recorder.handle = poisoned("next")
    stage.now += 1
    stage.work()
    assert names(recorder) == ["bad"]
    stage.save()
    assert lanes(ledger) == [(numbers(ledger)[1], 1)]
    again = Recorder("default", ["table_files"])
    after_crash = Stage(ledger, again)
    after_crash.now += 60
    after_crash.pass_time(2)
    assert names(again) == ["next"]


def test_a_long_lane_is_read_from_the_log_and_nothing_of_it_is_lost(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "LANE_LIMIT", 3)
    monkeypatch.setattr(subscription_module, "REFILL", 2)
    stage, recorder = following(ledger, poisoned("f0"))
    for number in range(9):
        load(ledger, ORDERS, f"f{number}")
    stage.work()
    stage.save()
    assert lanes(ledger) == [(numbers(ledger)[0], 1)]
    assert cursor(ledger)["seq"] == head(ledger)
    recorder.handle = lambda _: None
    stage.now += 1
    stage.pass_time(2)
    assert names(recorder) == [f"f{number}" for number in range(9)]
    load(ledger, ORDERS, "f9")
    stage.pass_time(2)
    assert names(recorder)[-1] == "f9"
    assert lanes(ledger) == []


# Parked, and replayed


def test_parked_events_are_replayed_in_order_and_those_behind_one_that_fails_wait(ledger: Ledger) -> None:
    stage, _ = following(ledger, poisoned("a", "b", "c", "x"), retries=0, breaker_failures=1_000)
    for table, name in ((ORDERS, "a"), (ORDERS, "b"), (ITEMS, "x"), (ORDERS, "c")):
        load(ledger, table, name)
    stage.pass_time(5)
    assert len(ledger.events.parked("sub")) == 4
    assert ledger.events.replay("sub", None).total == 4
    later = Recorder("default", ["table_files"], poisoned("b"))
    done = ledger.events.replay("sub", later, dry_run=False)
    assert (names(later), done.replayed, done.failed, done.skipped) == (["a", "x"], 2, 1, 1)
    letters: list[DeadLetter] = ledger.events.parked("sub")
    assert [(letter.record_data["after"]["file_name"], letter.error_count) for letter in letters] == [("c", 1), ("b", 2)]
    last = Recorder("default", ["table_files"])
    assert ledger.events.replay("sub", last, dry_run=False).replayed == 2
    assert names(last) == ["b", "c"]
    assert last.seen[0].data == later.tried[1].data
    assert ledger.events.parked() == []
    assert ledger.events.replay("sub", last, dry_run=False).total == 0


# Not well


def test_the_breaker_opens_after_failures_in_a_row_and_health_decides(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"), breaker_failures=3)

    def ill() -> None:
        raise ConnectionError("no answer")

    recorder.health = ill
    load(ledger, ORDERS, "bad")
    load(ledger, ITEMS, "good")
    stage.pass_time(3)
    assert [event.data.file_name for event in recorder.tried] == ["bad", "good", "bad", "bad"]
    stage.waits.clear()
    stage.pass_time(12)
    tried = len(recorder.tried)
    assert recorder.probes >= 5
    assert (cursor(ledger)["state"], cursor(ledger)["error"]) == ("open", "ConnectionError: no answer")
    assert stage.waits == sorted(stage.waits), "it is asked ever more rarely"
    load(ledger, ITEMS, "meanwhile")
    stage.pass_time(3)
    assert len(recorder.tried) == tried, "an open breaker delivers nothing"
    assert lanes(ledger)[0][1] == 4, "and counts nothing"
    recorder.health = lambda: None
    recorder.handle = lambda _: None
    stage.pass_time(6)
    assert names(recorder) == ["good", "meanwhile", "bad"] or names(recorder) == ["good", "bad", "meanwhile"]
    assert (cursor(ledger)["state"], cursor(ledger)["error"]) == ("closed", None)


def test_a_subscriber_that_is_well_is_not_held_up_by_one_bad_event(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"), breaker_failures=2)
    load(ledger, ORDERS, "bad")
    stage.pass_time(4)
    assert recorder.probes
    before = stage.now
    load(ledger, ITEMS, "good")
    stage.work()
    stage.work()
    assert (names(recorder), stage.now) == (["good"], before)


def test_an_open_breaker_is_still_open_after_a_crash(ledger: Ledger) -> None:
    stage, recorder = following(ledger, poisoned("bad"), breaker_failures=1)
    recorder.health = lambda: (_ for _ in ()).throw(OSError("away"))
    load(ledger, ORDERS, "bad")
    stage.pass_time(3)
    again = Recorder("default", ["table_files"])
    after_crash = Stage(ledger, again)
    assert not after_crash.subscription.is_following
    after_crash.now += 60
    after_crash.pass_time(3)
    assert (again.probes, names(again)) == (1, ["bad"])


def test_a_call_that_hangs_is_given_up_and_the_subscriber_is_refreshed(ledger: Ledger) -> None:
    gate = threading.Event()

    def handle(event: Event[Any]) -> None:
        if event.data.file_name == "hangs":
            gate.wait(30)

    made = Recorders("table_files", handle=handle)
    try:
        with delivering(ledger, {"slow": made}, timeout_seconds=0.3):
            load(ledger, ORDERS, "first")
            wait_until(lambda: "default" in made.of and made.of["default"].refreshes == 1)
            wait_until(lambda: bool(ledger.events.lag()) and ledger.events.lag()[0].state == "closed")
            load(ledger, ORDERS, "hangs")
            load(ledger, ORDERS, "passed over")
            wait_until(lambda: made.of["default"].refreshes == 2)
            wait_until(lambda: ledger.events.lag()[0].state == "closed" and not ledger.events.lag()[0].behind)
            load(ledger, ORDERS, "after")
            wait_until(lambda: "after" in names(made.of["default"]))
            assert "passed over" not in names(made.of["default"]), "the refresh has seen it"
            gate.set()
    finally:
        gate.set()
    (told,) = ledger.errors.list(schema="lakeledger", table="astha")
    assert "on_event took longer than 0.3 s" in told.error_message
    assert "slow is refreshed from the ledger instead" in told.error_message
    assert told.status == "resolved"
    assert lanes(ledger) == []


def test_a_refresh_that_fails_is_tried_again_and_survives_a_crash(ledger: Ledger) -> None:
    load(ledger)
    recorder = Recorder("default", ["table_files"], refresh=lambda: (_ for _ in ()).throw(OSError("not yet")))
    stage = Stage(ledger, recorder)
    stage.pass_time(4)
    assert recorder.refreshes >= 3
    assert cursor(ledger)["state"] == "refreshing"
    assert any("on_refresh of sub failed, and is tried again: OSError: not yet" in (report or "") for report in stage.reports)
    again = Recorder("default", ["table_files"])
    after_crash = Stage(ledger, again)
    after_crash.pass_time(2)
    assert (again.refreshes, cursor(ledger)["state"]) == (1, "closed")


# The beginning


def test_who_comes_to_an_old_ledger_begins_with_a_refresh_and_misses_nothing_after_it(ledger: Ledger) -> None:
    load(ledger, ORDERS, "old")
    known: list[str] = []

    def refresh() -> None:
        known.extend(row["file_name"] for row in rows(ledger, "select file_name from table_files"))
        load(ledger, ORDERS, "meanwhile")

    recorder = Recorder("default", ["table_files"], refresh=refresh)
    stage = Stage(ledger, recorder)
    stage.pass_time(2)
    load(ledger, ORDERS, "new")
    stage.pass_time(2)
    assert (known, names(recorder)) == (["old"], ["meanwhile", "new"])


def test_without_a_gap_while_others_commit(ledger: Ledger, url: str) -> None:
    stop, loaded = threading.Event(), [0]

    def write() -> None:
        while not stop.is_set():
            load(ledger, ORDERS, f"f{loaded[0]}")
            loaded[0] += 1

    known: set[str] = set()
    made = Recorders(refresh=lambda: known.update(row["file_name"] for row in rows(ledger, "select file_name from table_files")))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: loaded[0] > 3)
        with delivering(ledger, {"sub": made}):
            wait_until(lambda: len(made.seen) > 5)
            stop.set()
            writer.join()
            wait_until(lambda: known | {event.data.file_name for event in made.seen} == {f"f{number}" for number in range(loaded[0])})
    finally:
        stop.set()
        writer.join()
    assert made.of["default"].seqs == sorted(made.of["default"].seqs)


def test_events_without_interest_move_the_cursor_too(ledger: Ledger) -> None:
    stage, recorder = following(ledger)
    execute(ledger, "update table_stats set row_count = row_count + 1")
    with ledger.run("nothing"):
        pass
    stage.pass_time(3)
    assert (recorder.tried, cursor(ledger)["seq"]) == ([], head(ledger))
