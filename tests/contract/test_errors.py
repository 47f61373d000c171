"""The error log: kept with its context, tried again with growing pauses, and settled once."""

from __future__ import annotations

import math
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from contract.making import execute, opened, rows
from lakeledger import Conflict, Invalid, Ledger, NotFound
from lakeledger.sync.errors import ErrorLog, ErrorType, NewError, OperationType

RECORD = {"id": 12345, "order_date": "2023-13-45", "amount": 12.5, "tags": ["a", None, True], "ship": {"to": "Łódź 📦"}}


def new(kind: str = "connection", message: str = "no answer", **more: Any) -> NewError:
    return NewError("ecommerce", "orders", kind, message, **more)


def let_time_pass(ledger: Ledger, error: ErrorLog) -> None:
    """Let an error's pause be over."""
    assert execute(ledger, "update error_log set retry_after = :now where id = :id", id=error.id) == 1


def test_an_error_comes_back_as_it_was_logged(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        error = ledger.errors.log(
            NewError(
                schema_name="ecommerce",
                table_name="orders",
                error_type=ErrorType.VALIDATION,
                error_message="Invalid date format in order_date field",
                sync_run_id=run.id,
                error_code="VAL_001",
                error_details={"field": "order_date", "value": "2023-13-45"},
                stack_trace="ValidationError: time data '2023-13-45' does not match format '%Y-%m-%d'",
                record_data=RECORD,
                operation_type=OperationType.INSERT,
                max_retries=3,
            )
        )
    assert ledger.errors.get(error.id) == error
    assert (error.status, error.retry_count, error.max_retries, error.dead_letter_id) == ("open", 0, 3, None)
    assert (error.sync_run_id, error.error_code, error.operation_type) == (run.id, "VAL_001", "insert")
    assert error.retry_after == error.occurred_at + timedelta(seconds=30)


def test_json_comes_back_as_what_it_was_and_not_as_text(ledger: Ledger) -> None:
    details = {"field": "order_date", "at": [1, 2.5, None]}
    error = ledger.errors.get(ledger.errors.log(new(record_data=RECORD, error_details=details)).id)
    assert error.record_data == RECORD
    assert error.error_details == details
    assert error.record_complete


def test_an_error_needs_no_more_than_a_place_a_kind_and_a_message(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("shop", None, "unknown", "it failed"))
    assert ledger.errors.get(error.id) == error
    assert (error.table_name, error.record_data, error.record_complete, error.error_details) == (None, None, True, None)


@pytest.mark.parametrize("kind", ["Connection", "CONNECTION", ErrorType.CONNECTION])
def test_kinds_may_be_written_in_any_case(ledger: Ledger, kind: str) -> None:
    assert ledger.errors.log(new(kind)).error_type == "connection"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (new("disk"), "'disk' is not one of connection, transformation, constraint, schema, timeout, permission, validation, unknown"),
        (new(operation_type="upsert"), "'upsert' is not one of insert, update, delete"),
        (new(max_retries=-1), "max_retries cannot be -1"),
        (NewError(" ", "orders", "unknown", "x"), "schema"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_kept(ledger: Ledger, wrong: NewError, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        ledger.errors.log(wrong)
    assert ledger.errors.list() == []


def test_an_exception_is_logged_with_its_kind_its_code_and_where_it_came_from(ledger: Ledger) -> None:
    def connect() -> None:
        raise ConnectionRefusedError(111, "refused by postgresql://ann:hunter2@db/shop")

    try:
        connect()
    except ConnectionRefusedError as refused:
        error = ledger.errors.log_exception("shop", "orders", refused, record_data={"id": 1}, operation_type="update")
    assert (error.error_type, error.error_code, error.max_retries) == ("connection", "ECONNREFUSED", 5)
    assert error.error_message.startswith("ConnectionRefusedError: [Errno 111] refused by postgresql://ann:***@db")
    assert error.stack_trace is not None
    assert "in connect" in error.stack_trace
    assert "raise ConnectionRefusedError" not in error.stack_trace
    assert ledger.errors.get(error.id) == error


def test_texts_are_cut_to_what_can_be_read_and_made_storable(ledger: Ledger) -> None:
    error = ledger.errors.log(new(message="m\0\ud800" + "x" * 5_000, stack_trace="first" + "y" * 30_000 + "last"))
    kept = ledger.errors.get(error.id)
    assert kept == error
    assert kept.error_message.startswith("m\\0\\ud800x")
    assert len(kept.error_message) == 2_000
    assert kept.stack_trace is not None
    assert len(kept.stack_trace) == 20_000
    assert kept.stack_trace.endswith("last")


def test_an_error_is_found_by_the_beginning_of_its_id(ledger: Ledger) -> None:
    first, second = ledger.errors.log(new()), ledger.errors.log(new())
    assert ledger.errors.get(first.id[:-4]) == first
    with pytest.raises(Invalid, match="several errors begin"):
        ledger.errors.get(first.id[:8])
    assert first.id[:8] == second.id[:8]
    for missing in ("", "abc", "zzzz", "0" * 40):
        with pytest.raises(NotFound, match="no error"):
            ledger.errors.get(missing)


def test_errors_are_listed_newest_first_a_page_at_a_time(ledger: Ledger) -> None:
    ids = [ledger.errors.log(new(message=f"row {number}")).id for number in range(7)]
    first = ledger.errors.list(limit=3)
    second = ledger.errors.list(limit=3, after=first.next)
    last = ledger.errors.list(limit=3, after=second.next)
    assert [error.id for error in (*first, *second, *last)] == ids[::-1]
    assert last.next is None


def test_errors_are_chosen_by_what_they_are(ledger: Ledger) -> None:
    one = ledger.errors.log(new("connection"))
    two = ledger.errors.log(NewError("ecommerce", "Lines", "schema", "gone"))
    three = ledger.errors.log(NewError("my_shop%", "orders", "schema", "gone"))
    ledger.errors.resolve(one.id)
    chosen: list[tuple[dict[str, Any], list[ErrorLog]]] = [
        ({"status": "open"}, [three, two]),
        ({"status": "Resolved"}, [one]),
        ({"error_type": "SCHEMA"}, [three, two]),
        ({"schema": "ECOMMERCE"}, [two, one]),
        ({"table": "ORDERS"}, [three, one]),
        ({"schema": "ecommerce", "table": "lines"}, [two]),
        ({"schema": "my_shop%"}, [three]),
        ({"schema": "my%"}, []),
        ({"schema": "%"}, []),
        ({"fingerprint": two.fingerprint}, [three, two]),
        ({"status": "open", "schema": "ecommerce"}, [two]),
    ]
    for words, expected in chosen:
        assert [error.id for error in ledger.errors.list(**words)] == [error.id for error in expected], words


@pytest.mark.parametrize("words", [{"status": "closed"}, {"error_type": "disk"}, {"limit": 0}, {"limit": 1_001}])
def test_a_list_of_what_cannot_be_is_refused(ledger: Ledger, words: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        ledger.errors.list(**words)


def test_errors_with_one_cause_are_one_group(ledger: Ledger) -> None:
    made = [ledger.errors.log(new("validation", f"Invalid date '2023-13-{day}' in row {day}")) for day in (45, 46, 47)]
    ledger.errors.log(NewError("ecommerce", "lines", "validation", "Invalid date '1' in row 1"))
    ledger.errors.log(new("validation", "Invalid time"))
    ledger.errors.ignore(made[0].id)
    first, second = ledger.errors.groups()
    assert (first.count, first.open_count, first.tables) == (3, 3, ("ecommerce.lines", "ecommerce.orders"))
    assert (first.error_type, first.error_code, first.error_message) == ("validation", None, "Invalid date '1' in row 1")
    assert (first.first_seen, first.fingerprint) == (made[1].occurred_at, made[0].fingerprint)
    assert second.count == 1
    everything = ledger.errors.groups(status=None)[0]
    assert (everything.count, everything.open_count, everything.first_seen) == (4, 3, made[0].occurred_at)
    assert everything.last_seen > everything.first_seen


def test_an_error_is_due_when_its_pause_is_over(ledger: Ledger) -> None:
    late, early, never = ledger.errors.log(new()), ledger.errors.log(new()), ledger.errors.log(new("schema"))
    assert ledger.errors.due() == []
    let_time_pass(ledger, early)
    let_time_pass(ledger, late)
    assert [error.id for error in ledger.errors.due(limit=1)] == [early.id]
    assert [error.id for error in ledger.errors.due()] == [late.id]
    assert never.retry_after is None


def test_each_failed_retry_waits_longer_and_the_last_makes_a_dead_letter(ledger: Ledger) -> None:
    error = ledger.errors.log(new(record_data=RECORD, operation_type="update", source_record_id="mongo_1", max_retries=3))
    assert error.dead_letter_id is None
    pauses = []
    for attempt in (1, 2):
        error = ledger.errors.retried(error.id, TimeoutError(f"slow {attempt}"))
        assert (error.retry_count, error.status) == (attempt, "open")
        assert error.last_retry_at is not None
        assert error.retry_after is not None
        pauses.append((error.retry_after - error.last_retry_at).total_seconds())
    assert pauses == [60, 120]
    assert ledger.dead_letters.list() == []

    error = ledger.errors.retried(error.id, "it is still broken")
    (letter,) = ledger.dead_letters.list()
    assert (error.retry_count, error.retry_after, error.dead_letter_id) == (3, None, letter.id)
    assert (letter.error_log_id, letter.record_data, letter.operation_type) == (error.id, RECORD, "update")
    assert (letter.source_record_id, letter.error_message, letter.status) == ("mongo_1", "it is still broken", "pending")
    assert error.error_message == "no answer"
    assert error.error_details == {"source_record_id": "mongo_1", "last_retry_error": "it is still broken"}


def test_an_error_without_a_record_makes_no_dead_letter(ledger: Ledger) -> None:
    error = ledger.errors.retried(ledger.errors.log(new(max_retries=1)).id)
    assert (error.retry_after, error.dead_letter_id, error.status) == (None, None, "open")
    assert ledger.errors.log(new("schema")).dead_letter_id is None
    assert ledger.dead_letters.list() == []


def test_an_error_that_is_never_tried_again_is_a_dead_letter_at_once(ledger: Ledger) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD, operation_type="insert"))
    (letter,) = ledger.dead_letters.list()
    assert (error.dead_letter_id, letter.error_log_id, error.retry_after) == (letter.id, error.id, None)
    assert ledger.errors.get(error.id) == error


def test_the_same_record_failing_again_is_one_letter_of_two_errors(ledger: Ledger) -> None:
    first, second = (ledger.errors.log(new("validation", record_data=RECORD)) for _ in range(2))
    assert first.dead_letter_id == second.dead_letter_id
    (letter,) = ledger.dead_letters.list()
    assert letter.error_count == 2
    ledger.dead_letters.resolve(letter.id)
    assert {ledger.errors.get(error.id).status for error in (first, second)} == {"resolved"}


def test_records_that_only_differ_in_what_is_masked_are_two_letters(ledger: Ledger) -> None:
    for secret in ("hunter2", "hunter3"):
        ledger.errors.log(new("validation", record_data={"id": 1, "password": secret}))
        error = ledger.errors.log(new("connection", record_data={"id": 2, "password": secret}, max_retries=1))
        ledger.errors.retried(error.id)
    assert len(ledger.dead_letters.list()) == 4


def test_a_retry_that_succeeds_resolves_the_error_and_its_letter(ledger: Ledger) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD))
    done = ledger.errors.succeeded(error.id)
    assert (done.status, done.resolution_note, done.retry_after) == ("resolved", "a retry succeeded", None)
    assert done.resolved_by == ledger.worker.name
    letter = ledger.dead_letters.get(error.dead_letter_id or "")
    assert (letter.status, letter.resolution_method) == ("resolved", "retried")


