"""Dead letters: one per failed record, held by one worker at a time, replayed, and settled once."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from contract.lettering import RECORD, expire_claim, fill, new
from contract.making import opened, together
from lakeledger import Conflict, Invalid, Ledger, NotFound
from lakeledger.sync.dead_letters import NewLetter
from lakeledger.sync.errors import NewError


def test_a_letter_comes_back_as_it_was_added(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("ecommerce", "orders", "validation", "Invalid date", max_retries=3))
    letter = ledger.dead_letters.add(
        NewLetter(
            schema_name="ecommerce",
            table_name="orders",
            operation_type="INSERT",
            record_data=RECORD,
            sync_run_id="run",
            error_log_id=error.id,
            source_record_id="mongo_obj_12345",
            error_message="Validation failed after 3 retries",
        )
    )
    assert ledger.dead_letters.get(letter.id) == letter
    assert ledger.dead_letters.get(letter.id[:-3]) == letter
    assert (letter.status, letter.error_count, letter.operation_type, letter.item_kind) == ("pending", 1, "insert", "record")
    assert (letter.error_type, letter.error_log_id, letter.source_record_id) == ("validation", error.id, "mongo_obj_12345")
    linked = ledger.errors.get(error.id)
    assert (linked.dead_letter_id, linked.retry_after) == (letter.id, None)


def test_a_record_comes_back_as_json_and_not_as_text(ledger: Ledger) -> None:
    letter = ledger.dead_letters.get(ledger.dead_letters.add(new()).id)
    assert letter.record_data == RECORD
    assert letter.record_complete


def test_letters_without_a_source_id_do_not_collapse_into_one(ledger: Ledger) -> None:
    fill(ledger, 20)
    assert len(ledger.dead_letters.list()) == 20
    assert sorted(letter.record_data["id"] for letter in ledger.dead_letters.list()) == list(range(20))


def test_the_same_record_failing_again_counts_once_more(ledger: Ledger) -> None:
    first = ledger.dead_letters.add(new(error_message="first"))
    again = ledger.dead_letters.add(new(error_message="second"))
    assert (again.id, again.error_count, again.error_message) == (first.id, 2, "second")
    assert again.last_failed_at > first.last_failed_at
    assert again.created_at == first.created_at


def test_a_record_is_known_by_its_id_at_the_source(ledger: Ledger) -> None:
    first = ledger.dead_letters.add(new({"qty": 1}, source_record_id="a"))
    newer = ledger.dead_letters.add(new({"qty": 2}, source_record_id="a"))
    other = ledger.dead_letters.add(new({"qty": 2}, source_record_id="b"))
    assert (newer.id, newer.record_data, newer.error_count) == (first.id, {"qty": 2}, 2)
    assert other.id != first.id


@pytest.mark.parametrize(
    "different",
    [{"table_name": "lines"}, {"schema_name": "shop"}, {"operation_type": "delete"}, {"item_kind": "event"}, {"table_name": None}],
)
def test_the_same_record_elsewhere_is_another_letter(ledger: Ledger, different: dict[str, Any]) -> None:
    ledger.dead_letters.add(new(source_record_id="a"))
    ledger.dead_letters.add(new(source_record_id="a", **different))
    ledger.dead_letters.add(new())
    ledger.dead_letters.add(new(**different))
    assert len(ledger.dead_letters.list()) == 4


def test_a_letter_of_the_same_error_and_record_is_the_same_letter(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("ecommerce", "orders", "validation", "bad", record_data=RECORD, operation_type="insert"))
    letter = ledger.dead_letters.add(new(error_log_id=error.id, source_record_id="mongo_1"))
    assert (letter.id, letter.error_count, letter.source_record_id) == (error.dead_letter_id, 2, "mongo_1")
    assert len(ledger.dead_letters.list()) == 1


def test_an_error_of_a_whole_batch_has_a_letter_per_record_and_ends_with_the_last(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("ecommerce", "orders", "connection", "batch failed"))
    letters = fill(ledger, 3, error_log_id=error.id)
    for letter in letters:
        assert ledger.errors.get(error.id).status == "open"
        ledger.dead_letters.resolve(letter.id)
    assert ledger.errors.get(error.id).status == "resolved"


def test_a_settled_letter_is_left_alone_by_a_new_failure(ledger: Ledger) -> None:
    first = ledger.dead_letters.add(new())
    ledger.dead_letters.resolve(first.id)
    second = ledger.dead_letters.add(new())
    assert second.id != first.id
    assert second.error_count == 1


def test_a_newer_record_ends_the_claim_on_the_older_one(ledger: Ledger) -> None:
    ledger.dead_letters.add(new({"qty": 1}, source_record_id="a"))
    (held,) = ledger.dead_letters.claim(worker="w1")
    newer = ledger.dead_letters.add(new({"qty": 2}, source_record_id="a"))
    assert (newer.id, newer.status, newer.claimed_by, newer.claimed_until) == (held.id, "pending", None, None)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"operation_type": "upsert"}, "'upsert' is not one of insert, update, delete"),
        ({"item_kind": "thing"}, "'thing' is not one of record, event, metadata"),
        ({"error_type": "disk"}, "'disk' is not one of connection"),
        ({"schema_name": ""}, "schema"),
    ],
)
def test_a_letter_that_makes_no_sense_is_refused(ledger: Ledger, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        ledger.dead_letters.add(new(**wrong))
    with pytest.raises(NotFound, match="no error 'missing' to link"):
        ledger.dead_letters.add(new(error_log_id="missing"))
    assert ledger.dead_letters.list() == []


def test_any_record_can_be_kept(ledger: Ledger) -> None:
    for record in ("text", [1, 2], {"b": b"\xff", "t": datetime(2026, 1, 1, tzinfo=UTC), "nul": "a\0\ud800"}, {1: {2}}, float("nan")):
        letter = ledger.dead_letters.add(new(record))
        assert ledger.dead_letters.get(letter.id) == letter
    assert len(ledger.dead_letters.list()) == 5


def test_letters_are_listed_newest_first_and_by_what_they_are(ledger: Ledger) -> None:
    one, two, three = fill(ledger, 3, error_message="row 1 is bad")
    other = ledger.dead_letters.add(new(schema_name="shop", error_message="gone"))
    ledger.dead_letters.discard(one.id)
    assert [letter.id for letter in ledger.dead_letters.list()] == [other.id, three.id, two.id, one.id]
    assert [letter.id for letter in ledger.dead_letters.list(status="PENDING", schema="ecommerce")] == [three.id, two.id]
    page = ledger.dead_letters.list(fingerprint=one.fingerprint, limit=1)
    assert [letter.id for letter in page] == [three.id]
    assert [letter.id for letter in ledger.dead_letters.list(table="orders", after=page.next)] == [two.id, one.id]
    with pytest.raises(Invalid, match="'lost' is not one of pending, processing, resolved, discarded"):
        ledger.dead_letters.list(status="lost")


def test_letters_with_one_cause_are_one_group(ledger: Ledger) -> None:
    letters = fill(ledger, 3, error_message="row 1 is bad", error_type="validation")
    newest = ledger.dead_letters.add(new({"id": 9}, table_name="lines", error_message="row 9 is bad", error_type="validation"))
    ledger.dead_letters.add(new({"id": 10}, error_message="gone"))
    ledger.dead_letters.resolve(letters[0].id)
    first, second = ledger.dead_letters.groups()
    assert (first.count, first.by_status) == (4, {"pending": 3, "resolved": 1})
    assert (first.error_type, first.error_message) == ("validation", "row 9 is bad")
    assert (first.oldest, first.newest) == (letters[0].created_at, newest.created_at)
    assert first.tables == ("ecommerce.lines", "ecommerce.orders")
    assert (second.count, second.error_type) == (1, "unknown")
    assert [group.count for group in ledger.dead_letters.groups(status="pending")] == [3, 1]


def test_the_oldest_letters_are_claimed_and_nobody_else_gets_them(ledger: Ledger) -> None:
    letters = fill(ledger, 5)
    first = ledger.dead_letters.claim(2, worker="w1", seconds=60)
    assert [letter.id for letter in first] == [letter.id for letter in letters[:2]]
    assert {(letter.status, letter.claimed_by) for letter in first} == {("processing", "w1")}
    assert [letter.id for letter in ledger.dead_letters.claim(10, worker="w2")] == [letter.id for letter in letters[2:]]
    assert ledger.dead_letters.claim(10, worker="w1") == []


def test_an_expired_claim_can_be_claimed_again_in_its_old_place(ledger: Ledger) -> None:
    letters = fill(ledger, 3)
    ledger.dead_letters.claim(2, worker="lost")
    expire_claim(ledger, letters[1])
    assert [letter.id for letter in ledger.dead_letters.claim(10, worker="w2")] == [letters[1].id, letters[2].id]


def test_a_claim_can_be_of_one_table_one_cause_or_some_ids(ledger: Ledger) -> None:
    one, two, three = fill(ledger, 3, error_message="bad")
    other = ledger.dead_letters.add(new({"id": 9}, schema_name="shop", table_name="lines", error_message="gone"))
    claim = ledger.dead_letters.claim
    assert [letter.id for letter in claim(9, schema="shop", table="lines")] == [other.id]
    assert claim(9, fingerprint=other.fingerprint) == []
    assert [letter.id for letter in claim(ids=[three.id, two.id, other.id, "missing"])] == [two.id, three.id]
    assert claim(ids=[]) == []
    assert [letter.id for letter in claim(9, schema="ecommerce", fingerprint=one.fingerprint)] == [one.id]


@pytest.mark.parametrize(
    "words",
    [
        {"limit": 0},
        {"seconds": 0},
        {"seconds": -1.0},
        {"limit": 5_000},
        *({"seconds": each} for each in (math.inf, -math.inf, math.nan, 1e300)),
    ],
)
def test_a_claim_of_nothing_is_refused(ledger: Ledger, words: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        ledger.dead_letters.claim(**words)


def test_many_threads_never_get_the_same_letter(ledger: Ledger) -> None:
    fill(ledger, 60)

    def work(index: int) -> list[str]:
        got: list[str] = []
        while batch := ledger.dead_letters.claim(4, worker=f"w{index}"):
            got += [letter.id for letter in batch]
        return got

    claimed = [letter_id for got in together(work, 4) for letter_id in got]
    assert len(claimed) == len(set(claimed)) == 60


def test_a_claim_is_renewed_by_its_holder_only(ledger: Ledger) -> None:
    letter = fill(ledger, 1)[0]
    with pytest.raises(Conflict, match="is not held by w1: it is pending, claim it first"):
        ledger.dead_letters.renew(letter.id, 60, "w1")
    (held,) = ledger.dead_letters.claim(worker="w1", seconds=60)
    renewed = ledger.dead_letters.renew(letter.id, 600, "w1")
    assert held.claimed_until is not None
    assert renewed.claimed_until is not None
    assert renewed.claimed_until > held.claimed_until
    with pytest.raises(Conflict, match="is held by w1 until"):
        ledger.dead_letters.renew(letter.id, 60, "w2")
    expire_claim(ledger, letter)
    ledger.dead_letters.claim(worker="w2")
    with pytest.raises(Conflict, match="is held by w2 until"):
        ledger.dead_letters.renew(letter.id, 60, "w1")


def test_a_released_letter_waits_again_untried(ledger: Ledger) -> None:
    letter = fill(ledger, 1)[0]
    ledger.dead_letters.claim(worker="w1")
    with pytest.raises(Conflict, match="is held by w1"):
        ledger.dead_letters.release(letter.id, "w2")
    assert ledger.dead_letters.release(letter.id, "w1") == letter


def test_what_somebody_else_holds_cannot_be_settled(ledger: Ledger) -> None:
    letter = fill(ledger, 1)[0]
    (held,) = ledger.dead_letters.claim(worker="w1")
    letters = ledger.dead_letters
    for change in (letters.resolve, letters.discard, lambda it: letters.failed_again(it, "no")):
        with pytest.raises(Conflict, match=f"is held by w1 until {held.claimed_until:%Y-%m-%d}"):
            change(letter.id)
    assert ledger.dead_letters.resolve(letter.id, worker="w1").status == "resolved"


def test_what_was_held_for_too_long_can_be_settled_by_anybody(ledger: Ledger) -> None:
    letter = fill(ledger, 1)[0]
    ledger.dead_letters.claim(worker="lost")
    expire_claim(ledger, letter)
    assert ledger.dead_letters.discard(letter.id, by="ann").status == "discarded"


def test_the_handle_that_claimed_may_settle_in_the_name_of_a_person(ledger: Ledger) -> None:
    letter = fill(ledger, 1)[0]
    ledger.dead_letters.claim()
    assert ledger.dead_letters.resolve(letter.id, by="ann").resolved_by == "ann"


@pytest.mark.parametrize(("verb", "status", "of_error"), [("resolve", "resolved", "resolved"), ("discard", "discarded", "ignored")])
def test_a_letter_is_settled_once_and_its_error_with_it(ledger: Ledger, verb: str, status: str, of_error: str) -> None:
    error = ledger.errors.log(NewError("ecommerce", "orders", "validation", "bad", record_data=RECORD))
    letter_id = error.dead_letter_id or ""
    settled = getattr(ledger.dead_letters, verb)(letter_id, by="ann", note="by hand, token=hunter2")
    assert (settled.status, settled.resolved_by, settled.resolution_note) == (status, "ann", "by hand, token=***")
    assert settled.resolved_at is not None
    linked = ledger.errors.get(error.id)
    assert (linked.status, linked.resolved_by, linked.resolved_at) == (of_error, "ann", settled.resolved_at)
    letters = ledger.dead_letters
    for change in (letters.resolve, letters.discard, lambda it: letters.failed_again(it, "no"), letters.release, letters.renew):
        with pytest.raises(Conflict, match=f"is already {status}: by ann at {settled.resolved_at:%Y-%m-%d}"):
            change(letter_id)
    assert letters.get(letter_id) == settled
    assert letters.claim(10) == []


def test_a_letter_that_failed_again_waits_with_the_new_cause(ledger: Ledger) -> None:
    letter = ledger.dead_letters.add(new(error_message="bad date", error_type="validation"))
    ledger.dead_letters.claim(worker="w1")
    again = ledger.dead_letters.failed_again(letter.id, TimeoutError("slow, password=hunter2"), worker="w1")
    assert (again.status, again.error_count, again.claimed_by) == ("pending", 2, None)
    assert (again.error_type, again.error_message) == ("timeout", "TimeoutError: slow, password=***")
    assert again.fingerprint != letter.fingerprint
    assert ledger.dead_letters.failed_again(letter.id, "who knows").error_type == "timeout"


def test_a_letter_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    letters = ledger.dead_letters
    for call in (letters.get, letters.resolve, letters.discard, letters.release, letters.renew, lambda it: letters.failed_again(it, "x")):
        with pytest.raises(NotFound, match="no dead letter 'missing'"):
            call("missing")


def test_a_tenant_sees_and_takes_no_letters_but_its_own(ledger: Ledger, url: str) -> None:
    letter = fill(ledger, 1)[0]
    with opened(url, tenant="other") as other:
        assert other.dead_letters.claim(10) == []
        assert other.dead_letters.claim(ids=[letter.id]) == []
        assert other.dead_letters.replay(print, dry_run=False).total == 0
        with pytest.raises(NotFound):
            other.dead_letters.resolve(letter.id)
        assert other.dead_letters.add(new({"id": 0})).id != letter.id


def test_a_failure_that_arrives_while_its_letter_is_held_is_not_settled_unseen(ledger: Ledger) -> None:
    letter = ledger.dead_letters.add(new(source_record_id="a"))
    ledger.dead_letters.claim(worker="w1")
    again = ledger.dead_letters.add(new(source_record_id="a"))
    assert (again.id, again.status, again.claimed_by, again.claimed_until) == (letter.id, "pending", None, None)
    with pytest.raises(Conflict, match="is not held by w1: it is pending"):
        ledger.dead_letters.resolve(letter.id, worker="w1")
    assert ledger.dead_letters.get(letter.id) == again


def test_a_failure_of_the_same_error_ends_the_claim_too(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("ecommerce", "orders", "validation", "bad", record_data=RECORD, operation_type="insert"))
    ledger.dead_letters.claim(worker="w1")
    letter = ledger.dead_letters.add(new(error_log_id=error.id))
    assert (letter.id, letter.status, letter.claimed_by) == (error.dead_letter_id, "pending", None)


def test_who_holds_a_letter_is_not_who_is_written_down(ledger: Ledger) -> None:
    one, two = fill(ledger, 2)
    ledger.dead_letters.claim(2, worker="w1")
    for verb in (ledger.dead_letters.resolve, ledger.dead_letters.discard):
        with pytest.raises(Conflict, match="is held by w1"):
            verb(one.id, by="w1")
        with pytest.raises(Conflict, match="is held by w1"):
            verb(one.id, worker="w2")
    assert ledger.dead_letters.resolve(one.id, by="alice", worker="w1").resolved_by == "alice"
    assert ledger.dead_letters.discard(two.id, worker="w1").resolved_by == "w1"


def test_known_secrets_are_hidden_and_different_records_stay_two_letters(ledger: Ledger) -> None:
    known = ["orders-pw", "other-pw"]
    letters = [ledger.dead_letters.add(new({"typed": each}, error_message=f"with {each}"), known) for each in known]
    assert letters[0].id != letters[1].id
    assert {(letter.error_message, letter.record_complete) for letter in letters} == {("with ***", False)}
    assert [letter.record_data for letter in letters] == [{"typed": "***"}] * 2
    assert ledger.dead_letters.failed_again(letters[0].id, "again orders-pw", known=known).error_message == "again ***"


@pytest.mark.parametrize("source_id", [12345, 0, UUID(int=7)])
def test_an_id_at_the_source_may_be_anything(ledger: Ledger, source_id: Any) -> None:
    letter = ledger.dead_letters.add(new({"qty": 1}, source_record_id=source_id))
    assert letter.source_record_id == str(source_id)
    assert ledger.dead_letters.add(new({"qty": 2}, source_record_id=str(source_id))).id == letter.id
    assert ledger.dead_letters.claim(ids=[UUID(int=9)]) == []
