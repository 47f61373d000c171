"""`lakeledger dlq`: records that could not be written, held by one worker at a time and settled once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger
from lakeledger.cli.acting import operator
from lakeledger.sync import DeadLetter, NewError, NewLetter

pytestmark = pytest.mark.usefixtures("quiet")
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # for what does not depend on the database


def put(ledger: Ledger, number: int, table: str | None = "orders", **more: Any) -> DeadLetter:
    given = {"error_message": f"bad date '2026-13-{number}'", "error_type": "validation", **more}
    return ledger.dead_letters.add(NewLetter("shop", table, "insert", {"id": number, "date": f"2026-13-{number}"}, **given))


def ids(document: dict[str, Any]) -> list[str]:
    return [row["id"] for row in document["letters"]]


def test_letters_are_listed_newest_first_by_what_they_are(ledger: Ledger, at: list[str]) -> None:
    first, second, third = put(ledger, 1), put(ledger, 2, table="items", error_message="too long"), put(ledger, 3)
    ledger.dead_letters.resolve(first.id)
    found = answer("dlq", "list", *at)
    assert (ids(found), set(found["letters"][0])) == ([third.id, second.id, first.id], columns(DeadLetter))
    for words, wanted in (
        (["--status", "PENDING"], [third.id, second.id]),
        (["--schema", "shop", "--table", "items"], [second.id]),
        (["--table", "shop.orders"], [third.id, first.id]),
        (["--group", first.fingerprint[:6]], [third.id, first.id]),
        (["--limit", "1"], [third.id]),
        (["--schema", "nobody"], []),
    ):
        assert ids(answer("dlq", "list", *words, *at)) == wanted, words
    assert re.search(r"shop.items\s+· pending\s+1\s.*too long", shown("dlq", "list", *at))


def test_letters_with_one_cause_are_a_group(ledger: Ledger, at: list[str]) -> None:
    letters = [put(ledger, number) for number in range(3)]
    ledger.dead_letters.resolve(letters[0].id)
    (group,) = answer("dlq", "groups", *at)["groups"]
    assert (group["count"], group["by_status"], group["tables"]) == (3, {"pending": 2, "resolved": 1}, ["shop.orders"])
    assert answer("dlq", "groups", "--status", "discarded", *at) == {"groups": [], "next": None}
    assert re.search(rf"{group['fingerprint']}\s+3\s+2\s+validation\s+shop.orders", shown("dlq", "groups", *at))


def test_a_letter_is_shown_with_its_record(ledger: Ledger, at: list[str]) -> None:
    letter = put(ledger, 1, source_record_id="order-1")
    assert answer("dlq", "show", letter.id[:18], *at)["letter"]["record_data"] == {"id": 1, "date": "2026-13-1"}
    text = shown("dlq", "show", letter.id, *at)
    for part in ("insert of a record", "order-1", '"date": "2026-13-1"', f"next: lakeledger dlq resolve {letter.id}\n".strip()):
        assert part in text
    ledger.dead_letters.claim(worker="w1")
    text = shown("dlq", "show", letter.id, *at)
    assert "by w1 until" in text
    assert f"next: lakeledger dlq resolve {letter.id} --worker w1" in text


def test_whoever_claims_letters_holds_them_across_commands(ledger: Ledger, at: list[str]) -> None:
    first, second, other = put(ledger, 1), put(ledger, 2), put(ledger, 3, table="items")
    claimed = answer("dlq", "claim", "--limit", "5", "--table", "shop.orders", "--seconds", "600", *at)
    assert ids(claimed) == [first.id, second.id]
    assert {row["claimed_by"] for row in claimed["letters"]} == {operator()}
    assert "nothing waits" in shown("dlq", "claim", "--table", "orders", *at)
    refused(["dlq", "resolve", first.id, "--worker", "w1", *at], 1, "Conflict", f"is held by {operator()}")
    assert answer("dlq", "resolve", first.id, "--method", "corrected", "--note", "by hand", *at)["ids"] == [first.id]
    kept = ledger.dead_letters.get(first.id)
    assert (kept.resolution_method, kept.resolution_note, kept.resolved_by) == ("corrected", "by hand", operator())
    assert answer("dlq", "release", second.id, *at)["letter"]["status"] == "pending"
    assert f"1 letter held by w1 for {'5 min 0 s'}" in shown("dlq", "claim", "--table", "items", "--worker", "w1", *at)
    refused(["dlq", "release", other.id, *at], 1, "Conflict", "is held by w1")
    assert f"dead letter {other.id} is pending again" in shown("dlq", "release", other.id, "--worker", "w1", *at)
    refused(["dlq", "release", other.id, *at], 1, "Conflict", "claim it first")


def test_only_letters_with_the_cause_that_is_named_are_claimed(ledger: Ledger, at: list[str]) -> None:
    put(ledger, 1)
    wanted = put(ledger, 2, error_message="too long")
    assert ids(answer("dlq", "claim", "--limit", "9", "--group", wanted.fingerprint, *at)) == [wanted.id]


def test_a_resolved_letter_settles_its_error_and_is_settled_once(ledger: Ledger, at: list[str]) -> None:
    error = ledger.errors.log(NewError("shop", "orders", "validation", "bad date", record_data={"id": 1}))
    assert error.dead_letter_id
    assert "1 letter resolved" in shown("dlq", "resolve", error.dead_letter_id, *at)
    assert answer("errors", "show", error.id, *at)["error_log"]["status"] == "resolved"
    for words in (["resolve"], ["discard", "--note", "x"], ["discard", "--note", "x", "--apply"], ["release"]):
        refused(["dlq", words[0], error.dead_letter_id, *words[1:], *at], 1, "Conflict", "is already resolved")


def test_a_record_is_lost_only_when_somebody_says_so(ledger: Ledger, at: list[str]) -> None:
    first, second = put(ledger, 1), put(ledger, 2)
    text = shown("dlq", "discard", first.id[:28], second.id, "--note", "test data", *at)
    assert "2 letters would be discarded" in text
    assert f"next: lakeledger dlq discard {first.id} {second.id} --note 'test data' --apply" in text
    plan = answer("dlq", "discard", first.id, "--note", "test data", *at)
    assert plan == {"applied": False, "ids": [first.id], "failed": []}
    assert {letter.status for letter in ledger.dead_letters.list()} == {"pending"}
    assert answer("dlq", "discard", first.id, "--note", "test data", "--apply", *at)["ids"] == [first.id]
    kept = ledger.dead_letters.get(first.id)
    assert (kept.status, kept.resolution_note, kept.resolved_by) == ("discarded", "test data", operator())
    assert "discarded" in shown("dlq", "show", first.id, *at)


def test_each_of_several_is_settled_on_its_own(ledger: Ledger, at: list[str]) -> None:
    first, second, held = put(ledger, 1), put(ledger, 2), put(ledger, 3)
    ledger.dead_letters.claim(worker="w1", ids=[held.id])
    for words in (["discard", "--note", "x"], ["resolve"]):
        done = answer("dlq", words[0], first.id, held.id, "nothing", *words[1:], *at, code=3)
        assert (done["ids"], [each["error"]["type"] for each in done["failed"]]) == ([first.id], ["Conflict", "NotFound"])
    partly = invoke("dlq", "discard", first.id, second.id, "--note", "x", "--apply", *at)
    assert (partly.exit_code, "1 letter discarded" in partly.stdout, "is already resolved" in partly.stderr) == (3, True, True)
    assert answer("dlq", "resolve", "no1", "no2", *at, code=2)["ids"] == []


@on_sqlite
@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (["list", "--status", "open"], "Invalid", "'open' is not one of"),
        (["list", "--limit", "0"], "Invalid", "0 is not in the range"),
        (["list", "--group", "zzzz"], "NotFound", "no cause 'zzzz'"),
        (["show", "0199b2c4"], "NotFound", "no dead letter '0199b2c4'"),
        (["show", "%"], "NotFound", "no dead letter '%'"),
        (["claim", "--limit", "0"], "Invalid", "0 is not in the range"),
        (["claim", "--seconds", "0"], "Invalid", "0 is not in the range"),
        (["claim", "--seconds", "9" * 20], "Invalid", "is not in the range"),
        (["claim", "--worker", " "], "Invalid", "--worker is empty"),
        (["claim", "--table", "shop."], "Invalid", "must be a schema or schema.table"),
        (["resolve"], "Invalid", "Missing argument"),
        (["resolve", "nothing"], "NotFound", "no dead letter 'nothing'"),
        (["discard", "nothing"], "Invalid", "Missing option '--note'"),
        (["discard", "nothing", "--note", " "], "Invalid", "--note is empty"),
        (["discard", "nothing", "--note", "x"], "NotFound", "no dead letter 'nothing'"),
        (["release", "nothing"], "NotFound", "no dead letter 'nothing'"),
    ],
)
def test_bad_input_is_named_with_its_fix(ledger: Ledger, at: list[str], words: list[str], kind: str, told: str) -> None:
    put(ledger, 1)
    refused(["dlq", *words, *at], 2, kind, told)


def test_hostile_text_is_shown_and_not_obeyed(ledger: Ledger, at: list[str]) -> None:
    letter = put(ledger, 1, table="[bold]\x9b", error_message="\x1b[2J [red]boom[/red]", source_record_id="\x07")
    for words in (["list"], ["groups"], ["show", letter.id], ["claim", "--worker", "\x1b[2J"]):
        text = shown("dlq", *words, *at)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert "[red]boom[/red]" in text


def test_an_empty_ledger_says_so(ledger: Ledger, at: list[str]) -> None:
    assert (answer("dlq", "list", *at), answer("dlq", "groups", *at)) == ({"letters": [], "next": None}, {"groups": [], "next": None})
    assert answer("dlq", "claim", *at) == {"letters": []}
    assert (shown("dlq", "list", *at), shown("dlq", "groups", *at)) == ("no dead letters\n", "no dead letters\n")
