"""`lakeledger errors`: what failed, by cause, and what becomes of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger
from lakeledger.codec import to_time
from lakeledger.sync import ErrorLog, NewError

pytestmark = pytest.mark.usefixtures("quiet")
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # for what does not depend on the database

SECRET = "hunter2"


def log(
    ledger: Ledger, message: str = "no answer from db", kind: str = "connection", table: str | None = "orders", **more: Any
) -> ErrorLog:
    return ledger.errors.log(NewError("shop", table, kind, message, **more))


def ids(document: dict[str, Any]) -> list[str]:
    return [row["id"] for row in document["errors"]]


def test_errors_are_listed_newest_first_by_what_they_are(ledger: Ledger, at: list[str]) -> None:
    first, second, third = log(ledger), log(ledger, kind="schema", table="items"), log(ledger, table=None)
    ledger.errors.ignore(third.id)
    found = answer("errors", "list", *at)
    assert (ids(found), set(found["errors"][0])) == ([third.id, second.id, first.id], columns(ErrorLog))
    for words, wanted in (
        (["--status", "OPEN"], [second.id, first.id]),
        (["--type", "schema"], [second.id]),
        (["--schema", "SHOP", "--table", "orders"], [first.id]),
        (["--table", "shop.items"], [second.id]),
        (["--table", "items"], [second.id]),
        (["--group", first.fingerprint[:6]], [third.id, first.id]),
        (["--limit", "1"], [third.id]),
        (["--schema", "nobody"], []),
    ):
        assert ids(answer("errors", "list", *words, *at)) == wanted, words
    assert re.search(r"shop.orders\s+connection\s+● open\s+in \S+ s\s+\S.*no answer from db", shown("errors", "list", *at))


def test_errors_with_one_cause_are_a_group(ledger: Ledger, at: list[str]) -> None:
    for number in range(3):
        log(ledger, f"bad date '2026-13-{number}'", "validation", record_data={"id": number})
    settled = log(ledger)
    ledger.errors.resolve(settled.id)
    (group,) = answer("errors", "groups", *at)["groups"]
    assert (group["count"], group["open_count"], group["error_type"], group["tables"]) == (3, 3, "validation", ["shop.orders"])
    assert [each["open_count"] for each in answer("errors", "groups", "--all", *at)["groups"]] == [3, 0]
    text = shown("errors", "groups", *at)
    assert re.search(rf"{group['fingerprint']}\s+3\s+validation\s+shop.orders", text)
    assert f"next: lakeledger errors list --group {group['fingerprint']}" in text


def test_an_error_is_shown_with_its_context_and_without_secrets(ledger: Ledger, at: list[str]) -> None:
    error = log(
        ledger,
        "cannot cast 'x' [bold]",
        "transformation",
        error_code="CAST_1",
        error_details={"column": "amount"},
        stack_trace="Traceback\n  File cast.py\nValueError: x",
        record_data={"id": 7, "amount": "x", "password": SECRET},
        operation_type="update",
    )
    assert answer("errors", "show", error.id[:18], *at)["error_log"]["id"] == error.id
    text = shown("errors", "show", error.id, *at)
    for part in (
        "transformation (CAST_1)",
        "● open",
        "cannot cast 'x' [bold]",
        "never by itself",
        '"column": "amount"',
        "record, masked or cut",
        '"password": "***"',
        "  File cast.py",
        f"next: lakeledger dlq show {error.dead_letter_id}",
    ):
        assert part in text
    assert SECRET not in text


def test_an_error_is_retried_at_once_when_somebody_says_so(ledger: Ledger, at: list[str]) -> None:
    error = log(ledger)
    assert ledger.errors.due() == []
    assert answer("errors", "retry", error.id, *at) == {"applied": True, "ids": [error.id], "failed": []}
    assert [each.id for each in ledger.errors.due()] == [error.id]
    assert re.search(r"● open\s+due\s", shown("errors", "list", *at))
    assert "1 error due at once" in shown("errors", "retry", error.id, *at)


@pytest.mark.parametrize(("verb", "status"), [("resolve", "resolved"), ("ignore", "ignored")])
def test_an_error_is_settled_once_with_a_note_and_a_name(ledger: Ledger, at: list[str], verb: str, status: str) -> None:
    error = log(ledger)
    assert f"1 error {status}" in shown("errors", verb, error.id[:18], "--note", "seen to", *at)
    kept = answer("errors", "show", error.id, *at)["error_log"]
    assert (kept["status"], kept["resolution_note"], "@" in kept["resolved_by"]) == (status, "seen to", True)
    refused(["errors", verb, error.id, *at], 1, "Conflict", f"is already {status}")
    refused(["errors", "retry", error.id, *at], 1, "Conflict", f"is already {status}")
    assert f"{status} " in shown("errors", "show", error.id, *at)


def test_each_of_several_is_settled_on_its_own(ledger: Ledger, at: list[str]) -> None:
    first, second, settled = log(ledger), log(ledger), log(ledger)
    ledger.errors.resolve(settled.id)
    partly = invoke("errors", "resolve", first.id, settled.id, "nothing", *at)
    assert (partly.exit_code, "1 error resolved" in partly.stdout) == (3, True)
    assert [line.partition(":")[0] for line in partly.stderr.splitlines()] == ["error", "error"]
    done = answer("errors", "resolve", first.id, second.id, second.id, "nothing", *at, code=3)
    assert (done["applied"], done["ids"]) == (True, [second.id])
    assert [(each["id"], each["error"]["type"]) for each in done["failed"]] == [(first.id, "Conflict"), ("nothing", "NotFound")]
    assert answer("errors", "ignore", first.id, second.id, *at, code=1)["ids"] == []
    assert answer("errors", "retry", "no1", "no2", *at, code=2)["ids"] == []


def test_a_group_is_settled_only_when_told(ledger: Ledger, at: list[str]) -> None:
    errors = [log(ledger, f"no answer from 10.0.0.{number}") for number in range(3)]
    other = log(ledger, "something else")
    group = errors[0].fingerprint
    text = shown("errors", "resolve", "--group", group[:5], "--note", "it's over", *at)
    assert "3 errors would be resolved" in text
    assert f"next: lakeledger errors resolve --group {group} --note 'it'\"'\"'s over' --apply" in text
    plan = answer("errors", "ignore", "--group", group, *at)
    assert (plan["applied"], set(plan["ids"]), plan["failed"]) == (False, {error.id for error in errors}, [])
    assert len(ledger.errors.list("open")) == 4
    done = invoke("errors", "ignore", "--group", group, "--note", "maintenance", "--apply", *at)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "3 errors ignored")
    assert done.stderr.startswith("settling 3 errors: ")
    assert [error.id for error in ledger.errors.list("open")] == [other.id]
    assert {error.resolution_note for error in ledger.errors.list("ignored")} == {"maintenance"}
    refused(["errors", "ignore", "--group", group, "--apply", *at], 2, "NotFound", "no cause")


def test_a_group_that_is_longer_than_a_page_is_settled_whole(ledger: Ledger, at: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.cli.errors.PAGE", 2)
    errors = [log(ledger) for _ in range(5)]
    assert len(answer("errors", "resolve", "--group", errors[0].fingerprint, "--apply", *at)["ids"]) == 5
    assert ledger.errors.list("open") == []


@on_sqlite
@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (["list", "--status", "closed"], "Invalid", "'closed' is not one of"),
        (["list", "--type", "weather"], "Invalid", "'weather' is not one of"),
        (["list", "--limit", "0"], "Invalid", "0 is not in the range"),
        (["list", "--limit", "1001"], "Invalid", "1001 is not in the range"),
        (["list", "--table", ".orders"], "Invalid", "must be a schema or schema.table"),
        (["list", "--group", "zzzz"], "NotFound", "no cause 'zzzz'"),
        (["list", "--group", ""], "NotFound", "no cause ''"),
        (["show", "0199b2c4"], "NotFound", "no error '0199b2c4'"),
        (["show", "'; drop table error_log; --"], "NotFound", "no error"),
        (["retry"], "Invalid", "Missing argument"),
        (["retry", ""], "NotFound", "no error ''"),
        (["resolve"], "Invalid", "give either IDs or --group"),
        (["ignore", "x", "--group", "y"], "Invalid", "give either IDs or --group"),
        (["resolve", "--group", "zzzz", "--apply"], "NotFound", "no cause 'zzzz'"),
    ],
)
def test_bad_input_is_named_with_its_fix(ledger: Ledger, at: list[str], words: list[str], kind: str, told: str) -> None:
    log(ledger)
    refused(["errors", *words, *at], 2, kind, told)


def test_several_ids_that_begin_alike_must_be_told_apart(ledger: Ledger, at: list[str]) -> None:
    first, second = log(ledger), log(ledger)
    common = next(size for size in range(36) if first.id[:size] != second.id[:size]) - 1
    refused(["errors", "resolve", first.id[:common], *at], 2, "Invalid", "give more of the id")
    assert len(ledger.errors.list("open")) == 2


def test_hostile_text_is_shown_and_not_obeyed(ledger: Ledger, at: list[str]) -> None:
    error = log(ledger, "\x1b[2J [red]boom[/red]\nsecond line", table="[bold]\x9b")
    for words in (["list"], ["groups"], ["show", error.id]):
        text = shown("errors", *words, *at)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert "[red]boom[/red]" in text


def test_an_empty_ledger_says_so(ledger: Ledger, at: list[str]) -> None:
    assert (answer("errors", "list", *at), answer("errors", "groups", *at)) == ({"errors": [], "next": None}, {"groups": [], "next": None})
    assert (shown("errors", "list", *at), shown("errors", "groups", *at)) == ("no errors\n", "no open errors\n")


def test_times_in_json_are_those_of_the_ledger(ledger: Ledger, at: list[str]) -> None:
    error = log(ledger)
    (row,) = answer("errors", "list", *at)["errors"]
    assert (to_time(row["occurred_at"]), to_time(row["retry_after"])) == (error.occurred_at, error.retry_after)