def test_an_exhausted_error_can_be_tried_once_more_at_once(ledger: Ledger) -> None:
    error = ledger.errors.log(new("validation"))
    again = ledger.errors.retry_now(error.id)
    assert (again.max_retries, again.retry_count) == (1, 0)
    assert [due.id for due in ledger.errors.due()] == [error.id]
    assert ledger.errors.retried(error.id, "no").retry_after is None


def test_a_record_that_is_a_dead_letter_has_one_way_back(ledger: Ledger) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD))
    with pytest.raises(Conflict, match=f"is dead letter {error.dead_letter_id}: replay it"):
        ledger.errors.retry_now(error.id)
    assert ledger.errors.due() == []


def test_an_error_with_attempts_left_gets_none_more_by_being_tried_now(ledger: Ledger) -> None:
    error = ledger.errors.retry_now(ledger.errors.log(new()).id)
    assert error.max_retries == 5
    assert [due.id for due in ledger.errors.due()] == [error.id]


@pytest.mark.parametrize("verb", ["resolve", "ignore"])
def test_an_error_is_settled_once_and_by_somebody(ledger: Ledger, verb: str) -> None:
    error = ledger.errors.log(new())
    settled = getattr(ledger.errors, verb)(error.id[:-1], note="password=hunter2 was wrong", by="ann")
    status = {"resolve": "resolved", "ignore": "ignored"}[verb]
    assert (settled.status, settled.resolved_by, settled.resolution_note) == (status, "ann", "password=*** was wrong")
    assert settled.resolved_at is not None
    assert settled.retry_after is None
    for change in (ledger.errors.resolve, ledger.errors.ignore, ledger.errors.retried, ledger.errors.succeeded, ledger.errors.retry_now):
        with pytest.raises(Conflict, match=f"is already {status}: by ann at {settled.resolved_at:%Y-%m-%d}"):
            change(error.id)
    assert ledger.errors.get(error.id) == settled


