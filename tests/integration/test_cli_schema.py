"""`lakeledger schema`: the versions of a table's schema, what changed between them, and what may come next."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger, Source
from lakeledger.sync import SchemaDefinition, SchemaVersion

pytestmark = pytest.mark.usefixtures("quiet")
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # for what does not depend on the database

ID, EMAIL = {"name": "id", "type": "BIGINT"}, {"name": "email", "type": "VARCHAR(255)", "nullable": False}
PHONE = {"name": "phone", "type": "VARCHAR(20)", "default": "none", "comment": "with the country's code"}
BY_EMAIL = {"name": "by_email", "columns": ["email"], "unique": True}
POSITIVE = {"name": "positive", "type": "check", "expression": "id > 0"}
SPARK = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": False, "metadata": {}},
        {"name": "tags", "type": {"type": "array", "elementType": "string", "containsNull": True}, "nullable": True, "metadata": {}},
    ],
}


def definition(*more: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"columns": [ID, EMAIL, *more], "primary_keys": ["id"], **parts}


def file(document: Any) -> str:
    Path("definition.json").write_text(json.dumps(document))
    return "definition.json"


@pytest.fixture
def customers(ledger: Ledger) -> None:
    """A table whose schema has two versions, under the policy `backward`."""
    ledger.schemas.register("shop.customers", definition(), policy="backward")
    ledger.schemas.register("shop.customers", definition(PHONE, indexes=[BY_EMAIL], constraints=[POSITIVE]), policy="none")
    ledger.schemas.register("shop.customers", definition(PHONE, indexes=[BY_EMAIL]), policy="backward")


def test_the_latest_version_of_each_table_is_listed(customers: None, at: list[str]) -> None:
    (row,) = answer("schema", "list", *at)["schemas"]
    assert set(row) == columns(SchemaVersion)
    assert (row["table_name"], row["version"], row["policy"]) == ("customers", 3, "backward")
    assert re.search(r"shop.customers\s+3\s+3\s+drop_constraint\s+\w+\s+backward", shown("schema", "list", *at))


def test_a_version_is_shown_with_columns_keys_indexes_and_what_changed(customers: None, at: list[str]) -> None:
    found = answer("schema", "show", "SHOP.Customers", "--version", "2", *at)
    assert (set(found), set(found["schema"])) == ({"schema", "versions", "blocked", "accepted", "next"}, columns(SchemaVersion))
    assert [each["version"] for each in found["versions"]] == [1, 2, 3]
    assert found["schema"]["schema_hash"] == SchemaDefinition.from_dict(definition(PHONE, indexes=[BY_EMAIL], constraints=[POSITIVE])).hash
    text = shown("schema", "show", "shop.customers", "--version", "2", *at)
    for line in (
        r"hash\s+" + found["schema"]["schema_hash"],
        r"id\s+BIGINT\s+key",
        r"email\s+VARCHAR\(255\)\s+required",
        r'phone\s+VARCHAR\(20\)\s+"none"\s+with the country\'s code',
        r"by_email\s+email\s+unique",
        r'"expression": "id > 0"',
        r"changes since version 1",
        r"phone VARCHAR\(20\) was added \(may be NULL, default 'none'\)\s+compatible\s+old rows have NULL or the default in it",
    ):
        assert re.search(line, text), line
    assert "next: lakeledger schema diff shop.customers 1" in text


def test_a_difference_is_told_in_words_in_either_direction(customers: None, at: list[str]) -> None:
    found = answer("schema", "diff", "shop.customers", "1", *at)
    assert (found["table"], found["from_version"], found["to_version"]) == ("shop.customers", 1, 3)
    assert [set(change) for change in found["changes"]] == [{"kind", "subject", "before", "after", "relation", "words"}] * 2
    assert shown("schema", "diff", "shop.customers", "3", "1", *at).splitlines() == [
        "shop.customers, version 3 to 1",
        "phone VARCHAR(20) was dropped",
        "unique index by_email was dropped",
    ]
    assert "nothing changed" in shown("schema", "diff", "shop.customers", "2", "2", *at)


def test_what_may_not_follow_is_refused_with_reasons_and_fixes(customers: None, at: list[str]) -> None:
    name = file(
        {
            "columns": [{"name": "id", "type": "INT"}, EMAIL, {"name": "country", "type": "CHAR(2)", "nullable": False}],
            "primary_keys": ["id"],
        }
    )
    verdict = answer("schema", "check", "shop.customers", name, *at, code=1)
    assert (verdict["table"], verdict["allowed"], verdict["status"], verdict["policy"]) == ("shop.customers", False, "breaking", "backward")
    refusals = {each["subject"]: each["fix"] for each in verdict["reasons"] if each["refused"]}
    assert refusals["country"] == "make it nullable or give it a default"
    assert set(refusals) == {"id", "country"}
    text = shown("schema", "check", "shop.customers", name, *at, code=1)
    assert text.splitlines()[0] == "not allowed under the policy backward: breaking since version 3"
    assert re.search(r"✗ refused\s+country CHAR\(2\) was added \(required\)\s+old rows have no value for it\s+make it nullable", text)
    assert re.search(r"✓ passes\s+phone VARCHAR\(20\) was dropped", text)
    assert answer("schema", "check", "shop.customers", name, "--policy", "none", *at)["allowed"]
    assert [each["version"] for each in answer("schema", "show", "shop.customers", *at)["versions"]] == [1, 2, 3]


def test_what_may_follow_is_registered_once(customers: None, at: list[str]) -> None:
    name = file(definition(PHONE, {"name": "country", "type": "CHAR(2)"}, indexes=[BY_EMAIL]))
    text = shown("schema", "check", "shop.customers", name, *at)
    assert text.splitlines()[0] == "allowed under the policy backward: compatible since version 3"
    assert "next: lakeledger schema register shop.customers definition.json" in text
    made = answer("schema", "register", "shop.customers", name, *at)["schema"]
    assert (made["version"], made["created"], made["policy"], "@" in made["registered_by"]) == (4, True, "backward", True)
    again = answer("schema", "register", "shop.customers", "-", *at, stdin=Path(name).read_text())["schema"]
    assert (again["version"], again["created"]) == (4, False)
    assert "nothing changed: shop.customers stays at version 4" in shown("schema", "register", "shop.customers", name, *at)
    assert "allowed: nothing changed since version 4" in shown("schema", "check", "shop.customers", name, *at)


def test_a_refused_registration_changes_nothing(customers: None, at: list[str]) -> None:
    name = file({"columns": [{"name": "id", "type": "INT"}]})
    refused(["schema", "register", "shop.customers", name, *at], 1, "Conflict", "may not change like this under the policy 'backward'")
    assert answer("schema", "show", "shop.customers", *at)["schema"]["version"] == 3


def test_a_schema_of_spark_is_taken_as_spark_writes_it(ledger: Ledger, at: list[str]) -> None:
    assert "it would be the first version of shop.events" in shown("schema", "check", "shop.events", "-", *at, stdin=json.dumps(SPARK))
    made = answer("schema", "register", "shop.events", "-", "--policy", "full", *at, stdin=json.dumps(SPARK))["schema"]
    assert [column["name"] for column in made["schema_definition"]["columns"]] == ["id", "tags"]
    assert made["policy"] == "full"


def test_a_table_is_found_although_its_schema_has_a_dot(ledger: Ledger, at: list[str]) -> None:
    ledger.schemas.register(Source("shop.eu", "orders"), definition())
    assert answer("schema", "show", "shop.eu.orders", *at)["schema"]["schema_name"] == "shop.eu"
    assert answer("schema", "register", "shop.eu.orders", file(definition()), *at)["schema"]["created"] is False


@on_sqlite
@pytest.mark.parametrize(
    ("words", "stdin", "kind", "told"),
    [
        (["show", "shop.customres"], None, "NotFound", "did you mean 'shop.customers'?"),
        (["show", "shop"], None, "Invalid", "a schema belongs to a table: write shop.<table>"),
        (["show", "shop.customers", "--version", "9"], None, "NotFound", "has no schema version 9: it has 1 to 3"),
        (["show", "shop.customers", "--version", "0"], None, "Invalid", "0 is not in the range"),
        (["show", "a`; drop table x.y"], None, "NotFound", "no schema is registered"),
        (["diff", "shop.customers", "one"], None, "Invalid", "'one' is not a valid integer"),
        (["diff", "shop.customers", "1", "9"], None, "NotFound", "has no schema version 9"),
        (["diff", "nobody.nothing", "1"], None, "NotFound", "no schema is registered for 'nobody.nothing'"),
        (["check", "shop.customers", "absent.json"], None, "Invalid", "cannot read absent.json"),
        (["check", "shop.customers", "-", "--policy", "lenient"], "{}", "Invalid", "'lenient' is not one of"),
        (["check", "shop.customers", "-"], "{broken", "Invalid", "stdin is no JSON"),
        (["check", "shop.customers", "-"], b'{"columns": [{"name": "\xff"}]}', "Invalid", "stdin is not UTF-8 text"),
        (["check", "shop.customers", "-"], "[]", "Invalid", "stdin must be a JSON object, not list"),
        (["check", "shop.customers", "-"], '{"columns": [NaN]}', "Invalid", "NaN is no number of JSON"),
        (
            ["check", "shop.customers", "-"],
            '{"colums": []}',
            "Invalid",
            "stdin: a schema definition has no 'colums'; did you mean 'columns'?",
        ),
        (["check", "shop.customers", "-"], '{"columns": [{"name": "id"}]}', "Invalid", "stdin: column 'id' needs a type"),
        (["check", "shop.customers", "-"], '{"type": "struct"}', "Invalid", "stdin is no schema of Spark"),
        (["register", "shop", "-"], '{"columns": [{"name": "id", "type": "INT"}]}', "Invalid", "a schema belongs to a table"),
        (["register", "shop.customers", "-"], "", "Invalid", "stdin is no JSON"),
    ],
)
def test_bad_input_is_named_with_its_fix(
    customers: None, at: list[str], words: list[str], stdin: str | bytes | None, kind: str, told: str
) -> None:
    refused(["schema", *words, *at], 2, kind, told, stdin=stdin)


@on_sqlite
@pytest.mark.parametrize("fields", ["x", [1], [{"name": "a", "type": {"type": "array"}}], [{"name": "a", "type": None}], [{}]])
def test_a_broken_schema_of_spark_is_bad_input_and_no_accident(ledger: Ledger, at: list[str], fields: Any) -> None:
    document = json.dumps({"type": "struct", "fields": fields})
    refused(["schema", "check", "shop.events", "-", *at], 2, "Invalid", "stdin", stdin=document)


def test_an_empty_ledger_says_so(ledger: Ledger, at: list[str]) -> None:
    assert answer("schema", "list", *at) == {"schemas": [], "blocked": [], "next": None}
    result = invoke("schema", "list", *at)
    assert "no schema is registered yet" in result.stdout
