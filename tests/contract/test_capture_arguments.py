"""What callers have at hand is taken as it is: UUIDs as ids, numbers, documents and times as positions, texts as times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from contract.making import ORDERS, append, change, new_file, put
from lakeledger import Advance, Invalid, Ledger, NumberPosition, Source, TimestampPosition
from lakeledger.runs import cancelled
from lakeledger.sync import DocumentPosition, LsnPosition, MetadataManager, NewLetter, Target

AT = datetime(2023, 12, 1, 10, 30, tzinfo=UTC)
TEXTS = ["2023-12-01T10:30:00Z", "2023-12-01T11:30:00+01:00", "2023-12-01 10:30:00.000000Z"]


def test_ids_may_be_uuids_wherever_the_manager_takes_one(ledger: Ledger) -> None:
    with MetadataManager(ledger, enable_cleanup=False) as manager:
        run = manager.start_sync_run("shop", "stream", instance_id=uuid4(), node_id=uuid4())
        run_id = UUID(run.id)
        assert manager.get_sync_run(run_id).id == run.id
        assert manager.heartbeat(run_id)
        assert manager.update_stream_position("shop", {"lsn": "0/1"}, sync_run_id=run_id).sync_run_id == run.id
        assert manager.update_batch_timestamp("shop", AT, sync_run_id=run_id).sync_run_id == run.id
        assert manager.update_initial_position("shop", {"lsn": "0/1"}, sync_run_id=run_id).sync_run_id == run.id
        columns = {"columns": [{"name": "id", "type": "int"}]}
        assert manager.register_schema("shop", "orders", columns, sync_run_id=run_id).sync_run_id == run.id
        errors = [manager.log_error("shop", "orders", "timeout", "slow", sync_run_id=run_id) for _ in range(4)]
        ids = [UUID(error.id) for error in errors]
        assert manager.retry_failed(ids[0]).retry_count == 1
        letter = manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": 1}, run_id, ids[0], uuid4())
        assert (letter.sync_run_id, letter.error_log_id) == (run.id, errors[0].id)
        settled = [manager.retry_succeeded(ids[1]), manager.resolve_error(ids[2]), manager.ignore_error(ids[3])]
        assert [error.status for error in settled] == ["resolved", "resolved", "ignored"]
        assert manager.resolve_dead_letter(UUID(letter.id)).status == "resolved"
        other = manager.add_to_dead_letter_queue("shop", "orders", "insert", {"id": 2})
        assert manager.discard_dead_letter(UUID(other.id)).status == "discarded"
        assert manager.complete_sync_run(run_id).status == "completed"


def test_ids_may_be_uuids_wherever_the_slices_take_one(ledger: Ledger) -> None:
    key = uuid4()
    with ledger.run("orders", idempotency_key=key) as run:
        pass
    run_id = UUID(run.id)
    with ledger.run("again", parent_run_id=run_id, retry_of=run_id) as again:
        assert ledger.runs.get(again.id).parent_run_id == run.id
    assert ledger.runs.get(run_id).idempotency_key == str(key)
    assert ledger.runs.steps(run_id) == []
    assert ledger.explain(run_id).run_id == run.id
    assert [each.to_status for each in ledger.runs.transitions(run_id)] == ["PENDING", "RUNNING", "COMPLETED"]
    for verb, words in ((ledger.runs.cancel, ("why",)), (ledger.runs.finish, (cancelled("why"),))):
        with pytest.raises(Exception, match="has already ended: COMPLETED"):
            verb(run_id, *words)
    letter = ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": 7}))
    (held,) = ledger.dead_letters.claim(ids=[UUID(letter.id)])
    assert ledger.dead_letters.renew(UUID(held.id)).status == "processing"
    assert ledger.dead_letters.release(UUID(held.id)).status == "pending"
    assert ledger.dead_letters.failed_again(UUID(held.id), "no").error_count == 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (42, NumberPosition(42)),
        (42.0, NumberPosition(42)),
        (Decimal(42), NumberPosition(42)),
        (AT, TimestampPosition(AT)),
        ({"lsn": 160}, LsnPosition(160)),
        ({"value": 42}, NumberPosition(42)),
        ({"page": "x"}, DocumentPosition({"page": "x"})),
    ],
)
def test_a_position_may_be_a_number_a_time_or_a_document(ledger: Ledger, given: Any, kept: Any) -> None:
    assert ledger.positions.advance("shop.one", given).position == kept
    with ledger.run("load") as run:
        put(ledger, change(run, new_file("a"), position=Advance(Source("shop", "two"), given)))
    assert ledger.positions.get("shop.two").position == kept
    manager = MetadataManager(ledger, enable_cleanup=False)
    assert manager.update_stream_position("shop", given).position == kept
    assert manager.update_initial_position("shop", given).position == kept


def test_a_source_goes_back_to_a_number(ledger: Ledger) -> None:
    for number in (0, 10, 20):
        ledger.positions.advance("shop", number)
    for target, to in ((Target(to=0), 0), (Target(to={"value": 15}), 15)):
        assert ledger.positions.preview_rewind("shop", target).to == NumberPosition(to)


@pytest.mark.parametrize("lsn", [True, -1, 2**64])
def test_a_number_that_is_no_lsn_is_refused(lsn: int) -> None:
    with pytest.raises(Invalid, match="is no LSN: it has 64 bits"):
        LsnPosition(lsn)


def test_an_lsn_may_be_a_number(ledger: Ledger) -> None:
    assert (LsnPosition(160).document(), LsnPosition(160).order_key) == ({"lsn": 160}, LsnPosition("0/A0").order_key)
    ledger.positions.advance("shop", LsnPosition(160))
    assert ledger.positions.advance("shop", LsnPosition("0/A1")).position == LsnPosition("0/A1")


@pytest.mark.parametrize("text", TEXTS)
def test_a_time_may_be_a_text_with_a_zone(ledger: Ledger, text: str) -> None:
    manager = MetadataManager(ledger, enable_cleanup=False)
    manager.update_batch_timestamp("shop", text, "orders")
    assert manager.get_batch_timestamp("shop", "orders") == AT


def test_a_table_and_a_rewind_take_a_text_for_a_time(ledger: Ledger) -> None:
    append(ledger, new_file("a"), position=Advance(Source("shop"), 1))  # type: ignore[arg-type]
    then = ledger.positions.get("shop").last_updated.astimezone(timezone(timedelta(hours=1))).isoformat()
    append(ledger, new_file("b"), position=Advance(Source("shop"), 2))  # type: ignore[arg-type]
    assert ledger.tables.view(ORDERS, at=then).version == 1
    assert ledger.positions.preview_rewind("shop", Target(at=then)).to == NumberPosition(1)


@pytest.mark.parametrize("text", ["2023-12-01T10:30:00", "2023-12-01", "yesterday", "", 5, None])
def test_a_text_that_is_no_time_with_a_zone_is_refused(ledger: Ledger, text: Any) -> None:
    with pytest.raises(Invalid, match=r"time with a time zone|is no time: write it as 2026-01-31T12:00:00Z"):
        MetadataManager(ledger, enable_cleanup=False).update_batch_timestamp("shop", text)