def test_an_error_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    for verb in ("get", "retried", "succeeded", "retry_now", "resolve", "ignore"):
        with pytest.raises(NotFound, match="no error"):
            getattr(ledger.errors, verb)("missing")


def test_a_tenant_sees_no_errors_but_its_own(ledger: Ledger, url: str) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD))
    with opened(url, tenant="other") as other:
        assert (other.errors.list(), other.errors.groups(), other.dead_letters.list()) == ([], [], [])
        with pytest.raises(NotFound):
            other.errors.resolve(error.id)
    assert rows(ledger, "select distinct tenant_id from error_log") == [{"tenant_id": "default"}]


def test_known_secrets_are_hidden_and_the_record_is_still_told_apart_by_what_it_was(ledger: Ledger) -> None:
    known = {"orders-pw", "other-pw"}
    made = [
        ledger.errors.log(
            new(
                "validation",
                f"login with {secret}",
                error_code=f"E {secret}",
                error_details={"said": secret},
                stack_trace=f"at {secret}",
                record_data={"id": 1, "typed": secret},
                source_record_id=None,
            ),
            known,
        )
        for secret in sorted(known)
    ]
    assert made[0].dead_letter_id != made[1].dead_letter_id
    for error in made:
        assert (error.error_message, error.error_code, error.stack_trace) == ("login with ***", "E ***", "at ***")
        assert (error.error_details, error.record_data, error.record_complete) == ({"said": "***"}, {"id": 1, "typed": "***"}, False)


