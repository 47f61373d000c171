"""The MetadataManager: every call works on a URL and on an open ledger, waits or is awaited, and gives back what was put in."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from contract.making import dump, opened, rows, wait_until
from lakeledger import Conflict, Invalid, Ledger, NotFound, aio, sync
from lakeledger.sync import DeadLetter, LsnPosition, MetadataManager, SyncRunStatistics, SyncStatus
from postgres_server import Server

MONGO = {"resume_token": {"_data": "8265A4"}, "cluster_time": "7123456789012345678", "timestamp": "2026-01-02T03:04:05+00:00"}


@pytest.fixture
def manager(url: str) -> Iterator[MetadataManager]:
    with MetadataManager(url, enable_cleanup=False) as opened_here:
        yield opened_here


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_table_name_does_not_stand_for_the_schema(manager: MetadataManager, name: str) -> None:
    manager.update_stream_position("shop", {"lsn": "0/1"})
    with pytest.raises(Invalid, match=r"table name .* of shop is empty: leave it out for the whole schema"):
        manager.update_stream_position("shop", {"lsn": "0/2"}, table_name=name)
    with pytest.raises(Invalid, match="is empty"):
        manager.get_stream_position("shop", name)
    assert manager.get_stream_position("shop") == {"lsn": "0/1"}


@pytest.mark.parametrize(
    "document",
    [
        MONGO,
        {"resume_token": {"_data": "only the token"}},
        {"lsn": "16/B374D848", "txId": 555},
        {"lsn": 24023128},
        {"file": "mysql-bin.000003", "pos": 154, "row": 0},
        {"gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
        {"offsets": {"orders": {"0": 42, "1": 7}}},
        {"snapshot_id": 5, "sequence_number": 3},
        {"version": 12},
        {"version": "12"},
        {"value": "0042"},
        {"timestamp": "2026-01-02T03:04:05.000006Z"},
        {"cursor": "anything", "nested": {"a": [1, None, True]}},
    ],
)
def test_a_position_comes_back_as_it_was_given_also_to_who_never_read_it(manager: MetadataManager, url: str, document: Any) -> None:
    manager.update_stream_position("ecommerce", document)
    assert manager.get_stream_position("ecommerce") == document
    with MetadataManager(url, enable_cleanup=False) as other:
        assert other.get_stream_position("ecommerce") == document


def test_schema_table_and_marker_type_each_have_a_position_of_their_own(manager: MetadataManager) -> None:
    at = datetime(2023, 12, 1, 10, 30, tzinfo=UTC)
    manager.update_stream_position("shop", {"lsn": "0/1"})
    manager.update_stream_position("shop", {"lsn": "0/2"}, table_name="orders")
    manager.update_batch_timestamp("shop", at, table_name="orders")
    manager.update_initial_position("shop", {"lsn": "0/3"}, table_name="orders")
    assert manager.get_stream_position("shop") == {"lsn": "0/1"}
    assert manager.get_stream_position("shop", "orders") == {"lsn": "0/2"}
    assert manager.get_batch_timestamp("shop", "orders") == at
    assert manager.get_initial_position("shop", "orders") == {"lsn": "0/3"}
    assert manager.get_stream_position("shop", "other") is None
    assert manager.get_batch_timestamp("shop") is None
    assert [(each.table_name, each.marker_type) for each in manager.get_active_markers("shop")] == [
        (None, "stream"),
        ("orders", "batch"),
        ("orders", "initial"),
        ("orders", "stream"),
    ]
    assert manager.get_active_markers("other") == []


def test_a_position_does_not_go_back_unless_forced_and_that_is_audited(manager: MetadataManager) -> None:
    manager.update_stream_position("shop", LsnPosition("1/0"))
    with pytest.raises(Conflict, match=r"would go back from {'lsn': '1/0'} to {'lsn': '0/FFFFFFFF'}"):
        manager.update_stream_position("shop", {"lsn": "0/FFFFFFFF"})
    manager.update_stream_position("shop", {"lsn": "0/FFFFFFFF"}, force=True, reason="restored from a backup")
    history = manager.capture.positions.history(manager.get_active_markers()[0].source)
    assert [(change.forced, change.reason) for change in history] == [(True, "restored from a backup"), (False, None)]


def test_a_free_document_is_ordered_by_the_field_it_names(manager: MetadataManager) -> None:
    manager.update_stream_position("shop", {"cursor": 10}, order_by="cursor")
    for worse in ({"cursor": 9}, {"cursor": -1}):
        with pytest.raises(Conflict, match="would go back"):
            manager.update_stream_position("shop", worse, order_by="cursor")
    with pytest.raises(Conflict, match="has an order that"):
        manager.update_stream_position("shop", {"cursor": 99})
    with pytest.raises(Invalid, match="has no 'offset' to be ordered by"):
        manager.update_stream_position("shop", {"cursor": 99}, order_by="offset")
    manager.update_stream_position("shop", {"cursor": 100}, order_by="cursor")


@pytest.mark.parametrize("empty", [{}, {"lsn": None}])
def test_an_empty_document_is_no_position(manager: MetadataManager, empty: dict[str, Any]) -> None:
    for update in (manager.update_stream_position, manager.update_initial_position):
        with pytest.raises(Invalid, match="is no position: it names no place"):
            update("shop", empty)
    assert manager.get_active_markers() == []


@pytest.mark.parametrize("empty", [{}, None])
def test_an_empty_record_is_no_dead_letter(manager: MetadataManager, empty: dict[str, Any] | None) -> None:
    with pytest.raises(Invalid, match=r"a dead letter of shop.orders needs its record, not (\{\}|None)"):
        manager.add_to_dead_letter_queue("shop", "orders", "insert", empty)
    error = manager.log_error("shop", "orders", "validation", "no such date", record_data=empty)
    assert (error.record_data, error.dead_letter_id) == (None, None)


@pytest.mark.parametrize("nonsense", ["0/16B3748", True, 7.5, float("inf"), Decimal("NaN"), None, ["a"], LsnPosition])
def test_what_is_no_document_is_no_position(manager: MetadataManager, nonsense: Any) -> None:
    with pytest.raises(Invalid, match=r"a position is a document|not a number position"):
        manager.update_stream_position("shop", nonsense)


def test_a_time_without_a_zone_is_refused(manager: MetadataManager) -> None:
    with pytest.raises(Invalid, match="needs a time with a time zone"):
        manager.update_batch_timestamp("shop", datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


def test_a_batch_position_that_is_no_time_is_not_taken_for_one(ledger: Ledger) -> None:
    ledger.positions.advance("shop", LsnPosition("0/1"))
    with pytest.raises(Invalid, match="is a lsn, not a timestamp"):
        MetadataManager(ledger).get_batch_timestamp("shop")


def test_an_open_ledger_is_used_and_left_open(ledger: Ledger) -> None:
    with MetadataManager(connection_pool=ledger, metadata_schema="cartridge_warp", enable_cleanup=True, retention_days=30) as manager:
        manager.update_stream_position("shop", {"lsn": "0/1"})
    assert [marker.position_data for marker in ledger.positions.list()] == [{"lsn": "0/1"}]


@pytest.mark.parametrize("place", ["", "  "])
def test_a_place_that_is_empty_is_not_taken_for_the_default(ledger: Ledger, url: str, place: str) -> None:
    for words in ({"connection_pool": place}, {"connection_pool": url, "tenant": place}, {"connection_pool": ledger, "tenant": place}):
        with pytest.raises(Invalid, match="cannot be empty"):
            MetadataManager(**words)
    with pytest.raises(Invalid, match="that of tenant 'default', not 'other'"):
        MetadataManager(ledger, tenant="other")


@pytest.mark.parametrize("foreign", [None, object(), 5, b"sqlite:///x.db", {"url": "sqlite:///x.db"}])
@pytest.mark.parametrize("manager", [sync.MetadataManager, aio.MetadataManager])
def test_a_foreign_object_is_no_connection(manager: Any, foreign: Any) -> None:
    with pytest.raises(Invalid, match=f"connection_pool is a {type(foreign).__name__}, which is neither the URL of a ledger nor"):
        manager(connection_pool=foreign)


def test_it_may_be_used_before_it_is_initialised_and_initialised_twice(url: str) -> None:
    manager = MetadataManager(url)
    assert manager.get_stream_position("shop") is None
    manager.initialize()
    manager.initialize()
    manager.close()
    manager.close()
    with pytest.raises(Invalid, match="is closed: make a new one"):
        manager.get_stream_position("shop")


def test_on_postgresql_the_tables_are_in_the_schema_that_was_named(postgres: Server) -> None:
    manager = MetadataManager(postgres.url(), metadata_schema="cartridge_warp", enable_cleanup=False)
    try:
        manager.initialize()
        manager.start_sync_run("shop", "stream")
        with manager.capture.store.read() as tx:
            from lakeledger.db.queries import statement

            assert tx.all(statement("select schema_name from cartridge_warp.sync_runs")) == [{"schema_name": "shop"}]
            assert tx.one(statement("select current_schema() as name")) == {"name": "cartridge_warp"}
    finally:
        manager.close()
        postgres.drop_schema("cartridge_warp")


@pytest.mark.parametrize("name", ["Cartridge", "a b", 'x"; drop schema public; --', "", "x" * 64])
def test_a_schema_name_that_would_need_quotes_is_refused(url: str, name: str) -> None:
    with pytest.raises(Invalid, match="must match"):
        MetadataManager(url, metadata_schema=name).initialize()


def test_it_cleans_up_in_the_background_only_if_wanted(url: str) -> None:
    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "cleanup"]

    with MetadataManager(url, enable_cleanup=True):
        assert threads() == ["cleanup"]
    wait_until(lambda: threads() == [])
    with MetadataManager(url, enable_cleanup=False):
        assert threads() == []


def test_retention_days_are_those_of_the_manager_unless_the_call_says_otherwise(url: str) -> None:
    with MetadataManager(url, enable_cleanup=False, retention_days=0) as manager:
        run = manager.start_sync_run("shop", "batch")
        manager.complete_sync_run(run.id)
        assert manager.cleanup_old_metadata(retention_days=1, dry_run=True)["pipeline_runs"] == 0
        assert manager.cleanup_old_metadata()["pipeline_runs"] == 1


def test_errors_go_from_the_log_through_retries_to_the_dead_letters_and_back(manager: MetadataManager) -> None:
    error = manager.log_error("shop", "orders", "connection", "no answer", record_data={"id": 1}, operation_type="insert", max_retries=2)
    assert manager.get_due_errors() == []
    manager.retry_failed(error.id, "no answer again")
    exhausted = manager.retry_failed(error.id, RuntimeError("still none"))
    (letter,) = manager.claim_dead_letters("ann")
    assert (letter.id, letter.record_data, letter.error_log_id) == (exhausted.dead_letter_id, {"id": 1}, error.id)
    assert manager.claim_dead_letters("bob") == []
    settled = manager.resolve_dead_letter(letter.id, "repaired by hand", "ann", "the date was wrong", worker="ann")
    assert (settled.status, settled.resolution_method, settled.resolved_by) == ("resolved", "repaired by hand", "ann")
    assert manager.capture.errors.get(error.id).status == "resolved"


def test_errors_and_letters_can_be_settled_by_hand(manager: MetadataManager) -> None:
    first, second, third = (manager.log_error("shop", None, "timeout", f"slow {word}") for word in ("one", "two", "three"))
    assert manager.resolve_error(first.id, "restarted", "ann").resolution_note == "restarted"
    assert manager.ignore_error(second.id).status == "ignored"
    manager.retry_failed(third.id)
    assert manager.retry_succeeded(third.id).status == "resolved"
    letter = manager.add_to_dead_letter_queue("shop", "orders", "delete", {"id": 1})
    assert manager.discard_dead_letter(letter.id, "ann", "test data").status == "discarded"
    with pytest.raises(Conflict):
        manager.discard_dead_letter(letter.id)


def test_letters_are_replayed_through_a_callback(manager: MetadataManager) -> None:
    for number in range(3):
        manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": number})
    applied: list[int] = []

    def apply(letter: DeadLetter) -> None:
        if letter.record_data["id"] == 1:
            raise ValueError("still bad")
        applied.append(letter.record_data["id"])

    assert manager.reprocess_dead_letters(apply, "shop", "orders").total == 3
    assert applied == []
    done = manager.reprocess_dead_letters(apply, "shop", "orders", dry_run=False)
    assert (applied, done.replayed, done.failed) == ([0, 2], 2, 1)


def test_a_secret_that_came_with_a_run_is_known_in_everything_after_it(manager: MetadataManager, url: str) -> None:
    run = manager.start_sync_run("shop", "stream", source_info={"password": "CANARY-ONE"}, destination_info={"dsn": "x://u:CANARY-TWO@h"})
    manager.log_error(
        "shop",
        "orders",
        "connection",
        "login with CANARY-ONE failed",
        run.id,
        error_details={"tried": ["CANARY-TWO"]},
        stack_trace="connect('CANARY-ONE')",
        record_data={"comment": "CANARY-TWO"},
    )
    manager.add_to_dead_letter_queue("shop", "orders", "insert", {"note": "CANARY-ONE"}, error_message="CANARY-TWO")
    manager.complete_sync_run(run.id, "failed", None, "CANARY-ONE", {"x": "CANARY-TWO"})
    with opened(url) as ledger:
        assert "CANARY" not in str(dump(ledger))


def test_every_public_method_can_be_awaited() -> None:
    here = {name for name, method in vars(sync.MetadataManager).items() if inspect.isfunction(method) and not name.startswith("_")}
    assert len(here) > 25
    for name in here:
        method = getattr(aio.MetadataManager, name)
        assert inspect.iscoroutinefunction(method), name
        assert inspect.signature(method) == inspect.signature(getattr(sync.MetadataManager, name)), name
        assert method.__doc__ == getattr(sync.MetadataManager, name).__doc__


def test_everything_that_sync_gives_aio_gives_too() -> None:
    for name in sync.__all__:
        assert hasattr(aio, name), name
    assert aio.MetadataManager.__module__ == "lakeledger.aio"
    assert aio.SyncStatus is sync.SyncStatus


def test_awaited_calls_do_the_same_and_do_not_hold_up_the_loop(url: str) -> None:
    async def work() -> Any:
        async with aio.MetadataManager(url, enable_cleanup=False) as manager:
            await asyncio.gather(*(manager.update_stream_position(f"s{number}", {"lsn": f"0/{number}"}) for number in range(20)))
            run = await manager.start_sync_run("shop", "stream")
            ended = await manager.complete_sync_run(run.id, SyncStatus.COMPLETED, SyncRunStatistics(5))
            with pytest.raises(NotFound):
                await manager.complete_sync_run("nobody", SyncStatus.COMPLETED)
            return ended, await manager.get_active_markers()

    ended, markers = asyncio.run(work())
    assert (ended.status, ended.records_processed, len(markers)) == ("completed", 5, 20)
    with opened(url) as ledger:
        assert len(rows(ledger, "select * from sync_markers")) == 20


def test_many_first_uses_at_once_open_one_store_and_close_leaves_no_thread(url: str) -> None:
    def heartbeats() -> int:
        return sum(thread.name == "heartbeats" for thread in threading.enumerate())

    async def work() -> int:
        manager = aio.MetadataManager(url, enable_cleanup=False)
        await asyncio.gather(*(manager.start_sync_run(f"s{number}", "stream") for number in range(5)))
        alive = heartbeats()
        await manager.close()
        return alive

    before = heartbeats()
    assert asyncio.run(work()) == before + 1
    wait_until(lambda: heartbeats() == before)


def test_an_async_callback_is_awaited_for_each_letter(url: str) -> None:
    applied: list[int] = []

    async def apply(letter: DeadLetter) -> None:
        await asyncio.sleep(0)
        applied.append(letter.record_data["id"])

    async def work() -> Any:
        async with aio.MetadataManager(url, enable_cleanup=False) as manager:
            for number in range(3):
                await manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": number})
            return await manager.reprocess_dead_letters(apply, dry_run=False)

    assert asyncio.run(work()).replayed == 3
    assert applied == [0, 1, 2]


def test_more_callbacks_than_threads_may_await_the_manager(url: str) -> None:
    callbacks = min(32, (os.cpu_count() or 1) + 4) + 1

    async def work() -> list[int]:
        all_wait = asyncio.Barrier(callbacks)
        async with aio.MetadataManager(url, enable_cleanup=False) as manager:
            for number in range(callbacks):
                await manager.add_to_dead_letter_queue(f"s{number}", "orders", "insert", {"id": number})

            async def apply(letter: DeadLetter) -> None:
                await all_wait.wait()
                await manager.update_stream_position(letter.schema_name, {"lsn": "0/1"})

            replays = (manager.reprocess_dead_letters(apply, f"s{number}", dry_run=False) for number in range(callbacks))
            return [done.replayed for done in await asyncio.wait_for(asyncio.gather(*replays), 60)]

    assert asyncio.run(work()) == [1] * callbacks


def test_a_replay_that_is_cut_short_leaves_its_letters_as_they_were(url: str) -> None:
    manager = aio.MetadataManager(url, enable_cleanup=False)

    async def work() -> None:
        began = asyncio.Event()

        async def never(_: DeadLetter) -> None:
            began.set()
            await asyncio.Event().wait()

        for number in range(2):
            await manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": number})
        replay = asyncio.create_task(manager.reprocess_dead_letters(never, dry_run=False))
        await began.wait()
        replay.cancel()

    asyncio.run(work())
    with opened(url) as ledger:
        wait_until(lambda: all(letter.status == "pending" for letter in ledger.dead_letters.list()))
        assert [letter.error_count for letter in ledger.dead_letters.list()] == [1, 1]
    asyncio.run(manager.close())


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf")])
def test_days_that_make_no_sense_are_refused_at_once(url: str, days: float) -> None:
    with pytest.raises(Invalid, match="retention"):
        MetadataManager(url, retention_days=days)


@pytest.mark.parametrize("hours", [-1, float("nan")])
def test_hours_that_make_no_sense_are_refused(manager: MetadataManager, hours: float) -> None:
    with pytest.raises(Invalid, match="max_age_hours"):
        manager.recover_failed_runs(hours)


def test_the_manager_cleans_up_sync_runs_and_leaves_those_of_pipelines(ledger: Ledger) -> None:
    with ledger.run("nightly"):
        pass
    with MetadataManager(ledger, enable_cleanup=False, retention_days=0) as manager:
        manager.complete_sync_run(manager.start_sync_run("shop", "batch").id)
        assert manager.cleanup_old_metadata()["pipeline_runs"] == 1
    assert [run.pipeline_id for run in ledger.runs.list()] == ["nightly"]


def test_records_that_differ_only_in_a_secret_are_two_letters_and_neither_counts_as_whole(manager: MetadataManager) -> None:
    manager.start_sync_run("shop", "stream", source_info={"password": "s3cr3t-s3cr3t"})
    letters = [
        manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": 1, "password": word}) for word in ("aaaaaaaa", "bbbbbbbb")
    ]
    said = manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": 2, "note": "said s3cr3t-s3cr3t"})
    assert len({letter.id for letter in letters}) == 2
    assert [letter.record_complete for letter in (*letters, said)] == [False, False, False]