def test_known_secrets_are_hidden_in_exceptions_and_in_what_a_retry_says(ledger: Ledger) -> None:
    error = ledger.errors.log_exception("shop", "orders", ConnectionError("with orders-pw"), known=["orders-pw"], record_data={"id": 1})
    assert error.error_message == "ConnectionError: with ***"
    assert "orders-pw" not in (error.stack_trace or "")
    again = ledger.errors.retried(error.id, ValueError("with orders-pw"), known=["orders-pw"])
    assert again.error_details == {"last_retry_error": "ValueError: with ***"}


@pytest.mark.parametrize(
    ("given", "name", "kept"),
    [
        ({"error_code": 1062}, "error_code", "1062"),
        ({"error_code": 0}, "error_code", "0"),
        ({"source_record_id": 12345}, "source_record_id", "12345"),
        ({"source_record_id": 0}, "source_record_id", "0"),
        ({"source_record_id": UUID(int=7)}, "source_record_id", str(UUID(int=7))),
        ({"sync_run_id": UUID(int=7)}, "sync_run_id", str(UUID(int=7))),
        ({"stack_trace": ["one\n", "two\n"]}, "stack_trace", "one\ntwo"),
        ({"error_details": {"b": b"x", "n": math.nan}}, "error_details", {"b": "eA==", "n": "nan"}),
        ({"error_details": ["a", 1]}, "error_details", {"value": ["a", 1]}),
        ({"error_details": math.inf}, "error_details", {"value": "inf"}),
        ({"message": 7}, "error_message", "7"),
        ({"message": ValueError("bad")}, "error_message", "ValueError: bad"),
    ],
)
@pytest.mark.parametrize("kind", ["validation", "connection"])
def test_what_is_no_text_is_kept_as_one(ledger: Ledger, kind: str, given: dict[str, Any], name: str, kept: Any) -> None:
    error = ledger.errors.log(new(kind, **{"record_data": {"id": UUID(int=1)}, **given}))
    assert getattr(error, name) == kept
    assert ledger.errors.get(error.id) == error
    if kind == "validation":
        assert ledger.dead_letters.get(error.dead_letter_id or "").source_record_id == error.source_record_id


def test_a_record_that_had_to_be_changed_is_not_complete(ledger: Ledger) -> None:
    assert not ledger.errors.log(new(record_data={"price": math.nan})).record_complete


def test_an_error_is_found_by_an_id_that_is_no_text(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="no error '00000000-0000-0000-0000-000000000007'"):
        ledger.errors.get(UUID(int=7))


def test_long_hostile_texts_are_logged_quickly(ledger: Ledger) -> None:
    started = time.process_time()
    ledger.errors.log(new(message="a-" * 500_000, stack_trace="://" * 500_000, error_code="password" * 100_000))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("verb", "status", "method"), [("resolve", "resolved", "error resolved"), ("ignore", "discarded", "error ignored")]
)
def test_a_settled_error_settles_the_letters_that_would_be_replayed(ledger: Ledger, verb: str, status: str, method: str) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD))
    other = ledger.errors.log(new("validation", record_data={"id": 2}))
    getattr(ledger.errors, verb)(error.id, note="by hand", by="ann")
    letter = ledger.dead_letters.get(error.dead_letter_id or "")
    assert (letter.status, letter.resolution_method, letter.resolved_by, letter.resolution_note) == (status, method, "ann", "by hand")
    assert [left.id for left in ledger.dead_letters.list(status="pending")] == [other.dead_letter_id]


def test_an_error_whose_letter_is_held_by_another_worker_is_not_settled(ledger: Ledger) -> None:
    error = ledger.errors.log(new("validation", record_data=RECORD))
    ledger.dead_letters.claim(worker="w1")
    for verb in (ledger.errors.resolve, ledger.errors.ignore):
        with pytest.raises(Conflict, match="is held by w1"):
            verb(error.id, by="w1")
    assert ledger.errors.get(error.id).status == "open"
    ledger.dead_letters.release(error.dead_letter_id or "", "w1")
    ledger.dead_letters.claim()
    assert ledger.errors.resolve(error.id).status == "resolved"
